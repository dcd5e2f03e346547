/* SPDX-License-Identifier: Apache-2.0 */
/* upload_request.c: the requests of a file: what each is made of, how it goes to the store, and
 * what its end changes. See wfile_int.h. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "mount/write/left_upload.h"

#include "base/banned.h"

enum { MERGES_MOST = 3 }; /* with what others change in the metadata meanwhile */

/* --- what they are made of --- */

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

static struct upload_request *left_request_locked(struct wfile *f, struct outcome *out,
                                                  enum upload_request_kind kind, struct attempt *a)
        REQUIRES(&f->mtx)
{
        struct upload_request *t = make_request_locked(f, kind, a);

        if (!t)
                return NULL;
        f->locked.leaving++;
        list_add(&out->begins, &t->item);
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
        if (!f->locked.sending_ns)
                f->locked.sending_ns = wfile_now_ns();
        bool waits = kind == REQUEST_PART && f->locked.upload.state != UPLOAD_OPEN;
        list_add(waits ? &f->locked.upload.waiting : &out->begins, &t->item);
        return t;
}

/* The bytes of a step, in the share that was taken for those that have to be fetched. */
static int add_body_locked(struct wfile *f, struct upload_request *t) REQUIRES(&f->mtx)
{
        uint64_t good = commit_base_locked(f)->len;

        t->share = f->share;
        f->share = (struct pool_share){0};
        t->part = part_body_new(f->env->spill, t->no, t->off);
        return t->part ? extent_map_body(&f->locked.data, t->off, t->off + t->len, good,
                                         t->share.bufs, t->part)
                       : -ENOMEM;
}

static uint64_t fill_bytes(const struct upload_request *t)
{
        return t->part ? t->part->fill_bytes : 0;
}

/* Of a step of the plan: a copy, or the bytes of it. */
static struct upload_request *make_step_locked(struct wfile *f, struct outcome *out,
                                               enum upload_request_kind kind,
                                               const struct plan_step *step) REQUIRES(&f->mtx)
{
        struct sending *s = &f->locked.commit.sending;
        struct upload_request *t = upload_request_new_locked(f, out, kind);
        bool copy = kind == REQUEST_COPY;

        if (!t)
                return NULL;
        t->no = step->no;
        t->off = step->off;
        t->len = step->len;
        if (!copy)
                t->err = add_body_locked(f, t);
        if (!t->err && (copy || fill_bytes(t)) &&
            (!(t->src = strdup(wfile_base_key_locked(f))) ||
             !(t->match = strdup(commit_base_locked(f)->object.etag))))
                t->err = -ENOMEM;
        s->copies += copy;
        s->fills += fill_bytes(t) > 0;
        s->fill_bytes += fill_bytes(t);
        return t;
}

/* Whether ranges of the base will be parts of the upload; of one that begins early, they may be. */
static bool copies_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        const struct plan *p = &f->locked.commit.sending.plan;
        bool planned = f->locked.commit.phase == COMMIT_SENDING;
        bool copies = !planned && wfile_base_locked(f)->len;

        for (size_t i = 0; planned && !copies && i < p->n; i++)
                copies = p->v[i].copy;
        return copies && wfile_base_copies_locked(f);
}

void upload_request_create_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct upload_request *t = upload_request_new_locked(f, out, REQUEST_CREATE);
        if (!t)
                return;
        f->locked.upload.state = UPLOAD_CREATING;
        t->early = !commit_is_under_way_locked(f) || f->locked.commit.no_append;
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

/* The name that the upload is completed under when that is not the file's any more; else NULL. What
 * is recorded is so by the name that it was begun with, wherever it could be completed. */
static const char *first_name_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        bool any = store_caps(f->env->store) & STORE_CAP_COMPLETE_AS && !f->locked.commit.conflict;
        bool whole = f->locked.commit.sending.plan.put || wfile_is_clone_locked(f);
        return whole || any ? NULL : f->locked.upload.key;
}

