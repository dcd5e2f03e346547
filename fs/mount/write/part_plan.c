/* SPDX-License-Identifier: Apache-2.0 */
/* part_plan.c: see part_plan.h. */
#include "mount/write/part_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "store.h"

#include "base/banned.h"

#define MIB (1ULL << 20)

struct part_plan part_plan(uint64_t part_size, uint64_t memory)
{
        struct part_plan p = {.first = part_size / MIB * MIB, .most = memory / 2 / MIB * MIB};
        if (p.first < STORE_PART_SIZE_MIN)
                p.first = STORE_PART_SIZE_MIN;
        if (p.most > STORE_PART_SIZE_MAX)
                p.most = STORE_PART_SIZE_MAX;
        if (p.most < STORE_PART_SIZE_MIN)
                p.most = STORE_PART_SIZE_MIN;
        if (p.first > p.most)
                p.first = p.most;
        return p;
}

uint64_t part_plan_bytes(const struct part_plan *p, unsigned no)
{
        unsigned doublings = (no - 1) / PLAN_STEP;
        uint64_t bytes = p->first << (doublings < 11 ? doublings : 11);
        return bytes < p->most ? bytes : p->most;
}

uint64_t part_plan_reach(const struct part_plan *p)
{
        uint64_t sum = 0;
        for (unsigned no = 1; no <= STORE_PART_MAX; no++)
                sum += part_plan_bytes(p, no);
        return sum;
}

struct part_plan part_plan_announced(const struct part_plan *p, uint64_t size)
{
        struct part_plan q = *p;
        if (size <= part_plan_reach(p))
                return q;
        q.first = (size / STORE_PART_MAX / MIB + 1) * MIB;
        if (q.first > STORE_PART_SIZE_MAX)
                q.first = STORE_PART_SIZE_MAX;
        if (q.most < q.first)
                q.most = q.first;
        return q;
}

bool part_plan_at(const struct part_plan *p, const struct part_anchor *a, uint64_t off,
                  unsigned *no, uint64_t *start, uint64_t *len)
{
        uint64_t at = a->origin;
        for (unsigned n = a->no; n <= STORE_PART_MAX;) {
                uint64_t bytes = part_plan_bytes(p, n);
                unsigned alike = PLAN_STEP - (n - 1) % PLAN_STEP; /* as large as this one */
                uint64_t skip = (off - at) / bytes;
                if (skip < alike) {
                        *no = n + (unsigned)skip;
                        *start = at + skip * bytes;
                        *len = bytes;
                        return *no <= STORE_PART_MAX;
                }
                n += alike;
                at += alike * bytes;
        }
        return false;
}

unsigned part_plan_before(const struct part_plan *p, uint64_t off, uint64_t pieces)
{
        enum { FEWEST = 128 }; /* a change below `off` then costs little in a small file, too */
        const struct part_anchor start = {.origin = 0, .no = 1};
        uint64_t least = (off + STORE_PART_SIZE_MAX - 1) / STORE_PART_SIZE_MAX;
        uint64_t most = off / STORE_PART_SIZE_MIN, from, len;
        unsigned no;
        uint64_t n = part_plan_at(p, &start, off, &no, &from, &len) ? no - 1 : least;

        if (pieces > STORE_PART_MAX / 2)
                pieces = STORE_PART_MAX / 2;
        n = n > FEWEST ? n : FEWEST;
        n = n > pieces ? n : pieces;
        n = n > least ? n : least;
        n = n < most ? n : most;
        return n < STORE_PART_MAX ? (unsigned)n : STORE_PART_MAX;
}

/* --- commits --- */

/* Between the parts that are sent lie gaps. A gap is walked from left to right: what was written,
 * or is a hole, is sent; what the base has is copied. Pieces that are too small for a part grow at
 * their neighbour's cost. Stores want consecutive numbers, so a gap before a part that was sent
 * becomes exactly as many parts as it has numbers: pieces are cut until they are enough, and where
 * they are too many, the shortest copies are sent together with what is around them. That always
 * ends well: one piece that is sent can be cut into any number of parts that its numbers were
 * left for. */

void plan_release(struct plan *p)
{
        free(p->v);
        *p = (struct plan){0};
}

