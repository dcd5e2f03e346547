/* SPDX-License-Identifier: Apache-2.0 */
/* test_commit.c: commits go through their phases, as a test answers what is asked of the store. */
#include "mount/write/wfile_int.h"

#include <errno.h>

#include "tests/lib/asked_store.h"
#include "tests/lib/no_memory.h"
#include "tests/lib/one_file.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

/* A new file of a part that is sent, and one byte. */
static void make_two_parts(void)
{
        make(0);
        put(0, FIRST);
        put(FIRST, 1);
        answer("create a", 0);
        answer("part 1", 0);
}

/* The same, renamed to "b", of which all is sent. */
static void send_two_parts_to_b(void)
{
        make_two_parts();
        rename_to("b");
        begin();
        is(COMMIT_SENDING);
        answer("part 2", 0);
        is(COMMIT_PUBLISHING);
}

START_TEST(a_put_publishes)
{
        make(0);
        put(0, 10);
        begin();
        is(COMMIT_PUBLISHING);
        answer("put a", 0);
        ends(0);
        begin(); /* nothing differs */
        ck_assert_uint_eq(ended, 2);
        is(COMMIT_IDLE);
}
END_TEST

START_TEST(parts_are_sent_then_completed)
{
        make(0);
        put(0, FIRST);
        put(FIRST, 1);
        answer("create a", 0);
        begin();
        is(COMMIT_PLANNING); /* a part is on its way */
        answer("part 1", 0);
        is(COMMIT_SENDING);
        answer("part 2", 0);
        is(COMMIT_PUBLISHING);
        answer("complete ", 0);
        ends(0);
}
END_TEST

START_TEST(a_request_that_fails_fails_the_commit)
{
        make(0);
        put(0, 10);
        begin();
        answer("put a", -EIO);
        ends(-EIO);
        ck_assert_int_eq(wfile_state(f), WFILE_FAILED);
}
END_TEST

START_TEST(a_part_that_fails_fails_the_commit)
{
        make_two_parts();
        begin();
        is(COMMIT_SENDING);
        answer("part 2", -EIO);
        ends(-EIO);
        answer("abort ", 0);
}
END_TEST

/* All bytes are here: an upload under the right name publishes them. */
static void is_sent_anew(unsigned parts)
{
        is(COMMIT_SENDING);
        answer("create b", 0);
        answer("part 1", 0);
        if (parts > 1)
                answer("part 2", 0);
        is(COMMIT_PUBLISHING);
        answer("complete ", 0);
        ends(0);
}

START_TEST(a_key_that_another_changes_is_waited_for)
{
        make(0);
        put(0, 10);
        mount_key.busy = true;
        begin();
        is(COMMIT_LOCKING);
        ck_assert_uint_eq(nasked, 0);
        ck_assert_str_eq(mount_key.name, "a");
        ck_assert(!mount_key.alone);
        key_is_free();
        is(COMMIT_PUBLISHING);
        answer("put a", 0);
        ends(0);
}
END_TEST

START_TEST(what_waits_for_a_key_and_loses_its_name_is_done)
{
        make(0);
        put(0, 10);
        mount_key.busy = true;
        begin();
        is(COMMIT_LOCKING);
        wfile_forget(f);
        ends(0);
        key_is_free(); /* which goes back */
        is(COMMIT_IDLE);
}
END_TEST

START_TEST(an_upload_that_waits_for_a_key_and_loses_its_name_is_aborted)
{
        make_two_parts();
        begin();
        mount_key.busy = true;
        answer("part 2", 0);
        is(COMMIT_LOCKING);
        wfile_forget(f);
        ends(0);
        key_is_free();
        answer("abort ", 0);
}
END_TEST

START_TEST(what_waits_for_a_key_and_fails_is_done)
{
        make_two_parts();
        begin();
        mount_key.busy = true;
        answer("part 2", 0);
        wfile_abort(f, -ECANCELED);
        ends(-ECANCELED);
        key_is_free();
        answer("abort ", 0);
}
END_TEST

