/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c: the scenario "shards": each rank saves its shard of a model and loads it back. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench/format/format.h"
#include "bench/io.h"
#include "bench/measure.h"
#include "bench/run.h"
#include "bench/shard.h"
#include "bench/shards_table.h"
#include "bench/stop.h"
#include "bench/timed.h"
#include "bench/cpu.h"

#include "base/banned.h"

enum { CHECK_STEP = 16 << 20, WIPE = 0xa5, DIR_NAME_MAX = 256 };
#define NAME_FORMAT "shard-%03zu-%05u-of-%05u%s"

struct shards {
        const struct run *run;
        const struct keys *k;
        struct model model;
        const struct io_storage *storage;
        const struct format *format;
        struct shard shard;
        struct io_data data, warm;
        size_t mapped; /* bytes at data.mem */
        char dir[DIR_NAME_MAX];
        struct timed timed;
        struct sample *save, *load; /* of this rank, an epoch each */
        const char *dropped;
        bool clean; /* the directory is to go */
        struct {
                pthread_mutex_t mtx;
                struct shard_fault first;
        } fault; /* checks may run on I/O threads */
};

static int choose_model(const struct keys *k, struct model *m, char *why, size_t nwhy)
{
        uint64_t size = k->size;

        if (!strcmp(k->model, "auto")) {
                size = size ? size : 1ULL << 30;
                *m = *model_for_size(k->optimizer, size);
        } else {
                const struct model *found = model_find(k->model);
                if (!found) {
                        snprintf(why, nwhy,
                                 "model '%s' is unknown: give auto or one of model.def's: "
                                 "gpt-small to gpt-1t, L7b to L70b, mlperf-8b to mlperf-1t",
                                 k->model);
                        return -EINVAL;
                }
                *m = *found;
        }
        if (k->model_hidden) {
                m->hidden = (unsigned)k->model_hidden;
                if (m->family == MODEL_GPT)
                        m->ffn = 4 * m->hidden;
        }
        if (k->model_heads) {
                m->heads = (unsigned)k->model_heads;
                m->kv_heads = m->family == MODEL_GPT ? m->heads : m->kv_heads;
        }
        if (k->model_vocab)
                m->vocab = (unsigned)k->model_vocab;
        if (k->model_block)
                m->block = (unsigned)k->model_block;
        int err = model_check(m, why, nwhy);
        if (err)
                return err;
        if (size)
                m->layers = model_layers_for(m, k->optimizer, size);
        if (k->model_layers)
                m->layers = (unsigned)k->model_layers;
        return 0;
}

static void say_plan(const struct run *r, const struct keys *k, const struct model *m, FILE *to)
{
        uint64_t bytes = model_params(m) * model_param_bytes(m, k->optimizer);
        fprintf(to,
                "would %s on %s: %s, %u layers, %.4g M parameters, %.3f GB in %llu tensors, %u "
                "ranks, "
                "%llu epochs, files SUFFIX/" NAME_FORMAT "\n",
                k->phase == PHASE_LOAD   ? "load and verify"
                : k->phase == PHASE_SAVE ? "save and keep"
                                         : "save, load and verify",
                k->storage, m->name, m->layers, (double)model_params(m) / 1e6, (double)bytes / 1e9,
                (unsigned long long)model_ntensors(m), r->coll->ranks,
                (unsigned long long)k->epochs, (size_t)0, 0U, r->coll->ranks,
                formats[k->format].ending);
}

static int shards_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;
        if (!io_find(k->storage, why, nwhy))
                return -EINVAL;
        int err = choose_model(k, &m, why, nwhy);
        if (err)
                return err;
        if (k->phase == PHASE_LOAD && !*k->suffix) {
                snprintf(why, nwhy, "phase=load needs the directory a save made: give suffix=");
                return -EINVAL;
        }
        if (strchr(k->suffix, '/') || strlen(k->suffix) >= DIR_NAME_MAX || *k->suffix == '.') {
                snprintf(why, nwhy, "suffix=%s is no name: give that of one directory", k->suffix);
                return -EINVAL;
        }
        if (strchr(k->s3_endpoint, '@')) {
                snprintf(why, nwhy,
                         "s3.endpoint holds credentials: give them in the environment "
                         "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)");
                return -EINVAL;
        }
        if (k->payload == PAYLOAD_NULL && k->format != FORMAT_RAW) {
                snprintf(why, nwhy, "payload=null has no format: give format=raw");
                return -EINVAL;
        }
        if (dry)
                say_plan(r, k, &m, dry);
        return 0;
}

