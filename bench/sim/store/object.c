/* SPDX-License-Identifier: Apache-2.0 */
/* object.c: see object.h. */
#include "bench/sim/store/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/grow.h"
#include "bench/sim/store/data.h"
#include "base/banned.h"

struct object *object_new(const char *key)
{
        struct object *o = calloc(1, sizeof *o);

        if (!o)
                return NULL;
        atomic_init(&o->refs, 1);
        o->meta = (struct buf)BUF_INIT;
        o->has_crc = true;
        if (key && object_set_key(o, key)) {
                free(o);
                return NULL;
        }
        return o;
}

struct object *object_ref(struct object *o)
{
        atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
        return o;
}

void object_unref(struct object *o)
{
        if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) > 1)
                return;
        for (unsigned i = 0; i < o->nsegs; i++)
                blob_unref(o->segs[i].blob);
        free(o->segs);
        buf_release(&o->meta);
        free(o->key);
        free(o);
}

void object_unrefp(struct object **o)
{
        object_unref(*o);
}

int object_set_key(struct object *o, const char *key)
{
        char *copy = strdup(key);

        if (!copy)
                return -ENOMEM;
        free(o->key);
        o->key = copy;
        return 0;
}

/* Two neighbours in one blob, or two of null mode, are one segment. */
static bool extend_last(struct object *o, const struct seg *s)
{
        struct seg *last = o->nsegs ? &o->segs[o->nsegs - 1] : NULL;

        if (!last || last->blob != s->blob || last->has_crc != s->has_crc ||
            (s->blob && last->off + last->len != s->off))
                return false;
        if (s->has_crc)
                last->crc = crc32c_combine(last->crc, s->crc, s->len);
        last->len += s->len;
        return true;
}

int object_add_seg(struct object *o, struct seg seg)
{
        bool extended = extend_last(o, &seg);

        if (!extended && GROW(o->segs, o->nsegs, o->cap, 1)) {
                blob_unref(seg.blob);
                return -ENOMEM;
        }
        if (extended)
                blob_unref(seg.blob);
        else
                o->segs[o->nsegs++] = seg;
        o->has_crc = o->has_crc && seg.has_crc;
        if (o->has_crc)
                o->crc = crc32c_combine(o->crc, seg.crc, seg.len);
        o->size += seg.len;
        return 0;
}

int object_append(struct object *o, const struct object *from, uint64_t off, uint64_t len)
{
        uint64_t end = off + len, at = 0;

        for (unsigned i = 0; i < from->nsegs && at < end; i++) {
                const struct seg *s = &from->segs[i];
                uint64_t lo = off > at ? off - at : 0;
                uint64_t hi = end - at < s->len ? end - at : s->len;
                at += s->len;
                if (lo >= hi)
                        continue;
                struct seg cut = {blob_ref(s->blob), s->off + lo, hi - lo, false, 0};
                if (hi - lo == s->len) {
                        cut.has_crc = s->has_crc;
                        cut.crc = s->crc;
                } else if (s->blob) {
                        cut.has_crc = !blob_crc(s->blob, cut.off, cut.len, &cut.crc);
                }
                int err = object_add_seg(o, cut);
                if (err)
                        return err;
        }
        return 0;
}

int object_meta_add(struct object *o, const char *name, const char *value)
{
        buf_adds(&o->meta, name);
        buf_addc(&o->meta, 0);
        buf_adds(&o->meta, value);
        return buf_addc(&o->meta, 0);
}

int object_meta_add_header(struct object *o, const char *name, const char *value)
{
        size_t at = o->meta.len;
        int err = object_meta_add(o, name, value);

        for (char *p = o->meta.p + at; !err && *p; p++)
                if (*p >= 'A' && *p <= 'Z')
                        *p += 'a' - 'A';
        return err;
}

int object_meta_copy(struct object *o, const struct object *from)
{
        int err = 0;

        for (const char *n = NULL; !err && (n = object_meta_next(from, n));)
                if (*n != ':')
                        err = object_meta_add(o, n, n + strlen(n) + 1);
        return err;
}

void object_meta_remove(struct object *o, const char *name)
{
        const char *value = object_meta(o, name);

        if (!value)
                return;
        char *at = o->meta.p + (value - o->meta.p) - strlen(name) - 1;
        size_t n = strlen(name) + strlen(value) + 2;
        size_t behind = (size_t)(o->meta.p + o->meta.len - (at + n));
        memmove(at, at + n, behind + 1);
        o->meta.len -= n;
}

struct object *object_clone(const struct object *from, const char *key)
{
        CLEANUP(object_unrefp) struct object *o = object_new(key);

        if (!o || object_append(o, from, 0, from->size) || object_meta_copy(o, from))
                return NULL;
        o->mtime_ns = from->mtime_ns;
        o->created_ns = from->created_ns;
        o->generation = from->generation;
        o->metageneration = from->metageneration;
        o->components = from->components;
        o->is_folder = from->is_folder;
        memcpy(o->etag, from->etag, sizeof o->etag);
        memcpy(o->upload, from->upload, sizeof o->upload);
        o->has_crc = from->has_crc;
        o->crc = from->crc;
        return TAKE_PTR(o);
}

const char *object_meta_next(const struct object *o, const char *name)
{
        const char *end = o->meta.p + o->meta.len;
        const char *p = o->meta.p;

        if (name) {
                p = name + strlen(name) + 1;
                p += strlen(p) + 1;
        }
        return p < end ? p : NULL;
}

const char *object_meta(const struct object *o, const char *name)
{
        for (const char *n = NULL; (n = object_meta_next(o, n));)
                if (!strcmp(n, name))
                        return n + strlen(n) + 1;
        return NULL;
}

bool object_matches(const struct object *o, const char *list)
{
        if (!o)
                return false;
        size_t n = strlen(o->etag);
        for (const char *p = list; *p;) {
                p += strspn(p, " \t,");
                if (*p == '*')
                        return true;
                if (!strncmp(p, "W/", 2))
                        p += 2;
                if (*p == '"')
                        p++;
                if (!strncmp(p, o->etag, n) && (!p[n] || strchr("\", \t", p[n])))
                        return true;
                p += strcspn(p, ",");
        }
        return false;
}
