/* SPDX-License-Identifier: Apache-2.0 */
/* rotation.c: see rotation.h. */
#include "bench/scenario/dcp/rotation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

int rotation_init(struct rotation *r, size_t top, bool by_loss, size_t saves)
{
        *r = (struct rotation){.top = top, .by_loss = by_loss};
        r->kept = calloc(saves + 1, sizeof *r->kept);
        return r->kept ? 0 : -ENOMEM;
}

void rotation_release(struct rotation *r)
{
        freep(&r->kept);
        r->n = 0;
}

static double rotation_loss(size_t i)
{
        return 10 / (double)(i + 1) + (i % 3 == 1 ? 4 : 0); /* every third save is a step back */
}

size_t rotation_add(struct rotation *r, size_t i)
{
        size_t worst = 0;

        r->kept[r->n++] = i;
        if (!r->top || r->n <= r->top)
                return ROTATION_NONE;
        for (size_t k = 1; r->by_loss && k < r->n; k++)
                if (rotation_loss(r->kept[k]) > rotation_loss(r->kept[worst]))
                        worst = k;
        size_t goes = r->kept[worst];
        memmove(&r->kept[worst], &r->kept[worst + 1], (r->n - worst - 1) * sizeof *r->kept);
        r->n--;
        return goes;
}
