/* SPDX-License-Identifier: Apache-2.0 */
/* cred_util.c: what every source of credentials needs; see cred_int.h. */
#include "store/cred/cred_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { FILE_MAX_BYTES = 1 << 20 };

void cred_release(struct cred *c)
{
        secret_freep(&c->access);
        secret_freep(&c->secret);
        secret_freep(&c->token);
        *c = (struct cred)CRED_INIT;
}

void secret_freep(char **s)
{
        int err = errno;
        if (*s)
                explicit_bzero(*s, strlen(*s));
        free(*s);
        *s = NULL;
        errno = err;
}

void secret_buf_release(struct buf *b)
{
        if (b->cap)
                explicit_bzero(b->p, b->cap);
        buf_release(b);
}

void secret_json_freep(struct json **j)
{
        json_wipe(*j);
        json_free(*j);
}

/* Appends to the reason from `at` on. A server's words may be anything. */
static void say(struct cred_ask *a, size_t at, const char *fmt, va_list ap)
{
        vsnprintf(a->why + at, sizeof a->why - at, fmt, ap);
        for (char *p = a->why + at; *p; p++)
                if ((unsigned char)*p < ' ' || *p == 127)
                        *p = '?';
}

int cred_no(struct cred_ask *a, int err, const char *fmt, ...)
{
        va_list ap;
        va_start(ap, fmt);
        say(a, 0, fmt, ap);
        va_end(ap);
        return err;
}

int cred_remedy(struct cred_ask *a, int err, const char *fmt, ...)
{
        size_t n = strlen(a->why);
        va_list ap;
        if (n + 3 > sizeof a->why)
                return err;
        memcpy(a->why + n, ": ", 3);
        va_start(ap, fmt);
        say(a, n + 2, fmt, ap);
        va_end(ap);
        return err;
}

const char *cred_env(const char *name)
{
        const char *v = getenv(name);
        return v && *v ? v : NULL;
}

bool cred_is_true(const char *text)
{
        return text && (!strcasecmp(text, "true") || !strcmp(text, "1"));
}

int cred_set(char **to, const char *value)
{
        char *copy = value ? strdup(value) : NULL;
        if (value && !copy)
                return -ENOMEM;
        secret_freep(to);
        *to = copy;
        return 0;
}

int cred_keys(struct cred *out, const char *access, const char *secret, const char *token,
              time_t expiry)
{
        *out = (struct cred){.kind = CRED_KEYS, .expiry = expiry};
        if (!cred_set(&out->access, access) && !cred_set(&out->secret, secret) &&
            !cred_set(&out->token, token && *token ? token : NULL))
                return 0;
        cred_release(out);
        return -ENOMEM;
}

int cred_bearer(struct cred *out, const char *token, time_t expiry)
{
        *out = (struct cred){.kind = CRED_BEARER, .expiry = expiry};
        return cred_set(&out->token, token);
}

time_t cred_time(const char *text)
{
        struct tm tm = {0};
        int sign = 0, hours = 0, minutes = 0;
        const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

        if (!end)
                return 0;
        if (*end == '.')
                end += 1 + strspn(end + 1, "0123456789");
        if (!strcmp(end, "UTC")) /* as the SSO cache of old */
                end = "Z";
        if ((*end == '+' || *end == '-') && strlen(end) >= 5) {
                sign = *end == '+' ? -1 : 1;
                hours = (end[1] - '0') * 10 + end[2] - '0';
                const char *m = end[3] == ':' ? end + 4 : end + 3;
                minutes = strlen(m) == 2 ? (m[0] - '0') * 10 + m[1] - '0' : 99;
        } else if (strcmp(end, "Z") != 0) {
                return 0;
        }
        if (hours < 0 || hours > 24 || minutes < 0 || minutes > 59)
                return 0;
        return timegm(&tm) + (time_t)sign * (hours * 3600 + minutes * 60);
}

int cred_read_file(struct cred_ask *a, const char *file, struct buf *out)
{
        CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;
        ssize_t n = 0;

        if (fd < 0 || fstat(fd, &st))
                return cred_no(a, -errno, "%s: %s", file, strerror(errno));
        if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES)
                return cred_no(a, -EINVAL, "%s: not a file of at most 1 MiB", file);
        if (buf_grow(out, (size_t)st.st_size + 1))
                return cred_no(a, -ENOMEM, "%s: no memory", file);
        while (out->len <= (size_t)st.st_size &&
               (n = read(fd, out->p + out->len, (size_t)st.st_size + 1 - out->len)) > 0)
                out->len += (size_t)n;
        if (n < 0)
                return cred_no(a, -errno, "%s: %s", file, strerror(errno));
        out->p[out->len] = 0;
        return 0;
}

int cred_json_option(struct cred_ask *a, const struct json *j, const char *name, const char *where,
                     const char **out)
{
        const struct json *field = json_get(j, name);

        *out = json_string(field, NULL);
        if (!*out && (json_is_object(field) || json_is_array(field) || json_is_number(field) ||
                      json_is_bool(field)))
                return cred_no(a, -EBADMSG, "%s has a %s that is no text: have it made anew", where,
                               name);
        return 0;
}

const char *cred_json_string(struct cred_ask *a, const struct json *j, const char *name,
                             const char *where)
{
        const char *s = json_string(json_get(j, name), NULL);
        if (!s || !*s) {
                cred_no(a, -EBADMSG, "%s has no %s: have it made anew", where, name);
                return NULL;
        }
        return s;
}
