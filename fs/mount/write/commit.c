/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c: publishes a file: what the plan says is sent or copied, then one request makes it the
 * object. wfile_advance_locked() is where each event leads to. See commit_phase.h for the phases
 * and wfile_int.h for the rest. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

void wfile_set_error_locked(struct wfile *f, int err) REQUIRES(&f->mtx)
{
        if (f->locked.err || !err)
                return;
        f->locked.err = err =
                f->locked.commit.conflict ? -ESTALE : err; /* whatever the rest failed with */
        if (!f->locked.unlinked)
                log_warn("%s: not published, the version before it stands: %s", f->locked.key,
                         strerror(-err));
}

static void refuse_step_locked(struct wfile *f, enum commit_phase to) REQUIRES(&f->mtx)
{
        log_error("%s: its commit cannot go from %s to %s", f->locked.key,
                  commit_phase_name(f->locked.commit.phase), commit_phase_name(to));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        abort(); /* a build that looks for faults */
#endif
        wfile_set_error_locked(f, -EIO);
}

bool commit_enter_locked(struct wfile *f, enum commit_phase to) REQUIRES(&f->mtx)
{
        if (!commit_phase_leads_to(f->locked.commit.phase, to)) {
                refuse_step_locked(f, to);
                return false;
        }
        f->locked.commit.phase = to;
        return true;
}

/* Ends the commit under way with `err`; obj is NULL when nothing new was published. */
static void finish_locked(struct wfile *f, struct outcome *out, int err,
                          const struct store_object *obj) REQUIRES(&f->mtx)
{
        (void)commit_enter_locked(f, COMMIT_IDLE);
        plan_release(&f->locked.commit.sending.plan);
        base_conflict_end_locked(f);
        out->err = err;
        out->published = obj != NULL;
        f->locked.telling += out->published;
        if (obj)
                out->obj = *obj;
        waiters_move(&out->callers, &f->locked.commit.callers);
}

void commit_published_locked(struct wfile *f, struct outcome *out, const struct store_object *obj,
                             bool by_put) REQUIRES(&f->mtx)
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
        finish_locked(f, out, 0, &now);
}

/* --- making it the object
 * ------------------------------------------------------------------------------------------------
 */

static void set_cond_locked(struct wfile *f, struct upload_request *t) REQUIRES(&f->mtx)
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
static void set_gone_locked(struct wfile *f, struct upload_request *t) REQUIRES(&f->mtx)
{
        const char *gone = base_conflict_gone_locked(f);
        if (upload_rename_key_locked(f))
                upload_rename_prepare_locked(f, t, gone);
        else if (!(t->base = strdup(gone)))
                t->err = -ENOMEM;
        t->cond.if_match = t->base;
}

static struct upload_request *clone_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct upload_request *t = upload_request_new_locked(f, out, REQUEST_CLONE);
        if (!t)
                return NULL;
        t->src = strdup(f->locked.origin.key);
        t->match = strdup(f->locked.origin.object.etag);
        t->err = t->src && t->match ? 0 : -ENOMEM;
        return t;
}

static void claim_again(struct waiter *w)
{
        struct wfile *f = CONTAINER_OF(w, struct wfile, claim.waiter);
        struct outcome out;

        wfile_enter(f, &out);
        f->locked.commit.claim = CLAIM_NONE;
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
        wfile_unref(f);
}

void commit_unclaim_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (f->locked.commit.claim != CLAIM_HELD || commit_phase_is_final(f->locked.commit.phase))
                return;
        f->locked.commit.claim = CLAIM_NONE;
        claim_drop(f->env->claims, &f->claim, &out->told);
}

/* The key that the last request changes is this file's in the final phases. False: it waits for
 * another's, or the error is set. */
static bool claim_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        const char *through = upload_rename_key_locked(f);

        if (f->locked.commit.claim == CLAIM_WAITS) {
                (void)commit_enter_locked(f, COMMIT_CLAIMING);
                return false;
        }
        commit_unclaim_locked(f, out); /* that of a request that is made anew */
        f->claim.waiter.ready = claim_again;
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
static void publish_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct upload_request *t;
        bool records = f->locked.commit.conflict;
        bool clone = wfile_is_clone_locked(f);
        if (!clone && f->locked.commit.sending.plan.put &&
            !commit_share_locked(f, out, 0, f->locked.size))
                return;
        if (!claim_locked(f, out))
                return;
        if (!commit_enter_locked(f, records ? COMMIT_RECORDING : COMMIT_PUBLISHING))
                return;
        if (clone)
                t = clone_locked(f, out);
        else if (f->locked.commit.sending.plan.put)
                t = commit_put_locked(f, out);
        else if ((t = upload_request_new_locked(f, out, REQUEST_COMPLETE)))
                t->size = f->locked.size;
        if (t && records)
                set_gone_locked(f, t);
        else if (t)
                set_cond_locked(f, t);
}

static void advance_sending_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (wfile_is_clone_locked(f)) {
                if (!f->locked.inflight)
                        publish_locked(f, out);
        } else if (f->locked.commit.sending.plan.put || f->locked.upload.state == UPLOAD_OPEN) {
                if (commit_send_locked(f, out))
                        publish_locked(f, out);
        } else if (f->locked.upload.state == UPLOAD_NONE) {
                upload_request_create_locked(f, out);
        }
}

