/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: buckets that begin with so many objects that nobody wants to put them first, nor write a
 * record of each to a disk: they are made when somebody looks (made.h). */
#include <errno.h>
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
#define FILL_SIZE_MOST (UINT64_C(5) << 40)

static struct object *make_one(void *arg, const struct object *first, const char *key,
                               unsigned long number)
{
        struct object *o = object_clone(first, key);

        if (o) {
                o->generation += (int64_t)number;
                object_store_stamp_etag(arg, o, 0);
        }
        return o;
}

/* An object that is there stays. */
static int fill_locked(struct object_store *v, struct bucket *b, const char *prefix,
                       unsigned long n, uint64_t size) REQUIRES(&v->mtx)
{
        CLEANUP(object_unrefp) struct object *first = object_new(NULL);

        if (!first || (size && object_add_seg(first, (struct seg){.len = size})))
                return -ENOMEM;
        object_store_stamp(v, first, 0);
        first->generation = (int64_t)data_next_ids(v->data, n);
        struct made *made = made_new(prefix, n, TAKE_PTR(first), make_one, v);
        int err = made ? folder_make_parents_locked(v, b, prefix) : -ENOMEM;
        if (!err)
                err = index_fill(&b->index, made);
        if (err)
                made_free(made);
        return err;
}

int object_store_fill(struct object_store *v, const char *bucket, const char *what)
{
        const char *eq = strrchr(what, '=');
        char *end = NULL;
        uint64_t size = 0;

        unsigned long n = eq && eq[1] >= '0' && eq[1] <= '9' ? strtoul(eq + 1, &end, 10) : 0;
        if (!n || n > FILL_MOST || (*end && *end != ','))
                return -EINVAL;
        if (*end && (!data_is_null(v->data) || parse_size(end + 1, &size) || size > FILL_SIZE_MOST))
                return -EINVAL;
        CLEANUP(freep) char *prefix = strndup(what, (size_t)(eq - what));
        if (!prefix)
                return -ENOMEM;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = b ? fill_locked(v, b, prefix, n, size) : -ENXIO;
        mutex_unlock(&v->mtx);
        return err;
}
