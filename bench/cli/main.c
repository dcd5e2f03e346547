/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the command line of ckptbench. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/log.h"
#include "bench/scenario/ceiling/ceiling_fuse.h"
#include "bench/core/child.h"
#include "bench/core/coll.h"
#include "bench/report/compare.h"
#include "bench/core/cpu.h"
#include "bench/cli/dataflux_env.h"
#include "bench/core/io.h"
#include "bench/core/keys.h"
#include "bench/cli/prepare_nvme.h"
#include "bench/report/report.h"
#include "bench/core/run.h"
#include "bench/scenario/train/train_writer.h"
#include "bench/core/signal_cleanup.h"
#include "bench/cli/suite.h"
#include "bench/cli/sweep.h"

#include "base/banned.h"

/* The names in lines of at most 80 columns. */
static void print_names(size_t n, const char *(*name)(size_t i))
{
        size_t column = 0;

        for (size_t i = 0; i < n; i++) {
                size_t len = strlen(name(i)) + 1;
                if (column && column + len > 80) {
                        putchar('\n');
                        column = 0;
                }
                printf("%s%s", column ? " " : "  ", name(i));
                column += len + !column;
        }
        putchar('\n');
}

static const char *scenario_name(size_t i)
{
        return scenarios[i]->name;
}

static const char *storage_name(size_t i)
{
        return io_storages[i].name;
}

static int help(void)
{
        printf("usage: [mpirun -n N] ckptbench SCENARIO [-cd DIR] [-cn NAME] [--dry-run]\n"
               "           [--legacy-names] [key=value | +key=v1,v2 ...]\n"
               "       ckptbench report DIR... [-o PAGE.html]\n"
               "       ckptbench compare FIRST SECOND\n"
               "       ckptbench prepare-nvme --device DEVICE --mountpoint DIR [--yes]\n"
               "       ckptbench help scenarios | storages | keys\n"
               "\nscenarios:\n");
        print_names(scenario_count, scenario_name);
        printf("storages:\n");
        print_names(io_nstorages, storage_name);
        printf("\n\"ckptbench help\" and one of these words explains each.\n");
        return 0;
}

static int help_with(const char *what)
{
        if (!strcmp(what, "scenarios")) {
                for (size_t i = 0; i < scenario_count; i++)
                        printf("  %s\n        %s\n", scenarios[i]->name, scenarios[i]->text);
        } else if (!strcmp(what, "storages")) {
                for (size_t i = 0; i < io_nstorages; i++)
                        printf("  %-8s%s%s\n", io_storages[i].name, io_storages[i].text,
                               io_storages[i].ops ? "" : " (not in this build)");
        } else if (!strcmp(what, "keys")) {
                printf("Several values, split by commas, make a job each.\n");
                param_tab_help(&key_tab, stdout);
        } else {
                fprintf(stderr,
                        "ckptbench: there is no help with '%s': give scenarios, storages or keys\n",
                        what);
                return 1;
        }
        return 0;
}

static int unknown_scenario(const char *name)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        size_t far = SIZE_MAX;
        const char *near = NULL;

        for (size_t i = 0; i < scenario_count; i++) {
                if (edit_nearer(name, scenarios[i]->name, &far))
                        near = scenarios[i]->name;
                buf_addf(&b, "%s, ", scenarios[i]->name);
        }
        if (near) {
                fprintf(stderr, "ckptbench: scenario '%s' is unknown: did you mean '%s'?\n", name,
                        near);
                return 1;
        }
        fprintf(stderr,
                "ckptbench: scenario '%s' is unknown: give one of %sreport, compare, "
                "prepare-nvme\n",
                name, b.p);
        return 1;
}

/* What the command line says besides keys. */
struct args {
        const char *dir, *name; /* of a configuration file */
        bool file;              /* whether one was asked for */
        bool dry_run, legacy_names;
};

/* The key that a flag of the scenario stands for, with *value set when the flag has one of its own
 * or is given as --flag=value; NULL: it is none. */
static const char *find_flag(const struct scenario *sc, const char *arg, const char **value)
{
        size_t n = strcspn(arg, "=");

        for (const struct run_flag *f = sc->flags; f && f->name; f++) {
                if (strlen(f->name) != n || memcmp(f->name, arg, n) || (f->value && arg[n]))
                        continue;
                *value = f->value ? f->value : arg[n] ? arg + n + 1 : NULL;
                return f->key;
        }
        return NULL;
}

/* Of what the scenario has in one way only, given as argument i: how many arguments that are, 0
 * when it is none of these, or -EINVAL with one line in `why` when another way is asked for. */
