/* SPDX-License-Identifier: Apache-2.0 */
/* test_sweep.c: keys, their lists of values, and the jobs these make. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/sweep.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static void keys_release(struct keys *k)
{
        param_tab_release(&key_tab, k);
}

START_TEST(defaults_of_the_table_are_good)
{
        CLEANUP(keys_release) struct keys k;
        char why[300] = "";
        const struct sweep none = {0};
        ck_assert_uint_eq(sweep_count(&none), 1);
        ck_assert_int_eq(sweep_job(&none, 0, &k, why, sizeof why), 0);
        for (size_t i = 0; i < key_tab.count; i++) {
                const struct param_desc *d = &key_tab.table[i];
                if (d->type == PARAM_STRING || d->type == PARAM_CHOICE || d->type == PARAM_BOOL)
                        continue;
                ck_assert_msg(!param_tab_set(&key_tab, &k, d->name, d->def, why, sizeof why),
                              "default: %s", why);
                ck_assert_msg(!param_tab_set(&key_tab, &k, d->name, d->hi, why, sizeof why),
                              "highest: %s", why);
        }
}
END_TEST

START_TEST(lists_make_the_product_in_order)
{
        static const struct {
                const char *storage;
                unsigned epochs;
        } want[] = {{"mount", 1}, {"mount", 2}, {"s3", 1}, {"s3", 2}, {"disk", 1}, {"disk", 2}};
        CLEANUP(sweep_release) struct sweep s = {0};
        char why[300];
        ck_assert_int_eq(sweep_add(&s, SWEEP_COMMAND, "storage=null", why, sizeof why), 0);
        ck_assert_int_eq(sweep_add(&s, SWEEP_COMMAND, "+epochs=1, 2", why, sizeof why), 0);
        ck_assert_int_eq(sweep_add(&s, SWEEP_COMMAND, "storage=mount, s3,disk ", why, sizeof why),
                         0);
        ck_assert_uint_eq(sweep_count(&s), 6);
        for (size_t i = 0; i < 6; i++) {
                CLEANUP(keys_release) struct keys k;
                ck_assert_int_eq(sweep_job(&s, i, &k, why, sizeof why), 0);
                ck_assert_str_eq(k.storage, want[i].storage);
                ck_assert_uint_eq(k.epochs, want[i].epochs);
        }
}
END_TEST

START_TEST(the_stronger_word_counts_in_whatever_order)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(keys_release) struct keys k;
        char why[300];
        ck_assert_int_eq(sweep_add(&s, SWEEP_COMMAND, "epochs=3", why, sizeof why), 0);
        ck_assert_int_eq(sweep_add(&s, SWEEP_FILE, "epochs=2", why, sizeof why), 0);
        ck_assert_int_eq(sweep_add(&s, SWEEP_DEFAULT, "storage=s3", why, sizeof why), 0);
        ck_assert_int_eq(
                sweep_add(&s, SWEEP_ENVIRONMENT, "checkpoint.storage=null", why, sizeof why), 0);
        ck_assert_int_eq(sweep_add(&s, SWEEP_FILE, "block=2*4*1024", why, sizeof why), 0);
        ck_assert_int_eq(sweep_job(&s, 0, &k, why, sizeof why), 0);
        ck_assert_uint_eq(k.epochs, 3);
        ck_assert_uint_eq(k.block, 8192);
        ck_assert_str_eq(k.storage, "null");
}
END_TEST

static const struct {
        const char *arg, *why;
} bad[] = {
        {"size", "'size' is no key=value: see ckptbench --help"},
        {"=3", "'=3' is no key=value: see ckptbench --help"},
        {"sise=3", "unknown key 'sise': did you mean 'size'?"},
        {"size=8Gi", "size=8Gi is not a size"},
        {"epochs=0", "epochs=0 is out of bounds: give 1 to 10000"},
        {"phase=none", "phase=none is not known: give both, save or load"},
};
START_TEST(bad_input_is_refused_with_cause_and_remedy)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        struct keys k;
        char why[300];
        int err = sweep_add(&s, SWEEP_COMMAND, bad[_i].arg, why, sizeof why);
        if (!err)
                err = sweep_job(&s, 0, &k, why, sizeof why);
        ck_assert_int_eq(err, -EINVAL);
        ck_assert_msg(!strncmp(why, bad[_i].why, strlen(bad[_i].why)), "%s", why);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sweep");
        TCase *t = tcase_create("sweep");
        tcase_add_test(t, defaults_of_the_table_are_good);
        tcase_add_test(t, lists_make_the_product_in_order);
        tcase_add_test(t, the_stronger_word_counts_in_whatever_order);
        tcase_add_loop_test(t, bad_input_is_refused_with_cause_and_remedy, 0,
                            sizeof bad / sizeof bad[0]);
        suite_add_tcase(s, t);
        return unit_main(s);
}
