/* SPDX-License-Identifier: Apache-2.0 */
/* upload_request.c: the requests of a file: how each is made, and what its end changes. See
 * wfile_int.h. */
#include "mount/write/wfile_int.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/write/conflict_record.h"

#include "base/banned.h"

static struct upload_request *make_request_locked(struct wfile *f, enum upload_request_kind kind,
                                                  struct attempt *a) REQUIRES(&f->mtx)
{
        struct upload_request *t = a ? calloc(1, sizeof *t) : NULL;

        if (!t || !(t->key = strdup(f->locked.key))) {
                free(t);
                return NULL;
        }
        t->kind = kind;
        t->file = wfile_ref(f);
        t->attempt = a;
        a->inflight++;
        return t;
}

struct upload_request *upload_request_left_locked(struct wfile *f, struct outcome *out,
                                                  enum upload_request_kind kind, struct attempt *a)
        REQUIRES(&f->mtx)
{
        struct upload_request *t = make_request_locked(f, kind, a);

        if (!t)
                return NULL;
        f->locked.leaving++;
        *out->tasks_last = t;
        out->tasks_last = &t->next;
        return t;
}

struct upload_request *upload_request_new_locked(struct wfile *f, struct outcome *out,
                                                 enum upload_request_kind kind) REQUIRES(&f->mtx)
{
        if (!f->locked.attempt)
                f->locked.attempt = calloc(1, sizeof *f->locked.attempt);
        struct upload_request *t = make_request_locked(f, kind, f->locked.attempt);

        if (!t) {
                wfile_set_error_locked(f, -ENOMEM);
                return NULL;
        }
        t->upload = f->locked.upload.handle;
        f->locked.inflight++;
        if (kind == REQUEST_PART && f->locked.upload.state != UPLOAD_OPEN) {
                *f->locked.upload.waiting_last = t;
                f->locked.upload.waiting_last = &t->next;
        } else {
                *out->tasks_last = t;
                out->tasks_last = &t->next;
        }
        return t;
}

/* A part that is on its way could outlive the abort: it comes last. */
static void end_attempt_locked(struct wfile *f, struct outcome *out, struct attempt *a)
        REQUIRES(&f->mtx)
{
        if (a->inflight)
                return;
        struct upload_request *t =
                a->upload ? upload_request_left_locked(f, out, REQUEST_ABORT, a) : NULL;
        if (t) {
                t->upload = TAKE_PTR(a->upload);
                return;
        }
        if (a->upload)
                log_warn("%s: no memory to abort its unfinished upload, which stays at the store",
                         f->locked.key);
        store_upload_free(a->upload);
        free(a);
}

void attempt_leave_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct attempt *a = f->locked.attempt;

        f->locked.upload.state = UPLOAD_NONE;
        if (!a)
                return;
        f->locked.attempt = NULL;
        a->left = true;
        a->upload = TAKE_PTR(f->locked.upload.handle);
        f->locked.leaving += a->inflight;
        f->locked.inflight = f->locked.commit.sending.fills = f->locked.commit.sending.copies = 0;
        f->locked.commit.sending.fill_bytes = 0;
        end_attempt_locked(f, out, a);
}

bool attempt_ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t, int err)
        REQUIRES(&f->mtx)
{
        struct attempt *a = t->attempt;

        a->inflight--;
        if (!a->left) {
                f->locked.inflight--;
                return false;
        }
        f->locked.leaving--;
        if (t->kind == REQUEST_ABORT)
                upload_request_aborted_locked(f, t, err);
        end_attempt_locked(f, out, a);
        return true;
}

void upload_request_begun(struct part_body *p, struct pool *pool)
{
        if (!p || !p->queued)
                return;
        p->queued = false;
        pool_started(pool, p->len);
}

void upload_request_free(struct upload_request *t)
{
        upload_request_begun(t->part, t->file->env->pool);
        part_body_free(t->part);
        pool_share_end(t->file->env->pool, &t->share);
        free(t->key);
        free(t->src);
        free(t->match);
        free(t->base);
        wfile_unref(t->file);
        free(t);
}

/* Whether ranges of the base will be parts of the upload; of one that begins early, they may be. */
static bool copies_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        const struct plan *p = &f->locked.commit.sending.plan;
        bool planned = f->locked.commit.phase == COMMIT_SENDING;
        bool copies = !planned && wfile_base_locked(f)->len;

        for (size_t i = 0; planned && !copies && i < p->n; i++)
                copies = p->v[i].copy;
        return copies && store_caps(f->env->store) & STORE_CAP_PART_COPY;
}

void upload_request_create_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct upload_request *t = upload_request_new_locked(f, out, REQUEST_CREATE);
        if (!t)
                return;
        f->locked.upload.state = UPLOAD_CREATING;
        t->early = !commit_is_under_way_locked(f);
        t->copying = copies_base_locked(f);
}

