/* SPDX-License-Identifier: Apache-2.0 */
/* failing.c: a library for LD_PRELOAD by which one call of the program fails, once: of what
 * allocates, opens, reads, writes or begins a thread. FAILING_SITES names a file that gets a line
 * for each place which makes such a call: an id, the call, and the addresses of the call and of its
 * callers in the program. FAILING_AT is the id of the place that fails, the first time it is
 * reached; the file then gets the line "failed ID". Calls of libraries are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

/* Callers that tell places apart: a buffer that grows does so in many places. */
enum { CALLERS = 4, FRAMES = 24, PLACES = 1 << 14 };

static uintptr_t base, end; /* of the program's own code */
static int sites = -1;
static uint64_t fails_at;
static atomic_bool has_failed;
static _Atomic uint64_t seen[PLACES];
static __thread bool inside;

static int is_program(struct dl_phdr_info *info, size_t size, void *arg)
{
        (void)size;
        (void)arg;
        for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_LOAD) {
                        uintptr_t to = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
                                       info->dlpi_phdr[i].p_memsz;
                        end = to > end ? to : end;
                }
        base = info->dlpi_addr;
        return 1; /* the first is the program */
}

__attribute__((constructor)) static void begin(void)
{
        const char *file = getenv("FAILING_SITES"), *at = getenv("FAILING_AT");
        void *frames[FRAMES];

        if (!file)
                return;
        dl_iterate_phdr(is_program, NULL);
        backtrace(frames, FRAMES); /* allocates the first time */
        fails_at = at ? strtoull(at, NULL, 16) : 0;
        sites = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                             0600);
}

/* Whether this place was not met before. */
static bool is_new(uint64_t id)
{
        for (size_t i = id % PLACES;; i = (i + 1) % PLACES) {
                uint64_t was = 0;
                if (atomic_compare_exchange_strong(&seen[i], &was, id))
                        return true;
                if (was == id)
                        return false;
        }
}

static void say(uint64_t id, const char *call, const uintptr_t *at, int n)
{
        char line[256];
        int len = snprintf(line, sizeof line, "%s %016jx %s", call ? "site" : "failed",
                           (uintmax_t)id, call ? call : "");
        for (int i = 0; i < n; i++)
                len += snprintf(line + len, sizeof line - (size_t)len, " %jx", (uintmax_t)at[i]);
        line[len++] = '\n';
        syscall(SYS_write, sites, line, (size_t)len);
}

/* Whether the call fails. `ret` is where it returns to. */
static bool fails(const char *call, void *ret)
{
        uintptr_t at[CALLERS];
        void *frames[FRAMES];
        int n = 0;

        if (sites < 0 || inside || (uintptr_t)ret < base || (uintptr_t)ret >= end)
                return false;
        inside = true;
        int saved = errno, depth = backtrace(frames, FRAMES);
        uint64_t id = 14695981039346656037ULL;
        for (int i = 0; i < depth && n < CALLERS; i++) {
                uintptr_t a = (uintptr_t)frames[i];
                if (a < base || a >= end)
                        continue;
                at[n++] = a - base - 1;
                id = (id ^ (a - base)) * 1099511628211ULL;
        }
        id += id == 0;
        if (is_new(id))
                say(id, call, at, n);
        bool now = id == fails_at && !atomic_exchange(&has_failed, true);
        if (now)
                say(id, NULL, at, 0);
        errno = saved;
        inside = false;
        return now;
}

#define REAL(name) (__extension__(__typeof__(&(name))) dlsym(RTLD_NEXT, #name))
#define FAIL(call, error, result)                                                                  \
        do {                                                                                       \
                if (fails(call, __builtin_return_address(0))) {                                    \
                        errno = (error);                                                           \
                        return (result);                                                           \
                }                                                                                  \
        } while (0)

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
        FAIL("malloc", ENOMEM, NULL);
        return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
        FAIL("calloc", ENOMEM, NULL);
        return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
        FAIL("realloc", ENOMEM, NULL);
        return __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
        size_t all;
        FAIL("reallocarray", ENOMEM, NULL);
        if (__builtin_mul_overflow(n, size, &all)) {
                errno = ENOMEM;
                return NULL;
        }
        return __libc_realloc(p, all);
}

char *strdup(const char *s)
{
        FAIL("strdup", ENOMEM, NULL);
        size_t n = strlen(s) + 1;
        char *to = __libc_malloc(n);
        return to ? memcpy(to, s, n) : NULL;
}

char *strndup(const char *s, size_t most)
{
        FAIL("strndup", ENOMEM, NULL);
        size_t n = strnlen(s, most);
        char *to = __libc_calloc(1, n + 1);
        return to ? memcpy(to, s, n) : NULL;
}

int __asprintf_chk(char **to, int flag, const char *format, ...);
int __asprintf_chk(char **to, int flag, const char *format, ...)
{
        va_list args;
        (void)flag;
        FAIL("asprintf", ENOMEM, -1);
        va_start(args, format);
        int n = vasprintf(to, format, args);
        va_end(args);
        return n;
}

ssize_t read(int fd, void *to, size_t n)
{
        FAIL("read", EIO, -1);
        return REAL(read)(fd, to, n);
}

ssize_t write(int fd, const void *from, size_t n)
{
        FAIL("write", EIO, -1);
        return REAL(write)(fd, from, n);
}

ssize_t pread(int fd, void *to, size_t n, off_t off)
{
        FAIL("pread", EIO, -1);
        return REAL(pread)(fd, to, n, off);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t off)
{
        FAIL("pwrite", EIO, -1);
        return REAL(pwrite)(fd, from, n, off);
}

int open(const char *path, int flags, ...)
{
        va_list args;
        FAIL("open", EMFILE, -1);
        va_start(args, flags);
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
        va_end(args);
        return REAL(open)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
        va_list args;
        FAIL("openat", EMFILE, -1);
        va_start(args, flags);
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
        va_end(args);
        return REAL(openat)(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
        FAIL("fopen", EMFILE, NULL);
        return REAL(fopen)(path, mode);
}

int pthread_create(pthread_t *to, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
        if (fails("pthread_create", __builtin_return_address(0)))
                return EAGAIN;
        return REAL(pthread_create)(to, attr, run, arg);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
        FAIL("mmap", ENOMEM, MAP_FAILED);
        return REAL(mmap)(at, n, prot, flags, fd, off);
}

int pipe2(int ends[2], int flags)
{
        FAIL("pipe2", EMFILE, -1);
        return REAL(pipe2)(ends, flags);
}

int epoll_create1(int flags)
{
        FAIL("epoll_create1", EMFILE, -1);
        return REAL(epoll_create1)(flags);
}

int eventfd(unsigned count, int flags)
{
        FAIL("eventfd", EMFILE, -1);
        return REAL(eventfd)(count, flags);
}

int memfd_create(const char *name, unsigned flags)
{
        FAIL("memfd_create", EMFILE, -1);
        return REAL(memfd_create)(name, flags);
}

int socket(int domain, int type, int protocol)
{
        FAIL("socket", EMFILE, -1);
        return REAL(socket)(domain, type, protocol);
}
