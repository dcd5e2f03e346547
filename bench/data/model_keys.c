/* SPDX-License-Identifier: Apache-2.0 */
/* model_keys.c: see model_keys.h. */
#include "bench/data/model_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

/* The names that come closest to one that is none, "gpt-xl, gpt-xxl and demo"; those that begin
 * with it come first. */
static void nearest(const char *name, char *out, size_t n)
{
        enum { NAMES = 3 };
        size_t far[NAMES] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
        const char *near[NAMES] = {"", "", ""};

        for (size_t i = 0; i < model_count; i++) {
                const char *other = model_table[i].name;
                size_t d = !strncasecmp(name, other, strlen(name)) ? 0 : edit_distance(name, other);
                size_t at = NAMES;
                while (at > 0 && d < far[at - 1])
                        at--;
                if (at == NAMES)
                        continue;
                memmove(&far[at + 1], &far[at], (NAMES - 1 - at) * sizeof far[0]);
                memmove(&near[at + 1], &near[at], (NAMES - 1 - at) * sizeof near[0]);
                far[at] = d;
                near[at] = other;
        }
        snprintf(out, n, "%s, %s and %s", near[0], near[1], near[2]);
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
                        char names[128];
                        nearest(k->model, names, sizeof names);
                        snprintf(why, nwhy,
                                 "model '%s' is unknown: nearest are %s; give one of them, or auto",
                                 k->model, names);
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
        if (err)
                return err;
        if (size)
                m->layers = model_layers_for(m, k->optimizer, size);
        if (k->model_layers)
                m->layers = (unsigned)k->model_layers;
        return 0;
}
