/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_save.c: the checkpoints of a run over a dataset: the state of a model, as torch.save()
 * writes it, every so many batches, while the workers read on: of what learns, or a pattern. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "bench/format/format.h"
#include "bench/format/torch.h"
#include "bench/data/run_name.h"
#include "bench/core/io.h"
#include "bench/data/payload.h"
#include "bench/core/clock.h"
#include "bench/scenario/dataset/dataset.h"
#include "bench/scenario/train/train_copy.h"
#include "bench/train/train_state.h"

#include "base/banned.h"

struct saver {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct io *io;
        struct payload payload;
        bool learns;            /* what is saved is: */
        struct train_copy copy; /* with the checksums of the last */
        char dir[FRESH_NAME_MAX];
        double *times;
        size_t n, room;
        size_t last, most; /* batches whose files are there: the latest, and the highest number */
};

static void name_of(size_t batch, char out[64])
{
        snprintf(out, 64, "batch%zu.ckpt", batch);
}

/* The keys with the address of checkpoints in place of the dataset's; strings are borrowed. */
static struct keys address_of(const struct keys *k)
{
        struct keys to = *k;

        if (*k->ckpt_uri)
                to.path = to.mount_path = to.s3_uri = to.gcs_uri = k->ckpt_uri;
        if (*k->ckpt_region)
                to.s3_region = k->ckpt_region;
        return to;
}

static int start_storage(struct saver *s)
{
        struct keys to = address_of(s->k);
        char why[512] = "", path[PATH_MAX];
        int err = 0;

        s->storage = io_find(s->k->ckpt_destination, why, sizeof why);
        if (!s->storage)
                err = -EINVAL;
        else if (!strcmp(s->storage->name, "disk") && *to.path) {
                snprintf(path, sizeof path, "%s/", to.path);
                err = run_make_dirs(path);
                if (err)
                        snprintf(why, sizeof why,
                                 "checkpoint.uri=%s: %s: give a directory that can "
                                 "be made",
                                 to.path, strerror(-err));
        }
        if (!err)
                err = s->storage->ops->start(&to, s->storage->name, s->dir, 0, &s->io, why,
                                             sizeof why);
        if (err && err != -ECANCELED)
                run_error(s->run, "checkpoints: %s", why);
        return err;
}

/* The bytes of the model, which stay the same from save to save. */
static int make_payload(struct saver *s, bool held)
{
        const struct model *m = model_find(s->k->ckpt_model);
        int err = m ? shard_plan(m, false, SHARD_WHOLE, 0, 1, &s->payload.shard) : -EINVAL;

        if (!m)
                run_error(s->run,
                          "checkpoint.model '%s' is unknown: give one of model.def's, as "
                          "vit-base",
                          s->k->ckpt_model);
        s->payload.shard.seed = s->k->seed;
        if (!err)
                err = torch_wrap(&s->payload.shard);
        payload_init(&s->payload, true);
        if (!err && held)
                err = payload_hold(&s->payload);
        return err ? err : payload_fill(&s->payload);
}

/* The weights of what learns, which is this rank's own. */
static int make_copy(struct saver *s, const struct learner *l)
{
        struct train_source from = {.get = train_state_get, .arg = (void *)(uintptr_t)&l->trainer};
        const struct stage_kind kind = {.cached = true};
        int err =
                train_state_list(&from.shard, &l->trainer, 1, l->trainer.coll, TRAIN_SHARE_WEIGHTS);

        s->learns = true;
        if (!err)
                err = train_copy_init(&s->copy, &from, torch_wrap, kind);
        shard_release(&from.shard);
        return err;
}

static void saver_free(struct saver *s)
{
        train_copy_release(&s->copy);
        if (s->io)
                s->storage->ops->stop(s->io, !s->k->keep);
        payload_release(&s->payload);
        free(s->times);
        free(s);
}

int saver_open(const struct run *r, const struct keys *k, const struct learner *l,
               struct saver **out)
{
        struct coll *c = r->coll;
        const struct model *m = model_find(k->ckpt_model);
        bool held = false;

