/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c: see payload.h. */
#include "bench/payload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "bench/keys.h"
#include "bench/stop.h"

#include "base/banned.h"

enum { STEP = 16 << 20, WIPE = 0xa5 };

static void fill(void *arg, uint64_t off, void *dst, size_t len)
{
        const struct payload *p = arg;
        shard_fill(&p->shard, off, dst, len);
}

static int check(void *arg, uint64_t off, const void *bytes, size_t len)
{
        struct payload *p = arg;
        struct shard_fault fault;

        int err = shard_check(&p->shard, off, bytes, len, &fault);
        if (err) {
                pthread_mutex_lock(&p->fault.mtx);
                if (!p->fault.first.piece || fault.off < p->fault.first.off)
                        p->fault.first = fault;
                pthread_mutex_unlock(&p->fault.mtx);
        }
        return err;
}

void payload_init(struct payload *p, bool verify)
{
        if (!p->data.arg)
                pthread_mutex_init(&p->fault.mtx, NULL);
        p->data.size = p->shard.size;
        p->data.fill = fill;
        p->data.check = verify ? check : NULL;
        p->data.arg = p;
        p->fault.first = (struct shard_fault){0};
}

void payload_release(struct payload *p)
{
        if (p->data.mem)
                munmap(p->data.mem, p->mapped);
        shard_release(&p->shard);
        *p = (struct payload){0};
}

static uint64_t memory_free(void)
{
        char line[128];
        unsigned long long kb = 0;
        CLEANUP(fclosep) FILE *f = fopen("/proc/meminfo", "re");
        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
                        break;
        return kb * 1024;
}

int payload_choose(struct coll *c, uint64_t bytes, unsigned hold, bool *held)
{
        double most = (double)bytes, room = -(double)memory_free();
        int err = c->ops->max(c, &most, 1);
        if (!err)
                err = c->ops->max(c, &room, 1);
        *held = hold == HOLD_ON || (hold == HOLD_AUTO && most * c->host_ranks <= -room * 0.6);
        return err;
}

int payload_hold(struct payload *p)
{
        size_t n = (p->shard.size + IO_ALIGN - 1) & ~(size_t)(IO_ALIGN - 1);
        if (!n)
                return 0;
        char *mem = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mem == MAP_FAILED)
                return -ENOMEM;
        p->mapped = n;
        p->data.mem = mem;
        return 0;
}

static int in_steps(struct payload *p, int (*fn)(struct payload *p, uint64_t off, size_t n))
{
        int err = 0;
        for (uint64_t off = 0; p->data.mem && off < p->data.size && !err; off += STEP) {
                uint64_t left = p->data.size - off;
                err = stop_wanted() ? -ECANCELED : fn(p, off, left < STEP ? (size_t)left : STEP);
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
        return in_steps(p, fill_step);
}

int payload_wipe(struct payload *p)
{
        return in_steps(p, wipe_step);
}

int payload_check(struct payload *p)
{
        return in_steps(p, check_step);
}

void payload_explain(const struct payload *p, char *out, size_t n)
{
        const struct shard_fault *f = &p->fault.first;
        if (!f->piece)
                snprintf(out, n, "%s", strerror(EBADMSG));
        else
                snprintf(
                        out, n,
                        "wrong byte %llu of tensor %s (byte %llu of the rank's shard): the storage "
                        "gave other bytes than were saved",
                        (unsigned long long)(f->off - f->piece->off + f->piece->tensor_off),
                        f->piece->name, (unsigned long long)f->off);
}
