/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_record.c: objects of the simulator as text, and as segments. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/sim/store/data.h"
#include "bench/sim/store/object.h"
#include "bench/sim/store/record.h"
#include "base/banned.h"

static struct data *data;

static void setup(void)
{
        char why[128];

        ck_assert_int_eq(data_open(NULL, &data, why, sizeof why), 0);
        data_leave_files(data);
}

static void teardown(void)
{
        data_close(data);
}

static struct blob *get_blob(void *arg, const char *bucket, uint64_t id)
{
        return blob_new(arg, bucket, id);
}

static struct seg seg(uint64_t id, uint64_t off, const char *text)
{
        size_t n = strlen(text);
        struct blob *b = blob_new(data, "bkt", id);

        ck_assert_ptr_nonnull(b);
        return (struct seg){b, off, n, true, crc32c(0, text, n)};
}

START_TEST(a_record_comes_back_as_it_was)
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        CLEANUP(object_unrefp) struct object *o = object_new("a\n b/%\xc3\xbc"), *back = NULL;
        struct record_blobs blobs = {get_blob, data};
        char bucket[64] = "";

        snprintf(o->etag, sizeof o->etag, "e-2");
        snprintf(o->upload, sizeof o->upload, "u");
        o->mtime_ns = 1234567890123456789;
        o->generation = 17;
        o->metageneration = 3;
        o->components = 2;
        ck_assert_int_eq(object_meta_add_header(o, "X-Amz-Meta-K", "v\n %"), 0);
        ck_assert_int_eq(object_meta_add(o, "content-type", ""), 0);
        ck_assert_int_eq(object_add_seg(o, seg(7, 3, "hello ")), 0);
        ck_assert_int_eq(object_add_seg(o, seg(0xfffffffffffffff8, 0, "world")), 0);
        ck_assert_int_eq(record_write(o, "bkt2", &text), 0);
        ck_assert_int_eq(record_read(&text, &blobs, &back, bucket), 0);
        ck_assert_str_eq(bucket, "bkt2");
        ck_assert_str_eq(back->key, o->key);
        ck_assert_str_eq(back->etag, "e-2");
        ck_assert_str_eq(back->upload, "u");
        ck_assert_int_eq(back->mtime_ns, o->mtime_ns);
        ck_assert_int_eq(back->generation, 17);
        ck_assert_uint_eq(back->metageneration, 3);
        ck_assert_uint_eq(back->components, 2);
        ck_assert_str_eq(object_meta(back, "x-amz-meta-k"), "v\n %");
        ck_assert_str_eq(object_meta(back, "content-type"), "");
        ck_assert_uint_eq(back->nsegs, 2);
        ck_assert_uint_eq(blob_id(back->segs[1].blob), 0xfffffffffffffff8);
        ck_assert_uint_eq(back->segs[0].off, 3);
        ck_assert_uint_eq(back->size, 11);
        ck_assert(back->has_crc);
        ck_assert_uint_eq(back->crc, crc32c(0, "hello world", 11));
}
END_TEST

static const char *const bad[] = {
        "",
        "storesim 1\n",
        "storesim 1\nkey a\n", /* no end */
        "storesim 2\nkey a\nend\n",
        "storesim 1\nkey %zz\nend\n",
        "storesim 1\nseg bkt 1\nend\n",
        "storesim 1\nwhat is this\nend\n",
        "storesim 1\nmeta k\nend\n",
        "storesim 1\nbucket b\nend\n", /* of an upload only */
};

START_TEST(a_broken_record_is_refused)
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        struct object *back = NULL;
        struct record_blobs blobs = {get_blob, data};

        ck_assert_int_eq(buf_adds(&text, bad[_i]), 0);
        ck_assert_int_eq(record_read(&text, &blobs, &back, NULL), -EBADMSG);
        ck_assert_ptr_null(back);
}
END_TEST

START_TEST(a_version_is_named_by_its_etag)
{
        CLEANUP(object_unrefp) struct object *o = object_new("k");

        snprintf(o->etag, sizeof o->etag, "abc");
        ck_assert(object_matches(o, "\"abc\""));
        ck_assert(object_matches(o, "abc"));
        ck_assert(object_matches(o, "*"));
        ck_assert(object_matches(o, "\"x\", \"abc\""));
        ck_assert(object_matches(o, "W/\"abc\""));
        ck_assert(!object_matches(o, "\"ab\""));
        ck_assert(!object_matches(o, "\"abcd\""));
        ck_assert(!object_matches(o, ""));
        ck_assert(!object_matches(NULL, "*"));
}
END_TEST

START_TEST(ranges_are_put_together_from_segments)
{
        CLEANUP(object_unrefp) struct object *from = object_new("k"), *to = object_new("t");

        ck_assert_int_eq(object_add_seg(from, seg(1, 0, "abcd")), 0);
        ck_assert_int_eq(object_add_seg(from, seg(2, 0, "efgh")), 0);
        ck_assert_int_eq(object_add_seg(from, seg(3, 0, "ij")), 0);
        ck_assert_int_eq(object_append(to, from, 4, 4), 0);
        ck_assert_uint_eq(to->nsegs, 1);
        ck_assert_uint_eq(blob_id(to->segs[0].blob), 2);
        ck_assert_uint_eq(to->crc, crc32c(0, "efgh", 4));
        ck_assert_int_eq(object_append(to, from, 8, 2), 0);
        ck_assert_uint_eq(to->crc, crc32c(0, "efghij", 6));
        ck_assert_uint_eq(to->size, 6);
        ck_assert_int_eq(object_append(to, from, 2, 7), 0);
        ck_assert_uint_eq(to->size, 13);
        ck_assert_uint_eq(to->nsegs, 5);
        ck_assert_uint_eq(to->segs[2].off, 2);
        ck_assert_uint_eq(to->segs[2].len, 2);
        ck_assert_uint_eq(to->segs[4].len, 1);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sim_record");
        TCase *t = tcase_create("record");

        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, a_record_comes_back_as_it_was);
        tcase_add_loop_test(t, a_broken_record_is_refused, 0, sizeof bad / sizeof *bad);
        tcase_add_test(t, a_version_is_named_by_its_etag);
        tcase_add_test(t, ranges_are_put_together_from_segments);
        suite_add_tcase(s, t);
        return unit_main(s);
}
