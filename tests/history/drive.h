/* SPDX-License-Identifier: Apache-2.0 */
/* drive.h: the processes that make a history, and what they share. */
#ifndef CKPTFS_TESTS_HISTORY_DRIVE_H
#define CKPTFS_TESTS_HISTORY_DRIVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "history.h"

enum {
        HOSTS = 3,
        EACH = 3,   /* processes of a host */
        SHARED = 6, /* files that all change and rename */
        BELOW = 2,  /* files in the directory of a host, which it renames */
        DIRS = 3,   /* names that are made and removed as directories */
        LOCKS = SHARED + HOSTS
};

struct world {
        struct setting setting;
        bool attributes;             /* are changed, too */
        const char *dir;             /* has a folder for each host: its mount */
        pthread_rwlock_t up[HOSTS];  /* shared by each call; exclusive while a daemon is replaced */
        _Atomic unsigned ups[HOSTS]; /* odd: its daemon was killed, and there is no other yet */
        pthread_rwlock_t files[HOSTS][LOCKS]; /* in one mount who writes a file in place is alone */
        _Atomic unsigned ids, made;           /* ids begin with 1; calls that were made */
        unsigned turned[HOSTS];               /* renames of its directory; under its lock */
        struct call cut[HOSTS * EACH];        /* of a writer that is to be killed */
        struct call now[HOSTS * EACH];        /* what each process does, for who waits in vain */
};
extern struct world *world;

/* One process of a host. */
struct who {
        int host, proc;
        FILE *out;
        unsigned long long state; /* of chance() */
};

int64_t now_ns(void);
/* Less than n. */
unsigned chance(struct who *w, unsigned n);
/* One random call, or a few that belong together. */
void drive_one(struct who *w);
/* Reads every file. */
void drive_last(struct who *w);

#endif
