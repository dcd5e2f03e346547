/* SPDX-License-Identifier: Apache-2.0 */
/* payload_dev.c: see payload_int.h.
 *
 * A save asks for blocks and gets them copied to its buffers, the next one while it writes the one
 * before; a load hands blocks in, each of which is copied while it reads the next. Patterns are
 * made and checked on the device, run by run, and only a format's own bytes on the host. */
#include "bench/data/payload_int.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/copies.h"
#include "bench/core/gds.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

static void count_copy(const void *host, size_t n)
{
        copies_add(dev_pinned(host) ? COPIES_PINNED : COPIES_PAGEABLE, n);
}

/* Queued. */
static int get_queued(struct payload *p, uint64_t off, void *dst, size_t len)
{
        count_copy(dst, len);
        return p->dev.ops->get(dst, p->dev.mem + off, len);
}

static int put_queued(struct payload *p, uint64_t off, const void *from, size_t len)
{
        count_copy(from, len);
        return p->dev.ops->put(p->dev.mem + off, from, len);
}

static int get_block(void *arg, uint64_t off, void *dst, size_t len)
{
        struct payload *p = arg;
        bool begun = p->dev.dst == dst && p->dev.off == off && p->dev.len == len;
        int err = begun ? 0 : get_queued(p, off, dst, len);

        if (begun)
                p->dev.dst = NULL;
        return err ? err : p->dev.ops->wait();
}

static int begin_block(void *arg, uint64_t off, void *dst, size_t len)
{
        struct payload *p = arg;
        int err = get_queued(p, off, dst, len);

        if (!err) {
                p->dev.off = off;
                p->dev.dst = dst;
                p->dev.len = len;
        }
        return err;
}

static int put_block(void *arg, uint64_t off, const void *from, size_t len)
{
        struct payload *p = arg;
        int err = put_queued(p, off, from, len);
        int waited = p->dev.ops->wait();
        return err ? err : waited;
}

static int wait_last_block(void *arg)
{
        struct payload *p = arg;
        return p->dev.ops->wait();
}

static int hand_block(void *arg, uint64_t off, const void *from, size_t len)
{
        struct payload *p = arg;
        int err = wait_last_block(p);
        return err ? err : put_queued(p, off, from, len);
}

void payload_dev_io(struct payload *p)
{
        p->data.fill = get_block;
        p->data.ahead = begin_block;
        p->data.check = put_block;
        p->data.hand = hand_block;
        p->data.wait_last = wait_last_block;
        p->data.large = true;
        p->data.device = p->dev.mem;
}

int payload_dev_hold(struct payload *p)
{
        void *mem = NULL;
        int err = dev_get()->alloc(p->shard.size, &mem);
        if (err)
                return err;
        p->dev.ops = dev_get();
        p->dev.mem = mem;
        p->dev.pinned = gds_pin(mem, p->shard.size);
        payload_dev_io(p);
        return 0;
}

void payload_dev_release(struct payload *p)
{
        if (p->dev.pinned)
                gds_unpin(p->dev.mem);
        p->dev.ops->release(p->dev.mem);
        dev_buffer_free(p->dev.bounce, p->dev.room);
        p->dev.bounce = NULL;
        p->dev.mem = NULL;
        p->dev.ops = NULL;
}

int payload_dev_share(struct payload *p, struct coll *c, unsigned root, uint64_t off, size_t n)
{
        bool mine = c->rank == root;
        int err = 0;

        if (p->dev.room < n) {
                dev_buffer_free(p->dev.bounce, p->dev.room);
                p->dev.bounce = dev_buffer(n);
                p->dev.room = p->dev.bounce ? n : 0;
                err = p->dev.bounce ? 0 : -ENOMEM;
        }
        if (!err && mine)
                err = get_block(p, off, p->dev.bounce, n);
        err = coll_agree(c, err);
        if (!err)
                err = c->ops->share(c, root, p->dev.bounce, n);
        if (!err && !mine)
                err = put_block(p, off, p->dev.bounce, n);
        return coll_agree(c, err); /* who goes on would wait for who does not */
}

/* Calls fn with each run of the shard, until it fails or a signal comes. */
static int each_run(struct payload *p,
                    int (*fn)(struct payload *p, uint64_t off, const struct shard_run *run,
                              void *arg),
                    void *arg)
{
        int err = 0;
        for (uint64_t off = 0; off < p->shard.size && !err;) {
                struct shard_run run = shard_run_at(&p->shard, off);
                err = signal_came() ? -ECANCELED : fn(p, off, &run, arg);
                off += run.len;
        }
        return err;
}

static int fill_run(struct payload *p, uint64_t off, const struct shard_run *run, void *arg)
{
        (void)arg;
        if (run->text)
                return p->dev.ops->put(p->dev.mem + off, run->text, run->len);
        return p->dev.ops->fill(p->dev.mem + off, run->base, run->at, run->len);
}

int payload_dev_fill(struct payload *p)
{
        int err = each_run(p, fill_run, NULL);
        int waited = p->dev.ops->wait();
        return err ? err : waited;
}

int payload_dev_wipe(struct payload *p, int byte)
{
        int err = p->dev.ops->wipe(p->dev.mem, byte, p->shard.size);
        int waited = p->dev.ops->wait();
        return err ? err : waited;
}

static void keep_first(struct shard_fault *fault, const struct shard_piece *piece, uint64_t off)
{
        if (!fault->piece || off < fault->off)
                *fault = (struct shard_fault){piece, off};
}

/* A format's bytes come to the host. */
static int check_text(struct payload *p, uint64_t off, const struct shard_run *run,
                      struct shard_fault *first)
{
        struct shard_fault fault;
        CLEANUP(freep) char *got = malloc(run->len);
        int err = got ? p->dev.ops->get(got, p->dev.mem + off, run->len) : -ENOMEM;

        if (!err)
                err = p->dev.ops->wait();
        if (!err && shard_check(&p->shard, off, got, run->len, &fault))
                keep_first(first, fault.piece, fault.off);
        return err;
}

static int check_run(struct payload *p, uint64_t off, const struct shard_run *run, void *arg)
{
        if (run->text)
                return check_text(p, off, run, arg);
        return p->dev.ops->check(p->dev.mem + off, run->base, run->at, run->len, off);
}

int payload_dev_check(struct payload *p, struct shard_fault *fault)
{
        uint64_t wrong = DEV_NOTHING;

        *fault = (struct shard_fault){0};
        int err = each_run(p, check_run, fault);
        int found = p->dev.ops->found(&wrong);
        if (err || found)
                return err ? err : found;
        if (wrong != DEV_NOTHING)
                keep_first(fault, shard_run_at(&p->shard, wrong).piece, wrong);
        return fault->piece ? -EBADMSG : 0;
}
