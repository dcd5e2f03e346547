/* SPDX-License-Identifier: Apache-2.0 */
/* test_chain.c: the checksum of the whole from those of ranges in any order. */
#include "mount/chain.h"

#include "base/digest.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static unsigned char bytes[10000];

static void fill(void)
{
        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (unsigned char)(i * 131 + i / 251);
}

static void add(struct chain *c, uint64_t off, uint64_t len)
{
        chain_add(c, off, len, crc32c(0, bytes + off, (size_t)len));
}

START_TEST(ranges_in_any_order_give_the_checksum_of_the_whole)
{
        static const uint64_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
        static const uint64_t offs[] = {0, 1, 4000}, lens[] = {1, 3999, 6000};
        struct chain c = {0};
        fill();
        for (int i = 0; i < 3; i++)
                add(&c, offs[orders[_i][i]], lens[orders[_i][i]]);
        ck_assert_uint_eq(c.off, sizeof bytes);
        ck_assert_uint_eq(c.crc, crc32c(0, bytes, sizeof bytes));
        ck_assert(!c.broken);
}
END_TEST

START_TEST(a_range_read_again_changes_nothing)
{
        struct chain c = {0};
        fill();
        add(&c, 0, 5000);
        add(&c, 1000, 2000);
        add(&c, 5000, 5000);
        ck_assert(!c.broken);
        ck_assert_uint_eq(c.crc, crc32c(0, bytes, sizeof bytes));
}
END_TEST

START_TEST(an_overlap_breaks_the_chain)
{
        struct chain c = {0};
        fill();
        add(&c, 0, 5000);
        add(&c, 4000, 6000);
        ck_assert(c.broken);
}
END_TEST

START_TEST(too_many_ranges_that_wait_break_the_chain)
{
        struct chain c = {0};
        fill();
        for (uint64_t i = 0; i <= CHAIN_MAX; i++)
                add(&c, 1 + 2 * i, 1);
        ck_assert(c.broken);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("chain");
        TCase *t = tcase_create("chain");
        tcase_add_loop_test(t, ranges_in_any_order_give_the_checksum_of_the_whole, 0, 4);
        tcase_add_test(t, a_range_read_again_changes_nothing);
        tcase_add_test(t, an_overlap_breaks_the_chain);
        tcase_add_test(t, too_many_ranges_that_wait_break_the_chain);
        suite_add_tcase(s, t);
        return unit_main(s);
}
