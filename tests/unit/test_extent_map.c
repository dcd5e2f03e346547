/* SPDX-License-Identifier: Apache-2.0 */
/* test_extent_map.c: the bytes of a file that are held, in buffers and in the spill, and parts of
 * them, against a plain array. */
#include "mount/write/extent_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "mount/write/part_body.h"
#include "mount/write/spill.h"
#include "tests/lib/no_memory.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

#define MiB (1UL << 20)
enum { SIZE = 6 << 20 };

static unsigned char want[SIZE], got[SIZE];
static bool held[SIZE];
static struct pool *pool;
static struct spill *spill;
static struct extent_map x;

static void begin(uint64_t room)
{
        pool = pool_new(64 * MiB);
        spill = spill_new("/tmp", room);
        ck_assert_int_eq(spill_open(spill), 0);
        extent_map_init(&x, pool, spill);
        memset(want, 0, sizeof want);
        memset(held, 0, sizeof held);
}

static void free_garbage(void)
{
        while (x.garbage) {
                struct pool_buf *b = x.garbage;
                x.garbage = b->next;
                pool_unref(b);
        }
}

static void end(void)
{
        extent_map_clear(&x);
        free_garbage();
        ck_assert_uint_eq(pool_in_use(pool), 0);
        spill_free(spill);
        pool_free(pool);
}

static ssize_t spill_one(uint64_t from, uint64_t to)
{
        struct spilling *s;
        int err = extent_map_spill_begin(&x, from, to, &s);
        return s ? extent_map_spill_end(&x, s, spilling_write(s)) : err;
}

