/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: the scenario "load": reads the tensors of a file that safetensors or torch.save() wrote,
 * window by window, so that memory is bounded whatever the file has. Checking stands outside the
 * clock. mode=shared: each window is fetched by one rank, which hands it to the others. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/clock.h"
#include "bench/core/cpu.h"
#include "bench/format/read.h"
#include "bench/measure/measure.h"
#include "bench/core/pattern.h"
#include "bench/core/run.h"
#include "bench/report/shards_table.h"
#include "bench/measure/stats.h"
#include "bench/core/signal_cleanup.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

enum {
        WINDOW = 32 << 20,
        PROBE = 16,         /* bytes that tell a pattern from other data */
        PROBES_MAX = 16,    /* tensors that are asked */
        LISTED_MAX = 100000 /* tensors whose checksums go into the result */
};

struct load_job {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct timed timed;
        struct found found;
        bool pattern;            /* the tensors are such as this program makes */
        struct io_range *ranges; /* of a window: as many as there are tensors */
        char *mine, *others;     /* windows: fetched here, and by another rank */
        uint32_t *crc;           /* of each tensor as it was loaded */
        uint64_t index, fetched; /* bytes that this rank asked for: headers, and tensors */
        struct sample *samples;
        double check_cpu;
        const char *dropped;
};

static void fail(void *arg, const char *what, int err)
{
        const struct load_job *j = arg;
        if (err != -ECANCELED)
                run_error(j->run, "%s of %s: %s%s", what, j->k->file,
                          j->timed.io && *j->timed.io->why ? j->timed.io->why : strerror(-err),
                          err == -ENOENT   ? ": give the name of a file that is there"
                          : err == -EACCES ? ": give one that you may read"
                                           : "");
}

/* The reader's view of the storage. */
static int read_ranges(void *arg, const struct io_range *v, size_t n, void *dst)
{
        struct load_job *j = arg;
        struct io_data d = {.ranges = v, .nranges = n, .mem = dst};
        struct sample ignored;

        for (size_t i = 0; i < n; i++)
                d.size += v[i].len;
        j->index += d.size;
        return d.size ? timed_load_file(j->timed.io, j->k->file, &d, &ignored) : 0;
}

/* Whether tensors begin as the pattern does. One is enough: then each must be right to the last
 * byte, else damage at the begin of a tensor would pass for data of another's. */
static int probe(struct load_job *j, const struct source *s)
{
        const struct shard *shard = &j->found.shard;
        CLEANUP(freep) struct io_range *at = calloc(PROBES_MAX, sizeof *at);
        CLEANUP(freep) char *got = malloc((size_t)PROBES_MAX * PROBE);
        size_t n = 0;

        if (!at || !got)
                return -ENOMEM;
        for (size_t i = 0; i < shard->n && n < PROBES_MAX; i++)
                if (shard->v[i].len >= PROBE)
                        at[n++] = (struct io_range){j->found.at[i].from, PROBE};
        int err = source_read(s, at, n, got);
        for (size_t i = 0, p = 0; i < shard->n && p < n && !err; i++) {
                struct pattern pat = {.seed = shard->seed, .id = shard->v[i].id};
                if (shard->v[i].len >= PROBE)
                        j->pattern |= pattern_check(&pat, 0, got + PROBE * p++, PROBE) < 0;
        }
        return err;
}

/* What the file holds; in every rank, so that each can check what it is handed. */
static int read_index(struct load_job *j)
{
        char why[256] = "";
        struct source s = {.read = read_ranges, .arg = j};
        int err = j->storage->ops->size(j->timed.io, j->k->file, &s.size);

        if (!err)
                err = any_read(&s, &j->found, why, sizeof why);
        j->found.shard.seed = j->k->seed;
        if (!err && j->k->verify)
                err = probe(j, &s);
        if (*why)
                run_error(j->run, "%s cannot be loaded: %s", j->k->file, why);
        else if (err)
                fail(j, "load", err);
        return err;
}

