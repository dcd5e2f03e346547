/* SPDX-License-Identifier: Apache-2.0 */
/* coll_mpi.c: ranks over MPI, the one file that knows it.
 *
 * Only non-blocking collectives, polled with short sleeps: MPI's own waiting spins, and a spinning
 * rank takes the core of a rank, or of the mount's daemon, that is being measured. */
#include "bench/coll.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "bench/clock.h"
#include "bench/stop.h"

#include "base/banned.h"

enum {
        SPINS = 200, /* tests before the first sleep: ranks that are all ready */
        NAP_MIN_NS = 50 * 1000,
        NAP_MAX_NS = 1000 * 1000,    /* the most by which ranks leave a barrier apart */
        GRACE_NS = 300 * 1000 * 1000 /* after a signal the others have this long to come */
};

static int finish_request(MPI_Request *req)
{
        uint64_t stopped = 0, nap = NAP_MIN_NS;
        int done = 0;

        for (unsigned i = 0;; i++) {
                if (MPI_Test(req, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                        return -EIO;
                if (done)
                        return 0;
                if (stop_wanted()) {
                        if (!stopped)
                                stopped = clock_ns();
                        else if (clock_ns() - stopped > GRACE_NS)
                                return -ECANCELED;
                }
                if (i < SPINS)
                        continue;
                clock_sleep_ns(nap);
                if (nap < NAP_MAX_NS)
                        nap += nap / 4;
        }
}

static MPI_Comm comm_of(const struct coll *c)
{
        return c->group ? *(MPI_Comm *)c->group : MPI_COMM_WORLD;
}

/* Ranks, and which of them are on this machine. */
static int count_ranks(struct coll *c)
{
        int rank, ranks, host_rank, host_ranks;
        MPI_Comm host;

        MPI_Comm_rank(comm_of(c), &rank);
        MPI_Comm_size(comm_of(c), &ranks);
        if (MPI_Comm_split_type(comm_of(c), MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host) !=
            MPI_SUCCESS)
                return -EIO;
        MPI_Comm_rank(host, &host_rank);
        MPI_Comm_size(host, &host_ranks);
        MPI_Comm_free(&host);
        c->rank = (unsigned)rank;
        c->ranks = (unsigned)ranks;
        c->host_rank = (unsigned)host_rank;
        c->host_ranks = (unsigned)host_ranks;
        return 0;
}

static int mpi_init(struct coll *c, int *argc, char ***argv)
{
        int provided;

        if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
                return -EIO;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        return count_ranks(c);
}

static int mpi_split(struct coll *c, unsigned n, struct coll *out, bool *in)
{
        MPI_Comm *comm = malloc(sizeof *comm);

        *in = c->rank < n;
        if (!comm)
                return -ENOMEM;
        if (MPI_Comm_split(comm_of(c), *in ? 0 : MPI_UNDEFINED, (int)c->rank, comm) !=
                    MPI_SUCCESS ||
            !*in) {
                free(comm);
                return *in ? -EIO : 0;
        }
        *out = (struct coll){.ops = c->ops, .group = comm};
        return count_ranks(out);
}

static void mpi_drop(struct coll *part)
{
        if (part->group) {
                MPI_Comm_free(part->group);
                free(part->group);
        }
        *part = (struct coll){0};
}

static void mpi_version(char *out, size_t n)
{
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int len;
        MPI_Get_library_version(text, &len);
        text[strcspn(text, ",\n")] = 0;
        snprintf(out, n, "%s", text);
}

static int mpi_barrier(struct coll *c)
{
        MPI_Request req;
        if (MPI_Ibarrier(comm_of(c), &req) != MPI_SUCCESS)
                return -EIO;
        return finish_request(&req);
}

static int mpi_max(struct coll *c, double *v, size_t n)
{
        MPI_Request req;
        if (MPI_Iallreduce(MPI_IN_PLACE, v, (int)n, MPI_DOUBLE, MPI_MAX, comm_of(c), &req) !=
            MPI_SUCCESS)
                return -EIO;
        return finish_request(&req);
}

static int mpi_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        MPI_Request req;
        if (n > INT_MAX)
                return -EOVERFLOW;
        if (MPI_Iallgather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, comm_of(c), &req) !=
            MPI_SUCCESS)
                return -EIO;
        return finish_request(&req);
}

static int mpi_share(struct coll *c, unsigned root, void *p, size_t n)
{
        const size_t most = 1 << 30; /* a count is an int */
        int err = 0;

        for (size_t off = 0; off < n && !err; off += most) {
                MPI_Request req;
                int some = (int)(n - off < most ? n - off : most);
                err = MPI_Ibcast((char *)p + off, some, MPI_BYTE, (int)root, comm_of(c), &req) !=
                                      MPI_SUCCESS
                              ? -EIO
                              : finish_request(&req);
        }
        return err;
}

static int mpi_bcast(struct coll *c, void *p, size_t n)
{
        return mpi_share(c, 0, p, n);
}

static void mpi_finish(struct coll *c, int together)
{
        (void)c;
        if (!together) {
                clock_sleep_ns(GRACE_NS); /* the others clean up too before they are ended */
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_Finalize();
}

const struct coll_ops coll_mpi = {
        .name = "mpi",
        .init = mpi_init,
        .version = mpi_version,
        .barrier = mpi_barrier,
        .max = mpi_max,
        .gather = mpi_gather,
        .bcast = mpi_bcast,
        .share = mpi_share,
        .split = mpi_split,
        .drop = mpi_drop,
        .finish = mpi_finish,
};
