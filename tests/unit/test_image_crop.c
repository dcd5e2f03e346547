/* SPDX-License-Identifier: Apache-2.0 */
/* test_image_crop.c: random parts of pictures by torchvision's definition, and pictures that lie.
 */
#include "tests/lib/unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/scenario/dataset/image_crop.h"

#include "base/banned.h"

START_TEST(parts_have_an_area_and_a_shape_within_bounds_and_lie_in_the_picture)
{
        enum { KEYS = 2000, WIDTH = 496, HEIGHT = 387 };
        double sum = 0, x = 0, y = 0;

        for (uint64_t key = 0; key < KEYS; key++) {
                const struct crop_box b = crop_choose(key, WIDTH, HEIGHT);
                const double part = (double)b.width * b.height / (WIDTH * HEIGHT);
                const double ratio = (double)b.width / b.height;
                ck_assert_uint_le(b.x + b.width, WIDTH);
                ck_assert_uint_le(b.y + b.height, HEIGHT);
                ck_assert_msg(part > 0.078 && part <= 1, "area %g", part);
                ck_assert_msg(ratio > 0.74 && ratio < 1.35, "ratio %g", ratio);
                sum += part;
                x += b.width < WIDTH ? (double)b.x / (WIDTH - b.width) : 0.5;
                y += b.height < HEIGHT ? (double)b.y / (HEIGHT - b.height) : 0.5;
        }
        /* large ones fit less often than small ones, so that the mean is below that of 8 to 100 %
         */
        ck_assert_double_gt(sum / KEYS, 0.4);
        ck_assert_double_lt(sum / KEYS, 0.54);
        ck_assert_double_lt(fabs(x / KEYS - 0.5), 0.05);
        ck_assert_double_lt(fabs(y / KEYS - 0.5), 0.05);
}
END_TEST

START_TEST(a_part_is_a_function_of_its_key)
{
        const struct crop_box a = crop_choose(7, 500, 400), b = crop_choose(7, 500, 400);
        const struct crop_box c = crop_choose(8, 500, 400);

        ck_assert_mem_eq(&a, &b, sizeof a);
        ck_assert_int_ne(memcmp(&a, &c, sizeof a), 0);
}
END_TEST

START_TEST(of_a_picture_that_is_too_narrow_the_middle_is_taken)
{
        const struct crop_box narrow = crop_choose(1, 10, 1000), flat = crop_choose(1, 1000, 9);
        const struct crop_box dot = crop_choose(1, 1, 1);

        ck_assert_uint_eq(narrow.width, 10);
        ck_assert_uint_eq(narrow.height, 13);
        ck_assert_uint_eq(narrow.x, 0);
        ck_assert_uint_eq(narrow.y, 493);
        ck_assert_uint_eq(flat.width, 12);
        ck_assert_uint_eq(flat.height, 9);
        ck_assert_uint_eq(flat.x, 494);
        ck_assert_uint_eq(flat.y, 0);
        ck_assert_uint_eq(dot.width, 1);
        ck_assert_uint_eq(dot.height, 1);
}
END_TEST

/* A picture of datagen, `width` x `height`. */
static void make(const struct image_format *f, unsigned width, unsigned height, struct buf *out)
{
        const struct image im = {.width = width, .height = height, .seed = 3, .comment = "-"};
        ck_assert_int_eq(f->encode(&im, out), 0);
}

static void every_size_is_scaled(const struct image_format *f)
{
        static const unsigned sizes[][2] = {{1, 1}, {3, 500}, {700, 2}, {224, 224}, {640, 480}};
        static unsigned char rgb[CROP_BYTES], again[CROP_BYTES];
        struct crop *c = crop_new();
        struct buf b = BUF_INIT;
        char why[256];

        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                make(f, sizes[i][0], sizes[i][1], &b);
                ck_assert_int_eq(crop_make(c, i, b.p, b.len, rgb, why, sizeof why), 0);
                ck_assert_int_eq(crop_make(c, i, b.p, b.len, again, why, sizeof why), 0);
                ck_assert_mem_eq(rgb, again, CROP_BYTES);
        }
        crop_free(c);
        buf_release(&b);
}

START_TEST(pictures_of_every_size_are_scaled)
{
        every_size_is_scaled(&image_ppm);
        if (!image_jpeg.missing)
                every_size_is_scaled(&image_jpeg);
}
END_TEST

START_TEST(a_picture_that_claims_billions_of_pixels_is_refused)
{
        static unsigned char rgb[CROP_BYTES];
        struct crop *c = crop_new();
        struct buf b = BUF_INIT;
        char why[256];

        if (!image_jpeg.missing) {
                make(&image_jpeg, 16, 16, &b);
                char *frame =
                        memmem(b.p, b.len, "\xff\xc0", 2); /* its size, big-endian, from 5 on */
                ck_assert_ptr_nonnull(frame);
                memcpy(frame + 5, "\xff\xdc\xff\xdc", 4);
                ck_assert_int_eq(crop_make(c, 1, b.p, b.len, rgb, why, sizeof why), -EFBIG);
                ck_assert_msg(strstr(why, "65500 x 65500 pixels are more than") != NULL, "%s", why);
        }
        crop_free(c);
        buf_release(&b);
}
END_TEST

START_TEST(a_picture_that_is_cut_is_refused)
{
        static unsigned char rgb[CROP_BYTES];
        struct crop *c = crop_new();
        struct buf b = BUF_INIT;
        char why[256];

        if (!image_jpeg.missing) {
                make(&image_jpeg, 64, 64, &b);
                for (size_t n = 3; n + 2 < b.len; n += 7)
                        ck_assert_int_eq(crop_make(c, 1, b.p, n, rgb, why, sizeof why), -EBADMSG);
        }
        crop_free(c);
        buf_release(&b);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("image_crop");
        TCase *t = tcase_create("image_crop");
        tcase_add_test(t, parts_have_an_area_and_a_shape_within_bounds_and_lie_in_the_picture);
        tcase_add_test(t, a_part_is_a_function_of_its_key);
        tcase_add_test(t, of_a_picture_that_is_too_narrow_the_middle_is_taken);
        tcase_add_test(t, pictures_of_every_size_are_scaled);
        tcase_add_test(t, a_picture_that_claims_billions_of_pixels_is_refused);
        tcase_add_test(t, a_picture_that_is_cut_is_refused);
        suite_add_tcase(s, t);
        return unit_main(s);
}
