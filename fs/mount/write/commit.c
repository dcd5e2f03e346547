/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c: publishes a file. It reads from top to bottom in the order of the phases, as
 * commit_phase.h draws them: each has a function that says which request comes next, then those
 * that end it. What a request is made of, and how it goes to the store, is upload_request.c's. At
 * the end come wfile_advance_locked(), which each event leads to, and the lock, under which that
 * happens. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

enum {
        STEPS_LEAST = 16,             /* under way at once, even if data is sent by fewer */
        FILLS_MOST = 4,               /* of those, with memory of their own; */
        FILL_BYTES_MOST = 32U << 20U, /* this much, unless one alone needs more */
        LOOKS_MOST = 3,               /* when the version that stands is replaced, too */
        MORE_MOST = 64U << 20U        /* bytes that are sent on top of what was to be sent */
};

/* What a commit does next. */
struct next_request {
        enum upload_request_kind kind;
        const struct plan_step *step; /* REQUEST_STEP, REQUEST_COPY */
};

/* --- the phases --- */

#define TO(phase) (1U << COMMIT_##phase)

static const struct {
        const char *name;
        bool final;
        unsigned next;
} phases[COMMIT_PHASES] = {
        [COMMIT_IDLE] = {"idle", false, TO(PLANNING)},
        [COMMIT_PLANNING] = {"planning", false, TO(SENDING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_SENDING] = {"sending", false,
                            TO(LOCKING) | TO(PUBLISHING) | TO(PLANNING) | TO(LOOKING) |
                                    TO(RECORDING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_LOCKING] = {"locking", false, TO(SENDING) | TO(PLANNING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_PUBLISHING] = {"publishing", true,
                               TO(IDLE) | TO(MOVING) | TO(PLANNING) | TO(LOOKING) | TO(RECORDING) |
                                       TO(FAILING)},
        [COMMIT_MOVING] = {"moving", true, TO(IDLE) | TO(REMOVING) | TO(FAILING)},
        [COMMIT_REMOVING] = {"removing", true, TO(IDLE) | TO(PLANNING) | TO(FAILING)},
        [COMMIT_LOOKING] = {"looking", false, TO(PLANNING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_RECORDING] = {"recording", true, TO(PLANNING) | TO(LOOKING) | TO(FAILING)},
        [COMMIT_FAILING] = {"failing", false, TO(IDLE)},
};

const char *commit_phase_name(enum commit_phase p)
{
        return phases[p].name;
}

bool commit_phase_leads_to(enum commit_phase from, enum commit_phase to)
{
        return phases[from].next >> to & 1U;
}

bool commit_phase_is_final(enum commit_phase p)
{
        return phases[p].final;
}

bool commit_is_under_way_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.commit.phase != COMMIT_IDLE;
}

void wfile_set_error_locked(struct wfile *f, int err) REQUIRES(&f->mtx)
{
        if (f->locked.err || !err)
                return;
        f->locked.err = err =
                f->locked.commit.conflict ? -ESTALE : err; /* whatever the rest failed with */
        bool copies = f->locked.origin.key; /* what is not there any more: nothing is kept of it */
        const char *remedy = err == -ESTALE && copies ? "copy it again from where it is now"
                             : err == -ESTALE ? "another host has replaced it: save it again"
                             : err == -ECANCELED
                                     ? "its writer was ended: save it again if it is wanted"
                             : err == -EROFS ? "the mount ended before it was closed: save it again"
                                             : "correct that, and save it again";
        METRIC_ADD(publications_failed, !f->locked.unlinked);
        if (!f->locked.unlinked)
                log_warn_of(
                        LOG_ABOUT(.operation = "publish", .file = f->locked.key, .remedy = remedy),
                        "%s: not published, the version before it stands: %s", f->locked.key,
                        strerror(-err));
}

static void refuse_step_locked(struct wfile *f, enum commit_phase to) REQUIRES(&f->mtx)
{
        log_error_of(LOG_ABOUT(.operation = "publish", .file = f->locked.key,
                               .remedy = "save it again, and report the line"),
                     "%s: its commit cannot go from %s to %s", f->locked.key,
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
        if (f->locked.commit.phase == COMMIT_IDLE)
                f->locked.commit.begun_ns = wfile_now_ns();
        f->locked.commit.phase = to;
        return true;
}

/* --- IDLE: a caller comes, and every commit ends here --- */

void wfile_commit(struct wfile *f, struct wfile_user *u, struct waiter *w)
{
        struct outcome out;

        wfile_enter(f, &out);
        bool failed = wfile_has_failed_locked(f, u);
        bool clean = !commit_is_under_way_locked(f) && !f->locked.dirty && !f->locked.err;
        if (failed || clean) {
                waiters_add(&out.callers, w);
                out.err = failed ? f->locked.last_err : 0;
        } else {
                waiters_add(&f->locked.commit.callers, w);
                if (!commit_is_under_way_locked(f))
                        (void)commit_enter_locked(f, COMMIT_PLANNING);
                wfile_advance_locked(f, &out);
        }
        wfile_leave(f, &out);
}

/* Ends the commit under way with `err`; obj is NULL when nothing new was published. */
static void finish_locked(struct wfile *f, struct outcome *out, int err,
                          const struct store_object *obj) REQUIRES(&f->mtx)
{
        (void)commit_enter_locked(f, COMMIT_IDLE);
        f->locked.commit.no_append = false;
        plan_release(&f->locked.commit.sending.plan);
        free(TAKE_PTR(f->locked.commit.conflict));
        out->err = err;
        out->published = obj != NULL;
        f->locked.telling += out->published;
        if (obj)
                out->obj = *obj;
        waiters_move(&out->callers, &f->locked.commit.callers);
}

/* --- PLANNING: nothing is under way, and the cheapest way is sought --- */

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
                if (GROW(p->v, p->n, p->max, 16))
                        return -ENOMEM;
                p->v[p->n++] = (struct plan_step){.no = s->no, .off = s->off, .len = s->len};
        }
        return 0;
}

/* Finds out what is to be sent. 0, or a negative errno. */
static int plan_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        struct sending *s = &f->locked.commit.sending;
        const struct base_conflict *c = f->locked.commit.conflict;
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
                .copies = wfile_base_copies_locked(f) && !(caps & STORE_CAP_WHOLE_COPY),
                .whole_copies = caps & STORE_CAP_WHOLE_COPY,
                .appends = caps & STORE_CAP_APPEND && !c && !f->locked.commit.no_append &&
                           !f->locked.origin.key && base->object.etag[0],
                .put_most = f->locked.parts.plan.first,
                .part = f->locked.parts.plan.first,
                .held = runs,
                .nheld = list_runs_locked(f, runs, nruns),
                .sent = sent,
                .nsent = list_sent_locked(f, sent),
        };
        char why[160];
        s->next = 0;
        s->recopy = false;
        int err = plan_commit(&in, &s->plan);
        int wrong = err ? 0 : plan_check(&in, &s->plan, why, sizeof why);
        if (wrong)
                log_error_of(LOG_ABOUT(.operation = "publish", .file = f->locked.key,
                                       .remedy = "save it again, and report the line"),
                             "%s: its parts do not make the file: %s", f->locked.key, why);
        err = err ? err : wrong;
        if (!err && !s->plan.put)
                err = add_changed_locked(f, &s->plan);
        if (!err && c && s->plan.moved > c->moved_most)
                err = -ESTALE; /* too much for a change that is only recorded */
        return err;
}

