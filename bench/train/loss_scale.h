/* SPDX-License-Identifier: Apache-2.0 */
/* loss_scale.h: what gradients are multiplied by where they become halves, as torch.amp.GradScaler
 * has it: a step of which a gradient is infinite or no number changes no weight and halves the
 * factor; many steps in a row without such a one double it. */
#ifndef CKPTFS_BENCH_TRAIN_LOSS_SCALE_H
#define CKPTFS_BENCH_TRAIN_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

enum { LOSS_SCALE_EVERY = 2000 /* good steps from one growth to the next */ };

struct loss_scale {
        float factor; /* a power of two */
        bool fixed;   /* which never changes */
        uint32_t good;
        uint64_t skipped; /* steps, since training began */
};

/* Whether it is a power of two that, as its inverse, is a normal number. */
bool loss_scale_may_be(double factor);
/* `fixed` is the factor, or 0: it begins with torch's and changes. */
struct loss_scale loss_scale_begin(float fixed);
/* Behind a step. The factor stays what it may be. */
void loss_scale_note(struct loss_scale *s, bool overflowed);

#endif
