/* SPDX-License-Identifier: Apache-2.0 */
/* pytorch_checkpointing.c: torch.save() and torch.load() of one file, epoch by epoch. */
#include <errno.h>

#include "bench/format/format.h"
#include "bench/scenario/suites/torch.h"

#include "base/banned.h"

static int one_epoch(struct torch_job *j, size_t i)
{
        char name[TORCH_NAME_MAX];

        torch_name(j, i, name);
        int err = torch_save(j, i, name, &j->save[i]);
        if (err)
                return err;
        err = torch_load(j, i, name, &j->load[i]);
        if (j->k->keep && !err)
                return 0;
        int gone = torch_remove(j, name);
        return err ? err : gone;
}

static int work(const struct run *r, const struct keys *k, struct json *job)
{
        size_t n = torch_count_saves(k), done = 0;
        char name[TORCH_NAME_MAX];
        struct torch_job j;
        struct json *suite;

        int err = torch_begin(&j, r, k, NULL, n, n);
        for (; done < n && !err; done += !err)
                err = one_epoch(&j, done);
        while (err == -ECANCELED && k->keep && done) { /* what would have stayed */
                torch_name(&j, --done, name);
                torch_remove(&j, name);
        }
        if (!err)
                err = torch_report(&j, job, &suite);
        torch_end(&j);
        return err;
}

const struct scenario scenario_pytorch_checkpointing = {
        .name = "pytorch_checkpointing",
        .text = "One rank saves a model as torch.save() does, and loads it.",
        TORCH_EPOCHS,
        .formats = 1U << FORMAT_TORCH,
        .job = work,
};
