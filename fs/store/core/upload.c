/* SPDX-License-Identifier: Apache-2.0 */
/* upload.c: multipart uploads: the handle, what it knows of its parts, and the calls on it. */
#include "base/grow.h"
#include "base/log.h"
#include "base/mutex.h"
#include "store/core/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

static struct store_upload *upload_new(struct store *s, const char *full_key, const char *id)
{
        struct store_upload *up = calloc(1, sizeof *up);
        if (!up)
                return NULL;
        mutex_init(&up->mtx, LOCK_STORE_UPLOAD);
        up->s = s;
        up->key = strdup(full_key);
        up->id = strdup(id);
        if (!up->key || !up->id) {
                store_upload_free(up);
                return NULL;
        }
        return up;
}

struct store_upload *store_upload_open(struct store *s, const char *key, const char *id)
{
        CLEANUP(freep) char *full = store_full_key(s, key);
        struct store_upload *up = full ? upload_new(s, full, id) : NULL;

        if (up)
                up->known = true;
        return up;
}

const char *store_upload_id(const struct store_upload *up)
{
        return up->id;
}

void store_upload_free(struct store_upload *up)
{
        if (!up)
                return;
        mutex_unshared(&up->mtx);
        for (unsigned i = 0; i < up->locked.room; i++)
                free(up->locked.v[i].etag);
        free(up->locked.v);
        free(up->meta);
        free(up->stream);
        free(up->key);
        free(up->id);
        mutex_destroy(&up->mtx);
        free(up);
}

static int make_room_locked(struct store_upload *up, unsigned partno) REQUIRES(&up->mtx)
{
        unsigned before = up->locked.room;

        if (GROW_TO(up->locked.v, partno, up->locked.room, 16))
                return -ENOMEM;
        if (before < up->locked.room)
                memset(up->locked.v + before, 0, (up->locked.room - before) * sizeof *up->locked.v);
        return 0;
}

int upload_note_part(struct store_upload *up, unsigned partno, const char *etag,
                     const struct upload_part *part)
{
        char *copy = strdup(etag);
        if (!copy)
                return -ENOMEM;
        mutex_lock(&up->mtx);
        int err = make_room_locked(up, partno);
        if (!err) {
                struct upload_part *to = &up->locked.v[partno - 1];
                bool left = !part->body && (to->left || (to->etag && to->body));
                free(to->etag);
                *to = *part;
                to->etag = copy;
                to->left = left;
        }
        mutex_unlock(&up->mtx);
        if (err)
                free(copy);
        return err;
}

int upload_each(struct store_upload *up,
                int (*each)(void *arg, unsigned partno, const struct upload_part *part), void *arg)
{
        int err = 0;
        mutex_lock(&up->mtx);
        for (unsigned i = 0; !err && i < up->locked.room; i++)
                if (up->locked.v[i].etag)
                        err = each(arg, i + 1, &up->locked.v[i]);
        mutex_unlock(&up->mtx);
        return err;
}

int upload_each_left(struct store_upload *up, int (*each)(void *arg, unsigned partno), void *arg)
{
        int err = 0;
        mutex_lock(&up->mtx);
        for (unsigned i = 0; !err && i < up->locked.room; i++)
                if (up->locked.v[i].left)
                        err = each(arg, i + 1);
        mutex_unlock(&up->mtx);
        return err;
}

struct sent_walk {
        int (*each)(void *arg, const struct store_part *part);
        void *arg;
};

static int walk_sent(void *arg, unsigned partno, const struct upload_part *part)
{
        const struct sent_walk *w = arg;
        const struct store_part p = {
                .partno = partno,
                .size = part->size,
                .etag = part->etag,
                .has_crc = part->has_crc,
                .crc32c = part->crc32c,
        };
        return w->each(w->arg, &p);
}

int store_upload_sent(struct store_upload *up,
                      int (*each)(void *arg, const struct store_part *part), void *arg)
{
        struct sent_walk w = {.each = each, .arg = arg};
        return upload_each(up, walk_sent, &w);
}

void store_upload_drop(struct store_upload *up, unsigned partno)
{
        mutex_lock(&up->mtx);
        if (partno && partno <= up->locked.room) {
                struct upload_part *p = &up->locked.v[partno - 1];
                p->left |= p->etag && p->body;
                free(TAKE_PTR(p->etag));
        }
        mutex_unlock(&up->mtx);
}

int store_upload_adopt(struct store_upload *up, const struct store_part *part)
{
        const struct upload_part p = {
                .size = part->size, .has_crc = part->has_crc, .crc32c = part->crc32c};
        if (part->partno < 1 || part->partno > STORE_PART_MAX || !part->etag)
                return -EINVAL;
        return upload_note_part(up, part->partno, part->etag, &p);
}

/* --- calls --- */

/* Such an upload has no parts, and nothing tells it from one that another host has just begun: a
 * list of uploads has the time, the account and the class of each, which may be the same. So it is
 * not aborted here, where another's might be, but later, by age. */
void upload_say_twin(const struct op *op, const char *twin)
{
        if (op->maybe_done)
                log_info("store: the reply to the beginning of an upload of %s was lost: %s",
                         op->key, twin);
}

static void finish_create(struct op *op, int err)
{
        struct store_upload *up = err ? NULL : upload_new(op->s, op->key, op->upload_id);
        if (up) {
                up->plain = !op->copying;
                up->sum = op->upload_sum;
                up->meta = TAKE_PTR(op->meta);
        }
        op->done.upload(op->arg, err || up ? err : -ENOMEM, up);
}

