/* SPDX-License-Identifier: Apache-2.0 */
/* http_worker.c: the loop of one I/O thread: a curl multi on epoll.
 *
 * curl says by callback which sockets to wait for and when to be called at the latest; the latter,
 * the delayed exchanges and the watchdog are the timeout of epoll_wait(), which costs no system
 * call where a timer descriptor would. Nothing here takes a lock. */
#include "store/http/http_int.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mutex.h"
#include "base/banned.h"

enum {
        EVENTS = 64,
        LOOKS_MOST = 64 /* at requests of a list that wait, for one to begin beside */
};

static int64_t clock_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t clock_ms(void)
{
        return clock_ns() / 1000000;
}

void http_worker_wake(struct http_worker *w)
{
        uint64_t one = 1;
        ssize_t n = write(w->wakefd, &one, sizeof one);
        (void)n; /* full means it is awake */
}

int64_t http_running_ms(const struct http_req *rq)
{
        return rq->worker->now_ms - rq->worker->stopped_ms;
}

void http_worker_drop_idle(struct http_worker *w)
{
        for (int lane = 0; lane < HTTP_LANES; lane++)
                while (w->idle[lane]) {
                        struct http_slot *slot = w->idle[lane];
                        w->idle[lane] = slot->next;
                        http_slot_free(slot);
                }
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
        struct http_worker *w = arg;
        struct epoll_event ev = {.data.fd = fd};
        (void)easy;

        if (what == CURL_POLL_REMOVE) {
                epoll_ctl(w->epfd, EPOLL_CTL_DEL, fd, NULL); /* closed ones are gone already */
                return 0;
        }
        if (what & CURL_POLL_IN)
                ev.events |= EPOLLIN;
        if (what & CURL_POLL_OUT)
                ev.events |= EPOLLOUT;
        if (known) {
                epoll_ctl(w->epfd, EPOLL_CTL_MOD, fd, &ev);
        } else {
                if (epoll_ctl(w->epfd, EPOLL_CTL_ADD, fd, &ev) && errno == EEXIST)
                        epoll_ctl(w->epfd, EPOLL_CTL_MOD, fd, &ev);
                curl_multi_assign(w->multi, fd, w);
        }
        return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
        struct http_worker *w = arg;
        (void)multi;
        w->curl_due_ms = timeout_ms < 0 ? -1 : clock_ms() + timeout_ms;
        return 0;
}

/* --- the end of an exchange --- */

