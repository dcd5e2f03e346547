/* SPDX-License-Identifier: Apache-2.0 */
/* fdio.c: see fdio.h. */
#include "base/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

void fd_take_standard(void)
{
        int fd;

        do
                fd = open("/dev/null", O_RDONLY);
        while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                close(fd);
}

int fd_flush_output(const char *program)
{
        if (!fflush(stdout) && !ferror(stdout))
                return 0;
        fprintf(stderr, "%s: standard output cannot be written: free space there\n", program);
        return -1;
}