/* The key is for this file alone when it goes by way of its first name. */
static void make_lock_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct upload_request *t = upload_request_new_locked(f, out, REQUEST_LOCK);
        const char *first = first_name_locked(f);

        if (t && first && !(t->src = strdup(first)))
                t->err = -ENOMEM;
}

/* Completes the upload under its first name, where nothing may be, if the file's own name has the
 * version `base`, unless that is NULL. */
static void set_first_name_locked(struct wfile *f, struct upload_request *t, const char *base)
        REQUIRES(&f->mtx)
{
        /* What had the first name went from there with the rename. */
        t->cond.if_absent = store_caps(f->env->store) & STORE_CAP_IF_ABSENT;
        t->src = strdup(f->locked.upload.key);
        t->base = base ? strdup(base) : NULL;
        t->match = malloc(STORE_ETAG_MAX); /* for what is completed */
        if (!t->src || (base && !t->base) || !t->match)
                t->err = -ENOMEM;
}

static void set_cond_locked(struct wfile *f, struct upload_request *t) REQUIRES(&f->mtx)
{
        unsigned caps = store_caps(f->env->store);
        /* What was changed in a version needs that version; a new one is the last close's. */
        const struct base *base = &f->locked.base;
        bool needs = !f->locked.anew && base->object.etag[0] && caps & STORE_CAP_IF_MATCH;
        if (first_name_locked(f)) {
                set_first_name_locked(f, t, needs ? base->object.etag : NULL);
                return;
        }
        bool absent = f->locked.if_absent || f->locked.spares;
        t->cond.if_absent = absent && caps & STORE_CAP_IF_ABSENT;
        if (!needs)
                return;
        if (!(t->base = strdup(base->object.etag)))
                t->err = -ENOMEM;
        t->cond.if_match = t->base;
        t->cond.metageneration = t->kind == REQUEST_COMPLETE ? f->locked.upload.metageneration : 0;
}

/* The version that was changed is gone: nothing is published. */
static void set_gone_locked(struct wfile *f, struct upload_request *t) REQUIRES(&f->mtx)
{
        const char *gone = f->locked.commit.conflict->gone;
        if (first_name_locked(f))
                set_first_name_locked(f, t, gone);
        else if (!(t->base = strdup(gone)))
                t->err = -ENOMEM;
        t->cond.if_match = t->base;
}

/* The file is a copy of that version. */
static void set_source_locked(struct wfile *f, struct upload_request *t) REQUIRES(&f->mtx)
{
        t->src = strdup(f->locked.origin.key);
        t->match = strdup(f->locked.origin.object.etag);
        if (!t->src || !t->match)
                t->err = -ENOMEM;
}

/* What publishes the file, or records it when its base is gone. */
static void make_publish_locked(struct wfile *f, struct outcome *out, enum upload_request_kind kind)
        REQUIRES(&f->mtx)
{
        uint64_t from = kind == REQUEST_PUT ? f->locked.commit.sending.plan.from : 0;
        const struct plan_step all = {.off = from, .len = f->locked.size - from};
        struct upload_request *t = kind == REQUEST_PUT ? make_step_locked(f, out, kind, &all)
                                                       : upload_request_new_locked(f, out, kind);
        if (!t)
                return;
        t->size = f->locked.size;
        t->append = from;
        t->early = from || f->locked.commit.no_append; /* what may be appended to next */
        if (kind == REQUEST_CLONE)
                set_source_locked(f, t);
        if (f->locked.commit.conflict)
                set_gone_locked(f, t);
        else
                set_cond_locked(f, t);
}

