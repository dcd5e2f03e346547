/* SPDX-License-Identifier: Apache-2.0 */
/* one_taker.c: a library for LD_PRELOAD by which a mount gets one thread that takes requests: it
 * begins them as soon as it has read the kernel's greeting, and the second cannot be had. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/banned.h"

#define REAL(name) (__extension__(__typeof__(&(name))) dlsym(RTLD_NEXT, #name))

static atomic_bool greeted;
static atomic_uint begun; /* threads, since then */

static bool is_fuse(int fd)
{
        struct stat st;
        return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(10, 229);
}

ssize_t read(int fd, void *to, size_t n)
{
        ssize_t k = REAL(read)(fd, to, n);

        if (k > 0 && !atomic_load(&greeted) && is_fuse(fd))
                atomic_store(&greeted, true);
        return k;
}

int pthread_create(pthread_t *to, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
        if (atomic_load(&greeted) && atomic_fetch_add(&begun, 1) == 1)
                return EAGAIN;
        return REAL(pthread_create)(to, attr, run, arg);
}
