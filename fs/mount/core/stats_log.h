/* SPDX-License-Identifier: Apache-2.0 */
/* stats_log.h: what the mount has counted, for people. */
#ifndef CKPTFS_MOUNT_STATS_LOG_H
#define CKPTFS_MOUNT_STATS_LOG_H

struct buf;
struct mount;

/* Brings the figures that others count to metrics.h, where all are as of now then. Thread-safe;
 * does not block. */
void stats_update(struct mount *m);

/* Appends every figure of metrics.def as it is now, "requests=12 retries=0 ...". 0 or -ENOMEM.
 * Thread-safe; does not block. */
int stats_print(struct mount *m, struct buf *line);

/* Writes one line with every figure of metrics.def to the log. Thread-safe; does not block. */
void stats_log(struct mount *m);

#endif
