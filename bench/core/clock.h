/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: durations. Clocks of two machines are never compared. */
#ifndef CKPTFS_BENCH_CLOCK_H
#define CKPTFS_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic nanoseconds of this machine. */
static inline uint64_t clock_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static inline double clock_s(uint64_t ns)
{
        return (double)ns / 1e9;
}

/* Seconds since *mark, which moves on. */
static inline double clock_lap(uint64_t *mark)
{
        uint64_t now = clock_ns();
        double s = clock_s(now - *mark);
        *mark = now;
        return s;
}

/* Sleeps; a signal may end it early. */
static inline void clock_sleep_ns(uint64_t ns)
{
        struct timespec t = {.tv_sec = (time_t)(ns / 1000000000ULL),
                             .tv_nsec = (long)(ns % 1000000000ULL)};
        nanosleep(&t, NULL);
}

#endif
