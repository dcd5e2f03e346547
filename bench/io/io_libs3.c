/* SPDX-License-Identifier: Apache-2.0 */
/* io_libs3.c: shards as objects, through libs3 as Debian has it. It knows no multipart uploads, so
 * a save is one request; a load asks for ranges, as many at once as there are connections, which
 * one request context moves on the caller's thread. It does not try again by itself: that is done
 * here.
 *
 * Its callbacks get small buffers of its own to fill and to read, so memory that is there is copied
 * once. A device is not asked for each of them: between it and them are blocks of dev_buffer(). */
#include <errno.h>
#include <libs3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/copies.h"
#include "bench/core/io.h"
#include "bench/core/s3_endpoint.h"
#include "bench/core/progress.h"
#include "bench/io/bounce.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum {
        WAKE_US = 50 * 1000, /* how late a signal is seen */
        TRIES = 5,
        PAUSE_NS = 100 * 1000 * 1000, /* before the second try; twice as long before each other */
        CONNECTIONS_MAX = 256         /* select() knows 1024 descriptors */
};
static const uint64_t put_max = 5ULL << 30;

struct lib_io;

/* One request. */
struct slot {
        struct lib_io *l;
        bool taken, sent; /* taken and not sent: waits for wake_ns to be tried again */
        unsigned tries;
        uint64_t wake_ns;
        struct io_step step;
        uint64_t at; /* bytes that moved, in this try */
        int own;     /* why a callback of ours ended it */
};

/* Requests of one kind, with what they move. */
struct job {
        void (*send)(struct lib_io *l, struct slot *sl);
        const char *key;
        const struct io_data *data;
        uint64_t size; /* of the data */
        uint64_t step; /* a load: most bytes of a request; 0: one request for all */
        bool always;   /* also after a signal */
};

struct lib_io {
        struct io io;
        struct place place;
        S3BucketContext bucket;
        S3RequestContext *context;
        bool initialized;
        uint64_t read_size;
        struct slot *slots;
        size_t nslots;
        struct bounce bounce; /* of a slot's range each, or two of a save */
        const struct job *job;
        uint64_t length; /* Content-Length of the last reply */
        S3Status status; /* of the first request that failed for good */
        int err;         /* what that means; 0: none did */
};

struct lib_file {
        struct io_file file;
        char key[PLACE_KEY_MAX];
        uint64_t size; /* of a load */
        bool published;
};

static struct lib_io *lib_of(struct io_file *f)
{
        return (struct lib_io *)f->io;
}

static bool wants_blocks(const struct io_data *d)
{
        return d && !d->mem && d->large && d->check;
}

/* --- callbacks --- */

static int errno_of(S3Status status)
{
        switch (status) {
        case S3StatusOK:
                return 0;
        case S3StatusOutOfMemory:
                return -ENOMEM;
        case S3StatusInterrupted:
                return -ECANCELED;
        case S3StatusErrorAccessDenied:
        case S3StatusErrorInvalidAccessKeyId:
        case S3StatusErrorSignatureDoesNotMatch:
        case S3StatusHttpErrorForbidden:
                return -EACCES;
        case S3StatusErrorNoSuchBucket:
        case S3StatusErrorNoSuchKey:
        case S3StatusHttpErrorNotFound:
                return -ENOENT;
        case S3StatusNameLookupError:
                return -EHOSTUNREACH;
        case S3StatusFailedToConnect:
                return -ECONNREFUSED;
        default:
                return -EIO;
        }
}

static S3Status on_head(const S3ResponseProperties *properties, void *arg)
{
        struct slot *sl = arg;
        sl->l->length = properties->contentLength;
        return S3StatusOK;
}

static void on_complete(S3Status status, const S3ErrorDetails *details, void *arg)
{
        struct slot *sl = arg;
        struct lib_io *l = sl->l;
        (void)details;
        const struct io_data *d = l->job->data;
        int err = sl->own ? sl->own : errno_of(status);
        if (!err && d && sl->at != sl->step.len)
                err = -ENODATA;
        if (!err && l->job->step && wants_blocks(d)) /* a range is complete */
                err = d->check(d->arg, sl->step.off, l->bounce.block[sl - l->slots], sl->step.len);

        sl->sent = false;
        bool again = S3_status_is_retryable(status) || status == S3StatusErrorSlowDown;
        if (err && !sl->own && again && sl->tries < TRIES) {
                sl->wake_ns = clock_ns() + ((uint64_t)PAUSE_NS << sl->tries);
                return;
        }
        sl->taken = false;
        if (err && !l->err) {
                l->err = err;
                l->status = status;
        }
}

