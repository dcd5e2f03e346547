/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: whether a name is UTF-8, which the stores want their keys to be. */
#ifndef CKPTFS_BASE_UTF8_H
#define CKPTFS_BASE_UTF8_H

#include <stdbool.h>

/* RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF. */
bool utf8_valid(const char *s);

#endif
