/* SPDX-License-Identifier: Apache-2.0 */
/* meta.c: user metadata as pairs of strings, and bodies in memory. */
#include <errno.h>
#include <string.h>

#include "base/digest.h"
#include "store.h"
#include "base/banned.h"

int store_meta_add(struct store_meta *m, const char *name, const char *value)
{
        size_t n = strlen(name) + 1, v = strlen(value) + 1;

        if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")])
                return -EINVAL;
        for (const char *p = value; *p; p++)
                if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
                        return -EINVAL;
        if (n + v > sizeof m->buf - m->len)
                return -ENOSPC;
        memcpy(m->buf + m->len, name, n);
        memcpy(m->buf + m->len + n, value, v);
        m->len += n + v;
        return 0;
}

const char *store_meta_get(const struct store_meta *m, const char *name)
{
        for (size_t at = 0; at < m->len;) {
                const char *n = m->buf + at, *v = n + strlen(n) + 1;
                if (!strcmp(n, name))
                        return v;
                at += strlen(n) + strlen(v) + 2;
        }
        return NULL;
}

static int read_mem(void *arg, uint64_t off, void *dst, size_t len)
{
        memcpy(dst, (const char *)arg + off, len);
        return 0;
}

struct store_body store_body_mem(const void *p, size_t len)
{
        return (struct store_body){
                .read = read_mem,
                .arg = (void *)(uintptr_t)p,
                .len = len,
                .crc32c = crc32c(0, p, len),
        };
}
