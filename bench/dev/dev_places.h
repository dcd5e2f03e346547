/* SPDX-License-Identifier: Apache-2.0 */
/* dev_places.h: which ranks share a device. */
#ifndef CKPTFS_BENCH_DEV_PLACES_H
#define CKPTFS_BENCH_DEV_PLACES_H

#include "bench/core/coll.h"
#include "bench/core/dev.h"

/* Where a rank's device is; padded with zeros. */
struct dev_place {
        char host[64], device[DEV_ID_MAX];
};

/* Those of all ranks, in their order, malloc'ed. Collective, while a device is in use in each. 0 or
 * a negative errno. */
int dev_places(struct coll *c, struct dev_place **out);

/* The most of n ranks that have the same device; their first two are *a and *b. */
unsigned dev_places_shared(const struct dev_place *v, unsigned n, unsigned *a, unsigned *b);

#endif
