/* SPDX-License-Identifier: Apache-2.0 */
/* sign_rs256.h: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, "RS256"): what signs a JSON web token. */
#ifndef CKPTFS_STORE_SIGN_RS256_H
#define CKPTFS_STORE_SIGN_RS256_H

#include "base/buf.h"

/* Appends the binary signature of a message by the private key in PEM (PKCS #8 or #1). 0, -EINVAL
 * (no such key: broken, encrypted, or not RSA) or -ENOMEM. Thread-safe. */
int sign_rs256(const char *pem, const void *p, size_t n, struct buf *signature);

#endif
