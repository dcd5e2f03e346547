/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c: the scenario "shards": each rank saves its shard of a model and loads it back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/format.h"
#include "bench/data/run_name.h"
#include "bench/core/io.h"
#include "bench/measure/measure.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/core/run.h"
#include "bench/data/payload.h"
#include "bench/report/shards_table.h"
#include "bench/core/signal_cleanup.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

#define NAME_FORMAT "shard-%03zu-%05u-of-%05u%s"

struct shards {
        const struct run *run;
        const struct keys *k;
        struct model model;
        const struct io_storage *storage;
        const struct format *format;
        struct payload payload;
        struct io_data warm;
        char dir[FRESH_NAME_MAX];
        struct timed timed;
        const char *file;           /* at work on it, or NULL */
        struct sample *save, *load; /* of this rank, an epoch each */
        const char *dropped;
        bool clean; /* the directory is to go */
};

static void say_plan(const struct run *r, const struct keys *k, const struct model *m, FILE *to)
{
        uint64_t bytes = model_params(m) * model_param_bytes(m, k->optimizer);
        char size[BYTES_TEXT], count[BYTES_TEXT];

        fprintf(to,
                "would %s on %s: %s, %u layer%s, %s parameters, %s in %llu tensors, %u rank%s, "
                "%llu epoch%s, files SUFFIX/" NAME_FORMAT "\n",
                k->phase == PHASE_LOAD   ? "load and verify"
                : k->phase == PHASE_SAVE ? "save and keep"
                                         : "save, load and verify",
                k->storage, m->name, m->layers, m->layers == 1 ? "" : "s",
                count_text(model_params(m), count), bytes_text(bytes, size),
                (unsigned long long)model_ntensors(m), r->coll->ranks,
                r->coll->ranks > 1 ? "s" : "", (unsigned long long)k->epochs,
                k->epochs > 1 ? "s" : "", (size_t)0, 0U, r->coll->ranks, formats[k->format].ending);
}

