/* SPDX-License-Identifier: Apache-2.0 */
/* torch.c: see torch.h and format.h. */
#include "bench/format/torch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/format/pickle.h"
#include "bench/format/zip.h"

#include "base/banned.h"

#define ROOT "archive/" /* any name will do; it is torch's for a file without one */

void torch_pickle_ints(struct buf *b, const uint64_t *v, unsigned n)
{
        const bool marked = n > 3; /* shorter ones have words of their own */

        if (marked)
                pickle_mark(b);
        for (unsigned i = 0; i < n; i++)
                pickle_int(b, v[i]);
        if (marked)
                pickle_tuple(b);
        else
                pickle_tuple_of(b, n);
}

/* Pushes a tensor of contiguous elements, those of the entry data/KEY. */
static void add_tensor(struct buf *b, unsigned elem, uint64_t elements, const uint64_t *shape,
                       unsigned dims, size_t key)
{
        uint64_t stride[PIECE_DIMS_MAX];
        char name[24];

        for (unsigned d = dims; d-- > 0;)
                stride[d] = d + 1 < dims ? stride[d + 1] * shape[d + 1] : 1;
        snprintf(name, sizeof name, "%zu", key);
        pickle_global(b, "torch._utils", "_rebuild_tensor_v2");
        pickle_mark(b);
        pickle_mark(b);
        pickle_string(b, "storage");
        pickle_global(b, "torch", elem == 2 ? "BFloat16Storage" : "FloatStorage");
        pickle_string(b, name);
        pickle_string(b, "cpu");
        pickle_int(b, elements);
        pickle_tuple(b);
        pickle_persistent(b);
        pickle_int(b, 0); /* offset in the storage */
        torch_pickle_ints(b, shape, dims);
        torch_pickle_ints(b, stride, dims);
        pickle_bool(b, false); /* requires_grad */
        pickle_global(b, "collections", "OrderedDict");
        pickle_tuple_of(b, 0);
        pickle_call(b); /* no backward hooks */
        pickle_tuple(b);
        pickle_call(b);
}

void torch_pickle_tensor(struct buf *b, const struct shard_piece *p, size_t key)
{
        uint64_t shape[PIECE_DIMS_MAX];
        unsigned dims = piece_shape(p, shape);
        add_tensor(b, p->elem, p->len / p->elem, shape, dims, key);
}

void torch_pickle_scalar(struct buf *b, size_t key)
{
        add_tensor(b, 4, 1, NULL, 0, key);
}

void torch_archive(struct layout *l, const struct shard *s, const struct buf *pickle,
                   const struct torch_entry *v, size_t n)
{
        struct zip z;
        char name[48];

        zip_begin(&z, l);
        l->failed |= pickle->failed;
        zip_entry_text(&z, ROOT "data.pkl", pickle->p, pickle->len);
        zip_entry_text(&z, ROOT "byteorder", "little", 6);
        for (size_t i = 0; i < n; i++) {
                const struct shard_piece *p = v[i].piece;
                snprintf(name, sizeof name, ROOT "data/%zu", i);
                if (p) {
                        struct shard_piece here = *p;
                        here.crc = s ? shard_crc32(s, p) : 0;
                        zip_entry(&z, name, p->len, here.crc);
                        layout_piece(l, &here);
                } else {
                        zip_entry_text(&z, name, v[i].text, v[i].len);
                }
        }
        zip_entry_text(&z, ROOT "version", "3\n", 2);
        zip_end(&z);
}

void torch_save_tensor(struct layout *l, const struct shard *s, const struct shard_piece *p)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        const struct torch_entry one = {.piece = p};
        pickle_begin(&b);
        torch_pickle_tensor(&b, p, 0);
        pickle_end(&b);
        torch_archive(l, s, &b, &one, 1);
}

int torch_wrap(struct shard *s)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;
        CLEANUP(freep) struct torch_entry *v = calloc(s->n + 1, sizeof *v);

        if (!v)
                return -ENOMEM;
        pickle_begin(&b);
        pickle_empty_dict(&b);
        pickle_mark(&b);
        for (size_t i = 0; i < s->n; i++) {
                pickle_string(&b, s->v[i].name);
                torch_pickle_tensor(&b, &s->v[i], i);
                v[i].piece = &s->v[i];
        }
        pickle_set_items(&b);
        pickle_end(&b);
        torch_archive(&l, s, &b, v, s->n);
        return layout_take(&l, s);
}
