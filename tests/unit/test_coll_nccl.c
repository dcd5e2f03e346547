/* SPDX-License-Identifier: Apache-2.0 */
/* test_coll_nccl.c: ranks over NCCL, one of which fails alone: it comes to where the others wait,
 * and none of them is left in a collective. The library, the device and the other rank are played
 * here. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/coll.h"
#include "bench/core/dev.h"
#include "bench/dev/dev_places.h"
#include "tests/lib/unit.h"
#include "tests/unit/nccl/nccl.h"

#include "base/banned.h"

enum { SIZE = 1024, POLLS = 3 };

/* What fails, and where. */
enum fault { NONE, QUEUE, PUT, GET, BEGIN, WAIT, LIBRARY, OTHER_FIRST, OTHER_LAST, ALARM };

static struct {
        enum fault fault;
        unsigned met, begun, aborted, alarms, polls;
        void *behind; /* the event that the library's stream waits for */
} now;

/* --- the library --- */

ncclResult_t ncclGetVersion(int *out)
{
        *out = 22000;
        return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t r)
{
        return r == ncclSuccess ? "none" : "as the test wants it";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
        memset(out, 1, sizeof *out);
        return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank)
{
        static char one;
        (void)ranks;
        (void)id;
        (void)rank;
        *out = (ncclComm_t)&one;
        return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out)
{
        (void)comm;
        *out = now.fault == LIBRARY ? ncclSystemError : ncclSuccess;
        return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
        (void)comm;
        now.aborted++;
        return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
        (void)comm;
        return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, void *stream)
{
        (void)from;
        (void)to;
        (void)n;
        (void)type;
        (void)root;
        (void)comm;
        (void)stream;
        now.begun++;
        return now.fault == BEGIN ? ncclSystemError : ncclSuccess;
}

/* The sum of both ranks: the other one has what this one has. */
static ncclResult_t sum(const float *from, float *to, size_t n, ncclDataType_t type, ncclRedOp_t op)
{
        ck_assert(now.behind && type == ncclFloat && op == ncclSum);
        now.begun++;
        for (size_t i = 0; i < n && now.fault != BEGIN; i++)
                to[i] = 2 * from[i];
        return now.fault == BEGIN ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, void *stream)
{
        (void)comm;
        (void)stream;
        return sum(from, to, n, type, op);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t n, ncclDataType_t type,
                           ncclComm_t comm, void *stream)
{
        (void)comm;
        (void)stream;
        ck_assert(type == ncclFloat);
        now.begun++;
        if (now.fault != BEGIN)
                memcpy((float *)to + n, from, n * sizeof(float));
        return now.fault == BEGIN ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t n, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, void *stream)
{
        (void)comm;
        (void)stream;
        return sum((const float *)from + n, to, n, type, op);
}

/* The build gives these two another name than the loader's. */
void *dlopen(const char *name, int flags)
{
        static char library;
        (void)name;
        (void)flags;
        return &library;
}

void *dlsym(void *library, const char *name)
{
        static const struct {
                const char *name;
                void (*call)(void);
        } calls[] = {
                {"ncclGetVersion", (void (*)(void))ncclGetVersion},
                {"ncclGetErrorString", (void (*)(void))ncclGetErrorString},
                {"ncclGetUniqueId", (void (*)(void))ncclGetUniqueId},
                {"ncclCommInitRank", (void (*)(void))ncclCommInitRank},
                {"ncclCommGetAsyncError", (void (*)(void))ncclCommGetAsyncError},
                {"ncclCommAbort", (void (*)(void))ncclCommAbort},
                {"ncclCommDestroy", (void (*)(void))ncclCommDestroy},
                {"ncclAllGather", (void (*)(void))ncclAllGather},
                {"ncclReduceScatter", (void (*)(void))ncclReduceScatter},
                {"ncclBroadcast", (void (*)(void))ncclBroadcast},
                {"ncclAllReduce", (void (*)(void))ncclAllReduce},
        };
        void *found = NULL;
        (void)library;
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
                if (!strcmp(calls[i].name, name))
                        memcpy(&found, &calls[i].call, sizeof found);
        return found;
}

