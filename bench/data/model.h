/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: what tensors a model has. Sizes follow from the shapes; none is written down. */
#ifndef CKPTFS_BENCH_MODEL_H
#define CKPTFS_BENCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum model_family {
        MODEL_GPT,
        MODEL_LLAMA,
        MODEL_VIT,
        MODEL_CLASSIFIER,
        MODEL_T5,
        MODEL_CLIP,
        MODEL_WHISPER,
        MODEL_DEMO,
        MODEL_PADDING,
        MODEL_MLPERF
};

struct model {
        const char *name;
        enum model_family family;
        unsigned layers, heads, kv_heads, hidden, ffn, vocab;
        unsigned block; /* learnt positions; 0: none */
};

extern const struct model model_table[];
extern const size_t model_count;

/* NULL when there is none of that name. */
const struct model *model_find(const char *name);

/* Whether such a model can exist: 0, or -EINVAL with one line in `why`. */
int model_check(const struct model *m, char *why, size_t nwhy);

/* One matrix, or a vector when cols is 1. Vectors are not divided among ranks. */
struct model_tensor {
        char name[52]; /* "layers.3.attn.qkv.weight" */
        uint64_t rows, cols;
        unsigned lead, kernel; /* how torch divides it: see shard.h */
};
typedef int model_tensor_fn(void *arg, const struct model_tensor *t);

/* Hands each tensor over, in the order of the network. 0, or what fn returned first. */
int model_tensors(const struct model *m, model_tensor_fn *fn, void *arg);

/* Elements of all tensors, and how many tensors. */
uint64_t model_params(const struct model *m);
uint64_t model_ntensors(const struct model *m);

/* What is kept for each tensor: its weights and, with `optimizer`, the state of Adam. */
struct model_group {
        const char *name; /* "" for the weights, which have the names of the tensors */
        unsigned bytes;   /* of one element */
};
const struct model_group *model_groups(const struct model *m, bool optimizer, size_t *n);

/* Bytes kept for one parameter. */
unsigned model_param_bytes(const struct model *m, bool optimizer);

/* The number of layers with which all groups come closest to `size` bytes; at least 1. */
unsigned model_layers_for(const struct model *m, bool optimizer, uint64_t size);

/* A shape that meets `size` bytes within about 2 % by its number of layers alone: the largest GPT
 * or MLPerf 8B of which a layer is at most 5 % and what is not layers at most 25 % of it, else the
 * smallest. */
const struct model *model_for_size(bool optimizer, uint64_t size);

#endif
