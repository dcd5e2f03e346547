/* SPDX-License-Identifier: Apache-2.0 */
/* test_gcs_lost.c: renames, copies and puts whose reply was lost, and folders: what became of them
 * is asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text/uri.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

/* What the server says after the first reply, which is lost, or a failure of the server's own. */
struct lost {
        int again;          /* status of the second try */
        const char *source; /* NULL: 404 */
        const char *operation;
        bool has_target;
        int err;
        int first; /* status of the first reply; 0: lost */
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
        else if (strstr(rq->target, "/renameTo/") && l->renames++ == 0) {
                if (l->first)
                        fake_reply(rq, l->first, "", "{}", 2);
                else
                        fake_reset(rq);
        } else if (strstr(rq->target, "/renameTo/"))
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
        {404, NULL, NULL, true, 0, 0, 0, 0},
        {409, PENDING, DONE, true, 0, 0, 0, 0},
        {412, PENDING, DONE, true, 0, 0, 0, 0},
        {409, "{\"name\":\"a/\"}", NULL, true, -EEXIST, 0, 0, 0},
        /* Somebody else's, to another name; somebody has deleted it. */
        {409, PENDING, DONE, false, -EEXIST, 0, 0, 0},
        {404, NULL, NULL, false, -ENOENT, 0, 0, 0},
        {409, PENDING, "{\"name\":\"op\",\"done\":true,\"error\":{\"code\":7}}", true, -EACCES, 0,
         0, 0},
        /* The server forgets the operation. */
        {409, PENDING, NULL, true, -EIO, 0, 0, 0},
        /* The first try took effect, though it was answered with an error; or it cannot have. */
        {404, NULL, NULL, true, 0, 503, 0, 0},
        {409, PENDING, DONE, true, 0, 503, 0, 0},
        {409, "{\"name\":\"a/\"}", NULL, true, -EEXIST, 503, 0, 0},
        {404, NULL, NULL, true, -ENOENT, 429, 0, 0},
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

/* An object, as a head shows it. */
static void show(struct fake_req *rq, const char *name, unsigned generation, const char *content,
                 const char *mtime)
{
        char body[300], crc[9];

        crc32c_base64(crc32c(0, content, strlen(content)), crc);
        snprintf(body, sizeof body,
                 "{\"name\":\"%s\",\"size\":\"%zu\",\"generation\":\"%u\",\"crc32c\":\"%s\","
                 "\"metadata\":{\"mtime\":\"%s\"}}",
                 name, strlen(content), generation, crc, mtime);
        say(rq, body);
}

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

        if (!strcmp(rq->method, "GET")) {
                show(rq, "k", 7, "aaaaa", r->mtime);
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

/* A rename of the object "a" of "mine" to "b", after which there is no such version of the source:
 * our move took effect, or another host's did, to another name. */
struct moved {
        const char *target, *mtime; /* "b" then; NULL: there is none */
        enum {
                LOST,     /* the first reply is */
                TOLD,     /* none is, but a head of the source is refused */
                REPLACED, /* the first reply is lost, and the source is another version then */
                GONE      /* the source is, from the beginning, and the first head is refused */
        } how;
        int err;
        unsigned moves, heads; /* heads of the source */
};

static void answer_move(void *arg, struct fake_req *rq)
{
        struct moved *m = arg;

        if (strstr(rq->target, "/moveTo/")) {
                if (m->moves++ == 0 && m->how != TOLD)
                        fake_reset(rq);
                else
                        say(rq, NULL);
        } else if (strstr(rq->target, "/o/a")) {
                m->heads++;
                if ((m->how == GONE && m->heads == 1) || (m->how == TOLD && m->heads == 2))
                        fake_reply(rq, 503, "", "{}", 2);
                else if (m->how == REPLACED && m->moves)
                        show(rq, "a", 6, "other", "1.000000001");
                else if (m->how == GONE || m->moves)
                        say(rq, NULL);
                else
                        show(rq, "a", 5, "mine", "1.000000001");
        } else if (m->target) {
                show(rq, "b", 7, m->target, m->mtime);
        } else {
                say(rq, NULL);
        }
}

/* What is moved keeps its content and its metadata; its generation and time of creation are new
 * (API reference, Objects: move). */
static const struct moved moves[] = {
        {"mine", "1.000000001", LOST, 0, 0, 0},
        {"old!", "1.000000001", LOST, -EIO, 0, 0},
        {"older", "1.000000001", LOST, -EIO, 0, 0},
        {"mine", "1.000000002", LOST, -EIO, 0, 0},
        {NULL, NULL, LOST, -EIO, 0, 0},
        {"mine", "1.000000001", REPLACED, 0, 0, 0},
        {"old!", "1.000000001", REPLACED, -EIO, 0, 0},
        {"old!", "1.000000001", TOLD, -ENOENT, 0, 0},
        {"old!", "1.000000001", GONE, -ENOENT, 0, 0},
};

START_TEST(a_rename_whose_answer_was_lost_is_known_by_what_it_moved)
{
        static const unsigned tries[] = {[LOST] = 2, [TOLD] = 1, [REPLACED] = 2, [GONE] = 0};
        struct moved m = moves[_i];
        struct event e = EVENT;
        struct fake *f = fake_start(answer_move, &m);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});

