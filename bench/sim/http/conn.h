/* SPDX-License-Identifier: Apache-2.0 */
/* conn.h: one connection, a state machine on one thread.
 *
 *      HEAD -> BODY -> WAIT (time to first byte, delays) -> SEND -> HEAD ...
 *
 * Requests may be pipelined; they are answered in order, one at a time. Nothing here waits: where a
 * state cannot go on, the step that says what for is returned to the loop. */
#ifndef CKPTFS_SIM_CONN_H
#define CKPTFS_SIM_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/core/clock.h"
#include "bench/sim/http/limit.h"
#include "bench/sim/http/request.h"
#include "bench/sim/http/server_config.h"
#include "bench/sim/http/shape.h"

struct tls;

enum conn_state { CONN_HEAD, CONN_BODY, CONN_WAIT, CONN_SEND };

enum step {
        STEP_GO,    /* the next state can run */
        STEP_IN,    /* go on when there is something to read */
        STEP_OUT,   /* go on when something can be written */
        STEP_PAUSE, /* go on at wake_ns */
        STEP_CLOSE,
        STEP_RESET, /* close, and let the peer see a reset */
};

struct conn {
        struct conn *prev, *next; /* of the loop */
        const struct server_config *cfg;
        char *scratch; /* the loop's, CONN_SCRATCH bytes */
        int fd;
        struct tls *tls;  /* NULL: plain */
        size_t tls_retry; /* length of the write that TLS wants to see again */
        uint32_t armed;   /* epoll's events */
        int low_water;    /* bytes that must be there before the loop is woken; 0: not set */
        enum conn_state state;
        uint64_t wake_ns;   /* 0: not paused */
        bool held;          /* paused until the rules change, by wake_ns at the latest */
        uint64_t active_ns; /* when bytes last moved */

        char *in; /* what was read: a head, the beginning of its body, the next heads */
        size_t in_len, head_len;
        uint64_t body_left;    /* of a body in chunks: up to UINT64_MAX, and 0 at its end */
        struct chunked coding; /* of a body in chunks */
        struct request x;
        bool in_request;
        bool logged; /* ahead of the last bytes of its reply */

        struct buf head; /* of the reply, and its body where that is text */
        size_t head_off;
        uint64_t sent; /* bytes of the object */
        uint64_t cut;  /* the reply's body ends here, by a fault; UINT64_MAX: nowhere */
        int file;      /* open descriptor of segment `seg` of the object, or -1 */
        unsigned seg;
        uint64_t seg_at; /* offset of the segment in the object */

        struct shape up, down;
        struct line_bite up_bite, down_bite;
};

/* CONN_FRAME: read at once where the frame of a chunk is due; what is behind it may be of the next
 * request. */
enum { CONN_SCRATCH = 256 << 10, CONN_FRAME = 512, CONN_IN = HTTP_HEAD_MAX };

static inline bool is_shaped(const struct server_config *cfg)
{
        return cfg->rate || cfg->up->rate;
}

/* Takes over fd (also on failure). NULL: no memory. */
struct conn *conn_new(const struct server_config *cfg, int fd, char *scratch);
/* `aborted`: what was going on is logged as lost. */
void conn_free(struct conn *c);
/* Runs until it cannot go on; says what it waits for. */
enum step conn_run(struct conn *c, uint64_t now_ns);
/* When its pause is over; 0: not paused. */
uint64_t conn_due_ns(const struct conn *c);

/* --- between conn.c and conn_send.c --- */
void conn_begin_reply(struct conn *c);
enum step conn_send(struct conn *c, uint64_t now_ns);
/* Once, before the last bytes are sent: whoever has the reply finds its line in the log. */
void conn_log_reply(struct conn *c);
void conn_end_reply(struct conn *c);
/* A rule holds the request up: until when, at the latest. */
uint64_t conn_hold_up(struct conn *c, uint64_t now_ns);

/* --- bytes (conn_io.c) --- */

/* Each returns a count, 0 at the end (reading), -EAGAIN with *step set, or another negative errno.
 */
ssize_t conn_recv(struct conn *c, void *p, size_t n, enum step *step);
/* Says that at least `left` bytes are still to come: the loop is woken when there is a good deal.
 */
void conn_expect(struct conn *c, uint64_t left);
/* Reads and forgets. */
ssize_t conn_drop(struct conn *c, size_t n, enum step *step);
ssize_t conn_write(struct conn *c, const void *p, size_t n, bool more, enum step *step);
/* From a file, without looking at the bytes; plain connections only. */
ssize_t conn_sendfile(struct conn *c, int fd, uint64_t off, size_t n, enum step *step);

#endif
