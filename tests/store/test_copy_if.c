/* SPDX-License-Identifier: Apache-2.0 */
/* test_copy_if.c: copies with a condition on their target, where servers honor it, ignore it or
 * refuse it.
 *
 * The vendor's rules are those of CopyObject in the API reference: 412 when the condition does not
 * hold, 404 when If-Match finds no object, 409 ConditionalRequestConflict when something else is
 * under way, "on a 409 failure you should retry". */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

enum mind { HONORS, IGNORES, REFUSES, REFUSES_400 };

struct server {
        enum mind mind;
        const char *source, *target; /* ETags; NULL: there is none */
        unsigned lose;               /* the reply to the copy of that number is lost */
        const char *then;            /* the source after that, "": none; NULL: the same */
        unsigned taken;              /* after the look of that number another host has the target */
        unsigned conflicts;          /* the first so many copies meet another change */
        unsigned looks, asks, copies;
};

static void head(struct server *sv, struct fake_req *rq)
{
        bool of_source = strstr(rq->target, "/src");
        const char *etag = of_source ? sv->source : sv->target;
        char headers[120];

        sv->asks += of_source;
        sv->looks += !of_source;
        snprintf(headers, sizeof headers, "ETag: %s\r\nx-amz-meta-mode: 33188\r\n",
                 etag ? etag : "");
        if (!of_source && sv->looks == sv->taken) /* before the reply: the test goes on with that */
                sv->target = "\"theirs\"";
        fake_reply(rq, etag ? 200 : 404, headers, "", 0);
}

/* 0, or the status of the refusal. */
static int refusal(const struct server *sv, const struct fake_req *rq)
{
        if (sv->mind >= REFUSES && fake_is_conditional(rq))
                return sv->mind == REFUSES ? 501 : 400;
        if (!sv->source)
                return 404;
        if (!fake_has(rq, "x-amz-copy-source-if-match", sv->source))
                return 412;
        return sv->mind == IGNORES ? 0 : fake_condition(rq, sv->target);
}

static void answer(void *arg, struct fake_req *rq)
{
        static const char done[] = "<CopyObjectResult><ETag>\"v1\"</ETag></CopyObjectResult>";
        struct server *sv = arg;

        if (!strcmp(rq->method, "HEAD")) {
                head(sv, rq);
                return;
        }
        ck_assert_str_eq(rq->method, "PUT");
        int status = refusal(sv, rq);
        sv->copies++;
        if (sv->copies <= sv->conflicts) {
                fake_error(rq, 409, "ConditionalRequestConflict");
                return;
        }
        if (status) {
                fake_refuse(rq, status);
                return;
        }
        sv->target = sv->source;
        if (sv->copies == sv->lose) {
                if (sv->then)
                        sv->source = *sv->then ? sv->then : NULL;
                fake_reset(rq);
        } else {
                fake_reply(rq, 200, "", done, sizeof done - 1);
        }
}

static int copy(struct store *s, const struct store_cond *cond)
{
        struct event e = EVENT;

        ck_assert_int_eq(store_copy(s, "src", "\"v1\"", "dst", NULL, cond, event_done, &e), 0);
        return event_wait(&e, 1);
}

static const struct store_cond absent = {.if_absent = true}, old = {.if_match = "\"old\""};

#define SERVER(mind_, target_, ...)                                                                \
        {                                                                                          \
                .mind = mind_, .source = "\"v1\"", .target = target_, __VA_ARGS__                  \
        }
