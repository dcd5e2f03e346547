/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: see compare.h. Jobs belong together when all keys are the same that say what is
 * measured; an interval of the ratio that covers 1 is no difference. */
#include "bench/compare.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "bench/run.h"
#include "bench/stats.h"

#include "base/banned.h"

/* Keys that say where, not what. */
static const char *const places[] = {"out",         "disambiguator", "mount.path",  "mount.pid",
                                     "server.pid",  "path",          "suffix",      "s3.uri",
                                     "s3.endpoint", "gcs.uri",       "gcs.endpoint"};

static bool is_place(const char *name)
{
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
                if (!strcmp(places[i], name))
                        return true;
        return false;
}

static bool same_value(const struct json *a, const struct json *b)
{
        if (json_is_string(a) || json_is_string(b))
                return !strcmp(json_string(a, ""), json_string(b, ""));
        if (json_is_bool(a) || json_is_bool(b))
                return json_bool(a, false) == json_bool(b, false);
        return json_number(a, 0) == json_number(b, 0);
}

static bool same_job(const struct json *a, const struct json *b)
{
        const struct json *x = json_get(a, "config"), *y = json_get(b, "config");
        for (size_t i = 0; i < json_count(x); i++) {
                const struct json *v = json_at(x, i);
                if (!is_place(json_name(v)) && !same_value(v, json_get(y, json_name(v))))
                        return false;
        }
        return json_number(json_get(json_get(a, "setup"), "ranks"), 0) ==
               json_number(json_get(json_get(b, "setup"), "ranks"), 0);
}

/* Seconds of each epoch of a phase, the longest of its ranks. Returns how many; NULL for none. */
static size_t durations(const struct json *job, const char *phase, double **out)
{
        const struct json *epochs = json_get(json_get(json_get(job, "metrics"), phase), "epochs");
        size_t n = json_count(epochs);

        *out = n ? calloc(n, sizeof **out) : NULL;
        for (size_t e = 0; *out && e < n; e++)
                for (size_t r = 0; r < json_count(json_at(epochs, e)); r++) {
                        double s =
                                json_number(json_get(json_at(json_at(epochs, e), r), "total_s"), 0);
                        if (s > (*out)[e])
                                (*out)[e] = s;
                }
        return *out ? n : 0;
}

/* One line of a phase. True when there was one. */
static bool compare_phase(const struct json *a, const struct json *b, const char *phase,
                          const char *label)
{
        CLEANUP(freep) double *va = NULL;
        CLEANUP(freep) double *vb = NULL;
        size_t na = durations(a, phase, &va), nb = durations(b, phase, &vb);
        struct stats sa, sb;
        struct interval in;

        if (!na || !nb || stats_of(va, na, &sa) || stats_of(vb, nb, &sb))
                return false;
        printf("%-32s %-5s %9.3f %9.3f %7.3f  ", label, phase, sa.median, sb.median,
               stats_ratio(sb.median, sa.median));
        int err = stats_ratio_interval(va, na, vb, nb, &in);
        if (err)
                printf("%s\n",
                       err == -EINVAL ? "no interval: fewer than 3 epochs" : strerror(-err));
        else
                printf("%.3f-%.3f  %s\n", in.low, in.high,
                       in.low <= 1 && in.high >= 1 ? "no difference"
                       : in.high < 1               ? "the second is faster"
                                                   : "the first is faster");
        return true;
}

static void name_job(const struct json *job, char *out, size_t n)
{
        const struct json *config = json_get(job, "config");
        snprintf(out, n, "%s %s", json_string(json_get(config, "storage"), "?"),
                 json_string(json_get(json_get(job, "model"), "name"), ""));
}

static int compare(const struct json *a, const struct json *b)
{
        const struct json *x = json_get(a, "job_results"), *y = json_get(b, "job_results");
        bool any = false;

        printf("%-32s %-5s %9s %9s %7s  95 %% interval\n", "job", "phase", "first s", "second s",
               "ratio");
        for (size_t i = 0; i < json_count(x); i++)
                for (size_t j = 0; j < json_count(y); j++) {
                        char label[128];
                        if (!same_job(json_at(x, i), json_at(y, j)))
                                continue;
                        name_job(json_at(x, i), label, sizeof label);
                        any |= compare_phase(json_at(x, i), json_at(y, j), "save", label);
                        any |= compare_phase(json_at(x, i), json_at(y, j), "load", label);
                        break;
                }
        if (any)
                return 0;
        fprintf(stderr, "ckptbench: the runs have no job in common: give two with the same keys\n");
        return 1;
}

/* The file itself, or the only run_results.json in or below a directory, two levels deep. */
static int find_run(const char *arg, char out[PATH_MAX])
{
        static const char *const below[] = {"", "/run_results.json", "/*/run_results.json",
                                            "/*/*/run_results.json"};
        for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
                CLEANUP(buf_release) struct buf pattern = BUF_INIT;
                glob_t g = {0};
                size_t n = strlen(arg);
                if (i == 0 && (n < 5 || strcmp(arg + n - 5, ".json")))
                        continue;
                buf_addf(&pattern, "%s%s", arg, below[i]);
                size_t found = glob(pattern.p, 0, NULL, &g) ? 0 : g.gl_pathc;
                if (found == 1)
                        snprintf(out, PATH_MAX, "%s", g.gl_pathv[0]);
                globfree(&g);
                if (found)
                        return found == 1 ? 0 : -E2BIG;
        }
        return -ENOENT;
}

static int read_run(const char *arg, struct json **out)
{
        char path[PATH_MAX], why[PATH_MAX + 128];
        int err = find_run(arg, path);

        if (err)
                snprintf(why, sizeof why, "%s: %s: name one run_results.json", arg,
                         err == -E2BIG ? "more than one run is there" : "no run is there");
        else
                err = json_read(path, out, why, sizeof why);
        if (!err && strcmp(json_string(json_get(*out, "format"), ""), RUN_FORMAT)) {
                snprintf(why, sizeof why, "%s is no result of a run: name a run_results.json",
                         path);
                err = -EINVAL;
        }
        if (err)
                fprintf(stderr, "ckptbench: %s\n", why);
        return err;
}

int compare_main(int argc, char **argv)
{
        CLEANUP(json_freep) struct json *a = NULL;
        CLEANUP(json_freep) struct json *b = NULL;

        if (argc != 3) {
                fprintf(stderr, "usage: ckptbench compare FIRST SECOND\n");
                return 1;
        }
        if (read_run(argv[1], &a) || read_run(argv[2], &b))
                return 1;
        return compare(a, b);
}
