/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling_fuse.h: a FUSE file system that does nothing: what the kernel's side of a mount costs.
 *
 * Any name but one that begins with '.' is a file of NULL_FUSE_SIZE bytes. One that begins with 'd'
 * bypasses the page cache. Writes are dropped where they were received; reads are answered from one
 * block that stays in the processor's cache. */
#ifndef CKPTFS_BENCH_CEILING_FUSE_H
#define CKPTFS_BENCH_CEILING_FUSE_H

#define NULL_FUSE_SIZE (1LL << 42)

/* Mounts it at `dir`, prints "mounted" and serves until SIGTERM or umount. Exit status. */
int null_fuse_main(const char *dir);

#endif
