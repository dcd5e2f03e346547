/* SPDX-License-Identifier: Apache-2.0 */
/* interpolate.c: see interpolate.h. */
#include "bench/cli/interpolate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { DEPTH_MAX = 16, NAME_MAX_LEN = 256, TEXT_MAX = 64 * 1024, STEPS_MAX = 10000 };

/* Keys whose texts are open: each holds a ${} of the next. */
struct chain {
        const struct interpolate_key *key;
        const struct chain *up;
        unsigned depth;
};

struct filling {
        interpolate_fn *find;
        void *arg;
        struct buf *out;
        unsigned steps; /* names that were filled in so far */
        char *why;
        size_t nwhy;
};

__attribute__((format(printf, 4, 5))) static int refuse(const struct filling *f,
                                                        const struct chain *c, int err,
                                                        const char *fmt, ...)
{
        char text[400];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        snprintf(f->why, f->nwhy, "%s: %s", c->key->name, text);
        return err;
}

/* The name between the brackets, with that of a neighbour made whole. */
static int whole_name(const struct filling *f, const struct chain *c, const char *p, size_t n,
                      char out[NAME_MAX_LEN])
{
        size_t up = 0, base = 0;

        while (n && *p == ' ') {
                p++;
                n--;
        }
        while (n && p[n - 1] == ' ')
                n--;
        const bool now = n > 4 && !memcmp(p, "now:", 4) && n < NAME_MAX_LEN;
        if (now) {
                snprintf(out, NAME_MAX_LEN, "%.*s", (int)n, p);
                return 0;
        }
        if (!n || memchr(p, ':', n) || memchr(p, '$', n) || memchr(p, ' ', n))
                return refuse(f, c, -EINVAL,
                              "${%.*s} is not filled in, only ${KEY} is: write the value out",
                              (int)n, p);
        while (up < n && p[up] == '.')
                up++;
        if (up)
                base = strlen(c->key->name);
        for (size_t i = 0; i < up; i++)
                while (base && c->key->name[--base] != '.')
                        ;
        if (snprintf(out, NAME_MAX_LEN, "%.*s%s%.*s", (int)base, c->key->name, base ? "." : "",
                     (int)(n - up), p + up) < NAME_MAX_LEN)
                return 0;
        return refuse(f, c, -EINVAL, "a name in ${} is too long: shorten it");
}

static int fill_text(struct filling *f, const struct chain *c);

static int fill_name(struct filling *f, const struct chain *c, const char *name)
{
        struct interpolate_key key;
        const struct chain next = {&key, c, c->depth + 1};

        if (!f->find(f->arg, name, &key))
                return refuse(f, c, -EINVAL, "${%s} is no key: see ckptbench help keys", name);
        for (const struct chain *up = c; up; up = up->up)
                if (!strcmp(up->key->name, key.name))
                        return refuse(f, c, -ELOOP, "${%s} leads back to %s: write one of them out",
                                      name, key.name);
        if (next.depth > DEPTH_MAX)
                return refuse(f, c, -ELOOP, "${%s} is more than %d deep: write it out", name,
                              DEPTH_MAX);
        if (!strcmp(key.text, "???"))
                return refuse(f, c, -EINVAL, "${%s} has no value yet: give %s=", name, key.name);
        return fill_text(f, &next);
}

static int fill_text(struct filling *f, const struct chain *c)
{
        char name[NAME_MAX_LEN];

        for (const char *p = c->key->text; *p;) {
                const char *mark = strstr(p, "${");
                const char *end = mark ? strchr(mark, '}') : p + strlen(p);
                if (!end)
                        return refuse(f, c, -EINVAL, "'%s' is not closed: put } behind the name",
                                      mark);
                buf_add(f->out, p, (size_t)((mark ? mark : end) - p));
                if (f->out->len > TEXT_MAX || f->steps++ > STEPS_MAX)
                        return refuse(f, c, -EINVAL, "what ${} makes is too long: shorten it");
                if (mark) {
                        int err = whole_name(f, c, mark + 2, (size_t)(end - mark) - 2, name);
                        if (!err)
                                err = fill_name(f, c, name);
                        if (err)
                                return err;
                        end++;
                }
                p = end;
        }
        return f->out->failed ? -ENOMEM : 0;
}

int interpolate(const struct interpolate_key *key, interpolate_fn *find, void *arg, struct buf *out,
                char *why, size_t nwhy)
{
        struct filling f = {find, arg, out, 0, why, nwhy};
        const struct chain first = {key, NULL, 0};
        return fill_text(&f, &first);
}
