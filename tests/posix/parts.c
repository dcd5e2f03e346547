/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c: random changes of large files of a mount and of the same files of a local directory:
 * long runs, writes in between, cuts, appends, fsyncs, renames and removals, through several
 * descriptors.
 *
 *      parts MOUNT LOCAL SEED STEPS
 *
 * After a close both files are compared, at the end all. A change that is refused with EBUSY, since
 * what it changes was sent and is gone, is made after an fsync. The exit status is 1 when something
 * differs or fails. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum { NAMES = 12, OPEN = 10, WORLDS = 2, CHUNK = 4 << 20, LONGEST = 40 << 20, PART = 5 << 20 };

static struct {
        int fd[WORLDS];
        int name;
        off_t at; /* where the last write ended */
} files[OPEN];

/* The file that has the name, plus 1, or had it before it was renamed: its upload may be completed
 * by way of that, and when another file has it by then, a close may say ESTALE. */
static int holder[NAMES];

static const char *dirs[WORLDS];
static unsigned char *pattern, *bytes[WORLDS];
static int step;

/* xorshift64*: the sequence is the same on every machine. */
static uint64_t state;

static uint64_t chance(uint64_t below)
{
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return (state * 2685821657736338717u >> 16) % below;
}

static void fail(const char *what, int name)
{
        printf("step %d: %s of %d: %s\n", step, what, name, strerror(errno));
        exit(1);
}

static void path_of(char path[4096], int world, int name)
{
        snprintf(path, 4096, "%s/%d", dirs[world], name);
}

static void compare(int name)
{
        char path[4096];
        ssize_t n[WORLDS] = {1, 1};
        int fd[WORLDS];

        for (int w = 0; w < WORLDS; w++) {
                path_of(path, w, name);
                fd[w] = open(path, O_RDONLY | O_CLOEXEC);
        }
        if ((fd[0] < 0) != (fd[1] < 0))
                fail("open to compare", name);
        for (off_t at = 0; fd[0] >= 0 && n[0] > 0; at += n[0]) {
                for (int w = 0; w < WORLDS; w++)
                        n[w] = pread(fd[w], bytes[w], CHUNK, at);
                if (n[0] < 0)
                        fail("read", name);
                errno = 0;
                if (n[0] != n[1] || memcmp(bytes[0], bytes[1], (size_t)n[0])) {
                        printf("at %lld, %zd and %zd bytes: ", (long long)at, n[0], n[1]);
                        fail("the bytes differ", name);
                }
        }
        for (int w = 0; w < WORLDS; w++)
                if (fd[w] >= 0)
                        close(fd[w]);
}

static void open_file(int i)
{
        int flags = (chance(4) ? O_WRONLY : O_RDWR) | O_CREAT | (chance(3) ? 0 : O_TRUNC);
        char path[4096];

        files[i].name = (int)chance(NAMES);
        if (holder[files[i].name])
                return;
        holder[files[i].name] = i + 1;
        for (int w = 0; w < WORLDS; w++) {
                path_of(path, w, files[i].name);
                files[i].fd[w] = open(path, flags | O_CLOEXEC, 0644);
                if (files[i].fd[w] < 0)
                        fail("open", files[i].name);
        }
        files[i].at = lseek(files[i].fd[1], 0, SEEK_END);
}

static void close_file(int i)
{
        for (int w = 0; w < WORLDS; w++) {
                int rc = close(files[i].fd[w]);
                files[i].fd[w] = -1;
                if (rc)
                        fail("close", files[i].name);
        }
        for (int name = 0; name < NAMES; name++)
                holder[name] = holder[name] == i + 1 ? 0 : holder[name];
        compare(files[i].name);
}

/* Also after EBUSY, see above, which may come when some bytes were taken. */
static void write_at(int i, off_t at, size_t n)
{
        for (int w = 0; w < WORLDS; w++) {
                for (size_t done = 0; done < n;) {
                        ssize_t k =
                                pwrite(files[i].fd[w], pattern + done, n - done, at + (off_t)done);
                        if (k <= 0 && (errno != EBUSY || fsync(files[i].fd[w])))
                                fail("write", files[i].name);
                        done += k > 0 ? (size_t)k : 0;
                }
        }
        files[i].at = at + (off_t)n;
}

