/* SPDX-License-Identifier: Apache-2.0 */
/* otlp.h: sends the metrics of a mount to a collector of OpenTelemetry, by OTLP over HTTP in JSON
 * (metrics_otlp=http://127.0.0.1:4318).
 *
 * One thread of its own: nothing of the mount waits for it. What the collector did not take is in
 * the next export, since figures are cumulative, so that nothing is kept for it. */
#ifndef CKPTFS_MOUNT_OTLP_H
#define CKPTFS_MOUNT_OTLP_H

#include <stddef.h>

struct mount;
struct otlp;

/* *out is NULL where the option is empty. 0, or a negative errno with one line in `why`. */
int otlp_start(struct mount *m, struct otlp **out, char *why, size_t nwhy);
/* Exports once more, for which it blocks for LAST_MS at most, and ends; before the mount is taken
 * apart. NULL is fine. */
void otlp_stop(struct otlp *o);

#endif
