/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c: see reload.h. */
#include "mount/daemon/reload.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/params.h"

#include "base/banned.h"

enum { WHY_MAX = 512 };

int reload_log(const struct params *p, bool foreground, char *why, size_t nwhy)
{
        const char *dest = p->log[0] ? p->log : foreground ? "stderr" : "syslog";
        int err = log_open("ckptfs", dest, (enum log_level)p->log_level);

        if (err)
                snprintf(why, nwhy, "log=%s: %s: name a file that can be written, or syslog", dest,
                         strerror(-err));
        else
                log_set_json(p->log_format);
        return err;
}

/* Options that a mount takes while it runs. */
static bool is_reloaded(const char *name)
{
        return !strcmp(name, "log") || !strcmp(name, "log_level") || !strcmp(name, "log_format");
}

/* The names of options that differ, of either kind. */
static void list_changes(const struct params *now, const struct params *fresh, bool reloaded,
                         struct buf *out)
{
        for (size_t i = 0; i < param_count; i++)
                if (is_reloaded(param_table[i].name) == reloaded && !params_same(now, fresh, i))
                        buf_addf(out, "%s%s=", out->len ? ", " : "", param_table[i].name);
}

static void swap_changes(struct params *now, struct params *fresh)
{
        for (size_t i = 0; i < param_count; i++)
                if (is_reloaded(param_table[i].name))
                        params_swap(now, fresh, i);
}

void reload_params(struct params *now, struct params *fresh, bool foreground)
{
        CLEANUP(buf_release) struct buf fixed = BUF_INIT, changed = BUF_INIT;
        char why[WHY_MAX];

        list_changes(now, fresh, false, &fixed);
        list_changes(now, fresh, true, &changed);
        if (fixed.len) {
                log_warn("SIGHUP: nothing is changed, since %s needs another mount: end this one "
                         "and mount again, or undo the change",
                         fixed.p);
                return;
        }
        swap_changes(now, fresh);
        if (reload_log(now, foreground, why, sizeof why)) {
                swap_changes(now, fresh);
                log_warn("SIGHUP: nothing is changed: %s", why);
                return;
        }
        if (changed.len)
                log_info("SIGHUP: changed %s; the log is opened anew", changed.p);
        else
                log_info("SIGHUP: the log is opened anew");
}
