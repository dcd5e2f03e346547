/* SPDX-License-Identifier: Apache-2.0 */
/* conflict_record.c: a change that lost to another host's is recorded in place of being published.
 * See wfile_int.h. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/record/recovery_record.h"

#include "base/banned.h"

/* A change whose base another host replaced, or whose name another file has: its bytes stay at the
 * store, recorded for `ckptctl recover`, while the other's object stands. Those without an upload
 * go first, then the record that names them. */
struct recording {
        struct upload_request *of;
        struct recovery_record record;
        char id[RECOVERY_ID_MAX];
        char *text; /* of the record, borrowed by its put */
};

static void recording_free(struct recording *k)
{
        if (!k)
                return;
        recovery_record_release(&k->record);
        free(k->text);
        free(k);
}

static void recording_freep(struct recording **k)
{
        recording_free(*k);
}

/* It is kept; or with an error it is not, and the upload is aborted. */
static void recorded(struct recording *k, int err)
{
        struct upload_request *t = k->of;
        const char *base = k->record.base ? k->record.base : "none", *to = k->record.key;
        bool renamed = strcmp(t->key, to) != 0;
        bool lacks = t->kind == REQUEST_CLONE && (err == -ENOENT || err == -ESTALE);

        if (lacks)
                log_error_of(LOG_ABOUT(.operation = "publish", .file = t->key,
                                       .remedy = "copy it again"),
                             "%s: what it was to be a copy of, a version of %s, is gone", t->key,
                             t->src);
        else if (!err && !k->record.base)
                log_error_of(
                        LOG_ABOUT(.operation = "publish", .file = to,
                                  .remedy = "ckptctl recover publishes or discards it"),
                        "%s: another file has that name: what was to go through it is kept as %s",
                        to, k->id);
        else if (err)
                log_error_of(
                        LOG_ABOUT(.operation = "publish", .file = t->key,
                                  .remedy = "save it again"),
                        "%s: its version %s was replaced by another host, and the change made on "
                        "it is lost: %s",
                        t->key, base, strerror(-err));
        else
                log_error_of(LOG_ABOUT(.operation = "publish", .file = t->key,
                                       .remedy = "ckptctl recover publishes or discards it"),
                             "%s: its version %s was replaced by another host: the change made on "
                             "it is kept as %s%s%s",
                             t->key, base, k->id, renamed ? ", to be published as " : "",
                             renamed ? to : "");
        recording_free(k);
        t->recorded = !err;
        upload_request_end(t, -ESTALE, NULL, NULL);
}

static void record_put(void *arg, int err, const struct store_object *obj)
{
        (void)obj;
        recorded(arg, err);
}

static int put_record(struct recording *k)
{
        CLEANUP(freep) char *key = NULL;

        k->text = recovery_record_print(&k->record);
        if (!k->text || asprintf(&key, RECOVERY_PREFIX "%s", k->id) < 0)
                return -ENOMEM;
        struct store_body body = store_body_mem(k->text, strlen(k->text));
        return store_put(k->of->file->env->store, key, &body, NULL, NULL, record_put, k);
}

static void bytes_put(void *arg, int err, const struct store_object *obj)
{
        struct recording *k = arg;
        (void)obj;
        if (!err)
                err = put_record(k);
        if (err)
                recorded(k, err);
}

/* Whether the upload stays as it is, and the record has its id. A stream is completed: its last
 * bytes are sent by that alone. */
static bool keeps_upload(const struct upload_request *t)
{
        return t->kind == REQUEST_COMPLETE &&
               !(store_caps(t->file->env->store) & STORE_CAP_IN_ORDER);
}

/* Those of a copy are still at the store, unless it is its original that is gone. */
static int put_bytes(struct recording *k)
{
        struct upload_request *t = k->of;
        CLEANUP(freep) char *key = NULL;

        if (asprintf(&key, ORPHAN_PREFIX "%s", k->id) < 0)
                return -ENOMEM;
        if (t->kind == REQUEST_COMPLETE)
                return store_upload_complete_as(t->upload, key, NULL, bytes_put, k);
        if (t->kind == REQUEST_CLONE)
                return store_copy(t->file->env->store, t->src, t->match, key, &t->meta, NULL,
                                  bytes_put, k);
        struct store_body body = upload_request_body(t);
        return store_put(t->file->env->store, key, &body, &t->meta, NULL, bytes_put, k);
}

static int add_part(void *arg, const struct store_part *part)
{
        const struct recovery_part p = {
                .partno = part->partno,
                .size = part->size,
                .etag = (char *)part->etag, /* copied */
                .has_crc = part->has_crc,
                .crc32c = part->crc32c,
        };
        return recovery_record_add_part(arg, &p);
}

/* The name by which the store finds the upload again: that which it was begun with. */
static char *upload_name(const struct upload_request *t)
{
        struct wfile *f = t->file;

        mutex_lock(&f->mtx);
        const char *first = f->locked.upload.key;
        char *name = strdup(first ? first : t->key);
        mutex_unlock(&f->mtx);
        return name;
}

/* What the record says. 0 or -ENOMEM. */
static int describe(struct recovery_record *k, const struct upload_request *t)
{
        bool upload = keeps_upload(t);
        const char *base = t->cond.if_match ? t->cond.if_match : t->base;
        char host[256] = "";
        struct timespec ts;

        gethostname(host, sizeof host - 1);
        clock_gettime(CLOCK_REALTIME, &ts);
        k->time_ns = (int64_t)ts.tv_sec * 1000000000;
        k->size = t->size;
        k->key = upload ? upload_name(t) : strdup(t->key);
        k->host = strdup(host);
        k->base = base ? strdup(base) : NULL;
        k->upload = upload ? strdup(store_upload_id(t->upload)) : NULL;
        if (!k->key || !k->host || (base && !k->base) || (upload && !k->upload))
                return -ENOMEM;
        return upload ? store_upload_sent(t->upload, add_part, k) : 0;
}

/* Whether the request would have published a change of a version that is gone: then it records
 * that. */
static bool may_record(struct upload_request *t)
{
        struct wfile *f = t->file;
        bool publishes =
                t->kind == REQUEST_PUT || t->kind == REQUEST_COMPLETE || t->kind == REQUEST_CLONE;
        bool through_first_name = t->kind == REQUEST_COMPLETE && t->src;

        if (!publishes || t->append || (!t->cond.if_match && !through_first_name))
                return false;
        mutex_lock(&f->mtx);
        bool may = !f->locked.unlinked && (f->locked.commit.phase == COMMIT_RECORDING ||
                                           commit_enter_locked(f, COMMIT_RECORDING));
        mutex_unlock(&f->mtx);
        return may;
}

int conflict_record(struct upload_request *t)
{
        CLEANUP(recording_freep) struct recording *k = may_record(t) ? calloc(1, sizeof *k) : NULL;

        if (!k)
                return -ESTALE;
        k->of = t;
        recovery_record_id(k->id);
        if (describe(&k->record, t) || (keeps_upload(t) ? put_record(k) : put_bytes(k)))
                return -ESTALE;
        (void)TAKE_PTR(k); /* the request's now */
        return 0;
}

bool conflict_is_recorded(struct upload_request *t)
{
        mutex_lock(&t->file->mtx);
        bool is = t->file->locked.commit.phase == COMMIT_RECORDING;
        mutex_unlock(&t->file->mtx);
        return is;
}
