/* SPDX-License-Identifier: Apache-2.0 */
/* asked_store.h: in place of the store's client: a list of what is asked of it, which a test
 * answers one by one. It is of one program, and links with what needs the rest of the mount. */
#ifndef CKPTFS_TEST_ASKED_STORE_H
#define CKPTFS_TEST_ASKED_STORE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "tests/lib/unit.h"

enum { ASKED_MOST = 512 };

struct store_upload {
        size_t n;
        struct store_part parts[ASKED_MOST];
};

struct ask {
        char what[128];
        store_done_fn *done;
        store_upload_fn *created;
        store_list_fn *listed;
        struct store_get get;
        void *arg;
        struct store_upload *up;
        struct store_part part;
};
static struct ask asked[ASKED_MOST];
static size_t nasked, answered;
static unsigned caps, transfers_now;
static uint64_t size_now; /* of the object that stands, */
static const char *etag_now = "v2";
static uint32_t crc_now;                     /* of it, and of what is read, */
static bool tells_crc;                       /* which a head tells */
static char body_put[4096];                  /* what the body of the last put begins with, */
static struct store_meta meta_put, meta_now; /* its metadata; those of what stands */

static struct ask *ask(const char *what, const char *key, store_done_fn *done, void *arg)
{
        ck_assert_uint_lt(nasked, sizeof asked / sizeof asked[0]);
        struct ask *a = &asked[nasked++];
        *a = (struct ask){.done = done, .arg = arg};
        bool hidden = !strncmp(key, ".ckptfs/", 8); /* with an id behind that */
        snprintf(a->what, sizeof a->what, "%s %s", what, hidden ? ".ckptfs" : key);
        return a;
}

unsigned store_caps(const struct store *s)
{
        (void)s;
        return caps;
}

bool store_copies_parts(const struct store *s, const char *key)
{
        (void)s;
        (void)key;
        return caps & STORE_CAP_PART_COPY;
}

unsigned store_transfers_now(const struct store *s)
{
        (void)s;
        return transfers_now;
}

int store_head(struct store *s, const char *key, store_done_fn *done, void *arg)
{
        (void)s;
        ask("head", key, done, arg);
        return 0;
}

int store_head_later(struct store *s, unsigned ms, const char *key, store_done_fn *done, void *arg)
{
        (void)s;
        ask(ms ? "later head" : "head", key, done, arg);
        return 0;
}

int store_put(struct store *s, const char *key, const struct store_body *body,
              const struct store_meta *meta, const struct store_cond *cond, store_done_fn *done,
              void *arg)
{
        (void)s, (void)cond;
        meta_put = meta ? *meta : (struct store_meta){.len = 0};
        size_t n = body->len < sizeof body_put ? (size_t)body->len : sizeof body_put - 1;
        ck_assert_int_eq(body->read(body->arg, 0, body_put, n), 0);
        body_put[n] = '\0';
        ask("put", key, done, arg);
        return 0;
}

int store_append(struct store *s, const char *key, const char *if_match, uint64_t off,
                 const struct store_body *body, const struct store_meta *meta, store_done_fn *done,
                 void *arg)
{
        (void)s, (void)meta;
        char what[80];
        snprintf(what, sizeof what, "append %llu to %llu of %s of", (unsigned long long)body->len,
                 (unsigned long long)off, if_match);
        ask(what, key, done, arg);
        return 0;
}

int store_get(struct store *s, const struct store_get *get)
{
        (void)s;
        ask("get", get->key, NULL, get->arg)->get = *get;
        return 0;
}

int store_list(struct store *s, const struct store_list *list, store_list_fn *done, void *arg)
{
        (void)s;
        ask(list->continuation ? "list on" : "list", list->prefix, NULL, arg)->listed = done;
        return 0;
}

int store_delete_many(struct store *s, const char *const *keys, const char *const *versions,
                      size_t n, store_done_fn *done, void *arg)
{
        (void)s, (void)versions;
        char what[32];
        snprintf(what, sizeof what, "delete %zu from", n);
        ask(what, keys[0], done, arg);
        return 0;
}

int store_delete(struct store *s, const char *key, store_done_fn *done, void *arg)
{
        (void)s;
        ask("delete", key, done, arg);
        return 0;
}

int store_delete_if(struct store *s, const char *key, const char *match, store_done_fn *done,
                    void *arg)
{
        (void)s, (void)match;
        ask("delete", key, done, arg);
        return 0;
}

int store_copy(struct store *s, const char *src, const char *match, const char *dst,
               const struct store_meta *meta, const struct store_cond *cond, store_done_fn *done,
               void *arg)
{
        (void)s, (void)src, (void)match, (void)meta, (void)cond;
        ask("copy to", dst, done, arg);
        return 0;
}

int store_rename(struct store *s, const char *src, const char *match, const char *dst,
                 const struct store_cond *cond, store_done_fn *done, void *arg)
{
        (void)s, (void)src, (void)match, (void)cond;
        ask("rename to", dst, done, arg);
        return 0;
}

int store_upload_create(struct store *s, const char *key, const struct store_meta *meta,
                        store_upload_fn *done, void *arg)
{
        (void)s, (void)meta;
        ask("create", key, NULL, arg)->created = done;
        return 0;
}

int store_upload_create_copying(struct store *s, const char *key, const struct store_meta *meta,
                                store_upload_fn *done, void *arg)
{
        return store_upload_create(s, key, meta, done, arg);
}

