/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c: the scenario "dataset": epochs over the samples of a dataset, as a training that reads
 * them would, with a checkpoint now and then. */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/job_log.h"
#include "bench/core/progress.h"
#include "bench/scenario/dataset/dataset.h"

#include "base/banned.h"

struct dataset_job {
        const struct run *run;
        const struct keys *k;
        const struct dataset_kind *kind;
        const char *storage;
        struct sample_source *place;
        struct sample_list list;
        struct loader_how how;
        struct timed timed;
        struct learner *learner; /* NULL: nothing learns */
        struct saver *saver;
        struct sample *epoch; /* of this rank */
        struct loader_seen seen;
        double list_s, cache_bytes;
        const char *dropped;
        size_t now; /* the epoch under way */
};

static int dataset_plan(const struct run *r, const struct keys *k, FILE *dry, char *why,
                        size_t nwhy)
{
        const struct dataset_kind *kind = dataset_kind(k, why, nwhy);
        const char *storage = kind ? dataset_storage(kind, k, why, nwhy) : NULL;
        int err = storage ? dataset_check(kind, k, why, nwhy) : -EINVAL;

        if (!err &&
            (k->device == DEVICE_EMULATED || (k->device == DEVICE_CUDA && !learner_labels(k)))) {
                snprintf(why, nwhy,
                         "device: samples are read to the host's memory, and model=vit alone "
                         "learns on device=cuda: give device=host");
                return -EINVAL;
        }
        if (!err && dry)
                fprintf(dry,
                        "would read dataset %s by %s from %s %llu times: %u ranks, %llu workers "
                        "each, batches of %llu\n",
                        k->dataset, kind->name, storage, (unsigned long long)k->epochs,
                        r->coll->ranks, (unsigned long long)k->num_workers,
                        (unsigned long long)k->batch_size);
        return err ? err : dataset_preflight(r, k, storage, dry, why, nwhy);
}

/* Rank 0 lists, so that all have the same list: to find out what there is and, by a map loader, for
 * all epochs. */
static int share_list(struct dataset_job *j)
{
        struct coll *c = j->run->coll;
        struct sample_list *l = &j->list;
        uint64_t begin = clock_ns(), size[2] = {0};
        int err = c->rank ? 0 : sample_source_list(j->place, l);

        if (!err && !c->rank && !l->n)
                err = -ENOENT;
        if (err)
                run_error(j->run,
                          "%s: %s: make a dataset there with ckptbench datagen, or name "
                          "another",
                          sample_source_text(j->place),
                          err == -ENOENT ? "no sample is there" : strerror(-err));
        err = coll_agree(c, err);
        if (err)
                return err;
        size[0] = l->n;
        size[1] = l->names.len;
        err = c->ops->bcast(c, size, sizeof size);
        if (!err && c->rank) {
                l->v = malloc(size[0] * sizeof *l->v);
                l->n = size[0];
                err = !l->v || buf_grow(&l->names, size[1]) ? -ENOMEM : 0;
                l->names.len = size[1];
        }
        err = coll_agree(c, err);
        if (!err)
                err = c->ops->bcast(c, l->v, size[0] * sizeof *l->v);
        if (!err)
                err = c->ops->bcast(c, l->names.p, size[1]);
        j->list_s = clock_s(clock_ns() - begin);
        return err;
}

static int prepare(struct dataset_job *j)
{
        struct coll *c = j->run->coll;
        const struct keys *k = j->k;
        char why[512] = "";

        j->kind = dataset_kind(k, why, sizeof why);
        j->storage = j->kind ? dataset_storage(j->kind, k, why, sizeof why) : NULL;
        j->epoch = calloc(k->epochs, sizeof *j->epoch);
        int err = !j->storage ? -EINVAL : j->epoch ? 0 : -ENOMEM;
        if (!err)
                err = sample_source_open(k, j->storage, k->dataset, false, &j->place, why,
                                         sizeof why);
        if (err)
                run_error(j->run, "%s", *why ? why : strerror(-err));
        err = coll_agree(c, err);
        if (!err)
                err = share_list(j);
        if (err)
                return err;
        uint64_t bytes = 0;
        for (size_t i = 0; i < j->list.n; i++)
                bytes += j->list.v[i].size;
        progress_expect(bytes * k->epochs / c->ranks);
        j->how = dataset_how(j->kind, k, c);
        j->how.place = j->place;
        j->how.list = &j->list;
        timed_init(&j->timed, c, k, j->storage);
        err = learner_open(j->run, k, &j->learner);
        return err ? err : saver_open(j->run, k, j->learner, &j->saver);
}

