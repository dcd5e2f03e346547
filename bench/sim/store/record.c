/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: see record.h. */
#include "bench/sim/store/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/uri.h"
#include "bench/sim/store/data.h"
#include "bench/sim/store/object.h"
#include "base/banned.h"

#define MAGIC "storesim 1"

int record_write(const struct object *o, const char *bucket, struct buf *text)
{
        buf_adds(text, MAGIC "\n");
        if (bucket)
                buf_addf(text, "bucket %s\n", bucket);
        if (o->key) {
                buf_adds(text, "key ");
                uri_encode(text, o->key, true);
                buf_addc(text, '\n');
        }
        if (o->etag[0])
                buf_addf(text, "etag %s\n", o->etag);
        buf_addf(text, "mtime %" PRId64 "\n", o->mtime_ns);
        buf_addf(text, "version %" PRId64 " %u %" PRId64 " %u %d\n", o->generation,
                 o->metageneration, o->created_ns, o->components, o->is_folder);
        if (o->upload[0])
                buf_addf(text, "upload %s\n", o->upload);
        for (const char *n = NULL; (n = object_meta_next(o, n));) {
                buf_adds(text, "meta ");
                uri_encode(text, n, false);
                buf_addc(text, ' ');
                uri_encode(text, n + strlen(n) + 1, false);
                buf_addc(text, '\n');
        }
        for (unsigned i = 0; i < o->nsegs; i++) {
                const struct seg *s = &o->segs[i];
                buf_addf(text, "seg %s %" PRIx64 " %" PRIx64 " %" PRIx64, blob_bucket(s->blob),
                         blob_id(s->blob), s->off, s->len);
                if (s->has_crc)
                        buf_addf(text, " %" PRIx32, s->crc);
                buf_addc(text, '\n');
        }
        return buf_adds(text, "end\n");
}

static int read_seg(const char *v, const struct record_blobs *blobs, struct object *o)
{
        char bucket[64];
        uint64_t id;
        struct seg s = {.blob = NULL};

        int n = sscanf(v, "%63s %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx32, bucket, &id, &s.off,
                       &s.len, &s.crc);
        if (n < 4)
                return -EBADMSG;
        s.has_crc = n == 5;
        s.blob = blobs->get(blobs->arg, bucket, id);
        return s.blob ? object_add_seg(o, s) : -ENOMEM;
}

static int read_text(char *out, size_t max, const char *v)
{
        return (size_t)snprintf(out, max, "%s", v) < max ? 0 : -EBADMSG;
}

static int read_meta(char *v, struct object *o)
{
        char *value = strchr(v, ' ');

        if (!value)
                return -EBADMSG;
        *value++ = 0;
        if (uri_decode(v, false) < 0 || uri_decode(value, false) < 0)
                return -EBADMSG;
        return object_meta_add(o, v, value);
}

static int read_version(const char *v, struct object *o)
{
        int folder;

        if (sscanf(v, "%" SCNd64 " %u %" SCNd64 " %u %d", &o->generation, &o->metageneration,
                   &o->created_ns, &o->components, &folder) != 5)
                return -EBADMSG;
        o->is_folder = folder;
        return 0;
}

/* One line "name value". */
static int read_line(char *line, const struct record_blobs *blobs, struct object *o, char *bucket)
{
        char *v = strchr(line, ' ');

        if (!v)
                return -EBADMSG;
        *v++ = 0;
        if (!strcmp(line, "key"))
                return uri_decode(v, false) < 0 ? -EBADMSG : object_set_key(o, v);
        if (!strcmp(line, "bucket"))
                return bucket ? read_text(bucket, 64, v) : -EBADMSG;
        if (!strcmp(line, "etag"))
                return read_text(o->etag, sizeof o->etag, v);
        if (!strcmp(line, "upload"))
                return read_text(o->upload, sizeof o->upload, v);
        if (!strcmp(line, "mtime"))
                return sscanf(v, "%" SCNd64, &o->mtime_ns) == 1 ? 0 : -EBADMSG;
        if (!strcmp(line, "version"))
                return read_version(v, o);
        if (!strcmp(line, "meta"))
                return read_meta(v, o);
        if (!strcmp(line, "seg"))
                return read_seg(v, blobs, o);
        return -EBADMSG;
}

int record_read(struct buf *text, const struct record_blobs *blobs, struct object **out,
                char *bucket)
{
        CLEANUP(object_unrefp) struct object *o = object_new(NULL);
        char *line = text->p, *nl;

        if (!o)
                return -ENOMEM;
        for (bool first = true; (nl = strchr(line, '\n')); line = nl + 1, first = false) {
                *nl = 0;
                if (first) {
                        if (strcmp(line, MAGIC))
                                return -EBADMSG;
                        continue;
                }
                if (!strcmp(line, "end")) {
                        *out = TAKE_PTR(o);
                        return 0;
                }
                int err = read_line(line, blobs, o, bucket);
                if (err)
                        return err;
        }
        return -EBADMSG;
}
