/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: whether a name is UTF-8, which the stores want their keys to be, and may be shown. */
#ifndef CKPTFS_BASE_UTF8_H
#define CKPTFS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. */
bool utf8_valid(const char *s);
/* The bytes of the character that `s` begins with; 0: it begins with none. */
size_t utf8_char(const char *s);
/* Takes away the character at the end, of a text that was cut, if that is not whole. */
void utf8_trim(char *s);

/* The bytes of the control character that `s` begins with: 1, 2 (U+0080 to U+009F, of which some
 * terminals take one for an escape code), or 0: it begins with none. */
size_t utf8_control(const char *s);

#endif