/* --- SENDING: what the plan asks for is sent and copied --- */

/* Bytes of the base that have to be fetched to send [off, off+len). */
static uint64_t lacking_locked(const struct wfile *f, uint64_t off, uint64_t len) REQUIRES(&f->mtx)
{
        uint64_t good = commit_base_locked(f)->len, end = off + len < good ? off + len : good;
        return end > off ? end - off - extent_map_held(&f->locked.data, off, end) : 0;
}

/* Whether there is room for the step beside those under way. */
static bool can_begin_locked(const struct wfile *f, const struct plan_step *step) REQUIRES(&f->mtx)
{
        const struct sending *s = &f->locked.commit.sending;
        uint64_t fill = step->copy ? 0 : lacking_locked(f, step->off, step->len);

        if (f->locked.inflight >= STEPS_LEAST &&
            f->locked.inflight >= store_transfers_now(f->env->store))
                return false;
        return !fill || !s->fills ||
               (s->fills < FILLS_MOST && s->fill_bytes + fill <= FILL_BYTES_MOST);
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

/* Whether there is memory for what has to be fetched to send [off, off+len). False: it is waited
 * for, and the commit goes on when it is given. What is not used before the lock is left goes back,
 * unless the key is asked for: whoever waits for a share or a rename has none. */
static bool share_locked(struct wfile *f, struct outcome *out, uint64_t off, uint64_t len)
        REQUIRES(&f->mtx)
{
        uint64_t lack = lacking_locked(f, off, len);
        size_t n = (size_t)((lack + POOL_BUF_SIZE - 1) / POOL_BUF_SIZE);

        if (f->locked.share_waits || f->share.n >= n)
                return !f->locked.share_waits;
        if (f->share.n)
                out->small = f->share;
        f->share = (struct pool_share){.n = n, .waiter.ready = share_given};
        if (pool_share_take(f->env->pool, &f->share))
                return true;
        f->locked.share_waits = true;
        wfile_ref(f); /* share_given()'s */
        return false;
}

/* The next step of the plan, when there is room for it. */
static bool next_step_locked(struct wfile *f, struct outcome *out, struct next_request *next)
        REQUIRES(&f->mtx)
{
        struct sending *s = &f->locked.commit.sending;

        if (s->recopy) {
                s->recopy = false;
                *next = (struct next_request){REQUEST_COPY, &s->plan.v[0]};
                return true;
        }
        if (s->next == s->plan.n)
                return false;
        const struct plan_step *step = &s->plan.v[s->next];
        if (!can_begin_locked(f, step) ||
            (!step->copy && !share_locked(f, out, step->off, step->len)))
                return false;
        s->next++;
        *next = (struct next_request){step->copy ? REQUEST_COPY : REQUEST_STEP, step};
        return true;
}

/* --- LOCKING: the key that the last request changes is this file's in the final phases --- */

/* Nobody has a key while he waits for something else than the store. */
static void unlock_key_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (f->locked.commit.key)
                out->key = TAKE_PTR(f->locked.commit.key);
}

