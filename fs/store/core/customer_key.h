/* SPDX-License-Identifier: Apache-2.0 */
/* customer_key.h: a key that the store encrypts with and does not keep, from a file of the user's.
 */
#ifndef CKPTFS_STORE_CUSTOMER_KEY_H
#define CKPTFS_STORE_CUSTOMER_KEY_H

#include <stddef.h>
#include <stdint.h>

enum { CUSTOMER_KEY_LEN = 32 };

/* Reads the key that `option` names: 32 bytes, or their base64. `endpoint` is where it will be sent
 * to, NULL for the vendor's. 0, or a negative errno with one line in `why`. */
int customer_key_read(const char *option, const char *file, const char *endpoint,
                      uint8_t key[CUSTOMER_KEY_LEN], char *why, size_t nwhy);

#endif
