/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c: the sizes of parts. */
#include "mount/plan.h"

#include "store.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

#define MiB (1ULL << 20)
#define GiB (1ULL << 30)
#define TiB (1ULL << 40)

static const struct {
        uint64_t part_size, memory;
        unsigned no;
        uint64_t bytes;
} sizes[] = {
        {16 * MiB, 2 * GiB, 1, 16 * MiB},
        {16 * MiB, 2 * GiB, 900, 16 * MiB},
        {16 * MiB, 2 * GiB, 901, 32 * MiB},
        {16 * MiB, 2 * GiB, 1801, 64 * MiB},
        {16 * MiB, 2 * GiB, 10000, 1024 * MiB}, /* half of the memory */
        {16 * MiB, 512 * MiB, 10000, 256 * MiB},
        {5 * MiB, 64 * MiB, 10000, 32 * MiB},
        {6 * MiB + 12345, 2 * GiB, 1, 6 * MiB}, /* whole MiB */
        {512 * MiB, 64 * MiB, 1, 32 * MiB},     /* memory comes first */
        {512 * MiB, 1 * TiB, 10000, STORE_PART_SIZE_MAX},
};

START_TEST(parts_double_up_to_half_of_the_memory)
{
        struct part_plan p = part_plan(sizes[_i].part_size, sizes[_i].memory);
        ck_assert_uint_eq(part_plan_bytes(&p, sizes[_i].no), sizes[_i].bytes);
}
END_TEST

START_TEST(parts_never_shrink_and_are_never_too_small)
{
        struct part_plan p = part_plan(5 * MiB, 64 * MiB);
        uint64_t before = STORE_PART_SIZE_MIN;
        for (unsigned no = 1; no <= STORE_PART_MAX; no++) {
                uint64_t bytes = part_plan_bytes(&p, no);
                ck_assert_uint_ge(bytes, before);
                before = bytes;
        }
}
END_TEST

START_TEST(sixteen_mib_parts_in_two_gib_reach_five_tib)
{
        struct part_plan p = part_plan(16 * MiB, 2 * GiB);
        ck_assert_uint_ge(part_plan_reach(&p), 5 * TiB);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("plan");
        TCase *t = tcase_create("plan");
        tcase_add_loop_test(t, parts_double_up_to_half_of_the_memory, 0,
                            sizeof sizes / sizeof sizes[0]);
        tcase_add_test(t, parts_never_shrink_and_are_never_too_small);
        tcase_add_test(t, sixteen_mib_parts_in_two_gib_reach_five_tib);
        suite_add_tcase(s, t);
        return unit_main(s);
}
