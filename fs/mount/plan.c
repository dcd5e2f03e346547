/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. */
#include "mount/plan.h"

#include <errno.h>
#include <stdlib.h>

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

/* --- commits
 * ---------------------------------------------------------------------------------------------
 *
 * Between the parts that are sent lie gaps. A gap is walked from left to right: what was written,
 * or is a hole, is sent; what the base has is copied. Then pieces that are too small for a part
 * grow at their neighbour's cost, and large ones are cut. If there are more than the gap has
 * numbers for, the same is done with larger pieces. */

void plan_release(struct plan *p)
{
        free(p->v);
        *p = (struct plan){0};
}

static int push(struct plan *p, struct plan_step s)
{
        if (p->n == p->max) {
                size_t max = p->max ? p->max * 2 : 16;
                struct plan_step *v = realloc(p->v, max * sizeof *v);
                if (!v)
                        return -ENOMEM;
                p->v = v;
                p->max = max;
        }
        p->v[p->n++] = s;
        return 0;
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

/* Bytes [from, to), none of which was written. */
static int add_clean(const struct plan_in *in, struct plan *p, uint64_t from, uint64_t to,
                     uint64_t least)
{
        uint64_t good = in->base < to ? in->base : to;
        if (good < from)
                good = from;
        bool can = in->copies ? good - from >= least || good == in->size
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

/* How many parts a piece becomes. */
static uint64_t parts_of(const struct plan_in *in, const struct plan_step *s, uint64_t part)
{
        if (s->copy && in->whole_copies)
                return 1;
        uint64_t least = (s->len + STORE_PART_SIZE_MAX - 1) / STORE_PART_SIZE_MAX;
        uint64_t n = s->copy ? 0 : s->len / part;
        return n > least ? n : least;
}

/* Adds the pieces of a gap, cut as they must be, with numbers from `no` on. */
static int number(const struct plan_in *in, struct plan *p, const struct plan *gap, unsigned no,
                  uint64_t part)
{
        for (size_t i = 0; i < gap->n; i++) {
                const struct plan_step *s = &gap->v[i];
                uint64_t n = parts_of(in, s, part), at = s->off;
                uint64_t each = n > 1 ? s->len / n / MIB * MIB : s->len;
                for (uint64_t k = 0; k < n; k++) {
                        uint64_t len = k + 1 < n ? each : s->off + s->len - at;
                        struct plan_step cut = {.no = no++, .copy = s->copy, .off = at, .len = len};
                        int err = push(p, cut);
                        if (err)
                                return err;
                        at += len;
                }
        }
        return 0;
}

/* Plans bytes [from, to) with the numbers first..last. */
static int plan_gap(const struct plan_in *in, struct plan *p, uint64_t from, uint64_t to,
                    unsigned first, unsigned last)
{
        uint64_t least = STORE_PART_SIZE_MIN, part = in->part;
        int err = -EFBIG;

        for (int tries = 0; tries < 40 && err == -EFBIG; tries++, least *= 2, part *= 2) {
                struct plan gap = {0};
                uint64_t n = 0;
                err = add_gap(in, &gap, from, to, least);
                if (!err && !in->whole_copies)
                        grow_small(in, &gap);
                for (size_t i = 0; i < gap.n; i++)
                        n += parts_of(in, &gap.v[i], part);
                if (!err)
                        err = n + first > (uint64_t)last + 1 ? -EFBIG
                                                             : number(in, p, &gap, first, part);
                plan_release(&gap);
        }
        return err;
}

static int plan_upload(const struct plan_in *in, struct plan *p)
{
        uint64_t at = 0;
        unsigned no = 1;
        int err = 0;

        for (size_t i = 0; i < in->nsent && !err; i++) {
                const struct plan_sent *s = &in->sent[i];
                if (s->off > at)
                        err = plan_gap(in, p, at, s->off, no, s->no - 1);
                at = s->off + s->len;
                no = s->no + 1;
        }
        return err || at >= in->size ? err : plan_gap(in, p, at, in->size, no, STORE_PART_MAX);
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
        if (from < to && !add_gap(&all, &gap, from, to, 1))
                for (size_t i = 0; i < gap.n; i++)
                        n += gap.v[i].copy ? gap.v[i].len : 0;
        plan_release(&gap);
        return n;
}

int plan_commit(const struct plan_in *in, struct plan *out)
{
        enum { REQUEST = 1 << 20 }; /* takes as long as so many bytes, about */
        uint64_t put = lacking(in, 0, in->size) + in->size;
        bool can_put = !in->nsent && in->size <= in->put_most;

        *out = (struct plan){0};
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