void upload_request_make_locked(struct wfile *f, struct outcome *out, enum upload_request_kind kind,
                                const struct plan_step *step) REQUIRES(&f->mtx)
{
        switch (kind) {
        case REQUEST_CREATE:
                upload_request_create_locked(f, out);
                break;
        case REQUEST_STEP:
        case REQUEST_COPY:
                (void)make_step_locked(f, out, kind, step);
                break;
        case REQUEST_LOCK:
                make_lock_locked(f, out);
                break;
        case REQUEST_PUT:
        case REQUEST_COMPLETE:
        case REQUEST_CLONE:
                make_publish_locked(f, out, kind);
                break;
        case REQUEST_LOOK:
                (void)upload_request_new_locked(f, out, kind);
                break;
        case REQUEST_PART: /* made where it is known that they are needed */
        case REQUEST_MOVE:
        case REQUEST_REMOVE:
        case REQUEST_ABORT:
                break;
        }
}

/* --- what they are of: one version, which may fail before they end --- */

/* A part that is on its way could outlive the abort: it comes last. */
static void end_attempt_locked(struct wfile *f, struct outcome *out, struct attempt *a)
        REQUIRES(&f->mtx)
{
        if (a->inflight)
                return;
        struct upload_request *t = a->upload ? left_request_locked(f, out, REQUEST_ABORT, a) : NULL;
        if (t) {
                t->upload = TAKE_PTR(a->upload);
                return;
        }
        if (a->upload)
                log_warn_of(
                        LOG_ABOUT(.operation = "publish", .file = f->locked.key,
                                  .remedy = "'ckptctl uploads' lists and aborts it"),
                        "%s: no memory to abort its unfinished upload, which stays at the store",
                        f->locked.key);
        store_upload_free(a->upload);
        free(a);
}

void attempt_leave_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        struct sending *s = &f->locked.commit.sending;
        struct attempt *a = f->locked.attempt;

        f->locked.upload.state = UPLOAD_NONE;
        if (!a)
                return;
        f->locked.attempt = NULL;
        a->left = true;
        a->upload = TAKE_PTR(f->locked.upload.handle);
        f->locked.leaving += a->inflight;
        f->locked.inflight = 0;
        s->fills = s->copies = 0;
        s->fill_bytes = 0;
        end_attempt_locked(f, out, a);
}

/* The part is no longer counted as backlog. */
static void begun(struct part_body *p, struct pool *pool)
{
        if (!p || !p->queued)
                return;
        p->queued = false;
        pool_started(pool, p->len);
}

/* --- their beginnings --- */

static int read_body(void *arg, uint64_t off, void *dst, size_t n)
{
        struct upload_request *t = arg;
        begun(t->part, t->file->env->pool);
        if (t->attempt->left)
                return -ECANCELED; /* nobody wants it any more */
        return part_body_read(t->part, off, dst, n);
}

struct store_body upload_request_body(struct upload_request *t)
{
        if (!t->part->len)
                return store_body_mem(NULL, 0);
        return (struct store_body){
                .read = read_body, .arg = t, .len = t->part->len, .crc32c = t->part->crc};
}

/* What the error of a request that publishes says of the commit. */
static int publish_error(struct upload_request *t, int err)
{
        if (err == -ENOENT && t->kind == REQUEST_CLONE)
                return -ESTALE;
        if (t->kind != REQUEST_COMPLETE || !t->src || err != -EEXIST)
                return err;
        mutex_lock(&t->file->mtx);
        bool anew = upload_parts_are_here(&t->file->locked.parts);
        mutex_unlock(&t->file->mtx);
        if (anew)
                return err;
        free(TAKE_PTR(t->base)); /* which is not what it is recorded for */
        return -ESTALE;          /* another has the first name, and cannot be got round */
}

bool upload_request_renames(const struct upload_request *t)
{
        return store_caps(t->file->env->store) & STORE_CAP_RENAME && !t->stays;
}

/* Whether what was completed under the first name has left that. */
static bool has_left(const struct upload_request *t, int err)
{
        bool moves = t->kind == REQUEST_MOVE && upload_request_renames(t);
        return moves ? !err : t->kind == REQUEST_REMOVE && (!err || err == -ENOENT);
}

static int publish(struct upload_request *t);

