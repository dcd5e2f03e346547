/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h: the server's end of TLS. OpenSSL's libssl is used here and nowhere else. */
#ifndef CKPTFS_SIM_TLS_H
#define CKPTFS_SIM_TLS_H

#include <stddef.h>
#include <sys/types.h>

struct tls_server;
struct tls;

/* Certificate chain and key from PEM files. 0 or a negative errno with one line in `why`: cause,
 * then remedy. */
int tls_server_open(const char *cert, const char *key, struct tls_server **out, char *why,
                    size_t nwhy);
void tls_server_close(struct tls_server *s);

/* For an accepted, non-blocking descriptor, which stays the caller's. NULL: no memory. */
struct tls *tls_new(struct tls_server *s, int fd);
void tls_free(struct tls *t); /* says good-bye if that does not block */

/* A count, 0 at the end (tls_read), -EAGAIN (then *want_out says whether for writing), -EIO. A
 * write that said -EAGAIN must be tried again with the same bytes, or more of them. */
ssize_t tls_read(struct tls *t, void *p, size_t n, int *want_out);
ssize_t tls_write(struct tls *t, const void *p, size_t n, int *want_out);

#endif
