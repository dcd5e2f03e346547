/* SPDX-License-Identifier: Apache-2.0 */
/* script_peer.c: a server whose replies come from a script. */
#include "tests/fuzz/script_peer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/banned.h"

enum {
        CONNS_MAX = 64,
        SENDS_MAX = 128 << 10, /* of doubled bytes */
        ROOM = 8 << 10         /* of a connection: a client that is not read has to wait */
};

struct conn {
        int fd; /* -1: closed */
        bool asked, silent;
        struct buf out;
        size_t sent;
        char then; /* what happens once all was sent; 0: nothing */
};

static struct conn conns[CONNS_MAX];
static unsigned nconns, replies;
static struct conn *speaks; /* in the middle of its reply */
static const uint8_t *at;
static size_t left;

void peer_begin(const uint8_t *p, size_t n)
{
        at = p;
        left = n;
        nconns = replies = 0;
        speaks = NULL;
}

bool peer_is_over(void)
{
        return !left;
}

unsigned peer_replies(void)
{
        return replies;
}

int peer_connect(void)
{
        int fd[2], room = ROOM;

        if (nconns == CONNS_MAX || !left) {
                errno = ECONNREFUSED;
                return -1;
        }
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
                abort();
        setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        conns[nconns++] = (struct conn){.fd = fd[1], .out = BUF_INIT};
        return fd[0];
}

/* --- the script --- */

/* Cuts the bytes up to the next line of "%%" off the script; the letter of that line. */
static char next_piece(const uint8_t **p, size_t *n)
{
        const uint8_t *mark = at, *end = at + left;

        while (mark && (end - mark < 2 || memcmp(mark, "%%", 2) != 0)) {
                mark = memmem(mark, (size_t)(end - mark), "\n%%", 3);
                mark = mark ? mark + 1 : NULL;
        }
        *p = at;
        *n = !mark ? left : mark == at ? 0 : (size_t)(mark - 1 - at);
        const uint8_t *line = mark ? memchr(mark, '\n', (size_t)(end - mark)) : NULL;
        char what = mark && end - mark > 2 && mark[2] && strchr("+*.!-~<", mark[2]) ? (char)mark[2]
                                                                                    : '%';
        at = line ? line + 1 : end;
        left = (size_t)(end - at);
        return what;
}

static bool is_early(void)
{
        return left >= 3 && !memcmp(at, "%%<", 3);
}

static void double_it(struct buf *b, size_t from)
{
        size_t n = b->len - from;

        if (b->len + n > SENDS_MAX)
                return;
        if (buf_grow(b, n) || buf_add(b, b->p + from, n))
                abort();
}

/* Queues the script's next bytes, and what is to happen then. */
static void say(struct conn *c)
{
        size_t from = c->out.len;
        const uint8_t *p;
        size_t n;
        char what;

        do {
                what = next_piece(&p, &n);
                if (n && buf_add(&c->out, p, n))
                        abort();
                if (what == '*')
                        double_it(&c->out, from);
        } while (left && (what == '*' || what == '<'));
        c->then = what;
        speaks = c;
}

/* The client does not want the rest of that reply. */
static void skip(void)
{
        const uint8_t *p;
        size_t n;

        while (left && strchr("+*<", next_piece(&p, &n)))
                ;
}

/* --- connections --- */

static void drop(struct conn *c)
{
        if (c == speaks && (c->then == '+' || !c->then))
                skip();
        if (c == speaks)
                speaks = NULL;
        close(c->fd);
        c->fd = -1;
        c->asked = false;
        buf_release(&c->out);
}

static void read_up_to(struct conn *c, int keep)
{
        char bytes[4096];
        int there = 0;

        while (!ioctl(c->fd, FIONREAD, &there) && there > keep) {
                size_t n = (size_t)(there - keep) < sizeof bytes ? (size_t)(there - keep)
                                                                 : sizeof bytes;
                if (recv(c->fd, bytes, n, MSG_DONTWAIT) <= 0)
                        return;
        }
}

/* One byte stays unread: a connection that is closed then is reset. */
static bool read_request(struct conn *c)
{
        int there = 0;

        if (is_early() && speaks != c)
                return false;
        if (ioctl(c->fd, FIONREAD, &there) || there < 2)
                return false;
        read_up_to(c, 1);
        c->asked = true;
        return true;
}

static bool is_hung_up(const struct conn *c)
{
        struct pollfd p = {.fd = c->fd};

        return poll(&p, 1, 0) == 1;
}

/* Everything was sent. */
static void ends(struct conn *c)
{
        char then = c->then;

        c->then = 0;
        buf_reset(&c->out);
        c->sent = 0;
        if (then == '+')
                return;
        speaks = NULL;
        if (then == '.')
                read_up_to(c, 0);
        if (then == '.' || then == '!')
                drop(c);
        else if (then == '-')
                shutdown(c->fd, SHUT_WR);
        c->silent |= then == '-' || then == '~';
}

static bool send_some(struct conn *c)
{
        bool moved = false;

        while (c->sent < c->out.len) {
                ssize_t n = send(c->fd, c->out.p + c->sent, c->out.len - c->sent,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
                if (n < 0 && errno != EAGAIN) {
                        drop(c);
                        return true;
                }
                if (n <= 0)
                        return moved;
                c->sent += (size_t)n;
                moved = true;
        }
        if (c->then) {
                ends(c);
                moved = true;
        }
        return moved;
}

bool peer_moves(void)
{
        bool moved = false;

        for (struct conn *c = conns; c < conns + nconns; c++) {
                if (c->fd >= 0)
                        moved |= send_some(c);
                if (c->fd >= 0)
                        moved |= read_request(c);
                if (c->fd >= 0 && is_hung_up(c)) {
                        drop(c);
                        moved = true;
                }
        }
        return moved;
}

static bool wants_reply(const struct conn *c)
{
        int there = 0;

        if (c->fd < 0 || c->silent)
                return false;
        return c->asked || (is_early() && !ioctl(c->fd, FIONREAD, &there) && there > 1);
}

static bool close_all(void)
{
        bool any = false;

        for (struct conn *c = conns; c < conns + nconns; c++)
                if (c->fd >= 0) {
                        read_up_to(c, 0);
                        drop(c);
                        any = true;
                }
        return any;
}

bool peer_goes_on(void)
{
        if (speaks && !speaks->then) {
                if (left)
                        say(speaks);
                else
                        speaks = NULL;
                return true;
        }
        if (!left)
                return !speaks && close_all();
        for (struct conn *c = conns; !speaks && c < conns + nconns; c++)
                if (wants_reply(c)) {
                        c->asked = false;
                        replies++;
                        say(c);
                        return true;
                }
        return false;
}

bool peer_end(void)
{
        bool all = true;

        for (struct conn *c = conns; c < conns + nconns; c++)
                if (c->fd >= 0) {
                        read_up_to(c, 0);
                        all &= is_hung_up(c);
                        drop(c);
                }
        return all;
}
