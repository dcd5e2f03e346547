/* SPDX-License-Identifier: Apache-2.0 */
/* read_torch.c: finds the tensors in what torch.save() wrote (torch/serialization.py and _utils.py
 * say what that is): a zip whose data.pkl describes the objects and whose data/KEY are the bytes of
 * storages, which tensors are views of. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bench/format/read.h"
#include "bench/format/unpickle.h"
#include "bench/format/unzip.h"

#include "base/banned.h"

enum { DEPTH_MAX = 64, PATH_MOST = 256, DIMS_MAX = 16, VISITS_MAX = 4 << 20 };

/* The tensors of a pickle, on the way through its values. */
struct walk {
        const struct unzip *zip;
        const char *root; /* of its names */
        size_t nroot;
        struct zip_member **v; /* storages in the order of the pickle, */
        char (*names)[64];     /* what they are called */
        unsigned *elems;
        size_t n, room, visited; /* `visited` counts entries: values may be shared */
        struct buf path;
        char *why;
        size_t nwhy;
};

/* The bytes of an element of a storage class; 0: unknown. */
static unsigned storage_elem(const struct value *cls)
{
        static const struct {
                const char *name;
                unsigned bytes;
        } classes[] = {
                {"DoubleStorage", 8},   {"FloatStorage", 4},        {"HalfStorage", 2},
                {"BFloat16Storage", 2}, {"LongStorage", 8},         {"IntStorage", 4},
                {"ShortStorage", 2},    {"CharStorage", 1},         {"ByteStorage", 1},
                {"BoolStorage", 1},     {"ComplexFloatStorage", 8}, {"ComplexDoubleStorage", 16},
                {"UntypedStorage", 1}};
        for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
                if (value_is_global(cls, "torch", classes[i].name) ||
                    value_is_global(cls, "torch.storage", classes[i].name))
                        return classes[i].bytes;
        return 0;
}

static int add_storage(struct walk *w, struct zip_member *m, unsigned elem)
{
        if (w->n == w->room)
                return refuse(w->why, w->nwhy, "data.pkl has more storages than the archive");
        m->used = true;
        w->v[w->n] = m;
        w->elems[w->n] = elem;
        snprintf(w->names[w->n++], sizeof w->names[0], "%s", w->path.p);
        return 0;
}

/* ("storage", class, key, device, elements): the entry data/KEY, met for the first time or again.
 */
static int visit_storage(struct walk *w, const struct value *stored, uint64_t *elements)
{
        const struct value *id = value_at(stored, 0), *key = value_at(id, 2);
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        unsigned elem = storage_elem(value_at(id, 1));

        if (!value_is_text(value_at(id, 0), "storage") || !elem || !key ||
            key->kind != VALUE_TEXT || key->n > PATH_MOST || value_uint(value_at(id, 4), elements))
                return refuse(w->why, w->nwhy, "the storage of '%.60s' is of no known kind",
                              w->path.p);
        buf_add(&name, w->root, w->nroot);
        buf_adds(&name, "data/");
        buf_add(&name, key->text, key->n);
        if (name.failed)
                return -ENOMEM;
        struct zip_member *m = unzip_find(w->zip, name.p, name.len);
        if (!m || *elements > m->size / elem || *elements * elem != m->size)
                return refuse(w->why, w->nwhy,
                              "the storage of '%.60s' is not in the archive, or of another size",
                              w->path.p);
        return m->used ? 0 : add_storage(w, m, elem);
}

/* (storage, offset, size, stride, ...): a view, which must lie in its storage. */
static int visit_tensor(struct walk *w, const struct value *args)
{
        const struct value *size = value_at(args, 2), *stride = value_at(args, 3);
        uint64_t elements = 0, last, dim, step;
        bool empty = false;
        int err = visit_storage(w, value_at(args, 0), &elements);

        if (err)
                return err;
        bool ok = size && stride && size->n == stride->n && size->n <= DIMS_MAX &&
                  !value_uint(value_at(args, 1), &last);
        for (size_t i = 0; ok && i < size->n; i++) {
                ok = !value_uint(value_at(size, i), &dim) &&
                     !value_uint(value_at(stride, i), &step);
                empty |= ok && !dim;
                ok = ok && (!dim || (!__builtin_mul_overflow(dim - 1, step, &step) &&
                                     !__builtin_add_overflow(last, step, &last)));
        }
        if (!ok || (!empty && last >= elements))
                return refuse(w->why, w->nwhy, "the tensor '%.60s' reaches beyond its storage",
                              w->path.p);
        return 0;
}

static int visit(struct walk *w, const struct value *v, unsigned depth);

