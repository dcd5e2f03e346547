/* SPDX-License-Identifier: Apache-2.0 */
/* test_append.c: appends to an object of a directory bucket, at servers that know them, refuse
 * them, or take the new bytes for the whole object.
 *
 * The vendor's rules are those of PutObject in the API reference and of "Appending data to objects
 * in directory buckets" in the user guide; tests/bench/sim_append.sh has them all. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

enum mind { HONORS, IGNORES, REFUSES, REFUSES_400 };

struct server {
        enum mind mind;
        char bytes[64]; /* of the object */
        unsigned version;
        const char *meta; /* a header of its head; NULL: none */
        bool no_sum, sum64;
        const char *refusal;  /* code of what the append of a server that knows it gets */
        unsigned lose;        /* the reply to the append of that number is lost */
        unsigned drop;        /* that append never came */
        const char *others;   /* what another host adds then */
        const char *says;     /* the size that it says to have made */
        bool probe;           /* an object is at the name that was tried */
        unsigned heads, puts; /* of the object; */
        unsigned tries;       /* of another name */
};

static void session(struct fake_req *rq)
{
        static const char xml[] =
                "<CreateSessionResult><Credentials><SessionToken>t</SessionToken>"
                "<SecretAccessKey>s</SecretAccessKey><AccessKeyId>a</AccessKeyId>"
                "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>";
        fake_reply(rq, 200, "", xml, sizeof xml - 1);
}

static void head(struct server *sv, struct fake_req *rq)
{
        char headers[400], sum[13];
        size_t n = strlen(sv->bytes);

        sv->heads++;
        if (sv->sum64)
                crc64nvme_base64(crc64nvme(0, sv->bytes, n), sum);
        else
                crc32c_base64(crc32c(0, sv->bytes, n), sum);
        snprintf(headers, sizeof headers, "ETag: \"v%u\"\r\n%s%s%s%s%s%s", sv->version,
                 sv->no_sum ? "" : "x-amz-checksum-type: FULL_OBJECT\r\nx-amz-checksum-",
                 sv->no_sum  ? ""
                 : sv->sum64 ? "crc64nvme: "
                             : "crc32c: ",
                 sv->no_sum ? "" : sum, sv->no_sum ? "" : "\r\n", sv->meta ? sv->meta : "",
                 sv->meta ? "\r\n" : "");
        fake_reply_part(rq, 200, headers, n, "", 0);
}

static void add(struct server *sv, const char *p, size_t n)
{
        size_t at = sv->mind == IGNORES ? 0 : strlen(sv->bytes);

        ck_assert_uint_lt(at + n, sizeof sv->bytes);
        memcpy(sv->bytes + at, p, n);
        sv->bytes[at + n] = '\0';
        sv->version++;
}

/* A put at the name where nothing is. */
static void tried(struct server *sv, struct fake_req *rq)
{
        ck_assert(fake_has(rq, "x-amz-write-offset-bytes", "1"));
        sv->tries++;
        sv->probe = sv->mind == IGNORES;
        if (sv->mind == HONORS)
                fake_error(rq, 400, "InvalidWriteOffset");
        else if (sv->mind != IGNORES)
                fake_error(rq, sv->mind == REFUSES ? 501 : 400,
                           sv->mind == REFUSES ? "NotImplemented" : "InvalidArgument");
        else
                fake_reply(rq, 200, "ETag: \"p\"\r\n", "", 0);
}