/* The ranges of the file that bytes [off, off+n) of the tensors are. */
static size_t window_ranges(struct load_job *j, uint64_t off, uint64_t n)
{
        const struct shard *s = &j->found.shard;
        size_t count = 0;
        for (size_t i = 0; i < s->n && s->v[i].off < off + n; i++) {
                const struct shard_piece *p = &s->v[i];
                uint64_t begin = p->off > off ? p->off : off;
                uint64_t end = p->off + p->len < off + n ? p->off + p->len : off + n;
                if (begin >= end)
                        continue;
                struct io_range r = {j->found.at[i].from + begin - p->off, end - begin};
                struct io_range *last = count ? &j->ranges[count - 1] : NULL;
                if (last && last->from + last->len == r.from)
                        last->len += r.len;
                else
                        j->ranges[count++] = r;
        }
        return count;
}

static uint64_t window_len(const struct load_job *j, uint64_t off)
{
        uint64_t size = j->found.shard.size;
        return off >= size ? 0 : size - off < WINDOW ? size - off : WINDOW;
}

/* Checksums of what was loaded, and whether it is right. */
static int check_window(struct load_job *j, uint64_t off, const char *p, uint64_t n)
{
        const struct shard *s = &j->found.shard;
        struct shard_fault f = {0};

        for (size_t i = 0; i < s->n && s->v[i].off < off + n; i++) {
                const struct shard_piece *piece = &s->v[i];
                uint64_t begin = piece->off > off ? piece->off : off;
                uint64_t end = piece->off + piece->len;
                end = end < off + n ? end : off + n;
                if (begin >= end)
                        continue;
                j->crc[i] = crc32(begin == piece->off ? 0 : j->crc[i], p + (begin - off),
                                  (size_t)(end - begin));
                if (j->k->verify && !j->pattern && j->found.has_crc &&
                    end == piece->off + piece->len && j->crc[i] != j->found.crc[i]) {
                        run_error(j->run,
                                  "%s: tensor %s, %" PRIu64 " bytes from byte %" PRIu64
                                  " of the file on, is not what the checksum in the file says",
                                  j->k->file, piece->name, piece->len, j->found.at[i].from);
                        return -EBADMSG;
                }
        }
        if (!j->pattern || !shard_check(s, off, p, (size_t)n, &f))
                return 0;
        uint64_t at = f.off - f.piece->off;
        run_error(j->run,
                  "%s: wrong byte %" PRIu64 " of tensor %s (byte %" PRIu64
                  " of the file): the storage gave other bytes than were saved",
                  j->k->file, at, f.piece->name, j->found.at[f.piece - s->v].from + at);
        return -EBADMSG;
}

/* Fetches the window at `off` into this rank's memory. */
static int fetch(struct load_job *j, struct io_file *f, uint64_t off)
{
        uint64_t n = window_len(j, off);
        struct io_data d = {.size = n, .mem = j->mine, .ranges = j->ranges};

        d.nranges = window_ranges(j, off, n);
        j->fetched += n;
        return n ? f->io->ops->read(f, &d) : 0;
}

/* Windows [off, off + WINDOW * ranks), one a rank; all of them reach each rank. */
static int shared_round(struct load_job *j, struct io_file *f, uint64_t off, struct sample *out)
{
        struct coll *c = j->run->coll;
        uint64_t begin = clock_ns();
        int err = coll_agree(c, fetch(j, f, off + (uint64_t)c->rank * WINDOW));

        out->transfer += clock_s(clock_ns() - begin);
        for (unsigned root = 0; root < c->ranks && !err; root++) {
                uint64_t at = off + (uint64_t)root * WINDOW, n = window_len(j, at);
                char *p = root == c->rank ? j->mine : j->others;
                begin = clock_ns();
                if (n)
                        err = c->ops->share(c, root, p, (size_t)n);
                out->transfer += clock_s(clock_ns() - begin);
                double cpu = cpu_self_s();
                err = coll_agree(c, err ? err : check_window(j, at, p, n));
                j->check_cpu += cpu_self_s() - cpu;
        }
        return err;
}

