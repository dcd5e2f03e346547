/* SPDX-License-Identifier: Apache-2.0 */
/* copy_parts.c: server-side copies and renames of one object.
 *
 * A copy is tried in one request. A kind whose requests copy so many bytes and no more answers that
 * with -EFBIG, and the object is copied in parts, many at once: small ones cost no request more
 * than the copy, and nobody has to know sizes. */
#include "store/core/store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/banned.h"

enum { FLYING_MAX = 64 };
#define PART_SIZE (512ULL << 20) /* a minute of a server that copies 10 MB/s */
#define MiB       (1ULL << 20)

struct copy_parts {
        struct store *s;
        char *src, *dst, *if_match; /* keys as the user gave them */
        char etag[STORE_ETAG_MAX];  /* the version that is copied; "": any */
        bool if_absent, same_meta;
        struct store_meta meta;
        uint64_t size, part_size;
        struct store_upload *up;
        store_done_fn *done;
        void *arg;
        struct mutex mtx;
        struct {
                unsigned next, nparts, flying;
                int err; /* the first */
        } locked GUARDED_BY(&mtx);
};

static void copy_free(struct copy_parts *c)
{
        if (!c)
                return;
        store_upload_free(c->up);
        free(c->src);
        free(c->dst);
        free(c->if_match);
        mutex_destroy(&c->mtx);
        free(c);
}

static void copy_end(struct copy_parts *c, int err, const struct store_object *obj)
{
        mutex_check_none();
        c->done(c->arg, err, err ? NULL : obj);
        copy_free(c);
}

static void aborted(void *arg, int err, const struct store_object *obj)
{
        struct copy_parts *c = arg;
        (void)err; /* said in the log; the copy's own error counts */
        mutex_unshared(&c->mtx);
        copy_end(c, c->locked.err, obj);
}

/* One that was refused has left the upload. */
static void completed(void *arg, int err, const struct store_object *obj)
{
        struct copy_parts *c = arg;

        mutex_unshared(&c->mtx);
        c->locked.err = err;
        if (!err || store_upload_abort(c->up, aborted, c))
                copy_end(c, err, obj);
}

/* Every part is there, or one failed and none is on its way. */
static void all_landed(struct copy_parts *c)
{
        struct store_cond cond = {.if_absent = c->if_absent, .if_match = c->if_match};

        mutex_unshared(&c->mtx);
        int err = c->locked.err ? store_upload_abort(c->up, aborted, c)
                                : store_upload_complete(c->up, &cond, completed, c);
        if (err)
                copy_end(c, c->locked.err ? c->locked.err : err, NULL);
}

static void part_landed(void *arg, int err, const struct store_object *obj);

/* Sends parts until enough are on their way. */
static void send_parts_locked(struct copy_parts *c) REQUIRES(&c->mtx)
{
        while (!c->locked.err && c->locked.next < c->locked.nparts &&
               c->locked.flying < FLYING_MAX) {
                uint64_t off = c->locked.next * c->part_size, left = c->size - off;
                unsigned partno = ++c->locked.next;
                c->locked.flying++;
                int err = store_upload_part_copy(c->up, partno, c->src, *c->etag ? c->etag : NULL,
                                                 off, left < c->part_size ? left : c->part_size,
                                                 part_landed, c);
                c->locked.flying -= err != 0;
                c->locked.err = err;
        }
}

static void part_landed(void *arg, int err, const struct store_object *obj)
{
        struct copy_parts *c = arg;
        (void)obj;

        mutex_lock(&c->mtx);
        c->locked.flying--;
        if (!c->locked.err)
                c->locked.err = err;
        send_parts_locked(c);
        bool over = !c->locked.flying;
        mutex_unlock(&c->mtx);
        if (over)
                all_landed(c);
}

static void begun(void *arg, int err, struct store_upload *up)
{
        struct copy_parts *c = arg;

        if (err) {
                copy_end(c, err, NULL);
                return;
        }
        c->up = up;
        mutex_lock(&c->mtx);
        send_parts_locked(c);
        bool over = !c->locked.flying;
        mutex_unlock(&c->mtx);
        if (over)
                all_landed(c);
}

