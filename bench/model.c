/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: see model.h. */
#include "bench/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define MODEL(name, family, layers, heads, kv, hidden, ffn, vocab, block)                          \
        {name, MODEL_##family, layers, heads, kv, hidden, ffn, vocab, block},
const struct model model_table[] = {
#include "bench/model.def"
};
const size_t model_count = sizeof model_table / sizeof model_table[0];

/* One line of a family's list of tensors: rows and cols in terms of the shape. */
enum dim { ONE, H, H3, H4, Q_KV2, KV, F, F2, VOCAB, BLOCK };
struct tensor_row {
        const char *name;
        enum dim rows, cols;
};

static const struct tensor_row gpt_layer[] = {
        {"ln_1.weight", H, ONE},    {"ln_1.bias", H, ONE},      {"attn.qkv.weight", H3, H},
        {"attn.qkv.bias", H3, ONE}, {"attn.proj.weight", H, H}, {"attn.proj.bias", H, ONE},
        {"ln_2.weight", H, ONE},    {"ln_2.bias", H, ONE},      {"mlp.fc.weight", H4, H},
        {"mlp.fc.bias", H4, ONE},   {"mlp.proj.weight", H, H4}, {"mlp.proj.bias", H, ONE},
};
static const struct tensor_row gpt_head[] = {{"wte.weight", VOCAB, H}, {"wpe.weight", BLOCK, H}};
static const struct tensor_row gpt_tail[] = {
        {"ln_f.weight", H, ONE},
        {"ln_f.bias", H, ONE},
        {"lm_head.weight", VOCAB, H},
};

static const struct tensor_row llama_layer[] = {
        {"attn_norm.weight", H, ONE}, {"attn.q.weight", H, H}, {"attn.k.weight", KV, H},
        {"attn.v.weight", KV, H},     {"attn.o.weight", H, H}, {"mlp_norm.weight", H, ONE},
        {"mlp.gate.weight", F, H},    {"mlp.up.weight", F, H}, {"mlp.down.weight", H, F},
};
static const struct tensor_row mlperf_layer[] = {
        {"attn_norm.weight", H, ONE}, {"attn.qkv.weight", Q_KV2, H}, {"attn.o.weight", H, H},
        {"mlp_norm.weight", H, ONE},  {"mlp.h_to_4h.weight", F2, H}, {"mlp.4h_to_h.weight", H, F},
};
static const struct tensor_row decoder_head[] = {{"embed.weight", VOCAB, H}};
static const struct tensor_row decoder_tail[] = {
        {"norm.weight", H, ONE},
        {"lm_head.weight", VOCAB, H},
};

#define ROWS(a) a, sizeof(a) / sizeof(a)[0]
static const struct family {
        const struct tensor_row *head;
        size_t nhead;
        const struct tensor_row *layer;
        size_t nlayer;
        const struct tensor_row *tail;
        size_t ntail;
} families[] = {
        [MODEL_GPT] = {ROWS(gpt_head), ROWS(gpt_layer), ROWS(gpt_tail)},
        [MODEL_LLAMA] = {ROWS(decoder_head), ROWS(llama_layer), ROWS(decoder_tail)},
        [MODEL_MLPERF] = {ROWS(decoder_head), ROWS(mlperf_layer), ROWS(decoder_tail)},
};

const struct model *model_find(const char *name)
{
        for (size_t i = 0; i < model_count; i++)
                if (!strcmp(model_table[i].name, name))
                        return &model_table[i];
        return NULL;
}

int model_check(const struct model *m, char *why, size_t nwhy)
{
        if (!m->layers || !m->heads || !m->kv_heads || !m->hidden || !m->vocab) {
                snprintf(why, nwhy,
                         "%s: a dimension is 0: give layers, heads, hidden and vocab of 1 or more",
                         m->name);
                return -EINVAL;
        }
        /* MLPerf's 1T has 192 heads for a hidden size of 25872; only its key-value width is whole
         */
        if (m->hidden % m->heads && m->family != MODEL_MLPERF) {
                unsigned above = (m->hidden / m->heads + 1) * m->heads;
                snprintf(why, nwhy, "%s: hidden size %u is not a multiple of %u heads: give %u",
                         m->name, m->hidden, m->heads, above);
                return -EINVAL;
        }
        if (m->heads % m->kv_heads) {
                snprintf(why, nwhy, "%s: %u heads cannot share %u key-value heads: give a divisor",
                         m->name, m->heads, m->kv_heads);
                return -EINVAL;
        }
        return 0;
}

static uint64_t extent(const struct model *m, enum dim d)
{
        uint64_t h = m->hidden, kv = h * m->kv_heads / m->heads;
        switch (d) {
        case ONE:
                return 1;
        case H:
                return h;
        case H3:
                return 3 * h;
        case H4:
                return 4 * h;
        case KV:
                return kv;
        case Q_KV2:
                return h + 2 * kv;
        case F:
                return m->ffn;
        case F2:
                return 2 * (uint64_t)m->ffn;
        case VOCAB:
                return m->vocab;
        case BLOCK:
                return m->block;
        }
        return 0;
}

static int hand_over(const struct model *m, const struct tensor_row *v, size_t n, int layer,
                     model_tensor_fn *fn, void *arg)
{
        int err = 0;
        for (size_t i = 0; i < n && !err; i++) {
                struct model_tensor t = {.rows = extent(m, v[i].rows),
                                         .cols = extent(m, v[i].cols)};
                if (layer < 0)
                        snprintf(t.name, sizeof t.name, "%s", v[i].name);
                else
                        snprintf(t.name, sizeof t.name, "layers.%d.%s", layer, v[i].name);
                err = fn(arg, &t);
        }
        return err;
}

int model_tensors(const struct model *m, model_tensor_fn *fn, void *arg)
{
        const struct family *f = &families[m->family];
        int err = hand_over(m, f->head, f->nhead, -1, fn, arg);
        for (unsigned i = 0; i < m->layers && !err; i++)
                err = hand_over(m, f->layer, f->nlayer, (int)i, fn, arg);
        return err ? err : hand_over(m, f->tail, f->ntail, -1, fn, arg);
}

static uint64_t elements(const struct model *m, const struct tensor_row *v, size_t n)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++)
                sum += extent(m, v[i].rows) * extent(m, v[i].cols);
        return sum;
}