/* The store's last word on it. */
static void request_over(struct upload_request *t, int err, const struct store_object *obj)
{
        err = publish_error(t, err);
        if (err != -ESTALE || conflict_record(t))
                upload_request_end(t, err, obj, NULL);
}

/* What stands at the key of what was refused: if it is the version that was changed, another host
 * has changed its metadata. Where nobody can tell, it counts as another one, so that what is to be
 * published is recorded and not lost. */
static void version_looked_at(void *arg, int err, const struct store_object *obj)
{
        struct upload_request *t = arg;
        const struct wfile_env *env = t->file->env;

        if (err || strcmp(obj->etag, t->cond.if_match) != 0 ||
            obj->meta.metageneration == t->cond.metageneration) {
                request_over(t, -ESTALE, NULL);
                return;
        }
        err = env->merge(env->owner, t->file->who, obj);
        t->cond.metageneration = obj->meta.metageneration;
        if (!err)
                err = publish(t);
        if (err)
                request_over(t, err, NULL);
}

/* The store's reply to it. */
static void request_done(void *arg, int err, const struct store_object *obj)
{
        struct upload_request *t = arg;
        const struct wfile_env *env = t->file->env;

        if (has_left(t, err))
                env->passes(env->owner, t->src, NULL);
        if (err != -ESTALE || !t->cond.metageneration || ++t->merges > MERGES_MOST ||
            store_head(env->store, t->key, version_looked_at, t))
                request_over(t, err, obj);
}

/* The metadata, and which they are to replace where they are the only ones that may be there. */
static int get_meta(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;

        int err = env->meta(env->owner, t->file->who, t->early, &t->meta);
        if (!err && t->cond.if_match)
                t->cond.metageneration = t->meta.metageneration;
        return err;
}

static int send_part(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;

        int err = t->summed ? 0 : part_body_sum(t->part);
        if (err)
                return err;
        struct store_body body = upload_request_body(t);
        if (t->kind != REQUEST_PUT)
                return store_upload_part(t->upload, t->part->no, &body, request_done, t);
        err = get_meta(t);
        if (err)
                return err;
        if (conflict_is_recorded(t))
                return conflict_record(t);
        if (t->append)
                return store_append(env->store, t->key, t->cond.if_match, t->off, &body, &t->meta,
                                    request_done, t);
        return store_put(env->store, t->key, &body, &t->meta, &t->cond, request_done, t);
}

static int fill_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct upload_request *t = arg;
        if (t->attempt->left)
                return -ECANCELED;
        part_body_fill(t->part, t->part->fill_from + at, p, n);
        return 0;
}

static void filled(void *arg, int err, const struct store_got *got)
{
        struct upload_request *t = arg;
        if (!err && got->bytes != t->part->fill_to - t->part->fill_from)
                err = -EIO;
        if (err == -ENOENT)
                err = -ESTALE;
        t->filled = !err;
        if (!err)
                err = send_part(t);
        if (err)
                upload_request_end(t, err, NULL, NULL);
}

static int fetch(struct upload_request *t)
{
        struct store_get get = {
                .key = t->src,
                .off = t->part->fill_from,
                .len = t->part->fill_to - t->part->fill_from,
                .if_match = t->match,
                .data = fill_data,
                .done = filled,
                .arg = t,
        };
        return store_get(t->file->env->store, &get);
}

static void upload_done(void *arg, int err, struct store_upload *up)
{
        upload_request_end(arg, err, NULL, up);
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
        log_error_of(LOG_ABOUT(.operation = "publish", .file = t->key,
                               .remedy = "save it again, and report the line"),
                     "%s: the parts that the store has do not make the file: part %u, %" PRIu64
                     " of %" PRIu64 " bytes",
                     t->key, sum.last, sum.size, t->size);
        return -EIO;
}

static int complete_upload(struct upload_request *t)
{
        struct store *s = t->file->env->store;
        bool as = !t->src && store_caps(s) & STORE_CAP_COMPLETE_AS;

        return store_upload_complete_as(t->upload, as ? t->key : NULL, &t->cond, request_done, t);
}

