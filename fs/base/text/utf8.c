/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c: see utf8.h. */
#include "base/text/utf8.h"

#include <stdint.h>

#include "base/banned.h"

bool utf8_valid(const char *text)
{
        const unsigned char *s = (const unsigned char *)text;
        while (*s) {
                static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
                unsigned more = *s < 0x80 ? 0 : *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : 1;
                if (*s >= 0xf8 || (*s >= 0x80 && *s < 0xc0))
                        return false;
                uint32_t c = more ? *s & (0x3fu >> more) : *s;
                s++;
                for (unsigned i = 0; i < more; i++, s++) {
                        if ((*s & 0xc0) != 0x80)
                                return false;
                        c = c << 6 | (*s & 0x3f);
                }
                if (more && (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)))
                        return false;
        }
        return true;
}

size_t utf8_control(const char *s)
{
        const unsigned char *u = (const unsigned char *)s;

        if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0)
                return 2;
        return u[0] && (u[0] < ' ' || u[0] == 0x7f);
}
