/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c: what the fuzz targets share: their surroundings, and inputs as files and strings. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/banned.h"

extern char **environ;

/* AFL++ hands its own side of the program what it needs in the environment. */
static void keep_environment_of_afl(void)
{
        char **to = environ;

        for (char **from = environ; *from; from++)
                if (!strncmp(*from, "AFL_", 4) || !strncmp(*from, "__AFL_", 6))
                        *to++ = *from;
        *to = NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
        (void)argc, (void)argv;
        keep_environment_of_afl();
        setenv("HOME", "/nonexistent", 1);
        setenv("AWS_CONFIG_FILE", "/dev/null", 1);
        setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
        if (log_open("fuzz", "/dev/null", LOG_LEVEL_ERROR))
                abort();
        return 0;
}

int fuzz_file(const uint8_t *p, size_t n, char path[FUZZ_PATH_MAX])
{
        int fd = memfd_create("input", MFD_CLOEXEC);

        if (fd < 0)
                abort();
        for (size_t at = 0; at < n;) {
                ssize_t put = write(fd, p + at, n - at);
                if (put <= 0)
                        abort();
                at += (size_t)put;
        }
        snprintf(path, FUZZ_PATH_MAX, "/proc/self/fd/%d", fd);
        return fd;
}

char *fuzz_text(const uint8_t *p, size_t n)
{
        char *text = malloc(n + 1);

        if (!text)
                abort();
        if (n)
                memcpy(text, p, n);
        text[n] = 0;
        return text;
}

char *fuzz_line(const uint8_t **p, size_t *n)
{
        const uint8_t *end = *n ? memchr(*p, '\n', *n) : NULL;
        size_t len = end ? (size_t)(end - *p) : *n;
        char *line = fuzz_text(*p, len);

        *p += len + (end ? 1 : 0);
        *n -= len + (end ? 1 : 0);
        return line;
}
