/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_socket.c: the loop behind a mount's control socket, with clients that send anything, in
 * pieces, several at once, and hang up when they like. Parts of the input with a line "%%" between
 * them are clients; the first byte of each says how it behaves. What is replied to a request is
 * made of it, so that every client that stays until the end must get the reply to its own.
 *
 * The loop and its clients are one thread: when the loop waits and nothing has come for it, poll()
 * has the clients do their next step. When they have none, time passes. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "mount/control/control.h"
#include "mount/control/control_reply.h"
#include "mount/core/mount.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

int __wrap_control_reply(struct mount *m, const struct control_hooks *hooks, bool ends,
                         const char *text, size_t n, struct buf *out);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_join(pthread_t t, void **result);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap___poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t size);
int __wrap_accept4(int fd, __SOCKADDR_ARG from, socklen_t *n, int flags);
int __real_accept4(int fd, __SOCKADDR_ARG from, socklen_t *n, int flags);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *n);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *n);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_clock_gettime(clockid_t id, struct timespec *ts);

/* How a client behaves. */
enum {
        LEAVES = 1,     /* hangs up when it has sent its first piece */
        HALVES = 2,     /* sends two pieces */
        STOPS = 4,      /* does not read */
        LATE = 8,       /* time passes before its second piece */
        CROWDED = 16,   /* there is no descriptor for it at first */
        AT_ONCE = 64,   /* the next one comes before the loop has looked */
        STRANGER = 128, /* another user */
};

enum {
        CLIENTS = 12, /* more than have a place */
        LATE_MS = 4000,
        STAYS_MS = 10000, /* then the loop may hang up */
        STEPS = 10000,
        RESTART = 256,
        ROOM = 4096, /* of a socket, so that many replies do not fit */
        REPLY = 12 << 10
};

struct client {
        int fd; /* -1: it has left */
        const uint8_t *p;
        size_t n, sent;
        unsigned how;
        int64_t since_ms;
        struct buf got;
};

static char dir[] = "/tmp/fuzz_socket.XXXXXX";

static struct {
        struct control *loop;
        void *(*run)(void *arg);
        void *arg;
        struct client all[CLIENTS];
        unsigned n, next, accepted, steps;
        enum { CONNECT, GO_ON, HEAR, OVER } stage;
        bool runs;
        int64_t now_ms;
} world;

static void need(bool is_so)
{
        if (!is_so)
                abort();
}

/* As long as the request says. */
static void reply_to(const char *text, size_t n, struct buf *out)
{
        size_t times = n > 3 && text[0] == 'L' ? (REPLY >> (text[1] & 7)) / n : 1;

        for (size_t i = 0; i < times; i++)
                buf_add(out, text, n);
        need(!buf_adds(out, "\nend\n"));
}

int __wrap_control_reply(struct mount *m, const struct control_hooks *hooks, bool ends,
                         const char *text, size_t n, struct buf *out)
{
        (void)m, (void)hooks, (void)ends;
        need(n < CONTROL_REQUEST_MAX && !memchr(text, '\n', n));
        reply_to(text, n, out);
        return 0;
}

/* --- clients --- */

static void send_some(struct client *c, size_t n)
{
        ssize_t put = n ? send(c->fd, c->p + c->sent, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

        c->sent += put > 0 ? (size_t)put : 0; /* else answered already, and hung up on */
}

static void come(struct client *c)
{
        char path[CONTROL_PATH_MAX];

        snprintf(path, sizeof path, "%s/%d-1", dir, (int)getpid());
        c->fd = control_connect(path);
        need(c->fd >= 0);
        c->since_ms = world.now_ms;
        send_some(c, c->how & HALVES ? c->n / 2 : c->n);
}

static void go_on(struct client *c)
{
        if (c->how & LATE)
                world.now_ms += LATE_MS;
        if (c->how & LEAVES)
                close(TAKE_FD(c->fd));
        else
                send_some(c, c->n - c->sent);
        const uint8_t *end = memchr(c->p, '\n', c->n);
        if (c->fd >= 0 && !end && c->n < CONTROL_REQUEST_MAX)
                shutdown(c->fd, SHUT_WR); /* not whole: the loop would wait for more */
}

/* What a client that stayed has been told, and by how the loop hung up. */
static void judge(const struct client *c, int err)
{
        CLEANUP(buf_release) struct buf want = BUF_INIT;
        const uint8_t *end = memchr(c->p, '\n', c->n);
        size_t len = end ? (size_t)(end - c->p) : 0;
        bool whole = end || c->n >= CONTROL_REQUEST_MAX;

        if (whole && !(c->how & STRANGER))
                reply_to((const char *)c->p, len < CONTROL_REQUEST_MAX ? len : 0, &want);
        need(!err || err == ECONNRESET); /* what was sent behind the request is not read */
        need(c->got.len <= want.len && (!c->got.len || !memcmp(c->got.p, want.p, c->got.len)));
        need(c->got.len == want.len || err || world.now_ms - c->since_ms >= STAYS_MS);
}

/* Whether something came, or the loop has hung up. */
static bool hear(struct client *c)
{
        char piece[ROOM];
        ssize_t n = recv(c->fd, piece, sizeof piece, MSG_DONTWAIT);
        int err = n < 0 ? errno : 0;

        if (err == EAGAIN)
                return false;
        if (n > 0) {
                need(!buf_add(&c->got, piece, (size_t)n));
                return true;
        }
        judge(c, err);
        close(TAKE_FD(c->fd));
        return true;
}

static bool hear_all(void)
{
        bool moves = false, waits = false;

        for (unsigned i = 0; i < world.n; i++) {
                struct client *c = &world.all[i];
                if (c->fd < 0 || c->how & STOPS)
                        continue;
                moves |= hear(c);
                waits = true;
        }
        if (waits)
                return moves;
        for (unsigned i = 0; i < world.n; i++)
                closep(&world.all[i].fd);
        world.stage = OVER;
        return true;
}

/* The clients' next step: false when they wait. */
static bool step(void)
{
        bool again = true;

        if (world.stage == HEAR)
                return hear_all();
        if (world.stage == OVER)
                return false;
        while (again && world.next < world.n) {
                struct client *c = &world.all[world.next++];
                (world.stage == CONNECT ? come : go_on)(c);
                again = world.stage == CONNECT && c->how & AT_ONCE;
        }
        if (world.next == world.n) {
                world.next = 0;
                world.stage++;
        }
        return true;
}

/* --- what the loop sees of the world --- */

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
        int ready;

        if (!world.runs)
                return __real_poll(fds, n, timeout_ms);
        need(world.steps++ < STEPS);
        while (!(ready = __real_poll(fds, n, 0)) && step())
                ;
        if (ready)
                return ready;
        world.now_ms += timeout_ms >= 0 ? timeout_ms : 0;
        if (timeout_ms >= 0)
                return 0;
        need(world.stage == OVER && fds[1].fd >= 0);
        for (nfds_t i = 2; i < n; i++)
                need(fds[i].fd < 0); /* nobody is left behind */
        fds[0].revents = POLLIN;
        return 1;
}

