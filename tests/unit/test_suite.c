/* SPDX-License-Identifier: Apache-2.0 */
/* test_suite.c: configuration files with defaults and sweeps, as the checkpoint suites write them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bench/cli/suite.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static char dir[] = "/tmp/ckptfs-suite.XXXXXX";

static void write_text(const char *name, const char *text)
{
        char path[300];
        snprintf(path, sizeof path, "%s/%s", dir, name);
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        fputs(text, f);
        ck_assert_int_eq(fclose(f), 0);
}

static void setup(void)
{
        char path[300];
        memcpy(strstr(dir, "suite.") + 6, "XXXXXX", 6);
        ck_assert_ptr_nonnull(mkdtemp(dir));
        snprintf(path, sizeof path, "%s/aws", dir);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/null", dir);
        ck_assert_int_eq(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/empty", dir);
        ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void teardown(void)
{
        static const char *const names[] = {"a.yaml",
                                            "b.yaml",
                                            "aws/dynamodb.yaml",
                                            "aws/base.yaml",
                                            "aws",
                                            "null/slow.yaml",
                                            "null/quick.yaml",
                                            "null/base.yaml",
                                            "null",
                                            "empty",
                                            ""};
        char path[300];
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                snprintf(path, sizeof path, "%s/%s", dir, names[i]);
                remove(path);
        }
}

/* The values of a key, split by commas; "-" when it is not there. */
static const char *values(const struct sweep *s, const char *name, char *out, size_t n)
{
        size_t len = 0;
        snprintf(out, n, "-");
        for (size_t i = 0; i < s->n; i++)
                for (size_t j = 0; !strcmp(s->keys[i].name, name) && j < s->keys[i].n; j++)
                        len += (size_t)snprintf(out + len, n - len, "%s%s", j ? "," : "",
                                                s->keys[i].v[j]);
        return out;
}

START_TEST(a_file_of_the_suite_makes_its_jobs)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        char why[400] = "", v[100];

        write_text(
                "a.yaml",
                "defaults:\n  - hydra/callbacks:\n      - collated_results\n"
                "  - aws/dynamodb\n  - _self_\n\n"
                "s3:\n  region: eu-west-1\n  uri: ???\nepochs: 4\nblock: 8*1024*1024\n"
                "path: ./nvme, all of it/\n"
                "hydra:\n  mode: MULTIRUN\n  sweep:\n    dir: multirun/x\n  sweeper:\n    params:\n"
                "      +model: vit-base, T0_3B\n      +checkpoint.storage: disk, s3\n");
        write_text("aws/dynamodb.yaml", "# @package _global_\nepochs: 9\ndisambiguator: d\n");
        ck_assert_msg(!suite_read(dir, "a", NULL, &s, &notes, why, sizeof why), "%s", why);
        ck_assert_str_eq(values(&s, "epochs", v, sizeof v), "4"); /* _self_ comes last */
        ck_assert_str_eq(values(&s, "disambiguator", v, sizeof v), "d");
        ck_assert_str_eq(values(&s, "block", v, sizeof v), "8388608");
        ck_assert_str_eq(values(&s, "path", v, sizeof v), "./nvme, all of it/");
        ck_assert_str_eq(values(&s, "model", v, sizeof v), "vit-base,T0_3B");
        ck_assert_str_eq(values(&s, "storage", v, sizeof v), "disk,s3");
        ck_assert_uint_eq(sweep_count(&s), 4);
        ck_assert_ptr_nonnull(strstr(notes.p, "collated_results"));

        struct keys k;
        ck_assert_int_eq(sweep_job(&s, 0, &k, why, sizeof why), -EINVAL);
        ck_assert_str_eq(why, "s3.uri has no value yet: give s3.uri=");
        ck_assert_int_eq(sweep_add(&s, SWEEP_COMMAND, "s3.uri=s3://b/p", why, sizeof why), 0);
        ck_assert_int_eq(sweep_job(&s, 3, &k, why, sizeof why), 0);
        ck_assert_str_eq(k.model, "T0_3B");
        ck_assert_str_eq(k.storage, "s3");
        param_tab_release(&key_tab, &k);
}
END_TEST

START_TEST(without_self_the_file_comes_last)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        char why[400] = "", v[100];

        write_text("a.yaml", "defaults: [b, gone]\nepochs: 2\n");
        write_text("b.yaml", "epochs: 1\nseed: 7\n");
        ck_assert_msg(!suite_read(dir, "a", NULL, &s, &notes, why, sizeof why), "%s", why);
        ck_assert_str_eq(values(&s, "epochs", v, sizeof v), "2");
        ck_assert_str_eq(values(&s, "seed", v, sizeof v), "7");
        ck_assert_ptr_nonnull(strstr(notes.p, "'gone' is left out"));
}
END_TEST

