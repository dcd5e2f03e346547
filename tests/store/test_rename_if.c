/* SPDX-License-Identifier: Apache-2.0 */
/* test_rename_if.c: renames of one version to a name that nothing may have. A server says
 * "precondition failed" of both conditions, and the source may change after it was looked at. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

struct race {
        bool changed, gone; /* the source, by the time of the rename */
        bool taken;         /* the target */
        bool too_long;      /* its name */
        int err;
        unsigned renames, heads; /* heads of the source */
};

static const struct race races[] = {
        {.changed = true, .err = -ESTALE},
        {.taken = true, .err = -EEXIST},
};

static void run(const char *url, const char *version, fake_fn *answer, struct race *r)
{
        struct store_cond absent = {.if_absent = true};
        struct event e = EVENT;
        struct fake *f = fake_start(answer, r);
        struct store *s = fake_store(
                f, &(struct store_config){.url = url, .anonymous = !strncmp(url, "gs", 2)});

        ck_assert_int_eq(store_rename(s, "a", version, "b", &absent, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), r->err);
        ck_assert_uint_eq(r->renames, 1);
        store_close(s);
        fake_stop(f);
}

/* --- Google Cloud Storage --- */

/* moveTo with ifSourceGenerationMatch and ifGenerationMatch=0 (API reference, Objects: move). */

static void reply_json(struct fake_req *rq, int status, const char *body)
{
        fake_reply(rq, status, "", body, strlen(body));
}

static void answer_gs(void *arg, struct fake_req *rq)
{
        struct race *r = arg;
        char body[100];

        if (strstr(rq->target, "/moveTo/")) {
                r->renames++;
                reply_json(rq, 412,
                           "{\"error\":{\"code\":412,\"errors\":[{\"reason\":\"conditionNotMet\"}]"
                           "}}");
        } else if (strstr(rq->target, "/o/a") && !(r->heads++ && r->gone)) {
                snprintf(body, sizeof body,
                         "{\"name\":\"a\",\"size\":\"0\",\"generation\":\"%d\",\"crc32c\":"
                         "\"AAAAAA==\"}",
                         r->changed && r->heads > 1 ? 6 : 5);
                reply_json(rq, 200, body);
        } else {
                reply_json(rq, 404, "{\"error\":{\"code\":404}}");
        }
}

START_TEST(gs_tells_a_changed_source_from_a_target_that_exists)
{
        struct race r = races[_i];

        run("gs://bucket", "5", answer_gs, &r);
}
END_TEST

START_TEST(gs_tells_a_source_that_is_gone)
{
        struct race r = {.gone = true, .err = -ENOENT};

        run("gs://bucket", "5", answer_gs, &r);
}
END_TEST

/* --- directory buckets --- */

/* x-amz-rename-source-if-match and If-None-Match (API reference, RenameObject). */

static void answer_s3(void *arg, struct fake_req *rq)
{
        static const char session[] =
                "<CreateSessionResult><Credentials><SessionToken>t</SessionToken>"
                "<SecretAccessKey>s</SecretAccessKey><AccessKeyId>a</AccessKeyId>"
                "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>";
        struct race *r = arg;

        if (strstr(rq->target, "?session")) {
                fake_reply(rq, 200, "", session, sizeof session - 1);
        } else if (strstr(rq->target, "renameObject")) {
                ck_assert(fake_has(rq, "x-amz-rename-source-if-match", "v1"));
                ck_assert(fake_has(rq, "if-none-match", "*"));
                r->renames++;
                if (r->too_long)
                        fake_error(rq, 400, "KeyTooLong");
                else
                        fake_error(rq, 412, "PreconditionFailed");
        } else if (!strcmp(rq->method, "HEAD") && r->taken) {
                fake_reply(rq, 200, "ETag: \"v1\"\r\n", "", 0); /* of the same bytes, maybe */
        } else {
                fake_reply(rq, 404, "", "", 0);
        }
}

START_TEST(a_directory_bucket_tells_a_changed_source_from_a_target_that_exists)
{
        struct race r = races[_i];

        run("s3://bucket--usw2-az1--x-s3", "v1", answer_s3, &r);
}
END_TEST