START_TEST(a_key_that_comes_during_a_rename_goes_back_to_who_renames)
{
        struct waiter w = {.ready = paused};

        make(0);
        put(0, 10);
        mount_key.busy = true;
        begin();
        wfile_pause(f, &w);
        ck_assert_uint_eq(pauses, 1); /* the rename does not wait for the key */
        key_is_free();
        ck_assert_uint_eq(mount_key.held, 0);
        is(COMMIT_LOCKING);
        ck_assert_int_eq(wfile_rename(f, "b", ""), 0);
        wfile_resume(f);
        ck_assert_str_eq(mount_key.name, "b");
        is(COMMIT_PUBLISHING);
        answer("put b", 0);
        ends(0);
}
END_TEST

START_TEST(a_key_is_of_the_name_that_the_file_has_when_it_comes)
{
        make(0);
        put(0, 10);
        mount_key.busy = true;
        begin();
        rename_to("b");
        key_is_free();
        ck_assert_str_eq(mount_key.name, "b");
        is(COMMIT_PUBLISHING);
        answer("put b", 0);
        ends(0);
}
END_TEST

START_TEST(a_renamed_upload_has_its_first_name_alone)
{
        send_two_parts_to_b();
        ck_assert_str_eq(mount_key.name, "a");
        ck_assert(mount_key.alone);
        answer("complete ", 0);
        answer("copy to b", -ESTALE);
        ck_assert_uint_eq(mount_key.held, 1);
        answer("delete a", 0);
        ck_assert_uint_eq(mount_key.held, 0);
        is_sent_anew(1);
        ck_assert_str_eq(mount_key.name, "b");
        ck_assert(!mount_key.alone);
}
END_TEST

START_TEST(a_renamed_upload_is_moved)
{
        caps |= STORE_CAP_RENAME;
        send_two_parts_to_b();
        ck_assert_str_eq(mount_key.passes, "");
        answer("complete ", 0);
        is(COMMIT_MOVING);
        ck_assert_str_ne(mount_key.passes, "");
        answer("rename to b", 0);
        ck_assert_str_eq(mount_key.passes, "");
        ends(0);
}
END_TEST

START_TEST(a_renamed_upload_is_copied_then_removed)
{
        send_two_parts_to_b();
        answer("complete ", 0);
        is(COMMIT_MOVING);
        answer("copy to b", 0);
        is(COMMIT_REMOVING);
        ck_assert_str_ne(mount_key.passes, "");
        answer("delete a", 0);
        ck_assert_str_eq(mount_key.passes, "");
        ends(0);
}
END_TEST

START_TEST(a_renamed_upload_that_may_not_leave_its_first_name_is_copied)
{
        caps |= STORE_CAP_RENAME;
        send_two_parts_to_b();
        answer("complete ", 0);
        answer("rename to b", -EACCES);
        is(COMMIT_MOVING);
        answer("copy to b", 0);
        is(COMMIT_REMOVING);
        answer("delete a", -EACCES);
        ends(0);
}
END_TEST

START_TEST(a_renamed_upload_that_may_neither_leave_nor_be_copied_fails)
{
        caps |= STORE_CAP_RENAME;
        send_two_parts_to_b();
        answer("complete ", 0);
        answer("rename to b", -EACCES);
        answer("copy to b", -EACCES);
        answer("delete a", 0);
        ends(-EACCES);
}
END_TEST

START_TEST(a_move_that_fails_is_undone)
{
        send_two_parts_to_b();
        answer("complete ", 0);
        answer("copy to b", -EACCES);
        is(COMMIT_REMOVING);
        answer("delete a", 0);
        ck_assert_str_eq(mount_key.passes, "");
        ends(-EACCES);
}
END_TEST

START_TEST(a_move_of_which_nobody_knows_what_became_begins_anew)
{
        send_two_parts_to_b();
        answer("complete ", 0);
        answer("copy to b", -EIO);
        answer("delete a", -ENOENT);
        is_sent_anew(1);
}
END_TEST

START_TEST(a_move_that_finds_another_begins_anew)
{
        send_two_parts_to_b();
        answer("complete ", 0);
        answer("copy to b", -ESTALE);
        answer("delete a", 0);
        is_sent_anew(1);
}
END_TEST

