/* SPDX-License-Identifier: Apache-2.0 */
/* test_readahead.c: which reads are a stream, and how far ahead of one is fetched. */
#include "mount/read/readahead.h"

#include "tests/lib/unit.h"

#include "base/banned.h"

#define MiB (1ULL << 20)
#define GiB (1ULL << 30)

static struct readahead fresh(void)
{
        return (struct readahead){.max = 128 * MiB, .read_size = 8 * MiB};
}

/* Requests all read-ahead that is wanted now; returns its bytes. */
static uint64_t fetch(struct readahead *w, struct stream *s, uint64_t size)
{
        uint64_t n, sum = 0;
        while ((n = readahead_next(w, s, size))) {
                s->ahead = (s->ahead > s->next ? s->ahead : s->next) + n;
                sum += n;
        }
        return sum;
}

START_TEST(a_file_read_from_its_start_is_fetched_ahead_at_once)
{
        struct readahead w = fresh();
        struct stream gone, *s = readahead_hit(&w, 0, MiB, true, &gone);
        ck_assert_uint_eq(fetch(&w, s, GiB), READAHEAD_FIRST);
}
END_TEST

START_TEST(a_file_read_elsewhere_fetches_nothing_more)
{
        struct readahead w = fresh();
        struct stream gone, *s = readahead_hit(&w, 500 * MiB, 4096, true, &gone);
        ck_assert_uint_eq(fetch(&w, s, GiB), 0);
}
END_TEST

START_TEST(a_window_doubles_while_its_reader_waits_up_to_the_most)
{
        struct readahead w = fresh();
        struct stream gone, *s = NULL;
        for (uint64_t off = 0; off < GiB; off += MiB) {
                s = readahead_hit(&w, off, MiB, true, &gone);
                fetch(&w, s, 4 * GiB);
                ck_assert_uint_le(s->ahead, s->next + 128 * MiB + 8 * MiB);
        }
        ck_assert_uint_eq(s->window, 128 * MiB);
}
END_TEST

START_TEST(a_window_stays_while_its_reader_does_not_wait)
{
        struct readahead w = fresh();
        struct stream gone, *s = NULL;
        for (uint64_t off = 0; off < 100 * MiB; off += MiB) {
                s = readahead_hit(&w, off, MiB, false, &gone);
                fetch(&w, s, GiB);
        }
        ck_assert_uint_eq(s->window, READAHEAD_SECOND);
}
END_TEST

/* Reads `n` blocks of 4 KiB, one every `step` bytes from `off` on; returns what was fetched. */
static uint64_t fetch_pages(uint64_t off, uint64_t n, uint64_t step)
{
        struct readahead w = fresh();
        uint64_t sum = 0;
        for (uint64_t i = 0; i < n; i++) {
                struct stream gone, *s = readahead_hit(&w, off + i * step, 4096, true, &gone);
                uint64_t front = s->ahead > s->next - 4096 ? s->ahead : s->next - 4096;
                sum += front < s->next ? s->next - front : 0;
                sum += fetch(&w, s, 4 * GiB);
        }
        return sum;
}

START_TEST(pages_that_the_kernel_dropped_bring_few_others_along)
{
        static const uint64_t steps[] = {4096, 8192, 64 << 10, 1 << 20, 64 << 20};
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
                ck_assert_uint_le(fetch_pages(500 * MiB, 256, steps[i]), 18 * MiB);
        ck_assert_uint_le(fetch_pages(0, 256, 512 << 10), 4 * MiB);
}
END_TEST

START_TEST(a_reader_that_begins_within_a_file_is_soon_fetched_ahead_as_any)
{
        struct readahead w = fresh();
        struct stream gone, *s = NULL;
        for (uint64_t off = 500 * MiB; off < 506 * MiB; off += MiB) {
                s = readahead_hit(&w, off, MiB, false, &gone);
                fetch(&w, s, GiB);
        }
        ck_assert_uint_eq(s->window, READAHEAD_SECOND);
}
END_TEST

START_TEST(eight_readers_of_one_file_are_eight_streams)
{
        struct readahead w = fresh();
        struct stream gone, *seen[8];
        for (uint64_t i = 0; i < 50; i++) {
                for (uint64_t k = 0; k < 8; k++) {
                        struct stream *s =
                                readahead_hit(&w, k * 128 * MiB + i * MiB, MiB, true, &gone);
                        ck_assert(!gone.used);
                        ck_assert(!i || seen[k] == s);
                        seen[k] = s;
                        fetch(&w, s, GiB);
                }
        }
        uint64_t sum = 0;
        for (int k = 0; k < 8; k++)
                sum += seen[k]->window;
        ck_assert_uint_le(sum, 128 * MiB + 8 * READAHEAD_FIRST);
}
END_TEST

START_TEST(requests_out_of_order_stay_one_stream)
{
        struct readahead w = fresh();
        struct stream gone, *s = readahead_hit(&w, 0, MiB, true, &gone);
        fetch(&w, s, GiB);
        ck_assert_ptr_eq(readahead_hit(&w, 2 * MiB, MiB, true, &gone), s);
        ck_assert_ptr_eq(readahead_hit(&w, MiB, MiB, true, &gone), s);
}
END_TEST

START_TEST(the_stream_unused_for_longest_makes_room)
{
        struct readahead w = fresh();
        struct stream gone;
        for (uint64_t k = 0; k < READAHEAD_STREAMS; k++)
                readahead_hit(&w, k * GiB, 4096, true, &gone);
        ck_assert(!gone.used);
        readahead_hit(&w, 1000 * GiB, 4096, true, &gone);
        ck_assert(gone.used);
        ck_assert_uint_eq(gone.start, 0);
}
END_TEST

START_TEST(nothing_is_fetched_behind_the_end)
{
        struct readahead w = fresh();
        struct stream gone, *s = readahead_hit(&w, 0, 100, true, &gone);
        ck_assert_uint_eq(fetch(&w, s, 100), 0);
        ck_assert_uint_eq(fetch(&w, s, 5000), 4900);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("window");
        TCase *t = tcase_create("window");
        tcase_add_test(t, a_file_read_from_its_start_is_fetched_ahead_at_once);
        tcase_add_test(t, a_file_read_elsewhere_fetches_nothing_more);
        tcase_add_test(t, a_window_doubles_while_its_reader_waits_up_to_the_most);
        tcase_add_test(t, a_window_stays_while_its_reader_does_not_wait);
        tcase_add_test(t, pages_that_the_kernel_dropped_bring_few_others_along);
        tcase_add_test(t, a_reader_that_begins_within_a_file_is_soon_fetched_ahead_as_any);
        tcase_add_test(t, eight_readers_of_one_file_are_eight_streams);
        tcase_add_test(t, requests_out_of_order_stay_one_stream);
        tcase_add_test(t, the_stream_unused_for_longest_makes_room);
        tcase_add_test(t, nothing_is_fetched_behind_the_end);
        suite_add_tcase(s, t);
        return unit_main(s);
}
