/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_suite.c: any bytes as a configuration in Hydra's style. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/cli/suite.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

static char dir[] = "/tmp/fuzz-suite.XXXXXX", name[sizeof dir + 16];

static void leave(void)
{
        unlink(name);
        rmdir(dir);
}

static void write_file(const uint8_t *p, size_t n)
{
        if (!*name) {
                if (!mkdtemp(dir))
                        abort();
                snprintf(name, sizeof name, "%s/suite.yaml", dir);
                atexit(leave);
        }
        FILE *f = fopen(name, "wb");
        if (!f || fwrite(p, 1, n, f) != n || fclose(f))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        CLEANUP(buf_release) struct buf notes = BUF_INIT;
        struct sweep over = {.keys = NULL}, s = {.keys = NULL};
        char why[1024] = "";

        write_file(p, n);
        int err = suite_read(dir, "suite", &over, &s, &notes, why, sizeof why);
        if (err > 0 || (err && !*why))
                abort();
        if (!err)
                suite_choose(dir, &s, &notes, why, sizeof why);
        sweep_release(&s);
        return 0;
}
