/* SPDX-License-Identifier: Apache-2.0 */
/* test_checksums.c: the checksums that requests of S3 bear, where servers know all, some or none,
 * or insist on one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "tests/lib/unit.h"
#include "tests/store/fake.h"

#include "base/banned.h"

static const char created[] = "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                              "</InitiateMultipartUploadResult>";
static const char done[] = "<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag>"
                           "</CompleteMultipartUploadResult>";

struct checksums {
        bool refuses;
        bool names_it; /* with 400, and the header's name in the message, as Backblaze B2 */
        unsigned with, without; /* requests that had such headers, and that had none */
};

/* As a server from before there were checksums. */
static void answer_old(void *arg, struct fake_req *rq)
{
        static const char unsupported[] =
                "<Error><Code>InvalidArgument</Code><Message>Unsupported header "
                "'x-amz-checksum-mode' received for this API call.</Message></Error>";
        struct checksums *c = arg;
        fake_body(rq);
        bool has = strcasestr(rq->head.p, "x-amz-checksum") || strstr(rq->body.p, "Checksum");

        c->with += has;
        c->without += !has;
        if (has && c->names_it)
                fake_reply(rq, 400, "", unsupported,
                           strcmp(rq->method, "HEAD") ? sizeof unsupported - 1 : 0);
        else if (has && c->refuses)
                fake_error(rq, 501, "NotImplemented");
        else if (strstr(rq->target, "?uploads"))
                fake_reply(rq, 200, "", created, sizeof created - 1);
        else if (!strcmp(rq->method, "POST"))
                fake_reply(rq, 200, "", done, sizeof done - 1);
        else
                fake_reply(rq, 200, "ETag: \"e\"\r\n", "", 0);
}

static int upload_two(struct store *s)
{
        struct store_body a = store_body_mem("aaaaa", 5), b = store_body_mem("bbbbbb", 6);
        struct store_upload *up;
        int err = store_upload_create_wait(s, "k", NULL, &up);

        if (err)
                return err;
        err = store_upload_part_wait(up, 1, &a);
        if (!err)
                err = store_upload_part_wait(up, 2, &b);
        if (!err)
                err = store_upload_complete_wait(up, NULL, NULL);
        store_upload_free(up);
        return err;
}

static int head_one(struct store *s)
{
        struct store_object obj;
        return store_head_wait(s, "k", &obj);
}

static int put_one(struct store *s)
{
        return store_put_wait(s, "k", "x", 1, NULL, NULL, NULL);
}

static const struct {
        int (*call)(struct store *s);
        unsigned requests;
} bearers[] = {{put_one, 1}, {upload_two, 4}, {head_one, 1}};

