/* SPDX-License-Identifier: Apache-2.0 */
/* store_ops.h: operations on a store that the input chooses, and replies that it makes up. */
#ifndef CKPTFS_TESTS_STORE_OPS_H
#define CKPTFS_TESTS_STORE_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "store.h"

/* How objects of many parts are made at Google, by the letter that an input begins with. */
enum store_way store_ops_way(uint8_t letter);

/* Opens a store for this input alone, since it remembers what a server cannot do. The first line of
 * the input has a letter for each operation, which are done one after the other (store_ops.c has
 * the table); the rest is a script for script_http.h. Aborts when a callback comes twice or never,
 * or is handed what store.h excludes, when a read succeeds without all that there is, and when a
 * descriptor stays open. */
void store_ops_run(const struct store_config *cfg, const uint8_t *p, size_t n);

#endif
