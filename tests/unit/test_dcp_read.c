/* SPDX-License-Identifier: Apache-2.0 */
/* test_dcp_read.c: a .metadata read back, cut off, damaged, and made to do harm. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/dcp.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct dcp_item saved[] = {
        {"model.a", "__0_0.distcp", 10, 4, 0, 5, 0, 1000, 4, 0, 0, 0},
        {"model.a", "__1_0.distcp", 10, 4, 5, 5, 0, 1001, 4, 0, 1, 0},
        {"model.b", "__0_0.distcp", 70000, 1, 0, 70000, 1000, 3000000000, 2, 0, 1, UINT32_MAX},
        {"model.c", "__1_1.distcp", 1, 3, 0, 1, 1ULL << 40, 12, 4, 0, 0, 0},
};
enum { SAVED = sizeof saved / sizeof saved[0] };

static void make(struct buf *b)
{
        struct dcp_item v[SAVED];

        memcpy(v, saved, sizeof saved);
        ck_assert_int_eq(dcp_metadata(v, SAVED, b), 0);
}

static int read_copy(const char *p, size_t n, struct dcp_item **v, size_t *count, char why[200])
{
        CLEANUP(freep) char *copy = malloc(n ? n : 1);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, p, n);
        *v = NULL;
        *why = 0;
        return dcp_read(copy, n, v, count, why, 200);
}

START_TEST(items_of_a_save_are_read_back)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(freep) struct dcp_item *v = NULL;
        char why[200];
        size_t n;

        make(&b);
        ck_assert_msg(read_copy(b.p, b.len, &v, &n, why) == 0, "%s", why);
        ck_assert_uint_eq(n, SAVED);
        for (size_t i = 0; i < n; i++) {
                ck_assert_str_eq(v[i].name, saved[i].name);
                ck_assert_str_eq(v[i].file, saved[i].file);
                ck_assert_uint_eq(v[i].rows, saved[i].rows);
                ck_assert_uint_eq(v[i].cols, saved[i].cols);
                ck_assert_uint_eq(v[i].first, saved[i].first);
                ck_assert_uint_eq(v[i].count, saved[i].count);
                ck_assert_uint_eq(v[i].off, saved[i].off);
                ck_assert_uint_eq(v[i].len, saved[i].len);
                ck_assert_uint_eq(v[i].elem, saved[i].elem);
                ck_assert_uint_eq(v[i].has_crc, saved[i].has_crc);
                ck_assert_uint_eq(v[i].crc, saved[i].crc);
        }
}
END_TEST

#define BYTES(text) text, sizeof(text) - 1

/* The n-th place where some bytes stand, counted from 0, has others, as many. */
static const struct {
        const char *from;
        size_t len;
        const char *to;
        unsigned nth;
        const char *why;
} lies[] = {
        {BYTES("torch\nfloat32"), "torch\nfloat99", 0, "unknown type"},
        {BYTES("state_dict_metadata"), "state_dict_metadatx", 0, "no metadata"},
        {BYTES("storage_data"), "storage_datx", 0, "no metadata"},
        {BYTES("model.a"), "model.x", 0, "no piece of a tensor"},
        {BYTES("model.a"), "model.x", 3, "no piece of a tensor"}, /* where its first piece lies */
        {BYTES("model.b"), "mod\0l.b", 0, "tensor ''"},
        {BYTES("relative_path"), "relative_pat_", 0, "no piece of a tensor"},
        {BYTES("__0_0.distcp"), "../_0.distcp", 0, "no piece of a tensor"},
        {BYTES("length"), "lengtx", 0, "no piece of a tensor"},
        {BYTES("sizes"), "sizex", 0, "not cut into whole rows"},
        {BYTES("K\x05K\x04\x86"), "K\x05K\x03\x86", 0, "not cut into whole rows"},
        {BYTES("K\x05K\0\x86"), "K\x05K\x01\x86", 0, "not cut into whole rows"},
};
START_TEST(what_does_not_fit_is_refused)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(freep) struct dcp_item *v = NULL;
        size_t len = lies[_i].len, n;
        char why[200];

        make(&b);
        char *at = memmem(b.p, b.len, lies[_i].from, len);
        for (unsigned i = 0; i < lies[_i].nth && at; i++)
                at = memmem(at + 1, (size_t)(b.p + b.len - at - 1), lies[_i].from, len);
        ck_assert_msg(at, "case %d: nothing to change", _i);
        memcpy(at, lies[_i].to, len);
        ck_assert_int_eq(read_copy(b.p, b.len, &v, &n, why), -EBADMSG);
        ck_assert_msg(strstr(why, lies[_i].why), "case %d: %s", _i, why);
}
END_TEST

