/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: "ckptbench compare": the jobs of two runs beside each other. */
#ifndef CKPTFS_BENCH_COMPARE_H
#define CKPTFS_BENCH_COMPARE_H

/* argv: "compare" and two run_results.json, or directories that hold one each. Returns the exit
 * status: 0, or 1 when they cannot be compared. */
int compare_main(int argc, char **argv);

#endif
