/* SPDX-License-Identifier: Apache-2.0 */
/* train_delay.c: see train_delay.h. Its operations count a block's forward pass twice. */
#include "bench/scenario/train/train_delay.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

/* MODE_MODEL_wsRANKS_bsBATCH_vsVOCAB_blkBLOCK_ACTIVATION_fpBITS, and of a pipeline
 * _ckCHUNKS_ndSTAGES. */
static void name_file(const struct train_facts *f, const char *dir, char *out, size_t n)
{
        const struct train_setup *s = f->setup;
        char pipeline[64] = "";

        if (s->stages)
                snprintf(pipeline, sizeof pipeline, "_ck%u_nd%u", s->chunks, s->stages);
        snprintf(out, n, "%s/%s_%s_ws%u_bs%zu_vs%u_blk%u_%s_fp%d%s.txt", dir, trainer_mode(s),
                 s->model.name, f->ranks, s->batch, s->model.vocab, s->model.block,
                 trainer_activation(s), s->half ? 16 : 32, pipeline);
}

/* The share of the steps that a part of them is. */
static double percent(const struct train_facts *f, size_t at)
{
        double part = 0, all = 0;

        for (size_t i = 0; i < f->nsteps; i++) {
                part += *(const double *)((const char *)&f->step[i] + at);
                all += f->step[i].total;
        }
        return 100 * stats_ratio(part, all);
}

int train_delay_write(const struct train_facts *f, const char *dir)
{
        const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
        CLEANUP(freep) double *rates = calloc(f->ranks, sizeof *rates);
        struct stats delay, rate;
        char path[PATH_MAX + 256], in[PATH_MAX + 8];
        int err = rates ? stats_of(f->delay, f->ranks, &delay) : -ENOMEM;

        for (unsigned i = 0; i < f->ranks && !err; i++)
                rates[i] = stats_ratio(network_flop_suite(&f->setup->model, f->setup->batch) / 1e12,
                                       f->delay[i]);
        if (!err)
                err = stats_of(rates, f->ranks, &rate);
        if (err)
                return err;
        snprintf(in, sizeof in, "%s/delay", dir);
        if (mkdir(in, 0777) && errno != EEXIST)
                return -errno;
        name_file(f, in, path, sizeof path);
        FILE *to = fopen(path, "we");
        if (!to)
                return -errno;
        fprintf(to,
                "delays = %.6f (%.6f)\n"
                "tflops/gpu = %.6f (%.6f)\n"
                "max mem = %.0f\n"
                "max cpu mem percent = %.2f\n"
                "forward = %.2f %%\n"
                "backward = %.2f %%\n"
                "optimizer = %.2f %%\n",
                delay.mean, delay.sd, rate.mean, rate.sd,
                f->device_peak > 0 ? f->device_peak : f->peak, 100 * stats_ratio(f->peak, memory),
                percent(f, offsetof(struct train_step, forward)),
                percent(f, offsetof(struct train_step, backward)),
                percent(f, offsetof(struct train_step, update)));
        err = ferror(to) ? -EIO : 0;
        return fclose(to) && !err ? -errno : err;
}
