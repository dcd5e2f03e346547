/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h: the line by which a sample of datagen tells that it is whole, and which one it is.
 *
 * It stands in the image's own comment, so that it is there whether the image is an object, a file
 * or an entry of a tar, and whoever copied it. Pure and thread-safe. */
#ifndef CKPTFS_BENCH_SAMPLE_H
#define CKPTFS_BENCH_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_LINE_MAX = 128 };

/* The line of sample `number` of `total`, its checksum still to be set. */
void sample_line(char out[SAMPLE_LINE_MAX], uint64_t seed, uint64_t number, uint64_t total);
/* Sets the checksum (CRC32C of all bytes, its own eight digits as zeros) in a file that has the
 * line. 0, or -EINVAL: it has none. */
int sample_seal(void *p, size_t n);

enum sample_state {
        SAMPLE_PLAIN, /* without a line: not made by datagen */
        SAMPLE_GOOD,
        SAMPLE_WRONG /* a byte differs */
};
/* What a line tells: which sample of which dataset it is. */
struct sample_id {
        uint64_t seed, number, total;
};
/* Looks at each byte. Sets *id of one with a line. */
enum sample_state sample_check(const void *p, size_t n, struct sample_id *id);

/* Whether tar `number`, from 1 on, of a dataset of `total` samples can hold the n from `first` on:
 * all tars but the last have the same number of them, and the last has no more. */
bool sample_fits_tar(uint64_t number, uint64_t first, uint64_t n, uint64_t total);

#endif
