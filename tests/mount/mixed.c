/* SPDX-License-Identifier: Apache-2.0 */
/* mixed.c: two processes read, write, map and cut one file by handles of every kind.
 *
 *      mixed turns SEED STEPS FILE     one after the other: each byte read is the last one written
 *      mixed race SECONDS FILE         at once: when the writer rests, nobody has old bytes
 *
 * The bytes that the file should have are in memory that both processes share. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum {
        MOST = 20 << 20, /* of the file: large, as read_cache=auto sees it */
        LEAST = 17 << 20,
        BLOCK = 300000,
        SLOTS = 4
};

struct slot {
        int fd, flags;
        unsigned char *map;
        bool writable; /* the mapping */
};

static struct shared {
        uint64_t size;
        unsigned version;
        unsigned char bytes[MOST];
} * model;

static const char *path;
static struct slot slots[SLOTS];
static unsigned char block[BLOCK];

static uint64_t chance(uint64_t n)
{
        return ((uint64_t)rand() << 20 ^ (uint64_t)rand()) % n; /* the seed is the test's */
}

static int complain(const char *what, uint64_t off, uint64_t n, int flags)
{
        fprintf(stderr, "process %d: %s of %llu at %llu, flags %o: %s\n", (int)getpid(), what,
                (unsigned long long)n, (unsigned long long)off, (unsigned)flags,
                errno ? strerror(errno) : "other bytes");
        return 1;
}

static int let_go(struct slot *s)
{
        if (s->map && munmap(s->map, MOST))
                return complain("munmap", 0, MOST, s->flags);
        s->map = NULL;
        int err = close(s->fd) ? complain("close", 0, 0, s->flags) : 0;
        s->fd = -1;
        return err;
}

static int take(struct slot *s)
{
        static const int kinds[] = {O_RDONLY,         O_RDWR, O_WRONLY, O_RDWR, O_RDONLY | O_DIRECT,
                                    O_RDWR | O_DIRECT};
        s->flags = kinds[chance(sizeof kinds / sizeof *kinds)];
        s->fd = open(path, s->flags | O_CLOEXEC);
        return s->fd < 0 ? complain("open", 0, 0, s->flags) : 0;
}

static int map(struct slot *s)
{
        if ((s->flags & O_ACCMODE) == O_WRONLY)
                return 0;
        s->writable = (s->flags & O_ACCMODE) == O_RDWR;
        s->map = mmap(NULL, MOST, s->writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                      s->fd, 0);
        if (s->map != MAP_FAILED)
                return 0;
        s->map = NULL;
        return complain("mmap", 0, MOST, s->flags);
}

static int compare(const char *what, const struct slot *s, const void *p, uint64_t off, uint64_t n)
{
        errno = 0;
        return memcmp(p, model->bytes + off, n) ? complain(what, off, n, s->flags) : 0;
}

static int read_some(struct slot *s, uint64_t off, uint64_t n)
{
        if ((s->flags & O_ACCMODE) == O_WRONLY)
                return 0;
        if (s->map && chance(2))
                return compare("a look at a mapping", s, s->map + off, off, n);
        if (pread(s->fd, block, n, (off_t)off) != (ssize_t)n)
                return complain("pread", off, n, s->flags);
        return compare("pread", s, block, off, n);
}

static int write_some(struct slot *s, uint64_t off, uint64_t n)
{
        if ((s->flags & O_ACCMODE) == O_RDONLY)
                return 0;
        memset(model->bytes + off, (int)(++model->version & 255), n);
        if (s->map && s->writable && chance(2))
                memcpy(s->map + off, model->bytes + off, n);
        else if (pwrite(s->fd, model->bytes + off, n, (off_t)off) != (ssize_t)n)
                return complain("pwrite", off, n, s->flags);
        return 0;
}

static int cut(struct slot *s)
{
        uint64_t to = LEAST + chance(MOST - LEAST);

        if ((s->flags & O_ACCMODE) == O_RDONLY)
                return 0;
        if (ftruncate(s->fd, (off_t)to))
                return complain("ftruncate", to, 0, s->flags);
        if (to > model->size)
                memset(model->bytes + model->size, 0, to - model->size);
        model->size = to;
        return 0;
}

static int step(void)
{
        struct slot *s = &slots[chance(SLOTS)];
        uint64_t n = 1 + chance(chance(2) ? BLOCK : 5000), off = chance(model->size - n);

        if (s->fd < 0)
                return take(s);
        switch (chance(16)) {
        case 0:
                return let_go(s);
        case 1:
                return cut(s);
        case 2:
        case 3:
                return s->map ? 0 : map(s);
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
                return write_some(s, off, n);
        default:
                return read_some(s, off, n);
        }
}

