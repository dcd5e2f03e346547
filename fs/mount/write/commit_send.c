/* SPDX-License-Identifier: Apache-2.0 */
/* commit_send.c: what a commit sends and copies: its plan, and the requests that carry it out. See
 * wfile_int.h. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"

#include "base/banned.h"

enum {
        STEPS_MOST = 16,             /* under way at once */
        FILLS_MOST = 4,              /* of those, with memory of their own; */
        FILL_BYTES_MOST = 32U << 20U /* this much, unless one alone needs more */
};

/* --- what to send
 * ---------------------------------------------------------------------------------------------- */

static size_t list_runs_locked(const struct wfile *f, struct plan_run *v, size_t max)
        REQUIRES(&f->mtx)
{
        size_t n = 0;
        struct plan_run r;
        for (uint64_t at = 0; extent_map_run(&f->locked.data, at, &r.from, &r.to); at = r.to) {
                if (r.from >= f->locked.size)
                        break;
                if (r.to > f->locked.size)
                        r.to = f->locked.size;
                if (n < max)
                        v[n] = r;
                n++;
        }
        return n;
}

static size_t list_sent_locked(const struct wfile *f, struct plan_sent *v) REQUIRES(&f->mtx)
{
        size_t n = 0;
        for (size_t i = 0; i < f->locked.parts.n; i++) {
                const struct upload_part *s = &f->locked.parts.v[i];
                if (s->state == UPLOAD_PART_SENT)
                        v[n++] = (struct plan_sent){.no = s->no, .off = s->off, .len = s->len};
        }
        return n;
}

/* Parts whose bytes changed after they were sent are sent again. */
static int add_changed_locked(const struct wfile *f, struct plan *p) REQUIRES(&f->mtx)
{
        for (size_t i = 0; i < f->locked.parts.n; i++) {
                const struct upload_part *s = &f->locked.parts.v[i];
                if (s->state != UPLOAD_PART_SENT || !s->changed)
                        continue;
                struct plan_step *v = realloc(p->v, (p->n + 1) * sizeof *v);
                if (!v)
                        return -ENOMEM;
                p->v = v;
                p->max = p->n + 1;
                v[p->n++] = (struct plan_step){.no = s->no, .off = s->off, .len = s->len};
        }
        return 0;
}

int commit_plan_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        unsigned caps = store_caps(f->env->store);
        const struct base *base = commit_base_locked(f);
        size_t nruns = list_runs_locked(f, NULL, 0);
        CLEANUP(freep) struct plan_run *runs = calloc(nruns + 1, sizeof *runs);
        CLEANUP(freep) struct plan_sent *sent = calloc(f->locked.parts.n + 1, sizeof *sent);
        if (!runs || !sent)
                return -ENOMEM;
        struct plan_in in = {
                .size = f->locked.size,
                .base = base->len,
                .base_size = base->object.size,
                .copies = caps & STORE_CAP_PART_COPY && !(caps & STORE_CAP_WHOLE_COPY),
                .whole_copies = caps & STORE_CAP_WHOLE_COPY,
                .put_most = f->locked.parts.plan.first,
                .part = f->locked.parts.plan.first,
                .held = runs,
                .nheld = list_runs_locked(f, runs, nruns),
                .sent = sent,
                .nsent = list_sent_locked(f, sent),
        };
        char why[160];
        int err = plan_commit(&in, &f->locked.commit.sending.plan);
        int wrong = err ? 0 : plan_check(&in, &f->locked.commit.sending.plan, why, sizeof why);
        if (wrong)
                log_error("%s: its parts do not make the file: %s", f->locked.key, why);
        err = err ? err : wrong;
        if (!err && !f->locked.commit.sending.plan.put)
                err = add_changed_locked(f, &f->locked.commit.sending.plan);
        if (!err)
                err = base_conflict_check_locked(f);
        f->locked.commit.sending.next = 0;
        f->locked.commit.sending.recopy = false;
        return err;
}

/* --- sending it
 * ------------------------------------------------------------------------------------------------
 */

/* Where the next bytes to be fetched go, in the task's share of the memory. */
struct fill {
        struct upload_request *task;
        struct pool_buf *buf;
        uint32_t at;
};

/* Adds memory for bytes [from, to) of the base. */
static int add_fill(struct fill *x, uint64_t from, uint64_t to)
{
        struct upload_request *t = x->task;
        if (from >= to)
                return 0;
        if (!t->fill_to)
                t->fill_from = from;
        t->fill_to = to;
        while (from < to) {
                if (x->buf && x->at == POOL_BUF_SIZE) {
                        x->buf = x->buf->next;
                        x->at = 0;
                }
                uint32_t room = POOL_BUF_SIZE - x->at;
                uint32_t k = to - from < room ? (uint32_t)(to - from) : room;
                int err = x->buf ? part_body_add_buf(t->part, x->buf, x->at, k) : -ENOMEM;
                if (err)
                        return err;
                t->part->segs[t->part->nsegs - 1].fill = true;
                x->at += k;
                from += k;
        }
        return 0;
}

/* Of [from, to), where nothing was written: how far it is the base's; then come zeros. */
static uint64_t base_end_locked(const struct wfile *f, uint64_t from, uint64_t to) REQUIRES(&f->mtx)
{
        uint64_t good = commit_base_locked(f)->len;
        if (good > to)
                good = to;
        return good < from ? from : good;
}

