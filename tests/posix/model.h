/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: the two places that model.c works in, what is done there, and the comparison of both. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { WORLDS = 2, SLOTS = 6, BUFFER = 8 << 20, OLD = 978307200 };

struct world {
        const char *name;
        int dir;
        int fds[SLOTS];       /* -1: none */
        void *maps[SLOTS];    /* NULL: none; it stays when the descriptor of its slot is closed */
        int mapped[SLOTS];    /* the file of that map: for its size */
        unsigned char *bytes; /* BUFFER of them, for what is read */
};

extern struct world worlds[WORLDS]; /* the mount, the local directory */
extern int step;                    /* of the script, for what is said */

extern int every;              /* comparisons are after so many steps */
extern unsigned char *pattern; /* BUFFER bytes, which are other ones in each step */

enum kind {
        OPEN,
        CLOSE,
        WRITE,
        APPENDED,
        READ,
        MAPPED,
        FTRUNCATE,
        FALLOCATE,
        FSYNC,
        TRUNCATE,
        RENAME,
        RENAME_NEW,
        UNLINK,
        MKDIR,
        RMDIR,
        SYMLINK,
        CHMOD,
        FCHMOD,
        CHOWN,
        UTIMES,
        SETXATTR,
        REMOVEXATTR,
        COPY,
        DUP,
        REOPEN,
        AT_END,
        SENDFILE,
        MAP,
        MAP_WRITE,
        UNMAP,
        CHILD,
        KINDS
};

struct op {
        enum kind kind;
        int path, path2, slot;
        long long at, len;
};

/* --- model_fds.c --- */
/* An operation that names no path; what the system call returns, with its errno. */
long long act_on_descriptor(struct world *w, const struct op *op);
/* In place of what the slot has; -1 when there is none. */
long long keep_descriptor(struct world *w, int slot, int fd);
void end_map(struct world *w, int slot);

/* --- model_same.c --- */
/* Each says on standard output what differs, and returns whether nothing does. */
bool differ(const char *path, const char *what, long long mount, long long local);
bool same_text(const char *path, const char *what, const char *a, const char *b);

/* Type, mode, owner, size, contents, attributes, entries, and a time that was set (it is OLD). */
bool same_path(const char *path);

/* The file of a descriptor, also when its name went. */
bool same_descriptor(int slot);
