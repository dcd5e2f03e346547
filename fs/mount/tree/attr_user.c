/* SPDX-License-Identifier: Apache-2.0 */
/* attr_user.c: see attr.h; user attributes and metadata of others. Few files have any, so a change
 * makes the whole list anew. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "base/text/uri.h"
#include "mount/tree/attr.h"

#include "base/banned.h"

struct attr_more *attr_more_ref(struct attr_more *more)
{
        if (more)
                __atomic_add_fetch(&more->refs, 1, __ATOMIC_RELAXED);
        return more;
}

void attr_more_unref(struct attr_more *more)
{
        if (!more || __atomic_sub_fetch(&more->refs, 1, __ATOMIC_ACQ_REL))
                return;
        for (size_t i = 0; i < more->n; i++) {
                free(more->v[i].name);
                free(more->v[i].value);
        }
        free(more);
}

static void more_freep(struct attr_more **more)
{
        attr_more_unref(*more);
}

static int add_pair(struct attr_more *to, const char *name, const void *value, size_t len,
                    bool foreign)
{
        struct attr_pair p = {.name = strdup(name), .value = malloc(len + 1), .len = len};
        p.foreign = foreign;
        if (!p.name || !p.value) {
                free(p.name);
                free(p.value);
                return -ENOMEM;
        }
        memcpy(p.value, value, len);
        ((char *)p.value)[len] = 0;
        to->v[to->n++] = p;
        return 0;
}

/* The list without the pair of that name and kind, with room for one more. */
static struct attr_more *copy_without(const struct attr *a, const char *name, bool foreign)
{
        size_t n = a->more ? a->more->n : 0;
        CLEANUP(more_freep)
        struct attr_more *to = calloc(1, sizeof *to + (n + 1) * sizeof to->v[0]);
        if (!to)
                return NULL;
        to->refs = 1;
        for (size_t i = 0; i < n; i++) {
                const struct attr_pair *p = &a->more->v[i];
                if (p->foreign == foreign && !strcmp(p->name, name))
                        continue;
                if (add_pair(to, p->name, p->value, p->len, p->foreign))
                        return NULL;
        }
        return TAKE_PTR(to);
}

static void take_more(struct attr *a, struct attr_more *more)
{
        attr_more_unref(a->more);
        a->more = more;
}

int attr_more_put(struct attr *a, const char *name, const void *value, size_t len, bool foreign)
{
        CLEANUP(more_freep) struct attr_more *to = copy_without(a, name, foreign);
        if (!to || add_pair(to, name, value, len, foreign))
                return -ENOMEM;
        take_more(a, TAKE_PTR(to));
        return 0;
}

static const struct attr_pair *find(const struct attr *a, const char *name)
{
        for (size_t i = 0; a->more && i < a->more->n; i++)
                if (!a->more->v[i].foreign && !strcmp(a->more->v[i].name, name))
                        return &a->more->v[i];
        return NULL;
}

/* The pair of that name and kind, or NULL. */
static const struct attr_pair *find_like(const struct attr *a, const struct attr_pair *p)
{
        for (size_t i = 0; a->more && i < a->more->n; i++)
                if (a->more->v[i].foreign == p->foreign && !strcmp(a->more->v[i].name, p->name))
                        return &a->more->v[i];
        return NULL;
}

static bool has_same(const struct attr *a, const struct attr_pair *p)
{
        const struct attr_pair *q = find_like(a, p);
        return q && q->len == p->len && !memcmp(q->value, p->value, p->len);
}

int attr_more_merge(struct attr *a, const struct attr *base, const struct attr *theirs)
{
        CLEANUP(attr_release)
        struct attr merged = {.more = attr_more_ref(theirs->more)};

        for (size_t i = 0; a->more && i < a->more->n; i++) {
                const struct attr_pair *p = &a->more->v[i];
                if (!has_same(base, p) &&
                    attr_more_put(&merged, p->name, p->value, p->len, p->foreign))
                        return -ENOMEM;
        }
        for (size_t i = 0; base->more && i < base->more->n; i++) {
                const struct attr_pair *p = &base->more->v[i];
                if (find_like(a, p)) /* else it was removed here */
                        continue;
                struct attr_more *without = copy_without(&merged, p->name, p->foreign);
                if (!without)
                        return -ENOMEM;
                take_more(&merged, without);
        }
        take_more(a, TAKE_PTR(merged.more));
        return 0;
}

/* --- what programs ask --- */

