/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c: figures add up over threads, and the dump names each once. */
#include "base/metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { THREADS = 4, ROUNDS = 20000 };

static void *count(void *arg)
{
        uint64_t first = (uint64_t)(uintptr_t)arg;
        for (uint64_t i = 0; i < ROUNDS; i++) {
                METRIC_ADD(requests, 2);
                METRIC_MAX(pool_peak, first + i);
        }
        return NULL;
}

START_TEST(threads_lose_nothing)
{
        pthread_t t[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++)
                ck_assert_int_eq(pthread_create(&t[i], NULL, count, (void *)(i * 1000)), 0);
        for (int i = 0; i < THREADS; i++)
                pthread_join(t[i], NULL);
        ck_assert_uint_eq(METRIC_GET(requests), 2 * THREADS * ROUNDS);
        ck_assert_uint_eq(METRIC_GET(pool_peak), (THREADS - 1) * 1000 + ROUNDS - 1);
        METRIC_SET(pool_used, 10);
        METRIC_SUB(pool_used, 3);
        ck_assert_uint_eq(METRIC_GET(pool_used), 7);
}
END_TEST

START_TEST(the_line_names_each_figure_once)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        size_t signs = 0;
        METRIC_ADD(retries, 41);
        ck_assert_int_eq(metrics_print(&b), 0);
        for (const char *s = b.p; *s; s++)
                signs += *s == '=';
        ck_assert_uint_eq(signs, METRIC_COUNT);
        ck_assert_ptr_nonnull(strstr(b.p, " retries=41 "));
        for (int i = 0; i < METRIC_COUNT; i++)
                ck_assert_ptr_nonnull(strstr(b.p, metric_table[i].name));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("metrics");
        TCase *t = tcase_create("metrics");
        tcase_add_test(t, threads_lose_nothing);
        tcase_add_test(t, the_line_names_each_figure_once);
        suite_add_tcase(s, t);
        return unit_main(s);
}
