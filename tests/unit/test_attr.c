/* SPDX-License-Identifier: Apache-2.0 */
/* test_attr.c: attributes as metadata and back, as s3fs writes and reads them. */
#include "mount/tree/attr.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

#define SECOND 1000000000LL

static struct attr read_back(const struct attr *a, bool dir)
{
        struct store_object obj = {0};
        struct attr got;
        ck_assert_int_eq(attr_to_meta(a, &obj.meta), 0);
        ck_assert_int_eq(attr_from_object(&obj, dir, &got), 0);
        return got;
}

static struct attr of_pair(const char *name, const char *value, bool dir)
{
        struct store_object obj = {0};
        struct attr got;
        ck_assert_int_eq(store_meta_add(&obj.meta, name, value), 0);
        ck_assert_int_eq(attr_from_object(&obj, dir, &got), 0);
        return got;
}

START_TEST(what_is_set_comes_back)
{
        struct attr a = {
                .set = ATTR_MODE | ATTR_UID | ATTR_GID | ATTR_MTIME | ATTR_ATIME | ATTR_CTIME,
                .mode = S_IFCHR | 06640,
                .uid = 4294967294,
                .gid = 7,
                .rdev = 0x501,
                .mtime_ns = 1262304000 * SECOND + 5,
                .atime_ns = -SECOND / 2,
                .ctime_ns = 3 * SECOND,
        };
        struct attr b = read_back(&a, false);
        ck_assert_uint_eq(b.set, a.set);
        ck_assert_uint_eq(b.mode, a.mode);
        ck_assert_uint_eq(b.uid, a.uid);
        ck_assert_uint_eq(b.gid, a.gid);
        ck_assert_uint_eq(b.rdev, a.rdev);
        ck_assert_int_eq(b.mtime_ns, a.mtime_ns);
        ck_assert_int_eq(b.atime_ns, a.atime_ns);
        ck_assert_int_eq(b.ctime_ns, a.ctime_ns);
}
END_TEST

START_TEST(the_metadata_are_those_of_s3fs)
{
        struct attr a = {
                .set = ATTR_MODE | ATTR_UID | ATTR_MTIME | ATTR_CTIME,
                .mode = S_IFREG | 0644,
                .uid = 1000,
                .mtime_ns = 1262304000 * SECOND + 250000000,
                .ctime_ns = 1262304000 * SECOND,
        };
        struct store_meta m;
        ck_assert_int_eq(attr_user_set(&a, "user.a", "b", 1, 0), 0);
        ck_assert_int_eq(attr_to_meta(&a, &m), 0);
        ck_assert_str_eq(store_meta_get(&m, "mode"), "33188");
        ck_assert_str_eq(store_meta_get(&m, "uid"), "1000");
        ck_assert_ptr_null(store_meta_get(&m, "gid"));
        ck_assert_str_eq(store_meta_get(&m, "mtime"), "1262304000.250000000");
        ck_assert_str_eq(store_meta_get(&m, "ctime"), "1262304000");
        ck_assert_str_eq(store_meta_get(&m, "xattr"), "%7B%22user.a%22%3A%22Yg%3D%3D%22%7D");
        attr_release(&a);
}
END_TEST

START_TEST(an_early_upload_leaves_out_what_still_moves)
{
        struct attr a = {.set = ATTR_MODE, .mode = S_IFREG | 0644};
        struct store_meta m;
        attr_touch(&a, SECOND, 0);
        ck_assert_int_eq(attr_to_meta_early(&a, &m), 0);
        ck_assert_ptr_null(store_meta_get(&m, "mtime"));
        ck_assert_ptr_nonnull(store_meta_get(&m, "mode"));
        a.written = false; /* utimensat() */
        ck_assert_int_eq(attr_to_meta_early(&a, &m), 0);
        ck_assert_str_eq(store_meta_get(&m, "mtime"), "1");
}
END_TEST

static const struct {
        const char *name, *value;
        bool dir;
        unsigned set;
        unsigned long long want;
} odd[] = {
        {"mode", "33188", false, ATTR_MODE, S_IFREG | 0644},
        {"mode", "0100644", false, ATTR_MODE, S_IFREG | 0644},
        {"mode", "420", false, ATTR_MODE, S_IFREG | 0644},
        {"mode", "104751", false, ATTR_MODE, S_IFREG | 04751},
        {"mode", "120777", false, ATTR_MODE, S_IFLNK | 0777},
        {"mode", "200000", false, 0, 0},
        {"mode", "100648", false, 0, 0},
        {"mode", "1006440", false, 0, 0},
        {"mode", "16877", false, ATTR_MODE, S_IFREG | 0755},
        {"mode", "33188", true, ATTR_MODE, S_IFDIR | 0644},
        {"mode", "41471", false, ATTR_MODE, S_IFLNK | 0777},
        {"mode", "4294967295", false, 0, 0},
        {"mode", "-1", false, 0, 0},
        {"mode", "rw-r--r--", false, 0, 0},
        {"uid", "4294967295", false, 0, 0},
        {"uid", "99999999999999999999", false, 0, 0},
        {"uid", "0", false, ATTR_UID, 0},
        {"mtime", "1.5", false, ATTR_MTIME, 1500000000},
        {"mtime", "1.0000000019", false, ATTR_MTIME, 1000000001},
        {"mtime", "9223372036854775807", false, 0, 0},
        {"mtime", "2026-01-01T00:00:00Z", false, 0, 0},
        {"mtime", "", false, 0, 0},
};

