/* SPDX-License-Identifier: Apache-2.0 */
/* test_inflight.c: how many transfers are let run, in a simulated network. */
#include "store/http/inflight.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MOST = 128, MIB = 1 << 20, REST_MS = 100 };

/* Transfers of `size` bytes, each at most `rate` a millisecond and all together `line`; the server
 * takes `wait_ms` for each. `noise` percent come and go every tenth of a second. */
struct net {
        double rate, line, size;
        unsigned wait_ms, noise;
        double requests; /* a second; 0: any number */
        unsigned jobs;   /* transfers at the same time that there is work for */
        unsigned fixed;  /* not 0: so many, without a controller */
};

struct transfer {
        double left;
        unsigned waits, age;
        bool runs, refused;
};

struct run {
        struct inflight f;
        struct transfer v[1024];
        unsigned running, took_ms, resting[REST_MS + 1];
        uint64_t random;
        double moved, tokens;
        /* Counted from the third second on: */
        double bytes;
        unsigned done, ages, refused, low, high;
};

static unsigned chance(struct run *r, unsigned n)
{
        r->random = r->random * 6364136223846793005ULL + 1442695040888963407ULL;
        return (unsigned)(r->random >> 33) % n;
}

static void begin(struct run *r, const struct net *n)
{
        struct transfer *t = r->v;
        while (t->runs)
                t++;
        *t = (struct transfer){.left = n->size, .waits = n->wait_ms, .runs = true};
        if (n->requests > 0 && r->tokens < 1) {
                t->refused = true;
                t->left = 0;
        } else {
                r->tokens -= 1;
        }
        r->running++;
}

static void end(struct run *r, struct transfer *t, int64_t now, bool counts)
{
        t->runs = false;
        r->running--;
        if (t->refused) {
                r->resting[(now + REST_MS - 1) % (REST_MS + 1)]++;
                r->refused += counts;
                inflight_refused(&r->f, now);
                return;
        }
        r->took_ms = r->took_ms ? (7 * r->took_ms + t->age) / 8 : t->age;
        if (counts) {
                r->done++;
                r->ages += t->age;
        }
}

static void move(struct run *r, const struct net *n, int64_t now, double line, bool counts)
{
        unsigned moving = 0;
        for (unsigned i = 0; i < 1024; i++)
                moving += r->v[i].runs && r->v[i].left > 0;
        double each = moving && line / moving < n->rate ? line / moving : n->rate;
        for (unsigned i = 0; i < 1024; i++) {
                struct transfer *t = &r->v[i];
                if (!t->runs)
                        continue;
                t->age++;
                if (t->left > 0) {
                        double k = t->left < each ? t->left : each;
                        t->left -= k;
                        r->moved += k;
                        r->bytes += counts ? k : 0;
                } else if (!t->waits || !--t->waits) {
                        end(r, t, now, counts);
                }
        }
}

static struct run *simulate(const struct net *n, int64_t from_ms, int64_t till_ms)
{
        struct run *r = calloc(1, sizeof *r);
        double line = n->line;

        ck_assert_ptr_nonnull(r);
        inflight_init(&r->f, MOST);
        r->random = 42;
        r->low = UINT32_MAX;
        r->tokens = n->requests / 10;
        for (int64_t now = 1; now <= till_ms; now++) {
                bool counts = now > from_ms;
                unsigned most = n->fixed ? n->fixed : inflight_limit(&r->f), waiting;
                unsigned *resting = &r->resting[now % (REST_MS + 1)], resting_all = 0;
                *resting = 0;
                for (unsigned i = 0; i <= REST_MS; i++)
                        resting_all += r->resting[i];
                waiting = n->jobs - r->running - (n->jobs > resting_all ? resting_all : 0);
                if (now % 100 == 0)
                        line = n->line * (1 - n->noise / 100.0 * chance(r, 1000) / 1000.0);
                r->tokens += n->requests / 1000;
                if (r->tokens > n->requests / 10)
                        r->tokens = n->requests / 10;
                while (waiting && r->running < most) {
                        begin(r, n);
                        waiting--;
                }
                if (now % INFLIGHT_LOOK_MS == 0 && r->running)
                        inflight_look(&r->f, &(struct inflight_look){
                                                     .now_ms = now,
                                                     .bytes = (uint64_t)r->moved,
                                                     .running = r->running,
                                                     .more = waiting > 0,
                                                     .met = waiting > 0,
                                                     .took_ms = r->took_ms,
                                             });
                move(r, n, now, line, counts);
                if (counts && most < r->low)
                        r->low = most;
                if (counts && most > r->high)
                        r->high = most;
        }
        return r;
}

