/* SPDX-License-Identifier: Apache-2.0 */
/* test_conditions.c: conditions of completions, of puts and of copied parts, where servers honor
 * them, ignore them, refuse them, or want the ETag without its quotes.
 *
 * The vendor's rules are those of CompleteMultipartUpload, PutObject and UploadPartCopy in the API
 * reference: 412 when the condition does not hold, 404 when If-Match finds no object. An upload
 * whose completion was refused is still there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

enum mind { HONORS, IGNORES, REFUSES, REFUSES_400 };

/* What parts have, and what S3 makes of one: the MD5 of its MD5. */
#define PART_ETAG "\"594f803b380a41396ed63dca39503542\""
#define MADE      "\"3f39a134e77e08c106b9726a8ae7cc0c-1\""

struct server {
        enum mind mind;
        const char *object; /* ETag of what has the name; NULL: nothing */
        unsigned lose;      /* the reply to the completion of that number is lost */
        unsigned taken;     /* after the look of that number another host has the name */
        bool no_etag;       /* a completion does not tell it */
        bool blind;         /* nobody may look */
        bool gone;          /* the upload was completed */
        unsigned looks, completes;
};

static void head(struct server *sv, struct fake_req *rq)
{
        char headers[120];

        sv->looks++;
        if (sv->blind) {
                fake_error(rq, 403, "AccessDenied");
                return;
        }
        const char *found = sv->object;
        if (sv->looks == sv->taken) /* before the reply: the test goes on with that */
                sv->object = "\"theirs\"";
        snprintf(headers, sizeof headers, "ETag: %s\r\n", found ? found : "");
        fake_reply(rq, found ? 200 : 404, headers, "aaaaa", found ? 5 : 0);
}

/* 0, or the status of the refusal. */
static int refusal(const struct server *sv, const struct fake_req *rq)
{
        if (sv->mind >= REFUSES && fake_is_conditional(rq))
                return sv->mind == REFUSES ? 501 : 400;
        return sv->mind == IGNORES ? 0 : fake_condition(rq, sv->object);
}

static void complete(struct server *sv, struct fake_req *rq)
{
        int status = refusal(sv, rq);
        char body[200];

        sv->completes++;
        if (sv->gone) {
                fake_error(rq, 404, "NoSuchUpload");
                return;
        }
        if (status) {
                fake_refuse(rq, status);
                return;
        }
        sv->gone = true;
        sv->object = MADE;
        int n = snprintf(body, sizeof body,
                         "<CompleteMultipartUploadResult><Key>k</Key><ETag>%s</ETag>"
                         "</CompleteMultipartUploadResult>",
                         sv->no_etag ? "" : MADE);
        if (sv->completes == sv->lose)
                fake_reset(rq);
        else
                fake_reply(rq, 200, "", body, (size_t)n);
}

static void answer(void *arg, struct fake_req *rq)
{
        static const char created[] = "<InitiateMultipartUploadResult><UploadId>u1</UploadId>"
                                      "</InitiateMultipartUploadResult>";
        struct server *sv = arg;

        if (!strcmp(rq->method, "HEAD") || !strcmp(rq->method, "GET")) {
                head(sv, rq);
        } else if (strstr(rq->target, "?uploads")) {
                sv->gone = false;
                fake_reply(rq, 200, "", created, sizeof created - 1);
        } else if (strstr(rq->target, "partNumber=")) {
                fake_reply(rq, 200, "ETag: " PART_ETAG "\r\n", "", 0);
        } else {
                ck_assert_str_eq(rq->method, "POST");
                complete(sv, rq);
        }
}

static int upload(struct store *s, const struct store_cond *cond, struct store_object *made)
{
        struct store_body body = store_body_mem("aaaaa", 5);
        struct store_upload *up;

        ck_assert_int_eq(store_upload_create_wait(s, "k", NULL, &up), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 1, &body), 0);
        int err = store_upload_complete_wait(up, cond, made);
        store_upload_free(up);
        return err;
}

static const struct store_cond absent = {.if_absent = true}, old = {.if_match = "\"old\""}, any;

#define SERVER(mind_, object_, ...)                                                                \
        {                                                                                          \
                .mind = mind_, .object = object_, __VA_ARGS__                                      \
        }
