/* SPDX-License-Identifier: Apache-2.0 */
/* test_gcs_answers.c: what a server of Google's protocol says, with every value of it replaced by
 * one of another type and with every end cut off: each call ends with an errno, and nothing is read
 * that is not there (which the build with sanitizers sees). */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/uri.h"
#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

#define RESOURCE(name)                                                                             \
        "{\"name\":\"" name "\",\"generation\":\"17\",\"size\":\"2\",\"crc32c\":\"9Z3Zwg==\","     \
        "\"timeCreated\":\"2026-01-02T03:04:05.678Z\",\"contentType\":\"text/plain\","             \
        "\"metadata\":{\"mode\":\"33188\",\"ckptfs-for\":\"x\"}}"
#define ERROR                                                                                      \
        "{\"error\":{\"code\":403,\"message\":\"no\",\"status\":\"DENIED\",\"errors\":"            \
        "[{\"reason\":\"forbidden\",\"message\":\"no\"}]}}"
#define COMPOSED ".ckptfs/tmp/c-0123"
#define SENT     ".ckptfs/tmp/m-0123"

/* A request that has these, and what is answered; the first that fits. '@' stands for the name of
 * the object that is asked for. */
struct answer {
        const char *method, *target;
        int status;
        const char *headers, *body;
};

struct call {
        int (*run)(struct store *s);
        struct answer answers[8];
};

/* Which answer is changed, and how: number `place` of its values becomes `value`, or, with `cut`,
 * it ends after so many bytes. */
struct change {
        const struct call *call;
        /* set between two calls, and read by the server's thread, which may still be at the last */
        _Atomic size_t which, place, cut;
        const char *_Atomic value;
        atomic_bool cuts, over;
        atomic_bool ends; /* all is refused behind the answer that is changed */
};

/* --- calls --- */

static int run_check(struct store *s)
{
        char why[512];
        return store_check(s, why, sizeof why);
}

static int run_head(struct store *s)
{
        struct store_object obj;
        return store_head_wait(s, "k", &obj);
}

static int run_get(struct store *s)
{
        char text[8];
        return (int)store_get_wait(s, "k", 0, text, sizeof text, NULL);
}

static int run_put(struct store *s)
{
        return store_put_wait(s, "k", "hi", 2, NULL, NULL, NULL);
}

static int waited(int err, struct event *e)
{
        return err ? err : event_wait(e, 1);
}

static int run_delete_many(struct store *s)
{
        static const char *const keys[] = {"a", "b"};
        struct event e = EVENT;
        return waited(store_delete_many(s, keys, NULL, 2, event_done, &e), &e);
}

static int run_copy(struct store *s)
{
        return store_copy_wait(s, "a", "k", NULL);
}

static int run_rename(struct store *s)
{
        struct event e = EVENT;
        return waited(store_rename(s, "a", NULL, "k", NULL, event_done, &e), &e);
}

static int run_folder_rename(struct store *s)
{
        struct event e = EVENT;
        run_check(s);
        int err = store_folder_rename(s, "a/", "k/", event_done, &e);
        return err == -EOPNOTSUPP ? 0 : waited(err, &e);
}

static int run_set_meta(struct store *s)
{
        struct event e = EVENT;
        struct store_meta m = {.len = 0};
        store_meta_add(&m, "mode", "1");
        return waited(store_set_meta(s, "k", NULL, &m, event_done, &e), &e);
}

static void look(void *arg, const struct store_entry *e)
{
        struct store_meta m;
        size_t *n = arg;
        store_entry_meta(e, &m);
        *n += strlen(e->key) + strlen(e->etag) + m.len;
}

static int run_list(struct store *s)
{
        const struct store_list list = {.prefix = "", .delim = "/"};
        CLEANUP(freep) char *next = NULL;
        size_t n = 0;
        return store_list_wait(s, &list, look, &n, &next);
}

static int run_upload(struct store *s)
{
        struct store_body body = store_body_mem("hi", 2);
        struct store_upload *up;

        int err = store_upload_create_wait(s, "k", NULL, &up);
        if (err)
                return err;
        err = store_upload_part_wait(up, 1, &body);
        if (!err)
                err = store_upload_complete_wait(up, NULL, NULL);
        if (err)
                store_upload_abort_wait(up);
        store_upload_free(up);
        return err;
}

