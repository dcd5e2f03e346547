/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h: configuration files as users of Hydra know them, read into a sweep.
 *
 * DIR/NAME.yaml holds plain keys, `defaults:` (files of the same directory that come first; _self_
 * stands for this one) and hydra.sweeper.params, whose values are lists: "disk, s3". A value ???
 * has to be given by somebody later. Of hydra's own keys nothing else is used; its callbacks are
 * other programs' and are named in one line. */
#ifndef CKPTFS_BENCH_SUITE_H
#define CKPTFS_BENCH_SUITE_H

#include <stddef.h>

#include "base/buf.h"
#include "bench/sweep.h"

/* Adds what DIR/NAME.yaml says. Lines about what is ignored are appended to `notes`. 0 or a
 * negative errno with one line in `why`. Blocks on local files. */
int suite_read(const char *dir, const char *name, struct sweep *s, struct buf *notes, char *why,
               size_t nwhy);

#endif
