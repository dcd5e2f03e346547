/* SPDX-License-Identifier: Apache-2.0 */
/* test_lost.c: changes whose answer got lost after, or before, they took effect. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

/* MD5 sums of "aaaaa" and "bbbbbb", and the ETag that S3 makes of them. */
#define ETAG_A "\"594f803b380a41396ed63dca39503542\""
#define ETAG_B "\"875f26fdb1cecf20ceb4ca028263dec6\""
/* "Objects created by [...] and are encrypted by SSE-C or SSE-KMS, have ETags that are not an MD5
 * digest of their object data" (API reference, Object), also where the bucket does it by itself. */
#define BY_KMS "\r\nx-amz-server-side-encryption: aws:kms"

/* What the server does with the first try of the change, and what it shows of the key then. */
struct lost {
        const char *method;      /* of the change */
        bool answered_200_error; /* else the first reply is lost */
        const char *second;      /* "STATUS CODE" for the second try, or "ok" */
        const char *part_etags[2];
        int head; /* status: 200 shows what follows */
        size_t size;
        const char *etag, *crc_of; /* NULL crc_of: no checksum */
        int err;
        unsigned changes, heads; /* that have come */
};

static void show(struct lost *l, struct fake_req *rq)
{
        char headers[512], crc[9] = "";
        l->heads++;
        if (l->head != 200) {
                fake_reply(rq, l->head, "", "", 0);
                return;
        }
        if (l->crc_of)
                crc32c_base64(crc32c(0, l->crc_of, strlen(l->crc_of)), crc);
        snprintf(headers, sizeof headers, "ETag: %s\r\n%s%s%s", l->etag,
                 l->crc_of ? "x-amz-checksum-crc32c: " : "", crc, l->crc_of ? "\r\n" : "");
        fake_reply_part(rq, 200, headers, l->size, "", 0);
}

static void change(struct lost *l, struct fake_req *rq)
{
        static const char ok[] = "<?xml version=\"1.0\"?>\n<CompleteMultipartUploadResult>"
                                 "<ETag>&quot;done-2&quot;</ETag>"
                                 "</CompleteMultipartUploadResult>";
        if (++l->changes == 1) {
                fake_body(rq);
                if (l->answered_200_error)
                        fake_error(rq, 200, "InternalError");
                else
                        fake_reset(rq);
        } else if (!strcmp(l->second, "ok")) {
                fake_reply(rq, 200, "ETag: \"put\"\r\n", ok, sizeof ok - 1);
        } else if (l->changes > 2) {
                fake_error(rq, 412, "PreconditionFailed");
        } else {
                fake_error(rq, (int)strtol(l->second, NULL, 10), strchr(l->second, ' ') + 1);
        }
}

/* A conflict is no answer: the change is sent once more. */
static unsigned changes_of(const struct lost *l)
{
        return 2 + !strncmp(l->second, "409", 3);
}

static void answer(void *arg, struct fake_req *rq)
{
        static const char created[] = "<InitiateMultipartUploadResult><UploadId>u&amp;1</UploadId>"
                                      "</InitiateMultipartUploadResult>";
        struct lost *l = arg;
        char headers[200];

        if (fake_probed(rq))
                return;
        if (!strcmp(rq->method, "HEAD") && !l->changes) {
                fake_reply(rq, 404, "", "", 0);
        } else if (!strcmp(rq->method, "HEAD")) {
                show(l, rq);
        } else if (strstr(rq->target, "?uploads")) {
                fake_reply(rq, 200, "", created, sizeof created - 1);
        } else if (strstr(rq->target, "partNumber=")) {
                bool first = strstr(rq->target, "partNumber=1&") != NULL;
                snprintf(headers, sizeof headers, "ETag: %s\r\n", l->part_etags[!first]);
                fake_reply(rq, 200, headers, "", 0);
        } else if (!strcmp(rq->method, l->method)) {
                change(l, rq);
        } else {
                fake_error(rq, 400, "Unexpected");
        }
}

