/* SPDX-License-Identifier: Apache-2.0 */
/* patches.h: how a vision transformer sees an image: as patches of 16 x 16 pixels, normalised by
 * the means and deviations of ImageNet's colours. */
#ifndef CKPTFS_BENCH_TRAIN_PATCHES_H
#define CKPTFS_BENCH_TRAIN_PATCHES_H

enum {
        IMAGE_SIDE = 224,
        IMAGE_ELEMENTS = IMAGE_SIDE * IMAGE_SIDE * 3,
        PATCH_SIDE = 16,
        PATCH_ELEMENTS = PATCH_SIDE * PATCH_SIDE * 3,
        PATCHES_OF_SIDE = IMAGE_SIDE / PATCH_SIDE,
        VISION_ROWS = PATCHES_OF_SIDE * PATCHES_OF_SIDE + 1 /* with the class */
};

/* From IMAGE_ELEMENTS bytes, a row of red, green and blue pixels after the other, to as many
 * numbers: patch by patch, in each colour by colour, as torch's kernels have them. */
void patches_make(const unsigned char *rgb, float *out);

#endif
