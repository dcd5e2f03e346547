/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_otlp.c: a line as the headers that a collector of OpenTelemetry wants, and any bytes as its
 * reply. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mount/control/otlp_headers.h"
#include "mount/control/otlp_json.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

/* Each is one line with a name and a value. */
static void headers(const char *line)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char why[256] = "";

        setenv("OTEL_EXPORTER_OTLP_HEADERS", line, 1);
        int err = otlp_headers_add(&b, why, sizeof why);
        if (err > 0 || (err && (!*why || strchr(why, '\n'))))
                abort();
        for (size_t at = 0; !err && at < b.len; at += strlen(b.p + at) + 1) {
                const char *colon = strstr(b.p + at, ": ");
                if (!colon || colon == b.p + at || strpbrk(b.p + at, "\r\n"))
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        CLEANUP(freep) char *line = fuzz_line(&p, &n);
        CLEANUP(buf_release) struct buf reply = BUF_INIT;
        char why[64] = "";

        headers(line);
        if (n && buf_add(&reply, p, n))
                abort();
        otlp_read_partial(&reply, why, sizeof why);
        return 0;
}
