/* SPDX-License-Identifier: Apache-2.0 */
/* xml.c: see xml.h. */
#include "base/text/xml.h"

#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

struct reading {
        const struct xml_reader *r;
        XML_Parser parser;
        int err;
        struct buf path, text;
        unsigned depth;
        bool is_leaf;                   /* no element has ended since the last one began */
        size_t path_len[XML_DEPTH_MAX]; /* of the parent's path at each depth */
};

static void stop(struct reading *x, int err)
{
        if (!x->err)
                x->err = err;
        XML_StopParser(x->parser, XML_FALSE);
}

static void on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
        struct reading *x = arg;
        const char *colon = strrchr(name, ':');

        (void)attributes;
        if (x->depth == XML_DEPTH_MAX) {
                stop(x, -EBADMSG);
                return;
        }
        x->path_len[x->depth++] = x->path.len;
        if (x->path.len)
                buf_addc(&x->path, '/');
        buf_adds(&x->path, colon ? colon + 1 : name);
        buf_reset(&x->text);
        x->is_leaf = true;
        if (x->path.failed)
                stop(x, -ENOMEM);
}

static void on_text(void *arg, const XML_Char *s, int n)
{
        struct reading *x = arg;
        if (buf_add(&x->text, s, (size_t)n))
                stop(x, -ENOMEM);
}

static void on_end(void *arg, const XML_Char *name)
{
        struct reading *x = arg;
        int err = 0;

        (void)name;
        if (x->is_leaf && x->r->leaf)
                err = x->r->leaf(x->r->arg, x->path.p, x->text.p);
        else if (!x->is_leaf && x->r->end)
                err = x->r->end(x->r->arg, x->path.p);
        x->is_leaf = false;
        x->path.len = x->path_len[--x->depth];
        x->path.p[x->path.len] = 0;
        buf_reset(&x->text);
        if (err)
                stop(x, err);
}

/* No store sends a document type; one could name files or swell without end. */
static void on_doctype(void *arg, const XML_Char *name, const XML_Char *system_id,
                       const XML_Char *public_id, int has_subset)
{
        (void)name, (void)system_id, (void)public_id, (void)has_subset;
        stop(arg, -EBADMSG);
}

int xml_read(const void *p, size_t n, const struct xml_reader *r)
{
        struct reading x = {.r = r, .path = BUF_INIT, .text = BUF_INIT};

        if (n > XML_SIZE_MAX)
                return -EFBIG;
        x.parser = XML_ParserCreate(NULL);
        if (!x.parser)
                return -ENOMEM;
        XML_SetUserData(x.parser, &x);
        XML_SetElementHandler(x.parser, on_start, on_end);
        XML_SetCharacterDataHandler(x.parser, on_text);
        XML_SetStartDoctypeDeclHandler(x.parser, on_doctype);
        if (XML_Parse(x.parser, p, (int)n, true) != XML_STATUS_OK && !x.err)
                x.err = XML_GetErrorCode(x.parser) == XML_ERROR_NO_MEMORY ? -ENOMEM : -EBADMSG;
        XML_ParserFree(x.parser);
        buf_release(&x.path);
        buf_release(&x.text);
        return x.err;
}

/* What stands for the character, or NULL: itself. */
static const char *escape_of(unsigned char c, char number[8])
{
        switch (c) {
        case '&':
                return "&amp;";
        case '<':
                return "&lt;";
        case '>':
                return "&gt;";
        case '"':
                return "&quot;";
        case '\'':
                return "&apos;";
        default:
                if (c >= ' ')
                        return NULL;
                snprintf(number, 8, "&#x%X;", c);
                return number;
        }
}

int xml_escape(struct buf *b, const char *text)
{
        char number[8];
        const char *s = text;

        for (; *s; s++) {
                const char *escape = escape_of((unsigned char)*s, number);
                if (!escape)
                        continue;
                buf_add(b, text, (size_t)(s - text));
                buf_adds(b, escape);
                text = s + 1;
        }
        return buf_add(b, text, (size_t)(s - text));
}

/* --- characters that XML does not have --- */

static const char odd_head[] =
        "\xef\xbf"; /* of U+FFFE and U+FFFF; their last bytes are the least: */
enum { ODD_TAIL = 0xbe, REPLACEMENT_TAIL = 0xbd };

static bool is_odd(const char *p)
{
        return !memcmp(p, odd_head, 2) && (unsigned char)p[2] >= ODD_TAIL;
}

static bool is_char(unsigned long c)
{
        return c >= ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool xml_fits(const char *text)
{
        for (const char *p = text; *p; p++)
                if (!is_char((unsigned char)*p))
                        return false;
        for (const char *p = text; (p = strstr(p, odd_head)); p += 2)
                if (is_odd(p))
                        return false;
        return true;
}

/* The length of a reference to a character that there is not, else 0. */
static size_t bad_reference(const char *p, size_t n)
{
        enum { LONGEST = 12 }; /* "&#x0000001F;" */
        char text[LONGEST + 1], *end;

        if (n < 4 || p[1] != '#')
                return 0;
        snprintf(text, sizeof text, "%.*s", (int)(n < LONGEST ? n : LONGEST), p);
        bool hex = text[2] == 'x';
        unsigned long c = strtoul(text + 2 + hex, &end, hex ? 16 : 10);
        bool bad = !is_char(c) || c == 0xfffe || c == 0xffff;
        return *end == ';' && end > text + 2 + hex && bad ? (size_t)(end + 1 - text) : 0;
}

size_t xml_mend(char *p, size_t n)
{
        char *end = p + n, *to = NULL, *from = p;

        for (char *at = p; (at = memmem(at, (size_t)(end - at), odd_head, 2)) && end - at > 2;
             at += 2)
                if (is_odd(at))
                        at[2] = (char)REPLACEMENT_TAIL;
        for (char *at = p; (at = memchr(at, '&', (size_t)(end - at)));) {
                size_t skip = bad_reference(at, (size_t)(end - at));
                if (!skip) {
                        at++;
                        continue;
                }
                size_t before = (size_t)(at - from);
                to = to ? to : from;
                memmove(to, from, before);
                memcpy(to + before, "\xef\xbf\xbd", 3);
                to += before + 3;
                from = at = at + skip;
        }
        if (!to)
                return n;
        memmove(to, from, (size_t)(end - from));
        return n - (size_t)(from - to);
}
