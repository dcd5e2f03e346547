/* SPDX-License-Identifier: Apache-2.0 */
/* customer_key.c: see customer_key.h. */
#include "store/core/customer_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "store/http/http.h"

#include "base/banned.h"

/* The bytes of the key: as they are, or in base64 with a newline. */
static int read_key(const char *file, uint8_t key[CUSTOMER_KEY_LEN])
{
        char text[128];
        uint8_t bytes[96];
        CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        int err = 0;

        if (n < 0)
                return -errno;
        if (n == CUSTOMER_KEY_LEN) {
                memcpy(key, text, CUSTOMER_KEY_LEN);
        } else {
                while (n && strchr(" \r\n", text[n - 1]))
                        n--;
                text[n] = 0;
                if (base64_decode(text, bytes, sizeof bytes) == CUSTOMER_KEY_LEN)
                        memcpy(key, bytes, CUSTOMER_KEY_LEN);
                else
                        err = -EINVAL;
        }
        explicit_bzero(text, sizeof text);
        explicit_bzero(bytes, sizeof bytes);
        return err;
}

int customer_key_read(const char *option, const char *file, const char *endpoint,
                      struct customer_digest digest, struct customer_key *out, char *why,
                      size_t nwhy)
{
        uint8_t key[CUSTOMER_KEY_LEN], sum[SHA256_LEN];
        bool secret =
                !endpoint || !strncmp(endpoint, "https:", 6) || http_on_this_machine(endpoint);

        if (!secret) {
                snprintf(why, nwhy,
                         "%s: the key would travel in clear text to %s: give an https endpoint",
                         option, endpoint);
                return -EINVAL;
        }
        int err = read_key(file, key);
        if (err) {
                snprintf(why, nwhy, "%s %s: %s: name a file of 32 bytes, or of their base64",
                         option, file, err == -EINVAL ? "no such key" : strerror(-err));
                return err;
        }
        base64_encode(key, sizeof key, out->key);
        digest.sum(key, sizeof key, sum);
        base64_encode(sum, digest.len, out->digest);
        explicit_bzero(key, sizeof key);
        return 0;
}
