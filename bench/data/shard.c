/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c: see shard.h. */
#include "bench/data/shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/pattern.h"
#include "bench/core/pattern_word.h"

#include "base/banned.h"

struct planning {
        struct shard *s;
        size_t cap;
        uint64_t next_id;
        enum shard_cut cut;
        unsigned rank, ranks;
        const struct model_group *groups;
        size_t ngroups;
};

/* n * i / parts, without the product. */
static uint64_t cut(uint64_t n, uint64_t i, uint64_t parts)
{
        return n / parts * i + n % parts * i / parts;
}

/* The elements [*first, *last) of the tensor that are this rank's. */
static void cut_tensor(const struct planning *p, const struct model_tensor *t, uint64_t *first,
                       uint64_t *last)
{
        uint64_t elements = t->rows * t->cols;

        *first = 0;
        *last = elements;
        if (p->cut == SHARD_ELEMENTS && t->cols > 1) {
                *first = cut(elements, p->rank, p->ranks);
                *last = cut(elements, p->rank + 1, p->ranks);
        } else if (p->cut == SHARD_ROWS) {
                uint64_t each = (t->rows + p->ranks - 1) / p->ranks;
                uint64_t from = p->rank * each, to = from + each;
                *first = (from < t->rows ? from : t->rows) * t->cols;
                *last = (to < t->rows ? to : t->rows) * t->cols;
        }
}

static int plan_tensor(void *arg, const struct model_tensor *t)
{
        struct planning *p = arg;
        uint64_t first, last;

        cut_tensor(p, t, &first, &last);
        for (size_t g = 0; g < p->ngroups; g++) {
                struct shard *s = p->s;
                uint64_t id = p->next_id++, bytes = p->groups[g].bytes;
                if (first == last)
                        continue;
                if (s->n == p->cap)
                        return -ENOMEM;
                struct shard_piece *piece = &s->v[s->n++];
                *piece = (struct shard_piece){
                        .id = id,
                        .tensor_off = first * bytes,
                        .off = s->size,
                        .len = (last - first) * bytes,
                        .rows = t->rows,
                        .cols = t->cols,
                        .elem = (unsigned)bytes,
                };
                snprintf(piece->name, sizeof piece->name, "%s%s%s", p->groups[g].name,
                         *p->groups[g].name ? "." : "", t->name);
                s->size += piece->len;
        }
        return 0;
}

int shard_plan(const struct model *m, bool optimizer, enum shard_cut cut, unsigned rank,
               unsigned ranks, struct shard *out)
{
        CLEANUP(shard_release) struct shard all = {0};
        struct planning p = {.s = &all, .next_id = 1, .cut = cut, .rank = rank, .ranks = ranks};

        *out = (struct shard){0};
        p.groups = model_groups(m, optimizer, &p.ngroups);
        p.cap = model_ntensors(m) * p.ngroups;
        all.v = calloc(p.cap, sizeof *all.v);
        if (!all.v)
                return -ENOMEM;
        int err = model_tensors(m, plan_tensor, &p);
        if (!err && cut == SHARD_WHOLE)
                return shard_deal(&all, rank, ranks, out);
        if (!err) {
                *out = all;
                all = (struct shard){0};
        }
        return err;
}

/* Larger pieces first, then as they stand. */
static int by_size(const void *a, const void *b)
{
        const struct shard_piece *x = *(const struct shard_piece *const *)a;
        const struct shard_piece *y = *(const struct shard_piece *const *)b;
        return x->len != y->len ? (x->len > y->len ? -1 : 1) : (x < y ? -1 : x > y);
}

/* Into `mine`, an entry a piece: whether it falls to the bin. */
static int deal(const struct shard *s, unsigned bin, unsigned bins, bool *mine)
{
        CLEANUP(freep) uint64_t *load = calloc(bins, sizeof *load);
        CLEANUP(freep) const struct shard_piece **order = malloc((s->n + 1) * sizeof *order);

        if (!load || !order)
                return -ENOMEM;
        for (size_t i = 0; i < s->n; i++)
                order[i] = &s->v[i];
        qsort(order, s->n, sizeof *order, by_size);
        for (size_t i = 0; i < s->n; i++) {
                unsigned least = 0;
                for (unsigned b = 1; b < bins; b++)
                        if (load[b] < load[least])
                                least = b;
                load[least] += order[i]->len;
                mine[order[i] - s->v] = least == bin;
        }
        return 0;
}

