/* SPDX-License-Identifier: Apache-2.0 */
/* uri.c: see uri.h. */
#include "base/text/uri.h"

#include <errno.h>
#include <string.h>

#include "base/banned.h"

static bool is_unreserved(unsigned char c)
{
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '.' || c == '_' || c == '~';
}

int uri_encode(struct buf *b, const char *text, bool plain_slash)
{
        static const char digits[] = "0123456789ABCDEF";

        for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
                const char escape[3] = {'%', digits[*s >> 4], digits[*s & 15]};
                int err;
                if (is_unreserved(*s) || (*s == '/' && plain_slash))
                        err = buf_addc(b, (char)*s);
                else
                        err = buf_add(b, escape, sizeof escape);
                if (err)
                        return err;
        }
        return b->failed ? -ENOMEM : 0;
}

int uri_encode_query(struct buf *b, const struct uri_pair *v, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (i)
                        buf_addc(b, '&');
                uri_encode(b, v[i].name, false);
                buf_addc(b, '=');
                uri_encode(b, v[i].value, false);
        }
        return b->failed ? -ENOMEM : 0;
}

static int hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

/* Of the escape at s; -1 for a bad one. */
static int escaped_byte(const char *s)
{
        int high = hex_digit(s[1]);
        int low = high < 0 ? -1 : hex_digit(s[2]);

        return low < 0 ? -1 : high << 4 | low;
}

bool uri_is_encoded(const char *s)
{
        while ((s = strchr(s, '%')) && escaped_byte(s) > 0)
                s += 3;
        return !s;
}

int uri_decode(char *s, bool plus_is_space)
{
        char *to = s;
        for (const char *from = s; *from; from++) {
                char c = *from;
                if (c == '%') {
                        int byte = escaped_byte(from);
                        if (byte <= 0)
                                return -EINVAL;
                        c = (char)byte;
                        from += 2;
                } else if (c == '+' && plus_is_space) {
                        c = ' ';
                }
                *to++ = c;
        }
        *to = 0;
        return (int)(to - s);
}

int uri_split_query(char *query, struct uri_pair *v, size_t max)
{
        size_t n = 0;
        char *save = NULL;
        for (char *s = strtok_r(query, "&", &save); s; s = strtok_r(NULL, "&", &save)) {
                if (n == max)
                        return -E2BIG;
                char *value = strchr(s, '=');
                if (value)
                        *value++ = 0;
                else
                        value = s + strlen(s);
                if (uri_decode(s, true) < 0 || uri_decode(value, true) < 0)
                        return -EINVAL;
                v[n++] = (struct uri_pair){s, value};
        }
        return (int)n;
}
