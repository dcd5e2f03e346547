/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c: see sample.h. */
#include "bench/scenario/dataset/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"

#include "base/banned.h"

/* The line is near the beginning: behind what a format puts before its comment. */
enum { LOOK = 256, DIGITS = 8 };
#define HEAD  "ckptbench sample "
#define ZEROS "00000000"
#define LINE  HEAD "%012" PRIu64 " of %012" PRIu64 " seed %016" PRIu64 " crc32c "

void sample_line(char out[SAMPLE_LINE_MAX], uint64_t seed, uint64_t number, uint64_t total)
{
        snprintf(out, SAMPLE_LINE_MAX, LINE ZEROS, number, total, seed);
}

/* Where the eight digits are, and what stands before them; NULL: there is no line. */
static char *find_digits(const void *p, size_t n, struct sample_id *id)
{
        size_t look = n < LOOK ? n : LOOK;
        char *at = memmem(p, look, HEAD, strlen(HEAD));
        char line[SAMPLE_LINE_MAX], again[SAMPLE_LINE_MAX];

        if (!at)
                return NULL;
        size_t left = n - (size_t)(at - (const char *)p);
        snprintf(line, sizeof line, "%.*s", (int)(left < sizeof line ? left : sizeof line - 1), at);
        if (sscanf(line, HEAD "%12" SCNu64 " of %12" SCNu64 " seed %16" SCNu64, &id->number,
                   &id->total, &id->seed) != 3)
                return NULL;
        size_t before =
                (size_t)snprintf(again, sizeof again, LINE, id->number, id->total, id->seed);
        return before + DIGITS <= left && !memcmp(line, again, before) ? at + before : NULL;
}

static uint32_t sum(const char *p, size_t n, const char *digits)
{
        size_t before = (size_t)(digits - p);
        uint32_t crc = crc32c(0, p, before);
        crc = crc32c(crc, ZEROS, DIGITS);
        return crc32c(crc, digits + DIGITS, n - before - DIGITS);
}

int sample_seal(void *p, size_t n)
{
        struct sample_id id;
        char text[DIGITS + 1], *digits = find_digits(p, n, &id);

        if (!digits)
                return -EINVAL;
        snprintf(text, sizeof text, "%08" PRIx32, sum(p, n, digits));
        memcpy(digits, text, DIGITS);
        return 0;
}

enum sample_state sample_check(const void *p, size_t n, struct sample_id *id)
{
        char text[DIGITS + 1];
        const char *digits = find_digits(p, n, id);

        if (!digits)
                return SAMPLE_PLAIN;
        snprintf(text, sizeof text, "%08" PRIx32, sum(p, n, digits));
        return memcmp(digits, text, DIGITS) ? SAMPLE_WRONG : SAMPLE_GOOD;
}

bool sample_fits_tar(uint64_t number, uint64_t first, uint64_t n, uint64_t total)
{
        const uint64_t before = number - 1; /* tars */

        if (!number || !n || first > total || n > total - first)
                return false;
        if (n < total - first)
                return first % n == 0 && first / n == before;
        /* the last, which alone knows not how many the others have */
        return before ? first % before == 0 && first / before >= n : !first;
}
