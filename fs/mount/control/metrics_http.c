/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_http.c: see metrics_http.h. */
#include "mount/control/metrics_http.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef HAVE_LIBMICROHTTPD
#include <microhttpd.h>
#endif

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "base/log.h"
#include "base/text/digits.h"
#include "mount/control/metrics_text.h"
#include "mount/core/mount.h"
#include "mount/core/stats_log.h"

#include "base/banned.h"

#ifdef HAVE_LIBMICROHTTPD

enum { CONNECTIONS = 8, CONNECTION_S = 10, CONNECTION_BYTES = 32 << 10, BACKLOG = 16 };
#define UNIX_PREFIX "unix:"

struct metrics_http {
        struct mount *m;
        struct MHD_Daemon *daemon;
        struct metrics_labels labels;
        char *path; /* of a unix socket, or NULL */
};

/* --- the address --- */

/* A socket file that nobody listens on is what a daemon left that died. */
static int listen_unix(const char *path)
{
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct stat st;

        if (fd < 0)
                return -errno;
        if (snprintf(at.sun_path, sizeof at.sun_path, "%s", path) >= (int)sizeof at.sun_path)
                return -ENAMETOOLONG;
        CLEANUP(closep) int other = control_connect(path);
        if (other == -ECONNREFUSED && !lstat(path, &st) && S_ISSOCK(st.st_mode))
                unlink(path);
        if (bind(fd, (struct sockaddr *)&at, sizeof at))
                return -errno;
        return listen(fd, BACKLOG) ? -errno : TAKE_FD(fd);
}

static int listen_inet(const struct addrinfo *at)
{
        CLEANUP(closep) int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int on = 1;

        if (fd < 0)
                return -errno;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, BACKLOG))
                return -errno;
        return TAKE_FD(fd);
}

/* "127.0.0.1:9469" or "[::1]:9469": a descriptor that listens, or a negative errno. */
static int listen_address(const char *text)
{
        const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                       .ai_socktype = SOCK_STREAM};
        CLEANUP(freep) char *host = strdup(text);
        char *port = host ? strrchr(host, ':') : NULL, *name = host;
        struct addrinfo *at = NULL;
        uint64_t number;

        if (!host)
                return -ENOMEM;
        if (!port || port == host)
                return -EINVAL;
        *port++ = 0;
        size_t n = strlen(host);
        if (*host == '[' && host[n - 1] == ']') {
                host[n - 1] = 0;
                name++;
        }
        /* getaddrinfo() takes any number, and of one that is no port the lower bits. */
        if (digits_parse(port, &number) || number > UINT16_MAX ||
            getaddrinfo(name, port, &hints, &at))
                return -EINVAL;
        int fd = listen_inet(at);
        freeaddrinfo(at);
        return fd;
}

/* The port that was chosen, for port 0. */
static unsigned port_of(int fd)
{
        struct sockaddr_storage at;
        socklen_t n = sizeof at;
        char port[8] = "0";

        if (!getsockname(fd, (struct sockaddr *)&at, &n))
                getnameinfo((struct sockaddr *)&at, n, NULL, 0, port, sizeof port, NI_NUMERICSERV);
        return (unsigned)strtoul(port, NULL, 10);
}

/* --- requests --- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, char *text,
                             size_t n)
{
        struct MHD_Response *r = MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_COPY);
        enum MHD_Result rc = MHD_NO;

        if (!r)
                return MHD_NO;
        if (MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
                                    "text/plain; version=0.0.4; charset=utf-8"))
                rc = MHD_queue_response(connection, status, r);
        MHD_destroy_response(r);
        return rc;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *ndata, void **state)
{
        static char none[] = "the metrics are at /metrics\n", reads[] = "give GET\n";
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        struct metrics_http *h = arg;

        (void)version, (void)data, (void)state;
        *ndata = 0; /* a body is no part of what is asked */
        if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
                return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, reads, sizeof reads - 1);
        if (strcmp(url, "/metrics") != 0)
                return reply(connection, MHD_HTTP_NOT_FOUND, none, sizeof none - 1);
        stats_update(h->m);
        if (metrics_text(&text, h->labels.v, h->labels.n))
                return MHD_NO;
        return reply(connection, MHD_HTTP_OK, text.p, text.len);
}

static void complain(void *arg, const char *fmt, va_list ap)
{
        char text[200];

        (void)arg;
        vsnprintf(text, sizeof text, fmt, ap);
        text[strcspn(text, "\n")] = 0;
        log_debug("metrics: %s", text);
}

/* --- beginning and end --- */

void metrics_http_stop(struct metrics_http *h)
{
        if (!h)
                return;
        if (h->path)
                unlink(h->path);
        if (h->daemon)
                MHD_stop_daemon(h->daemon);
        metrics_labels_release(&h->labels);
        free(h->path);
        free(h);
}

static int listen_where(struct metrics_http *h, char *why, size_t nwhy)
{
        const char *where = h->m->params.metrics;
        bool is_unix = !strncmp(where, UNIX_PREFIX, sizeof UNIX_PREFIX - 1);
        const char *path = where + sizeof UNIX_PREFIX - 1;
        int fd = is_unix ? listen_unix(path) : listen_address(where);

        if (fd < 0)
                snprintf(why, nwhy,
                         "metrics=%s: %s: give ADDRESS:PORT, as 127.0.0.1:9469, or "
                         "unix:PATH, which no other program serves",
                         where, strerror(-fd));
        else if (is_unix)
                h->path = strdup(path);
        return fd;
}

static int start(struct metrics_http *h, char *why, size_t nwhy)
{
        int err = metrics_labels_set(&h->labels, h->m->mountpoint, store_bucket(h->m->store),
                                     h->m->params.metrics_label, why, nwhy);
        if (err)
                return err;
        int fd = listen_where(h, why, nwhy);
        if (fd < 0)
                return fd;
        unsigned port = port_of(fd);
        h->daemon = MHD_start_daemon(
                MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG | MHD_USE_POLL, 0,
                NULL, NULL, answer, h, MHD_OPTION_EXTERNAL_LOGGER, complain, NULL,
                MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_S,
                MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
        if (!h->daemon) {
                close(fd);
                snprintf(why, nwhy,
                         "metrics=%s: the server cannot be started: free memory or "
                         "threads",
                         h->m->params.metrics);
                return -ENOMEM;
        }
        if (port)
                log_info("metrics are served at port %u", port);
        return 0;
}

int metrics_http_start(struct mount *m, struct metrics_http **out, char *why, size_t nwhy)
{
        *out = NULL;
        if (!*m->params.metrics)
                return 0;
        struct metrics_http *h = calloc(1, sizeof *h);
        if (!h) {
                snprintf(why, nwhy, "no memory");
                return -ENOMEM;
        }
        h->m = m;
        int err = start(h, why, nwhy);
        if (err)
                metrics_http_stop(h);
        else
                *out = h;
        return err;
}

#else

int metrics_http_start(struct mount *m, struct metrics_http **out, char *why, size_t nwhy)
{
        *out = NULL;
        if (!*m->params.metrics)
                return 0;
        snprintf(why, nwhy, "metrics= is not in this build: build it with libmicrohttpd");
        return -EOPNOTSUPP;
}

void metrics_http_stop(struct metrics_http *h)
{
        (void)h;
}

#endif