/* --- PUBLISHING, or RECORDING when the base is gone: one request makes it the object --- */

/* All that the plan asks for is at the store. */
static bool next_to_publish_locked(struct wfile *f, struct outcome *out, struct next_request *next)
        REQUIRES(&f->mtx)
{
        bool records = f->locked.commit.conflict;
        bool clone = wfile_is_clone_locked(f);
        bool put = !clone && f->locked.commit.sending.plan.put;
        uint64_t from = put ? f->locked.commit.sending.plan.from : 0;

        if (put && !share_locked(f, out, from, f->locked.size - from))
                return false;
        if (!f->locked.commit.key) {
                /* Memory that was taken stays the file's: whoever has a key waits for none. */
                next->kind = REQUEST_LOCK;
                return commit_enter_locked(f, COMMIT_LOCKING);
        }
        next->kind = clone ? REQUEST_CLONE : put ? REQUEST_PUT : REQUEST_COMPLETE;
        return commit_enter_locked(f, records ? COMMIT_RECORDING : COMMIT_PUBLISHING);
}

/* The change is kept, which was logged, too: nothing is to be aborted. */
static void recorded_locked(struct wfile *f, const struct upload_request *t) REQUIRES(&f->mtx)
{
        f->locked.err = -ESTALE;
        if (t->kind != REQUEST_COMPLETE)
                return;
        store_upload_free(TAKE_PTR(f->locked.upload.handle));
        free(TAKE_PTR(f->locked.upload.key));
        f->locked.upload.state = UPLOAD_NONE;
}

static void completed_locked(struct wfile *f, struct upload_request *t) REQUIRES(&f->mtx)
{
        t->upload = NULL;
        METRIC_ADD(uploads_committed, 1);
        store_upload_free(TAKE_PTR(f->locked.upload.handle));
        free(TAKE_PTR(f->locked.upload.key));
        f->locked.upload.state = UPLOAD_NONE;
}

static void published_locked(struct wfile *f, struct outcome *out, const struct upload_request *t,
                             const struct store_object *obj) REQUIRES(&f->mtx)
{
        struct store_object now = *obj;
        bool by_put = t->kind == REQUEST_PUT;

        out->asked_ns = t->asked_ns;
        METRIC_ADD(puts, by_put);
        if (f->locked.upload.handle) /* begun for a file that was cut, and needed none in the end */
                upload_request_abort_locked(f, out);
        now.size = f->locked.size;
        f->locked.base.object = now;
        f->locked.uncut_size = 0;
        f->locked.if_absent = f->locked.spares = false; /* ours now */
        f->locked.dirty = f->locked.failed = f->locked.anyones = f->locked.mapped = false;
        f->locked.published++;
        /* Where the next commit is one put too, it needs no byte of this one from the store. */
        wfile_reset_locked(f, out, now.size, by_put && now.size < STORE_PART_SIZE_MIN);
        wfile_drop_reader_locked(f, out);
        finish_locked(f, out, 0, &now);
}

