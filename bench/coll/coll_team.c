/* SPDX-License-Identifier: Apache-2.0 */
/* coll_team.c: see coll_team.h. */
#include "bench/coll/coll_team.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/dev.h"

#include "base/banned.h"

static struct coll_member *of(const struct coll *c)
{
        return c->group;
}

/* Waits for the others. */
static void meet(struct coll_team *t)
{
        mutex_lock(&t->mtx);
        const uint64_t round = t->locked.round;
        if (++t->locked.came == t->n) {
                t->locked.came = 0;
                t->locked.round++;
                pthread_cond_broadcast(&t->all);
        }
        while (t->locked.round == round)
                mutex_wait(&t->all, &t->mtx);
        mutex_unlock(&t->mtx);
}

/* Joins what all have brought in the first one's memory, and has that joined with other ranks'. */
typedef int join_fn(struct coll_team *t, size_t n);

static int join_max(struct coll_team *t, size_t n)
{
        double *to = t->member[0].mine;

        for (unsigned i = 1; i < t->n; i++) {
                const double *v = t->member[i].mine;
                for (size_t k = 0; k < n; k++)
                        to[k] = v[k] > to[k] ? v[k] : to[k];
        }
        return t->ranks->ops->max(t->ranks, to, n);
}

static int join_sum(struct coll_team *t, size_t n)
{
        float *to = t->member[0].mine;

        for (unsigned i = 1; i < t->n; i++) {
                const float *v = t->member[i].mine;
                for (size_t k = 0; k < n; k++)
                        to[k] += v[k];
        }
        return t->ranks->ops->sum(t->ranks, to, n);
}

static int join_nothing(struct coll_team *t, size_t n)
{
        (void)n;
        return t->ranks->ops->barrier(t->ranks);
}

/* Each ends with the joined n elements of that size. */
static int join(struct coll *c, void *mine, size_t n, size_t size, join_fn *fn)
{
        struct coll_member *m = of(c);
        struct coll_team *t = m->team;

        m->mine = mine;
        meet(t);
        if (m == t->member)
                t->err = fn(t, n);
        meet(t);
        const int err = t->err;
        if (!err && n && m != t->member)
                memcpy(mine, t->member[0].mine, n * size);
        meet(t); /* the first goes on to use its memory */
        return err;
}

static int team_max(struct coll *c, double *v, size_t n)
{
        return join(c, v, n, sizeof *v, join_max);
}

static int team_sum(struct coll *c, float *v, size_t n)
{
        return join(c, v, n, sizeof *v, join_sum);
}

static int team_barrier(struct coll *c)
{
        return join(c, NULL, 0, 0, join_nothing);
}

/* What goes to other ranks, and what comes from them, has room in the second one's `all`. */
static int team_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        struct coll_member *m = of(c);
        struct coll_team *t = m->team;
        struct coll *ranks = t->ranks;
        const size_t number = (size_t)(m - t->member);

        m->all = all;
        meet(t);
        memcpy((char *)t->member[1].all + number * n, mine, n);
        meet(t);
        if (!number)
                t->err = ranks->ops->gather(ranks, t->member[1].all, t->n * n, all);
        meet(t);
        const int err = t->err;
        if (!err && number)
                memcpy(all, t->member[0].all, c->ranks * n);
        meet(t); /* the first goes on to use its memory */
        return err;
}

/* Values [from, until) of the first one's `all` become the sum of all threads'. */
static void add_up(struct coll_team *t, size_t from, size_t until)
{
        float *to = t->member[0].all;

        for (unsigned i = 1; i < t->n; i++) {
                const float *v = t->member[i].all;
                for (size_t k = from; k < until; k++)
                        to[k] += v[k];
        }
}

static int team_sum_scatter(struct coll *c, float *all, float *mine, size_t n)
{
        struct coll_member *m = of(c);
        struct coll_team *t = m->team;
        struct coll *ranks = t->ranks;
        const size_t number = (size_t)(m - t->member), share = ranks->ranks * n;

        m->all = all;
        meet(t);
        add_up(t, number * share, (number + 1) * share);
        meet(t);
        if (!number)
                t->err = ranks->ops->sum_scatter(ranks, all, t->member[1].all, t->n * n);
        meet(t);
        const int err = t->err;
        if (!err)
                memcpy(mine, (float *)t->member[1].all + number * n, n * sizeof *mine);
        meet(t); /* the second goes on to use its memory */
        return err;
}

