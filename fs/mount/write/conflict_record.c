/* SPDX-License-Identifier: Apache-2.0 */
/* conflict_record.c: see conflict_record.h. Bytes without an upload go first, then the record that
 * names them. */
#include "mount/write/conflict_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/record/recovery_record.h"
#include "base/log.h"

#include "base/banned.h"

struct recording {
        struct store *store;
        const char *name;
        struct recovery_record kept;
        char id[RECOVERY_ID_MAX];
        char *text; /* of the record, borrowed by its put */
        void (*done)(void *arg, int err);
        void *arg;
};

static void recording_free(struct recording *k)
{
        if (!k)
                return;
        recovery_record_release(&k->kept);
        free(k->text);
        free(k);
}

static void recording_freep(struct recording **k)
{
        recording_free(*k);
}

static void finish(struct recording *k, int err)
{
        const char *base = k->kept.base ? k->kept.base : "none";
        bool renamed = strcmp(k->name, k->kept.key) != 0;
        if (!err && !k->kept.base)
                log_error("%s: another file has that name: what was to go through it is kept as "
                          "%s; ckptctl recover publishes or discards it",
                          k->kept.key, k->id);
        else if (err)
                log_error("%s: its version %s was replaced by another host, and the change made on "
                          "it is lost: %s",
                          k->name, base, strerror(-err));
        else
                log_error("%s: its version %s was replaced by another host: the change made on it "
                          "is kept as %s%s%s; ckptctl recover publishes or discards it",
                          k->name, base, k->id, renamed ? ", to be published as " : "",
                          renamed ? k->kept.key : "");
        k->done(k->arg, err);
        recording_free(k);
}

static void recorded(void *arg, int err, const struct store_object *obj)
{
        (void)obj;
        finish(arg, err);
}

static int put_record(struct recording *k)
{
        CLEANUP(freep) char *key = NULL;

        free(k->text);
        k->text = recovery_record_print(&k->kept);
        if (!k->text || asprintf(&key, RECOVERY_PREFIX "%s", k->id) < 0)
                return -ENOMEM;
        struct store_body body = store_body_mem(k->text, strlen(k->text));
        return store_put(k->store, key, &body, NULL, NULL, recorded, k);
}

static void bytes_put(void *arg, int err, const struct store_object *obj)
{
        struct recording *k = arg;
        (void)obj;
        if (!err)
                err = put_record(k);
        if (err)
                finish(k, err);
}

static int put_bytes(struct recording *k, const struct conflict_change *what)
{
        CLEANUP(freep) char *key = NULL;
        if (asprintf(&key, ORPHAN_PREFIX "%s", k->id) < 0)
                return -ENOMEM;
        return store_put(k->store, key, what->body, what->meta, NULL, bytes_put, k);
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

/* What the record says. 0 or -ENOMEM. */
static int describe(struct recovery_record *k, const struct conflict_change *what)
{
        char host[256] = "";
        struct timespec ts;

        gethostname(host, sizeof host - 1);
        clock_gettime(CLOCK_REALTIME, &ts);
        k->time_ns = (int64_t)ts.tv_sec * 1000000000;
        k->size = what->size;
        k->key = strdup(what->key);
        k->host = strdup(host);
        k->base = what->base ? strdup(what->base) : NULL;
        k->upload = what->upload ? strdup(store_upload_id(what->upload)) : NULL;
        if (!k->key || !k->host || (what->base && !k->base) || (what->upload && !k->upload))
                return -ENOMEM;
        return what->upload ? store_upload_sent(what->upload, add_part, k) : 0;
}

int conflict_record(struct store *s, const struct conflict_change *what,
                    void (*done)(void *arg, int err), void *arg)
{
        CLEANUP(recording_freep) struct recording *k = calloc(1, sizeof *k);
        if (!k)
                return -ENOMEM;
        k->store = s;
        k->name = what->name;
        k->done = done;
        k->arg = arg;
        recovery_record_id(k->id);
        int err = describe(&k->kept, what);
        if (!err)
                err = what->upload ? put_record(k) : put_bytes(k, what);
        if (!err)
                (void)TAKE_PTR(k); /* the request's now */
        return err;
}
