/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_image.c: any bytes as a picture, of which a part is scaled. */
#include <stdlib.h>

#include "bench/scenario/dataset/image_crop.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        static unsigned char rgb[CROP_BYTES];
        char why[512] = "";
        struct crop *c = crop_new();

        if (c && crop_make(c, n, p, n, rgb, why, sizeof why) && !*why)
                abort();
        crop_free(c);
        return 0;
}