START_TEST(a_first_name_that_is_taken_begins_anew)
{
        send_two_parts_to_b();
        answer("complete ", -EEXIST);
        is(COMMIT_PLANNING); /* until the upload is aborted */
        answer("abort ", 0);
        is_sent_anew(1);
}
END_TEST

START_TEST(an_upload_that_begins_under_a_lost_name_begins_anew)
{
        make(0);
        put(0, FIRST);
        put(FIRST, 1);
        rename_to("b");
        rename_to("c"); /* again, before the first is known to have begun */
        rename_to("b");
        begin();
        is(COMMIT_PLANNING);
        answer("create a", 0);
        answer("abort ", 0);
        is_sent_anew(1);
}
END_TEST

START_TEST(a_rename_while_it_is_sent_begins_anew)
{
        make(0);
        put(0, 10);
        ck_assert_int_eq(wfile_truncate(f, NULL, FIRST + 1), 0);
        begin();
        is(COMMIT_SENDING);
        rename_to("b");
        is(COMMIT_SENDING); /* until it is known whether there is an upload */
        answer("create a", 0);
        is(COMMIT_PLANNING);
        answer("abort ", 0);
        is_sent_anew(1);
}
END_TEST

START_TEST(a_stale_upload_stays_stale)
{
        make(0);
        put(0, FIRST);
        answer("create a", 0);
        answer("part 1", 0);
        ck_assert_int_eq(wfile_truncate(f, NULL, 0), 0); /* aborts it */
        put(0, FIRST);
        put(FIRST, 1);
        rename_to("b");
        answer("create a", 0);
        rename_to("c"); /* the abort of the first is still under way */
        rename_to("b");
        begin();
        is(COMMIT_PLANNING);
        answer("abort ", 0);
        answer("abort ", 0);
        is_sent_anew(1);
}
END_TEST

START_TEST(a_put_that_lost_is_recorded)
{
        make(10);
        put(0, 5);
        ck_assert_int_eq(wfile_truncate(f, NULL, 5), 0);
        begin();
        is(COMMIT_PUBLISHING);
        answer("put a", -ESTALE);
        is(COMMIT_RECORDING);
        answer("put .ckptfs", 0); /* the bytes, */
        answer("put .ckptfs", 0); /* and what says where they are */
        ends(-ESTALE);
        ck_assert_uint_eq(gone, 1);
}
END_TEST

START_TEST(a_put_that_misses_its_base_looks)
{
        make(10);
        put(0, 5);
        begin();
        is(COMMIT_PUBLISHING);
        answer("get a", -ESTALE);
        is(COMMIT_LOOKING);
        answer("head a", -ENOENT);
        is(COMMIT_RECORDING);
        answer("put .ckptfs", 0);
        answer("put .ckptfs", 0);
        ends(-ESTALE);
}
END_TEST

/* Each time another host replaces the version that was found: there is an end to it. */
START_TEST(a_put_that_misses_what_replaced_its_base_looks_again)
{
        make(10);
        put(0, 5);
        size_now = 10;
        begin();
        answer("get a", -ESTALE);
        answer("head a", 0);
        is(COMMIT_RECORDING);
        answer("get a", -ESTALE);
        is(COMMIT_LOOKING);
        ck_assert_uint_eq(mount_key.held, 0);
        answer("head a", 0);
        answer("get a", -ESTALE);
        answer("head a", 0);
        is(COMMIT_RECORDING);
        answer("get a", -ESTALE);
        ends(-ESTALE);
}
END_TEST

START_TEST(a_put_that_looked_again_is_recorded)
{
        make(10);
        put(0, 5);
        size_now = 10;
        begin();
        answer("get a", -ESTALE);
        answer("head a", 0);
        answer("get a", -ESTALE);
        size_now = 5; /* it is shorter: nothing is missing */
        answer("head a", 0);
        is(COMMIT_RECORDING);
        answer("put .ckptfs", 0);
        answer("put .ckptfs", 0);
        ends(-ESTALE);
}
END_TEST

