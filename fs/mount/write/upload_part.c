/* SPDX-License-Identifier: Apache-2.0 */
/* upload_part.c: the parts of a file that are sent while it is written. See wfile_int.h.
 *
 * Where parts begin follows from where the first begins (part_plan.h), so that they may fill in any
 * order. A file that is written anew begins with part 1. In one that has a base, the first part
 * that is written without a break decides, and as many numbers are left for what lies before it as
 * the commit will make parts of that. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/grow.h"
#include "base/metrics.h"

#include "base/banned.h"

static int add_anchor_locked(struct wfile *f, uint64_t origin, unsigned no) REQUIRES(&f->mtx)
{
        struct upload_parts *p = &f->locked.parts;

        if (GROW(p->anchors, p->nanchors, p->maxanchors, 4))
                return -ENOMEM;
        p->anchors[p->nanchors++] = (struct part_anchor){.origin = origin, .no = no};
        return 0;
}

/* Index of the first part that ends behind `pos`. */
static size_t find_part(const struct upload_parts *p, uint64_t pos)
{
        size_t lo = 0, hi = p->n;
        while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                if (p->v[mid].off + p->v[mid].len <= pos)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

static int insert_part_locked(struct wfile *f, size_t i, struct upload_part s) REQUIRES(&f->mtx)
{
        if (GROW(f->locked.parts.v, f->locked.parts.n, f->locked.parts.max, 8))
                return -ENOMEM;
        struct upload_part *at = f->locked.parts.v + i;
        memmove(at + 1, at, (f->locked.parts.n - i) * sizeof *at);
        *at = s;
        f->locked.parts.n++;
        return 0;
}

/* Whether ranges of the base become parts, so that one may begin anywhere behind them. */
static bool copies_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return wfile_base_locked(f)->len && wfile_base_copies_locked(f);
}

/* Makes the part of byte `pos`; *s stays NULL where bytes have none. */
static int add_part_locked(struct wfile *f, uint64_t pos, struct upload_part **s, uint64_t *end)
        REQUIRES(&f->mtx)
{
        unsigned a = f->locked.parts.nanchors;
        while (a && f->locked.parts.anchors[a - 1].origin > pos)
                a--;
        *end = a < f->locked.parts.nanchors ? f->locked.parts.anchors[a].origin : UINT64_MAX;
        if (!a)
                return 0; /* before the first part: left to the commit */
        struct upload_part new = {0};
        if (!part_plan_at(&f->locked.parts.plan, &f->locked.parts.anchors[a - 1], pos, &new.no,
                          &new.off, &new.len))
                return -EFBIG;
        if (new.off + new.len > *end)
                new.len = *end - new.off;
        *end = new.off + new.len;
        new.sum_end = new.off;
        new.have = extent_map_held(&f->locked.data, new.off, *end);
        size_t i = find_part(&f->locked.parts, pos);
        int err = insert_part_locked(f, i, new);
        if (!err)
                *s = &f->locked.parts.v[i];
        return err;
}

int upload_part_at_locked(struct wfile *f, uint64_t pos, struct upload_part **s, uint64_t *end)
        REQUIRES(&f->mtx)
{
        size_t i = find_part(&f->locked.parts, pos);
        int err = 0;

        *s = NULL;
        if (i < f->locked.parts.n && f->locked.parts.v[i].off <= pos) {
                *s = &f->locked.parts.v[i];
                *end = (*s)->off + (*s)->len;
                return 0;
        }
        if (!f->locked.parts.nanchors && copies_base_locked(f)) {
                struct plan_run *run = &f->locked.parts.run;
                if (run->to != pos || pos - run->from >= f->locked.parts.plan.first)
                        *run = (struct plan_run){pos, pos};
                *end = run->from + f->locked.parts.plan.first;
                return 0;
        }
        if (!f->locked.parts.nanchors)
                err = add_anchor_locked(f, 0, 1);
        return err ? err : add_part_locked(f, pos, s, end);
}

