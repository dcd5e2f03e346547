/* SPDX-License-Identifier: Apache-2.0 */
/* replicas.c: see replicas.h. */
#include "bench/train/replicas.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/banned.h"

unsigned replicas_count(const struct train_setup *s)
{
        return s->stages || !s->devices ? 1 : s->devices;
}

/* That of one of them. */
static struct train_setup setup_of(const struct train_setup *s, unsigned number)
{
        const unsigned n = replicas_count(s);
        struct train_setup one = *s;

        if (n == 1)
                return one;
        one.batch = s->batch / n;
        one.device = number;
        one.devices = 1;
        return one;
}

uint64_t replicas_bytes(const struct train_setup *s, unsigned ranks)
{
        const unsigned n = replicas_count(s);
        const struct train_setup one = setup_of(s, 0);

        return n * trainer_bytes(&one, ranks * n) + (n > 1 && ranks > 1 ? COLL_TEAM_ROOM : 0);
}

uint64_t replicas_pass_bytes(const struct train_setup *s)
{
        const struct train_setup one = setup_of(s, 0);
        return replicas_count(s) * trainer_pass_bytes(&one);
}

uint64_t replicas_host_bytes(const struct train_setup *s, unsigned ranks)
{
        const unsigned n = replicas_count(s);
        const struct train_setup one = setup_of(s, 0);

        return n * trainer_host_bytes(&one, ranks * n);
}

static void *replica_thread(void *arg)
{
        struct replica *w = arg;

        for (;;) {
                while (sem_wait(&w->go) && errno == EINTR)
                        ;
                if (!w->of->task)
                        return NULL;
                w->err = w->of->task(w->of, (unsigned)(w - w->of->replica));
                sem_post(&w->done);
        }
}

/* All do it, and return when all have. An error of the first that has one. */
static int all_do(struct replicas *r, int (*task)(struct replicas *r, unsigned number))
{
        r->task = task;
        for (unsigned i = 1; i < r->n; i++)
                sem_post(&r->replica[i].go);
        int err = task(r, 0);
        for (unsigned i = 1; i < r->n; i++) {
                while (sem_wait(&r->replica[i].done) && errno == EINTR)
                        ;
                err = err ? err : r->replica[i].err;
        }
        return err;
}

static int init_one(struct replicas *r, unsigned number)
{
        struct coll *c = r->n > 1 ? &r->team.member[number].coll : r->ranks;
        return trainer_init(&r->v[number], &r->replica[number].setup, c);
}

static int step_one(struct replicas *r, unsigned number)
{
        return trainer_step(&r->v[number], &r->replica[number].step);
}

static int compare_one(struct replicas *r, unsigned number)
{
        return trainer_compare(&r->v[number]);
}

static int start_one(struct replicas *r, unsigned number)
{
        struct replica *w = &r->replica[number];

        w->of = r;
        sem_init(&w->go, 0, 0);
        sem_init(&w->done, 0, 0);
        int err = number ? -pthread_create(&w->thread, NULL, replica_thread, w) : 0;
        w->running = number && !err;
        return err;
}

int replicas_init(struct replicas *r, const struct train_setup *s, struct coll *c)
{
        const unsigned n = replicas_count(s);
        const struct coll_memory memory = {.reach = s->ops->reach,
                                           .join = s->ops->join_beside,
                                           .get = s->ops->get_behind,
                                           .put = s->ops->put_beside};

        *r = (struct replicas){.n = n,
                               .ranks = c,
                               .v = calloc(n, sizeof *r->v),
                               .replica = calloc(n, sizeof *r->replica)};
        if (!r->v || !r->replica)
                return -ENOMEM;
        int err = n > 1 ? coll_team_init(&r->team, n, c, &memory) : 0;
        for (unsigned i = 0; i < n && !err; i++) {
                r->replica[i].setup = setup_of(s, i);
                err = start_one(r, i);
        }
        return err ? err : all_do(r, init_one);
}

void replicas_release(struct replicas *r)
{
        r->task = NULL;
        for (unsigned i = 0; r->v && r->replica && i < r->n; i++) {
                struct replica *w = &r->replica[i];
                if (!w->of)
                        break;
                if (w->running) {
                        sem_post(&w->go);
                        pthread_join(w->thread, NULL);
                }
                trainer_release(&r->v[i]);
                sem_destroy(&w->go);
                sem_destroy(&w->done);
        }
        coll_team_release(&r->team);
        free(r->v);
        free(r->replica);
        *r = (struct replicas){0};
}

void replicas_weigh(struct replicas *r, bool weighs)
{
        for (unsigned i = 0; i < r->n; i++)
                r->v[i].weighs = weighs;
}

int replicas_step(struct replicas *r, struct train_step *out)
{
        int err = all_do(r, step_one);

        *out = r->replica[0].step; /* with the loss, and whether it was skipped, of all */
        for (unsigned i = 1; i < r->n; i++) {
                const struct train_step *s = &r->replica[i].step;
                out->forward = fmax(out->forward, s->forward);
                out->backward = fmax(out->backward, s->backward);
                out->reduce = fmax(out->reduce, s->reduce);
                out->update = fmax(out->update, s->update);
                out->zero = fmax(out->zero, s->zero);
                out->total = fmax(out->total, s->total);
                out->held.forward = fmax(out->held.forward, s->held.forward);
                out->held.backward = fmax(out->held.backward, s->held.backward);
                out->held.update = fmax(out->held.update, s->held.update);
                out->held.zero = fmax(out->held.zero, s->held.zero);
        }
        return err;
}

int replicas_compare(struct replicas *r)
{
        return all_do(r, compare_one);
}
