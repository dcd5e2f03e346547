/* SPDX-License-Identifier: Apache-2.0 */
/* test_buf.c: growing, failing once and for all, handing over. */
#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

START_TEST(a_buffer_is_a_string_at_every_time)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        ck_assert_str_eq(b.p, "");
        for (int i = 0; i < 1000; i++) {
                ck_assert_int_eq(buf_addf(&b, "%d,", i % 10), 0);
                ck_assert_uint_eq(strlen(b.p), b.len);
        }
        ck_assert_uint_eq(b.len, 2000);
        ck_assert_int_eq(buf_add(&b, "", 1), 0); /* a NUL is a byte like others */
        ck_assert_uint_eq(b.len, 2001);
        buf_reset(&b);
        ck_assert_str_eq(b.p, "");
        ck_assert_uint_eq(b.len, 0);
}
END_TEST

START_TEST(a_failure_stays_until_it_is_asked_for)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        ck_assert_int_eq(buf_adds(&b, "a"), 0);
        ck_assert_int_eq(buf_grow(&b, SIZE_MAX / 2), -ENOMEM);
        ck_assert_int_eq(buf_adds(&b, "b"), -ENOMEM);
        ck_assert(b.failed);
        ck_assert_ptr_null(buf_take(&b));
        ck_assert_int_eq(buf_adds(&b, "c"), 0);
        ck_assert_str_eq(b.p, "c");
}
END_TEST

START_TEST(what_is_taken_is_the_callers)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(freep) char *empty = buf_take(&b);
        ck_assert_str_eq(empty, "");
        buf_adds(&b, "text");
        CLEANUP(freep) char *text = buf_take(&b);
        ck_assert_str_eq(text, "text");
        ck_assert_str_eq(b.p, "");
        errno = EXDEV;
        buf_release(&b);
        ck_assert_int_eq(errno, EXDEV);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("buf");
        TCase *t = tcase_create("buf");
        tcase_add_test(t, a_buffer_is_a_string_at_every_time);
        tcase_add_test(t, a_failure_stays_until_it_is_asked_for);
        tcase_add_test(t, what_is_taken_is_the_callers);
        suite_add_tcase(s, t);
        return unit_main(s);
}