static int push(struct plan *p, struct plan_step s)
{
        int err = GROW(p->v, p->n, p->max, 16);
        if (!err)
                p->v[p->n++] = s;
        return err;
}

/* Adds bytes, to the last piece if they are of its kind. */
static int add_piece(struct plan *p, bool copy, uint64_t off, uint64_t len)
{
        if (!len)
                return 0;
        if (p->n && p->v[p->n - 1].copy == copy) {
                p->v[p->n - 1].len += len;
                return 0;
        }
        return push(p, (struct plan_step){.copy = copy, .off = off, .len = len});
}

/* Of a version that is no larger than the smallest part, S3 copies no range: "You can copy a range
 * only if the source object is greater than 5 MB" (API reference, UploadPartCopy). */
static bool copies_ranges(const struct plan_in *in)
{
        return in->copies && in->base_size > STORE_PART_SIZE_MIN;
}

/* Bytes [from, to), none of which was written. Copies have `least` bytes. */
static int add_clean(const struct plan_in *in, struct plan *p, uint64_t from, uint64_t to,
                     uint64_t least)
{
        uint64_t good = in->base < to ? in->base : to;
        if (good < from)
                good = from;
        bool can = copies_ranges(in) ? good - from >= least || good == in->size
                                     : in->whole_copies && !from && good == in->base_size && good;
        int err = add_piece(p, can, from, good - from);
        return err ? err : add_piece(p, false, good, to - good);
}

