/* SPDX-License-Identifier: Apache-2.0 */
/* conf.h: YAML files. libyaml is used here and nowhere else. */
#ifndef CKPTFS_BASE_CONF_H
#define CKPTFS_BASE_CONF_H

#include <stddef.h>

/* A scalar of the file: its dotted path ("s3.uri", "tags.0"), text and 1-based line. Non-zero stops
 * the reading and is returned by conf_read(). */
typedef int conf_scalar_fn(void *arg, const char *path, const char *value, unsigned line);

/* Reads a YAML file and hands each scalar over in order. Returns 0, what `fn` returned, or a
 * negative errno (-EINVAL: not YAML) with one line in `why` that names file, line, cause and
 * remedy. Blocks. */
int conf_read(const char *file, conf_scalar_fn *fn, void *arg, char *why, size_t nwhy);

struct params;
/* Sets params from a flat YAML file; unknown names and bad values are errors with file and line. */
int conf_read_params(const char *file, struct params *p, char *why, size_t nwhy);

#endif
