/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: opening a store, and the operations on objects and listings. Reads are get.c, uploads
 * upload.c, copies copy_parts.c, what happens to an operation on its way request.c. */
#include "base/mutex.h"
#include "store/core/open_params.h"
#include "store/core/store_int.h"
#include "store/http/worker_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/banned.h"

enum {
        CONNECTIONS_MOST = 128,
        STALL_MS = 15000,
        DEADLINE_MS = 120000,
        AGE_MS = 60000,
        REST_MS = 30000,
        CONNECT_MS = 10000,
        CHECK_DEADLINE_MS = 3000,
        CHECK_TRIES = 3,
        CHECK_WRITE_MS = 1000, /* nobody's mount waits longer for what may be said in vain */
        DELETE_MANY_MAX = 1000,
        LIST_MAX = 1000
};

static const struct store_ops *const kinds[] = {&store_s3, &store_gcs};

/* --- opening --- */

/* Splits scheme://bucket[/prefix]; prefix ends with '/' or is empty. */
static int parse_url(struct store *s, const char *url, char *why, size_t nwhy)
{
        const char *sep = url ? strstr(url, "://") : NULL;
        for (size_t i = 0; sep && i < sizeof kinds / sizeof *kinds; i++)
                if (strlen(kinds[i]->scheme) == (size_t)(sep - url) &&
                    !strncmp(url, kinds[i]->scheme, (size_t)(sep - url)))
                        s->ops = kinds[i];
        const char *bucket = sep ? sep + 3 : "";
        size_t nbucket = s->ops ? s->ops->bucket_len(bucket) : 0;
        if (!s->ops || !nbucket) {
                snprintf(why, nwhy, "'%s' names no bucket: give %s", url ? url : "",
                         sep && !strncmp(url, "gcs:", 4)
                                 ? "gs://BUCKET or gs://BUCKET/PREFIX"
                                 : "s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX]");
                return -EINVAL;
        }
        const char *prefix = bucket + nbucket;
        prefix += strspn(prefix, "/");
        size_t n = strlen(prefix);
        while (n && prefix[n - 1] == '/')
                n--;
        if (n >= STORE_KEY_MAX) {
                snprintf(why, nwhy, "the prefix of '%s' is too long: give at most %d bytes", url,
                         STORE_KEY_MAX - 1);
                return -EINVAL;
        }
        s->bucket = strndup(bucket, nbucket);
        s->prefix = calloc(1, n + 2);
        if (!s->bucket || !s->prefix)
                return -ENOMEM;
        memcpy(s->prefix, prefix, n);
        if (n)
                s->prefix[n++] = '/';
        s->prefix_len = n;
        return 0;
}

static int open_http(struct store *s, const struct store_config *cfg, char *why, size_t nwhy)
{
        struct http_config h = {
                .connections = cfg->connections        ? cfg->connections
                               : cfg->connections_most ? cfg->connections_most
                                                       : CONNECTIONS_MOST,
                .adapt = !cfg->connections,
                .workers = cfg->workers ? cfg->workers
                                        : worker_load_most(sysconf(_SC_NPROCESSORS_ONLN)),
                .by_load = !cfg->workers,
                .stall_timeout_ms = cfg->stall_timeout_ms ? cfg->stall_timeout_ms : STALL_MS,
                .connect_timeout_ms = s->deadline_ms < CONNECT_MS ? s->deadline_ms : CONNECT_MS,
                .connection_age_ms = cfg->connection_age_ms ? cfg->connection_age_ms : AGE_MS,
                .rest_ms = cfg->rest_ms ? cfg->rest_ms : REST_MS,
                .ca_bundle = s->ops->ca_bundle(s->kind, cfg->ca_bundle),
        };
        if (h.workers > h.connections)
                h.workers = h.connections;
        return http_open(&h, &s->http, why, nwhy);
}

static void store_closep(struct store **s)
{
        store_close(*s);
}

