/* SPDX-License-Identifier: Apache-2.0 */
/* attr.h: what a file is besides its bytes: mode, owner, times and user attributes, and how an
 * object carries them.
 *
 * The metadata are those of s3fs: `mode` (decimal, with the type), `uid`, `gid`, `mtime`, `ctime`,
 * `atime` (seconds, with nine digits of a fraction where there is one), `xattr` (percent-encoded
 * JSON, values in base64); `ckptfs-rdev` is the number of a device. What others put there is kept,
 * but what tells of bytes or times that are no more.
 * A value lives under the lock of what holds it. */
#ifndef CKPTFS_MOUNT_ATTR_H
#define CKPTFS_MOUNT_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store.h"

enum {
        ATTR_MODE = 1 << 0,
        ATTR_UID = 1 << 1,
        ATTR_GID = 1 << 2,
        ATTR_MTIME = 1 << 3,
        ATTR_ATIME = 1 << 4,
        ATTR_CTIME = 1 << 5
};

/* All zero: nothing is known, the mount's defaults hold. */
struct attr {
        unsigned set; /* ATTR_*: what the object carries or was given here */
        mode_t mode;  /* with its type, when ATTR_MODE is set */
        uid_t uid;
        gid_t gid;
        dev_t rdev;
        int64_t mtime_ns, atime_ns, ctime_ns;
        bool partial;            /* the object has metadata that is not here */
        bool tagged;             /* so has it tags */
        uint64_t metageneration; /* of the object's metadata, as of struct store_meta */
        bool written;            /* mtime is that of a write: later writes move it */
        bool new_bytes;          /* what others wrote of the bytes holds no more */
        struct {
                bool set; /* that write is not published; before it were: */
                bool written, new_bytes;
                unsigned times; /* ATTR_MTIME, ATTR_CTIME */
                int64_t mtime_ns, ctime_ns;
        } before;
        struct attr_more *more; /* user attributes and metadata of others; NULL: none */
};

void attr_release(struct attr *a);
/* A copy, cheap, to be released. */
struct attr attr_copy(const struct attr *a);
/* Takes the place of *to; `from` is empty after it. */
void attr_move(struct attr *to, struct attr *from);

/* Reads what a head or a get told. `dir`: of a directory's marker. *a is empty before. 0 or
 * -ENOMEM; what cannot be read counts as absent. */
int attr_from_object(const struct store_object *obj, bool dir, struct attr *a);

/* The metadata of an object that has these attributes; `missing` if they are partial, so that the
 * store refuses to write them. 0, -ENOSPC: more than a store takes, or -ENOMEM. */
int attr_to_meta(const struct attr *a, struct store_meta *m);
/* The same for an upload that begins before its last byte is known: without the times that writing
 * still moves. */
int attr_to_meta_early(const struct attr *a, struct store_meta *m);
/* Whether a store takes them with the times of a change of the file's bytes, too. */
bool attr_fits_written(const struct attr *a);

/* Another host has changed what was `base` to `theirs`: *a gets that, but for what differs from the
 * base, which was changed here. 0 or -ENOMEM. */
int attr_merge(struct attr *a, const struct attr *base, const struct attr *theirs);

/* The file was written or cut at `now_ns`, by `uid`: moves its times, and takes set-id bits from
 * what somebody else than root wrote. */
void attr_touch(struct attr *a, int64_t now_ns, uid_t uid);
/* What was written is published; or it never will be: the times are those before it, unless they
 * were set since. */
void attr_touch_published(struct attr *a);
void attr_touch_failed(struct attr *a);

/* --- user attributes (attr_user.c) --- */

/* Names are whole ("user.a"); nothing here knows which are allowed. */

/* Copies the value: its length, or with size 0 the length alone. -ENODATA, -ERANGE. */
ssize_t attr_user_get(const struct attr *a, const char *name, void *buf, size_t size);
/* The names, each with its NUL: their length. -ERANGE. */
ssize_t attr_user_list(const struct attr *a, char *buf, size_t size);
/* flags: 0, XATTR_CREATE or XATTR_REPLACE. 0, -EEXIST, -ENODATA, -ENOMEM, or -ENOSPC when the
 * object could not carry it beside all the rest. */
int attr_user_set(struct attr *a, const char *name, const void *value, size_t len, int flags);
int attr_user_remove(struct attr *a, const char *name); /* 0, -ENODATA or -ENOMEM */

/* --- between attr.c and attr_user.c --- */

struct attr_pair {
        char *name;
        void *value; /* with a NUL behind it */
        size_t len;
        bool foreign; /* metadata that is none of ours, not a user attribute */
};
struct attr_more { /* never changed once made, so copies share it */
        unsigned refs;
        size_t n;
        struct attr_pair v[];
};
struct attr_more *attr_more_ref(struct attr_more *more);
void attr_more_unref(struct attr_more *more);
/* The same as attr_merge(), of the pairs. */
int attr_more_merge(struct attr *a, const struct attr *base, const struct attr *theirs);
/* Adds a pair, replacing one of that name and kind. 0 or -ENOMEM. */
int attr_more_put(struct attr *a, const char *name, const void *value, size_t len, bool foreign);
/* The value of `xattr` and back. 0, -ENOSPC or -ENOMEM. */
int attr_user_encode(const struct attr *a, struct store_meta *m);
int attr_user_decode(struct attr *a, const char *text);

#endif
