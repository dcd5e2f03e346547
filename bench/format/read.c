/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: see read.h; what the readers share, and safetensors. */
#include "bench/format/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/json.h"

#include "base/banned.h"

enum { HEADER_MAX = 64 << 20, DIMS_MAX = 16 };

int refuse(char *why, size_t nwhy, const char *fmt, ...)
{
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(why, nwhy, fmt, ap);
        va_end(ap);
        return -EBADMSG;
}

int source_read(const struct source *s, const struct io_range *v, size_t n, void *dst)
{
        CLEANUP(freep) struct io_range *moved = malloc((n + 1) * sizeof *moved);
        if (!moved)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                if (v[i].from > s->size || v[i].len > s->size - v[i].from)
                        return -EBADMSG;
                moved[i] = (struct io_range){s->base + v[i].from, v[i].len};
        }
        return s->read(s->arg, moved, n, dst);
}

int source_take(const struct source *s, uint64_t from, uint64_t len, char **out)
{
        const struct io_range one = {from, len};
        CLEANUP(freep) char *p = len < SIZE_MAX ? malloc((size_t)len + 1) : NULL;
        if (!p)
                return -ENOMEM;
        p[len] = 0;
        int err = source_read(s, &one, 1, p);
        if (!err)
                *out = TAKE_PTR(p);
        return err;
}

static int make_room(struct found *f)
{
        size_t room = f->room ? 2 * f->room : 64;
        struct shard_piece *v = realloc(f->shard.v, room * sizeof *v);
        if (v)
                f->shard.v = v;
        struct io_range *at = realloc(f->at, room * sizeof *at);
        if (at)
                f->at = at;
        uint32_t *crc = realloc(f->crc, room * sizeof *crc);
        if (crc)
                f->crc = crc;
        if (!v || !at || !crc)
                return -ENOMEM;
        f->room = room;
        return 0;
}

int found_add(struct found *f, const char *name, size_t n, struct io_range at, unsigned elem,
              uint32_t crc)
{
        struct shard *s = &f->shard;
        if (s->n == FOUND_MAX)
                return -EBADMSG;
        if (s->n == f->room && make_room(f))
                return -ENOMEM;
        struct shard_piece *p = &s->v[s->n];
        *p = (struct shard_piece){.id = s->n + 1,
                                  .off = s->size,
                                  .len = at.len,
                                  .rows = at.len / elem,
                                  .cols = 1,
                                  .elem = elem};
        if (n >= sizeof p->name)
                n = sizeof p->name - 1;
        for (size_t i = 0; i < n; i++) /* it is shown in messages */
                p->name[i] = (unsigned char)name[i] < 32 || name[i] == 127 ? '?' : name[i];
        f->at[s->n] = at;
        f->crc[s->n++] = crc;
        s->size += at.len;
        return 0;
}

void found_release(struct found *f)
{
        shard_release(&f->shard);
        free(f->at);
        free(f->crc);
        *f = (struct found){0};
}

/* A tensor as the header describes it. */
struct entry {
        const char *name;
        uint64_t begin, end;
        unsigned elem;
};

static int by_begin(const void *a, const void *b)
{
        const struct entry *x = a, *y = b;
        if (x->begin != y->begin)
                return x->begin < y->begin ? -1 : 1;
        return (x->end > y->end) - (x->end < y->end);
}

/* 0, or -EBADMSG when it is no whole number from 0 to 2^53. */
static int whole(const struct json *j, uint64_t *out)
{
        double v = json_number(j, -1);
        if (!(v >= 0 && v <= 9007199254740992.0) || v != (double)(uint64_t)v)
                return -EBADMSG;
        *out = (uint64_t)v;
        return 0;
}

