/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: see report.h. */
#include "bench/report.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "bench/html.h"
#include "bench/run.h"

#include "base/banned.h"

enum { MAX_RUNS = 1000 };

struct report {
        struct buf page;
        size_t runs, left_out;
};

static void section(struct report *r, const struct json *run, const char *path)
{
        const struct scenario *sc = scenario_find(json_string(json_get(run, "scenario"), ""));
        char when[40];
        time_t t = (time_t)json_number(json_get(run, "timestamp_utc"), 0);
        struct tm tm;

        gmtime_r(&t, &tm);
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
        buf_adds(&r->page, "<section><h2>");
        html_text(&r->page, sc->name);
        buf_addf(&r->page, ", %s</h2>\n<p class=\"sub\">", when);
        html_text(&r->page, path);
        buf_adds(&r->page, "</p>\n");
        sc->page(run, r->runs, &r->page);
        html_machine(&r->page, run);
        buf_adds(&r->page, "</section>\n");
        r->runs++;
}

/* One file of results. One that is not ours, or of a later version, is left out with a line. */
static void add_file(struct report *r, const char *path)
{
        CLEANUP(json_freep) struct json *run = NULL;
        char why[512];

        if (json_read(path, &run, why, sizeof why)) {
                fprintf(stderr, "ckptbench: %s\n", why);
                r->left_out++;
                return;
        }
        if (strcmp(json_string(json_get(run, "format"), ""), RUN_FORMAT) ||
            json_number(json_get(run, "version"), 0) != RUN_FORMAT_VERSION ||
            !scenario_find(json_string(json_get(run, "scenario"), ""))) {
                fprintf(stderr, "ckptbench: %s is no result of this version: left out\n", path);
                r->left_out++;
                return;
        }
        section(r, run, path);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
        return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int add_tree(struct report *r, char *dir)
{
        char *const roots[] = {dir, NULL};
        FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
        int err = 0;

        if (!fts)
                return -errno;
        for (FTSENT *e; !err && (e = fts_read(fts));) {
                bool root = e->fts_level == FTS_ROOTLEVEL;
                if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
                        err = root ? -e->fts_errno : 0;
                else if (e->fts_info == FTS_F && r->runs < MAX_RUNS &&
                         (root || !strcmp(e->fts_name, "run_results.json")))
                        add_file(r, e->fts_path);
        }
        fts_close(fts);
        return err;
}

static int write_page(const struct buf *page, const char *path)
{
        CLEANUP(fclosep) FILE *f = fopen(path, "we");
        if (!f)
                return -errno;
        if (fwrite(page->p, 1, page->len, f) != page->len || fflush(f))
                return -errno;
        return 0;
}

static int fail(const char *what, int err, const char *remedy)
{
        fprintf(stderr, "ckptbench: %s: %s: %s\n", what, strerror(-err), remedy);
        return 1;
}

static int make_report(char **dirs, size_t ndirs, const char *out)
{
        struct report r = {.page = BUF_INIT};
        int status = 0;

        html_begin(&r.page, "ckptbench: checkpoints saved and loaded");
        for (size_t i = 0; i < ndirs && !status; i++) {
                int err = add_tree(&r, dirs[i]);
                if (err)
                        status = fail(dirs[i], err, "give a directory of results");
        }
        html_end(&r.page);
        if (!status && !r.runs) {
                fprintf(stderr, "ckptbench: no results below the directories given: run a scenario "
                                "first\n");
                status = 1;
        }
        int err = status ? 0 : r.page.failed ? -ENOMEM : write_page(&r.page, out);
        if (err)
                status = fail(out, err, "give -o a file that can be written");
        else if (!status)
                printf("report of %zu runs: %s\n", r.runs, out);
        buf_release(&r.page);
        return status;
}

int report_main(int argc, char **argv)
{
        const char *out = NULL;
        size_t n = 0;

        for (int i = 1; i < argc; i++) {
                if (!strcmp(argv[i], "-o") && i + 1 < argc)
                        out = argv[++i];
                else
                        argv[n++] = argv[i];
        }
        if (!out || !n || *argv[0] == '-') {
                fprintf(stderr, "usage: ckptbench report DIR... -o FILE.html\n");
                return 1;
        }
        return make_report(argv, n, out);
}