START_TEST(what_others_wrote_is_taken_or_left)
{
        struct attr a = of_pair(odd[_i].name, odd[_i].value, odd[_i].dir);
        ck_assert_uint_eq(a.set, odd[_i].set);
        if (a.set & ATTR_MODE)
                ck_assert_uint_eq(a.mode, odd[_i].want);
        if (a.set & ATTR_MTIME)
                ck_assert_int_eq(a.mtime_ns, (int64_t)odd[_i].want);
        attr_release(&a);
}
END_TEST

START_TEST(metadata_of_others_survive)
{
        struct attr a = of_pair("content-sha", "abc", false);
        struct attr b = read_back(&a, false);
        struct store_meta m;
        ck_assert_int_eq(attr_to_meta(&b, &m), 0);
        ck_assert_str_eq(store_meta_get(&m, "content-sha"), "abc");
        ck_assert_int_eq(attr_user_list(&b, NULL, 0), 0);
        attr_release(&a);
        attr_release(&b);
}
END_TEST

static const char *told(const struct attr *a, const char *name)
{
        static struct store_meta m;
        ck_assert_int_eq(attr_to_meta(a, &m), 0);
        return store_meta_get(&m, name);
}

START_TEST(a_checksum_of_bytes_that_are_no_more_is_dropped)
{
        static const char *const names[] = {"md5chksum", "s3cmd-attrs"};
        for (size_t i = 0; i < 2; i++) {
                struct attr a = of_pair(names[i], "abc", false);
                attr_touch(&a, 1, 0);
                ck_assert_ptr_null(told(&a, names[i]));
                attr_touch_failed(&a); /* the old bytes stand */
                ck_assert_str_eq(told(&a, names[i]), "abc");
                attr_touch(&a, 2, 0);
                attr_touch(&a, 3, 0);
                attr_touch_published(&a);
                ck_assert_ptr_null(told(&a, names[i]));
                attr_touch(&a, 4, 0);
                attr_touch_failed(&a);
                ck_assert_ptr_null(told(&a, names[i]));
                attr_release(&a);
        }
}
END_TEST

START_TEST(a_time_of_others_is_dropped_for_one_of_ours)
{
        struct attr a = of_pair("goog-reserved-file-mtime", "1100000000", false);
        ck_assert_str_eq(told(&a, "goog-reserved-file-mtime"), "1100000000");
        a.set |= ATTR_MTIME;
        ck_assert_ptr_null(told(&a, "goog-reserved-file-mtime"));
        attr_release(&a);
}
END_TEST

START_TEST(an_xattr_that_is_none_of_ours_survives)
{
        struct attr a = of_pair("xattr", "not%20json", false);
        struct store_meta m;
        ck_assert_int_eq(attr_to_meta(&a, &m), 0);
        ck_assert_str_eq(store_meta_get(&m, "xattr"), "not%20json");
        attr_release(&a);
}
END_TEST

START_TEST(user_attributes_hold_any_byte)
{
        static const char name[] = "user.\x01\"\\:,\xff{}";
        char value[256], got[256], list[64];
        struct attr a = {0};
        for (int i = 0; i < 256; i++)
                value[i] = (char)i;
        ck_assert_int_eq(attr_user_set(&a, name, value, sizeof value, 0), 0);
        ck_assert_int_eq(attr_user_set(&a, "user.empty", "", 0, 0), 0);
        struct attr b = read_back(&a, false);
        ck_assert_int_eq(attr_user_get(&b, name, got, sizeof got), sizeof value);
        ck_assert_mem_eq(got, value, sizeof value);
        ck_assert_int_eq(attr_user_get(&b, "user.empty", NULL, 0), 0);
        ck_assert_int_eq(attr_user_list(&b, list, sizeof list), sizeof name + 11);
        attr_release(&a);
        attr_release(&b);
}
END_TEST

