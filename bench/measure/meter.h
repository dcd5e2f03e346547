/* SPDX-License-Identifier: Apache-2.0 */
/* meter.h: how fast something went and what it cost, of the whole machine and of the processes that
 * took part. */
#ifndef CKPTFS_BENCH_METER_H
#define CKPTFS_BENCH_METER_H

#include <stdint.h>
#include <sys/types.h>

struct meter {
        pid_t other; /* that serves this process; 0: none */
        uint64_t begin;
        double machine, self, served;
};

/* Per 1e9 bytes. The machine's includes whatever else runs on it; the processes' leaves out what
 * the kernel does on nobody's account. */
struct figure {
        double seconds, gb_per_s;
        double cpu_machine_per_gb, cpu_processes_per_gb;
};

void meter_begin(struct meter *m, pid_t other);
void meter_end(const struct meter *m, uint64_t bytes, struct figure *out);

#endif
