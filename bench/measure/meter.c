/* SPDX-License-Identifier: Apache-2.0 */
/* meter.c: see meter.h. */
#include "bench/measure/meter.h"

#include "bench/core/clock.h"
#include "bench/core/cpu.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

void meter_begin(struct meter *m, pid_t other)
{
        *m = (struct meter){
                .other = other,
                .machine = cpu_machine_s(),
                .self = cpu_self_s(),
                .served = cpu_process_s(other),
        };
        m->begin = clock_ns();
}

void meter_end(const struct meter *m, uint64_t bytes, struct figure *out)
{
        double gb = (double)bytes / 1e9;
        double s = clock_s(clock_ns() - m->begin);
        double processes = cpu_self_s() - m->self + cpu_process_s(m->other) - m->served;

        *out = (struct figure){
                .seconds = s,
                .gb_per_s = stats_ratio(gb, s),
                .cpu_machine_per_gb = stats_ratio(cpu_machine_s() - m->machine, gb),
                .cpu_processes_per_gb = stats_ratio(processes, gb),
        };
}
