/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_limit.c: the line that the simulator's connections share, and the rates of prefixes. */
#include "bench/sim/http/limit.h"

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MS = 1000000, CONNS = 16 };
static const uint64_t start_ns = 1000000000000;

/* One second in which each of n connections has bytes to move all the time, looked at every
 * millisecond. Returns the bytes that moved, and how long the last bite waited. */
static uint64_t second(struct line *l, unsigned n, uint64_t moved[CONNS], uint64_t *waited_ns)
{
        struct line_bite bite[CONNS] = {{0}};
        uint64_t asked[CONNS] = {0}, wake, sum = 0;

        for (uint64_t now = start_ns; now < start_ns + 1000 * (uint64_t)MS; now += MS)
                for (unsigned i = 0; i < n; i++) {
                        size_t k;
                        if (!asked[i])
                                asked[i] = now;
                        while ((k = line_allow(l, &bite[i], 1 << 20, now, &wake))) {
                                line_use(l, &bite[i], k);
                                moved[i] += k;
                                sum += k;
                                *waited_ns = now - asked[i];
                                asked[i] = now;
                        }
                }
        return sum;
}

START_TEST(all_connections_together_have_the_rate)
{
        for (unsigned n = 1; n <= CONNS; n *= 4) {
                struct line l = {.rate = 100 << 20};
                uint64_t moved[CONNS] = {0}, waited, sum = second(&l, n, moved, &waited);
                ck_assert_uint_ge(sum, l.rate / 100 * 95);
                ck_assert_uint_le(sum, l.rate / 100 * 105);
                for (unsigned i = 0; i < n; i++)
                        ck_assert_uint_ge(moved[i], sum / n / 100 * 80);
        }
}
END_TEST

START_TEST(more_connections_wait_longer)
{
        uint64_t waited[2] = {0};
        for (unsigned i = 0; i < 2; i++) {
                struct line l = {.rate = 100 << 20};
                uint64_t moved[CONNS] = {0};
                second(&l, i ? CONNS : CONNS / 4, moved, &waited[i]);
        }
        ck_assert_uint_ge(waited[1], 3 * waited[0]);
}
END_TEST

START_TEST(a_line_without_a_rate_lets_everything_pass)
{
        struct line l = {0};
        struct line_bite b = {0};
        uint64_t wake;
        ck_assert_uint_eq(line_allow(&l, &b, 1 << 30, start_ns, &wake), 1 << 30);
        line_use(&l, &b, 1 << 30);
        ck_assert_uint_eq(line_allow(&l, &b, 1, start_ns, &wake), 1);
}
END_TEST

/* How many of 20 requests in each millisecond of a second are taken. */
static unsigned taken(struct prefix_rates *r, const char *key, bool write)
{
        unsigned n = 0;
        for (unsigned i = 0; i < 20000; i++)
                n += prefix_rates_take(r, "bkt", key, write, start_ns + i / 20 * (uint64_t)MS);
        return n;
}

START_TEST(a_prefix_takes_its_writes_and_reads_of_a_second)
{
        struct prefix_rates *r = prefix_rates_new(3500, 5500);
        ck_assert_ptr_nonnull(r);
        unsigned writes = taken(r, "a/b/c", true), reads = taken(r, "a/b/d", false);
        ck_assert_uint_ge(writes, 3500);
        ck_assert_uint_le(writes, 3500 + 350 + 1);
        ck_assert_uint_ge(reads, 5500);
        ck_assert_uint_le(reads, 5500 + 550 + 1);
        ck_assert_uint_ge(taken(r, "a/c", true), 3500); /* another prefix */
        ck_assert_uint_ge(taken(r, "none", true), 3500);
        prefix_rates_free(r);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sim_limit");
        TCase *t = tcase_create("sim_limit");
        tcase_add_test(t, all_connections_together_have_the_rate);
        tcase_add_test(t, more_connections_wait_longer);
        tcase_add_test(t, a_line_without_a_rate_lets_everything_pass);
        tcase_add_test(t, a_prefix_takes_its_writes_and_reads_of_a_second);
        suite_add_tcase(s, t);
        return unit_main(s);
}