/* --- the device --- */

static void get_id(char out[DEV_ID_MAX])
{
        memset(out, 0, DEV_ID_MAX);
}

static int get_memory(size_t n, void **out)
{
        *out = malloc(n);
        return *out ? 0 : -ENOMEM;
}

static int put(void *to, const void *from, size_t n)
{
        memcpy(to, from, n);
        return now.fault == PUT ? -EIO : 0;
}

static int get(void *to, const void *from, size_t n)
{
        memcpy(to, from, n);
        return now.fault == GET ? -EIO : 0;
}

static int waited(void)
{
        return 0;
}

static void *stream(void)
{
        static char one;
        return &one;
}

static int stream_after(void)
{
        return now.fault == QUEUE ? -EIO : 0;
}

static int stream_behind(void *event)
{
        now.behind = event;
        return now.fault == QUEUE ? -EIO : 0;
}

/* A broadcast whose other rank has failed never ends. */
static int stream_idle(void)
{
        if (now.fault == WAIT)
                return -EIO;
        return now.fault == LIBRARY || now.fault == ALARM || now.polls++ < POLLS ? -EAGAIN : 0;
}

const struct dev_ops *dev_get(void)
{
        static const struct dev_ops device = {
                .id = get_id,
                .alloc = get_memory,
                .release = free,
                .put = put,
                .get = get,
                .wait = waited,
                .stream = stream,
                .stream_after = stream_after,
                .stream_behind = stream_behind,
                .stream_idle = stream_idle,
        };
        return &device;
}

int dev_fail(const char *what, const char *text)
{
        (void)what;
        (void)text;
        return -EIO;
}

/* --- the other rank --- */

static int meet(struct coll *c, double *v, size_t n)
{
        (void)c;
        now.met++;
        if (now.fault == (now.met == 1 ? OTHER_FIRST : OTHER_LAST) && *v < EIO && n == 1)
                *v = EIO;
        return 0;
}

static int gather(struct coll *c, const void *mine, size_t n, void *all)
{
        struct dev_place *v = all;
        for (unsigned i = 0; i < c->ranks; i++) {
                memcpy(&v[i], mine, n);
                v[i].device[0] = (char)('0' + i);
        }
        return 0;
}

static int tell(struct coll *c, void *p, size_t n)
{
        (void)c;
        memset(p, 1, n);
        return 0;
}

static void alarm_others(struct coll *c, unsigned serial)
{
        (void)c;
        now.alarms += serial > 0;
}

static bool alarmed(struct coll *c, unsigned serial)
{
        (void)c;
        return now.fault == ALARM && serial && ++now.polls > POLLS;
}

static void drop(struct coll *c)
{
        *c = (struct coll){0};
}

static struct coll joined(unsigned rank)
{
        static const struct coll_ops carrier = {
                .max = meet,
                .gather = gather,
                .bcast = tell,
                .alarm = alarm_others,
                .alarmed = alarmed,
                .drop = drop,
        };
        struct coll c = {.ops = &carrier, .rank = rank, .ranks = 2};
        char why[512];

        memset(&now, 0, sizeof now);
        ck_assert_int_eq(coll_nccl_carry(&c, why, sizeof why), 0);
        now.met = 0;
        return c;
}

/* A rank meets the others before a broadcast, and behind one that was begun. */
static const struct {
        enum fault fault;
        unsigned met, begun, aborted, alarms;
} ends[] = {
        {NONE, 2, 1, 0, 0},  {QUEUE, 1, 0, 1, 0},      {OTHER_FIRST, 1, 0, 1, 0},
        {BEGIN, 2, 1, 1, 1}, {WAIT, 2, 1, 1, 1},       {LIBRARY, 2, 1, 1, 1},
        {ALARM, 2, 1, 1, 0}, {OTHER_LAST, 2, 1, 1, 0},
};

enum what { SHARE, SUM, SCATTER, GATHER };

/* In rank 1: a broadcast; the sum of what lies behind a mark; that of the second half, to its own
 * place; or a gather from there. */
