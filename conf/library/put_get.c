/* SPDX-License-Identifier: Apache-2.0 */
/* put_get.c: writes an object that must not be there yet, and reads it back, with libckptstore.
 *
 *      cc put_get.c $(pkg-config --cflags --libs ckptstore) -o put_get
 *      ./put_get s3://bucket/prefix KEY TEXT [ENDPOINT]
 *
 * Credentials are found as ckptfs-credentials(7) says. */
#include <stdio.h>
#include <string.h>

#include <ckptfs/store.h>

static int put_get(struct store *s, const char *key, const char *text)
{
        const struct store_cond absent = {.if_absent = true};
        struct store_object made;
        char back[256];

        int err = store_put_wait(s, key, text, strlen(text), NULL, &absent, &made);
        if (err) {
                fprintf(stderr, "put_get: %s was not written: %s\n", key, strerror(-err));
                return 1;
        }
        /* Of the version that was just made, and no other. */
        ssize_t n = store_get_wait(s, key, 0, back, sizeof back, made.etag);
        if (n < 0) {
                fprintf(stderr, "put_get: %s was not read: %s\n", key, strerror((int)-n));
                return 1;
        }
        printf("%.*s\n", (int)n, back);
        return 0;
}

int main(int argc, char **argv)
{
        char why[1024];
        struct store *s;

        if (argc < 4) {
                fprintf(stderr, "usage: put_get URL KEY TEXT [ENDPOINT]\n");
                return 2;
        }
        struct store_config config = {.url = argv[1], .endpoint = argv[4]};
        if (store_open(&config, &s, why, sizeof why)) {
                fprintf(stderr, "put_get: %s\n", why);
                return 1;
        }
        int rc = put_get(s, argv[2], argv[3]);
        store_close(s);
        return rc;
}
