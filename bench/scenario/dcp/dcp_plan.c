/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_plan.c: which bytes of which files one rank needs, by the plan that a save left in its
 * .metadata: no more than its rows, whatever ranks saved them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/scenario/dcp/dcp.h"

#include "base/banned.h"

static int by_place(const void *a, const void *b)
{
        const struct dcp_item *x = a, *y = b;
        int files = strcmp(x->file, y->file);
        return files ? files : (x->off > y->off) - (x->off < y->off);
}

static int by_name(const void *a, const void *b)
{
        const struct shard_piece *x = a, *y = b;
        return strcmp(x->name, y->name);
}

/* Reads of a file of the checkpoint, for archives that somebody else made. */
struct peek {
        struct io *io;
        const char *file;
};

static int peek_ranges(void *arg, const struct io_range *v, size_t n, void *dst)
{
        const struct peek *p = arg;
        struct io_data d = {.ranges = v, .nranges = n, .mem = dst};
        struct sample ignored;
        for (size_t i = 0; i < n; i++)
                d.size += v[i].len;
        return d.size ? timed_load_file(p->io, p->file, &d, &ignored) : 0;
}

/* Where the tensor's bytes begin in the file. */
static int find_data(struct dcp_job *j, const struct dcp_item *it, uint64_t *from)
{
        struct peek p = {j->timed.io, it->file};
        char why[200] = "";

        int err = dcp_find_data(it, peek_ranges, &p, from, why, sizeof why);
        if (err == -EBADMSG)
                run_error(j->run, "%s/%s: %s at byte %llu: %s", j->dir, it->file, it->name,
                          (unsigned long long)it->off, why);
        return err;
}

/* The next file that is read, with room for n ranges; the last item in it ends at `whole`. */
static struct dcp_file *add_file(struct dcp_job *j, const char *name, size_t n, uint64_t whole)
{
        struct dcp_files *fs = &j->files;
        struct dcp_file **v = realloc(fs->v, (fs->n + 1) * sizeof *v);
        if (v)
                fs->v = v;
        struct dcp_file *f = calloc(1, sizeof *f);
        if (f) {
                snprintf(f->name, sizeof f->name, "%s", name);
                f->whole = whole;
                f->ranges = calloc(n, sizeof *f->ranges);
                f->payload.shard.v = calloc(n, sizeof *f->payload.shard.v);
                f->payload.shard.seed = j->plan.seed;
        }
        if (!v || !f || !f->ranges || !f->payload.shard.v) {
                if (f) {
                        shard_release(&f->payload.shard);
                        free(f->ranges);
                }
                free(f);
                return NULL;
        }
        return fs->v[fs->n++] = f;
}

static void add_range(struct dcp_file *f, const struct shard_piece *piece, uint64_t from)
{
        struct shard *s = &f->payload.shard;
        f->ranges[s->n] = (struct io_range){from, piece->len};
        s->v[s->n] = *piece;
        s->v[s->n++].off = s->size;
        s->size += piece->len;
}

/* What this rank needs of one item, if anything, as a piece. */
static bool wanted(const struct shard_piece *mine, const struct shard_piece *item,
                   struct shard_piece *out)
{
        uint64_t begin = item->tensor_off, end = begin + item->len;
        if (mine->tensor_off > begin)
                begin = mine->tensor_off;
        if (mine->tensor_off + mine->len < end)
                end = mine->tensor_off + mine->len;
        *out = *item;
        out->tensor_off = begin;
        out->len = begin < end ? end - begin : 0;
        return begin < end;
}

/* The item as a piece of the model's tensor; NULL when the model has none of its shape. */
static const struct shard_piece *match(const struct shard *all, const struct dcp_item *it,
                                       struct shard_piece *out)
{
        struct shard_piece key;
        memcpy(key.name, it->name, sizeof key.name);
        const struct shard_piece *t = bsearch(&key, all->v, all->n, sizeof key, by_name);
        if (!t || t->rows != it->rows || t->cols != it->cols || t->elem != it->elem ||
            it->first > it->rows || it->count > it->rows - it->first)
                return NULL;
        *out = *t;
        out->tensor_off = it->first * it->cols * it->elem;
        out->len = it->count * it->cols * it->elem;
        return t;
}

/* How many of the items lie in the file of the first. */
static size_t of_file(const struct dcp_item *v, size_t n)
{
        size_t same = 1;
        while (same < n && !strcmp(v[same].file, v->file))
                same++;
        return same;
}

/* One item, which `left` - 1 others follow; *f is the file that is filled. */
static int plan_item(struct dcp_job *j, const struct shard *all, const struct shard *mine,
                     const struct dcp_item *it, size_t left, struct dcp_file **f)
{
        struct shard_piece item, piece;
        uint64_t from = 0;
        const struct shard_piece *t = match(all, it, &item);

        if (!t) {
                run_error(j->run, "%s: tensor %s is not such as %s has: give the save's keys",
                          j->dir, it->name, j->model.name);
                return -EINVAL;
        }
        const struct shard_piece *own = bsearch(t, mine->v, mine->n, sizeof *t, by_name);
        if (!own || !wanted(own, &item, &piece))
                return 0;
        int err = find_data(j, it, &from);
        if (err)
                return err;
        if (!*f || strcmp((*f)->name, it->file)) {
                const size_t n = of_file(it, left);
                *f = add_file(j, it->file, n, it[n - 1].off + it[n - 1].len);
        }
        if (!*f)
                return -ENOMEM;
        add_range(*f, &piece, from + piece.tensor_off - item.tensor_off);
        return 0;
}

int dcp_plan_load(struct dcp_job *j, struct dcp_item *v, size_t n)
{
        CLEANUP(shard_release) struct shard all = {0};
        CLEANUP(shard_release) struct shard mine = {0};
        struct dcp_file *f = NULL;
        uint64_t planned = 0;

        int err = shard_plan(&j->model, j->plan.optimizer, SHARD_ROWS, 0, 1, &all);
        unsigned group = j->fsdp ? j->plan.group : 1;
        if (!err)
                err = shard_plan(&j->model, j->plan.optimizer, SHARD_ROWS, j->part.rank % group,
                                 group, &mine);
        if (err)
                return err;
        j->needed = mine.size;
        qsort(all.v, all.n, sizeof *all.v, by_name);
        if (mine.n)
                qsort(mine.v, mine.n, sizeof *mine.v, by_name);
        qsort(v, n, sizeof *v, by_place);
        for (size_t i = 0; i < n && !err; i++)
                err = plan_item(j, &all, &mine, &v[i], n - i, &f);
        for (size_t i = 0; i < j->files.n && !err; i++) {
                struct dcp_file *each = j->files.v[i];
                payload_init(&each->payload, j->plan.verify);
                each->payload.data.ranges = each->ranges;
                each->payload.data.nranges = each->payload.shard.n;
                planned += each->payload.data.size;
        }
        if (!err && planned != mine.size) {
                run_error(
                        j->run,
                        "%s has %llu of the %llu bytes that this rank needs: give the save's keys",
                        j->dir, (unsigned long long)planned, (unsigned long long)mine.size);
                err = -EINVAL;
        }
        return err;
}
