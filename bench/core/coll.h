/* SPDX-License-Identifier: Apache-2.0 */
/* coll.h: what ranks tell each other, whatever carries it.
 *
 * Every function is called by all ranks, in the same order, from the main thread, and blocks
 * without burning a core: a rank that waits must not slow the one that is measured. The main thread
 * may have another one call in its place (coll_queue.h), and does not call meanwhile. A rank whose
 * own work failed still comes to coll_agree(), so that all leave together. */
#ifndef CKPTFS_BENCH_COLL_H
#define CKPTFS_BENCH_COLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coll {
        const struct coll_ops *ops;
        unsigned rank, ranks;
        unsigned host_rank, host_ranks; /* among the ranks of this machine */
        bool any_thread;                /* another one than the main thread may call */
        void *group;                    /* the carrier's; NULL: all ranks of the job */
};

/* One const table per carrier; no slot but those of a device is NULL. Errors: -ECANCELED when a
 * signal came while waiting, -EIO. */
struct coll_ops {
        const char *name;
        int (*init)(struct coll *c, int *argc, char ***argv);
        /* Carrier and its version, in words. */
        void (*version)(char *out, size_t n);
        int (*barrier)(struct coll *c);
        /* Each of the n values becomes the largest of all ranks. */
        int (*max)(struct coll *c, double *v, size_t n);
        /* Each of the n values becomes the sum of all ranks'. */
        int (*sum)(struct coll *c, float *v, size_t n);
        /* Of as many runs of n values as there are ranks, one behind the other in `all`, the sum of
         * all ranks' runs number r to rank r's `mine`; `all` holds anything afterwards. */
        int (*sum_scatter)(struct coll *c, float *all, float *mine, size_t n);
        /* n bytes of each rank, in the order of ranks, to `all` (ranks * n bytes) of every rank. */
        int (*gather)(struct coll *c, const void *mine, size_t n, void *all);
        /* n bytes of rank 0 to all. */
        int (*bcast)(struct coll *c, void *p, size_t n);
        /* n bytes of rank `root` to all. */
        int (*share)(struct coll *c, unsigned root, void *p, size_t n);
        /* The same for memory of a device; NULL: this carrier cannot, go through the host's. */
        int (*share_device)(struct coll *c, unsigned root, void *mem, size_t n);
        /* As sum(), sum_scatter() and gather() of n floats, for memory of a device, behind that
         * mark in its queue (a cudaEvent_t; NULL: nothing is queued). `mine` may be the rank's own
         * run of `all`. What fails in this rank's device alone is kept in *own, if that is 0, and
         * the rank goes on. NULL: as above; with or without them both of the last two. */
        int (*sum_device)(struct coll *c, float *mem, size_t n, void *behind, int *own);
        int (*scatter_device)(struct coll *c, float *all, float *mine, size_t n, void *behind,
                              int *own);
        int (*gather_device)(struct coll *c, const float *mine, size_t n, float *all, int *own);
        /* Tells all other ranks that what has this number failed here; does not wait for them. Any
         * number but of what is under way is ignored. */
        void (*alarm)(struct coll *c, unsigned serial);
        /* Whether another rank told that; does not wait. */
        bool (*alarmed)(struct coll *c, unsigned serial);
        /* The first n ranks as a job of their own, for those that are among them (*in); all ranks
         * call it. End with drop(). */
        int (*split)(struct coll *c, unsigned n, struct coll *out, bool *in);
        void (*drop)(struct coll *part);
        /* Ends this rank. `together`: all ranks are here (else the others are ended too). */
        void (*finish)(struct coll *c, int together);
};

extern const struct coll_ops coll_none; /* one rank */
#ifdef HAVE_MPI
extern const struct coll_ops coll_mpi;
#endif

/* Picks the carrier: MPI when a launcher started this process, else none. 0, or a negative errno
 * with one line in `why`: a launcher of several ranks that this build cannot join would have each
 * of its processes do the work of rank 0 (-EOPNOTSUPP). */
int coll_init(struct coll *c, int *argc, char ***argv, char *why, size_t nwhy);

/* Makes `c` carry bulk (share, and what is of a device) over NCCL from here to drop(), if `nccl`;
 * all else goes the way that c had before. Collective. 0, or the same negative errno in all ranks
 * with one line in `why`: not built with it, device is not cuda (dev_get()), two ranks on one GPU.
 */
int coll_carry(struct coll *c, bool nccl, char *why, size_t nwhy);
#ifdef HAVE_NCCL
int coll_nccl_carry(struct coll *c, char *why, size_t nwhy);
#endif

/* The MPI and the NCCL that ranks have, or would have, here, in words. */
void coll_libraries(char *mpi, size_t nmpi, char *nccl, size_t nnccl);
#ifdef HAVE_NCCL
void coll_nccl_library(char *out, size_t n);
#endif

/* The worst of all ranks' errors (0 or the most negative errno), or why it could not be learnt. */
int coll_agree(struct coll *c, int err);

#endif
