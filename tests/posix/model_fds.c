/* SPDX-License-Identifier: Apache-2.0 */
/* model_fds.c: what model.c does by descriptors and maps. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/posix/model.h"

#include "base/banned.h"

enum { MAP_BYTES = 12 << 20 };

long long keep_descriptor(struct world *w, int slot, int fd)
{
        if (fd < 0)
                return -1;
        if (w->fds[slot] >= 0)
                close(w->fds[slot]);
        w->fds[slot] = fd;
        return 0;
}

static long long do_mapped(struct world *w, const struct op *op)
{
        struct stat st;
        int fd = w->fds[op->slot];

        if (fstat(fd, &st))
                return -1;
        if (!S_ISREG(st.st_mode) || st.st_size == 0)
                return 0;
        size_t whole = (size_t)st.st_size, at = (size_t)op->at % whole;
        size_t len = (size_t)op->len < whole - at ? (size_t)op->len : whole - at;
        char *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
                return -1;
        memcpy(map + at, pattern, len);
        int rc = msync(map, whole, MS_SYNC);
        munmap(map, whole);
        return rc ? -1 : (long long)len;
}

static int reopened(int fd, int flags)
{
        char path[40];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return open(path, flags | O_CLOEXEC);
}

static long long do_reopen(struct world *w, const struct op *op)
{
        static const int flags[] = {O_RDONLY, O_RDWR, O_WRONLY, O_RDWR | O_APPEND,
                                    O_WRONLY | O_TRUNC};
        int fd = reopened(w->fds[op->slot], flags[op->at % 5]);

        return keep_descriptor(w, (int)(op->len % SLOTS), fd);
}

static long long do_at_end(struct world *w, const struct op *op)
{
        size_t len = (size_t)op->len, first = len / 3;
        struct iovec parts[2] = {{pattern, first}, {pattern + first, len - first}};

        return pwritev2(w->fds[op->slot], parts, 2, op->at, RWF_APPEND);
}

/* To another descriptor, at a place before that of the source: they may be of one file. */
static long long do_sendfile(struct world *w, const struct op *op)
{
        off_t in = op->at;
        int to = w->fds[op->path2 % SLOTS];

        if (lseek(to, op->at / 2, SEEK_SET) < 0)
                return -1;
        return sendfile(to, w->fds[op->slot], &in, (size_t)op->len);
}

void end_map(struct world *w, int slot)
{
        if (!w->maps[slot])
                return;
        munmap(w->maps[slot], MAP_BYTES);
        close(w->mapped[slot]);
        w->maps[slot] = NULL;
}

static long long do_map(struct world *w, const struct op *op)
{
        int fd = w->fds[op->slot];
        void *map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (map == MAP_FAILED)
                return -1;
        end_map(w, op->slot);
        w->maps[op->slot] = map;
        w->mapped[op->slot] = reopened(fd, O_PATH); /* which is no open file to the mount */
        return 0;
}

/* What is read there counts as the result. */
static long long do_map_write(struct world *w, const struct op *op)
{
        unsigned char *map = w->maps[op->slot];
        struct stat st;
        long long sum = 0;

        if (!map || fstat(w->mapped[op->slot], &st) || st.st_size == 0)
                return 0;
        size_t whole = st.st_size < MAP_BYTES ? (size_t)st.st_size : MAP_BYTES;
        size_t at = (size_t)op->at % whole;
        size_t len = (size_t)op->len < whole - at ? (size_t)op->len : whole - at;
        for (size_t i = 0; i < whole; i += 509)
                sum = (sum * 31 + map[i]) % INT32_MAX;
        memcpy(map + at, pattern, len);
        return sum;
}

/* Whose end closes the descriptors that it has from its parent. */
static long long do_child(struct world *w, const struct op *op)
{
        struct {
                ssize_t n;
                int err;
        } *said =
                mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (said == MAP_FAILED)
                return -1;
        pid_t pid = fork();
        if (pid == 0) {
                said->n = pwrite(w->fds[op->slot], pattern, (size_t)op->len, op->at);
                said->err = errno;
                _exit(0);
        }
        bool ended = pid > 0 && waitpid(pid, NULL, 0) == pid;
        ssize_t n = ended ? said->n : -1;
        int err = ended ? said->err : errno;
        munmap(said, sizeof *said);
        errno = err;
        return n;
}

static long long do_unmap(struct world *w, const struct op *op)
{
        void *map = w->maps[op->slot];
        int rc = map && op->at % 2 ? msync(map, MAP_BYTES, MS_SYNC) : 0;

        end_map(w, op->slot);
        return rc;
}

static long long do_close(struct world *w, const struct op *op)
{
        int rc = close(w->fds[op->slot]);

        w->fds[op->slot] = -1;
        return rc;
}

long long act_on_descriptor(struct world *w, const struct op *op)
{
        int fd = w->fds[op->slot];
        size_t len = (size_t)op->len;

        switch (op->kind) {
        case CLOSE:
                return do_close(w, op);
        case WRITE:
                return pwrite(fd, pattern, len, op->at);
        case APPENDED:
                return lseek(fd, 0, SEEK_END) < 0 ? -1 : write(fd, pattern, len);
        case READ:
                return pread(fd, w->bytes, len, op->at);
        case MAPPED:
                return do_mapped(w, op);
        case FTRUNCATE:
                return ftruncate(fd, op->len);
        case FALLOCATE:
                return fallocate(fd, op->at % 2 ? FALLOC_FL_KEEP_SIZE : 0, op->at, op->len + 1);
        case FSYNC:
                return op->at % 2 ? fsync(fd) : fdatasync(fd);
        case FCHMOD:
                return fchmod(fd, (mode_t)op->len % 01000 | 0600);
        case DUP:
                return keep_descriptor(w, (int)(op->at % SLOTS), fcntl(fd, F_DUPFD_CLOEXEC, 0));
        case REOPEN:
                return do_reopen(w, op);
        case AT_END:
                return do_at_end(w, op);
        case SENDFILE:
                return do_sendfile(w, op);
        case MAP:
                return do_map(w, op);
        case MAP_WRITE:
                return do_map_write(w, op);
        case UNMAP:
                return do_unmap(w, op);
        default:
                return do_child(w, op);
        }
}
