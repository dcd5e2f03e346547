/* SPDX-License-Identifier: Apache-2.0 */
/* test_sweep.c: keys, their lists of values, and the jobs these make. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/cli/sweep.h"
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

static const struct {
        const char *arg, *values; /* split by | */
} lists[] = {
        {"path=choice(a,b)", "a|b"},
        {"path= choice( a , b c ) ", "a|b c"},
        {"+path=choice(a)", "a"},
        {"path='a,b'", "a,b"},
        {"path='a,b', \"c d\" ,e", "a,b|c d|e"},
        {"path=choice('a,b',c)", "a,b|c"},
        {"path='it\\'s'", "it's"},
        {"path='choice(a,b)'", "choice(a,b)"},
        {"path='8*2', 8*2", "8*2|16"},
        {"path=a\\,b,c\\ ", "a,b|c "},
        {"path=[a,b],{c: d, e}", "[a,b]|{c: d, e}"},
        {"path=${a,b}", "${a,b}"},
        {"path=", ""},
        {"path=''", ""},
        {"path=choices", "choices"},
        {"epochs=range(1,5)", "1|2|3|4"},
        {"epochs=range(3)", "0|1|2"},
        {"epochs=range(1, 8, 3)", "1|4|7"},
        {"epochs=range(start=2,stop=8,step=3)", "2|5"},
        {"epochs=range(4,0,-2)", "4|2"},
};
START_TEST(a_list_is_written_as_hydra_has_it)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        char why[300] = "", got[200] = "";
        size_t n = 0;
        ck_assert_msg(!sweep_add(&s, SWEEP_COMMAND, lists[_i].arg, why, sizeof why), "%s: %s",
                      lists[_i].arg, why);
        for (size_t i = 0; i < s.keys[0].n; i++)
                n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", i ? "|" : "",
                                      s.keys[0].v[i]);
        ck_assert_str_eq(got, lists[_i].values);
}
END_TEST

START_TEST(values_hold_those_of_other_keys)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        char why[300] = "";
        static const char *const args[] = {
                "s3.region=eu-1,us-2",
                "s3.uri=s3://b-${s3.region}/${ storage }",
                "path=${s3.uri}/${.model}-${epochs}",
                "mount.path=/m/${.pid}${..checkpoint.suffix}",
                "checkpoint.storage=null",
                "checkpoint.suffix=x",
                "block=${buffer}*2",
        };
        for (size_t i = 0; i < sizeof args / sizeof args[0]; i++)
                ck_assert_int_eq(sweep_add(&s, SWEEP_COMMAND, args[i], why, sizeof why), 0);
        struct keys k;
        ck_assert_int_eq(sweep_job(&s, 1, &k, why, sizeof why), -EINVAL);
        ck_assert_str_eq(why, "block: ${buffer} is no key: see ckptbench help keys");
        ck_assert_int_eq(
                sweep_add(&s, SWEEP_COMMAND, "block=${thread_count}*8192", why, sizeof why), 0);
        ck_assert_msg(!sweep_job(&s, 1, &k, why, sizeof why), "%s", why);
        ck_assert_str_eq(k.s3_uri, "s3://b-us-2/null");
        ck_assert_str_eq(k.path, "s3://b-us-2/null/auto-1"); /* the table's defaults, too */
        ck_assert_str_eq(k.mount_path, "/m/0x");
        ck_assert_uint_eq(k.block, 8192);
        keys_release(&k);
}
END_TEST

START_TEST(what_was_said_can_be_taken_back)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(keys_release) struct keys k;
        char why[300] = "";
        ck_assert_int_eq(sweep_add(&s, SWEEP_FILE, "epochs=3", why, sizeof why), 0);
        ck_assert_int_eq(sweep_add(&s, SWEEP_PARAMS, "storage=s3,disk", why, sizeof why), 0);
        ck_assert_int_eq(sweep_add(&s, SWEEP_FILE, "seed=7", why, sizeof why), 0);
        ck_assert_int_eq(sweep_remove(&s, "~epochs=4", why, sizeof why), -ENOENT);
        ck_assert_str_eq(why, "~epochs=4: its value is 3: give that, or ~epochs");
        ck_assert_int_eq(sweep_remove(&s, "~epochs=3", why, sizeof why), 0);
        ck_assert_int_eq(sweep_remove(&s, "~checkpoint.storage", why, sizeof why), 0);
        ck_assert_int_eq(sweep_remove(&s, "~epochs", why, sizeof why), -ENOENT);
        ck_assert_str_eq(why, "~epochs: nobody gave a value to take away: leave it out");
        ck_assert_uint_eq(sweep_count(&s), 1);
        ck_assert_int_eq(sweep_job(&s, 0, &k, why, sizeof why), 0);
        ck_assert_uint_eq(k.epochs, 1);
        ck_assert_uint_eq(k.seed, 7);
        ck_assert_str_eq(k.storage, "disk");
}
END_TEST

