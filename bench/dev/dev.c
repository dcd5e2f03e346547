/* SPDX-License-Identifier: Apache-2.0 */
/* dev.c: which memory the shards of a job live in; see dev.h. */
#include "bench/core/dev.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/grow.h"
#include "base/mutex.h"
#include "bench/core/io.h"
#include "bench/core/keys.h"

#include "base/banned.h"

static struct {
        const struct dev_ops *ops;
        bool tried; /* dev_use() was called */
        bool optional, pageable;
        bool left; /* shards are on the host after all; ops stays for what is pinned */
} dev;

/* What is pinned for the device. */
static struct {
        struct mutex mtx;
        struct {
                const char *from;
                size_t n;
        } * v GUARDED_BY(&mtx);
        size_t n GUARDED_BY(&mtx), room GUARDED_BY(&mtx);
} pinned = {.mtx = MUTEX_INITIALIZER(LOCK_BENCH)};

int dev_fail(const char *what, const char *text)
{
        static atomic_flag said = ATOMIC_FLAG_INIT;
        if (!atomic_flag_test_and_set(&said))
                fprintf(stderr, "ckptbench: %s: %s\n", what, text);
        return -EIO;
}

/* The table that the key names; NULL: the host's memory. -EOPNOTSUPP with `why`. */
static int find(unsigned device, const struct dev_ops **out, char *why, size_t nwhy)
{
        *out = device == DEVICE_EMULATED ? &dev_emulated : NULL;
#ifdef HAVE_CUDA
        if (device == DEVICE_CUDA || device == DEVICE_AUTO)
                *out = &dev_cuda;
#endif
        if (device != DEVICE_CUDA || *out)
                return 0;
        snprintf(
                why, nwhy,
                "device=cuda: not built with CUDA: configure --with-cuda=DIR, or give device=host");
        return -EOPNOTSUPP;
}

int dev_use(const struct keys *k, unsigned local, char *why, size_t nwhy)
{
        const struct dev_ops *ops;
        *why = 0;
        dev.tried = true;
        int err = find(k->device, &ops, why, nwhy);

        dev.ops = NULL;
        dev.left = false;
        dev.optional = k->device == DEVICE_AUTO;
        dev.pageable = k->device_staging == DEVICE_PAGEABLE;
        if (err || !ops || (dev.optional && k->hold == HOLD_OFF))
                return err;
        if (k->hold == HOLD_OFF) {
                snprintf(why, nwhy,
                         "hold=off makes shards on the host: give device=host, or hold=on");
                return -EINVAL;
        }
        err = ops->open(local * (unsigned)k->train_devices, why, nwhy);
        if (!err)
                dev.ops = ops;
        return dev.optional ? 0 : err;
}

void dev_drop(void)
{
        if (dev.ops)
                dev.ops->close();
        dev.ops = NULL;
        dev.tried = false;
}

bool dev_may_hold(const struct keys *k)
{
        const struct dev_ops *ops;
        char why[512];

        if (dev.tried)
                return dev_get();
        return k->hold != HOLD_OFF && !find(k->device, &ops, why, sizeof why) && ops;
}

const struct dev_ops *dev_get(void)
{
        return dev.left ? NULL : dev.ops;
}

bool dev_leave(void)
{
        dev.left = dev.optional;
        return dev.left;
}

static int note_pinned(const void *p, size_t n)
{
        mutex_lock(&pinned.mtx);
        int err = GROW(pinned.v, pinned.n, pinned.room, 64);
        if (!err) {
                pinned.v[pinned.n].from = p;
                pinned.v[pinned.n++].n = n;
        }
        mutex_unlock(&pinned.mtx);
        return err;
}

static void forget_pinned(const void *p)
{
        mutex_lock(&pinned.mtx);
        for (size_t i = 0; i < pinned.n; i++) {
                if (pinned.v[i].from == p) {
                        pinned.v[i] = pinned.v[--pinned.n];
                        break;
                }
        }
        if (!pinned.n) {
                free(pinned.v);
                pinned.v = NULL;
                pinned.room = 0;
        }
        mutex_unlock(&pinned.mtx);
}

bool dev_pinned(const void *p)
{
        bool found = false;
        mutex_lock(&pinned.mtx);
        for (size_t i = 0; i < pinned.n && !found; i++)
                found = (uintptr_t)p - (uintptr_t)pinned.v[i].from < pinned.v[i].n;
        mutex_unlock(&pinned.mtx);
        return found;
}

static int pin_for_device(void *host, size_t n)
{
        int err = note_pinned(host, n);
        if (!err && (err = dev.ops->pin(host, n)))
                forget_pinned(host);
        return err;
}

static void unpin_for_device(void *host)
{
        dev.ops->unpin(host);
        forget_pinned(host);
}

int dev_pin(void *host, size_t n)
{
        if (dev.ops)
                return pin_for_device(host, n);
        return mlock(host, n) ? -errno : 0;
}

void dev_unpin(void *host, size_t n)
{
        if (dev.ops)
                unpin_for_device(host);
        else
                munlock(host, n);
}

static size_t whole_pages(size_t n)
{
        return (n + IO_ALIGN - 1) & ~(size_t)(IO_ALIGN - 1);
}

char *dev_buffer(size_t n)
{
        n = n ? n : 1;
        char *p = aligned_alloc(IO_ALIGN, whole_pages(n));
        if (p && dev.ops && !dev.pageable && pin_for_device(p, whole_pages(n))) {
                free(p);
                return NULL;
        }
        return p;
}

void dev_buffer_free(char *p, size_t n)
{
        (void)n;
        if (p && dev.ops && !dev.pageable)
                unpin_for_device(p);
        free(p);
}
