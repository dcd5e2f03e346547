/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: see run.h. */
#include "bench/core/run.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/dev.h"
#include "bench/core/gds.h"
#include "bench/core/job_log.h"
#include "bench/core/signal_cleanup.h"
#include "bench/cli/dynamodb.h"
#include "bench/cli/sysinfo.h"
#include "bench/format/format.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/cli/results.h"
#include "bench/cli/sweep.h"
#include "bench/measure/job_monitor.h"

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
        job_log(JOB_LOG_ERROR, "%s%s", who, text);
}

/* The same, of what every rank sees alike. */
static int said_once(const struct run *r, int err, const char *why)
{
        if (r->coll->rank == 0)
                fprintf(stderr, "ckptbench: %s\n", why);
        job_log(JOB_LOG_ERROR, "%s", why);
        return err;
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

int run_agree(const struct run *r, int err, const char *why)
{
        int first = err; /* rank 0's */
        int bad = coll_agree(r->coll, err);

        if (!bad)
                return 0;
        if (r->coll->ops->bcast(r->coll, &first, sizeof first))
                return bad;
        if (first)
                return said_once(r, bad, why);
        if (err)
                run_error(r, "%s", why);
        return bad;
}

/* The keys of job i as the scenario sees them; release as after sweep_job(). */
static int job_keys(const struct run *r, const struct sweep *s, size_t i, struct keys *k, char *why,
                    size_t nwhy)
{
        int err = sweep_job(s, i, k, why, nwhy);
        if (!err && k->device == DEVICE_CPU)
                k->device = DEVICE_HOST; /* by another name */
        if (err || !r->scenario->resolve_keys)
                return err;
        err = r->scenario->resolve_keys(k, why, nwhy);
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

static int check_format(const struct run *r, const struct keys *k, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf can = BUF_INIT;
        unsigned bits = r->scenario->formats;

        if (!bits || bits & 1U << k->format)
                return 0;
        for (unsigned i = 0; bits >> i; i++)
                if (bits & 1U << i)
                        buf_addf(&can, "%s%s", can.len ? " or " : "", formats[i].name);
        snprintf(why, nwhy, "format=%s: %s writes %s: give that%s", formats[k->format].name,
                 r->scenario->name, can.p,
                 k->format == FORMAT_DCP ? ", or take dcp_fsdp_save" : "");
        return -EINVAL;
}

/* Keys are written into the results. */
static int check_secrets(const struct keys *k, char *why, size_t nwhy)
{
        const char *const urls[][2] = {{"s3.endpoint", k->s3_endpoint},
                                       {"gcs.endpoint", k->gcs_endpoint},
                                       {"dynamodb.endpoint", k->dynamodb_endpoint}};
        for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
                if (!strchr(urls[i][1], '@'))
                        continue;
                snprintf(why, nwhy,
                         "%s holds credentials: give them in the environment, as "
                         "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                         urls[i][0]);
                return -EINVAL;
        }
        return 0;
}

/* Whether one of the names in the path is "..". */
static bool leaves(const char *path)
{
        size_t n;

        for (; *path; path += n + (path[n] == '/')) {
                n = strcspn(path, "/");
                if (n == 2 && !memcmp(path, "..", n))
                        return true;
        }
        return false;
}

/* What lies in a storage is named from its top. */
static int check_names(const struct keys *k, char *why, size_t nwhy)
{
        const char *const names[][2] = {{"file", k->file},
                                        {"resume", k->resume},
                                        {"suffix", k->suffix},
                                        {"dataset", k->dataset}};

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                if (!leaves(names[i][1]))
                        continue;
                snprintf(why, nwhy,
                         "%s=%s leaves what path, mount.path or the uri names: name there the "
                         "directory that it is in, and here what is below that",
                         names[i][0], names[i][1]);
                return -EINVAL;
        }
        return 0;
}

static int plan_job(const struct run *r, const struct keys *k, char *why, size_t nwhy)
{
        struct coll part = *r->coll; /* nothing collective happens in a plan */
        struct run of_part = *r;

        part.ranks = wanted_ranks(r, k);
        part.host_ranks = part.host_ranks < part.ranks ? part.host_ranks : part.ranks;
        of_part.coll = &part;
        if (k->world_size > part.ranks && !r->scenario->plays_ranks) {
                snprintf(why, nwhy,
                         "world_size=%llu is more than the %u rank%s of this job: start it with "
                         "mpirun -n %llu",
                         (unsigned long long)k->world_size, part.ranks, part.ranks > 1 ? "s" : "",
                         (unsigned long long)k->world_size);
                return -EINVAL;
        }
        int err = check_secrets(k, why, nwhy);
        if (!err)
                err = check_names(k, why, nwhy);
        if (!err)
                err = check_format(r, k, why, nwhy);
        if (err)
                return err;
        if (k->backend == BACKEND_NCCL && !r->scenario->carries) {
                snprintf(why, nwhy,
                         "%s hands nothing from GPU to GPU: leave backend=nccl out, or give "
                         "backend=gloo",
                         r->scenario->name);
                return -EINVAL;
        }
        return r->scenario->plan(&of_part, k, r->dry_run && !r->coll->rank ? stdout : NULL, why,
                                 nwhy);
}

/* Nobody gives a key in vain: not one of another scenario, whose values would only multiply jobs.
 */
static int check_keys(const struct run *r, const struct sweep *s, char *why, size_t nwhy)
{
        for (size_t i = 0; i < s->n; i++) {
                const struct sweep_key *k = &s->keys[i];
                const char *of = keys_readers(k->name, r->scenario->name);
                if (!of || k->level == SWEEP_DEFAULT)
                        continue;
                snprintf(why, nwhy, "%s%s is for %s, and %s does not read it: leave it out",
                         k->said, k->level == SWEEP_ENVIRONMENT ? " of the environment" : "", of,
                         r->scenario->name);
                return -EINVAL;
        }
        return 0;
}

/* Says once that a job makes more bytes than it was asked for. */
static void say_least(struct run *r, const struct keys *k)
{
        const uint64_t bytes = r->scenario->formats && !r->coll->rank ? model_least(k) : 0;

        if (!bytes || *r->warning)
                return;
        snprintf(r->warning, sizeof r->warning,
                 "size=%llu: the smallest model of model=auto has %llu bytes, which are taken",
                 (unsigned long long)k->size, (unsigned long long)bytes);
        puts(r->warning);
}

/* Asks the scenario about every job before the first one starts. */
static int plan_all(struct run *r, const struct sweep *s)
{
        char why[512] = "out of memory: free some";
        int err = check_keys(r, s, why, sizeof why);

        if (!err && sweep_count(s) > SWEEP_JOBS_MAX) {
                snprintf(why, sizeof why, "the lists make more than %d jobs: shorten one",
                         SWEEP_JOBS_MAX);
                err = -EINVAL;
        }
        for (size_t i = 0; i < sweep_count(s) && !err; i++) {
                struct keys k;
                err = job_keys(r, s, i, &k, why, sizeof why);
                if (err)
                        break;
                err = plan_job(r, &k, why, sizeof why);
                if (!err)
                        say_least(r, &k);
                param_tab_release(&key_tab, &k);
        }
        return run_agree(r, err, why);
}

/* What is shown of job `i` while it runs. */
static void name_job(const struct run *r, const struct sweep *s, size_t i, const struct keys *k,
                     struct progress_job *out, char *label, size_t nlabel)
{
        sweep_label(s, i, label, nlabel);
        *out = (struct progress_job){
                .label = *label ? label : r->scenario->name,
                .number = i + 1,
                .jobs = sweep_count(s),
                .bytes = r->preflight->moved / wanted_ranks(r, k),
                .ranks = wanted_ranks(r, k),
                .every_ms = k->progress,
        };
}

/* Writes what each rank's shards live in; "device" is rank 0's. Collective. */
static int note_devices(const struct run *r, struct json *job)
{
        enum { TEXT = 160 };
        char mine[TEXT] = "host";
        CLEANUP(freep) char *all = calloc(r->coll->ranks, TEXT);
        int err = coll_agree(r->coll, all ? 0 : -ENOMEM);

        if (dev_get())
                dev_get()->describe(mine, sizeof mine);
        if (!err)
                err = r->coll->ops->gather(r->coll, mine, TEXT, all);
        if (err || !job)
                return err;
        job_log(JOB_LOG_INFO, "shards live in %s", all);
        json_add_string(job, "device", all);
        struct json *list = json_add_array(job, "devices");
        for (unsigned i = 0; i < r->coll->ranks; i++)
                json_add_string(list, NULL, all + (size_t)i * TEXT);
        return 0;
}

/* With device=auto all ranks use one, or none does: else they would wait for each other in
 * different collectives. `why`, unless "", says why this one has none. */
static int same_device(const struct run *r, const char *why)
{
        double without = !dev_get();
        int err = r->coll->ops->max(r->coll, &without, 1);

        if (err || !without)
                return err;
        double with = dev_get() != NULL;
        err = r->coll->ops->max(r->coll, &with, 1);
        if (!err && with && !dev_get() && *why)
                run_error(r, "%s: no rank uses a device then", why);
        dev_drop();
        return err;
}

/* GPUDirect Storage, in each rank; the results have rank 0's. The same negative errno in all. */
static int open_gds(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512] = "";
        const char *says;
        int err = run_agree(r, gds_use(k, why, sizeof why), why);

        if (err || !job || k->disk_gds == DISK_GDS_OFF)
                return err;
        struct json *o = json_add_object(job, "gds");
        json_add_string(o, "mode", gds_mode_names[gds_mode(&says)]);
        json_add_string(o, "says", says);
        job_log(JOB_LOG_INFO, "GPUDirect Storage: %s: %s", gds_mode_names[gds_mode(&says)], says);
        return 0;
}

