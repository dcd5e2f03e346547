/* SPDX-License-Identifier: Apache-2.0 */
/* test_preflight.c: what control groups leave of a machine's memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/data/preflight.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MIB = 1 << 20 };

static char top[64];

static void put(const char *name, const char *text)
{
        char path[256];
        snprintf(path, sizeof path, "%s/%s", top, name);
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        fputs(text, f);
        ck_assert_int_eq(fclose(f), 0);
}

static void make_group(const char *name)
{
        char path[256];
        snprintf(path, sizeof path, "%s/%s", top, name);
        ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void setup(void)
{
        snprintf(top, sizeof top, "/tmp/ckptfs-needs.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(top));
        make_group("job");
        make_group("job/step");
}

static void teardown(void)
{
        char command[128];
        snprintf(command, sizeof command, "rm -r %s", top);
        ck_assert_int_eq(system(command), 0);
}

/* MiB that a process of group `of` may have; UINT64_MAX as it is. */
static uint64_t room(const char *of)
{
        char membership[128], line[128];
        snprintf(line, sizeof line, "1:cpu:/other\n0::%s\n", of);
        put("membership", line);
        snprintf(membership, sizeof membership, "%s/membership", top);
        uint64_t r = preflight_group_room(membership, top);
        return r == UINT64_MAX ? r : r / MIB;
}

START_TEST(the_narrowest_group_above_a_process_counts)
{
        put("job/memory.max", "104857600\n");
        put("job/memory.current", "10485760\n");
        put("job/step/memory.max", "max\n");
        ck_assert_uint_eq(room("/job/step"), 90);
        put("job/step/memory.max", "52428800\n");
        ck_assert_uint_eq(room("/job/step"), 50);
        ck_assert_uint_eq(room("/"), UINT64_MAX);
}
END_TEST

START_TEST(page_cache_can_be_given_back)
{
        put("job/memory.max", "104857600\n");
        put("job/memory.current", "94371840\n");
        put("job/memory.stat", "anon 10485760\ninactive_file 52428800\nactive_file 31457280\n");
        ck_assert_uint_eq(room("/job"), 90);
}
END_TEST

START_TEST(a_group_above_its_limit_has_no_room)
{
        put("job/memory.max", "1048576\n");
        put("job/memory.current", "94371840\n");
        ck_assert_uint_eq(room("/job"), 0);
}
END_TEST

START_TEST(without_groups_there_is_no_limit)
{
        ck_assert_uint_eq(preflight_group_room("/nonexistent", top), UINT64_MAX);
        ck_assert_uint_eq(room("/job/step"), UINT64_MAX);
}
END_TEST

int main(void)
{
        TCase *tc = tcase_create("needs");
        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_test(tc, the_narrowest_group_above_a_process_counts);
        tcase_add_test(tc, page_cache_can_be_given_back);
        tcase_add_test(tc, a_group_above_its_limit_has_no_room);
        tcase_add_test(tc, without_groups_there_is_no_limit);
        Suite *s = suite_create("needs");
        suite_add_tcase(s, tc);
        return unit_main(s);
}
