/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: buckets that begin with so many objects that nobody wants to put them first. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/sim/object.h"
#include "bench/sim/vault.h"

#include "base/banned.h"

enum { FILL_MOST = 100000000 };

int vault_fill(struct vault *v, const char *bucket, const char *what)
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
        for (unsigned long i = 0; i < n; i++) {
                snprintf(key, room, "%.*s%08lu", (int)(eq - what), what, i);
                CLEANUP(object_unrefp) struct object *o = object_new(key);
                int err = o ? vault_put(v, bucket, o, NULL) : -ENOMEM;
                if (err)
                        return err;
        }
        return 0;
}
