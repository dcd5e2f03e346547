/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: see log.h. */
#include "base/mutex.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/text/utf8.h"

#include "base/banned.h"

enum { LINES_PER_WINDOW = 10, WINDOW_S = 10, READER_MS = 100 };

enum log_dest { TO_FD, TO_SYSLOG, TO_JOURNAL };

static struct {
        struct mutex mtx; /* guards every log_site too */
        const char *prog;
        int fd;
        enum log_dest dest;
        bool json;
        enum log_level level;
        struct log_kept kept[LOG_KEPT]; /* a ring; `nkept` lines were ever put there */
        size_t nkept;
        unsigned left_out; /* lines, since a pipe took none */
} logger = {
        .mtx = MUTEX_INITIALIZER(LOCK_LOG),
        .prog = "ckptfs",
        .fd = STDERR_FILENO,
        .level = LOG_LEVEL_INFO,
};

/* The journal takes datagrams of fields (systemd.io/JOURNAL_NATIVE_PROTOCOL). */
static int open_journal(void)
{
        const struct sockaddr_un at = {.sun_family = AF_UNIX,
                                       .sun_path = "/run/systemd/journal/socket"};
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at)) {
                int err = -errno;
                close(fd);
                return err;
        }
        return fd < 0 ? -errno : fd;
}

/* A FIFO that nobody reads is an error: to wait for its reader would hold up whoever opens the log.
 */
static int open_file(const char *path)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
        if (fd < 0)
                return -errno;
        (void)fcntl(fd, F_SETFL, O_APPEND); /* a line is written whole, or not at all */
        return fd;
}

const char *log_path(const char *dest)
{
        static const char *const words[] = {"stderr", "syslog", "journal"};

        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (!strcmp(dest, words[i]))
                        return NULL;
        return strncmp(dest, "file:", 5) ? dest : dest + 5;
}

int log_open(const char *prog, const char *dest, enum log_level level)
{
        const char *path = log_path(dest);
        enum log_dest to = !strcmp(dest, "syslog")    ? TO_SYSLOG
                           : !strcmp(dest, "journal") ? TO_JOURNAL
                                                      : TO_FD;
        int fd = path ? open_file(path) : to == TO_JOURNAL ? open_journal() : STDERR_FILENO;

        if (fd < 0)
                return fd;
        mutex_lock(&logger.mtx);
        if (logger.fd != STDERR_FILENO)
                close(logger.fd);
        logger.prog = prog;
        logger.fd = fd;
        logger.dest = to;
        __atomic_store_n(&logger.level, level, __ATOMIC_RELAXED);
        mutex_unlock(&logger.mtx);
        if (to == TO_SYSLOG)
                openlog(prog, LOG_PID, LOG_DAEMON);
        return 0;
}

void log_set_json(bool json)
{
        mutex_lock(&logger.mtx);
        logger.json = json;
        mutex_unlock(&logger.mtx);
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

static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
static const char *const levels[] = {"error", "warning", "info", "debug"};

/* A datagram that has no room now is lost: nobody waits for the journal. */
static void send_to_journal_locked(enum log_level level, const char *text)
{
        char line[LOG_TEXT_MAX + 128];
        int n = snprintf(line, sizeof line, "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n",
                         priorities[level], logger.prog, text);
        ssize_t put = send(logger.fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)put;
}

/* The text as JSON has it; what is no UTF-8 loses its upper half. */
static void escape(const char *text, char *out, size_t size)
{
        bool whole = utf8_valid(text);
        size_t n = 0;

        for (; *text && n + 3 < size; text++) {
                if (*text == '"' || *text == '\\')
                        out[n++] = '\\';
                out[n++] = (unsigned char)*text < 0x80 || whole ? *text : '?';
        }
        out[n] = 0;
}

/* Whether a line can be written at once: a pipe whose reader stands still must not hold up who
 * logs. It is waited for when it begins to, and then not again until it reads. A pipe that says
 * yes takes PIPE_BUF bytes, which is more than a line has. */
static bool takes_line_locked(void)
{
        struct pollfd p = {.fd = logger.fd, .events = POLLOUT};
        return poll(&p, 1, logger.left_out ? 0 : READER_MS) == 1;
}

static void emit_locked(enum log_level level, const char *text)
{
        char line[2 * LOG_TEXT_MAX + 256], escaped[2 * LOG_TEXT_MAX + 1], when[32];
        struct timespec now;
        struct tm tm;
        int n;

        if (logger.dest == TO_SYSLOG) {
                syslog(priorities[level], "%s: %s", levels[level], text);
                return;
        }
        if (logger.dest == TO_JOURNAL) {
                send_to_journal_locked(level, text);
                return;
        }
        if (!takes_line_locked()) {
                logger.left_out++;
                return;
        }
        if (logger.left_out) {
                char note[96];
                snprintf(note, sizeof note,
                         "%u lines are left out here: who reads the log stood still",
                         logger.left_out);
                logger.left_out = 0;
                emit_locked(LOG_LEVEL_WARN, note);
                if (!takes_line_locked()) {
                        logger.left_out++;
                        return;
                }
        }
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &tm);
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
        if (logger.json) {
                escape(text, escaped, sizeof escaped);
                n = snprintf(line, sizeof line,
                             "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"program\":\"%s\","
                             "\"pid\":%d,\"message\":\"%s\"}\n",
                             when, now.tv_nsec / 1000000, levels[level], logger.prog, (int)getpid(),
                             escaped);
        } else {
                n = snprintf(line, sizeof line, "%s.%03ldZ %s[%d] %s: %s\n", when,
                             now.tv_nsec / 1000000, logger.prog, (int)getpid(), levels[level],
                             text);
        }
        ssize_t put = write(logger.fd, line, (size_t)n);
        (void)put; /* nowhere left to say it */
}

/* A name from a bucket may hold a newline or an escape: a line stays one line. */
static void make_printable(char *s)
{
        for (size_t n; *s; s += n ? n : 1) {
                n = utf8_control(s);
                memset(s, '?', n);
        }
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
