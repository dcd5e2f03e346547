/* SPDX-License-Identifier: Apache-2.0 */
/* extent_map.c: see extent_map.h. */
#include "mount/write/extent_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "mount/write/part_body.h"
#include "mount/write/spill.h"

#include "base/banned.h"

enum { BLOCK = POOL_BUF_SIZE, FEW = 3 };

/* Bytes [off, off+len) of a block. */
struct piece {
        uint32_t off, len;
        struct pool_buf *buf; /* one reference; NULL: in the block's slot, at the same offset */
        uint32_t at;          /* in buf */
};

struct block {
        uint64_t no;          /* bytes [no * BLOCK, (no+1) * BLOCK) of the file */
        struct pool_buf *own; /* where copies go, each at its offset; or NULL */
        uint64_t slot;        /* of the spill */
        bool has_slot;
        bool shared; /* others refer to what is here and not in `own`: do not change it in place */
        unsigned n, max;
        struct piece *v, few[FEW];
};

void extent_map_init(struct extent_map *x, struct pool *pool, struct spill *spill)
{
        *x = (struct extent_map){.pool = pool, .spill = spill};
}

static void give(struct extent_map *x, struct pool_buf *b)
{
        if (b && pool_drop(b)) {
                b->next = x->garbage;
                x->garbage = b;
        }
}

/* --- blocks --- */

