/* SPDX-License-Identifier: Apache-2.0 */
/* drive_call.h: one call that is being made; between drive_calls.c and drive_names.c. */
#ifndef CKPTFS_TESTS_HISTORY_DRIVE_CALL_H
#define CKPTFS_TESTS_HISTORY_DRIVE_CALL_H

#include "drive.h"

enum { PATH_ROOM = 400 };

struct making {
        struct who *w;
        struct call *c;
        unsigned ups; /* of the host, when it began */
        bool alone;   /* in this mount, in the locks below */
        int locks[2]; /* -1: none */
};

void path_of(const struct who *w, const char *name, char *path);
/* Waits until the host has a daemon, and keeps others from replacing that. How often it was
 * replaced. */
unsigned host_enter(int host);
void host_leave(int host);

struct making call_begin(struct who *w, struct call *c, enum call_kind kind, const char *name,
                         const char *to, bool alone);
/* The call is over, and what it says is in *c. Times that it did not come to are those of its end.
 */
void call_end(struct making *m);
/* A call of one step: its first and last times are the same. */
void call_one_step(struct call *c, int rc);

/* Chooses the bytes that the call writes. */
void call_bytes(struct who *w, struct call *c);
void call_write(struct making *m);

void do_read(struct who *w, const char *name);
void do_stat(struct who *w, const char *name);
void do_list(struct who *w);
void do_write(struct who *w, enum call_kind kind, const char *name);
void do_append_twice(struct who *w, const char *name);
void do_change(struct who *w, const char *name);
void do_replace(struct who *w, const char *name);

#endif