void upload_request_abort_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct upload_request *t =
                f->locked.upload.handle ? upload_request_new_locked(f, out, REQUEST_ABORT) : NULL;
        if (f->locked.upload.handle && !t)
                store_upload_free(
                        f->locked.upload.handle); /* no memory to do more: it stays there */
        f->locked.upload.handle = NULL;
        free(TAKE_PTR(f->locked.upload.key));
        f->locked.upload.state = UPLOAD_NONE;
}

/* --- their ends
 * ------------------------------------------------------------------------------------------------
 */

static void created_locked(struct wfile *f, struct outcome *out, int err, struct store_upload *up)
        REQUIRES(&f->mtx)
{
        if (err) {
                f->locked.upload.state = UPLOAD_NONE;
                return;
        }
        f->locked.upload.handle = up;
        if (f->locked.upload.state == UPLOAD_STALE)
                return;
        f->locked.upload.state = UPLOAD_OPEN;
        if (f->locked.err)
                return;
        while (f->locked.upload.waiting) {
                struct upload_request *t = f->locked.upload.waiting;
                f->locked.upload.waiting = t->next;
                t->next = NULL;
                t->upload = up;
                *out->tasks_last = t;
                out->tasks_last = &t->next;
        }
        f->locked.upload.waiting_last = &f->locked.upload.waiting;
}

void upload_request_aborted_locked(const struct wfile *f, struct upload_request *t, int err)
        REQUIRES(&f->mtx)
{
        if (err)
                log_warn("%s: its unfinished upload could not be aborted and stays at the store",
                         f->locked.key);
        store_upload_free(TAKE_PTR(t->upload));
}

static void upload_request_end(struct upload_request *t, int err, const struct store_object *obj,
                               struct store_upload *up)
{
        struct wfile *f = t->file;
        struct outcome out;

        wfile_enter(f, &out);
        if (t->kind == REQUEST_CREATE && t->attempt->left)
                t->attempt->upload = up;
        else if (t->kind == REQUEST_CREATE)
                created_locked(f, &out, err, up);
        commit_request_ended_locked(f, &out, t, err, obj);
        t->next = out.done;
        out.done = t;
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
}

static struct store_body body_of(struct upload_request *t);

static void recording_done(void *arg, int err)
{
        struct upload_request *t = arg;
        t->recorded = !err;
        upload_request_end(t, -ESTALE, NULL, NULL);
}

/* Whether the request would have published a change of a version that is gone. */
static bool can_record_locked(const struct wfile *f, const struct upload_request *t)
        REQUIRES(&f->mtx)
{
        return (t->kind == REQUEST_PUT || t->kind == REQUEST_COMPLETE) &&
               (t->cond.if_match || t->src) && !f->locked.unlinked;
}

/* The version that was changed is gone, but all of the new one is at hand: it is recorded in place
 * of being published. 0, then the request ends with that; or -ESTALE. */
static int record(struct upload_request *t)
{
        struct wfile *f = t->file;
        struct store_body body = t->kind == REQUEST_PUT ? body_of(t) : store_body_mem(NULL, 0);
        struct conflict_change what = {
                .key = t->kind == REQUEST_COMPLETE && t->src ? t->src : t->key,
                .name = t->key,
                .base = t->cond.if_match ? t->cond.if_match : t->base,
                .upload = t->kind == REQUEST_COMPLETE ? t->upload : NULL,
                .body = &body,
                .meta = &t->meta,
        };
        mutex_lock(&f->mtx);
        bool can = can_record_locked(f, t) && (f->locked.commit.phase == COMMIT_RECORDING ||
                                               commit_enter_locked(f, COMMIT_RECORDING));
        what.size = f->locked.size;
        mutex_unlock(&f->mtx);
        return can && !conflict_record(f->env->store, &what, recording_done, t) ? 0 : -ESTALE;
}

void upload_request_done(void *arg, int err, const struct store_object *obj)
{
        struct upload_request *t = arg;

        err = upload_rename_error(t, err);
        if (err != -ESTALE || record(t))
                upload_request_end(t, err, obj, NULL);
}

static void upload_done(void *arg, int err, struct store_upload *up)
{
        upload_request_end(arg, err, NULL, up);
}

/* --- their beginnings
 * ------------------------------------------------------------------------------------------ */

static int read_body(void *arg, uint64_t off, void *dst, size_t n)
{
        struct upload_request *t = arg;
        upload_request_begun(t->part, t->file->env->pool);
        if (t->attempt->left)
                return -ECANCELED; /* nobody wants it any more */
        return part_body_read(t->part, off, dst, n);
}

static struct store_body body_of(struct upload_request *t)
{
        if (!t->part->len)
                return store_body_mem(NULL, 0);
        return (struct store_body){
                .read = read_body, .arg = t, .len = t->part->len, .crc32c = t->part->crc};
}

/* Whether it is not to be published, but recorded. */
static bool is_recorded(struct upload_request *t)
{
        mutex_lock(&t->file->mtx);
        bool is = t->file->locked.commit.phase == COMMIT_RECORDING;
        mutex_unlock(&t->file->mtx);
        return is;
}