static int ask_part(const char *what, struct store_upload *up, unsigned no, uint64_t len,
                    store_done_fn *done, void *arg)
{
        char name[16];
        snprintf(name, sizeof name, "%u", no);
        struct ask *a = ask(what, name, done, arg);
        a->up = up;
        a->part = (struct store_part){.partno = no, .size = len, .etag = "p"};
        return 0;
}

int store_upload_part(struct store_upload *up, unsigned no, const struct store_body *body,
                      store_done_fn *done, void *arg)
{
        return ask_part("part", up, no, body->len, done, arg);
}

int store_upload_part_copy(struct store_upload *up, unsigned no, const char *src, const char *match,
                           uint64_t off, uint64_t len, store_done_fn *done, void *arg)
{
        (void)src, (void)match, (void)off;
        return ask_part("part copy", up, no, len, done, arg);
}

int store_upload_complete_as(struct store_upload *up, const char *key,
                             const struct store_cond *cond, store_done_fn *done, void *arg)
{
        (void)up, (void)key, (void)cond;
        ask("complete", "", done, arg);
        return 0;
}

int store_upload_abort(struct store_upload *up, store_done_fn *done, void *arg)
{
        (void)up;
        ask("abort", "", done, arg);
        return 0;
}

void store_upload_stop(struct store_upload *up)
{
        (void)up;
}

void store_upload_drop(struct store_upload *up, unsigned no)
{
        for (size_t i = 0; i < up->n; i++)
                if (up->parts[i].partno == no)
                        up->parts[i--] = up->parts[--up->n];
}

int store_upload_sent(struct store_upload *up,
                      int (*each)(void *arg, const struct store_part *part), void *arg)
{
        int err = 0;
        for (unsigned no = 1; no <= ASKED_MOST && !err; no++)
                for (size_t i = 0; i < up->n && !err; i++)
                        err = up->parts[i].partno == no ? each(arg, &up->parts[i]) : 0;
        return err;
}

const char *store_upload_id(const struct store_upload *up)
{
        (void)up;
        return "id";
}

void store_upload_free(struct store_upload *up)
{
        free(up);
}

/* The first that was asked with these words, and is to be answered now. */
static struct ask take_asked(const char *what)
{
        size_t i = answered;

        while (i < nasked && strcmp(asked[i].what, what))
                i++;
        ck_assert_msg(i < nasked, "%s is not asked, but %s", what,
                      answered < nasked ? asked[answered].what : "nothing");
        struct ask a = asked[i];
        asked[i] = asked[answered];
        asked[answered++] = a;
        return a;
}

/* The bytes that were asked for come: zeros. */
static void send_zeros(const struct store_get *get)
{
        static const char zeros[1 << 20];

        for (uint64_t at = 0; at < get->len; at += sizeof zeros) {
                uint64_t n = get->len - at < sizeof zeros ? get->len - at : sizeof zeros;
                ck_assert_int_eq(get->data(get->arg, at, zeros, (size_t)n), 0);
        }
}

static void end_get(const struct store_get *get, int err)
{
        const struct store_got got = {.bytes = get->len, .crc32c = crc_now};
        get->done(get->arg, err, err ? NULL : &got);
}

/* What was asked ends so; a version that it makes is etag_now. */
static void answer(const char *what, int err)
{
        struct ask ended_now = take_asked(what), *a = &ended_now;
        struct store_object obj = {.size = size_now, .has_crc = tells_crc, .crc32c = crc_now};

        snprintf(obj.etag, sizeof obj.etag, "%s", etag_now);
        obj.meta = meta_now;
        if (a->created) {
                struct store_upload *up = err ? NULL : calloc(1, sizeof *up);
                a->created(a->arg, err, up);
        } else if (a->get.done) {
                if (!err)
                        send_zeros(&a->get);
                end_get(&a->get, err);
        } else if (a->listed) {
                a->listed(a->arg, err, NULL);
        } else {
                if (!err && a->part.partno)
                        a->up->parts[a->up->n++] = a->part;
                a->done(a->arg, err, err ? NULL : &obj);
        }
}

/* A listing brings these names, separated by spaces, and goes on. "name@9=ETAG" is of the ninth
 * second and of that version, others have no time and are of version "v1"; all have one byte, or
 * two as "name@9+1=ETAG". */
static inline void answer_page(const char *what, const char *names, bool goes_on)
{
        const struct ask a = take_asked(what);
        struct store_entry entries[ASKED_MOST];
        struct store_page page = {.v = entries, .next = goes_on ? "next" : NULL};
        char *copy = strdup(names), *left = copy;

        ck_assert_ptr_nonnull(copy);
        for (char *name; (name = strsep(&left, " ")) && *name; page.n++) {
                ck_assert_uint_lt(page.n, ASKED_MOST);
                char *etag = strchr(name, '='), *second = strchr(name, '@');
                struct store_entry e = {.key = name, .size = 1, .etag = "v1"};
                if (etag)
                        e.etag = etag + 1;
                if (second) {
                        char *longer;
                        e.mtime_ns = strtoll(second + 1, &longer, 10) * 1000000000;
                        e.size += *longer == '+';
                        *second = 0;
                }
                entries[page.n] = e;
        }
        a.listed(a.arg, 0, &page);
        free(copy);
}

#endif
