/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.h: the metrics in the text format of Prometheus
 * (prometheus.io/docs/instrumenting/exposition_formats), named and with units as it asks. */
#ifndef CKPTFS_MOUNT_METRICS_TEXT_H
#define CKPTFS_MOUNT_METRICS_TEXT_H

#include <stddef.h>

struct buf;
struct metric_desc;

/* A pair for each sample. */
struct metrics_label {
        const char *name, *value;
};

/* "ckptfs_sent_bytes_total" of a row of metrics.def. */
void metrics_text_name(struct buf *out, const struct metric_desc *d);

/* Appends every metric as it is now; there is a label at least. 0 or -ENOMEM. */
int metrics_text(struct buf *out, const struct metrics_label *labels, size_t n);

/* Cuts "NAME=VALUE" at its sign: 0, or -EINVAL when that is no name that a label may have, or one
 * of the `n` others has it. */
int metrics_label_parse(char *text, struct metrics_label *out, const struct metrics_label *others,
                        size_t n);

#endif
