/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_uri.c: any line as an escaped path, a query, a URL, a header of a reply, a date, and as what
 * says where a store is. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sign/sign_v4.h"
#include "base/text/uri.h"
#include "base/text/utf8.h"
#include "store/http/http.h"
#include "store/http/http_once.h"
#include "store/http/retry.h"
#include "store.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

/* What is encoded decodes to itself. */
static void encoded(const char *text)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        if (uri_encode(&b, text, true) || (b.len && uri_decode(b.p, false) < 0) ||
            strcmp(b.len ? b.p : "", text))
                abort();
}

static void decoded(const char *text)
{
        struct uri_pair v[8];
        CLEANUP(freep) char *path = strdup(text), *query = strdup(text);

        if (!path || !query)
                abort();
        int n = uri_decode(path, true);
        if (n >= 0 && strlen(path) != (size_t)n)
                abort();
        n = uri_split_query(query, v, sizeof v / sizeof *v);
        for (int i = 0; i < n; i++)
                if (!v[i].value || strlen(v[i].name) > strlen(text))
                        abort();
}

/* However far away a date is, its wait is bounded. */
static void retry_after(const char *value)
{
        static const char name[] = "retry-after";
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        if (buf_add(&b, name, sizeof name) || buf_add(&b, value, strlen(value) + 1))
                abort();
        if (http_once_retry_after(&b) > 999999999)
                abort();
}

/* A store is opened by it, or the refusal is one line. */
static void place(const char *line)
{
        static const char endpoint[] = "http://127.0.0.1:9000", region[] = "us-east-1";
        const struct store_config places[] = {
                {.url = line, .endpoint = endpoint, .region = region},
                {.url = "s3://bucket", .endpoint = line, .region = region},
                {.url = "s3://bucket", .region = line},
                {.url = "s3://bucket", .region = region, .tags = line, .bucket_owner = line},
                {.url = "s3://bucket", .region = region, .sse = "aws:kms", .sse_kms_key = line},
                {.url = "gs://bucket", .endpoint = line},
        };

        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                char why[512] = "";
                struct store *s;
                if (!store_open(&places[i], &s, why, sizeof why))
                        store_close(s);
                else if (!*why || strchr(why, '\n'))
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        while (n) {
                CLEANUP(freep) char *line = fuzz_line(&p, &n);
                struct sign_claim claim;
                uint64_t first, last, total;
                char host[64];
                time_t when;

                place(line);
                encoded(line);
                decoded(line);
                utf8_valid(line);
                if (!http_url_host(line, host, sizeof host) && strlen(host) >= sizeof host)
                        abort();
                http_on_this_machine(line);
                http_goes_direct(line);
                if (!content_range_parse(line, &first, &last, &total) && total != UINT64_MAX &&
                    first <= last && last >= total)
                        abort();
                retry_after(line);
                sign_v4_parse_date(line, &when);
                if (!sign_claim_parse(line, &claim))
                        sign_claim_release(&claim);
        }
        return 0;
}
