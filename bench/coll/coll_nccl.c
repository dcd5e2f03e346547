/* SPDX-License-Identifier: Apache-2.0 */
/* coll_nccl.c: ranks over NCCL, the one file that knows it: bulk between GPUs.
 *
 * NCCL carries bytes and nothing else. Ids, agreement, maxima, gathers and barriers stay with the
 * carrier that was there before: a rank whose GPU has failed can still speak there. Before each
 * broadcast, and each sum, all ranks agree to take part. A rank that fails after that sounds the
 * alarm, which the others hear while they wait, and all of them abort the communicator.
 *
 * The library is loaded when it is asked for, so that a program built with it runs without. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nccl.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/coll.h"
#include "bench/core/dev.h"
#include "bench/dev/dev_places.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum {
        SPINS = 200,
        NAP_MIN_NS = 20 * 1000,
        NAP_MAX_NS = 1000 * 1000,
        GRACE_NS = 300 * 1000 * 1000, /* after a signal the others have this long to come */
        ROOM = 16 << 20               /* of the buffer; what is larger goes in pieces */
};

#define NCCL_CALLS(CALL)                                                                           \
        CALL(GetVersion)                                                                           \
        CALL(GetErrorString)                                                                       \
        CALL(GetUniqueId)                                                                          \
        CALL(CommInitRank)                                                                         \
        CALL(CommGetAsyncError)                                                                    \
        CALL(CommAbort)                                                                            \
        CALL(CommDestroy)                                                                          \
        CALL(Broadcast)                                                                            \
        CALL(AllGather)                                                                            \
        CALL(ReduceScatter)                                                                        \
        CALL(AllReduce)

/* The library's functions, without their prefix; all or none are there. */
#define NCCL_POINTER(name) __typeof__(nccl##name) *name;
static struct {
        bool loaded;
        NCCL_CALLS(NCCL_POINTER)
} api;

struct nccl {
        struct coll before; /* who carries all but bulk */
        const struct dev_ops *dev;
        ncclComm_t comm; /* NULL: it failed and was aborted */
        unsigned serial; /* of this communicator, the same in all ranks: whose alarm it is */
        /* ROOM bytes on the device, from the start: a rank that had to ask for memory later, and
         * got none, would leave the others waiting. */
        void *buffer;
};

