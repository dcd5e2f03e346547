/* SPDX-License-Identifier: Apache-2.0 */
/* train_resume.c: see train_resume.h. Nothing that was saved is believed: tensors are looked up by
 * name and shape, and compared with their checksums. */
#include "bench/scenario/train/train_resume.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/format/dcp.h"
#include "bench/format/read.h"
#include "bench/measure/timed.h"
#include "bench/train/train_state.h"

#include "base/banned.h"

enum { METADATA_MAX = 256 << 20 };

struct resume {
        struct io *io;
        bool verify; /* what is wanted in part is read whole, since only then it can be checked */
        struct train_state state;
        char dir[PATH_MAX / 2], file[PATH_MAX]; /* what is read */
        struct found found;                     /* of a file */
        char why[512];
        const char *remedy; /* that comes before the usual one; NULL: none */
};

static int read_ranges(void *arg, const struct io_range *v, size_t n, void *dst)
{
        struct resume *r = arg;
        struct io_data d = {.ranges = v, .nranges = n, .mem = dst};
        struct sample ignored;

        for (size_t i = 0; i < n; i++)
                d.size += v[i].len;
        return d.size ? timed_load_file(r->io, r->file, &d, &ignored) : 0;
}

/* Reads n bytes from `from` on. */
static int read_at(struct resume *r, uint64_t from, uint64_t n, char *to)
{
        return read_ranges(r, &(struct io_range){from, n}, 1, to);
}

/* --- a file --- */

static size_t find(const struct found *f, const struct shard_piece *want)
{
        size_t i = 0;
        while (i < f->shard.n && strcmp(f->shard.v[i].name, want->name) != 0)
                i++;
        return i;
}

/* Tensor i of the file, all of it. */
static int take_tensor(struct resume *r, size_t i, char *to)
{
        const struct shard_piece *p = &r->found.shard.v[i];
        int err = read_at(r, r->found.at[i].from, p->len, to);

        if (!err && r->found.has_crc && crc32(0, to, p->len) != r->found.crc[i])
                return refuse(r->why, sizeof r->why, "%s differs from its checksum", p->name);
        return err;
}

/* What SGD has saved has all but the moments. */
static int refuse_lacking(struct resume *r, const struct shard_piece *want)
{
        if (!train_state_moment(want->name))
                return refuse(r->why, sizeof r->why, "it has no tensor %s", want->name);
        r->remedy = "give optimizer.name=sgd, or ";
        return refuse(r->why, sizeof r->why,
                      "it has no %s, which AdamW needs and optimizer.name=sgd does not save",
                      want->name);
}

/* One tensor of the state, or this rank's part of it, to its place. */
static int take_from_file(struct resume *r, const struct shard_piece *want, char *to)
{
        const uint64_t all = want->rows * want->cols * want->elem;
        size_t i = find(&r->found, want);

        if (i == r->found.shard.n && train_state_optional(want->name))
                return 0;
        if (i == r->found.shard.n)
                return refuse_lacking(r, want);
        const struct shard_piece *p = &r->found.shard.v[i];
        if (p->elem != want->elem || p->len != all)
                return refuse(r->why, sizeof r->why,
                              "%s has %llu bytes and the model wants %llu in fp32", want->name,
                              (unsigned long long)p->len, (unsigned long long)all);
        if (want->len == all)
                return take_tensor(r, i, to);
        if (!r->verify || !r->found.has_crc)
                return read_at(r, r->found.at[i].from + want->tensor_off, want->len, to);
        CLEANUP(freep) char *whole = malloc(all + 1);
        int err = whole ? take_tensor(r, i, whole) : -ENOMEM;
        if (!err)
                memcpy(to, whole + want->tensor_off, want->len);
        return err;
}

static int read_file(struct resume *r)
{
        const struct shard *s = &r->state.trained;
        struct source all = {.read = read_ranges, .arg = r};
        int err = r->io->ops->size(r->io, r->file, &all.size);

        if (!err)
                err = any_read(&all, &r->found, r->why, sizeof r->why);
        for (size_t i = 0; i < s->n && !err; i++)
                err = take_from_file(r, &s->v[i], (char *)r->state.host + s->v[i].off);
        return err;
}

/* --- a directory --- */

static int read_memory(void *arg, const struct io_range *v, size_t n, void *dst)
{
        char *to = dst;
        for (size_t i = 0; i < n; to += v[i++].len)
                memcpy(to, (const char *)arg + v[i].from, v[i].len);
        return 0;
}

