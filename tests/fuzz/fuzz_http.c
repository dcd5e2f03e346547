/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http.c: any bytes in the place of replies of HTTP, to the whole client with libcurl. The
 * first letter chooses the kind of store, and how Google's objects of many parts are made. */
#include "store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/store_ops.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        bool s3 = n && *p == 's';
        const struct store_config cfg = {
                .url = s3 ? "s3://bucket/prefix" : "gs://bucket/prefix",
                .endpoint = "http://127.0.0.1:9000",
                .region = s3 ? "us-east-1" : NULL,
                .anonymous = !s3,
                .upload = store_ops_way(n ? *p : 0),
                .workers = 1,
                .connections = 4,
                .deadline_ms = 500,
                .stall_timeout_ms = 200,
        };

        if (n)
                store_ops_run(&cfg, p + 1, n - 1);
        return 0;
}
