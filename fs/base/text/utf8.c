/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c: see utf8.h. */
#include "base/text/utf8.h"

#include <stdint.h>
#include <string.h>

#include "base/banned.h"

size_t utf8_char(const char *text)
{
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        const unsigned char *s = (const unsigned char *)text;
        unsigned more = *s < 0x80 ? 0 : *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : 1;

        if (!*s || *s >= 0xf8 || (*s >= 0x80 && *s < 0xc0))
                return 0;
        uint32_t c = more ? *s & (0x3fu >> more) : *s;
        for (unsigned i = 1; i <= more; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (s[i] & 0x3f);
        }
        if (more && (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)))
                return 0;
        return more + 1;
}

bool utf8_valid(const char *s)
{
        for (size_t n; *s; s += n)
                if (!(n = utf8_char(s)))
                        return false;
        return true;
}

void utf8_trim(char *s)
{
        enum { MORE_MOST = 3 };
        char *end = s + strlen(s), *last = end;

        for (int i = 0; i < MORE_MOST && last > s && (*--last & 0xc0) == 0x80; i++)
                ;
        if (last < end && !utf8_char(last))
                *last = 0;
}

size_t utf8_control(const char *s)
{
        const unsigned char *u = (const unsigned char *)s;

        if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0)
                return 2;
        return u[0] && (u[0] < ' ' || u[0] == 0x7f);
}
