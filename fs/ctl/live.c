/* SPDX-License-Identifier: Apache-2.0 */
/* live.c: see live.h. No path below a mount is looked at: a daemon that is stopped would hold up
 * whoever does. */
#include "ctl/live.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "base/grow.h"
#include "base/text/utf8.h"

#include "base/banned.h"

enum {
        ASKED_MAX = 64,   /* at once */
        USER_MOUNTS = 256 /* sockets of one other user's that are looked at */
};

/* --- a reply --- */

void live_reply_release(struct live_reply *r)
{
        free(r->text);
        free(r->lines);
        *r = (struct live_reply){.n = 0};
}

const char *live_field(const struct live_reply *r, const char *name)
{
        for (size_t i = 0; i < r->n; i++)
                if (!strcmp(r->lines[i].v[0], name))
                        return r->lines[i].v[1];
        return "";
}

uint64_t live_number(const struct live_reply *r, const char *name)
{
        return strtoull(live_field(r, name), NULL, 10);
}

const char *live_bytes(double n, char out[LIVE_BYTES_MAX])
{
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        size_t u = 0;

        for (; n >= 1024 && u < 4; u++)
                n /= 1024;
        snprintf(out, LIVE_BYTES_MAX, "%.*f %s", u ? 1 : 0, n, units[u]);
        return out;
}

/* A terminal takes nothing but text from a process that may be anybody's. */
static void make_printable(char *text)
{
        size_t n;

        for (; *text; text += n ? n : 1)
                if ((n = *text == '\t' || *text == '\n' ? 0 : utf8_control(text)))
                        memset(text, '?', n);
}

static void cut_line(char *text, struct live_line *out)
{
        static char none[1];
        size_t most = sizeof out->v / sizeof *out->v;

        for (size_t i = 0; i < most; i++)
                out->v[i] = none;
        for (out->n = 0; text && out->n < most; out->n++) {
                out->v[out->n] = text;
                text = out->n + 1 < most ? strchr(text, '\t') : NULL;
                if (text)
                        *text++ = 0;
        }
}

/* Cuts the text, without its first line and its last. 0 or -ENOMEM. */
static int cut_reply(struct live_reply *r)
{
        size_t room = 0;
        char *next, *line = strchr(r->text, '\n') + 1;

        for (; (next = strchr(line, '\n')) && strcmp(line, "end\n") != 0; line = next + 1) {
                *next = 0;
                if (GROW(r->lines, r->n, room, 64))
                        return -ENOMEM;
                cut_line(line, &r->lines[r->n++]);
        }
        return 0;
}

/* --- asking --- */