ssize_t attr_user_get(const struct attr *a, const char *name, void *buf, size_t size)
{
        const struct attr_pair *p = find(a, name);
        if (!p)
                return -ENODATA;
        if (size && p->len > size)
                return -ERANGE;
        if (size)
                memcpy(buf, p->value, p->len);
        return (ssize_t)p->len;
}

ssize_t attr_user_list(const struct attr *a, char *buf, size_t size)
{
        size_t used = 0;
        for (size_t i = 0; a->more && i < a->more->n; i++) {
                const struct attr_pair *p = &a->more->v[i];
                size_t n = strlen(p->name) + 1;
                if (p->foreign)
                        continue;
                if (size && n > size - used)
                        return -ERANGE;
                if (size)
                        memcpy(buf + used, p->name, n);
                used += n;
        }
        return (ssize_t)used;
}

/* Whether an object could carry all of it, whatever the times will be. */
static int check_room(const struct attr *a)
{
        struct store_meta m;
        struct attr full = *a; /* borrows a->more */

        full.set = ATTR_MODE | ATTR_UID | ATTR_GID | ATTR_MTIME | ATTR_ATIME | ATTR_CTIME;
        full.mode = 0177777;
        full.uid = full.gid = UINT32_MAX;
        full.mtime_ns = full.atime_ns = full.ctime_ns = INT64_MAX;
        return attr_to_meta(&full, &m);
}

int attr_user_set(struct attr *a, const char *name, const void *value, size_t len, int flags)
{
        bool there = find(a, name) != NULL;
        if (there && flags & XATTR_CREATE)
                return -EEXIST;
        if (!there && flags & XATTR_REPLACE)
                return -ENODATA;
        struct attr changed = attr_copy(a);
        int err = attr_more_put(&changed, name, value, len, false);
        if (!err)
                err = check_room(&changed);
        if (!err)
                attr_move(a, &changed);
        attr_release(&changed);
        return err;
}

int attr_user_remove(struct attr *a, const char *name)
{
        if (!find(a, name))
                return -ENODATA;
        struct attr_more *to = copy_without(a, name, false);
        if (!to)
                return -ENOMEM;
        take_more(a, to);
        return 0;
}

/* --- what the object carries --- */

/* A name may hold any byte: those that JSON does not allow as they are get escaped. */
static void add_json_string(struct buf *b, const char *s)
{
        buf_addc(b, '"');
        for (; *s; s++) {
                if ((unsigned char)*s < ' ')
                        buf_addf(b, "\\u%04x", (unsigned)*s);
                else if (*s == '"' || *s == '\\')
                        buf_addf(b, "\\%c", *s);
                else
                        buf_addc(b, *s);
        }
        buf_addc(b, '"');
}

static void add_base64(struct buf *b, const void *p, size_t n)
{
        size_t len = 4 * ((n + 2) / 3);
        buf_addc(b, '"');
        if (!buf_grow(b, len + 1)) {
                base64_encode(p, n, b->p + b->len);
                b->len += len;
        }
        buf_addc(b, '"');
}

int attr_user_encode(const struct attr *a, struct store_meta *m)
{
        CLEANUP(buf_release) struct buf json = BUF_INIT, text = BUF_INIT;
        char before = '{';

        for (size_t i = 0; a->more && i < a->more->n; i++) {
                const struct attr_pair *p = &a->more->v[i];
                if (p->foreign)
                        continue;
                if (p->len > sizeof m->buf)
                        return -ENOSPC;
                buf_addc(&json, before);
                add_json_string(&json, p->name);
                buf_addc(&json, ':');
                add_base64(&json, p->value, p->len);
                before = ',';
        }
        if (before == '{')
                return 0;
        buf_addc(&json, '}');
        uri_encode(&text, json.p, false);
        if (json.failed || text.failed)
                return -ENOMEM;
        return store_meta_add(m, "xattr", text.p);
}

int attr_user_decode(struct attr *a, const char *text)
{
        CLEANUP(freep) char *copy = strdup(text);
        CLEANUP(json_freep) struct json *j = NULL;
        char value[STORE_META_MAX], why[64];
        if (!copy)
                return -ENOMEM;
        int n = uri_decode(copy, false), err = 0;
        if (n < 0 || json_parse("xattr", copy, (size_t)n, &j, why, sizeof why))
                return attr_more_put(a, "xattr", text, strlen(text), true); /* none of ours */
        for (size_t i = 0; !err && i < json_count(j); i++) {
                const struct json *p = json_at(j, i);
                int len = base64_decode(json_string(p, "?"), value, sizeof value);
                if (len >= 0 && json_name(p) && *json_name(p))
                        err = attr_more_put(a, json_name(p), value, (size_t)len, false);
        }
        return err;
}
