/* SPDX-License-Identifier: Apache-2.0 */
/* control_proto.c: see control_proto.h. */
#include "base/control/control_proto.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/params.h"
#include "base/text/utf8.h"

#include "base/banned.h"

enum { LEVELS = 4 };

static const char *const names[CONTROL_WORDS] = {
        [CONTROL_MOUNT] = "mount",       [CONTROL_STATUS] = "status",
        [CONTROL_STATS] = "stats",       [CONTROL_FILES] = "files",
        [CONTROL_LOGLEVEL] = "loglevel", [CONTROL_CREDENTIALS] = "credentials",
        [CONTROL_OPTIONS] = "options",   [CONTROL_RELOAD] = "reload",
        [CONTROL_DRAIN] = "drain",       [CONTROL_SET] = "set",
};

const char *control_word_name(enum control_word word)
{
        return names[word];
}

/* Whether the n bytes are that text. */
static bool is_text(const char *p, size_t n, const char *text)
{
        return strlen(text) == n && !memcmp(p, text, n);
}

static int parse_level(const char *p, size_t n, struct control_request *out, char *why, size_t nwhy)
{
        for (out->level = 0; out->level < LEVELS; out->level++) {
                char word[16];
                param_choice("log_level", out->level, word, sizeof word);
                if (is_text(p, n, word))
                        return 0;
        }
        snprintf(why, nwhy, "that is no level: give error, warning, info or debug");
        return -EINVAL;
}

static int parse_switch(const char *p, size_t n, struct control_request *out, char *why,
                        size_t nwhy)
{
        out->level = is_text(p, n, "on");
        if (out->level || is_text(p, n, "off"))
                return 0;
        snprintf(why, nwhy, "that is neither on nor off");
        return -EINVAL;
}

static int parse_options(const char *p, size_t n, struct control_request *out, char *why,
                         size_t nwhy)
{
        if (!n || n >= sizeof out->options || memchr(p, 0, n)) {
                snprintf(why, nwhy, "that is no list of options: give OPTION=VALUE,...");
                return -EINVAL;
        }
        memcpy(out->options, p, n);
        out->options[n] = 0;
        control_read_printable(out->options);
        return 0;
}

int control_request_parse(const char *text, size_t n, struct control_request *out, char *why,
                          size_t nwhy)
{
        const char *blank = memchr(text, ' ', n);
        size_t nword = blank ? (size_t)(blank - text) : n;

        *out = (struct control_request){.word = CONTROL_MOUNT};
        while (out->word < CONTROL_WORDS && !is_text(text, nword, names[out->word]))
                out->word++;
        if (out->word == CONTROL_WORDS) {
                snprintf(why, nwhy,
                         "this mount does not know that request: use the ckptctl of its version");
                return -EINVAL;
        }
        static int (*const parsers[CONTROL_WORDS])(
                const char *p, size_t n, struct control_request *out, char *why, size_t nwhy) = {
                [CONTROL_LOGLEVEL] = parse_level,
                [CONTROL_DRAIN] = parse_switch,
                [CONTROL_SET] = parse_options,
        };
        bool wants = parsers[out->word] != NULL;
        if (wants != (blank != NULL)) {
                snprintf(why, nwhy, "%s takes %s argument", names[out->word], wants ? "one" : "no");
                return -EINVAL;
        }
        return wants ? parsers[out->word](blank + 1, n - nword - 1, out, why, nwhy) : 0;
}

int control_dir(const char *given, char out[CONTROL_PATH_MAX])
{
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        int n;

        if (*given)
                n = snprintf(out, CONTROL_PATH_MAX, "%s", given);
        else if (!geteuid())
                n = snprintf(out, CONTROL_PATH_MAX, CONTROL_DIR_ROOT);
        else if (runtime && *runtime == '/')
                n = snprintf(out, CONTROL_PATH_MAX, "%s/ckptfs", runtime);
        else
                n = snprintf(out, CONTROL_PATH_MAX, CONTROL_DIR_USERS "/%u/ckptfs",
                             (unsigned)geteuid());
        return n < CONTROL_PATH_MAX ? 0 : -ENAMETOOLONG;
}

int control_connect(const char *path)
{
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        if (snprintf(at.sun_path, sizeof at.sun_path, "%s", path) >= (int)sizeof at.sun_path)
                return -ENAMETOOLONG;
        if (connect(fd, (struct sockaddr *)&at, sizeof at))
                return -errno;
        return TAKE_FD(fd);
}

void control_add_printable(struct buf *b, const char *text)
{
        for (size_t n; *text; text += n) {
                size_t escaped = *text == '\\' ? 1 : utf8_control(text);
                for (n = 0; n < escaped; n++)
                        buf_addf(b, "\\%03o", (unsigned)(unsigned char)text[n]);
                for (; !n; n++)
                        buf_addc(b, *text);
        }
}

static bool is_octal(char c)
{
        return c >= '0' && c <= '7';
}

void control_read_printable(char *text)
{
        char *to = text;

        for (; *text; text++) {
                bool escaped = *text == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
                               is_octal(text[3]);
                if (!escaped) {
                        *to++ = *text;
                        continue;
                }
                *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
                text += 3;
        }
        *to = 0;
}
