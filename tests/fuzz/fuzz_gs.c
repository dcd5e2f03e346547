/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gs.c: any replies to the requests of Google Cloud Storage, of its JSON and its XML
 * interface.
 */
#include <stdlib.h>

#include "store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/store_ops.h"
#include "base/banned.h"

/* The first letter chooses how objects of many parts are made. */
static struct store *open_store(uint8_t letter)
{
        const struct store_config cfg = {
                .url = "gs://bucket/prefix",
                .endpoint = "http://127.0.0.1:9000",
                .anonymous = true,
                .upload = letter == 'c'   ? STORE_UPLOAD_COMPOSE
                          : letter == 'r' ? STORE_UPLOAD_RESUMABLE
                          : letter == 'm' ? STORE_UPLOAD_MULTIPART
                                          : STORE_UPLOAD_AUTO,
        };
        struct store *s;
        char why[512];

        if (store_open(&cfg, &s, why, sizeof why))
                abort();
        return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        if (!n)
                return 0;
        struct store *s = open_store(*p);
        store_ops_run(s, p + 1, n - 1);
        store_close(s);
        return 0;
}