static void cut(int i, off_t size)
{
        for (int w = 0; w < WORLDS; w++) {
                int rc = ftruncate(files[i].fd[w], size);
                if (rc && errno == EBUSY && !fsync(files[i].fd[w]))
                        rc = ftruncate(files[i].fd[w], size);
                if (rc)
                        fail("ftruncate", files[i].name);
        }
}

static void sync_file(int i)
{
        if (fsync(files[i].fd[0]))
                fail("fsync", files[i].name);
}

static void rename_file(int i)
{
        char from[4096], to[4096];
        int name = (int)chance(NAMES);

        if (holder[name])
                return;
        holder[name] = i + 1;
        for (int w = 0; w < WORLDS; w++) {
                path_of(from, w, files[i].name);
                path_of(to, w, name);
                if (rename(from, to))
                        fail("rename", files[i].name);
        }
        files[i].name = name;
}

/* What has lost its name is changed on, also where parts begin, and nobody sees it. */
static void remove_file(int i)
{
        enum { CHANGES = 4 };
        char path[4096];

        for (int w = 0; w < WORLDS; w++) {
                path_of(path, w, files[i].name);
                if (unlink(path))
                        fail("unlink", files[i].name);
        }
        for (int k = 0; k < CHANGES; k++) {
                off_t whole = lseek(files[i].fd[0], 0, SEEK_END) / PART;
                off_t size = (off_t)chance((uint64_t)whole + 1) * PART;
                if (ftruncate(files[i].fd[0], size) && errno != EBUSY)
                        fail("ftruncate without a name", files[i].name);
                if (pwrite(files[i].fd[0], pattern, CHUNK, (off_t)chance(LONGEST - CHUNK)) < 0)
                        fail("write without a name", files[i].name);
        }
        close_file(i);
}

static void change(int i)
{
        uint64_t what = chance(100);
        off_t size = lseek(files[i].fd[1], 0, SEEK_END);
        size_t n = 1 + (size_t)chance(chance(3) ? CHUNK : 5000);

        for (size_t k = 0; k < CHUNK; k += 4096)
                pattern[k] = (unsigned char)(step + (int)k);
        if (what < 55)
                write_at(i, files[i].at + (off_t)n > LONGEST ? 0 : files[i].at, n);
        else if (what < 70)
                write_at(i, (off_t)chance(LONGEST - n), n);
        else if (what < 78)
                write_at(i, size + (off_t)n > LONGEST ? 0 : size, n);
        else if (what < 85)
                cut(i, (off_t)chance((uint64_t)size + 1));
        else if (what < 87)
                cut(i, (off_t)chance(LONGEST));
        else if (what < 90)
                sync_file(i);
        else if (what < 93)
                rename_file(i);
        else if (what < 95)
                remove_file(i);
        else
                close_file(i);
}

int main(int argc, char **argv)
{
        if (argc != 5)
                return 2;
        pattern = malloc(CHUNK);
        for (int w = 0; w < WORLDS; w++) {
                dirs[w] = argv[1 + w];
                bytes[w] = malloc(CHUNK);
                if (!bytes[w] || !pattern)
                        return 2;
        }
        for (int i = 0; i < OPEN; i++)
                files[i].fd[0] = files[i].fd[1] = -1;
        state = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
        for (size_t k = 0; k < CHUNK; k++)
                pattern[k] = (unsigned char)chance(256);
        int steps = (int)strtol(argv[4], NULL, 10);
        for (step = 1; step <= steps; step++) {
                int i = (int)chance(OPEN);
                if (files[i].fd[0] < 0)
                        open_file(i);
                else
                        change(i);
        }
        for (int i = 0; i < OPEN; i++)
                if (files[i].fd[0] >= 0)
                        close_file(i);
        for (int name = 0; name < NAMES; name++)
                compare(name);
        return 0;
}
