/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_shape.c: see mlperf_shape.h. */
#include "bench/scenario/mlperf/mlperf_shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { WEIGHT_BYTES = 2, STATE_BYTES = 4, STATES = 3 };

static const struct {
        const char *model;
        struct mlperf_shape shape;
} shapes[] = {
        {"mlperf-8b", {1, 1, 8, 3}},
        {"mlperf-70b", {8, 1, 8, 3}},
        {"mlperf-405b", {8, 32, 2, 1}},
        {"mlperf-1t", {8, 64, 2, 1}},
};

int mlperf_shape(const struct model *m, const struct keys *k, struct mlperf_shape *out, char *why,
                 size_t nwhy)
{
        size_t i = 0, n = sizeof shapes / sizeof shapes[0];
        while (i < n && strcmp(shapes[i].model, m->name) != 0)
                i++;
        if (i == n) {
                snprintf(why, nwhy, "model '%s' is no shape of MLPerf's: give 8b, 70b, 405b or 1t",
                         m->name);
                return -EINVAL;
        }
        *out = shapes[i].shape;
        out->tp = k->mlperf_tp ? (unsigned)k->mlperf_tp : out->tp;
        out->pp = k->mlperf_pp ? (unsigned)k->mlperf_pp : out->pp;
        out->dp = k->mlperf_dp ? (unsigned)k->mlperf_dp : out->dp;
        out->zero = k->mlperf_zero ? (unsigned)k->mlperf_zero : out->zero;
        if (out->zero == 2 || (out->zero == 3 && out->pp > 1)) {
                snprintf(why, nwhy,
                         "mlperf.zero=%u with mlperf.pp=%u is no layout of MLPerf's: give zero=1, "
                         "or zero=3 with pp=1",
                         out->zero, out->pp);
                return -EINVAL;
        }
        if (out->pp > m->layers) {
                snprintf(why, nwhy, "mlperf.pp=%u stages are more than the %u layers: give fewer",
                         out->pp, m->layers);
                return -EINVAL;
        }
        return 0;
}

unsigned mlperf_ranks(const struct mlperf_shape *s)
{
        return s->tp * s->pp * s->dp;
}

/* n * i / parts, without the product. */
static uint64_t cut(uint64_t n, uint64_t i, uint64_t parts)
{
        return n / parts * i + n % parts * i / parts;
}

/* The stage of a layer: the first stages have one more where they do not come out even. */
static unsigned stage_of(const struct model *m, const struct mlperf_shape *s, unsigned layer)
{
        unsigned each = m->layers / s->pp, more = m->layers % s->pp;
        unsigned in_long = more * (each + 1);
        return layer < in_long ? layer / (each + 1) : more + (layer - in_long) / each;
}

/* One walk over the tensors of a rank: counts bytes and, where `v` is given, makes files. */
struct walk {
        const struct model *m;
        const struct mlperf_shape *s;
        unsigned tp_rank, stage, dp_rank, rank;
        uint64_t next_id, weights;
        struct mlperf_file **v;
        size_t *n;
        int file; /* what the last file holds: a layer, or -1 before the first */
};

/* Files by number: 0 is the embedding, then the layers, then norm and head. */
static unsigned file_of(const struct walk *w, const struct model_tensor *t)
{
        unsigned layer;
        if (sscanf(t->name, "layers.%u.", &layer) == 1)
                return layer + 1;
        return strcmp(t->name, "embed.weight") ? w->m->layers + 1 : 0;
}

static struct mlperf_file *add_file(struct mlperf_file **v, size_t *n)
{
        struct mlperf_file *grown = realloc(*v, (*n + 1) * sizeof *grown);
        if (!grown)
                return NULL;
        *v = grown;
        grown[*n] = (struct mlperf_file){.name = ""};
        return &grown[(*n)++];
}

static int add_piece(struct shard *s, const struct shard_piece *piece)
{
        struct shard_piece *v = realloc(s->v, (s->n + 1) * sizeof *v);
        if (!v)
                return -ENOMEM;
        s->v = v;
        v[s->n] = *piece;
        v[s->n++].off = s->size;
        s->size += piece->len;
        return 0;
}

/* The file that a tensor goes to: the last one, or a new one. */
static struct mlperf_file *file_for(struct walk *w, unsigned file)
{
        int id = w->s->zero == 3 ? 0 : (int)file;