START_TEST(files_in_a_ring_and_files_that_are_none_are_refused)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        char why[400] = "";

        write_text("a.yaml", "defaults: [b]\n");
        write_text("b.yaml", "defaults: [a]\n");
        ck_assert_int_eq(suite_read(dir, "a", NULL, &s, &notes, why, sizeof why), -ELOOP);
        ck_assert_int_eq(suite_read(dir, "c", NULL, &s, &notes, why, sizeof why), -ENOENT);
        write_text("a.yaml", "epochs: [1\n");
        ck_assert_int_eq(suite_read(dir, "a", NULL, &s, &notes, why, sizeof why), -EINVAL);
}
END_TEST

/* Each says which one it is: a default that is a file, a group, or a choice of it. */
START_TEST(names_that_are_too_long_are_refused_with_the_reason)
{
        static const char *const defaults[] = {"defaults: ['%s']\n", "defaults: ['%s/b']\n",
                                               "defaults: [{'%s': b}]\n",
                                               "defaults: [{g: '%s'}]\n"};
        char name[601], text[700];

        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = 0;
        for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
                CLEANUP(sweep_release) struct sweep s = {0};
                CLEANUP(buf_release) struct buf notes = BUF_INIT;
                char why[400] = "";
                snprintf(text, sizeof text, defaults[i], name);
                write_text("a.yaml", text);
                ck_assert_int_eq(suite_read(dir, "a", NULL, &s, &notes, why, sizeof why),
                                 -ENAMETOOLONG);
                ck_assert_ptr_nonnull(strstr(why, "nnn...' is too long: shorten it"));
        }
}
END_TEST

START_TEST(group_without_files_offers_none)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        char why[400] = "";

        write_text("a.yaml", "defaults: [{empty: b}]\n");
        ck_assert_int_eq(suite_read(dir, "a", NULL, &s, &notes, why, sizeof why), -ENOENT);
        ck_assert_ptr_nonnull(strstr(why, "empty/b.yaml is not there: add it, or another"));
}
END_TEST

/* Reads a.yaml, then the command line, then what is chosen. */
static int read_all(struct sweep *s, const char *arg, struct buf *notes, char *why, size_t nwhy)
{
        CLEANUP(sweep_release) struct sweep over = {0};
        int err = arg ? sweep_add(&over, SWEEP_COMMAND, arg, why, nwhy) : 0;
        if (!err)
                err = suite_read(dir, "a", &over, s, notes, why, nwhy);
        if (!err && arg)
                err = sweep_add(s, SWEEP_COMMAND, arg, why, nwhy);
        return err ? err : suite_choose(dir, s, notes, why, nwhy);
}

/* Files of a group: "null" is where keys null.* stand. */
static void write_groups(void)
{
        write_text("null/base.yaml", "slow_rank: 3\n");
        write_text("null/slow.yaml", "defaults: [base]\ndelay_us: 1000*9\n");
        write_text("null/quick.yaml", "delay_us: 7\nslow_rank: 4\n");
}

static const struct {
        const char *file, *arg; /* a.yaml, and a word of the command line */
        unsigned jobs;
        struct {
                unsigned delay, slow_rank;
        } want[2];
} choices[] = {
        {"defaults:\n  - null: slow\n", NULL, 1, {{9000, 3}}},
        {"defaults:\n  - null: slow\n  - _self_\n\nnull:\n  delay_us: 5\n", NULL, 1, {{5, 3}}},
        {"defaults:\n  - _self_\n  - null: quick\n\nnull:\n  delay_us: 5\n", NULL, 1, {{7, 4}}},
        {"defaults:\n  - null:\n      - base\n      - quick\n", NULL, 1, {{7, 4}}},
        {"defaults:\n  - null: ???\n", "null=quick", 1, {{7, 4}}},
        {"defaults:\n  - null: base\n", "null=quick", 1, {{7, 4}}},
        {"defaults:\n  - null: slow\n  - optional null: gone\n", NULL, 1, {{9000, 3}}},
        {"defaults:\n  - b\n  - override null: quick\n", NULL, 1, {{7, 4}}},
        {"hydra:\n  sweeper:\n    params:\n      +null: slow, quick\n",
         NULL,
         2,
         {{9000, 3}, {7, 4}}},
        {"null:\n  delay_us: 5\n", "+null=quick,slow", 2, {{7, 4}, {9000, 3}}},
        {"hydra:\n  sweeper:\n    params:\n      +null: slow\n      null.delay_us: 1, 2\n",
         NULL,
         2,
         {{1, 3}, {2, 3}}},
};
START_TEST(a_choice_reads_the_file_of_its_group)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        char why[400] = "";

        write_groups();
        write_text("b.yaml", "defaults:\n  - null: slow\n");
        write_text("a.yaml", choices[_i].file);
        ck_assert_msg(!read_all(&s, choices[_i].arg, &notes, why, sizeof why), "%s", why);
        ck_assert_uint_eq(sweep_count(&s), choices[_i].jobs);
        for (size_t i = 0; i < choices[_i].jobs; i++) {
                struct keys k;
                ck_assert_msg(!sweep_job(&s, i, &k, why, sizeof why), "%s", why);
                ck_assert_uint_eq(k.null_delay_us, choices[_i].want[i].delay);
                ck_assert_uint_eq(k.null_slow_rank, choices[_i].want[i].slow_rank);
                param_tab_release(&key_tab, &k);
        }
}
END_TEST

