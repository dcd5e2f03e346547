/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c: publishes a file: what the plan says is sent or copied, then one request makes it the
 * object. See wfile_int.h. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

enum {
        STEPS_MOST = 16,             /* under way at once */
        FILLS_MOST = 4,              /* of those, with memory of their own; */
        FILL_BYTES_MOST = 32U << 20U /* this much, unless one alone needs more */
};

static const struct base *commit_base_locked(const struct wfile *f)
{
        const struct base *stands = base_conflict_base_locked(f);
        return stands ? stands : wfile_base_locked(f);
}

static void refuse_step_locked(struct wfile *f, enum commit_phase to)
{
        log_error("%s: its commit cannot go from %s to %s", f->locked.key,
                  commit_phase_name(f->locked.commit.phase), commit_phase_name(to));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        abort(); /* a build that looks for faults */
#endif
        wfile_set_error_locked(f, -EIO);
}

bool commit_enter_locked(struct wfile *f, enum commit_phase to)
{
        if (!commit_phase_leads_to(f->locked.commit.phase, to)) {
                refuse_step_locked(f, to);
                return false;
        }
        f->locked.commit.phase = to;
        return true;
}

void commit_finish_locked(struct wfile *f, struct outcome *out, int err,
                          const struct store_object *obj)
{
        (void)commit_enter_locked(f, COMMIT_IDLE);
        plan_release(&f->locked.commit.sending.plan);
        base_conflict_end_locked(f);
        out->err = err;
        out->published = obj != NULL;
        f->locked.telling += out->published;
        if (obj)
                out->obj = *obj;
        *f->locked.commit.callers_last = out->commits;
        out->commits = f->locked.commit.callers;
        f->locked.commit.callers = NULL;
        f->locked.commit.callers_last = &f->locked.commit.callers;
}

void commit_published_locked(struct wfile *f, struct outcome *out, const struct store_object *obj,
                             bool by_put)
{
        struct store_object now = *obj;

        if (f->locked.upload.handle) /* begun for a file that was cut, and needed none in the end */
                upload_request_abort_locked(f, out);
        now.size = f->locked.size;
        f->locked.base = (struct base){.object = now, .len = now.size};
        f->locked.if_absent = false; /* ours now */
        f->locked.dirty = f->locked.failed = f->locked.anyones = false;
        f->locked.published++;
        /* Where the next commit is one put too, it needs no byte of this one from the store. */
        if (!by_put || now.size >= STORE_PART_SIZE_MIN)
                wfile_clear_locked(f);
        else
                upload_parts_reset_locked(f);
        wfile_forget_origin_locked(f, out);
        f->locked.parts.plan = f->env->plan;
        if (f->locked.reader)
                out->reader = TAKE_PTR(f->locked.reader);
        commit_finish_locked(f, out, 0, &now);
}

/* --- what to send
 * ---------------------------------------------------------------------------------------------- */

static size_t list_runs_locked(const struct wfile *f, struct plan_run *v, size_t max)
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

static size_t list_sent_locked(const struct wfile *f, struct plan_sent *v)
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
static int add_changed_locked(const struct wfile *f, struct plan *p)
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

static int make_plan_locked(struct wfile *f)
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
static uint64_t base_end_locked(const struct wfile *f, uint64_t from, uint64_t to)
{
        uint64_t good = commit_base_locked(f)->len;
        if (good > to)
                good = to;
        return good < from ? from : good;
}

static int add_unwritten_locked(struct wfile *f, struct fill *x, uint64_t from, uint64_t to)
{
        uint64_t good = base_end_locked(f, from, to);
        int err = add_fill(x, from, good);
        return err ? err : part_body_add_zeros(x->task->part, to - good);
}

/* Bytes of the base that have to be fetched to send [off, off+len). */
static uint64_t lacking_locked(const struct wfile *f, uint64_t off, uint64_t len)
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

static void share_given(struct pool_share *s)
{
        struct wfile *f = CONTAINER_OF(s, struct wfile, share);
        struct outcome out;

        wfile_enter(f, &out);
        f->locked.share_waits = false;
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out); /* which gives back what was not used */
        wfile_unref(f);
}