        if (w->file == id)
                return &(*w->v)[*w->n - 1];
        struct mlperf_file *f = add_file(w->v, w->n);
        if (!f)
                return NULL;
        w->file = id;
        if (w->s->zero == 3)
                snprintf(f->name, sizeof f->name, "model-rank_%05u.pt", w->rank);
        else
                snprintf(f->name, sizeof f->name, "layer_%03u-tp_%02u-model.pt", file, w->tp_rank);
        return f;
}

static int on_tensor(void *arg, const struct model_tensor *t)
{
        struct walk *w = arg;
        const struct mlperf_shape *s = w->s;
        uint64_t id = w->next_id++, elements = t->rows * t->cols, first, last;
        unsigned file = file_of(w, t);
        unsigned stage = !file ? 0 : file > w->m->layers ? s->pp - 1 : stage_of(w->m, s, file - 1);

        if (stage != w->stage || (s->zero != 3 && w->dp_rank))
                return 0;
        unsigned tp = t->cols > 1 ? s->tp : 1, dp = s->zero == 3 ? s->dp : 1;
        uint64_t part = (tp > 1 ? w->tp_rank : 0) * dp + (dp > 1 ? w->dp_rank : 0);
        first = cut(elements, part, (uint64_t)tp * dp);
        last = cut(elements, part + 1, (uint64_t)tp * dp);
        w->weights += (last - first) * WEIGHT_BYTES;
        if (!w->v || first == last)
                return 0;
        struct mlperf_file *f = file_for(w, file);
        struct shard_piece piece = {
                .id = id,
                .tensor_off = first * WEIGHT_BYTES,
                .len = (last - first) * WEIGHT_BYTES,
                .rows = t->rows,
                .cols = t->cols,
                .elem = WEIGHT_BYTES,
        };
        snprintf(piece.name, sizeof piece.name, "%s", t->name);
        return f ? add_piece(&f->shard, &piece) : -ENOMEM;
}

static struct walk walk_of(const struct model *m, const struct mlperf_shape *s, unsigned rank)
{
        return (struct walk){
                .m = m,
                .s = s,
                .rank = rank,
                .tp_rank = rank % s->tp,
                .stage = rank / s->tp % s->pp,
                .dp_rank = rank / (s->tp * s->pp),
                .next_id = 1,
                .file = -1,
        };
}

/* The rank's share of the optimizer's state, [*first, *last) of all parameters. */
static void share_of(const struct model *m, const struct mlperf_shape *s, unsigned rank,
                     uint64_t *first, uint64_t *last)
{
        uint64_t all = model_params(m);
        *first = cut(all, rank, mlperf_ranks(s));
        *last = cut(all, rank + 1, mlperf_ranks(s));
}

static int add_optimizer(struct walk *w)
{
        static const char *const names[STATES] = {"master", "exp_avg", "exp_avg_sq"};
        struct mlperf_file *f = add_file(w->v, w->n);
        uint64_t first, last;
        int err = f ? 0 : -ENOMEM;

        share_of(w->m, w->s, w->rank, &first, &last);
        if (!err)
                snprintf(f->name, sizeof f->name, "optimizer-rank_%05u.pt", w->rank);
        for (unsigned i = 0; i < STATES && !err && first < last; i++) {
                struct shard_piece piece = {
                        .id = w->next_id++,
                        .tensor_off = first * STATE_BYTES,
                        .len = (last - first) * STATE_BYTES,
                        .rows = model_params(w->m),
                        .cols = 1,
                        .elem = STATE_BYTES,
                };
                snprintf(piece.name, sizeof piece.name, "optimizer.%s", names[i]);
                err = add_piece(&f->shard, &piece);
        }
        return err;
}

int mlperf_files(const struct model *m, const struct mlperf_shape *s, unsigned rank,
                 struct mlperf_file **out, size_t *n)
{
        struct walk w = walk_of(m, s, rank);

        *out = NULL;
        *n = 0;
        w.v = out;
        w.n = n;
        int err = model_tensors(m, on_tensor, &w);
        if (!err)
                err = add_optimizer(&w);
        if (err)
                mlperf_files_release(out, *n);
        return err;
}

void mlperf_files_release(struct mlperf_file **v, size_t n)
{
        for (size_t i = 0; *v && i < n; i++)
                shard_release(&(*v)[i].shard);
        freep(v);
}

struct mlperf_bytes mlperf_rank_bytes(const struct model *m, const struct mlperf_shape *s,
                                      unsigned rank)
{
        struct walk w = walk_of(m, s, rank);
        uint64_t first, last;

        model_tensors(m, on_tensor, &w);
        share_of(m, s, rank, &first, &last);
        return (struct mlperf_bytes){w.weights, (last - first) * STATE_BYTES * STATES};
}
