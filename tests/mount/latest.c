/* SPDX-License-Identifier: Apache-2.0 */
/* latest.c: one file is replaced by rename() again and again while others open it by name.
 *
 *      latest DIRECTORY READERS RENAMES
 *
 * Each version is its number, over and over, and longer or shorter than the one before. Prints how
 * many opens there were and what was wrong with them: an error, a part of a version, or one that
 * had been replaced before the open. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { READERS_MOST = 16, WORDS_MOST = 4096 };

static const char *directory;
static atomic_uint published; /* the version whose rename has returned */
static atomic_bool over;
static atomic_ulong opens, wrong;

static size_t words_of(uint32_t version)
{
        return 1 + version * 2654435761U % WORDS_MOST;
}

static void complain(const char *what, uint32_t version, uint32_t before)
{
        fprintf(stderr, "%s (%s), version %u, after %u\n", what, strerror(errno), version, before);
        atomic_fetch_add(&wrong, 1);
}

static void read_once(const char *path)
{
        uint32_t words[WORDS_MOST + 1], before = atomic_load(&published);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;
        size_t have = 0;
        ssize_t k = 1;

        atomic_fetch_add(&opens, 1);
        if (fd < 0 || fstat(fd, &st)) {
                complain("it cannot be opened", 0, before);
                return;
        }
        while (k > 0 && have < sizeof words) {
                k = read(fd, (char *)words + have, sizeof words - have);
                have += k > 0 ? (size_t)k : 0;
        }
        if (k < 0) {
                complain("it cannot be read", 0, before);
                return;
        }
        size_t n = have / sizeof *words;
        for (size_t i = 1; i < n; i++)
                if (words[i] != words[0])
                        n = 0;
        errno = 0;
        if (!n || n != words_of(words[0]))
                complain("not one whole version", words[0], before);
        else if ((size_t)st.st_size != have)
                complain("another size", words[0], before);
        else if (words[0] < before)
                complain("a version of before", words[0], before);
}

static void *read_on(void *arg)
{
        CLEANUP(freep) char *path = NULL;
        (void)arg;

        if (asprintf(&path, "%s/latest", directory) < 0)
                abort();
        while (!atomic_load(&over))
                read_once(path);
        return NULL;
}

/* Returns 0 or -1. */
static int publish(uint32_t version, const char *tmp, const char *path)
{
        uint32_t words[WORDS_MOST];
        size_t size = words_of(version) * sizeof *words;
        int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        for (size_t i = 0; i < words_of(version); i++)
                words[i] = version;
        if (fd < 0 || write(fd, words, size) != (ssize_t)size || close(fd) || rename(tmp, path))
                return -1;
        atomic_store(&published, version);
        return 0;
}

int main(int argc, char **argv)
{
        pthread_t threads[READERS_MOST];
        CLEANUP(freep) char *tmp = NULL, *path = NULL;

        if (argc != 4 || asprintf(&tmp, "%s/tmp", argv[1]) < 0 ||
            asprintf(&path, "%s/latest", argv[1]) < 0)
                return 2;
        directory = argv[1];
        unsigned readers = (unsigned)strtoul(argv[2], NULL, 10),
                 renames = (unsigned)strtoul(argv[3], NULL, 10), n = 0;
        if (readers > READERS_MOST || publish(1, tmp, path))
                return 2;
        while (n < readers && !pthread_create(&threads[n], NULL, read_on, NULL))
                n++;
        for (uint32_t i = 2; i <= renames && n == readers; i++) {
                if (publish(i, tmp, path)) {
                        complain("it cannot be replaced", i, i - 1);
                        break;
                }
        }
        atomic_store(&over, true);
        while (n)
                pthread_join(threads[--n], NULL);
        printf("%lu opens, %lu wrong\n", atomic_load(&opens), atomic_load(&wrong));
        return atomic_load(&wrong) != 0;
}
