/* SPDX-License-Identifier: Apache-2.0 */
/* fdio.c: see fdio.h. */
#include "base/fdio.h"

#include <errno.h>
#include <unistd.h>

#include "base/banned.h"

int fd_write(int fd, const void *p, size_t n)
{
        const char *from = p;
        while (n) {
                ssize_t put = write(fd, from, n);
                if (put < 0 && errno == EINTR)
                        continue;
                if (put <= 0)
                        return put ? -errno : -EIO;
                from += put;
                n -= (size_t)put;
        }
        return 0;
}
