/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_range.c: see fetch_range.h. */
#include "mount/read/fetch_range.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static size_t count_bufs(uint64_t len)
{
        return (size_t)((len + POOL_BUF_SIZE - 1) / POOL_BUF_SIZE);
}

struct fetch_range *fetch_range_new(struct pool *pool, uint64_t off, uint64_t len,
                                    enum pool_want want)
{
        size_t n = count_bufs(len);
        struct fetch_range *g = calloc(1, sizeof *g);
        if (!g)
                return NULL;
        g->off = off;
        g->len = len;
        g->refs = 1;
        g->bufs = calloc(n, sizeof(struct pool_buf *));
        if (!g->bufs || !pool_get_many(pool, want, g->bufs, n)) {
                free(g->bufs);
                free(g);
                return NULL;
        }
        return g;
}

void fetch_range_free(struct fetch_range *g)
{
        for (size_t i = 0; i < count_bufs(g->len); i++)
                pool_unref(g->bufs[i]);
        free(g->bufs);
        free(g);
}

size_t fetch_range_memory(const struct fetch_range *g)
{
        return count_bufs(g->len) * POOL_BUF_SIZE;
}

void fetch_range_fill(struct fetch_range *g, uint64_t at, const void *p, size_t n)
{
        for (const char *from = p; n;) {
                size_t in = (size_t)(at % POOL_BUF_SIZE);
                size_t k = POOL_BUF_SIZE - in < n ? POOL_BUF_SIZE - in : n;
                memcpy(g->bufs[at / POOL_BUF_SIZE]->data + in, from, k);
                from += k;
                at += k;
                n -= k;
        }
}

size_t fetch_range_get(const struct fetch_range *g, uint64_t off, void *dst, size_t n)
{
        uint64_t at = off - g->off;
        size_t done = 0;

        if (n > g->len - at)
                n = (size_t)(g->len - at);
        while (done < n) {
                size_t in = (size_t)((at + done) % POOL_BUF_SIZE);
                size_t k = POOL_BUF_SIZE - in < n - done ? POOL_BUF_SIZE - in : n - done;
                memcpy((char *)dst + done, g->bufs[(at + done) / POOL_BUF_SIZE]->data + in, k);
                done += k;
        }
        return done;
}

int fetch_range_iov(const struct fetch_range *g, uint64_t off, uint64_t len, struct iovec *iov)
{
        uint64_t at = off - g->off;
        uint64_t end = at + len < g->len ? at + len : g->len;
        int n = 0;

        while (at < end) {
                uint64_t in = at % POOL_BUF_SIZE;
                uint64_t k = POOL_BUF_SIZE - in < end - at ? POOL_BUF_SIZE - in : end - at;
                iov[n++] = (struct iovec){g->bufs[at / POOL_BUF_SIZE]->data + in, (size_t)k};
                at += k;
        }
        return n;
}
