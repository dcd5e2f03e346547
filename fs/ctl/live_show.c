/* SPDX-License-Identifier: Apache-2.0 */
/* live_show.c: the commands that ask mounts that run, and how they print what those say. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "base/text/json.h"
#include "ctl/ctl.h"
#include "ctl/live.h"

#include "base/banned.h"

static uint64_t number(const char *text)
{
        return strtoull(text, NULL, 10);
}

/* --- list --- */

static void print_unreachable(void *arg, const struct live_kernel_mount *k)
{
        const struct live_mounts *m = arg;

        for (size_t i = 0; i < m->n; i++)
                if (live_serves(&m->v[i].about, k))
                        return;
        CLEANUP(freep) char *at = ctl_printable(k->mountpoint), *of = ctl_printable(k->url);
        printf("%s\t%s\tunreachable\t-\t-\n", at ? at : "?", of ? of : "?");
}

static int by_mountpoint(const void *a, const void *b)
{
        const struct live_mount *x = a, *y = b;

        return strcmp(live_field(&x->about, "mountpoint"), live_field(&y->about, "mountpoint"));
}

int ctl_list(const struct ctl *c)
{
        CLEANUP(live_mounts_release) struct live_mounts m = {.n = 0};
        char age[CTL_AGE_MAX];

        int err = live_mounts_get(c->dir, &m);
        if (err)
                return ctl_fail("the mounts cannot be listed", err);
        if (m.n)
                qsort(m.v, m.n, sizeof *m.v, by_mountpoint);
        for (size_t i = 0; i < m.n; i++) {
                const struct live_reply *r = &m.v[i].about;
                printf("%s\t%s\t%s\t%s\t%s\n", live_field(r, "mountpoint"), live_field(r, "url"),
                       live_field(r, "state"), live_field(r, "pid"),
                       ctl_span((int64_t)live_number(r, "mounted_ms") / 1000, age));
        }
        live_each_kernel_mount(print_unreachable, &m);
        return CTL_OK;
}

/* --- status and files --- */

static void print_file(const struct live_line *l)
{
        char size[LIVE_BYTES_MAX], rate[LIVE_BYTES_MAX], age[CTL_AGE_MAX];
        double n = (double)number(l->v[FILE_SIZE]), sent = (double)number(l->v[FILE_SENT]);

        printf("file\t%s, %.0f%% of %s at the store", l->v[FILE_STATE], n > 0 ? 100 * sent / n : 0,
               live_bytes(n, size));
        if (number(l->v[FILE_SENDING]))
                printf(", sent for %s, %s/s now",
                       ctl_span((int64_t)number(l->v[FILE_SENDING]) / 1000, age),
                       live_bytes((double)number(l->v[FILE_RATE]), rate));
        printf(", changed %s ago%s%s: %s\n",
               ctl_span((int64_t)number(l->v[FILE_CHANGED]) / 1000, age),
               *l->v[FILE_ERROR] ? ", failed before: " : "", l->v[FILE_ERROR], l->v[FILE_KEY]);
}

static void print_lines(const struct live_reply *r, const char *name)
{
        char age[CTL_AGE_MAX];

        for (size_t i = 0; i < r->n; i++) {
                const struct live_line *l = &r->lines[i];
                if (strcmp(l->v[0], name) != 0)
                        continue;
                if (!strcmp(name, "file"))
                        print_file(l);
                else
                        printf("%s\t%s ago: %s\n", l->v[2],
                               ctl_span((int64_t)number(l->v[1]) / 1000, age), l->v[3]);
        }
}

