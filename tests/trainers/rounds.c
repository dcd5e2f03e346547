/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c: a writer on one mount, a reader on another: what is opened after a close is its file.
 *
 *      rounds WRITER-DIR READER-DIR ROUNDS        prints how many rounds were stale or partial
 *
 * Each round writes the same name anew (another size, one byte value throughout), by one of three
 * ways: in place, by rename over it, removed and made again. The reader then opens it, looks at the
 * size and reads all. Between the rounds it keeps the file open or mapped at times, so that its
 * pages and attributes are cached. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { LARGEST = 300000 };

static unsigned char bytes[LARGEST + 1];

static size_t size_of(int round)
{
        return (size_t)round * 7919 % LARGEST;
}

static void must(bool good, const char *what, int round)
{
        if (good)
                return;
        printf("round %d: %s: %s\n", round, what, strerror(errno));
        exit(1);
}

static void write_round(int dir, int round)
{
        bool by_rename = round % 3 == 1;
        const char *name = by_rename ? "file.tmp" : "file";

        if (round % 3 == 2)
                must(!unlinkat(dir, "file", 0) || errno == ENOENT, "unlink", round);
        memset(bytes, round % 251, size_of(round));
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        must(fd >= 0, "open to write", round);
        must(write(fd, bytes, size_of(round)) == (ssize_t)size_of(round), "write", round);
        must(!close(fd), "close", round);
        if (by_rename)
                must(!renameat(dir, "file.tmp", dir, "file"), "rename", round);
}

/* Whether the file as a whole is that of this round. */
static bool read_round(int dir, int round, int *kept)
{
        struct stat st;
        int fd = openat(dir, "file", O_RDONLY | O_CLOEXEC);

        must(fd >= 0, "open to read", round);
        must(!fstat(fd, &st), "stat", round);
        size_t n = 0;
        for (;;) {
                ssize_t got = read(fd, bytes + n, sizeof bytes - n);
                must(got >= 0, "read", round);
                if (got == 0)
                        break;
                n += (size_t)got;
        }
        bool good = n == size_of(round) && st.st_size == (off_t)n;
        for (size_t i = 0; good && i < n; i++)
                good = bytes[i] == round % 251;
        if (!good)
                printf("round %d: size %zu, stat %lld, first byte %d, want %zu of %d\n", round, n,
                       (long long)st.st_size, n ? bytes[0] : -1, size_of(round), round % 251);
        if (round % 5 == 0) {
                if (*kept >= 0)
                        close(*kept);
                *kept = fd;
        } else {
                must(!close(fd), "close after reading", round);
        }
        return good;
}

int main(int argc, char **argv)
{
        int kept = -1, wrong = 0;
        long rounds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;

        if (argc != 4) {
                fprintf(stderr, "usage: rounds WRITER-DIR READER-DIR ROUNDS\n");
                return 2;
        }
        int writer = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int reader = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(writer >= 0 && reader >= 0, "open the directories", 0);
        for (int round = 0; round < rounds; round++) {
                write_round(writer, round);
                wrong += !read_round(reader, round, &kept);
        }
        printf("%d\n", wrong);
        return 0;
}
