/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_rounds.c: see dcp_rounds.h. */
#include "bench/scenario/dcp/dcp_rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/report/shards_table.h"

#include "base/banned.h"

/* A job of saves or of loads. */
static int begin_job(struct dcp_rounds *r, struct keys *mine, bool load, struct dcp_job *j)
{
        char why[512];

        *mine = *r->k;
        mine->epochs = load ? r->loads : r->saves;
        *j = (struct dcp_job){
                .run = r->run,
                .k = mine,
                .storage = io_find(r->k->storage, why, sizeof why),
                .part = *r->run->coll,
                .fsdp = true,
                .load = load,
                .own = r->play,
                .dropped = "none",
                .use = r->use,
        };
        int err = dcp_prepare(j);
        if (r->play) {
                j->plan.cut = SHARD_WHOLE;
                j->plan.ranks = r->play;
        }
        r->model = j->model;
        r->mount = j->timed.mount;
        r->moves_data = !(j->storage->ops->flags & IO_EMPTY);
        return err;
}

/* As the suite names them. */
static void name_save(const char *in, size_t i, char out[FRESH_NAME_MAX])
{
        snprintf(out, FRESH_NAME_MAX, "%.*s/ckpt_%zu.ckpt", (int)strcspn(in, "/"), in, i);
}

static int save_rounds(struct dcp_rounds *r, struct dcp_job *j)
{
        int err = 0;
        for (size_t i = 0; i < r->saves && !err; i++) {
                j->named = r->in;
                if (r->in)
                        name_save(r->in, i, j->dir);
                err = dcp_save_epoch(j, i);
                dcp_end_epoch(j, err);
                if (err)
                        break;
                memcpy(r->dirs[i], j->dir, sizeof r->dirs[i]);
                r->save_s[i] = j->samples[i].total;
                size_t gone = r->rotation ? rotation_add(r->rotation, i) : ROTATION_NONE;
                if (gone != ROTATION_NONE) {
                        err = dcp_remove_save(j, r->dirs[gone]);
                        *r->dirs[gone] = 0;
                }
        }
        r->held = j->held;
        return err ? err : timed_gather(&j->part, j->samples, r->saves, &r->save);
}

/* The directory of the i-th load: of those that were saved and stay, in turn; of another run's. */
static void to_load(const struct dcp_rounds *r, size_t i, char out[FRESH_NAME_MAX])
{
        size_t left = 0, at = 0;
        bool same = r->in && !strncmp(r->k->suffix, r->in, strlen(r->in));

        for (size_t s = 0; s < r->saves; s++)
                left += *r->dirs[s] != 0;
        if (left && (same || !*r->k->suffix)) {
                for (size_t n = i % left; at < r->saves; at++)
                        if (*r->dirs[at] && !n--)
                                break;
                snprintf(out, FRESH_NAME_MAX, "%s", r->dirs[at]);
        } else if (r->in) {
                name_save(r->k->suffix, i, out);
        } else {
                snprintf(out, FRESH_NAME_MAX, "%s", r->k->suffix);
        }
}

static int load_rounds(struct dcp_rounds *r)
{
        struct keys mine;
        struct dcp_job j;
        char dir[FRESH_NAME_MAX];
        int err = begin_job(r, &mine, true, &j);

        for (size_t i = 0; i < r->loads && !err; i++) {
                to_load(r, i, dir);
                mine.suffix = dir;
                err = dcp_load_epoch(&j, i);
                r->load_s[i] = j.samples[i].total;
                dcp_end_epoch(&j, false);
        }
        if (!err)
                err = timed_gather(&j.part, j.samples, r->loads, &r->load);
        r->held = j.held;
        r->dropped = j.dropped;
        dcp_end(&j, false);
        return err;
}

int dcp_rounds(struct dcp_rounds *r)
{
        struct keys mine;
        struct dcp_job j;

        r->dropped = "none";
        r->dirs = calloc(r->saves + 1, sizeof *r->dirs);
        r->save_s = calloc(r->saves + 1, sizeof *r->save_s);
        r->load_s = calloc(r->loads + 1, sizeof *r->load_s);
        int err = coll_agree(r->run->coll, r->dirs && r->save_s && r->load_s ? 0 : -ENOMEM);
        if (err)
                return err;
        err = begin_job(r, &mine, false, &j);
        if (!err && r->saves)
                err = save_rounds(r, &j);
        bool whole = !err, loads = r->loads && !(j.storage->ops->flags & IO_EMPTY);
        if (!err && loads)
                err = load_rounds(r);
        bool stays = whole && err != -ECANCELED && (r->k->keep || !r->loads);
        for (size_t i = 0; i < r->saves && !stays; i++)
                if (*r->dirs[i]) {
                        int gone = dcp_remove_save(&j, r->dirs[i]);
                        err = err ? err : gone;
                }
        dcp_end(&j, false);
        return err;
}

void dcp_rounds_release(struct dcp_rounds *r)
{
        freep(&r->dirs);
        freep(&r->save_s);
        freep(&r->load_s);
        freep(&r->save);
        freep(&r->load);
}

int dcp_rounds_json(const struct dcp_rounds *r, struct json *job)
{
        struct shards_facts facts = {
                .keys = r->k,
                .model = &r->model,
                .epochs = r->saves,
                .loads = r->loads,
                .ranks = r->run->coll->ranks,
                .suffix = r->saves ? (r->in ? r->in : r->dirs[r->saves - 1]) : r->k->suffix,
                .held = r->held,
                .verified = r->load && r->k->verify,
                .moves_data = r->moves_data,
                .dropped = r->dropped,
                .mount_pid = r->mount,
                .save = r->save,
                .load = r->load,
        };
        return shards_json(&facts, job);
}