        ck_assert_int_eq(store_rename(s, "a", "5", "b", NULL, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), m.err);
        ck_assert_uint_eq(m.moves, tries[m.how]);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A copy of "a", of generation 5, to the new name "b", whose first reply is lost. */
struct copied {
        int first;           /* status of the first head of the source */
        unsigned generation; /* of the source then */
        int err;
        unsigned copies, heads;
};

static void answer_copied(void *arg, struct fake_req *rq)
{
        struct copied *c = arg;

        if (strstr(rq->target, "/rewriteTo/")) {
                if (c->copies++ == 0)
                        fake_reset(rq);
                else
                        fake_reply(rq, 412, "", "{}", 2);
        } else if (strstr(rq->target, "/o/b")) {
                show(rq, "b", 7, "mine", "1.000000001");
        } else if (c->heads++ == 0 && c->first != 200) {
                fake_reply(rq, c->first, "", "{}", 2);
        } else {
                show(rq, "a", c->generation, "mine", "1.000000001");
        }
}

static const struct copied copies[] = {
        {200, 5, 0, 0, 0},
        {401, 5, 0, 0, 0},
        {408, 5, 0, 0, 0},
        {429, 5, 0, 0, 0},
        {503, 5, 0, 0, 0},
        {403, 5, -EEXIST, 0, 0},
        {404, 5, -EEXIST, 0, 0},
        /* What is there is as another version of the source, which we did not copy. */
        {200, 6, -EEXIST, 0, 0},
};

/* A copy to the new name "b" whose first try met another change: what is there at the second, if
 * anything, is that one's. */
struct conflict {
        int second; /* status */
        int err;
        unsigned copies, heads;
};

static void answer_conflict(void *arg, struct fake_req *rq)
{
        struct conflict *c = arg;

        if (!strstr(rq->target, "/rewriteTo/")) {
                c->heads++;
                show(rq, "a", 5, "mine", "1.000000001");
        } else if (c->copies++ == 0)
                fake_reply(rq, 409, "", "{}", 2);
        else if (c->second != 200)
                fake_reply(rq, c->second, "", "{}", 2);
        else
                say(rq, "{\"done\":true,\"resource\":{\"name\":\"b\",\"size\":\"4\","
                        "\"generation\":\"7\"}}");
}

static const struct conflict conflicts[] = {{200, 0, 0, 0}, {412, -EEXIST, 0, 0}};

START_TEST(a_copy_that_met_another_change_is_made_again_on_its_condition)
{
        struct conflict c = conflicts[_i];
        struct store_cond cond = {.if_absent = true};
        struct event e = EVENT;
        struct fake *f = fake_start(answer_conflict, &c);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});

        ck_assert_int_eq(store_copy(s, "a", "5", "b", NULL, &cond, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), c.err);
        ck_assert_uint_eq(c.copies, 2);
        ck_assert_uint_eq(c.heads, c.err != 0); /* of the source, whose version may be the reason */
        store_close(s);
        fake_stop(f);
}
END_TEST

/* "You have attempted to use a [...] rewrite token that is no longer available. If [...] you still
 * wish to complete the upload or rewrite, you must start a new session" (JSON API, "HTTP status and
 * error codes"). */
static void answer_gone(void *arg, struct fake_req *rq)
{
        unsigned *asked = arg;

        if (strstr(rq->target, "rewriteToken="))
                fake_reply(rq, 410, "", "{}", 2);
        else if ((*asked)++ == 0)
                say(rq, "{\"done\":false,\"rewriteToken\":\"t\"}");
        else
                say(rq, "{\"done\":true,\"resource\":{\"name\":\"b\",\"size\":\"4\","
                        "\"generation\":\"7\"}}");
}

