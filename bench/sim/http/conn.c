/* SPDX-License-Identifier: Apache-2.0 */
/* conn.c: the receiving half of a connection. See conn.h. */
#include "bench/sim/http/conn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/sim/store/object.h"
#include "bench/sim/http/request_log.h"
#include "bench/sim/http/tls.h"
#include "bench/sim/store/object_store.h"
#include "base/banned.h"

/* Bytes after which another connection of the loop gets its turn. */
enum { TURN = 4 << 20 };

struct conn *conn_new(const struct server_config *cfg, int fd, char *scratch)
{
        struct conn *c = calloc(1, sizeof *c);

        if (c)
                c->in = malloc(CONN_IN + CONN_FRAME);
        if (!c || !c->in) {
                free(c);
                close(fd);
                return NULL;
        }
        c->cfg = cfg;
        c->fd = fd;
        c->file = -1;
        c->scratch = scratch;
        c->head = c->x.headers = c->x.body = c->x.text = c->x.related.head = (struct buf)BUF_INIT;
        c->x.intake.fd = -1;
        c->up.rate = c->down.rate = cfg->rate;
        c->active_ns = clock_ns();
        if (cfg->tls) {
                c->tls = tls_new(cfg->tls, fd);
                if (!c->tls) {
                        conn_free(c);
                        return NULL;
                }
        }
        return c;
}

/* Lets go of all that belongs to one request. */
static void release_request(struct conn *c)
{
        struct request *x = &c->x;

        intake_cancel(&x->intake);
        fault_release(&x->fault);
        object_unref(x->object);
        buf_release(&x->text);
        buf_release(&x->related.head);
        buf_release(&x->headers);
        buf_release(&x->body);
        buf_release(&c->head);
        free(x->path);
        free(x->named);
        free(x->query_text);
        closep(&c->file);
        c->file = -1;
        memset(x, 0, sizeof *x);
        x->headers = x->body = x->text = x->related.head = (struct buf)BUF_INIT;
        x->intake.fd = -1;
        c->in_request = c->logged = false;
}

void conn_free(struct conn *c)
{
        if (!c)
                return;
        if (c->in_request && !c->logged)
                request_log_line(c->cfg->log, &c->x, c->state == CONN_SEND && c->head_off);
        release_request(c);
        tls_free(c->tls);
        close(c->fd);
        free(c->in);
        free(c);
}

void conn_log_reply(struct conn *c)
{
        if (!c->logged)
                request_log_line(c->cfg->log, &c->x, true);
        c->logged = true;
}

void conn_end_reply(struct conn *c)
{
        conn_log_reply(c);
        release_request(c);
        c->in_len -= c->head_len;
        memmove(c->in, c->in + c->head_len, c->in_len);
        c->head_len = 0;
        c->state = CONN_HEAD;
}

