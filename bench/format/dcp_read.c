/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_read.c: the pieces that a .metadata lists, ours or torch's own; see dcp.h. The classes are
 * those of torch/distributed/checkpoint: metadata.py and filesystem.py. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "bench/format/dcp.h"
#include "bench/format/read.h"
#include "bench/format/unpickle.h"

#include "base/banned.h"

enum { DIMS_MAX = 16 };

/* torch.Size((a, b, ...)) as rows and what a row has. */
static int read_size(const struct value *v, uint64_t *rows, uint64_t *cols)
{
        const struct value *dims = value_at(value_at(v, 1), 0);
        uint64_t d;

        if (!value_is_call(v, "torch", "Size") || !dims || dims->n > DIMS_MAX)
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

        if (!value_is_call(v, "torch", "Size") || !dims || dims->n > DIMS_MAX)
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

/* The chunks of all tensors. */
struct chunks {
        struct dcp_item *v;
        size_t n, room;
};

static void chunks_release(struct chunks *c)
{
        freep(&c->v);
}

static int add_chunk(struct chunks *c, const struct dcp_item *it)
{
        if (c->n == FOUND_MAX)
                return -EBADMSG;
        if (GROW(c->v, c->n, c->room, 256))
                return -ENOMEM;
        c->v[c->n++] = *it;
        return 0;
}

/* The chunks of one tensor, or one without elements for what is none. With -EBADMSG its name is in
 * *of. */
static int read_tensor(const struct value *name, const struct value *tensor, struct chunks *all,
                       struct dcp_item *of)
{
        const struct value *chunks = value_get(tensor, "chunks"), *chunk;
        uint64_t cols;

        *of = (struct dcp_item){0};
        if (copy_text(name, of->name, sizeof of->name))
                return -EBADMSG;
        if (!chunks)
                return add_chunk(all, of);
        of->elem = elem_of(tensor);
        if (!of->elem || read_size(value_get(tensor, "size"), &of->rows, &of->cols))
                return -EBADMSG;
        for (size_t i = 0; (chunk = value_at(chunks, i)); i++) {
                if (read_first(value_get(chunk, "offsets"), &of->first) ||
                    read_size(value_get(chunk, "sizes"), &of->count, &cols) || cols != of->cols)
                        return -EBADMSG;
                int err = add_chunk(all, of);
                if (err)
                        return err;
        }
        return 0;
}

/* All chunks, by tensor: each place will look for its own. */
static int read_tensors(const struct value *tensors, struct chunks *all, char *why, size_t nwhy)
{
        struct dcp_item of;
        int err = 0;

        for (size_t i = 0; i + 1 < tensors->n && !err; i += 2)
                err = read_tensor(tensors->v[i], tensors->v[i + 1], all, &of);
        if (err == -EBADMSG)
                return refuse(
                        why, nwhy,
                        "tensor '%s' is of an unknown type, not cut into whole rows, or one too "
                        "many",
                        of.name);
        if (!err && all->n)
                qsort(all->v, all->n, sizeof *all->v, dcp_by_tensor);
        return err;
}

/* 0, -EBADMSG, or -ENOENT for what is no tensor. */
static int read_place(const struct value *index, const struct value *place,
                      const struct chunks *chunks, struct dcp_item *it)
{
        const struct value *offset = value_get(index, "offset");
        const struct value *sum = value_get(place, "crc32"); /* where this program saved it */
        struct dcp_item key = {0};
        uint64_t crc = 0;

        int err = copy_text(value_get(index, "fqn"), key.name, sizeof key.name);
        *it = key; /* for who says what is wrong */
        if (err)
                return err;
        if (offset && offset->kind != VALUE_NONE && read_first(offset, &key.first))
                return -EBADMSG;
        const struct dcp_item *chunk =
                chunks->n ? bsearch(&key, chunks->v, chunks->n, sizeof key, dcp_by_tensor) : NULL;
        if (!chunk)
                return -EBADMSG;
        if (!chunk->elem)
                return -ENOENT;
        *it = *chunk;
        if (copy_text(value_get(place, "relative_path"), it->file, sizeof it->file) ||
            strchr(it->file, '/') || value_uint(value_get(place, "offset"), &it->off) ||
            value_uint(value_get(place, "length"), &it->len) || it->off > INT64_MAX ||
            it->len > INT64_MAX - it->off || (sum && value_uint(sum, &crc)) || crc > UINT32_MAX)
                return -EBADMSG;
        it->has_crc = sum != NULL;
        it->crc = (uint32_t)crc;
        return 0;
}

static int read_places(const struct value *places, const struct chunks *chunks, struct dcp_item *v,
                       size_t *n, char *why, size_t nwhy)
{
        for (size_t i = 0; i + 1 < places->n; i += 2) {
                int err = read_place(places->v[i], places->v[i + 1], chunks, &v[*n]);
                if (err == -EBADMSG)
                        return refuse(why, nwhy,
                                      "entry %zu, '%s', is no piece of a tensor that it lists",
                                      i / 2, v[*n].name);
                *n += !err;
        }
        return *n ? 0 : refuse(why, nwhy, "it lists no tensors");
}

/* Sorts the pieces by tensor: none has rows that another has, so that pieces as large as a tensor
 * are all of it. */
static int refuse_twice(struct dcp_item *v, size_t n, char *why, size_t nwhy)
{
        qsort(v, n, sizeof *v, dcp_by_tensor);
        for (size_t i = 1; i < n; i++)
                if (!strcmp(v[i].name, v[i - 1].name) &&
                    (v[i].first < v[i - 1].first || v[i].first - v[i - 1].first < v[i - 1].count))
                        return refuse(why, nwhy, "row %llu of '%s' is listed twice",
                                      (unsigned long long)v[i].first, v[i].name);
        return 0;
}

int dcp_read(const char *p, size_t n, struct dcp_item **out, size_t *nout, char *why, size_t nwhy)
{
        CLEANUP(unpickled_freep) struct unpickled *all = NULL;
        CLEANUP(chunks_release) struct chunks chunks = {0};
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
        if (places->n / 2 > FOUND_MAX)
                return refuse(why, nwhy, "it lists too many pieces");
        v = calloc(places->n / 2 + 1, sizeof *v);
        err = v ? read_tensors(tensors, &chunks, why, nwhy) : -ENOMEM;
        if (!err)
                err = read_places(places, &chunks, v, nout, why, nwhy);
        if (!err)
                err = refuse_twice(v, *nout, why, nwhy);
        if (!err)
                *out = TAKE_PTR(v);
        return err;
}
