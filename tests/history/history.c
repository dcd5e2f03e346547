/* SPDX-License-Identifier: Apache-2.0 */
/* history.c: the file of a history: a line for the setting, then a line for each call. */
#include "history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static const char *const kinds[] = {
#define K(name, text) text,
        CALL_KINDS(K)
#undef K
};
static const char *const fates[] = {"told", "killed", "cut", "down"};

enum { KINDS = sizeof kinds / sizeof *kinds, FATES = sizeof fates / sizeof *fates };

void history_setting_write(FILE *to, const struct setting *s)
{
        fprintf(to, "history seed=%u moves_whole=%d faulty=%d ttl_ns=%" PRId64 "\n", s->seed,
                s->moves_whole, s->faulty, s->ttl_ns);
}

void history_call_write(FILE *to, const struct call *c)
{
        fprintf(to,
                "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d.%d %s %s %s id=%u pieces=%u "
                "len=%" PRIu64 " err=%d %s %s\n",
                c->t[0], c->t[1], c->t[2], c->t[3], c->host, c->proc, kinds[c->kind], c->name,
                c->to, c->id, c->pieces, c->len, c->err, fates[c->fate], c->seen);
}

static bool find_word(const char *word, const char *const *words, unsigned n, unsigned *at)
{
        for (*at = 0; *at < n; ++*at)
                if (!strcmp(word, words[*at]))
                        return true;
        return false;
}

static bool read_call(struct call *c, const char *line)
{
        char kind[16], fate[16];
        unsigned k, f;
        int n = 0;

        *c = (struct call){0};
        if (sscanf(line,
                   "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %d.%d %15s %31s %31s id=%u "
                   "pieces=%u len=%" SCNu64 " err=%d %15s %n",
                   &c->t[0], &c->t[1], &c->t[2], &c->t[3], &c->host, &c->proc, kind, c->name, c->to,
                   &c->id, &c->pieces, &c->len, &c->err, fate, &n) != 14 ||
            !find_word(kind, kinds, KINDS, &k) || !find_word(fate, fates, FATES, &f))
                return false;
        c->kind = k;
        c->fate = f;
        snprintf(c->seen, sizeof c->seen, "%.*s", (int)strcspn(line + n, "\n"), line + n);
        return c->seen[0] != 0;
}

static bool read_setting(struct setting *s, const char *line)
{
        int moves, faulty;

        if (sscanf(line, "history seed=%u moves_whole=%d faulty=%d ttl_ns=%" SCNd64, &s->seed,
                   &moves, &faulty, &s->ttl_ns) != 4)
                return false;
        s->moves_whole = moves;
        s->faulty = faulty;
        return true;
}

bool history_add(struct history *h, const struct call *c)
{
        if (h->n == h->room) {
                unsigned room = h->room ? h->room * 2 : 256;
                struct call *more = realloc(h->calls, room * sizeof *more);
                if (!more)
                        return false;
                h->calls = more;
                h->room = room;
        }
        h->calls[h->n++] = *c;
        return true;
}

static int compare(const void *a, const void *b)
{
        const struct call *x = a, *y = b;

        return x->t[0] < y->t[0] ? -1 : x->t[0] > y->t[0];
}

bool history_read(struct history *h, FILE *from, unsigned *line)
{
        char text[1024];
        struct call c;

        for (*line = 1; fgets(text, sizeof text, from); ++*line) {
                if (!strncmp(text, "history ", 8) ? !read_setting(&h->setting, text)
                                                  : !read_call(&c, text) || !history_add(h, &c))
                        return false;
        }
        if (h->n)
                qsort(h->calls, h->n, sizeof *h->calls, compare);
        return true;
}

void history_free(struct history *h)
{
        free(h->calls);
        *h = (struct history){0};
}
