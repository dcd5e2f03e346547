/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader.c: how much of a file is asked for before it is read. */
#include "mount/read/reader.h"

#include <errno.h>

#include "tests/lib/asked_store.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MI = 1 << 20 };

static unsigned ended;

static void done(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        (void)op, (void)iov, (void)niov;
        ended += err != 0;
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

int main(void)
{
        Suite *s = suite_create("reader");
        TCase *t = tcase_create("reader");
        tcase_add_loop_test(t, two_requests_are_ahead_for_each_transfer_that_may_run, 0,
                            sizeof windows / sizeof *windows);
        suite_add_tcase(s, t);
        return unit_main(s);
}
