/* SPDX-License-Identifier: Apache-2.0 */
/* dcp.h: a directory of torch.distributed.checkpoint: files __R_N.distcp (R a rank, N a file of
 * its) and, last of all, .metadata, which says where each piece of each tensor lies. */
#ifndef CKPTFS_BENCH_FORMAT_DCP_H
#define CKPTFS_BENCH_FORMAT_DCP_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "bench/core/coll.h"
#include "bench/data/shard.h"
#include "bench/format/read.h"

enum { DCP_FILE_MAX = 32 };
#define DCP_METADATA ".metadata"

/* A piece in a file. Plain data: ranks send these to each other. */
struct dcp_item {
        char name[64], file[DCP_FILE_MAX];
        uint64_t rows, cols;   /* of the tensor; cols is 1 for a vector */
        uint64_t first, count; /* rows, or elements of a vector, in this piece */
        uint64_t off, len;     /* in the file */
        uint32_t elem, lead;   /* dimensions of 1 before rows, as of a piece; 0 of what was read */
        uint32_t has_crc, crc; /* the CRC-32 of its bytes, if that is 1 */
};

/* For qsort() and bsearch(): by name, then by first row. */
int dcp_by_tensor(const void *a, const void *b);

/* See format.h. The pieces must be of whole rows (SHARD_ROWS, SHARD_WHOLE). */
int dcp_wrap(struct shard *s);

void dcp_file_name(char out[DCP_FILE_MAX], unsigned rank, unsigned file);

/* The items of a wrapped shard, one each tensor's piece, into v, which has room for s->n. Returns
 * how many. */
size_t dcp_items(const struct shard *s, const char *file, struct dcp_item *v);

/* Collective: the items of all ranks, malloc'ed, from n of this one; *nall is their number. 0, or
 * the same negative errno in all ranks. */
int dcp_gather_items(struct coll *c, const struct dcp_item *mine, size_t n, struct dcp_item **all,
                     size_t *nall);

/* The bytes of .metadata for the items of all ranks, which are sorted by it. 0 or -ENOMEM. */
int dcp_metadata(struct dcp_item *v, size_t n, struct buf *out);

/* Where the item's bytes begin in its file, which `read` reads as a source's does. They follow from
 * the shape where this program saved it; else the archive is asked. 0, a negative errno, or
 * -EBADMSG with one line in `why`. */
int dcp_find_data(const struct dcp_item *it, source_read_fn *read, void *arg, uint64_t *from,
                  char *why, size_t nwhy);

/* The pieces of tensors that a .metadata lists, which anybody may have made; malloc'ed. 0, -ENOMEM,
 * or -EBADMSG with one line in `why` without the file's name: pieces of other than whole rows, and
 * two of one row, are refused, too. Sorted by dcp_by_tensor(). Whether tensors, pieces and files
 * fit together is for the caller to see. */
int dcp_read(const char *p, size_t n, struct dcp_item **out, size_t *nout, char *why, size_t nwhy);

#endif