START_TEST(a_copy_whose_token_is_gone_begins_anew)
{
        unsigned asked = 0;
        struct event e = EVENT;
        struct fake *f = fake_start(answer_gone, &asked);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});

        ck_assert_int_eq(store_copy(s, "a", "5", "b", NULL, NULL, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), 0);
        ck_assert_uint_eq(asked, 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A put onto a new name that a rule of the organization forbids. */
static void answer_policy(void *arg, struct fake_req *rq)
{
        static const char refused[] =
                "{\"error\":{\"code\":412,\"message\":\"Request violates an OrgPolicy constraint\","
                "\"errors\":[{\"reason\":\"orgPolicyConstraintFailed\"}]}}";
        (void)arg;
        fake_reply(rq, 412, "", refused, sizeof refused - 1);
}

START_TEST(a_policy_that_forbids_a_put_is_no_other_object)
{
        struct store_cond cond = {.if_absent = true};
        struct fake *f = fake_start(answer_policy, NULL);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});

        ck_assert_int_eq(store_put_wait(s, "k", "bytes", 5, NULL, &cond, NULL), -EACCES);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_copy_whose_answer_was_lost_is_found_out)
{
        struct copied c = copies[_i];
        struct store_cond cond = {.if_absent = true};
        struct event e = EVENT;
        struct fake *f = fake_start(answer_copied, &c);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});

        ck_assert_int_eq(store_copy(s, "a", "5", "b", NULL, &cond, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), c.err);
        ck_assert_uint_eq(c.copies, 2);
        ck_assert_uint_eq(c.heads, 1 + (c.first != 200 && !c.err));
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A folder that is made on the condition that there is none, and is there at the second try. */
struct folder {
        int first; /* 0: the reply is lost */
        int err;
        unsigned creates;
};

static void answer_folder(void *arg, struct fake_req *rq)
{
        struct folder *d = arg;

        if (strstr(rq->target, "/storageLayout")) {
                say(rq, "{\"hierarchicalNamespace\":{\"enabled\":true}}");
        } else if (strcmp(rq->method, "POST") != 0) {
                say(rq, "{}");
        } else {
                fake_body(rq);
                if (d->creates++)
                        fake_reply(rq, 409, "", "{}", 2);
                else if (d->first)
                        fake_reply(rq, d->first, "", "{}", 2);
                else
                        fake_reset(rq);
        }
}

static const struct folder folders[] = {
        {0, 0, 0},
        {500, 0, 0},
        {503, 0, 0},
        {429, -EEXIST, 0}, /* the last made none: another host did */
};