/* Writes n bytes at pos, in a buffer that is kept or as a copy. */
static void put(size_t pos, size_t n, bool cacheable)
{
        static unsigned seed = 1;
        struct pool_buf *b = pool_get(pool, POOL_MUST);
        unsigned char *p = b->data + 80;
        uint64_t fresh = 0, new = 0;

        for (size_t i = 0; i < n; i++) {
                p[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
                new += !held[pos + i];
                held[pos + i] = true;
                want[pos + i] = p[i];
        }
        ck_assert_int_eq(extent_map_put(&x, pos, p, n, cacheable ? b : NULL, &fresh), 0);
        ck_assert_uint_eq(fresh, new);
        if (!cacheable)
                memset(p, 0, n);
        pool_unref(b);
}

static void drop(size_t from, size_t to)
{
        extent_map_drop(&x, from, to);
        memset(held + from, 0, to - from);
}

static void check(void)
{
        uint64_t from, to, at = 0;
        size_t i = 0;
        while (extent_map_run(&x, at, &from, &to)) {
                while (i < SIZE && !held[i])
                        i++;
                ck_assert_uint_eq(from, i);
                while (i < SIZE && held[i])
                        i++;
                ck_assert_uint_eq(to, i);
                ck_assert_uint_eq(extent_map_held(&x, from, to), to - from);
                struct part_body *later = part_body_new(spill, 0, from);
                ck_assert_int_eq(extent_map_get(&x, from, got, to - from, later), 0);
                ck_assert_int_eq(part_body_fetch(later, got), 0);
                part_body_free(later);
                ck_assert_int_eq(memcmp(got, want + from, to - from), 0);
                at = to;
        }
        while (i < SIZE && !held[i])
                i++;
        ck_assert_uint_eq(i, SIZE);
        free_garbage();
}

START_TEST(what_was_written_last_is_read)
{
        begin(64 * MiB);
        srandom(7);
        for (int i = 0; i < 400; i++) {
                size_t n = (size_t)random() % (i % 3 ? 5000 : MiB - 100) + 1;
                size_t pos = (size_t)random() % (SIZE - n);
                if (i % 7 == 6)
                        drop(pos, pos + n);
                else
                        put(pos, n, n > 700000);
                if (i % 11 == 10)
                        ck_assert_int_ge(spill_one(pos, SIZE), 0);
                if (i % 20 == 19)
                        check();
        }
        check();
        end();
}
END_TEST

static void check_part(struct part_body *p, const unsigned char *bytes)
{
        ck_assert_int_eq(part_body_sum(p), 0);
        ck_assert_uint_eq(p->crc, crc32c(0, bytes, (size_t)p->len));
        for (uint64_t at = 0; at < p->len; at += 100003) {
                size_t n = p->len - at < 100003 ? (size_t)(p->len - at) : 100003;
                ck_assert_int_eq(part_body_read(p, at, got + at, n), 0);
        }
        ck_assert_int_eq(memcmp(got, bytes, (size_t)p->len), 0);
        ck_assert_int_eq(part_body_read(p, 10, got, 20), 0); /* backwards: a retry */
        ck_assert_int_eq(memcmp(got, bytes + 10, 20), 0);
        ck_assert_int_eq(part_body_read(p, p->len - 1, got, 2), -EINVAL);
}

START_TEST(a_part_keeps_its_bytes_whatever_is_written_after)
{
        static unsigned char before[SIZE];
        begin(64 * MiB);
        put(0, MiB - 5, true);
        put(MiB - 5, 900, false);
        put(MiB + 895, MiB, true);
        put(2 * MiB + 895, 100000, false);
        ck_assert_int_gt(spill_one(MiB, 2 * MiB), 0);
        size_t len = 2 * MiB + 895 + 100000 - 3;
        memcpy(before, want + 3, len);
        struct part_body *p = part_body_new(spill, 1, 3);
        ck_assert_int_eq(extent_map_share(&x, 3, 3 + len, p), 0);
        ck_assert_int_eq(part_body_add_zeros(p, 300001), 0);
        memset(before + len, 0, 300001);
        check_part(p, before);
        put(0, 5000, false);
        put(MiB + 7, 5000, false);
        put(2 * MiB, MiB / 2, false);
        while (spill_one(0, SIZE) > 0)
                ;
        check_part(p, before);
        check();
        part_body_free(p);
        end();
}
END_TEST

START_TEST(spilled_bytes_come_back_and_memory_is_free)
{
        begin(64 * MiB);
        put(100, MiB, true);
        put(3 * MiB, 5000, false);
        while (spill_one(0, SIZE) > 0)
                ;
        free_garbage();
        ck_assert_uint_eq(pool_in_use(pool), 0);
        ck_assert_uint_eq(extent_map_in_memory(&x), 0);
        check();
        end();
}
END_TEST

/* What is sent keeps the buffer that its bytes were copied to, however few they are. */
START_TEST(a_buffer_with_a_few_bytes_counts_as_one)
{
        begin(64 * MiB);
        put(100, 10, false);
        put(5000, 10, false);
        ck_assert_uint_eq(extent_map_in_memory(&x), MiB);
        struct part_body *p = part_body_new(spill, 1, 100);
        ck_assert_int_eq(extent_map_share(&x, 100, 110, p), 0);
        part_body_free(p);
        ck_assert_uint_eq(extent_map_in_memory(&x), MiB);
        check();
        end();
}
END_TEST

/* The disk is slow, and the program goes on: what it wrote over stays, the rest is spilled. */
START_TEST(what_changes_while_it_is_spilled_stays)
{
        struct spilling *s;

        begin(SIZE);
        put(0, MiB, true);
        put(MiB, 300000, false);
        for (int i = 0; i < 2; i++) {
                ck_assert_int_eq(extent_map_spill_begin(&x, i * MiB, (i + 1) * MiB, &s), 0);
                ck_assert_ptr_nonnull(s);
                put(i * MiB + 1000, 5000, false);
                int err = spilling_write(s);
                put(i * MiB + 100000, 5000, i);
                ck_assert_int_gt(extent_map_spill_end(&x, s, err), 0);
                check();
        }
        ck_assert_int_eq(extent_map_spill_begin(&x, 0, MiB, &s), 0);
        drop(0, MiB); /* and what went stays away */
        put(0, 1000, false);
        ck_assert_int_gt(extent_map_spill_end(&x, s, spilling_write(s)), 0);
        check();
        ck_assert_int_eq(extent_map_spill_begin(&x, 0, MiB, &s), 0);
        ck_assert_int_eq(extent_map_spill_end(&x, s, -ENOSPC), -ENOSPC); /* a full disk */
        ck_assert(spill_is_full(spill));
        ck_assert_int_eq(extent_map_spill_begin(&x, 0, MiB, &s), 0);
        ck_assert(spill_is_full(spill)); /* until something was written */
        ck_assert_int_gt(extent_map_spill_end(&x, s, spilling_write(s)), 0);
        ck_assert(!spill_is_full(spill));
        check();
        end();
}
END_TEST

START_TEST(a_full_spill_says_so_and_loses_nothing)
{
        begin(MiB);
        put(0, MiB, true);
        put(MiB, MiB, true);
        ck_assert_int_gt(spill_one(0, SIZE), 0);
        ck_assert_int_eq(spill_one(0, SIZE), -ENOSPC);
        ck_assert(spill_is_full(spill));
        check();
        drop(0, MiB);
        ck_assert(!spill_is_full(spill));
        ck_assert_int_gt(spill_one(0, SIZE), 0);
        check();
        end();
}
END_TEST

#if defined(NO_MEMORY)
START_TEST(a_put_that_finds_no_memory_half_way_puts_nothing)
{
        unsigned char *p = malloc(3 * MiB);
        uint64_t fresh = 0;

        begin(0);
        put(0, 10, false);
        const size_t before = pool_in_use(pool);
        memset(p, 1, 3 * MiB);
        no_memory_at = 2; /* the last block of three has none */
        ck_assert_int_eq(extent_map_put(&x, MiB - 10, p, MiB + 20, NULL, &fresh), -ENOMEM);
        ck_assert_uint_eq(no_memory_at, 0);
        ck_assert_uint_eq(fresh, 0);
        ck_assert_uint_eq(extent_map_held(&x, 0, SIZE), 10);
        free_garbage();
        ck_assert_uint_eq(pool_in_use(pool), before);
        ck_assert_int_eq(extent_map_put(&x, MiB - 10, p, MiB + 20, NULL, &fresh), 0);
        ck_assert_uint_eq(fresh, MiB + 20);
        ck_assert_uint_eq(extent_map_held(&x, 0, SIZE), MiB + 30);
        free(p);
        end();
}
END_TEST
#endif

int main(void)
{
        Suite *s = suite_create("extent");
        TCase *t = tcase_create("extent");
        tcase_add_test(t, what_was_written_last_is_read);
        tcase_add_test(t, a_part_keeps_its_bytes_whatever_is_written_after);
        tcase_add_test(t, spilled_bytes_come_back_and_memory_is_free);
        tcase_add_test(t, a_buffer_with_a_few_bytes_counts_as_one);
        tcase_add_test(t, what_changes_while_it_is_spilled_stays);
        tcase_add_test(t, a_full_spill_says_so_and_loses_nothing);
#if defined(NO_MEMORY)
        tcase_add_test(t, a_put_that_finds_no_memory_half_way_puts_nothing);
#endif
        suite_add_tcase(s, t);
        return unit_main(s);
}
