/* SPDX-License-Identifier: Apache-2.0 */
/* test_faults.c: servers and networks that fail: what is sent again, what is not, and that no byte
 * is lost, doubled or mixed. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "tests/lib/unit.h"
#include "tests/store/fake.h"

#include "base/banned.h"

enum { SIZE = 300000 };
static char object[SIZE];

static void fill(void)
{
        for (size_t i = 0; i < SIZE; i++)
                object[i] = (char)(i * 2654435761U >> 13);
}

/* A plan: what the n-th request gets; the last word is for all that follow. */
struct plan {
        const char *words[8]; /* "ok", "reset", "hang", or "STATUS CODE" */
        unsigned bad;         /* bodies that were not what was sent */
};

static void follow(void *arg, struct fake_req *rq)
{
        struct plan *plan = arg;
        unsigned i = 0;
        while (i + 1 < rq->n && plan->words[i + 1])
                i++;
        const char *word = plan->words[i];

        if (!strcmp(word, "reset")) {
                fake_reset(rq);
        } else if (!strcmp(word, "hang")) {
                fake_hang(rq);
        } else if (!strcmp(word, "ok")) {
                fake_body(rq);
                if (rq->body.len != SIZE || memcmp(rq->body.p, object, SIZE))
                        plan->bad++;
                fake_reply(rq, 200, "ETag: \"e1\"\r\n", "", 0);
        } else {
                fake_error(rq, (int)strtol(word, NULL, 10), strchr(word, ' ') + 1);
        }
}

static const struct {
        const char *words[8];
        int err;
        unsigned requests;
} puts_[] = {
        {{"503 SlowDown", "503 SlowDown", "503 SlowDown", "503 SlowDown", "503 SlowDown", "ok"},
         0,
         6},
        {{"500 InternalError", "502 BadGateway", "504 GatewayTimeout", "429 TooManyRequests", "ok"},
         0,
         5},
        {{"400 RequestTimeout", "ok"}, 0, 2},
        {{"400 ThrottlingException", "400 Throttling", "400 RequestLimitExceeded", "ok"}, 0, 4},
        {{"400 KMS.ThrottlingException", "ok"}, 0, 2},
        {{"reset", "reset", "ok"}, 0, 3},
        {{"hang", "ok"}, 0, 2},
        {{"400 BadDigest", "400 XAmzContentChecksumMismatch", "400 InvalidDigest", "ok"}, 0, 4},
        {{"400 XAmzContentSHA256Mismatch", "503 SlowDown", "ok"}, 0, 3},
        {{"400 IncompleteBody", "ok"}, 0, 2},
        {{"400 BadDigest"}, -EBADMSG, 4},
        /* "On a 409 failure you should fetch the object's ETag and retry" (API, PutObject) */
        {{"409 ConditionalRequestConflict", "ok"}, 0, 2},
        {{"403 AccessDenied"}, -EACCES, 1},
        {{"400 InvalidArgument"}, -EIO, 1},
        {{"412 PreconditionFailed", "404 NoSuchKey"}, -ESTALE, 2}, /* a look at what is there */
        {{"507 InsufficientStorage"}, -ENOSPC, 1},
        {{"400 EntityTooLarge"}, -EFBIG, 1},
        /* once more without a checksum, and the name is looked at, by a head and by a get */
        {{"501 NotImplemented"}, -EOPNOTSUPP, 4},
        {{"404 NoSuchBucket"}, -ENOENT, 1},
};

