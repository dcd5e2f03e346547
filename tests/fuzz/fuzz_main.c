/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_main.c: feeds a fuzz target the files that its arguments name, or that are in directories
 * that they name. An input that does harm ends the program; the last name printed is the culprit's.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/banned.h"

static unsigned fed;

static int feed_file(const char *path)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char piece[4096];
        size_t n;

        FILE *f = fopen(path, "rb");
        if (!f) {
                perror(path);
                return 1;
        }
        fprintf(stderr, "%s\n", path);
        while ((n = fread(piece, 1, sizeof piece, f)) > 0)
                if (buf_add(&b, piece, n))
                        break;
        int bad = ferror(f) || b.failed;
        fclose(f);
        /* A copy of just that size, so that a sanitizer sees what is read beyond it. */
        CLEANUP(freep) uint8_t *copy = malloc(b.len ? b.len : 1);
        if (bad || !copy)
                return 1;
        if (b.len)
                memcpy(copy, b.p, b.len);
        LLVMFuzzerTestOneInput(copy, b.len);
        fed++;
        return 0;
}

static int not_hidden(const struct dirent *d)
{
        return d->d_name[0] != '.';
}

static int feed_dir(const char *path)
{
        struct dirent **v;
        char name[4096];
        int n = scandir(path, &v, not_hidden, alphasort), bad = n < 0;

        for (int i = 0; i < n; i++) {
                snprintf(name, sizeof name, "%s/%s", path, v[i]->d_name);
                bad |= feed_file(name);
                free(v[i]);
        }
        if (n >= 0)
                free(v);
        return bad;
}

int main(int argc, char **argv)
{
        int bad = 0;

        LLVMFuzzerInitialize(&argc, &argv);
        for (int i = 1; i < argc; i++) {
                struct stat st;
                bad |= !stat(argv[i], &st) && S_ISDIR(st.st_mode) ? feed_dir(argv[i])
                                                                  : feed_file(argv[i]);
        }
        fprintf(stderr, "%u inputs\n", fed);
        return bad || !fed;
}