static const struct {
        struct server server;
        const struct store_cond *cond;
        int err;
        const char *object; /* what stands then */
        unsigned looks, completes;
} cases[] = {
        {SERVER(HONORS, NULL, 0), &absent, 0, MADE, 1, 2},
        {SERVER(HONORS, "\"old\"", 0), &absent, -EEXIST, "\"old\"", 1, 0},
        {SERVER(HONORS, "\"old\"", 0), &old, 0, MADE, 1, 2},
        {SERVER(HONORS, "\"new\"", 0), &old, -ESTALE, "\"new\"", 1, 0},
        {SERVER(HONORS, NULL, 0), &any, 0, MADE, 0, 1},
        {SERVER(IGNORES, NULL, 0), &absent, 0, MADE, 1, 1},
        {SERVER(IGNORES, "\"old\"", 0), &absent, -EEXIST, "\"old\"", 1, 0},
        {SERVER(IGNORES, "\"old\"", 0), &old, 0, MADE, 1, 1},
        {SERVER(IGNORES, "\"new\"", 0), &old, -ESTALE, "\"new\"", 1, 0},
        {SERVER(IGNORES, "\"new\"", 0), &any, 0, MADE, 0, 1},
        {SERVER(REFUSES, NULL, 0), &absent, 0, MADE, 1, 2},
        {SERVER(REFUSES, "\"old\"", 0), &absent, -EEXIST, "\"old\"", 1, 0},
        {SERVER(REFUSES_400, "\"old\"", 0), &old, 0, MADE, 1, 2},
        {SERVER(REFUSES_400, "\"new\"", 0), &old, -ESTALE, "\"new\"", 1, 0},
        /* another host has the name between the look and the completion */
        {SERVER(HONORS, NULL, .taken = 1), &absent, -EEXIST, "\"theirs\"", 1, 2},
        {SERVER(HONORS, "\"old\"", .taken = 1), &old, -ESTALE, "\"theirs\"", 1, 2},
        /* lost replies of what took effect */
        {SERVER(HONORS, NULL, .lose = 2), &absent, 0, MADE, 2, 3},
        {SERVER(IGNORES, NULL, .lose = 1), &absent, 0, MADE, 3, 1},
        {SERVER(REFUSES, "\"old\"", .lose = 2), &old, 0, MADE, 3, 2},
        /* who may not look sends the condition: by a head and a get, which says why */
        {SERVER(HONORS, NULL, .blind = true), &absent, 0, MADE, 2, 1},
        {SERVER(HONORS, "\"new\"", .blind = true), &old, -ESTALE, "\"new\"", 2, 1},
        {SERVER(IGNORES, NULL, .blind = true, .no_etag = true), &any, 0, MADE, 2, 1},
        /* the reply does not tell the ETag */
        {SERVER(IGNORES, NULL, .no_etag = true), &any, 0, MADE, 1, 1},
        {SERVER(IGNORES, NULL, .no_etag = true), &absent, 0, MADE, 2, 1},
        {SERVER(IGNORES, NULL, .no_etag = true, .taken = 1), &any, 0, "\"theirs\"", 1, 1},
};

