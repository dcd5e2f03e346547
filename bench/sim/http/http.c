/* SPDX-License-Identifier: Apache-2.0 */
/* http.c: see http.h. */
#include "bench/sim/http/http.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/banned.h"

/* The end of the head (behind its empty line), or NULL. */
static char *head_end(char *buf, size_t len)
{
        char *p = buf, *end = buf + len;

        while ((p = memchr(p, '\n', (size_t)(end - p)))) {
                p++;
                if (p < end && *p == '\n')
                        return p + 1;
                if (p + 1 < end && p[0] == '\r' && p[1] == '\n')
                        return p + 2;
        }
        return NULL;
}

/* Cuts the line at *pos off and steps behind it. */
static char *next_line(char **pos)
{
        char *line = *pos, *nl = strchr(line, '\n');

        *pos = nl + 1;
        if (nl > line && nl[-1] == '\r')
                nl--;
        *nl = 0;
        return line;
}

static bool is_token(const char *s)
{
        if (!*s)
                return false;
        for (; *s; s++)
                if (*s <= ' ' || *s >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", *s))
                        return false;
        return true;
}

static int parse_request_line(char *line, struct http_request *rq)
{
        char *target = strchr(line, ' ');
        char *version = target ? strchr(target + 1, ' ') : NULL;

        if (!version)
                return -400;
        *target++ = 0;
        *version++ = 0;
        if (!is_token(line))
                return -400;
        if (!strcmp(version, "HTTP/1.1"))
                rq->keep_alive = true;
        else if (strcmp(version, "HTTP/1.0"))
                return strncmp(version, "HTTP/", 5) ? -400 : -505;
        if (!strncasecmp(target, "http://", 7) || !strncasecmp(target, "https://", 8)) {
                target = strchr(strchr(target, ':') + 3, '/');
                if (!target)
                        return -400;
        }
        if (*target != '/')
                return -400;
        char *q = strchr(target, '?');
        if (q)
                *q++ = 0;
        rq->method = line;
        rq->path = target;
        rq->query = q ? q : "";
        return 0;
}

static int parse_header(char *line, struct http_request *rq)
{
        char *colon = strchr(line, ':');

        if (!colon)
                return -400;
        *colon = 0;
        if (!is_token(line))
                return -400;
        if (rq->nheaders == HTTP_HEADERS_MAX)
                return -431;
        char *v = colon + 1 + strspn(colon + 1, " \t");
        size_t n = strlen(v);
        while (n && (v[n - 1] == ' ' || v[n - 1] == '\t'))
                v[--n] = 0;
        rq->headers[rq->nheaders++] = (struct http_header){line, v};
        return 0;
}

static int parse_length(const char *text, uint64_t *out)
{
        char *end;

        if (*text < '0' || *text > '9')
                return -400;
        errno = 0;
        *out = strtoull(text, &end, 10);
        return errno || *end || *out > INT64_MAX ? -400 : 0;
}

/* What the headers say about the message itself. */
static int apply_headers(struct http_request *rq)
{
        bool has_length = false, has_host = false, is_old = !rq->keep_alive;

        for (unsigned i = 0; i < rq->nheaders; i++) {
                const struct http_header *h = &rq->headers[i];
                if (!strcasecmp(h->name, "content-length")) {
                        uint64_t before = rq->body_len;
                        if (parse_length(h->value, &rq->body_len) ||
                            (has_length && before != rq->body_len))
                                return -400;
                        has_length = true;
                } else if (!strcasecmp(h->name, "transfer-encoding")) {
                        if (rq->chunked || strcasecmp(h->value, "chunked"))
                                return -501;
                        rq->chunked = true;
                } else if (!strcasecmp(h->name, "connection")) {
                        if (strcasestr(h->value, "close"))
                                rq->keep_alive = false;
                        else if (strcasestr(h->value, "keep-alive"))
                                rq->keep_alive = true;
                } else if (!strcasecmp(h->name, "expect")) {
                        rq->expect_continue = !strcasecmp(h->value, "100-continue");
                } else if (!strcasecmp(h->name, "host")) {
                        has_host = true;
                }
        }
        if (!has_host || (rq->chunked && (has_length || is_old)))
                return -400;
        return !has_length && !rq->chunked && !strcmp(rq->method, "PUT") ? -411 : 0;
}

int http_parse(char *buf, size_t len, struct http_request *rq)
{
        char *end = head_end(buf, len);

        memset(rq, 0, sizeof *rq);
        if (!end)
                return len >= HTTP_HEAD_MAX ? -431 : 0;
        if (memchr(buf, 0, (size_t)(end - buf)))
                return -400;
        char *pos = buf;
        int err = parse_request_line(next_line(&pos), rq);
        while (!err && pos < end) {
                char *line = next_line(&pos);
                if (*line)
                        err = parse_header(line, rq);
        }
        if (!err)
                err = apply_headers(rq);
        return err ? err : (int)(end - buf);
}

const char *http_header(const struct http_request *rq, const char *name)
{
        for (unsigned i = 0; i < rq->nheaders; i++)
                if (!strcasecmp(rq->headers[i].name, name))
                        return rq->headers[i].value;
        return NULL;
}

static bool digits(const char **s, uint64_t *out)
{
        if (**s < '0' || **s > '9')
                return false;
        char *end;
        errno = 0;
        *out = strtoull(*s, &end, 10);
        *s = end;
        return !errno;
}

int http_range(const char *value, uint64_t size, uint64_t *off, uint64_t *len)
{
        uint64_t first, last;

        if (!value || strncmp(value, "bytes=", 6))
                return 0;
        const char *s = value + 6;
        if (*s == '-') {
                s++;
                if (!digits(&s, &last) || *s)
                        return 0;
                if (!last || !size)
                        return -416;
                *len = last < size ? last : size;
                *off = size - *len;
                return 1;
        }
        if (!digits(&s, &first) || *s++ != '-')
                return 0;
        last = UINT64_MAX;
        if (*s && (!digits(&s, &last) || *s || last < first))
                return 0;
        if (first >= size)
                return -416;
        *off = first;
        *len = (last < size - 1 ? last : size - 1) - first + 1;
        return 1;
}

void http_date(int64_t unix_s, char out[32])
{
        static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        time_t t = (time_t)unix_s;
        struct tm tm;

        gmtime_r(&t, &tm);
        snprintf(out, 32, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday], tm.tm_mday % 100,
                 months[tm.tm_mon], (tm.tm_year + 1900) % 10000, tm.tm_hour % 100, tm.tm_min % 100,
                 tm.tm_sec % 100);
}

