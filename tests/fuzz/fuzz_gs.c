/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gs.c: any replies to the requests of Google Cloud Storage, of its JSON and its XML
 * interface. The first letter chooses how objects of many parts are made. */
#include "store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/store_ops.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        const struct store_config cfg = {
                .url = "gs://bucket/prefix",
                .endpoint = "http://127.0.0.1:9000",
                .anonymous = true,
                .upload = store_ops_way(n ? *p : 0),
        };

        if (n)
                store_ops_run(&cfg, p + 1, n - 1);
        return 0;
}