static int send_part(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;

        int err = t->summed ? 0 : part_body_sum(t->part);
        if (err)
                return err;
        struct store_body body = body_of(t);
        if (t->kind != REQUEST_PUT)
                return store_upload_part(t->upload, t->part->no, &body, upload_request_done, t);
        err = env->meta(env->owner, t->file->who, false, &t->meta);
        if (err)
                return err;
        if (is_recorded(t))
                return record(t);
        return store_put(env->store, t->key, &body, &t->meta, &t->cond, upload_request_done, t);
}

/* Bytes of the base go where the part lacks them. */
static int fill_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct upload_request *t = arg;
        struct part_body *part = t->part;
        uint64_t pos = t->fill_from + at, end = pos + n;

        if (t->attempt->left)
                return -ECANCELED;
        while (pos < end && t->cursor < part->nsegs) {
                const struct seg *s = &part->segs[t->cursor];
                uint64_t from = part->off + t->cursor_off, to = from + s->len;
                if (pos >= to) {
                        t->cursor_off += s->len;
                        t->cursor++;
                        continue;
                }
                uint64_t k = (to < end ? to : end) - pos;
                if (s->fill)
                        memcpy(s->buf->data + s->at + (pos - from),
                               (const char *)p + (n - (end - pos)), (size_t)k);
                pos += k;
        }
        return 0;
}

static void filled(void *arg, int err, const struct store_got *got)
{
        struct upload_request *t = arg;
        if (!err && got->bytes != t->fill_to - t->fill_from)
                err = -EIO;
        if (err == -ENOENT)
                err = -ESTALE;
        if (!err)
                err = send_part(t);
        if (err)
                upload_request_end(t, err, NULL, NULL);
}

static int fetch(struct upload_request *t)
{
        struct store_get get = {
                .key = t->src,
                .off = t->fill_from,
                .len = t->fill_to - t->fill_from,
                .if_match = t->match,
                .data = fill_data,
                .done = filled,
                .arg = t,
        };
        return store_get(t->file->env->store, &get);
}

static int create(struct upload_request *t)
{
        struct store *s = t->file->env->store;
        int err = t->file->env->meta(t->file->env->owner, t->file->who, t->early, &t->meta);
        if (err)
                return err;
        return (t->copying ? store_upload_create_copying : store_upload_create)(s, t->key, &t->meta,
                                                                                upload_done, t);
}

struct sum {
        bool any_number; /* the store takes numbers that are not consecutive */
        unsigned last;
        uint64_t size;
};

static int add_to_sum(void *arg, const struct store_part *p)
{
        struct sum *sum = arg;
        if (!sum->any_number && p->partno != sum->last + 1)
                return -EIO;
        sum->last = p->partno;
        sum->size += p->size;
        return 0;
}

/* What the store has of the upload has to be the file, whatever was planned. */
static int check_sum(struct upload_request *t)
{
        struct sum sum = {.any_number = store_caps(t->file->env->store) & STORE_CAP_WHOLE_COPY};
        int err = store_upload_sent(t->upload, add_to_sum, &sum);

        if (!err && sum.size == t->size)
                return 0;
        log_error("%s: the parts that the store has do not make the file: part %u, %" PRIu64
                  " of %" PRIu64 " bytes",
                  t->key, sum.last, sum.size, t->size);
        return -EIO;
}

static int complete(struct upload_request *t)
{
        int err = check_sum(t);
        if (err)
                return err;
        return is_recorded(t) ? record(t)
               : t->src       ? upload_rename_start(t)
                              : store_upload_complete(t->upload, &t->cond, upload_request_done, t);
}

void upload_request_start(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;
        struct store *s = env->store;
        int err = -ENOMEM;

        if (t->err) {
                upload_request_end(t, t->err, NULL, NULL);
                return;
        }
        switch (t->kind) {
        case REQUEST_CREATE:
                err = create(t);
                break;
        case REQUEST_PART:
        case REQUEST_STEP:
        case REQUEST_PUT:
                err = t->fill_to ? fetch(t) : send_part(t);
                break;
        case REQUEST_COPY:
                err = store_upload_part_copy(t->upload, t->no, t->src, t->match, t->off, t->len,
                                             upload_request_done, t);
                break;
        case REQUEST_COMPLETE:
                err = complete(t);
                break;
        case REQUEST_CLONE:
                err = env->meta(env->owner, t->file->who, false, &t->meta);
                if (!err)
                        err = store_copy(s, t->src, t->match, t->key, &t->meta, &t->cond,
                                         upload_request_done, t);
                break;
        case REQUEST_MOVE:
        case REQUEST_REMOVE:
                err = upload_rename_start(t);
                break;
        case REQUEST_LOOK:
                err = store_head(s, t->key, upload_request_done, t);
                break;
        case REQUEST_ABORT:
                METRIC_ADD(uploads_aborted, 1);
                err = store_upload_abort(t->upload, upload_request_done, t);
                break;
        }
        if (err)
                upload_request_end(t, err, NULL, NULL);
}
