/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: buckets that begin with so many objects that nobody wants to put them first, nor write a
 * record of each to a disk: they are in memory until they are replaced. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/sim/store/object.h"
#include "bench/sim/store/object_store_i.h"

#include "base/banned.h"

enum { FILL_MOST = 100000000 };

/* An object that is there stays. */
static int fill_one_locked(struct object_store *v, struct bucket *b, const char *key)
        REQUIRES(&v->mtx)
{
        struct object *old = NULL;

        if (index_find(&b->index, key))
                return 0;
        CLEANUP(object_unrefp) struct object *o = object_new(key);
        int err = o ? folder_make_parents_locked(v, b, key) : -ENOMEM;
        if (err)
                return err;
        object_store_stamp(v, o, 0);
        err = index_put(&b->index, o, &old);
        if (!err)
                o = NULL;
        return err;
}

int object_store_fill(struct object_store *v, const char *bucket, const char *what)
{
        const char *eq = strrchr(what, '=');
        char *end = NULL;
        CLEANUP(freep) char *key = NULL;

        unsigned long n = eq && eq[1] >= '0' && eq[1] <= '9' ? strtoul(eq + 1, &end, 10) : 0;
        if (!n || n > FILL_MOST || *end)
                return -EINVAL;
        size_t room = (size_t)(eq - what) + 16;
        if (!(key = malloc(room)))
                return -ENOMEM;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = b ? 0 : -ENXIO;
        for (unsigned long i = 0; i < n && !err; i++) {
                snprintf(key, room, "%.*s%08lu", (int)(eq - what), what, i);
                err = fill_one_locked(v, b, key);
        }
        mutex_unlock(&v->mtx);
        return err;
}