/* What the parts are: of a size that 10,000 of them suffice, and one request can still copy. */
static void plan_parts(struct copy_parts *c, uint64_t size)
{
        uint64_t each = (size + STORE_PART_MAX - 1) / STORE_PART_MAX;
        uint64_t least = (each + MiB - 1) & ~(MiB - 1);

        mutex_unshared(&c->mtx);
        c->size = size;
        c->part_size = least > PART_SIZE ? least : PART_SIZE;
        c->locked.nparts = (unsigned)((size + c->part_size - 1) / c->part_size);
}

static void headed(void *arg, int err, const struct store_object *obj)
{
        struct copy_parts *c = arg;

        if (!err && *c->etag && strcmp(c->etag, obj->etag))
                err = -ESTALE;
        if (!err && !store_copies_parts(c->s, c->src)) {
                log_warn_of(LOG_ABOUT(.operation = "copy", .file = c->src,
                                      .remedy = "give it a name without '%'"),
                            "store: copy %s: the store cannot copy so large an object of that name",
                            c->src);
                err = -EOPNOTSUPP;
        }
        if (!err && !obj->size) {
                log_warn_of(LOG_ABOUT(.operation = "copy", .file = c->src,
                                      .remedy = "report the line to whoever runs the store"),
                            "store: copy %s: the store says that an empty object is too large",
                            c->src);
                err = -EIO;
        }
        if (!err) {
                snprintf(c->etag, sizeof c->etag, "%s", obj->etag);
                plan_parts(c, obj->size);
                err = upload_create_copy(c->s, c->dst, c->same_meta ? &obj->meta : &c->meta, c->src,
                                         begun, c);
        }
        if (err)
                copy_end(c, err, NULL);
}

/* Takes over from an op that copies. */
static struct copy_parts *copy_new(const struct op *op)
{
        struct copy_parts *c = calloc(1, sizeof *c);
        if (!c)
                return NULL;
        mutex_init(&c->mtx, LOCK_COPY_PARTS);
        c->s = op->s;
        c->src = strdup(op->src + op->s->prefix_len);
        c->dst = strdup(op->key + op->s->prefix_len);
        c->if_match = op->if_match ? strdup(op->if_match) : NULL;
        c->if_absent = op->if_absent;
        c->same_meta = !op->meta;
        if (op->meta)
                c->meta = *op->meta;
        if (op->src_match)
                snprintf(c->etag, sizeof c->etag, "%s", op->src_match);
        c->done = op->done.object;
        c->arg = op->arg;
        if (!c->src || !c->dst || (op->if_match && !c->if_match)) {
                copy_free(c);
                return NULL;
        }
        return c;
}

static void finish_copy(struct op *op, int err)
{
        if (err == -EFBIG) {
                struct copy_parts *c = copy_new(op);
                err = c ? store_head(c->s, c->src, headed, c) : -ENOMEM;
                if (!err)
                        return;
                copy_free(c);
        }
        op_finish_object(op, err == -ESHUTDOWN ? -ECANCELED : err);
}

/* --- renames where the store turns out to have none --- */

struct copied_rename {
        struct store *s;
        char *src, etag[STORE_ETAG_MAX]; /* key as the user gave it; the version */
        struct store_object made;
        store_done_fn *done;
        void *arg;
};

static void copied_rename_free(struct copied_rename *r)
{
        if (!r)
                return;
        free(r->src);
        free(r);
}

static void copied_rename_end(struct copied_rename *r, int err)
{
        mutex_check_none();
        r->done(r->arg, err, err ? NULL : &r->made);
        copied_rename_free(r);
}

/* What another host has put there since it was copied stays. */
static void source_deleted(void *arg, int err, const struct store_object *obj)
{
        struct copied_rename *r = arg;
        (void)obj;

        if (err == -ESTALE)
                err = 0;
        if (err)
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = r->src,
                                      .remedy = "delete the new name if it is not wanted"),
                            "%s: has a copy by its new name, and %s: %s", r->src,
                            err == -ENOENT ? "somebody else took the old one away"
                                           : "the old one cannot be deleted",
                            strerror(-err));
        copied_rename_end(r, err);
}

static void renamed_copied(void *arg, int err, const struct store_object *obj)
{
        struct copied_rename *r = arg;

        if (!err) {
                r->made = *obj;
                err = store_delete_if(r->s, r->src, r->etag, source_deleted, r);
        }
        if (err)
                copied_rename_end(r, err);
}

