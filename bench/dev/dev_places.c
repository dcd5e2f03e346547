/* SPDX-License-Identifier: Apache-2.0 */
/* dev_places.c: see dev_places.h. */
#include "bench/dev/dev_places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

int dev_places(struct coll *c, struct dev_place **out)
{
        struct dev_place mine;
        CLEANUP(freep) struct dev_place *all = calloc(c->ranks, sizeof *all);
        int err = coll_agree(c, all ? 0 : -ENOMEM);

        memset(&mine, 0, sizeof mine);
        if (gethostname(mine.host, sizeof mine.host - 1))
                snprintf(mine.host, sizeof mine.host, "?");
        dev_get()->id(mine.device);
        if (!err)
                err = c->ops->gather(c, &mine, sizeof mine, all);
        *out = err ? NULL : TAKE_PTR(all);
        return err;
}

unsigned dev_places_shared(const struct dev_place *v, unsigned n, unsigned *a, unsigned *b)
{
        unsigned most = n ? 1 : 0;

        for (unsigned i = 0; i < n; i++) {
                unsigned here = 1, second = i;
                for (unsigned k = i + 1; k < n; k++) {
                        if (memcmp(&v[i], &v[k], sizeof *v) != 0)
                                continue;
                        second = here++ == 1 ? k : second;
                }
                if (here <= most)
                        continue;
                most = here;
                *a = i;
                *b = second;
        }
        return most;
}
