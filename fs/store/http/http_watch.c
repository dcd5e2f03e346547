/* SPDX-License-Identifier: Apache-2.0 */
/* http_watch.c: exchanges that do not get on. One that moves too little for too long is given up,
 * and the address that it went to is passed by for a while. One that takes much longer than others
 * of its kind is begun again on a fresh connection: the vendor's advice for the slowest few. */
#include "store/http/http_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/banned.h"

enum {
        LOOK_MS = 500,
        LEAST_BYTES = 16 << 10, /* within the stall timeout; less is no progress */
        SHUN_MS = 30000,
        STOPPED_MS = 1000,    /* a look that is so late: the process did not run */
        HEDGE_LEAST_MS = 1000 /* what takes less is never begun again */
};
#define HEDGE_SHARE 0.05 /* of the exchanges */
#define HEDGES_MOST 2.0  /* at once */

/* --- too slow to go on --- */

/* While the server works it may send a blank now and then; data has to move. */
static bool stalled(struct http_worker *w, struct http_slot *slot)
{
        curl_off_t sent = 0, received = 0;
        const struct http_req *rq = slot->rq;
        unsigned limit = w->h->cfg.stall_timeout_ms;

        if (limit < rq->stall_min_ms)
                limit = rq->stall_min_ms;
        if (rq->stall_max_ms && limit > rq->stall_max_ms)
                limit = rq->stall_max_ms;
        curl_easy_getinfo(slot->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        curl_easy_getinfo(slot->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
        unsigned stage = (rq->body_len && (uint64_t)sent >= rq->body_len) + (rq->reply.len > 0);
        curl_off_t moved = sent + received + (curl_off_t)rq->reply.len;
        if (moved - slot->moved >= (slot->lane == HTTP_WORK ? 1 : LEAST_BYTES) ||
            stage != slot->stage) {
                slot->moved = moved;
                slot->stage = stage;
                slot->moved_ms = w->now_ms;
        }
        return w->now_ms - slot->moved_ms >= limit;
}

/* --- addresses --- */

static struct http_address *find_address(struct http_worker *w, const char *ip)
{
        for (unsigned i = 0; i < HTTP_ADDRESSES; i++)
                if (!strcmp(w->address[i].ip, ip))
                        return &w->address[i];
        return NULL;
}

static bool has_better(const struct http_worker *w)
{
        for (unsigned i = 0; i < HTTP_ADDRESSES; i++)
                if (*w->address[i].ip && w->address[i].shun_until_ms <= w->now_ms)
                        return true;
        return false;
}

static void shun(struct http_worker *w, struct http_slot *slot)
{
        char *ip = NULL;

        curl_easy_getinfo(slot->easy, CURLINFO_PRIMARY_IP, &ip);
        struct http_address *a = ip && *ip ? find_address(w, ip) : NULL;
        if (a)
                a->shun_until_ms = w->now_ms + SHUN_MS;
}

curl_socket_t http_on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
        struct http_slot *slot = arg;
        struct http_worker *w = slot->w;
        char ip[INET6_ADDRSTRLEN] = "";
        const void *number = to->family == AF_INET6
                                     ? (void *)&((struct sockaddr_in6 *)&to->addr)->sin6_addr
                                     : (void *)&((struct sockaddr_in *)&to->addr)->sin_addr;
        (void)purpose;

        inet_ntop(to->family, number, ip, sizeof ip);
        struct http_address *a = find_address(w, ip);
        if (!a) {
                a = &w->address[w->address_turn++ % HTTP_ADDRESSES];
                *a = (struct http_address){.shun_until_ms = 0};
                memcpy(a->ip, ip, sizeof ip);
        }
        if (a->shun_until_ms > w->now_ms && has_better(w)) {
                slot->passed_by = true;
                return CURL_SOCKET_BAD; /* curl goes on with the name's next address */
        }
        return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* The name has none but those any more. */
void http_shun_none(struct http_worker *w)
{
        for (unsigned i = 0; i < HTTP_ADDRESSES; i++)
                w->address[i].shun_until_ms = 0;
}

/* --- slower than others --- */

static struct http_usual *usual_of(struct http_worker *w, const struct http_req *rq)
{
        unsigned size = 63 - (unsigned)__builtin_clzll(rq->again_bytes);
        if (size >= HTTP_SIZES)
                size = HTTP_SIZES - 1;
        return &w->usual[rq->method == HTTP_PUT][size];
}

void http_watch_ended(struct http_slot *slot, int err)
{
        struct http_worker *w = slot->w;
        const struct http_req *rq = slot->rq;

        if (err || rq->status < 200 || rq->status > 299 || !rq->again_bytes)
                return;
        struct http_usual *u = usual_of(w, rq);
        u->ms[u->n++ % HTTP_USUAL] = (unsigned)(w->now_ms - slot->begun_ms);
        w->hedges += HEDGE_SHARE;
        if (w->hedges > HEDGES_MOST)
                w->hedges = HEDGES_MOST;
}

static bool is_slow(struct http_worker *w, const struct http_slot *slot)
{
        const struct http_req *rq = slot->rq;
        unsigned slowest = HEDGE_LEAST_MS / 2;

        if (!rq->again_bytes || rq->hedged || w->hedges < 1)
                return false;
        const struct http_usual *u = usual_of(w, rq);
        for (unsigned i = 0; i < HTTP_USUAL; i++)
                slowest = u->ms[i] > slowest ? u->ms[i] : slowest;
        return u->n >= HTTP_USUAL && w->now_ms - slot->begun_ms > 2 * (int64_t)slowest;
}

/* A server that speaks no TLS may wait for the end of what it takes for a request. */
static bool is_shaking_hands(const struct http_slot *slot)
{
        curl_off_t agreed = 0;

        curl_easy_getinfo(slot->easy, CURLINFO_APPCONNECT_TIME_T, &agreed);
        return !strncmp(slot->rq->url.p, "https:", 6) && !agreed;
}

static void say_stalled(const struct http_slot *slot)
{
        struct http_req *rq = slot->rq;

        if (is_shaking_hands(slot))
                snprintf(rq->error, sizeof rq->error, "the TLS handshake took over %u ms",
                         rq->silent_ms);
        else
                snprintf(rq->error, sizeof rq->error, "too few bytes moved for %u ms",
                         rq->silent_ms);
}

/* --- both --- */

/* While the process is stopped (SIGSTOP, a machine that stands still) nobody hears the server: that
 * is no silence of its own, and takes nothing of the deadline. What begins after the look that was
 * due has not been stopped: a worker at rest looks at nothing. */
void http_watch_woke(struct http_worker *w)
{
        int64_t late = w->now_ms - w->look_ms;

        if (late < STOPPED_MS)
                return;
        for (struct http_slot *slot = w->busy; slot; slot = slot->next)
                if (slot->begun_ms < w->look_ms) {
                        slot->begun_ms += late;
                        slot->moved_ms += late;
                }
        w->stopped_ms += late;
        w->look_ms = w->now_ms;
}

void http_watch(struct http_worker *w)
{
        if (w->now_ms < w->look_ms)
                return;
        unsigned quarter = w->h->cfg.stall_timeout_ms / 4;
        w->look_ms = w->now_ms + (quarter && quarter < LOOK_MS ? quarter : LOOK_MS);
        memset(w->nlong, 0, sizeof w->nlong);
        for (struct http_slot *slot = w->busy, *next; slot; slot = next) {
                struct http_req *rq = slot->rq;
                next = slot->next;
                w->nlong[slot->lane] += w->now_ms - slot->begun_ms >= HTTP_LONG_MS;
                if (stalled(w, slot)) {
                        rq->silent_ms = (unsigned)(w->now_ms - slot->moved_ms);
                        say_stalled(slot);
                        shun(w, slot);
                        http_finish_slot(slot, -ETIMEDOUT);
                } else if (is_slow(w, slot)) {
                        w->hedges -= 1;
                        rq->hedged = true;
                        http_finish_slot(slot, -EINTR);
                }
        }
}
