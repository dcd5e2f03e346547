/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c: see notify.h. A datagram of lines NAME=VALUE to the socket that NOTIFY_SOCKET names,
 * maybe with a descriptor (freedesktop.org/software/systemd/man/252/sd_notify.html), and what is
 * handed to a process that starts (sd_listen_fds(3)). */
#include "mount/daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"

#include "base/banned.h"

enum { PER_MS = 1000, MS_MOST = INT_MAX, BARRIER_MS = 30000, SEND_S = 5, FIRST_HANDED = 3 };

/* The descriptor's name in the manager's store. */
#define STORED         "FDNAME=" NAME_OF_STORED
#define NAME_OF_STORED "ckptfs"

/* 0, or a negative errno; -ENOENT: there is no manager. One that takes nothing is not waited for
 * long: the mount may be about to end. */
static int send_message(struct msghdr *msg)
{
        const char *path = getenv("NOTIFY_SOCKET");
        const struct timeval most = {.tv_sec = SEND_S};
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        size_t n = path ? strlen(path) : 0;

        if ((n < 2 || n >= sizeof at.sun_path) || (*path != '/' && *path != '@'))
                return -ENOENT;
        memcpy(at.sun_path, path, n);
        if (*path == '@')
                at.sun_path[0] = 0; /* of the abstract namespace */
        CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
        msg->msg_name = &at;
        msg->msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
        return fd < 0 || sendmsg(fd, msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void send_lines(const char *text)
{
        struct iovec lines = {.iov_base = (void *)text, .iov_len = strlen(text)};
        struct msghdr msg = {.msg_iov = &lines, .msg_iovlen = 1};
        int err = send_message(&msg);

        if (err && err != -ENOENT)
                log_debug("the service manager at NOTIFY_SOCKET is not told: %s", text);
}

static int send_descriptor(const char *text, int fd)
{
        union {
                char room[CMSG_SPACE(sizeof fd)];
                struct cmsghdr head;
        } control = {{0}};
        struct iovec lines = {.iov_base = (void *)text, .iov_len = strlen(text)};
        struct msghdr msg = {.msg_iov = &lines,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};

        control.head = (struct cmsghdr){
                .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
        return send_message(&msg);
}

void notify_ready(const char *url, const char *mountpoint)
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;

        buf_addf(&text, "READY=1\nSTATUS=%s on %s\nMAINPID=%d\n", url, mountpoint, (int)getpid());
        if (!text.failed)
                send_lines(text.p);
}

void notify_reloading(void)
{
        struct timespec ts;
        char text[64];

        clock_gettime(CLOCK_MONOTONIC, &ts);
        snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld\n",
                 (long long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
        send_lines(text);
}

void notify_stopping(void)
{
        send_lines("STOPPING=1\nSTATUS=publishing what was closed\nWATCHDOG_USEC=0\n");
}

int notify_interval_ms(void)
{
        const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
        uint64_t us = period ? strtoull(period, NULL, 10) : 0;

        if (us < 2 * PER_MS || (pid && strtoll(pid, NULL, 10) != getpid()))
                return -1;
        return us / 2 / PER_MS < MS_MOST ? (int)(us / 2 / PER_MS) : MS_MOST;
}

void notify_alive(void)
{
        send_lines("WATCHDOG=1\n");
}

/* The manager takes messages in their order, and knows whose they are only while the sender lives.
 * It closes the end of a pipe when it has come to that. */
static int wait_for_manager(void)
{
        CLEANUP(closep) int ours = -1;
        int ends[2];

        if (pipe2(ends, O_CLOEXEC))
                return -errno;
        ours = ends[0];
        int err = send_descriptor("BARRIER=1", ends[1]);
        close(ends[1]);
        struct pollfd closed = {.fd = ours};
        int n = err ? 0 : poll(&closed, 1, BARRIER_MS);
        return err ? err : n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

int notify_hand_over(int fd)
{
        int err = send_descriptor("FDSTORE=1\n" STORED "\n", fd);
        return err ? err : wait_for_manager();
}

int notify_handed(void)
{
        const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
        const char *name = getenv("LISTEN_FDNAMES");
        long n = count ? strtol(count, NULL, 10) : 0;

        if (!name || !pid || strtoll(pid, NULL, 10) != getpid())
                return -1;
        for (int fd = FIRST_HANDED; n > 0 && *name; fd++, n--) {
                size_t len = strcspn(name, ":");
                if (len == strlen(NAME_OF_STORED) && !memcmp(name, NAME_OF_STORED, len)) {
                        send_lines("FDSTOREREMOVE=1\n" STORED "\n");
                        return fd;
                }
                name += len + (name[len] == ':');
        }
        return -1;
}