/* What poll() is called where the compiler adds checks of sizes (_FORTIFY_SOURCE). */
int __wrap___poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t size)
{
        need(size >= n * sizeof *fds);
        return __wrap_poll(fds, n, timeout_ms);
}

int __wrap_accept4(int fd, __SOCKADDR_ARG from, socklen_t *n, int flags)
{
        const int room = ROOM;

        if (!world.runs)
                return __real_accept4(fd, from, n, flags);
        need(world.accepted < world.n);
        struct client *c = &world.all[world.accepted];
        if (c->how & CROWDED) {
                c->how &= ~(unsigned)CROWDED;
                errno = EMFILE;
                return -1;
        }
        int got = __real_accept4(fd, from, n, flags);
        need(got >= 0);
        world.accepted++;
        setsockopt(got, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        return got;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *n)
{
        int err = __real_getsockopt(fd, level, name, value, n);

        if (!world.runs || name != SO_PEERCRED)
                return err;
        struct ucred *peer = value;
        if (world.all[world.accepted - 1].how & STRANGER)
                peer->uid = geteuid() + 1;
        return err;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
        if (!world.runs || id != CLOCK_MONOTONIC)
                return __real_clock_gettime(id, ts);
        *ts = (struct timespec){.tv_sec = world.now_ms / 1000,
                                .tv_nsec = world.now_ms % 1000 * 1000000};
        return 0;
}

/* The loop is run by each input. */
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
        (void)attr;
        *t = pthread_self();
        world.run = run;
        world.arg = arg;
        return 0;
}

int __wrap_pthread_join(pthread_t t, void **result)
{
        (void)t, (void)result;
        return 0;
}

/* --- inputs --- */

static void end(void)
{
        control_stop(world.loop);
        rmdir(dir);
}

/* The loop of the inputs before, or from time to time another one. */
static void begin(void)
{
        const struct control_hooks hooks = {.arg = NULL};
        static struct mount *m;
        static unsigned turn;
        char why[512];

        if (!m) {
                need((m = calloc(1, sizeof *m)) && mkdtemp(dir));
                m->params.control_dir = dir;
                m->mounted_ns = 1;
                atexit(end);
        }
        if (turn++ % RESTART)
                return;
        control_stop(world.loop);
        need(!control_start(m, &hooks, &world.loop, why, sizeof why) && world.loop);
}

static void take_clients(const uint8_t *p, size_t n)
{
        for (world.n = 0; world.n < CLIENTS && n; world.n++) {
                const uint8_t *end = n >= 4 ? memmem(p, n, "\n%%\n", 4) : NULL;
                size_t len = end ? (size_t)(end - p) + 1 : n;
                world.all[world.n] = (struct client){
                        .fd = -1, .p = p + 1, .n = len - 1, .how = *p, .got = BUF_INIT};
                p += end ? len + 3 : n;
                n -= end ? len + 3 : n;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        begin();
        take_clients(p, n);
        world.next = world.accepted = world.steps = 0;
        world.stage = world.n ? CONNECT : OVER;
        world.runs = true;
        world.run(world.arg);
        world.runs = false;
        for (unsigned i = 0; i < world.n; i++)
                buf_release(&world.all[i].got);
        return 0;
}
