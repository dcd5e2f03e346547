/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_s3.c: any replies to the requests of S3. The first letter chooses the vendor's own store or
 * another server. */
#include "store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/store_ops.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        const struct store_config cfg = {
                .url = "s3://bucket/prefix",
                .endpoint = n && *p == 'A' ? NULL : "http://127.0.0.1:9000",
                .region = "us-east-1",
        };

        if (n)
                store_ops_run(&cfg, p + 1, n - 1);
        return 0;
}
