/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_list.c: see sweep_list.h. The grammar is that of hydra.cc/docs/advanced/override_grammar,
 * as far as values are words and numbers. */
#include "bench/cli/sweep_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

enum { DEPTH_MAX = 16 };
#define NUMBER_MAX 9007199254740992LL /* as a double holds it */

struct list {
        const char *key;
        sweep_value_fn *fn;
        void *arg;
        size_t n;
        char *why;
        size_t nwhy;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct list *l, const char *fmt, ...)
{
        char text[300];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        snprintf(l->why, l->nwhy, "%s: %s", l->key, text);
        return -EINVAL;
}

static int add(struct list *l, const char *text, bool literal)
{
        if (l->n++ == SWEEP_VALUES_MAX)
                return refuse(l, "these are more than %d values: give fewer", SWEEP_VALUES_MAX);
        return l->fn(l->arg, text, literal);
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p)
{
        while (is_blank(*p))
                p++;
        return p;
}

/* --- words --- */

/* 'a, b' or "a, b": what is between, with \' as a quote and \\ as a backslash. */
static int add_quoted(struct list *l, const char **at)
{
        CLEANUP(buf_release) struct buf word = BUF_INIT;
        const char *p = *at;
        char quote = *p++;

        for (; *p && *p != quote; p++) {
                if (*p == '\\' && (p[1] == quote || p[1] == '\\'))
                        p++;
                buf_addc(&word, *p);
        }
        if (!*p)
                return refuse(l, "the quote of %s is not closed: put %c behind it", *at, quote);
        p = skip_blanks(p + 1);
        if (*p && *p != ',')
                return refuse(l, "'%s' stands behind a quote: take it into the quotes", p);
        *at = p;
        return word.failed ? -ENOMEM : add(l, word.p, true);
}

/* What closes a bracket; 0: c opens none. */
static char closing(char c)
{
        return c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : 0;
}

/* A word up to a comma outside of brackets. A backslash takes the meaning of the character behind
 * it away. */
static int add_word(struct list *l, const char **at)
{
        CLEANUP(buf_release) struct buf word = BUF_INIT;
        char open[DEPTH_MAX];
        size_t depth = 0, trimmed = 0; /* `trimmed`: bytes up to the last that is no blank */
        const char *p = *at;

        for (; *p && (depth || *p != ','); p++) {
                bool escaped = *p == '\\' && p[1] && strchr("\\()[]{}:=, \t", p[1]);
                if (escaped)
                        p++;
                else if (depth && *p == open[depth - 1])
                        depth--;
                else if (closing(*p) && depth == DEPTH_MAX)
                        return refuse(l, "the brackets are nested too deeply: quote the value");
                else if (closing(*p))
                        open[depth++] = closing(*p);
                buf_addc(&word, *p);
                if (escaped || !is_blank(*p))
                        trimmed = word.len;
        }
        if (depth)
                return refuse(l, "'%c' is missing behind %s: close the bracket, or quote the value",
                              open[depth - 1], *at);
        if (word.failed)
                return -ENOMEM;
        if (!trimmed && (*p || l->n))
                return refuse(l, "a value is empty: give it, or take a comma away");
        if (trimmed)
                word.p[trimmed] = 0;
        *at = p;
        return add(l, trimmed ? word.p : "", false);
}

static int add_words(struct list *l, const char *text)
{
        for (const char *p = text;; p++) {
                p = skip_blanks(p);
                int err = *p == '\'' || *p == '"' ? add_quoted(l, &p) : add_word(l, &p);
                if (err || !*p)
                        return err;
        }
}

/* --- functions --- */

struct range {
        long long start, stop, step;
        bool has_stop;
};

/* The n-th of range()'s arguments, or the one that it names: "stop=5". */
static int take_bound(struct list *l, const char *text, unsigned n, struct range *r)
{
        static const char *const names[] = {"start", "stop", "step"};
        size_t len = strcspn(text, "=");
        char *end;

        for (unsigned i = 0; text[len] && i < 3; i++)
                if (strlen(names[i]) == len && !memcmp(names[i], text, len)) {
                        n = i;
                        text += len + 1;
                        break;
                }
        errno = 0;
        long long v = strtoll(text, &end, 10);
        if (errno || end == text || *skip_blanks(end) || n > 2 || v > NUMBER_MAX || v < -NUMBER_MAX)
                return refuse(l, "range() takes whole numbers, start, stop and step: '%s' is none",
                              text);
        *(n == 0 ? &r->start : n == 1 ? &r->stop : &r->step) = v;
        r->has_stop = r->has_stop || n == 1;
        return 0;
}

/* range(stop), range(start, stop), range(start, stop, step): up to stop, which is not among them.
 */
static int add_range(struct list *l, char *inside)
{
        struct range r = {.step = 1};
        char *rest = inside, number[24];
        int err = 0;

        for (unsigned n = 0; rest && !err; n++) {
                char *one = rest;
                rest = strchr(one, ',');
                if (rest)
                        *rest++ = 0;
                err = take_bound(l, skip_blanks(one), n, &r);
        }
        if (err)
                return err;
        if (!r.has_stop) {
                r.stop = r.start;
                r.start = 0;
        }
        if (!r.step || (r.step > 0 ? r.start >= r.stop : r.start <= r.stop))
                return refuse(l, "range(%lld,%lld,%lld) has no value: mend start, stop or step",
                              r.start, r.stop, r.step);
        for (long long v = r.start; (r.step > 0 ? v < r.stop : v > r.stop) && !err; v += r.step) {
                snprintf(number, sizeof number, "%lld", v);
                err = add(l, number, true);
        }
        return err;
}

/* What is in the brackets of "name(...)" when that is all of the text, in *inside; 0 with NULL
 * there when it is something else. */
static int take_function(const char *text, const char *name, char **inside)
{
        size_t n = strlen(name), len = strlen(text);

        *inside = NULL;
        while (len && is_blank(text[len - 1]))
                len--;
        if (strncmp(text, name, n) != 0 || text[n] != '(' || text[len - 1] != ')')
                return 0;
        *inside = strndup(text + n + 1, len - n - 2);
        return *inside ? 0 : -ENOMEM;
}

/* Functions of Hydra's that nothing here has a use for. */
static const char *const others[] = {"interval", "glob", "shuffle", "sort", "tag",        "int",
                                     "float",    "str",  "bool",    "cast", "extend_list"};

int sweep_list(const char *key, const char *list, sweep_value_fn *fn, void *arg, char *why,
               size_t nwhy)
{
        struct list l = {.key = key, .fn = fn, .arg = arg, .why = why, .nwhy = nwhy};
        CLEANUP(freep) char *inside = NULL;

        list = skip_blanks(list);
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
                size_t n = strlen(others[i]);
                if (!strncmp(list, others[i], n) && list[n] == '(')
                        return refuse(&l, "%s() is not known: write choice(a,b) or range(1,5)",
                                      others[i]);
        }
        int err = take_function(list, "range", &inside);
        if (inside)
                return add_range(&l, inside);
        if (!err)
                err = take_function(list, "choice", &inside);
        if (inside && !*skip_blanks(inside))
                return refuse(&l, "choice() has no value: give some");
        return err ? err : add_words(&l, inside ? inside : list);
}
