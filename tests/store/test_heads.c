/* SPDX-License-Identifier: Apache-2.0 */
/* test_heads.c: how a reply of HTTP begins: the status that a server gave, and no other. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "store/http/http_once.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

#define REST    "ETag: \"e\"\r\nContent-Length: 0\r\n\r\n"
#define CHUNKED "ETag: \"e\"\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct {
        const char *reply;
        int err, once_err, status;
} heads[] = {
        {"HTTP/1.1 200 OK\r\n" REST, 0, 0, 200},
        {"HTTP/1.1  200\r\n" REST, 0, 0, 200},
        {"HTTP/1.1 100 Continue\r\nETag: \"no\"\r\n\r\nHTTP/1.1 200 OK\r\n" REST, 0, 0, 200},
        /* libcurl takes the first line for a 200. */
        {"HTTp/1.1 503 Slow Down\r\n" REST, -ETIMEDOUT, -ECONNRESET, 0},
        {"http/1.1 403 Forbidden\r\n" REST, -ETIMEDOUT, -ECONNRESET, 0},
        /* A header that looks like a status is a header. */
        {"HTTP/1.1 403 Forbidden\r\nHTTP/1.1 200 OK: so\r\n" REST, -EACCES, 0, 403},
        {"HTTP/1.1 200 OK\r\nHTTP/1.1 403 Forbidden: so\r\n" REST, 0, 0, 200},
        /* The end of the body is said once, or in the same words. */
        {"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" REST, 0, 0, 200},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" REST, -ETIMEDOUT, -ECONNRESET, 200},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n" REST, -ETIMEDOUT, -ECONNRESET, 200},
        {"HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 0, 1\r\n\r\n", -ETIMEDOUT, -ECONNRESET,
         200},
        {"HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length:\r\n\r\n", -ETIMEDOUT, -ECONNRESET, 200},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" REST "0\r\n\r\n", -ETIMEDOUT,
         -ECONNRESET, 200},
        {"HTTP/1.1 200 OK\r\n" CHUNKED "0\r\n\r\n", 0, 0, 200},
        /* What comes behind the body is no header. */
        {"HTTP/1.1 200 OK\r\n" CHUNKED "0\r\nETag: \"no\"\r\n\r\n", 0, 0, 200},
};

static void answer(void *arg, struct fake_req *rq)
{
        const char *reply = arg;

        rq->close = true;
        if (fake_body(rq))
                send(rq->fd, reply, strlen(reply), MSG_NOSIGNAL);
}

/* A deadline ends what is asked for again and again; a slow machine has time for the rest. */
static struct store *open_store(const struct fake *f, int err)
{
        return fake_store(f, &(struct store_config){.deadline_ms = err == -ETIMEDOUT ? 300 : 0});
}

START_TEST(a_status_is_the_one_that_the_reply_begins_with)
{
        struct fake *f = fake_start(answer, (void *)heads[_i].reply);
        struct store *s = open_store(f, heads[_i].err);
        struct store_object obj;

        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, &obj), heads[_i].err);
        if (!heads[_i].err)
                ck_assert_str_eq(obj.etag, "\"e\"");
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_server_that_issues_credentials_has_the_status_of_its_first_line)
{
        CLEANUP(buf_release) struct buf none = BUF_INIT;
        struct fake *f = fake_start(answer, (void *)heads[_i].reply);
        struct http_once x = {.method = "GET",
                              .url = fake_url(f),
                              .headers = &none,
                              .body = &none,
                              .timeout_ms = 60000,
                              .reply = BUF_INIT,
                              .reply_headers = BUF_INIT};

        ck_assert_int_eq(http_once(&x), heads[_i].once_err);
        ck_assert_int_eq(x.status, heads[_i].status);
        if (!heads[_i].once_err)
                ck_assert_str_eq(http_once_header(&x.reply_headers, "etag"), "\"e\"");
        buf_release(&x.reply);
        buf_release(&x.reply_headers);
        fake_stop(f);
}
END_TEST

/* The first header of the second reply is folded: it goes on with none. The third is good. */
static void answer_folded(void *arg, struct fake_req *rq)
{
        static const char *const replies[] = {
                "HTTP/1.1 200 OK\r\n" REST, "HTTP/1.1 200 OK\r\n so: folded\r\n" REST,
                "HTTP/1.1 200 OK\r\nETag: \"third\"\r\nContent-Length: 0\r\n\r\n"};
        const char *reply = replies[rq->n < 3 ? rq->n - 1 : 2];

        (void)arg;
        if (fake_body(rq))
                send(rq->fd, reply, strlen(reply), MSG_NOSIGNAL);
}

START_TEST(a_folded_header_goes_on_with_no_header_of_another_reply)
{
        struct fake *f = fake_start(answer_folded, NULL);
        struct store *s = fake_store(f, NULL);
        struct store_object obj;

        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), 0);
        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, &obj), 0);
        ck_assert_str_eq(obj.etag, "\"third\"");
        ck_assert_uint_eq(fake_requests(f), 3);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* The reply to a GET has a body of three bytes. */
static const struct {
        const char *reply;
        int result;
} bodies[] = {
        {"HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 3\r\n\r\nabc", 3},
        {"HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
         -ETIMEDOUT},
        {"HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nabc",
         -ETIMEDOUT},
        {"HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
         "3\r\nabc\r\n0\r\n\r\n",
         -ETIMEDOUT},
};

START_TEST(a_body_of_two_lengths_is_not_taken)
{
        struct fake *f = fake_start(answer, (void *)bodies[_i].reply);
        struct store *s = open_store(f, bodies[_i].result);
        char got[8] = "";

        ck_assert_int_eq(store_get_wait(s, "k", 0, got, sizeof got, NULL), bodies[_i].result);
        if (bodies[_i].result > 0)
                ck_assert_str_eq(got, "abc");
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(an_object_whose_length_is_not_said_is_not_empty)
{
        static const char s3[] = "HTTP/1.1 200 OK\r\nETag: \"e\"\r\n\r\n";
        struct fake *f = fake_start(answer, (void *)s3);
        struct store *s = fake_store(f, NULL);
        struct store_object obj;

        ck_assert_int_eq(store_head_wait(s, "k", &obj), -EIO);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("heads");
        TCase *t = tcase_create("heads");

        tcase_add_loop_test(t, a_status_is_the_one_that_the_reply_begins_with, 0,
                            sizeof heads / sizeof *heads);
        tcase_add_loop_test(t, a_server_that_issues_credentials_has_the_status_of_its_first_line, 0,
                            sizeof heads / sizeof *heads);
        tcase_add_test(t, a_folded_header_goes_on_with_no_header_of_another_reply);
        tcase_add_loop_test(t, a_body_of_two_lengths_is_not_taken, 0,
                            sizeof bodies / sizeof *bodies);
        tcase_add_test(t, an_object_whose_length_is_not_said_is_not_empty);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
