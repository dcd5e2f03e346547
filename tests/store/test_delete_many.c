/* SPDX-License-Identifier: Apache-2.0 */
/* test_delete_many.c: batches that delete versions, on S3 and on Google's protocol, and what of a
 * batch is sent again.
 *
 * "For conditionally deleting multiple objects using the DeleteObjects operation, you must provide
 * the ETag value in the ETag element of the object in the XML request body" (S3 user guide, "How to
 * perform conditional deletes"). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

enum { REPLIES_MAX = 3 };

struct server {
        struct {
                int status;
                const char *body;
        } reply[REPLIES_MAX];
        unsigned n;
        char got[REPLIES_MAX][2048]; /* the bodies that came */
};

static void answer(void *arg, struct fake_req *rq)
{
        struct server *sv = arg;

        ck_assert_uint_lt(sv->n, REPLIES_MAX);
        fake_body(rq);
        snprintf(sv->got[sv->n], sizeof sv->got[0], "%s", rq->body.p ? rq->body.p : "");
        const char *body = sv->reply[sv->n].body;
        int status = sv->reply[sv->n++].status;
        fake_reply(rq, status, "", body, strlen(body));
}

static int delete_three(struct store *s, const char *const *versions)
{
        static const char *const keys[] = {"a", "b", "c"};
        struct event e = EVENT;

        ck_assert_int_eq(store_delete_many(s, keys, versions, 3, event_done, &e), 0);
        return event_wait(&e, 1);
}

#define GONE(code) "<DeleteResult><Error><Key>b</Key><Code>" code "</Code></Error></DeleteResult>"

static const struct {
        struct server server;
        bool any; /* version */
        int err;
        unsigned requests;
} s3_cases[] = {
        {{.reply = {{200, "<DeleteResult/>"}}}, false, 0, 1},
        /* what another host has put there stays, and so does what is gone */
        {{.reply = {{200, GONE("PreconditionFailed")}}}, false, 0, 1},
        {{.reply = {{200, GONE("NoSuchKey")}}}, false, 0, 1},
        {{.reply = {{200, GONE("PreconditionFailed")}}}, true, -EIO, 1},
        {{.reply = {{200, GONE("AccessDenied")}}}, false, -EACCES, 1},
        /* a server that takes no ETag there */
        {{.reply = {{400, "<Error><Code>MalformedXML</Code></Error>"}, {200, "<DeleteResult/>"}}},
         false,
         0,
         2},
        {{.reply = {{501, "<Error><Code>NotImplemented</Code></Error>"}, {200, "<DeleteResult/>"}}},
         false,
         0,
         2},
        /* or one that fails for it; a failure that passes does not tell */
        {{.reply = {{500, ""}, {500, ""}, {200, "<DeleteResult/>"}}}, false, 0, 3},
        {{.reply = {{500, ""}, {200, "<DeleteResult/>"}}}, false, 0, 2},
};

START_TEST(a_batch_of_s3_deletes_versions)
{
        static const char *const versions[] = {"\"1\"", "\"2\"", NULL};
        struct server sv = s3_cases[_i].server;
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(delete_three(s, s3_cases[_i].any ? NULL : versions), s3_cases[_i].err);
        ck_assert_uint_eq(sv.n, s3_cases[_i].requests);
        bool first = strstr(sv.got[0], "<Key>b</Key><ETag>&quot;2&quot;</ETag></Object>") &&
                     strstr(sv.got[0], "<Key>c</Key></Object>");
        ck_assert_int_eq(first, !s3_cases[_i].any);
        unsigned anyway = sv.reply[0].status == 500 ? 2 : 1; /* what is sent without ETags */
        for (unsigned i = 1; i < sv.n; i++)
                ck_assert_int_eq(!strstr(sv.got[i], "<ETag>"), i >= anyway);
        store_close(s);
        fake_stop(f);
}
END_TEST

#define PART(id, status) "--x\r\nContent-ID: <response-" id ">\r\n\r\nHTTP/1.1 " status "\r\n\r\n"
#define BARE(status)     "--x\r\n\r\nHTTP/1.1 " status "\r\n\r\n"

static const struct {
        struct server server;
        int err;
        unsigned requests;
        const char *again; /* the objects that are sent again */
} gs_cases[] = {
        {{.reply = {{200, PART("0", "204 No") PART("1", "412 No") PART("2", "404 No")}}}, 0, 1, ""},
        /* what may pass is sent again, and nothing else */
        {{.reply = {{200, PART("0", "204 No") PART("1", "503 No") PART("2", "204 No")},
                    {200, PART("0", "204 No")}}},
         0,
         2,
         "b"},
        {{.reply = {{200, PART("2", "204 No") PART("0", "429 No") PART("1", "409 No")},
                    {200, PART("1", "204 No") PART("0", "204 No")}}},
         0,
         2,
         "ab"},
        {{.reply = {{200, BARE("500 No") BARE("204 No") BARE("500 No")},
                    {200, BARE("204 No") BARE("204 No")}}},
         0,
         2,
         "ac"},
        /* a token that ended is renewed, once */
        {{.reply = {{200, PART("0", "204 No") PART("1", "401 No") PART("2", "401 No")},
                    {200, PART("0", "204 No") PART("1", "204 No")}}},
         0,
         2,
         "bc"},
        {{.reply = {{200, PART("0", "401 No") PART("1", "401 No") PART("2", "401 No")},
                    {200, PART("0", "401 No") PART("1", "401 No") PART("2", "204 No")}}},
         -EACCES,
         2,
         "abc"},
        /* what is refused keeps no others from being deleted */
        {{.reply = {{200, PART("0", "403 No") PART("1", "503 No") PART("2", "204 No")},
                    {200, PART("0", "204 No")}}},
         -EACCES,
         2,
         "b"},
};

START_TEST(a_batch_of_google_deletes_generations_and_is_sent_again_by_part)
{
        static const char *const versions[] = {"11", "12", NULL};
        struct server sv = gs_cases[_i].server;
        struct fake *f = fake_start(answer, &sv);
        struct store *s =
                fake_store(f, &(struct store_config){.url = "gs://bucket", .anonymous = true});
        char again[8] = "";

        ck_assert_int_eq(delete_three(s, versions), gs_cases[_i].err);
        ck_assert_uint_eq(sv.n, gs_cases[_i].requests);
        ck_assert_ptr_nonnull(strstr(sv.got[0], "/o/b?ifGenerationMatch=12 HTTP"));
        ck_assert_ptr_nonnull(strstr(sv.got[0], "/o/c HTTP"));
        for (char key = 'a'; key <= 'c'; key++) {
                char path[8];
                snprintf(path, sizeof path, "/o/%c", key);
                if (strstr(sv.got[1], path))
                        again[strlen(again)] = key;
        }
        ck_assert_str_eq(again, gs_cases[_i].again);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("delete_many");
        TCase *t = tcase_create("delete_many");
        tcase_add_loop_test(t, a_batch_of_s3_deletes_versions, 0,
                            sizeof s3_cases / sizeof *s3_cases);
        tcase_add_loop_test(t, a_batch_of_google_deletes_generations_and_is_sent_again_by_part, 0,
                            sizeof gs_cases / sizeof *gs_cases);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