/* --- MOVING, REMOVING: the upload of a renamed file goes by way of its first name --- */

/*      COMPLETE at the first name -> MOVE -> published
 *                                         -> (a store that only copies) REMOVE -> published
 *                      (may not leave it) -> MOVE, as a copy -> REMOVE -> published
 *                                 (fails) -> REMOVE -> sent anew, or failed
 *
 * It is one request, made before the first step: the others need no memory. */

/* A request that is ending goes on as another. */
static void goes_on_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                           enum upload_request_kind kind) REQUIRES(&f->mtx)
{
        t->kind = kind;
        t->goes_on = true;
        t->attempt->inflight++;
        f->locked.inflight++;
        list_add(&out->begins, &t->item);
}

/* The object is there under the first name: it goes where the file is. */
static void move_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                        const struct store_object *obj) REQUIRES(&f->mtx)
{
        if (!commit_enter_locked(f, COMMIT_MOVING))
                return;
        snprintf(t->match, STORE_ETAG_MAX, "%s", obj->etag);
        t->obj = *obj;
        t->cond = (struct store_cond){.if_absent = f->locked.if_absent || f->locked.spares};
        if (store_caps(f->env->store) & (STORE_CAP_RENAME | STORE_CAP_COPY_IF))
                t->cond.if_match = t->base;
        goes_on_locked(f, out, t, REQUEST_MOVE);
}

/* What was completed goes from the first name, where it does not belong. Then the commit ends with
 * `failed`. */
static void remove_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                          int failed) REQUIRES(&f->mtx)
{
        t->failed = failed;
        if (commit_enter_locked(f, COMMIT_REMOVING))
                goes_on_locked(f, out, t, REQUEST_REMOVE);
}

/* What the store keeps at the first name, as a retention policy does, is copied from there. */
static bool copy_locked(struct wfile *f, struct outcome *out, struct upload_request *t, int err)
        REQUIRES(&f->mtx)
{
        if (err != -EACCES || !upload_request_renames(t) || f->locked.err)
                return false;
        t->stays = true;
        goes_on_locked(f, out, t, REQUEST_MOVE);
        return true;
}

static void moved_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                         const struct store_object *obj) REQUIRES(&f->mtx)
{
        snprintf(t->obj.etag, sizeof t->obj.etag, "%s", obj->etag);
        t->obj.meta.metageneration = obj->meta.metageneration;
        if (upload_request_renames(t))
                published_locked(f, out, t, &t->obj);
        else
                remove_locked(f, out, t, 0);
}

/* Another file has the name that the upload was to go through, or nobody knows what became of the
 * move (-EIO): what is here is sent anew. After another error the commit fails. */
static void begin_anew_locked(struct wfile *f, int err) REQUIRES(&f->mtx)
{
        bool taken = err == -EEXIST || err == -ESTALE || err == -ENOENT || err == -EIO;

        if (!taken || !upload_parts_are_here(&f->locked.parts))
                wfile_set_error_locked(f, err);
        else if (commit_enter_locked(f, COMMIT_PLANNING))
                f->locked.upload.state = UPLOAD_STALE;
}

static void removed_locked(struct wfile *f, struct outcome *out, const struct upload_request *t,
                           int err) REQUIRES(&f->mtx)
{
        if (err && err != -ESTALE && err != -ENOENT) /* another's object stays there */
                log_warn_of(
                        LOG_ABOUT(.operation = "publish", .file = t->src, .remedy = "delete it"),
                        "%s: holds what was written as %s, and cannot be deleted: %s", t->src,
                        t->key, strerror(-err));
        if (t->failed)
                begin_anew_locked(f, t->failed);
        else
                published_locked(f, out, t, &t->obj);
}

/* --- LOOKING: the base is gone, and which version stands is asked for --- */

/* Whether the request lacks bytes of the base. */
static bool lacks_base(const struct upload_request *t)
{
        bool fills = t->kind == REQUEST_STEP || t->kind == REQUEST_PUT;
        return t->kind == REQUEST_COPY || t->append ||
               (fills && t->part && t->part->fill_bytes && !t->filled);
}