START_TEST(values_are_filled_in_from_files_groups_and_the_command_line)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        char why[400] = "";
        static const struct {
                const char *path;
                unsigned slow_rank, epochs;
        } want[] = {{"/d/slow/9000", 9000, 2},
                    {"/d/slow/9000", 9000, 3},
                    {"/d/quick/7", 4, 2},
                    {"/d/quick/7", 4, 3}};

        write_groups();
        write_text("null/base.yaml", "slow_rank: ${.delay_us}\n");
        write_text("a.yaml", "path: ${out}/${null}/${null.delay_us}\nout: ${disambiguator}\n"
                             "hydra:\n  sweep:\n    dir: ${now:%Y}\n  sweeper:\n    params:\n"
                             "      +null: choice(slow, quick)\n      +epochs: range(2,4)\n");
        ck_assert_msg(!read_all(&s, "disambiguator=/d", &notes, why, sizeof why), "%s", why);
        ck_assert_uint_eq(sweep_count(&s), 4);
        for (size_t i = 0; i < 4; i++) {
                struct keys k;
                ck_assert_msg(!sweep_job(&s, i, &k, why, sizeof why), "%s", why);
                ck_assert_str_eq(k.path, want[i].path);
                ck_assert_uint_eq(k.null_slow_rank, want[i].slow_rank);
                ck_assert_uint_eq(k.epochs, want[i].epochs);
                param_tab_release(&key_tab, &k);
        }
}
END_TEST

static const struct {
        const char *file, *arg, *why;
} refused[] = {
        {"defaults:\n  - null: gone\n", NULL, "null/gone.yaml is not there: give one of base, "},
        {"epochs: 1\n", "+null=gone", "give one of base, quick, slow"},
        {"defaults:\n  - null: ???\n", NULL, "null has no value yet: give null="},
        {"hydra:\n  sweeper:\n    params:\n      +null: ???\n", NULL, "null has no value yet"},
        {"defaults:\n  - null: slow\n\nnull:\n  delay: 1\n", NULL, "unknown key 'null.delay'"},
        {"path: ${out}/x\nout: ${.path}\n", NULL, "path: ${out}"},
        {"hydra:\n  sweeper:\n    params:\n      +epochs: range(3,1)\n", NULL,
         "a.yaml:4: epochs: range(3,1,1) has no value"},
        {"path: ${oc.env:HOME}\n", NULL, "path: ${oc.env:HOME} is not filled in"},
};
START_TEST(a_choice_that_is_none_is_refused_by_its_name)
{
        CLEANUP(sweep_release) struct sweep s = {0};
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        char why[400] = "";
        struct keys k;

        write_groups();
        write_text("a.yaml", refused[_i].file);
        int err = read_all(&s, refused[_i].arg, &notes, why, sizeof why);
        if (!err)
                err = sweep_job(&s, 0, &k, why, sizeof why);
        ck_assert_int_lt(err, 0);
        ck_assert_msg(strstr(why, refused[_i].why), "%s", why);
}
END_TEST

int main(void)
{
        TCase *tc = tcase_create("suite");
        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_test(tc, a_file_of_the_suite_makes_its_jobs);
        tcase_add_test(tc, without_self_the_file_comes_last);
        tcase_add_test(tc, files_in_a_ring_and_files_that_are_none_are_refused);
        tcase_add_test(tc, names_that_are_too_long_are_refused_with_the_reason);
        tcase_add_test(tc, group_without_files_offers_none);
        tcase_add_loop_test(tc, a_choice_reads_the_file_of_its_group, 0,
                            sizeof choices / sizeof choices[0]);
        tcase_add_test(tc, values_are_filled_in_from_files_groups_and_the_command_line);
        tcase_add_loop_test(tc, a_choice_that_is_none_is_refused_by_its_name, 0,
                            sizeof refused / sizeof refused[0]);
        Suite *s = suite_create("suite");
        suite_add_tcase(s, tc);
        return unit_main(s);
}
