/* SPDX-License-Identifier: Apache-2.0 */
/* test_gcs_lost.c: renames of folders and puts whose reply was lost: what became of them is asked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

/* What the server says after the reply that was lost. */
struct lost {
        int again;          /* status of the second try */
        const char *source; /* NULL: 404 */
        const char *operation;
        bool has_target;
        int err;
        unsigned renames, polls;
};

static void say(struct fake_req *rq, const char *body)
{
        static const char none[] = "{\"error\":{\"code\":404}}";
        fake_reply(rq, body ? 200 : 404, "", body ? body : none, strlen(body ? body : none));
}

static void answer(void *arg, struct fake_req *rq)
{
        struct lost *l = arg;

        if (strstr(rq->target, "/storageLayout"))
                say(rq, "{\"hierarchicalNamespace\":{\"enabled\":true}}");
        else if (strstr(rq->target, "/renameTo/") && l->renames++ == 0)
                fake_reset(rq);
        else if (strstr(rq->target, "/renameTo/"))
                fake_reply(rq, l->again, "", "{}", 2);
        else if (strstr(rq->target, "/operations/op")) {
                l->polls++;
                say(rq, l->operation);
        } else if (strstr(rq->target, "/folders/a%2F"))
                say(rq, l->source);
        else if (strstr(rq->target, "/folders/b%2F"))
                say(rq, l->has_target ? "{\"name\":\"b/\"}" : NULL);
        else
                say(rq, "{}");
}

#define PENDING "{\"name\":\"a/\",\"pendingRenameInfo\":{\"operationId\":\"op\"}}"
#define DONE    "{\"name\":\"op\",\"done\":true}"
static const struct lost cases[] = {
        /* It took effect; it is on its way; it had no effect. */
        {404, NULL, NULL, true, 0, 0, 0},
        {409, PENDING, DONE, true, 0, 0, 0},
        {412, PENDING, DONE, true, 0, 0, 0},
        {409, "{\"name\":\"a/\"}", NULL, true, -EEXIST, 0, 0},
        /* Somebody else's, to another name; somebody has deleted it. */
        {409, PENDING, DONE, false, -EEXIST, 0, 0},
        {404, NULL, NULL, false, -ENOENT, 0, 0},
        {409, PENDING, "{\"name\":\"op\",\"done\":true,\"error\":{\"code\":7}}", true, -EACCES, 0,
         0},
        /* The server forgets the operation. */
        {409, PENDING, NULL, true, -EIO, 0, 0},
};

START_TEST(a_rename_of_a_folder_whose_answer_was_lost_is_found_out)
{
        struct lost l = cases[_i];
        struct event e = EVENT;
        struct fake *f = fake_start(answer, &l);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});
        char why[512];

        ck_assert_int_eq(store_check(s, why, sizeof why), 0);
        ck_assert_int_eq(store_folder_rename(s, "a/", "b/", event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), l.err);
        ck_assert_uint_eq(l.renames, 2);
        ck_assert_uint_eq(l.polls, l.source && !strcmp(l.source, PENDING) ? 1 : 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A put on the condition that there is no object, of the bytes that another host's object has. */
struct race {
        bool refused;      /* the first try, with 409; else its reply is lost */
        const char *mtime; /* of the object that stands; ours is 1.000000001 */
        int err;
        unsigned puts;
};

static void answer_race(void *arg, struct fake_req *rq)
{
        struct race *r = arg;
        char body[300], crc[9];

        if (!strcmp(rq->method, "GET")) {
                crc32c_base64(crc32c(0, "aaaaa", 5), crc);
                snprintf(body, sizeof body,
                         "{\"name\":\"k\",\"size\":\"5\",\"generation\":\"7\",\"crc32c\":\"%s\","
                         "\"metadata\":{\"mtime\":\"%s\"}}",
                         crc, r->mtime);
                say(rq, body);
                return;
        }
        fake_body(rq);
        if (r->puts++)
                fake_reply(rq, 412, "", "{}", 2);
        else if (r->refused)
                fake_reply(rq, 409, "", "{}", 2);
        else
                fake_reset(rq);
}

static const struct race races[] = {
        {false, "1.000000001", 0, 0},
        {false, "1.000000002", -EEXIST, 0},
        {true, "1.000000001", -EEXIST, 0},
};

START_TEST(a_put_that_another_host_has_won_is_none_of_ours)
{
        struct race r = races[_i];
        struct store_cond cond = {.if_absent = true};
        struct store_meta m = {.len = 0};
        struct store_object obj;
        struct fake *f = fake_start(answer_race, &r);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});

        store_meta_add(&m, "mtime", "1.000000001");
        ck_assert_int_eq(store_put_wait(s, "k", "aaaaa", 5, &m, &cond, &obj), r.err);
        ck_assert_uint_eq(r.puts, 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("gcs_lost");
        TCase *t = tcase_create("gcs_lost");
        tcase_add_loop_test(t, a_rename_of_a_folder_whose_answer_was_lost_is_found_out, 0,
                            sizeof cases / sizeof *cases);
        tcase_add_loop_test(t, a_put_that_another_host_has_won_is_none_of_ours, 0,
                            sizeof races / sizeof *races);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
