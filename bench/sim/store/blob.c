/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c: the bytes of objects: blobs, and intakes that make them. See data.h. */
#include "bench/sim/store/data.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/sim/store/data_i.h"
#include "bench/sim/store/object.h"
#include "base/banned.h"

struct blob {
        atomic_uint refs;
        struct data *data;
        uint64_t id;
        uint64_t len; /* as far as this run has written it */
        char bucket[64];
};

static void blob_path(const struct blob *b, char path[DATA_PATH_MAX])
{
        snprintf(path, DATA_PATH_MAX, "%s/data/%02x/%016" PRIx64, b->bucket,
                 (unsigned)(b->id & 0xff), b->id);
}

struct blob *blob_new(struct data *d, const char *bucket, uint64_t id)
{
        struct blob *b = calloc(1, sizeof *b);

        if (!b)
                return NULL;
        atomic_init(&b->refs, 1);
        b->data = d;
        b->id = id;
        snprintf(b->bucket, sizeof b->bucket, "%s", bucket);
        return b;
}

struct blob *blob_ref(struct blob *b)
{
        if (b)
                atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
        return b;
}

void blob_unref(struct blob *b)
{
        char path[DATA_PATH_MAX];

        if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
                return;
        atomic_fetch_sub(&b->data->used, b->len);
        if (!atomic_load(&b->data->leaves_files)) {
                blob_path(b, path);
                unlinkat(b->data->root, path, 0);
        }
        free(b);
}

int blob_open(const struct blob *b)
{
        char path[DATA_PATH_MAX];

        blob_path(b, path);
        int fd = openat(b->data->root, path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

uint64_t blob_id(const struct blob *b)
{
        return b->id;
}

const char *blob_bucket(const struct blob *b)
{
        return b->bucket;
}

int blob_crc(const struct blob *b, uint64_t off, uint64_t len, uint32_t *crc)
{
        enum { STEP = 256 << 10 };
        CLEANUP(closep) int fd = blob_open(b);
        CLEANUP(freep) void *p = malloc(STEP);

        if (fd < 0)
                return fd;
        if (!p)
                return -ENOMEM;
        for (*crc = 0; len;) {
                ssize_t k = pread(fd, p, len < STEP ? (size_t)len : STEP, (off_t)off);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0)
                        return k ? -errno : -EIO;
                *crc = crc32c(*crc, p, (size_t)k);
                off += (uint64_t)k;
                len -= (uint64_t)k;
        }
        return 0;
}

int intake_begin(struct data *d, const char *bucket, struct intake *in)
{
        char path[DATA_PATH_MAX];

        *in = (struct intake){.data = d, .fd = -1};
        if (data_is_null(d))
                return 0;
        in->blob = blob_new(d, bucket, data_next_id(d));
        if (!in->blob)
                return -ENOMEM;
        blob_path(in->blob, path);
        in->fd = openat(d->root, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (in->fd < 0) {
                int err = -errno;
                intake_cancel(in);
                return err;
        }
        return 0;
}

int intake_write(struct intake *in, const void *p, size_t n)
{
        const char *s = p;

        in->len += n;
        if (!in->blob)
                return 0;
        in->blob->len += n;
        uint64_t used = atomic_fetch_add(&in->data->used, n) + n;
        if (in->data->quota && used > in->data->quota)
                return -EDQUOT;
        in->crc = crc32c(in->crc, p, n);
        while (n) {
                ssize_t k = write(in->fd, s, n);
                if (k < 0 && errno != EINTR)
                        return -errno;
                if (k > 0) {
                        s += k;
                        n -= (size_t)k;
                }
        }
        return 0;
}

int intake_map(const struct intake *in, const void **p)
{
        static const char nothing;

        *p = &nothing;
        if (!in->blob || !in->len)
                return 0;
        void *m = mmap(NULL, in->len, PROT_READ, MAP_SHARED, in->fd, 0);
        if (m == MAP_FAILED)
                return -errno;
        *p = m;
        return 0;
}

void intake_unmap(const struct intake *in, const void *p)
{
        if (in->blob && in->len)
                munmap((void *)(uintptr_t)p, in->len);
}

int intake_finish(struct intake *in, struct object **out)
{
        CLEANUP(object_unrefp) struct object *o = object_new(NULL);
        struct seg seg = {NULL, 0, in->len, in->blob, in->crc};

        if (!o) {
                intake_cancel(in);
                return -ENOMEM;
        }
        seg.blob = TAKE_PTR(in->blob);
        int err = 0;
        if (seg.len)
                err = object_add_seg(o, seg);
        else
                blob_unref(seg.blob);
        intake_cancel(in);
        if (err)
                return err;
        *out = TAKE_PTR(o);
        return 0;
}

void intake_cancel(struct intake *in)
{
        if (in->data && in->fd >= 0)
                close(in->fd);
        blob_unref(in->blob);
        *in = (struct intake){.fd = -1};
}
