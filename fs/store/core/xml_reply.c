/* SPDX-License-Identifier: Apache-2.0 */
/* xml_reply.c: what S3 sends back: XML by fields, times, checksums, ETags. */
#include "store/core/xml_reply.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/log.h"
#include "base/text/xml.h"
#include "base/banned.h"

struct reader {
        struct s3_field *f;
        size_t n;
        int (*each)(void *arg, const char *path);
        void *arg;
};

static int leaf(void *arg, const char *path, const char *text)
{
        struct reader *r = arg;
        for (size_t i = 0; i < r->n; i++)
                if (!strcmp(r->f[i].path, path)) {
                        buf_reset(&r->f[i].text);
                        return buf_adds(&r->f[i].text, text);
                }
        return 0;
}

static int end(void *arg, const char *path)
{
        struct reader *r = arg;
        return r->each ? r->each(r->arg, path) : 0;
}

int s3_read(struct op *op, struct s3_field *f, size_t nf, int (*each)(void *arg, const char *path),
            void *arg)
{
        struct reader r = {.f = f, .n = nf, .each = each, .arg = arg};
        struct xml_reader x = {.leaf = leaf, .end = end, .arg = &r};
        /* While it works the server sends spaces, so that the connection does not die. */
        size_t skip = strspn(op->in.p, " \t\r\n");
        size_t n = xml_mend(op->in.p, op->in.len);
        if (n < op->in.len)
                op->in.p[op->in.len = n] = 0;
        return xml_read(op->in.p + skip, op->in.len - skip, &x);
}

void s3_fields_release(struct s3_field *f, size_t n)
{
        for (size_t i = 0; i < n; i++)
                buf_release(&f[i].text);
}

int s3_unreadable(struct op *op, int err)
{
        if (err != -EBADMSG)
                return err;
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message,
                 "a reply that is not the XML it should be");
        return OP_RETRY;
}

/* Whether nanoseconds since 1970 can say it. */
static bool is_time(const struct tm *tm)
{
        enum { FIRST_YEAR = 1678, LAST_YEAR = 2261, TM_YEAR = 1900 };
        return tm->tm_year >= FIRST_YEAR - TM_YEAR && tm->tm_year <= LAST_YEAR - TM_YEAR;
}

int64_t s3_time_iso(const char *text)
{
        struct tm tm = {.tm_isdst = 0};
        long frac = 0, unit = 100000000;
        const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
        if (!rest || !is_time(&tm))
                return 0;
        if (*rest == '.')
                for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
                        frac += (*rest - '0') * unit;
        return (int64_t)timegm(&tm) * 1000000000 + frac;
}

int64_t s3_time_http(const char *text)
{
        struct tm tm = {.tm_isdst = 0};
        if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm) || !is_time(&tm))
                return 0;
        return (int64_t)timegm(&tm) * 1000000000;
}

/* The reply to a HEAD has no body that could say why. */
enum { CLOCK_SLACK_S = 300 };

bool s3_follow_clock(struct op *op, long *skew_s)
{
        bool said = !strcmp(op->fault.code, "RequestTimeTooSkewed");
        bool silent = op->rq.method == HTTP_HEAD && op->rq.status == 403;
        const char *date = said || silent ? http_reply_header(&op->rq, "date") : NULL;

        if (op->moves & MOVED_CLOCK || !clock_follow(date, said, skew_s))
                return false;
        op->moves |= MOVED_CLOCK;
        return true;
}

bool clock_follow(const char *date, bool said, long *skew_s)
{
        int64_t server = date ? s3_time_http(date) / 1000000000 : 0;
        long skew = (long)(server - time(NULL));

        if (!server ||
            (!said && labs(skew - __atomic_load_n(skew_s, __ATOMIC_RELAXED)) < CLOCK_SLACK_S))
                return false;
        __atomic_store_n(skew_s, skew, __ATOMIC_RELAXED);
        log_info("store: this clock is %ld s off that of the server: signing with its time", -skew);
        return true;
}

bool s3_crc(const char *text, uint32_t *crc)
{
        uint32_t be;
        if (!text || base64_decode(text, &be, sizeof be) != sizeof be)
                return false;
        *crc = be32toh(be);
        return true;
}

bool s3_crc64(const char *text, uint64_t *crc)
{
        uint64_t be;
        if (!text || base64_decode(text, &be, sizeof be) != sizeof be)
                return false;
        *crc = be64toh(be);
        return true;
}

void s3_etag(const char *text, char out[STORE_ETAG_MAX])
{
        bool bare = *text != '"' && strncmp(text, "W/", 2);
        size_t n = strlen(text);

        out[0] = 0;
        if (!n || n + 2 * bare >= STORE_ETAG_MAX)
                return; /* a name that is cut names nothing */
        if (bare)
                out[0] = out[n + 1] = '"';
        memcpy(out + bare, text, n);
        out[n + 2 * bare] = 0;
}

int s3_keep_header(struct store_meta *m, const char *name, const char *value)
{
        char marked[40];
        if (meta_is_usual_type(value) || !strcmp(value, "STANDARD"))
                return 0;
        snprintf(marked, sizeof marked, ":%s", name);
        return store_meta_add(m, marked, value);
}
