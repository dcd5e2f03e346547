/* SPDX-License-Identifier: Apache-2.0 */
/* child.h: a helper process that says in one line of output that it is ready. It ends with us, at a
 * signal too (signal_cleanup.h), or when we are killed. */
#ifndef CKPTFS_BENCH_CHILD_H
#define CKPTFS_BENCH_CHILD_H

#include <stddef.h>
#include <sys/types.h>

struct child {
        pid_t pid; /* 0: none */
        int out;   /* its standard output */
};

/* Starts argv (a path or a name on PATH) and waits up to 10 s for its first line, without the
 * newline. 0, or a negative errno with one line in `why`; then nothing runs. Blocks. */
int child_start(struct child *c, const char *const *argv, char *line, size_t nline, char *why,
                size_t nwhy);

/* Sends SIGTERM, waits, after 5 s SIGKILL. An empty one is fine. */
void child_stop(struct child *c);

/* The same for one that is about to end by itself: waits for that 5 s first. */
void child_end(struct child *c);

/* What a helper is between its start and its program: "ckptbench become PARENT PROGRAM
 * ARGUMENT...". Returns the exit status when the program cannot be run. */
int child_become_main(int argc, char **argv);

/* The path of this program. 0 or a negative errno. */
int child_self(char *out, size_t n);

#endif
