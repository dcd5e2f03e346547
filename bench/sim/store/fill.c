/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: buckets that begin with so many objects that nobody wants to put them first, nor write a
 * record of each to a disk: they are in memory until they are replaced. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/params.h"
#include "bench/sim/store/object.h"
#include "bench/sim/store/object_store_i.h"

#include "base/banned.h"

enum { FILL_MOST = 100000000 };
#define FILL_SIZE_MOST (UINT64_C(1) << 40)

/* An object that is there stays. */
static int fill_one_locked(struct object_store *v, struct bucket *b, const char *key, uint64_t size)
        REQUIRES(&v->mtx)
{
        struct object *old = NULL;

        if (index_find(&b->index, key))
                return 0;
        CLEANUP(object_unrefp) struct object *o = object_new(key);
        int err = o ? folder_make_parents_locked(v, b, key) : -ENOMEM;
        if (!err && size)
                err = object_add_seg(o, (struct seg){.len = size});
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

        uint64_t size = 0;

        unsigned long n = eq && eq[1] >= '0' && eq[1] <= '9' ? strtoul(eq + 1, &end, 10) : 0;
        if (!n || n > FILL_MOST || (*end && *end != ','))
                return -EINVAL;
        if (*end && (!data_is_null(v->data) || parse_size(end + 1, &size) || size > FILL_SIZE_MOST))
                return -EINVAL;
        size_t room = (size_t)(eq - what) + 16;
        if (!(key = malloc(room)))
                return -ENOMEM;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = b ? 0 : -ENXIO;
        for (unsigned long i = 0; i < n && !err; i++) {
                snprintf(key, room, "%.*s%08lu", (int)(eq - what), what, i);
                err = fill_one_locked(v, b, key, size);
        }
        mutex_unlock(&v->mtx);
        return err;
}
