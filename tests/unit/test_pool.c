/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c: the cap on memory and who waits for it. */
#include "base/pool.h"

#include <stdlib.h>

#include "base/container_of.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { BUFS = 16 };

static struct pool *sixteen(void)
{
        return pool_new((size_t)BUFS * (POOL_BUF_SIZE + POOL_BUF_TAIL));
}

static int told;

static void tell(struct waiter *w)
{
        (void)w;
        told++;
}

START_TEST(each_want_has_its_mark)
{
        struct pool *p = sixteen();
        struct pool_buf *v[BUFS + 1];
        int n = 0;
        while ((v[n] = pool_get(p, POOL_TRY)))
                n++;
        ck_assert_int_eq(n, BUFS - BUFS / 8);
        ck_assert(pool_busy(p));
        while ((v[n] = pool_get(p, POOL_MUST)))
                n++;
        ck_assert_int_eq(n, BUFS);
        ck_assert_ptr_nonnull(v[n] = pool_get(p, POOL_OVER));
        while (n >= 0)
                pool_unref(v[n--]);
        ck_assert_uint_eq(pool_in_use(p), 0);
        ck_assert_uint_eq(pool_peak(p), (BUFS + 1) * (size_t)(POOL_BUF_SIZE + POOL_BUF_TAIL));
        pool_free(p);
}
END_TEST

START_TEST(many_are_given_together_or_not_at_all)
{
        struct pool *p = sixteen();
        struct pool_buf *v[BUFS + 1];
        struct waiter a = {.ready = tell};

        told = 0;
        ck_assert(pool_get_many(p, POOL_TRY, v, BUFS - 4));
        ck_assert(!pool_get_many(p, POOL_TRY, v + BUFS - 4, 3)); /* two are left below the mark */
        ck_assert(pool_get_many(p, POOL_MUST, v + BUFS - 4, 4));
        ck_assert(pool_wait(p, &a));
        ck_assert(!pool_get_many(p, POOL_MUST, v + BUFS, 1));
        ck_assert(pool_get_many(p, POOL_OVER, v + BUFS, 1));
        ck_assert(!pool_get_many(p, POOL_TRY, v, 1));
        ck_assert_int_eq(told, 0); /* what failed gave nothing back */
        for (int i = 0; i <= BUFS; i++)
                pool_unref(v[i]);
        ck_assert_int_eq(told, 1);
        ck_assert_uint_eq(pool_in_use(p), 0);
        pool_free(p);
}
END_TEST

START_TEST(a_waiter_is_told_once_memory_is_below_the_mark)
{
        struct pool *p = sixteen();
        struct waiter a = {.ready = tell}, b = {.ready = tell};
        struct pool_buf *v[BUFS];

        told = 0;
        ck_assert(!pool_wait(p, &a)); /* there is room: nobody waits */
        for (int i = 0; i < BUFS; i++)
                v[i] = pool_get(p, POOL_MUST);
        ck_assert(pool_wait(p, &a) && pool_wait(p, &b));
        pool_unref(v[0]);
        pool_unref(v[1]);
        ck_assert_int_eq(told, 0); /* still at the mark */
        pool_unref(v[2]);
        ck_assert_int_eq(told, 1);
        pool_unref(v[3]);
        ck_assert_int_eq(told, 2);
        for (int i = 4; i < BUFS; i++)
                pool_unref(v[i]);
        pool_free(p);
}
END_TEST

START_TEST(a_nudge_tells_those_who_were_passed_over)
{
        struct pool *p = sixteen();
        struct waiter w[3] = {{.ready = tell}, {.ready = tell}, {.ready = tell}};
        struct pool_buf *v[BUFS - BUFS / 8];

        told = 0;
        ck_assert(!pool_nudge(p));
        ck_assert(pool_get_many(p, POOL_TRY, v, BUFS - BUFS / 8));
        ck_assert(pool_wait(p, &w[0]) && pool_wait(p, &w[1]) && pool_wait(p, &w[2]));
        ck_assert(pool_nudge(p));
        ck_assert_int_eq(told, 0);
        pool_unref(v[0]);
        ck_assert_int_eq(told, 1); /* and makes no use of it */
        ck_assert(pool_nudge(p));
        ck_assert_int_eq(told, 2);
        ck_assert(!pool_nudge(p));
        ck_assert_int_eq(told, 3);
        for (int i = 1; i < BUFS - BUFS / 8; i++)
                pool_unref(v[i]);
        pool_free(p);
}
END_TEST

static int calls;

static void guard(void *arg)
{
        (void)arg;
        calls++;
}

/* What is queued is sent, or fails; memory that was on its way then lies idle, and nobody but the
 * guard looks for it. */
