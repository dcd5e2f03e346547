/* SPDX-License-Identifier: Apache-2.0 */
/* op_interrupt.c: see op_interrupt.h. */
#include "mount/ops/op_interrupt.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "mount/caller/exit_signal.h"
#include "mount/core/mount.h"

#include "base/banned.h"

enum {
        BUCKETS = 1024, /* a power of two */
        NODES = 2,
        TICK = 250,     /* ms between two looks at who waits and had a signal */
        PATIENCE = 1000 /* ms that a thread which dies already waits for its last close */
};

struct request {
        struct request *next;   /* in its bucket */
        struct list_item asked; /* of those to look at */
        struct reply_way *way;  /* of its own, or NULL */
        uint64_t unique;        /* the kernel's number of it */
        pid_t tid;
        uint64_t nodes[NODES]; /* that it names, or 0; pinned when it was ended */
        unsigned holds;
        bool waited_for;                 /* by its thread, in the call */
        enum kernel_operation operation; /* KERNEL_OPERATIONS: another */
        int64_t begun_ns;
        int64_t dies_ms; /* when its thread has waited for long enough, or 0 */
        atomic_bool ended;
};

struct requests {
        struct mount *m;
        int fd;
        struct node *(*node_of)(struct mount *m, uint64_t ino);
        pthread_t thread;
        struct mutex mtx; /* before the tree's lock */
        pthread_cond_t wake, unchanging;
        struct {
                struct request *buckets[BUCKETS];
                struct list asked;
                size_t nasked;
                size_t changing; /* of all, that change names or attributes */
                size_t nways;    /* of all, that have a way of their own, */
                bool came;       /* and whether one has come since the last look */
                bool sleeps;     /* who looks */
                bool over;
        } locked GUARDED_BY(&mtx);
};

static _Thread_local struct request *now;
static _Thread_local uint64_t now_unique;

static int64_t now_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t now_ms(void)
{
        return now_ns() / 1000000;
}

static enum kernel_operation operation_of(uint32_t opcode)
{
        switch (opcode) {
#define KERNEL_OPERATION(name, opcode)                                                             \
        case opcode:                                                                               \
                return KERNEL_##name;
#include "base/metrics.def"
        default:
                return KERNEL_OPERATIONS;
        }
}

/* What the end of a mount waits for. A file's bytes are mount_finish()'s. */
static bool changes(enum kernel_operation op)
{
        switch (op) {
        case KERNEL_setattr:
        case KERNEL_link:
        case KERNEL_symlink:
        case KERNEL_mknod:
        case KERNEL_mkdir:
        case KERNEL_unlink:
        case KERNEL_rmdir:
        case KERNEL_rename:
        case KERNEL_rename2:
        case KERNEL_setxattr:
        case KERNEL_removexattr:
                return true;
        default:
                return false;
        }
}

/* --- the table --- */

static struct request **bucket_locked(struct requests *q, uint64_t unique) REQUIRES(&q->mtx)
{
        /* The kernel counts by twos, from a start of each processor's own. */
        return &q->locked.buckets[(unique >> 1) % BUCKETS];
}

static struct request **find_locked(struct requests *q, uint64_t unique) REQUIRES(&q->mtx)
{
        struct request **pp = bucket_locked(q, unique);
        while (*pp && (*pp)->unique != unique)
                pp = &(*pp)->next;
        return pp;
}

/* Its thread is looked at from now on. */
static void ask_locked(struct requests *q, struct request *r) REQUIRES(&q->mtx)
{
        if (r->asked.listed || atomic_load(&r->ended))
                return;
        list_add(&q->locked.asked, &r->asked);
        if (!q->locked.nasked++)
                pthread_cond_signal(&q->wake);
}

static void unask_locked(struct requests *q, struct request *r) REQUIRES(&q->mtx)
{
        if (!r->asked.listed)
                return;
        list_remove(&q->locked.asked, &r->asked);
        q->locked.nasked--;
}

/* --- answering in its place --- */

/* That there is no such request any more is no error. */
static void answer(const struct requests *q, struct reply_way *way, uint64_t unique, int err)
{
        struct fuse_out_header out = {.len = sizeof out, .error = -err, .unique = unique};
        const struct iovec iov = {&out, sizeof out};
        ssize_t put = way ? way->reply(way, &iov, 1) : writev(q->fd, &iov, 1);
        (void)put;
}