static void add(uint64_t *counter, uint64_t n)
{
        __atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* After done() the exchange is gone, or submitted again. */
static void finish(struct http_worker *w, struct http_req *rq, int err)
{
        struct http *h = w->h;
        mutex_check_none();
        rq->done(rq, err);
        if (!__atomic_sub_fetch(&h->outstanding, 1, __ATOMIC_SEQ_CST) &&
            __atomic_load_n(&h->stopping, __ATOMIC_SEQ_CST))
                for (unsigned i = 0; i < h->nworkers; i++)
                        http_worker_wake(&h->workers[i]);
}

/* Of these CURLINFO_STARTTRANSFER_TIME_T is when the body began (curl 7.88). */
static bool has_body(const struct http_req *rq)
{
        return rq->method == HTTP_PUT || rq->method == HTTP_POST || rq->method == HTTP_PATCH;
}

/* One that ran beside the others is not kept: its buffers would be more than the places need. */
static void put_away(struct http_slot *slot)
{
        struct http_worker *w = slot->w;

        if (slot->beside) {
                http_slot_free(slot);
                return;
        }
        slot->rq = NULL;
        slot->next = w->idle[slot->lane];
        w->idle[slot->lane] = slot;
}

void http_finish_slot(struct http_slot *slot, int err)
{
        struct http_worker *w = slot->w;
        struct http_req *rq = slot->rq;
        curl_off_t sent = 0, received = 0;
        curl_off_t first_us = 0, whole_us = 0;
        long connects = 0;

        curl_easy_getinfo(slot->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        curl_easy_getinfo(slot->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
        curl_easy_getinfo(slot->easy, CURLINFO_NUM_CONNECTS, &connects);
        curl_easy_getinfo(slot->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_us);
        curl_easy_getinfo(slot->easy, CURLINFO_TOTAL_TIME_T, &whole_us);
        rq->first_byte_ns = !rq->status    ? 0
                            : has_body(rq) ? slot->replied_ns - slot->sent_ns
                                           : (int64_t)first_us * 1000;
        rq->whole_ns = (int64_t)whole_us * 1000;
        rq->sent = slot->begun > 0;
        add(&w->h->stats.requests, rq->sent);
        add(&w->h->stats.bytes_sent, (uint64_t)sent);
        add(&w->h->stats.bytes_received, (uint64_t)received);
        add(&w->h->stats.connections_opened, (uint64_t)connects);
        curl_multi_remove_handle(w->multi, slot->easy);
        http_watch_ended(slot, err);
        http_inflight_ended(slot, (uint64_t)(sent + received), err);

        *slot->prevp = slot->next;
        if (slot->next)
                slot->next->prevp = slot->prevp;
        w->nbusy[slot->lane]--;
        w->nbeside[slot->lane] -= slot->beside;
        w->of_flow[slot->lane][rq->flow % HTTP_FLOWS]--;
        put_away(slot);
        finish(w, rq, err);
}

static void reap(struct http_worker *w)
{
        CURLMsg *msg;
        int left;
        while ((msg = curl_multi_info_read(w->multi, &left))) {
                struct http_slot *slot = NULL;
                if (msg->msg != CURLMSG_DONE)
                        continue;
                CURLcode rc = msg->data.result;
                curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &slot);
                http_finish_slot(slot, http_slot_result(slot, rc));
        }
}

static void fail(struct http_worker *w, struct http_req *rq, int err)
{
        rq->status = 0;
        rq->error[0] = 0;
        rq->sent = false;
        finish(w, rq, err);
}

/* --- the beginning --- */

static void enqueue(struct http_worker *w, struct http_req *rq)
{
        struct http_queue *q = &w->queue[rq->lane];
        unsigned i = rq->flow % HTTP_FLOWS;

        rq->next = NULL;
        *q->list[i].tail = rq;
        q->list[i].tail = &rq->next;
        q->used |= UINT64_C(1) << i;
}

static struct http_req *take(struct http_queue *q, unsigned i, struct http_req **at)
{
        struct http_req *rq = *at;

        q->turn = i;
        *at = rq->next;
        if (!rq->next)
                q->list[i].tail = at;
        if (!q->list[i].head)
                q->used &= ~(UINT64_C(1) << i);
        return rq;
}

/* From a queue that has some. */
static struct http_req *dequeue(struct http_queue *q)
{
        uint64_t behind = q->used & ~((UINT64_C(2) << q->turn) - 1);
        unsigned i = (unsigned)__builtin_ctzll(behind ? behind : q->used);

        return take(q, i, &q->list[i].head);
}

static void delay(struct http_worker *w, struct http_req *rq)
{
        struct http_req **at = &w->delayed;
        rq->due_ms = w->now_ms + rq->delay_ms;
        while (*at && (*at)->due_ms <= rq->due_ms)
                at = &(*at)->next;
        rq->next = *at;
        *at = rq;
}

/* Takes what was submitted, oldest first. */
static void take_inbox(struct http_worker *w)
{
        struct http_req *rq = __atomic_exchange_n(&w->inbox, NULL, __ATOMIC_SEQ_CST), *list = NULL;
        while (rq) {
                struct http_req *next = rq->next;
                rq->next = list;
                list = rq;
                rq = next;
        }
        while ((rq = list)) {
                list = rq->next;
                if (rq->delay_ms)
                        delay(w, rq);
                else
                        enqueue(w, rq);
        }
        while (w->delayed && w->delayed->due_ms <= w->now_ms) {
                rq = w->delayed;
                w->delayed = rq->next;
                enqueue(w, rq);
        }
}

static void start(struct http_worker *w, struct http_req *rq, bool beside)
{
        rq->status = 0;
        rq->by_callback = false;
        rq->silent_ms = 0;
        buf_reset(&rq->reply);
        int err = rq->prepare ? rq->prepare(rq) : 0;
        if (err) {
                rq->by_callback = true;
                fail(w, rq, err);
                return;
        }
        struct http_slot *slot = w->idle[rq->lane];
        if (slot)
                w->idle[rq->lane] = slot->next;
        else if (!(slot = http_slot_new(w, rq->lane))) {
                fail(w, rq, -ENOMEM);
                return;
        }
        slot->rq = rq;
        slot->next = w->busy;
        slot->prevp = &w->busy;
        if (w->busy)
                w->busy->prevp = &slot->next;
        w->busy = slot;
        w->nbusy[rq->lane]++;
        slot->beside = beside;
        w->nbeside[rq->lane] += beside;
        w->of_flow[rq->lane][rq->flow % HTTP_FLOWS]++;
        err = http_slot_setup(slot);
        if (!err && curl_multi_add_handle(w->multi, slot->easy) != CURLM_OK)
                err = -ENOMEM;
        if (err)
                http_finish_slot(slot, err);
}

static unsigned places_of(const struct http_worker *w, int lane)
{
        unsigned limit = lane == HTTP_DATA ? http_inflight_most(w) : aimd_limit(&w->aimd[lane]);
        return lane == HTTP_DATA && w->pace.places < limit ? w->pace.places : limit;
}

/* Exchanges that may run beside those that have a place: no more than take long. For data, few. */
static unsigned beside_of(const struct http_worker *w, int lane, unsigned places)
{
        unsigned most = lane == HTTP_DATA ? (places + 3) / 4 : places;
        return w->nlong[lane] < most ? w->nlong[lane] : most;
}

static bool is_under_way(const struct http_worker *w, int lane, uint32_t flow)
{
        const struct http_slot *slot = w->of_flow[lane][flow % HTTP_FLOWS] ? w->busy : NULL;

        while (slot && ((int)slot->lane != lane || slot->rq->flow != flow))
                slot = slot->next;
        return slot;
}

/* Takes one of a flow of which nothing is under way, or NULL. */
static struct http_req *dequeue_beside(struct http_worker *w, int lane)
{
        struct http_queue *q = &w->queue[lane];

        for (unsigned n = 1; n <= HTTP_FLOWS; n++) {
                unsigned i = (q->turn + n) % HTTP_FLOWS, looks = 0;
                struct http_req **at = &q->list[i].head;
                for (; *at && looks < LOOKS_MOST; at = &(*at)->next, looks++)
                        if (!is_under_way(w, lane, (*at)->flow))
                                return take(q, i, at);
        }
        return NULL;
}

/* An object for which the store takes long may have every place. It holds up no other. */
static void start_beside(struct http_worker *w, int lane, unsigned places)
{
        unsigned most = beside_of(w, lane, places);
        struct http_req *rq;

        while (w->nbeside[lane] < most && w->queue[lane].used && (rq = dequeue_beside(w, lane)))
                start(w, rq, true);
}

static void start_queued(struct http_worker *w)
{
        for (int lane = 0; lane < HTTP_LANES; lane++) {
                struct http_queue *q = &w->queue[lane];
                unsigned places = places_of(w, lane);
                while (q->used && w->nbusy[lane] - w->nbeside[lane] < places)
                        start(w, dequeue(q), false);
                start_beside(w, lane, places);
        }
        if (w->queue[HTTP_DATA].used && w->nbusy[HTTP_DATA] >= http_inflight_most(w))
                w->met_most = true;
}

static void cancel_all(struct http_worker *w)
{
        while (w->busy)
                http_finish_slot(w->busy, -ECANCELED);
        for (int lane = 0; lane < HTTP_LANES; lane++)
                while (w->queue[lane].used)
                        fail(w, dequeue(&w->queue[lane]), -ECANCELED);
        while (w->delayed) {
                struct http_req *rq = w->delayed;
                w->delayed = rq->next;
                fail(w, rq, -ECANCELED);
        }
}

/* --- the loop --- */

static int sooner(int timeout, int64_t now_ms, int64_t due_ms)
{
        int64_t in = due_ms > now_ms ? due_ms - now_ms : 0;
        return timeout < 0 || in < timeout ? (int)in : timeout;
}

static int next_timeout(struct http_worker *w)
{
        int timeout = -1;
        if (w->curl_due_ms >= 0)
                timeout = sooner(timeout, w->now_ms, w->curl_due_ms);
        if (w->delayed)
                timeout = sooner(timeout, w->now_ms, w->delayed->due_ms);
        if (w->busy || w->delayed)
                timeout = sooner(timeout, w->now_ms, w->look_ms);
        else if (w->rest_ms)
                timeout = sooner(timeout, w->now_ms, w->rest_ms + w->h->cfg.rest_ms);
        return timeout;
}

static void drain_wake(struct http_worker *w)
{
        uint64_t count;
        ssize_t n = read(w->wakefd, &count, sizeof count);
        (void)n;
}

/* Sleeps until something is to be done, and lets curl do it. `sleeping` saves the writes to wakefd
 * while the worker is busy: set before the last look at the inbox, so no submission is missed. */
static void wait_and_act(struct http_worker *w)
{
        struct epoll_event ev[EVENTS];
        int running, timeout = next_timeout(w);

        __atomic_store_n(&w->sleeping, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&w->inbox, __ATOMIC_SEQ_CST))
                timeout = 0;
        int64_t from_ns = clock_ns();
        int n = epoll_wait(w->epfd, ev, EVENTS, timeout);
        int64_t now_ns = clock_ns();
        __atomic_store_n(&w->sleeping, 0, __ATOMIC_SEQ_CST);
        w->now_ms = now_ns / 1000000;
        http_watch_woke(w);
        worker_pace_slept(&w->pace, from_ns, now_ns, http_inflight_most(w));
        for (int i = 0; i < n; i++) {
                int what = 0;
                if (ev[i].data.fd < 0) {
                        drain_wake(w);
                        continue;
                }
                if (ev[i].events & EPOLLIN)
                        what |= CURL_CSELECT_IN;
                if (ev[i].events & EPOLLOUT)
                        what |= CURL_CSELECT_OUT;
                if (ev[i].events & (EPOLLERR | EPOLLHUP))
                        what |= CURL_CSELECT_ERR;
                curl_multi_socket_action(w->multi, ev[i].data.fd, what, &running);
        }
        if (w->curl_due_ms >= 0 && w->curl_due_ms <= w->now_ms) {
                w->curl_due_ms = -1;
                curl_multi_socket_action(w->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
}

static void set_up_multi(struct http_worker *w)
{
        curl_multi_setopt(w->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(w->multi, CURLMOPT_SOCKETDATA, w);
        curl_multi_setopt(w->multi, CURLMOPT_TIMERFUNCTION, on_timer);
        curl_multi_setopt(w->multi, CURLMOPT_TIMERDATA, w);
        curl_multi_setopt(w->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
        curl_multi_setopt(w->multi, CURLMOPT_MAXCONNECTS, (long)http_inflight_connections(w));
}

static void set_up_thread(struct http_worker *w)
{
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL); /* signals are for the program's own threads */
        pthread_setname_np(pthread_self(), "store-io");
        set_up_multi(w);
        w->now_ms = clock_ms();
}

/* Connections that nobody uses cost the server and us memory: after a while of rest they are
 * closed, and with them what the handles hold. curl closes them with all that it knows of them. */
static void rest(struct http_worker *w)
{
        if (w->busy || !w->rest_ms) {
                w->rest_ms = w->busy ? w->now_ms : 0;
                return;
        }
        if (w->now_ms - w->rest_ms < w->h->cfg.rest_ms)
                return;
        w->rest_ms = 0;
        CURLM *multi = curl_multi_init();
        if (!multi)
                return;
        http_worker_drop_idle(w);
        curl_multi_cleanup(w->multi);
        w->multi = multi;
        w->curl_due_ms = -1;
        set_up_multi(w);
}

void *http_worker_main(void *arg)
{
        struct http_worker *w = arg;
        struct http *h = w->h;

        set_up_thread(w);
        for (;;) {
                bool stopping = __atomic_load_n(&h->stopping, __ATOMIC_SEQ_CST);
                if (stopping && !__atomic_load_n(&h->outstanding, __ATOMIC_SEQ_CST))
                        break;
                wait_and_act(w);
                reap(w);
                take_inbox(w);
                if (stopping || __atomic_load_n(&h->stopping, __ATOMIC_SEQ_CST))
                        cancel_all(w);
                http_inflight_obey(w);
                start_queued(w);
                http_inflight_look(w);
                http_load_look(w);
                http_watch(w);
                rest(w);
        }
        return NULL;
}
