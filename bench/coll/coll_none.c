/* SPDX-License-Identifier: Apache-2.0 */
/* coll_none.c: one rank, which agrees with itself; and the choice of a carrier. */
#include "bench/core/coll.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

static int none_init(struct coll *c, int *argc, char ***argv)
{
        (void)argc;
        (void)argv;
        c->rank = 0;
        c->ranks = 1;
        c->host_rank = 0;
        c->host_ranks = 1;
        c->any_thread = true;
        return 0;
}

static void none_version(char *out, size_t n)
{
        snprintf(out, n, "none");
}

static int none_barrier(struct coll *c)
{
        (void)c;
        return signal_came() ? -ECANCELED : 0;
}

static int none_max(struct coll *c, double *v, size_t n)
{
        (void)c;
        (void)v;
        (void)n;
        return 0;
}

static int none_sum(struct coll *c, float *v, size_t n)
{
        (void)c;
        (void)v;
        (void)n;
        return 0;
}

static int none_sum_scatter(struct coll *c, float *all, float *mine, size_t n)
{
        (void)c;
        memmove(mine, all, n * sizeof *mine);
        return 0;
}

static int none_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        (void)c;
        memmove(all, mine, n);
        return 0;
}

static int none_bcast(struct coll *c, void *p, size_t n)
{
        (void)c;
        (void)p;
        (void)n;
        return 0;
}

static int none_share(struct coll *c, unsigned root, void *p, size_t n)
{
        (void)root;
        return none_bcast(c, p, n);
}

static void none_alarm(struct coll *c, unsigned serial)
{
        (void)c;
        (void)serial;
}

static bool none_alarmed(struct coll *c, unsigned serial)
{
        (void)c;
        (void)serial;
        return false;
}

static int none_split(struct coll *c, unsigned n, struct coll *out, bool *in)
{
        *in = c->rank < n;
        *out = *c;
        return 0;
}

static void none_drop(struct coll *part)
{
        *part = (struct coll){0};
}

static void none_finish(struct coll *c, int together)
{
        (void)c;
        (void)together;
}

const struct coll_ops coll_none = {
        .name = "none",
        .init = none_init,
        .version = none_version,
        .barrier = none_barrier,
        .max = none_max,
        .sum = none_sum,
        .sum_scatter = none_sum_scatter,
        .gather = none_gather,
        .bcast = none_bcast,
        .share = none_share,
        .alarm = none_alarm,
        .alarmed = none_alarmed,
        .split = none_split,
        .drop = none_drop,
        .finish = none_finish,
};

/* How many ranks a launcher says it started: OpenMPI, MPICH and its like, Slurm. */
static unsigned launched(void)
{
        const char *n = getenv("OMPI_COMM_WORLD_SIZE");
        if (!n)
                n = getenv("PMI_SIZE");
        if (!n && (getenv("PMIX_RANK") || getenv("PMI_RANK")))
                n = getenv("SLURM_NTASKS");
        return n ? (unsigned)strtoul(n, NULL, 10) : 1;
}

int coll_init(struct coll *c, int *argc, char ***argv, char *why, size_t nwhy)
{
        c->ops = &coll_none;
#ifdef HAVE_MPI
        /* What the launchers of OpenMPI, PMIx and MPICH-like PMI leave in the environment. */
        if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK"))
                c->ops = &coll_mpi;
#endif
        int err = c->ops->init(c, argc, argv);
        if (err) {
                snprintf(why, nwhy, "cannot start the ranks: %s: try without mpirun",
                         strerror(-err));
        } else if (c->ranks == 1 && launched() > 1) {
                snprintf(why, nwhy,
                         "the launcher started %u ranks, each of which is alone: this ckptbench "
                         "was built %s",
                         launched(),
                         c->ops == &coll_none
                                 ? "without MPI: configure --with-mpi, or start it without mpirun"
                                 : "with another MPI than the launcher's: take that one's mpirun");
                c->ops->finish(c, 1);
                err = -EOPNOTSUPP;
        }
        return err;
}

int coll_carry(struct coll *c, bool nccl, char *why, size_t nwhy)
{
        if (!nccl)
                return 0;
#ifdef HAVE_NCCL
        return coll_nccl_carry(c, why, nwhy);
#else
        (void)c;
        snprintf(why, nwhy,
                 "backend=nccl: not built with NCCL: configure --with-nccl=DIR, or give "
                 "backend=gloo");
        return -EOPNOTSUPP;
#endif
}

void coll_libraries(char *mpi, size_t nmpi, char *nccl, size_t nnccl)
{
        snprintf(mpi, nmpi, "not built with it");
        snprintf(nccl, nnccl, "not built with it");
#ifdef HAVE_MPI
        coll_mpi.version(mpi, nmpi); /* MPI tells that to who has not begun, too */
#endif
#ifdef HAVE_NCCL
        coll_nccl_library(nccl, nnccl);
#endif
}

int coll_agree(struct coll *c, int err)
{
        double worst = err < 0 ? -(double)err : 0;
        int failed = c->ops->max(c, &worst, 1);
        if (failed)
                return failed;
        return -(int)worst;
}
