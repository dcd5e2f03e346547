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

/* Waits for the socket. 0 or -ETIMEDOUT. */
static int wait_until(int fd, short events, int64_t until_ms)
{
        struct pollfd p = {.fd = fd, .events = events};
        int n;

        do {
                int64_t left = until_ms - live_now_ms();
                n = left > 0 ? poll(&p, 1, (int)left) : 0;
        } while (n < 0 && errno == EINTR);
        return n > 0 ? 0 : -ETIMEDOUT;
}

static int exchange(int fd, const char *request, struct buf *in)
{
        int64_t until = live_now_ms() + CONTROL_LOOK_MS;
        char line[CONTROL_REQUEST_MAX], part[8192];
        int n = snprintf(line, sizeof line, "%s\n", request);

        if (n >= (int)sizeof line)
                return -EINVAL;
        if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n) /* a new socket has room for it */
                return -errno;
        for (;;) {
                int err = wait_until(fd, POLLIN, until);
                if (err)
                        return err;
                ssize_t got = recv(fd, part, sizeof part, 0);
                if (got < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (got <= 0)
                        return got ? -errno : in->failed ? -ENOMEM : 0;
                if (in->len + (size_t)got > CONTROL_REPLY_MAX)
                        return -EFBIG;
                buf_add(in, part, (size_t)got);
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

int live_ask(const char *socket, const char *request, struct live_reply *out, char *why,
             size_t nwhy)
{
        CLEANUP(buf_release) struct buf in = BUF_INIT;
        CLEANUP(closep) int fd = control_connect(socket);

        *out = (struct live_reply){.n = 0};
        int err = fd < 0 ? fd : exchange(fd, request, &in);
        if (!err && !in.len)
                err = -EACCES; /* hung up on */
        if (!err && !is_whole(&in))
                err = -EBADMSG;
        if (err) {
                snprintf(why, nwhy, "%s", reason(err));
                return err;
        }
        make_printable(in.p);
        if (!strncmp(in.p, "error\t", 6)) {
                char *said = in.p + 6;
                said[strcspn(said, "\n")] = 0;
                snprintf(why, nwhy, "%s", *said ? said : "its daemon refuses, and gives no reason");
                return -EINVAL;
        }
        out->text = buf_take(&in);
        err = cut_reply(out);
        if (err)
                snprintf(why, nwhy, "%s", reason(err));
        return err;
}

/* --- the mounts of this host --- */

static void closedirp(DIR **d)
{
        if (*d)
                closedir(*d);
}

/* Those that cannot be asked are left out. 0 or -ENOMEM. */
static int add_mount(struct live_mounts *out, const char *path)
{
        struct live_mount m = {.socket = strdup(path)};
        char why[256];

        if (!m.socket || GROW(out->v, out->n, out->room, 8)) {
                free(m.socket);
                return -ENOMEM;
        }
        if (live_ask(path, control_word_name(CONTROL_MOUNT), &m.about, why, sizeof why)) {
                live_reply_release(&m.about);
                free(m.socket);
                return 0;
        }
        out->v[out->n++] = m;
        return 0;
}

static int add_dir(struct live_mounts *out, const char *dir)
{
        CLEANUP(closedirp) DIR *d = opendir(dir);
        const struct dirent *e;
        int err = 0;

        while (!err && d && (e = readdir(d))) {
                char path[CONTROL_PATH_MAX];
                if (e->d_name[0] != '.' &&
                    snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path)
                        err = add_mount(out, path);
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
                        err = add_dir(out, dir);
        }
        return err;
}

int live_mounts_get(const char *dir, struct live_mounts *out)
{
        char own[CONTROL_PATH_MAX];

        *out = (struct live_mounts){.n = 0};
        int err = control_dir(dir, own) ? 0 : add_dir(out, own);
        if (!err && !*dir && !geteuid())
                err = add_users(out);
        return err;
}

void live_mounts_release(struct live_mounts *m)
{
        for (size_t i = 0; i < m->n; i++) {
                live_reply_release(&m->v[i].about);
                free(m->v[i].socket);
        }
        free(m->v);
        *m = (struct live_mounts){.n = 0};
}