/* Whether there is memory for what has to be fetched to send [off, off+len). False: it is waited
 * for, and the commit goes on when it is given. What is not used before the lock is left goes back:
 * whoever waits, for a share, a claim or a rename, has none. */
static bool share_locked(struct wfile *f, struct outcome *out, uint64_t off, uint64_t len)
{
        uint64_t lack = lacking_locked(f, off, len);
        size_t n = (size_t)((lack + POOL_BUF_SIZE - 1) / POOL_BUF_SIZE);

        if (f->locked.share_waits || f->share.n >= n)
                return !f->locked.share_waits;
        out->small = f->share;
        f->share = (struct pool_share){.n = n, .ready = share_given};
        if (pool_share_take(f->env->pool, &f->share))
                return true;
        f->locked.share_waits = true;
        wfile_ref(f); /* share_given()'s */
        return false;
}

static struct upload_request *send_bytes_locked(struct wfile *f, struct outcome *out,
                                                enum upload_request_kind kind, unsigned no,
                                                uint64_t off, uint64_t len)
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

static void set_cond_locked(struct wfile *f, struct upload_request *t)
{
        unsigned caps = store_caps(f->env->store);
        /* What was changed in a version needs that version; a new one is the last close's. */
        const struct base *base = &f->locked.base;
        bool needs = base->len && !f->locked.origin.key && base->object.etag[0] &&
                     caps & STORE_CAP_IF_MATCH;
        if (upload_rename_key_locked(f)) {
                upload_rename_prepare_locked(f, t, needs ? base->object.etag : NULL);
                return;
        }
        t->cond.if_absent = f->locked.if_absent && caps & STORE_CAP_IF_ABSENT;
        if (!needs)
                return;
        if (!t->match && !(t->match = strdup(base->object.etag)))
                t->err = -ENOMEM;
        t->cond.if_match = t->match;
}

/* The version that was changed is gone: nothing is published. */
static void set_gone_locked(struct wfile *f, struct upload_request *t)
{
        const char *gone = base_conflict_gone_locked(f);
        if (upload_rename_key_locked(f))
                upload_rename_prepare_locked(f, t, gone);
        else if (!(t->base = strdup(gone)))
                t->err = -ENOMEM;
        t->cond.if_match = t->base;
}

static struct upload_request *clone_locked(struct wfile *f, struct outcome *out)
{
        struct upload_request *t = upload_request_new_locked(f, out, REQUEST_CLONE);
        if (!t)
                return NULL;
        t->src = strdup(f->locked.origin.key);
        t->match = strdup(f->locked.origin.object.etag);
        t->err = t->src && t->match ? 0 : -ENOMEM;
        return t;
}

static void claim_again(struct claim *c)
{
        struct wfile *f = CONTAINER_OF(c, struct wfile, claim);
        struct outcome out;

        wfile_enter(f, &out);
        f->locked.commit.claim = CLAIM_NONE;
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
        wfile_unref(f);
}

void commit_unclaim_locked(struct wfile *f, struct outcome *out)
{
        if (f->locked.commit.claim != CLAIM_HELD || commit_phase_is_final(f->locked.commit.phase))
                return;
        f->locked.commit.claim = CLAIM_NONE;
        claim_drop(f->env->claims, &f->claim, &out->claims);
}

/* The key that the last request changes is this file's in the final phases. False: it waits for
 * another's, or the error is set. */
static bool claim_locked(struct wfile *f, struct outcome *out)
{
        const char *through = upload_rename_key_locked(f);

        if (f->locked.commit.claim == CLAIM_WAITS) {
                (void)commit_enter_locked(f, COMMIT_CLAIMING);
                return false;
        }
        commit_unclaim_locked(f, out); /* that of a request that is made anew */
        f->claim.retry = claim_again;
        int err = claim_take(f->env->claims, &f->claim, through ? through : f->locked.key, through);
        f->locked.commit.claim = !err ? CLAIM_HELD : err == -EAGAIN ? CLAIM_WAITS : CLAIM_NONE;
        if (err == -EAGAIN) {
                wfile_ref(f); /* claim_again()'s */
                (void)commit_enter_locked(f, COMMIT_CLAIMING);
        } else {
                wfile_set_error_locked(f, err);
        }
        return !err;
}

