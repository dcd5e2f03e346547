/* SPDX-License-Identifier: Apache-2.0 */
/* readers.c: reads one file in many ways and compares every byte with a second one.
 *
 *      readers streams|random|backward|direct|private|shared|end FILE REFERENCE */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { THREADS = 8, BLOCK = 200001, RANDOM_READS = 300, DIRECT_THREADS = 16, DIRECT_READS = 38 };

static const char *path;
static unsigned char *want;
static uint64_t size;

struct slice {
        pthread_t thread;
        uint64_t from, to;
        int bad;
};

static int differs(int fd, uint64_t off, size_t n)
{
        CLEANUP(freep) unsigned char *p = malloc(n);
        size_t expect = off >= size ? 0 : size - off < n ? (size_t)(size - off) : n;
        ssize_t k = p ? pread(fd, p, n, (off_t)off) : -1;

        if (k < 0 || (size_t)k != expect || memcmp(p, want + (expect ? off : 0), expect)) {
                fprintf(stderr, "pread of %zu at %llu gave %zd (%s), want %zu of other bytes\n", n,
                        (unsigned long long)off, k, k < 0 ? strerror(errno) : "no error", expect);
                return 1;
        }
        return 0;
}

static void *read_slice(void *arg)
{
        struct slice *s = arg;
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

        s->bad = fd < 0;
        for (uint64_t off = s->from; off < s->to && !s->bad; off += BLOCK)
                s->bad = differs(fd, off, s->to - off < BLOCK ? (size_t)(s->to - off) : BLOCK);
        return NULL;
}

static int streams(void)
{
        struct slice v[THREADS];
        int bad = 0;

        for (unsigned i = 0; i < THREADS; i++) {
                v[i] = (struct slice){.from = size * i / THREADS, .to = size * (i + 1) / THREADS};
                bad |= pthread_create(&v[i].thread, NULL, read_slice, &v[i]);
        }
        for (unsigned i = 0; i < THREADS; i++) {
                pthread_join(v[i].thread, NULL);
                bad |= v[i].bad;
        }
        return bad;
}

static int scattered(int fd)
{
        uint64_t rnd = 0x9e3779b97f4a7c15ULL;
        int bad = 0;

        for (int i = 0; i < RANDOM_READS && !bad; i++) {
                rnd = rnd * 6364136223846793005ULL + 1442695040888963407ULL; /* Knuth, MMIX */
                bad = differs(fd, (rnd >> 20) % size, 1 + (rnd >> 8) % 100000);
        }
        return bad;
}

static pthread_barrier_t together;

/* Small reads that are under way within a large one, past the page cache. */
static void *read_directly(void *arg)
{
        struct slice *s = arg;
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

        s->bad = fd < 0;
        for (uint64_t i = 0; i < DIRECT_READS; i++) {
                pthread_barrier_wait(&together);
                usleep(s->from % 4 ? 0 : 1000);
                uint64_t base = i * 17 % DIRECT_READS << 20, at = base + s->from * 60000;
                s->bad |= s->from % 4 ? differs(fd, at, 4096) : differs(fd, base, 1 << 20);
        }
        return NULL;
}

static int direct(void)
{
        struct slice v[DIRECT_THREADS];
        int bad = 0;

        pthread_barrier_init(&together, NULL, DIRECT_THREADS);
        for (unsigned i = 0; i < DIRECT_THREADS; i++) {
                v[i].from = i;
                bad |= pthread_create(&v[i].thread, NULL, read_directly, &v[i]);
        }
        for (unsigned i = 0; i < DIRECT_THREADS; i++) {
                pthread_join(v[i].thread, NULL);
                bad |= v[i].bad;
        }
        return bad;
}

static int backward(int fd)
{
        int bad = 0;
        for (uint64_t end = size; end && !bad; end -= end < BLOCK ? end : BLOCK) {
                uint64_t n = end < BLOCK ? end : BLOCK;
                bad = differs(fd, end - n, (size_t)n);
        }
        return bad;
}

static int mapped(int fd, int how)
{
        unsigned char *p = mmap(NULL, size, PROT_READ, how, fd, 0);
        if (p == MAP_FAILED) {
                perror("mmap");
                return 1;
        }
        int bad = memcmp(p, want, size) != 0;
        munmap(p, size);
        return bad;
}

static int at_end(int fd)
{
        return differs(fd, size, 10) || differs(fd, size + 12345, 10) ||
               differs(fd, size - 1, 10) || differs(fd, size - 100000, 1 << 20);
}

int main(int argc, char **argv)
{
        struct stat st;
        const char *way = argc > 3 ? argv[1] : "";

        if (argc < 4)
                return 2;
        path = argv[2];
        CLEANUP(closep) int ref = open(argv[3], O_RDONLY | O_CLOEXEC);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (ref < 0 || fd < 0 || fstat(ref, &st))
                return 2;
        size = (uint64_t)st.st_size;
        want = mmap(NULL, size, PROT_READ, MAP_PRIVATE, ref, 0);
        if (want == MAP_FAILED)
                return 2;
        if (!strcmp(way, "streams"))
                return streams();
        if (!strcmp(way, "random"))
                return scattered(fd);
        if (!strcmp(way, "direct"))
                return direct();
        if (!strcmp(way, "backward"))
                return backward(fd);
        if (!strcmp(way, "private"))
                return mapped(fd, MAP_PRIVATE);
        if (!strcmp(way, "shared"))
                return mapped(fd, MAP_SHARED);
        return strcmp(way, "end") ? 2 : at_end(fd);
}
