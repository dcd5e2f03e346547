/* SPDX-License-Identifier: Apache-2.0 */
/* model_keys.c: see model_keys.h. */
#include "bench/model_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

int model_choose(const struct keys *k, struct model *m, char *why, size_t nwhy)
{
        uint64_t size = k->size;

        if (!strcmp(k->model, "auto")) {
                size = size ? size : 1ULL << 30;
                *m = *model_for_size(k->optimizer, size);
        } else {
                const struct model *found = model_find(k->model);
                if (!found) {
                        snprintf(why, nwhy,
                                 "model '%s' is unknown: give auto or one of model.def's: "
                                 "gpt-small to gpt-1t, L7b to L70b, mlperf-8b to mlperf-1t",
                                 k->model);
                        return -EINVAL;
                }
                *m = *found;
        }
        if (k->model_hidden) {
                m->hidden = (unsigned)k->model_hidden;
                if (m->family == MODEL_GPT)
                        m->ffn = 4 * m->hidden;
        }
        if (k->model_heads) {
                m->heads = (unsigned)k->model_heads;
                m->kv_heads = m->family == MODEL_GPT ? m->heads : m->kv_heads;
        }
        if (k->model_ffn)
                m->ffn = (unsigned)k->model_ffn;
        if (k->model_vocab)
                m->vocab = (unsigned)k->model_vocab;
        if (k->model_block)
                m->block = (unsigned)k->model_block;
        int err = model_check(m, why, nwhy);
        if (err)
                return err;
        if (size)
                m->layers = model_layers_for(m, k->optimizer, size);
        if (k->model_layers)
                m->layers = (unsigned)k->model_layers;
        return 0;
}
