/* SPDX-License-Identifier: Apache-2.0 */
/* patches.c: see patches.h. */
#include "bench/train/patches.h"

#include "base/banned.h"

static const float mean[3] = {0.485F, 0.456F, 0.406F}, deviation[3] = {0.229F, 0.224F, 0.225F};

static void make_patch(const unsigned char *rgb, float *out)
{
        for (int c = 0; c < 3; c++)
                for (int y = 0; y < PATCH_SIDE; y++)
                        for (int x = 0; x < PATCH_SIDE; x++)
                                *out++ = ((float)rgb[(y * IMAGE_SIDE + x) * 3 + c] / 255.0F -
                                          mean[c]) /
                                         deviation[c];
}

void patches_make(const unsigned char *rgb, float *out)
{
        for (int py = 0; py < PATCHES_OF_SIDE; py++)
                for (int px = 0; px < PATCHES_OF_SIDE; px++, out += PATCH_ELEMENTS)
                        make_patch(rgb + (py * IMAGE_SIDE + px) * PATCH_SIDE * 3, out);
}
