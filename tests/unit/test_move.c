/* SPDX-License-Identifier: Apache-2.0 */
/* test_move.c: in what order a rename of a directory asks the store, and what it does when nobody
 * knows what became of an object. */
#include "move/move.h"

#include <errno.h>

#include "move/move_int.h"
#include "tests/lib/asked_store.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static int ends, ended;

static void done(void *arg, int err)
{
        (void)arg;
        ends++;
        ended = err;
}

static void setup(void)
{
        nasked = answered = 0;
        size_now = 0;
        tells_crc = false;
        ends = 0;
        ended = 1;
}

static void begin_purge(void)
{
        const struct purge job = {.victims = "old/", .twins = "new/", .done = done};
        ck_assert_int_eq(purge_start(&job), 0);
        answer_page("list old/", "old/a old/b old/c old/d", true);
        answer_page("list new/", "new/a new/b", true);
}

START_TEST(old_names_go_before_a_page_of_new_ones_is_asked_for)
{
        begin_purge();
        answer("delete 2 from old/a", 0);
        answer_page("list on new/", "new/c", true);
        answer("delete 1 from old/c", 0);
        answer_page("list on new/", "new/d", false);
        answer("delete 1 from old/d", 0);
        answer_page("list on old/", "", false);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

START_TEST(old_names_go_before_a_page_of_old_ones_is_asked_for)
{
        begin_purge();
        answer("delete 2 from old/a", 0);
        answer_page("list on new/", "new/c new/d new/e", false);
        answer("delete 2 from old/c", 0);
        answer_page("list on old/", "old/e", false);
        answer("delete 1 from old/e", 0);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

#define BYTES "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"

static void answer_head(const char *what, const char *etag, uint32_t crc)
{
        etag_now = etag;
        crc_now = crc;
        answer(what, 0);
}

static void answer_get(const char *what, uint32_t crc)
{
        crc_now = crc;
        answer(what, 0);
}

/* After a crash, on a store whose times are whole seconds. */
START_TEST(what_has_the_old_name_goes_unless_it_came_after_the_copy)
{
        const struct purge job = {.victims = "old/", .twins = "new/", .done = done};
        ck_assert_int_eq(purge_start(&job), 0);
        answer_page("list old/",
                    "old/a@7=" BYTES " old/b@9=" OTHER " old/c@8=" OTHER " old/d@8=" BYTES
                    " old/e@8=" BYTES "-2 old/f@8+1=opaque",
                    false);
        answer_page("list new/",
                    "new/a@8=" BYTES " new/b@8=" BYTES " new/c@8=" BYTES " new/d@8=" BYTES
                    " new/e@8=" OTHER " new/f@8=other",
                    false);
        size_now = 1;
        tells_crc = true;
        answer("delete 1 from old/a", 0);
        answer_head("head old/c", OTHER, 1);
        answer_head("head new/c", BYTES, 2); /* other bytes */
        answer("delete 1 from old/d", 0);
        answer_head("head old/e", BYTES "-2", 3);
        answer_head("head new/e", OTHER, 3); /* the same */
        answer("delete 1 from old/e", 0);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

/* The store tells no checksums of what was copied within a second. */
START_TEST(bytes_are_compared_before_an_old_name_goes)
{
        const struct purge job = {.victims = "old/", .twins = "new/", .done = done};
        ck_assert_int_eq(purge_start(&job), 0);
        answer_page("list old/", "old/a@8=a old/b@8=b old/c@8=c old/d@8=d old/e@8=e", false);
        answer_page("list new/", "new/a@8=A new/b@8=B new/c@8=C new/d@8=D new/e@8=E", false);
        size_now = 1;
        answer_head("head old/a", "a", 0);
        answer_head("head new/a", "A", 0);
        answer_get("get old/a", 1);
        answer_get("get new/a", 2); /* another host's */
        answer_head("head old/b", "b", 0);
        answer_head("head new/b", "B", 0);
        answer_get("get old/b", 1);
        answer_get("get new/b", 1);
        answer("delete 1 from old/b", 0);
        answer_head("head old/c", "another", 0); /* since it was listed */
        answer_head("head old/d", "d", 0);
        answer("head new/d", -ENOENT);
        answer_head("head old/e", "e", 0);
        answer_head("head new/e", "E", 0);
        answer("get old/e", -EACCES); /* nobody knows */
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, -EACCES);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

/* An object is renamed, and nobody knows whether that took effect. */
static void begin_unsure(void)
{
        const struct move_job job = {.from = "old/", .to = "new/", .done = done};

        caps = STORE_CAP_RENAME;
        ck_assert_int_eq(move_start(&job), 0);
        answer_page("list old/", "old/a", false); /* how many there are */
        answer_page("list old/", "old/a", false);
        answer("rename to new/a", -EIO);
}

START_TEST(an_object_is_renamed_again_if_it_still_stands)
{
        begin_unsure();
        etag_now = "v1"; /* as it was listed */
        answer("head old/a", 0);
        answer("rename to new/a", 0);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

START_TEST(what_another_host_put_by_the_old_name_stays_when_nobody_knows_of_the_rename)
{
        begin_unsure();
        etag_now = "v2";
        answer("head old/a", 0);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

START_TEST(what_another_host_put_before_the_rename_is_renamed)
{
        begin_unsure();
        etag_now = "v1";
        answer("head old/a", 0);
        answer("rename to new/a", -ESTALE); /* replaced before it was asked for */
        etag_now = "v2";
        answer("head old/a", 0);
        answer("rename to new/a", 0);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

/* Two objects are copied, whose record is to say so. */
static void begin_copied(void)
{
        const struct move_job job = {.from = "old/", .to = "new/", .done = done};

        caps = 0;
        ck_assert_int_eq(move_start(&job), 0);
        answer_page("list old/", "old/a old/b", false); /* how many there are */
        etag_now = "v1";
        answer("put .ckptfs", 0);
        answer_page("list old/", "old/a old/b", false);
        answer("copy to new/a", 0);
        answer("copy to new/b", 0);
}

/* ckptctl has it by then. */
static void begin_taken(void)
{
        begin_copied();
        answer("put .ckptfs", -ESTALE);
        answer_page("list old/", "", false);
}

START_TEST(who_finds_the_record_taken_ends_when_it_is_gone)
{
        begin_taken();
        answer("later head .ckptfs", 0);
        answer("later head .ckptfs", -ETIMEDOUT);
        ck_assert_int_eq(ends, 0);
        answer("later head .ckptfs", -ENOENT);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

START_TEST(who_finds_the_record_taken_does_not_wait_for_ever)
{
        begin_taken();
        unsigned looks = 0;
        for (; !ends && looks < 1000; looks++)
                answer("later head .ckptfs", 0);
        ck_assert_uint_eq(looks, 480); /* two minutes */
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

/* The record was written, which the store said in no try, so that it is of an unknown version. */
START_TEST(who_has_the_record_does_not_wait_for_another)
{
        begin_copied();
        meta_now = meta_put;
        answer("put .ckptfs", -ETIMEDOUT);
        answer("put .ckptfs", -ESTALE);      /* that it is undone */
        answer_page("list old/", "", false); /* to send what is left */
        answer_page("list old/", "", false); /* to delete it */
        answer("later head .ckptfs", 0);
        answer("delete .ckptfs", 0);
        ck_assert_int_eq(ends, 1);
        ck_assert_int_eq(ended, 0);
        ck_assert_uint_eq(answered, nasked);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("move");
        TCase *t = tcase_create("move");
        tcase_add_checked_fixture(t, setup, NULL);
        tcase_add_test(t, old_names_go_before_a_page_of_new_ones_is_asked_for);
        tcase_add_test(t, old_names_go_before_a_page_of_old_ones_is_asked_for);
        tcase_add_test(t, what_has_the_old_name_goes_unless_it_came_after_the_copy);
        tcase_add_test(t, bytes_are_compared_before_an_old_name_goes);
        tcase_add_test(t, an_object_is_renamed_again_if_it_still_stands);
        tcase_add_test(t,
                       what_another_host_put_by_the_old_name_stays_when_nobody_knows_of_the_rename);
        tcase_add_test(t, what_another_host_put_before_the_rename_is_renamed);
        tcase_add_test(t, who_finds_the_record_taken_ends_when_it_is_gone);
        tcase_add_test(t, who_finds_the_record_taken_does_not_wait_for_ever);
        tcase_add_test(t, who_has_the_record_does_not_wait_for_another);
        suite_add_tcase(s, t);
        return unit_main(s);
}
