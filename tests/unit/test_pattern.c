/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern.c: the benchmark's data, and what objects of the simulator's null mode hold. */
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "bench/core/pattern.h"
#include "bench/core/pattern_word.h"
#include "bench/sim/store/null.h"
#include "base/banned.h"

enum { SIZE = 3 * PATTERN_NULL_PERIOD + 12345 };
static _Alignas(8) uint8_t whole[SIZE], piece[SIZE];

static const struct pattern patterns[] = {{1, 2, 0}, {1, 2, 1000}, {0, 0, PATTERN_NULL_PERIOD}};

START_TEST(any_sub_range_can_be_made_alone)
{
        const struct pattern *p = &patterns[_i];

        pattern_fill(p, 0, whole, SIZE);
        for (size_t off = 0; off < SIZE - 70; off += 997) {
                for (size_t n = 0; n < 40; n += 3) {
                        pattern_fill(p, off, piece, n);
                        ck_assert_mem_eq(piece, whole + off, n);
                }
        }
        ck_assert_int_eq(pattern_check(p, 0, whole, SIZE), -1);
        ck_assert_int_eq(pattern_check(p, 1234567 % SIZE, whole + 1234567 % SIZE, 4099), -1);
}
END_TEST

START_TEST(the_first_wrong_byte_is_found)
{
        const struct pattern *p = &patterns[_i];
        static const size_t at[] = {0, 1, 7, 8, 4095, 4096, 100000, SIZE - 1};

        pattern_fill(p, 5, whole, SIZE);
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
                whole[at[i]] ^= 0x10;
                ck_assert_int_eq(pattern_check(p, 5, whole, SIZE), (int64_t)(5 + at[i]));
                whole[at[i]] ^= 0x10;
        }
}
END_TEST

START_TEST(seed_id_and_offset_all_matter)
{
        const struct pattern a = {1, 2, 0}, b = {2, 2, 0}, c = {1, 3, 0}, d = {2, 1, 0};

        pattern_fill(&a, 0, whole, 4096);
        ck_assert_int_ge(pattern_check(&b, 0, whole, 4096), 0);
        ck_assert_int_ge(pattern_check(&c, 0, whole, 4096), 0);
        ck_assert_int_ge(pattern_check(&d, 0, whole, 4096), 0);
        for (uint64_t off = 1; off < 1ULL << 40; off *= 2)
                ck_assert_int_lt(pattern_check(&a, off, whole, 4096), (int64_t)off + 3);
}
END_TEST

/* What a device does, a thread a cell, in any order: here from the last to the first. */
static uint64_t cells_check(uint64_t base, uint64_t at, const void *mem, uint64_t n)
{
        uint64_t least = PATTERN_RIGHT;
        for (uint64_t c = pattern_cells(mem, n); c-- > 0;) {
                uint64_t wrong = pattern_cell_check(base, at, mem, n, c);
                least = wrong < least ? wrong : least;
        }
        return least;
}

START_TEST(cells_of_a_device_hold_the_same_bytes)
{
        const struct pattern p = {7, 9, 0};
        const uint64_t base = pattern_base(p.seed, p.id);
        enum { ROOM = 64, GUARD = 0x5a };

        for (size_t skew = 0; skew < 8; skew++) {
                for (size_t n = 0; n < ROOM; n++) {
                        uint64_t at = 1000 + 13 * n;
                        memset(whole, GUARD, ROOM + 32);
                        for (uint64_t c = pattern_cells(whole + 8 + skew, n); c-- > 0;)
                                pattern_cell_fill(base, at, whole + 8 + skew, n, c);
                        pattern_fill(&p, at, piece, n);
                        ck_assert_mem_eq(whole + 8 + skew, piece, n);
                        ck_assert_uint_eq(whole[7 + skew], GUARD);
                        ck_assert_uint_eq(whole[8 + skew + n], GUARD);
                        ck_assert_uint_eq(cells_check(base, at, whole + 8 + skew, n),
                                          PATTERN_RIGHT);
                        for (size_t i = 0; i < n; i++) {
                                whole[8 + skew + i] ^= 1;
                                ck_assert_uint_eq(cells_check(base, at, whole + 8 + skew, n), i);
                                whole[8 + skew + i] ^= 1;
                        }
                }
        }
}
END_TEST

START_TEST(null_objects_hold_the_pattern_they_promise)
{
        static const uint64_t sizes[] = {
                0,   1, 100, PATTERN_NULL_PERIOD, PATTERN_NULL_PERIOD + 1, 2 * PATTERN_NULL_PERIOD,
                SIZE};
        struct pattern p = PATTERN_NULL;

        ck_assert_int_eq(null_init(), 0);
        for (uint64_t off = 0, run; off < SIZE; off += run) {
                const void *bytes = null_bytes(off, &run);
                if (run > 5000)
                        run = 5000;
                ck_assert_int_eq(pattern_check(&p, off, bytes, (size_t)run), -1);
        }
        pattern_fill(&p, 0, whole, SIZE);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                ck_assert_uint_eq(null_crc(sizes[i]), crc32c(0, whole, (size_t)sizes[i]));
        null_exit();
}
END_TEST

int main(void)
{
        Suite *s = suite_create("pattern");
        TCase *t = tcase_create("pattern");

        tcase_add_loop_test(t, any_sub_range_can_be_made_alone, 0, 3);
        tcase_add_loop_test(t, the_first_wrong_byte_is_found, 0, 3);
        tcase_add_test(t, seed_id_and_offset_all_matter);
        tcase_add_test(t, cells_of_a_device_hold_the_same_bytes);
        tcase_add_test(t, null_objects_hold_the_pattern_they_promise);
        suite_add_tcase(s, t);
        return unit_main(s);
}
