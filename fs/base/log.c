/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: see log.h. */
#include "base/mutex.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

enum { LINES_PER_WINDOW = 10, WINDOW_S = 10 };

static struct {
        struct mutex mtx; /* guards every log_site too */
        const char *prog;
        int fd;
        bool to_syslog;
        enum log_level level;
        struct log_kept kept[LOG_KEPT]; /* a ring; `nkept` lines were ever put there */
        size_t nkept;
} logger = {
        .mtx = MUTEX_INITIALIZER(LOCK_LOG),
        .prog = "ckptfs",
        .fd = STDERR_FILENO,
        .level = LOG_LEVEL_INFO,
};

int log_open(const char *prog, const char *dest, enum log_level level)
{
        int fd = STDERR_FILENO;
        bool to_syslog = !strcmp(dest, "syslog");

        if (!to_syslog && strcmp(dest, "stderr")) {
                fd = open(dest, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
                if (fd < 0)
                        return -errno;
        }
        mutex_lock(&logger.mtx);
        if (logger.fd != STDERR_FILENO)
                close(logger.fd);
        logger.prog = prog;
        logger.fd = fd;
        logger.to_syslog = to_syslog;
        __atomic_store_n(&logger.level, level, __ATOMIC_RELAXED);
        mutex_unlock(&logger.mtx);
        if (to_syslog)
                openlog(prog, LOG_PID, LOG_DAEMON);
        return 0;
}

bool log_wants(enum log_level level)
{
        return level <= __atomic_load_n(&logger.level, __ATOMIC_RELAXED);
}

void log_set_level(enum log_level level)
{
        __atomic_store_n(&logger.level, level, __ATOMIC_RELAXED);
}

enum log_level log_level(void)
{
        return __atomic_load_n(&logger.level, __ATOMIC_RELAXED);
}

size_t log_last(struct log_kept out[LOG_KEPT])
{
        mutex_lock(&logger.mtx);
        size_t n = logger.nkept < LOG_KEPT ? logger.nkept : LOG_KEPT;
        for (size_t i = 0; i < n; i++)
                out[i] = logger.kept[(logger.nkept - n + i) % LOG_KEPT];
        mutex_unlock(&logger.mtx);
        return n;
}

/* Whether the site may write now; sets *kept_back when a silent window ended. */
static bool site_may_write_locked(struct log_site *site, int *kept_back)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        *kept_back = 0;
        if (!site->count || now.tv_sec - site->window_s >= WINDOW_S) {
                *kept_back = site->kept_back;
                *site = (struct log_site){.window_s = now.tv_sec, .count = 1};
                return true;
        }
        if (site->count < LINES_PER_WINDOW) {
                site->count++;
                return true;
        }
        site->kept_back++;
        return false;
}

static void keep_locked(enum log_level level, const char *text)
{
        struct log_kept *k = &logger.kept[logger.nkept++ % LOG_KEPT];
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        k->time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        k->level = level;
        snprintf(k->text, sizeof k->text, "%s", text);
}

static void emit_locked(enum log_level level, const char *text)
{
        static const char *const words[] = {"error", "warning", "info", "debug"};
        static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
        char line[1200], when[32];
        struct timespec now;
        struct tm tm;

        if (logger.to_syslog) {
                syslog(priorities[level], "%s: %s", words[level], text);
                return;
        }
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &tm);
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
        int n = snprintf(line, sizeof line, "%s.%03ldZ %s[%d] %s: %s\n", when,
                         now.tv_nsec / 1000000, logger.prog, (int)getpid(), words[level], text);
        if (n >= (int)sizeof line) {
                n = sizeof line - 1;
                line[n - 1] = '\n';
        }
        ssize_t put = write(logger.fd, line, (size_t)n);
        (void)put; /* nowhere left to say it */
}

/* A name from a bucket may hold a newline or an escape: a line stays one line. */
static void make_printable(char *s)
{
        for (; *s; s++)
                if ((unsigned char)*s < ' ' || *s == 0x7f)
                        *s = '?';
}

void log_line(struct log_site *site, enum log_level level, const char *fmt, ...)
{
        int err = errno, kept_back;
        char text[LOG_TEXT_MAX];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        make_printable(text);
        mutex_lock(&logger.mtx);
        if (site_may_write_locked(site, &kept_back)) {
                if (kept_back) {
                        char note[64];
                        snprintf(note, sizeof note, "%d lines like the next were kept back",
                                 kept_back);
                        emit_locked(level, note);
                }
                emit_locked(level, text);
                if (level <= LOG_LEVEL_WARN)
                        keep_locked(level, text);
        }
        mutex_unlock(&logger.mtx);
        errno = err;
}