static void print_status(const struct live_reply *r)
{
        char a[LIVE_BYTES_MAX], b[LIVE_BYTES_MAX], age[CTL_AGE_MAX];

        printf("mount\t%s on %s\n", live_field(r, "url"), live_field(r, "mountpoint"));
        printf("daemon\t%s for %s, pid %s, ckptfs %s, log_level=%s\n", live_field(r, "state"),
               ctl_span((int64_t)live_number(r, "mounted_ms") / 1000, age), live_field(r, "pid"),
               live_field(r, "version"), live_field(r, "log_level"));
        printf("files\t%s open, %s for writing: %s dirty, %s uploading, %s failed\n",
               live_field(r, "open"), live_field(r, "written"), live_field(r, "dirty"),
               live_field(r, "uploading"), live_field(r, "failed"));
        printf("unsent\t%s\n", live_bytes((double)live_number(r, "unsent"), a));
        printf("memory\t%s of %s", live_bytes((double)live_number(r, "pool_used"), a),
               live_bytes((double)live_number(r, "memory"), b));
        printf(", %s were spilled\n", live_bytes((double)live_number(r, "spilled"), a));
        printf("store\t%s requests, %s sent again, %s failed; ", live_field(r, "requests"),
               live_field(r, "retries"), live_field(r, "request_errors"));
        printf("%s sent, %s received\n", live_bytes((double)live_number(r, "sent"), a),
               live_bytes((double)live_number(r, "received"), b));
        print_lines(r, "file");
        print_lines(r, "log");
}

int ctl_status(const struct ctl *c)
{
        CLEANUP(live_mounts_release) struct live_mounts m = {.n = 0};
        const struct live_mount *only = NULL;
        int rc = CTL_OK, err = live_mounts_get(c->dir, &m);

        if (err)
                return ctl_fail("the mounts cannot be listed", err);
        if ((c->mount || !m.n) && !(only = live_find(c, &m)))
                return CTL_FAILED;
        for (size_t i = 0, shown = 0; i < m.n; i++) {
                CLEANUP(live_reply_release) struct live_reply r = {.n = 0};
                char why[256];
                if (only && only != &m.v[i])
                        continue;
                if (live_ask(m.v[i].socket, control_word_name(CONTROL_STATUS), &r, why,
                             sizeof why)) {
                        fprintf(stderr, "ckptctl: %s: %s\n",
                                live_field(&m.v[i].about, "mountpoint"), why);
                        rc = CTL_FAILED;
                        continue;
                }
                if (shown++)
                        putchar('\n');
                print_status(&r);
        }
        return rc;
}

static const char *age_of(const char *ms, char out[CTL_AGE_MAX])
{
        return number(ms) ? ctl_span((int64_t)number(ms) / 1000, out) : "-";
}

int ctl_files(const struct ctl *c)
{
        CLEANUP(live_reply_release) struct live_reply r = {.n = 0};
        char changed[CTL_AGE_MAX], sending[CTL_AGE_MAX];

        if (live_ask_mount(c, control_word_name(CONTROL_FILES), &r))
                return CTL_FAILED;
        for (size_t i = 0; i < r.n; i++) {
                const struct live_line *l = &r.lines[i];
                if (strcmp(l->v[0], "file") != 0)
                        continue;
                printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l->v[FILE_STATE], l->v[FILE_SIZE],
                       l->v[FILE_SENT], l->v[FILE_RATE], age_of(l->v[FILE_CHANGED], changed),
                       age_of(l->v[FILE_SENDING], sending),
                       *l->v[FILE_ERROR] ? l->v[FILE_ERROR] : "-", l->v[FILE_KEY]);
        }
        if (live_number(&r, "more"))
                fprintf(stderr, "ckptctl: %s more files are open for reading or writing\n",
                        live_field(&r, "more"));
        return CTL_OK;
}

/* --- stats --- */

/* The fields of a line: name, kind, value, unit. */
static double change(const struct live_reply *before, const struct live_line *l)
{
        for (size_t i = 0; i < before->n; i++)
                if (!strcmp(before->lines[i].v[0], l->v[0]))
                        return (double)number(l->v[2]) - (double)number(before->lines[i].v[2]);
        return 0;
}

static void print_stats(const struct live_reply *r, const struct live_reply *before, double seconds)
{
        for (size_t i = 0; i < r->n; i++) {
                const struct live_line *l = &r->lines[i];
                printf("%s\t%s\t%s", l->v[0], l->v[2], l->v[3]);
                if (before->n && !strcmp(l->v[1], "counter"))
                        printf("\t%.1f/s", change(before, l) / seconds);
                putchar('\n');
        }
}

