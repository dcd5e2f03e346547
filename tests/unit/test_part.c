/* SPDX-License-Identifier: Apache-2.0 */
/* test_part.c: the bytes of a part, in buffers and in the spill. */
#include "mount/part.h"

#include <errno.h>
#include <string.h>

#include "base/digest.h"
#include "mount/spill.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

#define MiB (1UL << 20)

static unsigned char want[4 * MiB], got[4 * MiB];

static void fill(void)
{
        for (size_t i = 0; i < sizeof want; i++)
                want[i] = (unsigned char)(i * 2654435761u >> 13);
}

/* A part of 3 MiB + 5: a kept buffer, copies of odd lengths, another kept piece. */
static struct part *make(struct pool *pool)
{
        struct part *p = part_new(1);
        struct pool_buf *b = pool_get(pool, POOL_MUST);
        size_t at = MiB - 7;

        memcpy(b->data + 80, want, at);
        ck_assert_int_eq(part_add_buf(p, b, b->data + 80, at), 0);
        pool_unref(b);
        while (at < 2 * MiB) {
                size_t n = at % 3 ? 65537 : 4093;
                ck_assert_int_eq(part_add_copy(p, pool, want + at, n), 0);
                at += n;
        }
        b = pool_get(pool, POOL_MUST);
        size_t n = 3 * MiB + 5 - at;
        if (n > MiB)
                n = MiB;
        memcpy(b->data, want + at, n);
        ck_assert_int_eq(part_add_buf(p, b, b->data, n), 0);
        pool_unref(b);
        return p;
}

static void check(struct part *p, struct spill *spill)
{
        memset(got, 0, sizeof got);
        for (uint64_t at = 0; at < p->len; at += 100003) {
                size_t n = p->len - at < 100003 ? (size_t)(p->len - at) : 100003;
                ck_assert_int_eq(part_read(p, spill, at, got + at, n), 0);
        }
        ck_assert_int_eq(memcmp(got, want, (size_t)p->len), 0);
        ck_assert_uint_eq(p->crc, crc32c(0, want, (size_t)p->len));
        ck_assert_int_eq(part_read(p, spill, 10, got, 20), 0); /* backwards: a retry */
        ck_assert_int_eq(memcmp(got, want + 10, 20), 0);
        ck_assert_int_eq(part_read(p, spill, p->len - 1, got, 2), -EINVAL);
}

START_TEST(bytes_come_back_as_they_were_added)
{
        struct pool *pool = pool_new(64 * MiB);
        fill();
        struct part *p = make(pool);
        check(p, NULL);
        part_free(p, NULL);
        ck_assert_uint_eq(pool_in_use(pool), 0);
        pool_free(pool);
}
END_TEST

START_TEST(spilled_bytes_come_back_and_memory_is_free)
{
        struct pool *pool = pool_new(64 * MiB);
        struct spill *spill = spill_new("/tmp", 64 * MiB);
        fill();
        struct part *p = make(pool);
        ck_assert_int_eq(part_spill(p, spill), 0);
        ck_assert_uint_eq(pool_in_use(pool), 0);
        ck_assert_uint_eq(part_in_memory(p), 0);
        check(p, spill);
        part_free(p, spill);
        spill_free(spill);
        pool_free(pool);
}
END_TEST

START_TEST(a_full_spill_says_so_and_loses_nothing)
{
        struct pool *pool = pool_new(64 * MiB);
        struct spill *spill = spill_new("/tmp", MiB);
        fill();
        struct part *p = make(pool);
        ck_assert_int_eq(part_spill(p, spill), -ENOSPC);
        check(p, spill);
        part_free(p, spill);
        uint64_t at;
        ck_assert_int_eq(spill_put(spill, want, 1, &at), 0); /* the slot is free again */
        spill_drop(spill, at);
        spill_free(spill);
        pool_free(pool);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("part");
        TCase *t = tcase_create("part");
        tcase_add_test(t, bytes_come_back_as_they_were_added);
        tcase_add_test(t, spilled_bytes_come_back_and_memory_is_free);
        tcase_add_test(t, a_full_spill_says_so_and_loses_nothing);
        suite_add_tcase(s, t);
        return unit_main(s);
}