static void pin(struct requests *q, const struct request *r, bool pinned)
{
        struct tree *t = q->m->tree;

        tree_lock(t);
        for (int i = 0; i < NODES && r->nodes[i]; i++) {
                struct node *n = q->node_of(q->m, r->nodes[i]);
                if (pinned)
                        tree_pin_locked(n);
                else
                        tree_unref_locked(t, n, 1);
        }
        tree_unlock(t);
}

/* The thread of the request dies: it is answered, unless that was done, or may not be now. */
static void end(struct requests *q, uint64_t unique)
{
        mutex_lock(&q->mtx);
        struct request *r = *find_locked(q, unique);
        bool ends = r && !r->holds && !atomic_load(&r->ended);
        struct reply_way *way = r ? r->way : NULL;
        if (ends) {
                pin(q, r, true); /* the kernel has them until it is answered */
                atomic_store(&r->ended, true);
                unask_locked(q, r);
        }
        mutex_unlock(&q->mtx);
        if (ends)
                answer(q, way, unique, EINTR);
}

/* A request that is not known yet is being taken by another thread: the kernel is to ask again. Of
 * one that was answered meanwhile it does not, nor of one that has a way of its own, whose thread
 * is looked at anyway. */
static void interrupted(struct requests *q, const struct fuse_in_header *in, uint64_t unique)
{
        mutex_lock(&q->mtx);
        struct request *r = *find_locked(q, unique);
        pid_t tid = r ? r->tid : 0;
        if (r)
                ask_locked(q, r);
        mutex_unlock(&q->mtx);
        if (!r)
                answer(q, NULL, in->unique, EAGAIN);
        else if (is_dying(tid))
                end(q, unique);
}

struct asked {
        uint64_t unique;
        pid_t tid;
        bool dies;
};

/* The requests whose threads had a signal; *n: how many. */
static struct asked *list_asked_locked(struct requests *q, size_t *n) REQUIRES(&q->mtx)
{
        struct asked *v = calloc(q->locked.nasked, sizeof *v);
        int64_t ms = now_ms();

        *n = 0;
        LIST_EACH (r, &q->locked.asked, struct request, asked)
                if (v)
                        v[(*n)++] = (struct asked){.unique = r->unique,
                                                   .tid = r->tid,
                                                   .dies = r->dies_ms && ms >= r->dies_ms};
        return v;
}

static void look_locked(struct requests *q) REQUIRES(&q->mtx)
{
        size_t n;
        CLEANUP(freep) struct asked *v = list_asked_locked(q, &n);

        mutex_unlock(&q->mtx);
        for (size_t i = 0; i < n; i++)
                if (v[i].dies || is_dying(v[i].tid))
                        end(q, v[i].unique);
        mutex_lock(&q->mtx);
}

static void wait_locked(struct requests *q) REQUIRES(&q->mtx)
{
        const struct timespec until = mutex_deadline(CLOCK_MONOTONIC, TICK);
        while (!q->locked.over && mutex_timedwait(&q->wake, &q->mtx, &until) != ETIMEDOUT)
                ;
}

/* Those that have a way of their own and wait for longer than a moment. */
static void ask_ways_locked(struct requests *q) REQUIRES(&q->mtx)
{
        int64_t since = now_ns() - (int64_t)TICK * 1000000;

        q->locked.came = false;
        for (size_t i = 0; q->locked.nways && i < BUCKETS; i++)
                for (struct request *r = q->locked.buckets[i]; r; r = r->next)
                        if (r->way && r->waited_for && r->begun_ns < since)
                                ask_locked(q, r);
}

static void sleep_locked(struct requests *q) REQUIRES(&q->mtx)
{
        q->locked.sleeps = true;
        mutex_wait(&q->wake, &q->mtx);
        q->locked.sleeps = false;
}

/* The kernel tells of the first signal only: that another one kills is to be seen. */
static void *look_at_asked(void *arg)
{
        struct requests *q = arg;

        mutex_lock(&q->mtx);
        while (!q->locked.over) {
                if (!q->locked.nasked && !q->locked.nways && !q->locked.came) {
                        sleep_locked(q);
                        continue;
                }
                wait_locked(q);
                ask_ways_locked(q);
                if (q->locked.nasked)
                        look_locked(q);
        }
        mutex_unlock(&q->mtx);
        return NULL;
}

