/* SPDX-License-Identifier: Apache-2.0 */
/* test_fuse_init_ext.c: of what libfuse does not know the mount takes what the kernel offers. */
#include "mount/daemon/fuse_init_ext.h"

#include <linux/fuse.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { OLD_GREETING = 16 }; /* bytes of struct fuse_init_in before Linux 5.17 */

static struct {
        struct fuse_in_header head;
        struct fuse_init_in in;
} greeting;
static struct fuse_out_header head;
static struct fuse_init_out out;

static void begin(void)
{
        memset(&greeting, 0, sizeof greeting);
        memset(&out, 0, sizeof out);
        greeting.head.opcode = FUSE_INIT;
        greeting.in.flags = FUSE_INIT_EXT | FUSE_PARALLEL_DIROPS;
        greeting.in.flags2 = (uint32_t)(INIT_EXT_DIRECT_IO_MMAP >> 32);
}

/* What comes of it that both were wanted of a greeting of n bytes. */
static uint64_t agree(size_t n)
{
        struct iovec iov[2] = {{&head, sizeof head}, {&out, sizeof out}};

        init_ext_hear(&greeting, n);
        uint64_t given = init_ext_want(FUSE_PARALLEL_DIROPS | INIT_EXT_DIRECT_IO_MMAP);
        init_ext_answer(iov, 2);
        ck_assert_uint_eq(given & UINT32_MAX, out.flags & ~FUSE_INIT_EXT);
        ck_assert_uint_eq(given >> 32, out.flags2);
        ck_assert_int_eq(given >> 32 != 0, (out.flags & FUSE_INIT_EXT) != 0);
        return given;
}

START_TEST(what_the_kernel_offers_is_taken)
{
        ck_assert_uint_eq(agree(sizeof greeting), FUSE_PARALLEL_DIROPS | INIT_EXT_DIRECT_IO_MMAP);
}
END_TEST

START_TEST(what_it_does_not_offer_is_not)
{
        greeting.in.flags2 = 0;
        ck_assert_uint_eq(agree(sizeof greeting), FUSE_PARALLEL_DIROPS);
        begin();
        greeting.in.flags &= ~(uint32_t)FUSE_INIT_EXT; /* then the second word means nothing */
        ck_assert_uint_eq(agree(sizeof greeting), FUSE_PARALLEL_DIROPS);
        begin();
        ck_assert_uint_eq(agree(sizeof greeting.head + OLD_GREETING),
                          FUSE_PARALLEL_DIROPS); /* the greeting of an old kernel ends there */
}
END_TEST

START_TEST(other_replies_stay_as_they_are)
{
        struct iovec iov[2] = {{&head, sizeof head}, {&out, sizeof out}};
        (void)agree(sizeof greeting);
        memset(&out, 0, sizeof out);
        init_ext_answer(iov, 2);
        ck_assert_uint_eq(out.flags, 0);
        begin();
        init_ext_hear(&greeting, sizeof greeting);
        (void)init_ext_want(INIT_EXT_DIRECT_IO_MMAP);
        init_ext_answer(iov, 1); /* an error */
        init_ext_answer(iov, 2);
        ck_assert_uint_eq(out.flags, 0);
        greeting.head.opcode = FUSE_READ;
        init_ext_hear(&greeting, sizeof greeting);
        init_ext_hear(&greeting, 3);
        init_ext_answer(iov, 2);
        ck_assert_uint_eq(out.flags, 0);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("fuse_init_ext");
        TCase *t = tcase_create("fuse_init_ext");
        tcase_add_checked_fixture(t, begin, NULL);
        tcase_add_test(t, what_the_kernel_offers_is_taken);
        tcase_add_test(t, what_it_does_not_offer_is_not);
        tcase_add_test(t, other_replies_stay_as_they_are);
        suite_add_tcase(s, t);
        return unit_main(s);
}
