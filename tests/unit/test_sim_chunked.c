/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_chunked.c: bodies in chunks, in pieces of any size. */
#include "bench/sim/http/chunked.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/lib/unit.h"
#include "base/banned.h"

static int collect(void *arg, char *p, size_t n)
{
        return buf_add(arg, p, n);
}

static int feed(struct chunked *c, const char *body, size_t n, size_t piece, struct buf *out)
{
        char copy[512];
        int err = 0;

        memcpy(copy, body, n);
        for (size_t at = 0; at < n && !err; at += piece)
                err = chunked_feed(c, copy + at, n - at < piece ? n - at : piece, collect, out);
        return err;
}

static const struct {
        const char *body, *data, *crc;
} good[] = {
        {"0\r\n\r\n", "", ""},
        {"5\r\nhello\r\n0\r\n\r\n", "hello", ""},
        {"6\r\nhello \r\n005;a=b\r\nworld\r\n0;x\r\n\r\n", "hello world", ""},
        {"A \t;a\r\n0123456789\r\nb\r\nabcdefghijk\r\n0\r\n\r\n", "0123456789abcdefghijk", ""},
        {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", ""},
        {"1\nx\n0\n\n", "x", ""},
        {"1\r\nx\r\n0\r\nX-A: b\r\nX-Amz-Checksum-Crc32c: yZRlqg==\r\n\r\n", "x", "yZRlqg=="},
};

START_TEST(the_data_of_chunks_is_found_however_it_is_cut)
{
        size_t n = strlen(good[_i].body);

        for (size_t piece = 1; piece <= n; piece++) {
                struct chunked c = {.state = CHUNK_SIZE};
                CLEANUP(buf_release) struct buf out = BUF_INIT;

                ck_assert_int_eq(feed(&c, good[_i].body, n, piece, &out), 0);
                ck_assert_int_eq(c.state, CHUNK_DONE);
                ck_assert_str_eq(out.p, good[_i].data);
                ck_assert_uint_eq(c.len, strlen(good[_i].data));
                ck_assert_str_eq(c.crc32c, good[_i].crc);
        }
}
END_TEST

#define TEXT(s) s, sizeof(s) - 1

static const struct {
        const char *body;
        size_t n;
        int want; /* 0: it is not whole */
} bad[] = {
        {TEXT(""), 0},
        {TEXT("5\r\nhel"), 0},
        {TEXT("5\r\nhello\r\n0\r\n"), 0},
        {TEXT("\r\n"), -EBADMSG},
        {TEXT("x\r\nhello\r\n0\r\n\r\n"), -EBADMSG},
        {TEXT("-5\r\nhello\r\n0\r\n\r\n"), -EBADMSG},
        {TEXT(" 5\r\nhello\r\n0\r\n\r\n"), -EBADMSG},
        {TEXT("0x5\r\nhello\r\n0\r\n\r\n"), -EBADMSG},
        {TEXT("5 5\r\nhello\r\n0\r\n\r\n"), -EBADMSG},
        {TEXT("5\0\r\nhello\r\n0\r\n\r\n"), -EBADMSG},
        {TEXT("5\r\nhello!\r\n0\r\n\r\n"), -EBADMSG},
        {TEXT("5\r\nhello0\r\n\r\n"), -EBADMSG},
        {TEXT("8000000000000000\r\nhello"), -EBADMSG},
        {TEXT("10000000000000005\r\nhello"), -EBADMSG},
        {TEXT("0\r\n\r\n5"), -EBADMSG},
};

START_TEST(a_broken_frame_is_refused)
{
        for (size_t piece = 1; piece <= 30; piece++) {
                struct chunked c = {.state = CHUNK_SIZE};
                CLEANUP(buf_release) struct buf out = BUF_INIT;

                ck_assert_int_eq(feed(&c, bad[_i].body, bad[_i].n, piece, &out), bad[_i].want);
                ck_assert(bad[_i].want || c.state != CHUNK_DONE);
        }
}
END_TEST

START_TEST(a_frame_ends_where_data_begins)
{
        static const char body[] = "5;x\r\nhello\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1";
        struct chunked c = {.state = CHUNK_SIZE};

        ck_assert_int_eq(chunked_frame(&c, body, sizeof body - 1), 5);
        ck_assert_int_eq(chunked_frame(&c, body + 5, 5), 0);
        chunked_skip(&c, 5);
        ck_assert_int_eq(chunked_frame(&c, body + 10, sizeof body - 11), 13);
        ck_assert_int_eq(c.state, CHUNK_DONE);
        ck_assert_int_eq(chunked_frame(&c, body + 23, sizeof body - 24), 0);
}
END_TEST

START_TEST(a_frame_is_bounded)
{
        struct chunked c = {.state = CHUNK_SIZE};
        char line[512];

        memset(line, '1', sizeof line);
        line[1] = ';';
        ck_assert_int_eq(chunked_frame(&c, line, sizeof line), -EBADMSG);
        c = (struct chunked){.state = CHUNK_TRAILER};
        for (int i = 0; i < CHUNK_TRAILERS_MAX; i++)
                ck_assert_int_eq(chunked_frame(&c, "a:b\r\n", 5), 5);
        ck_assert_int_eq(chunked_frame(&c, "a:b\r\n", 5), -EBADMSG);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sim_chunked");
        TCase *t = tcase_create("chunked");

        tcase_add_loop_test(t, the_data_of_chunks_is_found_however_it_is_cut, 0,
                            sizeof good / sizeof *good);
        tcase_add_loop_test(t, a_broken_frame_is_refused, 0, sizeof bad / sizeof *bad);
        tcase_add_test(t, a_frame_ends_where_data_begins);
        tcase_add_test(t, a_frame_is_bounded);
        suite_add_tcase(s, t);
        return unit_main(s);
}
