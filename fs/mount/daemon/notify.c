/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c: see notify.h. A datagram of lines NAME=VALUE to the socket that NOTIFY_SOCKET names
 * (freedesktop.org/software/systemd/man/252/sd_notify.html). */
#include "mount/daemon/notify.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"

#include "base/banned.h"

enum { PER_MS = 1000, MS_MOST = INT_MAX };

static void send_lines(const char *text)
{
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        size_t n = path ? strlen(path) : 0;

        if ((n < 2 || n >= sizeof at.sun_path) || (*path != '/' && *path != '@'))
                return;
        memcpy(at.sun_path, path, n);
        if (*path == '@')
                at.sun_path[0] = 0; /* of the abstract namespace */
        CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
        if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&at, len) < 0)
                log_debug("the service manager at NOTIFY_SOCKET is not told: %s", text);
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
