/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c: see reload.h. */
#include "mount/daemon/reload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/machine/machine.h"
#include "base/params.h"
#include "mount/control/metrics_http.h"
#include "mount/control/otlp.h"
#include "mount/core/mount.h"
#include "mount/daemon/advice.h"
#include "mount/daemon/mount_life.h"

#include "base/banned.h"

enum { WHY_MAX = 512 };

int reload_log(const struct params *p, bool foreground, char *why, size_t nwhy)
{
        const char *dest = p->log[0] ? p->log : foreground ? "stderr" : "syslog";
        int err = log_open("ckptfs", dest, (enum log_level)p->log_level);

        if (err)
                snprintf(why, nwhy, "log=%s: %s: name a file that can be written, or syslog%s",
                         dest, strerror(-err),
                         machine_is_confined(err) ? ", or add its directory to ReadWritePaths= of "
                                                    "the unit"
                                                  : "");
        else
                log_set_json(p->log_format);
        return err;
}

/* Options that a mount takes while it runs. */
static const char *const reloaded[] = {
        "log",    "log_level", "log_format",    "attr_ttl",     "connections",
        "memory", "metrics",   "metrics_label", "metrics_otlp", "metrics_interval"};

/* The option's bit among those that are reloaded; 0: it is not. */
static unsigned bit_of(size_t row)
{
        for (size_t i = 0; i < sizeof reloaded / sizeof *reloaded; i++)
                if (!strcmp(param_table[row].name, reloaded[i]))
                        return 1U << i;
        return 0;
}

static int copy(const struct params *now, size_t row, struct params *fresh, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf value = BUF_INIT;
        int err = params_value(now, row, &value);

        return err ? err
                   : params_set(fresh, param_table[row].name, value.p ? value.p : "", why, nwhy);
}

int reload_copy(const struct params *now, struct params *fresh, char *why, size_t nwhy)
{
        int err = 0;

        for (size_t i = 0; !err && i < param_count; i++)
                if (!params_same(now, fresh, i))
                        err = copy(now, i, fresh, why, nwhy);
        return err;
}

unsigned reload_named(const char *list)
{
        unsigned named = 0;

        for (size_t i = 0; i < param_count; i++) {
                const char *name = param_table[i].name;
                size_t n = strlen(name);
                for (const char *p = list; (p = strstr(p, name)); p += n)
                        if ((p == list || p[-1] == ',') && (!p[n] || strchr("=,", p[n])))
                                named |= bit_of(i);
        }
        return named;
}

int reload_carry_over(const struct params *now, unsigned given, struct params *fresh, char *why,
                      size_t nwhy)
{
        int err = 0;

        for (size_t i = 0; !err && i < param_count; i++)
                if (bit_of(i) & given)
                        err = copy(now, i, fresh, why, nwhy);
        return err;
}

/* The names of options that differ, of either kind. */
static void list_changes(const struct params *now, const struct params *fresh, bool taken,
                         struct buf *out)
{
        for (size_t i = 0; i < param_count; i++)
                if (!bit_of(i) == !taken && !params_same(now, fresh, i))
                        buf_addf(out, "%s%s=", out->len ? ", " : "", param_table[i].name);
}

static void swap_changes(struct params *now, struct params *fresh)
{
        for (size_t i = 0; i < param_count; i++)
                if (bit_of(i))
                        params_swap(now, fresh, i);
}

int served_start(struct mount *m, struct served *s, char *why, size_t nwhy)
{
        int err = metrics_http_start(m, &s->http, why, nwhy);
        if (!err)
                err = otlp_start(m, &s->otlp, why, nwhy);
        if (err)
                metrics_http_stop(TAKE_PTR(s->http));
        return err;
}

void served_stop(struct served *s)
{
        metrics_http_stop(TAKE_PTR(s->http));
        otlp_stop(TAKE_PTR(s->otlp));
}

static int serve_metrics(struct mount *m, struct served *s, char *why, size_t nwhy)
{
        served_stop(s);
        return served_start(m, s, why, nwhy);
}

static bool is_served_otherwise(const struct params *a, const struct params *b)
{
        return strcmp(a->metrics, b->metrics) != 0 ||
               strcmp(a->metrics_label, b->metrics_label) != 0 ||
               strcmp(a->metrics_otlp, b->metrics_otlp) != 0 ||
               a->metrics_interval != b->metrics_interval;
}

/* What can fail comes into force, or nothing does. Metrics come last: whoever serves them is begun
 * anew, which is seen outside. */
static int try_changes(struct mount *m, struct served *served, struct params *fresh,
                       bool foreground, char *why, size_t nwhy)
{
        bool other = is_served_otherwise(&m->params, fresh);
        char again[WHY_MAX];

        swap_changes(&m->params, fresh);
        int err = reload_log(&m->params, foreground, why, nwhy);
        bool logs = !err;
        if (!err && other)
                err = serve_metrics(m, served, why, nwhy);
        if (!err)
                return 0;
        swap_changes(&m->params, fresh);
        if (logs && (reload_log(&m->params, foreground, again, sizeof again) ||
                     serve_metrics(m, served, again, sizeof again)))
                log_warn_of(LOG_ABOUT(.operation = "reload", .remedy = "mount again"), "%s", again);
        return err;
}

int reload_params(struct mount *m, struct served *served, struct params *fresh, bool foreground,
                  char *text, size_t n)
{
        CLEANUP(buf_release) struct buf fixed = BUF_INIT, changed = BUF_INIT;
        char why[WHY_MAX];

        list_changes(&m->params, fresh, false, &fixed);
        list_changes(&m->params, fresh, true, &changed);
        if (fixed.len) {
                snprintf(text, n,
                         "nothing is changed, since %s needs another mount: end this one and mount "
                         "again, or undo the change",
                         fixed.p);
                return -EINVAL;
        }
        if (fresh->memory < m->memory_least) {
                snprintf(text, n,
                         "nothing is changed, since less memory= than at the beginning needs "
                         "another mount: end this one and mount again, or undo the change");
                return -EINVAL;
        }
        bool more = fresh->memory > m->params.memory;
        int err = try_changes(m, served, fresh, foreground, why, sizeof why);
        if (err) {
                snprintf(text, n, "nothing is changed: %s", why);
                return err;
        }
        mount_apply(m);
        if (more)
                advise_memory(&m->params);
        snprintf(text, n, "%s%s%sthe log is opened anew, and credentials are asked for",
                 changed.len ? "changed " : "", changed.p, changed.len ? "; " : "");
        return 0;
}
