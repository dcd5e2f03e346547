/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_train.c: model=vit: what is read is learnt from, by a vision transformer that each rank
 * has, with the cross entropy of labels that are drawn, and by Adam. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/clock.h"
#include "bench/core/cpu.h"
#include "bench/core/job_log.h"
#include "bench/data/model_keys.h"
#include "bench/scenario/dataset/dataset.h"
#include "bench/scenario/dataset/image_crop.h"
#include "bench/train/math/blas.h"
#include "bench/train/patches.h"

#include "base/banned.h"

_Static_assert((int)CROP_BYTES == (int)IMAGE_ELEMENTS, "a crop is what the network sees");

unsigned learner_labels(const struct keys *k)
{
        return strcmp(k->model, "vit") ? 0 : k->num_labels ? (unsigned)k->num_labels : 1000;
}

int learner_setup(const struct keys *k, struct train_setup *out, char *why, size_t nwhy)
{
        struct keys mine = *k; /* borrows the strings */

        mine.model_vocab = learner_labels(k);
        *out = (struct train_setup){.batch = k->batch_size,
                                    .seed = k->seed,
                                    .adamw = true,
                                    .undecayed = true,
                                    .entropy = true,
                                    .lr = 0.001};
        int err = model_choose(&mine, &out->model, why, nwhy);
        if (err)
                return err;
        const char *wrong = k->model_vocab ? "model.vocab: the labels are told by num_labels"
                            : out->model.block != VISION_ROWS
                                    ? "model.block: an image has 196 patches and a class"
                            : out->model.ffn != 4 * out->model.hidden
                                    ? "model.ffn: it is four times the hidden size"
                                    : NULL;
        if (wrong) {
                snprintf(why, nwhy, "%s: leave it out", wrong);
                return -EINVAL;
        }
        if (k->batch_size > INT32_MAX / VISION_ROWS) { /* rows are counted in an int */
                snprintf(why, nwhy, "dataloader.batch_size=%llu: give at most %d with model=vit",
                         (unsigned long long)k->batch_size, INT32_MAX / VISION_ROWS);
                return -EINVAL;
        }
        if (!blas_built()) {
                snprintf(why, nwhy,
                         "model=vit: this build has no OpenBLAS: build with libopenblas-dev, or "
                         "give model=decode");
                return -EOPNOTSUPP;
        }
        return 0;
}

uint64_t learner_bytes(const struct keys *k, unsigned ranks)
{
        struct train_setup s;
        char why[512];
        /* those that workers have made or are making, and the one that is learnt from */
        const double batches = (double)k->num_workers * (double)k->prefetch_factor + 2;

        if (!learner_labels(k) || learner_setup(k, &s, why, sizeof why))
                return 0;
        const double bytes = (double)trainer_bytes(&s, ranks) +
                             batches * (double)k->batch_size * (CROP_BYTES + sizeof(int32_t));
        return (uint64_t)(bytes < NETWORK_BYTES_MAX ? bytes : NETWORK_BYTES_MAX);
}

int learner_open(const struct run *r, const struct keys *k, struct learner **out)
{
        struct learner *l = learner_labels(k) ? calloc(1, sizeof *l) : NULL;
        char why[512] = "";

        *out = NULL;
        if (!learner_labels(k))
                return 0;
        int err = l ? learner_setup(k, &l->setup, why, sizeof why) : -ENOMEM;
        if (!err) {
                const unsigned threads = cpu_cores() / r->coll->host_ranks;
                l->run = r;
                l->threads = threads ? threads : 1;
                l->losses = calloc(k->epochs, sizeof *l->losses);
                err = l->losses ? math_choose(1, l->threads, &l->setup.ops, why, sizeof why)
                                : -ENOMEM;
        }
        if (!err)
                err = trainer_init(&l->trainer, &l->setup, r->coll);
        err = run_agree(r, err,
                        *why             ? why
                        : err == -ENOMEM ? "out of memory: give a smaller dataloader.batch_size"
                                         : strerror(-err));
        if (err)
                learner_free(l);
        else
                *out = l;
        return err;
}

/* The step, and its share of the epoch's loss. */
static int step(struct learner *l, size_t all)
{
        const struct coll *c = l->run->coll;
        struct train_step took = {0};
        int err = trainer_step(&l->trainer, &took);

        if (!err && !isfinite(took.loss))
                err = -ERANGE;
        if (err && err != -ECANCELED && c->rank == 0) /* all ranks have it */
                run_error(l->run, "step %zu: %s", l->steps + 1,
                          err == -ERANGE ? "the loss is no number any more: give another seed"
                                         : strerror(-err));
        if (err)
                return err;
        l->steps++;
        l->seconds += took.total;
        l->loss += took.loss * (double)all;
        l->samples += (double)all;
        job_log(JOB_LOG_INFO, "step %zu: loss %.6g of %zu samples, %.4f s", l->steps, took.loss,
                all, took.total);
        return 0;
}

int learner_batch(struct learner *l, int own, const struct batch *b, bool *more)
{
        size_t all = 0;
        int err = coll_agree(l->run->coll, own);

        if (!err)
                err = trainer_feed(&l->trainer, b->rgb, b->label, b->samples, &all);
        if (!err && all)
                err = step(l, all);
        *more = !err && all;
        return err;
}

void learner_epoch(struct learner *l, size_t epoch)
{
        l->losses[epoch] = l->samples > 0 ? l->loss / l->samples : 0;
        l->loss = l->samples = 0;
}

void learner_free(struct learner *l)
{
        if (!l)
                return;
        trainer_release(&l->trainer);
        free(l->losses);
        free(l);
}
