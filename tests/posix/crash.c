/* SPDX-License-Identifier: Apache-2.0 */
/* crash.c: works in a mount until that dies, and says what must be there afterwards.
 *
 *      crash work DIR SEED STEPS PID EXPECT     does random steps; before the last it kills PID.
 *                                               EXPECT gets what each name may hold from now on
 *      crash check DIR EXPECT                   1 when a name holds anything else
 *
 * A file's contents follow from a number; each write of a file takes a new one. What a close or
 * fsync returned 0 for is there after the crash. What was under way is the old one or the new one,
 * whole. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { NAMES = 6, LARGEST = 12 << 20, NONE = 0, MOST = 200 };

/* Contents are numbered from 1; NONE: there is no such file. */
struct name {
        int fd;      /* open for writing, or -1 */
        int durable; /* what is there if the mount dies now */
        int maybe;   /* or this, since a call that would make it so has not returned 0 */
        int open_as; /* what the next commit makes durable */
};

static struct name names[NAMES];
static unsigned char *bytes;
static uint64_t state;
static int last_number, dir;

static void quit(const char *what)
{
        fprintf(stderr, "crash: %s: %s\n", what, strerror(errno));
        exit(2);
}

static int chance(int below)
{
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return (int)((state * 2685821657736338717u >> 16) % (uint64_t)below);
}

static const char *path_of(int i)
{
        static const char *const all[NAMES] = {"a", "b", "c", "d", "dir/a", "dir/b"};

        return all[i];
}

/* Sizes of one part, of several, and of none. */
static size_t contents_of(int number)
{
        static const size_t sizes[] = {10, 70000, 0, 5 << 20, 11000001, 300};
        size_t size = sizes[number % 6];
        uint32_t x = (uint32_t)number * 2654435761u;

        for (size_t i = 0; i < size; i++) {
                x = x * 1664525u + 1013904223u;
                bytes[i] = (unsigned char)(x >> 24);
        }
        return size;
}

static bool write_all(int fd, size_t from, size_t to)
{
        while (from < to) {
                ssize_t n = pwrite(fd, bytes + from, to - from, (off_t)from);
                if (n <= 0)
                        return false;
                from += (size_t)n;
        }
        return true;
}

static void committed(struct name *n, bool good)
{
        n->maybe = n->open_as;
        if (good)
                n->durable = n->open_as;
}

