/* SPDX-License-Identifier: Apache-2.0 */
/* part_body.c: see part_body.h. */
#include "mount/write/part_body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/grow.h"
#include "mount/write/spill.h"

#include "base/banned.h"

struct part_body *part_body_new(struct spill *spill, unsigned no, uint64_t off)
{
        struct part_body *p = calloc(1, sizeof *p);
        if (p) {
                p->spill = spill;
                p->no = no;
                p->off = off;
        }
        return p;
}

void part_body_free(struct part_body *p)
{
        if (!p)
                return;
        for (unsigned i = 0; i < p->nsegs; i++) {
                pool_unref(p->segs[i].buf);
                if (p->segs[i].spilled)
                        spill_drop(p->spill, p->segs[i].slot);
        }
        free(p->segs);
        free(p);
}

static int add(struct part_body *p, struct seg s)
{
        if (GROW(p->segs, p->nsegs, p->maxsegs, 18))
                return -ENOMEM;
        p->segs[p->nsegs++] = s;
        p->len += s.len;
        return 0;
}

int part_body_add_buf(struct part_body *p, struct pool_buf *buf, uint32_t at, uint32_t n)
{
        int err = add(p, (struct seg){.buf = buf, .at = at, .len = n});
        if (!err)
                pool_ref(buf);
        return err;
}

int part_body_add_spilled(struct part_body *p, uint64_t slot, uint32_t at, uint32_t n)
{
        int err = add(p, (struct seg){.slot = slot, .at = at, .len = n, .spilled = true});
        if (!err)
                spill_ref(p->spill, slot);
        return err;
}

int part_body_add_zeros(struct part_body *p, uint64_t n)
{
        return n ? add(p, (struct seg){.len = n}) : 0;
}

int part_body_add_room(struct part_body *p, struct pool_buf **room, uint32_t *at, uint64_t n)
{
        if (n && !p->fill_bytes)
                p->fill_from = p->off + p->len;
        p->fill_bytes += n;
        while (n) {
                if (*room && *at == POOL_BUF_SIZE) {
                        *room = (*room)->next;
                        *at = 0;
                }
                uint32_t left = POOL_BUF_SIZE - *at, k = n < left ? (uint32_t)n : left;
                int err = *room ? part_body_add_buf(p, *room, *at, k) : -ENOMEM;
                if (err)
                        return err;
                p->segs[p->nsegs - 1].fill = true;
                p->fill_to = p->off + p->len;
                *at += k;
                n -= k;
        }
        return 0;
}

/* Sets the cursor to the segment that holds byte `off`. */
static void seek_to(struct part_body *p, uint64_t off)
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

int part_body_read(struct part_body *p, uint64_t off, void *dst, size_t n)
{
        if (off > p->len || n > p->len - off)
                return -EINVAL;
        for (unsigned char *to = dst; n;) {
                seek_to(p, off);
                const struct seg *s = &p->segs[p->cursor];
                uint64_t in = off - p->cursor_off;
                size_t k = s->len - in < n ? (size_t)(s->len - in) : n;
                int err = 0;
                if (s->buf)
                        memcpy(to, s->buf->data + s->at + in, k);
                else if (s->spilled)
                        err = spill_get(p->spill, s->slot, s->at + in, to, k);
                else
                        memset(to, 0, k);
                if (err)
                        return err;
                to += k;
                off += k;
                n -= k;
        }
        return 0;
}

void part_body_fill(struct part_body *p, uint64_t pos, const void *src, size_t n)
{
        uint64_t off = pos - p->off;

        for (const unsigned char *from = src; n && off < p->len;) {
                seek_to(p, off);
                const struct seg *s = &p->segs[p->cursor];
                uint64_t in = off - p->cursor_off;
                size_t k = s->len - in < n ? (size_t)(s->len - in) : n;
                if (s->fill)
                        memcpy(s->buf->data + s->at + in, from, k);
                from += k;
                off += k;
                n -= k;
        }
}

int part_body_fetch(const struct part_body *p, void *dst)
{
        unsigned char *to = dst;
        int err = 0;

        for (unsigned i = 0; !err && i < p->nsegs; i++) {
                const struct seg *s = &p->segs[i];
                if (s->spilled)
                        err = spill_get(p->spill, s->slot, s->at, to, (size_t)s->len);
                to += s->len;
        }
        return err;
}

/* The CRC of n zeros behind what `crc` is of, in O(log² n): the CRC of twice as many comes from
 * that of half. */
static uint32_t add_zeros(uint32_t crc, uint64_t n)
{
        uint32_t zeros = crc32c(0, "", 1);
        for (uint64_t len = 1; n; len *= 2, n /= 2) {
                if (n & 1)
                        crc = crc32c_combine(crc, zeros, len);
                zeros = crc32c_combine(zeros, zeros, len);
        }
        return crc;
}

static int add_spilled(struct part_body *p, const struct seg *s)
{
        unsigned char piece[16384];
        for (uint64_t at = 0; at < s->len;) {
                size_t k = s->len - at < sizeof piece ? (size_t)(s->len - at) : sizeof piece;
                int err = spill_get(p->spill, s->slot, s->at + at, piece, k);
                if (err)
                        return err;
                p->crc = crc32c(p->crc, piece, k);
                at += k;
        }
        return 0;
}

int part_body_sum(struct part_body *p)
{
        int err = 0;
        p->crc = 0;
        for (unsigned i = 0; !err && i < p->nsegs; i++) {
                const struct seg *s = &p->segs[i];
                if (s->buf)
                        p->crc = crc32c(p->crc, s->buf->data + s->at, (size_t)s->len);
                else if (s->spilled)
                        err = add_spilled(p, s);
                else
                        p->crc = add_zeros(p->crc, s->len);
        }
        return err;
}