START_TEST(the_guard_rests_only_when_nobody_waits)
{
        struct pool *p = sixteen();
        struct waiter w[2] = {{.ready = tell}, {.ready = tell}};
        struct pool_buf *v[BUFS - BUFS / 8];

        told = calls = 0;
        pool_on_pressure(p, guard, NULL);
        pool_queued(p, POOL_BACKLOG + 1);
        ck_assert(pool_wait(p, &w[0]));
        ck_assert_int_eq(calls, 1); /* also where memory is free */
        ck_assert(pool_get_many(p, POOL_TRY, v, BUFS - BUFS / 8));
        ck_assert(pool_nudge(p)); /* behind the queue; it has to look again */
        pool_started(p, POOL_BACKLOG + 1);
        ck_assert_int_eq(told, 0);
        ck_assert(pool_nudge(p)); /* for memory */
        pool_unref(v[0]);
        ck_assert_int_eq(told, 1);
        ck_assert(!pool_nudge(p));
        pool_unref(v[1]);
        pool_unguard(p);
        ck_assert(!pool_wait(p, &w[1]));
        ck_assert(pool_get_many(p, POOL_OVER, v, 2));
        ck_assert(!pool_wait(p, &w[1])); /* there is none who would look */
        for (int i = 0; i < BUFS - BUFS / 8; i++)
                pool_unref(v[i]);
        pool_free(p);
}
END_TEST

START_TEST(a_long_queue_makes_writers_wait_until_it_moves)
{
        struct pool *p = sixteen();
        struct waiter a = {.ready = tell}, b = {.ready = tell};

        told = 0;
        pool_queued(p, POOL_BACKLOG);
        ck_assert(!pool_busy(p));
        pool_queued(p, 1);
        ck_assert(pool_wait(p, &a) && pool_wait(p, &b));
        pool_started(p, 1);
        ck_assert_int_eq(told, 2);
        pool_started(p, POOL_BACKLOG);
        pool_free(p);
}
END_TEST

static struct pool *asked_of;
static int given, ended;

static void count_share(struct waiter *w)
{
        (void)w;
        given++;
}

START_TEST(shares_take_what_is_free_and_one_is_always_given)
{
        struct pool *p = sixteen(); /* 14 below the mark; an eighth is 2 */
        struct pool_share a = {.n = 20}, b = {.n = 2, .waiter.ready = count_share},
                          c = {.n = 1, .waiter.ready = count_share},
                          d = {.n = 2, .waiter.ready = count_share};

        given = 0;
        ck_assert(pool_share_take(p, &a)); /* there is no other */
        ck_assert_uint_eq(pool_in_use(p), 20 * (size_t)(POOL_BUF_SIZE + POOL_BUF_TAIL));
        ck_assert(!pool_share_take(p, &b) && !pool_share_take(p, &c));
        pool_share_end(p, &a);
        pool_share_end(p, &a); /* there is none */
        ck_assert_int_eq(given, 2);

        struct pool_buf *v[BUFS];
        ck_assert(pool_get_many(p, POOL_MUST, v, 13));
        ck_assert(!pool_share_take(p, &d)); /* 2 + 1 + 2 are more than an eighth */
        pool_share_end(p, &c);
        ck_assert_int_eq(given, 2);
        pool_unref(v[12]);
        ck_assert_int_eq(given, 2);
        pool_unref(v[11]);
        pool_unref(v[10]);
        ck_assert_int_eq(given, 3); /* memory is free, whoever gave it back */
        pool_share_end(p, &b);
        pool_share_end(p, &d);
        for (int i = 0; i < 10; i++)
                pool_unref(v[i]);
        ck_assert_uint_eq(pool_in_use(p), 0);
        pool_free(p);
}
END_TEST

/* As those of a store that is gone: each ends within the call that gives it. */
static void end_share(struct waiter *w)
{
        static int depth;

        ck_assert_int_eq(depth++, 0); /* or the stack would grow with the files that wait */
        ended++;
        pool_share_end(asked_of, CONTAINER_OF(w, struct pool_share, waiter));
        depth--;
}

START_TEST(shares_that_end_at_once_do_not_nest)
{
        enum { MANY = 1000 };
        struct pool_share first = {.n = BUFS}, *v = calloc(MANY, sizeof *v);

        ended = 0;
        asked_of = sixteen();
        ck_assert(pool_share_take(asked_of, &first));
        for (int i = 0; i < MANY; i++) {
                v[i] = (struct pool_share){.n = BUFS, .waiter.ready = end_share};
                ck_assert(!pool_share_take(asked_of, &v[i]));
        }
        pool_share_end(asked_of, &first);
        ck_assert_int_eq(ended, MANY);
        free(v);
        pool_free(asked_of);
}
END_TEST

START_TEST(the_buffer_used_last_is_used_next)
{
        struct pool *p = sixteen();
        struct pool_buf *a = pool_get(p, POOL_TRY), *b = pool_get(p, POOL_TRY);
        pool_unref(pool_ref(a)); /* a second reference changes nothing */
        pool_unref(b);
        ck_assert_ptr_eq(pool_get(p, POOL_TRY), b);
        pool_unref(a);
        pool_unref(b);
        pool_free(p);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("pool");
        TCase *t = tcase_create("pool");
        tcase_add_test(t, each_want_has_its_mark);
        tcase_add_test(t, many_are_given_together_or_not_at_all);
        tcase_add_test(t, a_waiter_is_told_once_memory_is_below_the_mark);
        tcase_add_test(t, a_nudge_tells_those_who_were_passed_over);
        tcase_add_test(t, the_guard_rests_only_when_nobody_waits);
        tcase_add_test(t, a_long_queue_makes_writers_wait_until_it_moves);
        tcase_add_test(t, shares_take_what_is_free_and_one_is_always_given);
        tcase_add_test(t, shares_that_end_at_once_do_not_nest);
        tcase_add_test(t, the_buffer_used_last_is_used_next);
        suite_add_tcase(s, t);
        return unit_main(s);
}
