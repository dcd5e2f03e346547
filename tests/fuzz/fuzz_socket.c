/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_socket.c: the loop behind a mount's control socket, with clients that send anything, in
 * pieces, several at once, and hang up when they like. Parts of the input with a line "%%" between
 * them are clients; the first byte of each says how it behaves. What is replied to a request is
 * made of it, so that every client that stays until the end must get the reply to its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

enum {
        CLIENTS = 8,
        LEAVES = 1,
        HALVES = 2,
        STOPS = 4,
        WAIT_S = 20,
        RESTART = 256,
        REPLY = 400 << 10
};

struct client {
        int fd;
        const uint8_t *p;
        size_t n, sent;
        unsigned how;
};

static void need(bool is_so)
{
        if (!is_so)
                abort();
}

/* As long as the request says, so that some replies do not fit a socket. */
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

/* --- the directory of the socket --- */

static char dir[] = "/tmp/fuzz_socket.XXXXXX";

static struct control *loop;

static void end(void)
{
        control_stop(loop);
        rmdir(dir);
}

static struct control *start(struct mount *m)
{
        const struct control_hooks hooks = {.arg = NULL};
        struct control *c;
        char why[512];

        m->params.control_dir = dir;
        m->mounted_ns = 1;
        need(!control_start(m, &hooks, &c, why, sizeof why) && c);
        return c;
}

/* --- clients --- */

static int connect_to_loop(void)
{
        const struct timeval wait = {.tv_sec = WAIT_S};
        char path[CONTROL_PATH_MAX];

        snprintf(path, sizeof path, "%s/%d-1", dir, (int)getpid());
        int fd = control_connect(path);
        for (unsigned ms = 0; fd == -EAGAIN && ms < WAIT_S * 1000; ms++) { /* many have left */
                usleep(1000);
                fd = control_connect(path);
        }
        need(fd >= 0);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        need(!fcntl(fd, F_SETFL, 0)); /* from here on it waits */
        return fd;
}

static void send_some(struct client *c, size_t n)
{
        while (n) {
                ssize_t put = send(c->fd, c->p + c->sent, n, MSG_NOSIGNAL);
                if (put <= 0) /* answered already, and hung up on */
                        return;
                c->sent += (size_t)put;
                n -= (size_t)put;
        }
}

/* All that the loop says until it hangs up. */
static void hear(struct client *c)
{
        CLEANUP(buf_release) struct buf want = BUF_INIT, got = BUF_INIT;
        const uint8_t *end = memchr(c->p, '\n', c->n);
        size_t len = end ? (size_t)(end - c->p) : 0;
        char piece[4096];
        ssize_t n;

        if (!end && c->n < CONTROL_REQUEST_MAX) /* not whole: it would wait for more */
                shutdown(c->fd, SHUT_WR);
        else
                reply_to(len < CONTROL_REQUEST_MAX ? (const char *)c->p : "",
                         len < CONTROL_REQUEST_MAX ? len : 0, &want);
        while ((n = recv(c->fd, piece, sizeof piece, 0)) > 0 || (n < 0 && errno == EINTR))
                need(n < 0 || !buf_add(&got, piece, (size_t)n));
        need(n == 0 || errno == ECONNRESET); /* what was sent behind the request is not read */
        need(got.len == want.len || errno == ECONNRESET);
        need(!got.len || !memcmp(got.p, want.p, got.len));
}

static unsigned take_clients(const uint8_t *p, size_t n, struct client all[CLIENTS])
{
        unsigned k = 0;

        for (; k < CLIENTS && n; k++) {
                const uint8_t *end = n >= 4 ? memmem(p, n, "\n%%\n", 4) : NULL;
                size_t len = end ? (size_t)(end - p) + 1 : n;
                all[k] = (struct client){
                        .fd = connect_to_loop(), .p = p + 1, .n = len - 1, .how = *p};
                p += end ? len + 3 : n;
                n -= end ? len + 3 : n;
        }
        return k;
}

/* The loop of the inputs before, or from time to time another one. */
static void begin(void)
{
        static struct mount *m;
        static unsigned turn;

        if (!m) {
                need((m = calloc(1, sizeof *m)) && mkdtemp(dir));
                atexit(end);
        }
        if (turn++ % RESTART)
                return;
        control_stop(loop);
        loop = start(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        struct client all[CLIENTS];

        begin();
        unsigned k = take_clients(p, n, all);
        for (unsigned i = 0; i < k; i++)
                send_some(&all[i], all[i].how & HALVES ? all[i].n / 2 : all[i].n);
        for (unsigned i = 0; i < k; i++) {
                if (all[i].how & LEAVES)
                        close(TAKE_FD(all[i].fd));
                else
                        send_some(&all[i], all[i].n - all[i].sent);
        }
        for (unsigned i = 0; i < k; i++) {
                if (all[i].fd < 0)
                        continue;
                if (!(all[i].how & STOPS))
                        hear(&all[i]);
                close(all[i].fd);
        }
        return 0;
}
