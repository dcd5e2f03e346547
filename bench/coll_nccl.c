/* SPDX-License-Identifier: Apache-2.0 */
/* coll_nccl.c: ranks over NCCL, the one file that knows it: broadcasts and gathers between GPUs.
 *
 * What lies in host memory goes through a buffer on the device. Ids and the splitting of the job
 * stay with the carrier that was there before. Waiting polls with short sleeps, as coll_mpi.c does,
 * and looks for a rank that failed elsewhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nccl.h>

#include "base/cleanup.h"
#include "bench/clock.h"
#include "bench/coll.h"
#include "bench/dev.h"
#include "bench/stop.h"

#include "base/banned.h"

enum {
        SPINS = 200,
        NAP_MIN_NS = 20 * 1000,
        NAP_MAX_NS = 1000 * 1000,
        GRACE_NS = 300 * 1000 * 1000, /* after a signal the others have this long to come */
        ROOM = 16 << 20               /* of the buffer; what is larger goes in pieces */
};

struct nccl {
        struct coll before; /* who carried until now */
        const struct dev_ops *dev;
        ncclComm_t comm; /* NULL: it failed and was aborted */
        /* ROOM bytes on the device, from the start: a rank that had to ask for memory later, and
         * got none, would leave the others waiting in a collective. */
        void *buffer;
};

/* Where a rank's GPU is. */
struct place {
        char host[64], device[DEV_ID_MAX];
};

static struct nccl *of(const struct coll *c)
{
        return c->group;
}

/* After an error nothing goes over this communicator any more. */
static int failed(struct nccl *n, const char *what, ncclResult_t r)
{
        int err = dev_fail(what, ncclGetErrorString(r));
        if (n->comm && ncclCommAbort(n->comm) != ncclSuccess)
                err = -EIO;
        n->comm = NULL;
        return err;
}

/* Gives up without a word: a signal came. */
static int canceled(struct nccl *n)
{
        if (n->comm && ncclCommAbort(n->comm) != ncclSuccess)
                return -EIO;
        n->comm = NULL;
        return -ECANCELED;
}

/* Waits for what was queued. */
static int finish(struct nccl *n)
{
        uint64_t stopped = 0, nap = NAP_MIN_NS;
        ncclResult_t r = ncclSuccess;

        for (unsigned i = 0;; i++) {
                int err = n->dev->stream_idle();
                if (err != -EAGAIN)
                        return err;
                if (ncclCommGetAsyncError(n->comm, &r) != ncclSuccess || r != ncclSuccess)
                        return failed(n, "NCCL", r);
                if (stop_wanted()) {
                        if (!stopped)
                                stopped = clock_ns();
                        else if (clock_ns() - stopped > GRACE_NS)
                                return canceled(n);
                }
                if (i < SPINS)
                        continue;
                clock_sleep_ns(nap);
                if (nap < NAP_MAX_NS)
                        nap += nap / 4;
        }
}

/* Copies n bytes from the device; waits. */
static int fetch(struct nccl *n, void *to, const void *from, size_t bytes)
{
        int err = n->dev->get(to, from, bytes);
        int waited = n->dev->wait();
        return err ? err : waited;
}

static int share_device(struct coll *c, unsigned root, void *mem, size_t n)
{
        struct nccl *nc = of(c);
        if (!nc->comm)
                return -EIO;
        ncclResult_t r =
                ncclBroadcast(mem, mem, n, ncclChar, (int)root, nc->comm, nc->dev->stream());
        return r == ncclSuccess ? finish(nc) : failed(nc, "ncclBroadcast", r);
}

/* One piece of the buffer's size at most. */
static int share_piece(struct coll *c, unsigned root, void *p, size_t n)
{
        struct nccl *nc = of(c);
        int err = c->rank == root ? nc->dev->put(nc->buffer, p, n) : 0;

        if (!err)
                err = share_device(c, root, nc->buffer, n);
        return err || c->rank == root ? err : fetch(nc, p, nc->buffer, n);
}

static int nccl_share(struct coll *c, unsigned root, void *p, size_t n)
{
        int err = 0;
        for (size_t off = 0; off < n && !err; off += ROOM)
                err = share_piece(c, root, (char *)p + off, n - off < ROOM ? n - off : ROOM);
        return err;
}

static int nccl_bcast(struct coll *c, void *p, size_t n)
{
        return nccl_share(c, 0, p, n);
}

/* Bytes [off, off + len) of the n of each rank, of which the buffer holds len a rank. */
static int gather_piece(struct coll *c, const char *mine, size_t n, size_t off, size_t len,
                        char *all)
{
        struct nccl *nc = of(c);
        char *slot = (char *)nc->buffer + c->rank * len; /* in place, as ncclAllGather allows */
        int err = nc->dev->put(slot, mine + off, len);

        if (err)
                return err;
        ncclResult_t r =
                ncclAllGather(slot, nc->buffer, len, ncclChar, nc->comm, nc->dev->stream());
        err = r == ncclSuccess ? finish(nc) : failed(nc, "ncclAllGather", r);
        for (unsigned rank = 0; rank < c->ranks && !err; rank++)
                err = fetch(nc, all + rank * n + off, (char *)nc->buffer + rank * len, len);
        return err;
}

static int nccl_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        const size_t most = ROOM / c->ranks;
        int err = 0;
        for (size_t off = 0; off < n && !err; off += most)
                err = of(c)->comm
                              ? gather_piece(c, mine, n, off, n - off < most ? n - off : most, all)
                              : -EIO;
        return err;
}

