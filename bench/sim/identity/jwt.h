/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.h: JSON web tokens signed by "RS256" (RFC 7515, 7518), as a server sees them. */
#ifndef CKPTFS_SIM_JWT_H
#define CKPTFS_SIM_JWT_H

struct json;

/* Verifies a token with the public key (PEM) in a file, NULL for any signature. Gives its claims:
 * 0, -EINVAL (no token of this kind), -EACCES (another key's), -ENOENT (no such key) or -ENOMEM. */
int jwt_verify(const char *token, const char *key_file, struct json **claims);

#endif