static void fail(void *arg, const char *what, int err)
{
        struct shards *s = arg;
        const struct shard_fault *f = &s->fault.first;

        if (err == -ECANCELED)
                return;
        if (err == -EBADMSG && f->piece)
                run_error(
                        s->run,
                        "%s from %s: wrong byte %llu of tensor %s (byte %llu of the rank's shard): "
                        "the storage gave other bytes than were saved",
                        what, s->k->storage,
                        (unsigned long long)(f->off - f->piece->off + f->piece->tensor_off),
                        f->piece->name, (unsigned long long)f->off);
        else
                run_error(s->run, "%s: %s", what,
                          s->timed.io && *s->timed.io->why ? s->timed.io->why : strerror(-err));
}

static void fill(void *arg, uint64_t off, void *dst, size_t len)
{
        struct shards *s = arg;
        shard_fill(&s->shard, off, dst, len);
}

static int check(void *arg, uint64_t off, const void *p, size_t len)
{
        struct shards *s = arg;
        struct shard_fault fault;

        int err = shard_check(&s->shard, off, p, len, &fault);
        if (err) {
                pthread_mutex_lock(&s->fault.mtx);
                if (!s->fault.first.piece || fault.off < s->fault.first.off)
                        s->fault.first = fault;
                pthread_mutex_unlock(&s->fault.mtx);
        }
        return err;
}

static uint64_t memory_free(void)
{
        char line[128];
        unsigned long long kb = 0;
        CLEANUP(fclosep) FILE *f = fopen("/proc/meminfo", "re");
        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
                        break;
        return kb * 1024;
}

/* Memory for the whole shard, if it is to be held; all ranks do the same. */
static int hold_shard(struct shards *s)
{
        double most = (double)s->shard.size, room = -(double)memory_free();
        int err = s->run->coll->ops->max(s->run->coll, &most, 1);
        if (!err)
                err = s->run->coll->ops->max(s->run->coll, &room, 1);
        if (err || s->k->hold == HOLD_OFF)
                return err;
        if (s->k->hold == HOLD_AUTO && most * s->run->coll->host_ranks > -room * 0.6)
                return 0;
        s->mapped = (s->shard.size + IO_ALIGN - 1) & ~(size_t)(IO_ALIGN - 1);
        char *p = mmap(NULL, s->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
                s->mapped = 0;
                return -ENOMEM;
        }
        s->data.mem = p;
        return 0;
}

/* Steps over the held shard, so that a signal is heard. */
static int for_held(struct shards *s, int (*fn)(struct shards *s, uint64_t off, size_t n))
{
        int err = 0;
        for (uint64_t off = 0; off < s->data.size && !err; off += CHECK_STEP) {
                uint64_t left = s->data.size - off;
                err = stop_wanted() ? -ECANCELED
                                    : fn(s, off, left < CHECK_STEP ? (size_t)left : CHECK_STEP);
        }
        return err;
}

static int fill_step(struct shards *s, uint64_t off, size_t n)
{
        shard_fill(&s->shard, off, s->data.mem + off, n);
        return 0;
}

static int wipe_step(struct shards *s, uint64_t off, size_t n)
{
        memset(s->data.mem + off, WIPE, n);
        return 0;
}

static int check_step(struct shards *s, uint64_t off, size_t n)
{
        return check(s, off, s->data.mem + off, n);
}

