/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h: configuration files as users of Hydra know them, read into a sweep.
 *
 * DIR/NAME.yaml holds plain keys, `defaults:` and hydra.sweeper.params, whose values are lists:
 * "disk, s3". An entry of `defaults:` is a file of DIR that comes first, `_self_` for this one, or
 * a choice `- group: x`, which reads DIR/group/x.yaml under `group.`; `override` and `optional`
 * stand before a group as in Hydra, and "# @package X" on top of a file says what else its keys
 * stand below. A value ??? has to be given by somebody later. Of hydra's own keys hydra.sweep.dir
 * is used, and no other; its callbacks are other programs' and are named in one line. */
#ifndef CKPTFS_BENCH_SUITE_H
#define CKPTFS_BENCH_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "bench/cli/sweep.h"

/* Adds what DIR/NAME.yaml says. `over`: what the command line says, so that a choice which it
 * replaces is not read. Lines about what is ignored are appended to `notes`. 0 or a negative errno
 * with one line in `why`. Blocks on local files. */
int suite_read(const char *dir, const char *name, const struct sweep *over, struct sweep *s,
               struct buf *notes, char *why, size_t nwhy);

/* Reads the groups that keys of the sweep choose: where DIR/KEY is a directory, each value of KEY
 * is one of its files. As suite_read(). */
int suite_choose(const char *dir, struct sweep *s, struct buf *notes, char *why, size_t nwhy);

/* Whether DIR has files to choose from for that key. */
bool suite_has_group(const char *dir, const char *name);

#endif