START_TEST(a_put_is_sent_again_when_that_makes_sense)
{
        struct plan plan = {.bad = 0};
        memcpy(plan.words, puts_[_i].words, sizeof plan.words);
        struct fake *f = fake_start(follow, &plan);
        bool hangs = !strcmp(puts_[_i].words[0], "hang");
        struct store *s =
                fake_store(f, &(struct store_config){.stall_timeout_ms = hangs ? 2000 : 0});
        struct store_cond cond = {.if_match = "\"e0\""};
        struct store_object obj;
        struct store_stats stats;

        ck_assert_int_eq(store_put_wait(s, "k", object, SIZE, NULL, &cond, &obj), puts_[_i].err);
        ck_assert_uint_eq(fake_requests(f), puts_[_i].requests);
        store_stats(s, &stats);
        ck_assert_uint_eq(stats.requests, puts_[_i].requests);
        /* which is no retry */
        unsigned corrected = puts_[_i].err == -EOPNOTSUPP ? 3 : puts_[_i].err == -ESTALE;
        ck_assert_uint_eq(stats.retries, puts_[_i].requests - 1 - corrected);
        ck_assert_uint_eq(stats.errors, puts_[_i].err && puts_[_i].err != -ESTALE);
        ck_assert_uint_eq(plan.bad, 0);
        if (!puts_[_i].err) {
                ck_assert_str_eq(obj.etag, "\"e1\"");
                ck_assert_uint_eq(obj.size, SIZE);
        }
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(retries_end_with_the_deadline)
{
        struct plan plan = {.words = {"503 SlowDown"}};
        struct fake *f = fake_start(follow, &plan);
        struct store *s = fake_store(f, &(struct store_config){.deadline_ms = 4000});

        ck_assert_int_eq(store_put_wait(s, "k", object, SIZE, NULL, NULL, NULL), -ETIMEDOUT);
        ck_assert_uint_ge(fake_requests(f), 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_server_that_is_gone_is_reported)
{
        struct plan plan = {.words = {"ok"}};
        struct fake *f = fake_start(follow, &plan);
        struct store *s = fake_store(f, &(struct store_config){.deadline_ms = 500});
        fake_stop(f);
        ck_assert_int_eq(store_put_wait(s, "k", object, SIZE, NULL, NULL, NULL), -ETIMEDOUT);
        store_close(s);
}
END_TEST

/* --- gets --- */

struct get_plan {
        const char *words[8];
        unsigned wrong; /* requests that did not ask for what was missing */
        size_t sent;    /* bytes that earlier tries delivered */
        uint32_t crc;
};

static void reply_range(struct fake_req *rq, size_t from, size_t n, const char *etag, uint32_t crc)
{
        char headers[512], text[9];
        crc32c_base64(crc, text);
        int len = snprintf(headers, sizeof headers,
                           "ETag: %s\r\nx-amz-checksum-crc32c: %s\r\nx-amz-meta-mode: 0600\r\n"
                           "Last-Modified: Mon, 12 Oct 2009 17:50:30 GMT\r\n",
                           etag, text);
        if (from)
                snprintf(headers + len, sizeof headers - (size_t)len,
                         "Content-Range: bytes %zu-%d/%d\r\n", from, SIZE - 1, SIZE);
        fake_reply_part(rq, from ? 206 : 200, headers, SIZE - from, object + from, n);
}

static void follow_get(void *arg, struct fake_req *rq)
{
        struct get_plan *plan = arg;
        unsigned i = 0;
        char range[64];
        while (i + 1 < rq->n && plan->words[i + 1])
                i++;
        const char *word = plan->words[i];

        snprintf(range, sizeof range, "bytes=%zu-\r\n", plan->sent);
        if (plan->sent && (!fake_has(rq, "Range", range) || !fake_has(rq, "If-Match", "\"v1\"")))
                plan->wrong++;
        if (!strcmp(word, "ok")) {
                reply_range(rq, plan->sent, SIZE - plan->sent, "\"v1\"", plan->crc);
        } else if (!strcmp(word, "short")) {
                reply_range(rq, plan->sent, 100000, "\"v1\"", plan->crc);
                plan->sent += 100000;
        } else if (!strcmp(word, "other")) {
                reply_range(rq, plan->sent, SIZE - plan->sent, "\"v2\"", plan->crc);
        } else if (!strcmp(word, "reset")) {
                fake_reset(rq);
        } else if (!strcmp(word, "all")) { /* the range is ignored */
                reply_range(rq, 0, SIZE, "\"v1\"", plan->crc);
        } else {
                fake_error(rq, (int)strtol(word, NULL, 10), strchr(word, ' ') + 1);
        }
}

struct sink {
        pthread_mutex_t mtx;
        pthread_cond_t cond;
        bool over;
        int err, stop;
        uint64_t next;
        bool wrong;
        struct store_got got;
};

static int sink_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct sink *sink = arg;
        if (at != sink->next || at + n > SIZE || memcmp(p, object + at, n))
                sink->wrong = true;
        sink->next = at + n;
        return sink->stop;
}

static void sink_done(void *arg, int err, const struct store_got *got)
{
        struct sink *sink = arg;
        pthread_mutex_lock(&sink->mtx);
        sink->over = true;
        sink->err = err;
        if (got)
                sink->got = *got;
        pthread_cond_signal(&sink->cond);
        pthread_mutex_unlock(&sink->mtx);
}

static int get_from(struct store *s, uint64_t off, struct sink *sink)
{
        struct store_get get = {.key = "k",
                                .off = off,
                                .len = UINT64_MAX,
                                .data = sink_data,
                                .done = sink_done,
                                .arg = sink};
        int err = store_get(s, &get);
        if (err)
                return err;
        pthread_mutex_lock(&sink->mtx);
        while (!sink->over)
                pthread_cond_wait(&sink->cond, &sink->mtx);
        pthread_mutex_unlock(&sink->mtx);
        return sink->err;
}
#define SINK                                                                                       \
        {                                                                                          \
                .mtx = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER                 \
        }

static const struct {
        const char *words[8];
        int err;
        bool bad_crc;
} gets[] = {
        {{"ok"}, 0, false},
        {{"short", "ok"}, 0, false},
        {{"short", "reset", "503 SlowDown", "short", "ok"}, 0, false},
        {{"short", "412 PreconditionFailed"}, -ESTALE, false},
        {{"short", "other"}, -ESTALE, false},
        {{"short", "404 NoSuchKey"}, -ENOENT, false},
        {{"short", "all"}, 0, false},
        {{"404 NoSuchKey"}, -ENOENT, false},
        {{"ok"}, -EBADMSG, true},
};

START_TEST(a_get_gives_each_byte_once_or_an_error)
{
        struct get_plan plan = {.crc = crc32c(0, object, SIZE) ^ gets[_i].bad_crc};
        memcpy(plan.words, gets[_i].words, sizeof plan.words);
        struct fake *f = fake_start(follow_get, &plan);
        struct store *s = fake_store(f, NULL);
        struct sink sink = SINK;

        ck_assert_int_eq(get_from(s, 0, &sink), gets[_i].err);
        ck_assert(!sink.wrong);
        ck_assert_uint_eq(plan.wrong, 0);
        if (!gets[_i].err) {
                ck_assert_uint_eq(sink.got.bytes, SIZE);
                ck_assert_uint_eq(sink.got.crc32c, plan.crc);
                ck_assert_uint_eq(sink.got.obj.size, SIZE);
                ck_assert_str_eq(sink.got.obj.etag, "\"v1\"");
                ck_assert_str_eq(store_meta_get(&sink.got.obj.meta, "mode"), "0600");
                ck_assert_int_eq(sink.got.obj.mtime_ns, 1255369830LL * 1000000000);
        }
        store_close(s);
        fake_stop(f);
}
END_TEST

/* The first reply, which ignores the range, is cut before the first byte that was asked for. */
static void cut_and_deny(void *arg, struct fake_req *rq)
{
        (void)arg;
        if (rq->n > 1)
                fake_error(rq, 416, "InvalidRange");
        else
                reply_range(rq, 0, 1000, "\"v1\"", 0);
}

START_TEST(a_get_of_an_object_that_goes_on_is_not_ended_by_a_later_reply_that_it_does_not)
{
        struct fake *f = fake_start(cut_and_deny, NULL);
        struct store *s = fake_store(f, NULL);
        struct sink sink = SINK;

        ck_assert_int_eq(get_from(s, 2000, &sink), -EIO);
        ck_assert_uint_eq(fake_requests(f), 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_get_ends_with_what_its_callback_says)
{
        struct get_plan plan = {.words = {"ok"}};
        struct fake *f = fake_start(follow_get, &plan);
        struct store *s = fake_store(f, NULL);
        struct sink sink = SINK;
        sink.stop = -ENOBUFS;
        ck_assert_int_eq(get_from(s, 0, &sink), -ENOBUFS);
        ck_assert_uint_eq(fake_requests(f), 1);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- the queue --- */

static void hang_on_data(void *arg, struct fake_req *rq)
{
        (void)arg;
        if (strcmp(rq->method, "HEAD"))
                fake_hang(rq);
        else
                fake_reply(rq, 200, "ETag: \"h\"\r\n", "", 5);
}

struct tally {
        int canceled, other; /* atomics */
};

static void count_canceled(void *arg, int err, const struct store_object *obj)
{
        struct tally *t = arg;
        (void)obj;
        __atomic_add_fetch(err == -ECANCELED ? &t->canceled : &t->other, 1, __ATOMIC_SEQ_CST);
}

START_TEST(a_head_does_not_wait_behind_data_and_close_cancels_the_rest)
{
        enum { PUTS = 100 };
        struct fake *f = fake_start(hang_on_data, NULL);
        struct store *s = fake_store(f, &(struct store_config){.connections = 4});
        struct store_body body = store_body_mem(object, SIZE);
        struct store_object obj;
        struct tally tally = {0, 0};

        for (int i = 0; i < PUTS; i++)
                ck_assert_int_eq(store_put(s, "k", &body, NULL, NULL, count_canceled, &tally), 0);
        ck_assert_int_eq(store_head_wait(s, "h", &obj), 0);
        ck_assert_uint_eq(obj.size, 5);
        ck_assert_uint_le(fake_connections(f), 5);
        store_close(s);
        ck_assert_int_eq(tally.canceled, PUTS);
        ck_assert_int_eq(tally.other, 0);
        fake_stop(f);
}
END_TEST

static int broken_read(void *arg, uint64_t off, void *dst, size_t len)
{
        (void)arg;
        (void)off;
        memset(dst, 0, len);
        return -ENXIO;
}

START_TEST(a_body_that_cannot_be_read_ends_its_put)
{
        struct plan plan = {.words = {"ok"}};
        struct fake *f = fake_start(follow, &plan);
        struct store *s = fake_store(f, NULL);
        struct store_body body = {.read = broken_read, .len = SIZE};
        struct tally tally = {0, 0};

        ck_assert_int_eq(store_put(s, "k", &body, NULL, NULL, count_canceled, &tally), 0);
        while (!__atomic_load_n(&tally.other, __ATOMIC_SEQ_CST))
                usleep(1000);
        store_close(s);
        fake_stop(f);
}
END_TEST

static void refuse(void *arg, struct fake_req *rq)
{
        (void)arg;
        rq->body_read = true; /* not a byte of it */
        fake_error(rq, 403, "AccessDenied");
        rq->close = true;
}

START_TEST(an_early_refusal_is_understood)
{
        struct fake *f = fake_start(refuse, NULL);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(store_put_wait(s, "k", object, 1000, NULL, NULL, NULL), -EACCES);
        store_close(s);
        fake_stop(f);
}
END_TEST

static const char *const cuts[] = {
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nETag: \"e1\"\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nETag: \"e1\"\r\nx-amz-meta-mo",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nETag: \"e1\"\r\nx-amz-meta-mode: 3",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n",
};

/* The first reply ends in good order within its headers. */
static void cut_the_first(void *arg, struct fake_req *rq)
{
        const char *cut = *(const char *const *)arg;

        if (rq->n > 1) {
                fake_reply(rq, 200, "ETag: \"e1\"\r\nx-amz-meta-mode: 33188\r\n", object, 7);
                return;
        }
        ck_assert_int_eq(send(rq->fd, cut, strlen(cut), MSG_NOSIGNAL), strlen(cut));
        rq->close = true;
}

START_TEST(headers_that_are_cut_are_asked_for_again)
{
        const char *cut = cuts[_i];
        struct fake *f = fake_start(cut_the_first, &cut);
        struct store *s = fake_store(f, NULL);
        struct store_object obj = {0};

        ck_assert_int_eq(store_head_wait(s, "k", &obj), 0);
        ck_assert_uint_eq(fake_requests(f), 2);
        ck_assert_uint_eq(obj.size, 7);
        ck_assert_str_eq(obj.etag, "\"e1\"");
        ck_assert_str_eq(store_meta_get(&obj.meta, "mode"), "33188");
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("faults");
        TCase *t = tcase_create("faults");
        fill();
        tcase_add_loop_test(t, a_put_is_sent_again_when_that_makes_sense, 0,
                            sizeof puts_ / sizeof *puts_);
        tcase_add_test(t, retries_end_with_the_deadline);
        tcase_add_test(t, a_server_that_is_gone_is_reported);
        tcase_add_loop_test(t, a_get_gives_each_byte_once_or_an_error, 0,
                            sizeof gets / sizeof *gets);
        tcase_add_test(
                t, a_get_of_an_object_that_goes_on_is_not_ended_by_a_later_reply_that_it_does_not);
        tcase_add_test(t, a_get_ends_with_what_its_callback_says);
        tcase_add_test(t, a_head_does_not_wait_behind_data_and_close_cancels_the_rest);
        tcase_add_test(t, a_body_that_cannot_be_read_ends_its_put);
        tcase_add_test(t, an_early_refusal_is_understood);
        tcase_add_loop_test(t, headers_that_are_cut_are_asked_for_again, 0,
                            sizeof cuts / sizeof *cuts);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
