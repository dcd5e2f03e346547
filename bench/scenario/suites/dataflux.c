/* SPDX-License-Identifier: Apache-2.0 */
/* dataflux.c: see dataflux.h. */
#include "bench/scenario/suites/dataflux.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/io.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

static bool is_path(const char *storage)
{
        return !strcmp(storage, "disk") || !strcmp(storage, "mount");
}

int dataflux_resolve_keys(struct keys *k, char *why, size_t nwhy)
{
        if (k->strategy == STRATEGY_FSDP && !is_path(k->storage)) {
                snprintf(why, nwhy,
                         "strategy=fsdp writes to a path and storage=%s has none: give "
                         "storage=mount or disk",
                         k->storage);
                return -EINVAL;
        }
        if (k->strategy == STRATEGY_FSSPEC && is_path(k->storage)) {
                snprintf(why, nwhy,
                         "strategy=fsspec_fsdp moves one stream to a bucket, and storage=%s is a "
                         "path: give strategy=fsdp",
                         k->storage);
                return -EINVAL;
        }
        if (k->strategy == STRATEGY_FSSPEC)
                k->s3_connections = 1; /* one stream */
        if (k->num_devices && !k->world_size)
                k->world_size = k->num_nodes * k->num_devices;
        if (k->clear_kernel_cache && k->drop == DROP_AUTO)
                k->drop = DROP_CACHES;
        if (k->phase == PHASE_SAVE)
                k->num_load_calls = 0;
        if (k->phase == PHASE_LOAD)
                k->num_save_calls = 0;
        return 0;
}

int dataflux_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;
        char size[BYTES_TEXT];
        if (!io_find(k->storage, why, nwhy) || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        if (k->strategy == STRATEGY_ASYNC) {
                snprintf(why, nwhy,
                         "strategy=async_dataflux_fsdp lets steps go on, and %s has none: take "
                         "lightning_async",
                         r->scenario->name);
                return -EINVAL;
        }
        if (!k->num_save_calls && !k->num_load_calls) {
                snprintf(why, nwhy,
                         "num_save_calls and num_load_calls are both 0: give one of them a number");
                return -EINVAL;
        }
        if (!k->num_save_calls && !*k->suffix) {
                snprintf(why, nwhy,
                         "loads without a save need the directory of one: give suffix=, or "
                         "CKPT_RESTORE_PATH");
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would %s %s: %s, %llu saves, %llu loads, %s, %u rank%s\n",
                        r->scenario->name, m.name,
                        bytes_text(model_params(&m) * model_param_bytes(&m, k->optimizer), size),
                        (unsigned long long)k->num_save_calls,
                        (unsigned long long)k->num_load_calls, k->storage, r->coll->ranks,
                        r->coll->ranks > 1 ? "s" : "");
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        uint64_t saves = k->num_save_calls; /* they go when all are done */
        const struct preflight n = {
                .moved = bytes * (k->num_save_calls + k->num_load_calls),
                .stored = bytes * (k->save_only_latest && saves > 2 ? 2 : saves),
                .held = bytes / r->coll->ranks,
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

int dataflux_times(struct json *suite, const char *what, const double *v, size_t n)
{
        char name[32];
        struct stats st;

        if (!n)
                return 0;
        if (stats_of(v, n, &st))
                return -ENOMEM;
        snprintf(name, sizeof name, "%s_times_s", what);
        struct json *each = json_get(suite, name) ? NULL : json_add_array(suite, name);
        for (size_t i = 0; each && i < n; i++)
                json_add_number(each, NULL, v[i]);
        snprintf(name, sizeof name, "%s_mean_s", what);
        json_add_number(suite, name, st.mean);
        snprintf(name, sizeof name, "%s_stdev_s", what);
        json_add_number(suite, name, st.sd);
        return 0;
}

int dataflux_rounds(const struct dcp_rounds *r, struct json *job, struct json **metrics)
{
        int err = dcp_rounds_json(r, job);

        *metrics = json_open_object(job, "metrics");
        if (!err)
                err = dataflux_times(*metrics, "save", r->save_s, r->saves);
        if (!err && r->load)
                err = dataflux_times(*metrics, "load", r->load_s, r->loads);
        return err;
}

static void list_line(const struct json *suite, const char *what, bool stdev, FILE *to)
{
        char name[32];

        snprintf(name, sizeof name, "%s_times_s", what);
        const struct json *each = json_get(suite, name);
        if (!json_count(each))
                return;
        snprintf(name, sizeof name, "%s_mean_s", what);
        fprintf(to, "Average time to %s one checkpoint: %.4f seconds", what,
                json_number(json_get(suite, name), 0));
        snprintf(name, sizeof name, "%s_stdev_s", what);
        if (stdev)
                fprintf(to, " (stdev %.4f)", json_number(json_get(suite, name), 0));
        fprintf(to, "\nAll %s times: [", what);
        for (size_t i = 0; i < json_count(each); i++)
                fprintf(to, "%s%.4f", i ? ", " : "", json_number(json_at(each, i), 0));
        fprintf(to, "]\n");
}

void dataflux_lines(const struct json *job, FILE *to)
{
        const struct json *suite = json_get(job, "metrics");
        const struct json *fit = json_get(suite, "fit_s");
        const struct json *a_rank = json_get(suite, "bytes_a_rank");
        const char *error = json_string(json_get(job, "error"), NULL);

        if (error)
                fprintf(to, "failed: %s\n", error);
        if (fit)
                fprintf(to, "Time to fit: %.4f seconds\n", json_number(fit, 0));
        list_line(suite, "save", a_rank, to);
        list_line(suite, "load", a_rank, to);
        if (a_rank)
                fprintf(to,
                        "Size of the tensors of rank 0: %.2f MiB\nSize of all tensors: %.2f MiB\n",
                        json_number(a_rank, 0) / (1 << 20),
                        json_number(json_get(suite, "bytes"), 0) / (1 << 20));
}

void dataflux_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);
        char line[512];

        shards_headline(jobs, line, sizeof line);
        fprintf(to, "%s; seconds as rank 0 sees them\n", line);
        for (size_t j = 0; j < labels.n; j++) {
                fprintf(to, "\n%s\n", job_label(&labels, j));
                dataflux_lines(json_at(jobs, j), to);
                shards_note(json_at(jobs, j), line, sizeof line);
                fprintf(to, "%s\n", line);
        }
}
