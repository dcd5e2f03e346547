/* SPDX-License-Identifier: Apache-2.0 */
/* uring.c: see uring.h; fuse-io-uring of the kernel's documentation, io_uring_enter(2). */
#include "mount/daemon/uring.h"

#include <errno.h>
#include <linux/fuse.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/pool.h"

#include "base/banned.h"

/* Of linux/fuse.h and linux/io_uring.h, where they are new enough. */
enum {
        REGISTER = 1,
        COMMIT = 2,
        OP_COMMAND = 46,
        WIDE = 1 << 10, /* a ring of submissions that have a command */
        SQE = 128,      /* the bytes of one, */
        COMMAND_AT = 48 /* and where it has the command */
};

enum {
        PAGE = 4096,
        MOST_ENTRIES = 16, /* of a core */
        LEAST_ENTRIES = 2,
        SLOTS = 2 * MOST_ENTRIES /* of a ring: a command of each entry, and the listening */
};

/* What the kernel and this process tell each other about an entry. */
struct ring_state {
        uint64_t flags, commit_id;
        uint32_t payload, pad;
        uint64_t reserved;
};

struct ring_head {
        char in_out[128];
        char op_in[128];
        struct ring_state state;
};

struct ring_command {
        uint64_t flags, commit_id;
        uint16_t queue;
        uint8_t pad[6];
};

struct entry {
        struct reply_way way;
        struct queue *q;
        struct entry *next; /* of the replies that were handed to the ring's thread */
        struct ring_head *head;
        char *payload;
        struct iovec iov[2];
        uint64_t commit_id;
};

struct map {
        void *at;
        size_t n;
};

enum { SUBMITTED, COMPLETED, COMMANDS, BUFFERS, MAPS };

/* Of one core. */
struct queue {
        struct uring *u;
        unsigned id;
        int ring, wake;
        uint64_t woken; /* the kernel writes here what it reads of `wake` */
        pthread_t thread;
        bool runs;
        int err; /* of an entry that the kernel did not take at the start; until that is told */
        struct map maps[MAPS];
        unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
        unsigned to_submit;
        struct io_uring_cqe *cqes;
        _Atomic(struct entry *) handed;
        struct entry entries[MOST_ENTRIES];
};

enum phase { WAITS, SERVES, DRAINS, OVER };

struct uring {
        int fd;
        struct uring_hooks hooks;
        _Atomic(enum phase) phase;
        atomic_bool used;
        int told; /* counts threads that have done what the phase wants */
        unsigned nqueues, nentries;
        struct queue *queues;
};

static _Thread_local struct queue *own;

/* --- a ring --- */

static struct io_uring_sqe *next_command(struct queue *q)
{
        unsigned at = *q->sq_tail & *q->sq_mask;
        char *all = q->maps[COMMANDS].at;
        struct io_uring_sqe *sqe = (void *)(all + (size_t)at * SQE);

        memset(sqe, 0, SQE);
        q->sq_array[at] = at;
        return sqe;
}

static void push(struct queue *q)
{
        __atomic_store_n(q->sq_tail, *q->sq_tail + 1, __ATOMIC_RELEASE);
        q->to_submit++;
}

/* Submits what was pushed, and waits for `wait` completions. What the kernel does not take now it
 * takes the next time. 0 or a negative errno. */