/* Opens what the device key asks for, in each rank. 0, or the same negative errno in all. */
static int open_device(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512] = "";
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
        err = coll_agree(r->coll, err);
        if (!err)
                err = same_device(r, why);
        return err ? err : note_devices(r, job);
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

/* The job itself, watched. The needs are asked for again: a job before may have left files. */
static int do_job(struct run *r, const struct sweep *s, size_t i, const struct keys *k,
                  struct json *job)
{
        struct progress_job shown;
        struct job_monitor watch;
        char why[512] = "", label[160];

        *r->preflight = (struct preflight){0};
        int err = run_agree(r, plan_job(r, k, why, sizeof why), why);
        if (err)
                return err;
        name_job(r, s, i, k, &shown, label, sizeof label);
        job_log(JOB_LOG_INFO, "job %zu of %zu: %s, storage %s, ranks: %u", shown.number, shown.jobs,
                shown.label, k->storage, shown.ranks);
        err = job_monitor_begin(&watch, r, k, job ? &shown : NULL);
        if (err)
                run_error(r, "what the job uses cannot be watched: %s", strerror(-err));
        err = coll_agree(r->coll, err);
        if (!err)
                err = run_on_ranks(r, k, job);
        cleanup_drop_paths();
        int seen = job_monitor_end(&watch, r, err != -ECANCELED, job);
        return err ? err : seen;
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
        int wrote = job ? results_open_job(r, i) : 0;
        if (job) {
                add_head(job, JOB_FORMAT, r);
                keys_json(&k, json_add_object(job, "config"));
                sysinfo_add(r->coll, job);
        }
        err = coll_agree(r->coll, wrote);
        if (!err)
                err = open_device(r, &k, job);
        if (!err)
                err = open_gds(r, &k, job);
        if (!err)
                err = do_job(r, s, i, &k, job);
        gds_drop();
        dev_drop();
        if (err && job) { /* what it had measured before it failed is no figure of it */
                json_remove(job, "metrics");
                json_add_string(job, "error", strerror(-err));
        }
        if (job && r->log)
                wrote = results_close_job(r, &k, i, job);
        param_tab_release(&key_tab, &k);
        if (wrote)
                run_error(r, "%s/%zu: %s: give out= a directory with room", r->dir, i,
                          strerror(-wrote));
        return err ? err : coll_agree(r->coll, wrote);
}

