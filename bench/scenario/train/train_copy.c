/* SPDX-License-Identifier: Apache-2.0 */
/* train_copy.c: see train_copy.h. */
#include "bench/scenario/train/train_copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/io.h"
#include "bench/train/train_state.h"

#include "base/banned.h"

/* A block of checksums. */
enum { BLOCK = 1 << 20 };

/* The tensors, held at their places in `mem`, with the format around them; NULL: places alone. */
static int wrap(const struct train_copy *c, const char *mem, struct shard *out)
{
        const struct shard *s = &c->from.shard;

        *out = (struct shard){.n = s->n, .size = s->size, .places = !mem};
        if (!(out->v = calloc(s->n + 1, sizeof *out->v)))
                return -ENOMEM;
        for (size_t i = 0; i < s->n; i++) {
                out->v[i] = s->v[i];
                out->v[i].held = mem ? mem + c->at[i] : NULL;
        }
        return c->wrap(out);
}

int train_copy_init(struct train_copy *c, struct train_source *from, int (*format)(struct shard *),
                    struct stage_kind kind)
{
        *c = (struct train_copy){.from = *from, .wrap = format};
        from->shard = (struct shard){0};
        const size_t n = c->from.shard.n;

        c->at = calloc(n + 1, sizeof *c->at);
        c->crc = calloc(n + 1, sizeof *c->crc);
        int err = c->at && c->crc ? wrap(c, NULL, &c->file) : -ENOMEM;
        if (err)
                return err;
        for (size_t i = 0, k = 0; i < c->file.n; i++)
                if (!c->file.v[i].literal)
                        c->at[k++] = c->file.v[i].off;
        c->size = c->file.size;
        stage_init(&c->stage, (c->size + IO_ALIGN - 1) & ~(size_t)(IO_ALIGN - 1), kind);
        return 0;
}

void train_copy_release(struct train_copy *c)
{
        stage_release(&c->stage);
        shard_release(&c->from.shard);
        shard_release(&c->file);
        free(c->at);
        free(c->crc);
        *c = (struct train_copy){0};
}

/* Bytes of a tensor where training has it. */
static int get(const struct train_copy *c, const struct shard_piece *p, uint64_t step, uint64_t off,
               void *to, size_t n)
{
        if (p->held)
                return c->from.get(c->from.arg, to, p->held + off, n);
        const float number = c->from.number ? c->from.number(c->from.arg, p->name) : (float)step;
        memcpy(to, (const char *)&number + off, n);
        return 0;
}

int train_copy_take(struct train_copy *c, uint64_t step)
{
        const struct shard *s = &c->from.shard;
        int err = step < TRAIN_STEPS_MAX ? stage_take(&c->stage) : -EOVERFLOW;

        for (size_t i = 0; i < s->n && !err; i++)
                err = get(c, &s->v[i], step, 0, c->stage.p + c->at[i], s->v[i].len);
        return err;
}

int train_copy_finish(struct train_copy *c)
{
        CLEANUP(shard_release) struct shard made = {0};
        int err = wrap(c, c->stage.p, &made);

        if (!err && made.size != c->size)
                err = -EIO;
        if (err)
                return err;
        for (size_t i = 0; i < made.n; i++)
                if (made.v[i].literal)
                        memcpy(c->stage.p + made.v[i].off, made.text + made.v[i].text,
                               made.v[i].len);
        shard_release(&c->file);
        c->file = made;
        made = (struct shard){0};
        return 0;
}

int train_copy_note(struct train_copy *c, uint64_t step)
{
        const struct shard *s = &c->from.shard;
        CLEANUP(freep) char *block = malloc(BLOCK);
        int err = block ? 0 : -ENOMEM;

        for (size_t i = 0; i < s->n && !err; i++) {
                c->crc[i] = 0;
                for (uint64_t at = 0; at < s->v[i].len && !err; at += BLOCK) {
                        const uint64_t left = s->v[i].len - at;
                        const size_t n = left < BLOCK ? (size_t)left : BLOCK;
                        err = get(c, &s->v[i], step, at, block, n);
                        c->crc[i] = crc32c(c->crc[i], block, n);
                }
        }
        return err;
}

int train_copy_clear(struct train_copy *c)
{
        const int err = stage_take(&c->stage);

        if (!err)
                memset(c->stage.p, 0xa5, c->stage.size);
        return err;
}

int train_copy_check(struct train_copy *c, char *why, size_t nwhy)
{
        CLEANUP(shard_release) struct shard made = {0};
        const struct shard *s = &c->from.shard;
        const char *p = c->stage.p;

        for (size_t i = 0; i < s->n; i++)
                if (crc32c(0, p + c->at[i], s->v[i].len) != c->crc[i]) {
                        snprintf(why, nwhy, "tensor %s is not what the step has saved",
                                 s->v[i].name);
                        return -EBADMSG;
                }
        int err = wrap(c, p, &made);
        for (size_t i = 0; i < made.n && !err; i++)
                if (made.v[i].literal &&
                    memcmp(p + made.v[i].off, made.text + made.v[i].text, made.v[i].len) != 0) {
                        snprintf(why, nwhy, "the format's bytes from %llu on differ",
                                 (unsigned long long)made.v[i].off);
                        err = -EBADMSG;
                }
        return err;
}
