/* SPDX-License-Identifier: Apache-2.0 */
/* soak.h: what the processes of a soak share, and what one of them knows of its files. */
#ifndef CKPTFS_TESTS_SOAK_SOAK_H
#define CKPTFS_TESTS_SOAK_SOAK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
        WORKERS = 3,
        FILES_MOST = 40,
        DIRS_MOST = 8,
        PIECES_MOST = 12,
        NAME_ROOM = 40,
        PATH_ROOM = 400
};

struct world {
        const char *dir; /* the mount */
        unsigned idle;   /* a process rests so many times as long as a step took */
        unsigned long long seed;
        pthread_rwlock_t up;  /* shared by each step; exclusive while all rest */
        atomic_bool enough;   /* no more steps: what is there is to be read */
        atomic_bool readable; /* the mount that it is to be read from is there */
        _Atomic unsigned steps, kills;
        _Atomic unsigned names[WORKERS]; /* of each in the mount, its directory included */
};
extern struct world *world;

/* Bytes that were written at one time. They follow from the number and their place; 0 is zeros. */
struct piece {
        uint64_t off, end;
        unsigned number;
};

/* Later pieces lie over earlier ones. */
struct file {
        char name[NAME_ROOM]; /* below the worker's directory; "": no file */
        uint64_t size;
        unsigned n;
        struct piece pieces[PIECES_MOST];
};

/* One process, whose directory nobody else uses. */
struct worker {
        int n;
        unsigned long long state; /* of chance() */
        unsigned number, saves;   /* the last of each */
        struct file files[FILES_MOST];
        char dirs[DIRS_MOST][NAME_ROOM]; /* "": none */
        bool link;                       /* the symbolic link is there */
};

/* Less than n. */
unsigned chance(struct worker *w, unsigned n);
/* Where the name is in the mount. */
const char *path_of(const struct worker *w, const char *name, char path[PATH_ROOM]);
/* What is wrong, with errno, and the end of the process. */
_Noreturn void wrong(const struct worker *w, const char *what, const char *name);

/* soak_files.c: each changes or reads the file, and what is known of it. */
struct file *file_find(struct worker *w, const char *name);
/* One that is not known yet, and is not made. */
struct file *file_add(struct worker *w, const char *name);
/* One of the known whose name begins so, or NULL. */
struct file *file_any(struct worker *w, const char *prefix);
void file_note(struct file *f, uint64_t off, uint64_t len, unsigned number);
void file_fill(const struct file *f, uint64_t off, size_t n, unsigned char *p);
/* From `off` on, in blocks of a random size, by a descriptor that is open. */
void file_write(struct worker *w, struct file *f, int fd, uint64_t off, uint64_t len);
/* Whole, and a few places of it. */
void file_read(struct worker *w, const struct file *f);
void file_read_fd(struct worker *w, const struct file *f, int fd, uint64_t off);
/* All that is known is there, and nothing else is. */
void files_are_listed(struct worker *w);
unsigned files_count(const struct worker *w);
/* The key of everything that the worker has in the bucket. */
void files_print_keys(const struct worker *w, FILE *to);

/* soak_steps.c: one random thing that a program does with checkpoints. */
void step(struct worker *w);
/* What all steps take for granted. */
void step_first(struct worker *w);

#endif
