/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: see compare.h. One request is under way at a time, so nothing here is locked. */
#include "move/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/banned.h"

struct comparison {
        struct compare job;
        char *keys[2];
        struct store_object objects[2];
        unsigned turn; /* which of the two is looked at, or read */
};

static void comparison_free(struct comparison *c)
{
        if (!c)
                return;
        free(c->keys[0]);
        free(c->keys[1]);
        free(c);
}

/* One that is gone, or of another version by now, is not what was listed. */
static void comparison_end(struct comparison *c, int err, bool same)
{
        mutex_check_none();
        c->job.done(c->job.arg, err == -ENOENT || err == -ESTALE ? 0 : err, !err && same);
        comparison_free(c);
}

/* --- the bytes themselves --- */

static int drop_data(void *arg, uint64_t at, const void *p, size_t n)
{
        (void)arg, (void)at, (void)p, (void)n; /* the store's client sums them up */
        return 0;
}

static void object_read(void *arg, int err, const struct store_got *got);

static int read_object(struct comparison *c)
{
        const struct store_get get = {
                .key = c->keys[c->turn],
                .len = c->objects[c->turn].size,
                .if_match = c->objects[c->turn].etag,
                .data = drop_data,
                .done = object_read,
                .arg = c,
        };
        return store_get(c->job.store, &get);
}

static void object_read(void *arg, int err, const struct store_got *got)
{
        struct comparison *c = arg;
        struct store_object *o = &c->objects[c->turn];

        if (!err && got->bytes != o->size)
                err = -EIO;
        if (!err)
                o->crc32c = got->crc32c;
        if (!err && !c->turn) {
                c->turn = 1;
                err = read_object(c);
                if (!err)
                        return;
        }
        comparison_end(c, err, c->objects[0].crc32c == c->objects[1].crc32c);
}

/* --- what the store tells of them --- */

static void compare_objects(struct comparison *c)
{
        const struct store_object *a = &c->objects[0], *b = &c->objects[1];

        if (a->size != b->size) {
                comparison_end(c, 0, false);
        } else if (!a->size) {
                comparison_end(c, 0, true);
        } else if (a->has_crc && b->has_crc) {
                comparison_end(c, 0, a->crc32c == b->crc32c);
        } else if (a->has_crc64 && b->has_crc64) {
                comparison_end(c, 0, a->crc64nvme == b->crc64nvme);
        } else {
                c->turn = 0;
                int err = read_object(c);
                if (err)
                        comparison_end(c, err, false);
        }
}

static void object_headed(void *arg, int err, const struct store_object *obj)
{
        struct comparison *c = arg;

        if (!err && strcmp(obj->etag, c->objects[c->turn].etag) != 0)
                err = -ESTALE;
        if (!err)
                c->objects[c->turn] = *obj;
        if (!err && !c->turn) {
                c->turn = 1;
                err = store_head(c->job.store, c->keys[1], object_headed, c);
                if (!err)
                        return;
        }
        if (err)
                comparison_end(c, err, false);
        else
                compare_objects(c);
}

int compare_start(const struct compare *job)
{
        struct comparison *c = calloc(1, sizeof *c);

        if (!c)
                return -ENOMEM;
        c->job = *job;
        for (unsigned i = 0; i < 2; i++) {
                c->keys[i] = strdup(job->keys[i]);
                snprintf(c->objects[i].etag, STORE_ETAG_MAX, "%s", job->etags[i]);
        }
        int err = c->keys[0] && c->keys[1] ? store_head(job->store, c->keys[0], object_headed, c)
                                           : -ENOMEM;
        if (err)
                comparison_free(c);
        return err;
}
