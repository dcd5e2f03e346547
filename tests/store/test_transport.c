/* SPDX-License-Identifier: Apache-2.0 */
/* test_transport.c: connections, addresses and exchanges that do not get on. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/metrics.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

enum { SIZE = 200000, LOOPBACK = 0x7f000001 };
static char object[SIZE];

/* --- a name with two addresses --- */

/* libcurl asks these, as they stand before libc's. */

static bool has_two; /* the first is 127.0.0.2 */

static struct addrinfo *make_address(unsigned ip, const char *port, struct addrinfo *next)
{
        struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_in));
        struct sockaddr_in *sa = (struct sockaddr_in *)(a + 1);

        *sa = (struct sockaddr_in){.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                   .sin_addr.s_addr = htonl(ip)};
        *a = (struct addrinfo){.ai_family = AF_INET,
                               .ai_socktype = SOCK_STREAM,
                               .ai_protocol = IPPROTO_TCP,
                               .ai_addrlen = sizeof *sa,
                               .ai_addr = (struct sockaddr *)sa,
                               .ai_next = next};
        return a;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
        (void)node;
        (void)hints;
        *out = make_address(LOOPBACK, service ? service : "0", NULL);
        if (has_two)
                *out = make_address(LOOPBACK + 1, service ? service : "0", *out);
        return 0;
}

void freeaddrinfo(struct addrinfo *a)
{
        for (struct addrinfo *next; a; a = next) {
                next = a->ai_next;
                free(a);
        }
}

/* Takes connections at the second address and the same port, and never says a word. */
static int listen_silently(const struct fake *f)
{
        struct sockaddr_in sa = {
                .sin_family = AF_INET,
                .sin_port = htons((uint16_t)strtoul(strrchr(fake_url(f), ':') + 1, NULL, 10)),
                .sin_addr.s_addr = htonl(LOOPBACK + 1)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
        ck_assert_int_eq(listen(fd, 64), 0);
        return fd;
}

static void accept_all(void *arg, struct fake_req *rq)
{
        (void)arg;
        fake_body(rq);
        fake_reply(rq, 200, "ETag: \"e1\"\r\n", "", 0);
}

START_TEST(an_address_that_is_silent_is_passed_by)
{
        struct fake *f = fake_start(accept_all, NULL);
        CLEANUP(closep) int silent = listen_silently(f);
        CLEANUP(buf_release) struct buf url = BUF_INIT;
        struct store_stats stats;

        ck_assert_int_ge(silent, 0);
        buf_addf(&url, "http://store.test:%s", strrchr(fake_url(f), ':') + 1);
        has_two = true;
        struct store *s = fake_store(f, &(struct store_config){.endpoint = url.p,
                                                               .connections = 1,
                                                               .workers = 1,
                                                               .stall_timeout_ms = 2000});
        for (int i = 0; i < 8; i++) {
                ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), 0);
                ck_assert_int_eq(store_delete_wait(s, "k"), 0); /* another connection */
        }
        store_stats(s, &stats);
        ck_assert_uint_lt(stats.retries, 16);
        store_close(s);
        fake_stop(f);
}
END_TEST

static void accept_slowly(void *arg, struct fake_req *rq)
{
        fake_unlock(rq);
        usleep(50000);
        accept_all(arg, rq);
}

/* Connections of one moment spread over all addresses: of many, some meet the silent one. */
START_TEST(connections_choose_among_all_addresses)
{
        enum { PUTS = 16 };
        struct fake *f = fake_start(accept_slowly, NULL);
        CLEANUP(closep) int silent = listen_silently(f);
        CLEANUP(buf_release) struct buf url = BUF_INIT;
        struct event e = EVENT;

        ck_assert_int_ge(silent, 0);
        buf_addf(&url, "http://store.test:%s", strrchr(fake_url(f), ':') + 1);
        has_two = true;
        struct store *s = fake_store(f, &(struct store_config){.endpoint = url.p,
                                                               .connections = PUTS,
                                                               .stall_timeout_ms = 3000});
        for (int i = 0; i < PUTS; i++)
                ck_assert_int_eq(store_delete(s, "k", event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, PUTS), 0);
        struct store_stats stats;
        store_stats(s, &stats);
        ck_assert_uint_gt(stats.retries, 0);
        ck_assert_uint_lt(stats.retries, PUTS);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- slow exchanges --- */

struct plan {
        unsigned slow; /* this request is answered as `how` says */
        void (*how)(struct fake_req *rq);
};

static void reply_object(struct fake_req *rq)
{
        unsigned long from = 0;
        const char *range = strstr(rq->head.p, "Range: bytes=");
        char headers[128];

        if (range)
                from = strtoul(range + 13, NULL, 10);
        snprintf(headers, sizeof headers, "ETag: \"v1\"\r\nContent-Range: bytes %lu-%d/%d\r\n",
                 from, SIZE - 1, SIZE);
        fake_reply(rq, range ? 206 : 200, headers, object + from, SIZE - from);
}

/* A byte now and then, for as long as it is wanted. */
static void trickle(struct fake_req *rq)
{
        static const char head[] =
                "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 200000\r\n\r\n";

        fake_unlock(rq);
        if (send(rq->fd, head, sizeof head - 1, MSG_NOSIGNAL) < 0)
                return;
        for (size_t i = 0; i < SIZE; i++) {
                if (send(rq->fd, object + i, 1, MSG_NOSIGNAL) < 1)
                        break;
                usleep(20000);
        }
        rq->close = true;
}

static void hang(struct fake_req *rq)
{
        fake_unlock(rq);
        fake_hang(rq);
}

static void answer(void *arg, struct fake_req *rq)
{
        struct plan *p = arg;

        if (rq->n == p->slow)
                p->how(rq);
        else if (!strcmp(rq->method, "GET"))
                reply_object(rq);
        else
                accept_all(NULL, rq);
}

static int take(void *arg, uint64_t at, const void *p, size_t n)
{
        bool *wrong = arg;
        *wrong |= at + n > SIZE || memcmp(p, object + at, n) != 0;
        return 0;
}

static void get_done(void *arg, int err, const struct store_got *got)
{
        (void)got;
        event_done(arg, err, NULL);
}

struct got {
        struct event e; /* stays the first field */
        bool wrong;
};

static int got_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct got *g = arg;
        return take(&g->wrong, at, p, n);
}

