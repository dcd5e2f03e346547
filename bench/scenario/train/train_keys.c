/* SPDX-License-Identifier: Apache-2.0 */
/* train_keys.c: see train_keys.h. */
#include "bench/scenario/train/train_keys.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench/data/model_keys.h"

#include "base/banned.h"

const struct run_flag train_flags[] = {{"--model", "model", NULL},
                                       {"--vocab_size", "model.vocab", NULL},
                                       {"--block_size", "model.block", NULL},
                                       {"--batch_size", "batch_size", NULL},
                                       {"--mode", "train.mode", NULL},
                                       {"--ndevice_per_proc", "train.devices", NULL},
                                       {"--chunks", "train.chunks", NULL},
                                       {"--activation", "activation", NULL},
                                       {"--cpu_offload", "cpu_offload", "on"},
                                       {"--prefetch", "prefetch", NULL},
                                       {"--dtype", "dtype", NULL},
                                       {"--profile", "profile", "on"},
                                       {NULL, NULL, NULL}};

const struct run_fixed train_fixed[] = {
        {"--version", "pytorch",
         "train has the modes of PyTorch alone: give train.mode=ddp, pdp or fsdp"},
        {NULL, NULL, NULL}};

int train_resolve_keys(struct keys *k, char *why, size_t nwhy)
{
        char name[64];

        k->optimizer = k->train_optimizer == OPTIMIZER_ADAMW; /* what size counts, and saves have */
        if (strncmp(k->model, "GPT", 3) != 0)
                return 0;
        snprintf(name, sizeof name, "gpt-%s", k->model + 3);
        for (char *p = name; *p; p++)
                *p = (char)tolower((unsigned char)*p);
        return model_find(name) ? param_tab_set(&key_tab, k, "model", name, why, nwhy) : 0;
}

/* A finite number in [from, below). */
static int read_number(const char *key, const char *text, double from, double below, double *out,
                       char *why, size_t nwhy)
{
        char *end;

        *out = strtod(text, &end);
        if (*text && !*end && isfinite(*out) && *out >= from && *out < below)
                return 0;
        snprintf(why, nwhy, "%s=%s: give a number from %g to below %g", key, text, from, below);
        return -EINVAL;
}

/* By what gradients are multiplied; 0 for what follows them. */
static int read_loss_scale(const struct keys *k, float *out, char *why, size_t nwhy)
{
        char *end;
        const double factor = strtod(k->loss_scale, &end);

        *out = 0;
        if (!strcmp(k->loss_scale, "dynamic"))
                return 0;
        if (k->dtype != DTYPE_FP16) {
                snprintf(why, nwhy,
                         "loss_scale=%s: give dtype=fp16, which alone has one, or leave it out",
                         k->loss_scale);
                return -EINVAL;
        }
        if (!*k->loss_scale || *end || !loss_scale_may_be(factor)) {
                snprintf(why, nwhy, "loss_scale=%s: give dynamic, or a power of two as 1024",
                         k->loss_scale);
                return -EINVAL;
        }
        *out = (float)factor;
        return 0;
}

/* What the devices of a rank share without a pipeline: its samples. */
static int read_devices(const struct keys *k, const struct train_setup *s, char *why, size_t nwhy)
{
        if (k->train_batch % s->devices == 0)
                return 0;
        snprintf(why, nwhy,
                 "train.devices=%u: a rank has batch_size=%llu samples, of which each has as many: "
                 "give a multiple",
                 s->devices, (unsigned long long)k->train_batch);
        return -EINVAL;
}