START_TEST(a_completion_finds_out_what_the_server_honors)
{
        struct server sv = cases[_i].server;
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);
        struct store_object made;

        ck_assert_int_eq(upload(s, cases[_i].cond, &made), cases[_i].err);
        ck_assert_str_eq(sv.object, cases[_i].object);
        ck_assert_uint_eq(sv.looks, cases[_i].looks);
        ck_assert_uint_eq(sv.completes, cases[_i].completes);
        if (!cases[_i].err) {
                ck_assert_str_eq(made.etag, MADE);
                ck_assert_uint_eq(made.size, 5);
        }
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(what_a_completion_found_out_is_remembered)
{
        struct server sv = {.mind = (enum mind)_i};
        struct fake *f = fake_start(answer, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(upload(s, &absent, NULL), 0);
        sv.looks = sv.completes = 0;
        sv.object = NULL;
        ck_assert_int_eq(upload(s, &absent, NULL), 0);
        ck_assert_uint_eq(sv.looks, _i != HONORS);
        ck_assert_uint_eq(sv.completes, 1 + (_i >= REFUSES));
        sv.object = "\"other\"";
        ck_assert_int_eq(upload(s, &absent, NULL), -EEXIST);
        ck_assert_int_eq(upload(s, &old, NULL), -ESTALE);
        ck_assert_str_eq(sv.object, "\"other\"");
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- puts --- */

struct put_server {
        bool refuses; /* If-Match, by 501 */
        bool bare;    /* it compares with an ETag that has no quotes */
        bool blind;   /* nobody may look */
        const char *etag;
        unsigned looks, puts, summed;
};

static void put_plain(struct put_server *sv, struct fake_req *rq)
{
        sv->summed += fake_has(rq, "x-amz-checksum-crc32c", "");
        sv->etag = "e2";
        fake_reply(rq, 200, "ETag: \"e2\"\r\n", "", 0);
}

static void answer_put(void *arg, struct fake_req *rq)
{
        struct put_server *sv = arg;
        char headers[80], line[80];

        snprintf(headers, sizeof headers, "ETag: \"%s\"\r\n", sv->etag);
        if (strcmp(rq->method, "PUT") != 0) {
                sv->looks++;
                if (sv->blind)
                        fake_error(rq, 403, "AccessDenied");
                else
                        fake_reply(rq, 200, headers, "x", 1);
                return;
        }
        sv->puts++;
        if (sv->refuses) {
                if (fake_is_conditional(rq))
                        fake_error(rq, 501, "NotImplemented");
                else
                        put_plain(sv, rq);
                return;
        }
        snprintf(line, sizeof line, sv->bare ? "%s\r\n" : "\"%s\"\r\n", sv->etag);
        if (!fake_has(rq, "If-Match", line)) {
                fake_error(rq, 412, "PreconditionFailed");
                return;
        }
        sv->etag = "e2";
        fake_reply(rq, 200, "ETag: \"e2\"\r\n", "", 0);
}

static int put(struct store *s, const char *etag)
{
        const struct store_cond cond = {.if_match = etag};
        return store_put_wait(s, "k", "x", 1, NULL, &cond, NULL);
}

START_TEST(a_put_names_the_version_as_the_server_compares_it)
{
        struct put_server sv = {.bare = _i, .etag = "e1"};
        struct fake *f = fake_start(answer_put, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(put(s, "\"e0\""), -ESTALE);
        ck_assert_uint_eq(sv.puts, 1);
        ck_assert_uint_eq(sv.looks, 1);
        ck_assert_int_eq(put(s, "\"e1\""), 0);
        ck_assert_uint_eq(sv.puts, 2U + sv.bare);
        ck_assert_uint_eq(sv.looks, 1U + sv.bare);
        /* from now on it is known */
        ck_assert_int_eq(put(s, "\"e2\""), 0);
        ck_assert_int_eq(put(s, "\"e1\""), -ESTALE);
        ck_assert_uint_eq(sv.puts, 4U + sv.bare);
        ck_assert_uint_eq(sv.looks, 1U + sv.bare);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_put_whose_condition_is_refused_looks_at_the_name)
{
        struct put_server sv = {.refuses = true, .etag = "e1"};
        struct fake *f = fake_start(answer_put, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(put(s, "\"e0\""), -ESTALE);
        ck_assert_int_eq(put(s, "\"e1\""), 0);
        ck_assert_str_eq(sv.etag, "e2");
        unsigned puts = sv.puts;
        ck_assert_int_eq(put(s, "\"e1\""), -ESTALE);
        ck_assert_uint_eq(sv.puts, puts);
        ck_assert_int_eq(put(s, "\"e2\""), 0);
        ck_assert_uint_eq(sv.puts, puts + 1); /* from now on it is known */
        ck_assert_uint_eq(sv.summed, 2);      /* the checksum was not what it refused */
        sv.blind = true;
        ck_assert_int_eq(put(s, "\"e2\""), -EACCES);
        ck_assert_uint_eq(sv.puts, puts + 1);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_put_that_is_refused_stays_so_where_nobody_may_look)
{
        struct put_server sv = {.bare = true, .blind = true, .etag = "e1"};
        struct fake *f = fake_start(answer_put, &sv);
        struct store *s = fake_store(f, NULL);

        ck_assert_int_eq(put(s, "\"e1\""), -ESTALE);
        ck_assert_uint_eq(sv.puts, 1);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* --- parts --- */

struct part_server {
        enum mind mind;
        const char *source, *then; /* its ETag, and that after the next copy; NULL: the same */
        bool refuses;              /* each copy, as one of a range that there is not */
        unsigned looks, copies;
};

static void answer_part(void *arg, struct fake_req *rq)
{
        static const char created[] = "<InitiateMultipartUploadResult><UploadId>u1</UploadId>"
                                      "</InitiateMultipartUploadResult>";
        static const char done[] = "<CopyPartResult><ETag>\"p\"</ETag></CopyPartResult>";
        struct part_server *sv = arg;
        char headers[80];

        if (!strcmp(rq->method, "HEAD")) {
                sv->looks++;
                snprintf(headers, sizeof headers, "ETag: %s\r\n", sv->source);
                fake_reply(rq, 200, headers, "x", 1);
        } else if (strstr(rq->target, "?uploads")) {
                fake_reply(rq, 200, "", created, sizeof created - 1);
        } else {
                sv->copies++;
                if (sv->mind == HONORS && !fake_has(rq, "x-amz-copy-source-if-match", sv->source)) {
                        fake_error(rq, 412, "PreconditionFailed");
                        return;
                }
                if (sv->then)
                        sv->source = sv->then;
                if (sv->refuses)
                        fake_error(rq, 416, "InvalidRange");
                else
                        fake_reply(rq, 200, "", done, sizeof done - 1);
        }
}

struct begun {
        struct event e;
        struct store_upload *up;
};

static void begun(void *arg, int err, struct store_upload *up)
{
        struct begun *b = arg;
        b->up = up;
        event_done(&b->e, err, NULL);
}

START_TEST(a_part_is_copied_of_the_version_that_is_named)
{
        struct part_server sv = {.mind = (enum mind)_i, .source = "\"v1\""};
        struct fake *f = fake_start(answer_part, &sv);
        struct store *s = fake_store(f, NULL);
        struct begun b = {.e = EVENT};
        struct event e = EVENT;
        const unsigned ignores = _i == IGNORES;

        ck_assert_int_eq(store_upload_create_copying(s, "k", NULL, begun, &b), 0);
        ck_assert_int_eq(event_wait(&b.e, 1), 0);
        struct store_upload *up = b.up;
        for (unsigned n = 1; n <= 2; n++) {
                ck_assert_int_eq(
                        store_upload_part_copy(up, n, "src", "\"v1\"", 0, 5 << 20, event_done, &e),
                        0);
                ck_assert_int_eq(event_wait(&e, 1), 0);
                ck_assert_uint_eq(sv.copies, n + !ignores);
                ck_assert_uint_eq(sv.looks, ignores * n);
        }
        sv.then = ignores ? "\"v2\"" : NULL;
        sv.source = ignores ? sv.source : "\"v2\"";
        ck_assert_int_eq(store_upload_part_copy(up, 3, "src", "\"v1\"", 0, 5 << 20, event_done, &e),
                         0);
        ck_assert_int_eq(event_wait(&e, 1), -ESTALE);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* The version that has the name now may be shorter. */
START_TEST(a_refused_copy_of_a_part_tells_whose_fault_it_is)
{
        struct part_server sv = {
                .mind = IGNORES, .source = _i ? "\"v2\"" : "\"v1\"", .refuses = true};
        struct fake *f = fake_start(answer_part, &sv);
        struct store *s = fake_store(f, NULL);
        struct begun b = {.e = EVENT};
        struct event e = EVENT;

        ck_assert_int_eq(store_upload_create_copying(s, "k", NULL, begun, &b), 0);
        ck_assert_int_eq(event_wait(&b.e, 1), 0);
        ck_assert_int_eq(
                store_upload_part_copy(b.up, 1, "src", "\"v1\"", 0, 5 << 20, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), _i ? -ESTALE : -EIO);
        ck_assert_uint_eq(sv.looks, 1);
        store_upload_free(b.up);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("conditions");
        TCase *t = tcase_create("conditions");
        tcase_add_loop_test(t, a_completion_finds_out_what_the_server_honors, 0,
                            sizeof cases / sizeof *cases);
        tcase_add_loop_test(t, what_a_completion_found_out_is_remembered, HONORS, REFUSES_400 + 1);
        tcase_add_loop_test(t, a_put_names_the_version_as_the_server_compares_it, 0, 2);
        tcase_add_test(t, a_put_whose_condition_is_refused_looks_at_the_name);
        tcase_add_test(t, a_put_that_is_refused_stays_so_where_nobody_may_look);
        tcase_add_loop_test(t, a_part_is_copied_of_the_version_that_is_named, HONORS, IGNORES + 1);
        tcase_add_loop_test(t, a_refused_copy_of_a_part_tells_whose_fault_it_is, 0, 2);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
