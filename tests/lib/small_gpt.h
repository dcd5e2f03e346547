/* SPDX-License-Identifier: Apache-2.0 */
/* small_gpt.h: models that are trained in a moment. */
#ifndef CKPTFS_TESTS_SMALL_GPT_H
#define CKPTFS_TESTS_SMALL_GPT_H

#include "bench/data/model.h"

#define SMALL_VIT(nlayers, nheads, width, labels)                                                  \
        {                                                                                          \
                .name = "small", .family = MODEL_CLASSIFIER, .layers = (nlayers),                  \
                .heads = (nheads), .kv_heads = (nheads), .hidden = (width), .ffn = 4 * (width),    \
                .vocab = (labels), .block = 197                                                    \
        }

#define SMALL_GPT(nlayers, nheads, width, words, length)                                           \
        {                                                                                          \
                .name = "small", .family = MODEL_GPT, .layers = (nlayers), .heads = (nheads),      \
                .kv_heads = (nheads), .hidden = (width), .ffn = 4 * (width), .vocab = (words),     \
                .block = (length)                                                                  \
        }

#endif