START_TEST(a_directory_bucket_tells_that_a_name_is_too_long)
{
        struct race r = {.too_long = true, .err = -ENAMETOOLONG};

        run("s3://bucket--usw2-az1--x-s3", "v1", answer_s3, &r);
}
END_TEST

/* --- directory buckets that rename nothing --- */

/* "RenameObject is only supported for objects stored in the S3 Express One Zone storage class" (API
 * reference): in a Local Zone the source is copied, on the conditions of the rename, and deleted.
 */

struct apart {
        unsigned renames, copies, deletes;
        int delete_status;
};

static void answer_apart(void *arg, struct fake_req *rq)
{
        static const char session[] =
                "<CreateSessionResult><Credentials><SessionToken>t</SessionToken>"
                "<SecretAccessKey>s</SecretAccessKey><AccessKeyId>a</AccessKeyId>"
                "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>";
        static const char copied[] = "<CopyObjectResult><ETag>\"v2\"</ETag></CopyObjectResult>";
        struct apart *a = arg;

        if (strstr(rq->target, "?session")) {
                fake_reply(rq, 200, "", session, sizeof session - 1);
        } else if (strstr(rq->target, "renameObject")) {
                a->renames++;
                fake_error(rq, 501, "NotImplemented");
        } else if (!strcmp(rq->method, "HEAD")) {
                bool source = strstr(rq->target, "/a");
                fake_reply(rq, source ? 200 : 404, source ? "ETag: \"v1\"\r\n" : "", "", 0);
        } else if (!strcmp(rq->method, "PUT") && fake_has(rq, "if-match", "")) {
                fake_error(rq, 412, "PreconditionFailed"); /* as one that honors it */
        } else if (!strcmp(rq->method, "PUT")) {
                ck_assert(fake_has(rq, "x-amz-copy-source-if-match", "\"v1\""));
                ck_assert(fake_has(rq, "if-none-match", "*"));
                a->copies++;
                fake_reply(rq, 200, "", copied, sizeof copied - 1);
        } else if (fake_has(rq, "if-match", "\"v1\"")) {
                a->deletes++;
                fake_reply(rq, a->delete_status, "", "", 0);
        } else {
                fake_error(rq, 412, "PreconditionFailed");
        }
}

static const struct {
        int delete_status, err;
} deletes[] = {
        {204, 0},
        {404, -ENOENT}, /* another host has renamed or deleted it: one of the two succeeds */
        {412, 0},       /* what another host has put there stays */
        {403, -EACCES}, /* both names are there */
};

START_TEST(a_bucket_that_renames_nothing_copies_and_deletes)
{
        struct store_cond absent = {.if_absent = true};
        struct apart a = {.delete_status = deletes[_i].delete_status};
        struct fake *f = fake_start(answer_apart, &a);
        struct store *s =
                fake_store(f, &(struct store_config){.url = "s3://bucket--lz1-az1--x-s3"});

        for (unsigned i = 1; i <= 2; i++) {
                struct event e = EVENT;
                ck_assert_int_eq(store_rename(s, "a", "\"v1\"", "b", &absent, event_done, &e), 0);
                ck_assert_int_eq(event_wait(&e, 1), deletes[_i].err);
                ck_assert_uint_eq(a.renames, 1); /* asked once */
                ck_assert_uint_eq(a.copies, i);
        }
        ck_assert_uint_ge(a.deletes, 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("rename_if");
        TCase *t = tcase_create("conditions");

        tcase_add_loop_test(t, gs_tells_a_changed_source_from_a_target_that_exists, 0, 2);
        tcase_add_test(t, gs_tells_a_source_that_is_gone);
        tcase_add_loop_test(t, a_directory_bucket_tells_a_changed_source_from_a_target_that_exists,
                            0, 2);
        tcase_add_test(t, a_directory_bucket_tells_that_a_name_is_too_long);
        tcase_add_loop_test(t, a_bucket_that_renames_nothing_copies_and_deletes, 0,
                            sizeof deletes / sizeof *deletes);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
