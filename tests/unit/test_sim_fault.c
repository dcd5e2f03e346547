/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_fault.c: which requests the simulator's rules act on. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/sim/http/fault.h"
#include "base/banned.h"

static void write_rules(const char *file, const char *text)
{
        FILE *f = fopen(file, "w");

        ck_assert_ptr_nonnull(f);
        fputs(text, f);
        ck_assert_int_eq(fclose(f), 0);
}

static struct faults *open_rules(const char *text, int want)
{
        char file[] = "/tmp/ckptfs-rules.XXXXXX", why[256] = "";
        struct faults *f = NULL;
        int fd = mkstemp(file);

        ck_assert_int_ge(fd, 0);
        close(fd);
        write_rules(file, text);
        ck_assert_int_eq(faults_open(file, &f, why, sizeof why), want);
        ck_assert_int_eq(want != 0, why[0] != 0);
        unlink(file);
        return f;
}

/* What happens to the next request. */
static enum fault_do next(struct faults *f, const char *op, const char *key, unsigned part)
{
        struct fault got;

        fault_match(f, op, "bkt", key, part, &got);
        enum fault_do what = got.what;
        fault_release(&got);
        return what;
}

START_TEST(a_rule_counts_what_fits_it)
{
        struct faults *f = open_rules("[{\"op\":\"Get*\",\"key\":\"a/*\",\"skip\":1,\"times\":2,"
                                      "\"do\":\"reset\"}]",
                                      0);

        ck_assert_int_eq(next(f, "GetObject", "b", 0), FAULT_NONE);
        ck_assert_int_eq(next(f, "PutObject", "a/b", 0), FAULT_NONE);
        ck_assert_int_eq(next(f, "GetObject", "a/b/c", 0), FAULT_NONE);
        ck_assert_int_eq(next(f, "GetObject", "a/b/c", 0), FAULT_RESET);
        ck_assert_int_eq(next(f, "GetObject", "a/b/c", 0), FAULT_RESET);
        ck_assert_int_eq(next(f, "GetObject", "a/b/c", 0), FAULT_NONE);
        faults_close(f);
}
END_TEST

START_TEST(a_part_and_a_request_are_picked)
{
        struct faults *f =
                open_rules("[{\"op\":\"UploadPart\",\"part\":3,\"nth\":2,\"do\":\"stall\","
                           "\"stall\":\"60s\"}]",
                           0);
        struct fault got;

        ck_assert_int_eq(next(f, "UploadPart", "k", 2), FAULT_NONE);
        ck_assert_int_eq(next(f, "UploadPart", "k", 3), FAULT_NONE);
        fault_match(f, "UploadPart", "bkt", "k", 3, &got);
        ck_assert_int_eq(got.what, FAULT_STALL);
        ck_assert_uint_eq(got.stall_ns, 60000000000ULL);
        faults_close(f);
        fault_release(&got); /* may outlive the rules */
        ck_assert_int_eq(next(NULL, "UploadPart", "k", 3), FAULT_NONE);
}
END_TEST

START_TEST(the_first_rule_acts_and_all_count)
{
        struct faults *f = open_rules("[{\"op\":\"*\",\"nth\":1,\"do\":\"reset\"},"
                                      "{\"op\":\"*\",\"nth\":2,\"do\":\"truncate\"}]",
                                      0);

        ck_assert_int_eq(next(f, "GetObject", "k", 0), FAULT_RESET);
        ck_assert_int_eq(next(f, "GetObject", "k", 0), FAULT_TRUNCATE);
        ck_assert_int_eq(next(f, "GetObject", "k", 0), FAULT_NONE);
        faults_close(f);
}
END_TEST

START_TEST(chance_is_about_as_asked)
{
        struct faults *f = open_rules("[{\"probability\":0.1,\"do\":\"status\"}]", 0);
        int acted = 0;

        for (int i = 0; i < 10000; i++)
                acted += next(f, "GetObject", "k", 0) == FAULT_STATUS;
        ck_assert_int_gt(acted, 800); /* six standard deviations */
        ck_assert_int_lt(acted, 1200);
        faults_close(f);
}
END_TEST

static const char *const bad[] = {
        "{}",
        "[1]",
        "[{}]",
        "[{\"do\":\"nothing\"}]",
        "[{\"do\":\"reset\",\"color\":1}]",
        "[{\"do\":\"stall\"}]",
        "[{\"do\":\"stall\",\"stall\":\"1 day\"}]",
        "[{\"do\":\"status\",\"status\":42}]",
        "[{\"do\":\"stall\",\"stall\":-1}]",
        "[{\"do\":\"stall\",\"stall\":1e30}]",
        "[{\"do\":\"reset\"}",
        "[{\"do\":\"delay\",\"until\":\"noon\"}]",
        "[{\"do\":\"reset\",\"until\":\"reload\"}]",
};

START_TEST(bad_rules_are_refused)
{
        ck_assert_ptr_null(open_rules(bad[_i], -EINVAL));
}
END_TEST

START_TEST(times_of_a_rule_have_units)
{
        uint64_t ns;

        ck_assert_int_eq(fault_parse_duration("20ms", &ns), 0);
        ck_assert_uint_eq(ns, 20000000);
        ck_assert_int_eq(fault_parse_duration("1.5", &ns), 0);
        ck_assert_uint_eq(ns, 1500000000);
        ck_assert_int_eq(fault_parse_duration("2m", &ns), 0);
        ck_assert_uint_eq(ns, 120000000000);
        ck_assert_int_eq(fault_parse_duration("", &ns), -EINVAL);
        ck_assert_int_eq(fault_parse_duration("-1s", &ns), -EINVAL);
        ck_assert_int_eq(fault_parse_duration("1h", &ns), 0);
        ck_assert_uint_eq(ns, 3600000000000);
        ck_assert_int_eq(fault_parse_duration("1d", &ns), -EINVAL);
        ck_assert_int_eq(fault_parse_duration("1e30", &ns), -EINVAL);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sim_fault");
        TCase *t = tcase_create("fault");

        tcase_add_test(t, a_rule_counts_what_fits_it);
        tcase_add_test(t, a_part_and_a_request_are_picked);
        tcase_add_test(t, the_first_rule_acts_and_all_count);
        tcase_add_test(t, chance_is_about_as_asked);
        tcase_add_loop_test(t, bad_rules_are_refused, 0, sizeof bad / sizeof *bad);
        tcase_add_test(t, times_of_a_rule_have_units);
        suite_add_tcase(s, t);
        return unit_main(s);
}
