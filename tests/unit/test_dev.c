/* SPDX-License-Identifier: Apache-2.0 */
/* test_dev.c: a GPU that cannot be used, as one for which the program has no code: the host takes
 * its place where nobody insisted on it. The GPU is played here. */
#include "bench/core/dev.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/core/keys.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static bool works;

static int open_gpu(unsigned local, char *why, size_t nwhy)
{
        (void)local;
        if (!works)
                snprintf(why, nwhy, "no code for it");
        return works ? 0 : -ENODEV;
}

static void close_gpu(void)
{
}

const struct dev_ops dev_cuda = {.name = "cuda", .open = open_gpu, .close = close_gpu};

static int use(unsigned device, bool can, char *why, size_t nwhy)
{
        struct keys k;

        memset(&k, 0, sizeof k);
        k.device = device;
        k.hold = HOLD_AUTO;
        works = can;
        return dev_use(&k, 0, why, nwhy);
}

START_TEST(auto_takes_the_host_where_the_gpu_cannot_be_used)
{
        char why[64];

        ck_assert_int_eq(use(DEVICE_AUTO, false, why, sizeof why), 0);
        ck_assert_ptr_null(dev_get());
        ck_assert_str_eq(why, "no code for it");
        dev_drop();
        ck_assert_int_eq(use(DEVICE_AUTO, true, why, sizeof why), 0);
        ck_assert_ptr_eq(dev_get(), &dev_cuda);
        dev_drop();
}
END_TEST

START_TEST(a_gpu_that_was_asked_for_and_cannot_be_used_is_an_error)
{
        char why[64];

        ck_assert_int_eq(use(DEVICE_CUDA, false, why, sizeof why), -ENODEV);
        ck_assert_ptr_null(dev_get());
        ck_assert_str_eq(why, "no code for it");
        dev_drop();
}
END_TEST

int main(void)
{
        Suite *s = suite_create("dev");
        TCase *t = tcase_create("dev");
        tcase_add_test(t, auto_takes_the_host_where_the_gpu_cannot_be_used);
        tcase_add_test(t, a_gpu_that_was_asked_for_and_cannot_be_used_is_an_error);
        suite_add_tcase(s, t);
        return unit_main(s);
}