START_TEST(user_attributes_follow_the_flags_and_sizes)
{
        struct attr a = {0};
        char buf[16];
        ck_assert_int_eq(attr_user_set(&a, "user.a", "1", 1, XATTR_REPLACE), -ENODATA);
        ck_assert_int_eq(attr_user_set(&a, "user.a", "1", 1, XATTR_CREATE), 0);
        ck_assert_int_eq(attr_user_set(&a, "user.a", "22", 2, XATTR_CREATE), -EEXIST);
        ck_assert_int_eq(attr_user_set(&a, "user.a", "333", 3, XATTR_REPLACE), 0);
        ck_assert_int_eq(attr_user_get(&a, "user.a", buf, 2), -ERANGE);
        ck_assert_int_eq(attr_user_get(&a, "user.a", buf, 3), 3);
        ck_assert_int_eq(attr_user_get(&a, "user.a", NULL, 0), 3);
        ck_assert_int_eq(attr_user_list(&a, buf, 6), -ERANGE);
        ck_assert_int_eq(attr_user_get(&a, "user.b", buf, 3), -ENODATA);
        ck_assert_int_eq(attr_user_remove(&a, "user.b"), -ENODATA);
        ck_assert_int_eq(attr_user_remove(&a, "user.a"), 0);
        ck_assert_int_eq(attr_user_list(&a, buf, sizeof buf), 0);
        attr_release(&a);
}
END_TEST

START_TEST(more_than_a_store_takes_is_refused_and_changes_nothing)
{
        static char big[65536];
        struct attr a = {0};
        struct store_meta m;
        ck_assert_int_eq(attr_user_set(&a, "user.a", "kept", 4, 0), 0);
        ck_assert_int_eq(attr_user_set(&a, "user.a", big, 1600, 0), -ENOSPC);
        ck_assert_int_eq(attr_user_set(&a, "user.b", big, sizeof big, 0), -ENOSPC);
        ck_assert_int_eq(attr_user_get(&a, "user.a", NULL, 0), 4);
        ck_assert_int_eq(attr_user_set(&a, "user.a", big, 1200, 0), 0);
        ck_assert_int_eq(attr_to_meta(&a, &m), 0);
        attr_release(&a);
}
END_TEST

START_TEST(a_copy_does_not_follow_the_original)
{
        struct attr a = {0};
        ck_assert_int_eq(attr_user_set(&a, "user.a", "1", 1, 0), 0);
        struct attr b = attr_copy(&a);
        ck_assert_int_eq(attr_user_set(&a, "user.a", "22", 2, 0), 0);
        ck_assert_int_eq(attr_user_get(&b, "user.a", NULL, 0), 1);
        attr_move(&a, &b);
        ck_assert_int_eq(attr_user_get(&a, "user.a", NULL, 0), 1);
        attr_release(&a);
        attr_release(&b);
}
END_TEST

static void set(struct attr *a, const char *name, const char *value)
{
        ck_assert_int_eq(attr_user_set(a, name, value, strlen(value), 0), 0);
}

static const char *user(const struct attr *a, const char *name)
{
        static char value[16];
        ssize_t n = attr_user_get(a, name, value, sizeof value - 1);
        value[n < 0 ? 0 : n] = '\0';
        return n < 0 ? NULL : value;
}

START_TEST(of_the_changes_of_two_hosts_both_stay)
{
        struct attr base = {.set = ATTR_MODE | ATTR_UID | ATTR_MTIME,
                            .mode = S_IFREG | 0644,
                            .uid = 7,
                            .mtime_ns = 5};
        set(&base, "user.same", "same");
        set(&base, "user.ours", "old");
        set(&base, "user.both", "old");
        set(&base, "user.removed here", "old");
        set(&base, "user.removed there", "old");
        ck_assert_int_eq(attr_more_put(&base, "foreign", "old", 3, true), 0);
        struct attr a = attr_copy(&base), theirs = attr_copy(&base);

        attr_touch(&a, 9, 0);
        a.uid = 8;
        set(&a, "user.ours", "ours");
        set(&a, "user.both", "ours");
        ck_assert_int_eq(attr_user_remove(&a, "user.removed here"), 0);
        theirs.mode = S_IFREG | 0600;
        theirs.gid = 3;
        theirs.set |= ATTR_GID;
        theirs.metageneration = 4;
        set(&theirs, "user.both", "theirs");
        set(&theirs, "user.added", "theirs");
        ck_assert_int_eq(attr_user_remove(&theirs, "user.removed there"), 0);
        ck_assert_int_eq(attr_more_put(&theirs, "foreign", "new", 3, true), 0);

        ck_assert_int_eq(attr_merge(&a, &base, &theirs), 0);
        ck_assert_uint_eq(a.set, ATTR_MODE | ATTR_UID | ATTR_GID | ATTR_MTIME | ATTR_CTIME);
        ck_assert_uint_eq(a.mode, S_IFREG | 0600);
        ck_assert_uint_eq(a.uid, 8);
        ck_assert_uint_eq(a.gid, 3);
        ck_assert_int_eq(a.mtime_ns, 9);
        ck_assert(a.written);
        ck_assert_uint_eq(a.metageneration, 4);
        ck_assert_str_eq(user(&a, "user.same"), "same");
        ck_assert_str_eq(user(&a, "user.ours"), "ours");
        ck_assert_str_eq(user(&a, "user.both"), "ours");
        ck_assert_str_eq(user(&a, "user.added"), "theirs");
        ck_assert_ptr_null(user(&a, "user.removed here"));
        ck_assert_ptr_null(user(&a, "user.removed there"));
        struct store_meta m;
        ck_assert_int_eq(attr_to_meta(&a, &m), 0);
        ck_assert_str_eq(store_meta_get(&m, "foreign"), "new");
        attr_release(&a);
        attr_release(&base);
        attr_release(&theirs);
}
END_TEST

