/* SPDX-License-Identifier: Apache-2.0 */
/* train_data.c: see train_data.h. */
#include "bench/train/train_data.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "bench/train/math/random.h"

#include "base/banned.h"

enum { BYTES = 256 /* tokens of a text */ };

static int read_text(struct train_data *d, FILE *f, size_t size)
{
        d->text = malloc(size);
        if (!d->text)
                return -ENOMEM;
        d->n = fread(d->text, 1, size, f);
        if (d->n == size)
                return 0;
        int err = ferror(f) && errno ? -errno : -EIO;
        train_data_release(d);
        return err;
}

int train_data_open(struct train_data *d, const char *path, unsigned vocab, unsigned block,
                    char *why, size_t nwhy)
{
        struct stat st;

        *d = (struct train_data){0};
        if (!*path)
                return 0;
        if (vocab < BYTES) {
                snprintf(why, nwhy, "data=%s: its bytes are tokens: give model.vocab of %d or more",
                         path, BYTES);
                return -EINVAL;
        }
        int err = stat(path, &st) ? -errno : 0; /* to open a FIFO would wait for its writer */
        if (!err &&
            (!S_ISREG(st.st_mode) || st.st_size > TRAIN_TEXT_MAX || st.st_size <= (off_t)block)) {
                snprintf(why, nwhy, "data=%s: give a file of more than %u bytes, and 1 GiB at most",
                         path, block);
                return -EINVAL;
        }
        CLEANUP(fclosep) FILE *f = err ? NULL : fopen(path, "rbe");
        if (!err)
                err = f ? read_text(d, f, (size_t)st.st_size) : -errno;
        if (err)
                snprintf(why, nwhy, "data=%s: %s: give a text that every rank can read", path,
                         strerror(-err));
        return err;
}

uint64_t train_data_bytes(const char *path)
{
        struct stat st;
        bool text =
                *path && !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size <= TRAIN_TEXT_MAX;
        return text ? (uint64_t)st.st_size : 0;
}

void train_data_release(struct train_data *d)
{
        free(d->text);
        *d = (struct train_data){0};
}

void train_data_sample(const struct train_data *d, uint64_t seed, uint64_t step, uint64_t number,
                       unsigned vocab, unsigned block, int32_t *tokens, int32_t *targets)
{
        uint64_t key = random_key(seed, RANDOM_TOKENS, step, 0);

        if (d->text) {
                const unsigned char *at = d->text + random_below(key, number, d->n - block);
                for (unsigned i = 0; i < block; i++) {
                        tokens[i] = at[i];
                        targets[i] = at[i + 1];
                }
                return;
        }
        uint64_t first = number * ((uint64_t)block + 1);
        for (unsigned i = 0; i < block; i++) {
                tokens[i] = (int32_t)random_below(key, first + i, vocab);
                targets[i] = (int32_t)random_below(key, first + i + 1, vocab);
        }
}
