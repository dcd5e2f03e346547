/* SPDX-License-Identifier: Apache-2.0 */
/* zip.c: see zip.h. */
#include "bench/format/zip.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"

#include "base/banned.h"

enum {
        LOCAL_SIZE = 30,
        EXTRA_HEAD = 4,
        ZIP64_ID = 1,
        PAD_ID = 0x4246, /* "FB", which readers skip */
        NEEDED = 45,
        DATE_1980 = 0x21
};
static const uint64_t small_most = 0xfffffffe;

static void le(struct buf *b, uint64_t v, unsigned bytes)
{
        for (unsigned i = 0; i < bytes; i++)
                buf_addc(b, (char)(v >> (8 * i)));
}

static uint64_t clip(uint64_t v)
{
        return v > small_most ? 0xffffffff : v;
}

void zip_begin(struct zip *z, struct layout *l)
{
        *z = (struct zip){.l = l, .base = l->size, .central = BUF_INIT};
}

/* What local header and directory say alike, from the version on. */
static void common(struct buf *b, const char *name, uint64_t size, uint32_t crc, size_t extra)
{
        le(b, NEEDED, 2);
        le(b, 0, 2); /* flags */
        le(b, 0, 2); /* stored */
        le(b, 0, 2);
        le(b, DATE_1980, 2);
        le(b, crc, 4);
        le(b, clip(size), 4);
        le(b, clip(size), 4);
        le(b, strlen(name), 2);
        le(b, extra, 2);
}

static void add_central(struct zip *z, const char *name, uint64_t size, uint32_t crc, uint64_t at)
{
        struct buf *b = &z->central;
        bool big = size > small_most, far = at > small_most;
        size_t fields = (big ? 16 : 0) + (far ? 8 : 0);

        buf_adds(b, "PK\x01\x02");
        le(b, NEEDED, 2);
        common(b, name, size, crc, fields ? EXTRA_HEAD + fields : 0);
        le(b, 0, 2); /* comment */
        le(b, 0, 2); /* disk */
        le(b, 0, 2); /* attributes */
        le(b, 0, 4);
        le(b, clip(at), 4);
        buf_adds(b, name);
        if (!fields)
                return;
        le(b, ZIP64_ID, 2);
        le(b, fields, 2);
        if (big) {
                le(b, size, 8);
                le(b, size, 8);
        }
        if (far)
                le(b, at, 8);
}

void zip_entry(struct zip *z, const char *name, uint64_t size, uint32_t crc)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        uint64_t at = z->l->size - z->base;
        size_t big = size > small_most ? EXTRA_HEAD + 16 : 0;
        uint64_t data = at + LOCAL_SIZE + strlen(name) + big + EXTRA_HEAD;
        size_t pad = (ZIP_ALIGN - data % ZIP_ALIGN) % ZIP_ALIGN;

        buf_adds(&b, "PK\x03\x04");
        common(&b, name, size, crc, big + EXTRA_HEAD + pad);
        buf_adds(&b, name);
        if (big) {
                le(&b, ZIP64_ID, 2);
                le(&b, 16, 2);
                le(&b, size, 8);
                le(&b, size, 8);
        }
        le(&b, PAD_ID, 2);
        le(&b, pad, 2);
        for (size_t i = 0; i < pad; i++)
                buf_addc(&b, 'Z');
        z->l->failed |= b.failed;
        layout_text(z->l, b.p, b.len);
        add_central(z, name, size, crc, at);
        z->entries++;
}

void zip_entry_text(struct zip *z, const char *name, const void *p, size_t n)
{
        zip_entry(z, name, n, crc32(0, p, n));
        layout_text(z->l, p, n);
}

void zip_end(struct zip *z)
{
        struct buf *b = &z->central;
        uint64_t at = z->l->size - z->base, size = b->len;
        bool big = at > small_most || z->entries > 0xfffe;

        if (big) {
                buf_adds(b, "PK\x06\x06"); /* the zip64 end, and where it is */
                le(b, 44, 8);
                le(b, NEEDED, 2);
                le(b, NEEDED, 2);
                le(b, 0, 4);
                le(b, 0, 4);
                le(b, z->entries, 8);
                le(b, z->entries, 8);
                le(b, size, 8);
                le(b, at, 8);
                buf_adds(b, "PK\x06\x07");
                le(b, 0, 4);
                le(b, at + size, 8);
                le(b, 1, 4);
        }
        uint64_t n = z->entries > 0xfffe ? 0xffff : z->entries;
        buf_adds(b, "PK\x05\x06");
        le(b, 0, 4);
        le(b, n, 2);
        le(b, n, 2);
        le(b, clip(size), 4);
        le(b, clip(at), 4);
        le(b, 0, 2);
        z->l->failed |= b->failed;
        layout_text(z->l, b->p, b->len);
        buf_release(b);
}