static uint64_t layer_params(const struct model *m)
{
        return elements(m, families[m->family].layer, families[m->family].nlayer);
}

static uint64_t fixed_params(const struct model *m)
{
        const struct family *f = &families[m->family];
        return elements(m, f->head, f->nhead) + elements(m, f->tail, f->ntail);
}

uint64_t model_params(const struct model *m)
{
        return fixed_params(m) + m->layers * layer_params(m);
}

uint64_t model_ntensors(const struct model *m)
{
        const struct family *f = &families[m->family];
        return f->nhead + f->ntail + m->layers * f->nlayer;
}

const struct model_group *model_groups(const struct model *m, bool optimizer, size_t *n)
{
        static const struct model_group fp32[] = {{"weight", 4}, {"exp_avg", 4}, {"exp_avg_sq", 4}};
        static const struct model_group bf16[] = {
                {"weight", 2}, {"master", 4}, {"exp_avg", 4}, {"exp_avg_sq", 4}};
        bool mixed = m->family == MODEL_MLPERF;
        *n = !optimizer ? 1 : mixed ? 4 : 3;
        return mixed ? bf16 : fp32;
}

unsigned model_param_bytes(const struct model *m, bool optimizer)
{
        size_t n;
        unsigned sum = 0;
        const struct model_group *g = model_groups(m, optimizer, &n);
        for (size_t i = 0; i < n; i++)
                sum += g[i].bytes;
        return sum;
}

unsigned model_layers_for(const struct model *m, bool optimizer, uint64_t size)
{
        uint64_t bytes = model_param_bytes(m, optimizer);
        uint64_t fixed = fixed_params(m) * bytes, layer = layer_params(m) * bytes;
        if (size < fixed + layer)
                return 1;
        return (unsigned)((size - fixed + layer / 2) / layer);
}

const struct model *model_for_size(bool optimizer, uint64_t size)
{
        const struct model *best = &model_table[0];
        for (size_t i = 0; i < model_count; i++) {
                const struct model *m = &model_table[i];
                uint64_t bytes = model_param_bytes(m, optimizer);
                if (m->family != MODEL_GPT && strcmp(m->name, "mlperf-8b"))
                        continue;
                if (layer_params(m) * bytes <= size / 20 && fixed_params(m) * bytes <= size / 4)
                        best = m;
        }
        return best;
}
