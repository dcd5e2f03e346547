/* SPDX-License-Identifier: Apache-2.0 */
/* test_copy.c: copies of objects that one request cannot copy, and renames, against a server that
 * has no bytes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

#define GiB (1ULL << 30)

/* What the source is, what goes wrong, and what came. */
struct source {
        uint64_t size;
        const char *src_match; /* what the caller pins */
        unsigned bad_part;     /* answered 403 */
        bool refused;          /* the complete is, by 412 */
        bool as_object;        /* the reply to a part's copy is that to an object's */
        int err;
        bool keeps; /* the metadata */
        bool guarded;
        int tags_status;  /* of the reply that tells the source's tags; 0: the server has none */
        const char *tags; /* that the copy must be given; NULL: none */
        /* came */
        unsigned copies, heads, creates, parts, completes, aborts, wrong;
        uint64_t bytes;
};

static void copy_part(struct source *s, struct fake_req *rq)
{
        static const char done[] = "<CopyPartResult><ETag>&quot;p&quot;</ETag></CopyPartResult>";
        static const char other[] =
                "<CopyObjectResult><ETag>&quot;p&quot;</ETag></CopyObjectResult>";
        uint64_t from, to;
        const char *range = strstr(rq->head.p, "x-amz-copy-source-range: bytes=");
        const char *number = strstr(rq->target, "partNumber=");

        s->parts++;
        s->wrong += !fake_has(rq, "x-amz-copy-source", "/bucket/big") ||
                    !fake_has(rq, "x-amz-copy-source-if-match", "\"v1\"") || !range || !number ||
                    sscanf(range + 31, "%" SCNu64 "-%" SCNu64, &from, &to) != 2;
        if (!s->wrong)
                s->bytes += to - from + 1;
        if (!s->wrong && strtoul(number + 11, NULL, 10) == s->bad_part)
                fake_error(rq, 403, "AccessDenied");
        else if (s->as_object)
                fake_reply(rq, 200, "", other, sizeof other - 1);
        else
                fake_reply(rq, 200, "", done, sizeof done - 1);
}

static void answer(void *arg, struct fake_req *rq)
{
        static const char large[] =
                "<Error><Code>InvalidRequest</Code><Message>The specified copy source is larger "
                "than the maximum allowable size for a copy source: 5368709120</Message></Error>";
        static const char created[] = "<InitiateMultipartUploadResult><UploadId>u1</UploadId>"
                                      "</InitiateMultipartUploadResult>";
        static const char done[] = "<CompleteMultipartUploadResult><ETag>&quot;new-24&quot;</ETag>"
                                   "</CompleteMultipartUploadResult>";
        static const char tagging[] = "<Tagging><TagSet><Tag><Key>team</Key><Value>ml</Value></"
                                      "Tag><Tag><Key>a&amp;b</Key>"
                                      "<Value/></Tag></TagSet></Tagging>";
        struct source *s = arg;

        if (fake_probed(rq))
                return;
        if (!strcmp(rq->method, "HEAD") && strstr(rq->target, "/copy")) {
                fake_reply(rq, 404, "", "", 0);
        } else if (!strcmp(rq->method, "HEAD")) {
                s->heads++;
                fake_reply_part(rq, 200,
                                "ETag: \"v1\"\r\nx-amz-meta-mode: 33188\r\n"
                                "x-amz-storage-class: STANDARD_IA\r\n",
                                s->size, "", 0);
        } else if (strstr(rq->target, "?tagging")) {
                s->wrong += strncmp(rq->target, "/bucket/big?", 12) ||
                            fake_has(rq, "x-amz-tagging", "");
                if (s->tags_status == 200)
                        fake_reply(rq, 200, "", tagging, sizeof tagging - 1);
                else if (s->tags_status)
                        fake_error(rq, s->tags_status, "AccessDenied");
                else
                        fake_error(rq, 501, "NotImplemented");
        } else if (!strcmp(rq->method, "DELETE")) {
                s->aborts++;
                fake_reply(rq, 204, "", "", 0);
        } else if (strstr(rq->target, "?uploads")) {
                s->creates++;
                s->wrong += fake_has(rq, "x-amz-meta-mode", "33188") != s->keeps;
                s->wrong += fake_has(rq, "x-amz-storage-class", "STANDARD_IA") != s->keeps;
                s->wrong += s->tags ? !fake_has(rq, "x-amz-tagging", s->tags)
                                    : fake_has(rq, "x-amz-tagging", "");
                fake_reply(rq, 200, "", created, sizeof created - 1);
        } else if (strstr(rq->target, "partNumber=")) {
                copy_part(s, rq);
        } else if (!strcmp(rq->method, "POST")) {
                s->completes++;
                s->wrong += fake_has(rq, "If-None-Match", "*") != s->guarded;
                if (s->refused)
                        fake_error(rq, 412, "PreconditionFailed");
                else
                        fake_reply(rq, 200, "", done, sizeof done - 1);
        } else {
                s->copies++;
                fake_reply(rq, 400, "", large, sizeof large - 1);
        }
}