static void put(struct server *sv, struct fake_req *rq)
{
        char offset[24], headers[128], etag[16];

        sv->puts++;
        ck_assert(!fake_has(rq, "x-amz-meta-", "")); /* "Cannot specify both" */
        ck_assert_int_eq(fake_has(rq, "x-amz-checksum-crc64nvme", ""), sv->sum64);
        ck_assert(fake_body(rq));
        snprintf(offset, sizeof offset, "%zu", strlen(sv->bytes));
        snprintf(etag, sizeof etag, "\"v%u\"", sv->version);
        if (sv->refusal) {
                fake_error(rq, 400, sv->refusal);
        } else if (sv->puts == sv->drop) {
                if (sv->others)
                        add(sv, sv->others, strlen(sv->others));
                fake_reset(rq);
        } else if (!fake_has(rq, "If-Match", etag)) {
                fake_error(rq, 412, "PreconditionFailed");
        } else if (!fake_has(rq, "x-amz-write-offset-bytes", offset)) {
                fake_error(rq, 400, "InvalidWriteOffset");
        } else {
                add(sv, rq->body.p, rq->body.len);
                snprintf(headers, sizeof headers, "ETag: \"v%u\"\r\nx-amz-object-size: %s\r\n",
                         sv->version, sv->says ? sv->says : "11");
                if (sv->puts == sv->lose)
                        fake_reset(rq);
                else
                        fake_reply(rq, 200, headers, "", 0);
        }
}

static void answer(void *arg, struct fake_req *rq)
{
        struct server *sv = arg;
        bool ours = strstr(rq->target, ".ckptfs/append");

        if (strstr(rq->target, "session")) {
                session(rq);
        } else if (!strcmp(rq->method, "HEAD")) {
                head(sv, rq);
        } else if (!strcmp(rq->method, "DELETE")) {
                ck_assert(ours);
                sv->probe = false;
                fake_reply(rq, 204, "", "", 0);
        } else if (ours) {
                tried(sv, rq);
        } else {
                put(sv, rq);
        }
}

static int append(struct store *s, const char *match, struct event *e)
{
        static const struct event fresh = EVENT;
        const struct store_body body = store_body_mem("world", 5);
        struct store_meta meta = {.len = 0};

        *e = fresh;
        ck_assert_int_eq(store_meta_add(&meta, "mode", "33188"), 0);
        int err = store_append(s, "k", match, 6, &body, &meta, event_done, e);
        return err ? err : event_wait(e, 1);
}

#define MODE "x-amz-meta-mode: 33188"
#define SERVER_OF(mind_, version_, meta_, ...)                                                     \
        {                                                                                          \
                .mind = mind_, .bytes = "hello ", .version = version_, .meta = meta_, __VA_ARGS__  \
        }
#define SERVER(mind_, ...) SERVER_OF(mind_, 1, MODE, __VA_ARGS__)
static const struct {
        const char *why;
        struct server server;
        int err;
        const char *bytes; /* that stand then */
        unsigned heads, tries, puts;
        bool can; /* it is known then */
} cases[] = {
        {"knows it", SERVER(HONORS, .lose = 0), 0, "hello world", 1, 1, 1, true},
        {"has CRC64NVME", SERVER(HONORS, .sum64 = true), 0, "hello world", 1, 1, 1, true},
        {"would replace the object", SERVER(IGNORES, .lose = 0), -EOPNOTSUPP, "hello ", 1, 1, 0,
         false},
        {"refuses the header", SERVER(REFUSES, .lose = 0), -EOPNOTSUPP, "hello ", 1, 1, 0, false},
        {"does not know the header", SERVER(REFUSES_400, .lose = 0), -EOPNOTSUPP, "hello ", 1, 1, 0,
         false},
        {"has another version", SERVER_OF(HONORS, 2, MODE, .lose = 0), -ESTALE, "hello ", 1, 0, 0,
         true},
        {"has no checksum", SERVER(HONORS, .no_sum = true), -EOPNOTSUPP, "hello ", 1, 0, 0, true},
        {"has other metadata", SERVER_OF(HONORS, 1, "x-amz-meta-mode: 1", .lose = 0), -EOPNOTSUPP,
         "hello ", 1, 0, 0, true},
        {"has more metadata", SERVER_OF(HONORS, 1, MODE "\r\nx-amz-meta-mtime: 1", .lose = 0),
         -EOPNOTSUPP, "hello ", 1, 0, 0, true},
        {"has no metadata", SERVER_OF(HONORS, 1, NULL, .lose = 0), -EOPNOTSUPP, "hello ", 1, 0, 0,
         true},
        {"has too many parts", SERVER(HONORS, .refusal = "TooManyParts"), -EOPNOTSUPP, "hello ", 1,
         1, 1, true},
        {"wants another checksum", SERVER(HONORS, .refusal = "InvalidRequest"), -EOPNOTSUPP,
         "hello ", 1, 1, 1, true},
        {"has got longer", SERVER(HONORS, .refusal = "InvalidWriteOffset"), -ESTALE, "hello ", 1, 1,
         1, true},
        /* lost replies, and requests */
        {"loses the reply", SERVER(HONORS, .lose = 1), 0, "hello world", 2, 1, 2, true},
        {"loses the request", SERVER(HONORS, .drop = 1), 0, "hello world", 1, 1, 2, true},
        {"loses the request, and has another's as long",
         SERVER(HONORS, .drop = 1, .others = "moon!"), -ESTALE, "hello moon!", 2, 1, 2, true},
        {"says another size", SERVER(HONORS, .says = "12"), -EBADMSG, "hello world", 1, 1, 1, true},
};

