/* SPDX-License-Identifier: Apache-2.0 */
/* test_commit_failed.c: who is told that a version has failed. */
#include "mount/write/wfile_int.h"

#include <errno.h>

#include "tests/lib/asked_store.h"
#include "tests/lib/one_file.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static int put_by(struct wfile_user *u)
{
        ssize_t n = wfile_write(f, u, false, 0, "x", 1, NULL);
        return n < 0 ? (int)n : 0;
}

static void fail_now(void)
{
        struct outcome out;
        wfile_enter(f, &out);
        wfile_set_error_locked(f, -EIO);
        wfile_leave(f, &out);
}

START_TEST(a_failure_is_told_to_who_wrote_to_that_version)
{
        struct wfile_user first, second;

        make(0);
        wfile_user_init(f, &first, false);
        wfile_user_init(f, &second, false);
        ck_assert_int_eq(put_by(&first), 0);
        begin();
        answer("put a", 0);
        for (int i = 0; i < 3; i++) {
                ck_assert(!wfile_owes(f, &first));
                wfile_user_init(f, &second, false);
                ck_assert_int_eq(put_by(&second), 0);
                fail_now();
                ck_assert_int_eq(put_by(&second), -EIO);
                ck_assert(wfile_owes_close(f, &second));
        }
        ck_assert_int_eq(put_by(&first), 0);
        fail_now();
        ck_assert_int_eq(put_by(&first), -EIO);
        ck_assert(wfile_owes(f, &first));
}
END_TEST

START_TEST(a_failure_of_what_was_mapped_is_told_to_all_who_may_have_mapped_it)
{
        struct wfile_user maps, writes, mapped, later;

        make(10);
        wfile_user_init(f, &maps, true);
        wfile_user_init(f, &mapped, true);
        wfile_user_init(f, &writes, false);
        ck_assert_int_eq(put_by(&mapped), 0); /* the kernel names this one for any of them */
        wfile_note_mapped(f);
        fail_now();
        wfile_user_init(f, &later, true);
        ck_assert(wfile_owes(f, &maps));
        ck_assert(wfile_owes_close(f, &maps));
        ck_assert(wfile_owes(f, &mapped));
        ck_assert(!wfile_owes(f, &writes));
        ck_assert(!wfile_owes(f, &later));
        ck_assert_int_eq(put_by(&maps), -EIO);
        ck_assert_int_eq(put_by(&later), 0);
        fail_now(); /* of this nothing was mapped */
        wfile_user_init(f, &later, true);
        ck_assert_int_eq(put_by(&writes), 0);
        fail_now();
        ck_assert(!wfile_owes(f, &later));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("commit");
        TCase *t = tcase_create("failed");

        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, a_failure_is_told_to_who_wrote_to_that_version);
        tcase_add_test(t, a_failure_of_what_was_mapped_is_told_to_all_who_may_have_mapped_it);
        suite_add_tcase(s, t);
        return unit_main(s);
}
