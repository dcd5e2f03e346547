/* SPDX-License-Identifier: Apache-2.0 */
/* loss_scale.c: see loss_scale.h. */
#include "bench/train/loss_scale.h"

#include <math.h>

#include "base/banned.h"

static const float first = 65536, most = 0x1p126F, least = 0x1p-126F;

bool loss_scale_may_be(double factor)
{
        int exponent;
        return factor >= (double)least && factor <= (double)most && frexp(factor, &exponent) == 0.5;
}

struct loss_scale loss_scale_begin(float fixed)
{
        return (struct loss_scale){.factor = fixed > 0 ? fixed : first, .fixed = fixed > 0};
}

void loss_scale_note(struct loss_scale *s, bool overflowed)
{
        s->skipped += overflowed;
        if (s->fixed)
                return;
        if (overflowed) {
                s->good = 0;
                if (s->factor > least)
                        s->factor /= 2;
        } else if (++s->good == LOSS_SCALE_EVERY) {
                s->good = 0;
                if (s->factor < most)
                        s->factor *= 2;
        }
}
