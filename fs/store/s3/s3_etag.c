/* SPDX-License-Identifier: Apache-2.0 */
/* s3_etag.c: see s3_etag.h. */
#include "store/s3/s3_etag.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/banned.h"

void etag_sum_init(struct etag_sum *s)
{
        *s = (struct etag_sum){.sums = BUF_INIT};
}

static int hex_digit(char c)
{
        static const char digits[] = "0123456789abcdef";
        const char *p = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
        return p ? (int)(p - digits) : -1;
}

void etag_sum_add(struct etag_sum *s, const char *etag)
{
        const char *p = *etag == '"' ? etag + 1 : etag;
        for (int i = 0; i < MD5_LEN && !s->unknown; i++, p += 2) {
                int hi = hex_digit(p[0]), lo = hi < 0 ? -1 : hex_digit(p[1]);
                if (lo < 0)
                        s->unknown = true;
                else
                        buf_addc(&s->sums, (char)(hi << 4 | lo));
        }
        if (!s->unknown && *p && strcmp(p, "\""))
                s->unknown = true;
        s->n++;
}

void etag_sum_end(struct etag_sum *s, char out[STORE_ETAG_MAX])
{
        uint8_t sum[MD5_LEN];
        char hex[2 * MD5_LEN + 1];

        out[0] = 0;
        if (!s->unknown && !s->sums.failed) {
                md5(s->sums.p, s->sums.len, sum);
                hex_encode(sum, MD5_LEN, hex);
                snprintf(out, STORE_ETAG_MAX, "\"%s-%u\"", hex, s->n);
        }
        buf_release(&s->sums);
}

unsigned etag_parts(const char *etag)
{
        const char *dash = strrchr(etag, '-');
        char *end;
        if (!dash || !isdigit((unsigned char)dash[1]))
                return 0;
        unsigned long n = strtoul(dash + 1, &end, 10);
        return n <= STORE_PART_MAX && (!*end || !strcmp(end, "\"")) ? (unsigned)n : 0;
}