START_TEST(an_append_adds_or_leaves_the_object_as_it_is)
{
        const struct store_config cfg = {.url = "s3://dir--az1--x-s3"};
        struct server sv = cases[_i].server;
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, &cfg);
        const char *why = cases[_i].why;
        struct event e;

        ck_assert_uint_ne(store_caps(s) & STORE_CAP_APPEND, 0);
        int err = append(s, "\"v1\"", &e);
        ck_assert_msg(err == cases[_i].err, "a server that %s: error %d", why, err);
        ck_assert_int_eq(!!(store_caps(s) & STORE_CAP_APPEND), cases[_i].can);
        store_close(s);
        fake_stop(f); /* from here on the server does nothing */
        ck_assert_msg(!strcmp(sv.bytes, cases[_i].bytes), "a server that %s: %s", why, sv.bytes);
        ck_assert_msg(sv.heads == cases[_i].heads && sv.tries == cases[_i].tries &&
                              sv.puts == cases[_i].puts,
                      "a server that %s: %u heads, %u tries, %u puts", why, sv.heads, sv.tries,
                      sv.puts);
        ck_assert_msg(!sv.probe, "a server that %s: an object is left", why);
        if (!err) {
                ck_assert_uint_eq(e.obj.size, 11);
                ck_assert_str_eq(e.obj.etag, "\"v2\"");
        }
}
END_TEST

START_TEST(what_was_found_out_is_not_asked_again)
{
        const struct store_config cfg = {.url = "s3://dir--az1--x-s3"};
        struct server sv = SERVER((enum mind)_i, .lose = 0);
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, &cfg);
        struct event e;

        int first = append(s, "\"v1\"", &e);
        snprintf(sv.bytes, sizeof sv.bytes, "hello ");
        sv.version = 1;
        ck_assert_int_eq(append(s, "\"v1\"", &e), first);
        ck_assert_uint_eq(sv.tries, 1);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(no_other_bucket_has_an_append)
{
        struct server sv = SERVER(HONORS, .lose = 0);
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);
        struct event e;

        ck_assert_uint_eq(store_caps(s) & STORE_CAP_APPEND, 0);
        ck_assert_int_eq(append(s, "\"v1\"", &e), -EOPNOTSUPP);
        ck_assert_uint_eq(fake_requests(f), 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("append");
        TCase *t = tcase_create("append");
        tcase_add_loop_test(t, an_append_adds_or_leaves_the_object_as_it_is, 0,
                            sizeof cases / sizeof *cases);
        tcase_add_loop_test(t, what_was_found_out_is_not_asked_again, HONORS, REFUSES_400 + 1);
        tcase_add_test(t, no_other_bucket_has_an_append);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
