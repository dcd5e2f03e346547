/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h: a growing byte string.
 *
 * Invariants: `p` is never NULL and p[len] == 0; `cap` is 0 while `p` is the shared empty string;
 * `failed` stays set from the first allocation that failed, later additions do nothing, so a
 * caller may build a whole text and ask once. Not thread-safe. */
#ifndef CKPTFS_BASE_BUF_H
#define CKPTFS_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
        char *p;
        size_t len;
        size_t cap;
        bool failed;
};

extern char buf_empty[1];
#define BUF_INIT                                                                                   \
        {                                                                                          \
                .p = buf_empty                                                                     \
        }

/* Frees the bytes; the buf is empty and usable again. Keeps errno. */
void buf_release(struct buf *b);

/* Forgets the bytes, keeps the memory and clears `failed`. */
void buf_reset(struct buf *b);

/* Append; return 0 or -ENOMEM (also when `failed` was set before). */
int buf_add(struct buf *b, const void *p, size_t n);
int buf_adds(struct buf *b, const char *s);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vaddf(struct buf *b, const char *fmt, va_list ap);

/* Makes room for `n` more bytes. 0 or -ENOMEM. */
int buf_grow(struct buf *b, size_t n);

/* The string, malloc'ed and now the caller's (NULL after a failure); the buf is empty. */
char *buf_take(struct buf *b);

#endif
