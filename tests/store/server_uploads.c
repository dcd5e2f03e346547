/* SPDX-License-Identifier: Apache-2.0 */
/* server_uploads.c: multipart uploads against a server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "tests/store/server.h"

#include "base/banned.h"

enum { PART = 5 * MiB, LAST = 123457 };

struct created {
        struct event e;
        struct store_upload *up;
};

static void created_done(void *arg, int err, struct store_upload *up)
{
        struct created *c = arg;
        c->up = up;
        event_done(&c->e, err, NULL);
}

/* An upload that may get copied parts. */
static struct store_upload *create_copying(struct store *s, const char *key)
{
        struct created c = {.e = EVENT};
        ck_assert_int_eq(store_upload_create_copying(s, key, NULL, created_done, &c), 0);
        ck_assert_int_eq(event_wait(&c.e, 1), 0);
        return c.up;
}

static void expect_object(struct store *s, const char *key, size_t size)
{
        CLEANUP(freep) char *back = malloc(size);
        struct store_object obj;
        ck_assert_int_eq(store_head_wait(s, key, &obj), 0);
        ck_assert_uint_eq(obj.size, size);
        ck_assert_int_eq(store_get_wait(s, key, 0, back, size, obj.etag), (ssize_t)size);
        ck_assert(is_pattern(back, 0, size));
        if (obj.has_crc)
                ck_assert_uint_eq(obj.crc32c, crc32c(0, back, size));
        else
                server_lacks("no checksum of an object made of parts");
}

struct list_count {
        unsigned n;
};

static void count_one(void *arg, const struct store_entry *e)
{
        struct list_count *c = arg;
        (void)e;
        c->n++;
}

/* All objects below the store's prefix. */
static int count_objects(struct store *s, struct list_count *c)
{
        struct store_list list = {.prefix = ""};
        CLEANUP(freep) char *next = NULL;
        return store_list_wait(s, &list, count_one, c, &next);
}

START_TEST(parts_sent_at_once_in_any_order_become_the_object)
{
        enum { N = 4, SIZE = (N - 1) * PART + LAST };
        CLEANUP(freep) char *all = pattern(0, SIZE);
        struct store *s = server_store();
        struct store_meta meta = {.len = 0};
        struct store_upload *up;
        struct store_object obj;
        struct event e = EVENT;

        store_meta_add(&meta, "mode", "0600");
        ck_assert_int_eq(store_upload_create_wait(s, "big/\xc3\xbc +", &meta, &up), 0);
        for (unsigned i = N; i-- > 0;) {
                struct store_body body =
                        store_body_mem(all + (size_t)i * PART, i == N - 1 ? LAST : PART);
                ck_assert_int_eq(store_upload_part(up, i + 1, &body, event_done, &e), 0);
        }
        ck_assert_int_eq(event_wait(&e, N), 0);
        ck_assert_int_eq(store_head_wait(s, "big/\xc3\xbc +", &obj), -ENOENT);
        ck_assert_int_eq(store_upload_complete_wait(up, NULL, &obj), 0);
        ck_assert_uint_eq(obj.size, SIZE);
        ck_assert_str_ne(obj.etag, "");
        store_upload_free(up);
        expect_object(s, "big/\xc3\xbc +", SIZE);
        ck_assert_int_eq(store_head_wait(s, "big/\xc3\xbc +", &obj), 0);
        ck_assert_str_eq(store_meta_get(&obj.meta, "mode"), "0600");
        store_close(s);
}
END_TEST

START_TEST(a_part_sent_again_replaces_the_first)
{
        CLEANUP(freep) char *wrong = pattern(77, PART);
        CLEANUP(freep) char *right = pattern(0, PART);
        CLEANUP(freep) char *last = pattern(PART, LAST);
        struct store *s = server_store();
        struct store_upload *up;
        struct store_body w = store_body_mem(wrong, PART), r = store_body_mem(right, PART),
                          l = store_body_mem(last, LAST);

        ck_assert_int_eq(store_upload_create_wait(s, "again", NULL, &up), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 1, &w), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 2, &l), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 1, &r), 0);
        ck_assert_int_eq(store_upload_complete_wait(up, NULL, NULL), 0);
        store_upload_free(up);
        expect_object(s, "again", PART + LAST);
        store_close(s);
}
END_TEST

