/* SPDX-License-Identifier: Apache-2.0 */
/* torch.c: see torch.h and format.h. */
#include "bench/format/torch.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench/format/pickle.h"
#include "bench/format/zip.h"

#include "base/banned.h"

#define ROOT "archive/" /* any name will do; it is torch's for a file without one */

void torch_pickle_ints(struct buf *b, const uint64_t *v, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                pickle_int(b, v[i]);
        pickle_tuple_of(b, n);
}

/* Pushes the tensor whose bytes are the entry data/KEY. */
static void pickle_tensor(struct buf *b, const struct shard_piece *p, size_t key)
{
        uint64_t shape[2], stride[2] = {1, 1};
        unsigned dims = piece_shape(p, shape);
        char name[24];

        if (dims == 2)
                stride[0] = shape[1];
        snprintf(name, sizeof name, "%zu", key);
        pickle_global(b, "torch._utils", "_rebuild_tensor_v2");
        pickle_mark(b);
        pickle_mark(b);
        pickle_string(b, "storage");
        pickle_global(b, "torch", p->elem == 2 ? "BFloat16Storage" : "FloatStorage");
        pickle_string(b, name);
        pickle_string(b, "cpu");
        pickle_int(b, p->len / p->elem);
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

/* The archive of a pickle and the n tensors that it names by number. */
static void add_archive(struct layout *l, const struct shard *s, const struct buf *pickle,
                        const struct shard_piece *v, size_t n)
{
        struct zip z;
        char name[48];

        zip_begin(&z, l);
        l->failed |= pickle->failed;
        zip_entry_text(&z, ROOT "data.pkl", pickle->p, pickle->len);
        zip_entry_text(&z, ROOT "byteorder", "little", 6);
        for (size_t i = 0; i < n; i++) {
                snprintf(name, sizeof name, ROOT "data/%zu", i);
                zip_entry(&z, name, v[i].len, s ? shard_crc32(s, &v[i]) : 0);
                layout_piece(l, &v[i]);
        }
        zip_entry_text(&z, ROOT "version", "3\n", 2);
        zip_end(&z);
}

void torch_save_tensor(struct layout *l, const struct shard *s, const struct shard_piece *p)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        pickle_begin(&b);
        pickle_tensor(&b, p, 0);
        pickle_end(&b);
        add_archive(l, s, &b, p, 1);
}

int torch_wrap(struct shard *s)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;

        pickle_begin(&b);
        pickle_empty_dict(&b);
        pickle_mark(&b);
        for (size_t i = 0; i < s->n; i++) {
                pickle_string(&b, s->v[i].name);
                pickle_tensor(&b, &s->v[i], i);
        }
        pickle_set_items(&b);
        pickle_end(&b);
        add_archive(&l, s, &b, s->v, s->n);
        return layout_take(&l, s);
}
