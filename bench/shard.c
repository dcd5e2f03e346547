/* SPDX-License-Identifier: Apache-2.0 */
/* shard.c: see shard.h. */
#include "bench/shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/pattern.h"

#include "base/banned.h"

struct planning {
        struct shard *s;
        size_t cap;
        uint64_t next_id;
        unsigned rank, ranks;
        const struct model_group *groups;
        size_t ngroups;
};

/* n * i / parts, without the product. */
static uint64_t cut(uint64_t n, uint64_t i, uint64_t parts)
{
        return n / parts * i + n % parts * i / parts;
}

static int plan_tensor(void *arg, const struct model_tensor *t)
{
        struct planning *p = arg;
        uint64_t elements = t->rows * t->cols, first = 0, last = elements;

        if (t->cols > 1) {
                first = cut(elements, p->rank, p->ranks);
                last = cut(elements, p->rank + 1, p->ranks);
        }
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
                };
                snprintf(piece->name, sizeof piece->name, "%s.%s", p->groups[g].name, t->name);
                s->size += piece->len;
        }
        return 0;
}

int shard_plan(const struct model *m, bool optimizer, unsigned rank, unsigned ranks,
               struct shard *out)
{
        struct planning p = {.s = out, .next_id = 1, .rank = rank, .ranks = ranks};

        *out = (struct shard){0};
        p.groups = model_groups(m, optimizer, &p.ngroups);
        p.cap = model_ntensors(m) * p.ngroups;
        out->v = calloc(p.cap, sizeof *out->v);
        if (!out->v)
                return -ENOMEM;
        int err = model_tensors(m, plan_tensor, &p);
        if (err)
                shard_release(out);
        return err;
}

void shard_release(struct shard *s)
{
        freep(&s->v);
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

static struct pattern pattern_of(const struct shard *s, const struct shard_piece *piece)
{
        return (struct pattern){.seed = s->seed, .id = piece->id};
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
                struct pattern pat = pattern_of(s, piece);
                uint64_t at = off - piece->off;
                size_t n = piece->len - at < len ? (size_t)(piece->len - at) : len;
                pattern_fill(&pat, piece->tensor_off + at, to, n);
                off += n;
                to += n;
                len -= n;
        }
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
                struct pattern pat = pattern_of(s, piece);
                uint64_t at = off - piece->off;
                size_t n = piece->len - at < len ? (size_t)(piece->len - at) : len;
                int64_t wrong = pattern_check(&pat, piece->tensor_off + at, from, n);
                if (wrong >= 0) {
                        uint64_t in_piece = (uint64_t)wrong - piece->tensor_off;
                        *fault = (struct shard_fault){piece, piece->off + in_piece};
                        return -EBADMSG;
                }
                off += n;
                from += n;
                len -= n;
        }
        return 0;
}
