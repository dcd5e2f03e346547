/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.c: see bucket.h. */
#include "bench/io/bucket.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum { IN_FLIGHT = 64 };

/* The clients of this process: for bucket_count(), and so that whoever asks for the same has the
 * same, and no rank more connections than its keys say. */
struct client {
        struct store *s;
        unsigned users;
        char *what; /* the keys that make it what it is */
        struct client *next;
};
static struct {
        struct mutex mtx;
        struct client *open GUARDED_BY(&mtx);
        bool any GUARDED_BY(&mtx);
        uint64_t sent GUARDED_BY(&mtx), received GUARDED_BY(&mtx); /* by those that were closed */
} clients = {.mtx = MUTEX_INITIALIZER(LOCK_BENCH)};

/* One more user of a client that is open, or NULL. */
static struct store *share_client(const char *what)
{
        struct store *s = NULL;

        mutex_lock(&clients.mtx);
        for (struct client *c = clients.open; c && !s; c = c->next)
                if (!strcmp(c->what, what)) {
                        c->users++;
                        s = c->s;
                }
        mutex_unlock(&clients.mtx);
        return s;
}

static int add_client(struct store *s, const char *what)
{
        struct client *c = calloc(1, sizeof *c);
        char *copy = strdup(what);
        if (!c || !copy) {
                free(c);
                free(copy);
                return -ENOMEM;
        }
        *c = (struct client){.s = s, .users = 1, .what = copy};
        mutex_lock(&clients.mtx);
        c->next = clients.open;
        clients.open = c;
        clients.any = true;
        mutex_unlock(&clients.mtx);
        return 0;
}

/* The last user takes it out of the list. */
static struct client *drop_client_locked(const struct store *s) REQUIRES(&clients.mtx)
{
        for (struct client **at = &clients.open; *at; at = &(*at)->next) {
                struct client *c = *at;
                if (c->s != s)
                        continue;
                if (--c->users)
                        return NULL;
                *at = c->next;
                return c;
        }
        return NULL;
}

void bucket_close(struct store *s)
{
        struct store_stats st;

        if (!s)
                return;
        mutex_lock(&clients.mtx);
        struct client *c = drop_client_locked(s);
        if (c) {
                store_stats(s, &st);
                clients.sent += st.bytes_sent;
                clients.received += st.bytes_received;
        }
        mutex_unlock(&clients.mtx);
        if (!c)
                return;
        store_close(s);
        free(c->what);
        free(c);
}

bool bucket_count(uint64_t *sent, uint64_t *received)
{
        struct store_stats st;

        mutex_lock(&clients.mtx);
        *sent = clients.sent;
        *received = clients.received;
        for (const struct client *c = clients.open; c; c = c->next) {
                store_stats(c->s, &st);
                *sent += st.bytes_sent;
                *received += st.bytes_received;
        }
        bool any = clients.any;
        mutex_unlock(&clients.mtx);
        return any;
}

int bucket_open(const struct keys *k, const char *storage, struct store **out, char *why,
                size_t nwhy)
{
        bool gcs = !strcmp(storage, "gcs");
        const struct store_config cfg = {
                .url = gcs ? k->gcs_uri : k->s3_uri,
                .endpoint = gcs ? k->gcs_endpoint : k->s3_endpoint,
                .region = k->s3_region,
                .profile = k->s3_profile,
                .ca_bundle = k->s3_ca_bundle,
                .connections = (unsigned)k->s3_connections,
                .workers = (unsigned)k->s3_workers,
        };
        const char *scheme = gcs ? "gs://" : "s3://";
        if (strncmp(cfg.url, scheme, 5)) {
                snprintf(why, nwhy, "%s.uri=%s names no bucket: give %s.uri=%sBUCKET/PREFIX",
                         storage, cfg.url, storage, scheme);
                return -EINVAL;
        }
        CLEANUP(buf_release) struct buf what = BUF_INIT;
        buf_addf(&what, "%s\n%s\n%s\n%s\n%s\n%u %u", cfg.url, cfg.endpoint, cfg.region, cfg.profile,
                 cfg.ca_bundle, cfg.connections, cfg.workers);
        if (what.failed) {
                snprintf(why, nwhy, "out of memory: free some");
                return -ENOMEM;
        }
        struct store *s = share_client(what.p);
        if (s) {
                *out = s;
                return 0;
        }
        int err = store_open(&cfg, &s, why, nwhy);
        if (!err)
                err = store_check(s, why, nwhy);
        if (!err && (err = add_client(s, what.p)))
                snprintf(why, nwhy, "out of memory: free some");
        if (err) {
                store_close(s);
                return err;
        }
        log_open("ckptbench", "stderr", LOG_LEVEL_WARN); /* codes and request ids of failures */
        *out = s;
        return 0;
}

