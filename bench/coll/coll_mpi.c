/* SPDX-License-Identifier: Apache-2.0 */
/* coll_mpi.c: ranks over MPI, the one file that knows it.
 *
 * Only non-blocking collectives, polled: MPI's own waiting spins, and a spinning rank takes the
 * core of a rank, or of the mount's daemon, that is being measured. Between two polls a rank sleeps
 * for a moment. Bulk is another matter: MPI moves bytes only while it is polled, so ranks first
 * wait, asleep, until all of them are there, and then poll without a pause.
 *
 * A signal ends the waiting, but no MPI call takes a collective back. The request still names
 * memory of the caller, who goes on to free it. MPI writes there only while it is called, so from
 * then on it is not called again, but to end the job. */
#include "bench/core/coll.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum {
        SPINS = 200, /* polls before the first sleep: ranks that are all ready */
        NAP_MIN_NS = 50 * 1000,
        NAP_MAX_NS = 1000 * 1000,     /* the most by which ranks leave a barrier apart */
        GRACE_NS = 300 * 1000 * 1000, /* after a signal the others have this long to come */
        CLEANUP_NAPS = 1000,          /* and so many naps to remove what they have written */
        BULK = 64 << 10               /* bytes from which on a request is polled without a pause */
};

/* The most that a request may carry of all ranks together, in what it counts: implementations add
 * that up in an int. More goes rank by rank. */
static size_t most_together = INT_MAX;

/* A request was left under way: see the top. Of the thread that calls, as all that follows. */
static bool abandoned;

/* Whether a rank that waits since `*stopped` (0: it has heard of no signal) has waited enough. */
static bool gives_up(uint64_t *stopped)
{
        if (!signal_came())
                return false;
        if (!*stopped)
                *stopped = clock_ns();
        return clock_ns() - *stopped > GRACE_NS;
}

static int finish_request(MPI_Request *req, bool bulk)
{
        uint64_t stopped = 0, nap = NAP_MIN_NS;
        int done = 0;

        for (unsigned i = 0;; i++) {
                if (MPI_Test(req, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                        return -EIO;
                if (done)
                        return 0;
                if (gives_up(&stopped)) {
                        abandoned = true;
                        return -ECANCELED;
                }
                if (bulk)
                        sched_yield(); /* to a rank on the same core */
                if (bulk || i < SPINS)
                        continue;
                clock_sleep_ns(nap);
                if (nap < NAP_MAX_NS)
                        nap += nap / 4;
        }
}

/* How many ranks of this machine have come to the end, in memory that they share: it can be read
 * and written when MPI may not be called any more. NULL: it could not be had. */
static atomic_uint *ends_there;

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

/* A file in memory that ranks of a machine find. What another process namespace calls so is another
 * file, so its identity goes with the name. */
struct shared_file {
        char path[64]; /* "": there is none */
        uint64_t dev, ino;
};

static int make_shared(struct shared_file *out)
{
        CLEANUP(closep) int fd = memfd_create("ckptbench-ends", MFD_CLOEXEC);
        struct stat st;

        *out = (struct shared_file){.path = ""};
        if (fd < 0 || ftruncate(fd, sizeof *ends_there) || fstat(fd, &st))
                return -1;
        *out = (struct shared_file){.dev = st.st_dev, .ino = st.st_ino};
        snprintf(out->path, sizeof out->path, "/proc/%d/fd/%d", (int)getpid(), fd);
        return TAKE_FD(fd);
}

static int open_shared(const struct shared_file *f)
{
        CLEANUP(closep) int fd = *f->path ? open(f->path, O_RDWR | O_CLOEXEC | O_NONBLOCK) : -1;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) || st.st_dev != f->dev || st.st_ino != f->ino)
                return -1;
        return TAKE_FD(fd);
}

/* Whoever stops one rank stops the job: a rank that is told to end tells the others of this
 * machine, which may stand in a write or a long step and hear of it in no collective. They see each
 * other's processes, since they share a file of /proc. */
static void tell_each_other(const struct coll *c, MPI_Comm host)
{
        CLEANUP(freep) int *pids = calloc(c->host_ranks, sizeof *pids);
        const int mine = (int)getpid();
        int all = pids != NULL;

        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, host);
        if (!all || !pids || MPI_Allgather(&mine, 1, MPI_INT, pids, 1, MPI_INT, host))
                return;
        for (unsigned i = 0; i < c->host_ranks; i++)
                if (pids[i] != mine)
                        (void)cleanup_add_child(pids[i]); /* no room: that one is not told */
}