int store_open(const struct store_config *cfg, struct store **out, char *why, size_t nwhy)
{
        CLEANUP(store_closep) struct store *s = calloc(1, sizeof *s);

        snprintf(why, nwhy, "no memory for the store: end another program");
        if (!s)
                return -ENOMEM;
        mutex_init(&s->ramp_mtx, LOCK_RATE);
        mutex_unshared(&s->ramp_mtx);
        s->reads.first = RAMP_READS;
        s->writes.first = RAMP_WRITES;
        s->deadline_ms = cfg->deadline_ms ? cfg->deadline_ms : DEADLINE_MS;
        int err = parse_url(s, cfg->url, why, nwhy);
        if (err)
                return err;
        struct store_place place = {.bucket = s->bucket, .prefix = s->prefix};
        err = s->ops->open(cfg, &place, &s->kind, why, nwhy);
        if (err == -ENOMEM)
                snprintf(why, nwhy, "no memory for the store: end another program");
        if (!err)
                err = open_http(s, cfg, why, nwhy);
        if (err)
                return err;
        s->ramps = s->ops->ramps(s->kind);
        *why = 0;
        *out = TAKE_PTR(s);
        return 0;
}

void store_stop(struct store *s)
{
        http_stop(s->http);
}

void store_close(struct store *s)
{
        if (!s)
                return;
        http_close(s->http);
        if (s->kind)
                s->ops->close(s->kind);
        mutex_destroy(&s->ramp_mtx);
        free(s->bucket);
        free(s->prefix);
        free(s);
}

unsigned store_caps(const struct store *s)
{
        return s->ops->caps | s->ops->more_caps(s->kind);
}

bool store_copies_parts(const struct store *s, const char *key)
{
        return store_caps(s) & STORE_CAP_PART_COPY && !s->ops->misreads(s->kind, s->prefix) &&
               !s->ops->misreads(s->kind, key);
}

bool store_no_misreading(const struct store_kind *k, const char *key)
{
        (void)k;
        (void)key;
        return false;
}

size_t store_key_max(const struct store *s)
{
        return STORE_KEY_MAX - s->prefix_len;
}

const char *store_bucket(const struct store *s)
{
        return s->bucket;
}

uint64_t store_object_max(const struct store *s)
{
        return s->ops->object_max;
}

void store_stats(const struct store *s, struct store_stats *out)
{
        struct http_stats h;
        http_stats(s->http, &h);
        *out = (struct store_stats){
                .requests = h.requests,
                .retries = __atomic_load_n(&s->retries, __ATOMIC_RELAXED),
                .errors = __atomic_load_n(&s->errors, __ATOMIC_RELAXED),
                .bytes_sent = h.bytes_sent,
                .bytes_received = h.bytes_received,
                .connections_opened = h.connections_opened,
                .transfers = h.transfers,
                .transfers_most = h.transfers_most,
        };
}

unsigned store_transfers_now(const struct store *s)
{
        return http_transfers_most(s->http);
}

void store_http_library(char *out, size_t n)
{
        http_library(out, n);
}

/* --- objects --- */

int store_head(struct store *s, const char *key, store_done_fn *done, void *arg)
{
        return store_head_later(s, 0, key, done, arg);
}

int store_head_later(struct store *s, unsigned ms, const char *key, store_done_fn *done, void *arg)
{
        int err = store_check_key(s, key);
        if (err)
                return err;
        struct op *op = op_new(s, OP_HEAD, key, arg);
        if (!op)
                return -ENOMEM;
        op->wait_ms = ms;
        op->finish = op_finish_object;
        op->done.object = done;
        return op_submit(op);
}

int store_put(struct store *s, const char *key, const struct store_body *body,
              const struct store_meta *meta, const struct store_cond *cond, store_done_fn *done,
              void *arg)
{
        int err = store_check_key(s, key);
        if (err || body->len > STORE_PART_SIZE_MAX)
                return err ? err : -EINVAL;
        CLEANUP(op_freep) struct op *op = op_new(s, OP_PUT, key, arg);
        err = op ? op_set_meta(op, meta) : -ENOMEM;
        if (!err)
                err = op_set_cond(op, cond);
        if (err)
                return err;
        op->body = *body;
        op->finish = op_finish_object;
        op->done.object = done;
        return op_submit(TAKE_PTR(op));
}

