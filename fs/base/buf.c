/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c: see buf.h. */
#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

char buf_empty[1];

void buf_release(struct buf *b)
{
        int err = errno;
        if (b->cap)
                free(b->p);
        *b = (struct buf)BUF_INIT;
        errno = err;
}

void buf_reset(struct buf *b)
{
        b->len = 0;
        b->failed = false;
        if (b->cap)
                b->p[0] = 0;
}

int buf_grow(struct buf *b, size_t n)
{
        if (b->failed || n > SIZE_MAX / 4 - b->len) {
                b->failed = true;
                return -ENOMEM;
        }
        size_t need = b->len + n + 1;
        if (need <= b->cap)
                return 0;
        size_t cap = b->cap ? b->cap * 2 : 64;
        if (cap < need)
                cap = need;
        char *p = realloc(b->cap ? b->p : NULL, cap);
        if (!p) {
                b->failed = true;
                return -ENOMEM;
        }
        if (!b->cap)
                p[0] = 0;
        b->p = p;
        b->cap = cap;
        return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
        int err = buf_grow(b, n);
        if (err)
                return err;
        if (n)
                memcpy(b->p + b->len, p, n);
        b->len += n;
        b->p[b->len] = 0;
        return 0;
}

int buf_adds(struct buf *b, const char *s)
{
        return buf_add(b, s, strlen(s));
}

int buf_addc(struct buf *b, char c)
{
        return buf_add(b, &c, 1);
}

int buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
        va_list again;
        va_copy(again, ap);
        int n = vsnprintf(NULL, 0, fmt, again);
        va_end(again);
        if (n < 0 || buf_grow(b, (size_t)n)) {
                b->failed = true;
                return -ENOMEM;
        }
        vsnprintf(b->p + b->len, (size_t)n + 1, fmt, ap);
        b->len += (size_t)n;
        return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
        va_list ap;
        va_start(ap, fmt);
        int err = buf_vaddf(b, fmt, ap);
        va_end(ap);
        return err;
}

char *buf_take(struct buf *b)
{
        char *p = NULL;
        if (!b->failed)
                p = b->cap ? b->p : strdup("");
        else
                buf_release(b);
        *b = (struct buf)BUF_INIT;
        return p;
}