static int nccl_max(struct coll *c, double *v, size_t n)
{
        struct nccl *nc = of(c);
        int err = nc->comm && n <= ROOM / sizeof *v ? 0 : -EIO;

        if (!err)
                err = nc->dev->put(nc->buffer, v, n * sizeof *v);
        if (err)
                return err;
        ncclResult_t r = ncclAllReduce(nc->buffer, nc->buffer, n, ncclDouble, ncclMax, nc->comm,
                                       nc->dev->stream());
        err = r == ncclSuccess ? finish(nc) : failed(nc, "ncclAllReduce", r);
        return err ? err : fetch(nc, v, nc->buffer, n * sizeof *v);
}

static int nccl_barrier(struct coll *c)
{
        double nothing = 0;
        int err = nccl_max(c, &nothing, 1);
        return err ? err : stop_wanted() ? -ECANCELED : 0;
}

static int nccl_init(struct coll *c, int *argc, char ***argv)
{
        return of(c)->before.ops->init(&of(c)->before, argc, argv);
}

static void nccl_version(char *out, size_t n)
{
        int v = 0;
        if (ncclGetVersion(&v) != ncclSuccess)
                v = 0;
        snprintf(out, n, "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}

static int nccl_split(struct coll *c, unsigned n, struct coll *out, bool *in)
{
        return of(c)->before.ops->split(&of(c)->before, n, out, in);
}

/* For CLEANUP(). */
static void nccl_free(struct nccl **n)
{
        if (*n && (*n)->buffer)
                (*n)->dev->release((*n)->buffer);
        free(*n);
}

static void nccl_drop(struct coll *c)
{
        struct nccl *n = of(c);
        struct coll before = n->before;

        if (n->comm) {
                ncclResult_t r = ncclCommDestroy(n->comm);
                if (r != ncclSuccess)
                        (void)dev_fail("ncclCommDestroy", ncclGetErrorString(r));
        }
        nccl_free(&n);
        *c = before;
        c->ops->drop(c);
}

static void nccl_finish(struct coll *c, int together)
{
        of(c)->before.ops->finish(&of(c)->before, together);
}

static const struct coll_ops coll_nccl = {
        .name = "nccl",
        .init = nccl_init,
        .version = nccl_version,
        .barrier = nccl_barrier,
        .max = nccl_max,
        .gather = nccl_gather,
        .bcast = nccl_bcast,
        .share = nccl_share,
        .share_device = share_device,
        .split = nccl_split,
        .drop = nccl_drop,
        .finish = nccl_finish,
};

/* -EOPNOTSUPP with `why` when two ranks have the same GPU, which NCCL does not take. */
static int check_places(struct coll *c, const struct dev_ops *dev, char *why, size_t nwhy)
{
        struct place mine;
        CLEANUP(freep) struct place *all = calloc(c->ranks, sizeof *all);
        int err = coll_agree(c, all ? 0 : -ENOMEM);

        memset(&mine, 0, sizeof mine);
        if (gethostname(mine.host, sizeof mine.host - 1))
                snprintf(mine.host, sizeof mine.host, "?");
        dev->id(mine.device);
        if (!err)
                err = c->ops->gather(c, &mine, sizeof mine, all);
        for (unsigned a = 0; a < c->ranks && !err; a++)
                for (unsigned b = a + 1; b < c->ranks && !err; b++) {
                        if (memcmp(&all[a], &all[b], sizeof mine))
                                continue;
                        snprintf(why, nwhy,
                                 "backend=nccl: ranks %u and %u share GPU %s: NCCL takes one rank "
                                 "a GPU: start fewer ranks, or give backend=gloo",
                                 a, b, all[a].device);
                        err = -EOPNOTSUPP;
                }
        return err;
}

/* The communicator of all ranks; the id comes from rank 0 over the carrier before. */
static int join(struct coll *c, struct nccl *n)
{
        ncclUniqueId id;
        ncclResult_t r = ncclSuccess;

        memset(&id, 0, sizeof id);
        if (c->rank == 0)
                r = ncclGetUniqueId(&id);
        int err = coll_agree(
                c, r == ncclSuccess ? 0 : dev_fail("ncclGetUniqueId", ncclGetErrorString(r)));
        if (!err)
                err = c->ops->bcast(c, &id, sizeof id);
        if (!err)
                r = ncclCommInitRank(&n->comm, (int)c->ranks, id, (int)c->rank);
        if (!err && r != ncclSuccess)
                err = dev_fail("ncclCommInitRank", ncclGetErrorString(r));
        return coll_agree(c, err);
}

int coll_nccl_carry(struct coll *c, char *why, size_t nwhy)
{
        const struct dev_ops *dev = dev_get();

        int err = coll_agree(c, dev && dev->stream() ? 0 : -EINVAL);
        if (err) {
                snprintf(
                        why, nwhy,
                        "backend=nccl moves bytes between GPUs: give device=cuda, or backend=gloo");
                return err;
        }
        err = check_places(c, dev, why, nwhy);
        if (err)
                return err;
        CLEANUP(nccl_free) struct nccl *n = calloc(1, sizeof *n);
        if (n)
                n->dev = dev;
        err = coll_agree(c, n ? dev->alloc(ROOM, &n->buffer) : -ENOMEM);
        if (!err)
                err = join(c, n);
        if (err) {
                snprintf(why, nwhy,
                         "backend=nccl: the ranks cannot be joined: see above, or give "
                         "backend=gloo");
                if (n && n->comm && ncclCommAbort(n->comm) != ncclSuccess)
                        err = -EIO;
                return err;
        }
        n->before = *c;
        c->ops = &coll_nccl;
        c->group = TAKE_PTR(n);
        return 0;
}