static void parts_done(void *arg, int err, size_t n, const struct store_part *parts)
{
        for (size_t i = 0; i < n; i++)
                ck_assert_uint_lt(strlen(parts[i].etag), STORE_ETAG_MAX);
        event_done(arg, err, NULL);
}

static int with_upload(struct store *s, const char *id)
{
        struct event e = EVENT;
        struct store_upload *up = store_upload_open(s, "k", id);

        int err = waited(store_upload_parts(up, parts_done, &e), &e);
        if (!err)
                err = store_upload_abort_wait(up);
        store_upload_free(up);
        return err;
}

static int run_abort_composed(struct store *s)
{
        return with_upload(s, "c-0123");
}

static int run_abort_sent(struct store *s)
{
        return with_upload(s, "m-0123.u");
}

static void uploads_done(void *arg, int err, size_t n, const struct store_upload_entry *v)
{
        for (size_t i = 0; i < n; i++)
                ck_assert(*v[i].key && *v[i].id);
        event_done(arg, err, NULL);
}

static int run_uploads(struct store *s)
{
        struct event e = EVENT;
        return waited(store_list_uploads(s, "", uploads_done, &e), &e);
}

/* --- answers --- */

#define HNS                                                                                        \
        {                                                                                          \
                "GET", "storageLayout", 200, "", "{\"hierarchicalNamespace\":{\"enabled\":true}}"  \
        }
#define MEDIA                                                                                      \
        "x-goog-generation: 17\r\nx-goog-hash: crc32c=9Z3Zwg==,md5=x\r\nx-goog-meta-mode: 1\r\n"   \
        "Last-Modified: Fri, 02 Jan 2026 03:04:05 GMT\r\n"
static const struct call calls[] = {
        {run_check, {{"GET", "maxResults=1&", 200, "", "{\"items\":[{\"name\":\"k\"}]}"}, HNS}},
        {run_check, {{"GET", "", 403, "", ERROR}}},
        {run_check, {{"GET", "", 403, "", "<Error><Code>A</Code><Message>no</Message></Error>"}}},
        {run_head, {{"GET", "/o/k", 200, "", RESOURCE("k")}}},
        {run_get, {{"GET", "/o/k", 200, MEDIA, "hi"}}},
        {run_put, {{"POST", "/upload/", 200, "", RESOURCE("k")}}},
        {run_delete_many,
         {{"POST", "/batch/", 200, "",
           "--b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n--b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
           "--b--\r\n"}}},
        {run_copy,
         {{"POST", "rewriteToken", 200, "", "{\"done\":true,\"resource\":" RESOURCE("k") "}"},
          {"POST", "/rewriteTo/", 200, "", "{\"done\":false,\"rewriteToken\":\"t\"}"}}},
        {run_rename,
         {{"POST", "/moveTo/", 200, "", RESOURCE("k")}, {"GET", "/o/a", 200, "", RESOURCE("a")}}},
        {run_rename,
         {{"POST", "/moveTo/", 404, "", ERROR},
          {"GET", "/o/a", 200, "", RESOURCE("a")},
          {"POST", "/rewriteTo/", 200, "", "{\"done\":true,\"resource\":" RESOURCE("k") "}"},
          {"DELETE", "/o/a", 204, "", ""}}},
        {run_folder_rename,
         {{"GET", "maxResults", 200, "", "{}"},
          HNS,
          {"POST", "/renameTo/", 200, "",
           "{\"name\":\"projects/_/buckets/b/operations/o\",\"done\":false}"},
          {"GET", "/operations/", 200, "",
           "{\"done\":true,\"error\":{\"code\":5,\"message\":\"m\"}}"}}},
        {run_set_meta, {{"PATCH", "/o/k", 200, "", RESOURCE("k")}}},
        {run_list,
         {{"GET", "/o?", 200, "",
           "{\"nextPageToken\":\"t\",\"prefixes\":[\"a/\",\"b/\"],\"items\":[" RESOURCE(
                   "a/") "," RESOURCE("k") "]}"}}},
        {run_upload,
         {{"POST", "?uploads", 200, "",
           "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"},
          {"PUT", "partNumber=1", 200, "ETag: \"e\"\r\n", ""},
          {"POST", "uploadId=u", 200, "",
           "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"},
          {"GET", "/o/.ckptfs", 200, "", RESOURCE("@")},
          {"POST", "/moveTo/", 200, "", RESOURCE("k")},
          {"DELETE", "", 204, "", ""}}},
        {run_abort_composed,
         {{"GET", "/o?", 200, "",
           "{\"items\":[" RESOURCE(COMPOSED "/00001") "," RESOURCE(COMPOSED "/t00002") "]}"},
          {"POST", "/batch/", 200, "",
           "HTTP/1.1 204 No\r\nHTTP/1.1 204 No\r\nHTTP/1.1 204 No\r\n"}}},
        {run_abort_sent,
         {{"GET", "uploadId=u", 200, "",
           "<ListPartsResult><Part><PartNumber>1</PartNumber><Size>2</Size><ETag>e</ETag></Part>"
           "</ListPartsResult>"},
          {"DELETE", "", 204, "", ""}}},
        {run_uploads,
         {{"GET", "/o?", 200, "", "{\"items\":[" RESOURCE(COMPOSED) "," RESOURCE(SENT "-k") "]}"},
          {"GET", "?uploads", 200, "",
           "<ListMultipartUploadsResult><Upload><Key>" SENT "-k</Key><UploadId>u</UploadId>"
           "<Initiated>2026-01-02T03:04:05Z</Initiated></Upload></ListMultipartUploadsResult>"}}},
};