static double bytes_of(struct net n, unsigned fixed, int64_t from_ms, int64_t till_ms)
{
        n.fixed = fixed;
        struct run *r = simulate(&n, from_ms, till_ms);
        double bytes = r->bytes;
        free(r);
        return bytes;
}

static double best_fixed(struct net n, int64_t from_ms, int64_t till_ms)
{
        static const unsigned numbers[] = {4, 16, 32, 64};
        double best = 0;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                double b = bytes_of(n, numbers[i], from_ms, till_ms);
                best = b > best ? b : best;
        }
        return best;
}

#define MB_S(n) ((n)*1e6 / 1000)

/* A connection's rate and the line's, in MB/s, and the transfers that there is work for. */
static const struct {
        double rate, line;
        unsigned jobs;
} nets[] = {
        {50, 200, 64},   {50, 500, 64},   {50, 1300, 256},  {50, 2500, 256},   {50, 6000, 512},
        {90, 500, 64},   {90, 1300, 256}, {90, 2500, 256},  {90, 6000, 512},   {400, 500, 64},
        {400, 1300, 64}, {400, 2500, 64}, {400, 6000, 256}, {400, 12000, 256}, {5, 500, 512},
};
enum { NETS = sizeof nets / sizeof *nets };

static struct net net_at(int i, unsigned mib)
{
        return (struct net){.rate = MB_S(nets[i].rate),
                            .line = MB_S(nets[i].line),
                            .size = (double)mib * MIB,
                            .wait_ms = 20,
                            .jobs = nets[i].jobs};
}

START_TEST(after_three_seconds_it_is_as_fast_as_the_best_fixed_number)
{
        for (unsigned mib = 8; mib <= 16; mib *= 2) {
                struct net n = net_at(_i, mib);
                ck_assert_double_ge(bytes_of(n, 0, 3000, 8000), 0.9 * best_fixed(n, 3000, 8000));
        }
}
END_TEST

START_TEST(a_line_whose_rate_comes_and_goes_is_used)
{
        struct net n = net_at(_i, 16);
        n.noise = 30;
        ck_assert_double_ge(bytes_of(n, 0, 3000, 28000), 0.9 * best_fixed(n, 3000, 28000));
}
END_TEST

START_TEST(a_shared_line_is_not_overdriven)
{
        struct net n = net_at(_i, 16);
        double alone = n.wait_ms + n.size / n.rate;
        struct run *r = simulate(&n, 10000, 30000);
        if (n.line >= 4 * n.rate) /* fewer than 4 are not tried */
                ck_assert_double_le(r->ages / (double)r->done, 2 * alone);
        else
                ck_assert_uint_le(r->high, 2 * INFLIGHT_FIRST);
        free(r);
}
END_TEST

START_TEST(the_number_of_transfers_settles)
{
        struct net n = net_at(_i, 16);
        struct run *r = simulate(&n, 10000, 40000);
        ck_assert_uint_le(r->high, 3 * r->low);
        free(r);
}
END_TEST

START_TEST(a_rate_of_requests_is_used_with_few_refusals)
{
        static const double limits[] = {900, 3500, 5500};
        struct net n = {.rate = MB_S(50),
                        .line = MB_S(2000),
                        .size = 4096,
                        .wait_ms = 20,
                        .jobs = 512,
                        .requests = limits[_i]};
        struct run *r = simulate(&n, 3000, 33000);
        ck_assert_double_ge(r->done, 0.9 * n.requests * 30);
        ck_assert_uint_le(r->refused, r->done / 40);
        free(r);
}
END_TEST

START_TEST(refusals_make_it_fewer_at_most_once_a_second)
{
        struct inflight f;
        inflight_init(&f, MOST);
        inflight_refused(&f, 5000);
        unsigned cut = inflight_limit(&f);
        ck_assert_uint_lt(cut, INFLIGHT_FIRST);
        inflight_refused(&f, 5999); /* an answer to what was sent before */
        ck_assert_uint_eq(inflight_limit(&f), cut);
        for (int i = 1; i < 100; i++)
                inflight_refused(&f, 6000 + i * 1000);
        ck_assert_uint_eq(inflight_limit(&f), 1);
}
END_TEST

START_TEST(there_is_never_more_than_the_most)
{
        struct net n = {.rate = MB_S(50), .line = MB_S(9000), .size = 8 * MIB, .jobs = 512};
        struct run *r = simulate(&n, 5000, 10000);
        ck_assert_uint_eq(r->high, MOST);
        inflight_init(&r->f, 3);
        ck_assert_uint_eq(inflight_limit(&r->f), 3);
        free(r);
}
END_TEST