/* --- in the memory of devices --- */

/* A device that fails lets its thread go on, so that no other waits in vain. */
static void keep(int *own, int err)
{
        if (!*own)
                *own = err;
}

/* Values [at, at + n) of all threads' memory, in the order of their numbers, to `to`. */
static int join_all(const struct coll_team *t, float *to, size_t at, size_t n)
{
        const float *from[COLL_TEAM_MAX];

        for (unsigned i = 0; i < t->n; i++)
                from[i] = (const float *)t->member[i].mine + at;
        return t->memory.join(to, from, t->n, n);
}

static int copy(const struct coll_team *t, float *to, const float *from, size_t n)
{
        return t->memory.join(to, &from, 1, n);
}

/* The sum of all ranks, of the first one's memory. */
static int sum_of_ranks(struct coll_team *t, float *mem, size_t n, int *own)
{
        const size_t most = COLL_TEAM_ROOM / sizeof *mem;
        struct coll *c = t->ranks;
        int err = 0;

        if (c->ops->sum_device)
                return c->ops->sum_device(c, mem, n, NULL, own);
        for (size_t at = 0; at < n && !err; at += most) {
                const size_t some = n - at < most ? n - at : most;
                keep(own, t->memory.get(t->room, mem + at, some * sizeof *mem, NULL));
                err = c->ops->sum(c, t->room, some);
                if (!err && !*own)
                        keep(own, t->memory.put(mem + at, t->room, some * sizeof *mem));
        }
        return err;
}

/* Each thread adds up a run of all, which no other touches, and puts it where it belongs. */
static int team_sum_device(struct coll *c, float *mem, size_t n, void *behind, int *own)
{
        struct coll_member *m = of(c);
        struct coll_team *t = m->team;
        const size_t number = (size_t)(m - t->member), run = n / t->n;
        const size_t at = number * run, len = number + 1 == t->n ? n - at : run;
        const bool others = t->ranks->ranks > 1;

        keep(own, t->memory.reach(behind));
        m->mine = mem;
        meet(t);
        float *const to = (float *)t->member[others ? 0 : number].mine + at;
        keep(own, join_all(t, to, at, len));
        for (unsigned i = 0; i < t->n && !others; i++)
                if (i != number)
                        keep(own, copy(t, (float *)t->member[i].mine + at, to, len));
        meet(t);
        if (!others)
                return 0;
        if (!number)
                t->err = sum_of_ranks(t, mem, n, own);
        meet(t);
        const int err = t->err;
        if (!err && number)
                keep(own, copy(t, mem, t->member[0].mine, n));
        meet(t); /* the first goes on to use its memory */
        return err;
}

/* The runs of this rank, and then those of all, come together in the first one's `all`. */
static int team_gather_device(struct coll *c, const float *mine, size_t n, float *all, int *own)
{
        struct coll_member *m = of(c);
        struct coll_team *t = m->team;
        struct coll *ranks = t->ranks;
        const size_t number = (size_t)(m - t->member), here = (size_t)ranks->rank * t->n * n;
        const bool others = ranks->ranks > 1;

        m->mine = all;
        meet(t);
        for (unsigned i = 0; i < (others ? 1 : t->n); i++)
                keep(own, copy(t, (float *)t->member[i].mine + here + number * n, mine, n));
        meet(t);
        if (!others)
                return 0;
        if (!number)
                t->err = ranks->ops->gather_device(ranks, all + here, t->n * n, all, own);
        meet(t);
        const int err = t->err;
        if (!err && number)
                keep(own, copy(t, all, t->member[0].mine, c->ranks * n));
        meet(t); /* the first goes on to use its memory */
        return err;
}

