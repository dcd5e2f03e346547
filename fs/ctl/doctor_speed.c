/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_speed.c: how long the store takes to answer, how many bytes a second it takes and gives,
 * and which options fit that. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mutex.h"
#include "ctl/ctl.h"
#include "ctl/doctor.h"

#include "base/banned.h"

enum {
        LOOKS = 5,
        LATENCY_SLOW_US = 300000,
        PROBE_MS = 2000, /* each way */
        FIRST = 1 << 20,
        LEAST = 1 << 20,
        MOST = 64 << 20,
        FLOWS_MOST = 64,
        FLOWS_USUAL = 16,
        RATE_SLOW = 50000000, /* bytes a second: less than one connection of the vendors */
        KEY_MAX = 300
};

static int64_t now_us(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* --- latency --- */

static int by_size(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
        return (x > y) - (x < y);
}

/* The median of some looks at an object, in microseconds; 0: one failed. */
static int64_t latency(struct store *s, const char *key)
{
        int64_t us[LOOKS];
        struct store_object obj;

        for (int i = 0; i < LOOKS; i++) {
                int64_t from = now_us();
                if (store_head_wait(s, key, &obj))
                        return 0;
                us[i] = now_us() - from;
        }
        qsort(us, LOOKS, sizeof *us, by_size);
        return us[LOOKS / 2];
}

/* --- bandwidth --- */

struct probe;

/* One request after the other, until the time is over. */
struct flow {
        struct probe *probe;
        char key[KEY_MAX];
        bool written;
};

struct probe {
        struct store *s;
        struct store_body body;
        bool reads;
        int64_t until_us;
        struct mutex mtx;
        pthread_cond_t none;
        unsigned running GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
        uint64_t bytes GUARDED_BY(&mtx);
        int64_t last_us GUARDED_BY(&mtx); /* when the last one was over */
        struct flow flow[FLOWS_MOST];
};

static void flow_begin(struct flow *f);

static void flow_over(struct flow *f, int err)
{
        struct probe *p = f->probe;
        int64_t now = now_us();

        mutex_lock(&p->mtx);
        p->err = p->err ? p->err : err;
        p->bytes += err ? 0 : p->body.len;
        p->last_us = now;
        bool again = !p->err && now < p->until_us && !doctor_ends();
        p->running += again;
        if (!--p->running)
                pthread_cond_signal(&p->none);
        mutex_unlock(&p->mtx);
        if (again)
                flow_begin(f);
}

static void put_done(void *arg, int err, const struct store_object *obj)
{
        struct flow *f = arg;
        (void)obj;
        f->written = f->written || !err;
        flow_over(f, err);
}

static int drop_bytes(void *arg, uint64_t at, const void *p, size_t n)
{
        (void)arg;
        (void)at;
        (void)p;
        (void)n;
        return 0;
}

static void get_done(void *arg, int err, const struct store_got *got)
{
        (void)got;
        flow_over(arg, err);
}

static void flow_begin(struct flow *f)
{
        struct probe *p = f->probe;
        const struct store_get get = {
                .key = f->key, .len = p->body.len, .data = drop_bytes, .done = get_done, .arg = f};
        int err = p->reads ? store_get(p->s, &get)
                           : store_put(p->s, f->key, &p->body, NULL, NULL, put_done, f);
        if (err)
                flow_over(f, err);
}

/* So many flows for a while: bytes a second, or 0 after an error. */
static double run_flows(struct probe *p, unsigned n, unsigned ms, bool reads)
{
        int64_t from = now_us();

        p->reads = reads;
        p->until_us = from + (int64_t)ms * 1000;
        mutex_lock(&p->mtx);
        p->running = n;
        p->err = 0;
        p->bytes = 0;
        mutex_unlock(&p->mtx);
        for (unsigned i = 0; i < n; i++)
                flow_begin(&p->flow[i]);
        mutex_lock(&p->mtx);
        while (p->running)
                mutex_wait(&p->none, &p->mtx);
        double took = (double)(p->last_us - from) / 1e6;
        double rate = p->err || took <= 0 ? 0 : (double)p->bytes / took;
        mutex_unlock(&p->mtx);
        return rate;
}

/* --- what fits --- */

/* Parts that take five times as long as the store's answer, so that it costs a sixth at most. */
static uint64_t fitting_part(double rate, int64_t latency_us)
{
        double want = rate * 5 * (double)latency_us / 1e6;
        uint64_t size = 16 << 20;

        while ((double)size < want && size < MOST)
                size *= 2;
        return size;
}

static void recommend(struct doctor *d, unsigned n, double one, double all, int64_t latency_us)
{
        CLEANUP(buf_release) struct buf o = BUF_INIT;
        uint64_t part = fitting_part(one, latency_us);

        /* With as many rates as flows more of them may be faster; of one flow that is not known. */
        if (d->p->connections && (n == 1 || all > 0.75 * n * one))
                buf_adds(&o, "connections=auto");
        if (part > d->p->part_size)
                buf_addf(&o, "%spart_size=%" PRIu64 "M", o.len ? "," : "", part >> 20);
        if (o.len)
                doctor_say(d, DOCTOR_SLOW, "options", "more may be had: mount with -o %s", o.p);
        else
                doctor_say(d, DOCTOR_OK, "options", "connections= and part_size= fit");
}

static void say_rate(struct doctor *d, const char *name, unsigned n, double rate)
{
        if (rate > 0 && rate < RATE_SLOW)
                doctor_say(d, DOCTOR_SLOW, name,
                           "%.1f MB/s by %u connections: see to the network, or use a nearer "
                           "store",
                           rate / 1e6, n);
        else if (rate > 0)
                doctor_say(d, DOCTOR_OK, name, "%.0f MB/s by %u connections", rate / 1e6, n);
        else
                doctor_say(d, DOCTOR_BROKEN, name, "a request failed: see what is said above");
}

/* Objects are small where the way is slow, so that the probe ends in any case. */
static void try_bandwidth(struct doctor *d, struct probe *p, char *block, int64_t latency_us)
{
        unsigned n = d->p->connections ? (unsigned)d->p->connections : FLOWS_USUAL;

        n = n < FLOWS_MOST ? n : FLOWS_MOST;
        p->body = store_body_mem(block, FIRST);
        double one = run_flows(p, 1, 0, false);
        uint64_t size = one / 2 > MOST ? MOST : (uint64_t)(one / 2);
        size = size > d->p->part_size ? d->p->part_size : size;
        p->body = store_body_mem(block, size < LEAST ? LEAST : size);
        if (one > 0)
                one = run_flows(p, 1, 0, false);
        double all = one > 0 && !doctor_ends() ? run_flows(p, n, PROBE_MS, false) : 0;
        if (doctor_ends())
                return;
        say_rate(d, "write", n, all);
        if (all <= 0)
                return;
        say_rate(d, "read", n, run_flows(p, n, PROBE_MS, true));
        recommend(d, n, one, all, latency_us);
}

void doctor_speed(struct doctor *d, struct store *s, const char *prefix, const char *key)
{
        int64_t us = latency(s, key);
        char said[LOG_TEXT_MAX];

        if (!us)
                doctor_say(d, DOCTOR_BROKEN, "latency", "%s",
                           ctl_last_words(said) ? said : "a look at an object failed");
        else if (us > LATENCY_SLOW_US)
                doctor_say(d, DOCTOR_SLOW, "latency",
                           "the store answers in %" PRId64 " ms: use one in the region of this "
                           "machine",
                           us / 1000);
        else
                doctor_say(d, DOCTOR_OK, "latency", "the store answers in %.1f ms",
                           (double)us / 1000);
        if (!d->speed || !us || doctor_ends())
                return;
        CLEANUP(freep) struct probe *p = calloc(1, sizeof *p);
        CLEANUP(freep) char *block = malloc(MOST);
        if (!p || !block) {
                doctor_say(d, DOCTOR_BROKEN, "write", "there is no memory for a probe");
                return;
        }
        memset(block, 0x5a, MOST);
        p->s = s;
        mutex_init(&p->mtx, LOCK_SYNC_WAIT);
        pthread_cond_init(&p->none, NULL);
        for (unsigned i = 0; i < FLOWS_MOST; i++) {
                p->flow[i].probe = p;
                snprintf(p->flow[i].key, KEY_MAX, "%.250s-speed-%u", prefix, i);
        }
        try_bandwidth(d, p, block, us);
        for (unsigned i = 0; i < FLOWS_MOST; i++)
                if (p->flow[i].written)
                        (void)store_delete_wait(s, p->flow[i].key);
        mutex_destroy(&p->mtx);
        pthread_cond_destroy(&p->none);
}