START_TEST(a_range_of_another_object_is_a_part)
{
        CLEANUP(freep) char *all = pattern(0, 2 * PART + LAST);
        struct store *s = server_store();
        struct store_upload *up;
        struct store_object src;
        struct event e = EVENT;
        struct store_body last = store_body_mem(all + 2 * PART, LAST);
        const char *from = server_is("radosgw") ? "src +" : "src %+";

        if (server_is("radosgw"))
                server_lacks("the key of a part's source is decoded twice");
        if (store_caps(s) & STORE_CAP_WHOLE_COPY || !(store_caps(s) & STORE_CAP_PART_COPY)) {
                server_lacks("ranges are not copied");
                store_close(s);
                return;
        }
        ck_assert_int_eq(store_put_wait(s, from, all, 2 * PART, NULL, NULL, &src), 0);
        up = create_copying(s, "joined");
        ck_assert_int_eq(store_upload_part_copy(up, 1, from, src.etag, 0, PART, event_done, &e), 0);
        ck_assert_int_eq(store_upload_part_copy(up, 2, from, src.etag, PART, PART, event_done, &e),
                         0);
        ck_assert_int_eq(event_wait(&e, 2), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 3, &last), 0);
        ck_assert_int_eq(store_upload_complete_wait(up, NULL, NULL), 0);
        store_upload_free(up);
        expect_object(s, "joined", 2 * PART + LAST);
        store_close(s);
}
END_TEST

START_TEST(a_whole_object_of_any_size_is_a_part)
{
        enum { N = 40, SIZE = N * 7 };
        CLEANUP(freep) char *all = pattern(0, SIZE);
        struct store *s = server_store();
        struct store_meta meta = {.len = 0};
        struct store_object was;
        struct event e = EVENT;

        if (!(store_caps(s) & STORE_CAP_WHOLE_COPY)) {
                store_close(s);
                return;
        }
        store_meta_add(&meta, "mode", "7");
        ck_assert_int_eq(store_put_wait(s, "log", all, 7, &meta, NULL, &was), 0);
        struct store_upload *up = create_copying(s, "log");
        ck_assert_int_eq(store_upload_part_copy(up, 1, "log", was.etag, 0, 7, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), 0);
        for (unsigned i = 1; i < N; i++) { /* more than a step of composition takes */
                struct store_body body = store_body_mem(all + i * 7, 7);
                ck_assert_int_eq(store_upload_part(up, i + 1, &body, event_done, &e), 0);
        }
        ck_assert_int_eq(event_wait(&e, N - 1), 0);
        struct store_cond same = {.if_match = was.etag};
        ck_assert_int_eq(store_upload_complete_wait(up, &same, NULL), 0);
        store_upload_free(up);
        expect_object(s, "log", SIZE);
        struct list_count all_left = {.n = 0};
        ck_assert_int_eq(count_objects(s, &all_left), 0);
        ck_assert_uint_eq(all_left.n, 1);
        store_close(s);
}
END_TEST

START_TEST(a_part_copy_of_another_version_is_stale)
{
        CLEANUP(freep) char *all = pattern(0, PART);
        struct store *s = server_store();
        struct store_upload *up;
        struct event e = EVENT;

        ck_assert_int_eq(store_put_wait(s, "src", all, PART, NULL, NULL, NULL), 0);
        ck_assert_int_eq(store_upload_create_wait(s, "plain", NULL, &up), 0);
        ck_assert_int_eq(store_upload_part_copy(up, 1, "src", NULL, 0, PART, event_done, &e),
                         -EINVAL);
        ck_assert_int_eq(store_upload_abort_wait(up), 0);
        store_upload_free(up);
        if (!(store_caps(s) & STORE_CAP_PART_COPY)) {
                store_close(s);
                return;
        }
        up = create_copying(s, "joined");
        ck_assert_int_eq(store_upload_part_copy(up, 1, "src", server_other_version(), 0, PART,
                                                event_done, &e),
                         0);
        int err = event_wait(&e, 1);
        if (!err)
                server_lacks("it copies a part without looking at the version");
        else
                ck_assert_int_eq(err, -ESTALE);
        ck_assert_int_eq(store_upload_abort_wait(up), 0);
        store_upload_free(up);
        store_close(s);
}
END_TEST

struct listed {
        struct event e;
        unsigned n, partnos[4];
        uint64_t sizes[4];
        unsigned found;
        const char *key, *id;
};

static void parts_done(void *arg, int err, size_t n, const struct store_part *parts)
{
        struct listed *l = arg;
        l->n = (unsigned)n;
        for (size_t i = 0; i < n && i < 4; i++) {
                l->partnos[i] = parts[i].partno;
                l->sizes[i] = parts[i].size;
        }
        event_done(&l->e, err, NULL);
}

static void uploads_done(void *arg, int err, size_t n, const struct store_upload_entry *v)
{
        struct listed *l = arg;
        l->n = (unsigned)n;
        l->found = 0;
        for (size_t i = 0; i < n; i++)
                l->found += !strcmp(v[i].key, l->key) && !strcmp(v[i].id, l->id);
        event_done(&l->e, err, NULL);
}

