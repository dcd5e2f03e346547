/* SPDX-License-Identifier: Apache-2.0 */
/* reload.h: options of a mount that runs. */
#ifndef CKPTFS_MOUNT_RELOAD_H
#define CKPTFS_MOUNT_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

struct params;

/* Opens the log as the options say: 0, or a negative errno with one line in `why`. */
int reload_log(const struct params *p, bool foreground, char *why, size_t nwhy);

/* Makes what differs in `fresh` so in `now`, and opens the log anew. When an option differs that
 * needs another mount, nothing changes; the log says what happened. */
void reload_params(struct params *now, struct params *fresh, bool foreground);

#endif