/* The stages of a pipeline, each of which is to have a unit of the model at least. */
static int read_stages(const struct keys *k, struct train_setup *out, char *why, size_t nwhy)
{
        const unsigned stages = (unsigned)(k->train_stages ? k->train_stages : k->train_devices);
        size_t end[1024];

        if (k->train_mode != MODE_PDP && k->train_stages < 2)
                return read_devices(k, out, why, nwhy);
        if (k->train_mode != MODE_PDP) {
                snprintf(why, nwhy, "train.stages=%u: give train.mode=pdp, which alone has stages",
                         stages);
                return -EINVAL;
        }
        unsigned filled = pipe_cut(&out->model, stages, end);
        if (filled < stages) {
                snprintf(why, nwhy, "train.%s=%u: the layers of %s fill %u: give fewer",
                         k->train_stages ? "stages" : "devices", stages, out->model.name, filled);
                return -EINVAL;
        }
        if (out->devices > stages) {
                snprintf(why, nwhy, "train.devices=%u: %u stages have no more than %u: give fewer",
                         out->devices, stages, stages);
                return -EINVAL;
        }
        out->stages = stages;
        out->chunks = (unsigned)k->train_chunks;
        return 0;
}

int train_setup(const struct keys *k, struct train_setup *out, char *why, size_t nwhy)
{
        double dropout = 0;

        *out = (struct train_setup){
                .batch = k->train_batch,
                .seed = k->seed,
                .devices = (unsigned)k->train_devices,
                .sharded = k->train_mode == MODE_FSDP,
                .stash = k->activation == ACTIVATION_CHECKPOINT ? NETWORK_STASH_INPUT
                         : k->activation == ACTIVATION_OFFLOAD  ? NETWORK_STASH_COPY
                                                                : NETWORK_STASH_ALL,
                .prefetch = k->prefetch == PREFETCH_PREHOOK    ? FSDP_PREHOOK
                            : k->prefetch == PREFETCH_POSTHOOK ? FSDP_POSTHOOK
                                                               : FSDP_NOOP,
                .offloaded = k->cpu_offload,
                .apart = !k->train_overlap,
                .adamw = k->train_optimizer == OPTIMIZER_ADAMW,
                .entropy = k->loss == LOSS_ENTROPY,
                .half = k->dtype == DTYPE_FP16,
                .lr = k->train_optimizer == OPTIMIZER_ADAMW ? 0.001 : 0.01};
        int err = model_choose(k, &out->model, why, nwhy);
        if (!err && out->model.family != MODEL_GPT) {
                snprintf(why, nwhy,
                         "model=%s: train knows the GPTs: give one of gpt-mini to gpt-1t",
                         out->model.name);
                return -EINVAL;
        }
        if (!err && (out->model.ffn != 4 * out->model.hidden || !out->model.block)) {
                snprintf(why, nwhy,
                         "model.ffn=%u: a GPT's is four times its hidden size: leave it out",
                         out->model.ffn);
                return -EINVAL;
        }
        /* OpenBLAS and cuBLAS count rows in an int */
        if (!err && k->train_batch > INT_MAX / out->model.block) {
                snprintf(why, nwhy,
                         "batch_size=%llu: with model.block=%u that are more than %d tokens of a "
                         "rank: give less of one",
                         (unsigned long long)k->train_batch, out->model.block, INT_MAX);
                return -EINVAL;
        }
        if (!err && out->prefetch != FSDP_NOOP && !out->sharded) {
                snprintf(why, nwhy,
                         "prefetch=%s: give train.mode=fsdp, which alone gathers units, or leave "
                         "it out",
                         out->prefetch == FSDP_PREHOOK ? "prehook" : "posthook");
                return -EINVAL;
        }
        if (!err && out->offloaded && !out->sharded) {
                snprintf(why, nwhy,
                         "cpu_offload=on: give train.mode=fsdp, which alone has it, or leave it "
                         "out");
                return -EINVAL;
        }
        if (!err)
                err = read_stages(k, out, why, nwhy);
        if (!err)
                err = read_loss_scale(k, &out->loss_scale, why, nwhy);
        if (!err && *k->lr)
                err = read_number("lr", k->lr, 0, 1e6, &out->lr, why, nwhy);
        if (!err)
                err = read_number("dropout", k->dropout, 0, 1 - 0x1p-24, &dropout, why, nwhy);
        out->dropout = (float)dropout;
        if (!err && *k->train_data && !out->entropy) {
                snprintf(why, nwhy,
                         "data=%s: a sum of logits learns no text: give "
                         "loss=cross_entropy, or leave it out",
                         k->train_data);
                return -EINVAL;
        }
        return err;
}