START_TEST(a_sweep_has_a_bounded_number_of_jobs)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        char why[300] = "";
        static const char *const args[] = {"epochs=range(1,9000)", "seed=range(9000)",
                                           "steps=range(1,9000)",  "objects=range(9000)",
                                           "size=range(9000)",     "threads=range(9000)"};
        for (size_t i = 0; i < sizeof args / sizeof args[0]; i++)
                ck_assert_int_eq(sweep_add(&s, SWEEP_COMMAND, args[i], why, sizeof why), 0);
        ck_assert_uint_eq(sweep_count(&s), SWEEP_JOBS_MAX + 1);
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
        {"size", "'size' has no value: give size=VALUE"},
        {"+siez", "'+siez' has no value: give size=VALUE"},
        {"--verbose",
         "'--verbose' is no key=value, and no flag of this scenario: see ckptbench help keys"},
        {"=3", "'=3' is no key=value, and no flag of this scenario: see ckptbench help keys"},
        {"sise=3", "unknown key 'sise': did you mean 'size'?"},
        {"size=8Gi", "size=8Gi is not a size"},
        {"epochs=0", "epochs=0 is out of bounds: give 1 to 10000"},
        {"phase=none", "phase=none is not known: give both, save or load"},
        {"path='a,b", "path: the quote of 'a,b is not closed: put ' behind it"},
        {"path='a'b,c", "path: 'b,c' stands behind a quote: take it into the quotes"},
        {"path=/a(b,c", "path: ')' is missing behind /a(b,c: close the bracket"},
        {"path=a,,b", "path: a value is empty: give it"},
        {"path=a,", "path: a value is empty: give it"},
        {"path=choice()", "path: choice() has no value"},
        {"epochs=range(1,x)", "epochs: range() takes whole numbers, start, stop and step: 'x'"},
        {"epochs=range(0.5,2)", "epochs: range() takes whole numbers"},
        {"epochs=range(1,2,3,4)", "epochs: range() takes whole numbers"},
        {"epochs=range(1,9,0)", "epochs: range(1,9,0) has no value"},
        {"epochs=range(5,1)", "epochs: range(5,1,1) has no value"},
        {"epochs=range(99999)", "epochs: these are more than 10000 values"},
        {"epochs=interval(0,1)",
         "epochs: interval() is not known: write choice(a,b) or range(1,5)"},
        {"checkpoint.suffix=${path}/${checkpoint.suffix}",
         "checkpoint.suffix: ${checkpoint.suffix} leads back to checkpoint.suffix: write one"},
        {"path='${suffix'", "path: '${suffix' is not closed"},
        {"path=${oc.env:HOME}", "path: ${oc.env:HOME} is not filled in, only ${KEY} is"},
};
START_TEST(bad_input_is_refused_with_cause_and_remedy)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        struct keys k;
        char why[300];
        int err = sweep_add(&s, SWEEP_COMMAND, bad[_i].arg, why, sizeof why);
        if (!err)
                err = sweep_job(&s, 0, &k, why, sizeof why);
        ck_assert_msg(err == -EINVAL || err == -ELOOP, "%d", err);
        ck_assert_msg(!strncmp(why, bad[_i].why, strlen(bad[_i].why)), "%s", why);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sweep");
        TCase *t = tcase_create("sweep");
        tcase_add_test(t, defaults_of_the_table_are_good);
        tcase_add_test(t, lists_make_the_product_in_order);
        tcase_add_loop_test(t, a_list_is_written_as_hydra_has_it, 0,
                            sizeof lists / sizeof lists[0]);
        tcase_add_test(t, values_hold_those_of_other_keys);
        tcase_add_test(t, what_was_said_can_be_taken_back);
        tcase_add_test(t, a_sweep_has_a_bounded_number_of_jobs);
        tcase_add_test(t, the_stronger_word_counts_in_whatever_order);
        tcase_add_loop_test(t, bad_input_is_refused_with_cause_and_remedy, 0,
                            sizeof bad / sizeof bad[0]);
        suite_add_tcase(s, t);
        return unit_main(s);
}
