/* SPDX-License-Identifier: Apache-2.0 */
/* http_inflight.c: how many data exchanges a worker runs at once: what inflight.c is told of them,
 * and what it decides. */
#include "store/http/http_int.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "base/banned.h"

/* A worker's part of what all have. */
static unsigned share_of(const struct http_worker *w, unsigned all)
{
        return (all + w->sharers - 1) / w->sharers;
}

/* Transfers, or exchanges in another lane, at most. Questions and copies take the server's time,
 * not the line's: they do not follow the rate. */
static unsigned most_in(const struct http_worker *w, int lane)
{
        unsigned n = share_of(w, w->connections),
                 some = share_of(w, INFLIGHT_FIRST * w->h->nworkers);

        if (w->adapt && n > some)
                n = some;
        return lane != HTTP_DATA && n < HTTP_PLACES ? HTTP_PLACES : n;
}

void http_inflight_init(struct http_worker *w, bool adapt)
{
        w->adapt = adapt;
        w->sharers = http_load_active(w->h);
        inflight_init(&w->inflight, share_of(w, w->connections));
        for (int lane = 0; lane < HTTP_LANES; lane++)
                aimd_init(&w->aimd[lane], most_in(w, lane));
}

/* What was found out stands, within the bounds of a larger or smaller share. */
static void share_anew(struct http_worker *w)
{
        w->sharers = http_load_active(w->h);
        inflight_bound(&w->inflight, share_of(w, w->connections));
        for (int lane = 0; lane < HTTP_LANES; lane++)
                aimd_bound(&w->aimd[lane], most_in(w, lane));
}

unsigned http_inflight_most(const struct http_worker *w)
{
        return w->adapt ? inflight_limit(&w->inflight) : aimd_limit(&w->aimd[HTTP_DATA]);
}

static void show(struct http_worker *w)
{
        __atomic_store_n(&w->shown, w->nbusy[HTTP_DATA], __ATOMIC_RELAXED);
        __atomic_store_n(&w->shown_most, http_inflight_most(w), __ATOMIC_RELAXED);
}

/* More than may run from now on end as they would have. */
void http_inflight_obey(struct http_worker *w)
{
        unsigned order = __atomic_load_n(&w->h->order, __ATOMIC_SEQ_CST);
        bool same = order == w->order;

        if (same && w->sharers == http_load_active(w->h))
                return;
        if (same) {
                share_anew(w);
        } else {
                unsigned wanted = __atomic_load_n(&w->h->wanted, __ATOMIC_RELAXED);
                w->order = order;
                w->connections = wanted & ~HTTP_ADAPTS;
                http_inflight_init(w, wanted & HTTP_ADAPTS);
        }
        show(w);
        curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS, (long)http_inflight_connections(w));
}

/* Twice as many as run, so that a trial with fewer closes none. */
unsigned http_inflight_connections(const struct http_worker *w)
{
        unsigned others = w->aimd[HTTP_META].most + w->aimd[HTTP_WORK].most;
        return others + (w->adapt ? 2 * inflight_limit(&w->inflight) : w->aimd[HTTP_DATA].most);
}

/* What the other side has: bytes in the kernel's buffer are still here. */
static uint64_t moved(const struct http_slot *slot)
{
        curl_off_t sent = 0, received = 0;
        curl_socket_t fd = CURL_SOCKET_BAD;
        int queued = 0;

        curl_easy_getinfo(slot->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        curl_easy_getinfo(slot->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
        if (sent)
                curl_easy_getinfo(slot->easy, CURLINFO_ACTIVESOCKET, &fd);
        if (fd != CURL_SOCKET_BAD && !ioctl(fd, SIOCOUTQ, &queued) && queued < sent)
                sent -= queued;
        return (uint64_t)(sent + received);
}

void http_inflight_ended(struct http_slot *slot, uint64_t bytes, int err)
{
        struct http_worker *w = slot->w;
        unsigned ms = (unsigned)(w->now_ms - slot->begun_ms);

        if (slot->lane != HTTP_DATA)
                return;
        w->data_bytes += bytes;
        if (!err)
                w->data_ms = w->data_ms ? (7 * w->data_ms + ms) / 8 : ms;
}

void http_inflight_look(struct http_worker *w)
{
        unsigned before = http_inflight_connections(w);

        show(w);
        if (!w->adapt || !w->nbusy[HTTP_DATA] || w->now_ms - w->inflight_look_ms < INFLIGHT_LOOK_MS)
                return;
        w->inflight_look_ms = w->now_ms;
        struct inflight_look look = {.now_ms = w->now_ms,
                                     .bytes = w->data_bytes,
                                     .running = w->nbusy[HTTP_DATA] - w->nbeside[HTTP_DATA],
                                     .more = w->queue[HTTP_DATA].used != 0,
                                     .met = w->met_most,
                                     .took_ms = w->data_ms};
        w->met_most = false;
        for (const struct http_slot *slot = w->busy; slot; slot = slot->next)
                if (slot->lane == HTTP_DATA)
                        look.bytes += moved(slot);
        inflight_look(&w->inflight, &look);
        if (before != http_inflight_connections(w))
                curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS,
                                  (long)http_inflight_connections(w));
}
