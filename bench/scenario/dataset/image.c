/* SPDX-License-Identifier: Apache-2.0 */
/* image.c: see image.h; the table of formats, and PPM (netpbm's ppm(5)), which needs no library. */
#include "bench/scenario/dataset/image.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/pattern.h"

#include "base/banned.h"

static const struct image_format *const formats[] = {&image_jpeg, &image_ppm};
enum { NFORMATS = sizeof formats / sizeof formats[0] };

const struct image_format *image_find(const char *name, char *why, size_t nwhy)
{
        for (size_t i = 0; i < NFORMATS; i++) {
                if (strcmp(formats[i]->name, name))
                        continue;
                if (formats[i]->missing)
                        snprintf(why, nwhy, "image_format=%s: %s", name, formats[i]->missing);
                return formats[i]->missing ? NULL : formats[i];
        }
        snprintf(why, nwhy, "image_format=%s is none that is made here: give JPEG or PPM", name);
        return NULL;
}

int image_decode(const void *p, size_t n, const struct image_sink *to, char *why, size_t nwhy)
{
        for (size_t i = 0; i < NFORMATS; i++)
                if (formats[i]->is(p, n)) {
                        *why = 0;
                        int err = formats[i]->decode(p, n, to, why, nwhy);
                        if (err && !*why)
                                snprintf(why, nwhy, "%s", strerror(-err));
                        return err;
                }
        snprintf(why, nwhy, "neither JPEG nor PPM: give model=entitlement, which takes any bytes");
        return -EBADMSG;
}

int image_too_large(unsigned width, unsigned height, char *why, size_t nwhy)
{
        snprintf(why, nwhy, "%u x %u pixels are more than the %d that are decoded: leave it out",
                 width, height, IMAGE_PIXELS_MAX);
        return -EFBIG;
}

void image_row(const struct image *im, unsigned y, void *out)
{
        const struct pattern noise = {.seed = im->seed, .id = im->number};
        size_t len = (size_t)im->width * 3;
        pattern_fill(&noise, y * (uint64_t)len, out, len);
}

/* Noise of a part as large as this costs as much a pixel as all of it. */
int image_estimate(const struct image_format *f, unsigned width, unsigned height, uint64_t *out)
{
        enum { SIDE = 512 };
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        const struct image part = {.width = width < SIDE ? width : SIDE,
                                   .height = height < SIDE ? height : SIDE,
                                   .comment = ""};
        int err = f->encode(&part, &b);

        *out = err ? 0 : b.len * ((uint64_t)width * height) / (part.width * part.height);
        return err;
}

static bool ppm_is(const void *p, size_t n)
{
        return n > 2 && !memcmp(p, "P6", 2);
}

static int ppm_encode(const struct image *im, struct buf *out)
{
        size_t len = (size_t)im->width * 3;

        buf_reset(out);
        buf_addf(out, "P6\n# %s\n%u %u\n255\n", im->comment, im->width, im->height);
        if (buf_grow(out, len * im->height))
                return -ENOMEM;
        for (unsigned y = 0; y < im->height; y++) {
                image_row(im, y, out->p + out->len);
                out->len += len;
        }
        out->p[out->len] = 0;
        return 0;
}

/* The number at *p, behind blanks and comments; 0 when there is none. */
static unsigned ppm_number(const char **p, const char *end)
{
        unsigned v = 0;

        while (*p < end && (**p == '#' || **p == ' ' || **p == '\n')) {
                const char *line = **p == '#' ? memchr(*p, '\n', (size_t)(end - *p)) : *p;
                *p = line ? line + 1 : end;
        }
        while (*p < end && **p >= '0' && **p <= '9' && v <= IMAGE_SIDE_MAX)
                v = v * 10 + (unsigned)(*(*p)++ - '0');
        return v;
}

static int ppm_decode(const void *p, size_t n, const struct image_sink *to, char *why, size_t nwhy)
{
        const char *at = (const char *)p + 2, *end = (const char *)p + n;
        uint64_t width = ppm_number(&at, end), height = ppm_number(&at, end);
        unsigned most = ppm_number(&at, end);

        if (!width || !height || most != 255 || at == end ||
            (uint64_t)(end - at - 1) != width * height * 3) {
                snprintf(why, nwhy, "a broken PPM of %zu bytes", n);
                return -EBADMSG;
        }
        if (width * height > IMAGE_PIXELS_MAX)
                return image_too_large((unsigned)width, (unsigned)height, why, nwhy);
        if (!to)
                return 0; /* its bytes are the pixels */
        int err = to->begin(to->arg, (unsigned)width, (unsigned)height);
        for (uint64_t y = 0; y < height && !err; y++)
                to->row(to->arg, (const unsigned char *)at + 1 + y * width * 3);
        return err;
}

const struct image_format image_ppm = {
        .name = "PPM", .is = ppm_is, .encode = ppm_encode, .decode = ppm_decode};