static int own_window(struct load_job *j, struct io_file *f, uint64_t off, struct sample *out)
{
        uint64_t begin = clock_ns();
        int err = fetch(j, f, off);

        out->transfer += clock_s(clock_ns() - begin);
        double cpu = cpu_self_s();
        if (!err)
                err = check_window(j, off, j->mine, window_len(j, off));
        j->check_cpu += cpu_self_s() - cpu;
        return err;
}

/* One load: the sum of what was spent on the storage and on handing over. */
static int load_all(void *arg, struct sample *out)
{
        struct load_job *j = arg;
        struct coll *c = j->run->coll;
        bool shared = j->k->mode == RESTORE_SHARED;
        const struct io_ops *ops = j->storage->ops;
        uint64_t size = j->found.shard.size, begin = clock_ns();
        struct io_file *f = NULL;

        int err = ops->open(j->timed.io, j->k->file, &f);
        out->open = clock_s(clock_ns() - begin);
        if (shared)
                err = coll_agree(c, err);
        for (uint64_t off = 0; off < size && !err;
             off += shared ? (uint64_t)WINDOW * c->ranks : WINDOW)
                err = shared ? shared_round(j, f, off, out) : own_window(j, f, off, out);
        begin = clock_ns();
        if (err && f)
                ops->abandon(f);
        else if (!err)
                err = ops->close(f);
        out->close = clock_s(clock_ns() - begin);
        out->total = out->open + out->transfer + out->close;
        out->bytes = size;
        if (err && err != -EBADMSG)
                fail(j, "load", err);
        return err;
}

static int one_load(struct load_job *j, size_t epoch)
{
        int err = timed_drop(&j->timed, j->k->file, j->k->drop, &j->dropped, fail, j);

        j->check_cpu = 0;
        if (!err)
                err = timed_work(&j->timed, j->k->file, load_all, j, &j->samples[epoch]);
        j->samples[epoch].cpu_self -= j->check_cpu;
        return err;
}

static const char *checked_by(const struct load_job *j)
{
        return !j->k->verify      ? "no"
               : j->pattern       ? "every timed byte, after the clock"
               : j->found.has_crc ? "by the checksums in the file, after the clock"
                                  : "no: the file has neither the pattern nor checksums";
}

/* The tensors with their checksums, for who wants to compare them with another copy. */
static void contents_json(const struct load_job *j, struct json *o)
{
        const struct shard *s = &j->found.shard;
        struct json *list = json_add_array(o, "contents");
        for (size_t i = 0; i < s->n && i < LISTED_MAX; i++) {
                struct json *t = json_add_object(list, NULL);
                char crc[9];
                snprintf(crc, sizeof crc, "%08" PRIx32, j->crc[i]);
                json_add_string(t, "name", s->v[i].name);
                json_add_number(t, "bytes", (double)s->v[i].len);
                json_add_string(t, "crc32", crc);
        }
}