/* What has the file's name is what was changed. */
static void target_headed(void *arg, int err, const struct store_object *obj)
{
        struct upload_request *t = arg;
        if (err == -ENOENT || (!err && strcmp(obj->etag, t->base)))
                err = -ESTALE;
        if (!err)
                err = complete_upload(t);
        if (err)
                request_done(t, err, NULL);
}

static int complete(struct upload_request *t)
{
        int err = check_sum(t);
        if (err)
                return err;
        if (conflict_is_recorded(t))
                return conflict_record(t);
        return t->src && t->base ? store_head(t->file->env->store, t->key, target_headed, t)
                                 : complete_upload(t);
}

static int copy_whole(struct upload_request *t)
{
        int err = get_meta(t);
        return err ? err
                   : store_copy(t->file->env->store, t->src, t->match, t->key, &t->meta, &t->cond,
                                request_done, t);
}

/* Once more, with the metadata that there are now. */
static int publish(struct upload_request *t)
{
        return t->kind == REQUEST_PUT     ? send_part(t)
               : t->kind == REQUEST_CLONE ? copy_whole(t)
                                          : complete_upload(t);
}

static int move(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;
        struct store *s = env->store;

        if (!t->stays)
                env->passes(env->owner, t->src, t->match);
        return upload_request_renames(t)
                       ? store_rename(s, t->src, t->match, t->key, &t->cond, request_done, t)
                       : store_copy(s, t->src, t->match, t->key, NULL, &t->cond, request_done, t);
}

static void key_granted(struct waiter *w)
{
        upload_request_end(CONTAINER_OF(w, struct upload_request, for_key), 0, NULL, NULL);
}

static int lock_key(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;

        t->for_key.ready = key_granted;
        int err = env->lock(env->owner, t->src ? t->src : t->key, t->src, &t->for_key, &t->lock);
        if (!err)
                key_granted(&t->for_key);
        return err == -EAGAIN ? 0 : err; /* key_granted() goes on, maybe already */
}

static void start(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;
        struct store *s = env->store;
        int err = -ENOMEM;

        if (t->err) {
                upload_request_end(t, t->err, NULL, NULL);
                return;
        }
        if (t->kind != REQUEST_REMOVE) /* it was published before */
                t->asked_ns = wfile_now_ns();
        switch (t->kind) {
        case REQUEST_CREATE:
                err = create(t);
                break;
        case REQUEST_PART:
        case REQUEST_STEP:
        case REQUEST_PUT:
                err = t->part->fill_bytes ? fetch(t) : send_part(t);
                break;
        case REQUEST_COPY:
                err = store_upload_part_copy(t->upload, t->no, t->src, t->match, t->off, t->len,
                                             request_done, t);
                break;
        case REQUEST_LOCK:
                err = lock_key(t);
                break;
        case REQUEST_COMPLETE:
                err = complete(t);
                break;
        case REQUEST_CLONE:
                err = copy_whole(t);
                break;
        case REQUEST_MOVE:
                err = move(t);
                break;
        case REQUEST_REMOVE:
                err = store_delete_if(s, t->src, t->match, request_done, t);
                break;
        case REQUEST_LOOK:
                err = store_head(s, t->key, request_done, t);
                break;
        case REQUEST_ABORT:
                METRIC_ADD(uploads_aborted, 1);
                err = store_upload_abort(t->upload, request_done, t);
                break;
        }
        if (err)
                upload_request_end(t, err, NULL, NULL);
}

/* --- their ends --- */

static void created_locked(struct wfile *f, struct outcome *out, const struct upload_request *made,
                           int err, struct store_upload *up) REQUIRES(&f->mtx)
{
        if (err) {
                f->locked.upload.state = UPLOAD_NONE;
                return;
        }
        f->locked.upload.handle = up;
        f->locked.upload.metageneration = made->meta.metageneration;
        if (f->locked.upload.state == UPLOAD_STALE)
                return;
        f->locked.upload.state = UPLOAD_OPEN;
        if (f->locked.err)
                return;
        struct upload_request *t;
        while ((t = LIST_TAKE(&f->locked.upload.waiting, struct upload_request, item))) {
                t->upload = up;
                list_add(&out->begins, &t->item);
        }
}