static int get(struct store *s)
{
        struct got g = {.e = EVENT};
        struct store_get get = {
                .key = "k", .len = SIZE, .data = got_data, .done = get_done, .arg = &g};

        int err = store_get(s, &get);
        if (!err)
                err = event_wait(&g.e, 1);
        ck_assert(!g.wrong);
        return err;
}

START_TEST(a_reply_that_trickles_is_given_up)
{
        struct plan p = {.slow = 1, .how = trickle};
        struct fake *f = fake_start(answer, &p);
        struct store *s = fake_store(f, &(struct store_config){.stall_timeout_ms = 3000});

        ck_assert_int_eq(get(s), 0);
        ck_assert_uint_eq(fake_requests(f), 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- ranges that are ignored --- */

enum { WHOLE = 20 << 20 }; /* more than is passed over before the first byte */

struct whole {
        unsigned ignored; /* so many requests, the first ones */
        size_t size;
};

static char byte_at(size_t at)
{
        return (char)(at % 251);
}

static void answer_whole(void *arg, struct fake_req *rq)
{
        struct whole *w = arg;
        const char *range = strstr(rq->head.p, "Range: bytes=");
        size_t from = range ? strtoul(range + 13, NULL, 10) : 0;
        const char *dash = range ? strchr(range, '-') : NULL;
        size_t end = dash ? strtoul(dash + 1, NULL, 10) + 1 : w->size;
        CLEANUP(freep) char *bytes = malloc(w->size);
        char headers[128];

        ck_assert_ptr_nonnull(bytes);
        for (size_t i = 0; i < w->size; i++)
                bytes[i] = byte_at(i);
        if (rq->n <= w->ignored) {
                fake_reply(rq, 200, "ETag: \"v1\"\r\n", bytes, w->size);
                return;
        }
        snprintf(headers, sizeof headers, "ETag: \"v1\"\r\nContent-Range: bytes %zu-%zu/%zu\r\n",
                 from, end - 1, w->size);
        fake_reply(rq, 206, headers, bytes + from, end - from);
}

struct piece {
        struct event e; /* stays the first field */
        uint64_t off, bytes;
        bool wrong;
};

static int piece_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct piece *g = arg;
        for (size_t i = 0; i < n; i++)
                g->wrong |= ((const char *)p)[i] != byte_at(g->off + at + i);
        g->bytes += n;
        return 0;
}

static int get_piece(struct store *s, uint64_t off, uint64_t len, uint64_t *bytes)
{
        struct piece g = {.e = EVENT, .off = off};
        struct store_get get = {.key = "k",
                                .off = off,
                                .len = len,
                                .data = piece_data,
                                .done = get_done,
                                .arg = &g};

        int err = store_get(s, &get);
        if (!err)
                err = event_wait(&g.e, 1);
        ck_assert(!g.wrong);
        *bytes = g.bytes;
        return err;
}

/* "A server MAY ignore the Range header field" (RFC 9110, section 14.2). */
START_TEST(a_range_is_taken_out_of_a_whole_object)
{
        struct whole w = {.ignored = 100, .size = SIZE};
        struct fake *f = fake_start(answer_whole, &w);
        struct store *s = fake_store(f, NULL);
        static const uint64_t at[][3] = {/* off, len, what comes */
                                         {0, 100, 100},
                                         {5000, 70000, 70000},
                                         {SIZE - 10, 10, 10},
                                         {SIZE - 10, 100, 10},
                                         {SIZE + 10, 100, 0}};
        uint64_t bytes;

        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
                ck_assert_int_eq(get_piece(s, at[i][0], at[i][1], &bytes), 0);
                ck_assert_uint_eq(bytes, at[i][2]);
        }
        ck_assert_uint_eq(fake_requests(f), sizeof at / sizeof *at);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* Too much would have to be passed over: a few tries, then an error. */
START_TEST(a_range_far_into_a_whole_object_is_asked_for_again)
{
        struct whole w = {.ignored = 1, .size = WHOLE};
        struct fake *f = fake_start(answer_whole, &w);
        struct store *s = fake_store(f, NULL);
        uint64_t bytes;

        ck_assert_int_eq(get_piece(s, WHOLE - 1000, 500, &bytes), 0);
        ck_assert_uint_eq(bytes, 500);
        ck_assert_uint_eq(fake_requests(f), 2);
        w.ignored = 100;
        ck_assert_int_eq(get_piece(s, WHOLE - 1000, 500, &bytes), -EIO);
        ck_assert_uint_eq(bytes, 0);
        ck_assert_uint_eq(fake_requests(f), 6);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* Long before the stall timeout. */
START_TEST(the_slowest_read_is_begun_again)
{
        enum { BEFORE = 40 };
        struct plan p = {.how = hang};
        struct fake *f = fake_start(answer, &p);
        struct store *s =
                fake_store(f, &(struct store_config){.workers = 1, .stall_timeout_ms = 600000});

        for (int i = 0; i < BEFORE; i++)
                ck_assert_int_eq(get(s), 0);
        unsigned before = fake_requests(f); /* a slow machine may have begun one again */
        p.slow = before + 1;
        ck_assert_int_eq(get(s), 0);
        ck_assert_uint_eq(fake_requests(f), before + 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

static void answer_upload(void *arg, struct fake_req *rq)
{
        static const char begun[] = "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                                    "</InitiateMultipartUploadResult>";

        if (strstr(rq->target, "uploads"))
                fake_reply(rq, 200, "", begun, sizeof begun - 1);
        else
                answer(arg, rq);
}

START_TEST(the_slowest_part_is_sent_again)
{
        enum { PARTS = 40 };
        struct plan p = {.how = hang};
        struct fake *f = fake_start(answer_upload, &p);
        struct store *s =
                fake_store(f, &(struct store_config){.workers = 1, .stall_timeout_ms = 600000});
        struct store_upload *up = NULL;

        ck_assert_int_eq(store_upload_create_wait(s, "k", NULL, &up), 0);
        struct store_body body = store_body_mem(object, SIZE);
        for (unsigned i = 1; i < PARTS; i++)
                ck_assert_int_eq(store_upload_part_wait(up, i, &body), 0);
        unsigned before = fake_requests(f);
        p.slow = before + 1;
        ck_assert_int_eq(store_upload_part_wait(up, PARTS, &body), 0);
        ck_assert_uint_eq(fake_requests(f), before + 2);
        ck_assert_int_eq(store_upload_abort_wait(up), 0);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

static uint64_t replies_of(unsigned operation)
{
        struct metric_status v[METRIC_STATUSES_MOST + 2];
        uint64_t n = 0;

        metric_statuses(REPLIES_store_replies, operation, v);
        for (const struct metric_status *at = v; *at->text; at++)
                n += at->n;
        return n;
}

/* The server's port is bound, and nobody listens there. */
START_TEST(a_request_that_finds_no_server_is_not_counted_as_sent)
{
        struct fake *f = fake_start(accept_all, NULL);
        CLEANUP(closep) int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(LOOPBACK)};
        socklen_t n = sizeof at;
        CLEANUP(buf_release) struct buf url = BUF_INIT;
        struct store_stats stats;

        ck_assert_int_eq(bind(bound, (struct sockaddr *)&at, n), 0);
        ck_assert_int_eq(getsockname(bound, (struct sockaddr *)&at, &n), 0);
        buf_addf(&url, "http://127.0.0.1:%u", ntohs(at.sin_port));
        struct store *s =
                fake_store(f, &(struct store_config){.endpoint = url.p, .deadline_ms = 1000});
        ck_assert_int_lt(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), 0);
        store_stats(s, &stats);
        ck_assert_uint_eq(stats.requests, 0);
        for (unsigned i = 0; i < metric_replies_table[REPLIES_store_replies].noperations; i++)
                ck_assert_uint_eq(replies_of(i), 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("transport");
        TCase *t = tcase_create("transport");

        for (size_t i = 0; i < SIZE; i++)
                object[i] = (char)(i * 2654435761U >> 13);
        tcase_add_test(t, an_address_that_is_silent_is_passed_by);
        tcase_add_test(t, connections_choose_among_all_addresses);
        tcase_add_test(t, a_reply_that_trickles_is_given_up);
        tcase_add_test(t, a_range_is_taken_out_of_a_whole_object);
        tcase_add_test(t, a_range_far_into_a_whole_object_is_asked_for_again);
        tcase_add_test(t, the_slowest_read_is_begun_again);
        tcase_add_test(t, the_slowest_part_is_sent_again);
        tcase_add_test(t, a_request_that_finds_no_server_is_not_counted_as_sent);
        suite_add_tcase(s, t);
        return unit_main(s);
}
