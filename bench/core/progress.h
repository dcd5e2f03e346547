/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: how far a job is, for who waits: a bar with rate and remaining time on a terminal, a
 * line now and then elsewhere. One at a time in a process. */
#ifndef CKPTFS_BENCH_PROGRESS_H
#define CKPTFS_BENCH_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct progress_job {
        const char *label;
        size_t number, jobs; /* from 1 */
        uint64_t bytes;      /* that this rank will move; 0: not known */
        unsigned ranks;      /* that move as many each, for the rate shown */
        uint64_t every_ms;   /* between lines where standard error is no terminal; 0: none */
};

/* Begins to show a job, on a thread of its own; the label is copied. What cannot be shown is not.
 */
void progress_begin(const struct progress_job *job);
/* Clears the bar. Fine when nothing was begun. */
void progress_end(void);

/* So many bytes this rank will move: who begins it did not know yet. Thread-safe. */
void progress_expect(uint64_t bytes);

/* So many more bytes of this rank were saved or loaded. Thread-safe, cheap; counts only between
 * begin and end. */
void progress_add(uint64_t bytes);
/* How many they are so far. */
uint64_t progress_done(void);
/* A line of its own. */
void progress_line(const char *text);

#endif