static const struct {
        struct server server;
        const struct store_cond *cond;
        int err;
        const char *target; /* what stands then */
        unsigned looks, copies;
        bool honors; /* it is known then */
} cases[] = {
        {SERVER(HONORS, NULL, 0), &absent, 0, "\"v1\"", 1, 2, true},
        {SERVER(HONORS, "\"old\"", 0), &absent, -EEXIST, "\"old\"", 1, 0, false},
        {SERVER(HONORS, "\"old\"", 0), &old, 0, "\"v1\"", 1, 2, true},
        {SERVER(HONORS, "\"new\"", 0), &old, -ESTALE, "\"new\"", 1, 0, false},
        {SERVER(IGNORES, NULL, 0), &absent, 0, "\"v1\"", 1, 1, false},
        {SERVER(IGNORES, "\"old\"", 0), &absent, -EEXIST, "\"old\"", 1, 0, false},
        {SERVER(IGNORES, "\"new\"", 0), &old, -ESTALE, "\"new\"", 1, 0, false},
        /* the name that Ceph's gateway has for the condition on the source is left out first */
        {SERVER(REFUSES, NULL, 0), &absent, 0, "\"v1\"", 1, 3, false},
        {SERVER(REFUSES, "\"old\"", 0), &old, 0, "\"v1\"", 1, 3, false},
        {SERVER(REFUSES_400, NULL, 0), &absent, 0, "\"v1\"", 1, 2, false},
        {SERVER(REFUSES_400, "\"old\"", 0), &absent, -EEXIST, "\"old\"", 1, 0, false},
        /* another host has the name between the look and the copy */
        {SERVER(HONORS, NULL, .taken = 1), &absent, -EEXIST, "\"theirs\"", 1, 2, true},
        {SERVER(HONORS, "\"old\"", .taken = 1), &old, -ESTALE, "\"theirs\"", 1, 2, true},
        /* a conflict is decided by trying again */
        {SERVER(HONORS, NULL, .conflicts = 1), &absent, 0, "\"v1\"", 1, 3, true},
        /* lost replies of what took effect */
        {SERVER(HONORS, NULL, .lose = 2), &absent, 0, "\"v1\"", 2, 3, true},
        {SERVER(IGNORES, NULL, .lose = 1), &absent, 0, "\"v1\"", 3, 1, false},
        {SERVER(REFUSES, NULL, .lose = 3), &absent, 0, "\"v1\"", 3, 3, false},
        /* and another host changes the source before the store is asked again */
        {SERVER(HONORS, NULL, .lose = 2, .then = "\"v2\""), &absent, 0, "\"v1\"", 2, 3, true},
        {SERVER(HONORS, NULL, .lose = 2, .then = ""), &absent, 0, "\"v1\"", 2, 3, true},
        {SERVER(IGNORES, NULL, .lose = 1, .then = "\"v2\""), &absent, 0, "\"v1\"", 3, 1, false},
        {SERVER(HONORS, "\"old\"", .lose = 2, .then = "\"v2\""), &old, 0, "\"v1\"", 2, 3, true},
};

START_TEST(a_copy_finds_out_what_the_server_honors)
{
        struct server sv = cases[_i].server;
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_uint_eq(store_caps(s) & STORE_CAP_COPY_IF, 0);
        ck_assert_int_eq(copy(s, cases[_i].cond), cases[_i].err);
        ck_assert_str_eq(sv.target, cases[_i].target);
        ck_assert_uint_eq(sv.looks, cases[_i].looks);
        ck_assert_uint_eq(sv.copies, cases[_i].copies);
        ck_assert_int_eq(!!(store_caps(s) & STORE_CAP_COPY_IF), cases[_i].honors);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(what_was_found_out_is_remembered)
{
        struct server sv = {.mind = (enum mind)_i, .source = "\"v1\""};
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(copy(s, &absent), 0);
        sv.looks = sv.copies = 0;
        sv.target = NULL;
        ck_assert_int_eq(copy(s, &absent), 0);
        ck_assert_uint_eq(sv.looks, _i != HONORS);
        ck_assert_uint_eq(sv.copies, 1);
        sv.target = "\"other\"";
        ck_assert_int_eq(copy(s, &absent), -EEXIST);
        ck_assert_int_eq(copy(s, &old), -ESTALE);
        ck_assert_str_eq(sv.target, "\"other\"");
        store_close(s);
        fake_stop(f);
}
END_TEST

/* Both conditions answer 412 and 404: the source's is not taken for the target's. */
START_TEST(a_source_that_changed_teaches_nothing)
{
        struct server sv = {.mind = IGNORES, .source = _i ? "\"v2\"" : NULL};
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(copy(s, &absent), _i ? -ESTALE : -ENOENT);
        sv.source = "\"v1\"";
        ck_assert_int_eq(copy(s, &absent), 0);
        ck_assert_uint_eq(store_caps(s) & STORE_CAP_COPY_IF, 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A change of metadata bears If-Match, and goes on without it: the source's condition is the same.
 */
START_TEST(metadata_changes_where_the_condition_is_refused)
{
        struct server sv = {.mind = (enum mind)_i, .source = "\"v1\"", .target = "\"v1\""};
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);
        struct store_meta meta = {.len = 0};

        ck_assert_int_eq(store_meta_add(&meta, "mode", "33152"), 0);
        for (unsigned n = 1; n <= 2; n++) {
                struct event e = EVENT;
                ck_assert_int_eq(store_set_meta(s, "src", "\"v1\"", &meta, event_done, &e), 0);
                ck_assert_int_eq(event_wait(&e, 1), 0);
                ck_assert_uint_eq(sv.copies, n + (_i >= REFUSES) + (_i == REFUSES));
        }
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("copy_if");
        TCase *t = tcase_create("copy_if");
        tcase_add_loop_test(t, a_copy_finds_out_what_the_server_honors, 0,
                            sizeof cases / sizeof *cases);
        tcase_add_loop_test(t, what_was_found_out_is_remembered, HONORS, REFUSES_400 + 1);
        tcase_add_loop_test(t, a_source_that_changed_teaches_nothing, 0, 2);
        tcase_add_loop_test(t, metadata_changes_where_the_condition_is_refused, HONORS,
                            REFUSES_400 + 1);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
