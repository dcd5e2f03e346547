/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tar.c: any bytes as a tar that comes in pieces. */
#include <stdlib.h>
#include <string.h>

#include "bench/scenario/dataset/tar.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

struct tar_bytes {
        const uint8_t *p;
        size_t n;
};

enum { PIECE = 700, SAMPLE_MAX = 1 << 16 };

static int pull(void *arg, const void **p, size_t *n)
{
        struct tar_bytes *b = arg;

        *p = b->p;
        *n = b->n < PIECE ? b->n : PIECE;
        b->p += *n;
        b->n -= *n;
        return 0;
}

static int sample(void *arg, const char *name, const void *p, size_t n)
{
        (void)arg;
        if (!name || (n && !p) || n > SAMPLE_MAX)
                abort();
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        struct tar_bytes b = {p, n};
        char why[512] = "";

        if (!tar_missing() && tar_read(pull, &b, sample, NULL, SAMPLE_MAX, why, sizeof why) > 0)
                abort();
        return 0;
}