static void name_request(struct request *x)
{
        static atomic_uint_fast64_t counter;
        uint64_t n = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);

        /* The multiplication only spreads the bits; it loses none. */
        snprintf(x->id, sizeof x->id, "%016" PRIX64, (n + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* A list has a prefix instead of a key. */
static const char *fault_key(const struct request *x)
{
        const char *prefix = *x->key ? NULL : request_query(x, "prefix");

        return prefix ? prefix : x->key;
}

/* What a rule does before the body is read. */
static enum step fault_at_begin(struct conn *c)
{
        struct request *x = &c->x;
        struct fault *f = &x->fault;

        switch (f->what) {
        case FAULT_STATUS:
        case FAULT_ERROR_IN_200:
                intake_cancel(&x->intake);
                x->to = BODY_DROP;
                return STEP_GO;
        case FAULT_RESET:
                return !c->body_left && !f->after_bytes ? STEP_RESET : STEP_GO;
        default:
                return STEP_GO;
        }
}

/* "3,500 PUT/COPY/POST/DELETE or 5,500 GET/HEAD requests per second per partitioned Amazon S3
 * prefix" (Amazon S3 User Guide, "Best practices design patterns: optimizing performance"). */
static bool is_too_many(const struct conn *c)
{
        const struct request *x = &c->x;
        bool write = strcmp(x->rq.method, "GET") && strcmp(x->rq.method, "HEAD");

        return c->cfg->rates &&
               !prefix_rates_take(c->cfg->rates, x->bucket, x->key, write, clock_ns());
}

/* The head is whole: begin the request. */
static enum step begin_request(struct conn *c)
{
        const struct protocol *p = c->cfg->protocol;
        struct service *s = (struct service *)(uintptr_t)&c->cfg->service;
        struct request *x = &c->x;

        c->body_left = x->rq.chunked ? UINT64_MAX : x->rq.body_len;
        c->coding = (struct chunked){.state = CHUNK_SIZE};
        c->cut = UINT64_MAX;
        p->begin(s, x);
        if (!x->status && is_too_many(c))
                p->refuse(x, 503, "SlowDown", "Please reduce your request rate.");
        if (x->status)
                x->to = BODY_DROP;
        else
                fault_match(s->faults, x->op, x->bucket, fault_key(x), x->part, &x->fault);
        enum step step = fault_at_begin(c);
        if (step != STEP_GO)
                return step;
        c->state = CONN_BODY;
        if (!x->rq.expect_continue || !c->body_left || c->in_len > c->head_len)
                return STEP_GO;
        if (x->status || x->fault.what == FAULT_STATUS) {
                x->close = true; /* the body was not asked for */
                c->body_left = 0;
                return STEP_GO;
        }
        /* All replies before are out, so there is room for these few bytes. */
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        ssize_t n = conn_write(c, go_on, sizeof go_on - 1, false, &step);
        return n == (ssize_t)sizeof go_on - 1 ? STEP_GO : STEP_CLOSE;
}

static enum step refuse_head(struct conn *c, int status)
{
        c->x.rq.method = c->x.rq.path = NULL;
        c->x.op = "Unknown";
        c->x.bucket = c->x.key = c->x.upload = c->x.other_bucket = c->x.other_key = "";
        c->x.close = true;
        c->body_left = 0;
        c->cut = UINT64_MAX;
        c->cfg->protocol->refuse(&c->x, status, NULL, NULL);
        c->state = CONN_BODY;
        return STEP_GO;
}

static enum step read_head(struct conn *c)
{
        enum step step = STEP_CLOSE;

        int n = c->in_len ? http_parse(c->in, c->in_len, &c->x.rq) : 0;
        if (n) {
                c->x.begun_ns = clock_ns();
                c->in_request = true;
                c->x.by_tls = c->tls != NULL;
                name_request(&c->x);
                c->head_len = n > 0 ? (size_t)n : c->in_len;
                return n > 0 ? begin_request(c) : refuse_head(c, -n);
        }
        ssize_t got = conn_recv(c, c->in + c->in_len, CONN_IN - c->in_len, &step);
        if (got <= 0)
                return got == -EAGAIN ? step : STEP_CLOSE;
        c->in_len += (size_t)got;
        c->active_ns = clock_ns();
        return STEP_GO;
}

/* Data of the body on its way to where the protocol wants it; with a rule, one bit is flipped. */
static int deliver(void *arg, char *p, size_t n)
{
        struct request *x = arg;
        uint64_t at = x->fault.after_bytes;
        uint64_t before = x->to == BODY_TEXT ? x->text.len : x->intake.len;

        if (x->to == BODY_DROP)
                return 0;
        if (x->to == BODY_TEXT && n > EXCHANGE_TEXT_MAX - x->text.len)
                return -EFBIG;
        if (x->fault.what == FAULT_CORRUPT && at >= before && at - before < n)
                p[at - before] ^= 1;
        return x->to == BODY_TEXT ? buf_add(&x->text, p, n) : intake_write(&x->intake, p, n);
}

static void refuse_body(struct conn *c, int err)
{
        struct request *x = &c->x;
        int status = err == -EBADMSG                    ? 400
                     : err == -EFBIG                    ? 413
                     : err == -ENOSPC || err == -EDQUOT ? 507
                                                        : 500;

        intake_cancel(&x->intake);
        x->to = BODY_DROP;
        if (!x->status)
                c->cfg->protocol->refuse(x, status, NULL, strerror(-err));
}

static void count_body(struct conn *c, size_t n)
{
        c->x.bytes_in += n;
        c->body_left -= n;
        if (c->x.rq.chunked)
                chunked_skip(&c->coding, n);
}

/* Takes n bytes of the body. */
static void take_body(struct conn *c, char *p, size_t n)
{
        struct request *x = &c->x;
        int err = 0;

        if (x->to != BODY_DROP)
                err = x->chunked    ? chunked_feed(&x->chunks, p, n, deliver, x)
                      : x->in_parts ? related_feed(&x->related, p, n, deliver, x)
                                    : deliver(x, p, n);
        count_body(c, n);
        if (err)
                refuse_body(c, err);
}

/* Takes n bytes of the body that nobody has seen. */
static void skip_body(struct conn *c, size_t n)
{
        struct request *x = &c->x;

        if (x->to == BODY_INTAKE)
                intake_write(&x->intake, NULL, n);
        if (x->to != BODY_DROP && x->chunked)
                chunked_skip(&x->chunks, n);
        if (x->to != BODY_DROP && x->in_parts)
                related_skip(&x->related, n);
        count_body(c, n);
}

/* A body in chunks is over: `err` 0 when it ended as it should. Where it did not, nobody knows what
 * the bytes behind it are. */
static void end_chunks(struct conn *c, int err)
{
        struct request *x = &c->x;

        x->rq.body_len = x->bytes_in;
        c->body_left = 0;
        if (err) {
                x->close = true;
                c->in_len = c->head_len;
        } else if (x->to != BODY_DROP && x->in_parts) {
                err = related_end(&x->related, deliver, x);
        }
        if (err)
                refuse_body(c, err);
}

/* Whether the frame of a chunk is due, and not data. */
static bool in_frame(const struct conn *c)
{
        return c->x.rq.chunked && c->coding.state != CHUNK_DATA;
}

/* How many of the next n bytes of the body come one behind the other. */
static uint64_t in_a_row(const struct conn *c, uint64_t n)
{
        return c->x.rq.chunked && c->coding.left < n ? c->coding.left : n;
}

/* Takes at most n bytes of the body of those that came with the head, or with the last frame. */
static void take_early(struct conn *c, uint64_t n)
{
        char *p = c->in + c->head_len;
        size_t in = c->in_len - c->head_len;
        size_t k = n < in ? (size_t)n : in;

        if (in_frame(c)) {
                ssize_t took = chunked_frame(&c->coding, p, in);
                if (took < 0) {
                        end_chunks(c, (int)took);
                        return;
                }
                k = (size_t)took;
                if (c->coding.state == CHUNK_DONE)
                        end_chunks(c, 0);
        } else {
                k = (size_t)in_a_row(c, k);
                take_body(c, p, k);
        }
        c->in_len -= k;
        memmove(p, p + k, c->in_len - c->head_len);
}

/* How many bytes of the body may come before a rule acts; 0: it acts now. */
static uint64_t until_fault(const struct conn *c)
{
        const struct fault *f = &c->x.fault;
        uint64_t end = c->x.bytes_in + c->body_left;

        if (f->what != FAULT_RESET && f->what != FAULT_STALL)
                return c->body_left;
        uint64_t at = f->after_bytes < end ? f->after_bytes : end;
        return at - c->x.bytes_in;
}

uint64_t conn_hold_up(struct conn *c, uint64_t now_ns)
{
        c->held = c->x.fault.until_reload;
        if (c->held)
                request_log_event(c->cfg->log, &c->x, "held");
        return now_ns + c->x.fault.stall_ns;
}

uint64_t conn_due_ns(const struct conn *c)
{
        const struct request *x = &c->x;

        if (c->held && !fault_holds(c->cfg->service.faults, &x->fault, x->op, x->bucket,
                                    fault_key(x), x->part))
                return 1;
        return c->wake_ns;
}

static enum step fault_now(struct conn *c, uint64_t now_ns)
{
        if (c->x.fault.what == FAULT_RESET)
                return STEP_RESET;
        c->wake_ns = conn_hold_up(c, now_ns);
        c->x.fault.after_bytes = UINT64_MAX; /* it has acted */
        return STEP_PAUSE;
}

/* The request is whole: do it, and say when the reply may begin. */
static enum step finish_request(struct conn *c, uint64_t now_ns)
{
        struct service *s = (struct service *)(uintptr_t)&c->cfg->service;
        const struct protocol *p = c->cfg->protocol;
        struct request *x = &c->x;
        const struct fault *f = &x->fault;

        if (f->what == FAULT_HOLD && f->after_bytes != UINT64_MAX)
                return fault_now(c, now_ns);
        if (!x->status && f->what == FAULT_STATUS)
                p->refuse(x, f->status, f->code, f->message);
        else if (!x->status && f->what == FAULT_ERROR_IN_200)
                p->error_in_200(x, f->code, f->message);
        else if (!x->status)
                p->finish(s, x);
        if ((f->what == FAULT_STATUS || f->what == FAULT_ERROR_IN_200) && f->body) {
                buf_reset(&x->body);
                buf_adds(&x->body, f->body);
        }
        if (f->what == FAULT_RESET_AFTER)
                return STEP_RESET;
        bool no_bytes = !x->rq.body_len && (!x->object || x->head_only);
        uint64_t begins_ns = now_ns;
        if (f->what == FAULT_DELAY || (f->what == FAULT_STALL && no_bytes))
                begins_ns = conn_hold_up(c, now_ns);
        begins_ns += c->cfg->ttfb_ns + x->delay_ns;
        conn_begin_reply(c);
        c->state = CONN_WAIT;
        c->wake_ns = begins_ns > now_ns ? begins_ns : 0;
        return c->wake_ns ? STEP_PAUSE : STEP_GO;
}

/* How many of the next n bytes need not be seen. */
static size_t unseen(const struct request *x, size_t n)
{
        if (x->to == BODY_DROP)
                return n;
        if (x->to != BODY_INTAKE || !data_is_null(x->intake.data))
                return 0;
        if (x->in_parts)
                return related_left(&x->related, n);
        if (!x->chunked)
                return n;
        if (x->chunks.state != CHUNK_DATA)
                return 0;
        return n < x->chunks.left ? n : (size_t)x->chunks.left;
}

/* Reads at most n bytes of the body from the connection. A count as conn_recv(). */
static ssize_t body_piece(struct conn *c, size_t n, enum step *step)
{
        bool of_frames = c->x.chunked || (c->x.in_parts && !c->x.related.open);
        size_t k, most = CONN_SCRATCH;
        ssize_t got;

        if (in_frame(c)) {
                got = conn_recv(c, c->in + c->in_len, CONN_FRAME, step);
                if (got > 0)
                        c->in_len += (size_t)got;
                return got;
        }
        n = (size_t)in_a_row(c, n);
        k = unseen(&c->x, n);
        if (k) {
                got = conn_drop(c, k, step);
                if (got > 0)
                        skip_body(c, (size_t)got);
                return got;
        }
        if (of_frames && data_is_null(object_store_data(c->cfg->service.objects)))
                most = 256; /* the frame of a chunk; its data is not worth a copy */
        got = conn_recv(c, c->scratch, n < most ? n : most, step);
        if (got > 0)
                take_body(c, c->scratch, (size_t)got);
        return got;
}

static enum step read_body(struct conn *c, uint64_t now_ns)
{
        size_t turn = 0;
        enum step step = STEP_CLOSE;

        while (c->body_left || (c->x.fault.what == FAULT_RESET && c->x.rq.body_len)) {
                uint64_t n = until_fault(c);
                if (!n)
                        return fault_now(c, now_ns);
                if (turn >= TURN) {
                        c->wake_ns = now_ns; /* the next one's turn */
                        return STEP_PAUSE;
                }
                if (c->in_len > c->head_len) {
                        take_early(c, n);
                        continue;
                }
                n = shape_allow(&c->up, n < TURN ? (size_t)n : TURN, now_ns, &c->wake_ns);
                if (n)
                        n = line_allow(c->cfg->up, &c->up_bite, n, now_ns, &c->wake_ns);
                if (!n)
                        return STEP_PAUSE;
                ssize_t got = body_piece(c, (size_t)n, &step);
                if (got == -EAGAIN && step == STEP_IN)
                        conn_expect(c, in_frame(c) ? 0 : in_a_row(c, c->body_left));
                if (got <= 0)
                        return got == -EAGAIN ? step : STEP_CLOSE;
                shape_use(&c->up, (size_t)got);
                line_use(c->cfg->up, &c->up_bite, (size_t)got);
                c->active_ns = now_ns;
                turn += (size_t)got;
        }
        conn_expect(c, 0);
        return finish_request(c, now_ns);
}

enum step conn_run(struct conn *c, uint64_t now_ns)
{
        enum step step = STEP_GO;

        if (c->held && c->wake_ns <= now_ns)
                request_log_event(c->cfg->log, &c->x, "expired");
        c->held = false;
        c->wake_ns = 0;
        while (step == STEP_GO) {
                switch (c->state) {
                case CONN_HEAD:
                        step = read_head(c);
                        break;
                case CONN_BODY:
                        step = read_body(c, now_ns);
                        break;
                case CONN_WAIT:
                        c->state = CONN_SEND;
                        break;
                case CONN_SEND:
                        step = conn_send(c, now_ns);
                        break;
                }
        }
        return step;
}