static int team_scatter_device(struct coll *c, float *all, float *mine, size_t n, void *behind,
                               int *own)
{
        struct coll_member *m = of(c);
        struct coll_team *t = m->team;
        struct coll *ranks = t->ranks;
        const size_t number = (size_t)(m - t->member), share = ranks->ranks * n;
        const size_t here = (size_t)ranks->rank * t->n * n;

        keep(own, t->memory.reach(behind));
        m->mine = all;
        meet(t);
        if (ranks->ranks == 1) {
                keep(own, join_all(t, mine, number * n, n));
                meet(t); /* nobody reads this thread's any more */
                return 0;
        }
        float *const first = t->member[0].mine;
        keep(own, join_all(t, first + number * share, number * share, share));
        meet(t);
        if (!number)
                t->err = ranks->ops->scatter_device(ranks, all, all + here, t->n * n, NULL, own);
        meet(t);
        const int err = t->err;
        if (!err)
                keep(own, copy(t, mine, first + here + number * n, n));
        meet(t);
        return err;
}

/* --- what threads do not ask of each other --- */

static int team_init(struct coll *c, int *argc, char ***argv)
{
        (void)c;
        (void)argc;
        (void)argv;
        return -EOPNOTSUPP;
}

static void team_version(char *out, size_t n)
{
        snprintf(out, n, "threads");
}

static int team_bcast(struct coll *c, void *p, size_t n)
{
        (void)c;
        (void)p;
        (void)n;
        return -EOPNOTSUPP;
}

static int team_share(struct coll *c, unsigned root, void *p, size_t n)
{
        (void)root;
        return team_bcast(c, p, n);
}

static void team_alarm(struct coll *c, unsigned serial)
{
        of(c)->team->ranks->ops->alarm(of(c)->team->ranks, serial);
}

static bool team_alarmed(struct coll *c, unsigned serial)
{
        return of(c)->team->ranks->ops->alarmed(of(c)->team->ranks, serial);
}

static int team_split(struct coll *c, unsigned n, struct coll *out, bool *in)
{
        (void)c;
        (void)n;
        *out = (struct coll){0};
        *in = false;
        return -EOPNOTSUPP;
}

static void team_drop(struct coll *part)
{
        (void)part;
}

static void team_finish(struct coll *c, int together)
{
        (void)c;
        (void)together;
}

static const struct coll_ops coll_of_team = {
        .name = "team",
        .init = team_init,
        .version = team_version,
        .barrier = team_barrier,
        .max = team_max,
        .sum = team_sum,
        .sum_scatter = team_sum_scatter,
        .gather = team_gather,
        .bcast = team_bcast,
        .share = team_share,
        .alarm = team_alarm,
        .alarmed = team_alarmed,
        .split = team_split,
        .drop = team_drop,
        .finish = team_finish,
};

/* Of the slots of devices those that it can fill. */
static int take_memory(struct coll_team *t, const struct coll_memory *memory)
{
        const struct coll *c = t->ranks;

        t->memory = *memory;
        t->ops.sum_device = team_sum_device;
        if (c->ranks == 1 || c->ops->gather_device) {
                t->ops.gather_device = team_gather_device;
                t->ops.scatter_device = team_scatter_device;
        }
        if (c->ranks == 1 || c->ops->sum_device)
                return 0;
        t->room = (float *)dev_buffer(COLL_TEAM_ROOM);
        return t->room ? 0 : -ENOMEM;
}

int coll_team_init(struct coll_team *t, unsigned n, struct coll *c,
                   const struct coll_memory *memory)
{
        *t = (struct coll_team){
                .ranks = c, .n = n, .ops = coll_of_team, .member = calloc(n, sizeof *t->member)};
        mutex_init(&t->mtx, LOCK_BENCH);
        pthread_cond_init(&t->all, NULL);
        for (unsigned i = 0; i < n && t->member; i++) {
                struct coll_member *m = &t->member[i];
                m->team = t;
                m->coll = (struct coll){.ops = &t->ops,
                                        .rank = c->rank * n + i,
                                        .ranks = c->ranks * n,
                                        .host_rank = c->host_rank * n + i,
                                        .host_ranks = c->host_ranks * n,
                                        .any_thread = c->any_thread,
                                        .group = m};
        }
        return !t->member ? -ENOMEM : memory ? take_memory(t, memory) : 0;
}

void coll_team_release(struct coll_team *t)
{
        dev_buffer_free((char *)t->room, COLL_TEAM_ROOM);
        t->room = NULL;
        free(t->member);
        t->member = NULL;
}