/* MPI's own shared windows hang where one rank gets no memory. All ranks have it, or none does. */
static void open_ends(const struct coll *c)
{
        CLEANUP(closep) int fd = -1;
        struct shared_file f = {.path = ""};
        MPI_Comm host;

        if (c->host_ranks == 1 ||
            MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, (int)c->rank, MPI_INFO_NULL,
                                &host) != MPI_SUCCESS)
                return;
        if (!c->host_rank)
                fd = make_shared(&f);
        MPI_Bcast(&f, sizeof f, MPI_BYTE, 0, host);
        if (c->host_rank)
                fd = open_shared(&f);
        void *p =
                fd < 0 ? MAP_FAILED
                       : mmap(NULL, sizeof *ends_there, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        int all = p != MAP_FAILED;
        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, host);
        if (all)
                tell_each_other(c, host);
        MPI_Comm_free(&host);
        if (all)
                ends_there = p;
        else if (p != MAP_FAILED)
                munmap(p, sizeof *ends_there);
}

static int mpi_init(struct coll *c, int *argc, char ***argv)
{
        int provided;

        if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
                return -EIO;
        c->any_thread = provided >= MPI_THREAD_SERIALIZED;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int err = count_ranks(c);
        if (!err)
                open_ends(c);
        return err;
}

static int mpi_split(struct coll *c, unsigned n, struct coll *out, bool *in)
{
        MPI_Comm *comm = malloc(sizeof *comm);

        *in = c->rank < n;
        if (!comm || abandoned) {
                free(comm);
                return abandoned ? -ECANCELED : -ENOMEM;
        }
        if (MPI_Comm_split(comm_of(c), *in ? 0 : MPI_UNDEFINED, (int)c->rank, comm) !=
                    MPI_SUCCESS ||
            !*in) {
                free(comm);
                return *in ? -EIO : 0;
        }
        *out = (struct coll){.ops = c->ops, .group = comm, .any_thread = c->any_thread};
        return count_ranks(out);
}

static void mpi_drop(struct coll *part)
{
        if (part->group && !abandoned)
                MPI_Comm_free(part->group);
        free(part->group);
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
        if (abandoned)
                return -ECANCELED;
        if (MPI_Ibarrier(comm_of(c), &req) != MPI_SUCCESS)
                return -EIO;
        return finish_request(&req, false);
}

/* Of what all ranks will poll without a pause: none begins before all are there. */
static int meet(struct coll *c, size_t n)
{
        return n >= BULK ? mpi_barrier(c) : abandoned ? -ECANCELED : 0;
}

static int mpi_max(struct coll *c, double *v, size_t n)
{
        MPI_Request req;
        if (abandoned)
                return -ECANCELED;
        if (MPI_Iallreduce(MPI_IN_PLACE, v, (int)n, MPI_DOUBLE, MPI_MAX, comm_of(c), &req) !=
            MPI_SUCCESS)
                return -EIO;
        return finish_request(&req, false);
}

static int mpi_sum(struct coll *c, float *v, size_t n)
{
        const size_t most = 1 << 28; /* a count is an int */
        int err = meet(c, n * sizeof *v);

        for (size_t off = 0; off < n && !err; off += most) {
                MPI_Request req;
                int some = (int)(n - off < most ? n - off : most);
                err = MPI_Iallreduce(MPI_IN_PLACE, v + off, some, MPI_FLOAT, MPI_SUM, comm_of(c),
                                     &req) != MPI_SUCCESS
                              ? -EIO
                              : finish_request(&req, n * sizeof *v >= BULK);
        }
        return err;
}

/* The sum of all ranks' run to rank `root`. */
static int sum_to(struct coll *c, unsigned root, const float *run, float *mine, size_t n)
{
        const size_t most = 1 << 28; /* a count is an int */
        int err = 0;

        for (size_t off = 0; off < n && !err; off += most) {
                MPI_Request req;
                int some = (int)(n - off < most ? n - off : most);
                err = MPI_Ireduce(run + off, mine + off, some, MPI_FLOAT, MPI_SUM, (int)root,
                                  comm_of(c), &req) != MPI_SUCCESS
                              ? -EIO
                              : finish_request(&req, n * sizeof *run >= BULK);
        }
        return err;
}

