/* SPDX-License-Identifier: Apache-2.0 */
/* test_cached_ranges.c: which ranges of a version stay, and which goes first. */
#include "mount/read/cached_ranges.h"

#include "tests/lib/unit.h"

#include "base/banned.h"

#define MiB (1ULL << 20)

static struct fetch_range ranges[40];

/* Range i is bytes [2i, 2i + 1) MiB: as large is the gap behind it. */
static struct fetch_range *range(unsigned i)
{
        ranges[i].off = 2 * i * MiB;
        ranges[i].len = MiB;
        return &ranges[i];
}

/* Ranges 0 to n - 1, in an order that is neither up nor down. */
static struct cached_ranges some(unsigned n)
{
        struct cached_ranges c = {0};
        for (unsigned i = 0; i < n; i++)
                ck_assert(cached_ranges_add(&c, range(i * 7 % n)));
        return c;
}

static void drop_all(struct cached_ranges *c)
{
        while (c->n)
                cached_ranges_remove(c, c->v[0]);
}

START_TEST(a_range_is_found_by_each_of_its_bytes_and_by_no_other)
{
        struct cached_ranges c = some(40);
        for (unsigned i = 0; i < 40; i++) {
                uint64_t at = 2 * i * MiB;
                ck_assert_ptr_eq(cached_ranges_find(&c, at), &ranges[i]);
                ck_assert_ptr_eq(cached_ranges_find(&c, at + MiB - 1), &ranges[i]);
                ck_assert_ptr_null(cached_ranges_find(&c, at + MiB));
                ck_assert_ptr_null(cached_ranges_find(&c, at + 2 * MiB - 1));
        }
        drop_all(&c);
        ck_assert_ptr_null(cached_ranges_find(&c, 0));
}
END_TEST

START_TEST(a_gap_ends_where_the_next_range_begins)
{
        struct cached_ranges c = some(40);
        ck_assert_uint_eq(cached_ranges_next(&c, MiB, 100 * MiB), 2 * MiB);
        ck_assert_uint_eq(cached_ranges_next(&c, 0, 100 * MiB), 2 * MiB);
        ck_assert_uint_eq(cached_ranges_next(&c, MiB, MiB + 10), MiB + 10);
        ck_assert_uint_eq(cached_ranges_next(&c, 79 * MiB, 100 * MiB), 100 * MiB);
        drop_all(&c);
        ck_assert_uint_eq(cached_ranges_next(&c, 0, 100 * MiB), 100 * MiB);
}
END_TEST

START_TEST(the_range_read_longest_ago_goes_first)
{
        struct cached_ranges c = some(10);
        struct fetch_range *first = cached_ranges_oldest(&c);
        ck_assert_ptr_eq(first, &ranges[0]);
        cached_ranges_touch(&c, first);
        ck_assert_ptr_eq(cached_ranges_oldest(&c), &ranges[7]);
        while (c.n > 1)
                cached_ranges_remove(&c, cached_ranges_oldest(&c));
        ck_assert_ptr_eq(c.v[0], first);
        drop_all(&c);
        ck_assert_ptr_null(cached_ranges_oldest(&c));
}
END_TEST

START_TEST(memory_counts_whole_buffers)
{
        struct cached_ranges c = some(3);
        struct fetch_range odd = {.off = 100 * MiB, .len = MiB + 1};
        ck_assert(cached_ranges_add(&c, &odd));
        ck_assert_uint_eq(c.memory, 5 * MiB);
        cached_ranges_remove(&c, &odd);
        ck_assert_uint_eq(c.memory, 3 * MiB);
        drop_all(&c);
        ck_assert_uint_eq(c.memory, 0);
        ck_assert_ptr_null(c.v);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("cached_ranges");
        TCase *t = tcase_create("cached_ranges");
        tcase_add_test(t, a_range_is_found_by_each_of_its_bytes_and_by_no_other);
        tcase_add_test(t, a_gap_ends_where_the_next_range_begins);
        tcase_add_test(t, the_range_read_longest_ago_goes_first);
        tcase_add_test(t, memory_counts_whole_buffers);
        suite_add_tcase(s, t);
        return unit_main(s);
}
