/* SPDX-License-Identifier: Apache-2.0 */
/* creates.c: see creates.h; proc(5), /proc/PID/syscall. */
#include "mount/creates.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/banned.h"

enum { ARGS = 3 };

/* The number of the call and its first arguments: false when the thread is in none. */
static bool read_call(pid_t tid, long *nr, uint64_t arg[ARGS])
{
        char path[64], text[256];

        snprintf(path, sizeof path, "/proc/%d/syscall", (int)tid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        if (n <= 0 || text[0] < '0' || text[0] > '9') /* "running", or -1 */
                return false;
        text[n] = 0;
        char *at = text;
        *nr = strtol(at, &at, 10);
        for (int i = 0; i < ARGS; i++)
                arg[i] = strtoull(at, &at, 16);
        return true;
}

/* Where the path is, and whether the call makes the file anew. */
static bool is_creating(long nr, const uint64_t arg[ARGS], uint64_t *path)
{
        uint64_t flags = 0;

#ifdef SYS_open
        if (nr == SYS_open) {
                *path = arg[0];
                flags = arg[1];
        }
#endif
#ifdef SYS_creat
        if (nr == SYS_creat) {
                *path = arg[0];
                flags = O_CREAT | O_TRUNC;
        }
#endif
        if (nr == SYS_openat) {
                *path = arg[1];
                flags = arg[2];
        }
        return (flags & (O_CREAT | O_TRUNC | O_EXCL)) == (O_CREAT | O_TRUNC);
}

/* Copies a string out of the process; pages behind its end may be missing. */
static bool read_string(pid_t tid, uint64_t from, char *to, size_t size)
{
        const size_t page = 4096;

        for (size_t n = 0; n < size;) {
                size_t k = page - (from + n) % page;
                struct iovec ours = {to + n, k < size - n ? k : size - n};
                struct iovec its = {(void *)(uintptr_t)(from + n), ours.iov_len};
                ssize_t got = process_vm_readv(tid, &ours, 1, &its, 1, 0);
                if (got <= 0)
                        return false;
                if (memchr(to + n, 0, (size_t)got))
                        return true;
                n += (size_t)got;
        }
        return false;
}

/* One at a time: the string may lie in a page of a file of this mount, which another of our threads
 * has to bring. Whoever comes meanwhile is not told. */
static bool read_path(pid_t tid, uint64_t from, char *to, size_t size)
{
        static atomic_flag reading = ATOMIC_FLAG_INIT;

        if (atomic_flag_test_and_set(&reading))
                return false;
        bool whole = read_string(tid, from, to, size);
        atomic_flag_clear(&reading);
        return whole;
}

bool caller_creates(pid_t tid, const char *name)
{
        char path[PATH_MAX];
        uint64_t arg[ARGS] = {0}, at = 0;
        long nr;

        if (tid <= 0 || !read_call(tid, &nr, arg) || !is_creating(nr, arg, &at) ||
            !read_path(tid, at, path, sizeof path))
                return false;
        const char *last = strrchr(path, '/');
        return !strcmp(last ? last + 1 : path, name);
}
