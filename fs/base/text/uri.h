/* SPDX-License-Identifier: Apache-2.0 */
/* uri.h: percent-encoding as S3 wants it, and query strings.
 *
 * All but A-Z a-z 0-9 - . _ ~ is encoded, with upper-case digits (S3 API reference, "Signature
 * Calculations", UriEncode()). Pure and thread-safe. */
#ifndef CKPTFS_BASE_URI_H
#define CKPTFS_BASE_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A header or a query parameter, not encoded. */
struct uri_pair {
        const char *name, *value; /* value is never NULL */
};

/* Appends `text` encoded; plain_slash leaves '/' as it is, as in the path of an object. 0 or
 * -ENOMEM. */
int uri_encode(struct buf *b, const char *text, bool plain_slash);

/* Appends "name=value&..." in the order given, "" for none. 0 or -ENOMEM. */
int uri_encode_query(struct buf *b, const struct uri_pair *v, size_t n);

/* Decodes in place; plus_is_space for a query. Returns the new length (a decoded NUL would end the
 * string and is refused), or -EINVAL for a bad escape; then `s` is unspecified. */
int uri_decode(char *s, bool plus_is_space);
/* Whether uri_decode() can. */
bool uri_is_encoded(const char *s);

/* Splits and decodes a query string in place; the pairs point into it. Returns how many, -EINVAL
 * for a bad escape or -E2BIG for more than max. */
int uri_split_query(char *query, struct uri_pair *v, size_t max);

#endif
