/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader.c: how much of a file is asked for before it is read, and which reads are answered.
 */
#include "mount/read/reader.h"

#include <errno.h>

#include "base/mutex.h"
#include "mount/read/version_cache.h"
#include "tests/lib/asked_store.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MI = 1 << 20 };

static unsigned ended, ended_well;

static void done(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        (void)op, (void)iov, (void)niov;
        ended += err != 0;
        ended_well += err == 0;
}

/* How many transfers may run, the most that is read ahead, and what that makes, in MiB. */
static const struct {
        unsigned transfers;
        uint64_t most, ahead;
} windows[] = {{1, 64, 2}, {2, 64, 4}, {5, 64, 10}, {5, 6, 6}, {1000, 9, 9}};

START_TEST(two_requests_are_ahead_for_each_transfer_that_may_run)
{
        const struct store_object obj = {.size = 1024 * (uint64_t)MI, .etag = "v1"};
        struct reader_env env = {.pool = pool_new((size_t)128 * MI),
                                 .read_size = MI,
                                 .max_window = windows[_i].most * MI};
        struct reader *r = reader_new(&env, "a", &obj);
        struct read_op op[2] = {{.off = 0, .len = MI, .done = done},
                                {.off = MI, .len = MI, .done = done}};

        ck_assert_ptr_nonnull(r);
        nasked = answered = ended = caps = 0;
        transfers_now = windows[_i].transfers;
        reader_open(r);
        reader_read(r, &op[0]);
        reader_read(r, &op[1]);
        ck_assert_uint_eq(nasked, 2 + windows[_i].ahead);
        while (answered < nasked)
                answer("get a", -EIO);
        ck_assert_uint_eq(ended, 2);
        reader_end(r);
        pool_free(env.pool);
}
END_TEST

/* A file of 1 GiB whose bytes stay in memory when they were read past the page cache. */
static const struct store_object obj = {.size = 1024 * (uint64_t)MI, .etag = "v1"};
static struct reader_env env;

static struct reader *open_kept(size_t memory)
{
        env = (struct reader_env){.pool = pool_new(memory),
                                  .read_size = MI,
                                  .max_window = (uint64_t)64 * MI,
                                  .cache = reader_cache_new(memory)};
        nasked = answered = ended = ended_well = caps = transfers_now = 0;
        struct reader *r = reader_new(&env, "a", &obj);
        ck_assert_ptr_nonnull(r);
        reader_open(r);
        return r;
}

static void end_kept(struct reader *r)
{
        reader_end(r);
        version_cache_free(env.cache);
        pool_free(env.pool);
}

/* The bytes of a read stay, and nothing more comes. */
static void cacheable(struct reader *r, uint64_t at)
{
        struct read_op op = {.off = at, .len = MI, .cacheable = true, .done = done};
        unsigned before = ended_well;

        reader_read(r, &op);
        while (answered < nasked)
                answer("get a", 0);
        ck_assert_uint_eq(ended_well, before + 1);
}

static struct mutex guard = MUTEX_INITIALIZER(LOCK_MEM_RECLAIM);

/* As mem_reclaim.c does, while the reader is locked. */
static void wake_guard(void *arg)
{
        (void)arg;
        mutex_lock(&guard);
        mutex_unlock(&guard);
}

/* One read waits for bytes of which a part is taken out of memory, another one for bytes that come
 * then: the first asks again, and has to wait for memory. */
START_TEST(a_read_is_answered_while_another_waits_for_memory)
{
        struct reader *r = open_kept((size_t)8 * MI);
        struct read_op ready = {.off = (uint64_t)8 * MI, .len = MI, .done = done};
        struct read_op lacks = {.off = (uint64_t)64 * MI, .len = (size_t)2 * MI, .done = done};
        struct pool_buf *taken[16];
        size_t ntaken = 0;

        pool_on_pressure(env.pool, wake_guard, NULL);
        cacheable(r, (uint64_t)64 * MI);
        reader_read(r, &ready);
        reader_read(r, &lacks);
        const struct ask got = take_asked("get a");
        send_zeros(&got.get);
        version_cache_shrink(env.cache, SIZE_MAX);
        while ((taken[ntaken] = pool_get(env.pool, POOL_MUST)))
                ntaken++;
        end_get(&got.get, 0);
        ck_assert_uint_eq(ended_well, 2);
        while (ntaken)
                pool_unref(taken[--ntaken]);
        while (answered < nasked)
                answer("get a", 0);
        ck_assert_uint_eq(ended_well, 3);
        end_kept(r);
}
END_TEST

START_TEST(a_version_that_is_opened_again_is_fetched_ahead)
{
        struct reader *r = open_kept((size_t)128 * MI);

        cacheable(r, 0);
        transfers_now = 4;
        cacheable(r, MI);
        reader_close(r);
        reader_unref(r);
        r = reader_from_cache(&env, "a", &obj);
        ck_assert_ptr_nonnull(r);
        size_t before = nasked;
        cacheable(r, 0);
        cacheable(r, MI);
        ck_assert_uint_eq(nasked - before, 8);
        end_kept(r);
}
END_TEST

/* As a program does that has the last byte before the mount is told that the reply is out. */
static struct reader *closes;

static void close_it(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        done(op, err, iov, niov);
        reader_close(closes);
}

START_TEST(what_was_read_stays_though_its_reader_closes_at_once)
{
        struct reader *r = open_kept((size_t)128 * MI);
        struct read_op op = {.len = MI, .cacheable = true, .done = close_it};

        closes = r;
        reader_read(r, &op);
        answer("get a", 0);
        ck_assert_uint_eq(ended_well, 1);
        ck_assert_uint_eq(reader_cached(r), MI);
        while (answered < nasked)
                answer("get a", -ECANCELED);
        reader_open(r);
        end_kept(r);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("reader");
        TCase *t = tcase_create("reader");
        tcase_add_loop_test(t, two_requests_are_ahead_for_each_transfer_that_may_run, 0,
                            sizeof windows / sizeof *windows);
        tcase_add_test(t, a_read_is_answered_while_another_waits_for_memory);
        tcase_add_test(t, a_version_that_is_opened_again_is_fetched_ahead);
        tcase_add_test(t, what_was_read_stays_though_its_reader_closes_at_once);
        suite_add_tcase(s, t);
        return unit_main(s);
}
