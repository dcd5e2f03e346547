/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_headers.h: what a collector of OpenTelemetry wants to be sent with each request, such as a
 * key, from the variables that its libraries read, too. */
#ifndef CKPTFS_MOUNT_OTLP_HEADERS_H
#define CKPTFS_MOUNT_OTLP_HEADERS_H

#include <stddef.h>

#include "base/buf.h"

/* Appends "Name: value" with its NUL for each pair of OTEL_EXPORTER_OTLP_METRICS_HEADERS, or else
 * of OTEL_EXPORTER_OTLP_HEADERS. 0, -EINVAL with one line in `why`, which shows no value, or
 * -ENOMEM. */
int otlp_headers_add(struct buf *out, char *why, size_t nwhy);

#endif
