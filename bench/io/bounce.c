/* SPDX-License-Identifier: Apache-2.0 */
/* bounce.c: see bounce.h. */
#include "bench/io/bounce.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/core/copies.h"
#include "bench/core/dev.h"

#include "base/banned.h"

int bounce_init(struct bounce *s, size_t n, size_t room)
{
        n = n < 2 ? 2 : n;
        *s = (struct bounce){.room = room, .block = calloc(n, sizeof *s->block)};
        s->n = s->block ? n : 0;
        for (size_t i = 0; i < s->n && dev_get(); i++)
                if (!bounce_block(s, i))
                        return -ENOMEM;
        return s->block ? 0 : -ENOMEM;
}

void bounce_release(struct bounce *s)
{
        for (size_t i = 0; i < s->n; i++)
                dev_buffer_free(s->block[i], s->room);
        free(s->block);
        *s = (struct bounce){0};
}

char *bounce_block(struct bounce *s, size_t i)
{
        if (!s->block[i])
                s->block[i] = dev_buffer(s->room);
        return s->block[i];
}

static size_t block_len(const struct bounce *s, const struct io_data *d, uint64_t i)
{
        uint64_t left = d->size - i * s->room;
        return (size_t)(left < s->room ? left : s->room);
}

/* Has block i fetched, which ends what was begun for it. */
static int fetch(struct bounce *s, const struct io_data *d, uint64_t i)
{
        char *to = bounce_block(s, i % 2);
        s->have = s->begun = 0;
        int err = to ? d->fill(d->arg, i * s->room, to, block_len(s, d, i)) : -ENOMEM;
        if (!err)
                s->have = i + 1;
        return err;
}

/* Sees to it that block i is there, and the next one on its way. */
static int need(struct bounce *s, const struct io_data *d, uint64_t i)
{
        uint64_t next = i + 1;

        if (s->have == next)
                return 0;
        if (s->begun != next)
                bounce_end(s, d); /* the request is sent again, from its beginning */
        int err = fetch(s, d, i);
        if (err || next * s->room >= d->size)
                return err;
        char *to = bounce_block(s, next % 2);
        err = to ? d->ahead(d->arg, next * s->room, to, block_len(s, d, next)) : -ENOMEM;
        if (!err)
                s->begun = next + 1;
        return err;
}

int bounce_give(struct bounce *s, const struct io_data *d, uint64_t at, char *to, int *n)
{
        uint64_t i = at / s->room, in = at % s->room;
        int err = need(s, d, i);

        if (err)
                return err;
        if ((uint64_t)*n > block_len(s, d, i) - in)
                *n = (int)(block_len(s, d, i) - in);
        copies_host(to, s->block[i % 2] + in, (size_t)*n);
        return 0;
}

void bounce_end(struct bounce *s, const struct io_data *d)
{
        if (s->begun)
                (void)fetch(s, d, s->begun - 1);
        s->have = 0;
}
