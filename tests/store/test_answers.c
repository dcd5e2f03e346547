/* SPDX-License-Identifier: Apache-2.0 */
/* test_answers.c: what a server says and libstore understands: another region, another time,
 * refusals explained, listings in every form, bodies that are not what they should be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

/* --- the region --- */

struct region {
        int form;
        unsigned wrong;
};

static void answer_region(void *arg, struct fake_req *rq)
{
        static const char malformed[] = "<Error><Code>AuthorizationHeaderMalformed</"
                                        "Code><Message>the region 'us-east-1' is "
                                        "wrong</Message><Region>eu-west-1</Region></Error>";
        struct region *r = arg;
        if (strstr(rq->head.p, "/eu-west-1/s3/aws4_request")) {
                fake_reply(rq, 200, "ETag: \"e\"\r\n", "", 0);
                return;
        }
        r->wrong++;
        if (r->form == 0)
                fake_reply(rq, 301, "x-amz-bucket-region: eu-west-1\r\n", "", 0);
        else if (r->form == 1)
                fake_reply(rq, 400, "", malformed, sizeof malformed - 1);
        else
                fake_reply(rq, 301, "x-amz-bucket-region: us-east-1\r\n", "", 0);
}

START_TEST(the_region_that_the_store_names_is_followed_and_remembered)
{
        struct region r = {.form = _i};
        struct fake *f = fake_start(answer_region, &r);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), 0);
        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), 0);
        ck_assert_uint_eq(r.wrong, 1);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_region_that_leads_nowhere_is_an_error)
{
        struct region r = {.form = 2};
        char why[512];
        struct fake *f = fake_start(answer_region, &r);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), -EIO);
        ck_assert_uint_eq(r.wrong, 1);
        ck_assert_int_eq(store_check(s, why, sizeof why), -EIO);
        ck_assert_ptr_nonnull(strstr(why, "set region"));
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- the clock --- */

static void answer_clock(void *arg, struct fake_req *rq)
{
        static const char skewed[] = "<Error><Code>RequestTimeTooSkewed</Code></Error>";
        char headers[100], day[20];
        struct tm tm;
        time_t now = time(NULL) + 3 * 86400;
        (void)arg;

        gmtime_r(&now, &tm);
        strftime(day, sizeof day, "%Y%m%d", &tm);
        strftime(headers, sizeof headers, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
        if (fake_has(rq, "x-amz-date", day))
                fake_reply(rq, 200, "ETag: \"e\"\r\n", "", 0);
        else
                fake_reply(rq, 403, headers, skewed, sizeof skewed - 1);
}

START_TEST(the_time_of_the_server_is_taken)
{
        struct fake *f = fake_start(answer_clock, NULL);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), 0);
        ck_assert_int_eq(store_put_wait(s, "k", "x", 1, NULL, NULL, NULL), 0);
        ck_assert_uint_eq(fake_requests(f), 3);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- the check --- */

static void answer_code(void *arg, struct fake_req *rq)
{
        const char *word = arg;
        const char *text = strchr(word, '\t'); /* a body of its own */
        if (!strcmp(word, "hang"))
                fake_hang(rq);
        else if (text)
                fake_reply(rq, (int)strtol(word, NULL, 10), "", text + 1, strlen(text + 1));
        else
                fake_error(rq, (int)strtol(word, NULL, 10), strchr(word, ' ') + 1);
}

static const struct {
        const char *word;
        int err;
        const char *cause, *remedy;
} checks[] = {
        {"404 NoSuchBucket", -ENOENT, "bucket bucket does not exist", "create it"},
        {"403 InvalidAccessKeyId", -EACCES, "does not know the access key", "AWS_ACCESS_KEY_ID"},
        {"403 SignatureDoesNotMatch", -EACCES, "signature", "AWS_SECRET_ACCESS_KEY"},
        {"403 AccessDenied", -EACCES, "denied", "allow these credentials"},
        {"503 SlowDown", -ETIMEDOUT, "503 SlowDown", "server's log"},
        {"hang", -ETIMEDOUT, "too few bytes moved", "endpoint"},
        {"200\t<!DOCTYPE html><html>Welcome</html>", -EIO, "answers 200, and not as S3 does",
         "correct endpoint"},
        {"404\tno page here\nat all", -ENOENT, "answers 404 no page here, and not as S3 does",
         "correct endpoint"},
        {"400\tClient sent an HTTP request to an HTTPS server.\n", -EIO, "400 Client sent",
         "give https:// in endpoint"},
};

