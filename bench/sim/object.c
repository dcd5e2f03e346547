/* SPDX-License-Identifier: Apache-2.0 */
/* object.c: see object.h. */
#include "bench/sim/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/sim/data.h"
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

        if (!extended && o->nsegs == o->cap) {
                unsigned cap = o->cap ? o->cap * 2 : 1;
                struct seg *v = reallocarray(o->segs, cap, sizeof *v);
                if (!v) {
                        blob_unref(seg.blob);
                        return -ENOMEM;
                }
                o->segs = v;
                o->cap = cap;
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
        size_t at = o->meta.len;

        buf_adds(&o->meta, name);
        buf_addc(&o->meta, 0);
        buf_adds(&o->meta, value);
        if (buf_addc(&o->meta, 0))
                return -ENOMEM;
        for (char *p = o->meta.p + at; *p; p++)
                if (*p >= 'A' && *p <= 'Z')
                        *p += 'a' - 'A';
        return 0;
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
