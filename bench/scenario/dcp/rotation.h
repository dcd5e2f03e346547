/* SPDX-License-Identifier: Apache-2.0 */
/* rotation.h: which saves of a run stay, as a training framework's callback rotates them: the
 * newest few, or those with the lowest loss. There is no training, so the loss of a save is made up
 * of its number: it falls from save to save, but not always. Pure. */
#ifndef CKPTFS_BENCH_SCENARIO_ROTATION_H
#define CKPTFS_BENCH_SCENARIO_ROTATION_H

#include <stdbool.h>
#include <stddef.h>

struct rotation {
        size_t top; /* so many stay; 0: all */
        bool by_loss;
        size_t *kept; /* `n` of them, oldest first */
        size_t n;
};
#define ROTATION_NONE ((size_t)-1)

/* Room for `saves` saves. 0 or -ENOMEM. */
int rotation_init(struct rotation *r, size_t top, bool by_loss, size_t saves);
void rotation_release(struct rotation *r);

/* Save i, the next one, is there: which save goes, that one perhaps, or ROTATION_NONE. */
size_t rotation_add(struct rotation *r, size_t i);

#endif