/* All of an item: its archive in one read, compared with its checksum. */
static int take_item(struct resume *r, const struct dcp_item *it, char *to, uint64_t bytes)
{
        CLEANUP(freep) char *archive = it->len < SIZE_MAX ? malloc(it->len + 1) : NULL;
        CLEANUP(found_release) struct found found = {0};
        const struct source s = {.size = it->len, .read = read_memory, .arg = archive};

        if (!archive)
                return -ENOMEM;
        int err = read_at(r, it->off, it->len, archive);
        if (!err)
                err = torch_read(&s, &found, r->why, sizeof r->why);
        if (err)
                return err;
        if (found.shard.n != 1 || found.shard.size != bytes)
                return refuse(r->why, sizeof r->why, "%s of %s is not one tensor of %llu bytes",
                              it->name, it->file, (unsigned long long)bytes);
        memcpy(to, archive + found.at[0].from, bytes);
        const uint32_t crc = found.has_crc || it->has_crc ? crc32(0, to, bytes) : 0;
        if (found.has_crc && crc != found.crc[0])
                return refuse(r->why, sizeof r->why, "%s of %s differs from its checksum", it->name,
                              it->file);
        if (it->has_crc && crc != it->crc)
                return refuse(r->why, sizeof r->why, "%s of %s is that of another save or rank",
                              it->name, it->file);
        return 0;
}

/* n bytes of an item from `from` on, which has `bytes`. */
static int take_part(struct resume *r, const struct dcp_item *it, uint64_t from, uint64_t n,
                     uint64_t bytes, char *to)
{
        uint64_t data;

        if (!r->verify) {
                int err = dcp_find_data(it, read_ranges, r, &data, r->why, sizeof r->why);
                return err ? err : read_at(r, data + from, n, to);
        }
        CLEANUP(freep) char *whole = malloc(bytes + 1);
        int err = whole ? take_item(r, it, whole, bytes) : -ENOMEM;
        if (!err)
                memcpy(to, whole + from, n);
        return err;
}

/* What the item has of the piece, which is to lie at `to`; *got grows by its bytes. */
static int take_overlap(struct resume *r, const struct dcp_item *it, const struct shard_piece *want,
                        char *to, uint64_t *got)
{
        const uint64_t row = it->cols * it->elem, begin = it->first * row;
        const uint64_t end = begin + it->count * row, want_end = want->tensor_off + want->len;
        const uint64_t from = begin > want->tensor_off ? begin : want->tensor_off;
        const uint64_t until = end < want_end ? end : want_end;

        if (from >= until)
                return 0;
        if (from != want->tensor_off + *got)
                return refuse(r->why, sizeof r->why, "pieces of %s overlap or leave a gap",
                              want->name);
        *got += until - from;
        to += from - want->tensor_off;
        snprintf(r->file, sizeof r->file, "%s/%s", r->dir, it->file);
        if (from == begin && until == end)
                return take_item(r, it, to, end - begin);
        return take_part(r, it, from - begin, until - from, end - begin, to);
}

/* Whether the item is of a tensor of the piece's shape: torch has further dimensions of 1. */
static bool fits(const struct dcp_item *it, const struct shard_piece *want)
{
        bool same = it->rows == want->rows && it->cols == want->cols;
        bool lead = want->lead && it->rows == 1 && it->cols == want->rows * want->cols;

        return it->elem == want->elem && (same || lead) && it->first <= it->rows &&
               it->count <= it->rows - it->first;
}

/* One tensor of the state, or this rank's part of it, out of those items, which are by name. */
static int take_from_items(struct resume *r, const struct dcp_item *v, size_t n,
                           const struct shard_piece *want)
{
        char *to = (char *)r->state.host + want->off;
        uint64_t got = 0;
        size_t lo = 0, hi = n;
        int err = 0;

        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;
                if (strcmp(v[mid].name, want->name) < 0)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        const bool lacks = lo == n || strcmp(v[lo].name, want->name) != 0;
        if (lacks && train_state_optional(want->name))
                return 0;
        if (lacks)
                return refuse_lacking(r, want);
        for (; lo < n && !err && !strcmp(v[lo].name, want->name); lo++) {
                if (!fits(&v[lo], want))
                        return refuse(r->why, sizeof r->why,
                                      "%s has another shape than the model's", want->name);
                err = take_overlap(r, &v[lo], want, to, &got);
        }
        if (!err && got != want->len)
                return refuse(r->why, sizeof r->why, "it has %llu of the %llu bytes of %s",
                              (unsigned long long)got, (unsigned long long)want->len, want->name);
        return err;
}

