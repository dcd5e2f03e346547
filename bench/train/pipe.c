/* SPDX-License-Identifier: Apache-2.0 */
/* pipe.c: see pipe.h.
 *
 * What goes from a stage to the next lies in the next one's memory, a place for each micro-batch:
 * the stage before writes there, and posts. On the way back the gradient takes the same place, and
 * the stage before reads it. So no place is written twice in a pass, and no stage waits for room.
 * A stage whose device fails goes through its passes to the end, since the others wait for it. */
#include "bench/train/pipe.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/core/clock.h"
#include "bench/train/patches.h"

#include "base/banned.h"

static size_t chunk_samples(const struct pipe_shape *s)
{
        return (s->batch + s->chunks - 1) / s->chunks;
}

unsigned pipe_chunks(const struct pipe_shape *s)
{
        size_t some = chunk_samples(s);
        return (unsigned)((s->batch + some - 1) / some);
}

size_t pipe_samples(const struct pipe_shape *s, unsigned chunk, size_t *first)
{
        const size_t some = chunk_samples(s);

        *first = chunk * some;
        return s->batch - *first < some ? s->batch - *first : some;
}

static double unit_elements(const struct model *m, size_t unit)
{
        const double h = m->hidden, v = m->vocab, t = m->block;

        if (!unit)
                return v * h + t * h;
        if (unit <= m->layers)
                return 12 * h * h + 13 * h;
        return unit == (size_t)m->layers + 1 ? 2 * h : v * h;
}

unsigned pipe_cut(const struct model *m, unsigned stages, size_t *end)
{
        const double all = (double)model_params(m);
        const size_t units = network_units(m);
        unsigned stage = 0;
        double sum = 0;

        for (size_t u = 0; u < units; u++) {
                sum += unit_elements(m, u);
                bool full = stage + 1 < stages && sum > all * (stage + 1) / stages;
                if (full || u + 1 == units)
                        end[stage++] = u + 1;
        }
        return stage;
}

/* Bytes of what comes into a stage, of all micro-batches. */
static double in_bytes(const struct model *m, const struct pipe_shape *s)
{
        return sizeof(float) * (double)chunk_samples(s) * pipe_chunks(s) * m->block * m->hidden;
}

uint64_t pipe_bytes(const struct model *m, const struct pipe_shape *s)
{
        size_t *end = calloc(s->stages, sizeof *end), from = 0;
        unsigned n = end ? pipe_cut(m, s->stages, end) : 0;
        double bytes = end ? 0 : NETWORK_BYTES_MAX;

        for (unsigned i = 0; i < n; from = end[i++])
                bytes += (double)network_bytes_activations(m, chunk_samples(s), from, end[i],
                                                           s->stash) +
                         (s->stash == NETWORK_STASH_COPY
                                  ? (double)network_bytes_copies(m, chunk_samples(s), from, end[i])
                                  : 0) +
                         (i ? in_bytes(m, s) : 0);
        free(end);
        return (uint64_t)(bytes < NETWORK_BYTES_MAX ? bytes : NETWORK_BYTES_MAX);
}

/* --- what a stage does --- */

static void wait_for(sem_t *s)
{
        while (sem_wait(s) && errno == EINTR)
                ;
}

static bool is_last(const struct pipe_stage *s)
{
        return s == &s->pipe->stage[s->pipe->shape.stages - 1];
}

static float *place_in(const struct pipe_stage *s, unsigned chunk)
{
        const struct model *m = &s->net.model;
        return s->in + chunk * chunk_samples(&s->pipe->shape) * m->block * m->hidden;
}

static void note_error(struct pipe_stage *s, int err)
{
        if (!s->err)
                s->err = err;
}

/* The stage has worked at a micro-batch since then. */
static void note(struct pipe_stage *s, enum trace_what what, uint64_t since, unsigned chunk)
{
        const uint32_t number = (uint32_t)(s - s->pipe->stage);
        trace_add(s->pipe->pass->trace, what, TRACE_STAGE + number, since, clock_ns(), chunk);
}

/* From what came in to what goes out, or in the last stage to the gradient of the loss. */
static void compute(struct pipe_stage *s, const struct network_pass *of_chunk, unsigned chunk)
{
        const struct pipe_pass *pass = s->pipe->pass;

        network_forward(&s->net, of_chunk);
        if (is_last(s))
                pass->loss(pass->arg, &s->net, chunk, of_chunk->first - pass->net.first);
}

/* The stage turns to a micro-batch, whose pass it returns. */
static struct network_pass turn_to(struct pipe_stage *s, unsigned chunk)
{
        struct network_pass p = s->pipe->pass->net;
        size_t first;

        network_set_batch(&s->net, pipe_samples(&s->pipe->shape, chunk, &first));
        if (s->net.from)
                *network_stream(&s->net, s->net.from) = place_in(s, chunk);
        p.first += first;
        if (p.tokens)
                p.tokens += first * s->net.model.block;
        else
                p.patches += first * IMAGE_ELEMENTS;
        return p;
}

static void stage_forward(struct pipe_stage *s)
{
        struct pipe_stage *next = is_last(s) ? NULL : s + 1;
        const struct math_ops *ops = s->net.ops;

        for (unsigned i = 0; i < pipe_chunks(&s->pipe->shape); i++) {
                const struct network_pass p = turn_to(s, i);
                if (s->net.from)
                        wait_for(&s->came);
                const uint64_t begin = clock_ns();
                compute(s, &p, i);
                if (next)
                        ops->copy(place_in(next, i), *network_stream(&s->net, s->net.end),
                                  network_stream_elements(&s->net, s->net.end));
                note_error(s, ops->wait());
                note_error(s, s->net.err);
                note(s, TRACE_CHUNK_FORWARD, begin, i);
                if (next)
                        sem_post(&next->came);
        }
}