static int find_fixed(const struct scenario *sc, int argc, char **argv, int i, char *why,
                      size_t nwhy)
{
        const char *arg = argv[i];
        const size_t n = strcspn(arg, "=");
        const struct run_fixed *f = sc->fixed;

        while (f && f->name && (strlen(f->name) != n || memcmp(f->name, arg, n) != 0))
                f++;
        if (!f || !f->name)
                return 0;
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        const char *value = arg[n] ? arg + n + 1 : f->value ? next : "";
        if (f->value && !strcmp(value, f->value))
                return arg[n] ? 1 : 2;
        snprintf(why, nwhy, "%s%s%s: %s", f->name, *value ? " " : "", value, f->instead);
        return -EINVAL;
}

/* "~key": in the sweep of the command line alone it stands against a choice in a file's defaults;
 * in that of all it takes away what was said. */
static int take_away(const struct args *a, const char *arg, struct sweep *keys, bool only_command,
                     char *why, size_t nwhy)
{
        CLEANUP(freep) char *name = strndup(arg + 1, strcspn(arg + 1, "="));
        if (!name)
                return -ENOMEM;
        if (only_command)
                return sweep_add_value(keys, SWEEP_COMMAND, name, "", why, nwhy);
        int err = sweep_remove(keys, arg, why, nwhy);
        return err == -ENOENT && a->file && suite_has_group(a->dir, name) ? 0 : err;
}

/* Whether a variable of the shell was empty that was to name what is read: without the key it would
 * be the whole of the bucket or directory. */
static bool names_no_dataset(const struct scenario *sc, const char *arg)
{
        return !strcmp(sc->name, "dataset") && !strcmp(arg, "dataset=");
}

/* The arguments behind the scenario. They are read twice, into a sweep of their own
 * (`only_command`), for what a file has to know of them, and behind the file's keys. */
static int read_args(int argc, char **argv, const struct scenario *sc, struct args *a,
                     struct sweep *keys, bool only_command, char *why, size_t nwhy)
{
        int err = 0;
        for (int i = 2; i < argc && !err; i++) {
                const int fixed = find_fixed(sc, argc, argv, i, why, nwhy);
                if (fixed < 0)
                        return fixed;
                if (fixed) {
                        i += fixed - 1;
                        continue;
                }
                const char *arg = argv[i], *value = NULL, *key = find_flag(sc, arg, &value);
                const char **to = !strcmp(arg, "-cd") || !strcmp(arg, "--config-dir")    ? &a->dir
                                  : !strcmp(arg, "-cn") || !strcmp(arg, "--config-name") ? &a->name
                                                                                         : NULL;
                if ((to || (key && !value)) && i + 1 == argc) {
                        snprintf(why, nwhy, "%s needs a name behind it", arg);
                        return -EINVAL;
                }
                if (!value && (to || key))
                        value = argv[++i];
                if (to) {
                        *to = value;
                        a->file = true;
                } else if (key && !strcmp(key, "CKPT_DIR_PATH")) {
                        err = dataflux_env_place(keys, SWEEP_COMMAND, value, why, nwhy);
                } else if (key && *key) {
                        err = sweep_add_value(keys, SWEEP_COMMAND, key, value, why, nwhy);
                } else if (key) {
                        continue;
                } else if (!strcmp(arg, "--dry-run")) {
                        a->dry_run = true;
                } else if (!strcmp(arg, "--legacy-names")) {
                        a->legacy_names = true;
                } else if (names_no_dataset(sc, arg)) {
                        snprintf(why, nwhy,
                                 "dataset= names no data set: give it, or leave it out to read "
                                 "all that is there");
                        return -EINVAL;
                } else if (*arg == '~') {
                        err = take_away(a, arg, keys, only_command, why, nwhy);
                } else if (strcmp(arg, "-m") != 0 && strcmp(arg, "--multirun") != 0) {
                        err = sweep_add(keys, SWEEP_COMMAND, arg, why, nwhy);
                }
        }
        return err;
}

/* Ranks on several hosts read files of their own: they leave together, or do the same. */
static int read_alike(const struct run *r, const struct sweep *s, int err, char *why, size_t nwhy)
{
        uint32_t mine = sweep_digest(s), first = mine;

        err = run_agree(r, err, why);
        if (!err)
                err = r->coll->ops->bcast(r->coll, &first, sizeof first);
        if (err)
                return err;
        if (mine != first)
                snprintf(why, nwhy,
                         "the keys differ from those of rank 0: give each host the same files of "
                         "-cd");
        return run_agree(r, mine != first ? -EINVAL : 0, why);
}

