/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: the two places that model.c works in, and their comparison. Each function of the latter
 * says on standard output what differs, and returns whether nothing does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { WORLDS = 2, SLOTS = 6, BUFFER = 8 << 20, OLD = 978307200 };

struct world {
        const char *name;
        int dir;
        int fds[SLOTS];       /* -1: none */
        unsigned char *bytes; /* BUFFER of them, for what is read */
};

extern struct world worlds[WORLDS]; /* the mount, the local directory */
extern int step;                    /* of the script, for what is said */

bool differ(const char *path, const char *what, long long mount, long long local);
bool same_text(const char *path, const char *what, const char *a, const char *b);

/* Type, mode, owner, size, contents, attributes, entries, and a time that was set (it is OLD). */
bool same_path(const char *path);

/* The file of a descriptor, also when its name went. */
bool same_descriptor(int slot);