/* Of a stream the later parts would wait in vain for the one that failed, and nothing of it can be
 * sent again: it is begun anew. False: not all of it is here. */
static bool stream_stops_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        struct upload *u = &f->locked.upload;

        if (!(store_caps(f->env->store) & STORE_CAP_IN_ORDER) || u->state != UPLOAD_OPEN)
                return true;
        if (!upload_parts_are_here(&f->locked.parts))
                return false;
        store_upload_stop(u->handle);
        u->state = UPLOAD_STALE;
        return true;
}

/* Whether it was stopped with the stream. */
static bool was_stopped_locked(const struct wfile *f, const struct upload_request *t)
        REQUIRES(&f->mtx)
{
        bool part = t->kind == REQUEST_STEP || t->kind == REQUEST_PART;
        return part && f->locked.commit.phase == COMMIT_LOOKING &&
               f->locked.upload.state == UPLOAD_STALE;
}

/* The request failed: whether that is since the base of the commit is gone, and the commit goes on
 * to keep what was written. */
static bool base_is_gone_locked(struct wfile *f, const struct upload_request *t, int err)
        REQUIRES(&f->mtx)
{
        struct commit *c = &f->locked.commit;
        struct base_conflict *r = c->conflict;

        if (err != -ESTALE || !lacks_base(t) || f->locked.err || c->phase == COMMIT_IDLE ||
            f->locked.unlinked || f->locked.origin.key ||
            (r && c->phase != COMMIT_LOOKING && r->looks == LOOKS_MOST))
                return false;
        if (!r) {
                c->conflict = r = calloc(1, sizeof *r);
                if (!r)
                        return false;
                memcpy(r->gone, f->locked.base.object.etag, sizeof r->gone);
                r->moved_most = c->sending.plan.moved + MORE_MOST;
        }
        if (c->phase == COMMIT_LOOKING)
                return true; /* others of the same plan fail for the same reason */
        if (!stream_stops_locked(f))
                return false;
        r->looks++;
        return commit_enter_locked(f, COMMIT_LOOKING);
}

/* Parts of the plan so far may hold bytes of different versions; those that were sent as they
 * filled hold what was written alone. */
static void drop_steps_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        size_t at = 0;
        for (size_t i = 0; f->locked.upload.handle && i < f->locked.commit.sending.plan.n; i++) {
                unsigned no = f->locked.commit.sending.plan.v[i].no;
                for (at = 0; at < f->locked.parts.n && f->locked.parts.v[at].no != no;)
                        at++;
                if (at == f->locked.parts.n)
                        store_upload_drop(f->locked.upload.handle, no);
        }
        plan_release(&f->locked.commit.sending.plan);
        (void)commit_enter_locked(f, COMMIT_PLANNING);
}

static void looked_locked(struct wfile *f, int err, const struct store_object *obj)
        REQUIRES(&f->mtx)
{
        struct base_conflict *r = f->locked.commit.conflict;

        if (err && err != -ENOENT) {
                wfile_set_error_locked(f, err);
                return;
        }
        uint64_t len = f->locked.base.len, size = err ? 0 : obj->size;
        r->stands = (struct base){.len = size < len ? size : len};
        if (!err)
                r->stands.object = *obj;
        drop_steps_locked(f);
}

/* --- the end of a request --- */

/* The object is made, or not: what the commit does next. */
static void publish_ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                                 int err, const struct store_object *obj) REQUIRES(&f->mtx)
{
        bool by_first_name = t->kind == REQUEST_COMPLETE && t->src;

        if (!err && t->kind == REQUEST_COMPLETE)
                completed_locked(f, t);
        if (t->recorded)
                recorded_locked(f, t);
        if (by_first_name && !err)
                move_locked(f, out, t, obj);
        else if (by_first_name && !f->locked.commit.conflict && !t->recorded)
                begin_anew_locked(f, err);
        else if (err)
                wfile_set_error_locked(f, err);
        else
                published_locked(f, out, t, obj);
}

/* The store does not add to this object: the bytes are here, and are planned anew. */
static bool append_refused_locked(struct wfile *f, const struct upload_request *t, int err)
        REQUIRES(&f->mtx)
{
        if (err != -EOPNOTSUPP || !t->append || f->locked.err)
                return false;
        f->locked.commit.no_append = true;
        plan_release(&f->locked.commit.sending.plan);
        return commit_enter_locked(f, COMMIT_PLANNING);
}