static int mpi_sum_scatter(struct coll *c, float *all, float *mine, size_t n)
{
        const size_t bytes = n * c->ranks * sizeof *all;
        MPI_Request req;
        int err = meet(c, bytes);
        if (n * c->ranks > most_together) {
                for (unsigned i = 0; i < c->ranks && !err; i++)
                        err = sum_to(c, i, all + i * n, mine, n);
                return err;
        }
        if (err)
                return err;
        if (MPI_Ireduce_scatter_block(all, mine, (int)n, MPI_FLOAT, MPI_SUM, comm_of(c), &req) !=
            MPI_SUCCESS)
                return -EIO;
        return finish_request(&req, bytes >= BULK);
}

static int mpi_share(struct coll *c, unsigned root, void *p, size_t n)
{
        const size_t most = 1 << 30; /* a count is an int */
        int err = meet(c, n);

        for (size_t off = 0; off < n && !err; off += most) {
                MPI_Request req;
                int some = (int)(n - off < most ? n - off : most);
                err = MPI_Ibcast((char *)p + off, some, MPI_BYTE, (int)root, comm_of(c), &req) !=
                                      MPI_SUCCESS
                              ? -EIO
                              : finish_request(&req, n >= BULK);
        }
        return err;
}

/* A gather of more than one request carries: each rank tells all the others. */
static int gather_shared(struct coll *c, const void *mine, size_t n, void *all)
{
        char *runs = all;
        int err = 0;

        memcpy(runs + c->rank * n, mine, n);
        for (unsigned i = 0; i < c->ranks && !err; i++)
                err = mpi_share(c, i, runs + i * n, n);
        return err;
}

static int mpi_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        MPI_Request req;
        if (n * c->ranks > most_together)
                return gather_shared(c, mine, n, all);
        int err = meet(c, n * c->ranks);
        if (err)
                return err;
        if (MPI_Iallgather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, comm_of(c), &req) !=
            MPI_SUCCESS)
                return -EIO;
        return finish_request(&req, n * c->ranks >= BULK);
}

static int mpi_bcast(struct coll *c, void *p, size_t n)
{
        return mpi_share(c, 0, p, n);
}

/* Tags that no other message has. Implementations have 32,767 at least. */
static int alarm_tag(unsigned serial)
{
        return (int)(1 + serial % 32000);
}

static void mpi_alarm(struct coll *c, unsigned serial)
{
        static char nothing;
        MPI_Request req;

        for (unsigned i = 0; i < c->ranks && !abandoned; i++)
                if (i != c->rank && MPI_Isend(&nothing, 0, MPI_BYTE, (int)i, alarm_tag(serial),
                                              comm_of(c), &req) == MPI_SUCCESS)
                        MPI_Request_free(&req);
}

static bool mpi_alarmed(struct coll *c, unsigned serial)
{
        int there = 0;
        return !abandoned &&
               MPI_Iprobe(MPI_ANY_SOURCE, alarm_tag(serial), comm_of(c), &there,
                          MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               there;
}

/* The others clean up too before they are ended: those of this machine until they are here, which
 * hear of the signal; those of other machines a moment longer. */
static void wait_for_cleanup(const struct coll *c)
{
        const bool known = ends_there && signal_came();

        for (int i = 0; known && i < CLEANUP_NAPS; i++) {
                if (atomic_load(ends_there) >= c->host_ranks)
                        break;
                clock_sleep_ns(GRACE_NS / 10);
        }
        clock_sleep_ns(GRACE_NS);
}

static void mpi_finish(struct coll *c, int together)
{
        cleanup_drop_children(); /* the others end, too: their numbers will be others' */
        if (ends_there)
                atomic_fetch_add(ends_there, 1);
        if (!together || abandoned) {
                wait_for_cleanup(c);
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
        .sum = mpi_sum,
        .sum_scatter = mpi_sum_scatter,
        .gather = mpi_gather,
        .bcast = mpi_bcast,
        .share = mpi_share,
        .alarm = mpi_alarm,
        .alarmed = mpi_alarmed,
        .split = mpi_split,
        .drop = mpi_drop,
        .finish = mpi_finish,
};