#define PARTS                                                                                      \
        {                                                                                          \
                ETAG_A, ETAG_B                                                                     \
        }
#define JOINT "\"ed796b76125d8e0948bbdc3214165947-2\""
static const struct lost completes[] = {
        /* took effect: known by checksum, by the ETag of its parts, by size and number of parts */
        {"POST", false, "404 NoSuchUpload", PARTS, 200, 11, "\"x-2\"", "aaaaabbbbbb", 0, 0, 0},
        {"POST", true, "404 NoSuchUpload", PARTS, 200, 11, "\"x-2\"", "aaaaabbbbbb", 0, 0, 0},
        {"POST", false, "404 NoSuchUpload", PARTS, 200, 11, JOINT, NULL, 0, 0, 0},
        {"POST", false, "404 NoSuchUpload", {"\"q\"", "\"r\""}, 200, 11, "\"x-2\"", NULL, 0, 0, 0},
        {"POST", false, "404 NoSuchUpload", PARTS, 200, 11, "\"x-2\"" BY_KMS, NULL, 0, 0, 0},
        {"POST", false, "412 PreconditionFailed", PARTS, 200, 11, "\"x\"", "aaaaabbbbbb", 0, 0, 0},
        /* somebody else's object, or none */
        {"POST", false, "404 NoSuchUpload", PARTS, 200, 11, "\"x-2\"", "aaaaabbbbbc", -EIO, 0, 0},
        {"POST", false, "404 NoSuchUpload", PARTS, 200, 12, "\"x-2\"", "aaaaabbbbbb", -EIO, 0, 0},
        {"POST", false, "404 NoSuchUpload", PARTS, 200, 11, "\"x-2\"", NULL, -EIO, 0, 0},
        {"POST",
         false,
         "404 NoSuchUpload",
         {"\"q\"", "\"r\""},
         200,
         11,
         "\"x-3\"",
         NULL,
         -EIO,
         0,
         0},
        {"POST", false, "404 NoSuchUpload", PARTS, 404, 0, NULL, NULL, -EIO, 0, 0},
        {"POST", false, "412 PreconditionFailed", PARTS, 200, 9, "\"x\"", NULL, -EEXIST, 0, 0},
        {"POST", true, "200 PreconditionFailed", PARTS, 200, 9, "\"x\"", NULL, -EEXIST, 0, 0},
        {"POST", false, "409 ConditionalRequestConflict", PARTS, 200, 9, "\"x\"", NULL, -EEXIST, 0,
         0},
        /* had no effect: the second try has */
        {"POST", false, "ok", PARTS, 404, 0, NULL, NULL, 0, 0, 0},
        {"POST", true, "ok", PARTS, 404, 0, NULL, NULL, 0, 0, 0},
        {"POST", true, "200 AccessDenied", PARTS, 404, 0, NULL, NULL, -EACCES, 0, 0},
};

START_TEST(a_complete_whose_answer_was_lost_is_found_out)
{
        struct lost l = completes[_i];
        struct store_cond cond = {.if_absent = true};
        struct store_upload *up;
        struct store_object obj;
        struct store_body a = store_body_mem("aaaaa", 5), b = store_body_mem("bbbbbb", 6);
        struct fake *f = fake_start(answer, &l);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(store_upload_create_wait(s, "k", NULL, &up), 0);
        ck_assert_str_eq(store_upload_id(up), "u&1");
        ck_assert_int_eq(store_upload_part_wait(up, 7, &b), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 1, &a), 0);
        ck_assert_int_eq(store_upload_complete_wait(up, &cond, &obj), l.err);
        ck_assert_uint_eq(l.changes, changes_of(&l));
        ck_assert_uint_le(l.heads, 1);
        if (!l.err)
                ck_assert_uint_eq(obj.size, 11);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

