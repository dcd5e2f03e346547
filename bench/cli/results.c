/* SPDX-License-Identifier: Apache-2.0 */
/* results.c: see results.h. */
#include "bench/cli/results.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/cli/sweep.h"
#include "bench/core/clock.h"
#include "bench/core/job_log.h"

#include "base/banned.h"

/* The name of a file of the run, below its directory. */
static void results_path(const struct run *r, const char *name, char *out, size_t n)
{
        snprintf(out, n, "%s/%s", r->dir, name);
}

int run_make_dirs(const char *path)
{
        char part[PATH_MAX];
        snprintf(part, sizeof part, "%s", path);
        for (char *p = part + 1; *p; p++) {
                if (*p != '/')
                        continue;
                *p = 0;
                if (mkdir(part, 0777) && errno != EEXIST)
                        return -errno;
                *p = '/';
        }
        return 0;
}

/* OUT/SCENARIO/DATE, or, unless out= is said louder, what hydra.sweep.dir says. */
static int name_dir(struct run *r, const struct sweep *s, const struct keys *k)
{
        const struct sweep_key *out = sweep_find(s, "out"), *dir = sweep_find(s, "hydra.sweep.dir");
        char when[32];
        time_t t = time(NULL);
        struct tm tm;
        int n;

        localtime_r(&t, &tm);
        strftime(when, sizeof when, "%Y-%m-%d_%H-%M-%S", &tm);
        if (*k->sweep_dir && (!out || out->level <= dir->level))
                n = snprintf(r->dir, sizeof r->dir, "%s", k->sweep_dir);
        else if (*k->out)
                n = snprintf(r->dir, sizeof r->dir, "%s/%s/%s", k->out, r->scenario->name, when);
        else
                n = -1;
        if (n < 0) {
                snprintf(r->dir, sizeof r->dir, "out=''");
                return -EINVAL;
        }
        while (n > 1 && n < PATH_MAX && r->dir[n - 1] == '/')
                r->dir[--n] = 0;
        return n < PATH_MAX - 64 ? 0 : -ENAMETOOLONG;
}

/* One of the same second is waited out; another stays as it is. */
int results_make_dir(struct run *r, const struct sweep *s, char *why, size_t nwhy)
{
        const uint64_t end = clock_ns() + 1200 * 1000 * 1000ULL;
        struct keys k;
        int err;

        do {
                err = sweep_job(s, 0, &k, why, nwhy);
                if (err)
                        return err;
                err = name_dir(r, s, &k);
                param_tab_release(&key_tab, &k);
                if (!err)
                        err = run_make_dirs(r->dir);
                if (!err && !mkdir(r->dir, 0777))
                        return 0;
                err = err ? err : -errno;
                if (err == -EEXIST)
                        clock_sleep_ns(100 * 1000 * 1000);
        } while (err == -EEXIST && clock_ns() < end);
        snprintf(why, nwhy, "%.400s: %s: give out= another directory that can be written", r->dir,
                 strerror(-err));
        *r->dir = 0; /* it is not ours */
        return err;
}

int results_write_sweep(const struct run *r, const struct sweep *s)
{
        char path[PATH_MAX + 64];
        results_path(r, "multirun.yaml", path, sizeof path);
        CLEANUP(fclosep) FILE *f = fopen(path, "we");
        if (!f)
                return -errno;
        fprintf(f, "scenario: %s\nparams:\n", r->scenario->name);
        for (size_t i = 0; i < s->n; i++) {
                fprintf(f, "  %s: [", s->keys[i].name);
                for (size_t v = 0; v < s->keys[i].n; v++) {
                        fputs(v ? ", '" : "'", f);
                        for (const char *p = s->keys[i].v[v]; *p; p++)
                                fputs(*p == '\'' ? "''" : (char[]){*p, 0}, f);
                        fputc('\'', f);
                }
                fputs("]\n", f);
        }
        return fflush(f) ? -errno : 0;
}

int results_open_job(struct run *r, size_t i)
{
        char path[PATH_MAX + 64];
        r->job = i;
        snprintf(path, sizeof path, "%s/%zu", r->dir, i);
        if (mkdir(path, 0777))
                return -errno;
        snprintf(path, sizeof path, "%s/%zu/benchmark.log", r->dir, i);
        r->log = fopen(path, "we");
        if (!r->log)
                return -errno;
        job_log_to(r->log, r->scenario->name);
        if (*r->warning)
                job_log(JOB_LOG_WARNING, "%s", r->warning);
        return 0;
}

/* results_<model>_<backend>_<world>_<threads>_<storage>.json, as an older suite named them. */
static void legacy_name(const struct run *r, const struct keys *k, size_t i, char *out, size_t n)
{
        static const char *const backends[] = {"gloo", "nccl"};
        unsigned long long world = k->world_size ? k->world_size : r->coll->ranks;
        snprintf(out, n, "%s/%zu/results_%s_%s_%llu_%llu_%s.json", r->dir, i, k->model,
                 backends[k->backend], world, (unsigned long long)k->thread_count, k->storage);
}

int results_close_job(struct run *r, const struct keys *k, size_t i, const struct json *job)
{
        char path[PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%zu/job_results.json", r->dir, i);
        int err = json_write_file(job, path);
        if (!err && r->legacy_names) {
                legacy_name(r, k, i, path, sizeof path);
                err = json_write_file(job, path);
        }
        const char *error = json_string(json_get(job, "error"), NULL);
        job_log(error ? JOB_LOG_ERROR : JOB_LOG_INFO, "%s", error ? error : "done");
        job_log_to(NULL, "");
        int closed = fclose(TAKE_PTR(r->log));
        return err ? err : closed ? -errno : 0;
}

int results_write_run(const struct run *r, const struct json *result)
{
        char path[PATH_MAX + 64];
        results_path(r, "run_results.json", path, sizeof path);
        return json_write_file(result, path);
}

/* A job's directory and all that is in it. */
static void remove_job(char *path)
{
        char *const roots[] = {path, NULL};
        FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

        for (FTSENT *e; fts && (e = fts_read(fts));)
                if (e->fts_info != FTS_D)
                        remove(e->fts_path);
        if (fts)
                fts_close(fts);
}

void results_forget(const struct run *r, size_t jobs)
{
        char path[PATH_MAX + 64];
        if (!*r->dir)
                return;
        for (size_t i = 0; i < jobs; i++) {
                snprintf(path, sizeof path, "%s/%zu", r->dir, i);
                remove_job(path);
        }
        results_path(r, "multirun.yaml", path, sizeof path);
        unlink(path);
        rmdir(r->dir);
}
