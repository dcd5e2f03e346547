/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_json.h: the metrics as a request of OTLP (opentelemetry.io/docs/specs/otlp), in its JSON,
 * and the reply: keys in lowerCamelCase, integers of 64 bits as strings, values of enums as
 * numbers. */
#ifndef CKPTFS_MOUNT_OTLP_JSON_H
#define CKPTFS_MOUNT_OTLP_JSON_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct metrics_label;

/* The ExportMetricsServiceRequest of every metric as it is now, malloc'ed: counters and histograms
 * are cumulative since `start_ns` (since 1970). The labels, the mountpoint first, are attributes of
 * the resource and of each point. Names and units are those that Prometheus shows once a collector
 * has put the unit into the name. NULL: no memory. */
char *otlp_json(const struct metrics_label *labels, size_t n, uint64_t start_ns, uint64_t now_ns);

/* What a reply of 200 says all the same: a line in `why` when not all was taken. */
void otlp_read_partial(const struct buf *reply, char *why, size_t nwhy);

#endif
