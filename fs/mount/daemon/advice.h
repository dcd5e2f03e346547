/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h: what is odd about a mount's options on this machine, and no reason to refuse them. */
#ifndef CKPTFS_MOUNT_ADVICE_H
#define CKPTFS_MOUNT_ADVICE_H

struct params;
struct store;

/* Says it in the log: memory= above what the machine or the control group has, a spill file that
 * its disk has no room for, files of keys that others may read, a prefix without objects, a bucket
 * that takes no files, and the permission to write that the store denies (`lacks`; NULL: none).
 * Blocks on local files. */
void advise(const struct params *p, struct store *s, const char *url, const char *lacks);
/* The first of these alone, when the option has changed. */
void advise_memory(const struct params *p);

#endif
