/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: "ckptbench report": results as one HTML page that needs no other
 * file, and as Markdown beside it. */
#ifndef CKPTFS_BENCH_REPORT_H
#define CKPTFS_BENCH_REPORT_H

/* argv: "report", directories that are searched for run_results.json (or such files), "-o", the
 * page (else report.html). Returns the exit status. */
int report_main(int argc, char **argv);

#endif