static unsigned elem_of(const char *dtype)
{
        static const struct {
                const char *name;
                unsigned bytes;
        } dtypes[] = {{"F64", 8},     {"I64", 8},     {"U64", 8},  {"F32", 4}, {"I32", 4},
                      {"U32", 4},     {"F16", 2},     {"BF16", 2}, {"I16", 2}, {"U16", 2},
                      {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I8", 1},   {"U8", 1},  {"BOOL", 1}};
        for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
                if (!strcmp(dtypes[i].name, dtype))
                        return dtypes[i].bytes;
        return 0;
}

/* 0, or -EBADMSG when its type is unknown or shape and place do not agree. */
static int read_entry(const struct json *j, struct entry *e)
{
        const struct json *shape = json_get(j, "shape"), *at = json_get(j, "data_offsets");
        uint64_t bytes, dim;

        e->name = json_name(j);
        e->elem = elem_of(json_string(json_get(j, "dtype"), ""));
        if (!e->elem || !json_is_array(shape) || json_count(shape) > DIMS_MAX ||
            json_count(at) != 2 || whole(json_at(at, 0), &e->begin) ||
            whole(json_at(at, 1), &e->end))
                return -EBADMSG;
        bytes = e->elem;
        for (size_t i = 0; i < json_count(shape); i++)
                if (whole(json_at(shape, i), &dim) || __builtin_mul_overflow(bytes, dim, &bytes))
                        return -EBADMSG;
        return e->end >= e->begin && e->end - e->begin == bytes ? 0 : -EBADMSG;
}

/* The entries in the order of the file: they fill it, without gaps. */
static int read_entries(const struct json *header, uint64_t data, uint64_t size, struct found *out,
                        char *why, size_t nwhy)
{
        size_t most = json_count(header), n = 0;
        CLEANUP(freep) struct entry *v = calloc(most + 1, sizeof *v);
        uint64_t end = 0;

        if (!v)
                return -ENOMEM;
        for (const struct json *j = json_first(header); j; j = json_next(j)) {
                if (!strcmp(json_name(j), "__metadata__"))
                        continue;
                if (read_entry(j, &v[n++]))
                        return refuse(why, nwhy,
                                      "the header's entry '%.60s' has no dtype, shape and "
                                      "data_offsets that agree",
                                      json_name(j));
        }
        qsort(v, n, sizeof *v, by_begin);
        for (size_t i = 0; i < n; end = v[i++].end) {
                if (v[i].begin != end || v[i].end > size - data)
                        return refuse(why, nwhy,
                                      "the header's entry '%.60s' overlaps another, leaves a gap "
                                      "or reaches beyond the file",
                                      v[i].name);
                const struct io_range at = {data + v[i].begin, v[i].end - v[i].begin};
                int err = found_add(out, v[i].name, strlen(v[i].name), at, v[i].elem, 0);
                if (err)
                        return err == -EBADMSG ? refuse(why, nwhy, "it has too many tensors") : err;
        }
        if (end != size - data)
                return refuse(why, nwhy, "the file is longer than its tensors");
        return 0;
}

/* What load_file() of the safetensors library reads: github.com/huggingface/safetensors, "Format".
 */
static int safetensors_read(const struct source *s, struct found *out, char *why, size_t nwhy)
{
        CLEANUP(freep) char *text = NULL;
        CLEANUP(json_freep) struct json *header = NULL;
        unsigned char length[8] = {0};
        uint64_t n = 0;

        if (s->size < sizeof length)
                return refuse(why, nwhy, "it is too short for a header");
        int err = source_read(s, &(struct io_range){0, sizeof length}, 1, length);
        if (err)
                return err;
        for (unsigned i = 0; i < sizeof length; i++)
                n |= (uint64_t)length[i] << (8 * i);
        if (n > HEADER_MAX || n > s->size - sizeof length)
                return refuse(why, nwhy, "its header would have %llu bytes", (unsigned long long)n);
        err = source_take(s, sizeof length, n, &text);
        if (err)
                return err;
        if (json_parse("header", text, n, &header, why, nwhy) || !json_is_object(header))
                return refuse(why, nwhy, "its header is no JSON object");
        return read_entries(header, sizeof length + n, s->size, out, why, nwhy);
}

int any_read(const struct source *s, struct found *out, char *why, size_t nwhy)
{
        char magic[9] = "";
        uint64_t n = s->size < 9 ? s->size : 9;
        int err = source_read(s, &(struct io_range){0, n}, 1, magic);

        if (err)
                return err;
        if (n == 9 && magic[8] == '{')
                return safetensors_read(s, out, why, nwhy);
        if (n > 4 && !memcmp(magic, "PK\x03\x04", 4))
                return torch_read(s, out, why, nwhy);
        return refuse(why, nwhy, "it is neither safetensors nor what torch.save() writes");
}
