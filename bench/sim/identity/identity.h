/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h: the servers that give credentials, played on the listener of the store.
 *
 * A protocol in front of another: a path that is of one of these servers is answered here, any
 * other is the store's. The file that says how is described in storesim(1). What was issued is
 * numbered, so that it can be known again without being kept: only its number and its end are.
 * Thread-safe. */
#ifndef CKPTFS_SIM_IDENTITY_H
#define CKPTFS_SIM_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

struct identity;

enum { IDENTITY_TEXT_MAX = 128 };

/* Reads the file. 0 or a negative errno with one line in `why`: cause, then remedy. */
int identity_open(const char *file, struct identity **out, char *why, size_t nwhy);
void identity_close(struct identity *id);

/* Whether the store takes nothing but what was issued. id NULL: it does not. */
bool identity_is_asked(const struct identity *id);
/* The secret of an access key that was issued, for a request that bears `session` (NULL: none). 0,
 * -ENOENT (not issued), -EACCES (another session token) or -ETIME (it has expired). */
int identity_secret(struct identity *id, const char *access, const char *session,
                    char secret[IDENTITY_TEXT_MAX]);
/* Whether "Bearer TOKEN" was issued: 0, -ENOENT or -ETIME. `authorization` may be NULL. */
int identity_bearer(struct identity *id, const char *authorization);

#endif
