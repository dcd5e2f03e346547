/* SPDX-License-Identifier: Apache-2.0 */
/* dcp.c: see dcp.h. The classes and their states are those of torch/distributed/checkpoint:
 * metadata.py and filesystem.py. */
#include "bench/format/dcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/layout.h"
#include "bench/format/pickle.h"
#include "bench/format/torch.h"

#include "base/banned.h"

#define METADATA   "torch.distributed.checkpoint.metadata"
#define FILESYSTEM "torch.distributed.checkpoint.filesystem"

int dcp_wrap(struct shard *s)
{
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;
        for (size_t i = 0; i < s->n; i++) {
                torch_save_tensor(&l, s, &s->v[i]);
                layout_break(&l);
        }
        return layout_take(&l, s);
}

void dcp_file_name(char out[DCP_FILE_MAX], unsigned rank, unsigned file)
{
        snprintf(out, DCP_FILE_MAX, "__%u_%u.distcp", rank, file);
}

/* An item of a wrapped shard is three pieces: the format's bytes, the tensor's, the format's. */
size_t dcp_items(const struct shard *s, const char *file, struct dcp_item *v)
{
        size_t n = 0;
        uint64_t begin = 0;
        for (size_t i = 0; i < s->n; i++) {
                const struct shard_piece *p = &s->v[i];
                if (p->literal)
                        continue;
                struct dcp_item *it = &v[n++];
                uint64_t unit = p->cols * p->elem;
                *it = (struct dcp_item){
                        .rows = p->rows,
                        .cols = p->cols,
                        .first = p->tensor_off / unit,
                        .count = p->len / unit,
                        .off = begin,
                        .elem = p->elem,
                        .lead = p->lead,
                        .crc = p->crc,
                        .has_crc = !s->places,
                };
                memcpy(it->name, p->name, sizeof it->name);
                snprintf(it->file, sizeof it->file, "%s", file);
                begin = s->v[i + 1].off + s->v[i + 1].len;
                it->len = begin - it->off;
        }
        return n;
}

int dcp_by_tensor(const void *a, const void *b)
{
        const struct dcp_item *x = a, *y = b;
        int names = strcmp(x->name, y->name);
        return names ? names : (x->first > y->first) - (x->first < y->first);
}

/* torch.Size((first, second)), with the item's leading dimensions before that. */
static void pickle_size(struct buf *b, const struct dcp_item *it, uint64_t lead, uint64_t first,
                        uint64_t second)
{
        uint64_t v[PIECE_DIMS_MAX];
        unsigned n = 0;

        while (n < it->lead)
                v[n++] = lead;
        v[n++] = first;
        if (it->cols > 1)
                v[n++] = second;
        pickle_global(b, "torch", "Size");
        torch_pickle_ints(b, v, n);
        pickle_tuple_of(b, 1);
        pickle_call(b);
}

/* An instance of a class without a state of its own making begins; its fields follow. */
static void object_begin(struct buf *b, const char *module, const char *name)
{
        pickle_global(b, module, name);
        pickle_new(b);
        pickle_empty_dict(b);
        pickle_mark(b);
}

static void object_end(struct buf *b)
{
        pickle_set_items(b);
        pickle_state(b);
}

static void pickle_properties(struct buf *b, unsigned elem)
{
        pickle_global(b, METADATA, "TensorProperties");
        pickle_new(b);
        pickle_mark(b);
        pickle_global(b, "torch", elem == 2 ? "bfloat16" : "float32");
        pickle_global(b, "torch.serialization", "_get_layout");
        pickle_string(b, "torch.strided");
        pickle_tuple_of(b, 1);
        pickle_call(b);
        pickle_bool(b, false); /* requires_grad */
        pickle_global(b, METADATA, "_MEM_FORMAT_ENCODING");
        pickle_int(b, 0); /* contiguous */
        pickle_tuple_of(b, 1);
        pickle_call(b);
        pickle_bool(b, false); /* pin_memory */
        pickle_tuple(b);
        pickle_state(b);
}

/* What one tensor is: v[0..n) are its pieces. */
static void pickle_tensor(struct buf *b, const struct dcp_item *v, size_t n)
{
        object_begin(b, METADATA, "TensorStorageMetadata");
        pickle_string(b, "properties");
        pickle_properties(b, v->elem);
        pickle_string(b, "size");
        pickle_size(b, v, 1, v->rows, v->cols);
        pickle_string(b, "chunks");
        pickle_empty_list(b);
        pickle_mark(b);
        for (size_t i = 0; i < n; i++) {
                object_begin(b, METADATA, "ChunkStorageMetadata");
                pickle_string(b, "offsets");
                pickle_size(b, &v[i], 0, v[i].first, 0);
                pickle_string(b, "sizes");
                pickle_size(b, &v[i], 1, v[i].count, v[i].cols);
                object_end(b);
        }
        pickle_append_all(b);
        object_end(b);
}

/* The key and value that say where a piece lies. */
static void pickle_place(struct buf *b, const struct dcp_item *it)
{
        object_begin(b, METADATA, "MetadataIndex");
        pickle_string(b, "fqn");
        pickle_string(b, it->name);
        pickle_string(b, "offset");
        pickle_size(b, it, 0, it->first, 0);
        pickle_string(b, "index");
        pickle_none(b);
        object_end(b);
        object_begin(b, FILESYSTEM, "_StorageInfo");
        pickle_string(b, "relative_path");
        pickle_string(b, it->file);
        pickle_string(b, "offset");
        pickle_int(b, it->off);
        pickle_string(b, "length");
        pickle_int(b, it->len);
        if (it->has_crc) { /* torch keeps it, and does not look at it */
                pickle_string(b, "crc32");
                pickle_int(b, it->crc);
        }
        object_end(b);
}

static size_t pieces_of(const struct dcp_item *v, size_t n)
{
        size_t same = 1;
        while (same < n && !strcmp(v[same].name, v->name))
                same++;
        return same;
}

int dcp_metadata(struct dcp_item *v, size_t n, struct buf *b)
{
        qsort(v, n, sizeof *v, dcp_by_tensor);
        pickle_begin(b);
        object_begin(b, METADATA, "Metadata");
        pickle_string(b, "state_dict_metadata");
        pickle_empty_dict(b);
        pickle_mark(b);
        for (size_t i = 0, k; i < n; i += k) {
                k = pieces_of(v + i, n - i);
                pickle_string(b, v[i].name);
                pickle_tensor(b, v + i, k);
        }
        pickle_set_items(b);
        pickle_string(b, "planner_data"); /* the path to each value in the state dict */
        pickle_empty_dict(b);
        pickle_mark(b);
        for (size_t i = 0; i < n; i += pieces_of(v + i, n - i)) {
                pickle_string(b, v[i].name);
                pickle_string(b, v[i].name);
                pickle_tuple_of(b, 1);
        }
        pickle_set_items(b);
        pickle_string(b, "storage_data");
        pickle_empty_dict(b);
        pickle_mark(b);
        for (size_t i = 0; i < n; i++)
                pickle_place(b, &v[i]);
        pickle_set_items(b);
        object_end(b);
        pickle_end(b);
        return b->failed ? -ENOMEM : 0;
}