/* File by file, each by one rank of a machine. Collective. */
static int forget_files(struct dataset_job *j)
{
        const struct coll *c = j->run->coll;
        int err = 0;

        for (size_t i = c->host_rank; i < j->list.n && !err; i += c->host_ranks)
                err = sample_source_forget(j->place, sample_source_name(&j->list, i));
        return coll_agree(j->run->coll, err);
}

static int cannot_drop(const struct dataset_job *j, int err)
{
        if (!j->run->coll->rank)
                run_error(j->run, "the page cache of %s cannot be dropped: %s: give drop=none",
                          sample_source_text(j->place),
                          err == -EBUSY ? "it keeps what was read" : strerror(-err));
        return err;
}

/* Makes the page cache forget the dataset before an epoch: as timed_drop() does it, for all files
 * at once. */
static int drop_cache(struct dataset_job *j)
{
        const unsigned drop = j->k->drop;

        if (!sample_source_is_cached(j->place) || drop == DROP_NONE)
                return 0;
        int err = drop == DROP_CACHES ? -EBUSY : forget_files(j);
        if (err && drop == DROP_FILE)
                return cannot_drop(j, err);
        if (err) {
                err = coll_agree(j->run->coll, j->run->coll->host_rank ? 0 : timed_drop_machine());
                if (err && drop == DROP_CACHES)
                        return cannot_drop(j, err);
                if (!err)
                        err = forget_files(j);
        }
        if (!err && !j->now)
                j->dropped = "before each epoch";
        if (err) {
                j->dropped = "no: not possible here, what was read may have come from memory";
                job_log(JOB_LOG_WARNING, "the page cache keeps the dataset: %s", strerror(-err));
        }
        return 0;
}

/* One epoch in this rank: batches until there is none. */
static int run_epoch(void *arg, struct sample *out)
{
        struct dataset_job *j = arg;
        struct loader *l = NULL;
        struct loader_seen seen = {0};
        struct batch batch = {0};
        uint64_t begin = clock_ns();
        size_t n = 0;
        int err = loader_start(&j->how, j->now, &l);

        if (err)
                run_error(j->run, "the dataset's workers do not start: %s", strerror(-err));
        for (bool more = true; more;) {
                int got = err ? err : loader_next(l, &batch);
                if (!err && got < 0 && got != -ECANCELED)
                        run_error(j->run, "%s/%s", sample_source_text(j->place), loader_why(l));
                if (got > 0 && !n++)
                        out->open = clock_s(clock_ns() - begin);
                out->bytes += got > 0 ? batch.bytes : 0;
                err = got < 0 ? got : 0;
                more = got > 0;
                if (j->learner)
                        err = learner_batch(j->learner, err, &batch, &more);
                batch_release(&batch);
                if (!err && got > 0)
                        err = saver_batch(j->saver, n);
                /* what learns meets the other ranks once more, with the error */
                more &= !err || (j->learner && got > 0);
        }
        out->total = clock_s(clock_ns() - begin);
        out->transfer = out->total - out->open;
        loader_end(l, &seen);
        loader_seen_add(&j->seen, &seen);
        return err;
}

/* Adds up what all ranks saw since `before`, and asks whether it was all. */
static int check_epoch(struct dataset_job *j, struct loader_seen *all)
{
        struct coll *c = j->run->coll;
        CLEANUP(freep) struct loader_seen *v = calloc(c->ranks, sizeof *v);
        struct loader_seen seen = {0};
        char why[512];
        int err = coll_agree(c, v ? 0 : -ENOMEM);

        if (!err)
                err = c->ops->gather(c, &j->seen, sizeof j->seen, v);
        j->seen = (struct loader_seen){0};
        for (unsigned i = 0; i < c->ranks && !err; i++)
                loader_seen_add(&seen, &v[i]);
        if (!err && j->k->verify && (err = loader_seen_check(&seen, why, sizeof why)) && !c->rank)
                run_error(j->run, "%s: %s", sample_source_text(j->place), why);
        loader_seen_add(all, &seen);
        return coll_agree(c, err);
}