/* --- changes --- */

/* The end of the JSON value at p. */
static const char *value_end(const char *p)
{
        int depth = 0;
        do {
                if (*p == '"') {
                        while (*++p != '"')
                                ;
                        p++;
                } else if (*p == '{' || *p == '[') {
                        depth++;
                        p++;
                } else if (*p == '}' || *p == ']') {
                        depth--;
                        p++;
                } else {
                        p++;
                }
        } while (depth > 0 ||
                 (*p && !strchr(",]}", *p) && p[-1] != '"' && p[-1] != '}' && p[-1] != ']'));
        return p;
}

/* Whether a value begins at p, which is behind a ':' or in an array. */
static bool begins(const char *text, const char *p)
{
        char before = p > text ? p[-1] : ':';
        if (before == ':' || before == '[')
                return *p != ']';
        return before == ',' && (*p != '"' || *value_end(p) != ':');
}

/* The text with the change; over: it has no such place. */
static void write_change(struct change *c, const char *text, struct buf *out)
{
        size_t n = 0;

        buf_reset(out);
        if (c->cuts) {
                c->over = c->cut >= strlen(text);
                buf_add(out, text, c->over ? 0 : c->cut);
                return;
        }
        c->over = true;
        for (const char *p = text; *text == '{' && *p; p++) {
                if (!begins(text, p) || n++ != c->place)
                        continue;
                c->over = false;
                buf_add(out, text, (size_t)(p - text));
                buf_adds(out, c->value);
                buf_adds(out, value_end(p));
                return;
        }
}

/* The body with the name that the request has. */
static void fill_in(const struct fake_req *rq, const char *body, struct buf *out)
{
        const char *at = strchr(body, '@'), *name = strstr(rq->target, "/o/");

        buf_add(out, body, at ? (size_t)(at - body) : strlen(body));
        if (!at || !name)
                return;
        size_t from = out->len;
        buf_add(out, name + 3, strcspn(name + 3, "?"));
        uri_decode(out->p + from, false);
        out->len = strlen(out->p);
        buf_adds(out, at + 1);
}

static void answer(void *arg, struct fake_req *rq)
{
        CLEANUP(buf_release) struct buf changed = BUF_INIT, whole = BUF_INIT;
        struct change *c = arg;
        static const struct answer none = {.status = 404, .headers = "", .body = ERROR};
        const struct answer *a = c->call->answers;

        while (a->method && (strcmp(a->method, rq->method) || !strstr(rq->target, a->target)))
                a++;
        fill_in(rq, a->method ? a->body : none.body, &whole);
        const char *body = whole.p;
        if (c->ends && !c->over) {
                fake_error(rq, 403, "forbidden");
                return;
        }
        if (a == &c->call->answers[c->which]) {
                write_change(c, body, &changed);
                body = c->over ? body : changed.p;
        }
        if (!a->method)
                a = &none;
        fake_reply(rq, a->status, a->headers, body, strlen(body));
}

static struct store *open_store(const struct fake *f, unsigned deadline_ms)
{
        setenv("GOOGLE_APPLICATION_CREDENTIALS", "", 1);
        unsetenv("STORAGE_EMULATOR_HOST");
        return fake_store(f, &(struct store_config){.url = "gs://bucket",
                                                    .deadline_ms = deadline_ms,
                                                    .anonymous = true});
}

