/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: see log.h. */
#include "base/mutex.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/text/utf8.h"

#include "base/banned.h"

enum { LINES_PER_WINDOW = 10, WINDOW_S = 10, READER_MS = 100, NO_FD = -1 };

enum log_dest { TO_FD, TO_SYSLOG, TO_JOURNAL };

static struct {
        enum log_level level; /* atomic */
        struct mutex mtx;     /* guards every log_site too */
        const char *prog GUARDED_BY(&mtx);
        int fd GUARDED_BY(&mtx);
        enum log_dest dest GUARDED_BY(&mtx);
        bool stream GUARDED_BY(&mtx); /* of syslog */
        bool json GUARDED_BY(&mtx);
        /* a ring; `nrecent` lines were ever put there */
        struct log_entry recent[LOG_RECENT] GUARDED_BY(&mtx);
        size_t nrecent GUARDED_BY(&mtx);
        unsigned left_out GUARDED_BY(&mtx); /* lines, since a pipe took none */
} logger = {
        .mtx = MUTEX_INITIALIZER(LOCK_LOG),
        .prog = "ckptfs",
        .fd = STDERR_FILENO,
        .level = LOG_LEVEL_INFO,
};

/* The socket of a log, which nothing waits for: a descriptor or a negative errno. */
static int open_socket(const char *path, int type)
{
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at)) {
                int err = -errno;
                close(fd);
                return err;
        }
        return fd < 0 ? -errno : fd;
}

/* The journal takes datagrams of fields (systemd.io/JOURNAL_NATIVE_PROTOCOL). */
static int open_journal(void)
{
        return open_socket("/run/systemd/journal/socket", SOCK_DGRAM);
}

/* A FIFO that nobody reads is an error: to wait for its reader would hold up whoever opens the log.
 * One that is full takes no line, whoever filled it. */
static int open_file(const char *path)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
        return fd < 0 ? -errno : fd;
}

/* Standard error; of a pipe a handle of our own, since O_NONBLOCK is everyone's who has the handle.
 */
static int open_stderr(void)
{
        struct stat st;

        if (fstat(STDERR_FILENO, &st) || !S_ISFIFO(st.st_mode))
                return STDERR_FILENO;
        int fd = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
        return fd < 0 ? STDERR_FILENO : fd;
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
        int fd = path               ? open_file(path)
                 : to == TO_JOURNAL ? open_journal()
                 : to == TO_SYSLOG  ? NO_FD
                                    : open_stderr();

        if (fd < 0 && to != TO_SYSLOG)
                return fd;
        mutex_lock(&logger.mtx);
        if (logger.fd >= 0 && logger.fd != STDERR_FILENO)
                close(logger.fd);
        logger.prog = prog;
        logger.fd = fd;
        logger.dest = to;
        __atomic_store_n(&logger.level, level, __ATOMIC_RELAXED);
        mutex_unlock(&logger.mtx);
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

size_t log_last(struct log_entry out[LOG_RECENT])
{
        mutex_lock(&logger.mtx);
        size_t n = logger.nrecent < LOG_RECENT ? logger.nrecent : LOG_RECENT;
        for (size_t i = 0; i < n; i++)
                out[i] = logger.recent[(logger.nrecent - n + i) % LOG_RECENT];
        mutex_unlock(&logger.mtx);
        return n;
}

/* Whether the site may write now; sets *suppressed when a silent window ended. */
static bool site_may_write_locked(struct log_site *site, int *suppressed) REQUIRES(&logger.mtx)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        *suppressed = 0;
        if (!site->count || now.tv_sec - site->window_s >= WINDOW_S) {
                *suppressed = site->suppressed;
                *site = (struct log_site){.window_s = now.tv_sec, .count = 1};
                return true;
        }
        if (site->count < LINES_PER_WINDOW) {
                site->count++;
                return true;
        }
        site->suppressed++;
        return false;
}

static void remember_locked(enum log_level level, const char *text) REQUIRES(&logger.mtx)
{
        struct log_entry *k = &logger.recent[logger.nrecent++ % LOG_RECENT];
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        k->time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        k->level = level;
        snprintf(k->text, sizeof k->text, "%s", text);
}

static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
static const char *const levels[] = {"error", "warning", "info", "debug"};

/* A datagram that has no room now is lost: nobody waits for the journal. */
static void send_to_journal_locked(enum log_level level, const char *text) REQUIRES(&logger.mtx)
{
        char line[LOG_TEXT_MAX + 128];
        int n = snprintf(line, sizeof line, "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n",
                         priorities[level], logger.prog, text);
        ssize_t put = send(logger.fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)put;
}

/* Whether the line is there, or will never be. A stream ends a line with a NUL, and one that took a
 * part of it is of no more use. */
static bool send_to_syslog_locked(const char *line, size_t n) REQUIRES(&logger.mtx)
{
        if (logger.fd < 0) {
                logger.fd = open_socket(_PATH_LOG, SOCK_DGRAM);
                logger.stream = logger.fd == -EPROTOTYPE;
        }
        if (logger.fd < 0 && logger.stream)
                logger.fd = open_socket(_PATH_LOG, SOCK_STREAM);
        if (logger.fd < 0)
                return true; /* nobody takes lines */
        n += logger.stream;
        ssize_t put = send(logger.fd, line, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put == (ssize_t)n || (put < 0 && (errno == EAGAIN || errno == ENOBUFS)))
                return true;
        close(logger.fd);
        logger.fd = NO_FD;
        return false;
}

/* As syslog(3) has it, which would wait for a daemon that stands still. A daemon that was started
 * anew has another socket. */
