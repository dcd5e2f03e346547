/* SPDX-License-Identifier: Apache-2.0 */
/* test_async_state.c: what the steps of "async" change, so that no save passes for that of another
 * step. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/dev.h"
#include "bench/core/keys.h"
#include "bench/scenario/async/async_state.h"
#include "bench/train/math/blas.h"

#include "base/banned.h"

static struct coll alone;
static struct keys keys;

static void set(const char *name, const char *value)
{
        char why[300];
        ck_assert_msg(!param_tab_set(&key_tab, &keys, name, value, why, sizeof why), "%s", why);
}

static void setup(void)
{
        alone = (struct coll){.ops = &coll_none, .ranks = 1, .host_ranks = 1};
        ck_assert_int_eq(param_tab_init(&key_tab, &keys), 0);
        set("model", "gpt-mini");
        set("model.layers", "1");
        set("batch_size", "1");
        set("device", "host");
}

static void teardown(void)
{
        param_tab_release(&key_tab, &keys);
        dev_drop();
}

static char *read_all(const struct train_source *from)
{
        char *all = malloc(from->shard.size), *to = all;

        ck_assert_ptr_nonnull(all);
        for (size_t i = 0; i < from->shard.n; to += from->shard.v[i++].len)
                if (from->shard.v[i].held)
                        ck_assert_int_eq(from->get(from->arg, to, from->shard.v[i].held,
                                                   from->shard.v[i].len),
                                         0);
        return all;
}

/* Takes two steps, and looks at each tensor before and after the second. */
static void look_at_steps(bool trains)
{
        const struct run r = {.coll = &alone};
        struct async_state s;
        struct train_source from;

        ck_assert_int_eq(async_state_init(&s, &r, &keys), 0);
        ck_assert_int_eq(s.trains, trains);
        ck_assert_int_eq(async_state_source(&s, &from), 0);
        ck_assert_int_eq(async_state_step(&s), 0);
        char *before = read_all(&from);
        ck_assert_int_eq(async_state_step(&s), 0);
        char *after = read_all(&from);
        for (size_t i = 0; i < from.shard.n; i++) {
                const struct shard_piece *p = &from.shard.v[i];
                ck_assert_msg(!p->held || memcmp(before + p->off, after + p->off, p->len), "%s",
                              p->name);
        }
        ck_assert_uint_eq(s.step, 2);
        free(before);
        free(after);
        shard_release(&from.shard);
        async_state_release(&s);
}

START_TEST(a_step_changes_each_tensor_of_a_model_that_is_trained)
{
        look_at_steps(true);
}
END_TEST

START_TEST(a_step_changes_each_tensor_of_a_pattern)
{
        set("async.state", "pattern");
        look_at_steps(false);
}
END_TEST

START_TEST(a_step_changes_each_tensor_on_a_device)
{
        char why[300];

        set("device", "emulated");
        ck_assert_int_eq(dev_use(&keys, 0, why, sizeof why), 0);
        look_at_steps(false);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("async_state");
        TCase *tc = tcase_create("async_state");
        tcase_add_checked_fixture(tc, setup, teardown);
        if (blas_built())
                tcase_add_test(tc, a_step_changes_each_tensor_of_a_model_that_is_trained);
        tcase_add_test(tc, a_step_changes_each_tensor_of_a_pattern);
        tcase_add_test(tc, a_step_changes_each_tensor_on_a_device);
        suite_add_tcase(s, tc);
        return unit_main(s);
}
