/* SPDX-License-Identifier: Apache-2.0 */
/* meta.c: user metadata as pairs of strings, and bodies in memory. */
#include <errno.h>
#include <string.h>

#include "base/digest.h"
#include "store/core/ops.h"
#include "base/banned.h"

/* The headers of an object that are handed on with its metadata. Any other would be a way to have
 * this program send a header that somebody else chose. */
static bool is_header(const char *name)
{
        static const char *const headers[] = {
                ":content-type",        ":cache-control",      ":content-disposition",
                ":content-encoding",    ":content-language",   ":expires",
                ":x-amz-storage-class", ":x-goog-custom-time", ":x-amz-website-redirect-location",
        };
        for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
                if (!strcmp(name, headers[i]))
                        return true;
        return false;
}

static bool is_text(const char *value)
{
        for (const char *p = value; *p; p++)
                if ((unsigned char)*p < ' ' || *p == 0x7f)
                        return false;
        return true;
}

int store_meta_as_sent(struct store_meta *m, const char *name, const char *value)
{
        size_t n = strlen(name) + 1, v = strlen(value) + 1;

        if (*name == ':' ? !is_header(name) || !is_text(value) : !*name)
                return -EINVAL;
        if (n + v > sizeof m->buf - m->len)
                return -ENOSPC;
        memcpy(m->buf + m->len, name, n);
        memcpy(m->buf + m->len + n, value, v);
        m->len += n + v;
        return 0;
}

int store_meta_add(struct store_meta *m, const char *name, const char *value)
{
        bool fits = (*name == ':' || !name[strspn(name, META_TOKEN)]) && is_text(value);
        return fits ? store_meta_as_sent(m, name, value) : -EINVAL;
}

int meta_add_user(struct store_meta *m, const char *name, const char *value)
{
        return *name == ':' ? -EINVAL : store_meta_add(m, name, value);
}

const char *store_meta_next(const struct store_meta *m, const char *name, const char **value)
{
        const char *next = m->buf;
        if (name) {
                next = name + strlen(name) + 1;
                next += strlen(next) + 1;
        }
        if (next >= m->buf + m->len)
                return NULL;
        *value = next + strlen(next) + 1;
        return next;
}

void store_entry_meta(const struct store_entry *e, struct store_meta *out)
{
        out->missing = e->partial;
        out->metageneration = e->metageneration;
        out->len = e->nmeta < sizeof out->buf ? e->nmeta : 0;
        if (out->len)
                memcpy(out->buf, e->meta, out->len);
}

const char *store_meta_get(const struct store_meta *m, const char *name)
{
        const char *value;
        for (const char *n = NULL; (n = store_meta_next(m, n, &value));)
                if (!strcmp(n, name))
                        return value;
        return NULL;
}

static bool has(const struct store_meta *m, const char *name, const char *value)
{
        const char *got = store_meta_get(m, name);
        return got && !strcmp(got, value);
}

bool meta_is_usual_type(const char *type)
{
        return !strcmp(type, "binary/octet-stream") || !strcmp(type, "application/octet-stream");
}

bool meta_has_all(const struct store_meta *have, const struct store_meta *want)
{
        const char *value;
        for (const char *name = NULL; (name = store_meta_next(want, name, &value));)
                if (!has(have, name, value) && !(*name == ':' && meta_is_usual_type(value)))
                        return false;
        return true;
}

bool meta_has_user(const struct store_meta *have, const struct store_meta *want)
{
        const char *value;
        for (const char *name = NULL; (name = store_meta_next(want, name, &value));)
                if (*name != ':' && !has(have, name, value))
                        return false;
        return true;
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
