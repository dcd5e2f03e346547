/* SPDX-License-Identifier: Apache-2.0 */
/* digits.h: sizes and offsets as servers write them. */
#ifndef CKPTFS_BASE_DIGITS_H
#define CKPTFS_BASE_DIGITS_H

#include <stdint.h>

/* Reads decimal digits, and nothing else, of at most INT64_MAX: what a file may be long. 0, or
 * -EINVAL with *out 0. Pure. */
int digits_parse(const char *text, uint64_t *out);

/* The same of a length that has to be something: INT64_MAX for what is none, so that nobody takes
 * it for the length of an empty file. */
uint64_t digits_size(const char *text);

#endif
