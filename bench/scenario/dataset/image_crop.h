/* SPDX-License-Identifier: Apache-2.0 */
/* image_crop.h: a random part of a picture, scaled to the size that a vision transformer sees: what
 * torchvision's RandomResizedCrop(224, antialias=True) does, to one level of a colour.
 *
 * Rows are scaled as they come, so that memory does not grow with the picture's height. One thread
 * uses a crop. */
#ifndef CKPTFS_BENCH_IMAGE_CROP_H
#define CKPTFS_BENCH_IMAGE_CROP_H

#include <stdint.h>

#include "bench/scenario/dataset/image.h"

enum { CROP_SIDE = 224, CROP_BYTES = CROP_SIDE * CROP_SIDE * 3 };

struct crop_box {
        unsigned x, y, width, height;
};
/* A part of 8 to 100 % of a picture's area whose sides relate as 3:4 to 4:3, a function of the key.
 * After ten tries that do not fit: the middle of it, as large as such sides allow. */
struct crop_box crop_choose(uint64_t key, unsigned width, unsigned height);

struct crop;
struct crop *crop_new(void);    /* NULL: no memory */
void crop_free(struct crop *c); /* NULL is fine */
/* Decodes a picture and fills `out` with CROP_BYTES: rows of red, green and blue. 0, or a negative
 * errno with what is wrong in `why`. */
int crop_make(struct crop *c, uint64_t key, const void *p, size_t n, unsigned char *out, char *why,
              size_t nwhy);

#endif
