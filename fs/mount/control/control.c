/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: see control.h. The socket, and the thread that serves its clients. */
#include "mount/control/control.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "mount/control/control_reply.h"
#include "mount/core/mount.h"

#include "base/banned.h"

enum { CONTROL_CLIENTS = 8, CLIENT_MS = 10000, BACKLOG = 16, PAUSE_MS = 200 };

/* One connection: fd is -1 while the place is free. */
struct client {
        int fd;
        int64_t until_ms;
        size_t n; /* bytes of the request that came */
        char request[CONTROL_REQUEST_MAX];
        bool answers; /* the reply is complete, and is sent */
        struct buf reply;
        size_t sent;
};

struct control {
        struct mount *m;
        struct control_hooks hooks;
        char path[CONTROL_PATH_MAX];
        int fd, wake;
        atomic_bool ends;
        pthread_t thread;
        int64_t rests_until_ms; /* nobody is taken before: there was no descriptor for one */
        struct client clients[CONTROL_CLIENTS];
};

static int64_t now_ms(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --- clients --- */

static void drop_client(struct client *c)
{
        if (c->fd >= 0)
                close(TAKE_FD(c->fd));
        buf_release(&c->reply);
}

static bool is_welcome(int fd)
{
        struct ucred peer;
        socklen_t n = sizeof peer;
        return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
               (!peer.uid || peer.uid == geteuid());
}

/* To be called while a place is free. */
static void take_client(struct control *c)
{
        CLEANUP(closep) int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct client *at = c->clients;

        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                c->rests_until_ms = now_ms() + PAUSE_MS; /* it waits, and would be tried at once */
        if (fd < 0 || !is_welcome(fd))
                return;
        while (at->fd >= 0)
                at++;
        *at = (struct client){
                .fd = TAKE_FD(fd), .until_ms = now_ms() + CLIENT_MS, .reply = BUF_INIT};
}

/* More of the request has come, or its end. */
static void hear(struct control *c, struct client *k)
{
        ssize_t n = recv(k->fd, k->request + k->n, sizeof k->request - k->n, 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                drop_client(k);
                return;
        }
        k->n += (size_t)n;
        const char *end = memchr(k->request, '\n', k->n);
        if (!end && k->n < sizeof k->request)
                return;
        /* One that is too long is answered as one that nobody knows, and not cut. */
        if (control_reply(c->m, &c->hooks, c->ends, k->request,
                          end ? (size_t)(end - k->request) : 0, &k->reply))
                drop_client(k);
        else
                k->answers = true;
}

static void say(struct client *k)
{
        ssize_t n = send(k->fd, k->reply.p + k->sent, k->reply.len - k->sent, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        k->sent += n > 0 ? (size_t)n : 0;
        if (n < 0 || k->sent == k->reply.len)
                drop_client(k);
}

/* Waits for what happens next: fds has the wake-up, the socket, and each client's place. */
static void wait_for_clients(struct control *c, struct pollfd fds[CONTROL_CLIENTS + 2])
{
        int64_t now = now_ms(), until = INT64_MAX;
        bool full = true, rests = c->rests_until_ms > now;

        for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
                struct client *k = &c->clients[i];
                if (k->fd >= 0 && k->until_ms <= now)
                        drop_client(k);
                if (k->fd >= 0 && k->until_ms < until)
                        until = k->until_ms;
                full = full && k->fd >= 0;
                fds[i + 2] = (struct pollfd){.fd = k->fd, .events = k->answers ? POLLOUT : POLLIN};
        }
        fds[0] = (struct pollfd){.fd = c->wake, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = full || rests ? -1 : c->fd, .events = POLLIN};
        if (rests && c->rests_until_ms < until)
                until = c->rests_until_ms;
        int timeout = until == INT64_MAX ? -1 : (int)(until - now) + 1;
        if (poll(fds, CONTROL_CLIENTS + 2, timeout) < 0)
                memset(fds, 0, sizeof *fds * (CONTROL_CLIENTS + 2)); /* a signal */
}

static void *serve_clients(void *arg)
{
        struct control *c = arg;
        struct pollfd fds[CONTROL_CLIENTS + 2];

        for (;;) {
                wait_for_clients(c, fds);
                if (fds[0].revents)
                        return NULL;
                for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
                        struct client *k = &c->clients[i];
                        if (!fds[i + 2].revents || k->fd < 0)
                                continue;
                        if (k->answers)
                                say(k);
                        else
                                hear(c, k);
                }
                if (fds[1].revents)
                        take_client(c);
        }
}

