/* SPDX-License-Identifier: Apache-2.0 */
/* error_hint.h: why a server was not reached, and what to do about it, for people. */
#ifndef CKPTFS_STORE_ERROR_HINT_H
#define CKPTFS_STORE_ERROR_HINT_H

#include <stddef.h>

struct op;
struct op_fault;

/* Whose words mean that the server could not prove who it is: what to do, for the end of a line. */
const char *error_hint_tls(const char *said);

/* One line in `why` about an op that ended with `err` without a reply. `where` is the server, with
 * its scheme; `correct` the options that name it. */
void error_hint_transport(const char *where, const char *correct, const struct op *op, int err,
                          char *why, size_t nwhy);

/* What to do about a request of a mount that ended without a reply, for the end of a line. */
void error_hint_lost(const struct op *op, char *out, size_t n);

/* One line about a server whose answer to the check is none of a store's. `kind` is what it should
 * be: "S3". */
void error_hint_stranger(const char *where, const char *kind, const struct op *op, char *why,
                         size_t nwhy);

/* Keeps the first line of a reply that is plain text as the message of the op's fault. */
void error_hint_copy_text(struct op *op);

/* Takes the permission that a server says is missing, the word behind `before`. */
void error_hint_permission(struct op_fault *fault, const char *said, const char *before);

#endif