/* 0, or -EOPNOTSUPP with one line in `why`. */
static int load(char *why, size_t nwhy)
{
        static const char *const names[] = {
                "libnccl.so.2",
#ifdef NCCL_LIBRARY
                NCCL_LIBRARY,
#endif
        };
        void *lib = NULL;

        for (size_t i = 0; i < sizeof names / sizeof names[0] && !lib && !api.loaded; i++)
                lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* stays until the end */
        bool all = api.loaded || lib;
#define NCCL_FIND(name)                                                                            \
        if (lib)                                                                                   \
                all &= (*(void **)&api.name = dlsym(lib, "nccl" #name)) != NULL;
        NCCL_CALLS(NCCL_FIND)
        api.loaded = all;
        if (!all)
                snprintf(why, nwhy,
                         "backend=nccl: %s: install NCCL 2, name its directory in LD_LIBRARY_PATH, "
                         "or give backend=gloo",
                         lib ? "libnccl.so.2 lacks a function" : "libnccl.so.2 is not found");
        return all ? 0 : -EOPNOTSUPP;
}

static struct nccl *of(const struct coll *c)
{
        return c->group;
}

/* Nothing goes over this communicator any more. */
static void abort_comm(struct nccl *n)
{
        if (n->comm && api.CommAbort(n->comm) != ncclSuccess)
                (void)dev_fail("ncclCommAbort", "failed");
        n->comm = NULL;
}

/* After an error of our own. */
static int failed(struct nccl *n, const char *what, ncclResult_t r)
{
        n->before.ops->alarm(&n->before, n->serial);
        return dev_fail(what, api.GetErrorString(r));
}

/* Waits for what was queued, unless it fails here or elsewhere. */
static int finish(struct nccl *n)
{
        uint64_t stopped = 0, nap = NAP_MIN_NS;
        ncclResult_t r = ncclSuccess;

        for (unsigned i = 0;; i++) {
                int err = n->dev->stream_idle();
                if (err && err != -EAGAIN)
                        n->before.ops->alarm(&n->before, n->serial);
                if (err != -EAGAIN)
                        return err;
                if (api.CommGetAsyncError(n->comm, &r) != ncclSuccess || r != ncclSuccess)
                        return failed(n, "NCCL", r);
                if (n->before.ops->alarmed(&n->before, n->serial))
                        return -EIO;
                if (signal_came()) {
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

/* What all ranks do: n bytes of the device from rank `root` to all, or the sum, the scattered sum
 * or the gather of n floats of each; behind the mark, or what this thread has queued. */
struct bulk {
        enum { SHARES, SUMS, SCATTERS, GATHERS } kind;
        unsigned root;
        const void *from;
        void *to;
        size_t n;
        void *behind;
};

static int begin(struct nccl *nc, const struct bulk *b)
{
        static const char *const names[] = {[SHARES] = "ncclBroadcast",
                                            [SUMS] = "ncclAllReduce",
                                            [SCATTERS] = "ncclReduceScatter",
                                            [GATHERS] = "ncclAllGather"};
        void *const stream = nc->dev->stream();
        ncclResult_t r;

        if (b->kind == SUMS)
                r = api.AllReduce(b->from, b->to, b->n, ncclFloat, ncclSum, nc->comm, stream);
        else if (b->kind == SCATTERS)
                r = api.ReduceScatter(b->from, b->to, b->n, ncclFloat, ncclSum, nc->comm, stream);
        else if (b->kind == GATHERS)
                r = api.AllGather(b->from, b->to, b->n, ncclFloat, nc->comm, stream);
        else
                r = api.Broadcast(b->from, b->to, b->n, ncclChar, (int)b->root, nc->comm, stream);
        return r == ncclSuccess ? 0 : failed(nc, names[b->kind], r);
}

/* `err` is how it went in this rank until here. Returns the same in all ranks, and after an error
 * nothing more goes. */
static int move(struct coll *c, const struct bulk *b, int err)
{
        struct nccl *nc = of(c);

        if (!err && !nc->comm)
                err = -EIO;
        if (!err)
                err = b->behind ? nc->dev->stream_behind(b->behind) : nc->dev->stream_after();
        err = coll_agree(&nc->before, err);
        if (!err) {
                err = begin(nc, b);
                if (!err)
                        err = finish(nc);
                if (err) /* or its kernels would keep the stream busy */
                        abort_comm(nc);
                err = coll_agree(&nc->before, err);
        }
        if (err)
                abort_comm(nc);
        return err;
}

static int share_device(struct coll *c, unsigned root, void *mem, size_t n)
{
        const struct bulk b = {.root = root, .from = mem, .to = mem, .n = n};
        return move(c, &b, 0);
}

/* What fails in one of the following all ranks hear of. */
static int sum_device(struct coll *c, float *mem, size_t n, void *behind, int *own)
{
        const struct bulk b = {.kind = SUMS, .from = mem, .to = mem, .n = n, .behind = behind};

        (void)own;
        return move(c, &b, 0);
}

static int scatter_device(struct coll *c, float *all, float *mine, size_t n, void *behind, int *own)
{
        const struct bulk b = {.kind = SCATTERS, .from = all, .to = mine, .n = n, .behind = behind};

        (void)own;
        return move(c, &b, 0);
}

static int gather_device(struct coll *c, const float *mine, size_t n, float *all, int *own)
{
        const struct bulk b = {.kind = GATHERS, .from = mine, .to = all, .n = n};

        (void)own;
        return move(c, &b, 0);
}

/* Copies n bytes from the device; waits. */
static int fetch(struct nccl *n, void *to, size_t bytes)
{
        int err = n->dev->get(to, n->buffer, bytes);
        int waited = n->dev->wait();
        return err ? err : waited;
}

/* Host memory goes through the buffer. What fails in one rank is heard with the next piece. */
static int nccl_share(struct coll *c, unsigned root, void *p, size_t n)
{
        struct nccl *nc = of(c);
        int own = 0, err = 0;

        for (size_t off = 0; off < n && !err; off += ROOM) {
                const size_t len = n - off < ROOM ? n - off : ROOM;
                const struct bulk b = {
                        .root = root, .from = nc->buffer, .to = nc->buffer, .n = len};
                if (c->rank == root)
                        own = nc->dev->put(nc->buffer, (char *)p + off, len);
                err = move(c, &b, own);
                if (!err && c->rank != root)
                        own = fetch(nc, (char *)p + off, len);
        }
        return err ? err : coll_agree(&nc->before, own);
}

static int nccl_bcast(struct coll *c, void *p, size_t n)
{
        return of(c)->before.ops->bcast(&of(c)->before, p, n);
}

static int nccl_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        return of(c)->before.ops->gather(&of(c)->before, mine, n, all);
}

static int nccl_max(struct coll *c, double *v, size_t n)
{
        return of(c)->before.ops->max(&of(c)->before, v, n);
}

static int nccl_sum(struct coll *c, float *v, size_t n)
{
        return of(c)->before.ops->sum(&of(c)->before, v, n);
}

static int nccl_sum_scatter(struct coll *c, float *all, float *mine, size_t n)
{
        return of(c)->before.ops->sum_scatter(&of(c)->before, all, mine, n);
}

static int nccl_barrier(struct coll *c)
{
        return of(c)->before.ops->barrier(&of(c)->before);
}

static void nccl_alarm(struct coll *c, unsigned serial)
{
        of(c)->before.ops->alarm(&of(c)->before, serial);
}

static bool nccl_alarmed(struct coll *c, unsigned serial)
{
        return of(c)->before.ops->alarmed(&of(c)->before, serial);
}

static int nccl_init(struct coll *c, int *argc, char ***argv)
{
        return of(c)->before.ops->init(&of(c)->before, argc, argv);
}

static void nccl_version(char *out, size_t n)
{
        int v = 0;
        if (!api.loaded || api.GetVersion(&v) != ncclSuccess)
                v = 0;
        snprintf(out, n, "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}

void coll_nccl_library(char *out, size_t n)
{
        char why[256];
        if (load(why, sizeof why))
                snprintf(out, n, "not found");
        else
                nccl_version(out, n);
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
                ncclResult_t r = api.CommDestroy(n->comm);
                if (r != ncclSuccess)
                        (void)dev_fail("ncclCommDestroy", api.GetErrorString(r));
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
        .sum = nccl_sum,
        .sum_scatter = nccl_sum_scatter,
        .gather = nccl_gather,
        .bcast = nccl_bcast,
        .share = nccl_share,
        .share_device = share_device,
        .sum_device = sum_device,
        .scatter_device = scatter_device,
        .gather_device = gather_device,
        .alarm = nccl_alarm,
        .alarmed = nccl_alarmed,
        .split = nccl_split,
        .drop = nccl_drop,
        .finish = nccl_finish,
};

/* -EOPNOTSUPP with `why` when two ranks have the same GPU, which NCCL does not take. */
static int check_places(struct coll *c, char *why, size_t nwhy)
{
        CLEANUP(freep) struct dev_place *all = NULL;
        unsigned a, b;

        int err = dev_places(c, &all);
        if (err || dev_places_shared(all, c->ranks, &a, &b) < 2)
                return err;
        snprintf(why, nwhy,
                 "backend=nccl: ranks %u and %u share GPU %s: NCCL takes one rank a GPU: start "
                 "fewer ranks, or give backend=gloo",
                 a, b, all[a].device);
        return -EOPNOTSUPP;
}

/* The communicator of all ranks; the id comes from rank 0 over the carrier before. */
static int join(struct coll *c, struct nccl *n)
{
        static unsigned joined; /* the same in all ranks: each call is all ranks' */
        ncclUniqueId id;
        ncclResult_t r = ncclSuccess;

        memset(&id, 0, sizeof id);
        n->serial = ++joined;
        if (c->rank == 0)
                r = api.GetUniqueId(&id);
        int err = coll_agree(
                c, r == ncclSuccess ? 0 : dev_fail("ncclGetUniqueId", api.GetErrorString(r)));
        if (!err)
                err = c->ops->bcast(c, &id, sizeof id);
        if (!err)
                r = api.CommInitRank(&n->comm, (int)c->ranks, id, (int)c->rank);
        if (!err && r != ncclSuccess)
                err = dev_fail("ncclCommInitRank", api.GetErrorString(r));
        return coll_agree(c, err);
}

/* Loads the library in all ranks or in none. The first rank that cannot says why, or rank 0. */
static int load_all(struct coll *c, char *why, size_t nwhy)
{
        char own[256] = "";
        int mine = load(own, sizeof own);
        int err = coll_agree(c, mine);

        if (err)
                snprintf(why, nwhy, "%s",
                         mine ? own
                              : "backend=nccl: another rank cannot load libnccl.so.2: install NCCL "
                                "2 on every machine, or give backend=gloo");
        return err;
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
        err = load_all(c, why, nwhy);
        if (!err)
                err = check_places(c, why, nwhy);
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
                if (n)
                        abort_comm(n);
                return err;
        }
        n->before = *c;
        c->ops = &coll_nccl;
        c->group = TAKE_PTR(n);
        return 0;
}
