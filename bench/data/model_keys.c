/* SPDX-License-Identifier: Apache-2.0 */
/* model_keys.c: see model_keys.h. */
#include "bench/data/model_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

/* One line: what may have been meant, of which names that begin with it come first, or all. */
static void say_unknown(const char *name, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf all = BUF_INIT;
        size_t far = SIZE_MAX;
        const char *near = NULL;

        for (size_t i = 0; i < model_count; i++) {
                const char *other = model_table[i].name;
                if (*name && far > 0 && !strncasecmp(name, other, strlen(name))) {
                        near = other;
                        far = 0;
                }
                if (edit_nearer(name, other, &far))
                        near = other;
                buf_addf(&all, ", %s", other);
        }
        if (near)
                snprintf(why, nwhy, "model '%s' is unknown: did you mean '%s'?", name, near);
        else
                snprintf(why, nwhy, "model '%s' is unknown: give one of auto%s", name,
                         all.failed ? ", gpt-mini" : all.p);
}

/* With as many layers as there must be. */
static uint64_t least_bytes(const struct keys *k, const struct model *m)
{
        struct model least = *m;

        least.layers = k->model_layers ? (unsigned)k->model_layers : 1;
        return model_params(&least) * model_param_bytes(&least, k->optimizer);
}

uint64_t model_least(const struct keys *k)
{
        char why[512];
        struct model m;

        if (!k->size || strcmp(k->model, "auto") != 0 || model_choose(k, &m, why, sizeof why))
                return 0;
        const uint64_t bytes = least_bytes(k, &m);
        return bytes > k->size ? bytes : 0;
}

/* Layers are chosen, but one there must be. */
static int check_size(const struct keys *k, const struct model *m, char *why, size_t nwhy)
{
        const uint64_t bytes = least_bytes(k, m);

        if (!k->size || k->model_layers || k->size >= bytes || !strcmp(k->model, "auto"))
                return 0;
        snprintf(why, nwhy,
                 "size=%llu: %s with one layer has %llu bytes: give as much, another model, or "
                 "model=auto, which follows the size",
                 (unsigned long long)k->size, m->name, (unsigned long long)bytes);
        return -EINVAL;
}

int model_choose(const struct keys *k, struct model *m, char *why, size_t nwhy)
{
        uint64_t size = k->size;

        if (!strcmp(k->model, "auto")) {
                size = size ? size : 1ULL << 30;
                *m = *model_for_size(k->optimizer, size);
        } else {
                const struct model *found = model_find(k->model);
                if (!found) {
                        say_unknown(k->model, why, nwhy);
                        return -EINVAL;
                }
                *m = *found;
        }
        if (k->model_hidden) {
                m->hidden = (unsigned)k->model_hidden;
                if (m->family == MODEL_GPT || m->family == MODEL_CLASSIFIER)
                        m->ffn = 4 * m->hidden;
        }
        if (k->model_heads) {
                m->heads = (unsigned)k->model_heads;
                m->kv_heads = m->family == MODEL_GPT || m->family == MODEL_CLASSIFIER ? m->heads
                                                                                      : m->kv_heads;
        }
        if (k->model_ffn)
                m->ffn = (unsigned)k->model_ffn;
        if (k->model_vocab)
                m->vocab = (unsigned)k->model_vocab;
        if (k->model_block)
                m->block = (unsigned)k->model_block;
        int err = model_check(m, why, nwhy);
        if (!err)
                err = check_size(k, m, why, nwhy);
        if (err)
                return err;
        if (size)
                m->layers = model_layers_for(m, k->optimizer, size);
        if (k->model_layers)
                m->layers = (unsigned)k->model_layers;
        return 0;
}