START_TEST(a_folder_that_another_host_has_made_is_none_of_ours)
{
        struct folder d = folders[_i];
        struct store_cond cond = {.if_absent = true};
        struct fake *f = fake_start(answer_folder, &d);
        struct store *s = fake_store(f, &(struct store_config){.url = "gs://b", .anonymous = true});
        char why[512];

        ck_assert_int_eq(store_check(s, why, sizeof why), 0);
        ck_assert_int_eq(store_put_wait(s, "d/", "", 0, NULL, &cond, NULL), d.err);
        ck_assert_uint_eq(d.creates, 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A part of a stream, and its end: the first try of each is refused, when the server has taken
 * some of it already. What it has is asked, and the rest goes on from there. */
struct stream {
        unsigned has, requests; /* bytes; requests of this part or end that bring some */
        unsigned asked;         /* requests that bring none */
        bool ended;
        unsigned repeated; /* bytes that came twice */
};

enum { GRAIN = 256 << 10 };

static void keep(struct stream *st, struct fake_req *rq)
{
        const char *range = strstr(rq->head.p, "Content-Range: bytes ");
        char headers[80];
        bool asks = !range || range[21] == '*';

        fake_body(rq);
        st->asked += asks;
        if (!asks) {
                unsigned from = (unsigned)strtoul(range + 21, NULL, 10);
                unsigned end = from + (unsigned)rq->body.len;
                st->repeated += from < st->has ? st->has - from : 0;
                bool first = st->requests++ == 0;
                st->has = first && end - from > GRAIN ? from + GRAIN : end;
                if (first) {
                        fake_reply(rq, 429, "", "{}", 2);
                        return;
                }
        }
        st->ended = st->has == 2 * GRAIN + 5;
        if (st->ended) {
                fake_reply(rq, 200, "", "{}", 2);
                return;
        }
        snprintf(headers, sizeof headers, "Range: bytes=0-%u\r\n", st->has - 1);
        fake_reply(rq, 308, st->has ? headers : "", "", 0);
}

static char streamed[2 * GRAIN + 5];

static void answer_stream(void *arg, struct fake_req *rq)
{
        struct stream *st = arg;
        char body[400], crc[9];

        if (strstr(rq->target, "/session")) {
                keep(st, rq);
        } else if (strstr(rq->target, "uploadType=resumable")) {
                fake_reply(rq, 200, "Location: /session\r\n", "", 0);
        } else {
                const char *name = strstr(rq->target, "/o/");
                bool is_moved = strstr(rq->target, "/moveTo/") != NULL;
                char decoded[200];
                snprintf(decoded, sizeof decoded, "%.*s", (int)strcspn(name + 3, "?"), name + 3);
                uri_decode(decoded, false);
                crc32c_base64(crc32c(0, streamed, sizeof streamed), crc);
                snprintf(
                        body, sizeof body,
                        "{\"name\":\"%s\",\"size\":\"%zu\",\"generation\":\"7\",\"crc32c\":\"%s\"}",
                        is_moved ? "k" : decoded, sizeof streamed, crc);
                say(rq, body);
        }
}

/* An upload whose only part was sent. */
static struct store *begin_stream(const struct fake *f, struct store_upload **up)
{
        const struct store_config cfg = {
                .url = "gs://b", .anonymous = true, .upload = STORE_UPLOAD_RESUMABLE};
        struct store_body whole = store_body_mem(streamed, sizeof streamed);
        struct store *s = fake_store(f, &cfg);

        ck_assert_int_eq(store_upload_create_wait(s, "k", NULL, up), 0);
        ck_assert_int_eq(store_upload_part_wait(*up, 1, &whole), 0);
        return s;
}

START_TEST(a_stream_that_is_refused_goes_on_where_the_server_is)
{
        struct stream st = {.has = 0};
        struct store_upload *up;
        struct store_object obj;
        struct fake *f = fake_start(answer_stream, &st);
        struct store *s = begin_stream(f, &up);

        ck_assert_uint_eq(st.requests, 2);
        st.requests = 0;
        ck_assert_int_eq(store_upload_complete_wait(up, NULL, &obj), 0);
        ck_assert_uint_eq(st.requests, 1);
        ck_assert_uint_eq(st.repeated, 0);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* Whoever sent the stream is gone, with its last bytes. */
START_TEST(a_stream_without_its_end_is_not_waited_for)
{
        struct stream st = {.has = 0};
        const struct store_part part = {.partno = 1, .size = sizeof streamed, .etag = "stream"};
        struct store_upload *up, *later;
        struct fake *f = fake_start(answer_stream, &st);
        struct store *s = begin_stream(f, &up);

        ck_assert_ptr_nonnull(later = store_upload_open(s, "k", store_upload_id(up)));
        ck_assert_int_eq(store_upload_adopt(later, &part), 0);
        st.asked = 0;
        ck_assert_int_eq(store_upload_complete_wait(later, NULL, NULL), -EIO);
        ck_assert_uint_eq(st.asked, 1);
        store_upload_free(later);
        store_upload_free(up);
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
        tcase_add_loop_test(t, a_rename_whose_answer_was_lost_is_known_by_what_it_moved, 0,
                            sizeof moves / sizeof *moves);
        tcase_add_loop_test(t, a_copy_whose_answer_was_lost_is_found_out, 0,
                            sizeof copies / sizeof *copies);
        tcase_add_loop_test(t, a_copy_that_met_another_change_is_made_again_on_its_condition, 0,
                            sizeof conflicts / sizeof *conflicts);
        tcase_add_test(t, a_copy_whose_token_is_gone_begins_anew);
        tcase_add_test(t, a_policy_that_forbids_a_put_is_no_other_object);
        tcase_add_loop_test(t, a_folder_that_another_host_has_made_is_none_of_ours, 0,
                            sizeof folders / sizeof *folders);
        tcase_add_test(t, a_stream_that_is_refused_goes_on_where_the_server_is);
        tcase_add_test(t, a_stream_without_its_end_is_not_waited_for);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