/* Well made, but no save of anything: two pieces of a tensor each. */
static const struct {
        struct dcp_item v[2];
        const char *why;
} wrong[] = {
        {{{"a", "__0_0.distcp", 10, 4, 0, 6, 0, 1000, 4, 0, 0, 0},
          {"a", "__1_0.distcp", 10, 4, 5, 5, 0, 1000, 4, 0, 0, 0}},
         "row 5 of 'a' is listed twice"},
        {{{"a", "__0_0.distcp", 10, 4, 0, 10, 0, 1000, 4, 0, 0, 0},
          {"a", "__1_0.distcp", 10, 4, 9, 1, 0, 1000, 4, 0, 0, 0}},
         "row 9 of 'a' is listed twice"},
        {{{"a", "__0_0.distcp", 10, 4, 0, 5, INT64_MAX, 1, 4, 0, 0, 0},
          {"a", "__1_0.distcp", 10, 4, 5, 5, 0, 1000, 4, 0, 0, 0}},
         "entry 0, 'a', is no piece"},
        {{{"a", "__0_0.distcp", 10, 4, 0, 5, 0, 1000, 4, 0, 0, 0},
          {"a", "__1_0.distcp", 10, 4, 5, 5, 1000, INT64_MAX, 4, 0, 0, 0}},
         "entry 1, 'a', is no piece"},
};
START_TEST(what_no_save_makes_is_refused)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(freep) struct dcp_item *v = NULL;
        struct dcp_item items[2];
        size_t n;
        char why[200];

        memcpy(items, wrong[_i].v, sizeof items);
        ck_assert_int_eq(dcp_metadata(items, 2, &b), 0);
        ck_assert_int_eq(read_copy(b.p, b.len, &v, &n, why), -EBADMSG);
        ck_assert_msg(strstr(why, wrong[_i].why), "case %d: %s", _i, why);
}
END_TEST

START_TEST(damaged_metadata_is_survived)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct dcp_item *v;
        char why[200];
        size_t n;

        make(&b);
        for (size_t len = 0; len < b.len; len++)
                ck_assert_int_eq(read_copy(b.p, len, &v, &n, why), -EBADMSG);
        for (size_t bit = 0; bit < 8 * b.len; bit++) {
                b.p[bit / 8] ^= (char)(1 << bit % 8);
                int err = read_copy(b.p, b.len, &v, &n, why);
                ck_assert(!err || err == -EBADMSG);
                ck_assert(err || n > 0);
                for (size_t i = 0; i < n && !err; i++) {
                        ck_assert_ptr_nonnull(memchr(v[i].name, 0, sizeof v[i].name));
                        ck_assert_ptr_nonnull(memchr(v[i].file, 0, sizeof v[i].file));
                        ck_assert_ptr_null(strchr(v[i].file, '/'));
                        ck_assert_uint_gt(v[i].elem, 0);
                }
                free(v);
                b.p[bit / 8] ^= (char)(1 << bit % 8);
        }
}
END_TEST

/* Of 200 ranks and 100 tensors, as one save leaves it. */
START_TEST(many_pieces_are_read)
{
        enum { RANKS = 200, TENSORS = 100 };
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(freep) struct dcp_item *v = calloc((size_t)RANKS * TENSORS, sizeof *v);
        CLEANUP(freep) struct dcp_item *back = NULL;
        char why[200];
        size_t n;

        ck_assert_ptr_nonnull(v);
        for (unsigned i = 0; i < RANKS * TENSORS; i++) {
                v[i] = (struct dcp_item){.rows = RANKS,
                                         .cols = 8,
                                         .first = i / TENSORS,
                                         .count = 1,
                                         .off = 100 * i,
                                         .len = 100,
                                         .elem = 4};
                snprintf(v[i].name, sizeof v[i].name, "model.layers.%u.weight", i % TENSORS);
                dcp_file_name(v[i].file, i / TENSORS, 0);
        }
        ck_assert_int_eq(dcp_metadata(v, (size_t)RANKS * TENSORS, &b), 0);
        ck_assert_msg(read_copy(b.p, b.len, &back, &n, why) == 0, "%s", why);
        ck_assert_uint_eq(n, RANKS * TENSORS);
        ck_assert_mem_eq(v, back, n * sizeof *v);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("dcp_read");
        TCase *t = tcase_create("dcp_read");
        tcase_add_test(t, items_of_a_save_are_read_back);
        tcase_add_loop_test(t, what_does_not_fit_is_refused, 0, sizeof lies / sizeof lies[0]);
        tcase_add_loop_test(t, what_no_save_makes_is_refused, 0, sizeof wrong / sizeof wrong[0]);
        tcase_add_test(t, damaged_metadata_is_survived);
        tcase_add_test(t, many_pieces_are_read);
        suite_add_tcase(s, t);
        return unit_main(s);
}
