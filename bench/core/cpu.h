/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h: processor time of this process, of others and of the machine, in seconds. */
#ifndef CKPTFS_BENCH_CPU_H
#define CKPTFS_BENCH_CPU_H

#include <stddef.h>
#include <sys/types.h>

/* User and system time of all threads of this process. */
double cpu_self_s(void);

/* The same of another process, in steps of a clock tick (10 ms); 0 when there is none. */
double cpu_process_s(pid_t pid);

/* Time in which any core was not idle since the machine started, in clock ticks. */
double cpu_machine_s(void);

/* The part of it that the kernel took: system calls of whoever, interrupts, threads of its own. */
double cpu_kernel_s(void);

/* Cores this process may use, and those of the machine. */
unsigned cpu_cores(void);
unsigned cpu_cores_online(void);

/* The process that serves the FUSE mount which holds `path`: one that has /dev/fuse open for it,
 * or, where the kernel does not tell, that has the mountpoint among its arguments. 0 when none is
 * found.
 */
pid_t cpu_find_mount(const char *path);

/* The processor's name. */
void cpu_name(char *out, size_t n);

#endif
