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

START_TEST(threads_that_count_at_once_lose_nothing)
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

START_TEST(a_time_counts_up_to_its_bound)
{
        struct metric_histogram *h = &metric_histograms[TIMES_fuse_request][KERNEL_read];

        metric_time(TIMES_fuse_request, KERNEL_read, -1); /* the clock was set */
        metric_time(TIMES_fuse_request, KERNEL_read, (int64_t)metric_steps_ns[0]);
        metric_time(TIMES_fuse_request, KERNEL_read, (int64_t)metric_steps_ns[0] + 1);
        metric_time(TIMES_fuse_request, KERNEL_read, INT64_MAX / 2);
        ck_assert_uint_eq(h->steps[0], 2);
        ck_assert_uint_eq(h->steps[1], 1);
        ck_assert_uint_eq(h->steps[METRIC_STEPS], 1);
        ck_assert_uint_eq(h->sum_ns, 2 * metric_steps_ns[0] + 1 + INT64_MAX / 2);
        for (int i = 1; i < METRIC_STEPS; i++)
                ck_assert_uint_gt(metric_steps_ns[i], metric_steps_ns[i - 1]);
}
END_TEST

START_TEST(a_status_that_no_vendor_has_counts_as_another)
{
        struct metric_status v[METRIC_STATUSES_MOST + 2];
        uint64_t other = 0, ok = 0, none = 0;

        metric_reply(REPLIES_store_replies, 0, 200);
        metric_reply(REPLIES_store_replies, 0, 299);
        metric_reply(REPLIES_store_replies, 0, 0);
        metric_statuses(REPLIES_store_replies, 0, v);
        for (const struct metric_status *s = v; *s->text; s++) {
                other += strcmp(s->text, "other") ? 0 : s->n;
                ok += strcmp(s->text, "200") ? 0 : s->n;
                none += strcmp(s->text, "0") ? 0 : s->n;
        }
        ck_assert_uint_eq(other, 1);
        ck_assert_uint_eq(ok, 1);
        ck_assert_uint_eq(none, 1);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("metrics");
        TCase *t = tcase_create("metrics");
        tcase_add_test(t, threads_that_count_at_once_lose_nothing);
        tcase_add_test(t, the_line_names_each_figure_once);
        tcase_add_test(t, a_time_counts_up_to_its_bound);
        tcase_add_test(t, a_status_that_no_vendor_has_counts_as_another);
        suite_add_tcase(s, t);
        return unit_main(s);
}
