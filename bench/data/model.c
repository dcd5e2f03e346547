/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: see model.h. */
#include "bench/data/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define MODEL(name, family, layers, heads, kv, hidden, ffn, vocab, block)                          \
        {name, MODEL_##family, layers, heads, kv, hidden, ffn, vocab, block},
const struct model model_table[] = {
#include "bench/data/model.def"
};
const size_t model_count = sizeof model_table / sizeof model_table[0];

/* One line of a family's list of tensors: rows and cols in terms of the shape. */
enum dim {
        ONE,
        H,
        H3,
        H4,
        Q_KV2,
        KV,
        F,
        F2,
        F4, /* CLIP: the vision's feed-forward width */
        VOCAB,
        BLOCK,
        LED_ONE, /* the same, behind a dimension of 1 */
        LED_BLOCK,
        HEADS,
        PATCH_16,   /* 3 colours of 16 x 16 */
        KERNELS_16, /* the same, as dimensions */
        PATCH_14,   /* of 14 x 14 */
        PATCHES,    /* (224 / 14)^2 and the class */
        MELS,       /* 128 bands, a kernel of 3 */
        POSITIONS,  /* of Whisper's decoder */
        BUCKETS     /* of T5's relative positions */
};
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

#define NORM(n, d)                                                                                 \
        {n ".weight", d, ONE},                                                                     \
        {                                                                                          \
                n ".bias", d, ONE                                                                  \
        }
#define LINEAR(n, rows, cols)                                                                      \
        {n ".weight", rows, cols},                                                                 \
        {                                                                                          \
                n ".bias", rows, ONE                                                               \
        }
#define ATTENTION(n, d)                                                                            \
        LINEAR(n ".q", d, d), LINEAR(n ".k", d, d), LINEAR(n ".v", d, d), LINEAR(n ".o", d, d)
#define TOWER_LAYER(n, d, wide)                                                                    \
        NORM(n "norm1", d), ATTENTION(n "attn", d), NORM(n "norm2", d), LINEAR(n "fc1", wide, d),  \
                LINEAR(n "fc2", d, wide)

static const struct tensor_row vit_head[] = {
        {"cls_token", H, ONE}, {"position", BLOCK, H}, LINEAR("patch", H, PATCH_16)};
static const struct tensor_row vit_layer[] = {TOWER_LAYER("", H, F)};
static const struct tensor_row vit_tail[] = {NORM("norm", H), LINEAR("pooler", H, H)};

/* By the names of transformers 5. */
#define CLASSIFIER_LAYER                                                                           \
        LINEAR("attention.q_proj", H, H), LINEAR("attention.k_proj", H, H),                        \
                LINEAR("attention.v_proj", H, H), LINEAR("attention.o_proj", H, H),                \
                NORM("layernorm_before", H), NORM("layernorm_after", H), LINEAR("mlp.fc1", F, H),  \
                LINEAR("mlp.fc2", H, F)
static const struct tensor_row classifier_head[] = {
        {"vit.embeddings.cls_token", LED_ONE, H},
        {"vit.embeddings.position_embeddings", LED_BLOCK, H},
        {"vit.embeddings.patch_embeddings.projection.weight", H, KERNELS_16},
        {"vit.embeddings.patch_embeddings.projection.bias", H, ONE},
};
static const struct tensor_row classifier_layer[] = {CLASSIFIER_LAYER};
static const struct tensor_row classifier_tail[] = {NORM("vit.layernorm", H),
                                                    LINEAR("classifier", VOCAB, H)};

static const struct tensor_row clip_head[] = {
        {"text.token", VOCAB, H},        {"text.position", BLOCK, H},
        {"vision.class", F, ONE},        {"vision.patch.weight", F, PATCH_14},
        {"vision.position", PATCHES, F},
};
static const struct tensor_row clip_layer[] = {
        TOWER_LAYER("text.", H, H4),
        TOWER_LAYER("vision.a.", F, F4),
        TOWER_LAYER("vision.b.", F, F4),
};
static const struct tensor_row clip_tail[] = {
        NORM("text.norm", H),
        NORM("vision.pre_norm", F),
        NORM("vision.norm", F),
        {"text_projection.weight", H, H},
        {"visual_projection.weight", H, F},
        {"logit_scale", ONE, ONE},
};

#define T5_ATTENTION(n)                                                                            \
        {n ".q.weight", H, H}, {n ".k.weight", H, H}, {n ".v.weight", H, H},                       \
        {                                                                                          \
                n ".o.weight", H, H                                                                \
        }
#define T5_FEED(n)                                                                                 \
        {n ".wi_0.weight", F, H}, {n ".wi_1.weight", F, H},                                        \
        {                                                                                          \
                n ".wo.weight", H, F                                                               \
        }
static const struct tensor_row t5_head[] = {
        {"shared.weight", VOCAB, H},
        {"encoder.relative_bias.weight", BUCKETS, HEADS},
        {"decoder.relative_bias.weight", BUCKETS, HEADS},
};
static const struct tensor_row t5_layer[] = {
        T5_ATTENTION("encoder.self"),
        {"encoder.norm1.weight", H, ONE},
        T5_FEED("encoder"),
        {"encoder.norm2.weight", H, ONE},
        T5_ATTENTION("decoder.self"),
        {"decoder.norm1.weight", H, ONE},
        T5_ATTENTION("decoder.cross"),
        {"decoder.norm2.weight", H, ONE},
        T5_FEED("decoder"),
        {"decoder.norm3.weight", H, ONE},
};
static const struct tensor_row t5_tail[] = {
        {"encoder.norm.weight", H, ONE},
        {"decoder.norm.weight", H, ONE},
        {"lm_head.weight", VOCAB, H},
};

/* Keys have no bias. */
#define WHISPER_ATTENTION(n)                                                                       \
        LINEAR(n ".q", H, H), {n ".k.weight", H, H}, LINEAR(n ".v", H, H), LINEAR(n ".o", H, H),   \
                NORM(n "_norm", H)
#define WHISPER_FEED(n) LINEAR(n ".fc1", F, H), LINEAR(n ".fc2", H, F), NORM(n ".norm", H)
static const struct tensor_row whisper_head[] = {
        LINEAR("encoder.conv1", H, MELS),   LINEAR("encoder.conv2", H, H3),
        {"encoder.position", BLOCK, H},     {"decoder.token", VOCAB, H},
        {"decoder.position", POSITIONS, H},
};
static const struct tensor_row whisper_layer[] = {
        WHISPER_ATTENTION("encoder.self"), WHISPER_FEED("encoder"),
        WHISPER_ATTENTION("decoder.self"), WHISPER_ATTENTION("decoder.cross"),
        WHISPER_FEED("decoder"),
};
static const struct tensor_row whisper_tail[] = {NORM("encoder.norm", H), NORM("decoder.norm", H)};

#define DEMO_ATTENTION(n)                                                                          \
        LINEAR(n ".in_proj", H3, H), LINEAR(n ".out_proj", H, H), NORM(n "_norm", H)
#define DEMO_FEED(n) LINEAR(n ".linear1", F, H), LINEAR(n ".linear2", H, F), NORM(n ".norm", H)
static const struct tensor_row demo_head[] = {{"embedding.weight", VOCAB, H}};
static const struct tensor_row demo_layer[] = {
        DEMO_ATTENTION("encoder.self"),  DEMO_FEED("encoder"), DEMO_ATTENTION("decoder.self"),
        DEMO_ATTENTION("decoder.cross"), DEMO_FEED("decoder"),
};
static const struct tensor_row demo_tail[] = {
        NORM("encoder.norm", H),
        NORM("decoder.norm", H),
        LINEAR("decoder", VOCAB, H),
};

static const struct tensor_row padding_layer[] = {{"weight", F, H}};

#define ROWS(a) a, sizeof(a) / sizeof(a)[0]
static const struct family {
        const struct tensor_row *head;
        size_t nhead;
        const struct tensor_row *layer;
        size_t nlayer;
        const struct tensor_row *tail;
        size_t ntail;
        const char *layers; /* what stands before a layer's number */
} families[] = {
        [MODEL_GPT] = {ROWS(gpt_head), ROWS(gpt_layer), ROWS(gpt_tail), "layers"},
        [MODEL_LLAMA] = {ROWS(decoder_head), ROWS(llama_layer), ROWS(decoder_tail), "layers"},
        [MODEL_VIT] = {ROWS(vit_head), ROWS(vit_layer), ROWS(vit_tail), "layers"},
        [MODEL_CLASSIFIER] = {ROWS(classifier_head), ROWS(classifier_layer), ROWS(classifier_tail),
                              "vit.layers"},
        [MODEL_CLIP] = {ROWS(clip_head), ROWS(clip_layer), ROWS(clip_tail), "layers"},
        [MODEL_T5] = {ROWS(t5_head), ROWS(t5_layer), ROWS(t5_tail), "layers"},
        [MODEL_WHISPER] = {ROWS(whisper_head), ROWS(whisper_layer), ROWS(whisper_tail), "layers"},
        [MODEL_DEMO] = {ROWS(demo_head), ROWS(demo_layer), ROWS(demo_tail), "layers"},
        [MODEL_PADDING] = {NULL, 0, ROWS(padding_layer), NULL, 0, "layers"},
        [MODEL_MLPERF] = {ROWS(decoder_head), ROWS(mlperf_layer), ROWS(decoder_tail), "layers"},
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
        uint64_t h = m->hidden, f = m->ffn, kv = h * m->kv_heads / m->heads;
        const uint64_t v[] = {
                [ONE] = 1,
                [H] = h,
                [H3] = 3 * h,
                [H4] = 4 * h,
                [Q_KV2] = h + 2 * kv,
                [KV] = kv,
                [F] = f,
                [F2] = 2 * f,
                [F4] = 4 * f,
                [VOCAB] = m->vocab,
                [BLOCK] = m->block,
                [LED_ONE] = 1,
                [LED_BLOCK] = m->block,
                [HEADS] = m->heads,
                [PATCH_16] = 3 * 16 * 16,
                [KERNELS_16] = 3 * 16 * 16,
                [PATCH_14] = 3 * 14 * 14,
                [PATCHES] = 16 * 16 + 1,
                [MELS] = 128 * 3,
                [POSITIONS] = 448,
                [BUCKETS] = 32,
        };
        return v[d];
}

static int hand_over(const struct model *m, const struct tensor_row *v, size_t n, int layer,
                     model_tensor_fn *fn, void *arg)
{
        int err = 0;
        for (size_t i = 0; i < n && !err; i++) {
                struct model_tensor t = {.rows = extent(m, v[i].rows),
                                         .cols = extent(m, v[i].cols),
                                         .lead = v[i].rows == LED_ONE || v[i].rows == LED_BLOCK,
                                         .kernel = v[i].cols == KERNELS_16 ? 16 : 0};
                if (layer < 0)
                        snprintf(t.name, sizeof t.name, "%s", v[i].name);
                else
                        snprintf(t.name, sizeof t.name, "%s.%d.%s", families[m->family].layers,
                                 layer, v[i].name);
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
        static const struct model_group fp32[] = {{"", 4}, {"exp_avg", 4}, {"exp_avg_sq", 4}};
        static const struct model_group bf16[] = {
                {"", 2}, {"master", 4}, {"exp_avg", 4}, {"exp_avg_sq", 4}};
        bool mixed = m->family == MODEL_MLPERF || m->family == MODEL_WHISPER;
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
