/* SPDX-License-Identifier: Apache-2.0 */
/* history.h: a history: what the processes of several hosts asked of the files of one bucket, when
 * each call began and ended, and what it returned. `drive` records one, `check` judges it.
 *
 * Contents are pieces. A piece is written by one call, whose number stands in each of its bytes'
 * cells (pieces.h), so contents are the numbers of their pieces: "7,7,9" are two pieces of call 7
 * and one of call 9. */
#ifndef CKPTFS_TESTS_HISTORY_H
#define CKPTFS_TESTS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CALL_KINDS(K)                                                                              \
        K(PUT, "put")         /* open with O_CREAT and O_TRUNC; write; close */                    \
        K(REPLACE, "replace") /* write another name; rename it over this one */                    \
        K(CREATE, "create")   /* open with O_CREAT and O_EXCL; write; close */                     \
        K(APPEND, "append")   /* open with O_APPEND; write; close */                               \
        K(CHANGE, "change")   /* open, read, overwrite one piece, close */                         \
        K(REMOVE, "remove")                                                                        \
        K(MOVE, "move")                                                                            \
        K(MOVE_NEW, "move-new") /* RENAME_NOREPLACE */                                             \
        K(MOVE_DIR, "move-dir")                                                                    \
        K(MKDIR, "mkdir")                                                                          \
        K(RMDIR, "rmdir")                                                                          \
        K(CHMOD, "chmod")                                                                          \
        K(XATTR, "xattr") /* a user attribute is set */                                            \
        K(READ, "read")   /* open; read all; close */                                              \
        K(STAT, "stat")                                                                            \
        K(LIST, "list")                                                                            \
        K(RESTART, "restart") /* a daemon was killed, and another one mounted */

enum call_kind {
#define K(name, text) CALL_##name,
        CALL_KINDS(K)
#undef K
};

/* Why nobody knows whether a call had its effect, or that it cannot have had any. */
enum call_fate {
        FATE_TOLD,   /* by its return value */
        FATE_KILLED, /* the process was killed before the call that publishes */
        FATE_CUT,    /* the process was killed within that call */
        FATE_DOWN    /* the daemon was killed while the call was under way */
};

enum { NAME_MOST = 32, SEEN_MOST = 480 };

/* Times are those of CLOCK_MONOTONIC. [0] to [1] is the call that finds the version that is read or
 * changed (an open), [2] to [3] the one that publishes (a close, an fsync, a rename). */
struct call {
        int64_t t[4];
        int host, proc;
        enum call_kind kind;
        char name[NAME_MOST], to[NAME_MOST]; /* "-": none */
        unsigned id;                         /* of what is written; 0: nothing */
        unsigned pieces;                     /* written; of CHANGE: which */
        uint64_t len;                        /* of a piece; of STAT: the size */
        int err;
        enum call_fate fate;
        char seen[SEEN_MOST]; /* contents that were read, names that were listed; "-": none. Of
                                 APPEND after an fsync: the piece before. A text that begins with
                                 "!" says what is wrong with the bytes. */
};

/* What holds for the whole history. */
struct setting {
        unsigned seed;
        bool moves_whole; /* the store renames an object in one step */
        bool faulty;      /* replies may get lost */
        int64_t ttl_ns;   /* attr_ttl; 0 with consistency=strict */
};

struct history {
        struct setting setting;
        struct call *calls;
        unsigned n, room;
};

void history_setting_write(FILE *to, const struct setting *s);
void history_call_write(FILE *to, const struct call *c);
/* Lines of calls, sorted by their begins when all are read. False when a line is none; errno says
 * nothing then, but *line does. */
bool history_read(struct history *h, FILE *from, unsigned *line);
bool history_add(struct history *h, const struct call *c);
void history_free(struct history *h);

/* Whether the history keeps the promises of ckptfs(1); what breaks one goes to `to`, with the calls
 * around. */
enum verdict {
        VERDICT_KEPT,
        VERDICT_BROKEN,
        VERDICT_TOO_LARGE
} history_check(const struct history *h, FILE *to);

#endif
