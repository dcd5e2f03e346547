/* SPDX-License-Identifier: Apache-2.0 */
/* math.c: which table of arithmetic a job has; see math_ops.h. */
#include <errno.h>
#include <stdio.h>

#include "bench/core/dev.h"
#include "bench/train/math/math_ops.h"

#include "base/banned.h"

/* The device's, if it has one. -EOPNOTSUPP with `why` where it lacks something. */
static int open_device(unsigned devices, const struct math_ops **out, char *why, size_t nwhy)
{
        *out = NULL;
#ifdef HAVE_CUDA
        if (dev_get() != &dev_cuda)
                return 0;
        int err = math_cuda.open(devices, 1, why, nwhy);
        if (!err)
                *out = &math_cuda;
        return err;
#else
        (void)devices;
        (void)why;
        (void)nwhy;
        return 0;
#endif
}

int math_choose(unsigned devices, unsigned threads, const struct math_ops **out, char *why,
                size_t nwhy)
{
        int err = open_device(devices, out, why, nwhy);

        if (err && !dev_leave())
                return err;
        if (err)
                fprintf(stderr, "ckptbench: device=auto: %s: the host trains\n", why);
        if (!*out) {
                *why = 0;
                *out = &math_host;
                err = math_host.open(devices, threads, why, nwhy);
        }
        return err;
}