static void tell_syslog_locked(enum log_level level, const char *text) REQUIRES(&logger.mtx)
{
        char line[LOG_TEXT_MAX + 128], when[32];
        time_t now = time(NULL);
        struct tm tm;

        localtime_r(&now, &tm);
        strftime(when, sizeof when, "%h %e %T", &tm);
        size_t n = (size_t)snprintf(line, sizeof line, "<%d>%s %.32s[%d]: %s: %s",
                                    LOG_DAEMON | priorities[level], when, logger.prog,
                                    (int)getpid(), levels[level], text);
        if (!send_to_syslog_locked(line, n))
                (void)send_to_syslog_locked(line, n);
}

/* A name from a bucket may hold a newline or an escape: a line stays one line. */
static void make_printable(char *s)
{
        for (size_t n; *s; s += n ? n : 1) {
                n = utf8_control(s);
                memset(s, '?', n);
        }
}

/* Of a JSON line: what a pipe takes at once. */
enum { LINE_MAX_BYTES = 4096, CHAR_MAX_BYTES = 4 };

/* Adds a string as JSON has it, with up to `most` bytes; what is no UTF-8 shows as '?'. */
static size_t add_string(char *out, const char *text, size_t most)
{
        size_t n = 0;

        for (size_t bytes; *text && n + CHAR_MAX_BYTES <= most; text += bytes ? bytes : 1) {
                bytes = utf8_char(text);
                if (*text == '"' || *text == '\\')
                        out[n++] = '\\';
                if (!bytes || utf8_control(text)) {
                        out[n++] = '?';
                } else {
                        memcpy(out + n, text, bytes);
                        n += bytes;
                }
        }
        return n;
}

/* What a line is about, as members of its object: how many bytes. */
static size_t add_about(char *out, const struct log_about *about)
{
        const struct {
                const char *name, *text;
                size_t most;
        } members[] = {{"operation", about->operation, 32},
                       {"file", about->file, 1024},
                       {"request", about->request, 128},
                       {"remedy", about->remedy, 400}};
        size_t n = 0;

        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
                if (!members[i].text || !*members[i].text)
                        continue;
                n += (size_t)snprintf(out + n, 32, ",\"%s\":\"", members[i].name);
                n += add_string(out + n, members[i].text, members[i].most);
                out[n++] = '"';
        }
        return n;
}

static size_t add_json_locked(char *line, const char *when, enum log_level level,
                              const struct log_about *about, const char *text) REQUIRES(&logger.mtx)
{
        size_t n = (size_t)snprintf(line, 256,
                                    "{\"time\":\"%s\",\"level\":\"%s\",\"program\":\"%.32s\","
                                    "\"pid\":%d,\"message\":\"",
                                    when, levels[level], logger.prog, (int)getpid());
        n += add_string(line + n, text, 2 * LOG_TEXT_MAX);
        line[n++] = '"';
        if (about)
                n += add_about(line + n, about);
        line[n++] = '}';
        line[n++] = '\n';
        return n;
}

/* Whether a line can be written at once: a pipe whose reader stands still must not hold up who
 * logs. It is waited for when it begins to, and then not again until it reads. A pipe that says
 * yes takes PIPE_BUF bytes, which is more than a line has. */
static bool takes_line_locked(void) REQUIRES(&logger.mtx)
{
        struct pollfd p = {.fd = logger.fd, .events = POLLOUT};
        return poll(&p, 1, logger.left_out ? 0 : READER_MS) == 1;
}

/* Where the lines go to a descriptor. */
static void write_locked(enum log_level level, const struct log_about *about, const char *text)
        REQUIRES(&logger.mtx)
{
        char line[LINE_MAX_BYTES], when[48];
        struct timespec now;
        struct tm tm;

        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &tm);
        size_t n = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(when + n, sizeof when - n, ".%03ldZ", now.tv_nsec / 1000000);
        if (logger.json)
                n = add_json_locked(line, when, level, about, text);
        else
                n = (size_t)snprintf(line, sizeof line, "%s %s[%d] %s: %s\n", when, logger.prog,
                                     (int)getpid(), levels[level], text);
        if (write(logger.fd, line, n) < 0 && errno == EAGAIN)
                logger.left_out++; /* somebody else filled the pipe meanwhile */
}

static void emit_locked(enum log_level level, const struct log_about *about, const char *text)
        REQUIRES(&logger.mtx)
{
        if (logger.dest == TO_SYSLOG) {
                tell_syslog_locked(level, text);
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
                emit_locked(LOG_LEVEL_WARN, NULL, note);
                if (!takes_line_locked()) {
                        logger.left_out++;
                        return;
                }
        }
        write_locked(level, about, text);
}

void log_line(struct log_site *site, enum log_level level, const struct log_about *about,
              const char *fmt, ...)
{
        int err = errno, suppressed;
        char text[LOG_TEXT_MAX];
        va_list ap;

        va_start(ap, fmt);
        int n = vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        if (about && about->remedy && *about->remedy && n >= 0 && (size_t)n < sizeof text)
                n += snprintf(text + n, sizeof text - (size_t)n, ": %s", about->remedy);
        if (n >= (int)sizeof text)
                utf8_trim(text);
        make_printable(text);
        mutex_lock(&logger.mtx);
        if (site_may_write_locked(site, &suppressed)) {
                if (suppressed) {
                        char note[64];
                        snprintf(note, sizeof note, "%d lines like the next were kept back",
                                 suppressed);
                        emit_locked(level, NULL, note);
                }
                emit_locked(level, about, text);
                if (level <= LOG_LEVEL_WARN)
                        remember_locked(level, text);
        }
        mutex_unlock(&logger.mtx);
        errno = err;
}
