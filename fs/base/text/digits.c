/* SPDX-License-Identifier: Apache-2.0 */
/* digits.c: sizes and offsets as servers write them. */
#include "base/text/digits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

int digits_parse(const char *text, uint64_t *out)
{
        enum { DIGITS_MAX = 19 }; /* of INT64_MAX; so many always fit 64 bits */
        size_t n = strspn(text, "0123456789");

        *out = 0;
        if (!n || text[n])
                return -EINVAL;
        text += strspn(text, "0");
        if (strlen(text) > DIGITS_MAX)
                return -EINVAL;
        uint64_t v = *text ? strtoull(text, NULL, 10) : 0;
        if (v > INT64_MAX)
                return -EINVAL;
        *out = v;
        return 0;
}

uint64_t digits_size(const char *text)
{
        uint64_t size;

        return digits_parse(text, &size) ? INT64_MAX : size;
}
