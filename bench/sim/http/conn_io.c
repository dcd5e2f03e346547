/* SPDX-License-Identifier: Apache-2.0 */
/* conn_io.c: bytes in and out of a connection, plain or TLS. */
#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>

#include "bench/sim/http/conn.h"
#include "bench/sim/http/tls.h"
#include "base/banned.h"

/* Fewer wake-ups while a large body comes in. */
enum { LOW_WATER = 256 << 10 };

static ssize_t plain(ssize_t n, enum step would, enum step *step)
{
        if (n >= 0)
                return n;
        if (errno == EAGAIN || errno == EINTR)
                *step = would;
        return errno == EINTR ? -EAGAIN : -errno;
}

ssize_t conn_recv(struct conn *c, void *p, size_t n, enum step *step)
{
        int want_out = 0;

        if (!c->tls)
                return plain(recv(c->fd, p, n, 0), STEP_IN, step);
        ssize_t got = tls_read(c->tls, p, n, &want_out);
        *step = want_out ? STEP_OUT : STEP_IN;
        return got;
}

void conn_expect(struct conn *c, uint64_t left)
{
        /* Far from the end only: TLS may hold 64 KiB of it already. */
        int want = left > 4 * LOW_WATER && !is_shaped(c->cfg) ? LOW_WATER : 1;

        if (want == c->low_water || (want == 1 && !c->low_water))
                return;
        c->low_water = want;
        setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &want, sizeof want);
}

ssize_t conn_drop(struct conn *c, size_t n, enum step *step)
{
        /* TCP drops bytes without copying them with MSG_TRUNC (tcp(7)). ThreadSanitizer takes it
         * for a write of n bytes at NULL. */
#ifndef __SANITIZE_THREAD__
        if (!c->tls)
                return plain(recv(c->fd, NULL, n, MSG_TRUNC), STEP_IN, step);
#endif
        return conn_recv(c, c->scratch, n < CONN_SCRATCH ? n : CONN_SCRATCH, step);
}

ssize_t conn_write(struct conn *c, const void *p, size_t n, bool more, enum step *step)
{
        int want_out = 1;

        if (!c->tls)
                return plain(send(c->fd, p, n, MSG_NOSIGNAL | (more ? MSG_MORE : 0)), STEP_OUT,
                             step);
        ssize_t put = tls_write(c->tls, p, n, &want_out);
        c->tls_retry = put == -EAGAIN ? n : 0;
        *step = want_out ? STEP_OUT : STEP_IN;
        return put;
}

ssize_t conn_sendfile(struct conn *c, int fd, uint64_t off, size_t n, enum step *step)
{
        off_t at = (off_t)off;

        return plain(sendfile(c->fd, fd, &at, n), STEP_OUT, step);
}