static int print_json(const struct live_reply *r)
{
        CLEANUP(json_freep) struct json *j = json_new_object();

        for (size_t i = 0; i < r->n; i++)
                json_add_number(j, r->lines[i].v[0], (double)number(r->lines[i].v[2]));
        int err = json_write(j, stdout);
        return err ? ctl_fail("standard output", err) : CTL_OK;
}

int ctl_stats(const struct ctl *c)
{
        CLEANUP(live_reply_release) struct live_reply before = {.n = 0};
        CLEANUP(live_target_release) struct live_target t = {.socket = NULL};
        int rc;

        if (live_target_find(c, &t))
                return CTL_FAILED;
        for (;;) {
                struct live_reply r;
                if (live_target_ask(&t, control_word_name(CONTROL_STATS), &r))
                        return CTL_FAILED;
                rc = CTL_OK;
                if (c->json)
                        rc = print_json(&r);
                else
                        print_stats(&r, &before, (double)c->interval_ms / 1000);
                live_reply_release(&before);
                before = r;
                if (rc != CTL_OK || !c->interval_ms || fflush(stdout) || ferror(stdout))
                        return rc;
                if (!c->json)
                        putchar('\n');
                const struct timespec pause = {.tv_sec = (time_t)(c->interval_ms / 1000),
                                               .tv_nsec = (long)(c->interval_ms % 1000) * 1000000};
                nanosleep(&pause, NULL);
        }
}

/* --- credentials and log level --- */

/* Keys of a session end, whether their source tells when or not. */
static void print_no_expiry(const char *kind)
{
        printf("until\t%s\n", !strcmp(kind, "keys") ? "no expiry: they hold until they are replaced"
                              : !strcmp(kind, "none") ? "-"
                                                      : "not told by their source");
}

int ctl_credentials(const struct ctl *c)
{
        CLEANUP(live_reply_release) struct live_reply r = {.n = 0};
        char until[32], age[CTL_AGE_MAX];
        struct tm tm;

        if (live_ask_mount(c, control_word_name(CONTROL_CREDENTIALS), &r))
                return CTL_FAILED;
        time_t expiry = (time_t)live_number(&r, "expiry"), now = time(NULL);
        printf("source\t%s\n", *live_field(&r, "source") ? live_field(&r, "source") : "none yet");
        printf("kind\t%s\n", live_field(&r, "kind"));
        printf("usable\t%s\n", live_field(&r, "usable"));
        if (!expiry) {
                print_no_expiry(live_field(&r, "kind"));
        } else {
                gmtime_r(&expiry, &tm);
                strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", &tm);
                printf("until\t%s (%s%s)\n", until, expiry < now ? "passed, by " : "in ",
                       ctl_span(expiry < now ? now - expiry : expiry - now, age));
        }
        if (*live_field(&r, "why"))
                printf("error\t%s\n", live_field(&r, "why"));
        return CTL_OK;
}

int ctl_loglevel(const struct ctl *c)
{
        CLEANUP(live_reply_release) struct live_reply r = {.n = 0};
        char request[CONTROL_REQUEST_MAX];

        if (snprintf(request, sizeof request, "%s %.32s", control_word_name(CONTROL_LOGLEVEL),
                     c->level) < 0)
                return CTL_FAILED;
        return live_ask_mount(c, request, &r) ? CTL_FAILED : CTL_OK;
}

static int ask_reload(const struct ctl *c, const char *request)
{
        CLEANUP(live_reply_release) struct live_reply r = {.n = 0};

        if (live_ask_mount(c, request, &r))
                return CTL_FAILED;
        printf("%s\n", live_field(&r, "reloaded"));
        return CTL_OK;
}

int ctl_reload(const struct ctl *c)
{
        return ask_reload(c, control_word_name(CONTROL_RELOAD));
}

int ctl_set(const struct ctl *c)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        buf_addf(&b, "%s ", control_word_name(CONTROL_SET));
        control_add_printable(&b, c->level);
        if (b.failed)
                return ctl_fail("set", -ENOMEM);
        if (b.len < CONTROL_REQUEST_MAX)
                return ask_reload(c, b.p);
        fprintf(stderr, "ckptctl: that are too many options: give a shorter list\n");
        return CTL_FAILED;
}
