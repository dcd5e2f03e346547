/* SPDX-License-Identifier: Apache-2.0 */
/* unit_train.h: what tests of training have in common: the arithmetic, a setup, and whether two
 * trainers have learnt the same. */
#ifndef CKPTFS_TESTS_UNIT_TRAIN_H
#define CKPTFS_TESTS_UNIT_TRAIN_H

#include "tests/lib/unit.h"

#include <math.h>
#include <stdio.h>

#include "bench/train/trainer.h"
#include "tests/lib/small_gpt.h"

/* Whether the program has said that it tests nothing. */
static inline bool skips_without_openblas(void)
{
#ifndef HAVE_OPENBLAS
        printf("1..0 # SKIP built without OpenBLAS\n");
        return true;
#else
        return false;
#endif
}

static inline void open_math(void)
{
        char why[256];
        ck_assert_msg(!math_host.open(1, 1, why, sizeof why), "%s", why);
}

static inline struct coll one_rank(void)
{
        return (struct coll){.ops = &coll_none, .ranks = 1, .host_ranks = 1, .any_thread = true};
}

/* With random tokens, dropout, the cross entropy and SGD. */
static inline struct train_setup setup_of_noise(const struct math_ops *ops, const struct model *m,
                                                size_t batch)
{
        static const struct train_data noise;
        return (struct train_setup){.ops = ops,
                                    .model = *m,
                                    .batch = batch,
                                    .seed = 5,
                                    .dropout = 0.2F,
                                    .entropy = true,
                                    .lr = 0.05,
                                    .data = &noise};
}

/* Each weight, to the bit (0) or within so much. */
static inline void have_the_same_weights(const struct trainer *a, const struct trainer *b,
                                         float within)
{
        for (size_t i = 0; i < trainer_model(a)->ntensors; i++) {
                const struct trainer_part p = trainer_part(a, i), q = trainer_part(b, i);
                ck_assert_uint_eq(p.n, q.n);
                if (!(within > 0))
                        ck_assert_mem_eq(p.weight, q.weight, p.n * sizeof(float));
                for (size_t e = 0; e < p.n; e++)
                        ck_assert_float_le(fabsf(p.weight[e] - q.weight[e]), within);
        }
}

#endif
