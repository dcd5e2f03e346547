/* SPDX-License-Identifier: Apache-2.0 */
/* test_mutex.c: what builds with sanitizers assert of every mutex; this one always does. */
#include "base/mutex.h"

#include <signal.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

static struct mutex first = MUTEX_INITIALIZER(LOCK_TREE);
static struct mutex second = MUTEX_INITIALIZER(LOCK_POOL);

START_TEST(mutexes_are_taken_in_their_order_and_given_back_in_any)
{
        mutex_lock(&first);
        mutex_lock(&second);
        mutex_is_locked(&first);
        mutex_unlock(&first);
        mutex_unlock(&second);
        mutex_check_none();
}
END_TEST

START_TEST(a_wrong_order_ends_the_program)
{
        mutex_lock(&second);
        mutex_lock(&first);
}
END_TEST

START_TEST(a_mutex_that_is_not_held_where_it_must_be_ends_the_program)
{
        mutex_is_locked(&first);
}
END_TEST

START_TEST(a_callback_with_a_mutex_held_ends_the_program)
{
        mutex_lock(&first);
        mutex_check_none();
}
END_TEST

int main(void)
{
        Suite *s = suite_create("mutex");
        TCase *t = tcase_create("checks");

        suite_add_tcase(s, t);
        tcase_add_test(t, mutexes_are_taken_in_their_order_and_given_back_in_any);
        tcase_add_test_raise_signal(t, a_wrong_order_ends_the_program, SIGABRT);
        tcase_add_test_raise_signal(t, a_mutex_that_is_not_held_where_it_must_be_ends_the_program,
                                    SIGABRT);
        tcase_add_test_raise_signal(t, a_callback_with_a_mutex_held_ends_the_program, SIGABRT);
        return unit_main(s);
}
