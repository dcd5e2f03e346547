/* SPDX-License-Identifier: Apache-2.0 */
/* zip.h: writes a zip archive of stored entries into a layout (PKWARE's APPNOTE 6.3, zip64 where
 * sizes ask for it). The data of each entry begins on ZIP_ALIGN bytes, as torch.save() does it. */
#ifndef CKPTFS_BENCH_FORMAT_ZIP_H
#define CKPTFS_BENCH_FORMAT_ZIP_H

#include <stdint.h>

#include "bench/format/layout.h"

enum { ZIP_ALIGN = 64 };

struct zip {
        struct layout *l;
        uint64_t base; /* where the archive begins in the layout */
        struct buf central;
        uint64_t entries;
};

void zip_begin(struct zip *z, struct layout *l);
/* An entry whose `size` bytes, of CRC-32 `crc`, the caller lays out next. */
void zip_entry(struct zip *z, const char *name, uint64_t size, uint32_t crc);
/* The same with its bytes. */
void zip_entry_text(struct zip *z, const char *name, const void *p, size_t n);
/* The directory; frees what the zip holds. Failures are the layout's. */
void zip_end(struct zip *z);

#endif
