/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_record.h: what a mount keeps at the store and ckptctl may have to settle.
 * UNLINKED_PREFIX ID holds the bytes of a deleted file that a program has open. The record of a
 * change that lost to another host's says where its bytes are: one JSON object, KEPT_PREFIX ID.
 * Pure. */
#ifndef CKPTFS_BASE_RECOVERY_RECORD_H
#define CKPTFS_BASE_RECOVERY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEPT_PREFIX     ".ckptfs/kept/"
#define ORPHAN_PREFIX   ".ckptfs/orphan/"
#define UNLINKED_PREFIX ".ckptfs/unlinked/"

enum { KEPT_ID_MAX = 17, KEPT_TEXT_MAX = 4 << 20 };

struct kept_part {
        unsigned partno;
        uint64_t size;
        char *etag;
        bool has_crc;
        uint32_t crc32c;
};

/* Strings are malloc'ed; NULL where there is none. */
struct kept {
        char *key;    /* of the file */
        char *base;   /* version that was changed */
        char *host;   /* that changed it */
        char *upload; /* id of the unfinished upload; NULL: the bytes are ORPHAN_PREFIX ID */
        uint64_t size;
        int64_t time_ns;
        size_t nparts;
        struct kept_part *parts; /* of the upload */
};
void kept_release(struct kept *k);

/* A fresh ID: hexadecimal, random. */
void kept_id(char id[KEPT_ID_MAX]);

/* Adds a copy of the part. 0 or -ENOMEM. */
int kept_add_part(struct kept *k, const struct kept_part *part);

/* As text, malloc'ed; NULL: no memory. */
char *kept_print(const struct kept *k);

/* Reads it; `name` stands for it in `why`. 0, -ENOMEM or -EINVAL with one line in `why`. */
int kept_parse(const char *name, const char *text, size_t n, struct kept *out, char *why,
               size_t nwhy);

#endif