/* One entry, whose key becomes a part of the name. */
static int visit_entry(struct walk *w, const struct value *key, size_t index, const struct value *v,
                       unsigned depth)
{
        size_t len = w->path.len;
        int err = 0;

        if (++w->visited > VISITS_MAX)
                return refuse(w->why, w->nwhy, "data.pkl has too many entries");
        if (v->kind != VALUE_DICT && v->kind != VALUE_CALL && v->kind != VALUE_LIST &&
            v->kind != VALUE_TUPLE && v->kind != VALUE_STORED)
                return 0; /* numbers and texts have no bytes of their own */
        if (len)
                buf_addc(&w->path, '.');
        if (key && key->kind == VALUE_TEXT)
                buf_add(&w->path, key->text, key->n < PATH_MOST ? key->n : PATH_MOST);
        else
                buf_addf(&w->path, "%lld",
                         key && key->kind == VALUE_INT ? (long long)key->i : (long long)index);
        if (w->path.failed)
                return -ENOMEM;
        err = visit(w, v, depth + 1);
        w->path.len = len;
        w->path.p[len] = 0;
        return err;
}

static int visit_call(struct walk *w, const struct value *v, unsigned depth)
{
        const struct value *args = value_at(v, 1);
        if (value_is_call(v, "torch._utils", "_rebuild_tensor_v2") ||
            value_is_call(v, "torch._utils", "_rebuild_tensor"))
                return visit_tensor(w, args);
        if (value_is_call(v, "torch._utils", "_rebuild_tensor_v3")) {
                uint64_t elements;
                return visit_storage(w, value_at(args, 0), &elements);
        }
        if ((value_is_call(v, "torch._utils", "_rebuild_parameter") ||
             value_is_call(v, "torch._utils", "_rebuild_parameter_with_state")) &&
            value_at(args, 0))
                return visit(w, value_at(args, 0), depth + 1);
        /* another object: what it was given, and its state */
        int err = args ? visit(w, args, depth + 1) : 0;
        return !err && value_at(v, 2) ? visit(w, value_at(v, 2), depth + 1) : err;
}

static int visit(struct walk *w, const struct value *v, unsigned depth)
{
        uint64_t elements;
        int err = 0;

        if (depth > DEPTH_MAX)
                return refuse(w->why, w->nwhy, "data.pkl is nested too deeply");
        switch (v->kind) {
        case VALUE_DICT:
                for (size_t i = 0; i + 1 < v->n && !err; i += 2)
                        err = visit_entry(w, v->v[i], i / 2, v->v[i + 1], depth);
                return err;
        case VALUE_LIST:
        case VALUE_TUPLE:
                for (size_t i = 0; i < v->n && !err; i++)
                        err = visit_entry(w, NULL, i, v->v[i], depth);
                return err;
        case VALUE_CALL:
                return visit_call(w, v, depth);
        case VALUE_STORED:
                return visit_storage(w, v, &elements);
        case VALUE_NONE:
        case VALUE_INT:
        case VALUE_FLOAT:
        case VALUE_TEXT:
        case VALUE_GLOBAL:
                return 0;
        }
        return 0;
}

static int read_pickle(const struct source *s, struct walk *w, char **text)
{
        CLEANUP(unpickled_freep) struct unpickled *all = NULL;
        const struct value *root = NULL;
        struct zip_member *pkl;
        char why[160] = "";

        if (unzip_root(w->zip, &w->root, &w->nroot))
                return refuse(w->why, w->nwhy, "the archive has no data.pkl");
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        buf_add(&name, w->root, w->nroot);
        buf_adds(&name, "data.pkl");
        pkl = name.failed ? NULL : unzip_find(w->zip, name.p, name.len);
        if (!pkl)
                return -ENOMEM;
        if (pkl->size > UNPICKLE_MAX)
                return refuse(w->why, w->nwhy, "data.pkl has more than 256 MiB");
        int err = unzip_locate(s, &pkl, 1, w->why, w->nwhy);
        if (!err)
                err = source_take(s, pkl->data, pkl->size, text);
        if (!err) {
                err = unpickle(*text, pkl->size, &all, &root, why, sizeof why);
                if (err == -EBADMSG)
                        refuse(w->why, w->nwhy, "data.pkl: %s", why);
        }
        return err ? err : visit(w, root, 0);
}

int torch_read(const struct source *s, struct found *out, char *why, size_t nwhy)
{
        CLEANUP(unzip_release) struct unzip zip = {0};
        CLEANUP(freep) char *text = NULL;
        struct walk w = {.zip = &zip, .path = BUF_INIT, .why = why, .nwhy = nwhy};

        int err = unzip_read(s, &zip, why, nwhy);
        if (err)
                return err;
        w.room = zip.n;
        w.v = calloc(zip.n + 1, sizeof *w.v);
        w.names = calloc(zip.n + 1, sizeof *w.names);
        w.elems = calloc(zip.n + 1, sizeof *w.elems);
        err = w.v && w.names && w.elems ? read_pickle(s, &w, &text) : -ENOMEM;
        if (!err)
                err = unzip_locate(s, w.v, w.n, why, nwhy);
        out->has_crc = true;
        for (size_t i = 0; i < w.n && !err; i++) {
                const struct io_range at = {w.v[i]->data, w.v[i]->size};
                err = found_add(out, w.names[i], strlen(w.names[i]), at, w.elems[i], w.v[i]->crc);
        }
        free(w.v);
        free(w.names);
        free(w.elems);
        buf_release(&w.path);
        return err;
}