/* Fills the sweep from the file that was named, then from the command line. */
static int read_keys(int argc, char **argv, struct run *r, struct sweep *s)
{
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        CLEANUP(sweep_release) struct sweep over = {0};
        struct args a = {.dir = "conf", .name = r->scenario->name};
        char why[512] = "";
        int err = 0;

        for (const char *const *d = r->scenario->defaults; d && *d && !err; d++)
                err = sweep_add(s, SWEEP_DEFAULT, *d, why, sizeof why);
        if (!err && r->scenario->dataflux)
                err = dataflux_env_read(r->coll, r->scenario->name, s, why, sizeof why);
        if (!err)
                err = read_args(argc, argv, r->scenario, &a, &over, true, why, sizeof why);
        if (!err && a.file)
                err = suite_read(a.dir, a.name, &over, s, &notes, why, sizeof why);
        if (!err)
                err = read_args(argc, argv, r->scenario, &a, s, false, why, sizeof why);
        if (!err && a.file)
                err = suite_choose(a.dir, s, &notes, why, sizeof why);
        s->config_name = a.name;
        r->dry_run = a.dry_run;
        r->legacy_names = a.legacy_names;
        if (r->coll->rank == 0)
                fputs(notes.p, stderr);
        return read_alike(r, s, err, why, sizeof why);
}

/* OpenMPI binds each of two ranks to a core of its own, and with it the threads that move the
 * bytes: what is measured then is that core. */
static void warn_if_bound(struct run *r)
{
        enum { FEW = 4 };
        unsigned mine = cpu_cores(), all = cpu_cores_online();

        if (r->coll->rank || r->coll->ranks == 1 || mine >= all || mine >= FEW)
                return;
        snprintf(r->warning, sizeof r->warning,
                 "each rank is bound to %u of this machine's %u cores with all its threads: start "
                 "with mpirun --bind-to none",
                 mine, all);
        fprintf(stderr, "ckptbench: %s\n", r->warning);
}

static int run_scenario(const struct scenario *sc, int argc, char **argv)
{
        CLEANUP(sweep_release) struct sweep sweep = {0};
        struct coll coll = {0};
        struct run run = {.coll = &coll, .scenario = sc};
        char why[512] = "signals cannot be waited for";

        int err =
                signal_cleanup_init(); /* before MPI makes threads, so that they inherit the mask */
        if (!err)
                err = coll_init(&coll, &argc, &argv, why, sizeof why);
        if (err) {
                fprintf(stderr, "ckptbench: %s\n", why);
                return 1;
        }
        warn_if_bound(&run);
        err = read_keys(argc, argv, &run, &sweep);
        if (!err)
                err = run_jobs(&run, &sweep);
        if (signal_came())
                run_error(&run, "stopped by a signal; what it had written was removed as far as "
                                "storage and time allowed");
        coll.ops->finish(&coll, !signal_came());
        return signal_came() ? 130 : err ? 1 : 0;
}

static int do_command(int argc, char **argv)
{
        if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
            (argc > 2 && !strcmp(argv[2], "--help")))
                return help();
        if (!strcmp(argv[1], "help"))
                return argc > 2 ? help_with(argv[2]) : help();
        if (!strcmp(argv[1], "--version")) {
                printf("ckptbench %s\n", PACKAGE_VERSION);
                return 0;
        }
        /* the other half of "ceiling", in a process of its own so that its time is told apart */
        if (!strcmp(argv[1], "null-fuse") && argc == 3)
                return null_fuse_main(argv[2]);
        if (!strcmp(argv[1], "become"))
                return child_become_main(argc, argv);
        log_open("ckptbench", "stderr", LOG_LEVEL_ERROR); /* bad input is one line: ours */
        /* what "async" starts to write beside its steps */
        if (!strcmp(argv[1], "async-writer") && argc == 3)
                return train_writer_main(argv[2]);
        if (!strcmp(argv[1], "report"))
                return report_main(argc - 1, argv + 1);
        if (!strcmp(argv[1], "compare"))
                return compare_main(argc - 1, argv + 1);
        if (!strcmp(argv[1], "prepare-nvme"))
                return prepare_nvme_main(argc - 1, argv + 1);
        const struct scenario *sc = scenario_find(argv[1]);
        return sc ? run_scenario(sc, argc, argv) : unknown_scenario(argv[1]);
}

int main(int argc, char **argv)
{
        fd_take_standard();
        const int rc = do_command(argc, argv);

        return fd_flush_output("ckptbench") && !rc ? 1 : rc;
}
