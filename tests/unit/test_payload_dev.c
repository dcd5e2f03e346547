/* SPDX-License-Identifier: Apache-2.0 */
/* test_payload_dev.c: what ranks hand each other through the host: one that cannot put it on its
 * device still comes to where the others wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data/payload_int.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { SIZE = 1024 };

static unsigned agreed; /* how often all ranks met */
static bool refuses;
static char mem[SIZE];

static int meet(struct coll *c, double *v, size_t n)
{
        (void)c;
        (void)v;
        (void)n;
        agreed++;
        return 0;
}

static int get_there(struct coll *c, unsigned root, void *p, size_t n)
{
        (void)c;
        (void)root;
        memset(p, 7, n);
        return 0;
}

static int put(void *to, const void *from, size_t n)
{
        if (refuses)
                return -EIO;
        memcpy(to, from, n);
        return 0;
}

static int waited(void)
{
        return 0;
}

static int pinned(void *host, size_t n)
{
        (void)host;
        (void)n;
        return 0;
}

static const struct dev_ops device = {.put = put, .wait = waited, .pin = pinned};
static const struct coll_ops ops = {.max = meet, .share = get_there};

static int shared(bool fails)
{
        struct coll c = {.ops = &ops, .rank = 1, .ranks = 2};
        struct payload p;

        memset(&p, 0, sizeof p);
        p.dev.ops = &device;
        p.dev.mem = mem;
        p.dev.bounce = malloc(SIZE);
        p.dev.room = SIZE;
        ck_assert_ptr_nonnull(p.dev.bounce);
        agreed = 0;
        refuses = fails;
        int err = payload_dev_share(&p, &c, 0, 0, SIZE);
        free(p.dev.bounce);
        return err;
}

START_TEST(all_ranks_meet_again_after_a_share_that_fails)
{
        ck_assert_int_eq(shared(false), 0);
        ck_assert_int_eq(mem[SIZE - 1], 7);
        unsigned meetings = agreed;
        ck_assert_int_eq(shared(true), -EIO);
        ck_assert_uint_eq(agreed, meetings);
        ck_assert_uint_eq(agreed, 2);
}
END_TEST

int main(void)
{
        TCase *tc = tcase_create("payload_dev");
        tcase_add_test(tc, all_ranks_meet_again_after_a_share_that_fails);
        Suite *s = suite_create("payload_dev");
        suite_add_tcase(s, tc);
        return unit_main(s);
}
