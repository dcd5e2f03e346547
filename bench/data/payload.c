/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c: see payload.h. */
#include "bench/data/payload.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/dev/dev_places.h"
#include "bench/core/keys.h"
#include "bench/data/preflight.h"
#include "bench/data/payload_int.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum { STEP = 16 << 20, WIPE = 0xa5 };

static int fill(void *arg, uint64_t off, void *dst, size_t len)
{
        const struct payload *p = arg;
        shard_fill(&p->shard, off, dst, len);
        return 0;
}

static void keep_fault(struct payload *p, struct shard_fault fault)
{
        mutex_lock(&p->fault.mtx);
        if (!p->fault.first.piece || fault.off < p->fault.first.off)
                p->fault.first = fault;
        mutex_unlock(&p->fault.mtx);
}

static int check(void *arg, uint64_t off, const void *bytes, size_t len)
{
        struct payload *p = arg;
        struct shard_fault fault;

        int err = shard_check(&p->shard, off, bytes, len, &fault);
        if (err)
                keep_fault(p, fault);
        return err;
}

void payload_init(struct payload *p, bool verify)
{
        if (!p->data.arg)
                mutex_init(&p->fault.mtx, LOCK_BENCH);
        p->data.size = p->shard.size;
        p->data.fill = fill;
        p->data.check = verify ? check : NULL;
        p->data.arg = p;
        if (p->dev.ops)
                payload_dev_io(p);
        mutex_unshared(&p->fault.mtx);
        p->fault.first = (struct shard_fault){0};
}

void payload_release(struct payload *p)
{
        if (p->data.mem)
                munmap(p->data.mem, p->mapped);
        if (p->dev.ops)
                payload_dev_release(p);
        shard_release(&p->shard);
        *p = (struct payload){0};
}

/* Whether `most` bytes of each rank fit on their devices, which some may share. Collective. */
static int fits_devices(struct coll *c, double most, double room, bool *fits)
{
        CLEANUP(freep) struct dev_place *all = NULL;
        unsigned a, b;

        int err = dev_places(c, &all);
        if (!err)
                *fits = most * dev_places_shared(all, c->ranks, &a, &b) <= room * 0.95;
        return err;
}

int payload_choose(struct coll *c, uint64_t bytes, unsigned hold, bool *held)
{
        double v[3] = {(double)bytes, -(double)preflight_memory_free(), -INFINITY};
        bool fits = false;
        if (dev_get())
                v[2] = -(double)dev_get()->room();
        int err = c->ops->max(c, v, 3);
        double most = v[0], room = v[1];
        if (!err && dev_get())
                err = fits_devices(c, most, -v[2], &fits);
        /* on a device everything is held; one that is too small fails when memory is asked for */
        *held = dev_get() && (fits || !dev_leave());
        if (err || *held)
                return err;
        *held = preflight_holds(hold, most * c->host_ranks, -room);
        return err;
}

int payload_hold(struct payload *p)
{
        size_t n = (p->shard.size + IO_ALIGN - 1) & ~(size_t)(IO_ALIGN - 1);
        if (!n)
                return 0;
        if (dev_get())
                return payload_dev_hold(p);
        char *mem = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mem == MAP_FAILED)
                return -ENOMEM;
        p->mapped = n;
        p->data.mem = mem;
        return 0;
}

bool payload_held(const struct payload *p)
{
        return p->data.mem || p->dev.ops;
}

static int in_steps(struct payload *p, int (*fn)(struct payload *p, uint64_t off, size_t n))
{
        int err = 0;
        for (uint64_t off = 0; p->data.mem && off < p->data.size && !err; off += STEP) {
                uint64_t left = p->data.size - off;
                err = signal_came() ? -ECANCELED : fn(p, off, left < STEP ? (size_t)left : STEP);
        }
        return err;
}

static int fill_step(struct payload *p, uint64_t off, size_t n)
{
        shard_fill(&p->shard, off, p->data.mem + off, n);
        return 0;
}

static int wipe_step(struct payload *p, uint64_t off, size_t n)
{
        memset(p->data.mem + off, WIPE, n);
        return 0;
}

static int check_step(struct payload *p, uint64_t off, size_t n)
{
        return check(p, off, p->data.mem + off, n);
}

int payload_fill(struct payload *p)
{
        p->wiped = false;
        return p->dev.ops ? payload_dev_fill(p) : in_steps(p, fill_step);
}

int payload_wipe(struct payload *p)
{
        p->wiped = true;
        return p->dev.ops ? payload_dev_wipe(p, WIPE) : in_steps(p, wipe_step);
}

int payload_check(struct payload *p)
{
        struct shard_fault fault;

        if (!p->dev.ops)
                return in_steps(p, check_step);
        int err = payload_dev_check(p, &fault);
        if (err == -EBADMSG)
                keep_fault(p, fault);
        return err;
}

int payload_flip(struct payload *p, uint64_t off)
{
        char byte;

        if (p->data.mem) {
                p->data.mem[off] ^= 1;
                return 0;
        }
        int err = p->data.fill(p, off, &byte, 1);
        byte ^= 1;
        return err ? err : p->data.check(p, off, &byte, 1); /* which a device takes it by */
}

int payload_share(struct payload *p, struct coll *c, unsigned root, uint64_t off, size_t n)
{
        if (!p->dev.ops)
                return c->ops->share(c, root, p->data.mem + off, n);
        if (c->ops->share_device)
                return c->ops->share_device(c, root, p->dev.mem + off, n);
        return payload_dev_share(p, c, root, off, n);
}

const struct shard_fault *payload_fault(const struct payload *p)
{
        mutex_unshared(&p->fault.mtx);
        return p->fault.first.piece ? &p->fault.first : NULL;
}

void payload_explain(const struct payload *p, char *out, size_t n)
{
        const struct shard_fault *f = payload_fault(p);
        if (!f)
                snprintf(out, n, "%s", strerror(EBADMSG));
        else
                snprintf(
                        out, n,
                        "wrong byte %llu of tensor %s (byte %llu of the rank's shard): the storage "
                        "gave other bytes than were saved",
                        (unsigned long long)(f->off - f->piece->off + f->piece->tensor_off),
                        f->piece->name, (unsigned long long)f->off);
}

/* Whether the byte at `off` came from the storage: what did not is as payload_wipe() left it. */
static bool came(const struct payload *p, uint64_t off)
{
        enum { LOOK = 16 };
        for (uint64_t i = off; i < p->data.size && i < off + LOOK; i++)
                if (((const unsigned char *)p->data.mem)[i] != WIPE)
                        return true;
        return false;
}

void payload_why(struct payload *p, int err, const char *why, char *out, size_t n)
{
        char wrong[400];

        /* whoever refuses data says so with an error of its own, and has given some of it before */
        mutex_unshared(&p->fault.mtx);
        if (p->data.mem && p->wiped && !p->fault.first.piece && payload_check(p) == -EBADMSG &&
            !came(p, p->fault.first.off))
                p->fault.first = (struct shard_fault){0};
        if (!why || !*why)
                why = strerror(-err);
        if (!p->fault.first.piece) {
                snprintf(out, n, "%s", why);
                return;
        }
        payload_explain(p, wrong, sizeof wrong);
        if (err == -EBADMSG)
                snprintf(out, n, "%s", wrong);
        else
                snprintf(out, n, "%s; %s", why, wrong);
}