static int on_put(int room, char *to, void *arg)
{
        struct slot *sl = arg;
        const struct io_data *d = sl->l->job->data;
        uint64_t left = sl->step.len - sl->at;
        int n = left < (uint64_t)room ? (int)left : room;

        if (signal_came())
                sl->own = -ECANCELED;
        else if (d->mem)
                copies_host(to, d->mem + sl->at, (size_t)n);
        else if (d->ahead)
                sl->own = bounce_give(&sl->l->bounce, d, sl->at, to, &n);
        else
                sl->own = d->fill(d->arg, sl->at, to, (size_t)n);
        if (sl->own)
                return -1;
        sl->at += (uint64_t)n;
        progress_add((uint64_t)n);
        return n;
}

static S3Status on_get(int n, const char *from, void *arg)
{
        struct slot *sl = arg;
        const struct io_data *d = sl->l->job->data;
        uint64_t off = sl->step.off + sl->at;
        char *block =
                wants_blocks(d) ? bounce_block(&sl->l->bounce, (size_t)(sl - sl->l->slots)) : NULL;

        if (signal_came())
                sl->own = -ECANCELED;
        else if (sl->at + (uint64_t)n > sl->step.len)
                sl->own = -EMSGSIZE;
        else if (d->mem)
                copies_host(d->mem + off, from, (size_t)n);
        else if (block)
                copies_host(block + sl->at, from, (size_t)n);
        else if (wants_blocks(d))
                sl->own = -ENOMEM;
        else if (d->check)
                sl->own = d->check(d->arg, off, from, (size_t)n);
        sl->at += (uint64_t)n;
        progress_add((uint64_t)n);
        return sl->own ? S3StatusAbortedByCallback : S3StatusOK;
}

static const S3ResponseHandler on_reply = {on_head, on_complete};
static const S3PutObjectHandler on_put_reply = {{on_head, on_complete}, on_put};
static const S3GetObjectHandler on_get_reply = {{on_head, on_complete}, on_get};

static void send_put(struct lib_io *l, struct slot *sl)
{
        S3_put_object(&l->bucket, l->job->key, sl->step.len, NULL, l->context, &on_put_reply, sl);
}

static void send_get(struct lib_io *l, struct slot *sl)
{
        S3_get_object(&l->bucket, l->job->key, NULL, sl->step.from, sl->step.len, l->context,
                      &on_get_reply, sl);
}

static void send_head(struct lib_io *l, struct slot *sl)
{
        S3_head_object(&l->bucket, l->job->key, l->context, &on_reply, sl);
}

static void send_delete(struct lib_io *l, struct slot *sl)
{
        S3_delete_object(&l->bucket, l->job->key, l->context, &on_reply, sl);
}

static void send_test(struct lib_io *l, struct slot *sl)
{
        const S3BucketContext *b = &l->bucket;
        S3_test_bucket(b->protocol, b->uriStyle, b->accessKeyId, b->secretAccessKey, b->hostName,
                       b->bucketName, 0, NULL, l->context, &on_reply, sl);
}

/* --- running requests --- */

/* The next request of a job, if there is one. `next` begins as zeros. */
static bool next_request(const struct job *job, struct io_step *next)
{
        if (job->step)
                return io_next(job->data, job->step, next);
        next->len = job->size;
        return !next->range++;
}

/* Takes free slots for the requests that come next, and sends what is due. False: all were taken.
 */
static bool send_due(struct lib_io *l, struct io_step *next)
{
        uint64_t now = clock_ns();
        bool more = true;

        for (size_t i = 0; i < l->nslots && !l->err; i++) {
                struct slot *sl = &l->slots[i];
                if (!sl->taken && more) {
                        more = next_request(l->job, next);
                        *sl = (struct slot){.l = l, .taken = more, .step = *next};
                }
                if (!sl->taken || sl->sent || sl->wake_ns > now)
                        continue;
                sl->sent = true;
                sl->at = 0;
                sl->tries++;
                l->job->send(l, sl);
        }
        return more;
}

static size_t count_taken(const struct lib_io *l)
{
        size_t n = 0;
        for (size_t i = 0; i < l->nslots; i++)
                n += l->slots[i].taken;
        return n;
}

/* Waits until a connection can go on, shortly at most. */
static void wait_io(struct lib_io *l)
{
        fd_set in, out, bad;
        int most = -1;
        struct timeval t = {.tv_usec = WAKE_US};
        int64_t ms = S3_get_request_context_timeout(l->context);

        FD_ZERO(&in);
        FD_ZERO(&out);
        FD_ZERO(&bad);
        if (S3_get_request_context_fdsets(l->context, &in, &out, &bad, &most) || most >= FD_SETSIZE)
                most = -1;
        if (ms >= 0 && ms * 1000 < WAKE_US)
                t.tv_usec = (suseconds_t)ms * 1000;
        if (most < 0 && t.tv_usec > 1000)
                t.tv_usec = 1000; /* no descriptor yet: a name is being looked up */
        select(most + 1, &in, &out, &bad, &t);
}