void commit_request_ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                                 int err, const struct store_object *obj) REQUIRES(&f->mtx)
{
        if (err && (was_stopped_locked(f, t) || base_is_gone_locked(f, t, err) ||
                    append_refused_locked(f, t, err)))
                return;
        switch (t->kind) {
        case REQUEST_PUT:
        case REQUEST_COMPLETE:
        case REQUEST_CLONE:
                publish_ended_locked(f, out, t, err, obj);
                break;
        case REQUEST_MOVE:
                if (!err)
                        moved_locked(f, out, t, obj);
                else if (!copy_locked(f, out, t, err))
                        remove_locked(f, out, t, err);
                break;
        case REQUEST_REMOVE:
                removed_locked(f, out, t, err);
                break;
        case REQUEST_LOOK:
                looked_locked(f, err, obj);
                break;
        case REQUEST_CREATE:
        case REQUEST_PART:
        case REQUEST_STEP:
        case REQUEST_COPY:
        case REQUEST_LOCK:
        case REQUEST_ABORT:
                if (err)
                        wfile_set_error_locked(f, err);
                break;
        }
}

/* --- FAILING, and what comes in between --- */

static void drop_waiting_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct upload_request *t;

        while ((t = LIST_TAKE(&f->locked.upload.waiting, struct upload_request, item))) {
                list_add(&out->ended, &t->item);
                f->locked.inflight--;
                t->attempt->inflight--;
        }
}

bool wfile_has_failed_locked(const struct wfile *f, const struct wfile_user *u) REQUIRES(&f->mtx)
{
        if (!u || (u->maps && u->lost != f->locked.lost))
                return u;
        unsigned since = f->locked.epoch - u->epoch;
        return u->wrote && since &&
               (since > FAILED_MOST ||
                f->locked.failed_after[u->epoch % FAILED_MOST] == u->published);
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
        bool first = !f->locked.base.object.etag[0];
        if (first || err == -ESTALE || err == -EEXIST)
                out->gone = err;
        f->locked.spares = first;
        f->locked.failed = f->locked.dirty;
        f->locked.upload.state = UPLOAD_NONE;
        free(TAKE_PTR(f->locked.upload.key));
        f->locked.last_err = err;
        f->locked.err = 0;
        f->locked.failed_after[f->locked.epoch++ % FAILED_MOST] = f->locked.published;
        f->locked.lost += f->locked.mapped;
        f->locked.dirty = f->locked.if_absent = f->locked.anyones = f->locked.mapped = false;
        wfile_reset_locked(f, out, f->locked.base.object.size, false);
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
        if (f->locked.commit.phase == COMMIT_SENDING || f->locked.commit.phase == COMMIT_LOCKING)
                (void)commit_enter_locked(f, COMMIT_PLANNING);
        upload_parts_reset(&f->locked.parts);
        upload_request_abort_locked(f, out);
}

/* --- what comes next --- */

static bool next_to_send_locked(struct wfile *f, struct outcome *out, struct next_request *next)
        REQUIRES(&f->mtx)
{
        const struct sending *s = &f->locked.commit.sending;
        bool clone = wfile_is_clone_locked(f);

        if (!clone && !s->plan.put && f->locked.upload.state != UPLOAD_OPEN) {
                next->kind = REQUEST_CREATE;
                return f->locked.upload.state == UPLOAD_NONE;
        }
        if (!clone && next_step_locked(f, out, next))
                return true;
        bool all = clone || s->next == s->plan.n;
        return all && !f->locked.inflight && next_to_publish_locked(f, out, next);
}

/* The request that the commit makes next. False: it waits for the end of one, or for memory. */
static bool next_request_locked(struct wfile *f, struct outcome *out, struct next_request *next)
        REQUIRES(&f->mtx)
{
        const struct commit *c = &f->locked.commit;

        if (c->phase == COMMIT_PLANNING)
                unlock_key_locked(f, out); /* that of a request that is made anew */
        if (c->phase == COMMIT_PLANNING && !f->locked.inflight) {
                int err = plan_locked(f);
                wfile_set_error_locked(f, err);
                if (!err)
                        (void)commit_enter_locked(f, COMMIT_SENDING);
        }
        if (c->phase == COMMIT_LOCKING && !f->locked.inflight)
                (void)commit_enter_locked(f, COMMIT_SENDING);
        if (c->phase == COMMIT_SENDING)
                return next_to_send_locked(f, out, next);
        next->kind = REQUEST_LOOK;
        return c->phase == COMMIT_LOOKING && !f->locked.inflight;
}

