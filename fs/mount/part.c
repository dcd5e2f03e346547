/* SPDX-License-Identifier: Apache-2.0 */
/* part.c: see part.h. */
#include "mount/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "mount/spill.h"

#include "base/banned.h"

struct part *part_new(unsigned no)
{
        struct part *p = calloc(1, sizeof *p);
        if (p)
                p->no = no;
        return p;
}

static void seg_release(struct seg *s, struct spill *spill)
{
        if (s->buf)
                pool_unref(s->buf);
        else
                spill_drop(spill, s->at);
}

void part_free(struct part *p, struct spill *spill)
{
        if (!p)
                return;
        for (unsigned i = 0; i < p->nsegs; i++)
                seg_release(&p->segs[i], spill);
        free(p->segs);
        free(p);
}

static int reserve_segs(struct part *p, size_t more)
{
        if (p->nsegs + more <= p->maxsegs)
                return 0;
        unsigned max = p->maxsegs ? p->maxsegs * 2 : 16;
        while (max < p->nsegs + more)
                max *= 2;
        struct seg *v = realloc(p->segs, max * sizeof *v);
        if (!v)
                return -ENOMEM;
        p->segs = v;
        p->maxsegs = max;
        return 0;
}

int part_add_buf(struct part *p, struct pool_buf *buf, const void *bytes, size_t n)
{
        int err = reserve_segs(p, 1);
        if (err)
                return err;
        p->segs[p->nsegs++] = (struct seg){
                .buf = pool_ref(buf),
                .at = (uint64_t)((const unsigned char *)bytes - buf->data),
                .len = (uint32_t)n,
        };
        p->crc = crc32c(p->crc, bytes, n);
        p->len += n;
        return 0;
}

static void append_to_room(struct part *p, const unsigned char *bytes, size_t n)
{
        struct seg *s = &p->segs[p->nsegs - 1];
        unsigned char *dst = s->buf->data + s->at + s->len;
        memcpy(dst, bytes, n);
        p->crc = crc32c(p->crc, dst, n);
        s->len += (uint32_t)n;
        s->room -= (uint32_t)n;
        p->len += n;
}

int part_add_copy(struct part *p, struct pool *pool, const void *bytes, size_t n)
{
        const unsigned char *from = bytes;
        uint32_t room = p->nsegs ? p->segs[p->nsegs - 1].room : 0;
        struct pool_buf *fresh = NULL;

        /* n is at most one buffer: all memory is in hand before the first byte moves. */
        if (n > room) {
                if (reserve_segs(p, 1) || !(fresh = pool_get(pool, POOL_OVER)))
                        return -ENOMEM;
        }
        if (room) {
                size_t k = n < room ? n : room;
                append_to_room(p, from, k);
                from += k;
                n -= k;
        }
        if (fresh) {
                p->segs[p->nsegs++] = (struct seg){.buf = fresh, .room = POOL_BUF_SIZE};
                append_to_room(p, from, n);
        }
        return 0;
}

/* Sets the cursor to the segment that holds byte `off`. */
static void seek_to(struct part *p, uint64_t off)
{
        if (off < p->cursor_off) {
                p->cursor = 0;
                p->cursor_off = 0;
        }
        while (off >= p->cursor_off + p->segs[p->cursor].len) {
                p->cursor_off += p->segs[p->cursor].len;
                p->cursor++;
        }
}

int part_read(struct part *p, struct spill *spill, uint64_t off, void *dst, size_t n)
{
        if (off > p->len || n > p->len - off)
                return -EINVAL;
        for (unsigned char *to = dst; n;) {
                seek_to(p, off);
                const struct seg *s = &p->segs[p->cursor];
                uint64_t in = off - p->cursor_off;
                size_t k = s->len - in < n ? (size_t)(s->len - in) : n;
                if (s->buf) {
                        memcpy(to, s->buf->data + s->at + in, k);
                } else {
                        int err = spill_get(spill, s->at, in, to, k);
                        if (err)
                                return err;
                }
                to += k;
                off += k;
                n -= k;
        }
        return 0;
}

int part_spill(struct part *p, struct spill *spill)
{
        for (unsigned i = 0; i < p->nsegs; i++) {
                struct seg *s = &p->segs[i];
                uint64_t at;
                if (!s->buf)
                        continue;
                int err = spill_put(spill, s->buf->data + s->at, s->len, &at);
                if (err)
                        return err;
                pool_unref(s->buf);
                *s = (struct seg){.at = at, .len = s->len};
        }
        return 0;
}

size_t part_in_memory(const struct part *p)
{
        size_t n = 0;
        for (unsigned i = 0; i < p->nsegs; i++)
                if (p->segs[i].buf)
                        n += POOL_BUF_SIZE;
        return n;
}