char *http_digits(char *end, uint64_t n, int width)
{
        for (; n || width > 0; n /= 10, width--)
                *--end = (char)('0' + n % 10);
        return end;
}

void http_time(int64_t ns, char out[HTTP_TIME_LEN])
{
        time_t s = (time_t)(ns / 1000000000);
        struct tm tm;

        snprintf(out, HTTP_TIME_LEN, "1970-01-01T00:00:00.000Z");
        gmtime_r(&s, &tm);
        http_digits(out + 4, (uint64_t)tm.tm_year + 1900, 4);
        http_digits(out + 7, (uint64_t)tm.tm_mon + 1, 2);
        http_digits(out + 10, (uint64_t)tm.tm_mday, 2);
        http_digits(out + 13, (uint64_t)tm.tm_hour, 2);
        http_digits(out + 16, (uint64_t)tm.tm_min, 2);
        http_digits(out + 19, (uint64_t)tm.tm_sec, 2);
        http_digits(out + 23, (uint64_t)(ns / 1000000 % 1000), 3);
}

const char *http_reason(int status)
{
        static const struct {
                int status;
                const char *text;
        } reasons[] = {
                {200, "OK"},
                {204, "No Content"},
                {206, "Partial Content"},
                {301, "Moved Permanently"},
                {304, "Not Modified"},
                {307, "Temporary Redirect"},
                {308, "Resume Incomplete"},
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {409, "Conflict"},
                {411, "Length Required"},
                {412, "Precondition Failed"},
                {413, "Content Too Large"},
                {416, "Range Not Satisfiable"},
                {429, "Too Many Requests"},
                {431, "Request Header Fields Too Large"},
                {499, "Client Closed Request"},
                {500, "Internal Server Error"},
                {501, "Not Implemented"},
                {503, "Service Unavailable"},
                {504, "Gateway Timeout"},
                {505, "HTTP Version Not Supported"},
                {507, "Insufficient Storage"},
        };
        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
                if (reasons[i].status == status)
                        return reasons[i].text;
        return "Status";
}