static int add_unwritten_locked(struct wfile *f, struct fill *x, uint64_t from, uint64_t to)
        REQUIRES(&f->mtx)
{
        uint64_t good = base_end_locked(f, from, to);
        int err = add_fill(x, from, good);
        return err ? err : part_body_add_zeros(x->task->part, to - good);
}

/* Bytes of the base that have to be fetched to send [off, off+len). */
static uint64_t lacking_locked(const struct wfile *f, uint64_t off, uint64_t len) REQUIRES(&f->mtx)
{
        uint64_t at = off, end = off + len, from, to, n = 0;

        while (at < end && extent_map_run(&f->locked.data, at, &from, &to) && from < end) {
                if (from > at)
                        n += base_end_locked(f, at, from) - at;
                at = to;
        }
        return at < end ? n + base_end_locked(f, at, end) - at : n;
}

static int add_bytes_locked(struct wfile *f, struct upload_request *t, uint64_t off, uint64_t len)
        REQUIRES(&f->mtx)
{
        uint64_t at = off, end = off + len, from, to;
        struct fill x = {.task = t, .buf = t->share.bufs};
        int err = 0;

        while (!err && at < end && extent_map_run(&f->locked.data, at, &from, &to) && from < end) {
                from = from > at ? from : at;
                to = to < end ? to : end;
                err = add_unwritten_locked(f, &x, at, from);
                if (!err)
                        err = extent_map_share(&f->locked.data, from, to, t->part);
                at = to;
        }
        return err || at >= end ? err : add_unwritten_locked(f, &x, at, end);
}

static void share_given(struct waiter *w)
{
        struct wfile *f = CONTAINER_OF(w, struct wfile, share.waiter);
        struct outcome out;

        wfile_enter(f, &out);
        f->locked.share_waits = false;
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out); /* which gives back what was not used */
        wfile_unref(f);
}

bool commit_share_locked(struct wfile *f, struct outcome *out, uint64_t off, uint64_t len)
        REQUIRES(&f->mtx)
{
        uint64_t lack = lacking_locked(f, off, len);
        size_t n = (size_t)((lack + POOL_BUF_SIZE - 1) / POOL_BUF_SIZE);

        if (f->locked.share_waits || f->share.n >= n)
                return !f->locked.share_waits;
        out->small = f->share;
        f->share = (struct pool_share){.n = n, .waiter.ready = share_given};
        if (pool_share_take(f->env->pool, &f->share))
                return true;
        f->locked.share_waits = true;
        wfile_ref(f); /* share_given()'s */
        return false;
}

static struct upload_request *send_bytes_locked(struct wfile *f, struct outcome *out,
                                                enum upload_request_kind kind, unsigned no,
                                                uint64_t off, uint64_t len) REQUIRES(&f->mtx)
{
        struct upload_request *t = upload_request_new_locked(f, out, kind);
        if (!t)
                return NULL;
        t->share = f->share; /* which was taken for these bytes */
        f->share = (struct pool_share){0};
        t->part = part_body_new(f->env->spill, no, off);
        int err = t->part ? add_bytes_locked(f, t, off, len) : -ENOMEM;
        if (!err && t->fill_to &&
            (!(t->src = strdup(wfile_base_key_locked(f))) ||
             !(t->match = strdup(commit_base_locked(f)->object.etag))))
                err = -ENOMEM;
        t->err = err;
        f->locked.commit.sending.fills += t->fill_to > 0;
        t->fill_bytes = t->fill_to ? lacking_locked(f, off, len) : 0;
        f->locked.commit.sending.fill_bytes += t->fill_bytes;
        return t;
}

static void copy_bytes_locked(struct wfile *f, struct outcome *out, const struct plan_step *s)
        REQUIRES(&f->mtx)
{
        struct upload_request *t = upload_request_new_locked(f, out, REQUEST_COPY);
        if (!t)
                return;
        f->locked.commit.sending.copies++;
        t->no = s->no;
        t->off = s->off;
        t->len = s->len;
        t->src = strdup(wfile_base_key_locked(f));
        t->match = strdup(commit_base_locked(f)->object.etag);
        t->err = t->src && t->match ? 0 : -ENOMEM;
}

/* Whether there is room for the step beside those under way. */
static bool can_begin_locked(const struct wfile *f, const struct plan_step *s) REQUIRES(&f->mtx)
{
        uint64_t fill = s->copy ? 0 : lacking_locked(f, s->off, s->len);

        if (f->locked.inflight >= STEPS_MOST)
                return false;
        return !fill || !f->locked.commit.sending.fills ||
               (f->locked.commit.sending.fills < FILLS_MOST &&
                f->locked.commit.sending.fill_bytes + fill <= FILL_BYTES_MOST);
}

bool commit_send_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        const struct plan *p = &f->locked.commit.sending.plan;
        size_t *next = &f->locked.commit.sending.next;

        if (f->locked.commit.sending.recopy) {
                f->locked.commit.sending.recopy = false;
                copy_bytes_locked(f, out, &p->v[0]);
        }
        while (!f->locked.err && *next < p->n && can_begin_locked(f, &p->v[*next])) {
                const struct plan_step *s = &p->v[*next];
                if (!s->copy && !commit_share_locked(f, out, s->off, s->len))
                        return false;
                ++*next;
                if (s->copy)
                        copy_bytes_locked(f, out, s);
                else
                        (void)send_bytes_locked(f, out, REQUEST_STEP, s->no, s->off, s->len);
        }
        return !f->locked.err && *next == p->n && !f->locked.inflight;
}

struct upload_request *commit_put_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        return send_bytes_locked(f, out, REQUEST_PUT, 0, 0, f->locked.size);
}