static void aborted_locked(const struct wfile *f, struct upload_request *t, int err)
        REQUIRES(&f->mtx)
{
        struct store_upload *up = TAKE_PTR(t->upload);

        if (err)
                left_uploads_add(f->env->left, up, f->locked.key, err);
        else
                store_upload_free(up);
}

static bool is_same(const char *a, const char *b)
{
        return a && b ? !strcmp(a, b) : a == b;
}

/* The key is kept if the file, which may have been renamed meanwhile, still needs that one. */
static void key_came_locked(struct wfile *f, struct outcome *out, struct upload_request *t)
        REQUIRES(&f->mtx)
{
        const char *first = first_name_locked(f);
        bool right = is_same(t->src, first) && (first || is_same(t->key, f->locked.key));

        *(right ? &f->locked.commit.key : &out->key) = TAKE_PTR(t->lock);
}

/* Nobody asks for its version any more. */
static void left_ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                              int err, struct store_upload *up) REQUIRES(&f->mtx)
{
        f->locked.leaving--;
        if (t->kind == REQUEST_CREATE)
                t->attempt->upload = up;
        if (t->kind == REQUEST_ABORT)
                aborted_locked(f, t, err);
        end_attempt_locked(f, out, t->attempt);
}

static void ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t, int err,
                         const struct store_object *obj, struct store_upload *up) REQUIRES(&f->mtx)
{
        struct sending *s = &f->locked.commit.sending;

        f->locked.inflight--;
        s->fills -= fill_bytes(t) > 0;
        s->fill_bytes -= fill_bytes(t);
        s->copies -= t->kind == REQUEST_COPY;
        if (t->kind == REQUEST_ABORT) {
                aborted_locked(f, t, err);
                return;
        }
        if (err == -ECANCELED || err == -ESHUTDOWN) /* the store was stopped, at the mount's end */
                err = -ETIMEDOUT;
        if (t->kind == REQUEST_CREATE)
                created_locked(f, out, t, err, up);
        if (t->kind == REQUEST_LOCK && !err)
                key_came_locked(f, out, t);
        if (t->kind == REQUEST_PART && !err)
                upload_part_sent(&f->locked.parts, t->part->no);
        uint64_t sent = err ? 0 : t->part ? t->part->len : t->kind == REQUEST_COPY ? t->len : 0;
        recent_add(&f->locked.recent, sent);
        f->locked.sent += sent;
        commit_request_ended_locked(f, out, t, err, obj);
}

void upload_request_end(struct upload_request *t, int err, const struct store_object *obj,
                        struct store_upload *up)
{
        struct wfile *f = t->file;
        struct outcome out;

        wfile_enter(f, &out);
        t->goes_on = false;
        t->attempt->inflight--;
        if (t->attempt->left)
                left_ended_locked(f, &out, t, err, up);
        else
                ended_locked(f, &out, t, err, obj, up);
        if (!t->goes_on)
                list_add(&out.ended, &t->item);
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
}

static void free_request(struct upload_request *t)
{
        const struct wfile_env *env = t->file->env;

        begun(t->part, env->pool);
        if (t->lock) /* nobody needed it any more */
                env->unlock(env->owner, t->lock);
        part_body_free(t->part);
        pool_share_end(env->pool, &t->share);
        free(t->key);
        free(t->src);
        free(t->match);
        free(t->base);
        wfile_unref(t->file);
        free(t);
}

void upload_requests_run(struct outcome *out)
{
        struct upload_request *t;

        while ((t = LIST_TAKE(&out->begins, struct upload_request, item)))
                start(t);
        while ((t = LIST_TAKE(&out->ended, struct upload_request, item)))
                free_request(t);
}