/* What rank 0 does behind the last job: the files, the table, the item of a database, the verdict.
 */
static int finish_run(const struct run *r, const struct sweep *s, const struct json *result)
{
        char why[512];
        struct keys k;

        int err = results_write_run(r, result);
        if (err) {
                run_error(r, "%s/run_results.json: %s: give out= a directory with room", r->dir,
                          strerror(-err));
                return err;
        }
        r->scenario->table(result, stdout);
        printf("\nresults: %s/run_results.json\n", r->dir);
        if (fflush(stdout))
                return -errno;
        err = sweep_job(s, 0, &k, why, sizeof why);
        if (err)
                return said_once(r, err, why);
        if (*k.dynamodb_table && (err = dynamodb_put(&k, result, why, sizeof why)))
                run_error(r, "%s", why);
        param_tab_release(&key_tab, &k);
        return err || !r->scenario->verdict ? err : r->scenario->verdict(r, result);
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
                err = results_make_dir(r, s, why, sizeof why);
                if (err)
                        run_error(r, "%s", why);
                else if ((err = results_write_sweep(r, s)))
                        run_error(r, "%s/multirun.yaml: %s: give out= a directory with room",
                                  r->dir, strerror(-err));
                *result = json_new_object();
                add_head(*result, RUN_FORMAT, r);
                json_add_string(*result, "disambiguator", k.disambiguator);
                sysinfo_add(r->coll, *result);
                if (!err)
                        sysinfo_add_ec2(*result);
        }
        param_tab_release(&key_tab, &k);
        return coll_agree(r->coll, err);
}

int run_jobs(struct run *r, const struct sweep *s)
{
        struct preflight preflight = {0};

        if (r->coll->ranks > 1 && !r->scenario->many_ranks) {
                char why[128];
                snprintf(why, sizeof why,
                         "%s takes one rank: start it without mpirun, or with -n 1",
                         r->scenario->name);
                return said_once(r, -EINVAL, why);
        }
        r->preflight = &preflight;
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
                if (r->coll->rank == 0)
                        results_forget(r, sweep_count(s));
                return err ? err : first;
        }
        if (result) {
                json_add_number(result, "run_elapsed_time_s", clock_s(clock_ns() - begin));
                err = finish_run(r, s, result);
        }
        err = coll_agree(r->coll, err);
        return err ? err : first;
}
