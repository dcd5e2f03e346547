/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_read.c: the pieces that a .metadata lists, ours or torch's own; see dcp.h. The classes are
 * those of torch/distributed/checkpoint: metadata.py and filesystem.py. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/dcp.h"
#include "bench/format/read.h"
#include "bench/format/unpickle.h"

#include "base/banned.h"

/* torch.Size((a, b, ...)) as rows and what a row has. */
static int read_size(const struct value *v, uint64_t *rows, uint64_t *cols)
{
        const struct value *dims = value_at(value_at(v, 1), 0);
        uint64_t d;

        if (!value_is_call(v, "torch", "Size") || !dims)
                return -EBADMSG;
        *rows = *cols = 1;
        for (size_t i = 0; i < dims->n; i++) {
                if (value_uint(value_at(dims, i), &d) ||
                    (i && __builtin_mul_overflow(*cols, d, cols)))
                        return -EBADMSG;
                *rows = i ? *rows : d;
        }
        return 0;
}

/* Where a chunk begins: in the first dimension only, else what it holds are no whole rows. */
static int read_first(const struct value *v, uint64_t *first)
{
        const struct value *dims = value_at(value_at(v, 1), 0);
        uint64_t d;

        if (!value_is_call(v, "torch", "Size") || !dims)
                return -EBADMSG;
        *first = 0;
        for (size_t i = 0; i < dims->n; i++) {
                if (value_uint(value_at(dims, i), &d) || (i && d))
                        return -EBADMSG;
                *first = i ? *first : d;
        }
        return 0;
}

static int copy_text(const struct value *v, char *to, size_t n)
{
        if (!v || v->kind != VALUE_TEXT || !v->n || v->n >= n || memchr(v->text, 0, v->n))
                return -EBADMSG;
        memcpy(to, v->text, v->n);
        to[v->n] = 0;
        return 0;
}

static unsigned elem_of(const struct value *tensor)
{
        static const struct {
                const char *name;
                unsigned bytes;
        } types[] = {{"float32", 4}, {"bfloat16", 2}, {"float16", 2}, {"float64", 8}, {"int64", 8},
                     {"int32", 4},   {"int16", 2},    {"int8", 1},    {"uint8", 1},   {"bool", 1}};
        const struct value *state = value_at(value_get(tensor, "properties"), 2);
        const struct value *type = value_get(state, "dtype");

        if (!type)
                type = value_at(state, 0);
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
                if (value_is_global(type, "torch", types[i].name))
                        return types[i].bytes;
        return 0;
}

/* The rows of the chunk of a tensor that begins at `first`. */
static int find_chunk(const struct value *tensor, struct dcp_item *it)
{
        const struct value *chunks = value_get(tensor, "chunks"), *chunk;
        uint64_t first, cols;

        for (size_t i = 0; (chunk = value_at(chunks, i)); i++) {
                if (read_first(value_get(chunk, "offsets"), &first) || first != it->first)
                        continue;
                if (read_size(value_get(chunk, "sizes"), &it->count, &cols))
                        return -EBADMSG;
                return cols == it->cols ? 0 : -EBADMSG;
        }
        return -EBADMSG;
}

/* 0, -EBADMSG, or -ENOENT for what is no tensor. */
static int read_item(const struct value *index, const struct value *place,
                     const struct value *tensors, struct dcp_item *it)
{
        *it = (struct dcp_item){0};
        int err = copy_text(value_get(index, "fqn"), it->name, sizeof it->name);
        const struct value *tensor = err ? NULL : value_get(tensors, it->name);
        if (tensor && !value_get(tensor, "chunks"))
                return -ENOENT;
        it->elem = elem_of(tensor);
        if (err || !it->elem || read_size(value_get(tensor, "size"), &it->rows, &it->cols) ||
            copy_text(value_get(place, "relative_path"), it->file, sizeof it->file) ||
            strchr(it->file, '/') || value_uint(value_get(place, "offset"), &it->off) ||
            value_uint(value_get(place, "length"), &it->len))
                return -EBADMSG;
        const struct value *offset = value_get(index, "offset");
        if (offset && offset->kind != VALUE_NONE && read_first(offset, &it->first))
                return -EBADMSG;
        return find_chunk(tensor, it);
}

static int read_items(const struct value *places, const struct value *tensors, struct dcp_item *v,
                      size_t *n, char *why, size_t nwhy)
{
        for (size_t i = 0; i + 1 < places->n; i += 2) {
                int err = read_item(places->v[i], places->v[i + 1], tensors, &v[*n]);
                if (err == -EBADMSG)
                        return refuse(
                                why, nwhy,
                                "entry %zu, '%s', is no piece of whole rows, or of an unknown "
                                "type",
                                i / 2, v[*n].name);
                *n += !err;
        }
        return *n ? 0 : refuse(why, nwhy, "it lists no tensors");
}

int dcp_read(const char *p, size_t n, struct dcp_item **out, size_t *nout, char *why, size_t nwhy)
{
        CLEANUP(unpickled_freep) struct unpickled *all = NULL;
        CLEANUP(freep) struct dcp_item *v = NULL;
        const struct value *root;

        *nout = 0;
        int err = unpickle(p, n, &all, &root, why, nwhy);
        if (err)
                return err;
        const struct value *places = value_get(root, "storage_data");
        const struct value *tensors = value_get(root, "state_dict_metadata");
        if (!places || !tensors || places->kind != VALUE_DICT || tensors->kind != VALUE_DICT)
                return refuse(why, nwhy, "it is no metadata of torch.distributed.checkpoint");
        v = calloc(places->n / 2 + 1, sizeof *v);
        if (!v)
                return -ENOMEM;
        err = read_items(places, tensors, v, nout, why, nwhy);
        if (!err)
                *out = TAKE_PTR(v);
        return err;
}
