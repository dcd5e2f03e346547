/* SPDX-License-Identifier: Apache-2.0 */
/* test_delete.c: deletes of one version, where servers mind the condition, ignore it or refuse it.
 *
 * The vendor's rules are from "How to perform conditional deletes" in the S3 user guide: 204 when
 * the ETag matches, 412 when it does not, 404 when there is no object, which the API reference has
 * as 204 for directory buckets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/store/fake.h"

#include "base/banned.h"

enum mind { MINDS, IGNORES, REFUSES };

struct server {
        enum mind mind;
        const char *etag;    /* of the object; NULL: there is none */
        unsigned lose;       /* the reply to the delete of that number is lost */
        const char *rewrite; /* the ETag that somebody else's write gives it then */
        bool elsewhere;      /* it was somebody else who deleted it then: ours never came */
        unsigned heads, deletes;
};

static void head(struct server *sv, struct fake_req *rq)
{
        char headers[80];

        sv->heads++;
        snprintf(headers, sizeof headers, "ETag: %s\r\n", sv->etag ? sv->etag : "");
        fake_reply(rq, sv->etag ? 200 : 404, headers, "", 0);
}

static void answer(void *arg, struct fake_req *rq)
{
        struct server *sv = arg;
        bool asks = fake_has(rq, "If-Match", "");

        if (!strcmp(rq->method, "HEAD")) {
                head(sv, rq);
                return;
        }
        ck_assert_str_eq(rq->method, "DELETE");
        sv->deletes++;
        if (sv->elsewhere && sv->deletes == sv->lose) {
                sv->etag = NULL;
                fake_reset(rq);
        } else if (asks && sv->mind == REFUSES) {
                fake_error(rq, 501, "NotImplemented");
        } else if (asks && sv->mind == MINDS && !sv->etag) {
                fake_error(rq, 404, "NoSuchKey");
        } else if (asks && sv->mind == MINDS && !fake_has(rq, "If-Match", sv->etag)) {
                fake_error(rq, 412, "PreconditionFailed");
        } else {
                sv->etag = NULL;
                if (sv->deletes == sv->lose) {
                        sv->etag = sv->rewrite;
                        fake_reset(rq);
                } else {
                        fake_reply(rq, 204, "", "", 0);
                }
        }
}

static const struct {
        struct server server;
        int err;
        bool stays;
        unsigned heads, deletes;
        bool minds; /* it is known then */
} cases[] = {
        {{MINDS, "\"mine\"", 0, NULL, false, 0, 0}, 0, false, 1, 2, true},
        {{MINDS, "\"other\"", 0, NULL, false, 0, 0}, -ESTALE, true, 1, 0, false},
        {{MINDS, NULL, 0, NULL, false, 0, 0}, -ENOENT, false, 1, 0, false},
        {{IGNORES, "\"mine\"", 0, NULL, false, 0, 0}, 0, false, 1, 1, false},
        {{IGNORES, "\"other\"", 0, NULL, false, 0, 0}, -ESTALE, true, 1, 0, false},
        {{REFUSES, "\"mine\"", 0, NULL, false, 0, 0}, 0, false, 1, 2, false},
        {{REFUSES, "\"other\"", 0, NULL, false, 0, 0}, -ESTALE, true, 1, 0, false},
        {{REFUSES, NULL, 0, NULL, false, 0, 0}, -ENOENT, false, 1, 0, false},
        /* lost replies of what took effect */
        {{MINDS, "\"mine\"", 2, NULL, false, 0, 0}, 0, false, 1, 3, true},
        {{MINDS, "\"mine\"", 2, "\"other\"", false, 0, 0}, -ESTALE, true, 1, 3, true},
        {{IGNORES, "\"mine\"", 1, NULL, false, 0, 0}, 0, false, 2, 1, false},
        {{REFUSES, "\"mine\"", 2, NULL, false, 0, 0}, 0, false, 2, 2, false},
        /* and then somebody else's version has the name */
        {{IGNORES, "\"mine\"", 1, "\"other\"", false, 0, 0}, -ESTALE, true, 2, 1, false},
        {{REFUSES, "\"mine\"", 2, "\"other\"", false, 0, 0}, -ESTALE, true, 2, 2, false},
};

START_TEST(a_delete_of_a_version_finds_out_what_the_server_minds)
{
        struct server sv = cases[_i].server;
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_uint_eq(store_caps(s) & STORE_CAP_DELETE_IF, 0);
        ck_assert_int_eq(store_delete_if_wait(s, "k", "\"mine\""), cases[_i].err);
        ck_assert_int_eq(sv.etag != NULL, cases[_i].stays);
        ck_assert_uint_eq(sv.heads, cases[_i].heads);
        ck_assert_uint_eq(sv.deletes, cases[_i].deletes);
        ck_assert_int_eq(!!(store_caps(s) & STORE_CAP_DELETE_IF), cases[_i].minds);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(what_was_found_out_is_remembered)
{
        struct server sv = {.mind = (enum mind)_i, .etag = "\"mine\""};
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(store_delete_if_wait(s, "k", "\"mine\""), 0);
        sv.heads = sv.deletes = 0;
        sv.etag = "\"mine\"";
        ck_assert_int_eq(store_delete_if_wait(s, "k", "\"mine\""), 0);
        ck_assert_uint_eq(sv.heads, _i != MINDS);
        ck_assert_uint_eq(sv.deletes, 1);
        sv.etag = "\"other\"";
        ck_assert_int_eq(store_delete_if_wait(s, "k", "\"mine\""), -ESTALE);
        ck_assert_str_eq(sv.etag, "\"other\"");
        store_close(s);
        fake_stop(f);
}
END_TEST

/* The first try never comes, and somebody else deletes the object: that it is gone tells nothing of
 * conditions. */
START_TEST(what_is_gone_teaches_nothing)
{
        struct server sv = {.mind = MINDS, .etag = "\"mine\"", .lose = 1, .elsewhere = true};
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(store_delete_if_wait(s, "k", "\"mine\""), 0);
        sv.etag = "\"mine\"";
        ck_assert_int_eq(store_delete_if_wait(s, "k", "\"mine\""), 0);
        ck_assert_uint_ne(store_caps(s) & STORE_CAP_DELETE_IF, 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("delete");
        TCase *t = tcase_create("delete");
        tcase_add_loop_test(t, a_delete_of_a_version_finds_out_what_the_server_minds, 0,
                            sizeof cases / sizeof *cases);
        tcase_add_loop_test(t, what_was_found_out_is_remembered, MINDS, REFUSES + 1);
        tcase_add_test(t, what_is_gone_teaches_nothing);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
