/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_nvme.h: "ckptbench prepare-nvme": a file system on a blank device, mounted, for
 * storage=disk.
 */
#ifndef CKPTFS_BENCH_PREPARE_NVME_H
#define CKPTFS_BENCH_PREPARE_NVME_H

/* argv: "prepare-nvme", "--device", DEVICE, "--mountpoint", DIR, "--yes". Touches nothing unless
 * the device is a whole one, blank, used by nobody, and --yes was given. Returns the exit status.
 */
int prepare_nvme_main(int argc, char **argv);

#endif