START_TEST(a_copy_that_misses_its_base_looks)
{
        make(4 * FIRST);
        put(0, 1);
        begin();
        is(COMMIT_SENDING);
        answer("create a", 0);
        while (f->locked.inflight && f->locked.commit.phase == COMMIT_SENDING)
                answer(asked[answered].what, -ESTALE);
        is(COMMIT_LOOKING);
        while (answered < nasked && strcmp(asked[answered].what, "head a"))
                answer(asked[answered].what, -ESTALE);
        is(COMMIT_LOOKING);
        answer("head a", -EIO);
        ends(-ESTALE); /* whatever the rest failed with */
        answer("abort ", 0);
}
END_TEST

/* Every other part of a large file is written anew; what is between is copied, a step each. */
START_TEST(a_commit_takes_as_many_steps_as_the_store_transfers)
{
        pool_free(env.pool);
        env.pool = pool_new(512 * MI);
        make(40 * FIRST);
        for (uint64_t i = 0; i < 20; i++)
                put(2 * i * FIRST, FIRST);
        transfers_now = (unsigned)_i;
        answer("create a", 0);
        for (int i = 0; i < 20; i++)
                answer(asked[answered].what, 0); /* the parts that were written */
        begin();
        ck_assert_uint_eq(f->locked.inflight, _i < 16 ? 16 : _i);
        while (answered < nasked)
                answer(asked[answered].what, -EIO);
        ends(-EIO);
}
END_TEST

/* A file of 10 MiB, with 7 bytes more. */
static void make_append(void)
{
        caps |= STORE_CAP_APPEND;
        make(2 * FIRST);
        put(2 * FIRST, 7);
        begin();
        is(COMMIT_PUBLISHING);
}

START_TEST(an_append_publishes)
{
        make_append();
        answer("append 7 to 10485760 of v1 of a", 0);
        ends(0);
        ck_assert_uint_eq(wfile_size(f), 2 * FIRST + 7);
        put(2 * FIRST + 7, 1); /* to what is there now */
        begin();
        answer("append 1 to 10485767 of v2 of a", 0);
        is(COMMIT_IDLE);
}
END_TEST

START_TEST(an_append_that_is_refused_goes_another_way)
{
        make_append();
        answer("append 7 to 10485760 of v1 of a", -EOPNOTSUPP);
        answer("create a", 0);
        is(COMMIT_SENDING);
        answer("part copy 1", 0);
        answer("part 2", 0);
        answer("complete ", 0);
        ends(0);
}
END_TEST

/* What is kept of it is the whole, not the bytes that were to be added. */
START_TEST(an_append_that_misses_its_base_looks)
{
        make_append();
        answer("append 7 to 10485760 of v1 of a", -ESTALE);
        is(COMMIT_LOOKING);
        answer("head a", -ENOENT);
        answer("create a", 0);
        answer("part 1", 0);
        answer("part 2", 0);
        is(COMMIT_RECORDING);
        answer("put .ckptfs", 0);
        ends(-ESTALE);
}
END_TEST

START_TEST(a_change_before_the_end_is_no_append)
{
        caps |= STORE_CAP_APPEND;
        make(2 * FIRST);
        put(2 * FIRST - 1, 7);
        begin();
        answer("create a", 0);
        is(COMMIT_SENDING);
        ck_assert_int_eq(asked[answered].what[0], 'p');
        answer(asked[answered].what, -EIO);
        ends(-EIO);
        while (answered < nasked)
                answer(asked[answered].what, -EIO);
}
END_TEST

START_TEST(what_cannot_be_recorded_begins_anew)
{
        make(2 * FIRST);
        caps &= ~(unsigned)STORE_CAP_PART_COPY;
        put(0, FIRST);
        answer("create a", 0);
        answer("part 1", 0);
        rename_to("b");
        put(FIRST, FIRST);
        answer("part 2", 0);
        begin();
        is(COMMIT_PUBLISHING);
        answer("head b", -ENOENT); /* the version that was changed is gone */
        is(COMMIT_RECORDING);
        answer("put .ckptfs", -EIO);
        is(COMMIT_PLANNING);
        answer("abort ", 0);
        is_sent_anew(2);
}
END_TEST

