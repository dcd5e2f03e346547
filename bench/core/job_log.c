/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.c: see job_log.h. */
#include "bench/core/job_log.h"

#include <stdarg.h>
#include <time.h>

#include "base/banned.h"

static struct {
        FILE *to;
        const char *scenario;
} job_lines;

void job_log_to(FILE *to, const char *scenario)
{
        job_lines.to = to;
        job_lines.scenario = scenario;
}

void job_log(enum job_log_level level, const char *fmt, ...)
{
        static const char *const levels[] = {"INFO", "WARNING", "ERROR"};
        char text[1024], when[32];
        struct timespec now;
        struct tm tm;
        va_list ap;

        if (!job_lines.to)
                return;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &tm);
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
        fprintf(job_lines.to, "[%s,%03ld][%s][%s] - %s\n", when, now.tv_nsec / 1000000,
                job_lines.scenario, levels[level], text);
}