static int read_dir(struct resume *r, uint64_t size)
{
        CLEANUP(freep) struct dcp_item *items = NULL;
        CLEANUP(freep) char *text = size > METADATA_MAX ? NULL : malloc(size + 1);
        const struct shard *s = &r->state.trained;
        size_t n = 0;

        if (!text)
                return size > METADATA_MAX ? -EFBIG : -ENOMEM;
        int err = read_at(r, 0, size, text);
        if (!err)
                err = dcp_read(text, size, &items, &n, r->why, sizeof r->why);
        if (!err)
                qsort(items, n, sizeof *items, dcp_by_tensor);
        for (size_t i = 0; i < s->n && !err; i++)
                err = take_from_items(r, items, n, &s->v[i]);
        return err;
}

/* --- both --- */

/* A directory is what has .metadata; what it is where that cannot be asked, a file tells. */
static int read_state(struct resume *r, const char *name)
{
        char why[sizeof r->io->why];
        size_t n = strlen(name);
        uint64_t size;

        while (n && name[n - 1] == '/')
                n--;
        if (n >= sizeof r->dir)
                return -ENAMETOOLONG;
        snprintf(r->dir, sizeof r->dir, "%.*s", (int)n, name);
        snprintf(r->file, sizeof r->file, "%s/" DCP_METADATA, r->dir);
        const int err = r->io->ops->size(r->io, r->file, &size);
        if (!err)
                return read_dir(r, size);
        memcpy(why, r->io->why, sizeof why);
        *r->io->why = 0;
        snprintf(r->file, sizeof r->file, "%s", r->dir);
        const int of_file = read_file(r);
        if (of_file != -ENOENT || err == -ENOENT || err == -ENOTDIR)
                return of_file;
        memcpy(r->io->why, why, sizeof why);
        return err;
}

/* The step that a save of ours has in its name, 0: in none. */
static unsigned long long step_in(const char *dir)
{
        const char *base = strrchr(dir, '/');
        unsigned long long step;

        return sscanf(base ? base + 1 : dir, "step-%8llu", &step) == 1 ? step : 0;
}

/* What was read, from where the first of the rank's trainers has it to where another has. */
static int take_state_of_other(struct resume *r, struct trainer *t)
{
        struct train_state s = {.host = r->state.host, .bytes = r->state.bytes};
        int err = train_state_list(&s.trained, t, 1, t->coll, TRAIN_SHARE_LOADED);

        if (!err)
                err = train_state_put(&s, t);
        shard_release(&s.trained);
        return err;
}

/* Gives a trainer what it has of the save. */
static int take_state(struct resume *r, const char *name, struct trainer *t)
{
        found_release(&r->found);
        train_state_release(&r->state);
        int err = train_state_init(&r->state, t);

        if (!err)
                err = read_state(r, name);
        return err ? err : train_state_put(&r->state, t);
}

/* Gives it to all, if it is what the name says. Those that have the same read it once. */
static int take_states(struct resume *r, const char *name, struct replicas *all)
{
        const struct trainer *t = all->v;
        int err = take_state(r, name, all->v);
        const unsigned long long named = step_in(r->dir);

        for (unsigned i = 1; i < all->n && !err; i++)
                err = t->setup.sharded ? take_state(r, name, &all->v[i])
                                       : take_state_of_other(r, &all->v[i]);
        if (err == -EBADMSG && !*r->why)
                return refuse(r->why, sizeof r->why,
                              "its number of steps, or its loss scale, is none");
        if (!err && named && named != t->step)
                return refuse(r->why, sizeof r->why, "its state is that after step %llu",
                              (unsigned long long)t->step);
        return err;
}

int train_resume(const struct run *r, const struct keys *k, struct replicas *all)
{
        CLEANUP(freep) struct resume *from = calloc(1, sizeof *from);
        char why[512] = "", text[700];

        const struct io_storage *storage = io_find(k->storage, why, sizeof why);
        int err = !from ? -ENOMEM : storage ? 0 : -EINVAL;
        if (from)
                from->verify = k->verify;
        if (!err)
                err = storage->ops->start(k, k->storage, "", r->coll->rank, &from->io, why,
                                          sizeof why);
        if (!err)
                err = take_states(from, k->resume, all);
        snprintf(text, sizeof text,
                 "resume=%s: %s: %sname a file, or a directory with .metadata, that train has "
                 "saved from this model",
                 k->resume,
                 *why                                 ? why
                 : from && *from->why                 ? from->why
                 : from && from->io && *from->io->why ? from->io->why
                                                      : strerror(-err),
                 from && from->remedy ? from->remedy : "");
        if (from) {
                found_release(&from->found);
                train_state_release(&from->state);
                if (from->io)
                        storage->ops->stop(from->io, false);
        }
        return run_agree(r, err, text);
}
