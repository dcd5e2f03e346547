/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sim.c: any bytes as a request, a body in chunks, a record and fault rules of the simulator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/sim/http/chunked.h"
#include "bench/sim/http/fault.h"
#include "bench/sim/http/http.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

static void request(const uint8_t *p, size_t n)
{
        static struct http_request rq;
        char *copy = fuzz_text(p, n);
        int len = http_parse(copy, n, &rq);

        if (len > (int)n)
                abort();
        for (unsigned i = 0; len > 0 && i < rq.nheaders; i++) {
                uint64_t off, want;
                if (http_range(rq.headers[i].value, 1000, &off, &want) == 1 && off + want > 1000)
                        abort();
        }
        free(copy);
}

static int count(void *arg, char *p, size_t n)
{
        (void)p;
        *(uint64_t *)arg += n;
        return 0;
}

/* A body is the same whether it comes at once or byte by byte. */
static void chunks(const uint8_t *p, size_t n)
{
        struct chunked whole = {.len = 0}, bytewise = {.len = 0};
        uint64_t got = 0, got_bytewise = 0;
        char *copy = fuzz_text(p, n), *again = fuzz_text(p, n);
        int err = chunked_feed(&whole, copy, n, count, &got), err_bytewise = 0;

        for (size_t i = 0; !err_bytewise && i < n; i++)
                err_bytewise = chunked_feed(&bytewise, again + i, 1, count, &got_bytewise);
        if (err != err_bytewise || (!err && got != got_bytewise))
                abort();
        free(copy);
        free(again);
}

static void rules(const uint8_t *p, size_t n)
{
        char path[FUZZ_PATH_MAX], why[512] = "";
        int fd = fuzz_file(p, n, path), err;
        struct faults *f = NULL;

        err = faults_open(path, &f, why, sizeof why);
        close(fd);
        if (err) {
                if (!*why)
                        abort();
                return;
        }
        for (unsigned i = 0; i < 4; i++) {
                struct fault what;
                fault_match(f, "PutObject", "bucket", "key", i, &what);
                fault_release(&what);
        }
        faults_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        request(p, n);
        chunks(p, n);
        rules(p, n);
        return 0;
}
