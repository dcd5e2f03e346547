/* SPDX-License-Identifier: Apache-2.0 */
/* test_claim.c: who may change a key, and who is told that he may. */
#include "mount/write/claim.h"

#include <errno.h>

#include "base/container_of.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static struct claims cs;
static struct claim a, b, c;
static struct waiters told;
static unsigned retried;

static void retry(struct waiter *w)
{
        const struct claim *who = CONTAINER_OF(w, struct claim, waiter);
        retried += who == &a ? 1 : who == &b ? 10 : 100;
}

static void begin(void)
{
        claims_init(&cs);
        a = b = c = (struct claim){.waiter.ready = retry};
        told = (struct waiters){0};
        retried = 0;
}

START_TEST(claims_that_need_not_be_alone_are_shared)
{
        ck_assert_int_eq(claim_take(&cs, &a, "k", false), 0);
        ck_assert_int_eq(claim_take(&cs, &b, "k", false), 0);
        ck_assert_int_eq(claim_take(&cs, &c, "other", true), 0);
        claim_drop(&cs, &a, &told);
        claim_drop(&cs, &b, &told);
        claim_drop(&cs, &c, &told);
        ck_assert(!waiters_any(&told));
}
END_TEST

START_TEST(who_waits_is_told_once)
{
        ck_assert_int_eq(claim_take(&cs, &a, "k", true), 0);
        ck_assert_int_eq(claim_take(&cs, &b, "k", false), -EAGAIN);
        ck_assert_int_eq(claim_take(&cs, &c, "k", true), -EAGAIN);
        claim_drop(&cs, &a, &told);
        ck_assert_uint_eq(retried, 0);
        waiters_run(&told, 0);
        ck_assert_uint_eq(retried, 110);
        ck_assert_int_eq(claim_take(&cs, &b, "k", false), 0);
        claim_drop(&cs, &b, &told);
        ck_assert(!waiters_any(&told));
}
END_TEST

START_TEST(a_claim_is_taken_again_before_others_are_told)
{
        ck_assert_int_eq(claim_take(&cs, &a, "k", true), 0);
        ck_assert_int_eq(claim_take(&cs, &b, "k", false), -EAGAIN);
        claim_drop(&cs, &a, &told);
        ck_assert_int_eq(claim_take(&cs, &a, "k", false), 0);
        ck_assert_int_eq(claim_take(&cs, &c, "k", true), -EAGAIN);
        waiters_run(&told, 0);
        ck_assert_uint_eq(retried, 10);
        claim_drop(&cs, &a, &told);
        waiters_run(&told, 0);
        ck_assert_uint_eq(retried, 110);
        ck_assert_ptr_null(cs.held);
        ck_assert_ptr_null(cs.waiting);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("claim");
        TCase *t = tcase_create("claim");
        tcase_add_checked_fixture(t, begin, NULL);
        tcase_add_test(t, claims_that_need_not_be_alone_are_shared);
        tcase_add_test(t, who_waits_is_told_once);
        tcase_add_test(t, a_claim_is_taken_again_before_others_are_told);
        suite_add_tcase(s, t);
        return unit_main(s);
}