START_TEST(a_server_that_knows_no_checksums_is_found_out_and_remembered)
{
        struct checksums c = {.refuses = true};
        struct fake *f = fake_start(answer_old, &c);
        struct store *s = fake_store(f, NULL);
        /* An upload asks for either algorithm. */
        unsigned with = bearers[_i].call == upload_two ? 2 : 1;

        ck_assert_int_eq(bearers[_i].call(s), 0);
        ck_assert_uint_eq(c.with, with);
        ck_assert_int_eq(put_one(s), 0);
        ck_assert_int_eq(upload_two(s), 0);
        ck_assert_uint_eq(c.with, with);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_server_that_names_the_header_knows_no_checksums)
{
        struct checksums c = {.names_it = true};
        struct fake *f = fake_start(answer_old, &c);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(bearers[_i].call(s), 0);
        /* The reply to a head does not say why: a get asks. An upload asks for either algorithm. */
        unsigned with = bearers[_i].call == put_one ? 1 : 2;
        ck_assert_uint_eq(c.with, with);
        ck_assert_int_eq(put_one(s), 0);
        ck_assert_int_eq(upload_two(s), 0);
        ck_assert_uint_eq(c.with, with);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(checksums_are_sent_as_was_asked_for)
{
        struct checksums c = {.refuses = false};
        struct fake *f = fake_start(answer_old, &c);
        struct store *s = fake_store(f, &(struct store_config){.checksums = STORE_CHECKSUMS_NONE});
        ck_assert_int_eq(bearers[_i].call(s), 0);
        ck_assert_uint_eq(c.with, 0);
        ck_assert_uint_eq(c.without, bearers[_i].requests);
        store_close(s);
        s = fake_store(f, &(struct store_config){.checksums = STORE_CHECKSUMS_ALWAYS});
        ck_assert_int_eq(bearers[_i].call(s), 0);
        ck_assert_uint_eq(c.with, bearers[_i].requests);
        c.refuses = true;
        ck_assert_int_eq(bearers[_i].call(s), -EOPNOTSUPP);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- CRC64NVME --- */

struct r2 {
        bool takes_crc32c; /* also of an upload as a whole */
        unsigned refused, in_crc64, parts_in_crc64;
        bool completed; /* with the right checksums */
        bool damages;   /* answers with another checksum than that of what was sent */
};

static void crc64_text(const char *p, char text[13])
{
        crc64nvme_base64(crc64nvme(0, p, strlen(p)), text);
}

/* "CRC-64/NVME (CRC64NVME): FULL_OBJECT; CRC-32C (CRC32C): COMPOSITE" (R2's documentation, "S3 API
 * compatibility"). */
static void answer_r2(void *arg, struct fake_req *rq)
{
        struct r2 *r = arg;
        char whole[13], first[13], second[13];

        fake_body(rq);
        if (strstr(rq->target, "?uploads")) {
                bool crc64 = fake_has(rq, "x-amz-checksum-algorithm", "CRC64NVME");
                r->in_crc64 += crc64;
                r->refused += !crc64 && !r->takes_crc32c;
                if (crc64 || r->takes_crc32c)
                        fake_reply(rq, 200, "", created, sizeof created - 1);
                else
                        fake_error(rq, 501, "NotImplemented");
        } else if (!strcmp(rq->method, "POST")) {
                crc64_text("aaaaabbbbbb", whole);
                crc64_text("aaaaa", first);
                crc64_text("bbbbbb", second);
                r->completed = fake_has(rq, "x-amz-checksum-crc64nvme", whole) &&
                               strstr(rq->body.p, first) && strstr(rq->body.p, second);
                fake_reply(rq, 200, "", done, sizeof done - 1);
        } else {
                crc64_text(rq->body.p, first);
                r->parts_in_crc64 += fake_has(rq, "x-amz-checksum-crc64nvme", first);
                fake_reply(rq, 200,
                           r->damages ? "ETag: \"e\"\r\nx-amz-checksum-crc64nvme: AAAAAAAAAAE=\r\n"
                                      : "ETag: \"e\"\r\n",
                           "", 0);
        }
}

START_TEST(a_server_that_sums_whole_uploads_in_crc64nvme_alone_gets_that)
{
        struct r2 r = {.takes_crc32c = false};
        struct fake *f = fake_start(answer_r2, &r);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(upload_two(s), 0);
        ck_assert_int_eq(upload_two(s), 0);
        ck_assert_uint_eq(r.refused, 1); /* remembered */
        ck_assert_uint_eq(r.in_crc64, 2);
        ck_assert_uint_eq(r.parts_in_crc64, 4);
        ck_assert(r.completed);
        ck_assert_int_eq(put_one(s), 0); /* an object in one piece has CRC32C */
        ck_assert_uint_eq(r.parts_in_crc64, 4);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(crc64nvme_is_sent_where_it_was_asked_for)
{
        struct r2 r = {.takes_crc32c = true};
        struct fake *f = fake_start(answer_r2, &r);
        struct store *s =
                fake_store(f, &(struct store_config){.checksums = STORE_CHECKSUMS_CRC64NVME});

        ck_assert_int_eq(upload_two(s), 0);
        ck_assert_int_eq(put_one(s), 0);
        ck_assert_uint_eq(r.in_crc64, 1);
        ck_assert_uint_eq(r.parts_in_crc64, 3);
        ck_assert(r.completed);
        r.damages = true;
        ck_assert_int_eq(put_one(s), -EBADMSG);
        ck_assert_int_eq(upload_two(s), -EBADMSG);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* What lies in memory is not what was written. */
START_TEST(bytes_that_change_before_they_are_sent_in_crc64nvme_are_not_sent)
{
        struct r2 r = {.takes_crc32c = true};
        struct fake *f = fake_start(answer_r2, &r);
        struct store *s =
                fake_store(f, &(struct store_config){.checksums = STORE_CHECKSUMS_CRC64NVME});
        struct store_body body = store_body_mem("flipped", 7);
        struct store_upload *up;

        body.crc32c ^= 1;
        ck_assert_int_eq(store_upload_create_wait(s, "k", NULL, &up), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 1, &body), -EBADMSG);
        ck_assert_uint_eq(fake_requests(f), 1);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- when required --- */

struct locked {
        unsigned refused, with_md5, with_sums;
};

static void answer_locked(void *arg, struct fake_req *rq)
{
        static const char wants[] =
                "<Error><Code>InvalidRequest</Code><Message>Content-MD5 OR x-amz-checksum- HTTP "
                "header is required for Put Object requests with Object Lock "
                "parameters</Message></Error>";
        struct locked *l = arg;
        uint8_t sum[MD5_LEN];
        char text[28];

        fake_body(rq);
        l->with_sums += strcasestr(rq->head.p, "x-amz-checksum") != NULL;
        md5(rq->body.p, rq->body.len, sum);
        base64_encode(sum, sizeof sum, text);
        bool has = fake_has(rq, "Content-MD5", text);
        l->with_md5 += has;
        if (!strcmp(rq->method, "PUT") && !has) {
                l->refused++;
                fake_reply(rq, 400, "", wants, sizeof wants - 1);
        } else if (strstr(rq->target, "?uploads")) {
                fake_reply(rq, 200, "", created, sizeof created - 1);
        } else if (!strcmp(rq->method, "POST")) {
                fake_reply(rq, 200, "", done, sizeof done - 1);
        } else {
                fake_reply(rq, 200, "ETag: \"e\"\r\n", "", 0);
        }
}

START_TEST(a_bucket_that_asks_for_a_digest_gets_the_md5_when_required)
{
        struct locked l = {.refused = 0};
        struct fake *f = fake_start(answer_locked, &l);
        const struct store_config how = {.checksums = STORE_CHECKSUMS_WHEN_REQUIRED};
        struct store *s = fake_store(f, &how);

        ck_assert_int_eq(bearers[_i].call(s), 0);
        ck_assert_int_eq(put_one(s), 0);
        ck_assert_int_eq(upload_two(s), 0);
        ck_assert_uint_eq(l.refused, 1); /* remembered */
        ck_assert_uint_eq(l.with_sums, 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(the_environment_tells_that_checksums_are_sent_when_required)
{
        struct checksums c = {.refuses = false};
        struct fake *f = fake_start(answer_old, &c);

        setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_REQUIRED", 1);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(put_one(s), 0);
        ck_assert_uint_eq(c.with, 0);
        store_close(s);
        s = fake_store(f, &(struct store_config){.checksums = STORE_CHECKSUMS_ALWAYS});
        ck_assert_int_eq(put_one(s), 0);
        ck_assert_uint_eq(c.with, 1);
        store_close(s);
        unsetenv("AWS_REQUEST_CHECKSUM_CALCULATION");
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("checksums");
        TCase *t = tcase_create("checksums");
        const int n = sizeof bearers / sizeof *bearers;
        tcase_add_loop_test(t, a_server_that_knows_no_checksums_is_found_out_and_remembered, 0, n);
        tcase_add_loop_test(t, a_server_that_names_the_header_knows_no_checksums, 0, n);
        tcase_add_loop_test(t, checksums_are_sent_as_was_asked_for, 0, n);
        tcase_add_test(t, a_server_that_sums_whole_uploads_in_crc64nvme_alone_gets_that);
        tcase_add_test(t, crc64nvme_is_sent_where_it_was_asked_for);
        tcase_add_test(t, bytes_that_change_before_they_are_sent_in_crc64nvme_are_not_sent);
        tcase_add_loop_test(t, a_bucket_that_asks_for_a_digest_gets_the_md5_when_required, 0, n);
        tcase_add_test(t, the_environment_tells_that_checksums_are_sent_when_required);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
