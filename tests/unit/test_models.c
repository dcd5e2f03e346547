/* SPDX-License-Identifier: Apache-2.0 */
/* test_models.c: shapes against published sums, and shards against shapes. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/data/model.h"
#include "bench/data/shard.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static int add_elements(void *arg, const struct model_tensor *t)
{
        *(uint64_t *)arg += t->rows * t->cols;
        return 0;
}

static const struct {
        const char *name;
        double millions, within;
} published[] = {
        {"gpt-small", 89.9, 0.05},  {"gpt-medium", 308.7, 0.05},
        {"gpt-large", 689.6, 0.05}, {"gpt-xl", 1241, 0.6},
        {"gpt-xxl", 2530, 5},       {"gpt-xxxl", 6470, 5},
        {"gpt-13b", 15500, 50},     {"L7b", 6889.410560, 0},
        {"L13b", 13204.608, 0},     {"L30b", 32774.3104, 0},
        {"L65b", 65587.65056, 0},   {"L70b", 69278.63808, 0},
        {"vit-base", 86.4, 0.05},   {"vit", 86.567656, 0},
        {"clip-vit", 427.6, 0.1},   {"whisper", 1543, 1},
        {"T0_3B", 2850, 1},         {"T0pp", 11135, 5},
        {"demo", 19.797278, 0},     {"demo-wide", 10 * 29.392896 + 68.190718, 0},
};
START_TEST(parameters_are_the_published_ones)
{
        const struct model *m = model_find(published[_i].name);
        uint64_t sum = 0;
        ck_assert_ptr_nonnull(m);
        ck_assert_int_eq(model_tensors(m, add_elements, &sum), 0);
        ck_assert_uint_eq(sum, model_params(m));
        ck_assert_double_le(fabs((double)sum / 1e6 - published[_i].millions),
                            published[_i].within + 1e-6);
}
END_TEST

static const struct {
        const char *name;
        unsigned tensors;
} counts[] = {{"L7b", 291},  {"L13b", 363}, {"L30b", 543},
              {"L65b", 723}, {"L70b", 723}, {"demo", 307}};
START_TEST(tensors_are_as_many_as_published)
{
        ck_assert_uint_eq(model_ntensors(model_find(counts[_i].name)), counts[_i].tensors);
}
END_TEST

/* GiB of the whole checkpoint, weights and optimizer, to the last digit printed. */
static const struct {
        const char *name;
        double gib, within;
} totals[] = {{"mlperf-8b", 104.7, 0.05},
              {"mlperf-70b", 911.2, 0.05},
              {"mlperf-405b", 5292, 0.5},
              {"mlperf-1t", 15427, 0.5}};
START_TEST(mlperf_checkpoints_have_the_published_size)
{
        const struct model *m = model_find(totals[_i].name);
        double bytes = (double)model_params(m) * model_param_bytes(m, true);
        ck_assert_double_le(fabs(bytes / (1 << 30) - totals[_i].gib), totals[_i].within);
}
END_TEST

START_TEST(a_hidden_size_that_heads_do_not_divide_is_refused_with_one_that_they_do)
{
        struct model m = *model_find("gpt-xl");
        char why[200];
        m.hidden = 2048;
        ck_assert_int_eq(model_check(&m, why, sizeof why), -EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "not a multiple of 24 heads: give 2064"));
        for (size_t i = 0; i < model_count; i++)
                ck_assert_int_eq(model_check(&model_table[i], why, sizeof why), 0);
}
END_TEST

START_TEST(layers_bring_the_sum_near_the_size_asked_for)
{
        static const double gib[] = {0.25, 1, 2, 8, 32, 100, 1000};
        uint64_t size = (uint64_t)(gib[_i] * (1 << 30));
        struct model m = *model_for_size(true, size);
        m.layers = model_layers_for(&m, true, size);
        double got = (double)model_params(&m) * model_param_bytes(&m, true);
        ck_assert_double_le(fabs(got / (double)size - 1), 0.026);
}
END_TEST

/* Every byte of every matrix is in exactly one rank's shard, pieces lie end to end. */
START_TEST(shards_of_all_ranks_make_the_model)
{
        struct model m = *model_find("gpt-mini");
        unsigned ranks = (unsigned)_i;
        uint64_t sum = 0, vectors = (13 * m.hidden * m.layers + 2 * m.hidden) * 12;
        for (unsigned r = 0; r < ranks; r++) {
                CLEANUP(shard_release) struct shard s;
                uint64_t end = 0;
                ck_assert_int_eq(shard_plan(&m, true, SHARD_ELEMENTS, r, ranks, &s), 0);
                for (size_t i = 0; i < s.n; i++) {
                        ck_assert_uint_eq(s.v[i].off, end);
                        end += s.v[i].len;
                }
                ck_assert_uint_eq(end, s.size);
                sum += s.size;
        }
        ck_assert_uint_eq(sum, model_params(&m) * 12 + (ranks - 1) * vectors);
}
END_TEST

START_TEST(a_sub_range_is_the_same_bytes_and_a_flipped_one_is_found)
{
        struct model m = *model_find("gpt-mini");
        CLEANUP(shard_release) struct shard s;
        struct shard_fault fault = {0};
        ck_assert_int_eq(shard_plan(&m, true, SHARD_ELEMENTS, 1, 3, &s), 0);
        s.seed = 5;
        CLEANUP(freep) char *whole = malloc(s.size);
        CLEANUP(freep) char *part = malloc(s.size);
        shard_fill(&s, 0, whole, s.size);
        for (uint64_t off = 0; off < s.size; off += 100003) {
                size_t n = s.size - off < 70001 ? (size_t)(s.size - off) : 70001;
                shard_fill(&s, off, part, n);
                ck_assert_mem_eq(whole + off, part, n);
                ck_assert_int_eq(shard_check(&s, off, part, n, &fault), 0);
        }
        uint64_t at = s.size / 2;
        whole[at] ^= 1;
        ck_assert_int_eq(shard_check(&s, 7, whole + 7, s.size - 7, &fault), -EBADMSG);
        ck_assert_uint_eq(fault.off, at);
        ck_assert(fault.piece->off <= at && at < fault.piece->off + fault.piece->len);
        s.seed = 6; /* the next epoch's bytes are other bytes */
        ck_assert_int_eq(shard_check(&s, 7, part, 4096, &fault), -EBADMSG);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof(a)[0])
int main(void)
{
        Suite *s = suite_create("models");
        TCase *t = tcase_create("models");
        tcase_add_loop_test(t, parameters_are_the_published_ones, 0, COUNT(published));
        tcase_add_loop_test(t, tensors_are_as_many_as_published, 0, COUNT(counts));
        tcase_add_loop_test(t, mlperf_checkpoints_have_the_published_size, 0, COUNT(totals));
        tcase_add_test(t, a_hidden_size_that_heads_do_not_divide_is_refused_with_one_that_they_do);
        tcase_add_loop_test(t, layers_bring_the_sum_near_the_size_asked_for, 0, 7);
        tcase_add_loop_test(t, shards_of_all_ranks_make_the_model, 1, 5);
        tcase_add_test(t, a_sub_range_is_the_same_bytes_and_a_flipped_one_is_found);
        suite_add_tcase(s, t);
        return unit_main(s);
}