int64_t live_now_ms(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A daemon that was asked; `in` is what it said until now. */
struct asked {
        int fd, err;
        bool waits;
        struct buf in;
};

static void asked_release(struct asked *a)
{
        closep(&a->fd);
        buf_release(&a->in);
}

static void begin(struct asked *a, const char *socket, const char *request)
{
        char line[CONTROL_REQUEST_MAX];
        int n = snprintf(line, sizeof line, "%s\n", request);

        *a = (struct asked){.in = BUF_INIT, .fd = control_connect(socket)};
        if (a->fd < 0)
                a->err = a->fd;
        else if (n >= (int)sizeof line)
                a->err = -EINVAL;
        else if (send(a->fd, line, (size_t)n, MSG_NOSIGNAL) != n) /* a new socket has room for it */
                a->err = -errno;
        a->waits = !a->err;
}

static void hear(struct asked *a)
{
        char part[8192];
        ssize_t got = recv(a->fd, part, sizeof part, 0);

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (got < 0)
                a->err = -errno;
        else if (a->in.len + (size_t)got > CONTROL_REPLY_MAX)
                a->err = -EFBIG;
        else if (got)
                buf_add(&a->in, part, (size_t)got);
        else if (a->in.failed)
                a->err = -ENOMEM;
        a->waits = got > 0 && !a->err;
}

/* Waits for all of them at once: those that are stopped do not add up. */
static void hear_all(struct asked *v, size_t n)
{
        int64_t until = live_now_ms() + CONTROL_LOOK_MS;
        struct pollfd p[ASKED_MAX];

        for (;;) {
                size_t waiting = 0;
                for (size_t i = 0; i < n; i++) {
                        p[i] = (struct pollfd){.fd = v[i].waits ? v[i].fd : -1, .events = POLLIN};
                        waiting += v[i].waits;
                }
                int64_t left = until - live_now_ms();
                if (!waiting)
                        return;
                int ready = left > 0 ? poll(p, n, (int)left) : 0;
                for (size_t i = 0; ready > 0 && i < n; i++)
                        if (v[i].waits && p[i].revents)
                                hear(&v[i]);
                for (size_t i = 0; !ready && i < n; i++)
                        if (v[i].waits) {
                                v[i].err = -ETIMEDOUT;
                                v[i].waits = false;
                        }
                if (ready < 0 && errno != EINTR)
                        return;
        }
}

static bool is_whole(const struct buf *in)
{
        return in->len >= 5 && strlen(in->p) == in->len && !strcmp(in->p + in->len - 5, "\nend\n");
}

/* What stands in the way, for an errno. */
static const char *reason(int err)
{
        switch (err) {
        case -ECONNREFUSED:
        case -ENOENT:
                return "its daemon has ended";
        case -EACCES:
        case -ECONNRESET:
        case -EPIPE:
                return "it is another user's: ask as root or as who mounted";
        case -EAGAIN:
        case -ETIMEDOUT:
                return "its daemon does not reply: it may be stopped, or have too many clients";
        case -EBADMSG:
                return "the reply is cut short: the daemon may have ended";
        default:
                return strerror(-err);
        }
}

/* What came of it, as live_ask() returns it. */
static int take_reply(struct asked *a, struct live_reply *out, char *why, size_t nwhy)
{
        struct buf *in = &a->in;
        int err = a->err;

        *out = (struct live_reply){.n = 0};
        if (!err && !in->len)
                err = -EACCES; /* hung up on */
        if (!err && (a->waits || !is_whole(in)))
                err = -EBADMSG;
        if (err) {
                snprintf(why, nwhy, "%s", reason(err));
                return err;
        }
        make_printable(in->p);
        if (!strncmp(in->p, "error\t", 6)) {
                char *said = in->p + 6;
                said[strcspn(said, "\n")] = 0;
                snprintf(why, nwhy, "%s", *said ? said : "its daemon refuses, and gives no reason");
                return -EINVAL;
        }
        out->text = buf_take(in);
        err = cut_reply(out);
        if (err)
                snprintf(why, nwhy, "%s", reason(err));
        return err;
}

int live_ask(const char *socket, const char *request, struct live_reply *out, char *why,
             size_t nwhy)
{
        CLEANUP(asked_release) struct asked a;

        begin(&a, socket, request);
        hear_all(&a, 1);
        return take_reply(&a, out, why, nwhy);
}

/* --- the mounts of this host --- */

static void closedirp(DIR **d)
{
        if (*d)
                closedir(*d);
}

static int add_socket(struct live_mounts *out, const char *path, const char *user)
{
        struct live_mount m = {.socket = strdup(path), .user = user ? strdup(user) : NULL};

        if (m.socket && (!user || m.user) && !GROW(out->v, out->n, out->room, 8)) {
                out->v[out->n++] = m;
                return 0;
        }
        free(m.socket);
        free(m.user);
        return -ENOMEM;
}

/* `user`: whose that is, or NULL where it is that of who asks. */
static int add_dir(struct live_mounts *out, const char *dir, const char *user)
{
        CLEANUP(closedirp) DIR *d = opendir(dir);
        size_t most = out->n + (user ? USER_MOUNTS : SIZE_MAX / 2);
        const struct dirent *e;
        int err = 0;

        while (!err && d && out->n < most && (e = readdir(d))) {
                char path[CONTROL_PATH_MAX];
                if (e->d_name[0] != '.' &&
                    snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path)
                        err = add_socket(out, path, user);
        }
        return err;
}

static int add_users(struct live_mounts *out)
{
        CLEANUP(closedirp) DIR *d = opendir(CONTROL_DIR_USERS);
        const struct dirent *e;
        int err = 0;

        while (!err && d && (e = readdir(d))) {
                char dir[CONTROL_PATH_MAX];
                if (e->d_name[0] != '.' && snprintf(dir, sizeof dir, CONTROL_DIR_USERS "/%s/ckptfs",
                                                    e->d_name) < (int)sizeof dir)
                        err = add_dir(out, dir, e->d_name);
        }
        return err;
}

static void mount_release(struct live_mount *m)
{
        live_reply_release(&m->about);
        free(m->socket);
        free(m->user);
}

/* Those that cannot be asked are left out. */
static void ask_all(struct live_mounts *m)
{
        struct asked asked[ASKED_MAX];
        size_t all = m->n;
        char why[256];

        m->n = 0;
        for (size_t at = 0, n; at < all; at += n) {
                struct live_mount *v = m->v + at;
                n = all - at < ASKED_MAX ? all - at : ASKED_MAX;
                for (size_t i = 0; i < n; i++)
                        begin(&asked[i], v[i].socket, control_word_name(CONTROL_MOUNT));
                hear_all(asked, n);
                for (size_t i = 0; i < n; i++) {
                        struct live_mount one = v[i];
                        if (take_reply(&asked[i], &one.about, why, sizeof why) ||
                            live_is_refuted(&one))
                                mount_release(&one);
                        else
                                m->v[m->n++] = one;
                        asked_release(&asked[i]);
                }
        }
}

int live_mounts_get(const char *dir, struct live_mounts *out)
{
        char own[CONTROL_PATH_MAX];

        *out = (struct live_mounts){.n = 0};
        int err = control_dir(dir, own) ? 0 : add_dir(out, own, NULL);
        if (!err && !*dir && !geteuid())
                err = add_users(out);
        ask_all(out);
        return err;
}

void live_mounts_release(struct live_mounts *m)
{
        for (size_t i = 0; i < m->n; i++)
                mount_release(&m->v[i]);
        free(m->v);
        *m = (struct live_mounts){.n = 0};
}