int store_append(struct store *s, const char *key, const char *if_match, uint64_t off,
                 const struct store_body *body, const struct store_meta *meta, store_done_fn *done,
                 void *arg)
{
        const struct store_cond cond = {.if_match = if_match};

        int err = store_check_key(s, key);
        if (err || !body->len || body->len > STORE_PART_SIZE_MAX)
                return err ? err : -EINVAL;
        if (!(store_caps(s) & STORE_CAP_APPEND))
                return -EOPNOTSUPP;
        CLEANUP(op_freep) struct op *op = op_new(s, OP_APPEND, key, arg);
        err = op ? op_set_meta(op, meta) : -ENOMEM;
        if (!err)
                err = op_set_cond(op, &cond);
        if (err)
                return err;
        op->off = off;
        op->body = *body;
        op->finish = op_finish_object;
        op->done.object = done;
        return op_submit(TAKE_PTR(op));
}

int store_delete(struct store *s, const char *key, store_done_fn *done, void *arg)
{
        return store_delete_if(s, key, NULL, done, arg);
}

int store_delete_if(struct store *s, const char *key, const char *if_match, store_done_fn *done,
                    void *arg)
{
        int err = store_check_key(s, key);
        if (err)
                return err;
        CLEANUP(op_freep) struct op *op = op_new(s, OP_DELETE, key, arg);
        if (!op || op_set_cond(op, &(struct store_cond){.if_match = if_match}))
                return -ENOMEM;
        op->finish = op_finish_plain;
        op->done.object = done;
        return op_submit(TAKE_PTR(op));
}

static int dup_if(char **to, const char *s)
{
        return s && *s && !(*to = strdup(s)) ? -ENOMEM : 0;
}

int store_delete_many(struct store *s, const char *const *keys, const char *const *versions,
                      size_t n, store_done_fn *done, void *arg)
{
        if (!n || n > DELETE_MANY_MAX)
                return -EINVAL;
        CLEANUP(op_freep) struct op *op = op_new(s, OP_DELETE_MANY, NULL, arg);
        if (!op || !(op->keys = calloc(n, sizeof *op->keys)) ||
            (versions && !(op->versions = calloc(n, sizeof *op->versions))))
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int err = store_check_key(s, keys[i]);
                if (err)
                        return err;
                op->keys[op->nkeys++] = store_full_key(s, keys[i]);
                if (!op->keys[i] || (versions && dup_if(&op->versions[i], versions[i])))
                        return -ENOMEM;
        }
        op->finish = op_finish_plain;
        op->done.object = done;
        return op_submit(TAKE_PTR(op));
}

/* --- listing --- */

static int by_key(const void *a, const void *b)
{
        return strcmp(((const struct store_entry *)a)->key, ((const struct store_entry *)b)->key);
}

/* The key as the user knows it; NULL for what is not below the store's prefix, or is it. */
static const char *user_key(const struct op *op, const struct op_entry *e)
{
        const char *key = op_string(op, e->key);
        size_t n = op->s->prefix_len;
        return strncmp(key, op->s->prefix, n) || !key[n] ? NULL : key + n;
}

typedef void entry_fn(const struct op *op, const struct op_entry *e, const char *key, void *to);

/* What the user is told of the entries, `each` bytes as make() fills them: malloc'ed, and how many
 * in *n. NULL for none, or with *err. */
static void *make_entries(const struct op *op, int *err, size_t each, entry_fn *make, size_t *n)
{
        char *v = !*err && op->n ? calloc(op->n, each) : NULL;

        *n = 0;
        if (!*err && op->n && !v)
                *err = -ENOMEM;
        for (size_t i = 0; v && i < op->n; i++) {
                const char *key = user_key(op, &op->v[i]);
                if (key)
                        make(op, &op->v[i], key, v + each * (*n)++);
        }
        return v;
}

