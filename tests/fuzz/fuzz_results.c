/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_results.c: any bytes as the results of a run, reported and compared. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/report/compare.h"
#include "bench/report/plot.h"
#include "bench/report/report.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

static char dir[] = "/tmp/fuzz-results.XXXXXX", run[sizeof dir + 24], page[sizeof dir + 24],
            text[sizeof dir + 24];

static void leave(void)
{
        unlink(run);
        unlink(page);
        unlink(text);
        rmdir(dir);
}

/* Charts are another program's. */
int __wrap_plot_svg(const struct plot *p, struct buf *out);
int __wrap_plot_svg(const struct plot *p, struct buf *out)
{
        (void)p, (void)out;
        return -ENOENT;
}

/* What the two commands print goes nowhere. */
static void begin(void)
{
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || !mkdtemp(dir))
                abort();
        close(fd);
        snprintf(run, sizeof run, "%s/run_results.json", dir);
        snprintf(page, sizeof page, "%s/report.html", dir);
        snprintf(text, sizeof text, "%s/report.md", dir);
        atexit(leave);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        char name[] = "report", option[] = "-o", cmp[] = "compare";

        if (!*run)
                begin();
        FILE *f = fopen(run, "wb");
        if (!f || fwrite(p, 1, n, f) != n || fclose(f))
                abort();
        report_main(4, (char *[]){name, run, option, page, NULL});
        compare_main(3, (char *[]){cmp, run, run, NULL});
        return 0;
}
