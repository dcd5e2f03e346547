/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c: writes a file through io_uring.
 *
 *      ring WAY FILE
 *
 * Writes 3000 bytes, all of them 'x': by a descriptor ("plain"), by one of the ring's own table
 * ("direct"; "synced" syncs before the ring lets go of it), or half of them by a copy in that table
 * when the descriptor is closed ("copy"). Returns 0 when each call did, and 77 where there is no
 * io_uring. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

enum { ALL = 3000, HALF = ALL / 2, NONE = 77 };

static int ring;
static struct io_uring_params params;
static struct io_uring_sqe *asked;
static char *queues;

static void must(long result, const char *what)
{
        if (result >= 0)
                return;
        printf("%s: %s\n", what, strerror((int)-result));
        exit(1);
}

static void *map(size_t n, off_t what)
{
        void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
        must(p == MAP_FAILED ? -errno : 0, "mmap");
        return p;
}

static void begin(void)
{
        int table = -1;
        ring = (int)syscall(SYS_io_uring_setup, 1, &params);
        if (ring < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP))
                exit(NONE);
        queues = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
                     IORING_OFF_SQ_RING);
        asked = map(params.sq_entries * sizeof *asked, IORING_OFF_SQES);
        must(syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &table, 1) ? -errno : 0,
             "register");
}

static uint32_t *word(uint32_t at)
{
        return (uint32_t *)(void *)(queues + at);
}

/* One request, and what comes of it. */
static int ask(const struct io_uring_sqe *one)
{
        *asked = *one;
        *word(params.sq_off.array) = 0;
        __atomic_fetch_add(word(params.sq_off.tail), 1, __ATOMIC_RELEASE);
        long n = syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
        must(n == 1 ? 0 : -errno, "io_uring_enter");
        uint32_t at = __atomic_fetch_add(word(params.cq_off.head), 1, __ATOMIC_ACQ_REL);
        const struct io_uring_cqe *done = (void *)(queues + params.cq_off.cqes);
        return done[at & *word(params.cq_off.ring_mask)].res;
}

static void put(int fd, unsigned flags, size_t off, size_t n)
{
        char bytes[ALL];
        memset(bytes, 'x', n);
        int wrote = ask(&(struct io_uring_sqe){.opcode = IORING_OP_WRITE,
                                               .fd = fd,
                                               .flags = (uint8_t)flags,
                                               .addr = (uintptr_t)bytes,
                                               .len = (uint32_t)n,
                                               .off = off});
        must(wrote == (int)n ? 0 : wrote < 0 ? wrote : -EIO, "write");
}

/* Into the table, or as a descriptor. */
static int open_file(const char *path, bool direct)
{
        int fd = ask(&(struct io_uring_sqe){.opcode = IORING_OP_OPENAT,
                                            .fd = AT_FDCWD,
                                            .addr = (uintptr_t)path,
                                            .open_flags = O_WRONLY | O_CREAT,
                                            .len = 0644,
                                            .file_index = direct});
        must(fd, "open");
        return fd;
}

static void close_file(int fd, bool direct)
{
        must(ask(&(struct io_uring_sqe){.opcode = IORING_OP_CLOSE, .fd = fd, .file_index = direct}),
             "close");
}

static void write_copy(const char *path)
{
        int fd = open_file(path, false);
        struct io_uring_files_update update = {.fds = (uintptr_t)&fd};

        put(fd, 0, 0, HALF);
        must(syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES_UPDATE, &update, 1) == 1
                     ? 0
                     : -errno,
             "update");
        close_file(fd, false);
        put(0, IOSQE_FIXED_FILE, HALF, HALF);
}

int main(int argc, char **argv)
{
        const char *way = argc == 3 ? argv[1] : "";
        bool plain = !strcmp(way, "plain"), synced = !strcmp(way, "synced");

        begin();
        if (!strcmp(way, "copy")) {
                write_copy(argv[2]);
                return 0;
        }
        int fd = open_file(argv[2], !plain);
        put(plain ? fd : 0, plain ? 0 : IOSQE_FIXED_FILE, 0, ALL);
        if (synced)
                must(ask(&(struct io_uring_sqe){.opcode = IORING_OP_FSYNC,
                                                .flags = IOSQE_FIXED_FILE}),
                     "fsync");
        close_file(plain ? fd : 0, !plain);
        return 0;
}
