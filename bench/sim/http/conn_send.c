/* SPDX-License-Identifier: Apache-2.0 */
/* conn_send.c: the sending half of a connection. See conn.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/sim/http/conn.h"
#include "bench/sim/store/null.h"
#include "bench/sim/store/object.h"
#include "base/banned.h"

/* TAIL: bytes at the end of an object that are sent after the rest. */
enum { TURN = 4 << 20, TAIL = 64 << 10 };

/* Whether the reply has a body that is sent. */
static bool sends_body(const struct request *x)
{
        return !x->head_only && x->status != 204 && x->status != 304;
}

void conn_begin_reply(struct conn *c)
{
        struct request *x = &c->x;
        struct buf *b = &c->head;
        char date[32];
        uint64_t len = x->object ? x->len : x->body.len;

        if (!x->rq.keep_alive)
                x->close = true;
        http_date(time(NULL) + c->cfg->service.clock_skew_s, date);
        buf_addf(b, "HTTP/1.1 %d %s\r\nServer: storesim\r\nDate: %s\r\n", x->status,
                 http_reason(x->status), date);
        buf_add(b, x->headers.p, x->headers.len);
        if (x->status != 204 && x->status != 304)
                buf_addf(b, "Content-Length: %" PRIu64 "\r\n", len);
        if (x->close)
                buf_adds(b, "Connection: close\r\n");
        buf_adds(b, "\r\n");
        c->head_off = c->sent = c->seg_at = 0;
        c->seg = 0;
        if (!sends_body(x)) {
                x->len = 0;
                return;
        }
        if (x->fault.what == FAULT_TRUNCATE || x->fault.what == FAULT_RESET)
                c->cut = x->fault.after_bytes;
        if (x->object)
                return;
        size_t n = x->body.len;
        if (x->fault.what == FAULT_CORRUPT && !x->rq.body_len && x->fault.after_bytes < n)
                x->body.p[x->fault.after_bytes] ^= 1;
        buf_add(b, x->body.p, n < c->cut ? n : (size_t)c->cut);
        x->len = 0;
        x->bytes_out = n < c->cut ? n : c->cut;
}

/* A range of a file, or of memory, that holds the next bytes of the object. */
struct extent {
        const void *bytes; /* NULL: in the file */
        int fd;
        uint64_t off, len;
};

static int next_extent(struct conn *c, struct extent *e)
{
        const struct object *o = c->x.object;
        uint64_t pos = c->x.off + c->sent;

        while (c->seg < o->nsegs && c->seg_at + o->segs[c->seg].len <= pos) {
                c->seg_at += o->segs[c->seg++].len;
                closep(&c->file);
                c->file = -1;
        }
        if (c->seg == o->nsegs)
                return -EIO;
        const struct seg *s = &o->segs[c->seg];
        if (!s->blob) {
                e->bytes = null_bytes(pos, &e->len);
                return 0;
        }
        if (c->file < 0) {
                c->file = blob_open(s->blob);
                if (c->file < 0)
                        return c->file;
        }
        *e = (struct extent){NULL, c->file, s->off + (pos - c->seg_at), s->len - (pos - c->seg_at)};
        return 0;
}

/* Sends by way of the loop's memory: from a file for TLS, and the byte that a rule corrupts. */
static ssize_t send_copied(struct conn *c, const struct extent *e, size_t n, bool flip,
                           enum step *step)
{
        /* TLS wants to see a write again as it was; the file still holds the same bytes. */
        if (n < c->tls_retry)
                n = c->tls_retry;
        if (n > CONN_SCRATCH)
                n = CONN_SCRATCH;
        ssize_t k = (ssize_t)n;
        if (e->bytes)
                memcpy(c->scratch, e->bytes, n);
        else
                k = pread(e->fd, c->scratch, n, (off_t)e->off);
        if (k <= 0)
                return k ? -errno : -EIO;
        if (flip)
                c->scratch[0] ^= 1;
        return conn_write(c, c->scratch, (size_t)k, false, step);
}

static enum step at_cut(struct conn *c)
{
        return c->x.fault.what == FAULT_RESET ? STEP_RESET : STEP_CLOSE;
}

