/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: see run.h. */
#include "bench/run.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/clock.h"
#include "bench/cpu.h"
#include "bench/dev.h"
#include "bench/stop.h"

#include "base/banned.h"

void run_error(const struct run *r, const char *fmt, ...)
{
        char text[1024], who[32] = "";
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        if (r->coll->ranks > 1)
                snprintf(who, sizeof who, "rank %u: ", r->coll->rank);
        fprintf(stderr, "ckptbench: %s%s\n", who, text);
        if (r->log)
                fprintf(r->log, "error: %s%s\n", who, text);
}

/* The same, of what every rank sees alike. */
static int said_once(const struct run *r, int err, const char *why)
{
        if (r->coll->rank == 0)
                fprintf(stderr, "ckptbench: %s\n", why);
        return err;
}

void run_describe(const struct run *r, struct json *to)
{
        char text[128];
        struct utsname u;
        struct json *v = json_add_object(to, "versions"), *m = json_add_object(to, "machine");

        json_add_string(v, "ckptfs", PACKAGE_VERSION);
        r->coll->ops->version(text, sizeof text);
        json_add_string(v, "collectives", text);
        json_add_string(v, "compiler", __VERSION__);
        if (!uname(&u))
                json_add_string(v, "kernel", u.release);
        cpu_name(text, sizeof text);
        json_add_string(m, "cpu", text);
        json_add_number(m, "cores", cpu_cores());
        json_add_number(m, "memory_bytes",
                        (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
}

static double now_utc(void)
{
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void add_head(struct json *to, const char *format, const struct run *r)
{
        json_add_string(to, "format", format);
        json_add_number(to, "version", RUN_FORMAT_VERSION);
        json_add_string(to, "ckptfs_version", PACKAGE_VERSION);
        json_add_string(to, "scenario", r->scenario->name);
        json_add_number(to, "timestamp_utc", now_utc());
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

/* Makes OUT/SCENARIO/DATE, a directory that was not there; waits for the next second if it was. */
static int make_run_dir(struct run *r, const char *out)
{
        for (;;) {
                char when[32];
                time_t t = time(NULL);
                struct tm tm;
                gmtime_r(&t, &tm);
                strftime(when, sizeof when, "%Y-%m-%d_%H-%M-%S", &tm);
                if (snprintf(r->dir, sizeof r->dir, "%s/%s/%s", out, r->scenario->name, when) >=
                    PATH_MAX - 64)
                        return -ENAMETOOLONG;
                int err = run_make_dirs(r->dir);
                if (err)
                        return err;
                if (!mkdir(r->dir, 0777))
                        return 0;
                if (errno != EEXIST)
                        return -errno;
                clock_sleep_ns(100 * 1000 * 1000);
        }
}

/* The directory of a job, with its log open. */
static int open_job(struct run *r, size_t i)
{
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/%zu", r->dir, i);
        if (mkdir(path, 0777))
                return -errno;
        snprintf(path, sizeof path, "%s/%zu/benchmark.log", r->dir, i);
        r->log = fopen(path, "we");
        return r->log ? 0 : -errno;
}

/* results_<model>_<backend>_<world>_<threads>_<storage>.json, as an older suite named them. */
static void legacy_name(const struct run *r, const struct keys *k, size_t i, char *out, size_t n)
{
        static const char *const backends[] = {"gloo", "nccl"};
        unsigned long long world = k->world_size ? k->world_size : r->coll->ranks;
        snprintf(out, n, "%s/%zu/results_%s_%s_%llu_%llu_%s.json", r->dir, i, k->model,
                 backends[k->backend], world, (unsigned long long)k->thread_count, k->storage);
}

/* Writes what is known of a job, and what its log says last. */
static int close_job(struct run *r, const struct keys *k, size_t i, const struct json *job)
{
        char path[PATH_MAX + 256];
        snprintf(path, sizeof path, "%s/%zu/job_results.json", r->dir, i);
        int err = json_write_file(job, path);
        if (!err && r->legacy_names) {
                legacy_name(r, k, i, path, sizeof path);
                err = json_write_file(job, path);
        }
        fprintf(r->log, "%s\n", json_string(json_get(job, "error"), "done"));
        int closed = fclose(TAKE_PTR(r->log));
        return err ? err : closed ? -errno : 0;
}

/* What was swept, as YAML: each key with its values. */
static int write_sweep(const struct run *r, const struct sweep *s)
{
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/multirun.yaml", r->dir);
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

/* The keys of job i as the scenario sees them; release as after sweep_job(). */
static int job_keys(const struct run *r, const struct sweep *s, size_t i, struct keys *k, char *why,
                    size_t nwhy)
{
        int err = sweep_job(s, i, k, why, nwhy);
        if (err || !r->scenario->settle)
                return err;
        err = r->scenario->settle(k, why, nwhy);
        if (err)
                param_tab_release(&key_tab, k);
        return err;
}

/* How many ranks of the job world_size asks for. */
static unsigned wanted_ranks(const struct run *r, const struct keys *k)
{
        bool all = !k->world_size || r->scenario->plays_ranks || k->world_size > r->coll->ranks;
        return all ? r->coll->ranks : (unsigned)k->world_size;
}

static int plan_job(const struct run *r, const struct keys *k, char *why, size_t nwhy)
{
        struct coll part = *r->coll; /* nothing collective happens in a plan */
        struct run of_part = *r;

        part.ranks = wanted_ranks(r, k);
        of_part.coll = &part;
        if (k->world_size > part.ranks && !r->scenario->plays_ranks) {
                snprintf(why, nwhy,
                         "world_size=%llu is more than the %u rank%s of this job: start it with "
                         "mpirun -n %llu",
                         (unsigned long long)k->world_size, part.ranks, part.ranks > 1 ? "s" : "",
                         (unsigned long long)k->world_size);
                return -EINVAL;
        }
        return r->scenario->plan(&of_part, k, r->dry_run && !r->coll->rank ? stdout : NULL, why,
                                 nwhy);
}

/* Asks the scenario about every job before the first one starts. */
static int plan_all(struct run *r, const struct sweep *s)
{
        char why[512] = "out of memory: free some";
        for (size_t i = 0; i < sweep_count(s); i++) {
                struct keys k;
                int err = job_keys(r, s, i, &k, why, sizeof why);
                if (err)
                        return said_once(r, err, why);
                err = plan_job(r, &k, why, sizeof why);
                param_tab_release(&key_tab, &k);
                if (err)
                        return said_once(r, err, why);
        }
        return 0;
}

/* Opens what the device key asks for, in each rank. 0, or the same negative errno in all. */
static int open_device(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512] = "", text[160] = "host";
        int err = 0;

        if (r->scenario->device) {
                err = dev_use(k, r->coll->host_rank, why, sizeof why);
        } else if (k->device == DEVICE_CUDA || k->device == DEVICE_EMULATED) {
                snprintf(why, sizeof why, "%s works in the host's memory: give device=host",
                         r->scenario->name);
                err = -EINVAL;
        }
        if (err)
                run_error(r, "%s", why);
        else if (job && dev_get())
                dev_get()->describe(text, sizeof text);
        if (job)
                json_add_string(job, "device", text);
        return coll_agree(r->coll, err);
}

/* The work of a job by the ranks that take part; the others wait for how it ends. */
static int run_on_ranks(const struct run *r, const struct keys *k, struct json *job)
{
        struct coll part;
        bool in = false;

        if (wanted_ranks(r, k) == r->coll->ranks)
                return r->scenario->job(r, k, job);
        int err = r->coll->ops->split(r->coll, wanted_ranks(r, k), &part, &in);
        if (!err && in) {
                struct run of_part = *r;
                of_part.coll = &part;
                err = r->scenario->job(&of_part, k, job);
                r->coll->ops->drop(&part);
        }
        return coll_agree(r->coll, err);
}

/* One job; `jobs` is the array of run_results.json (NULL but in rank 0). */
static int run_job(struct run *r, const struct sweep *s, size_t i, struct json *jobs)
{
        char why[512];
        struct keys k;
        int err = job_keys(r, s, i, &k, why, sizeof why);
        if (err)
                return said_once(r, err, why);
        struct json *job = jobs ? json_add_object(jobs, NULL) : NULL;
        int wrote = job ? open_job(r, i) : 0;
        if (job) {
                add_head(job, JOB_FORMAT, r);
                keys_json(&k, json_add_object(job, "config"));
                run_describe(r, job);
        }
        err = coll_agree(r->coll, wrote);
        if (!err)
                err = open_device(r, &k, job);
        if (!err)
                err = run_on_ranks(r, &k, job);
        dev_drop();
        if (err && job)
                json_add_string(job, "error", strerror(-err));
        if (job && r->log)
                wrote = close_job(r, &k, i, job);
        param_tab_release(&key_tab, &k);
        if (wrote)
                run_error(r, "%s/%zu: %s: give out= a directory with room", r->dir, i,
                          strerror(-wrote));
        return err ? err : coll_agree(r->coll, wrote);
}

/* What rank 0 does behind the last job. */
static int finish_run(const struct run *r, const struct json *result)
{
        char path[PATH_MAX + 64];

        snprintf(path, sizeof path, "%s/run_results.json", r->dir);
        int err = json_write_file(result, path);
        if (err) {
                run_error(r, "%s: %s: give out= a directory with room", path, strerror(-err));
                return err;
        }
        r->scenario->table(result, stdout);
        printf("\nresults: %s\n", path);
        return fflush(stdout) ? -errno : 0;
}

/* out= is the same for all jobs; the first one's counts. */
static int open_run(struct run *r, const struct sweep *s, struct json **result)
{
        char why[512];
        struct keys k;
        int err = sweep_job(s, 0, &k, why, sizeof why);
        if (err)
                return said_once(r, err, why);
        if (r->coll->rank == 0) {
                err = make_run_dir(r, k.out);
                if (err)
                        run_error(r, "out=%s: %s: give a directory that can be written", k.out,
                                  strerror(-err));
                else if ((err = write_sweep(r, s)))
                        run_error(r, "%s/multirun.yaml: %s: give out= a directory with room",
                                  r->dir, strerror(-err));
                *result = json_new_object();
                add_head(*result, RUN_FORMAT, r);
                json_add_string(*result, "disambiguator", k.disambiguator);
                run_describe(r, *result);
        }
        param_tab_release(&key_tab, &k);
        return coll_agree(r->coll, err);
}

/* Nothing was measured: the directory goes again. */
static void forget_run_dir(const struct run *r, size_t jobs)
{
        char path[PATH_MAX + 64];
        if (r->coll->rank || !*r->dir)
                return;
        for (size_t i = 0; i < jobs; i++) {
                snprintf(path, sizeof path, "%s/%zu/benchmark.log", r->dir, i);
                unlink(path);
                snprintf(path, sizeof path, "%s/%zu/job_results.json", r->dir, i);
                unlink(path);
                *strrchr(path, '/') = 0;
                rmdir(path);
        }
        snprintf(path, sizeof path, "%s/multirun.yaml", r->dir);
        unlink(path);
        rmdir(r->dir);
}

int run_jobs(struct run *r, const struct sweep *s)
{
        if (r->coll->ranks > 1 && !r->scenario->many_ranks) {
                char why[128];
                snprintf(why, sizeof why,
                         "%s takes one rank: start it without mpirun, or with -n 1",
                         r->scenario->name);
                return said_once(r, -EINVAL, why);
        }
        int err = plan_all(r, s);
        if (err || r->dry_run)
                return err;
        CLEANUP(json_freep) struct json *result = NULL;
        uint64_t begin = clock_ns();
        err = open_run(r, s, &result);
        struct json *jobs = result ? json_add_array(result, "job_results") : NULL;
        int first = 0; /* of the jobs' errors: the others run all the same */
        size_t good = 0;
        for (size_t i = 0; i < sweep_count(s) && !err && first != -ECANCELED; i++) {
                int failed = run_job(r, s, i, jobs);
                good += !failed;
                first = first && failed != -ECANCELED ? first : failed;
        }
        if (err || !good) {
                forget_run_dir(r, sweep_count(s));
                return err ? err : first;
        }
        if (result) {
                json_add_number(result, "run_elapsed_time_s", clock_s(clock_ns() - begin));
                err = finish_run(r, result);
        }
        err = coll_agree(r->coll, err);
        return err ? err : first;
}