START_TEST(writing_moves_times_and_takes_set_id_bits)
{
        struct attr a = {.set = ATTR_MODE, .mode = S_IFREG | 06755};
        attr_touch(&a, 9, 0);
        ck_assert_uint_eq(a.mode, S_IFREG | 06755); /* root may */
        attr_touch(&a, 10, 1000);
        ck_assert_uint_eq(a.mode, S_IFREG | 0755);
        ck_assert_int_eq(a.mtime_ns, 10);
        ck_assert_int_eq(a.ctime_ns, 10);
        a.mode = S_IFREG | 02644;
        attr_touch(&a, 11, 1000);
        ck_assert_uint_eq(a.mode, S_IFREG | 02644);
}
END_TEST

START_TEST(a_write_that_failed_takes_its_times_back)
{
        struct attr a = {.set = ATTR_MTIME, .mtime_ns = 5};
        attr_touch(&a, 9, 0);
        attr_touch(&a, 10, 0);
        attr_touch_failed(&a);
        ck_assert_uint_eq(a.set, ATTR_MTIME);
        ck_assert_int_eq(a.mtime_ns, 5);
        ck_assert(!a.written);
        attr_touch(&a, 11, 0);
        attr_touch_published(&a);
        attr_touch(&a, 12, 0);
        attr_touch_failed(&a);
        ck_assert_int_eq(a.mtime_ns, 11);
        ck_assert_int_eq(a.ctime_ns, 11);
        ck_assert(a.written);
}
END_TEST

START_TEST(times_that_were_set_outlast_a_write_that_failed)
{
        struct attr a = {.set = ATTR_MTIME | ATTR_CTIME, .mtime_ns = 5, .ctime_ns = 5};
        attr_touch(&a, 9, 0);
        a.ctime_ns = 10; /* chmod() */
        attr_touch_failed(&a);
        ck_assert_int_eq(a.mtime_ns, 5);
        ck_assert_int_eq(a.ctime_ns, 10);
        attr_touch(&a, 11, 0);
        a.written = false; /* utimensat() */
        a.mtime_ns = 7;
        attr_touch_failed(&a);
        ck_assert_int_eq(a.mtime_ns, 7);
        attr_touch(&a, 12, 0);
        a.written = false;
        a.mtime_ns = 8;
        attr_touch(&a, 13, 0);
        attr_touch_failed(&a);
        ck_assert_int_eq(a.mtime_ns, 8);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("attr");
        TCase *t = tcase_create("attr");
        tcase_add_test(t, what_is_set_comes_back);
        tcase_add_test(t, the_metadata_are_those_of_s3fs);
        tcase_add_test(t, an_early_upload_leaves_out_what_still_moves);
        tcase_add_loop_test(t, what_others_wrote_is_taken_or_left, 0, sizeof odd / sizeof *odd);
        tcase_add_test(t, metadata_of_others_survive);
        tcase_add_test(t, a_checksum_of_bytes_that_are_no_more_is_dropped);
        tcase_add_test(t, a_time_of_others_is_dropped_for_one_of_ours);
        tcase_add_test(t, an_xattr_that_is_none_of_ours_survives);
        tcase_add_test(t, user_attributes_hold_any_byte);
        tcase_add_test(t, user_attributes_follow_the_flags_and_sizes);
        tcase_add_test(t, more_than_a_store_takes_is_refused_and_changes_nothing);
        tcase_add_test(t, a_copy_does_not_follow_the_original);
        tcase_add_test(t, of_the_changes_of_two_hosts_both_stay);
        tcase_add_test(t, writing_moves_times_and_takes_set_id_bits);
        tcase_add_test(t, a_write_that_failed_takes_its_times_back);
        tcase_add_test(t, times_that_were_set_outlast_a_write_that_failed);
        suite_add_tcase(s, t);
        return unit_main(s);
}
