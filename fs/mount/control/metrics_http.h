/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_http.h: serves the metrics of a mount to Prometheus, at /metrics of an address
 * (metrics=127.0.0.1:9469) or a unix socket (metrics=unix:PATH). libmicrohttpd is used here and
 * nowhere else: one thread of its own, eight connections, ten seconds each. Nothing of the mount
 * waits for it. */
#ifndef CKPTFS_MOUNT_METRICS_HTTP_H
#define CKPTFS_MOUNT_METRICS_HTTP_H

#include <stddef.h>

struct metrics_http;
struct mount;

/* *out is NULL where the option is empty. 0, or a negative errno with one line in `why`. */
int metrics_http_start(struct mount *m, struct metrics_http **out, char *why, size_t nwhy);
/* Before the mount is taken apart. NULL is fine. Blocks for moments. */
void metrics_http_stop(struct metrics_http *h);

#endif