        *out = NULL;
        if (!k->ckpt_save_one_in)
                return 0;
        struct saver *s = calloc(1, sizeof *s);
        int err = coll_agree(c, s ? 0 : -ENOMEM);
        if (!s || err) {
                free(s);
                return err ? err : -ENOMEM;
        }
        s->run = r;
        s->k = k;
        uint64_t bytes = m && !l && !c->rank ? model_params(m) * model_param_bytes(m, false) : 0;
        err = run_name(c, s->dir);
        if (!err)
                err = payload_choose(c, bytes, k->hold, &held);
        if (!err && !c->rank)
                err = l ? make_copy(s, l) : make_payload(s, held);
        if (err == -ENOMEM)
                run_error(r, "checkpoints: out of memory: give a smaller model");
        if (!err && !c->rank)
                err = start_storage(s);
        err = coll_agree(c, err);
        if (err || c->rank)
                saver_free(s);
        else
                *out = s;
        return err;
}

static int add_time(struct saver *s, double seconds)
{
        if (GROW(s->times, s->n, s->room, 64))
                return -ENOMEM;
        s->times[s->n++] = seconds;
        return 0;
}

/* What learns is copied and made a file inside the clock, as torch.save() does it. */
static int take_copy(struct saver *s, double *seconds)
{
        int err = s->k->verify ? train_copy_note(&s->copy, 0) : 0;
        const uint64_t begin = clock_ns();

        if (!err)
                err = train_copy_take(&s->copy, 0);
        if (!err)
                err = train_copy_finish(&s->copy);
        *seconds = clock_s(clock_ns() - begin);
        return err;
}

/* The bytes of the file to save or to load. */
static struct io_data data_of(const struct saver *s)
{
        return s->learns ? (struct io_data){.size = s->copy.size, .mem = s->copy.stage.p}
                         : s->payload.data;
}

int saver_batch(struct saver *s, size_t batch)
{
        struct sample took = {0};
        char name[64];
        double copied = 0;

        if (!s || batch % s->k->ckpt_save_one_in)
                return 0;
        name_of(batch, name);
        int err = s->learns ? take_copy(s, &copied) : 0;
        if (err) {
                run_error(s->run, "checkpoint %s: %s", name, strerror(-err));
                return err;
        }
        const struct io_data data = data_of(s);
        err = timed_save_file(s->io, name, &data, s->k->fsync, &took);
        if (!err) {
                s->last = batch;
                s->most = batch > s->most ? batch : s->most;
                return add_time(s, copied + took.total);
        }
        if (err != -ECANCELED)
                run_error(s->run, "checkpoint %s: %s", name, s->io->why);
        s->storage->ops->remove(s->io, name);
        if (s->last == batch) /* of the epoch before: its file has gone, too */
                s->last = 0;
        return err;
}

size_t saver_times(const struct saver *s, const double **out)
{
        *out = s ? s->times : NULL;
        return s ? s->n : 0;
}

static int verify_last(struct saver *s)
{
        struct sample ignored;
        char name[64], text[512];

        if (!s->last || !s->k->verify || (s->io->ops->flags & IO_EMPTY))
                return 0;
        name_of(s->last, name);
        snprintf(text, sizeof text, "%s", "");
        int err = s->learns ? train_copy_clear(&s->copy) : payload_wipe(&s->payload);
        const struct io_data data = data_of(s);
        if (!err)
                err = timed_load_file(s->io, name, &data, &ignored);
        if (!err && s->learns)
                err = train_copy_check(&s->copy, text, sizeof text);
        else if (!err)
                err = payload_check(&s->payload);
        if (!err || err == -ECANCELED)
                return err;
        if (!s->learns)
                payload_why(&s->payload, err, s->io->why, text, sizeof text);
        else if (!*text)
                snprintf(text, sizeof text, "%s", *s->io->why ? s->io->why : strerror(-err));
        run_error(s->run, "checkpoint %s: %s", name, text);
        return err;
}

int saver_close(struct saver *s)
{
        int err = 0;

        if (!s)
                return 0;
        if (s->io)
                err = verify_last(s);
        for (size_t b = s->k->ckpt_save_one_in; s->io && b <= s->most && !s->k->keep;
             b += s->k->ckpt_save_one_in) {
                char name[64];
                name_of(b, name);
                int gone = s->storage->ops->remove(s->io, name);
                if (gone)
                        run_error(s->run, "checkpoint %s: %s", name, s->io->why);
                err = err ? err : gone;
        }
        saver_free(s);
        return err;
}