/* --- the socket --- */

static void closedirp(DIR **d)
{
        if (*d)
                closedir(*d);
}

/* Whether a daemon of any mount may have made that socket: listen_at() names it so. */
static bool is_ours(const char *path, const char *name)
{
        struct stat st;
        int pid, n = 0;
        unsigned long long id;

        return sscanf(name, "%d-%llx%n", &pid, &id, &n) == 2 && !name[n] && !lstat(path, &st) &&
               S_ISSOCK(st.st_mode);
}

/* Those of our sockets that nobody listens on belonged to daemons that died. All else in the
 * directory is somebody else's; connecting to a regular file is refused, too. */
static void remove_stale(const char *dir)
{
        CLEANUP(closedirp) DIR *d = opendir(dir);
        const struct dirent *e;

        while (d && (e = readdir(d))) {
                char path[CONTROL_PATH_MAX];
                if (snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path ||
                    !is_ours(path, e->d_name))
                        continue;
                CLEANUP(closep) int fd = control_connect(path);
                if (fd == -ECONNREFUSED)
                        unlink(path);
        }
}

/* The socket gets its name only when it listens, so that nobody takes it for that of a daemon that
 * died. */
static int listen_at(struct control *c, const char *dir)
{
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        unsigned long long id = (unsigned long long)c->m->mounted_ns;
        int pid = (int)getpid();

        if (snprintf(at.sun_path, sizeof at.sun_path, "%s/.%d-%llx", dir, pid, id) >=
                    (int)sizeof at.sun_path ||
            snprintf(c->path, sizeof c->path, "%s/%d-%llx", dir, pid, id) >= (int)sizeof c->path)
                return -ENAMETOOLONG;
        c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (c->fd < 0)
                return -errno;
        if (bind(c->fd, (struct sockaddr *)&at, sizeof at))
                return -errno;
        int err = chmod(at.sun_path, 0600) || listen(c->fd, BACKLOG) || rename(at.sun_path, c->path)
                          ? -errno
                          : 0;
        if (err)
                unlink(at.sun_path);
        return err;
}

static void control_free(struct control *c)
{
        for (size_t i = 0; i < CONTROL_CLIENTS; i++)
                drop_client(&c->clients[i]);
        closep(&c->fd);
        closep(&c->wake);
        free(c);
}

static int start(struct control *c, const char *dir)
{
        if (mkdir(dir, geteuid() ? 0700 : 0755) && errno != EEXIST)
                return -errno;
        remove_stale(dir);
        int err = listen_at(c, dir);
        if (err)
                return err;
        c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        err = c->wake < 0 ? -errno : -pthread_create(&c->thread, NULL, serve_clients, c);
        if (err)
                unlink(c->path);
        return err;
}

static const char *start_remedy(int err)
{
        switch (err) {
        case -EMFILE:
                return "raise the limit of open files (ulimit -n, LimitNOFILE=), or "
                       "control_dir=none";
        case -ENFILE:
        case -ENOMEM:
        case -EAGAIN: /* no thread */
                return "end another program, or control_dir=none";
        default:
                return "name a directory that can be written by control_dir=, or control_dir=none";
        }
}

int control_start(struct mount *m, const struct control_hooks *hooks, struct control **out,
                  char *why, size_t nwhy)
{
        const char *given = m->params.control_dir;
        char dir[CONTROL_PATH_MAX];
        struct control *c;

        *out = NULL;
        if (!strcmp(given, "none"))
                return 0;
        int err = control_dir(given, dir);
        c = err ? NULL : calloc(1, sizeof *c);
        if (c) {
                c->m = m;
                c->hooks = *hooks;
                c->fd = c->wake = -1;
                for (size_t i = 0; i < CONTROL_CLIENTS; i++)
                        c->clients[i].fd = -1;
                err = start(c, dir);
        } else if (!err) {
                err = -ENOMEM;
        }
        if (!err) {
                *out = c;
                return 0;
        }
        if (c)
                control_free(c);
        snprintf(why, nwhy, "the socket of ckptctl cannot be made in %s: %s: %s",
                 err == -ENAMETOOLONG ? given : dir, strerror(-err), start_remedy(err));
        return err;
}

void control_note_end(struct control *c)
{
        if (c)
                c->ends = true;
}

void control_stop(struct control *c)
{
        if (!c)
                return;
        unlink(c->path);
        while (eventfd_write(c->wake, 1) && errno == EINTR)
                ;
        pthread_join(c->thread, NULL);
        control_free(c);
}