static const struct lost conditional_puts[] = {
        {"PUT", false, "412 PreconditionFailed", PARTS, 200, 5, "\"x\"", "aaaaa", 0, 0, 0},
        {"PUT", false, "412 PreconditionFailed", PARTS, 200, 5, ETAG_A, NULL, 0, 0, 0},
        {"PUT", false, "409 ConditionalRequestConflict", PARTS, 200, 5, ETAG_A, NULL, 0, 0, 0},
        {"PUT", false, "412 PreconditionFailed", PARTS, 200, 5, ETAG_B, NULL, -EEXIST, 0, 0},
        {"PUT", false, "412 PreconditionFailed", PARTS, 200, 5, ETAG_B BY_KMS, NULL, -EEXIST, 0, 0},
        {"PUT", false, "412 PreconditionFailed", PARTS, 200, 5, "\"x\"", "aaaab", -EEXIST, 0, 0},
        {"PUT", false, "412 PreconditionFailed", PARTS, 200, 6, ETAG_A, NULL, -EEXIST, 0, 0},
        {"PUT", false, "412 PreconditionFailed", PARTS, 404, 0, NULL, NULL, -EEXIST, 0, 0},
        {"PUT", false, "ok", PARTS, 404, 0, NULL, NULL, 0, 0, 0},
};

START_TEST(a_conditional_put_whose_answer_was_lost_is_found_out)
{
        struct lost l = conditional_puts[_i];
        struct store_cond cond = {.if_absent = true};
        struct store_object obj;
        struct fake *f = fake_start(answer, &l);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(store_put_wait(s, "k", "aaaaa", 5, NULL, &cond, &obj), l.err);
        ck_assert_uint_eq(l.changes, changes_of(&l));
        store_close(s);
        fake_stop(f);
}
END_TEST

/* Another host makes the same object, with metadata of its own, while ours is on its way. */
struct race {
        const char *first; /* "STATUS CODE", or "reset": its reply is lost */
        const char *mtime; /* of the object that stands; NULL: there is no metadata */
        const char *ours;  /* NULL: we give none */
        bool by_kms;       /* it has no checksum, and an ETag that is none of its bytes */
        int err;
        unsigned puts, heads; /* that have come */
};

static void answer_race(void *arg, struct fake_req *rq)
{
        struct race *r = arg;
        char headers[200], crc[9];

        if (!strcmp(rq->method, "HEAD")) {
                r->heads++;
                crc32c_base64(crc32c(0, "aaaaa", 5), crc);
                snprintf(headers, sizeof headers, "ETag: \"x\"%s%s\r\n%s%s%s",
                         r->by_kms ? BY_KMS : "\r\nx-amz-checksum-crc32c: ", r->by_kms ? "" : crc,
                         r->mtime ? "x-amz-meta-mtime: " : "", r->mtime ? r->mtime : "",
                         r->mtime ? "\r\n" : "");
                fake_reply_part(rq, 200, headers, 5, "", 0);
        } else if (r->puts++) {
                fake_error(rq, 412, "PreconditionFailed");
        } else if (!strcmp(r->first, "reset")) {
                fake_body(rq);
                fake_reset(rq);
        } else {
                fake_error(rq, (int)strtol(r->first, NULL, 10), strchr(r->first, ' ') + 1);
        }
}

/* "If a conflicting operation occurs during the upload S3 returns a 409 ConditionalRequestConflict
 * response" (API reference, PutObject): nothing was written, so what stands is the other's,
 * whatever its bytes are. Where a try may have taken effect, metadata tells. */
static const struct race races[] = {
        {"409 ConditionalRequestConflict", NULL, NULL, false, -EEXIST, 0, 0},
        {"409 ConditionalRequestConflict", "1.000000001", "1.000000001", false, -EEXIST, 0, 0},
        {"409 OperationAborted", NULL, NULL, false, -EEXIST, 0, 0},
        {"503 SlowDown", "1.000000002", "1.000000001", false, -EEXIST, 0, 0},
        {"reset", "1.000000002", "1.000000001", false, -EEXIST, 0, 0},
        {"reset", NULL, "1.000000001", false, -EEXIST, 0, 0},
        {"500 InternalError", "1.000000002", "1.000000001", false, -EEXIST, 0, 0},
        {"reset", "1.000000001", "1.000000001", false, 0, 0, 0},
        {"500 InternalError", "1.000000001", "1.000000001", false, 0, 0, 0},
        {"reset", "1.000000001", "1.000000001", true, 0, 0, 0},
        {"reset", "1.000000002", "1.000000001", true, -EEXIST, 0, 0},
};