static int add_gap(const struct plan_in *in, struct plan *p, uint64_t from, uint64_t to,
                   uint64_t least)
{
        size_t lo = 0, hi = in->nheld;
        while (lo < hi) { /* the first run that ends behind `from` */
                size_t mid = (lo + hi) / 2;
                if (in->held[mid].to <= from)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        uint64_t at = from;
        for (; lo < in->nheld && in->held[lo].from < to && at < to; lo++) {
                uint64_t a = in->held[lo].from > at ? in->held[lo].from : at;
                uint64_t b = in->held[lo].to < to ? in->held[lo].to : to;
                int err = add_clean(in, p, at, a, least);
                if (!err)
                        err = add_piece(p, false, a, b - a);
                if (err)
                        return err;
                at = b;
        }
        return at < to ? add_clean(in, p, at, to, least) : 0;
}

/* Makes the pieces of a gap large enough to be parts: a small one that is sent takes from the copy
 * behind it, or all of that; the last one from the copy before it. */
static void grow_small(const struct plan_in *in, struct plan *p)
{
        size_t to = 0;
        for (size_t i = 0; i < p->n; i++) {
                struct plan_step s = p->v[i], *last = to ? &p->v[to - 1] : NULL;
                if (last && !last->copy && s.copy && last->len < STORE_PART_SIZE_MIN) {
                        uint64_t need = STORE_PART_SIZE_MIN - last->len;
                        bool ends = s.off + s.len == in->size;
                        if (s.len < need + (ends ? 1 : STORE_PART_SIZE_MIN))
                                need = s.len;
                        last->len += need;
                        s.off += need;
                        s.len -= need;
                }
                if (last && !last->copy && !s.copy)
                        last->len += s.len;
                else if (s.len)
                        p->v[to++] = s;
        }
        p->n = to;
        struct plan_step *end = to ? &p->v[to - 1] : NULL;
        if (to < 2 || end->off + end->len == in->size || end->len >= STORE_PART_SIZE_MIN)
                return;
        struct plan_step *copy = end - 1;
        uint64_t need = STORE_PART_SIZE_MIN - end->len;
        if (copy->len < need + STORE_PART_SIZE_MIN)
                need = copy->len;
        end->off -= need;
        end->len += need;
        copy->len -= need;
        if (copy->len)
                return;
        if (to > 2)
                p->v[to - 3].len += end->len; /* which is sent too, as it is no copy */
        else
                *copy = *end;
        p->n = to > 2 ? to - 2 : 1;
}

static uint64_t divide_up(uint64_t len, uint64_t by)
{
        return (len + by - 1) / by;
}

/* How pieces are cut. */
struct cut {
        const struct plan_in *in;
        uint64_t part; /* bytes of a part that is sent: less than twice as many */
};

/* The fewest and the most parts that a piece may become. */
static uint64_t fewest(const struct cut *c, const struct plan_step *s)
{
        if (s->copy && c->in->whole_copies)
                return 1;
        uint64_t least = divide_up(s->len, STORE_PART_SIZE_MAX);
        uint64_t n = s->copy ? 0 : s->len / c->part;
        return n > least ? n : least;
}

static uint64_t most(const struct cut *c, const struct plan_step *s)
{
        uint64_t n = s->len / STORE_PART_SIZE_MIN;
        if (c->in->whole_copies)
                n = s->copy ? 1 : s->len;
        return n ? n : 1;
}

/* How many parts a piece becomes when parts have `size` bytes, if it can. */
static uint64_t parts_of(const struct cut *c, const struct plan_step *s, uint64_t size)
{
        uint64_t n = divide_up(s->len, size), lo = fewest(c, s), hi = most(c, s);
        n = n < hi ? n : hi;
        return n > lo ? n : lo;
}

static uint64_t count_parts(const struct cut *c, const struct plan *gap, uint64_t size)
{
        uint64_t n = 0;
        for (size_t i = 0; i < gap->n; i++)
                n += parts_of(c, &gap->v[i], size);
        return n;
}

enum { WIDEST = 1 };             /* a size of one byte: as many parts as can be */
#define LARGEST (UINT64_MAX / 2) /* as few */

/* The smallest size of which there are at most n parts, where LARGEST is one. */
static uint64_t find_size(const struct cut *c, const struct plan *gap, uint64_t n)
{
        uint64_t lo = WIDEST, hi = LARGEST;
        while (lo < hi) {
                uint64_t mid = lo + (hi - lo) / 2;
                if (count_parts(c, gap, mid) <= n)
                        hi = mid;
                else
                        lo = mid + 1;
        }
        return lo;
}

/* Adds a piece as n parts with numbers from `no` on: whole MiB but for the last, and none a MiB
 * larger than another, so that none is larger than parts may be if their mean is not. */
static int add_parts(struct plan *p, const struct plan_step *s, uint64_t n, unsigned no)
{
        uint64_t unit = s->len / MIB < n ? 1 : MIB, units = s->len / unit, at = 0;
        for (uint64_t k = 1; k <= n; k++) {
                uint64_t end = k < n ? divide_up(units * k, n) * unit : s->len;
                struct plan_step part = {
                        .no = no++, .copy = s->copy, .off = s->off + at, .len = end - at};
                int err = push(p, part);
                if (err)
                        return err;
                at = end;
        }
        return 0;
}

/* Adds the pieces as n parts. */
static int number(const struct cut *c, struct plan *p, const struct plan *gap, unsigned no,
                  uint64_t n)
{
        uint64_t size = find_size(c, gap, n), more = n - count_parts(c, gap, size);
        int err = 0;
        for (size_t i = 0; i < gap->n && !err; i++) {
                uint64_t k = parts_of(c, &gap->v[i], size);
                uint64_t finer = more ? parts_of(c, &gap->v[i], size - 1) - k : 0;
                finer = finer < more ? finer : more;
                more -= finer;
                err = add_parts(p, &gap->v[i], k + finer, no);
                no += (unsigned)(k + finer);
        }
        return err;
}

static int by_length(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
        return x < y ? -1 : x > y;
}

/* Bytes that a copy has to lose to need one part less. */
static uint64_t last_part(const struct plan_in *in, const struct plan_step *s)
{
        return in->whole_copies ? s->len : (s->len - 1) % STORE_PART_SIZE_MAX + 1;
}

/* Gives the last part of copy i to what is sent beside it; all of it when it has one. */
static struct plan_step shorten(const struct plan_in *in, struct plan *gap, size_t i, size_t to)
{
        struct plan_step s = gap->v[i];
        uint64_t n = last_part(in, &s);

        if (n == s.len || gap->n == 1) {
                s.copy = false;
                return s;
        }
        s.len -= n;
        if (i + 1 < gap->n) {
                gap->v[i + 1].off -= n;
                gap->v[i + 1].len += n;
        } else {
                gap->v[to - 1].len += n;
                s.off += n;
        }
        return s;
}

/* Makes n copies a part shorter, at the least cost: what they lose is sent. -EFBIG: there is none.
 */
static int join_shortest(const struct plan_in *in, struct plan *gap, uint64_t n)
{
        CLEANUP(freep) uint64_t *len = calloc(gap->n, sizeof *len);
        size_t copies = 0, to = 0;
        if (!len)
                return -ENOMEM;
        for (size_t i = 0; i < gap->n; i++)
                if (gap->v[i].copy)
                        len[copies++] = last_part(in, &gap->v[i]);
        if (!copies)
                return -EFBIG;
        qsort(len, copies, sizeof *len, by_length);
        n = n < copies ? n : copies;
        uint64_t longest = len[n - 1], alike = n; /* of those as long as that */
        for (size_t i = 0; i < n && len[i] < longest; i++)
                alike--;
        for (size_t i = 0; i < gap->n; i++) {
                struct plan_step s = gap->v[i];
                uint64_t cost = s.copy ? last_part(in, &s) : UINT64_MAX;
                if (cost < longest || (cost == longest && alike)) {
                        alike -= cost == longest;
                        s = shorten(in, gap, i, to);
                }
                if (to && !s.copy && !gap->v[to - 1].copy)
                        gap->v[to - 1].len += s.len;
                else
                        gap->v[to++] = s;
        }
        gap->n = to;
        return 0;
}

/* The numbers that a gap has. */
struct numbers {
        unsigned first, n;
        bool all; /* parts were sent behind it, so that each is needed */
};

/* How many parts the pieces become. When they cannot, *joins is how many copies are too many. */
static uint64_t choose_count(const struct cut *c, const struct plan *gap, const struct numbers *no,
                             uint64_t *joins)
{
        uint64_t few = count_parts(c, gap, LARGEST), many = count_parts(c, gap, WIDEST);
        *joins = few > no->n               ? (few - no->n + 1) / 2
                 : no->all && many < no->n ? (no->n - many + 1) / 2
                                           : 0;
        if (no->all)
                return no->n;
        return c->part == c->in->part ? few : many < no->n ? many : no->n;
}

/* The pieces, large enough to be parts. */
static int make_parts(const struct plan_in *in, const struct plan *pieces, struct plan *out)
{
        int err = 0;
        out->n = 0;
        for (size_t i = 0; i < pieces->n && !err; i++)
                err = push(out, pieces->v[i]);
        if (!err && !in->whole_copies)
                grow_small(in, out);
        return err;
}

/* Plans bytes [from, to). */
static int plan_gap(const struct plan_in *in, struct plan *p, uint64_t from, uint64_t to,
                    const struct numbers *no)
{
        struct cut c = {in, in->part};
        struct plan pieces = {0}, gap = {0};
        uint64_t n = 0, joins;
        int err = add_gap(in, &pieces, from, to, STORE_PART_SIZE_MIN);

        if (!err)
                err = make_parts(in, &pieces, &gap);
        while (!err && (n = choose_count(&c, &gap, no, &joins), joins)) {
                if (c.part == in->part) {
                        c.part = UINT64_MAX; /* what is sent is cut into larger parts first */
                        continue;
                }
                err = join_shortest(in, &pieces, joins);
                if (!err)
                        err = make_parts(in, &pieces, &gap);
        }
        if (!err)
                err = number(&c, p, &gap, no->first, n);
        plan_release(&pieces);
        plan_release(&gap);
        return err;
}

static int plan_upload(const struct plan_in *in, struct plan *p)
{
        bool composed = in->whole_copies && in->base; /* which minds no numbers */
        uint64_t at = 0;
        unsigned no = 1;
        int err = 0;

        for (size_t i = 0; i < in->nsent && !err; i++) {
                const struct plan_sent *s = &in->sent[i];
                struct numbers before = {.first = no, .n = s->no - no, .all = !composed};
                if (s->off > at)
                        err = plan_gap(in, p, at, s->off, &before);
                at = s->off + s->len;
                no = s->no + 1;
        }
        struct numbers rest = {.first = no, .n = STORE_PART_MAX + 1 - no};
        return err || at >= in->size ? err : plan_gap(in, p, at, in->size, &rest);
}

/* Bytes of [from, to) that have to be fetched to be sent. */
static uint64_t lacking(const struct plan_in *in, uint64_t from, uint64_t to)
{
        struct plan gap = {0};
        struct plan_in all = *in;
        uint64_t n = 0;
        all.base = to = to < in->base ? to : in->base;
        all.size = UINT64_MAX;
        all.copies = true;
        all.base_size = UINT64_MAX;
        if (from < to && !add_gap(&all, &gap, from, to, 1))
                for (size_t i = 0; i < gap.n; i++)
                        n += gap.v[i].copy ? gap.v[i].len : 0;
        plan_release(&gap);
        return n;
}

/* Whether the file is all of the base with no more behind it than one request sends. */
static bool can_append(const struct plan_in *in)
{
        return in->appends && !in->nsent && in->base && in->base == in->base_size &&
               in->size > in->base && in->size - in->base <= in->put_most &&
               (!in->nheld || in->held[0].from >= in->base);
}

int plan_commit(const struct plan_in *in, struct plan *out)
{
        enum { REQUEST = 1 << 20 }; /* takes as long as so many bytes, about */
        uint64_t put = lacking(in, 0, in->size) + in->size;
        bool can_put = !in->nsent && in->size <= in->put_most;

        *out = (struct plan){0};
        if (can_append(in) && (!can_put || in->size - in->base + REQUEST < put)) {
                *out = (struct plan){.put = true, .from = in->base, .moved = in->size - in->base};
                return 0; /* after a head: two requests */
        }
        if (can_put && !in->base) {
                *out = (struct plan){.put = true, .moved = put};
                return 0;
        }
        int err = plan_upload(in, out);
        uint64_t cost = 2 * REQUEST;
        for (size_t i = 0; i < out->n; i++) {
                const struct plan_step *s = &out->v[i];
                if (!s->copy)
                        out->moved += s->len + lacking(in, s->off, s->off + s->len);
                cost += REQUEST;
        }
        if (can_put && (err || put + REQUEST <= out->moved + cost)) {
                plan_release(out);
                *out = (struct plan){.put = true, .moved = put};
                return 0;
        }
        if (err)
                plan_release(out);
        return err;
}

/* --- what is completed --- */

/* What is wrong with the next part, or NULL. */
static const char *find_fault(const struct plan_in *in, const struct plan_step *s, uint64_t at,
                              unsigned no)
{
        bool composed = in->whole_copies && in->base;
        uint64_t end = s->off + s->len;

        if (s->off != at || !s->len || end > in->size)
                return "does not begin where the one before it ends";
        if (composed ? s->no < no : s->no != no)
                return "has not the next number";
        if (s->no > STORE_PART_MAX)
                return "has too large a number";
        if (!in->whole_copies && s->len < STORE_PART_SIZE_MIN && end < in->size)
                return "is too small";
        if (s->len > STORE_PART_SIZE_MAX && !(in->whole_copies && s->copy))
                return "is too large";
        return s->copy && end > in->base ? "is a copy of what is not there" : NULL;
}

int plan_check(const struct plan_in *in, const struct plan *p, char *why, size_t nwhy)
{
        uint64_t at = 0;
        unsigned no = 1;

        for (size_t i = 0, k = 0; i < p->n || k < in->nsent;) {
                bool sent = i == p->n || (k < in->nsent && in->sent[k].off < p->v[i].off);
                struct plan_step s = sent ? (struct plan_step){.no = in->sent[k].no,
                                                               .off = in->sent[k].off,
                                                               .len = in->sent[k].len}
                                          : p->v[i];
                const char *fault = find_fault(in, &s, at, no);
                if (fault) {
                        snprintf(why, nwhy, "part %u, bytes %" PRIu64 "+%" PRIu64 ", %s", s.no,
                                 s.off, s.len, fault);
                        return -EIO;
                }
                at = s.off + s.len;
                no = s.no + 1;
                k += sent;
                i += !sent;
        }
        if (p->put || at == in->size)
                return 0;
        snprintf(why, nwhy, "its parts have %" PRIu64 " of %" PRIu64 " bytes", at, in->size);
        return -EIO;
}