/* Takes over from an op that renames. */
static int rename_by_copy(const struct op *op)
{
        const struct store_cond cond = {.if_absent = op->if_absent, .if_match = op->if_match};
        const char *dst = op->key + op->s->prefix_len;
        struct copied_rename *r = calloc(1, sizeof *r);

        if (!r || !(r->src = strdup(op->src + op->s->prefix_len))) {
                free(r);
                return -ENOMEM;
        }
        r->s = op->s;
        snprintf(r->etag, sizeof r->etag, "%s", op->src_match);
        r->done = op->done.object;
        r->arg = op->arg;
        int err = store_copy(r->s, r->src, r->etag, dst, NULL, &cond, renamed_copied, r);
        if (err)
                copied_rename_free(r);
        return err;
}

static void finish_rename(struct op *op, int err)
{
        bool copies = err == -EOPNOTSUPP && op->src_match;

        if (copies && !(err = rename_by_copy(op)))
                return;
        op_finish_object(op, copies && err == -ESHUTDOWN ? -ECANCELED : err);
}

/* An op that makes `dst` of `src`. 0 or a negative errno. */
static int new_op(struct store *s, enum op_verb verb, const char *src, const char *src_match,
                  const char *dst, const struct store_cond *cond, struct op **out, void *arg)
{
        int err = store_check_key(s, src);
        if (!err)
                err = store_check_key(s, dst);
        if (err)
                return err;
        CLEANUP(op_freep) struct op *op = op_new(s, verb, dst, arg);
        if (!op || op_set_cond(op, cond) || !(op->src = store_full_key(s, src)) ||
            (src_match && !(op->src_match = strdup(src_match))))
                return -ENOMEM;
        *out = TAKE_PTR(op);
        return 0;
}

/* Takes the operation over, also when it fails. */
static int submit_with(struct op *given, const struct store_meta *meta, store_done_fn *done)
{
        CLEANUP(op_freep) struct op *op = given;
        int err = op_set_meta(op, meta);

        if (err)
                return err;
        op->finish = finish_copy;
        op->done.object = done;
        /* It takes no place of those that copy: these go on while others ask. */
        if (op->s->ops->asks_first(op->s->kind, op))
                op->rq.lane = HTTP_META;
        return op_submit(TAKE_PTR(op));
}

int store_copy(struct store *s, const char *src, const char *src_match, const char *dst,
               const struct store_meta *meta, const struct store_cond *cond, store_done_fn *done,
               void *arg)
{
        CLEANUP(op_freep) struct op *op = NULL;
        int err = new_op(s, OP_COPY, src, src_match, dst, cond, &op, arg);
        return err ? err : submit_with(TAKE_PTR(op), meta, done);
}

int store_set_meta(struct store *s, const char *key, const char *if_match,
                   const struct store_meta *meta, store_done_fn *done, void *arg)
{
        const struct store_cond cond = {.if_match = if_match};
        CLEANUP(op_freep) struct op *op = NULL;
        int err = new_op(s, OP_SET_META, key, if_match, key, &cond, &op, arg);
        return err ? err : submit_with(TAKE_PTR(op), meta, done);
}

/* Of a store that has `cap`. */
static int submit_rename(unsigned cap, struct store *s, enum op_verb verb, const char *src,
                         const char *src_match, const char *dst, const struct store_cond *cond,
                         store_done_fn *done, void *arg)
{
        CLEANUP(op_freep) struct op *op = NULL;
        if (!(store_caps(s) & cap))
                return -EOPNOTSUPP;
        int err = new_op(s, verb, src, src_match, dst, cond, &op, arg);
        if (err)
                return err;
        op->finish = verb == OP_RENAME ? finish_rename : op_finish_plain;
        op->done.object = done;
        return op_submit(TAKE_PTR(op));
}

int store_folder_rename(struct store *s, const char *src, const char *dst, store_done_fn *done,
                        void *arg)
{
        return submit_rename(STORE_CAP_FOLDERS, s, OP_FOLDER_RENAME, src, NULL, dst, NULL, done,
                             arg);
}

int store_rename(struct store *s, const char *src, const char *src_match, const char *dst,
                 const struct store_cond *cond, store_done_fn *done, void *arg)
{
        return submit_rename(STORE_CAP_RENAME, s, OP_RENAME, src, src_match, dst, cond, done, arg);
}