START_TEST(too_little_work_changes_nothing)
{
        struct net n = {.rate = MB_S(50), .line = MB_S(9000), .size = 8 * MIB, .jobs = 10};
        struct run *r = simulate(&n, 0, 10000);
        ck_assert_uint_eq(r->low, INFLIGHT_FIRST);
        ck_assert_uint_eq(r->high, INFLIGHT_FIRST);
        free(r);
}
END_TEST

/* `n` looks, 20 ms apart, at a program that has transfers wait at one look of `of`. */
static int64_t look_at_bursts(struct inflight *f, int n, int of)
{
        static int64_t now;
        for (int i = 0; i < n; i++) {
                bool wait = i % of == 0;
                now += INFLIGHT_LOOK_MS;
                inflight_look(f, &(struct inflight_look){
                                         .now_ms = now,
                                         .bytes = (uint64_t)now * MIB,
                                         .running = 10,
                                         .met = wait,
                                         .took_ms = 60,
                                 });
        }
        return now;
}

START_TEST(bursts_may_take_what_the_line_leaves)
{
        struct inflight f;
        inflight_init(&f, MOST);
        look_at_bursts(&f, 500, 5);
        ck_assert_uint_eq(inflight_limit(&f), 64);
        inflight_init(&f, 32);
        look_at_bursts(&f, 500, 5);
        ck_assert_uint_eq(inflight_limit(&f), 32);
}
END_TEST

START_TEST(a_server_that_stands_still_is_no_burst)
{
        struct inflight f;
        inflight_init(&f, MOST);
        for (int i = 1; i < 500; i++)
                inflight_look(&f, &(struct inflight_look){.now_ms = i * INFLIGHT_LOOK_MS,
                                                          .running = INFLIGHT_FIRST,
                                                          .more = true,
                                                          .met = true});
        ck_assert_uint_eq(inflight_limit(&f), INFLIGHT_FIRST);
}
END_TEST

START_TEST(a_rare_wait_is_no_burst)
{
        struct inflight f;
        inflight_init(&f, MOST);
        look_at_bursts(&f, 500, 40);
        ck_assert_uint_eq(inflight_limit(&f), INFLIGHT_FIRST);
}
END_TEST

START_TEST(a_burst_that_is_refused_does_not_grow_again_at_once)
{
        struct inflight f;
        inflight_init(&f, MOST);
        inflight_refused(&f, look_at_bursts(&f, 500, 5));
        unsigned cut = inflight_limit(&f);
        ck_assert_uint_lt(cut, 64);
        look_at_bursts(&f, 500, 5);
        ck_assert_uint_eq(inflight_limit(&f), cut);
}
END_TEST

START_TEST(after_a_long_rest_it_begins_anew)
{
        struct net n = {.rate = MB_S(50), .line = MB_S(9000), .size = 8 * MIB, .jobs = 512};
        struct run *r = simulate(&n, 0, 5000);
        ck_assert_uint_eq(inflight_limit(&r->f), MOST);
        inflight_look(&r->f, &(struct inflight_look){.now_ms = 60000, .running = 1});
        ck_assert_uint_eq(inflight_limit(&r->f), INFLIGHT_FIRST);
        free(r);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("inflight");
        TCase *t = tcase_create("inflight");
        tcase_add_loop_test(t, after_three_seconds_it_is_as_fast_as_the_best_fixed_number, 0, NETS);
        tcase_add_loop_test(t, a_line_whose_rate_comes_and_goes_is_used, 0, NETS);
        tcase_add_loop_test(t, a_shared_line_is_not_overdriven, 0, NETS);
        tcase_add_loop_test(t, the_number_of_transfers_settles, 0, NETS);
        tcase_add_loop_test(t, a_rate_of_requests_is_used_with_few_refusals, 0, 3);
        tcase_add_test(t, refusals_make_it_fewer_at_most_once_a_second);
        tcase_add_test(t, there_is_never_more_than_the_most);
        tcase_add_test(t, too_little_work_changes_nothing);
        tcase_add_test(t, bursts_may_take_what_the_line_leaves);
        tcase_add_test(t, a_server_that_stands_still_is_no_burst);
        tcase_add_test(t, a_rare_wait_is_no_burst);
        tcase_add_test(t, a_burst_that_is_refused_does_not_grow_again_at_once);
        tcase_add_test(t, after_a_long_rest_it_begins_anew);
        suite_add_tcase(s, t);
        return unit_main(s);
}