START_TEST(a_failed_commit_leaves_the_next_as_much_room)
{
        size_t gets;

        caps &= ~(unsigned)STORE_CAP_PART_COPY;
        make(8 * FIRST);
        put(0, 1);
        begin();
        answer("create a", 0);
        gets = nasked - answered;
        ck_assert_uint_gt(gets, 1);
        while (answered < nasked)
                answer(asked[answered].what, -EIO);
        ends(-EIO);
        ended = 0;
        put(0, 1);
        begin();
        answer("create a", 0);
        ck_assert_uint_eq(nasked - answered, gets);
        while (answered < nasked)
                answer(asked[answered].what, -EIO);
        ends(-EIO);
}
END_TEST

START_TEST(what_is_to_be_sent_anew_stays_when_memory_is_short)
{
        make(0);
        put(0, FIRST);
        rename_to("b");
        ck_assert_int_le(wfile_reclaim(f), 0); /* the spill has no room either */
        answer("create a", 0);
        answer("abort ", 0);
        begin();
        is(COMMIT_PUBLISHING);
        ck_assert_int_eq(body_put[0], 'x');
        answer("put b", 0);
        ends(0);
}
END_TEST

START_TEST(a_change_of_a_replaced_version_is_recorded_with_that)
{
        make(2 * FIRST);
        caps &= ~(unsigned)STORE_CAP_PART_COPY;
        put(0, FIRST);
        answer("create a", 0);
        answer("part 1", 0);
        rename_to("b");
        put(FIRST, FIRST);
        answer("part 2", 0);
        begin();
        answer("head b", -ENOENT); /* the version that was changed is gone */
        is(COMMIT_RECORDING);
        ck_assert_ptr_nonnull(strstr(body_put, "\"v1\""));
        answer("put .ckptfs", 0);
        ends(-ESTALE);
}
END_TEST

START_TEST(a_rename_waits_until_it_is_known_which_version_stands)
{
        struct waiter w = {.ready = paused};

        make(10);
        put(0, 5);
        begin();
        answer("get a", -ESTALE);
        is(COMMIT_LOOKING);
        wfile_pause(f, &w);
        ck_assert_uint_eq(pauses, 0);
        answer("head a", 0);
        ck_assert_uint_eq(pauses, 1);
        is(COMMIT_PLANNING);
        ck_assert_int_eq(wfile_rename(f, "b", "v2"), 0);
        wfile_resume(f);
        answer("put .ckptfs", 0);
        answer("put .ckptfs", 0);
        ends(-ESTALE);
}
END_TEST

START_TEST(a_version_that_fails_between_commits_does_not_block_the_next)
{
        struct outcome out;

        make(0);
        put(0, 10);
        wfile_enter(f, &out);
        wfile_set_error_locked(f, -ENOMEM);
        wfile_leave(f, &out);
        ck_assert_int_eq(wfile_state(f), WFILE_FAILED);
        put(0, 5);
        begin();
        answer("put a", 0);
        ends(0);
}
END_TEST

#if defined(NO_MEMORY)
START_TEST(a_renamed_upload_needs_no_memory_once_it_is_completed)
{
        send_two_parts_to_b();
        no_memory_at = 1;
        answer("complete ", 0);
        is(COMMIT_MOVING);
        answer("copy to b", 0);
        is(COMMIT_REMOVING);
        answer("delete a", 0);
        ends(0);
        no_memory_at = 0;
}
END_TEST

/* A program that is told of an error has written nothing; who is told of 10 bytes writes the rest.
 */
START_TEST(a_write_that_finds_no_memory_half_way_is_a_short_one)
{
        char p[20];

        caps &= ~(unsigned)STORE_CAP_PART_COPY;
        make(2 * FIRST);
        ck_assert(!wfile_dirty(f));
        memset(p, 'x', sizeof p);
        no_memory_at =
                3; /* pool and block of the first part have it, the second's block has none */
        ck_assert_int_eq(wfile_write(f, NULL, false, FIRST - 10, p, sizeof p, NULL), 10);
        ck_assert_uint_eq(extent_map_held(&f->locked.data, 0, 2 * FIRST), 10);
        ck_assert(wfile_dirty(f));
        no_memory_at = 1;
        ck_assert_int_eq(wfile_write(f, NULL, false, FIRST, p, 10, NULL), -ENOMEM);
        ck_assert_uint_eq(extent_map_held(&f->locked.data, 0, 2 * FIRST), 10);
        ck_assert_int_eq(wfile_write(f, NULL, false, FIRST, p, 10, NULL), 10);
        wfile_abort(f, -ECANCELED);
}
END_TEST
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they abort */
START_TEST(a_step_that_is_not_drawn_fails_the_commit)
{
        struct outcome out;

        make(0);
        put(0, 10);
        begin();
        is(COMMIT_PUBLISHING);
        wfile_enter(f, &out);
        ck_assert(!commit_enter_locked(f, COMMIT_LOCKING));
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
        is(COMMIT_PUBLISHING); /* it may publish yet */
        answer("put a", -ETIMEDOUT);
        ends(-EIO);
}
END_TEST
#endif