static void advance_planning_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (f->locked.inflight)
                return;
        int err = commit_plan_locked(f);
        wfile_set_error_locked(f, err);
        if (!err && commit_enter_locked(f, COMMIT_SENDING))
                advance_sending_locked(f, out);
}

static void advance_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
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

/* --- the end of a request
 * ------------------------------------------------------------------------------------------------
 */

/* The change is kept, which was logged, too: nothing is to be aborted. */
static void record_ended_locked(struct wfile *f, const struct upload_request *t) REQUIRES(&f->mtx)
{
        f->locked.err = -ESTALE;
        if (t->kind == REQUEST_PUT)
                return;
        store_upload_free(TAKE_PTR(f->locked.upload.handle));
        free(TAKE_PTR(f->locked.upload.key));
        f->locked.upload.state = UPLOAD_NONE;
}

static void completed_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        METRIC_ADD(uploads_committed, 1);
        store_upload_free(TAKE_PTR(f->locked.upload.handle));
        f->locked.upload.state = UPLOAD_NONE;
}

static void succeeded_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                             const struct store_object *obj) REQUIRES(&f->mtx)
{
        switch (t->kind) {
        case REQUEST_PART:
                upload_part_sent_locked(f, t->part->no);
                break;
        case REQUEST_PUT:
                METRIC_ADD(puts, 1);
                commit_published_locked(f, out, obj, true);
                break;
        case REQUEST_COMPLETE:
        case REQUEST_CLONE:
                commit_published_locked(f, out, obj, false);
                break;
        default:
                break;
        }
}

void commit_request_ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                                 int err, const struct store_object *obj) REQUIRES(&f->mtx)
{
        if (attempt_ended_locked(f, out, t, err))
                return;
        f->locked.commit.sending.fills -= t->fill_to > 0;
        f->locked.commit.sending.fill_bytes -= t->fill_bytes;
        f->locked.commit.sending.copies -= t->kind == REQUEST_COPY;
        if (t->kind == REQUEST_ABORT) {
                upload_request_aborted_locked(f, t, err);
                return;
        }
        if (t->kind == REQUEST_LOOK) {
                base_conflict_looked_locked(f, err, obj);
                return;
        }
        if (err && base_conflict_begin_locked(f, t, err))
                return;
        if (!err && t->kind == REQUEST_COMPLETE)
                completed_locked(f);
        if (upload_rename_ended_locked(f, out, t, err, obj))
                return;
        if (err) {
                if (t->recorded)
                        record_ended_locked(f, t);
                wfile_set_error_locked(f, err);
                return;
        }
        succeeded_locked(f, out, t, obj);
}

/* --- what comes in between
 * ------------------------------------------------------------------------------------------------
 */

static void drop_waiting_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        while (f->locked.upload.waiting) {
                struct upload_request *t = f->locked.upload.waiting;
                f->locked.upload.waiting = t->next;
                t->next = out->done;
                out->done = t;
                f->locked.inflight--;
                t->attempt->inflight--;
        }
        f->locked.upload.waiting_last = &f->locked.upload.waiting;
}

/* The callers of a failed version are told, and the file is the version before it again. What is
 * left of it at the store goes behind that. */
static void fail_advance_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        drop_waiting_locked(f, out);
        if (commit_phase_is_final(f->locked.commit.phase) && f->locked.inflight)
                return; /* it may publish yet */
        if (commit_is_under_way_locked(f))
                (void)commit_enter_locked(f, COMMIT_FAILING);
        attempt_leave_locked(f, out);
        int err = f->locked.err;
        out->gone = err == -ESTALE || err == -EEXIST;
        f->locked.failed = f->locked.dirty;
        f->locked.upload.state = UPLOAD_NONE;
        free(TAKE_PTR(f->locked.upload.key));
        f->locked.last_err = err;
        f->locked.err = 0;
        f->locked.epoch++;
        f->locked.dirty = f->locked.if_absent = f->locked.anyones = false;
        wfile_clear_locked(f);
        wfile_forget_origin_locked(f, out);
        f->locked.parts.plan = f->env->plan;
        f->locked.size = f->locked.base.len = f->locked.base.object.size;
        if (commit_is_under_way_locked(f))
                finish_locked(f, out, err, NULL);
}

/* An upload that was begun for another name is aborted. What was sent of it is here, and is planned
 * anew. */
static void restart_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        drop_waiting_locked(f, out);
        if (f->locked.inflight)
                return;
        plan_release(&f->locked.commit.sending.plan);
        if (f->locked.commit.phase == COMMIT_SENDING || f->locked.commit.phase == COMMIT_CLAIMING)
                (void)commit_enter_locked(f, COMMIT_PLANNING);
        upload_parts_reset_locked(f);
        upload_request_abort_locked(f, out);
}

void wfile_advance_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (!f->locked.err && f->locked.upload.state == UPLOAD_STALE)
                restart_locked(f, out);
        if (!f->locked.err && f->locked.upload.state == UPLOAD_STALE)
                return;
        if (!f->locked.err && f->locked.unlinked && !f->locked.inflight) {
                upload_request_abort_locked(f, out); /* nothing of it is published any more */
                if (commit_is_under_way_locked(f))
                        finish_locked(f, out, 0, NULL);
        }
        if (!f->locked.err && !f->locked.unlinked && !f->locked.pauses)
                advance_locked(f, out);
        if (f->locked.err)
                fail_advance_locked(f, out);
}