static int move(struct coll *c, enum what what, float *mem)
{
        static char mark;
        int own = 0, err;

        if (what == SUM)
                err = c->ops->sum_device(c, mem, SIZE, &mark, &own);
        else if (what == SCATTER)
                err = c->ops->scatter_device(c, mem, mem + SIZE / 2, SIZE / 2, &mark, &own);
        else if (what == GATHER)
                err = c->ops->gather_device(c, mem + SIZE / 2, SIZE / 2, mem, &own);
        else
                err = c->ops->share_device(c, 0, mem, SIZE * sizeof *mem);
        ck_assert_int_eq(own, 0);
        ck_assert(what == SHARE || what == GATHER || !now.begun || now.behind == &mark);
        return err;
}

static void end_everywhere(int i, enum what what)
{
        const bool sums = what == SUM || what == SCATTER;
        static float mem[SIZE];
        struct coll c = joined(1);

        mem[SIZE - 1] = 3;
        now.fault = ends[i].fault;
        ck_assert_int_eq(move(&c, what, mem), now.fault == NONE ? 0 : -EIO);
        ck_assert_uint_eq(now.met, ends[i].met);
        ck_assert_uint_eq(now.begun, ends[i].begun);
        ck_assert_uint_eq(now.aborted, ends[i].aborted);
        ck_assert_uint_eq(now.alarms, ends[i].alarms);
        if (now.fault == NONE)
                ck_assert_float_eq(mem[SIZE - 1], sums ? 6 : 3);
        if (now.aborted) { /* the next one is not begun, and the others hear of it */
                now.fault = NONE;
                now.met = now.begun = 0;
                ck_assert_int_eq(move(&c, what, mem), -EIO);
                ck_assert_uint_eq(now.met, 1);
                ck_assert_uint_eq(now.begun, 0);
        }
        c.ops->drop(&c);
}

START_TEST(an_error_of_one_rank_ends_a_broadcast_in_all)
{
        end_everywhere(_i, SHARE);
}
END_TEST

START_TEST(an_error_of_one_rank_ends_a_sum_in_all)
{
        end_everywhere(_i, SUM);
}
END_TEST

START_TEST(an_error_of_one_rank_ends_a_scattered_sum_in_all)
{
        end_everywhere(_i, SCATTER);
}
END_TEST

START_TEST(an_error_of_one_rank_ends_a_gather_in_all)
{
        end_everywhere(_i, GATHER);
}
END_TEST

START_TEST(a_copy_that_fails_in_one_rank_is_heard_by_all)
{
        static char mem[SIZE];
        struct coll c = joined(0);

        now.fault = PUT;
        ck_assert_int_eq(c.ops->share(&c, 0, mem, SIZE), -EIO);
        ck_assert_uint_eq(now.met, 1);
        ck_assert_uint_eq(now.begun, 0);
        c.ops->drop(&c);

        c = joined(1);
        now.fault = GET;
        ck_assert_int_eq(c.ops->share(&c, 0, mem, SIZE), -EIO);
        ck_assert_uint_eq(now.met, 3);
        ck_assert_uint_eq(now.begun, 1);
        c.ops->drop(&c);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("coll_nccl");
        TCase *t = tcase_create("coll_nccl");
        tcase_add_loop_test(t, an_error_of_one_rank_ends_a_broadcast_in_all, 0,
                            sizeof ends / sizeof *ends);
        tcase_add_loop_test(t, an_error_of_one_rank_ends_a_sum_in_all, 0,
                            sizeof ends / sizeof *ends);
        tcase_add_loop_test(t, an_error_of_one_rank_ends_a_scattered_sum_in_all, 0,
                            sizeof ends / sizeof *ends);
        tcase_add_loop_test(t, an_error_of_one_rank_ends_a_gather_in_all, 0,
                            sizeof ends / sizeof *ends);
        tcase_add_test(t, a_copy_that_fails_in_one_rank_is_heard_by_all);
        suite_add_tcase(s, t);
        return unit_main(s);
}