/* Index of the first block not before number `no`. */
static size_t find_block(const struct extent_map *x, uint64_t no)
{
        size_t lo = 0, hi = x->n;

        if (x->hit < x->n && x->v[x->hit]->no == no)
                return x->hit;
        if (x->n && x->v[x->n - 1]->no < no)
                return x->n;
        while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                if (x->v[mid]->no < no)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

static void block_free(struct extent_map *x, struct block *b)
{
        for (unsigned i = 0; i < b->n; i++)
                give(x, b->v[i].buf);
        give(x, b->own);
        if (b->has_slot)
                spill_drop(x->spill, b->slot);
        if (b->v != b->few)
                free(b->v);
        free(b);
}

static void remove_blocks(struct extent_map *x, size_t from, size_t to)
{
        if (from == to)
                return;
        for (size_t i = from; i < to; i++)
                block_free(x, x->v[i]);
        memmove(x->v + from, x->v + to, (x->n - to) * sizeof(struct block *));
        x->n -= to - from;
}

void extent_map_clear(struct extent_map *x)
{
        remove_blocks(x, 0, x->n);
        free(x->v);
        x->v = NULL;
        x->max = x->hit = 0;
}

static struct block *make_block(struct extent_map *x, uint64_t no)
{
        size_t i = find_block(x, no);
        x->hit = i;
        if (i < x->n && x->v[i]->no == no)
                return x->v[i];
        if (GROW(x->v, x->n, x->max, 32))
                return NULL;
        struct block *b = calloc(1, sizeof *b);
        if (!b)
                return NULL;
        b->no = no;
        b->v = b->few;
        b->max = FEW;
        memmove(x->v + i + 1, x->v + i, (x->n - i) * sizeof(struct block *));
        x->v[i] = b;
        x->n++;
        return b;
}

/* Room for one more piece and for one that is cut in two. */
static int reserve(struct block *b)
{
        if (b->n + 2 <= b->max)
                return 0;
        unsigned max = b->max * 2 + 2;
        struct piece *v = malloc(max * sizeof *v);
        if (!v)
                return -ENOMEM;
        memcpy(v, b->v, b->n * sizeof *v);
        if (b->v != b->few)
                free(b->v);
        b->v = v;
        b->max = max;
        return 0;
}

static uint32_t end_of(const struct piece *p)
{
        return p->off + p->len;
}

/* Index of the first piece that ends behind `off`. */
static unsigned find_piece(const struct block *b, uint32_t off)
{
        unsigned lo = 0, hi = b->n;
        while (lo < hi) {
                unsigned mid = (lo + hi) / 2;
                if (end_of(&b->v[mid]) <= off)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

static void insert_piece(struct block *b, unsigned i, struct piece p)
{
        memmove(b->v + i + 1, b->v + i, (b->n - i) * sizeof *b->v);
        b->v[i] = p;
        b->n++;
}

static void remove_piece(struct extent_map *x, struct block *b, unsigned i)
{
        give(x, b->v[i].buf);
        memmove(b->v + i, b->v + i + 1, (b->n - i - 1) * sizeof *b->v);
        b->n--;
}

/* Forgets [from, to) of the block, which has room for one more piece; returns how many bytes. */
static uint32_t cut(struct extent_map *x, struct block *b, uint32_t from, uint32_t to)
{
        uint32_t cut = 0;
        unsigned i = find_piece(b, from);

        while (i < b->n && b->v[i].off < to) {
                struct piece *p = &b->v[i];
                uint32_t lo = p->off > from ? p->off : from, hi = end_of(p) < to ? end_of(p) : to;
                cut += hi - lo;
                if (p->off < from && end_of(p) > to) {
                        struct piece tail = *p;
                        tail.len = end_of(p) - to;
                        tail.at += to - p->off;
                        tail.off = to;
                        p->len = from - p->off;
                        if (tail.buf)
                                pool_ref(tail.buf);
                        insert_piece(b, i + 1, tail);
                } else if (p->off < from) {
                        p->len = from - p->off;
                } else if (end_of(p) > to) {
                        p->at += to - p->off;
                        p->len = end_of(p) - to;
                        p->off = to;
                } else {
                        remove_piece(x, b, i);
                        continue;
                }
                i++;
        }
        return cut;
}

static bool follows(const struct piece *a, const struct piece *b)
{
        return a->buf == b->buf && end_of(a) == b->off && (!a->buf || a->at + a->len == b->at);
}

/* Makes piece i and the next one, if they touch in memory too, one. */
static void join(struct extent_map *x, struct block *b, unsigned i)
{
        if (i + 1 >= b->n || !follows(&b->v[i], &b->v[i + 1]))
                return;
        b->v[i].len += b->v[i + 1].len;
        remove_piece(x, b, i + 1);
}

/* Lets go of the buffer for copies when nothing is in it. */
static void tidy(struct extent_map *x, struct block *b)
{
        for (unsigned i = 0; i < b->n; i++)
                if (b->v[i].buf == b->own)
                        return;
        give(x, TAKE_PTR(b->own));
}

/* Whether the bytes go in place of others that nobody else refers to. */
static bool goes_in_place(const struct block *b, uint32_t off, uint32_t n, unsigned i)
{
        const struct piece *old = i < b->n ? &b->v[i] : NULL;
        bool ours = old && old->buf && (!b->shared || old->buf == b->own);
        return ours && old->off <= off && end_of(old) >= off + n;
}

/* What put_in_block() needs, which cannot fail then. 0 or -ENOMEM. */
static int prepare(struct extent_map *x, struct block *b, uint32_t off, uint32_t n, bool copies)
{
        if (copies && goes_in_place(b, off, n, find_piece(b, off)))
                return 0;
        if (reserve(b))
                return -ENOMEM;
        return copies && !b->own && !(b->own = pool_get(x->pool, POOL_OVER)) ? -ENOMEM : 0;
}

static void put_in_block(struct extent_map *x, struct block *b, uint32_t off, uint32_t n,
                         const unsigned char *p, struct pool_buf *whole, uint64_t *fresh)
{
        unsigned i = find_piece(b, off);

        if (!whole && goes_in_place(b, off, n, i)) {
                struct piece *old = &b->v[i];
                memcpy(old->buf->data + old->at + (off - old->off), p, n);
                return;
        }
        struct piece fits = {.off = off, .len = n, .buf = whole ? whole : b->own, .at = off};
        if (whole)
                fits.at = (uint32_t)(p - whole->data);
        else
                memcpy(b->own->data + off, p, n);
        *fresh += n - cut(x, b, off, off + n);
        pool_ref(fits.buf);
        i = find_piece(b, off);
        insert_piece(b, i, fits);
        join(x, b, i);
        if (i)
                join(x, b, i - 1);
        if (whole && b->own)
                tidy(x, b);
}

/* Bytes of [pos, pos+n) that are in the first block of it. */
static uint32_t in_block(uint64_t pos, size_t n)
{
        uint32_t room = BLOCK - (uint32_t)(pos % BLOCK);
        return room < n ? room : (uint32_t)n;
}

/* Room for all of it. After an error what was made is there, maybe empty. */
static int prepare_blocks(struct extent_map *x, uint64_t pos, size_t n, bool copies)
{
        int err = 0;

        for (uint32_t k; !err && n; pos += k, n -= k) {
                struct block *b = make_block(x, pos / BLOCK);
                k = in_block(pos, n);
                err = b ? prepare(x, b, (uint32_t)(pos % BLOCK), k, copies) : -ENOMEM;
        }
        return err;
}

static void drop_empty_blocks(struct extent_map *x, uint64_t pos, size_t n)
{
        for (size_t i = find_block(x, pos / BLOCK); i < x->n && x->v[i]->no * BLOCK < pos + n;) {
                if (x->v[i]->own)
                        tidy(x, x->v[i]);
                if (x->v[i]->n)
                        i++;
                else
                        remove_blocks(x, i, i + 1);
        }
}

int extent_map_put(struct extent_map *x, uint64_t pos, const void *p, size_t n,
                   struct pool_buf *whole, uint64_t *fresh)
{
        const unsigned char *from = p;
        int err = prepare_blocks(x, pos, n, !whole);

        if (err) {
                drop_empty_blocks(x, pos, n);
                return err;
        }
        for (uint32_t k; n; pos += k, from += k, n -= k) {
                k = in_block(pos, n);
                put_in_block(x, x->v[find_block(x, pos / BLOCK)], (uint32_t)(pos % BLOCK), k, from,
                             whole, fresh);
        }
        return 0;
}

void extent_map_drop(struct extent_map *x, uint64_t from, uint64_t to)
{
        if (from >= to || !x->n)
                return;
        size_t i = find_block(x, from / BLOCK), put = i;
        size_t stop = i;
        for (; stop < x->n && x->v[stop]->no * BLOCK < to; stop++) {
                struct block *b = x->v[stop];
                uint64_t begin = b->no * BLOCK;
                uint32_t lo = begin < from ? (uint32_t)(from - begin) : 0;
                uint32_t hi = to - begin < BLOCK ? (uint32_t)(to - begin) : BLOCK;
                bool whole = lo == 0 && hi == BLOCK;
                if (!whole &&
                    !reserve(b)) /* without memory the bytes stay: they are not asked for */
                        cut(x, b, lo, hi);
                if (whole || !b->n)
                        block_free(x, b);
                else
                        x->v[put++] = b;
        }
        memmove(x->v + put, x->v + stop, (x->n - stop) * sizeof(struct block *));
        x->n -= stop - put;
}

/* --- what is held --- */

bool extent_map_run(const struct extent_map *x, uint64_t at, uint64_t *from, uint64_t *to)
{
        bool found = false;
        for (size_t k = find_block(x, at / BLOCK); k < x->n; k++) {
                const struct block *b = x->v[k];
                uint64_t begin = b->no * BLOCK;
                unsigned i = found || begin >= at ? 0 : find_piece(b, (uint32_t)(at - begin));
                for (; i < b->n; i++) {
                        uint64_t lo = begin + b->v[i].off;
                        if (found && lo != *to)
                                return true;
                        if (!found)
                                *from = lo;
                        found = true;
                        *to = lo + b->v[i].len;
                }
        }
        return found;
}

uint64_t extent_map_held(const struct extent_map *x, uint64_t from, uint64_t to)
{
        uint64_t held = 0, lo, hi;
        for (uint64_t at = from; at < to && extent_map_run(x, at, &lo, &hi) && lo < to; at = hi) {
                lo = lo > from ? lo : from;
                held += (hi < to ? hi : to) - lo;
        }
        return held;
}

/* Calls `each` for every piece of [from, to), with the part of it that lies there. */
static int each_piece(const struct extent_map *x, uint64_t from, uint64_t to,
                      int (*each)(void *arg, struct block *b, const struct piece *part), void *arg)
{
        for (size_t k = find_block(x, from / BLOCK); k < x->n && x->v[k]->no * BLOCK < to; k++) {
                struct block *b = x->v[k];
                uint64_t begin = b->no * BLOCK;
                uint32_t lo = begin < from ? (uint32_t)(from - begin) : 0;
                uint32_t hi = to - begin < BLOCK ? (uint32_t)(to - begin) : BLOCK;
                for (unsigned i = find_piece(b, lo); i < b->n && b->v[i].off < hi; i++) {
                        struct piece part = b->v[i];
                        uint32_t skip = part.off < lo ? lo - part.off : 0;
                        part.off += skip;
                        part.at += skip;
                        part.len -= skip;
                        if (end_of(&part) > hi)
                                part.len = hi - part.off;
                        int err = each(arg, b, &part);
                        if (err)
                                return err;
                }
        }
        return 0;
}

struct getting {
        uint64_t from;
        unsigned char *dst;
        struct part_body *later;
};

static int get_piece(void *arg, struct block *b, const struct piece *p)
{
        struct getting *g = arg;
        uint64_t pos = b->no * BLOCK + p->off;

        if (p->buf) {
                memcpy(g->dst + (pos - g->from), p->buf->data + p->at, p->len);
                return 0;
        }
        int err = part_body_add_zeros(g->later, pos - g->later->off - g->later->len);
        return err ? err : part_body_add_spilled(g->later, b->slot, p->off, p->len);
}

int extent_map_get(const struct extent_map *x, uint64_t from, void *dst, size_t n,
                   struct part_body *later)
{
        struct getting g = {.from = from, .dst = dst, .later = later};
        return each_piece(x, from, from + n, get_piece, &g);
}

struct sharing {
        struct extent_map *x;
        struct part_body *to;
};

static int share_piece(void *arg, struct block *b, const struct piece *p)
{
        struct sharing *s = arg;
        b->shared = true;
        give(s->x, TAKE_PTR(b->own)); /* what comes next goes to another one */
        if (p->buf)
                return part_body_add_buf(s->to, p->buf, p->at, p->len);
        return part_body_add_spilled(s->to, b->slot, p->off, p->len);
}

int extent_map_share(struct extent_map *x, uint64_t from, uint64_t to, struct part_body *p)
{
        struct sharing s = {.x = x, .to = p};
        return each_piece(x, from, to, share_piece, &s);
}

/* Bytes up to `to`, none of which is held. */
static int add_unheld(struct part_body *p, uint64_t to, uint64_t good, struct pool_buf **room,
                      uint32_t *at)
{
        uint64_t pos = p->off + p->len, fill = good < to ? good : to;
        int err = fill > pos ? part_body_add_room(p, room, at, fill - pos) : 0;
        return err ? err : part_body_add_zeros(p, to - p->off - p->len);
}

int extent_map_body(struct extent_map *x, uint64_t from, uint64_t to, uint64_t good,
                    struct pool_buf *room, struct part_body *p)
{
        uint64_t lo, hi;
        uint32_t at = 0;
        int err = 0;

        for (; !err && from < to && extent_map_run(x, from, &lo, &hi) && lo < to; from = hi) {
                lo = lo > from ? lo : from;
                hi = hi < to ? hi : to;
                err = add_unheld(p, lo, good, &room, &at);
                if (!err)
                        err = extent_map_share(x, lo, hi, p);
        }
        return err || from >= to ? err : add_unheld(p, to, good, &room, &at);
}

/* --- memory --- */

/* A buffer for copies that is not the block's own any more is all kept for the few bytes that may
 * be in it. */
static size_t block_memory(const struct block *b)
{
        size_t n = b->own ? BLOCK : 0;
        const struct pool_buf *last = NULL;

        for (unsigned i = 0; i < b->n; i++) {
                const struct piece *p = &b->v[i];
                if (!p->buf || p->buf == b->own)
                        continue;
                bool copies = p->at == p->off;
                n += !copies ? p->len : p->buf != last ? BLOCK : 0;
                last = p->buf;
        }
        return n;
}

size_t extent_map_in_memory(const struct extent_map *x)
{
        size_t n = 0;
        for (size_t i = 0; i < x->n; i++)
                n += block_memory(x->v[i]);
        return n;
}

struct spilling {
        struct spill *spill;
        uint64_t no, slot;
        bool fresh; /* the slot is not the block's yet */
        size_t bytes;
        unsigned n;
        struct piece v[]; /* a reference to each buffer, so that none is used for other bytes */
};

static int begin_block(struct extent_map *x, struct block *b, struct spilling **out)
{
        struct spilling *s = calloc(1, sizeof *s + b->n * sizeof *s->v);
        int err = s ? 0 : -ENOMEM;

        if (!err && b->has_slot)
                spill_ref(x->spill, s->slot = b->slot);
        else if (!err)
                err = spill_take(x->spill, &s->slot);
        if (err) {
                free(s);
                return err;
        }
        s->spill = x->spill;
        s->no = b->no;
        s->fresh = !b->has_slot;
        s->bytes = block_memory(b);
        for (unsigned i = 0; i < b->n; i++) {
                if (!b->v[i].buf)
                        continue;
                pool_ref(b->v[i].buf);
                s->v[s->n++] = b->v[i];
        }
        b->shared = true;
        give(x, TAKE_PTR(b->own)); /* what comes next goes to another one */
        *out = s;
        return 0;
}

int extent_map_spill_begin(struct extent_map *x, uint64_t from, uint64_t to, struct spilling **s)
{
        *s = NULL;
        for (size_t i = find_block(x, from / BLOCK); i < x->n && x->v[i]->no * BLOCK < to; i++) {
                struct block *b = x->v[i];
                /* What a part that is being sent refers to in the slot stays as it is. */
                if (block_memory(b) && !(b->has_slot && spill_is_shared(x->spill, b->slot)))
                        return begin_block(x, b, s);
        }
        return 0;
}

int spilling_write(const struct spilling *s)
{
        int err = 0;
        for (unsigned i = 0; !err && i < s->n; i++) {
                const struct piece *p = &s->v[i];
                err = spill_write(s->spill, s->slot, p->off, p->buf->data + p->at, p->len);
        }
        return err;
}

/* Whether the bytes of `p` are those that were written from `q`. */
static bool is_of(const struct piece *p, const struct piece *q)
{
        return p->buf == q->buf && p->off >= q->off && end_of(p) <= end_of(q) &&
               p->at - q->at == p->off - q->off;
}

/* The block refers to the slot for what was written and is still the same. */
static bool take_written(struct extent_map *x, struct block *b, const struct spilling *s)
{
        bool any = false;
        unsigned k = 0;

        for (unsigned i = 0; i < b->n; i++) {
                struct piece *p = &b->v[i];
                while (k < s->n && end_of(&s->v[k]) <= p->off)
                        k++;
                if (!p->buf || k == s->n || !is_of(p, &s->v[k]))
                        continue;
                give(x, TAKE_PTR(p->buf));
                any = true;
        }
        for (unsigned i = 0; i < b->n;) {
                unsigned n = b->n;
                join(x, b, i);
                i += n == b->n;
        }
        return any;
}

ssize_t extent_map_spill_end(struct extent_map *x, struct spilling *s, int err)
{
        size_t i = find_block(x, s->no);
        struct block *b = i < x->n && x->v[i]->no == s->no ? x->v[i] : NULL;
        bool fits = !err && b && (b->has_slot ? b->slot == s->slot : s->fresh);
        ssize_t n = err ? err : (ssize_t)s->bytes;

        if (fits && take_written(x, b, s) && !b->has_slot) {
                b->has_slot = true;
                b->slot = s->slot;
                s->fresh = false;
                spill_ref(x->spill, s->slot);
        }
        spill_drop(x->spill, s->slot);
        spill_note(x->spill, err);
        for (unsigned k = 0; k < s->n; k++)
                give(x, s->v[k].buf);
        free(s);
        return n;
}
