/* SPDX-License-Identifier: Apache-2.0 */
/* image_jpeg.c: JPEG by libjpeg, which is used here and nowhere else. */
#include "bench/scenario/dataset/image.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBJPEG
#include <jpeglib.h>
#endif

#include "base/cleanup.h"

#include "base/banned.h"

static bool jpeg_is(const void *p, size_t n)
{
        return n > 3 && !memcmp(p, "\xff\xd8\xff", 3);
}

#ifdef HAVE_LIBJPEG

enum { QUALITY = 75 /* of the Python suite's images */ };
#define MEMORY_MAX (256L << 20) /* what a progressive file may take to decode */

/* Each scan of a progressive file goes over the whole picture, and a small file may have thousands.
 */
enum { SCANS_MAX = 100 };

/* The library's way out of an error: its own would end the process. */
struct trouble {
        struct jpeg_error_mgr mgr; /* first */
        struct jpeg_progress_mgr progress;
        jmp_buf back;
        char text[JMSG_LENGTH_MAX];
};

static void on_error(j_common_ptr c)
{
        struct trouble *t = (struct trouble *)(void *)c->err;
        c->err->format_message(c, t->text);
        longjmp(t->back, 1);
}

/* A warning is a picture with a wrong spot: the first is kept, none is printed. */
static void on_message(j_common_ptr c, int level)
{
        struct trouble *t = (struct trouble *)(void *)c->err;
        if (level >= 0)
                return;
        if (!c->err->num_warnings++)
                c->err->format_message(c, t->text);
}

static void on_progress(j_common_ptr c)
{
        struct trouble *t = (struct trouble *)(void *)c->err;

        if (((j_decompress_ptr)c)->input_scan_number <= SCANS_MAX)
                return;
        snprintf(t->text, sizeof t->text, "more than %d scans", SCANS_MAX);
        longjmp(t->back, 1);
}

static struct jpeg_error_mgr *trouble_init(struct trouble *t)
{
        jpeg_std_error(&t->mgr);
        t->mgr.error_exit = on_error;
        t->mgr.emit_message = on_message;
        return &t->mgr;
}

/* Makes *c, too, since that may fail. */
static int compress(struct jpeg_compress_struct *c, struct trouble *t, const struct image *im,
                    unsigned char **file, unsigned long *n)
{
        if (setjmp(t->back))
                return -ENOMEM; /* nothing else can fail in memory */
        jpeg_create_compress(c);
        jpeg_mem_dest(c, file, n);
        c->image_width = im->width;
        c->image_height = im->height;
        c->input_components = 3;
        c->in_color_space = JCS_RGB;
        jpeg_set_defaults(c);
        jpeg_set_quality(c, QUALITY, TRUE);
        jpeg_start_compress(c, TRUE);
        jpeg_write_marker(c, JPEG_COM, (const JOCTET *)im->comment, (unsigned)strlen(im->comment));
        JSAMPARRAY row = c->mem->alloc_sarray((j_common_ptr)c, JPOOL_IMAGE, im->width * 3, 1);
        while (c->next_scanline < c->image_height) {
                image_row(im, c->next_scanline, row[0]);
                jpeg_write_scanlines(c, row, 1);
        }
        jpeg_finish_compress(c);
        return 0;
}

static int jpeg_encode(const struct image *im, struct buf *out)
{
        struct trouble t;
        struct jpeg_compress_struct c = {.err = trouble_init(&t)};
        unsigned char *file = NULL;
        unsigned long n = 0;

        int err = compress(&c, &t, im, &file, &n);
        jpeg_destroy_compress(&c);
        buf_reset(out);
        if (!err)
                err = buf_add(out, file, n);
        free(file);
        return err;
}

static int decompress(struct jpeg_decompress_struct *c, struct trouble *t, const void *p, size_t n,
                      const struct image_sink *to)
{
        if (setjmp(t->back))
                return -EBADMSG;
        jpeg_create_decompress(c);
        c->mem->max_memory_to_use = MEMORY_MAX;
        t->progress.progress_monitor = on_progress;
        c->progress = &t->progress;
        jpeg_mem_src(c, p, n);
        jpeg_read_header(c, TRUE);
        if ((uint64_t)c->image_width * c->image_height > IMAGE_PIXELS_MAX)
                return -EFBIG;
        if (to)
                c->out_color_space = JCS_RGB;
        jpeg_start_decompress(c);
        int err = to ? to->begin(to->arg, c->output_width, c->output_height) : 0;
        if (err)
                return err;
        JSAMPARRAY row =
                c->mem->alloc_sarray((j_common_ptr)c, JPOOL_IMAGE,
                                     c->output_width * (JDIMENSION)c->output_components, 1);
        while (c->output_scanline < c->output_height) {
                jpeg_read_scanlines(c, row, 1);
                if (to)
                        to->row(to->arg, row[0]);
        }
        jpeg_finish_decompress(c);
        return t->mgr.num_warnings ? -EBADMSG : 0;
}

static int jpeg_decode(const void *p, size_t n, const struct image_sink *to, char *why, size_t nwhy)
{
        struct trouble t;
        struct jpeg_decompress_struct c = {.err = trouble_init(&t)};

        int err = decompress(&c, &t, p, n, to);
        const unsigned width = c.image_width, height = c.image_height;
        jpeg_destroy_decompress(&c);
        if (err == -EFBIG)
                return image_too_large(width, height, why, nwhy);
        if (err == -EBADMSG)
                snprintf(why, nwhy, "a broken JPEG: %s", t.text);
        return err;
}

#define MISSING NULL

#else

static int jpeg_encode(const struct image *im, struct buf *out)
{
        (void)im;
        (void)out;
        return -EOPNOTSUPP;
}

static int jpeg_decode(const void *p, size_t n, const struct image_sink *to, char *why, size_t nwhy)
{
        (void)p;
        (void)n;
        (void)to;
        snprintf(why, nwhy, "%s", image_jpeg.missing);
        return -EOPNOTSUPP;
}

#define MISSING                                                                                    \
        "this ckptbench was built without libjpeg: install libjpeg-dev and configure it again, "   \
        "or "                                                                                      \
        "give PPM"

#endif

const struct image_format image_jpeg = {
        .name = "JPEG",
        .missing = MISSING,
        .is = jpeg_is,
        .encode = jpeg_encode,
        .decode = jpeg_decode,
};
