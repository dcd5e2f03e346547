/* SPDX-License-Identifier: Apache-2.0 */
/* test_version_cache.c: which versions stay in memory, and which gives up its bytes first. */
#include "mount/read/version_cache.h"

#include "base/container_of.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MOST = 2000, MANY = 1100 };

struct version {
        struct cached_version v;
        size_t bytes;
        int refs;
};

static struct version versions[MANY];
static struct version_cache *cache;

static struct version *version_of(struct cached_version *v)
{
        return CONTAINER_OF(v, struct version, v);
}

static void ref(struct cached_version *v)
{
        version_of(v)->refs++;
}

static void unref(struct cached_version *v)
{
        version_of(v)->refs--;
}

static size_t shrink(struct cached_version *v, size_t bytes)
{
        struct version *x = version_of(v);
        size_t given = bytes < x->bytes ? bytes : x->bytes;

        x->bytes -= given;
        version_cache_shrank(cache, given);
        if (!x->bytes)
                version_cache_remove(cache, v);
        return given;
}

static void setup(void)
{
        static const struct version_cache_ops ops = {.ref = ref, .unref = unref, .shrink = shrink};
        cache = version_cache_new(&ops, MOST);
        ck_assert_ptr_nonnull(cache);
        for (int i = 0; i < MANY; i++)
                versions[i] = (struct version){0};
}

static void teardown(void)
{
        version_cache_free(cache);
        for (int i = 0; i < MANY; i++)
                ck_assert_int_eq(versions[i].refs, 0);
}

static void grow(int i, size_t bytes)
{
        versions[i].bytes += bytes;
        version_cache_grew(cache, bytes);
        version_cache_touch(cache, &versions[i].v);
}

static bool has_800(struct cached_version *v, const void *arg)
{
        (void)arg;
        return version_of(v)->bytes == 800;
}

START_TEST(versions_that_fit_stay)
{
        grow(0, 1200);
        grow(1, 800);
        version_cache_trim(cache);
        ck_assert_uint_eq(versions[0].bytes, 1200);
        ck_assert_uint_eq(versions[1].bytes, 800);
}
END_TEST

START_TEST(the_version_used_longest_ago_makes_room)
{
        grow(0, 800);
        grow(1, 800);
        grow(2, 400);
        version_cache_touch(cache, &versions[0].v);
        grow(2, 1000);
        version_cache_trim(cache);
        ck_assert_uint_eq(versions[0].bytes, 600);
        ck_assert_uint_eq(versions[1].bytes, 0);
        ck_assert_uint_eq(versions[2].bytes, 1400);
        ck_assert_uint_eq(version_cache_bytes(cache), MOST);
}
END_TEST

START_TEST(who_needs_memory_gets_as_much_as_there_is)
{
        grow(0, 600);
        grow(1, 600);
        ck_assert_uint_eq(version_cache_shrink(cache, 800), 800);
        ck_assert_uint_eq(version_cache_shrink(cache, 20000), 400);
        ck_assert_uint_eq(version_cache_bytes(cache), 0);
}
END_TEST

START_TEST(the_version_used_last_is_found)
{
        grow(0, 800);
        grow(1, 800);
        grow(2, 400);
        struct cached_version *v = version_cache_find(cache, has_800, NULL);
        ck_assert_ptr_eq(v, &versions[1].v);
        unref(v);
        version_cache_shrink(cache, 1600);
        ck_assert_ptr_null(version_cache_find(cache, has_800, NULL));
}
END_TEST

START_TEST(versions_are_bounded_in_number)
{
        for (int i = 0; i < MANY; i++)
                grow(i, 1);
        version_cache_trim(cache);
        ck_assert_int_eq(versions[MANY - 1025].refs, 0);
        ck_assert_int_eq(versions[MANY - 1024].refs, 1);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("version_cache");
        TCase *t = tcase_create("version_cache");
        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, versions_that_fit_stay);
        tcase_add_test(t, the_version_used_longest_ago_makes_room);
        tcase_add_test(t, who_needs_memory_gets_as_much_as_there_is);
        tcase_add_test(t, the_version_used_last_is_found);
        tcase_add_test(t, versions_are_bounded_in_number);
        suite_add_tcase(s, t);
        return unit_main(s);
}
