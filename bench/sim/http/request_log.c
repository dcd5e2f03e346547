/* SPDX-License-Identifier: Apache-2.0 */
/* request_log.c: see request_log.h. */
#include "bench/sim/http/request_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/sim/http/request.h"

#include "base/banned.h"

struct request_log {
        int fd;
};

int request_log_open(const char *file, struct request_log **out)
{
        struct request_log *l = calloc(1, sizeof *l);

        if (!l)
                return -ENOMEM;
        l->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (l->fd < 0) {
                int err = -errno;
                free(l);
                return err;
        }
        *out = l;
        return 0;
}

void request_log_close(struct request_log *l)
{
        if (!l)
                return;
        close(l->fd);
        free(l);
}

static void add_time(struct buf *b, uint64_t age_ns)
{
        struct timespec now;
        struct tm tm;
        char text[32];

        clock_gettime(CLOCK_REALTIME, &now);
        int64_t us = ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)age_ns) / 1000;
        time_t s = (time_t)(us / 1000000);
        gmtime_r(&s, &tm);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
        buf_addf(b, "%s.%06dZ", text, (int)(us % 1000000));
}

static void add_word(struct buf *b, const char *text)
{
        buf_addc(b, ' ');
        if (text && *text)
                uri_encode(b, text, true);
        else
                buf_addc(b, '-');
}

/* `event` NULL: the request is over. */
static void write_line(struct request_log *l, const struct request *x, const char *event,
                       int status)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        if (!l)
                return;
        uint64_t took = clock_ns() - x->begun_ns;
        add_time(&b, took);
        if (event)
                buf_addf(&b, " %s:%s", event, x->op);
        else
                add_word(&b, x->op);
        add_word(&b, x->bucket);
        add_word(&b, x->key);
        if (x->part)
                buf_addf(&b, " part=%u", x->part);
        else if (x->status == 206 && x->len)
                buf_addf(&b, " range=%" PRIu64 "-%" PRIu64, x->off, x->off + x->len - 1);
        else
                buf_adds(&b, " -");
        buf_addf(&b, " %03d %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", status, x->bytes_in,
                 x->bytes_out, took / 1000, x->id);
        add_word(&b, fault_name(x->fault.what));
        buf_addc(&b, '\n');
        if (!b.failed && write(l->fd, b.p, b.len) < 0)
                return; /* nowhere left to say it */
}

void request_log_line(struct request_log *l, const struct request *x, bool replied)
{
        write_line(l, x, NULL, replied ? x->status : 0);
}

void request_log_event(struct request_log *l, const struct request *x, const char *event)
{
        write_line(l, x, event, 0);
}
