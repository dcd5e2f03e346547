/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c: hands fetched bytes to the reads that wait for them. See reader_int.h. */
#include "mount/read/reader_int.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/log.h"

#include "base/banned.h"

void reader_unlock_only(struct reader *r)
{
        struct fetch_range *list = r->locked.garbage;
        r->locked.garbage = NULL;
        mutex_unlock(&r->mtx);
        while (list) {
                struct fetch_range *g = list;
                list = g->next;
                fetch_range_free(g);
        }
}

void reader_unlock(struct reader *r)
{
        bool lacks = r->locked.lacks;

        r->locked.lacks = false;
        reader_unlock_only(r);
        reader_trim(r, lacks);
}

void reader_put_range_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx)
{
        if (--g->refs)
                return;
        g->next = r->locked.garbage;
        r->locked.garbage = g;
}

static void take_out_locked(struct reader *r, const struct fetch_range *g) REQUIRES(&r->mtx)
{
        struct fetch_range **pp = &r->locked.ranges;
        while (*pp != g)
                pp = &(*pp)->next;
        *pp = g->next;
}

void reader_drop_range_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx)
{
        if (g->cached)
                reader_uncache_locked(r, g);
        else
                take_out_locked(r, g);
        __atomic_store_n(&g->dead, true, __ATOMIC_RELAXED);
        reader_put_range_locked(r, g);
}

struct fetch_range *reader_find_range_locked(struct reader *r, uint64_t at) REQUIRES(&r->mtx)
{
        for (struct fetch_range *g = r->locked.ranges; g; g = g->next)
                if (at >= g->off && at < g->off + g->len)
                        return g;
        return cached_ranges_find(&r->locked.cached, at);
}

/* The last byte of a range waits for the checksum of all of it, see admit_locked(). */
static uint64_t readable(const struct fetch_range *g)
{
        if (!g->flying)
                return g->filled;
        return g->hold ? 0 : g->filled < g->len ? g->filled : g->len - 1;
}

/* Pieces of memory that hold bytes [at, stop) of the range. */
static uint64_t pieces(const struct fetch_range *g, uint64_t at, uint64_t stop)
{
        return (stop - 1 - g->off) / POOL_BUF_SIZE - (at - g->off) / POOL_BUF_SIZE + 1;
}

enum op_state reader_look_locked(struct reader *r, const struct read_op *op, struct reply *rep)
        REQUIRES(&r->mtx)
{
        uint64_t at = op->off, end = op->off + op->len;
        bool fits = true;

        memset(rep, 0, offsetof(struct reply, iov));
        rep->nranges = 0;
        rep->copy = NULL;
        while (at < end) {
                struct fetch_range *g = reader_find_range_locked(r, at);
                if (!g)
                        return OP_LACKS;
                uint64_t stop = g->off + g->len < end ? g->off + g->len : end;
                if (g->off + readable(g) < stop)
                        return OP_WAITS;
                fits = fits && (uint64_t)rep->niov + pieces(g, at, stop) <= READ_IOV_MAX;
                if (fits) {
                        rep->niov += fetch_range_iov(g, at, stop - at, rep->iov + rep->niov);
                        rep->from[rep->nranges].range = g;
                        rep->from[rep->nranges++].len = stop - at;
                }
                at = stop;
        }
        return fits ? OP_READY : OP_SCATTERED;
}

/* Once the page cache has all of a range it is not needed again, cached or not. */
static void consume_locked(struct reader *r, struct fetch_range *g, uint64_t n, bool cacheable)
        REQUIRES(&r->mtx)
{
        if (g->cached)
                cached_ranges_touch(&r->locked.cached, g);
        if (g->cached && cacheable)
                return;
        g->cacheable = cacheable;
        g->consumed += n;
        if (g->consumed >= g->len && !g->dead && !g->flying)
                reader_finish_range_locked(r, g);
}

void reader_finish_range_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx)
{
        if (g->cacheable && !g->cached && reader_cache_locked(r, g))
                take_out_locked(r, g);
        else
                reader_drop_range_locked(r, g);
}

/* Many small reads were under way within this one, each with a range of its own. */
static void copy_locked(struct reader *r, const struct read_op *op, struct reply *rep)
        REQUIRES(&r->mtx)
{
        memset(rep, 0, sizeof *rep);
        rep->copy = malloc(op->len);
        if (!rep->copy) {
                rep->err = -ENOMEM;
                return;
        }
        for (size_t done = 0; done < op->len;) {
                struct fetch_range *g = reader_find_range_locked(r, op->off + done);
                size_t k = fetch_range_get(g, op->off + done, rep->copy + done, op->len - done);
                consume_locked(r, g, k, op->cacheable);
                done += k;
        }
        rep->iov[0] = (struct iovec){rep->copy, op->len};
        rep->niov = 1;
}