static void advance_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct next_request next = {.step = NULL};

        while (!f->locked.err && next_request_locked(f, out, &next))
                upload_request_make_locked(f, out, next.kind, next.step);
}

/* What fails here is cleaned up when the lock is given back: wfile_leave() comes here again. */
void wfile_advance_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (f->locked.err) {
                fail_advance_locked(f, out);
                return;
        }
        if (f->locked.unlinked && f->locked.commit.phase == COMMIT_LOCKING)
                attempt_leave_locked(f, out); /* nobody needs the key any more */
        if (f->locked.upload.state == UPLOAD_STALE)
                restart_locked(f, out);
        if (f->locked.err || f->locked.upload.state == UPLOAD_STALE)
                return;
        if (f->locked.unlinked && !f->locked.inflight) {
                upload_request_abort_locked(f, out); /* nothing of it is published any more */
                if (commit_is_under_way_locked(f))
                        finish_locked(f, out, 0, NULL);
        }
        if (!f->locked.unlinked && !f->locked.pauses)
                advance_locked(f, out);
}

/* --- the lock, and what is done when it is given back --- */

void wfile_enter(struct wfile *f, struct outcome *out)
{
        *out = (struct outcome){0};
        mutex_lock(&f->mtx);
}

bool commit_blocks_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return commit_is_under_way_locked(f) || f->locked.err ||
               f->locked.upload.state == UPLOAD_STALE ||
               (f->locked.flight_awaited && f->locked.inflight);
}

static void count_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        struct wfile_tally *t = f->env->tally;
        bool busy = f->locked.inflight || f->locked.leaving || f->locked.share_waits;

        if (busy == f->locked.tallied)
                return;
        f->locked.tallied = busy;
        mutex_lock(&t->mtx);
        t->busy += busy ? 1 : (size_t)-1;
        if (!t->busy)
                pthread_cond_broadcast(&t->none);
        mutex_unlock(&t->mtx);
}

/* Whether nothing is under way that would miss the name or the version that the file has now. */
static bool is_still_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        const struct commit *c = &f->locked.commit;
        bool looks = c->phase == COMMIT_LOOKING && f->locked.inflight;
        bool reads = (c->sending.fills || c->sending.copies || looks) && !f->locked.unlinked;
        return !commit_phase_is_final(c->phase) && !reads;
}

static void collect_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (!commit_blocks_locked(f)) {
                f->locked.flight_awaited = false;
                waiters_move(&out->told, &f->locked.deferred);
        }
        if (is_still_locked(f))
                waiters_move(&out->told, &f->locked.pausing);
        out->garbage = f->locked.data.garbage;
        f->locked.data.garbage = NULL;
        const struct commit *c = &f->locked.commit;
        if (!commit_phase_is_final(c->phase))
                unlock_key_locked(f, out);
        bool locks = c->phase == COMMIT_LOCKING && f->locked.inflight;
        if (!f->locked.share_waits && !locks && f->share.n) {
                out->share = f->share;
                f->share = (struct pool_share){0};
        }
}

static void tell_published(struct wfile *f, const struct outcome *out)
{
        f->env->published(f->env->owner, f->who, &out->obj, out->asked_ns);
        mutex_lock(&f->mtx);
        f->locked.telling--;
        mutex_unlock(&f->mtx);
}

/* Without the lock another thread may end what the caller began, and whoever waited for that may
 * let go of the file: it is touched then only where somebody has still to be told. */
void wfile_leave(struct wfile *f, struct outcome *out)
{
        const struct wfile_env *env = f->env;

        if (f->locked.err)
                wfile_advance_locked(f, out);
        collect_locked(f, out);
        count_locked(f);
        pthread_cond_broadcast(&f->idle);
        mutex_unlock(&f->mtx);

        pool_unref_list(out->garbage);
        reader_end(out->reader);
        reader_moved(out->moved);
        pool_share_end(env->pool, &out->share);
        pool_share_end(env->pool, &out->small);
        if (out->published)
                tell_published(f, out);
        if (out->gone)
                env->gone(env->owner, f->who, out->gone);
        if (out->key)
                env->unlock(env->owner, out->key);
        waiters_run(&out->callers, out->err);
        waiters_run(&out->told, 0);
        upload_requests_run(out);
}
