/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h: the keys of keys.def as a struct. */
#ifndef CKPTFS_BENCH_KEYS_H
#define CKPTFS_BENCH_KEYS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/text/json.h"
#include "base/params.h"

struct keys {
#define KEY(field, name, type, ...) param_##type field;
#include "bench/core/keys.def"
};
extern const struct param_tab key_tab;

/* Indices of the words of CHOICE keys, in the order of keys.def. */
enum { PHASE_BOTH, PHASE_SAVE, PHASE_LOAD };
enum { STAGING_PAGEABLE, STAGING_PINNED, STAGING_CACHED };
enum { STRATEGY_AUTO, STRATEGY_DATAFLUX, STRATEGY_FSSPEC, STRATEGY_FSDP, STRATEGY_ASYNC };
enum { MONITOR_LAST, MONITOR_LOSS };
enum { MLPERF_AUTO, MLPERF_FULL, MLPERF_SUBSET };
enum { WRITER_THREAD, WRITER_PROCESS };
enum { STATE_AUTO, STATE_TRAINED, STATE_PATTERN };
enum { OPTIMIZER_SGD, OPTIMIZER_ADAMW };
enum { MODE_DDP, MODE_FSDP, MODE_PDP };
enum { ACTIVATION_NOOP, ACTIVATION_CHECKPOINT, ACTIVATION_OFFLOAD };
enum { PREFETCH_NOOP, PREFETCH_PREHOOK, PREFETCH_POSTHOOK };
enum { DTYPE_FP32, DTYPE_FP16 };
enum { TRAIN_SAVE_OFF, TRAIN_SAVE_SYNC, TRAIN_SAVE_ASYNC };
enum { LOSS_ENTROPY, LOSS_SUM };
enum { WORK_AUTO, WORK_HOST, WORK_DEVICE };
enum { DEVICE_AUTO, DEVICE_CUDA, DEVICE_HOST, DEVICE_EMULATED, DEVICE_CPU };
enum { DISK_GDS_OFF, DISK_GDS_ON, DISK_GDS_AUTO };
enum { DEVICE_PINNED, DEVICE_PAGEABLE };
enum { RESTORE_INDEPENDENT, RESTORE_SHARED };
enum { BACKEND_GLOO, BACKEND_NCCL };
enum { SHARDING_FULL, SHARDING_HYBRID };
enum { PAYLOAD_TENSORS, PAYLOAD_NULL };
enum { HOLD_AUTO, HOLD_ON, HOLD_OFF };
enum { READER_SEQUENTIAL, READER_RANGE_BASED };
enum { DROP_AUTO, DROP_FILE, DROP_CACHES, DROP_NONE };

/* The scenarios that read a key, where `scenario` does not; NULL: it does, or there is no such
 * key. */
const char *keys_readers(const char *key, const char *scenario);

/* Names of the suites, each with the key of ours that it means; the last is NULL. */
extern const char *const key_aliases[][2];

/* Adds every key and its value to an object, nested as in the suites' files, and under the names
 * that the suites have. */
void keys_json(const struct keys *k, struct json *to);

/* Appends "name=value" of every key, a NUL behind each, for another process; and sets keys from
 * that, initialised here. 0, -ENOMEM or -EINVAL. */
int keys_pack(const struct keys *k, struct buf *to);
int keys_unpack(struct keys *k, const char *p, size_t n);

#endif
