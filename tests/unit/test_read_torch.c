/* SPDX-License-Identifier: Apache-2.0 */
/* test_read_torch.c: archives of torch.save() whose pickle lies about them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/format.h"
#include "bench/format/pickle.h"
#include "bench/format/zip.h"
#include "tests/lib/memsource.h"

#include "base/banned.h"

/* An archive of that pickle and one storage of 16 bytes. */
static int read_archive(const struct buf *pickle, struct found *out, char why[200])
{
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;
        struct memsource m;
        struct zip z;

        zip_begin(&z, &l);
        zip_entry_text(&z, "a/data.pkl", pickle->p, pickle->len);
        zip_entry_text(&z, "a/data/0", "0123456789abcdef", 16);
        zip_end(&z);
        ck_assert(!l.failed && !pickle->failed);
        memsource_init(&m, l.text.p, l.text.len);
        *out = (struct found){0};
        *why = 0;
        int err = any_read(&m.s, out, why, 200);
        free(m.p);
        return err;
}

/* {"t": tensor}, the tensor of storage `key` with that many elements, seen through the rest. */
struct view {
        const char *class, *key;
        uint64_t elements, offset, size[2], stride[2];
};
static void pickle_view(struct buf *b, const struct view *v)
{
        pickle_begin(b);
        pickle_empty_dict(b);
        pickle_mark(b);
        pickle_string(b, "t");
        pickle_global(b, "torch._utils", "_rebuild_tensor_v2");
        pickle_mark(b);
        pickle_mark(b);
        pickle_string(b, "storage");
        pickle_global(b, "torch", v->class);
        pickle_string(b, v->key);
        pickle_string(b, "cpu");
        pickle_int(b, v->elements);
        pickle_tuple(b);
        pickle_persistent(b);
        pickle_int(b, v->offset);
        pickle_int(b, v->size[0]);
        pickle_int(b, v->size[1]);
        pickle_tuple_of(b, 2);
        pickle_int(b, v->stride[0]);
        pickle_int(b, v->stride[1]);
        pickle_tuple_of(b, 2);
        pickle_tuple(b);
        pickle_call(b);
        pickle_set_items(b);
        pickle_end(b);
}

static const struct {
        struct view v;
        const char *why; /* NULL: it is fine */
} views[] = {
        {{"FloatStorage", "0", 4, 0, {2, 2}, {2, 1}}, NULL},
        {{"FloatStorage", "0", 4, 3, {1, 1}, {0, 0}}, NULL},
        {{"FloatStorage", "0", 4, 9, {0, 9}, {1, 1}}, NULL}, /* of nothing */
        {{"FloatStorage", "0", 4, 1, {2, 2}, {2, 1}}, "beyond its storage"},
        {{"FloatStorage", "0", 4, 0, {2, 2}, {1ULL << 62, 1}}, "beyond its storage"},
        {{"FloatStorage", "0", 4, 0, {1ULL << 62, 2}, {8, 1}}, "beyond its storage"},
        {{"FloatStorage", "0", 4, (1ULL << 63) - 1, {2, 2}, {1ULL << 62, 1ULL << 62}},
         "beyond its storage"},
        {{"FloatStorage", "0", 5, 0, {2, 2}, {2, 1}}, "of another size"},
        {{"FloatStorage", "0", (1ULL << 62) + 4, 0, {2, 2}, {2, 1}}, "of another size"},
        {{"FloatStorage", "1", 4, 0, {2, 2}, {2, 1}}, "not in the archive"},
        {{"FloatStorage", "../data.pkl", 4, 0, {2, 2}, {2, 1}}, "not in the archive"},
        {{"LargeStorage", "0", 4, 0, {2, 2}, {2, 1}}, "of no known kind"},
};
START_TEST(a_view_lies_in_its_storage)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct found f;
        char why[200];

        pickle_view(&b, &views[_i].v);
        int err = read_archive(&b, &f, why);
        ck_assert_msg(err == (views[_i].why ? -EBADMSG : 0), "case %d: %d %s", _i, err, why);
        ck_assert_msg(!views[_i].why || strstr(why, views[_i].why), "case %d: %s", _i, why);
        if (!err) {
                ck_assert_uint_eq(f.shard.n, 1);
                ck_assert_str_eq(f.shard.v[0].name, "t");
                ck_assert_uint_eq(f.at[0].len, 16);
        }
        found_release(&f);
}
END_TEST

/* Lists of lists of lists, each the same one many times: few bytes, and without end. */
START_TEST(a_pickle_that_multiplies_itself_is_refused)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct found f;
        char why[200];

        pickle_begin(&b);
        pickle_int(&b, 0);
        for (unsigned level = 0; level < 4; level++) {
                char get[2] = {'h', (char)level}, put[2] = {'q', (char)level};
                buf_add(&b, put, 2);
                buf_addc(&b, '0'); /* it is remembered only */
                pickle_empty_list(&b);
                pickle_mark(&b);
                for (unsigned i = 0; i < 4000; i++)
                        buf_add(&b, get, 2);
                pickle_append_all(&b);
        }
        pickle_end(&b);
        ck_assert_int_eq(read_archive(&b, &f, why), -EBADMSG);
        ck_assert_msg(strstr(why, "too many entries"), "%s", why);
        found_release(&f);
}
END_TEST

START_TEST(a_pickle_that_holds_itself_is_refused)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct found f;
        char why[200];

        pickle_begin(&b);
        buf_add(&b, "]q\0h\0a", 6);
        pickle_end(&b);
        ck_assert_int_eq(read_archive(&b, &f, why), -EBADMSG);
        ck_assert_msg(strstr(why, "nested too deeply"), "%s", why);
        found_release(&f);
}
END_TEST

START_TEST(a_file_of_nothing_else_is_refused)
{
        static const char *const files[] = {"",           "P",
                                            "PK\x03\x04", "PK\x03\x04 and no more of it",
                                            "12345678{",  "some text, longer than a header"};
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
                struct memsource m;
                struct found f = {0};
                char why[200] = "";
                memsource_init(&m, files[i], strlen(files[i]));
                ck_assert_int_eq(any_read(&m.s, &f, why, sizeof why), -EBADMSG);
                ck_assert_str_ne(why, "");
                found_release(&f);
                free(m.p);
        }
}
END_TEST

int main(void)
{
        Suite *s = suite_create("read_torch");
        TCase *t = tcase_create("read_torch");
        tcase_add_loop_test(t, a_view_lies_in_its_storage, 0, sizeof views / sizeof views[0]);
        tcase_add_test(t, a_pickle_that_multiplies_itself_is_refused);
        tcase_add_test(t, a_pickle_that_holds_itself_is_refused);
        tcase_add_test(t, a_file_of_nothing_else_is_refused);
        suite_add_tcase(s, t);
        return unit_main(s);
}