int main(void)
{
        Suite *s = suite_create("commit");
        TCase *t = tcase_create("commit");
        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, a_put_publishes);
        tcase_add_test(t, parts_are_sent_then_completed);
        tcase_add_test(t, a_request_that_fails_fails_the_commit);
        tcase_add_test(t, a_part_that_fails_fails_the_commit);
        tcase_add_test(t, a_key_that_another_changes_is_waited_for);
        tcase_add_test(t, what_waits_for_a_key_and_loses_its_name_is_done);
        tcase_add_test(t, an_upload_that_waits_for_a_key_and_loses_its_name_is_aborted);
        tcase_add_test(t, what_waits_for_a_key_and_fails_is_done);
        tcase_add_test(t, a_key_that_comes_during_a_rename_goes_back_to_who_renames);
        tcase_add_test(t, a_key_is_of_the_name_that_the_file_has_when_it_comes);
        tcase_add_test(t, a_renamed_upload_has_its_first_name_alone);
        tcase_add_test(t, a_renamed_upload_is_moved);
        tcase_add_test(t, a_renamed_upload_is_copied_then_removed);
        tcase_add_test(t, a_renamed_upload_that_may_not_leave_its_first_name_is_copied);
        tcase_add_test(t, a_renamed_upload_that_may_neither_leave_nor_be_copied_fails);
        tcase_add_test(t, a_move_that_fails_is_undone);
        tcase_add_test(t, a_move_of_which_nobody_knows_what_became_begins_anew);
        tcase_add_test(t, a_move_that_finds_another_begins_anew);
        tcase_add_test(t, a_first_name_that_is_taken_begins_anew);
        tcase_add_test(t, an_upload_that_begins_under_a_lost_name_begins_anew);
        tcase_add_test(t, a_rename_while_it_is_sent_begins_anew);
        tcase_add_test(t, a_stale_upload_stays_stale);
        tcase_add_test(t, a_put_that_lost_is_recorded);
        tcase_add_test(t, a_put_that_misses_its_base_looks);
        tcase_add_test(t, a_put_that_misses_what_replaced_its_base_looks_again);
        tcase_add_test(t, a_put_that_looked_again_is_recorded);
        tcase_add_test(t, a_copy_that_misses_its_base_looks);
        tcase_add_loop_test(t, a_commit_takes_as_many_steps_as_the_store_transfers, 15, 18);
        tcase_add_test(t, an_append_publishes);
        tcase_add_test(t, an_append_that_is_refused_goes_another_way);
        tcase_add_test(t, an_append_that_misses_its_base_looks);
        tcase_add_test(t, a_change_before_the_end_is_no_append);
        tcase_add_test(t, what_cannot_be_recorded_begins_anew);
        tcase_add_test(t, a_failed_commit_leaves_the_next_as_much_room);
        tcase_add_test(t, what_is_to_be_sent_anew_stays_when_memory_is_short);
        tcase_add_test(t, a_change_of_a_replaced_version_is_recorded_with_that);
        tcase_add_test(t, a_rename_waits_until_it_is_known_which_version_stands);
        tcase_add_test(t, a_version_that_fails_between_commits_does_not_block_the_next);
#if defined(NO_MEMORY)
        tcase_add_test(t, a_renamed_upload_needs_no_memory_once_it_is_completed);
        tcase_add_test(t, a_write_that_finds_no_memory_half_way_is_a_short_one);
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        tcase_add_test(t, a_step_that_is_not_drawn_fails_the_commit);
#endif
        suite_add_tcase(s, t);
        return unit_main(s);
}
