/* SPDX-License-Identifier: Apache-2.0 */
/* format.h: what a checkpoint's file looks like around its tensors. The files are the real thing:
 * the libraries whose formats these are load them (tests/bench/formats.sh).
 *
 *   raw          tensors one behind the other
 *   safetensors  length, JSON header, tensors; github.com/huggingface/safetensors, "Format"
 *   torch        what torch.save() of a state dict writes: a zip of stored entries, data.pkl and a
 *                data/N for each tensor, data on 64 bytes; torch/serialization.py, "format version
 * 3" dcp          a file of torch.distributed.checkpoint, a torch.save() of each tensor one behind
 *                the other; see dcp.h for the .metadata beside it
 *
 * Zip files carry checksums of the data, so a shard is wrapped anew when its seed changes; sizes
 * do not depend on it. */
#ifndef CKPTFS_BENCH_FORMAT_FORMAT_H
#define CKPTFS_BENCH_FORMAT_FORMAT_H

#include "bench/format/dcp.h"
#include "bench/data/shard.h"

struct format {
        const char *name;
        const char *ending; /* of file names, with the dot */
        /* Puts the format around the tensors of `s`, a shard of tensors alone. 0 or -ENOMEM. */
        int (*wrap)(struct shard *s);
};

/* Indices of the words of the format key. */
enum { FORMAT_RAW, FORMAT_SAFETENSORS, FORMAT_TORCH, FORMAT_DCP };
extern const struct format formats[];
/* Those of a file that each rank writes for itself. */
#define FORMATS_OF_SHARDS (1U << FORMAT_RAW | 1U << FORMAT_SAFETENSORS | 1U << FORMAT_TORCH)

int raw_wrap(struct shard *s);
int safetensors_wrap(struct shard *s);

#endif