static const struct source sources[] = {
        {.size = 12 * GiB, .keeps = true},
        {.size = 12 * GiB, .src_match = "\"v1\""},
        {.size = 12 * GiB, .keeps = true, .guarded = true},
        {.size = 5 * GiB + 1, .keeps = true},
        {.size = GiB / 2 + 1, .keeps = true}, /* one request could, in minutes */
        {.size = 40960 * GiB, .keeps = true},
        {.size = 50000 * GiB, .keeps = true}, /* 10,000 parts of 5 GiB, the largest there is */
        {.size = 12 * GiB, .keeps = true, .src_match = "\"v0\"", .err = -ESTALE},
        {.size = 12 * GiB, .keeps = true, .bad_part = 7, .err = -EACCES},
        {.size = 12 * GiB, .keeps = true, .guarded = true, .refused = true, .err = -EEXIST},
        {.size = 0, .keeps = true, .err = -EIO},
        {.size = GiB, .keeps = true, .tags_status = 200, .tags = "team=ml&a%26b="},
        {.size = GiB, .tags_status = 200, .tags = "team=ml&a%26b="},
        {.size = GiB, .keeps = true, .tags_status = 403},
        {.size = 12 * GiB, .keeps = true, .as_object = true},
};

START_TEST(what_one_request_cannot_copy_is_copied_in_parts)
{
        struct source s = sources[_i];
        struct fake *f = fake_start(answer, &s);
        /* A copy has the tags of its source and no others. */
        struct store *st = fake_store(f, &(struct store_config){.tags = "run=7"});
        struct store_meta other = {.len = 0};
        struct store_cond cond = {.if_absent = s.guarded};
        struct event e = EVENT;

        ck_assert_int_eq(store_copy(st, "big", s.src_match, "copy", s.keeps ? NULL : &other, &cond,
                                    event_done, &e),
                         0);
        ck_assert_int_eq(event_wait(&e, 1), s.err);
        if (!s.err) {
                ck_assert_str_eq(e.obj.etag, "\"new-24\"");
                ck_assert_uint_eq(s.bytes, s.size);
                ck_assert_uint_le(s.parts, STORE_PART_MAX);
        }
        ck_assert_uint_eq(s.completes, !s.err || s.refused);
        ck_assert_uint_eq(s.aborts, s.bad_part || s.refused);
        /* an ETag that is no part-wise one may be copied at once: it is tried, where no head has to
         * tell what the copy is to keep */
        ck_assert_uint_eq(s.copies, (s.src_match && !s.keeps) || !s.size);
        ck_assert_uint_eq(s.wrong, 0);
        store_close(st);
        fake_stop(f);
}
END_TEST

START_TEST(a_store_without_renames_is_not_asked)
{
        struct source s = {.size = 1};
        struct fake *f = fake_start(answer, &s);
        struct store *st = fake_store(f, NULL);

        ck_assert_uint_eq(store_caps(st) & STORE_CAP_RENAME, 0);
        ck_assert_int_eq(store_rename(st, "a", NULL, "b", NULL, event_done, NULL), -EOPNOTSUPP);
        ck_assert_uint_eq(fake_requests(f), 0);
        store_close(st);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("copy");
        TCase *t = tcase_create("copy");
        tcase_add_loop_test(t, what_one_request_cannot_copy_is_copied_in_parts, 0,
                            sizeof sources / sizeof *sources);
        tcase_add_test(t, a_store_without_renames_is_not_asked);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