static int report(struct load_job *j, struct json *job)
{
        struct coll *c = j->run->coll;
        size_t epochs = j->k->epochs;
        const struct shard *s = &j->found.shard;
        CLEANUP(freep) struct sample *all = NULL;
        CLEANUP(freep) double *of_ranks = calloc(2 * c->ranks, sizeof *of_ranks);
        double mine[2] = {(double)j->fetched, (double)j->index}, sum[2] = {0, 0}, elements = 0;
        int err = coll_agree(c, of_ranks ? 0 : -ENOMEM);

        if (!err)
                err = c->ops->gather(c, mine, sizeof mine, of_ranks);
        if (!err)
                err = timed_gather(c, j->samples, epochs, &all);
        if (err || !job)
                return err;
        for (size_t i = 0; i < s->n; i++)
                elements += (double)s->v[i].rows;
        struct shards_facts facts = {
                .keys = j->k,
                .file = j->k->file,
                .elements = elements,
                .bytes = (double)s->size,
                .tensors = s->n,
                .epochs = epochs,
                .ranks = c->ranks,
                .suffix = j->k->suffix,
                .verified_by = checked_by(j),
                .moves_data = true,
                .dropped = j->dropped,
                .mount_pid = j->timed.mount,
                .load = all,
        };
        err = shards_json(&facts, job);
        for (unsigned i = 0; i < c->ranks; i++) {
                sum[0] += of_ranks[2 * i];
                sum[1] += of_ranks[2 * i + 1];
        }
        struct json *o = json_add_object(job, "load");
        json_add_number(o, "fetched_bytes", sum[0]);
        json_add_number(o, "unique_bytes", (double)s->size * (double)epochs);
        json_add_number(o, "fetched_over_unique",
                        stats_ratio(sum[0], (double)s->size * (double)epochs));
        json_add_number(o, "index_bytes", sum[1]);
        contents_json(j, o);
        return err;
}

static int prepare(struct load_job *j)
{
        char why[512] = "";
        struct coll *c = j->run->coll;

        timed_init(&j->timed, c, j->k, j->k->storage);
        int err = j->storage->ops->start(j->k, j->storage->name, j->k->suffix, c->rank,
                                         &j->timed.io, why, sizeof why);
        if (err && err != -ECANCELED)
                run_error(j->run, "%s", why);
        if (!err)
                err = read_index(j);
        err = coll_agree(c, err);
        if (err)
                return err;
        j->samples = calloc(j->k->epochs, sizeof *j->samples);
        j->ranges = calloc(j->found.shard.n + 1, sizeof *j->ranges);
        j->crc = calloc(j->found.shard.n + 1, sizeof *j->crc);
        j->mine = aligned_alloc(IO_ALIGN, WINDOW);
        j->others = j->k->mode == RESTORE_SHARED ? aligned_alloc(IO_ALIGN, WINDOW) : j->mine;
        bool ok = j->samples && j->ranges && j->crc && j->mine && j->others;
        return coll_agree(c, ok ? 0 : -ENOMEM);
}

static int load_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        struct load_job j = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
                .dropped = "none",
        };
        int err = prepare(&j);

        for (size_t e = 0; e < k->epochs && !err; e++)
                err = one_load(&j, e);
        if (!err)
                err = report(&j, job);
        if (j.timed.io)
                j.storage->ops->stop(j.timed.io, false);
        found_release(&j.found);
        if (j.others != j.mine)
                free(j.others);
        free(j.mine);
        free(j.samples);
        free(j.ranges);
        free(j.crc);
        return err;
}

static int load_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        const struct io_storage *s = io_find(k->storage, why, nwhy);

        if (!s)
                return -EINVAL;
        if (!*k->file) {
                snprintf(why, nwhy, "load needs a file: give file=NAME, below %s",
                         "path, mount.path or the uri");
                return -EINVAL;
        }
        if (*k->file == '/') {
                snprintf(why, nwhy,
                         "file=%s is a name below path, mount.path or the uri: give it without "
                         "what comes before",
                         k->file);
                return -EINVAL;
        }
        if (s->ops->flags & IO_EMPTY) {
                snprintf(why, nwhy, "storage=%s keeps nothing that could be loaded: give another",
                         s->name);
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would load %s%s%s from %s in each of %u ranks, %s\n", k->suffix,
                        *k->suffix ? "/" : "", k->file, k->storage, r->coll->ranks,
                        k->mode == RESTORE_SHARED ? "fetched once" : "fetched by each");
        return 0;
}

const struct scenario scenario_load = {
        .name = "load",
        .text = "Each rank loads a file that safetensors or torch.save() wrote: file=NAME.",
        .many_ranks = true,
        .plan = load_plan,
        .job = load_job,
        .table = shards_table,
        .says = shards_says,
        .page = shards_page,
};