START_TEST(a_put_that_another_host_has_won_is_none_of_ours)
{
        struct race r = races[_i];
        struct store_cond cond = {.if_absent = true};
        struct store_meta m = {.len = 0};
        struct store_object obj;
        struct fake *f = fake_start(answer_race, &r);
        struct store *s = fake_store(f, NULL);

        if (r.ours)
                store_meta_add(&m, "mtime", r.ours);
        ck_assert_int_eq(store_put_wait(s, "k", "aaaaa", 5, &m, &cond, &obj), r.err);
        ck_assert_uint_eq(r.puts, 2);
        ck_assert_uint_eq(r.heads, *r.first != '4');
        store_close(s);
        fake_stop(f);
}
END_TEST

/* The first copy takes effect unseen, so the version it was for is gone. */
static void answer_copies(void *arg, struct fake_req *rq)
{
        const struct lost *l = arg;
        if (!strcmp(rq->method, "HEAD"))
                fake_reply_part(rq, 200, l->etag, 5, "", 0);
        else if (rq->n == 1)
                fake_reset(rq);
        else
                fake_error(rq, 412, "PreconditionFailed");
}

static const struct lost copies[] = {
        {.etag = "ETag: \"new\"\r\nx-amz-meta-mode: 33188\r\n"},
        {.etag = "ETag: \"new\"\r\nx-amz-meta-mode: 33189\r\n", .err = -ESTALE},
        {.etag = "ETag: \"new\"\r\n", .err = -ESTALE},
};