/* The other process: a step for each byte that comes. */
static int serve(int turns)
{
        unsigned seed;
        int err = 0;

        while (!err && read(turns, &seed, sizeof seed) == (ssize_t)sizeof seed) {
                srand(seed);
                err = step();
                if (write(turns, &err, sizeof err) != (ssize_t)sizeof err)
                        err = 1;
        }
        return err;
}

static int take_turns(unsigned seed, int steps)
{
        int turns[2], err = 0;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, turns))
                return 1;
        pid_t child = fork();
        if (!child) {
                close(turns[0]);
                _exit(serve(turns[1]));
        }
        close(turns[1]);
        for (int i = 0; !err && i < steps; i++) {
                unsigned next = seed * 100003u + (unsigned)i;
                srand(next);
                if (chance(2))
                        err = step();
                else if (write(turns[0], &next, sizeof next) != (ssize_t)sizeof next ||
                         read(turns[0], &err, sizeof err) != (ssize_t)sizeof err)
                        err = 1;
                if (err)
                        fprintf(stderr, "seed %u, step %d\n", seed, i);
        }
        close(turns[0]);
        waitpid(child, NULL, 0);
        return err;
}

/* --- at once --- */

/* Looks at the file in every way, over and over, until the writer rests; then it must be right. */
static int watch(int seconds, int flags, bool maps)
{
        struct slot s = {.fd = open(path, flags | O_CLOEXEC), .flags = flags};
        time_t end = time(NULL) + seconds;
        int err = s.fd < 0 || (maps && map(&s));
        const volatile unsigned char *map_now = s.map; /* each page is looked at */

        while (!err && time(NULL) < end)
                for (uint64_t off = 0; off + BLOCK <= LEAST; off += BLOCK)
                        if (map_now)
                                for (uint64_t at = off; at < off + BLOCK; at += 4096)
                                        (void)map_now[at];
                        else if (pread(s.fd, block, BLOCK, (off_t)off) < 0)
                                err = complain("pread", off, BLOCK, flags);
        sleep(2); /* the writer has written its last */
        for (uint64_t off = 0; !err && off + BLOCK <= LEAST; off += BLOCK)
                if (s.map)
                        err = compare("a look at a mapping", &s, s.map + off, off, BLOCK);
                else if (pread(s.fd, block, BLOCK, (off_t)off) != BLOCK)
                        err = complain("pread", off, BLOCK, flags);
                else
                        err = compare("pread", &s, block, off, BLOCK);
        return err;
}

static int race(int seconds)
{
        static const struct {
                int flags;
                bool maps;
        } ways[] = {{O_RDONLY, false}, {O_RDONLY, true}, {O_RDWR, false}, {O_RDWR, true}};
        pid_t watchers[sizeof ways / sizeof *ways];
        int flags = O_WRONLY, err = 0, fd = open(path, flags | O_CLOEXEC);

        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
                if (!(watchers[i] = fork()))
                        _exit(watch(seconds, ways[i].flags, ways[i].maps));
        for (time_t end = time(NULL) + seconds; !err && time(NULL) < end;) {
                uint64_t n = 1 + chance(BLOCK), off = chance(LEAST - n);
                memset(model->bytes + off, (int)(++model->version & 255), n);
                if (pwrite(fd, model->bytes + off, n, (off_t)off) != (ssize_t)n)
                        err = complain("pwrite", off, n, flags);
        }
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                int status = 0;
                waitpid(watchers[i], &status, 0);
                err |= status;
        }
        return close(fd) ? complain("close", 0, 0, flags) : err;
}

int main(int argc, char **argv)
{
        bool turns = argc == 5 && !strcmp(argv[1], "turns");

        if (!turns && (argc != 4 || strcmp(argv[1], "race") != 0)) {
                fputs("usage: mixed turns SEED STEPS FILE | race SECONDS FILE\n", stderr);
                return 2;
        }
        path = argv[argc - 1];
        model = mmap(NULL, sizeof *model, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = model == MAP_FAILED ? -1 : 0;
        while (n >= 0 && (n = read(fd, model->bytes + model->size, MOST - model->size)) > 0)
                model->size += (uint64_t)n;
        if (n < 0 || model->size < LEAST) {
                fputs("the file cannot be read, or is too short\n", stderr);
                return 2;
        }
        for (int i = 0; i < SLOTS; i++)
                slots[i].fd = -1;
        int first = (int)strtol(argv[2], NULL, 10);
        return turns ? take_turns((unsigned)first, (int)strtol(argv[3], NULL, 10)) : race(first);
}
