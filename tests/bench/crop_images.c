/* SPDX-License-Identifier: Apache-2.0 */
/* crop_images FILE...: makes three random parts of each image, for train_torch.py to repeat: pixels
 * in FILE.KEY, and a line for each on standard output, "FILE.KEY X Y WIDTH HEIGHT FILE". */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "bench/scenario/dataset/image_crop.h"

#include "base/banned.h"

enum { KEYS = 3 };
static struct crop_box box;

static int choose(void *arg, unsigned width, unsigned height)
{
        box = crop_choose(*(const uint64_t *)arg, width, height);
        return 0;
}

static void forget(void *arg, const unsigned char *rgb)
{
        (void)arg;
        (void)rgb;
}

static void read_all(const char *path, struct buf *out)
{
        FILE *f = fopen(path, "rb");
        char block[4096];
        size_t n;

        while (f && (n = fread(block, 1, sizeof block, f)))
                buf_add(out, block, n);
        if (!f || fclose(f) || out->failed)
                exit(1);
}

static void crop_one(struct crop *c, uint64_t key, const struct buf *b, const char *path)
{
        const struct image_sink sink = {.begin = choose, .row = forget, .arg = &key};
        static unsigned char rgb[CROP_BYTES];
        char why[256], name[512];

        if (image_decode(b->p, b->len, &sink, why, sizeof why) ||
            crop_make(c, key, b->p, b->len, rgb, why, sizeof why)) {
                fprintf(stderr, "crop_images: %s: %s\n", path, why);
                exit(1);
        }
        snprintf(name, sizeof name, "%s.%llu", path, (unsigned long long)key);
        FILE *f = fopen(name, "wb");
        if (!f || fwrite(rgb, 1, sizeof rgb, f) != sizeof rgb || fclose(f))
                exit(1);
        printf("%s %u %u %u %u %s\n", name, box.x, box.y, box.width, box.height, path);
}

int main(int argc, char **argv)
{
        struct crop *c = crop_new();

        for (int i = 1; c && i < argc; i++) {
                struct buf b = BUF_INIT;
                read_all(argv[i], &b);
                for (uint64_t key = 1; key <= KEYS; key++)
                        crop_one(c, key, &b, argv[i]);
                buf_release(&b);
        }
        crop_free(c);
        return c ? 0 : 1;
}
