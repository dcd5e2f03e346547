/* SPDX-License-Identifier: Apache-2.0 */
/* customer_key.h: a key that the store encrypts with and does not keep, from a file of the user's.
 */
#ifndef CKPTFS_STORE_CUSTOMER_KEY_H
#define CKPTFS_STORE_CUSTOMER_KEY_H

#include <stddef.h>
#include <stdint.h>

enum { CUSTOMER_KEY_LEN = 32 };

/* The key and its digest in base64, as headers have them. */
struct customer_key {
        char key[48], digest[48]; /* "" without a key */
};
/* The digest that a vendor wants of it, at most 32 bytes. */
struct customer_digest {
        void (*sum)(const void *p, size_t n, uint8_t *out);
        size_t len;
};

/* Reads the key that `option` names: 32 bytes, or their base64. `endpoint` is where it will be sent
 * to, NULL for the vendor's. 0, or a negative errno with one line in `why`. The caller wipes *out.
 */
int customer_key_read(const char *option, const char *file, const char *endpoint,
                      struct customer_digest digest, struct customer_key *out, char *why,
                      size_t nwhy);

#endif