/* --- the session's --- */

struct requests *requests_new(struct mount *m, int fd,
                              struct node *(*node_of)(struct mount *m, uint64_t ino))
{
        struct requests *q = calloc(1, sizeof *q);

        if (!q)
                return NULL;
        q->m = m;
        q->fd = fd;
        q->node_of = node_of;
        mutex_init(&q->mtx, LOCK_REQUESTS);
        mutex_cond_init(&q->wake);
        pthread_cond_init(&q->unchanging, NULL);
        if (!pthread_create(&q->thread, NULL, look_at_asked, q))
                return q;
        mutex_unshared(&q->mtx);
        q->locked.over = true;
        requests_free(q);
        return NULL;
}

void requests_stop(struct requests *q)
{
        mutex_lock(&q->mtx);
        bool ran = !q->locked.over;
        q->locked.over = true;
        pthread_cond_signal(&q->wake);
        mutex_unlock(&q->mtx);
        if (ran)
                pthread_join(q->thread, NULL);
}

bool requests_have_release(struct requests *q)
{
        bool some = false;

        mutex_lock(&q->mtx);
        for (size_t i = 0; !some && i < BUCKETS; i++)
                for (const struct request *r = q->locked.buckets[i]; r; r = r->next)
                        some |= r->operation == KERNEL_release;
        mutex_unlock(&q->mtx);
        return some;
}

void requests_wait(struct requests *q)
{
        mutex_lock(&q->mtx);
        while (q->locked.changing)
                mutex_wait(&q->unchanging, &q->mtx);
        mutex_unlock(&q->mtx);
}

void requests_free(struct requests *q)
{
        if (!q)
                return;
        requests_stop(q);
        mutex_unshared(&q->mtx);
        for (size_t i = 0; i < BUCKETS; i++)
                while (q->locked.buckets[i]) {
                        struct request *r = q->locked.buckets[i];
                        q->locked.buckets[i] = r->next;
                        free(r);
                }
        pthread_cond_destroy(&q->wake);
        pthread_cond_destroy(&q->unchanging);
        mutex_destroy(&q->mtx);
        free(q);
}

/* Not what the kernel asks for itself, and does for others too: to let go of files, and to write
 * pages back. What it reads ahead it reads again for whoever else wants it. */
static bool is_waited_for(const struct fuse_in_header *in, size_t n)
{
        const struct fuse_write_in *w = (const void *)(in + 1);

        switch (in->opcode) {
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
                return false;
        case FUSE_WRITE:
                return n >= sizeof *in + sizeof *w && !(w->write_flags & FUSE_WRITE_CACHE);
        default:
                return true;
        }
}

static struct request *request_new(const struct fuse_in_header *in)
{
        struct request *r;

        while (!(r = calloc(1, sizeof *r))) {
                log_error_of(LOG_ABOUT(.remedy = "end another program"),
                             "no memory for a request: trying again");
                nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        }
        r->unique = in->unique;
        r->tid = (pid_t)in->pid;
        r->nodes[0] = in->nodeid;
        r->holds = 1; /* its handler's */
        r->operation = operation_of(in->opcode);
        r->begun_ns = now_ns();
        atomic_init(&r->ended, false);
        return r;
}

static void know_way_locked(struct requests *q) REQUIRES(&q->mtx)
{
        q->locked.nways++;
        q->locked.came = true;
        if (q->locked.sleeps)
                pthread_cond_signal(&q->wake);
}

bool requests_begin(struct requests *q, const void *p, size_t n, struct reply_way *way)
{
        const struct fuse_in_header *in = p;
        const uint64_t *first = (const uint64_t *)(in + 1);
        bool whole = n >= sizeof *in + sizeof *first;

        now = NULL;
        if (n < sizeof *in)
                return true;
        switch (in->opcode) {
        case FUSE_INTERRUPT:
                if (whole)
                        interrupted(q, in, *first);
                return false;
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET: /* nobody waits for a reply */
                return true;
        }
        struct request *r = request_new(in);
        if (whole &&
            (in->opcode == FUSE_RENAME || in->opcode == FUSE_RENAME2 || in->opcode == FUSE_LINK))
                r->nodes[1] = *first; /* newdir; oldnodeid */
        r->way = way;
        r->waited_for = is_waited_for(in, n);
        now = r;
        now_unique = in->unique;
        mutex_lock(&q->mtx);
        struct request **pp = bucket_locked(q, r->unique);
        r->next = *pp;
        *pp = r;
        q->locked.changing += changes(r->operation);
        if (way)
                know_way_locked(q);
        mutex_unlock(&q->mtx);
        return true;
}

