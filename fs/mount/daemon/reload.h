/* SPDX-License-Identifier: Apache-2.0 */
/* reload.h: options of a mount that runs. */
#ifndef CKPTFS_MOUNT_RELOAD_H
#define CKPTFS_MOUNT_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

struct metrics_http;
struct mount;
struct otlp;
struct params;

/* Opens the log as the options say: 0, or a negative errno with one line in `why`. */
int reload_log(const struct params *p, bool foreground, char *why, size_t nwhy);

/* Who is told the metrics. */
struct served {
        struct metrics_http *http;
        struct otlp *otlp;
};
/* Begins to tell them, as the options say: 0, or a negative errno with one line in `why` and
 * nothing begun. */
int served_start(struct mount *m, struct served *s, char *why, size_t nwhy);
/* Blocks for seconds at most. */
void served_stop(struct served *s);

/* Which options that are reloaded a list OPTION=VALUE,... names, a bit for each. */
unsigned reload_named(const char *list);
/* All of `now` in `fresh`, which has the defaults: 0, or a negative errno with `why`. */
int reload_copy(const struct params *now, struct params *fresh, char *why, size_t nwhy);
/* Options of these bits are those of `now` in `fresh`, too: 0, or a negative errno with `why`. */
int reload_carry_over(const struct params *now, unsigned given, struct params *fresh, char *why,
                      size_t nwhy);

/* Makes what differs in `fresh` so in the mount, whose `options` are locked, opens the log anew and
 * asks for credentials. When an option differs that needs another mount, or anything fails, nothing
 * changes and a negative errno says so. `text` gets a line on what happened. */
int reload_params(struct mount *m, struct served *served, struct params *fresh, bool foreground,
                  char *text, size_t n);

#endif
