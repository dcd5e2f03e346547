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

/* Those of a mount: mount, bucket, and the one of metrics_label=, if there is one. */
enum { METRICS_LABELS = 3 };
struct metrics_labels {
        struct metrics_label v[METRICS_LABELS];
        size_t n;
        char *given; /* that option, cut in two */
};
/* Borrows the mountpoint and the bucket. 0, or a negative errno with one line in `why`; released in
 * either case. */
int metrics_labels_set(struct metrics_labels *l, const char *mountpoint, const char *bucket,
                       const char *given, char *why, size_t nwhy);
void metrics_labels_release(struct metrics_labels *l);

/* Appends every metric as it is now; there is a label at least. 0 or -ENOMEM. */
int metrics_text(struct buf *out, const struct metrics_label *labels, size_t n);

#endif
