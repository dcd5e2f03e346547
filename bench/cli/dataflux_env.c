/* SPDX-License-Identifier: Apache-2.0 */
/* dataflux_env.c: see dataflux_env.h. */
#include "bench/cli/dataflux_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/cpu.h"

#include "base/banned.h"

enum { TEXT_MAX = 4096, VARIABLES = 18 };

static const struct variable {
        const char *name;
        const char *key;         /* NULL: a place, see dataflux_env_place() */
        const char *only;        /* scenarios whose names begin so */
        const char *unit;        /* behind a bare number; NULL: as it is */
        const char *words[3][2]; /* values that are called otherwise here */
} variables[VARIABLES] = {
        {"CKPT_DIR_PATH", NULL, "", NULL, {{NULL}}},
        {"CKPT_RESTORE_PATH", NULL, "", NULL, {{NULL}}},
        {"NUM_LAYERS", "model.layers", "lightning_", NULL, {{NULL}}},
        {"ACCELERATOR", "device", "", NULL, {{"cpu", "host"}, {"gpu", "cuda"}, {NULL}}},
        {"NUM_SAVE_CALLS", "num_save_calls", "", NULL, {{NULL}}},
        {"NUM_LOAD_CALLS", "num_load_calls", "", NULL, {{NULL}}},
        {"NUM_NODES", "num_nodes", "lightning_", NULL, {{NULL}}},
        {"NUM_DEVICES", "num_devices", "lightning_", NULL, {{"auto", "0"}, {NULL}}},
        {"STEPS_PER_SAVE", "steps_per_save", "", NULL, {{NULL}}},
        {"STRATEGY", "strategy", "", NULL, {{NULL}}},
        {"MIN_EPOCHS", "min_epochs", "", NULL, {{NULL}}},
        {"MAX_EPOCHS", "max_epochs", "", NULL, {{NULL}}},
        {"MAX_STEPS", "max_steps", "", NULL, {{NULL}}},
        {"SIMULATED_WORKLOAD_DURATION", "step_time", "", "s", {{NULL}}},
        {"WORLD_SIZE", "world_size", "", NULL, {{NULL}}},
        {"LAYER_SIZE", "model.ffn", "simulated", NULL, {{NULL}}},
        {"PADDING_SIZE", "model.layers", "simulated", NULL, {{NULL}}},
        {"SAMPLE_COUNT", "epochs", "simulated", NULL, {{NULL}}},
};
enum { DIR_PATH, RESTORE_PATH }; /* rows of it */

/* What rank 0's environment has of each; `set` says whether it is there. */
struct values {
        bool set[VARIABLES];
        char text[VARIABLES][TEXT_MAX];
};

static int take(const char *scenario, struct values *v, char *why, size_t nwhy)
{
        for (size_t i = 0; i < VARIABLES; i++) {
                const struct variable *var = &variables[i];
                const char *text = getenv(var->name);
                if (!text || !*text || strncmp(scenario, var->only, strlen(var->only)) != 0)
                        continue;
                v->set[i] = true;
                if (snprintf(v->text[i], TEXT_MAX, "%s", text) >= TEXT_MAX) {
                        snprintf(why, nwhy, "%s in the environment is too long: shorten it",
                                 var->name);
                        return -EINVAL;
                }
        }
        return 0;
}

static const char *our_word(const struct variable *var, const char *text, char *out, size_t n)
{
        for (size_t i = 0; var->words[i][0]; i++)
                if (!strcmp(var->words[i][0], text))
                        return var->words[i][1];
        bool bare = strspn(text, "0123456789.") == strlen(text);
        snprintf(out, n, "%s%s", text, var->unit && bare ? var->unit : "");
        return out;
}

/* Tries the value alone, so that a bad one is known by its variable. */
static int add(struct sweep *s, const struct variable *var, const char *text, char *why,
               size_t nwhy)
{
        char value[TEXT_MAX + 8], cause[400];
        struct keys k;

        if (param_tab_init(&key_tab, &k))
                return -ENOMEM;
        const char *word = our_word(var, text, value, sizeof value);
        int err = param_tab_set(&key_tab, &k, var->key, word, cause, sizeof cause);
        param_tab_release(&key_tab, &k);
        if (err) {
                snprintf(why, nwhy, "%s=%s in the environment: %s", var->name, text, cause);
                return err;
        }
        return sweep_add_value(s, SWEEP_ENVIRONMENT, var->key, word, why, nwhy);
}

int dataflux_env_place(struct sweep *s, enum sweep_level level, const char *place, char *why,
                       size_t nwhy)
{
        const char *storage, *key;

        if (!strncmp(place, "gs://", 5)) {
                storage = "gcs";
                key = "gcs.uri";
        } else if (!strncmp(place, "s3://", 5)) {
                storage = "s3";
                key = "s3.uri";
        } else {
                bool mounted = cpu_find_mount(place);
                storage = mounted ? "mount" : "disk";
                key = mounted ? "mount.path" : "path";
        }
        int err = sweep_add_value(s, level, "storage", storage, why, nwhy);
        return err ? err : sweep_add_value(s, level, key, place, why, nwhy);
}

/* The length of a path without slashes at its end. */
static size_t trimmed(const char *path)
{
        size_t n = strlen(path);
        while (n > 1 && path[n - 1] == '/')
                n--;
        return n;
}

/* PLACE/NAME: what loads take, which stands beside what is saved: one save, or for
 * lightning_multinode the directory that holds all of them. */
static int add_restore(struct sweep *s, struct values *v, char *why, size_t nwhy)
{
        char *path = v->text[RESTORE_PATH], *dir = v->text[DIR_PATH];
        path[trimmed(path)] = 0;
        char *slash = strrchr(path, '/');

        if (!slash || slash == path || !slash[1] || slash[-1] == '/') {
                snprintf(why, nwhy,
                         "CKPT_RESTORE_PATH=%s in the environment names no save: give "
                         "CKPT_DIR_PATH/checkpoints, or another name there",
                         path);
                return -EINVAL;
        }
        size_t n = (size_t)(slash - path);
        if (v->set[DIR_PATH] && (trimmed(dir) != n || memcmp(dir, path, n) != 0)) {
                snprintf(why, nwhy,
                         "CKPT_RESTORE_PATH=%s in the environment is not in CKPT_DIR_PATH=%s: save "
                         "and load in two runs",
                         path, dir);
                return -EINVAL;
        }
        int err = sweep_add_value(s, SWEEP_ENVIRONMENT, "suffix", slash + 1, why, nwhy);
        if (err || v->set[DIR_PATH])
                return err;
        *slash = 0;
        return dataflux_env_place(s, SWEEP_ENVIRONMENT, path, why, nwhy);
}

int dataflux_env_read(struct coll *c, const char *scenario, struct sweep *s, char *why, size_t nwhy)
{
        CLEANUP(freep) struct values *v = calloc(1, sizeof *v);
        int err = v ? 0 : -ENOMEM;

        if (!err && c->rank == 0)
                err = take(scenario, v, why, nwhy);
        err = coll_agree(c, err);
        if (!err)
                err = c->ops->bcast(c, v, sizeof *v);
        for (size_t i = 0; i < VARIABLES && !err; i++)
                if (v->set[i] && variables[i].key)
                        err = add(s, &variables[i], v->text[i], why, nwhy);
        if (!err && v->set[DIR_PATH])
                err = dataflux_env_place(s, SWEEP_ENVIRONMENT, v->text[DIR_PATH], why, nwhy);
        if (!err && v->set[RESTORE_PATH])
                err = add_restore(s, v, why, nwhy);
        return err;
}