static void stage_backward(struct pipe_stage *s)
{
        struct pipe_stage *next = is_last(s) ? NULL : s + 1;
        const struct math_ops *ops = s->net.ops;
        const unsigned chunks = pipe_chunks(&s->pipe->shape);

        for (unsigned i = chunks; i-- > 0;) {
                struct network_pass p = turn_to(s, i);
                uint64_t begin = clock_ns();
                if (i)
                        p.complete = NULL;
                if (i + 1 < chunks) {
                        compute(s, &p, i);
                        note(s, TRACE_CHUNK_AGAIN, begin, i);
                }
                if (next)
                        wait_for(&next->due);
                begin = clock_ns();
                if (next)
                        ops->copy(network_gradient(&s->net, s->net.end), place_in(next, i),
                                  network_stream_elements(&s->net, s->net.end));
                network_backward(&s->net, &p);
                if (s->net.from)
                        ops->copy(place_in(s, i), network_gradient(&s->net, s->net.from),
                                  network_stream_elements(&s->net, s->net.from));
                note_error(s, ops->wait());
                note_error(s, s->net.err);
                note(s, TRACE_CHUNK_BACKWARD, begin, i);
                if (s->net.from)
                        sem_post(&s->due);
        }
}

static void *stage_thread(void *arg)
{
        struct pipe_stage *s = arg;

        s->net.ops->use(s->device);
        for (;;) {
                wait_for(&s->go);
                if (s->pipe->task == PIPE_QUIT)
                        return NULL;
                if (s->pipe->task == PIPE_FORWARD)
                        stage_forward(s);
                else
                        stage_backward(s);
                sem_post(&s->done);
        }
}

/* All stages do it; the first in this thread. */
static int all_stages(struct pipe *p, enum pipe_task task, const struct pipe_pass *pass)
{
        const unsigned n = p->shape.stages;
        int err = 0;

        p->task = task;
        p->pass = pass;
        for (unsigned i = 0; i < n; i++)
                p->stage[i].err = p->stage[i].net.err = 0;
        for (unsigned i = 1; i < n; i++)
                sem_post(&p->stage[i].go);
        if (task == PIPE_FORWARD)
                stage_forward(&p->stage[0]);
        else
                stage_backward(&p->stage[0]);
        for (unsigned i = 1; i < n; i++)
                wait_for(&p->stage[i].done);
        for (unsigned i = 0; i < n && !err; i++)
                err = p->stage[i].err;
        return err;
}

int pipe_forward(struct pipe *p, const struct pipe_pass *pass)
{
        return all_stages(p, PIPE_FORWARD, pass);
}

int pipe_backward(struct pipe *p, const struct pipe_pass *pass)
{
        return all_stages(p, PIPE_BACKWARD, pass);
}

/* --- stages --- */

static int init_stage(struct pipe *p, unsigned number, const struct math_ops *ops,
                      const struct model *m, size_t from, size_t end, bool weights)
{
        struct pipe_stage *s = &p->stage[number];

        s->pipe = p;
        s->device = p->shape.device + number * p->shape.devices / p->shape.stages;
        ops->use(s->device);
        sem_init(&s->came, 0, 0);
        sem_init(&s->due, 0, 0);
        sem_init(&s->go, 0, 0);
        sem_init(&s->done, 0, 0);
        int err = network_init_stage(&s->net, ops, m, chunk_samples(&p->shape), from, end,
                                     p->shape.stash, weights);
        if (err || !number)
                return err;
        err = ops->alloc((size_t)in_bytes(m, &p->shape), (void **)&s->in);
        if (!err)
                err = -pthread_create(&s->thread, NULL, stage_thread, s);
        s->running = !err;
        return err;
}

int pipe_init(struct pipe *p, const struct math_ops *ops, const struct model *m,
              const struct pipe_shape *s, bool weights)
{
        size_t *end = calloc(s->stages, sizeof *end), from = 0;
        int err = 0;

        *p = (struct pipe){.shape = *s, .stage = calloc(s->stages, sizeof *p->stage)};
        if (!end || !p->stage)
                err = -ENOMEM;
        else if (pipe_cut(m, s->stages, end) < s->stages)
                err = -EINVAL;
        for (unsigned i = 0; i < s->stages && !err; from = end[i++])
                err = init_stage(p, i, ops, m, from, end[i], weights);
        ops->use(s->device);
        free(end);
        return err;
}

void pipe_release(struct pipe *p)
{
        p->task = PIPE_QUIT;
        for (unsigned i = 0; p->stage && i < p->shape.stages; i++) {
                struct pipe_stage *s = &p->stage[i];
                if (!s->pipe)
                        break;
                if (s->running) {
                        sem_post(&s->go);
                        pthread_join(s->thread, NULL);
                }
                if (s->net.ops)
                        s->net.ops->release(s->in);
                network_release(&s->net);
                sem_destroy(&s->came);
                sem_destroy(&s->due);
                sem_destroy(&s->go);
                sem_destroy(&s->done);
        }
        free(p->stage);
        *p = (struct pipe){0};
}