/* YYYY-MM-DD-HH-MM-xxxx of rank 0, the same for all. */
static int name_dir(struct shards *s)
{
        if (*s->k->suffix) {
                snprintf(s->dir, sizeof s->dir, "%s", s->k->suffix);
                return 0;
        }
        if (s->run->coll->rank == 0) {
                static const char letters[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
                unsigned char r[4] = {0};
                time_t now = time(NULL);
                struct tm tm;
                if (getrandom(r, sizeof r, 0) != sizeof r)
                        return -EIO;
                gmtime_r(&now, &tm);
                size_t n = strftime(s->dir, sizeof s->dir, "%Y-%m-%d-%H-%M-", &tm);
                for (size_t i = 0; i < sizeof r; i++)
                        s->dir[n++] = letters[r[i] % (sizeof letters - 1)];
                s->dir[n] = 0;
        }
        return s->run->coll->ops->bcast(s->run->coll, s->dir, sizeof s->dir);
}

/* The bytes of this rank as they are with a seed. Formats hold checksums of them. */
static int plan_bytes(struct shards *s, uint64_t seed)
{
        const struct coll *c = s->run->coll;

        shard_release(&s->shard);
        int err = shard_plan(&s->model, s->k->optimizer, SHARD_ELEMENTS, c->rank, c->ranks,
                             &s->shard);
        s->shard.seed = seed;
        s->shard.null_store = s->k->payload == PAYLOAD_NULL;
        return err ? err : s->format->wrap(&s->shard);
}

static void file_name(const struct shards *s, size_t epoch, char *out, size_t n)
{
        snprintf(out, n, NAME_FORMAT, epoch, s->run->coll->rank, s->run->coll->ranks,
                 s->format->ending);
}

static int prepare(struct shards *s)
{
        const struct run *r = s->run;
        char why[512] = "";

        int err = choose_model(s->k, &s->model, why, sizeof why);
        if (!err)
                err = plan_bytes(s, s->k->seed);
        s->data = (struct io_data){.size = s->shard.size,
                                   .fill = fill,
                                   .check = s->k->verify ? check : NULL,
                                   .arg = s};
        if (!err) {
                s->save = calloc(s->k->epochs, sizeof *s->save);
                s->load = calloc(s->k->epochs, sizeof *s->load);
                err = s->save && s->load ? 0 : -ENOMEM;
        }
        err = coll_agree(r->coll, err);
        if (!err)
                err = coll_agree(r->coll, hold_shard(s));
        if (!err)
                err = name_dir(s);
        if (err) {
                run_error(r, "cannot prepare a shard of %llu bytes: %s: try hold=off",
                          (unsigned long long)s->shard.size, strerror(-err));
                return err;
        }
        err = s->storage->ops->start(s->k, s->k->storage, s->dir, r->coll->rank, &s->timed.io, why,
                                     sizeof why);
        if (err)
                run_error(r, "%s", why);
        if (!strcmp(s->k->storage, "mount") && !err && r->coll->host_rank == 0)
                s->timed.mount =
                        s->k->mount_pid ? (pid_t)s->k->mount_pid : cpu_find_mount(s->k->mount_path);
        s->timed.server = (pid_t)s->k->server_pid;
        return coll_agree(r->coll, err);
}

static void shards_release(struct shards *s)
{
        if (s->storage && s->timed.io)
                s->storage->ops->stop(s->timed.io, s->clean);
        if (s->data.mem)
                munmap(s->data.mem, s->mapped);
        shard_release(&s->shard);
        free(s->save);
        free(s->load);
}

/* A short save and load before the clock: connections are open and code is paged in. */
static int warm_up(struct shards *s)
{
        struct sample ignored;
        char name[64];
        uint64_t n = s->k->warmup < s->shard.size ? s->k->warmup : s->shard.size;

        if (!n || s->k->phase == PHASE_LOAD)
                return 0;
        s->warm = s->data;
        s->warm.size = n;
        s->warm.check = NULL;
        snprintf(name, sizeof name, "warmup-%05u", s->run->coll->rank);
        int err = timed_save(&s->timed, name, &s->warm, &ignored, fail, s);
        if (err)
                return err;
        err = timed_load(&s->timed, name, &s->warm, &ignored, fail, s);
        int gone = s->timed.io->ops->remove(s->timed.io, name);
        if (gone)
                fail(s, "warm-up", gone);
        return coll_agree(s->run->coll, err ? err : gone);
}

static int save_epoch(struct shards *s, size_t e, const char *name)
{
        int err = s->data.mem ? for_held(s, fill_step) : 0;
        err = coll_agree(s->run->coll, err);
        return err ? err : timed_save(&s->timed, name, &s->data, &s->save[e], fail, s);
}

static int load_epoch(struct shards *s, size_t e, const char *name)
{
        bool verify = s->k->verify && !(s->timed.io->ops->flags & IO_EMPTY);
        int err = timed_drop(&s->timed, name, s->k->drop, &s->dropped, fail, s);

        if (!err)
                err = coll_agree(s->run->coll, s->data.mem && verify ? for_held(s, wipe_step) : 0);
        if (!err)
                err = timed_load(&s->timed, name, &s->data, &s->load[e], fail, s);
        if (err)
                return err;
        if (s->data.mem && verify) {
                err = for_held(s, check_step);
                if (err)
                        fail(s, "load", err);
        }
        return coll_agree(s->run->coll, err);
}

static int run_epoch(struct shards *s, size_t e)
{
        char name[64];
        int err = 0;

        file_name(s, e, name, sizeof name);
        /* an epoch's bytes cannot pass for another's */
        err = coll_agree(s->run->coll, plan_bytes(s, s->k->seed + e));
        if (!err && s->k->phase != PHASE_LOAD)
                err = save_epoch(s, e, name);
        if (!err && s->k->phase != PHASE_SAVE)
                err = load_epoch(s, e, name);
        if (s->k->phase != PHASE_BOTH || (s->k->keep && !err))
                return err;
        int gone = s->timed.io->ops->remove(s->timed.io, name);
        if (gone)
                fail(s, "remove", gone);
        return err ? err : coll_agree(s->run->coll, gone);
}

/* A run of saves that did not come to its end keeps none of them. */
static void remove_epochs(struct shards *s)
{
        char name[64];
        for (size_t e = 0; e < s->k->epochs; e++) {
                file_name(s, e, name, sizeof name);
                s->timed.io->ops->remove(s->timed.io, name);
        }
        s->clean = true;
}

/* Brings the samples of all ranks together and adds the metrics. */
static int report(struct shards *s, struct json *job)
{
        struct coll *c = s->run->coll;
        size_t epochs = s->k->epochs, n = epochs * c->ranks;
        CLEANUP(freep) struct sample *save = calloc(n, sizeof *save);
        CLEANUP(freep) struct sample *load = calloc(n, sizeof *load);
        int err = coll_agree(c, save && load ? 0 : -ENOMEM);

        for (size_t e = 0; e < epochs && !err; e++) {
                err = c->ops->gather(c, &s->save[e], sizeof *save, &save[e * c->ranks]);
                if (!err)
                        err = c->ops->gather(c, &s->load[e], sizeof *load, &load[e * c->ranks]);
        }
        if (err || !job)
                return err;
        struct shards_facts facts = {
                .keys = s->k,
                .model = &s->model,
                .ranks = c->ranks,
                .suffix = s->dir,
                .held = s->data.mem,
                .verified = s->k->verify && s->k->phase != PHASE_SAVE &&
                            !(s->timed.io->ops->flags & IO_EMPTY),
                .moves_data = !(s->timed.io->ops->flags & IO_EMPTY),
                .dropped = s->dropped,
                .mount_pid = s->timed.mount,
                .save = s->k->phase == PHASE_LOAD ? NULL : save,
                .load = s->k->phase == PHASE_SAVE ? NULL : load,
        };
        return shards_json(&facts, job);
}

static int shards_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        CLEANUP(shards_release)
        struct shards s = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
                .format = &formats[k->format],
                .timed = {.coll = r->coll},
                .dropped = "none",
                .clean = k->phase != PHASE_SAVE && !k->keep,
                .fault = {.mtx = PTHREAD_MUTEX_INITIALIZER},
        };
        int err = prepare(&s);
        if (!err)
                err = warm_up(&s);
        for (size_t e = 0; e < k->epochs && !err; e++)
                err = run_epoch(&s, e);
        if (err && k->phase == PHASE_SAVE && s.timed.io)
                remove_epochs(&s);
        return err ? err : report(&s, job);
}

const struct scenario scenario_shards = {
        .name = "shards",
        .text = "Each rank saves its shard of a model to a file or object of its own, and loads "
                "it.",
        .many_ranks = true,
        .plan = shards_plan,
        .job = shards_job,
        .table = shards_table,
        .page = shards_page,
};
