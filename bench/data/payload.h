/* SPDX-License-Identifier: Apache-2.0 */
/* payload.h: the bytes of one file of a rank: where they come from, held in memory or not, and
 * whether what came back is right. */
#ifndef CKPTFS_BENCH_PAYLOAD_H
#define CKPTFS_BENCH_PAYLOAD_H

#include "base/mutex.h"
#include "bench/core/coll.h"
#include "bench/core/dev.h"
#include "bench/core/io.h"
#include "bench/data/shard.h"

struct payload {
        struct shard shard;  /* owned; set before payload_init() */
        struct io_data data; /* what a back end is given */
        size_t mapped;       /* bytes at data.mem */
        bool wiped;          /* these are what a load brings, not what is saved */
        struct {
                const struct dev_ops *ops; /* NULL: the shard is not on a device */
                char *mem;
                bool pinned; /* for GPUDirect Storage */
                /* the block that was begun, of the thread that saves */
                uint64_t off;
                const void *dst;
                size_t len;
                /* what payload_share() hands on through the host */
                char *bounce;
                size_t room;
        } dev;
        struct {
                struct mutex mtx;
                /* piece NULL: none; checks may run on I/O threads */
                struct shard_fault first GUARDED_BY(&mtx);
        } fault;
};

/* Makes `data` of the shard; again after the shard was planned anew with the same size. */
void payload_init(struct payload *p, bool verify);
/* Frees shard and memory. Zeroed ones are fine. */
void payload_release(struct payload *p);

/* Collective: whether `bytes` of each rank are to be held in memory, by the hold key (HOLD_*): auto
 * when those of this machine's ranks fit in 60 % of what is free. 0 or a negative errno. */
int payload_choose(struct coll *c, uint64_t bytes, unsigned hold, bool *held);
/* Memory for all of it, on the job's device (dev_get()) or the host. 0 or a negative errno. */
int payload_hold(struct payload *p);
bool payload_held(const struct payload *p);

/* Bytes [off, off + n) of the held ones, which rank `root` has, to all ranks of c; n is the same in
 * all. Device memory goes by the collectives' own way where c has one, else through the host. */
int payload_share(struct payload *p, struct coll *c, unsigned root, uint64_t off, size_t n);

/* Of held bytes, in steps between which a signal is heard (-ECANCELED): makes them; overwrites them
 * before a load; checks them (-EBADMSG, see fault). Nothing to do for bytes that are not held. */
int payload_fill(struct payload *p);
int payload_wipe(struct payload *p);
int payload_check(struct payload *p);
/* Makes the held byte at `off` wrong in one bit, for who wants to see it found. */
int payload_flip(struct payload *p, uint64_t off);

/* Their first wrong byte, while no I/O is under way; or NULL. */
const struct shard_fault *payload_fault(const struct payload *p);
/* What is wrong with them, in words. */
void payload_explain(const struct payload *p, char *out, size_t n);

/* Why a load failed with `err`, in words: `why`, or the errno's text where that is NULL or "", and
 * the wrong byte where one came. Held bytes of a load, wiped before, are searched for it. */
void payload_why(struct payload *p, int err, const char *why, char *out, size_t n);

#endif
