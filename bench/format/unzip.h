/* SPDX-License-Identifier: Apache-2.0 */
/* unzip.h: the stored entries of a zip archive and where their bytes are (PKWARE's APPNOTE 6.3,
 * zip64 included). Nothing is unpacked: an entry that is compressed or encrypted is refused. */
#ifndef CKPTFS_BENCH_FORMAT_UNZIP_H
#define CKPTFS_BENCH_FORMAT_UNZIP_H

#include "bench/format/read.h"

struct zip_member {
        const char *name; /* in the directory's bytes, not terminated */
        size_t n;
        uint64_t size, header; /* where its local header is */
        uint64_t data;         /* where its bytes are, once located */
        uint32_t crc;
        bool used; /* the caller's */
};
struct unzip {
        struct zip_member *v; /* sorted by name */
        size_t n;
        char *directory;
};

/* Reads the directory. See read.h for errors and `why`. */
int unzip_read(const struct source *s, struct unzip *out, char *why, size_t nwhy);
void unzip_release(struct unzip *z);

/* The member of that name, NULL when there is none. */
struct zip_member *unzip_find(const struct unzip *z, const char *name, size_t n);
/* Of torch's archives: what stands before "data.pkl" in the names, or -ENOENT. */
int unzip_root(const struct unzip *z, const char **root, size_t *n);

/* Finds the bytes of n members, with all local headers in one read. */
int unzip_locate(const struct source *s, struct zip_member *const *v, size_t n, char *why,
                 size_t nwhy);

#endif
