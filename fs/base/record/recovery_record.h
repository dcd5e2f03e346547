/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_record.h: what a mount keeps at the store and ckptctl may have to settle.
 * UNLINKED_PREFIX ID holds the bytes of a deleted file that a program has open. The record of a
 * change that lost to another host's says where its bytes are: one JSON object, RECOVERY_PREFIX ID.
 * Pure. */
#ifndef CKPTFS_BASE_RECOVERY_RECORD_H
#define CKPTFS_BASE_RECOVERY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECOVERY_PREFIX ".ckptfs/kept/"
#define ORPHAN_PREFIX   ".ckptfs/orphan/"
#define UNLINKED_PREFIX ".ckptfs/unlinked/"

enum { RECOVERY_ID_MAX = 17, RECOVERY_TEXT_MAX = 4 << 20 };

struct recovery_part {
        unsigned partno;
        uint64_t size;
        char *etag;
        bool has_crc;
        uint32_t crc32c;
};

/* Strings are malloc'ed; NULL where there is none. */
struct recovery_record {
        char *key;    /* of the file */
        char *base;   /* version that was changed */
        char *host;   /* that changed it */
        char *upload; /* id of the unfinished upload; NULL: the bytes are ORPHAN_PREFIX ID */
        uint64_t size;
        int64_t time_ns;
        size_t nparts, maxparts;
        struct recovery_part *parts; /* of the upload */
};
void recovery_record_release(struct recovery_record *k);

/* A fresh ID: hexadecimal, random. */
void recovery_record_id(char id[RECOVERY_ID_MAX]);

/* Adds a copy of the part. 0 or -ENOMEM. */
int recovery_record_add_part(struct recovery_record *k, const struct recovery_part *part);

/* As text, malloc'ed; NULL: no memory. */
char *recovery_record_print(const struct recovery_record *k);

/* Reads it; `name` stands for it in `why`. 0, -ENOMEM or -EINVAL with one line in `why`. */
int recovery_record_parse(const char *name, const char *text, size_t n, struct recovery_record *out,
                          char *why, size_t nwhy);

#endif