START_TEST(a_check_tells_cause_and_remedy)
{
        char why[512];
        struct fake *f = fake_start(answer_code, (void *)(uintptr_t)checks[_i].word);
        struct store_config cfg = {.stall_timeout_ms = strcmp(checks[_i].word, "hang") ? 0 : 300,
                                   .deadline_ms = checks[_i].err == -ETIMEDOUT ? 2000 : 0};
        struct store *s = fake_store(f, &cfg);
        ck_assert_int_eq(store_check(s, why, sizeof why), checks[_i].err);
        ck_assert_msg(strstr(why, checks[_i].cause) && strstr(why, checks[_i].remedy), "%s", why);
        ck_assert_ptr_null(strchr(why, '\n'));
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_check_of_a_server_that_is_not_there_fails_fast)
{
        char why[512];
        struct fake *f = fake_start(answer_code, NULL);
        struct store *s = fake_store(f, NULL);
        fake_stop(f);
        ck_assert_int_eq(store_check(s, why, sizeof why), -ECONNREFUSED);
        ck_assert_msg(strstr(why, "start the server") != NULL, "%s", why);
        store_close(s);
}
END_TEST

START_TEST(a_check_of_a_host_that_is_not_there_says_so)
{
        char why[512];
        struct store *s =
                fake_store(NULL, &(struct store_config){.endpoint = "http://no.such.invalid"});
        ck_assert_int_eq(store_check(s, why, sizeof why), -EHOSTUNREACH);
        ck_assert_msg(strstr(why, "host unknown") != NULL, "%s", why);
        store_close(s);
}
END_TEST

