/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_related.c: bodies of a description and data, in pieces of any size. */
#include "bench/sim/http/related.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"
#include "base/banned.h"

#define HEAD "--b\r\nContent-Type: application/json\r\n\r\n{\"name\":\"n\"}\r\n--b\r\n"

static int collect(void *arg, char *p, size_t n)
{
        return buf_add(arg, p, n);
}

static void release(struct related *r)
{
        buf_release(&r->head);
}

/* Feeds `body` in pieces of `piece` bytes; the data is appended to `out`. `open`: without a word of
 * its length. */
static int feed(struct related *r, const char *body, bool open, size_t piece, struct buf *out)
{
        char copy[512];
        size_t n = strlen(body);
        int err = related_begin(r, "multipart/related; boundary=\"b\"", open ? RELATED_OPEN : n);

        snprintf(copy, sizeof copy, "%s", body);
        for (size_t at = 0; at < n && !err; at += piece)
                err = related_feed(r, copy + at, n - at < piece ? n - at : piece, collect, out);
        return err || !open ? err : related_end(r, collect, out);
}

static const struct {
        const char *body, *data, *type;
} good[] = {
        {HEAD "Content-Type: text/plain\r\n\r\nhello\r\n--b--\r\n", "hello", "text/plain"},
        {HEAD "content-type: a/b\r\n\r\nhello\r\n--b--", "hello", "a/b"},
        {HEAD "\r\n\r\n--b--\r\n", "", ""},
        {HEAD "\r\n\r\n--b--", "", ""},
        {HEAD "\r\nx\r\n--b--", "x", ""},
        {HEAD "X: y\r\n\r\n--b\r\n--b--\r\n--b--\r\n", "--b\r\n--b--", ""},
        {"--b\nX: y\n\n{\"name\":\"n\"}\n--b\nContent-Type: t\n\ndata\r\n--b--", "data\r", "t"},
        {HEAD "X: y\r\n\r\ntwo\r\n\r\n\r\n--b--\r\n", "two\r\n\r\n", ""},
};

START_TEST(the_description_and_the_data_of_a_body_are_found)
{
        for (size_t i = 2; i <= 401; i++) {
                bool open = i % 2;
                size_t piece = i / 2;
                CLEANUP(release) struct related r = {.head = BUF_INIT};
                CLEANUP(buf_release) struct buf out = BUF_INIT;

                ck_assert_int_eq(feed(&r, good[_i].body, open, piece, &out), 0);
                ck_assert(related_is_whole(&r));
                ck_assert_str_eq(out.p, good[_i].data);
                ck_assert_uint_eq(r.text_len, strlen("{\"name\":\"n\"}"));
                ck_assert_int_eq(strncmp(r.head.p + r.text_at, "{\"name\":\"n\"}", r.text_len), 0);
                ck_assert_uint_eq(r.type_len, strlen(good[_i].type));
                ck_assert_int_eq(strncmp(r.head.p + r.type_at, good[_i].type, r.type_len), 0);
        }
}
END_TEST

static const char *const bad[] = {
        "",
        "--c\r\n\r\n{}\r\n--b\r\n\r\n\r\n\r\n--b--\r\n",
        HEAD "\r\n\r\nhello\r\n--c--\r\n",
        HEAD "\r\n\r\nhello",
        HEAD,
        "--b\r\n\r\n--b\r\n\r\n\r\n--b--\r\n",
};

START_TEST(a_broken_body_is_refused)
{
        for (size_t i = 2; i <= 201; i += 9) {
                CLEANUP(release) struct related r = {.head = BUF_INIT};
                CLEANUP(buf_release) struct buf out = BUF_INIT;
                int err = feed(&r, bad[_i], i % 2, i / 2, &out);

                ck_assert(err == -EBADMSG || !related_is_whole(&r));
        }
}
END_TEST

START_TEST(a_boundary_is_needed)
{
        CLEANUP(release) struct related r = {.head = BUF_INIT};
        char type[200];

        ck_assert_int_eq(related_begin(&r, NULL, 9), -EINVAL);
        ck_assert_int_eq(related_begin(&r, "multipart/related", 9), -EINVAL);
        ck_assert_int_eq(related_begin(&r, "multipart/related; boundary=", 9), -EINVAL);
        snprintf(type, sizeof type, "multipart/related; boundary=%0100d", 1);
        ck_assert_int_eq(related_begin(&r, type, 9), -EINVAL);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sim_related");
        TCase *tc = tcase_create("related");

        tcase_add_loop_test(tc, the_description_and_the_data_of_a_body_are_found, 0,
                            sizeof good / sizeof *good);
        tcase_add_loop_test(tc, a_broken_body_is_refused, 0, sizeof bad / sizeof *bad);
        tcase_add_test(tc, a_boundary_is_needed);
        suite_add_tcase(s, tc);
        return unit_main(s);
}
