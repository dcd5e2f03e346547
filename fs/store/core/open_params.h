/* SPDX-License-Identifier: Apache-2.0 */
/* open_params.h: a store from the options that programs have in common. */
#ifndef CKPTFS_STORE_OPEN_PARAMS_H
#define CKPTFS_STORE_OPEN_PARAMS_H

#include <stddef.h>

struct params;
struct store;

/* Opens the store that options of base/params.def describe, and asks it as store_check() does.
 * Blocks. */
int store_open_params(const struct params *p, const char *url, struct store **out, char *why,
                      size_t nwhy);
/* The same without asking it. */
int store_prepare_params(const struct params *p, const char *url, struct store **out, char *why,
                         size_t nwhy);
/* How many transfers of data it runs at once, at most. */
unsigned store_transfers_most(const struct params *p);

/* Asks whether the credentials may write below the prefix, by a request that changes nothing.
 * Blocks for about a second at most. The name of the permission that the store denies; NULL: it
 * said nothing of the kind, which is no promise. */
const char *store_check_write(struct store *s);

/* Why no file can be written to the bucket, whatever is allowed: a constant; NULL: nothing is known
 * against it. After store_check(). */
const char *store_no_writes(const struct store *s);

/* The file that the credentials at hand, or what they were fetched with, were read from; "" none.
 */
enum { STORE_SECRET_FILE_MAX = 512 };
void store_secret_file(struct store *s, char out[STORE_SECRET_FILE_MAX]);

#endif
