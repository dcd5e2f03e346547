/* SPDX-License-Identifier: Apache-2.0 */
/* train_writer.c: see train_writer.h.
 *
 * The process is this program again, for a fork of one that has MPI, CUDA and I/O threads could do
 * little. Its orders come over a socket: first what and where, then a message a save, which carries
 * the descriptor of the staging memory when that is another than before. */
#include "bench/scenario/train/train_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/data/run_name.h"
#include "bench/core/signal_cleanup.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

enum { KEYS_MAX = 64 << 10 };

/* The first message, with keys_pack() behind it, and those that follow. */
struct hello {
        char dir[FRESH_NAME_MAX];
        unsigned rank;
};
struct order {
        char name[64];
        uint64_t size;
        size_t mapped;
        bool sync;
        bool keep; /* nothing else: the file is to stay */
};

static double peak_bytes(void)
{
        struct rusage u;
        return getrusage(RUSAGE_SELF, &u) ? 0 : (double)u.ru_maxrss * 1024;
}

void train_write_here(struct io *io, const char *name, const struct io_data *d, bool sync,
                      struct train_wrote *out)
{
        struct sample s = {0};
        uint64_t begin = clock_ns();

        *out = (struct train_wrote){.err = timed_save_file(io, name, d, sync, &s)};
        out->visible_ns = clock_ns();
        /* who did not wait for that knows of nothing before the end */
        out->durable_ns =
                sync ? begin + (uint64_t)((s.open + s.transfer + s.sync) * 1e9) : out->visible_ns;
        out->peak = peak_bytes();
        snprintf(out->why, sizeof out->why, "%s", out->err ? io->why : "");
}

/* --- messages --- */

