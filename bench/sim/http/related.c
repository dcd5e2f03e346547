/* SPDX-License-Identifier: Apache-2.0 */
/* related.c: see related.h. */
#include "bench/sim/http/related.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

int related_begin(struct related *r, const char *content_type, uint64_t body_len)
{
        const char *at = content_type ? strcasestr(content_type, "boundary=") : NULL;

        if (!at)
                return -EINVAL;
        at += 9;
        bool quoted = *at == '"' || *at == '\'';
        size_t n = quoted ? strcspn(at + 1, "\"'") : strcspn(at, "; \t");
        if (!n || n + 3 > sizeof r->boundary)
                return -EINVAL;
        snprintf(r->boundary, sizeof r->boundary, "--%.*s", (int)n, at + quoted);
        r->rest = body_len;
        r->open = body_len == RELATED_OPEN;
        return 0;
}

/* The end of a part's headers that begin at p, or NULL. */
static const char *headers_end(const struct related *r, const char *p)
{
        size_t n = strlen(r->eol);

        while ((p = strstr(p, r->eol)))
                if (!strncmp(p += n, r->eol, n))
                        return p + n;
        return NULL;
}

static void find_type(struct related *r, const char *p, const char *end)
{
        static const char name[] = "content-type:";
        const char *at = strcasestr(p, name);

        if (!at || at >= end)
                return;
        at += sizeof name - 1;
        at += strspn(at, " ");
        r->type_at = (size_t)(at - r->head.p);
        r->type_len = strcspn(at, "\r\n");
}

/* Looks for the beginning of the data in `head`. 1, 0 when it is not there yet, or -EBADMSG. */
static int find_data(struct related *r)
{
        char *p = r->head.p;
        size_t n = strlen(r->boundary);

        if (r->head.len < n)
                return 0;
        if (strncmp(p, r->boundary, n))
                return -EBADMSG;
        const char *text = headers_end(r, p);
        const char *second = text ? strstr(text, r->boundary) : NULL;
        const char *data = second ? headers_end(r, second) : NULL;
        if (!data)
                return 0;
        size_t neol = strlen(r->eol);
        if (second < text + neol)
                return -EBADMSG;
        r->text_at = (size_t)(text - p);
        r->text_len = (size_t)(second - text) - neol;
        find_type(r, second, data);
        return 1;
}

static bool ends_with(const char *p, size_t n, const char *end, size_t nend)
{
        return n >= nend && !memcmp(p + n - nend, end, nend);
}

/* The last bytes: a line break may be at their very end or not, and tells where the data ends. */
static int end_tail(struct related *r, related_fn *fn, void *arg)
{
        char want[RELATED_BOUNDARY_MAX + 8];
        size_t end = (size_t)snprintf(want, sizeof want, "%s%s--%s", r->eol, r->boundary, r->eol);
        if (!ends_with(r->tail, r->ntail, want, end)) {
                end -= strlen(r->eol);
                if (!ends_with(r->tail, r->ntail, want, end))
                        return -EBADMSG;
        }
        return r->ntail > end ? fn(arg, r->tail, r->ntail - end) : 0;
}

static int take_tail(struct related *r, char *p, size_t n, related_fn *fn, void *arg)
{
        if (r->ntail + n > sizeof r->tail)
                return -EBADMSG;
        memcpy(r->tail + r->ntail, p, n);
        r->ntail += n;
        return r->rest ? 0 : end_tail(r, fn, arg);
}

/* The most that can be behind the data: two breaks and "--". */
static size_t tail_max(const struct related *r)
{
        return strlen(r->boundary) + 6;
}

static void begin_data(struct related *r)
{
        if (!r->open)
                r->left = r->rest > tail_max(r) ? r->rest - tail_max(r) : 0;
}

/* Gives away what is not among the last bytes any more, what was held back first. */
static int slide(struct related *r, char *p, size_t n, related_fn *fn, void *arg)
{
        size_t all = r->ntail + n, most = tail_max(r);
        size_t data = all > most ? all - most : 0;
        size_t held = data < r->ntail ? data : r->ntail;
        int err = held ? fn(arg, r->tail, held) : 0;

        memmove(r->tail, r->tail + held, r->ntail -= held);
        if (!err && data > held)
                err = fn(arg, p, data - held);
        memcpy(r->tail + r->ntail, p + (data - held), n - (data - held));
        r->ntail += n - (data - held);
        return err;
}

int related_feed(struct related *r, char *p, size_t n, related_fn *fn, void *arg)
{
        while (n && !r->text_len) {
                if (r->head.len == RELATED_HEAD_MAX || !*p || buf_addc(&r->head, *p))
                        return -EBADMSG;
                p++;
                n--;
                r->rest--;
                if (!r->eol && p[-1] == '\n')
                        r->eol = r->head.len > 1 && r->head.p[r->head.len - 2] == '\r' ? "\r\n"
                                                                                       : "\n";
                int found = p[-1] == '\n' ? find_data(r) : 0;
                if (found < 0)
                        return found;
                if (found)
                        begin_data(r);
        }
        if (r->open)
                return n ? slide(r, p, n, fn, arg) : 0;
        size_t k = related_left(r, n);
        int err = k ? fn(arg, p, k) : 0;
        related_skip(r, k);
        r->rest -= n - k;
        return err || n == k ? err : take_tail(r, p + k, n - k, fn, arg);
}

int related_end(struct related *r, related_fn *fn, void *arg)
{
        r->rest = 0;
        return r->text_len ? end_tail(r, fn, arg) : -EBADMSG;
}

size_t related_left(const struct related *r, size_t n)
{
        return n < r->left ? n : (size_t)r->left;
}

void related_skip(struct related *r, size_t n)
{
        r->left -= n;
        r->rest -= n;
}

bool related_is_whole(const struct related *r)
{
        return r->text_len && !r->rest;
}