START_TEST(a_change_of_metadata_whose_answer_was_lost_is_found_out)
{
        struct lost l = copies[_i];
        struct store_meta m = {.len = 0};
        struct event e = EVENT;
        struct fake *f = fake_start(answer_copies, &l);
        struct store *s = fake_store(f, NULL);

        store_meta_add(&m, "mode", "33188");
        ck_assert_int_eq(store_set_meta(s, "k", "\"old\"", &m, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), l.err);
        if (!l.err)
                ck_assert_str_eq(e.obj.etag, "\"new\"");
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A conditional copy of "src" to "dst": the first try takes effect, unless it meets a conflict, and
 * its reply is lost. */
struct lost_copy {
        const char *first, *second; /* "STATUS CODE", "reset" or "ok" */
        const char *src, *dst;      /* headers of what a head shows */
        size_t size;                /* of the target; the source has 5 */
        const char *condition;      /* that the refusal names; NULL: none */
        bool any_version;           /* of the source */
        int err;
        unsigned copies, heads; /* that have come */
};

static void answer_copy(struct lost_copy *l, struct fake_req *rq)
{
        static const char done[] = "<CopyObjectResult><ETag>&quot;new&quot;</ETag>"
                                   "</CopyObjectResult>";
        const char *word = l->copies++ ? l->second : l->first;
        char body[256];

        if (!strcmp(word, "ok")) {
                fake_reply(rq, 200, "", done, sizeof done - 1);
                return;
        }
        if (!strcmp(word, "reset")) {
                fake_reset(rq);
                return;
        }
        int n = snprintf(body, sizeof body,
                         "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>no</Message>"
                         "<Condition>%s</Condition></Error>",
                         strchr(word, ' ') + 1, l->condition ? l->condition : "If-None-Match");
        fake_reply(rq, (int)strtol(word, NULL, 10), "", body, (size_t)n);
}

static void answer_copying(void *arg, struct fake_req *rq)
{
        static const char done[] = "<CopyObjectResult><ETag>\"t\"</ETag></CopyObjectResult>";
        struct lost_copy *l = arg;

        if (strstr(rq->target, "/teach")) {
                if (strcmp(rq->method, "HEAD") && fake_has(rq, "If-Match", ""))
                        fake_error(rq, 412, "PreconditionFailed");
                else
                        fake_reply(rq, strcmp(rq->method, "HEAD") ? 200 : 404, "", done,
                                   sizeof done - 1);
                return;
        }
        if (strcmp(rq->method, "HEAD")) {
                answer_copy(l, rq);
                return;
        }
        l->heads++;
        bool src = strstr(rq->target, "/src") != NULL;
        if (src || l->dst)
                fake_reply_part(rq, 200, src ? l->src : l->dst, src ? 5 : l->size, "", 0);
        else
                fake_reply(rq, 404, "", "", 0);
}

#define SOURCE "ETag: " ETAG_A "\r\nx-amz-meta-mode: 33188\r\n"
#define CRC    "x-amz-checksum-crc32c: AAAAAA==\r\n"
#define CRC64  "x-amz-checksum-crc64nvme: AAAAAAAAAAA=\r\n"
#define OTHER  "ETag: " ETAG_B "\r\nx-amz-meta-mode: 33188\r\n"
#define KMS    "x-amz-server-side-encryption: aws:kms\r\n"
#define FAILED "412 PreconditionFailed"
static const struct lost_copy lost_copies[] = {
        /* what stands is ours: by ETag, by checksum */
        {.first = "reset", .second = FAILED, .src = SOURCE, .dst = SOURCE, .size = 5},
        {.first = "reset",
         .second = "200 PreconditionFailed",
         .src = SOURCE,
         .dst = SOURCE,
         .size = 5},
        {.first = "reset",
         .second = FAILED,
         .src = SOURCE CRC,
         .dst = "ETag: \"x-2\"\r\nx-amz-meta-mode: 33188\r\n" CRC,
         .size = 5},
        {.first = "reset",
         .second = FAILED,
         .src = SOURCE,
         .dst = SOURCE,
         .size = 5,
         .any_version = true},
        {.first = "500 InternalError", .second = FAILED, .src = SOURCE, .dst = SOURCE, .size = 5},
        {.first = "reset", .second = FAILED, .src = SOURCE CRC64, .dst = OTHER CRC64, .size = 5},
        {.first = "reset", .second = FAILED, .src = SOURCE, .dst = OTHER KMS, .size = 5},
        {.first = "reset", .second = FAILED, .src = SOURCE KMS, .dst = OTHER KMS, .size = 5},
        /* somebody else's */
        {.first = "reset",
         .second = FAILED,
         .src = SOURCE,
         .dst = SOURCE,
         .size = 6,
         .err = -EEXIST},
        {.first = "reset",
         .second = FAILED,
         .src = SOURCE,
         .size = 5,
         .err = -EEXIST,
         .dst = "ETag: " ETAG_B "\r\nx-amz-meta-mode: 33188\r\n"},
        {.first = "reset",
         .second = FAILED,
         .src = SOURCE,
         .size = 5,
         .err = -EEXIST,
         .dst = "ETag: " ETAG_A "\r\nx-amz-meta-mode: 33189\r\n"},
        {.first = "reset", .second = FAILED, .src = SOURCE, .err = -EEXIST},
        {.first = "reset",
         .second = FAILED,
         .src = SOURCE CRC64,
         .dst = SOURCE "x-amz-checksum-crc64nvme: AAAAAAAAAAE=\r\n",
         .size = 5,
         .err = -EEXIST},
        /* refused at once, for the target or for the source */
        {.first = FAILED, .src = SOURCE, .err = -EEXIST},
        {.first = "200 PreconditionFailed", .src = SOURCE, .err = -EEXIST},
        {.first = FAILED, .src = SOURCE, .err = -ESTALE, .condition = "x-amz-copy-source-If-Match"},
        /* "On a 409 failure you should retry the upload" (API reference, CopyObject) */
        {.first = "409 ConditionalRequestConflict", .second = "ok", .src = SOURCE},
        {.first = "409 ConditionalRequestConflict",
         .second = FAILED,
         .src = SOURCE,
         .size = 9,
         .dst = SOURCE,
         .err = -EEXIST},
};

/* From here on the client knows that the server honors conditions. */
static void teach(struct store *s, struct lost_copy *l, const struct store_cond *cond)
{
        struct event e = EVENT;

        ck_assert_int_eq(store_copy(s, "src", ETAG_A, "teach", NULL, cond, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), 0);
        ck_assert_uint_ne(store_caps(s) & STORE_CAP_COPY_IF, 0);
        l->heads = 0;
}

START_TEST(a_conditional_copy_whose_answer_was_lost_is_found_out)
{
        struct lost_copy l = lost_copies[_i];
        struct store_cond cond = {.if_absent = true};
        struct event e = EVENT;
        struct fake *f = fake_start(answer_copying, &l);
        struct store *s = fake_store(f, NULL);

        teach(s, &l, &cond);
        ck_assert_int_eq(store_copy(s, "src", l.any_version ? NULL : ETAG_A, "dst", NULL, &cond,
                                    event_done, &e),
                         0);
        ck_assert_int_eq(event_wait(&e, 1), l.err);
        ck_assert_uint_eq(l.copies, 1 + (l.second != NULL));
        ck_assert_uint_le(l.heads, 2);
        if (!l.err)
                ck_assert_int_ne(*e.obj.etag, 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

static void refuse(void *arg, struct fake_req *rq)
{
        unsigned *heads = arg;
        *heads += !strcmp(rq->method, "HEAD");
        fake_error(rq, 412, "PreconditionFailed");
}

START_TEST(a_condition_that_fails_at_once_is_not_looked_into)
{
        unsigned heads = 0;
        struct store_cond cond = {.if_absent = true};
        struct fake *f = fake_start(refuse, &heads);
        struct store *s = fake_store(f, NULL);
        ck_assert_int_eq(store_put_wait(s, "k", "aaaaa", 5, NULL, &cond, NULL), -EEXIST);
        ck_assert_uint_eq(heads, 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

static void answer_gaps(void *arg, struct fake_req *rq)
{
        static const char created[] = "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                                      "</InitiateMultipartUploadResult>";
        unsigned *sent = arg;

        if (strstr(rq->target, "?uploads")) {
                fake_reply(rq, 200, "", created, sizeof created - 1);
        } else if (strstr(rq->target, "partNumber=")) {
                fake_reply(rq, 200, "ETag: \"p\"\r\n", "", 0);
        } else {
                ++*sent;
                fake_error(rq, 500, "InternalError");
        }
}

START_TEST(a_complete_with_gaps_that_is_refused_is_not_sent_again)
{
        unsigned sent = 0;
        struct store_body a = store_body_mem("aaaaa", 5);
        struct store_upload *up;
        struct fake *f = fake_start(answer_gaps, &sent);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(store_upload_create_wait(s, "k", NULL, &up), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 1, &a), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 3, &a), 0);
        ck_assert_int_eq(store_upload_complete_wait(up, NULL, NULL), -EIO);
        ck_assert_uint_eq(sent, 1);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("lost");
        TCase *t = tcase_create("lost");
        tcase_add_loop_test(t, a_complete_whose_answer_was_lost_is_found_out, 0,
                            sizeof completes / sizeof *completes);
        tcase_add_loop_test(t, a_put_that_another_host_has_won_is_none_of_ours, 0,
                            sizeof races / sizeof *races);
        tcase_add_loop_test(t, a_conditional_put_whose_answer_was_lost_is_found_out, 0,
                            sizeof conditional_puts / sizeof *conditional_puts);
        tcase_add_loop_test(t, a_change_of_metadata_whose_answer_was_lost_is_found_out, 0,
                            sizeof copies / sizeof *copies);
        tcase_add_loop_test(t, a_conditional_copy_whose_answer_was_lost_is_found_out, 0,
                            sizeof lost_copies / sizeof *lost_copies);
        tcase_add_test(t, a_complete_with_gaps_that_is_refused_is_not_sent_again);
        tcase_add_test(t, a_condition_that_fails_at_once_is_not_looked_into);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