static void make_entry(const struct op *op, const struct op_entry *e, const char *key, void *to)
{
        *(struct store_entry *)to = (struct store_entry){
                .key = key,
                .is_prefix = e->is_prefix,
                .size = e->size,
                .mtime_ns = e->time_ns,
                .etag = op_string(op, e->etag),
                .meta = e->is_prefix && !e->told ? NULL : op_string(op, e->meta),
                .nmeta = e->nmeta,
                .partial = e->partial,
                .metageneration = e->metageneration,
        };
}

/* What is wrong with a listing; the answer for good. */
static int bad_list(struct op *op, int err, const char *what)
{
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message, "%s", what);
        return err;
}

/* Whether the next page was there before. One of them is remembered, and another at each power of
 * two: it comes again when the pages go round, however many they are. */
static bool goes_round(struct store_walk *w, const char *next)
{
        uint64_t now = fnv1a(FNV1A_BASIS, next, strlen(next));

        if (w->pages && now == w->seen)
                return true;
        if (!(w->pages & (w->pages + 1)))
                w->seen = now;
        w->pages++;
        return false;
}

/* "There is a chance that your list operation returns fewer results than the specified maximum, and
 * possibly zero, with a nextPageToken" (Cloud Storage, "Objects: list"); S3 sets IsTruncated so.
 * Whoever asks whether there is anything gets an answer all the same. */
int list_complete(struct op *op)
{
        size_t n = 0, skip = strlen(op->prefix);

        for (size_t i = 0; i < op->n; i++) {
                if (strncmp(op_string(op, op->v[i].key), op->prefix, skip) != 0)
                        return bad_list(op, -EIO, "a listing of keys without the prefix");
                n += user_key(op, &op->v[i]) != NULL;
        }
        if (op->next && op->page_token && !strcmp(op->next, op->page_token))
                return bad_list(op, -EIO, "a listing whose page names itself as the next one");
        if (op->next && op->walk && goes_round(op->walk, op->next))
                return bad_list(op, -EIO, "a listing whose pages go round");
        if (!op->next || n >= op->least)
                return 0;
        if (op->n > op->told)
                retry_progress(&op->retry);
        else if (!retry_wait(&op->retry, http_running_ms(&op->rq)))
                return bad_list(op, -ETIMEDOUT, "a listing that goes on with empty pages");
        free(op->page_token);
        op->page_token = TAKE_PTR(op->next);
        op->told = op->n;
        op->told_names = op->names.len;
        return OP_AGAIN;
}

static void finish_list(struct op *op, int err)
{
        size_t n;
        struct store_entry *v = make_entries(op, &err, sizeof *v, make_entry, &n);

        if (n) /* a kind gives objects and prefixes apart, each in order */
                qsort(v, n, sizeof *v, by_key);
        struct store_page page = {.n = n, .v = v, .next = op->next};
        op->done.list(op->arg, err, err ? NULL : &page);
        free(v);
}

int store_list(struct store *s, const struct store_list *list, store_list_fn *done, void *arg)
{
        unsigned max = list->max ? list->max : LIST_MAX;

        if (max > LIST_MAX || list->least > max)
                return -EINVAL;
        CLEANUP(op_freep) struct op *op = op_new(s, OP_LIST, NULL, arg);
        if (!op || !(op->prefix = store_full_key(s, list->prefix ? list->prefix : "")) ||
            dup_if(&op->delim, list->delim) || dup_if(&op->continuation, list->continuation) ||
            dup_if(&op->page_token, list->continuation))
                return -ENOMEM;
        if (list->start_after && !(op->start_after = store_full_key(s, list->start_after)))
                return -ENOMEM;
        op->max = max;
        op->least = list->least ? list->least : 1;
        op->walk = list->walk;
        if (op->walk && !list->continuation)
                *op->walk = (struct store_walk){.pages = 0};
        op->finish = finish_list;
        op->done.list = done;
        return op_submit(TAKE_PTR(op));
}

