/* SPDX-License-Identifier: Apache-2.0 */
/* anyop.c: does random things to a file, by two descriptors, and compares it with an array after
 * each.
 *
 *      anyop FILE SEED OPERATIONS SIZE
 *
 * Writes, appends, cuts, reads, syncs, maps, closes and opens again. Says what it did when the file
 * is not what it should be. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { FDS = 2 };

static const char *path;
static int fds[FDS] = {-1, -1};
static bool readable[FDS];
static unsigned char *want, *bytes;
static size_t size, most;
static long long done;
static char what[200];

static void fail(const char *why)
{
        printf("operation %lld (%s): %s: %s\n", done, what, why, strerror(errno));
        exit(1);
}

static size_t below(size_t n)
{
        return n ? ((size_t)random() << 20 ^ (size_t)random()) % n : 0;
}

/* Mostly small, at times large. */
static size_t some(size_t room)
{
        size_t n = 1 + below(below(3) ? 9000 : below(2) ? 300000 : 2500000);
        return n < room ? n : room;
}

/* Bytes that no two places share, by words: under a sanitizer each access costs. */
static void fill(unsigned char *p, size_t n)
{
        uint64_t word = (uint64_t)random() << 32 ^ (uint64_t)random();

        for (size_t i = 0; i < n; i += sizeof word) {
                word = word * 6364136223846793005ULL + 1442695040888963407ULL; /* Knuth, MMIX */
                uint64_t mixed = word ^ word >> 32;
                memcpy(p + i, &mixed, n - i < sizeof mixed ? n - i : sizeof mixed);
        }
}

static void do_write(int i)
{
        size_t pos = below(4) ? below(size + 1) : size + below(200000);
        if (pos >= most)
                return;
        size_t n = some(most - pos);
        snprintf(what, sizeof what, "pwrite %zu at %zu of %zu by %d", n, pos, size, i);
        fill(want + pos, n);
        if (pwrite(fds[i], want + pos, n, (off_t)pos) != (ssize_t)n)
                fail("pwrite");
        if (pos + n > size)
                size = pos + n;
}

static void do_append(int i)
{
        if (size >= most)
                return;
        size_t n = some(most - size), room = below(8) + 1;
        snprintf(what, sizeof what, "%zu times append to %zu by %d", room, size, i);
        for (size_t k = 0; k < room && size + n <= most; k++, size += n) {
                fill(want + size, n);
                if (pwrite(fds[i], want + size, n, (off_t)size) != (ssize_t)n)
                        fail("append");
        }
}

static void do_truncate(int i)
{
        size_t to = below(3) ? below(size + 1) : below(most);
        if (!below(30))
                to = 0;
        snprintf(what, sizeof what, "truncate %zu to %zu by %d", size, to, i);
        if (below(2) ? ftruncate(fds[i], (off_t)to) : truncate(path, (off_t)to))
                fail("truncate");
        if (to > size)
                memset(want + size, 0, to - size);
        else
                memset(want + to, 0, size - to);
        size = to;
}

static void do_open(int i)
{
        static const int flags[] = {O_RDWR, O_WRONLY, O_RDWR, O_RDONLY};
        int flag = flags[below(4)];
        snprintf(what, sizeof what, "close and open %d with %d", i, flag);
        if (fds[i] >= 0 && close(fds[i]))
                fail("close");
        fds[i] = open(path, flag | O_CLOEXEC);
        if (fds[i] < 0)
                fail("open");
        readable[i] = flag != O_WRONLY;
}

static void do_map(int i)
{
        if (!size)
                return;
        size_t pos = below(size), n = some(size - pos);
        snprintf(what, sizeof what, "map and write %zu at %zu of %zu by %d", n, pos, size, i);
        unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
        if (p == MAP_FAILED)
                fail("mmap");
        fill(want + pos, n);
        memcpy(p + pos, want + pos, n);
        if (below(2) && msync(p, size, MS_SYNC))
                fail("msync");
        if (munmap(p, size))
                fail("munmap");
        if (fsync(fds[i]))
                fail("fsync"); /* what another descriptor writes next must not come before it */
}

static void compare(int i, size_t pos, size_t n)
{
        ssize_t k = pread(fds[i], bytes, n, (off_t)pos);
        if (k < 0)
                fail("read");
        size_t left = pos < size ? size - pos : 0;
        if ((size_t)k != (n < left ? n : left))
                fail("a read of another length");
        if (!k || !memcmp(bytes, want + pos, (size_t)k))
                return;
        for (size_t b = pos; b < pos + (size_t)k; b++)
                if (bytes[b - pos] != want[b]) {
                        printf("byte %zu of %zu is %02x and not %02x\n", b, size, bytes[b - pos],
                               want[b]);
                        fail("wrong bytes");
                }
}

static void check(void)
{
        struct stat st;
        if (stat(path, &st))
                fail("stat");
        if ((size_t)st.st_size != size) {
                printf("size %lld and not %zu\n", (long long)st.st_size, size);
                fail("wrong size");
        }
        for (int i = 0; i < FDS; i++)
                if (readable[i]) {
                        size_t pos = below(size + 1);
                        compare(i, pos, some(most));
                        if (!below(40))
                                for (size_t at = 0; at < size; at += 1 << 20)
                                        compare(i, at, 1 << 20);
                }
}

static void step(void)
{
        int i = (int)below(FDS), kind = (int)below(20);
        bool writes = (fcntl(fds[i], F_GETFL) & O_ACCMODE) != O_RDONLY;

        if (!writes || kind >= 18)
                do_open(i);
        else if (kind < 8)
                do_write(i);
        else if (kind < 12)
                do_append(i);
        else if (kind < 15)
                do_truncate(i);
        else if (kind == 15 && readable[i])
                do_map(i);
        else if (fsync(fds[i]))
                fail("fsync");
}

int main(int argc, char **argv)
{
        if (argc != 5)
                return 2;
        path = argv[1];
        srandom((unsigned)strtoul(argv[2], NULL, 0));
        long long n = strtoll(argv[3], NULL, 0);
        most = strtoul(argv[4], NULL, 0);
        want = calloc(1, most);
        bytes = malloc(most + 1);
        if (!want || !bytes ||
            (fds[0] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) < 0)
                fail("open");
        readable[0] = true;
        do_open(1);
        for (done = 1; done <= n; done++) {
                step();
                check();
        }
        for (int i = 0; i < FDS; i++)
                if (close(fds[i]))
                        fail("close");
        fds[0] = open(path, O_RDONLY | O_CLOEXEC);
        for (size_t at = 0; at < size; at += 1 << 20)
                compare(0, at, 1 << 20);
        printf("ok %zu\n", size);
        return 0;
}
