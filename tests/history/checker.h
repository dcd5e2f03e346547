/* SPDX-License-Identifier: Apache-2.0 */
/* checker.h: what the files of the checker share.
 *
 * A call becomes an op: one or more steps, each at a moment between two times, that change the
 * contents of names as the promises say. check_search.c looks for an order of all steps that
 * explains every read. What may be older than the call (a stat, a listing, an ENOENT) is a look,
 * compared with what could have been there at any moment that it may speak of. */
#ifndef CKPTFS_TESTS_HISTORY_CHECKER_H
#define CKPTFS_TESTS_HISTORY_CHECKER_H

#include "history.h"

enum { PATHS = 8, STEPS = 4, NONE = 0, A_DIR = 1 };

/* --- check_contents.c: contents as small numbers; equal numbers are equal contents. --- */

struct contents;
struct contents *contents_new(void);
void contents_free(struct contents *all);
/* "7,7,9", or "-" for NONE. -1: it is no such text. */
int contents_of_text(struct contents *all, const char *text);
int contents_whole(struct contents *all, unsigned id, unsigned pieces);
int contents_append(struct contents *all, int base, unsigned id, unsigned pieces);
/* -1 when it has no such piece. */
int contents_change(struct contents *all, int base, unsigned id, unsigned piece);
bool contents_end_with(const struct contents *all, int what, unsigned id);
const char *contents_text(const struct contents *all, int what);

/* --- check_search.c --- */

enum act {
        ACT_SET,     /* p becomes the value */
        ACT_NEW,     /* p, which is not there, does */
        ACT_CLEAR,   /* p goes */
        ACT_TAKE,    /* p is there, and remembered */
        ACT_PUBLISH, /* p is as remembered, and becomes what the call makes of that */
        ACT_COPY,    /* p is there, and remembered; q becomes the same */
        ACT_PASTE,   /* q becomes what is remembered */
        ACT_AGAIN,   /* q becomes what is remembered, if p is still that */
        ACT_DROP,    /* p goes, if it is as remembered */
        ACT_MOVE,    /* COPY and DROP at one moment */
        ACT_UNCOPY,  /* q goes, if it is as remembered */
        ACT_BACK,    /* the same, and p, which is not there, becomes that */
        ACT_SEE      /* p is the value */
};

struct step {
        enum act act;
        int64_t from, until;
        bool optional; /* it may happen, or not */
};

struct op {
        const struct call *call;
        unsigned p, q; /* among the paths of its component */
        int value;     /* of SET, NEW, SEE; of TAKE: what it must be, -1: anything */
        unsigned nsteps;
        struct step steps[STEPS];
        bool maybe;     /* it may end after any step, or before the first */
        bool only_new;  /* COPY, PASTE and MOVE want no q */
        bool if_there;  /* COPY and MOVE do nothing without a p */
        unsigned after; /* TAKE: the last piece; 0: any */
        unsigned slot;  /* of check_search.c, */
        unsigned begun; /* as are these: the steps whose time has come */
};

/* From when until when a path could have had the value. */
struct span {
        int value;
        int64_t from, until;
};

struct spans {
        struct span *all;
        unsigned n, room;
};

struct search {
        struct contents *contents;
        struct op *ops;
        unsigned nops, npaths;
        struct spans could[PATHS];
        /* --- the result --- */
        const struct op *broken; /* no order explains this one */
        struct spans were;       /* of its p, when that was found */
        const char *too_large;   /* or the search gave up */
        int64_t reached;         /* could[] is known until then */
};
void search_run(struct search *s);
void search_end(struct search *s);
void spans_add(struct spans *s, int value, int64_t from, int64_t until);

#endif