static void make_upload(const struct op *op, const struct op_entry *e, const char *key, void *to)
{
        *(struct store_upload_entry *)to = (struct store_upload_entry){
                .key = key, .id = op_string(op, e->id), .begun_ns = e->time_ns};
}

static void finish_uploads(struct op *op, int err)
{
        size_t n;
        struct store_upload_entry *v = make_entries(op, &err, sizeof *v, make_upload, &n);

        op->done.uploads(op->arg, err, n, v);
        free(v);
}

int store_list_uploads(struct store *s, const char *prefix, store_uploads_fn *done, void *arg)
{
        CLEANUP(op_freep) struct op *op = op_new(s, OP_UPLOADS, NULL, arg);
        if (!op || !(op->prefix = store_full_key(s, prefix ? prefix : "")))
                return -ENOMEM;
        op->finish = finish_uploads;
        op->done.uploads = done;
        return op_submit(TAKE_PTR(op));
}

/* --- the check --- */

struct check {
        struct store_wait *wait;
        char *why;
        size_t nwhy;
};

static void finish_check(struct op *op, int err)
{
        struct check *c = op->arg;
        if (err)
                op->s->ops->explain(op->s->kind, op, err, c->why, c->nwhy);
        op->s->empty = !err && op->empty;
        wait_end(c->wait, err);
}

int store_check(struct store *s, char *why, size_t nwhy)
{
        struct store_wait w;
        struct check c = {.wait = &w, .why = why, .nwhy = nwhy};
        CLEANUP(op_freep) struct op *op = op_new(s, OP_CHECK, NULL, &c);

        snprintf(why, nwhy, "no memory for a request: end another program");
        if (!op || !(op->prefix = store_full_key(s, "")))
                return -ENOMEM;
        *why = 0;
        op->retry.deadline_ms = CHECK_DEADLINE_MS;
        op->retry.most = CHECK_TRIES;
        op->finish = finish_check;
        wait_begin(&w);
        return wait_for(&w, op_submit(TAKE_PTR(op)));
}

bool store_was_empty(const struct store *s)
{
        return s->empty;
}

struct check_write {
        struct store_wait wait;
        bool denied;
};

static void finish_check_write(struct op *op, int err)
{
        struct check_write *c = op->arg;

        c->denied = err == -EACCES && op_is_denied(op);
        wait_end(&c->wait, err);
}

/* Completes an upload that nobody has begun: permissions are looked at first, and then there is
 * nothing to complete. A server that knows no uploads does not take a POST for a write, either. */
const char *store_check_write(struct store *s)
{
        struct check_write c = {.denied = false};
        CLEANUP(op_freep) struct op *op = op_new(s, OP_CHECK_WRITE, ".ckptfs/none", &c);

        if (!op || buf_adds(&op->text, "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
                                       "<ETag>&quot;0&quot;</ETag></Part>"
                                       "</CompleteMultipartUpload>"))
                return NULL;
        op->id = "ckptfs-none";
        op->retry.deadline_ms = op->rq.stall_max_ms = CHECK_WRITE_MS;
        op->retry.most = 1;
        op->finish = finish_check_write;
        wait_begin(&c.wait);
        (void)wait_for(&c.wait, op_submit(TAKE_PTR(op)));
        return c.denied ? s->ops->permission(s->kind, OP_CHECK_WRITE) : NULL;
}

void store_set_connections(struct store *s, unsigned connections, unsigned most)
{
        unsigned n = connections ? connections : most ? most : CONNECTIONS_MOST;
        http_set_connections(s->http, n, !connections);
}

void store_renew(struct store *s)
{
        s->ops->renew(s->kind);
}

void store_credentials(struct store *s, struct store_credentials *out)
{
        s->ops->credentials(s->kind, out);
}

const char *store_no_writes(const struct store *s)
{
        return s->ops->no_writes(s->kind);
}

void store_secret_file(struct store *s, char out[STORE_SECRET_FILE_MAX])
{
        s->ops->secret_file(s->kind, out, STORE_SECRET_FILE_MAX);
}