/* Numbers the parts from the run of bytes on that was written last, and makes the first. NULL: they
 * are left to the commit. */
static struct upload_part *number_run_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        bool whole = store_caps(f->env->store) & STORE_CAP_WHOLE_COPY;
        uint64_t origin = f->locked.parts.run.from, end, pieces = 1;
        struct upload_part *s = NULL;
        struct plan_run r;

        if (origin < STORE_PART_SIZE_MIN && !whole)
                origin = 0; /* what lies before it is no part: it is sent with the first */
        for (uint64_t at = 0;
             extent_map_run(&f->locked.data, at, &r.from, &r.to) && r.from < origin; at = r.to)
                pieces += 2;
        unsigned before = part_plan_before(&f->locked.parts.plan, origin, pieces);
        if (whole && origin && before < 2)
                before = 2; /* the base and a hole, however small they are */
        if (before < STORE_PART_MAX && !add_anchor_locked(f, origin, 1 + before))
                (void)add_part_locked(f, f->locked.parts.run.from, &s, &end);
        return s;
}

static int check_part(const struct upload_part *s, uint64_t pos, uint64_t end)
{
        if (s->state == UPLOAD_PART_FILLING || !s->dropped)
                return 0;
        if (s->state == UPLOAD_PART_FLYING)
                return -EAGAIN;
        return pos > s->off || end < s->off + s->len ? -EBUSY : 0;
}

int upload_parts_check(const struct upload_parts *p, uint64_t from, uint64_t to)
{
        int err = 0;

        for (size_t i = find_part(p, from); !err && i < p->n && p->v[i].off < to; i++) {
                const struct upload_part *s = &p->v[i];
                uint64_t end = s->off + s->len;
                err = check_part(s, from > s->off ? from : s->off, to < end ? to : end);
        }
        return err;
}

void upload_part_reopen(struct upload_part *s)
{
        if (!s || s->state != UPLOAD_PART_SENT || !s->dropped)
                return;
        s->state = UPLOAD_PART_FILLING;
        s->dropped = s->changed = false;
        s->have = 0;
        s->sum_end = s->off;
        s->crc = 0;
}

static void send_part_locked(struct wfile *f, struct outcome *out, struct upload_part *s)
        REQUIRES(&f->mtx)
{
        bool resident = f->locked.read_too || f->locked.rewritten ||
                        f->locked.parts.resident + s->len <= f->env->resident;
        struct upload_request *t = upload_request_new_locked(f, out, REQUEST_PART);
        if (!t)
                return;
        t->part = part_body_new(f->env->spill, s->no, s->off);
        if (!t->part || extent_map_share(&f->locked.data, s->off, s->off + s->len, t->part)) {
                t->err = -ENOMEM;
                s->state = UPLOAD_PART_FLYING;
                return;
        }
        t->summed = s->sum_end == s->off + s->len;
        t->part->crc = s->crc;
        t->part->queued = true;
        pool_queued(f->env->pool, s->len);
        s->state = UPLOAD_PART_FLYING;
        if (resident)
                f->locked.parts.resident += s->len;
        else
                extent_map_drop(&f->locked.data, s->off, s->off + s->len);
        s->dropped = !resident;
        if (f->locked.upload.state == UPLOAD_NONE)
                upload_request_create_locked(f, out);
}

/* Whether all that comes before the part was sent. */
static bool is_next_locked(const struct wfile *f, const struct upload_part *s) REQUIRES(&f->mtx)
{
        uint64_t at = 0;
        for (const struct upload_part *x = f->locked.parts.v;
             x < s && x->off == at && x->state != UPLOAD_PART_FILLING; x++)
                at = x->off + x->len;
        return at == s->off;
}

static bool is_in_order(const struct wfile *f)
{
        return store_caps(f->env->store) & STORE_CAP_IN_ORDER;
}

static bool is_full(const struct upload_part *s)
{
        return s->state == UPLOAD_PART_FILLING && s->have == s->len;
}

