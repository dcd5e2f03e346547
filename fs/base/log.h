/* SPDX-License-Identifier: Apache-2.0 */
/* log.h: one line an event, to standard error, a file, syslog or the journal.
 *
 * Thread-safe; a line is written with one write(). Never holds secrets: callers pass names, codes
 * and request ids, never headers. A storm is bounded: each place in the code may write 10 lines in
 * 10 seconds, then it is silent and says how many lines it kept back. */
#ifndef CKPTFS_BASE_LOG_H
#define CKPTFS_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* State of one calling place, made by the macros below. */
struct log_site {
        long window_s;
        int count;
        int suppressed;
};

/* Sends the log to `dest`: "stderr", "syslog", "journal" (systemd's), or a file ("file:PATH" or a
 * path; appended, created 0600), from `level` up. The program's name heads each line. The same file
 * again is opened anew. 0 or a negative errno; then all stays as it was. */
int log_open(const char *prog, const char *dest, enum log_level level);
/* The path of a file that `dest` names, or NULL. */
const char *log_path(const char *dest);
/* Lines of standard error and files are JSON objects from now on, or text again. */
void log_set_json(bool json);

/* Says whether a line of that level would be written. */
bool log_wants(enum log_level level);

/* Another least important level from now on. */
void log_set_level(enum log_level level);
enum log_level log_level(void);

/* The warnings and errors that were written last, oldest first: how many. */
enum { LOG_RECENT = 8, LOG_TEXT_MAX = 1024 };
struct log_entry {
        int64_t time_ns;
        enum log_level level;
        char text[LOG_TEXT_MAX];
};
size_t log_last(struct log_entry out[LOG_RECENT]);

/* What a line is about, for who filters lines: members of a JSON object, each where it is known.
 * The text names the file and the request, too; the remedy is put behind it. */
struct log_about {
        const char *operation;
        const char *file;    /* its key, or name */
        const char *request; /* the store's id */
        const char *remedy;
};

/* `about` may be NULL. */
void log_line(struct log_site *site, enum log_level level, const struct log_about *about,
              const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#define LOG_ABOUT(...) (&(const struct log_about){__VA_ARGS__})
#define LOG_AT_OF(level, about, ...)                                                               \
        do {                                                                                       \
                static struct log_site log_site_;                                                  \
                if (log_wants(level))                                                              \
                        log_line(&log_site_, level, about, __VA_ARGS__);                           \
        } while (0)
#define LOG_AT(level, ...)       LOG_AT_OF(level, NULL, __VA_ARGS__)
#define log_error_of(about, ...) LOG_AT_OF(LOG_LEVEL_ERROR, about, __VA_ARGS__)
#define log_warn_of(about, ...)  LOG_AT_OF(LOG_LEVEL_WARN, about, __VA_ARGS__)
#define log_error(...)           LOG_AT(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)            LOG_AT(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)            LOG_AT(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)           LOG_AT(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
