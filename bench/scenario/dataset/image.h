/* SPDX-License-Identifier: Apache-2.0 */
/* image.h: pictures of noise, made and decoded.
 *
 * Pixels are a function of (seed, number): noise, which compresses as little as a photograph with
 * much detail, so that the n-th image of a seed is the same bytes wherever it is made with the same
 * library. libjpeg is used in image_jpeg.c and nowhere else. All functions are thread-safe. */
#ifndef CKPTFS_BENCH_IMAGE_H
#define CKPTFS_BENCH_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { IMAGE_SIDE_MAX = 16384 /* of one that is made */, IMAGE_PIXELS_MAX = 1 << 28 };

/* What one is made of. */
struct image {
        unsigned width, height;
        uint64_t seed, number;
        const char *comment; /* a line that stands in the file, before the pixels */
};

/* Who takes the pixels of a picture: `begin` once, 0 or a negative errno, then each row of red,
 * green and blue bytes. */
struct image_sink {
        int (*begin)(void *arg, unsigned width, unsigned height);
        void (*row)(void *arg, const unsigned char *rgb);
        void *arg;
};

struct image_format {
        const char *name;    /* in file names and of the key */
        const char *missing; /* NULL: can be used; else why not, and what helps */
        /* Whether these bytes begin like one. */
        bool (*is)(const void *p, size_t n);
        /* Sets `out` to the file. 0, -ENOMEM or -EIO. */
        int (*encode)(const struct image *im, struct buf *out);
        /* Makes every pixel, a row at a time, and hands it over; to NULL: forgets it. 0, or a
         * negative errno with what is wrong in `why`. Memory and pixels are bounded whatever the
         * file says. */
        int (*decode)(const void *p, size_t n, const struct image_sink *to, char *why, size_t nwhy);
};
extern const struct image_format image_jpeg, image_ppm;

/* About how many bytes an image of that size has. 0, -ENOMEM or -EIO. */
int image_estimate(const struct image_format *f, unsigned width, unsigned height, uint64_t *out);

/* The format of that name. NULL with one line in `why`: unknown, or not built. */
const struct image_format *image_find(const char *name, char *why, size_t nwhy);
/* The one these bytes are of. 0, or a negative errno with what is wrong in `why`. */
int image_decode(const void *p, size_t n, const struct image_sink *to, char *why, size_t nwhy);

/* For formats: -EFBIG, with what that means in `why`. */
int image_too_large(unsigned width, unsigned height, char *why, size_t nwhy);

/* Row `y` of red, green and blue bytes. */
void image_row(const struct image *im, unsigned y, void *out);

#endif