/* Ends what is under way; the connections go with it. */
static int interrupt(struct lib_io *l)
{
        for (size_t i = 0; i < l->nslots; i++)
                l->slots[i].tries = TRIES;
        S3_destroy_request_context(l->context);
        for (size_t i = 0; i < l->nslots; i++)
                l->slots[i].taken = false;
        l->context = NULL;
        return errno_of(S3_create_request_context(&l->context));
}

/* Does a job of one request or many: 0, or a negative errno with a line in io->why. */
static int run_job(struct lib_io *l, const struct job *job)
{
        struct io_step next = {0};
        bool more = true;
        int left = 0;

        if (!l->context) /* there was no memory for another */
                return io_fail(&l->io, -ENOMEM, job->key);
        l->job = job;
        l->err = 0;
        while (!l->err && (more || count_taken(l))) {
                more = send_due(l, &next);
                S3Status s = S3_runonce_request_context(l->context, &left);
                if (s != S3StatusOK && !l->err) {
                        l->status = s;
                        l->err = errno_of(s);
                }
                if (!l->err && !job->always && signal_came())
                        l->err = -ECANCELED;
                if (!l->err && count_taken(l))
                        wait_io(l);
        }
        int err = l->err;
        if (count_taken(l)) {
                int again = interrupt(l);
                err = err ? err : again;
        }
        if (err == -EIO || err == -EACCES)
                snprintf(l->io.why, sizeof l->io.why, "%.400s: %s (libs3: %s)", job->key,
                         strerror(-err), S3_get_status_name(l->status));
        else if (err)
                io_fail(&l->io, err, job->key);
        return err;
}

/* --- the table --- */

static void lib_stop(struct io *io, bool clean)
{
        (void)clean; /* prefixes are not made and need not be removed */
        struct lib_io *l = (struct lib_io *)io;
        if (!l)
                return;
        if (l->context)
                S3_destroy_request_context(l->context);
        if (l->initialized)
                S3_deinitialize();
        bounce_release(&l->bounce);
        free(l->slots);
        free(l);
}

/* What libs3 cannot do is refused, so that nothing else is measured instead. */
static int check_keys(const struct keys *k, char *why, size_t nwhy)
{
        const char *id = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
        const char *token = getenv("AWS_SESSION_TOKEN");
        const char *wrong = NULL;

        if (*k->s3_profile || !id || !*id || !secret || !*secret)
                wrong = "takes a key from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY alone: "
                        "set them, and no s3.profile";
        else if (token && *token)
                wrong = "knows no session tokens: give a key that needs none";
        else if (*k->s3_ca_bundle)
                wrong = "takes no s3.ca_bundle: give an endpoint with http://, or another storage";
        if (wrong)
                snprintf(why, nwhy, "libs3 %s", wrong);
        return wrong ? -EINVAL : 0;
}

static int open_bucket(struct lib_io *l, const struct keys *k)
{
        l->io.ops = &io_libs3;
        l->read_size = k->s3_read_size;
        l->nslots = k->s3_connections < CONNECTIONS_MAX ? k->s3_connections : CONNECTIONS_MAX;
        l->slots = calloc(l->nslots, sizeof *l->slots);
        int err = bounce_init(&l->bounce, l->nslots, l->read_size);
        l->bucket = (S3BucketContext){
                .hostName = l->place.host,
                .bucketName = l->place.bucket,
                .protocol = l->place.tls ? S3ProtocolHTTPS : S3ProtocolHTTP,
                .uriStyle = S3UriStylePath,
                .accessKeyId = getenv("AWS_ACCESS_KEY_ID"),
                .secretAccessKey = getenv("AWS_SECRET_ACCESS_KEY"),
        };
        if (err || !l->slots || S3_initialize("ckptbench", S3_INIT_ALL, NULL) != S3StatusOK)
                return io_fail(&l->io, -ENOMEM, "libs3");
        l->initialized = true;
        if (S3_create_request_context(&l->context) != S3StatusOK)
                return io_fail(&l->io, -ENOMEM, "libs3");
        return run_job(l, &(struct job){.send = send_test, .key = l->place.bucket});
}

