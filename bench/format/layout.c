/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c: see layout.h. */
#include "bench/format/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#include "base/banned.h"

static struct shard_piece *add(struct layout *l)
{
        if (GROW(l->v, l->n, l->room, 64)) {
                l->failed = true;
                return NULL;
        }
        return &l->v[l->n++];
}

void layout_text(struct layout *l, const void *p, size_t n)
{
        struct shard_piece *last = l->n ? &l->v[l->n - 1] : NULL;

        if (!n || l->failed)
                return;
        if (!last || !last->literal || l->apart) {
                last = add(l);
                if (!last)
                        return;
                *last = (struct shard_piece){.literal = true, .text = l->text.len, .off = l->size};
                snprintf(last->name, sizeof last->name, "(bytes of the format)");
        }
        l->apart = false;
        buf_add(&l->text, p, n);
        last->len += n;
        l->size += n;
        l->failed |= l->text.failed;
}

void layout_break(struct layout *l)
{
        l->apart = true;
}

void layout_piece(struct layout *l, const struct shard_piece *piece)
{
        struct shard_piece *to = l->failed ? NULL : add(l);
        if (!to)
                return;
        *to = *piece;
        to->off = l->size;
        l->size += piece->len;
}

int layout_take(struct layout *l, struct shard *s)
{
        if (l->failed)
                return -ENOMEM;
        free(s->v);
        free(s->text);
        s->v = TAKE_PTR(l->v);
        s->n = l->n;
        s->size = l->size;
        s->text = buf_take(&l->text);
        layout_release(l);
        return s->text ? 0 : -ENOMEM;
}

void layout_release(struct layout *l)
{
        free(l->v);
        buf_release(&l->text);
        *l = (struct layout)LAYOUT_INIT;
}

unsigned piece_shape(const struct shard_piece *p, uint64_t shape[PIECE_DIMS_MAX])
{
        uint64_t row = p->cols * p->elem;
        unsigned dims = 0;

        while (dims < p->lead)
                shape[dims++] = 1;
        if (p->cols == 1 || p->tensor_off % row || p->len % row) {
                shape[dims++] = p->len / p->elem;
                return dims;
        }
        shape[dims++] = p->len / row;
        if (!p->kernel) {
                shape[dims++] = p->cols;
                return dims;
        }
        shape[dims++] = p->cols / ((uint64_t)p->kernel * p->kernel);
        shape[dims++] = p->kernel;
        shape[dims++] = p->kernel;
        return dims;
}