static int shards_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;
        if (!io_find(k->storage, why, nwhy))
                return -EINVAL;
        int err = model_choose(k, &m, why, nwhy);
        if (err)
                return err;
        if (k->phase == PHASE_LOAD && !*k->suffix) {
                snprintf(why, nwhy, "phase=load needs the directory a save made: give suffix=");
                return -EINVAL;
        }
        if (strchr(k->suffix, '/') || strlen(k->suffix) >= FRESH_NAME_MAX || *k->suffix == '.') {
                snprintf(why, nwhy, "suffix=%s is no name: give that of one directory", k->suffix);
                return -EINVAL;
        }
        if (k->payload == PAYLOAD_NULL && k->format != FORMAT_RAW) {
                snprintf(why, nwhy, "payload=null has no format: give format=raw");
                return -EINVAL;
        }
        if (dry)
                say_plan(r, k, &m, dry);
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        bool keeps = k->phase == PHASE_SAVE || k->keep;
        const struct preflight n = {
                .moved = bytes * k->epochs * (k->phase == PHASE_BOTH ? 2 : 1),
                .stored = k->phase == PHASE_LOAD ? 0 : bytes * (keeps ? k->epochs : 1),
                .held = bytes / r->coll->ranks,
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

static void fail(void *arg, const char *what, int err)
{
        struct shards *s = arg;
        char text[512];

        if (err == -ECANCELED)
                return;
        payload_why(&s->payload, err, s->timed.io ? s->timed.io->why : NULL, text, sizeof text);
        if (payload_fault(&s->payload))
                run_error(s->run, "%s of %s/%s from %s: %s", what, s->dir, s->file, s->k->storage,
                          text);
        else
                run_error(s->run, "%s: %s%s", what, text,
                          err == -ENOENT && s->k->phase == PHASE_LOAD
                                  ? ": give suffix= a save of the same keys and ranks"
                                  : "");
}

static int name_dir(struct shards *s)
{
        if (!*s->k->suffix)
                return run_name(s->run->coll, s->dir);
        snprintf(s->dir, sizeof s->dir, "%s", s->k->suffix);
        return 0;
}

/* The bytes of this rank as they are with a seed. Formats hold checksums of them. */
static int plan_bytes(struct shards *s, uint64_t seed)
{
        const struct coll *c = s->run->coll;

        struct shard *shard = &s->payload.shard;

        shard_release(shard);
        int err = shard_plan(&s->model, s->k->optimizer, SHARD_ELEMENTS, c->rank, c->ranks, shard);
        shard->seed = seed;
        shard->null_store = s->k->payload == PAYLOAD_NULL;
        if (!err)
                err = s->format->wrap(shard);
        payload_init(&s->payload, s->k->verify);
        return err;
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

        timed_init(&s->timed, r->coll, s->k, s->k->storage);
        int err = model_choose(s->k, &s->model, why, sizeof why);
        if (!err)
                err = plan_bytes(s, s->k->seed);
        if (!err) {
                s->save = calloc(s->k->epochs, sizeof *s->save);
                s->load = calloc(s->k->epochs, sizeof *s->load);
                err = s->save && s->load ? 0 : -ENOMEM;
        }
        err = coll_agree(r->coll, err);
        bool held = false;
        if (!err)
                err = payload_choose(r->coll, s->payload.shard.size, s->k->hold, &held);
        if (!err)
                err = coll_agree(r->coll, held ? payload_hold(&s->payload) : 0);
        if (!err)
                err = name_dir(s);
        if (err) {
                run_error(r, "cannot prepare a shard of %llu bytes: %s: try hold=off",
                          (unsigned long long)s->payload.shard.size, strerror(-err));
                return err;
        }
        err = s->storage->ops->start(s->k, s->k->storage, s->dir, r->coll->rank, &s->timed.io, why,
                                     sizeof why);
        if (err && err != -ECANCELED)
                run_error(r, "%s", why);
        return coll_agree(r->coll, err);
}

static void shards_release(struct shards *s)
{
        if (s->storage && s->timed.io)
                s->storage->ops->stop(s->timed.io, s->clean);
        payload_release(&s->payload);
        free(s->save);
        free(s->load);
}

/* A short save and load before the clock: connections are open and code is paged in. */
static int warm_up(struct shards *s)
{
        struct sample ignored;
        char name[64];
        uint64_t size = s->payload.shard.size, n = s->k->warmup < size ? s->k->warmup : size;

        if (!n || s->k->phase == PHASE_LOAD)
                return 0;
        s->warm = s->payload.data;
        s->warm.size = n;
        s->warm.check = NULL;
        snprintf(name, sizeof name, "warmup-%05u", s->run->coll->rank);
        s->file = name;
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
        int err = coll_agree(s->run->coll, payload_fill(&s->payload));
        return err ? err : timed_save(&s->timed, name, &s->payload.data, &s->save[e], fail, s);
}

static int load_epoch(struct shards *s, size_t e, const char *name)
{
        bool verify = s->k->verify && !(s->timed.io->ops->flags & IO_EMPTY);
        int err = timed_drop(&s->timed, name, s->k->drop, &s->dropped, fail, s);

        if (!err)
                err = coll_agree(s->run->coll, verify ? payload_wipe(&s->payload) : 0);
        if (!err)
                err = timed_load(&s->timed, name, &s->payload.data, &s->load[e], fail, s);
        if (err)
                return err;
        if (verify) {
                err = payload_check(&s->payload);
                if (!err)
                        err = timed_check_size(s->timed.io, name, s->payload.data.size);
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
        s->file = name;
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
        size_t epochs = s->k->epochs;
        CLEANUP(freep) struct sample *save = NULL;
        CLEANUP(freep) struct sample *load = NULL;
        int err = timed_gather(c, s->save, epochs, &save);

        if (!err)
                err = timed_gather(c, s->load, epochs, &load);
        if (err || !job)
                return err;
        struct shards_facts facts = {
                .keys = s->k,
                .model = &s->model,
                .epochs = epochs,
                .ranks = c->ranks,
                .suffix = s->dir,
                .held = payload_held(&s->payload),
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
                .dropped = "none",
                .clean = k->phase == PHASE_BOTH && !k->keep,
        };
        int err = prepare(&s);
        if (!err)
                err = warm_up(&s);
        for (size_t e = 0; e < k->epochs && !err; e++)
                err = run_epoch(&s, e);
        bool saves = k->phase == PHASE_SAVE || (k->phase == PHASE_BOTH && err == -ECANCELED);
        if (err && saves && s.timed.io)
                remove_epochs(&s);
        return err ? err : report(&s, job);
}

const struct scenario scenario_shards = {
        .name = "shards",
        .text = "Each rank saves its shard of a model to a file or object of its own, and loads "
                "it.",
        .many_ranks = true,
        .device = true,
        .formats = FORMATS_OF_SHARDS,
        .plan = shards_plan,
        .job = shards_job,
        .table = shards_table,
        .says = shards_says,
        .page = shards_page,
};