void requests_handled(struct requests *q)
{
        if (!now)
                return;
        now = NULL;
        mutex_lock(&q->mtx);
        struct request *r = *find_locked(q, now_unique);
        if (r)
                r->holds--;
        mutex_unlock(&q->mtx);
}

/* Whoever finds no memory says nothing: here is the end of them all. */
static void say_no_memory(const struct request *r)
{
        const char *what = "a request";

        if (r->operation != KERNEL_OPERATIONS)
                what = metric_times_table[TIMES_fuse_request].operations[r->operation];
        log_error_of(LOG_ABOUT(.operation = what,
                               .remedy = "end another program, or give a smaller memory="),
                     "no memory for %s: thread %d gets ENOMEM", what, (int)r->tid);
}

/* Whether the end of the mount has cut it off, since the store did not reply in time. Who wrote a
 * file hears of that from it. */
static bool is_cut_off(const struct requests *q, const struct request *r, int err)
{
        bool writes = r->operation == KERNEL_write || r->operation == KERNEL_fsync ||
                      r->operation == KERNEL_flush;
        return (err == -ECANCELED || err == -ESHUTDOWN) && !writes && mount_ends(q->m);
}

ssize_t requests_reply(struct requests *q, int fd, const struct iovec *iov, int n)
{
        const struct fuse_out_header *out = iov[0].iov_base;

        mutex_lock(&q->mtx);
        struct request **pp = find_locked(q, out->unique), *r = *pp;
        if (r) {
                *pp = r->next;
                unask_locked(q, r);
                q->locked.nways -= !!r->way;
                if (changes(r->operation) && !--q->locked.changing)
                        pthread_cond_broadcast(&q->unchanging);
        }
        mutex_unlock(&q->mtx);
        bool ended = r && atomic_load(&r->ended);
        struct fuse_out_header late = *out;
        const struct iovec cut = {&late, sizeof late};
        if (r && is_cut_off(q, r, out->error)) {
                late.error = -ETIMEDOUT;
                iov = &cut;
                n = 1;
        }
        if (r && !ended && out->error == -ENOMEM)
                say_no_memory(r);
        if (ended)
                pin(q, r, false);
        else if (r && r->operation != KERNEL_OPERATIONS)
                metric_time(TIMES_fuse_request, r->operation, now_ns() - r->begun_ns);
        struct reply_way *way = r ? r->way : NULL;
        free(r);
        if (!ended && way)
                return way->reply(way, iov, n);
        if (!ended)
                return writev(fd, iov, n); /* a notice, which is of no request, too */
        errno = ENOENT;
        return -1;
}

/* --- between the op files --- */

struct request *request_now(void)
{
        return now;
}

bool request_hold(struct mount *m, struct request *r)
{
        struct requests *q = m->requests;

        mutex_lock(&q->mtx);
        bool held = !atomic_load(&r->ended);
        r->holds += held;
        mutex_unlock(&q->mtx);
        return held;
}

void request_let(struct mount *m, struct request *r)
{
        struct requests *q = m->requests;

        mutex_lock(&q->mtx);
        r->holds--;
        mutex_unlock(&q->mtx);
}

void request_keep(struct mount *m, struct request *r)
{
        struct requests *q = m->requests;

        mutex_lock(&q->mtx);
        r->holds++;
        mutex_unlock(&q->mtx);
}

bool request_ended(const struct request *r)
{
        return atomic_load(&r->ended);
}

void request_dies(struct mount *m, struct request *r)
{
        struct requests *q = m->requests;

        mutex_lock(&q->mtx);
        r->dies_ms = now_ms() + PATIENCE;
        ask_locked(q, r);
        mutex_unlock(&q->mtx);
}
