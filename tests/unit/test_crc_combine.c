/* SPDX-License-Identifier: Apache-2.0 */
/* test_crc_combine.c: the checksum of the whole from those of ranges in any order. */
#include "mount/read/crc_combine.h"

#include "base/digest.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static unsigned char bytes[10000];

static void fill(void)
{
        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (unsigned char)(i * 131 + i / 251);
}

static void add(struct crc_combine *c, uint64_t off, uint64_t len)
{
        crc_combine_add(c, off, len, crc32c(0, bytes + off, (size_t)len));
}

static void expect_whole(const struct crc_combine *c)
{
        uint32_t crc = 0;
        ck_assert(crc_combine_whole(c, sizeof bytes, &crc));
        ck_assert_uint_eq(crc, crc32c(0, bytes, sizeof bytes));
}

START_TEST(ranges_in_any_order_give_the_checksum_of_the_whole)
{
        static const uint64_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
        static const uint64_t offs[] = {0, 1, 4000}, lens[] = {1, 3999, 6000};
        struct crc_combine c = {0};
        uint32_t crc;
        fill();
        for (int i = 0; i < 3; i++) {
                ck_assert(!crc_combine_whole(&c, sizeof bytes, &crc));
                add(&c, offs[orders[_i][i]], lens[orders[_i][i]]);
        }
        expect_whole(&c);
}
END_TEST

/* 100 ranges, shuffled: never more than 50 pieces are apart. */
START_TEST(shuffled_ranges_give_the_checksum_of_the_whole)
{
        unsigned order[100], seed = (unsigned)_i + 1;
        struct crc_combine c = {0};
        uint32_t crc;
        fill();
        for (unsigned i = 0; i < 100; i++)
                order[i] = i;
        for (unsigned i = 99; i > 0; i--) {
                seed = seed * 1103515245 + 12345;
                unsigned k = (seed >> 16) % (i + 1), t = order[i];
                order[i] = order[k];
                order[k] = t;
        }
        for (unsigned i = 0; i < 100; i++) {
                ck_assert(!crc_combine_whole(&c, sizeof bytes, &crc));
                add(&c, order[i] * 100, 100);
                ck_assert_uint_le(c.n, 50);
        }
        expect_whole(&c);
}
END_TEST

START_TEST(a_wrong_byte_shows_in_the_whole)
{
        struct crc_combine c = {0};
        uint32_t crc;
        fill();
        add(&c, 5000, 5000);
        bytes[0] ^= 1;
        add(&c, 0, 5000);
        bytes[0] ^= 1;
        ck_assert(crc_combine_whole(&c, sizeof bytes, &crc));
        ck_assert_uint_ne(crc, crc32c(0, bytes, sizeof bytes));
}
END_TEST

START_TEST(a_range_read_again_changes_nothing)
{
        struct crc_combine c = {0};
        fill();
        add(&c, 0, 5000);
        add(&c, 1000, 2000);
        add(&c, 0, 5000);
        add(&c, 5000, 5000);
        expect_whole(&c);
}
END_TEST

START_TEST(of_overlapping_ranges_the_longest_stays)
{
        struct crc_combine c = {0};
        fill();
        add(&c, 100, 50);
        add(&c, 4990, 20);
        add(&c, 9000, 10);
        add(&c, 0, 5000);
        ck_assert_uint_eq(c.n, 2);
        add(&c, 4999, 10); /* shorter than what it overlaps */
        ck_assert_uint_eq(c.n, 2);
        add(&c, 5000, 5000);
        expect_whole(&c);
}
END_TEST

START_TEST(of_too_many_pieces_the_shortest_goes)
{
        struct crc_combine c = {0};
        fill();
        add(&c, 9999, 1);
        for (uint64_t i = 0; i < CRC_COMBINE_MAX; i++)
                add(&c, 70 * i, 60);
        ck_assert_uint_eq(c.n, CRC_COMBINE_MAX);
        for (uint64_t i = 0; i < CRC_COMBINE_MAX; i++)
                add(&c, 70 * i + 60, 10);
        add(&c, 70 * CRC_COMBINE_MAX, 9999 - 70 * CRC_COMBINE_MAX);
        ck_assert_uint_eq(c.n, 1);
        ck_assert_uint_eq(c.v[0].len, 9999);
        add(&c, 9999, 1);
        expect_whole(&c);
        crc_combine_reset(&c);
        uint32_t crc;
        ck_assert(!crc_combine_whole(&c, sizeof bytes, &crc));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("chain");
        TCase *t = tcase_create("chain");
        tcase_add_loop_test(t, ranges_in_any_order_give_the_checksum_of_the_whole, 0, 4);
        tcase_add_loop_test(t, shuffled_ranges_give_the_checksum_of_the_whole, 0, 20);
        tcase_add_test(t, a_wrong_byte_shows_in_the_whole);
        tcase_add_test(t, a_range_read_again_changes_nothing);
        tcase_add_test(t, of_overlapping_ranges_the_longest_stays);
        tcase_add_test(t, of_too_many_pieces_the_shortest_goes);
        suite_add_tcase(s, t);
        return unit_main(s);
}