START_TEST(a_store_without_credentials_says_so)
{
        char why[512];
        struct fake *f = fake_start(answer_code, NULL);
        struct store *s = fake_store(f, NULL);
        struct store_object obj;
        store_close(s);
        unsetenv("AWS_ACCESS_KEY_ID");
        unsetenv("AWS_SECRET_ACCESS_KEY");
        struct store_config cfg = {.url = "s3://bucket", .endpoint = fake_url(f)};
        ck_assert_int_eq(store_open(&cfg, &s, why, sizeof why), 0);
        ck_assert_int_eq(store_check(s, why, sizeof why), -EACCES);
        ck_assert_msg(strstr(why, "AWS_ACCESS_KEY_ID") != NULL, "%s", why);
        ck_assert_int_eq(store_head_wait(s, "k", &obj), -EACCES);
        ck_assert_uint_eq(fake_requests(f), 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

static const struct store_config bad_configs[] = {
        {.url = "bucket"},
        {.url = "s3://"},
        {.url = "file:///tmp"},
        {.url = "s3://b", .endpoint = "127.0.0.1:9000"},
        {.url = "s3://b", .endpoint = "http://host/path?query"},
        {.url = "s3://b", .endpoint = "ftp://host"},
        {.url = "s3://b", .region = "a/b"},
        {.url = "s3://b", .ca_bundle = "/nonexistent.pem"},
        {.url = "s3://b", .profile = "no-such-profile"},
};

START_TEST(a_bad_config_is_refused_with_one_line)
{
        struct store *s;
        char why[512] = "";
        ck_assert_int_lt(store_open(&bad_configs[_i], &s, why, sizeof why), 0);
        ck_assert_uint_gt(strlen(why), 10);
        ck_assert_ptr_null(strchr(why, '\n'));
}
END_TEST

/* --- bodies --- */

struct listing {
        const char *pages[3];
        char seen[1000];
};

static void answer_list(void *arg, struct fake_req *rq)
{
        struct listing *l = arg;
        const char *page = l->pages[rq->n - 1];
        fake_reply(rq, 200, "", page, strlen(page));
}

static void see(void *arg, const struct store_entry *e)
{
        struct listing *l = arg;
        size_t n = strlen(l->seen);
        snprintf(l->seen + n, sizeof l->seen - n, "[%s%s %llu]", e->key, e->is_prefix ? " dir" : "",
                 (unsigned long long)e->size);
}

START_TEST(a_page_is_decoded_sorted_and_stripped)
{
        struct listing l = {
                .pages = {"<?xml version=\"1.0\"?><ListBucketResult "
                          "xmlns=\"urn:s3\"><Name>bucket</Name>"
                          "<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
                          "<NextContinuationToken>to/k+en=</NextContinuationToken>"
                          "<Contents><Key>p/</Key><Size>0</Size></Contents>"
                          "<Contents><Key>p/a%0Ab+c%2Bd</Key><Size>7</Size></Contents>"
                          "<Contents><Key>p/bad%zz</Key><Size>7</Size></Contents>"
                          "<Contents><Key>p/z</Key><Size>18446744073709551615</Size></Contents>"
                          "<CommonPrefixes><Prefix>p/m%C3%BC/</Prefix></CommonPrefixes>"
                          "</ListBucketResult>"}};
        struct fake *f = fake_start(answer_list, &l);
        struct store *s = fake_store(f, &(struct store_config){.url = "s3://bucket//p//"});
        struct store_list list = {.prefix = "", .delim = "/"};
        CLEANUP(freep) char *next = NULL;

        ck_assert_int_eq(store_list_wait(s, &list, see, &l, &next), 0);
        ck_assert_str_eq(l.seen, "[a\nb c+d 7][bad%zz 7][m\xc3\xbc/ dir 0][z 9223372036854775807]");
        ck_assert_str_eq(next, "to/k+en=");
        store_close(s);
        fake_stop(f);
}
END_TEST

static const struct {
        struct listing l;
        unsigned least;
        int err;
        const char *seen;
} short_pages[] = {
        {{{"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1"
           "</NextContinuationToken></ListBucketResult>",
           "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>2"
           "</NextContinuationToken></ListBucketResult>",
           "<ListBucketResult><Contents><Key>p/a</Key><Size>1</Size></Contents>"
           "</ListBucketResult>"},
          ""},
         0,
         0,
         "[a 1]"},
        {{{"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1"
           "</NextContinuationToken><Contents><Key>p/a</Key><Size>1</Size></Contents>"
           "</ListBucketResult>",
           "<ListBucketResult><Contents><Key>p/lost</Key><Size>1</Size></Contents><Cont",
           "<ListBucketResult><Contents><Key>p/b</Key><Size>2</Size></Contents>"
           "</ListBucketResult>"},
          ""},
         2,
         0,
         "[a 1][b 2]"},
        /* The store's prefix itself is no entry that anybody is told of. */
        {{{"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1"
           "</NextContinuationToken><Contents><Key>p/</Key><Size>0</Size></Contents>"
           "</ListBucketResult>",
           "<ListBucketResult><Contents><Key>p/a</Key><Size>1</Size></Contents>"
           "</ListBucketResult>"},
          ""},
         0,
         0,
         "[a 1]"},
        {{{"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1"
           "</NextContinuationToken></ListBucketResult>",
           "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>1"
           "</NextContinuationToken></ListBucketResult>"},
          ""},
         0,
         -EIO,
         ""},
        {{{"<ListBucketResult><Contents><Key>other</Key><Size>1</Size></Contents>"
           "</ListBucketResult>"},
          ""},
         0,
         -EIO,
         ""},
};

START_TEST(a_page_with_too_few_entries_is_not_all_there_is)
{
        struct listing l = short_pages[_i].l;
        struct fake *f = fake_start(answer_list, &l);
        struct store *s = fake_store(f, &(struct store_config){.url = "s3://bucket/p"});
        struct store_list list = {.prefix = "", .max = 2, .least = short_pages[_i].least};
        CLEANUP(freep) char *next = NULL;

        ck_assert_int_eq(store_list_wait(s, &list, see, &l, &next), short_pages[_i].err);
        ck_assert_str_eq(l.seen, short_pages[_i].seen);
        ck_assert_ptr_null(next);
        store_close(s);
        fake_stop(f);
}
END_TEST

static void see_uploads(void *arg, int err, size_t n, const struct store_upload_entry *v)
{
        (void)n;
        (void)v;
        event_done(arg, err, NULL);
}

static void see_parts(void *arg, int err, size_t n, const struct store_part *parts)
{
        (void)n;
        (void)parts;
        event_done(arg, err, NULL);
}

START_TEST(a_page_that_is_not_the_last_and_names_no_next_one_is_an_error)
{
        struct listing l = {.pages = {"<ListBucketResult><IsTruncated>true</IsTruncated>"
                                      "<Contents><Key>a</Key><Size>1</Size></Contents>"
                                      "</ListBucketResult>",
                                      "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated>"
                                      "<Upload><Key>a</Key><UploadId>1</UploadId></Upload>"
                                      "</ListMultipartUploadsResult>",
                                      "<ListPartsResult><IsTruncated>true</IsTruncated>"
                                      "<Part><PartNumber>1</PartNumber><Size>1</Size></Part>"
                                      "</ListPartsResult>"}};
        struct fake *f = fake_start(answer_list, &l);
        struct store *s = fake_store(f, NULL);
        struct store_list list = {.prefix = ""};
        struct store_upload *up = store_upload_open(s, "k", "u");
        struct event e = EVENT;
        char *next = NULL;

        ck_assert_int_eq(store_list_wait(s, &list, see, &l, &next), -EIO);
        ck_assert_ptr_null(next);
        ck_assert_int_eq(store_list_uploads(s, "", see_uploads, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), -EIO);
        ck_assert_int_eq(store_upload_parts(up, see_parts, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), -EIO);
        ck_assert_uint_eq(fake_requests(f), 3);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(keys_that_are_not_encoded_stay_as_they_are)
{
        struct listing l = {.pages = {"<ListBucketResult><IsTruncated>false</IsTruncated>"
                                      "<Contents><Key>a%20b+c</Key><Size>1</Size></Contents>"
                                      "</ListBucketResult>"}};
        struct fake *f = fake_start(answer_list, &l);
        struct store *s = fake_store(f, NULL);
        struct store_list list = {.prefix = ""};
        char *next = NULL;
        ck_assert_int_eq(store_list_wait(s, &list, see, &l, &next), 0);
        ck_assert_str_eq(l.seen, "[a%20b+c 1]");
        ck_assert_ptr_null(next);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_body_that_is_no_xml_is_asked_for_again)
{
        struct listing l = {.pages = {"<ListBucketResult><Contents><Key>x</Key><Size>1</Size>"
                                      "</Contents><Cont",
                                      "<html>busy",
                                      "<ListBucketResult><Contents><Key>a</Key><Size>1</Size>"
                                      "</Contents></ListBucketResult>"}};
        struct fake *f = fake_start(answer_list, &l);
        struct store *s = fake_store(f, NULL);
        struct store_list list = {.prefix = ""};
        char *next = NULL;
        ck_assert_int_eq(store_list_wait(s, &list, see, &l, &next), 0);
        ck_assert_str_eq(l.seen, "[a 1]");
        store_close(s);
        fake_stop(f);
}
END_TEST

static const struct {
        const char *body;
        int err;
} deletes[] = {
        {"<DeleteResult/>", 0},
        {"<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error></DeleteResult>", 0},
        {"<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error><Error><Key>b</Key>"
         "<Code>AccessDenied</Code></Error></DeleteResult>",
         -EACCES},
        {"<DeleteResult><Error><Key>a</Key><Code>Strange</Code></Error></DeleteResult>", -EIO},
        {"<Error><Code>MalformedXML</Code></Error>", -EIO},
};

struct one {
        const char *body;
        bool seen_body;
};

static void answer_one(void *arg, struct fake_req *rq)
{
        struct one *one = arg;
        fake_body(rq);
        one->seen_body = fake_has(rq, "Content-MD5", "") && strstr(rq->body.p, "a&amp;&lt;b") &&
                         strstr(rq->body.p, "&#");
        fake_reply(rq, 200, "", one->body, strlen(one->body));
}

static void deleted(void *arg, int err, const struct store_object *obj)
{
        int *result = arg;
        (void)obj;
        __atomic_store_n(result, err, __ATOMIC_SEQ_CST);
}

START_TEST(a_batch_tells_what_could_not_be_deleted)
{
        struct one one = {.body = deletes[_i].body};
        const char *keys[] = {"a&<b", "line\nend", "c"};
        int result = 1;
        struct fake *f = fake_start(answer_one, &one);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(store_delete_many(s, keys, NULL, 3, deleted, &result), 0);
        while (__atomic_load_n(&result, __ATOMIC_SEQ_CST) == 1)
                usleep(1000);
        ck_assert_int_eq(result, deletes[_i].err);
        ck_assert(one.seen_body);
        store_close(s);
        fake_stop(f);
}
END_TEST

static void answer_copy(void *arg, struct fake_req *rq)
{
        static const char *const bodies[] = {
                "<Error><Code>InternalError</Code></Error>",
                "<CopyObjectResult><ETag>\"c\"</ETag></CopyObjectResult>",
        };
        const char *body = bodies[rq->n > 1];
        bool *good = arg;
        *good = fake_has(rq, "x-amz-copy-source", "/bucket/a%20b/%25\r\n");
        fake_reply(rq, 200, "", body, strlen(body));
}

START_TEST(a_copy_that_answers_200_with_an_error_is_made_again)
{
        bool good = false;
        struct store_object obj;
        struct fake *f = fake_start(answer_copy, &good);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(store_copy_wait(s, "a b/%", "dst", &obj), 0);
        ck_assert_str_eq(obj.etag, "\"c\"");
        ck_assert(good);
        ck_assert_uint_eq(fake_requests(f), 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- lengths that are lies --- */

/* The chunks hold more than the range that the head names. */
static void answer_more_than_announced(void *arg, struct fake_req *rq)
{
        char reply[400];
        int n = snprintf(
                reply, sizeof reply,
                "HTTP/1.1 206 Part\r\nContent-Range: bytes 100-103/1000\r\n"
                "Transfer-Encoding: chunked\r\nETag: \"e\"\r\n\r\nc8\r\n%0200d\r\n0\r\n\r\n",
                0);
        (void)arg;

        rq->close = true;
        if (fake_body(rq))
                send(rq->fd, reply, (size_t)n, MSG_NOSIGNAL);
}

START_TEST(no_more_bytes_are_handed_on_than_were_asked_for)
{
        struct fake *f = fake_start(answer_more_than_announced, NULL);
        struct store *s = fake_store(f, &(struct store_config){.deadline_ms = 300});
        char *room = malloc(50); /* a sanitizer sees what lies behind it */

        ck_assert_ptr_nonnull(room);
        ck_assert_int_le(store_get_wait(s, "k", 100, room, 50, NULL), 50);
        free(room);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("answers");
        TCase *t = tcase_create("answers");
        tcase_add_loop_test(t, the_region_that_the_store_names_is_followed_and_remembered, 0, 2);
        tcase_add_test(t, a_region_that_leads_nowhere_is_an_error);
        tcase_add_test(t, the_time_of_the_server_is_taken);
        tcase_add_loop_test(t, a_check_tells_cause_and_remedy, 0, sizeof checks / sizeof *checks);
        tcase_add_test(t, a_check_of_a_server_that_is_not_there_fails_fast);
        tcase_add_test(t, a_check_of_a_host_that_is_not_there_says_so);
        tcase_add_test(t, a_store_without_credentials_says_so);
        tcase_add_loop_test(t, a_bad_config_is_refused_with_one_line, 0,
                            sizeof bad_configs / sizeof *bad_configs);
        tcase_add_test(t, a_page_is_decoded_sorted_and_stripped);
        tcase_add_test(t, a_page_that_is_not_the_last_and_names_no_next_one_is_an_error);
        tcase_add_test(t, keys_that_are_not_encoded_stay_as_they_are);
        tcase_add_test(t, a_body_that_is_no_xml_is_asked_for_again);
        tcase_add_loop_test(t, a_page_with_too_few_entries_is_not_all_there_is, 0,
                            sizeof short_pages / sizeof *short_pages);
        tcase_add_loop_test(t, a_batch_tells_what_could_not_be_deleted, 0,
                            sizeof deletes / sizeof *deletes);
        tcase_add_test(t, a_copy_that_answers_200_with_an_error_is_made_again);
        tcase_add_test(t, no_more_bytes_are_handed_on_than_were_asked_for);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