/* One message, with a descriptor unless fd is -1. 0 or a negative errno. */
static int send_message(int sock, const void *p, size_t n, int fd)
{
        union {
                char room[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = {0};
        struct iovec part = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
        struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

        if (fd >= 0) {
                m.msg_control = control.room;
                m.msg_controllen = sizeof control.room;
                struct cmsghdr *c = CMSG_FIRSTHDR(&m);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof fd);
                memcpy(CMSG_DATA(c), &fd, sizeof fd);
        }
        ssize_t sent;
        do
                sent = sendmsg(sock, &m, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        return sent < 0 ? -errno : (size_t)sent == n ? 0 : -EIO;
}

/* Its length, 0 when the other end closed, or a negative errno; *fd is -1 or the receiver's. */
static ssize_t receive_message(int sock, void *p, size_t n, int *fd)
{
        union {
                char room[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = {0};
        struct iovec part = {.iov_base = p, .iov_len = n};
        struct msghdr m = {
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = control.room,
                .msg_controllen = sizeof control.room,
        };
        ssize_t got;

        *fd = -1;
        do
                got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
        while (got < 0 && errno == EINTR);
        const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
        if (c && c->cmsg_type == SCM_RIGHTS)
                memcpy(fd, CMSG_DATA(c), sizeof *fd);
        return got < 0 ? -errno : got;
}

/* --- the process --- */

struct served {
        int sock;
        struct io *io;
        char *mem;
        size_t mapped;
};

/* Opens the storage as the first message says, and answers how that went. */
static int begin_serving(struct served *s)
{
        CLEANUP(freep) char *p = malloc(sizeof(struct hello) + KEYS_MAX);
        struct train_wrote reply = {0};
        struct hello hello;
        struct keys k;
        int fd;
        ssize_t n = p ? receive_message(s->sock, p, sizeof hello + KEYS_MAX, &fd) : -ENOMEM;

        if (n < (ssize_t)sizeof hello)
                return n < 0 ? (int)n : -EPROTO;
        memcpy(&hello, p, sizeof hello);
        reply.err = keys_unpack(&k, p + sizeof hello, (size_t)n - sizeof hello);
        snprintf(reply.why, sizeof reply.why, "its keys did not arrive");
        if (!reply.err) {
                const struct io_storage *st = io_find(k.storage, reply.why, sizeof reply.why);
                reply.err = st ? st->ops->start(&k, k.storage, hello.dir, hello.rank, &s->io,
                                                reply.why, sizeof reply.why)
                               : -EINVAL;
                param_tab_release(&key_tab, &k);
        }
        int err = send_message(s->sock, &reply, sizeof reply, -1);
        return err ? err : reply.err;
}

/* Takes memory that came with an order. */
static int take_memory(struct served *s, int fd, size_t mapped)
{
        if (s->mem)
                munmap(s->mem, s->mapped);
        s->mem = NULL;
        void *p = mmap(NULL, mapped, PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
                return -errno;
        s->mem = p;
        s->mapped = mapped;
        return 0;
}

/* Writes what an order says, which makes sense if it is `whole`. */
static void obey(struct served *s, const struct order *o, bool whole, int fd,
                 struct train_wrote *reply)
{
        reply->err = whole ? 0 : -EPROTO;
        if (!reply->err && fd >= 0)
                reply->err = take_memory(s, fd, o->mapped);
        if (!reply->err && !s->mem)
                reply->err = -EPROTO;
        if (reply->err)
                snprintf(reply->why, sizeof reply->why, "staging memory: %s",
                         strerror(-reply->err));
        else
                train_write_here(s->io, o->name, &(struct io_data){.size = o->size, .mem = s->mem},
                                 o->sync, reply);
}

/* Until the other end closes. */
static int serve(struct served *s)
{
        struct order o;
        int err = 0;

        while (!err) {
                struct train_wrote reply = {0};
                CLEANUP(closep) int fd = -1;
                ssize_t n = receive_message(s->sock, &o, sizeof o, &fd);
                if (n <= 0)
                        return (int)n;
                if (n == sizeof o && o.keep)
                        s->io->ops->keep(s->io, o.name);
                else
                        obey(s, &o, n == sizeof o && o.size <= o.mapped, fd, &reply);
                err = send_message(s->sock, &reply, sizeof reply, -1);
        }
        return err;
}

int train_writer_main(const char *fd)
{
        struct served s = {.sock = (int)strtol(fd, NULL, 10)};
        int err = signal_cleanup_init();

        if (!err)
                err = printf("ready\n") < 0 || fflush(stdout) ? -EPIPE : 0;
        if (!err)
                err = begin_serving(&s);
        if (!err)
                err = serve(&s);
        if (s.mem)
                munmap(s.mem, s.mapped);
        if (s.io)
                s.io->ops->stop(s.io, false);
        return err ? 1 : 0;
}

/* --- the rank --- */

/* What became of an order, or of the process. */
static void await(struct train_writer *w, struct train_wrote *out)
{
        int fd;
        ssize_t n = receive_message(w->sock, out, sizeof *out, &fd);
        if (n == sizeof *out)
                return;
        *out = (struct train_wrote){.err = n < 0 ? (int)n : -EPIPE};
        snprintf(out->why, sizeof out->why,
                 "the process that writes ended: see its message, "
                 "or give a smaller model= if it was killed");
}

static int say_hello(struct train_writer *w, const struct keys *k, const char *dir, unsigned rank)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct hello hello = {.rank = rank};

        snprintf(hello.dir, sizeof hello.dir, "%s", dir);
        buf_add(&b, &hello, sizeof hello);
        int err = keys_pack(k, &b);
        if (!err && b.len > sizeof hello + KEYS_MAX)
                err = -E2BIG;
        return err ? err : send_message(w->sock, b.p, b.len, -1);
}

int train_writer_start(struct train_writer *w, const struct keys *k, const char *dir, unsigned rank,
                       char *why, size_t nwhy)
{
        char self[4096], number[16], line[64];
        const char *argv[] = {self, "async-writer", number, NULL};
        int ends[2];

        int err = child_self(self, sizeof self);
        if (!err && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
                err = -errno;
        if (err) {
                snprintf(why, nwhy, "a process that writes: %s: give async.writer=thread",
                         strerror(-err));
                return err;
        }
        w->sock = ends[0];
        snprintf(number, sizeof number, "%d", ends[1]);
        if (fcntl(ends[1], F_SETFD, 0)) /* the child's end outlives the exec */
                err = -errno;
        if (!err)
                err = child_start(&w->child, argv, line, sizeof line, why, nwhy);
        close(ends[1]);
        if (err)
                return err;
        struct train_wrote reply = {.err = say_hello(w, k, dir, rank)};
        snprintf(reply.why, sizeof reply.why, "%s", strerror(-reply.err));
        if (!reply.err)
                await(w, &reply);
        if (reply.err)
                snprintf(why, nwhy, "the process that writes: %s", reply.why);
        return reply.err;
}

void train_writer_stop(struct train_writer *w)
{
        if (w->sock >= 0)
                close(w->sock); /* it ends by itself then */
        w->sock = -1;
        child_end(&w->child); /* a signal would make it remove what it wrote */
}

void train_write(struct train_writer *w, const char *name, const struct stage *s, uint64_t size,
                 struct train_wrote *out)
{
        struct order o = {.size = size, .mapped = s->size, .sync = w->sync};

        if (w->sock < 0) {
                train_write_here(w->io, name, &(struct io_data){.size = size, .mem = s->p}, w->sync,
                                 out);
                return;
        }
        snprintf(o.name, sizeof o.name, "%s", name);
        int err = send_message(w->sock, &o, sizeof o, s->fresh ? s->fd : -1);
        if (!err) {
                await(w, out);
                return;
        }
        *out = (struct train_wrote){.err = err};
        snprintf(out->why, sizeof out->why, "the process that writes ended: %s", strerror(-err));
}

void train_writer_keep(struct train_writer *w, const char *name)
{
        struct order o = {.keep = true};
        struct train_wrote out;

        w->io->ops->keep(w->io, name);
        if (w->sock < 0)
                return;
        snprintf(o.name, sizeof o.name, "%s", name);
        if (!send_message(w->sock, &o, sizeof o, -1))
                await(w, &out);
}
