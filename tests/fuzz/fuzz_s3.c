/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_s3.c: any replies to the requests of S3, of the vendor's own store and of another server. */
#include <stdlib.h>

#include "store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/store_ops.h"
#include "base/banned.h"

static struct store *open_store(const char *endpoint)
{
        const struct store_config cfg = {
                .url = "s3://bucket/prefix", .endpoint = endpoint, .region = "us-east-1"};
        struct store *s;
        char why[512];

        if (store_open(&cfg, &s, why, sizeof why))
                abort();
        return s;
}

/* A new store for each input, since it remembers what a server cannot do; the first letter chooses
 * which. */
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        if (!n)
                return 0;
        struct store *s = open_store(*p == 'A' ? NULL : "http://127.0.0.1:9000");
        store_ops_run(s, p + 1, n - 1);
        store_close(s);
        return 0;
}