START_TEST(an_upload_is_found_its_parts_listed_and_aborted)
{
        CLEANUP(freep) char *all = pattern(0, PART);
        struct store *s = server_store();
        struct store_upload *up, *again;
        struct store_body body = store_body_mem(all, PART), last = store_body_mem(all, LAST);
        struct listed l = {.e = EVENT, .key = "left/over +\xc3\xbc"};

        if (server_is("localstack-s3")) {
                server_lacks(
                        "it says that keys of unfinished uploads are encoded, and they are not");
                l.key = "left/over";
        }
        ck_assert_int_eq(store_upload_create_wait(s, l.key, NULL, &up), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 2, &body), 0);
        ck_assert_int_eq(store_upload_part_wait(up, 5, &last), 0);
        l.id = store_upload_id(up);
        ck_assert_int_eq(store_list_uploads(s, "left/", uploads_done, &l), 0);
        ck_assert_int_eq(event_wait(&l.e, 1), 0);
        if (!l.found) {
                server_lacks("it lists unfinished uploads by their whole key alone");
                ck_assert_int_eq(store_list_uploads(s, l.key, uploads_done, &l), 0);
                ck_assert_int_eq(event_wait(&l.e, 1), 0);
        }
        ck_assert_uint_eq(l.found, 1);

        again = store_upload_open(s, l.key, l.id);
        ck_assert_int_eq(store_upload_parts(again, parts_done, &l), 0);
        ck_assert_int_eq(event_wait(&l.e, 1), 0);
        ck_assert_uint_eq(l.n, 2);
        ck_assert_uint_eq(l.partnos[0], 2);
        ck_assert_uint_eq(l.partnos[1], 5);
        ck_assert_uint_eq(l.sizes[0], PART);
        ck_assert_uint_eq(l.sizes[1], LAST);

        ck_assert_int_eq(store_upload_abort_wait(again), 0);
        ck_assert_int_eq(store_upload_abort_wait(up), 0);
        ck_assert_int_eq(store_list_uploads(s, "left/", uploads_done, &l), 0);
        ck_assert_int_eq(event_wait(&l.e, 1), 0);
        ck_assert_uint_eq(l.found, 0);
        store_upload_free(again);
        store_upload_free(up);
        store_close(s);
}
END_TEST

START_TEST(a_complete_with_if_absent_makes_an_object_once)
{
        CLEANUP(freep) char *all = pattern(0, PART);
        struct store *s = server_store();
        struct store_upload *up;
        struct store_cond absent = {.if_absent = true};
        struct store_body body = store_body_mem(all, PART);

        for (int i = 0; i < 2; i++) {
                ck_assert_int_eq(store_upload_create_wait(s, "once", NULL, &up), 0);
                ck_assert_int_eq(store_upload_part_wait(up, 1, &body), 0);
                int err = store_upload_complete_wait(up, &absent, NULL);
                if (i && !err && server_is("fake-gcs-server"))
                        server_lacks("conditions of compositions");
                else
                        ck_assert_int_eq(err, i ? -EEXIST : 0);
                if (i)
                        ck_assert_int_eq(store_upload_abort_wait(up), 0);
                store_upload_free(up);
        }
        store_close(s);
}
END_TEST

START_TEST(an_upload_without_parts_cannot_be_completed)
{
        struct store *s = server_store();
        struct store_upload *up;
        struct store_body body = store_body_mem("x", 1);
        ck_assert_int_eq(store_upload_create_wait(s, "none", NULL, &up), 0);
        ck_assert_int_eq(store_upload_complete_wait(up, NULL, NULL), -EINVAL);
        ck_assert_int_eq(store_upload_part_wait(up, 0, &body), -EINVAL);
        ck_assert_int_eq(store_upload_part_wait(up, STORE_PART_MAX + 1, &body), -EINVAL);
        ck_assert_int_eq(store_upload_abort_wait(up), 0);
        ck_assert_int_lt(store_upload_part_wait(up, 1, &body), 0);
        store_upload_free(up);
        store_close(s);
}
END_TEST

TCase *upload_cases(void)
{
        TCase *t = tcase_create("uploads");
        tcase_add_test(t, parts_sent_at_once_in_any_order_become_the_object);
        tcase_add_test(t, a_part_sent_again_replaces_the_first);
        tcase_add_test(t, a_range_of_another_object_is_a_part);
        tcase_add_test(t, a_whole_object_of_any_size_is_a_part);
        tcase_add_test(t, a_part_copy_of_another_version_is_stale);
        tcase_add_test(t, an_upload_is_found_its_parts_listed_and_aborted);
        tcase_add_test(t, a_complete_with_if_absent_makes_an_object_once);
        tcase_add_test(t, an_upload_without_parts_cannot_be_completed);
        return t;
}