void bucket_name(const char *dir, size_t i, char out[BUCKET_NAME_MAX])
{
        snprintf(out, BUCKET_NAME_MAX, "%s/object-%07zu", dir, i);
}

/* Requests in flight and the first error of any. */
struct flight {
        struct mutex mtx;
        pthread_cond_t cond;
        size_t n GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
};

static void landed(void *arg, int err, const struct store_object *obj)
{
        (void)obj;
        struct flight *f = arg;
        mutex_lock(&f->mtx);
        f->n--;
        if (err && !f->err)
                f->err = err;
        pthread_cond_signal(&f->cond);
        mutex_unlock(&f->mtx);
}

/* Waits until fewer than `most` are in flight, counts one more when there is no error. */
static int take_off(struct flight *f, size_t most)
{
        mutex_lock(&f->mtx);
        while (f->n >= most)
                mutex_wait(&f->cond, &f->mtx);
        int err = f->err;
        if (!err)
                f->n++;
        mutex_unlock(&f->mtx);
        return err;
}

int bucket_fill(struct store *s, const char *dir, size_t n, size_t size)
{
        struct flight f = {MUTEX_INITIALIZER(LOCK_BENCH), PTHREAD_COND_INITIALIZER, 0, 0};
        CLEANUP(freep) char *bytes = calloc(1, size ? size : 1);
        int err = bytes ? 0 : -ENOMEM;

        for (size_t i = 0; i < n && !err; i++) {
                char key[BUCKET_NAME_MAX];
                const struct store_body body = store_body_mem(bytes, size);
                bucket_name(dir, i, key);
                err = signal_came() ? -ECANCELED : take_off(&f, IN_FLIGHT);
                if (err)
                        break;
                err = store_put(s, key, &body, NULL, NULL, landed, &f);
                if (err)
                        landed(&f, err, NULL);
        }
        int last = take_off(&f, 1); /* all are down */
        return err ? err : last;
}

int bucket_delete(struct store *s, const char *const *keys, size_t n)
{
        struct flight f = {MUTEX_INITIALIZER(LOCK_BENCH), PTHREAD_COND_INITIALIZER, 1, 0};
        int err = store_delete_many(s, keys, NULL, n, landed, &f);

        if (err)
                landed(&f, err, NULL);
        return take_off(&f, 1);
}

int bucket_empty(struct store *s, const char *dir, size_t n)
{
        CLEANUP(freep) char(*name)[BUCKET_NAME_MAX] = calloc(BUCKET_DELETE_MAX, sizeof *name);
        const char *keys[BUCKET_DELETE_MAX];
        int err = name ? 0 : -ENOMEM;

        for (size_t i = 0; i < n && !err; i += BUCKET_DELETE_MAX) {
                size_t some = n - i < BUCKET_DELETE_MAX ? n - i : BUCKET_DELETE_MAX;
                for (size_t j = 0; j < some; j++) {
                        bucket_name(dir, i + j, name[j]);
                        keys[j] = name[j];
                }
                err = bucket_delete(s, keys, some);
        }
        return err;
}