/* Sends a full part; where parts go in order, when it is its turn, and those that waited for it. */
static void send_full_locked(struct wfile *f, struct outcome *out, struct upload_part *s)
        REQUIRES(&f->mtx)
{
        bool in_order = is_in_order(f);
        const struct upload_part *end = f->locked.parts.v + f->locked.parts.n;

        if (in_order && !is_next_locked(f, s))
                return;
        send_part_locked(f, out, s);
        while (in_order && !f->locked.err && ++s < end && is_full(s) &&
               s->off == s[-1].off + s[-1].len)
                send_part_locked(f, out, s);
}

static void send_if_full_locked(struct wfile *f, struct outcome *out, struct upload_part *s)
        REQUIRES(&f->mtx)
{
        if (is_full(s) && !f->locked.unlinked && f->locked.upload.state != UPLOAD_STALE)
                send_full_locked(f, out, s);
}

/* Bytes that are in no part yet: as many as one has, without a break, is the first. */
static void add_to_run_locked(struct wfile *f, struct outcome *out, uint64_t pos, size_t n)
        REQUIRES(&f->mtx)
{
        struct plan_run *run = &f->locked.parts.run;

        if (f->locked.parts.nanchors || pos != run->to)
                return;
        run->to += n;
        struct upload_part *s =
                run->to - run->from < f->locked.parts.plan.first ? NULL : number_run_locked(f);
        if (s)
                send_if_full_locked(f, out, s);
}

void upload_part_filled_locked(struct wfile *f, struct outcome *out, struct upload_part *s,
                               uint64_t pos, const void *p, size_t n, uint64_t fresh)
        REQUIRES(&f->mtx)
{
        if (!s) {
                add_to_run_locked(f, out, pos, n);
                return;
        }
        s->have += fresh;
        if (s->state != UPLOAD_PART_FILLING) {
                s->changed = true;
                return;
        }
        if (pos == s->sum_end) {
                s->crc = crc32c(pos == s->off ? 0 : s->crc, p, n);
                s->sum_end += n;
        } else if (pos < s->sum_end) {
                s->sum_end = s->off;
        }
        send_if_full_locked(f, out, s);
}

/* The part of the last bytes, or NULL. */
static struct upload_part *last_part_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        const struct plan_run *run = &f->locked.parts.run;

        if (!f->locked.parts.nanchors && run->to == f->locked.size &&
            run->to - run->from >= STORE_PART_SIZE_MIN)
                return number_run_locked(f);
        return f->locked.parts.n ? &f->locked.parts.v[f->locked.parts.n - 1] : NULL;
}

bool upload_parts_send_last_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (f->locked.unlinked || f->locked.upload.state == UPLOAD_STALE ||
            commit_is_under_way_locked(f) || f->locked.err)
                return false;
        struct upload_part *s = last_part_locked(f);
        uint64_t size = f->locked.size, from, to;

        if (!s || s->state != UPLOAD_PART_FILLING || size < s->off + STORE_PART_SIZE_MIN ||
            s->have != size - s->off || size >= s->off + s->len ||
            (is_in_order(f) && !is_next_locked(f, s)) ||
            !extent_map_run(&f->locked.data, s->off, &from, &to) || from > s->off || to < size ||
            add_anchor_locked(f, size, s->no + 1))
                return false;
        s->len = size - s->off;
        send_part_locked(f, out, s);
        return true;
}

void upload_part_sent(struct upload_parts *p, unsigned no)
{
        for (size_t i = 0; i < p->n; i++)
                if (p->v[i].no == no && p->v[i].state == UPLOAD_PART_FLYING)
                        p->v[i].state = UPLOAD_PART_SENT;
}

static void forget_resident_locked(struct wfile *f, const struct upload_part *s) REQUIRES(&f->mtx)
{
        if (s->state != UPLOAD_PART_FILLING && !s->dropped)
                f->locked.parts.resident -=
                        f->locked.parts.resident < s->len ? f->locked.parts.resident : s->len;
}