/* Counts the ranges whose last byte this read is about to give out. The one that completes the
 * object is given out only if the checksum of the whole agrees: so of a file that was read through,
 * in whatever order, at least one byte is missing when a byte was wrong. */
static int admit_locked(struct reader *r, const struct read_op *op) REQUIRES(&r->mtx)
{
        uint32_t crc;

        for (uint64_t at = op->off; r->obj.has_crc && at < op->off + op->len;) {
                struct fetch_range *g = reader_find_range_locked(r, at);
                at = g->off + g->len;
                if (at > op->off + op->len || g->admitted)
                        continue;
                g->admitted = true;
                crc_combine_add(&r->locked.chain, g->off, g->len, g->crc);
        }
        if (!r->obj.has_crc || !crc_combine_whole(&r->locked.chain, r->obj.size, &crc))
                return 0;
        crc_combine_reset(&r->locked.chain); /* what is read again is counted again, */
        reader_count_again_locked(r);        /* also if it was not fetched again */
        if (crc == r->obj.crc32c)
                return 0;
        log_error_of(LOG_ABOUT(.operation = "read", .file = r->key,
                               .remedy = "read it again; where it stays so, the object is damaged: "
                                         "write it anew"),
                     "%s: what was read does not have the checksum of the object (version %s)",
                     r->key, r->obj.etag);
        return r->locked.err = -EIO;
}

/* What is read through counts as read before the reply: whoever gets it may close the file at once,
 * which drops all that is not to stay. The bytes stay until unpin_locked(). */
static void pin_locked(struct reader *r, struct reply *rep) REQUIRES(&r->mtx)
{
        for (int i = 0; i < rep->nranges; i++)
                rep->from[i].range->refs++;
        for (int i = 0; i < rep->nranges; i++)
                consume_locked(r, rep->from[i].range, rep->from[i].len, rep->cacheable);
}

static void unpin_locked(struct reader *r, struct reply *rep) REQUIRES(&r->mtx)
{
        for (int i = 0; i < rep->nranges; i++)
                reader_put_range_locked(r, rep->from[i].range);
}

static struct read_op *take_ready_locked(struct reader *r, struct reply *rep) REQUIRES(&r->mtx)
{
        struct read_op **pp = &r->locked.pending;

        while (*pp) {
                struct read_op *op = *pp;
                if (r->locked.err) {
                        memset(rep, 0, sizeof *rep);
                        rep->err = r->locked.err;
                } else {
                        enum op_state state = reader_look_locked(r, op, rep);
                        if (state == OP_WAITS) {
                                pp = &op->next;
                                continue;
                        }
                        if (state == OP_LACKS) {
                                *pp = op->next; /* its range failed or was dropped: ask again */
                                reader_start_locked(r, op);
                                pp = &r->locked.pending; /* which are others now */
                                continue;
                        }
                        int err = admit_locked(r, op);
                        if (err)
                                *rep = (struct reply){.err = err};
                        else if (state == OP_SCATTERED)
                                copy_locked(r, op, rep);
                }
                *pp = op->next;
                rep->cacheable = op->cacheable;
                pin_locked(r, rep);
                return op;
        }
        return NULL;
}

void reader_reply_locked(struct reader *r) REQUIRES(&r->mtx)
{
        struct read_op *op;
        struct reply rep;

        while ((op = take_ready_locked(r, &rep))) {
                mutex_unlock(&r->mtx);
                read_op_end(op, rep.err, rep.iov, rep.niov);
                free(rep.copy);
                mutex_lock(&r->mtx);
                unpin_locked(r, &rep);
        }
}

void reader_fail_locked(struct reader *r, uint64_t off, uint64_t len, int err) REQUIRES(&r->mtx)
{
        struct reply none = {.err = err};
        struct read_op **pp = &r->locked.pending;

        while (*pp) {
                struct read_op *op = *pp;
                if (op->off >= off + len || op->off + op->len <= off) {
                        pp = &op->next;
                        continue;
                }
                *pp = op->next;
                mutex_unlock(&r->mtx);
                read_op_end(op, none.err, NULL, 0);
                mutex_lock(&r->mtx);
                pp = &r->locked.pending;
        }
}