/* What the mount's cache on a disk has kept: nothing means that none was read through. */
static int look_at_cache(struct dataset_job *j)
{
        char *const top[] = {j->k->mount_cache, NULL};
        FTS *fts =
                !j->run->coll->rank && j->kind->cached ? fts_open(top, FTS_PHYSICAL, NULL) : NULL;

        for (FTSENT *e; fts && (e = fts_read(fts));)
                if (e->fts_info == FTS_F)
                        j->cache_bytes += 512.0 * (double)e->fts_statp->st_blocks;
        if (!fts)
                return coll_agree(j->run->coll, 0);
        fts_close(fts);
        if (j->cache_bytes <= 0)
                run_error(j->run,
                          "mount.cache=%s is empty behind the last epoch: name the directory where "
                          "the mount keeps its cache",
                          j->k->mount_cache);
        return coll_agree(j->run->coll, j->cache_bytes > 0 ? 0 : -ENODATA);
}

static int report(struct dataset_job *j, const struct loader_seen *all, const struct sampler *use,
                  struct json *job)
{
        CLEANUP(freep) struct sample *v = NULL;
        struct dataset_facts f = {
                .keys = j->k,
                .kind = j->kind,
                .storage = j->storage,
                .address = sample_source_text(j->place),
                .dropped = j->dropped,
                .how = j->how,
                .list_s = all->list_s > 0 ? all->list_s : j->list_s,
                .cache_bytes = j->cache_bytes,
                .objects = j->list.n,
                .seen = *all,
                .epochs = j->k->epochs,
                .ranks = j->run->coll->ranks,
                .use = use,
        };
        int err = timed_gather(j->run->coll, j->epoch, j->k->epochs, &v);

        f.epoch = v;
        f.learner = j->learner;
        f.saves = saver_times(j->saver, &f.save);
        return err || !job ? err : dataset_json(&f, job);
}

static int dataset_job(const struct run *r, const struct keys *k, struct json *job)
{
        CLEANUP(sampler_release) struct sampler use = SAMPLER_INIT;
        struct loader_seen all = {0};
        struct dataset_job j = {
                .run = r,
                .k = k,
                .list = SAMPLE_LIST_INIT,
                .dropped = "no",
        };
        int err = prepare(&j);

        if (!err)
                err = coll_agree(r->coll, sampler_start(&use));
        for (; j.now < k->epochs && !err; j.now++) {
                err = drop_cache(&j);
                sampler_resume(&use);
                if (!err)
                        err = timed_work(&j.timed, "epoch", run_epoch, &j, &j.epoch[j.now]);
                sampler_pause(&use);
                if (!err && j.learner)
                        learner_epoch(j.learner, j.now);
                if (!err)
                        err = check_epoch(&j, &all);
        }
        sampler_stop(&use);
        if (!err)
                err = look_at_cache(&j);
        if (!err)
                err = report(&j, &all, &use, job);
        int saved = saver_close(j.saver);
        err = coll_agree(r->coll, err ? err : saved);
        learner_free(j.learner);
        sample_source_close(j.place);
        sample_source_list_release(&j.list);
        free(j.epoch);
        return err;
}

static const char *const defaults[] = {"storage=auto", "fsync=off", "model=entitlement",
                                       "dataloader=iterable", NULL};

const struct scenario scenario_dataset = {
        .name = "dataset",
        .text = "Epochs over the samples of a dataset, as a training reads them or, with "
                "model=vit, by one.",
        .many_ranks = true,
        .device = true,
        .defaults = defaults,
        .plan = dataset_plan,
        .job = dataset_job,
        .table = dataset_table,
        .says = dataset_says,
        .page = dataset_page,
};