/* Opens anew, or writes on in the file that is open: half of new contents, or all of them. */
static void do_write(struct name *n, int i)
{
        int number = ++last_number;
        size_t size = contents_of(number);

        if (n->fd < 0)
                n->fd = openat(dir, path_of(i), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (n->fd < 0)
                return;
        n->open_as = number;
        n->maybe = n->durable;
        (void)(write_all(n->fd, size / 2, size) && write_all(n->fd, 0, size / 2) &&
               !ftruncate(n->fd, (off_t)size));
}

static void do_sync(struct name *n)
{
        if (n->fd >= 0)
                committed(n, !fsync(n->fd));
}

/* Whether it is closed and durable. */
static bool do_close(struct name *n)
{
        if (n->fd < 0)
                return true;
        bool good = !close(n->fd);
        n->fd = -1;
        committed(n, good);
        return good;
}

static void do_unlink(struct name *n, int i)
{
        if (!do_close(n))
                return;
        n->maybe = NONE;
        if (!unlinkat(dir, path_of(i), 0))
                n->durable = NONE;
}

/* Of closed files: to rename what is being written has no one right outcome. */
static void do_rename(struct name *from, int i)
{
        int k = chance(NAMES);
        struct name *to = &names[k];

        if (k == i || !do_close(from) || !do_close(to) || from->durable == NONE)
                return;
        to->maybe = from->durable;
        from->maybe = NONE;
        if (renameat(dir, path_of(i), dir, path_of(k)))
                return;
        to->durable = from->durable;
        from->durable = NONE;
}

static void one_step(void)
{
        int i = chance(NAMES), what = chance(10);
        struct name *n = &names[i];

        if (what < 4)
                do_write(n, i);
        else if (what < 6)
                do_sync(n);
        else if (what < 8)
                (void)do_close(n);
        else if (what < 9)
                do_rename(n, i);
        else
                do_unlink(n, i);
}

/* A child that kills `daemon` some microseconds after it is told how many through the descriptor
 * that is returned, so at no known point of a step. It is made before any file is open: a close
 * publishes nothing while a child has the file open, too. */
static int killer(pid_t daemon)
{
        int to[2];
        useconds_t delay;

        if (pipe(to))
                quit("pipe");
        pid_t pid = fork();
        if (pid < 0)
                quit("fork");
        if (pid > 0) {
                close(to[0]);
                return to[1];
        }
        close(to[1]);
        if (read(to[0], &delay, sizeof delay) != sizeof delay)
                _exit(2);
        usleep(delay);
        _exit(kill(daemon, SIGKILL) != 0);
}

static int work(int steps, pid_t daemon, const char *expect)
{
        int kills = killer(daemon);
        FILE *f = fopen(expect, "we");

        if (!f)
                quit(expect);
        if (mkdirat(dir, "dir", 0755) && errno != EEXIST)
                quit("dir");
        for (int i = 0; i < NAMES; i++)
                names[i].fd = -1;
        for (int i = 0; i < steps; i++) {
                useconds_t delay = (useconds_t)(state % 20000);
                if (i == steps - 1 && write(kills, &delay, sizeof delay) != sizeof delay)
                        quit("write");
                one_step();
        }
        /* What is still open is not closed before the mount is dead. */
        while (wait(NULL) > 0)
                ;
        for (int i = 0; i < NAMES; i++)
                fprintf(f, "%s %d %d\n", path_of(i), names[i].durable, names[i].maybe);
        if (fclose(f))
                quit(expect);
        return 0;
}

static bool holds(const char *path, int number)
{
        struct stat st;
        int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return errno == ENOENT && number == NONE;
        size_t size = number == NONE ? 0 : contents_of(number);
        bool same = number != NONE && !fstat(fd, &st) && st.st_size == (off_t)size;
        unsigned char block[65536];
        for (size_t at = 0; same && at < size;) {
                ssize_t n = pread(fd, block, sizeof block, (off_t)at);
                same = n > 0 && at + (size_t)n <= size && !memcmp(block, bytes + at, (size_t)n);
                at += n > 0 ? (size_t)n : 0;
        }
        close(fd);
        return same;
}

/* Contents that the file has, whole; NONE when it has no such. */
static int held(const char *path)
{
        for (int number = 1; number < MOST; number++)
                if (holds(path, number))
                        return number;
        return NONE;
}

static int check(const char *expect)
{
        FILE *f = fopen(expect, "re");
        char path[20];
        int durable, maybe, wrong = 0;

        if (!f)
                quit(expect);
        while (fscanf(f, "%19s %d %d", path, &durable, &maybe) == 3) {
                struct stat st = {0};
                if (holds(path, durable) || holds(path, maybe))
                        continue;
                int rc = fstatat(dir, path, &st, 0);
                printf("%s: neither %d (%zu bytes) nor %d (%zu) but %d: %lld bytes, %s\n", path,
                       durable, durable ? contents_of(durable) : 0, maybe,
                       maybe ? contents_of(maybe) : 0, held(path), (long long)st.st_size,
                       rc ? strerror(errno) : "is there");
                wrong = 1;
        }
        fclose(f);
        return wrong;
}

int main(int argc, char **argv)
{
        bool is_work = argc == 7 && !strcmp(argv[1], "work");

        if (!is_work && (argc != 4 || strcmp(argv[1], "check")))
                return 2;
        bytes = malloc(LARGEST);
        dir = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (!bytes || dir < 0)
                quit(argv[2]);
        if (!is_work)
                return check(argv[3]);
        state = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
        return work((int)strtol(argv[4], NULL, 10), (pid_t)strtol(argv[5], NULL, 10), argv[6]);
}
