/* SPDX-License-Identifier: Apache-2.0 */
/* limit.c: see limit.h. */
#include "bench/sim/http/limit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "bench/sim/http/shape.h"
#include "base/banned.h"

/* Prefixes of one hash share their rate. */
enum { PREFIXES = 1024 };

#define SECOND_NS 1000000000.0
#define AT_ONCE_S 0.1

static uint64_t max_u64(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

/* The end of the queue moves on by what n bytes take; an idle line makes up for late timers. */
static uint64_t enter(struct line *l, size_t n, uint64_t now_ns)
{
        uint64_t takes = (uint64_t)((double)n * SECOND_NS / (double)l->rate);
        uint64_t till = atomic_load(&l->till), end;

        do
                end = max_u64(till, now_ns - SHAPE_BURST_NS) + takes;
        while (!atomic_compare_exchange_weak(&l->till, &till, end));
        return end;
}

size_t line_allow(struct line *l, struct line_bite *b, size_t want, uint64_t now_ns,
                  uint64_t *wake_ns)
{
        if (!l->rate)
                return want;
        if (!b->left) {
                b->left = want < LINE_BITE ? want : LINE_BITE;
                b->due_ns = enter(l, b->left, now_ns);
        }
        if (b->due_ns > now_ns) {
                *wake_ns = max_u64(b->due_ns, now_ns + SHAPE_NAP_NS);
                return 0;
        }
        return want < b->left ? want : b->left;
}

void line_use(const struct line *l, struct line_bite *b, size_t n)
{
        if (l->rate)
                b->left -= n < b->left ? n : b->left;
}

struct prefix_rates {
        unsigned rate[2]; /* reads, writes */
        struct mutex mtx;
        struct {
                uint64_t used_ns[PREFIXES][2]; /* the time of the requests up to here is used up */
        } locked GUARDED_BY(&mtx);
};

struct prefix_rates *prefix_rates_new(unsigned writes, unsigned reads)
{
        struct prefix_rates *r = calloc(1, sizeof *r);

        if (!r)
                return NULL;
        r->rate[false] = reads;
        r->rate[true] = writes;
        mutex_init(&r->mtx, LOCK_SIM);
        return r;
}

void prefix_rates_free(struct prefix_rates *r)
{
        if (!r)
                return;
        mutex_destroy(&r->mtx);
        free(r);
}

static unsigned hash(unsigned h, const char *p, size_t n)
{
        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char)p[i]) * 16777619U;
        return h;
}

bool prefix_rates_take(struct prefix_rates *r, const char *bucket, const char *key, bool write,
                       uint64_t now_ns)
{
        const char *slash = strrchr(key, '/');
        unsigned h = hash(2166136261U, bucket, strlen(bucket) + 1);
        double takes = SECOND_NS / r->rate[write];
        uint64_t least = now_ns - (uint64_t)(AT_ONCE_S * SECOND_NS);

        h = hash(h, key, slash ? (size_t)(slash - key) : 0);
        mutex_lock(&r->mtx);
        uint64_t *used = &r->locked.used_ns[h % PREFIXES][write];
        bool fits = *used <= now_ns;
        if (fits)
                *used = max_u64(*used, least) + (uint64_t)takes;
        mutex_unlock(&r->mtx);
        return fits;
}
