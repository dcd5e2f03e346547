/* SPDX-License-Identifier: Apache-2.0 */
/* payload_int.h: what payload.h does, for bytes that live on a device. Only payload.c needs it. */
#ifndef CKPTFS_BENCH_PAYLOAD_INT_H
#define CKPTFS_BENCH_PAYLOAD_INT_H

#include "bench/data/payload.h"

/* Takes the job's device. 0 or a negative errno. */
int payload_dev_hold(struct payload *p);
void payload_dev_release(struct payload *p);
/* Points `data` at the device. */
void payload_dev_io(struct payload *p);

int payload_dev_fill(struct payload *p);
int payload_dev_wipe(struct payload *p, int byte);
/* 0, or -EBADMSG with the first wrong byte in *fault. */
int payload_dev_check(struct payload *p, struct shard_fault *fault);
/* payload_share() where collectives reach the host's memory only. */
int payload_dev_share(struct payload *p, struct coll *c, unsigned root, uint64_t off, size_t n);

#endif
