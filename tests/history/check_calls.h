/* SPDX-License-Identifier: Apache-2.0 */
/* check_calls.h: what a call may do to names, and which of its errors are promised. */
#ifndef CKPTFS_TESTS_HISTORY_CHECK_CALLS_H
#define CKPTFS_TESTS_HISTORY_CHECK_CALLS_H

#include "checker.h"

enum { ALL_PATHS = 256 };

struct path {
        char name[NAME_MOST];
        unsigned root, local;
};

enum look_wants { LOOK_ABSENT, LOOK_PRESENT, LOOK_SIZE };

struct look {
        const struct call *call;
        unsigned path;
        enum look_wants wants;
        uint64_t size;
        int64_t from, until;
};

struct judge {
        const struct history *h;
        int64_t longest; /* from the begin of a call until it is over */
        FILE *to;
        struct contents *contents;
        struct path paths[ALL_PATHS];
        unsigned npaths;
        struct op *ops; /* p and q are of paths[] */
        unsigned nops, ops_room;
        struct look *looks;
        unsigned nlooks, looks_room;
        uint64_t *lens; /* of the pieces of each call */
        unsigned nlens;
        unsigned printed;
        bool broken, too_large;
};

unsigned judge_path(struct judge *j, const char *name);
/* A rename connects the two. */
void judge_join(struct judge *j, unsigned a, unsigned b);
void judge_wrong(struct judge *j, const struct call *c, const char *what);
uint64_t judge_size(struct judge *j, int value);
/* Makes ops and looks of all calls. */
void judge_calls(struct judge *j);

#endif
