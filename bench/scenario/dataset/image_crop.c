/* SPDX-License-Identifier: Apache-2.0 */
/* image_crop.c: see image_crop.h. An output pixel is the sum of those under a triangle around its
 * place, as wide as two output pixels, or two input pixels where the picture grows; first along
 * rows, then down columns. */
#include "bench/scenario/dataset/image_crop.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/train/math/random.h"

#include "base/banned.h"

enum { LINE = CROP_SIDE * 3 };

/* How one side is scaled: output i is the weighted sum of inputs [first[i], first[i] + n[i]). */
struct axis {
        unsigned first[CROP_SIDE], n[CROP_SIDE];
        size_t room;   /* weights of an output */
        float *weight; /* grown as needed */
        size_t have;
};

struct crop {
        uint64_t key;
        struct crop_box box;
        struct axis across, down;
        unsigned y;     /* rows that came */
        unsigned begin; /* outputs above it are done */
        float sum[CROP_SIDE][LINE];
};

static double uniform(uint64_t key, uint64_t index, double from, double to)
{
        double u = (double)(random_bits(key, index) >> 11) / 9007199254740992.0;
        return from + u * (to - from);
}

/* A number below n. */
static unsigned below(uint64_t key, uint64_t index, unsigned n)
{
        return (unsigned)random_below(key, index, n);
}

static struct crop_box middle(unsigned width, unsigned height)
{
        const double narrow = 3.0 / 4, wide = 4.0 / 3, ratio = (double)width / height;
        struct crop_box b = {.width = width, .height = height};

        if (ratio < narrow)
                b.height = (unsigned)rint(width / narrow);
        else if (ratio > wide)
                b.width = (unsigned)rint(height * wide);
        b.x = (width - b.width) / 2;
        b.y = (height - b.height) / 2;
        return b;
}

struct crop_box crop_choose(uint64_t key, unsigned width, unsigned height)
{
        enum { TRIES = 10, DRAWS = 4 };
        const double area = (double)width * height;

        for (uint64_t i = 0; i < TRIES; i++) {
                double part = area * uniform(key, DRAWS * i, 0.08, 1);
                double ratio = exp(uniform(key, DRAWS * i + 1, log(3.0 / 4), log(4.0 / 3)));
                double w = rint(sqrt(part * ratio)), h = rint(sqrt(part / ratio));
                if (w < 1 || h < 1 || w > width || h > height)
                        continue;
                struct crop_box b = {.width = (unsigned)w, .height = (unsigned)h};
                b.y = below(key, DRAWS * i + 2, height - b.height + 1);
                b.x = below(key, DRAWS * i + 3, width - b.width + 1);
                return b;
        }
        return middle(width, height);
}

static void set_weights(struct axis *a, unsigned i, double center, double scale, unsigned in)
{
        const double support = scale > 1 ? scale : 1;
        const int from = (int)(center - support + 0.5), to = (int)(center + support + 0.5);
        float *w = a->weight + i * a->room;
        double sum = 0;

        a->first[i] = from > 0 ? (unsigned)from : 0;
        a->n[i] = ((unsigned)to < in ? (unsigned)to : in) - a->first[i];
        for (unsigned k = 0; k < a->n[i]; k++) {
                double far = fabs((double)(a->first[i] + k) - center + 0.5) / support;
                w[k] = (float)(far < 1 ? 1 - far : 0);
                sum += (double)w[k];
        }
        for (unsigned k = 0; k < a->n[i]; k++)
                w[k] = (float)((double)w[k] / sum);
}

static int axis_init(struct axis *a, unsigned in)
{
        const double scale = (double)in / CROP_SIDE;

        a->room = 2 * (size_t)ceil(scale > 1 ? scale : 1) + 1;
        if (a->room > a->have) {
                float *v = realloc(a->weight, CROP_SIDE * a->room * sizeof *v);
                if (!v)
                        return -ENOMEM;
                a->weight = v;
                a->have = a->room;
        }
        for (unsigned i = 0; i < CROP_SIDE; i++)
                set_weights(a, i, scale * (i + 0.5), scale, in);
        return 0;
}

static int begin(void *arg, unsigned width, unsigned height)
{
        struct crop *c = arg;

        c->box = crop_choose(c->key, width, height);
        c->y = c->begin = 0;
        memset(c->sum, 0, sizeof c->sum);
        int err = axis_init(&c->across, c->box.width);
        return err ? err : axis_init(&c->down, c->box.height);
}

static void scale_across(const struct crop *c, const unsigned char *rgb, float *line)
{
        const struct axis *a = &c->across;

        for (unsigned i = 0; i < CROP_SIDE; i++) {
                const unsigned char *p = rgb + (size_t)3 * (c->box.x + a->first[i]);
                const float *w = a->weight + i * a->room;
                float v[3] = {0};
                for (unsigned k = 0; k < a->n[i]; k++)
                        for (unsigned colour = 0; colour < 3; colour++)
                                v[colour] += w[k] * (float)p[(size_t)3 * k + colour];
                memcpy(line + (size_t)3 * i, v, sizeof v);
        }
}

static void take_row(void *arg, const unsigned char *rgb)
{
        struct crop *c = arg;
        const unsigned y = c->y++ - c->box.y; /* wraps above the box */
        const struct axis *a = &c->down;
        float line[LINE];

        if (y >= c->box.height)
                return;
        scale_across(c, rgb, line);
        while (c->begin < CROP_SIDE && y >= a->first[c->begin] + a->n[c->begin])
                c->begin++;
        for (unsigned i = c->begin; i < CROP_SIDE && y >= a->first[i]; i++) {
                const float w = a->weight[i * a->room + (y - a->first[i])];
                for (unsigned x = 0; x < LINE && y < a->first[i] + a->n[i]; x++)
                        c->sum[i][x] += w * line[x];
        }
}

struct crop *crop_new(void)
{
        return calloc(1, sizeof(struct crop));
}

void crop_free(struct crop *c)
{
        if (!c)
                return;
        free(c->across.weight);
        free(c->down.weight);
        free(c);
}

int crop_make(struct crop *c, uint64_t key, const void *p, size_t n, unsigned char *out, char *why,
              size_t nwhy)
{
        const struct image_sink sink = {.begin = begin, .row = take_row, .arg = c};

        c->key = key;
        int err = image_decode(p, n, &sink, why, nwhy);
        for (size_t i = 0; i < CROP_BYTES && !err; i++) {
                const float v = c->sum[i / LINE][i % LINE];
                out[i] = (unsigned char)lrintf(v < 0 ? 0 : v > 255 ? 255 : v);
        }
        return err;
}