static int create(struct store *s, const char *key, const struct store_meta *meta, bool copying,
                  const char *src, store_upload_fn *done, void *arg)
{
        int err = store_check_key(s, key);
        if (err)
                return err;
        CLEANUP(op_freep) struct op *op = op_new(s, OP_UPLOAD_CREATE, key, arg);
        err = op ? op_set_meta(op, meta) : -ENOMEM;
        if (err)
                return err;
        if (src && !(op->src = store_full_key(s, src)))
                return -ENOMEM;
        op->copying = copying;
        op->finish = finish_create;
        op->done.upload = done;
        return op_submit(TAKE_PTR(op));
}

int store_upload_create(struct store *s, const char *key, const struct store_meta *meta,
                        store_upload_fn *done, void *arg)
{
        return create(s, key, meta, false, NULL, done, arg);
}

int store_upload_create_copying(struct store *s, const char *key, const struct store_meta *meta,
                                store_upload_fn *done, void *arg)
{
        return create(s, key, meta, true, NULL, done, arg);
}

int upload_create_copy(struct store *s, const char *key, const struct store_meta *meta,
                       const char *src, store_upload_fn *done, void *arg)
{
        return create(s, key, meta, true, src, done, arg);
}

/* An op on an upload; `id` is the handle's, which outlives its requests. */
static struct op *new_op(struct store_upload *up, enum op_verb verb, void *arg)
{
        struct op *op = op_new(up->s, verb, NULL, arg);
        if (!op || !(op->key = strdup(up->key))) {
                op_free(op);
                return NULL;
        }
        op->up = up;
        op->id = up->id;
        op->finish = op_finish_plain;
        return op;
}

static void finish_part(struct op *op, int err)
{
        if (err)
                __atomic_store_n(&op->up->failed, true, __ATOMIC_RELAXED);
        op_finish_plain(op, err);
}

int store_upload_part(struct store_upload *up, unsigned partno, const struct store_body *body,
                      store_done_fn *done, void *arg)
{
        if (partno < 1 || partno > STORE_PART_MAX || body->len > STORE_PART_SIZE_MAX ||
            __atomic_load_n(&up->over, __ATOMIC_RELAXED))
                return -EINVAL;
        struct op *op = new_op(up, OP_PART, arg);
        if (!op)
                return -ENOMEM;
        op->partno = partno;
        op->body = *body;
        op->finish = finish_part;
        op->done.object = done;
        return op_submit(op);
}

int store_upload_part_copy(struct store_upload *up, unsigned partno, const char *src,
                           const char *src_match, uint64_t off, uint64_t len, store_done_fn *done,
                           void *arg)
{
        uint64_t most = store_caps(up->s) & STORE_CAP_WHOLE_COPY ? INT64_MAX : STORE_PART_SIZE_MAX;
        int err = store_check_key(up->s, src);
        if (err || up->plain || partno < 1 || partno > STORE_PART_MAX || !len || len > most ||
            off > INT64_MAX - len)
                return err ? err : -EINVAL;
        CLEANUP(op_freep) struct op *op = new_op(up, OP_PART_COPY, arg);
        if (!op || !(op->src = store_full_key(up->s, src)) ||
            (src_match && !(op->src_match = strdup(src_match))))
                return -ENOMEM;
        op->partno = partno;
        op->off = off;
        op->len = len;
        op->done.object = done;
        return op_submit(TAKE_PTR(op));
}

static int any_part(void *arg, unsigned partno, const struct upload_part *part)
{
        (void)arg;
        (void)partno;
        (void)part;
        return 1;
}

int store_upload_complete(struct store_upload *up, const struct store_cond *cond,
                          store_done_fn *done, void *arg)
{
        return store_upload_complete_as(up, NULL, cond, done, arg);
}

int store_upload_complete_as(struct store_upload *up, const char *key,
                             const struct store_cond *cond, store_done_fn *done, void *arg)
{
        if (!upload_each(up, any_part, NULL))
                return -EINVAL;
        if (key && !(store_caps(up->s) & STORE_CAP_COMPLETE_AS))
                return -EOPNOTSUPP;
        int err = key ? store_check_key(up->s, key) : 0;
        if (err)
                return err;
        CLEANUP(op_freep) struct op *op = new_op(up, OP_COMPLETE, arg);
        if (!op || op_set_cond(op, cond))
                return -ENOMEM;
        if (key) {
                free(op->key);
                if (!(op->key = store_full_key(up->s, key)))
                        return -ENOMEM;
        }
        op->maybe_done = up->known;
        op->finish = op_finish_object;
        op->done.object = done;
        return op_submit(TAKE_PTR(op));
}

/* To who has it open it is no file that is missing. */
int upload_gone(const struct op *op)
{
        return op->up->known ? -ENOENT : -EIO;
}

void store_upload_stop(struct store_upload *up)
{
        __atomic_store_n(&up->over, true, __ATOMIC_RELAXED);
}

int store_upload_abort(struct store_upload *up, store_done_fn *done, void *arg)
{
        store_upload_stop(up);
        struct op *op = new_op(up, OP_ABORT, arg);
        if (!op)
                return -ENOMEM;
        op->done.object = done;
        return op_submit(op);
}

static void finish_parts(struct op *op, int err)
{
        struct store_part *v = NULL;
        if (!err && op->n && !(v = calloc(op->n, sizeof *v)))
                err = -ENOMEM;
        for (size_t i = 0; !err && i < op->n; i++)
                v[i] = (struct store_part){
                        .partno = op->v[i].partno,
                        .size = op->v[i].size,
                        .etag = op_string(op, op->v[i].etag),
                };
        op->done.parts(op->arg, err, err ? 0 : op->n, v);
        free(v);
}

int store_upload_parts(struct store_upload *up, store_parts_fn *done, void *arg)
{
        struct op *op = new_op(up, OP_PARTS, arg);
        if (!op)
                return -ENOMEM;
        op->finish = finish_parts;
        op->done.parts = done;
        return op_submit(op);
}
