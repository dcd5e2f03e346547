/* SPDX-License-Identifier: Apache-2.0 */
/* test_waiter.c: who waits without a thread is told once, in order, and on little stack. */
#include "base/waiter.h"

#include <errno.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MANY = 1000 };

static struct waiter v[MANY];
static struct waiters list;
static int told, depth;

/* The n-th is told as the n-th. */
static void tell(struct waiter *w)
{
        ck_assert_ptr_eq(w, &v[told]);
        told++;
}

/* Tells the next from within. */
static void tell_next(struct waiter *w)
{
        ck_assert_int_eq(depth++, 0);
        tell(w);
        if (told < MANY)
                waiter_run(&v[told], 0);
        depth--;
}

static void begin(void)
{
        told = depth = 0;
        list = (struct waiters){0};
        for (int i = 0; i < MANY; i++)
                v[i] = (struct waiter){.ready = tell};
}

START_TEST(waiters_are_told_in_the_order_in_which_they_came)
{
        struct waiters late = {0};

        for (int i = 0; i < MANY; i++)
                waiters_add(i < MANY / 2 ? &list : &late, &v[i]);
        waiters_move(&list, &late);
        ck_assert(!waiters_any(&late));
        waiters_run(&list, -EIO);
        ck_assert_int_eq(told, MANY);
        ck_assert(!waiters_any(&list));
        for (int i = 0; i < MANY; i++)
                ck_assert_int_eq(v[i].err, -EIO);
}
END_TEST

START_TEST(a_list_that_was_emptied_takes_new_waiters)
{
        struct waiters none = {0};

        waiters_add(&list, &v[0]);
        ck_assert_ptr_eq(waiters_take(&list), &v[0]);
        ck_assert_ptr_null(waiters_take(&list));
        waiters_move(&list, &none);
        ck_assert(!waiters_any(&list));
        waiters_add(&list, &v[0]);
        waiters_add(&list, &v[1]);
        waiters_run(&list, 0);
        ck_assert_int_eq(told, 2);
}
END_TEST

START_TEST(waiters_that_tell_one_another_do_not_nest)
{
        for (int i = 0; i < MANY; i++)
                v[i].ready = tell_next;
        waiter_run(&v[0], 0);
        ck_assert_int_eq(told, MANY);
}
END_TEST

static void tell_list(struct waiter *w)
{
        tell(w);
        waiters_run(&list, -EINTR);
        ck_assert_int_eq(told, 1); /* they come when this one is done */
}

START_TEST(who_is_told_within_another_comes_behind_it)
{
        v[0].ready = tell_list;
        waiters_add(&list, &v[1]);
        waiters_add(&list, &v[2]);
        waiter_run(&v[0], 0);
        ck_assert_int_eq(told, 3);
        ck_assert_int_eq(v[0].err, 0);
        ck_assert_int_eq(v[2].err, -EINTR);
}
END_TEST

static void wait_again(struct waiter *w)
{
        if (told++ < 2)
                waiters_add(&list, w);
}

START_TEST(who_was_told_may_wait_again)
{
        v[0].ready = wait_again;
        waiters_add(&list, &v[0]);
        while (waiters_any(&list)) {
                struct waiters now = {0};
                waiters_move(&now, &list);
                waiters_run(&now, 0);
        }
        ck_assert_int_eq(told, 3);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("waiter");
        TCase *t = tcase_create("waiter");
        tcase_add_checked_fixture(t, begin, NULL);
        tcase_add_test(t, waiters_are_told_in_the_order_in_which_they_came);
        tcase_add_test(t, a_list_that_was_emptied_takes_new_waiters);
        tcase_add_test(t, waiters_that_tell_one_another_do_not_nest);
        tcase_add_test(t, who_is_told_within_another_comes_behind_it);
        tcase_add_test(t, who_was_told_may_wait_again);
        suite_add_tcase(s, t);
        return unit_main(s);
}