static int enter(struct queue *q, unsigned wait)
{
        long n = syscall(SYS_io_uring_enter, q->ring, q->to_submit, wait,
                         wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
        if (n < 0)
                return -errno;
        q->to_submit -= (unsigned)n;
        return 0;
}

static void push_entry(struct queue *q, uint32_t op, struct entry *e)
{
        struct io_uring_sqe *sqe = next_command(q);
        struct ring_command c = {.commit_id = e->commit_id, .queue = (uint16_t)q->id};

        sqe->opcode = OP_COMMAND;
        sqe->fd = q->u->fd;
        memcpy(&sqe->off, &op, sizeof op);
        sqe->user_data = (uintptr_t)e;
        if (op == REGISTER) {
                sqe->addr = (uintptr_t)e->iov;
                sqe->len = 2;
        }
        memcpy((char *)sqe + COMMAND_AT, &c, sizeof c);
        push(q);
}

/* Completes, without user data, when another thread wakes this one. */
static void push_listening(struct queue *q)
{
        struct io_uring_sqe *sqe = next_command(q);

        sqe->opcode = IORING_OP_READ;
        sqe->fd = q->wake;
        sqe->addr = (uintptr_t)&q->woken;
        sqe->len = sizeof q->woken;
        push(q);
}

static void count_up(int fd)
{
        const uint64_t one = 1;
        ssize_t put = write(fd, &one, sizeof one);
        (void)put; /* an eventfd is full after 2^64 - 2 */
}

/* --- replies --- */

static ssize_t reply(struct reply_way *way, const struct iovec *iov, int n)
{
        struct entry *e = CONTAINER_OF(way, struct entry, way);
        struct queue *q = e->q;
        size_t len = 0;

        memcpy(e->head->in_out, iov[0].iov_base, sizeof(struct fuse_out_header));
        for (int i = 1; i < n && len + iov[i].iov_len <= POOL_BUF_SIZE; i++) {
                memcpy(e->payload + len, iov[i].iov_base, iov[i].iov_len);
                len += iov[i].iov_len;
        }
        e->head->state.payload = (uint32_t)len;
        if (own == q) {
                push_entry(q, COMMIT, e);
                (void)enter(q, 0); /* or with what this thread waits for next */
                return (ssize_t)(sizeof(struct fuse_out_header) + len);
        }
        struct entry *first = atomic_load_explicit(&q->handed, memory_order_relaxed);
        do
                e->next = first;
        while (!atomic_compare_exchange_weak(&q->handed, &first, e));
        if (!first) /* else it was woken for that one; this one is no longer ours to look at */
                count_up(q->wake);
        return (ssize_t)(sizeof(struct fuse_out_header) + len);
}

static void push_handed(struct queue *q)
{
        struct entry *e = atomic_exchange(&q->handed, NULL);

        while (e) {
                struct entry *next = e->next;
                push_entry(q, COMMIT, e);
                e = next;
        }
}

/* --- the thread of a ring --- */

static void take(struct queue *q, struct entry *e, struct pool_buf **buf)
{
        const struct fuse_in_header *in = (const void *)e->head->in_out;
        size_t payload = e->head->state.payload;
        struct uring *u = q->u;

        e->commit_id = e->head->state.commit_id;
        if (!*buf)
                return; /* it gets no answer any more, as what nobody reads of /dev/fuse */
        if (!atomic_load_explicit(&u->used, memory_order_relaxed) &&
            !atomic_exchange(&u->used, true))
                log_info("requests come by io_uring, up to %u at a time from each of %u cores",
                         u->nentries, u->nqueues);
        const struct iovec parts[URING_PARTS] = {
                {e->head->in_out, sizeof *in},
                {e->head->op_in, in->len - sizeof *in - payload},
                {e->payload, payload},
        };
        u->hooks.handle(u->hooks.arg, parts, &e->way, buf);
}

/* What the kernel has done. It gives entries up that it did not take, and all at the end: 0 or the
 * negative errno of the last one. */
static int complete(struct queue *q, struct pool_buf **buf)
{
        unsigned head = *q->cq_head;
        int err = 0;

        while (head != __atomic_load_n(q->cq_tail, __ATOMIC_ACQUIRE)) {
                struct io_uring_cqe cqe = q->cqes[head & *q->cq_mask];
                __atomic_store_n(q->cq_head, ++head, __ATOMIC_RELEASE);
                if (!cqe.user_data) {
                        push_listening(q);
                        push_handed(q);
                } else if (cqe.res >= 0) {
                        take(q, (struct entry *)(uintptr_t)cqe.user_data, buf);
                } else {
                        err = cqe.res;
                }
        }
        return err;
}

/* On the core, where it is there and this process may run on it. */
static void move_to_core(unsigned id)
{
        cpu_set_t core;

        CPU_ZERO(&core);
        CPU_SET(id, &core);
        (void)sched_setaffinity(0, sizeof core, &core);
}

static enum phase wait_for_start(struct queue *q)
{
        uint64_t n;
        enum phase phase;

        while ((phase = atomic_load(&q->u->phase)) == WAITS) {
                ssize_t got = read(q->wake, &n, sizeof n);
                (void)got;
        }
        return phase;
}

static void *run(void *arg)
{
        struct queue *q = arg;
        struct uring *u = q->u;

        if (wait_for_start(q) == OVER)
                return NULL;
        struct pool_buf *buf = u->hooks.buffer(u->hooks.arg);
        move_to_core(q->id);
        own = q;
        for (unsigned i = 0; i < u->nentries; i++)
                push_entry(q, REGISTER, &q->entries[i]);
        push_listening(q);
        int err = 0;
        while (q->to_submit && !err)
                err = enter(q, 0);
        int refused = complete(q, &buf);
        q->err = err ? err : refused;
        count_up(u->told);
        while (atomic_load(&u->phase) != OVER) {
                err = enter(q, 1);
                if (err && err != -EINTR)
                        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
                (void)complete(q, &buf);
                if (buf && atomic_load(&u->phase) == DRAINS) {
                        pool_unref(TAKE_PTR(buf));
                        count_up(u->told);
                }
        }
        pool_unref(buf);
        return NULL;
}

/* --- making them --- */

static bool map(struct queue *q, int which, size_t n, off_t offset)
{
        bool ring = which != BUFFERS;
        void *at = mmap(NULL, n, PROT_READ | PROT_WRITE,
                        ring ? MAP_SHARED | MAP_POPULATE : MAP_PRIVATE | MAP_ANONYMOUS,
                        ring ? q->ring : -1, offset);
        if (at == MAP_FAILED)
                return false;
        q->maps[which] = (struct map){at, n};
        return true;
}

static void set_entries(struct queue *q)
{
        unsigned n = q->u->nentries;
        char *at = q->maps[BUFFERS].at;

        for (size_t i = 0; i < n; i++) {
                struct entry *e = &q->entries[i];
                e->way.reply = reply;
                e->q = q;
                e->head = (void *)(at + i * PAGE);
                e->payload = at + n * PAGE + i * POOL_BUF_SIZE;
                e->iov[0] = (struct iovec){e->head, sizeof *e->head};
                e->iov[1] = (struct iovec){e->payload, POOL_BUF_SIZE};
        }
}

/* 0 or a negative errno. Memory is taken where the kernel or a reply writes, not here. */
static int make_ring(struct queue *q)
{
        struct io_uring_params p = {.flags = WIDE};

        q->wake = eventfd(0, EFD_CLOEXEC);
        if (q->wake < 0)
                return -errno;
        q->ring = (int)syscall(SYS_io_uring_setup, SLOTS, &p);
        if (q->ring < 0)
                return -errno;
        if (!map(q, SUBMITTED, p.sq_off.array + p.sq_entries * sizeof(unsigned),
                 IORING_OFF_SQ_RING) ||
            !map(q, COMPLETED, p.cq_off.cqes + p.cq_entries * sizeof *q->cqes,
                 IORING_OFF_CQ_RING) ||
            !map(q, COMMANDS, (size_t)p.sq_entries * SQE, IORING_OFF_SQES) ||
            !map(q, BUFFERS, (size_t)q->u->nentries * (PAGE + POOL_BUF_SIZE), 0))
                return -ENOMEM;
        char *sq = q->maps[SUBMITTED].at, *cq = q->maps[COMPLETED].at;
        q->sq_tail = (void *)(sq + p.sq_off.tail);
        q->sq_mask = (void *)(sq + p.sq_off.ring_mask);
        q->sq_array = (void *)(sq + p.sq_off.array);
        q->cq_head = (void *)(cq + p.cq_off.head);
        q->cq_tail = (void *)(cq + p.cq_off.tail);
        q->cq_mask = (void *)(cq + p.cq_off.ring_mask);
        q->cqes = (void *)(cq + p.cq_off.cqes);
        set_entries(q);
        return 0;
}

/* All that the machine may ever have: the kernel wants a ring of each. 0: it does not tell. */
static unsigned count_cores(void)
{
        CLEANUP(fclosep) FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
        char text[64] = "", *end = text;

        if (!f || !fgets(text, sizeof text, f))
                return 0;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-')
                last = strtoul(end + 1, &end, 10);
        return first == 0 && *end == '\n' && last < CPU_SETSIZE ? (unsigned)last + 1 : 0;
}

const char *uring_not_offered(void)
{
        CLEANUP(fclosep) FILE *f = fopen("/sys/module/fuse/parameters/enable_uring", "re");

        if (!f)
                return "this kernel has no FUSE by io_uring: Linux 6.14 has";
        return fgetc(f) == 'Y' ? "the mount was made before the kernel allowed it: mount again"
                               : "the kernel does not allow it: as root, echo Y "
                                 ">/sys/module/fuse/parameters/enable_uring and mount again";
}

static void say_refused(int err, char *why, size_t nwhy)
{
        snprintf(why, nwhy, "%s: %s", strerror(-err),
                 err == -EPERM || err == -ENOSYS
                         ? "the sysctl kernel.io_uring_disabled or the container forbids io_uring: "
                           "allow it"
                         : "end another program, or raise the limits of descriptors and threads");
}

/* How many entries a core has; 0: `why` says why there can be none. A thread has a buffer, too. */
static unsigned fit(unsigned cores, uint64_t memory, char *why, size_t nwhy)
{
        if (!cores) {
                snprintf(why, nwhy,
                         "the kernel does not tell how many cores there are: mount "
                         "/sys where ckptfs runs");
                return 0;
        }
        uint64_t room = memory / 4 / POOL_BUF_SIZE / cores;
        if (room <= LEAST_ENTRIES) {
                snprintf(why, nwhy,
                         "a quarter of memory= is too little for %u cores: give memory=%uM", cores,
                         cores * (LEAST_ENTRIES + 1) * 4);
                return 0;
        }
        return room > MOST_ENTRIES ? MOST_ENTRIES : (unsigned)room - 1;
}

static int make_queues(struct uring *u, unsigned n)
{
        int err = 0;

        u->told = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
        u->queues = calloc(n, sizeof *u->queues);
        if (u->told < 0 || !u->queues)
                return -ENOMEM;
        while (!err && u->nqueues < n) {
                struct queue *q = &u->queues[u->nqueues];
                *q = (struct queue){.u = u, .id = u->nqueues++, .ring = -1, .wake = -1};
                err = make_ring(q);
                if (!err)
                        err = -pthread_create(&q->thread, NULL, run, q);
                q->runs = !err;
        }
        return err;
}

struct uring *uring_new(int fd, uint64_t memory, const struct uring_hooks *hooks, char *why,
                        size_t nwhy)
{
        unsigned cores = count_cores(), nentries = fit(cores, memory, why, nwhy);
        struct uring *u = nentries ? calloc(1, sizeof *u) : NULL;

        if (!nentries)
                return NULL;
        if (!u) {
                say_refused(-ENOMEM, why, nwhy);
                return NULL;
        }
        u->fd = fd;
        u->hooks = *hooks;
        u->nentries = nentries;
        u->told = -1;
        int err = make_queues(u, cores);
        if (!err)
                return u;
        say_refused(err, why, nwhy);
        uring_free(u);
        return NULL;
}

/* Wakes all threads for a phase. */
static void begin(struct uring *u, enum phase phase)
{
        atomic_store(&u->phase, phase);
        for (unsigned i = 0; i < u->nqueues; i++)
                if (u->queues[i].runs)
                        count_up(u->queues[i].wake);
}

static void wait_until_told(struct uring *u)
{
        uint64_t one;

        for (unsigned n = 0; n < u->nqueues;)
                n += read(u->told, &one, sizeof one) == sizeof one;
}

int uring_start(struct uring *u)
{
        int err = 0;

        begin(u, SERVES);
        wait_until_told(u);
        for (unsigned i = 0; i < u->nqueues && !err; i++)
                err = u->queues[i].err;
        return err;
}

void uring_drain(struct uring *u)
{
        if (!u || atomic_load(&u->phase) != SERVES)
                return;
        begin(u, DRAINS);
        wait_until_told(u);
}

void uring_free(struct uring *u)
{
        if (!u)
                return;
        begin(u, OVER);
        for (unsigned i = 0; i < u->nqueues; i++) {
                struct queue *q = &u->queues[i];
                if (q->runs)
                        pthread_join(q->thread, NULL);
                for (int k = 0; k < MAPS; k++)
                        if (q->maps[k].at)
                                munmap(q->maps[k].at, q->maps[k].n);
                closep(&q->ring);
                closep(&q->wake);
        }
        closep(&u->told);
        free(u->queues);
        free(u);
}