static int lib_start(const struct keys *k, const char *storage, const char *dir, unsigned rank,
                     struct io **out, char *why, size_t nwhy)
{
        (void)storage;
        int err = check_keys(k, why, nwhy);
        struct lib_io *l = err ? NULL : io_new(&io_libs3, sizeof *l, rank, why, nwhy);
        if (!l)
                return err ? err : -ENOMEM;
        err = place_read(k, dir, &l->place, why, nwhy);
        if (!err) {
                err = open_bucket(l, k);
                snprintf(why, nwhy, "%s", l->io.why);
                place_add_remedy(&l->place, err, why, nwhy);
        }
        if (err)
                lib_stop(&l->io, false);
        else
                *out = &l->io;
        return err;
}

static struct lib_file *new_file(struct io *io, const char *name)
{
        struct lib_file *f = calloc(1, sizeof *f);
        if (f) {
                f->file.io = io;
                place_key(&((struct lib_io *)io)->place, name, f->key);
        }
        return f;
}

static int lib_create(struct io *io, const char *name, uint64_t size, struct io_file **out)
{
        if (size > put_max) {
                snprintf(io->why, sizeof io->why,
                         "%s: libs3 sends a file in one request, of 5 GiB at most: give more ranks "
                         "or a smaller size",
                         name);
                return -EFBIG;
        }
        struct lib_file *f = new_file(io, name);
        if (!f)
                return io_fail(io, -ENOMEM, name);
        *out = &f->file;
        return 0;
}

/* The one request is the whole work, and what it sent is durable before sync(). */
static int lib_write(struct io_file *file, const struct io_data *d)
{
        struct lib_file *f = (struct lib_file *)file;
        const struct job job = {.send = send_put, .key = f->key, .data = d, .size = d->size};
        struct lib_io *l = lib_of(file);
        int err = run_job(l, &job);
        bounce_end(&l->bounce, d);
        f->published = !err;
        return err;
}

static int lib_sync(struct io_file *file)
{
        (void)file;
        return 0;
}

static int lib_close(struct io_file *file)
{
        free(file);
        return 0;
}

static int delete_key(struct lib_io *l, const char *key)
{
        const struct job job = {.send = send_delete, .key = key, .always = true};
        return run_job(l, &job);
}

/* What the line says of a failure before stays, whether this one succeeds or not. */
static void lib_abandon(struct io_file *file)
{
        struct lib_file *f = (struct lib_file *)file;
        if (f && f->published) {
                char why[sizeof file->io->why];
                memcpy(why, file->io->why, sizeof why);
                delete_key(lib_of(file), f->key);
                memcpy(file->io->why, why, sizeof why);
        }
        free(f);
}

static int head(struct lib_io *l, const char *key, uint64_t *size)
{
        int err = run_job(l, &(struct job){.send = send_head, .key = key});
        *size = err ? 0 : l->length;
        return err;
}

static int lib_open(struct io *io, const char *name, struct io_file **out)
{
        CLEANUP(freep) struct lib_file *f = new_file(io, name);
        if (!f)
                return io_fail(io, -ENOMEM, name);
        int err = head((struct lib_io *)io, f->key, &f->size);
        if (!err)
                *out = &TAKE_PTR(f)->file;
        return err;
}

static int lib_read(struct io_file *file, const struct io_data *d)
{
        struct lib_io *l = lib_of(file);
        struct lib_file *f = (struct lib_file *)file;
        const struct job job = {
                .send = send_get, .key = f->key, .data = d, .size = d->size, .step = l->read_size};
        return f->size < io_reach(d) ? io_fail(file->io, -ENODATA, f->key) : run_job(l, &job);
}

static int lib_forget(struct io *io, const char *name)
{
        (void)io;
        (void)name;
        return 0;
}

static int lib_remove(struct io *io, const char *name)
{
        char key[PLACE_KEY_MAX];
        place_key(&((struct lib_io *)io)->place, name, key);
        return delete_key((struct lib_io *)io, key);
}

static int lib_size(struct io *io, const char *name, uint64_t *out)
{
        char key[PLACE_KEY_MAX];
        place_key(&((struct lib_io *)io)->place, name, key);
        return head((struct lib_io *)io, key, out);
}

const struct io_ops io_libs3 = {
        .name = "libs3",
        .start = lib_start,
        .stop = lib_stop,
        .create = lib_create,
        .write = lib_write,
        .sync = lib_sync,
        .open = lib_open,
        .read = lib_read,
        .close = lib_close,
        .abandon = lib_abandon,
        .forget = lib_forget,
        .remove = lib_remove,
        .keep = io_keep_none,
        .keep_not = io_keep_not_none,
        .size = lib_size,
        .count = io_count_none,
};