/* Forgets what was decided about bytes behind `size`. A part that was sent early, and short, may
 * become as long again as its part is by the plan: what would have followed it is gone. */
static void cut_anchors_locked(struct wfile *f, uint64_t size) REQUIRES(&f->mtx)
{
        struct upload_part *last =
                f->locked.parts.n ? &f->locked.parts.v[f->locked.parts.n - 1] : NULL;
        struct upload_part whole;

        if (f->locked.parts.run.to > size)
                f->locked.parts.run = (struct plan_run){0};
        while (f->locked.parts.nanchors &&
               f->locked.parts.anchors[f->locked.parts.nanchors - 1].origin > size)
                f->locked.parts.nanchors--;
        if (!last || last->off + last->len <= size)
                return;
        const struct part_anchor *a = &f->locked.parts.anchors[f->locked.parts.nanchors - 1];
        if (part_plan_at(&f->locked.parts.plan, a, last->off, &whole.no, &whole.off, &whole.len))
                last->len = whole.len;
}

int upload_parts_cut_locked(struct wfile *f, uint64_t size) REQUIRES(&f->mtx)
{
        size_t i = find_part(&f->locked.parts, size);
        for (size_t k = i; k < f->locked.parts.n; k++) {
                const struct upload_part *s = &f->locked.parts.v[k];
                if (s->state == UPLOAD_PART_FLYING)
                        return -EAGAIN;
                if (s->state == UPLOAD_PART_SENT && s->dropped && s->off < size)
                        return -EBUSY;
        }
        /* The upload of a file that has lost its name is gone. */
        bool there = f->locked.upload.handle != NULL;
        for (size_t k = i; k < f->locked.parts.n; k++) {
                struct upload_part *s = &f->locked.parts.v[k];
                if (s->state == UPLOAD_PART_SENT && there)
                        store_upload_drop(f->locked.upload.handle, s->no);
                forget_resident_locked(f, s);
        }
        if (i < f->locked.parts.n && f->locked.parts.v[i].off < size) {
                struct upload_part *s = &f->locked.parts.v[i++];
                s->state = UPLOAD_PART_FILLING;
                s->changed = false;
                s->have = extent_map_held(&f->locked.data, s->off, size);
                s->sum_end = s->off;
        }
        f->locked.parts.n = i;
        cut_anchors_locked(f, size);
        return 0;
}

int upload_parts_spill_locked(struct wfile *f, struct spilling **out) REQUIRES(&f->mtx)
{
        int err = 0;
        *out = NULL;
        for (size_t i = 0; !err && !*out && i < f->locked.parts.n; i++) {
                const struct upload_part *s = &f->locked.parts.v[i];
                if (s->state != UPLOAD_PART_FILLING && !s->dropped)
                        err = extent_map_spill_begin(&f->locked.data, s->off, s->off + s->len, out);
        }
        return err;
}

size_t upload_parts_drop_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        size_t n = 0;
        if (f->locked.read_too || f->locked.upload.state == UPLOAD_STALE)
                return 0;
        for (size_t i = 0; i < f->locked.parts.n; i++) {
                struct upload_part *s = &f->locked.parts.v[i];
                if (s->state == UPLOAD_PART_FILLING || s->dropped || s->changed)
                        continue;
                forget_resident_locked(f, s);
                extent_map_drop(&f->locked.data, s->off, s->off + s->len);
                s->dropped = true;
                n += (size_t)s->len;
        }
        return n;
}

void upload_parts_reset(struct upload_parts *p)
{
        p->n = p->nanchors = 0;
        p->resident = 0;
        p->run = (struct plan_run){0};
}

bool upload_parts_lack(const struct upload_parts *p, uint64_t from, uint64_t to)
{
        for (size_t i = find_part(p, from); i < p->n && p->v[i].off < to; i++)
                if (p->v[i].dropped)
                        return true;
        return false;
}

bool upload_parts_are_here(const struct upload_parts *p)
{
        return !upload_parts_lack(p, 0, UINT64_MAX);
}
