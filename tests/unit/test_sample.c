/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample.c: the line by which an image tells that it is whole. */
#include "tests/lib/unit.h"

#include <string.h>

#include "bench/scenario/dataset/image.h"
#include "bench/scenario/dataset/sample.h"

#include "base/banned.h"

static void make(const struct image_format *f, uint64_t number, struct buf *out)
{
        char line[SAMPLE_LINE_MAX];
        const struct image im = {7, 5, 3, number, line};

        sample_line(line, 3, number, 100);
        ck_assert_int_eq(f->encode(&im, out), 0);
        ck_assert_int_eq(sample_seal(out->p, out->len), 0);
}

/* No byte may change unnoticed; one of the line itself may also make it no line. */
static void every_byte_counts(const struct image_format *f)
{
        struct buf b = BUF_INIT;
        struct sample_id id;
        char why[256];

        make(f, 42, &b);
        ck_assert_int_eq(sample_check(b.p, b.len, &id), SAMPLE_GOOD);
        ck_assert_uint_eq(id.number, 42);
        ck_assert_uint_eq(id.total, 100);
        ck_assert_uint_eq(id.seed, 3);
        ck_assert_int_eq(image_decode(b.p, b.len, NULL, why, sizeof why), 0);
        for (size_t i = 0; i < b.len; i++) {
                b.p[i] ^= 0x10;
                ck_assert_int_ne(sample_check(b.p, b.len, &id), SAMPLE_GOOD);
                (void)image_decode(b.p, b.len, NULL, why,
                                   sizeof why); /* whatever it says, it returns */
                b.p[i] ^= 0x10;
        }
        for (size_t n = 0; n < b.len; n++) {
                ck_assert_int_ne(sample_check(b.p, n, &id), SAMPLE_GOOD);
                (void)image_decode(b.p, n, NULL, why, sizeof why);
        }
        buf_release(&b);
}

START_TEST(every_byte_of_a_ppm_counts)
{
        every_byte_counts(&image_ppm);
}
END_TEST

START_TEST(every_byte_of_a_jpeg_counts)
{
        if (!image_jpeg.missing)
                every_byte_counts(&image_jpeg);
}
END_TEST

START_TEST(an_image_is_a_function_of_its_number)
{
        struct buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;

        make(&image_ppm, 1, &a);
        make(&image_ppm, 1, &b);
        make(&image_ppm, 2, &c);
        ck_assert_uint_eq(a.len, b.len);
        ck_assert_mem_eq(a.p, b.p, a.len);
        ck_assert(memcmp(a.p + a.len - 64, c.p + c.len - 64, 64) != 0);
        buf_release(&a);
        buf_release(&b);
        buf_release(&c);
}
END_TEST

START_TEST(other_bytes_have_no_line)
{
        struct sample_id id;
        static const char cut[] = "P6\n# ckptbench sample 000000000001 of 0000";

        ck_assert_int_eq(sample_check("", 0, &id), SAMPLE_PLAIN);
        ck_assert_int_eq(sample_check(cut, sizeof cut - 1, &id), SAMPLE_PLAIN);
}
END_TEST

/* 10 samples, 4 in a tar: 0-3, 4-7, 8-9. */
static const struct {
        uint64_t number, first, n, total;
        bool fits;
} tars[] = {
        {1, 0, 4, 10, true},  {2, 4, 4, 10, true},   {3, 8, 2, 10, true},
        {1, 4, 4, 10, false}, {2, 0, 4, 10, false},  {3, 4, 4, 10, false},
        {2, 8, 2, 10, true}, /* of 8 and 2 */
        {1, 8, 2, 10, false}, {3, 0, 4, 10, false},  {2, 4, 3, 10, false},
        {1, 0, 10, 10, true}, {2, 0, 10, 10, false}, {0, 0, 4, 10, false},
        {1, 0, 0, 10, false}, {1, 12, 4, 10, false}, {1, 8, 4, 10, false},
        {2, 5, 5, 10, true},  {10, 9, 1, 10, true},  {UINT64_MAX, 9, 1, 10, false},
};
START_TEST(a_tar_has_the_samples_of_its_number)
{
        ck_assert_int_eq(
                sample_fits_tar(tars[_i].number, tars[_i].first, tars[_i].n, tars[_i].total),
                tars[_i].fits);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sample");
        TCase *t = tcase_create("sample");
        tcase_add_test(t, every_byte_of_a_ppm_counts);
        tcase_add_test(t, every_byte_of_a_jpeg_counts);
        tcase_add_test(t, an_image_is_a_function_of_its_number);
        tcase_add_test(t, other_bytes_have_no_line);
        tcase_add_loop_test(t, a_tar_has_the_samples_of_its_number, 0,
                            sizeof tars / sizeof tars[0]);
        suite_add_tcase(s, t);
        return unit_main(s);
}