/* All that the plan asks for is at the store: one request makes it the object. */
static void publish_locked(struct wfile *f, struct outcome *out)
{
        struct upload_request *t;
        bool records = f->locked.commit.conflict;
        bool clone = wfile_is_clone_locked(f);
        if (!clone && f->locked.commit.sending.plan.put && !share_locked(f, out, 0, f->locked.size))
                return;
        if (!claim_locked(f, out))
                return;
        if (!commit_enter_locked(f, records ? COMMIT_RECORDING : COMMIT_PUBLISHING))
                return;
        if (clone)
                t = clone_locked(f, out);
        else if (f->locked.commit.sending.plan.put)
                t = send_bytes_locked(f, out, REQUEST_PUT, 0, 0, f->locked.size);
        else if ((t = upload_request_new_locked(f, out, REQUEST_COMPLETE)))
                t->size = f->locked.size;
        if (t && records)
                set_gone_locked(f, t);
        else if (t)
                set_cond_locked(f, t);
}

/* Whether there is room for the step beside those under way. */
static bool can_begin_locked(const struct wfile *f, const struct plan_step *s)
{
        uint64_t fill = s->copy ? 0 : lacking_locked(f, s->off, s->len);

        if (f->locked.inflight >= STEPS_MOST)
                return false;
        return !fill || !f->locked.commit.sending.fills ||
               (f->locked.commit.sending.fills < FILLS_MOST &&
                f->locked.commit.sending.fill_bytes + fill <= FILL_BYTES_MOST);
}

/* Sends and copies what the plan asks for, as long as there is room. */
static void send_locked(struct wfile *f, struct outcome *out)
{
        const struct plan *p = &f->locked.commit.sending.plan;
        size_t *next = &f->locked.commit.sending.next;

        if (f->locked.commit.sending.recopy) {
                f->locked.commit.sending.recopy = false;
                copy_bytes_locked(f, out, &p->v[0]);
        }
        while (!f->locked.err && *next < p->n && can_begin_locked(f, &p->v[*next])) {
                const struct plan_step *s = &p->v[*next];
                if (!s->copy && !share_locked(f, out, s->off, s->len))
                        return;
                ++*next;
                if (s->copy)
                        copy_bytes_locked(f, out, s);
                else
                        send_bytes_locked(f, out, REQUEST_STEP, s->no, s->off, s->len);
        }
        if (!f->locked.err && *next == p->n && !f->locked.inflight)
                publish_locked(f, out);
}

static void advance_sending_locked(struct wfile *f, struct outcome *out)
{
        if (wfile_is_clone_locked(f)) {
                if (!f->locked.inflight)
                        publish_locked(f, out);
        } else if (f->locked.commit.sending.plan.put || f->locked.upload.state == UPLOAD_OPEN) {
                send_locked(f, out);
        } else if (f->locked.upload.state == UPLOAD_NONE) {
                upload_request_create_locked(f, out);
        }
}

static void advance_planning_locked(struct wfile *f, struct outcome *out)
{
        if (f->locked.inflight)
                return;
        int err = make_plan_locked(f);
        wfile_set_error_locked(f, err);
        if (!err && commit_enter_locked(f, COMMIT_SENDING))
                advance_sending_locked(f, out);
}

void commit_advance_locked(struct wfile *f, struct outcome *out)
{
        switch (f->locked.commit.phase) {
        case COMMIT_PLANNING:
                advance_planning_locked(f, out);
                break;
        case COMMIT_CLAIMING:
                if (f->locked.commit.claim != CLAIM_WAITS && commit_enter_locked(f, COMMIT_SENDING))
                        advance_sending_locked(f, out);
                break;
        case COMMIT_SENDING:
                advance_sending_locked(f, out);
                break;
        case COMMIT_LOOKING:
                if (!f->locked.inflight)
                        base_conflict_look_locked(f, out);
                break;
        default: /* nobody waits, or the end of a request is waited for */
                break;
        }
}
