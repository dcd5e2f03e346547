/* SPDX-License-Identifier: Apache-2.0 */
/* open_intent.c: see open_intent.h; proc(5), /proc/PID/syscall. */
#include "mount/caller/open_intent.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/banned.h"

bool call_read(const char *text, struct call *c)
{
        return sscanf(text,
                      "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %*s %*s %*s %" SCNx64 " %" SCNx64,
                      &c->nr, &c->arg[0], &c->arg[1], &c->arg[2], &c->sp, &c->pc) == 6 &&
               c->nr >= 0;
}

/* The flags of an open, and where its path is; 0: the call is none that is known. */
static uint64_t open_flags(const struct call *c, uint64_t *path)
{
        uint64_t flags = 0;

        *path = 0;
        /* A 32-bit program: its calls have other numbers. */
        if (c->sp <= UINT32_MAX)
                return 0;
#ifdef SYS_open
        if (c->nr == SYS_open) {
                *path = c->arg[0];
                flags = c->arg[1];
        }
#endif
#ifdef SYS_creat
        if (c->nr == SYS_creat) {
                *path = c->arg[0];
                flags = O_CREAT | O_TRUNC;
        }
#endif
        if (c->nr == SYS_openat) {
                *path = c->arg[1];
                flags = c->arg[2];
        }
        return flags;
}

bool call_creates(const struct call *c, uint64_t *path)
{
        uint64_t flags = open_flags(c, path);

        /* Beside O_PATH, O_CREAT counts for nothing; with O_TMPFILE, of which O_DIRECTORY is a
         * part, the name is that of a directory. */
        return (flags & (O_CREAT | O_TRUNC | O_EXCL | O_PATH | O_DIRECTORY)) == (O_CREAT | O_TRUNC);
}

/* None of these numbers is that of an open, where a program of 64 bits makes the call of 32. */
bool call_only_looks(const struct call *c)
{
        static const long calls[] = {
#ifdef SYS_stat
                SYS_stat,       SYS_lstat,     SYS_access,
#endif
#ifdef SYS_newfstatat
                SYS_newfstatat,
#endif
                SYS_statx,      SYS_faccessat, SYS_faccessat2,
        };

        for (size_t i = 0; c->sp > UINT32_MAX && i < sizeof calls / sizeof calls[0]; i++)
                if (c->nr == calls[i])
                        return true;
        return false;
}

bool path_makes(const char *path, const char *name)
{
        size_t n = strlen(name);

        for (const char *p = path;; p++) {
                size_t k = strcspn(p, "/");
                bool same = k == n && !memcmp(p, name, n);
                p += k;
                if (!*p)
                        return same;
                if (same)
                        return false;
        }
}

/* The system call that the thread is in: false when it is in none. It waits for our answer to a
 * look at a name, so its process is in no exec, for whose end we would wait; see proc_fds.h. */
static bool read_call(pid_t tid, struct call *c)
{
        char path[64], text[256];

        snprintf(path, sizeof path, "/proc/%d/syscall", (int)tid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        if (n <= 0)
                return false;
        text[n] = 0;
        return call_read(text, c);
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

/* Whether the program made the call in its own way: one of 64 bits can make those of 32, which have
 * other numbers, by another instruction. */
static bool is_native(pid_t tid, uint64_t pc)
{
#ifdef __x86_64__
        static const unsigned char syscall_insn[] = {0x0f, 0x05};
        unsigned char got[sizeof syscall_insn];
        struct iovec ours = {got, sizeof got};
        struct iovec its = {(void *)(uintptr_t)(pc - sizeof got), sizeof got};

        return process_vm_readv(tid, &ours, 1, &its, 1, 0) == (ssize_t)sizeof got &&
               !memcmp(got, syscall_insn, sizeof got);
#else
        (void)tid;
        (void)pc;
        return true;
#endif
}

/* The thread that reads, NOBODY, or LEFT: it does so for good. */
static const pthread_t NOBODY = 0, LEFT = (pthread_t)-1;
static _Atomic pthread_t reader;

bool caller_leave(pthread_t thread)
{
        return atomic_compare_exchange_strong(&reader, &thread, LEFT);
}

/* One at a time: what is read may lie in a page of a file of this mount, which another of our
 * threads has to bring, or in one that its process lets nobody see. Whoever comes meanwhile is not
 * told. */
static bool read_path(pid_t tid, const struct call *c, uint64_t from, char *to, size_t size)
{
        pthread_t nobody = NOBODY, self = pthread_self();

        if (!atomic_compare_exchange_strong(&reader, &nobody, self))
                return false;
        bool whole = is_native(tid, c->pc) && read_string(tid, from, to, size);
        if (atomic_compare_exchange_strong(&reader, &self, NOBODY))
                return whole;
        for (;;) /* what it would return to is gone */
                pause();
}

bool caller_may_create(pid_t tid, struct call *c)
{
        uint64_t path;

        return tid > 0 && read_call(tid, c) && open_flags(c, &path) & O_CREAT;
}

bool caller_only_looks(pid_t tid)
{
        struct call c;

        return tid > 0 && read_call(tid, &c) && call_only_looks(&c);
}

bool caller_creates(pid_t tid, const struct call *c, const char *name)
{
        char path[PATH_MAX];
        uint64_t at;

        return call_creates(c, &at) && read_path(tid, c, at, path, sizeof path) &&
               path_makes(path, name);
}
