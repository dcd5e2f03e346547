/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_http.c: heads of requests and ranges, as bench/sim/http.c takes them apart. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "bench/sim/http/http.h"
#include "base/banned.h"

static const struct {
        const char *text;
        int want; /* length of the head, 0 or minus a status; 1: all of the text */
} heads[] = {
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", 1},
        {"GET / HTTP/1.1\nHost: h\n\n", 1},
        {"GET / HTTP/1.1\r\nHost: h\r\n", 0},
        {"GET / HT", 0},
        {"", 0},
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /next", 27},
        {"GET / HTTP/1.1\r\n\r\n", -400},
        {"GET /\r\nHost: h\r\n\r\n", -400},
        {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", -505},
        {"GET / FTP/1.1\r\nHost: h\r\n\r\n", -400},
        {"G T / HTTP/1.1\r\nHost: h\r\n\r\n", -400},
        {"GET x HTTP/1.1\r\nHost: h\r\n\r\n", -400},
        {"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", -400},
        {"GET / HTTP/1.1\r\nHost: h\r\n folded: x\r\n\r\n", -400},
        {"PUT / HTTP/1.1\r\nHost: h\r\n\r\n", -411},
        {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 1},
        {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", -400},
        {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1x\r\n\r\n", -400},
        {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", -400},
        {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", -400},
        {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n", 1},
        {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", -501},
        {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
         "Transfer-Encoding: chunked\r\n\r\n",
         -501},
        {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
         -400},
        {"PUT / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", -400},
        {"GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n", 1},
        {"GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", -400},
};

START_TEST(a_head_is_whole_or_refused)
{
        char buf[256];
        size_t n = strlen(heads[_i].text);
        struct http_request rq;

        memcpy(buf, heads[_i].text, n + 1);
        int got = http_parse(buf, n, &rq);
        ck_assert_int_eq(got, heads[_i].want == 1 ? (int)n : heads[_i].want);
}
END_TEST

START_TEST(the_parts_of_a_head_are_found)
{
        char buf[] = "PUT /b/k%20?uploads&x=1 HTTP/1.1\r\nhOst:  h:80 \r\nContent-Length: 7\r\n"
                     "Expect: 100-continue\r\nConnection: close\r\nX-Empty:\r\n\r\nbody";
        struct http_request rq;

        ck_assert_int_eq(http_parse(buf, sizeof buf - 1, &rq), (int)sizeof buf - 1 - 4);
        ck_assert_str_eq(rq.method, "PUT");
        ck_assert_str_eq(rq.path, "/b/k%20");
        ck_assert_str_eq(rq.query, "uploads&x=1");
        ck_assert_str_eq(http_header(&rq, "HOST"), "h:80");
        ck_assert_str_eq(http_header(&rq, "x-empty"), "");
        ck_assert_ptr_null(http_header(&rq, "none"));
        ck_assert_uint_eq(rq.body_len, 7);
        ck_assert(rq.expect_continue);
        ck_assert(!rq.keep_alive);
}
END_TEST

START_TEST(a_head_is_bounded)
{
        static char buf[HTTP_HEAD_MAX];
        struct http_request rq;

        memset(buf, 'a', sizeof buf);
        ck_assert_int_eq(http_parse(buf, sizeof buf, &rq), -431);
        ck_assert_int_eq(http_parse(buf, sizeof buf - 1, &rq), 0);
        char *p = buf + snprintf(buf, sizeof buf, "GET / HTTP/1.1\r\n");
        for (int i = 0; i <= HTTP_HEADERS_MAX; i++)
                p += snprintf(p, 16, "h%d: x\r\n", i);
        p += snprintf(p, 16, "\r\n");
        ck_assert_int_eq(http_parse(buf, (size_t)(p - buf), &rq), -431);
}
END_TEST

static const struct {
        const char *value;
        uint64_t size;
        int want;
        uint64_t off, len;
} ranges[] = {
        {"bytes=0-0", 10, 1, 0, 1},
        {"bytes=2-4", 10, 1, 2, 3},
        {"bytes=2-", 10, 1, 2, 8},
        {"bytes=2-99", 10, 1, 2, 8},
        {"bytes=-3", 10, 1, 7, 3},
        {"bytes=-30", 10, 1, 0, 10},
        {"bytes=9-9", 10, 1, 9, 1},
        {"bytes=10-", 10, -416, 0, 0},
        {"bytes=-0", 10, -416, 0, 0},
        {"bytes=0-", 0, -416, 0, 0},
        {"bytes=-1", 0, -416, 0, 0},
        {"bytes=4-2", 10, 0, 0, 0},
        {"bytes=0-1,3-4", 10, 0, 0, 0},
        {"lines=0-1", 10, 0, 0, 0},
        {"bytes=", 10, 0, 0, 0},
        {NULL, 10, 0, 0, 0},
        {"bytes=99999999999999999999-", 10, 0, 0, 0},
};

START_TEST(a_range_is_cut_to_the_object)
{
        uint64_t off = 0, len = 0;

        ck_assert_int_eq(http_range(ranges[_i].value, ranges[_i].size, &off, &len),
                         ranges[_i].want);
        if (ranges[_i].want == 1) {
                ck_assert_uint_eq(off, ranges[_i].off);
                ck_assert_uint_eq(len, ranges[_i].len);
        }
}
END_TEST

START_TEST(a_date_is_written_as_http_wants_it)
{
        char text[32];

        http_date(1369353600, text);
        ck_assert_str_eq(text, "Fri, 24 May 2013 00:00:00 GMT");
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sim_http");
        TCase *t = tcase_create("http");

        tcase_add_loop_test(t, a_head_is_whole_or_refused, 0, sizeof heads / sizeof *heads);
        tcase_add_test(t, the_parts_of_a_head_are_found);
        tcase_add_test(t, a_head_is_bounded);
        tcase_add_loop_test(t, a_range_is_cut_to_the_object, 0, sizeof ranges / sizeof *ranges);
        tcase_add_test(t, a_date_is_written_as_http_wants_it);
        suite_add_tcase(s, t);
        return unit_main(s);
}