int shard_deal(const struct shard *s, unsigned bin, unsigned bins, struct shard *out)
{
        CLEANUP(freep) bool *mine = calloc(s->n + 1, sizeof *mine);

        *out = (struct shard){.seed = s->seed};
        if (!mine || deal(s, bin, bins, mine) || !(out->v = calloc(s->n + 1, sizeof *out->v)))
                return -ENOMEM;
        for (size_t i = 0; i < s->n; i++) {
                if (!mine[i])
                        continue;
                out->v[out->n] = s->v[i];
                out->v[out->n++].off = out->size;
                out->size += s->v[i].len;
        }
        return 0;
}

void shard_release(struct shard *s)
{
        freep(&s->v);
        freep(&s->text);
        *s = (struct shard){0};
}

/* The piece that holds byte `off`. */
static const struct shard_piece *piece_at(const struct shard *s, uint64_t off)
{
        size_t lo = 0, hi = s->n;
        while (hi - lo > 1) {
                size_t mid = lo + (hi - lo) / 2;
                if (s->v[mid].off <= off)
                        lo = mid;
                else
                        hi = mid;
        }
        return &s->v[lo];
}

static void piece_fill(const struct shard *s, const struct shard_piece *piece, uint64_t at,
                       void *dst, size_t n)
{
        struct pattern pat = {.seed = s->seed, .id = piece->id};
        if (piece->literal)
                memcpy(dst, s->text + piece->text + at, n);
        else if (piece->held)
                memcpy(dst, piece->held + at, n);
        else
                pattern_fill(&pat, piece->tensor_off + at, dst, n);
}

/* The first wrong byte, counted from the piece's begin, or -1. */
static int64_t piece_check(const struct shard *s, const struct shard_piece *piece, uint64_t at,
                           const char *p, size_t n)
{
        struct pattern pat = {.seed = s->seed, .id = piece->id};
        if (!piece->literal && !piece->held) {
                int64_t wrong = pattern_check(&pat, piece->tensor_off + at, p, n);
                return wrong < 0 ? wrong : wrong - (int64_t)piece->tensor_off;
        }
        const char *want = piece->literal ? s->text + piece->text : piece->held;
        for (size_t i = 0; i < n; i++)
                if (p[i] != want[at + i])
                        return (int64_t)(at + i);
        return -1;
}

uint32_t shard_crc32(const struct shard *s, const struct shard_piece *piece)
{
        char block[64 << 10];
        uint32_t crc = 0;
        for (uint64_t at = 0; at < piece->len && !s->places;) {
                size_t n =
                        piece->len - at < sizeof block ? (size_t)(piece->len - at) : sizeof block;
                piece_fill(s, piece, at, block, n);
                crc = crc32(crc, block, n);
                at += n;
        }
        return crc;
}

void shard_fill(const struct shard *s, uint64_t off, void *dst, size_t len)
{
        char *to = dst;

        if (s->null_store) {
                pattern_fill(&PATTERN_NULL, off, dst, len);
                return;
        }
        while (len) {
                const struct shard_piece *piece = piece_at(s, off);
                uint64_t at = off - piece->off;
                size_t n = piece->len - at < len ? (size_t)(piece->len - at) : len;
                piece_fill(s, piece, at, to, n);
                off += n;
                to += n;
                len -= n;
        }
}

struct shard_run shard_run_at(const struct shard *s, uint64_t off)
{
        const struct shard_piece *piece = piece_at(s, off);
        uint64_t in = off - piece->off;
        struct shard_run run = {.piece = piece, .len = piece->len - in};

        if (s->null_store) {
                run.base = pattern_base(PATTERN_NULL.seed, PATTERN_NULL.id);
                run.at = off % PATTERN_NULL_PERIOD;
                if (run.len > PATTERN_NULL_PERIOD - run.at)
                        run.len = PATTERN_NULL_PERIOD - run.at;
        } else if (piece->literal) {
                run.text = s->text + piece->text + in;
        } else {
                run.base = pattern_base(s->seed, piece->id);
                run.at = piece->tensor_off + in;
        }
        return run;
}

int shard_check(const struct shard *s, uint64_t off, const void *p, size_t len,
                struct shard_fault *fault)
{
        const char *from = p;

        if (s->null_store) {
                int64_t wrong = pattern_check(&PATTERN_NULL, off, p, len);
                if (wrong < 0)
                        return 0;
                *fault = (struct shard_fault){piece_at(s, (uint64_t)wrong), (uint64_t)wrong};
                return -EBADMSG;
        }
        while (len) {
                const struct shard_piece *piece = piece_at(s, off);
                uint64_t at = off - piece->off;
                size_t n = piece->len - at < len ? (size_t)(piece->len - at) : len;
                int64_t wrong = piece_check(s, piece, at, from, n);
                if (wrong >= 0) {
                        *fault = (struct shard_fault){piece, piece->off + (uint64_t)wrong};
                        return -EBADMSG;
                }
                off += n;
                from += n;
                len -= n;
        }
        return 0;
}