/* How many of the next n bytes may go before a rule acts; *flip: the next one is corrupted. */
static uint64_t until_fault(struct conn *c, uint64_t n, bool *flip)
{
        const struct fault *f = &c->x.fault;
        uint64_t at = f->after_bytes;

        *flip = false;
        if (c->x.rq.body_len || at < c->sent)
                return n;
        if (f->what == FAULT_CORRUPT && at == c->sent) {
                *flip = true;
                return 1;
        }
        if ((f->what == FAULT_CORRUPT || f->what == FAULT_STALL) && at - c->sent < n)
                return at - c->sent;
        return n;
}

/* The next n bytes of the object are sent now. */
static void log_tail(struct conn *c, size_t n)
{
        struct request *x = &c->x;

        if (n < x->len - c->sent)
                return;
        x->bytes_out += n;
        conn_log_reply(c);
        x->bytes_out -= n;
}

/* The next piece of the object. A count, or as conn_write(); 0: a rule stalls it. */
static ssize_t send_piece(struct conn *c, size_t n, enum step *step)
{
        struct extent e;
        bool flip;
        int err = next_extent(c, &e);

        if (err)
                return err;
        if (n > e.len)
                n = (size_t)e.len;
        if (c->cut - c->sent < n)
                n = (size_t)(c->cut - c->sent);
        n = (size_t)until_fault(c, n, &flip);
        if (!n)
                return 0;
        log_tail(c, n);
        if (flip || (c->tls && !e.bytes))
                return send_copied(c, &e, n, flip, step);
        if (e.bytes)
                return conn_write(c, e.bytes, n < c->tls_retry ? c->tls_retry : n, false, step);
        return conn_sendfile(c, e.fd, e.off, n, step);
}

static enum step send_object(struct conn *c, uint64_t now_ns)
{
        struct request *x = &c->x;
        size_t turn = 0;
        enum step step = STEP_CLOSE;

        while (c->sent < x->len) {
                if (c->sent >= c->cut)
                        return at_cut(c);
                if (turn >= TURN) {
                        c->wake_ns = now_ns;
                        return STEP_PAUSE;
                }
                uint64_t left = x->len - c->sent;
                if (left > TAIL)
                        left -= TAIL;
                size_t n = shape_allow(&c->down, left < TURN ? (size_t)left : TURN, now_ns,
                                       &c->wake_ns);
                if (n)
                        n = line_allow(c->cfg->down, &c->down_bite, n, now_ns, &c->wake_ns);
                if (!n)
                        return STEP_PAUSE;
                ssize_t put = send_piece(c, n, &step);
                if (!put && x->fault.what == FAULT_STALL) {
                        c->wake_ns = conn_hold_up(c, now_ns);
                        x->fault.after_bytes = UINT64_MAX;
                        return STEP_PAUSE;
                }
                if (put <= 0)
                        return put == -EAGAIN ? step : STEP_CLOSE;
                shape_use(&c->down, (size_t)put);
                line_use(c->cfg->down, &c->down_bite, (size_t)put);
                c->sent += (uint64_t)put;
                x->bytes_out += (uint64_t)put;
                c->active_ns = now_ns;
                turn += (size_t)put;
        }
        return STEP_GO;
}

/* Whether a rule ends the text of the reply before its end. */
static bool is_cut(const struct conn *c)
{
        return !c->x.object && sends_body(&c->x) && c->cut < c->x.body.len;
}

enum step conn_send(struct conn *c, uint64_t now_ns)
{
        enum step step = STEP_CLOSE;

        while (c->head_off < c->head.len) {
                size_t n = line_allow(c->cfg->down, &c->down_bite, c->head.len - c->head_off,
                                      now_ns, &c->wake_ns);
                if (!n)
                        return STEP_PAUSE;
                if (n == c->head.len - c->head_off && !c->x.len && !is_cut(c))
                        conn_log_reply(c);
                ssize_t put = conn_write(c, c->head.p + c->head_off, n,
                                         c->x.len && !is_shaped(c->cfg), &step);
                if (put <= 0)
                        return put == -EAGAIN ? step : STEP_CLOSE;
                line_use(c->cfg->down, &c->down_bite, (size_t)put);
                c->head_off += (size_t)put;
                c->active_ns = now_ns;
        }
        step = send_object(c, now_ns);
        if (step != STEP_GO)
                return step;
        if (is_cut(c))
                return at_cut(c);
        bool close_now = c->x.close;
        conn_end_reply(c);
        return close_now ? STEP_CLOSE : STEP_GO;
}