/* Once, whatever comes of it. A busy machine lets the deadline of `s`, which is there so that
 * nothing is tried again, pass before the answer was asked for: then `patient` asks, whose second
 * try is refused. */
static void run_change(struct change *c, struct store *s, struct store *patient)
{
        /* An answer that is not asked for has no places. */
        c->over = true;
        int err = c->call->run(s);
        if (err == -ETIMEDOUT && c->over) {
                c->ends = true;
                err = c->call->run(patient);
                c->ends = false;
        }
        ck_assert_int_le(err, 8);
}

/* Until there is no such place any more. */
static unsigned run_changes(struct change *c, struct store *s, struct store *patient)
{
        unsigned runs = 0;

        for (;; runs++) {
                c->place = c->cut = runs;
                run_change(c, s, patient);
                if (c->over)
                        return runs;
        }
}

START_TEST(a_reply_with_anything_in_any_place_ends_in_an_errno)
{
        static const char *const values[] = {
                "null",
                "true",
                "-1",
                "1e300",
                "[]",
                "[\"x\"]",
                "{}",
                "{\"x\":[0]}",
                "\"\"",
                "\"\\u0001\"",
                "\"99999999999999999999\"",
                "\"9999-12-31T23:59:59Z\"",
        };
        struct change c = {.call = &calls[_i]};
        struct fake *f = fake_start(answer, &c);
        struct store *s = open_store(f, 1);
        struct store *patient = open_store(f, 0);
        unsigned runs = 0;

        for (c.which = 0; calls[_i].answers[c.which].method; c.which++) {
                c.cuts = true;
                runs += run_changes(&c, s, patient);
                c.cuts = false;
                for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                        c.value = values[v];
                        runs += run_changes(&c, s, patient);
                }
        }
        ck_assert_uint_gt(runs, 0);
        store_close(patient);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(what_is_answered_as_it_should_be_is_understood)
{
        struct change c = {.call = &calls[_i], .which = SIZE_MAX};
        struct fake *f = fake_start(answer, &c);
        struct store *s = open_store(f, 0);
        int err = calls[_i].run(s);
        bool refused = calls[_i].answers[0].status == 403;
        ck_assert_int_eq(err < 0 ? err : 0, refused                              ? -EACCES
                                            : calls[_i].run == run_folder_rename ? -ENOENT
                                                                                 : 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* Ids come from records and names in the bucket. */
static const char *const no_ids[] = {
        "",
        "c",
        "c-",
        "m-",
        "r-",
        "zzz",
        "c-zz",
        "c-0123.x",
        "c-0123/00001",
        "m-0123",
        "m-0123-x",
        "r-0123",
        "r-0123.@127.0.0.1:1/x",
        "r-0123.0/x",
        "r-0123./a b",
        "r-0123./\r\nX: y",
};

START_TEST(an_id_that_is_none_of_an_upload_is_refused_without_a_request)
{
        struct change c = {.call = &calls[0]};
        struct fake *f = fake_start(answer, &c);
        struct store *s = open_store(f, 0);
        ck_assert_int_eq(with_upload(s, no_ids[_i]), -EINVAL);
        struct store_upload *up = store_upload_open(s, "k", no_ids[_i]);
        const struct store_part part = {.partno = 1, .size = 2, .etag = "1 k"};
        ck_assert_int_eq(store_upload_adopt(up, &part), 0);
        ck_assert_int_eq(store_upload_complete_wait(up, NULL, NULL), -EINVAL);
        ck_assert_int_eq(store_upload_abort_wait(up), -EINVAL);
        ck_assert_uint_eq(fake_requests(f), 0);
        store_upload_free(up);
        store_close(s);
        fake_stop(f);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

int main(void)
{
        Suite *suite = suite_create("gcs_answers");
        TCase *t = tcase_create("gcs_answers");
        tcase_add_loop_test(t, what_is_answered_as_it_should_be_is_understood, 0, COUNT(calls));
        tcase_add_loop_test(t, a_reply_with_anything_in_any_place_ends_in_an_errno, 0,
                            COUNT(calls));
        tcase_add_loop_test(t, an_id_that_is_none_of_an_upload_is_refused_without_a_request, 0,
                            COUNT(no_ids));
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
