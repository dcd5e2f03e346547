/* SPDX-License-Identifier: Apache-2.0 */
/* check_contents.c: contents of files as small numbers; see checker.h. */
#include <stdlib.h>
#include <string.h>

#include "checker.h"

#include "base/banned.h"

enum { MOST_PIECES = 64 };

struct pieces {
        unsigned n, ids[MOST_PIECES];
};

struct contents {
        struct pieces *all; /* [NONE] and [A_DIR] have no pieces */
        unsigned n, room;
        unsigned *table, nslots; /* of numbers + 1 */
};

static unsigned hash_of(const struct pieces *p)
{
        unsigned h = 2166136261u;

        for (unsigned i = 0; i < p->n; i++)
                h = (h ^ p->ids[i]) * 16777619u;
        return h ^ (h >> 15);
}

static void *need(void *p)
{
        if (!p)
                abort();
        return p;
}

static void table_put(struct contents *all, unsigned number)
{
        unsigned at = hash_of(&all->all[number]) & (all->nslots - 1);

        while (all->table[at])
                at = (at + 1) & (all->nslots - 1);
        all->table[at] = number + 1;
}

static void grow(struct contents *all)
{
        all->room = all->room ? all->room * 2 : 512;
        all->all = need(realloc(all->all, all->room * sizeof *all->all));
        free(all->table);
        all->nslots = all->room * 2;
        all->table = need(calloc(all->nslots, sizeof *all->table));
        for (unsigned i = A_DIR + 1; i < all->n; i++)
                table_put(all, i);
}

static int intern(struct contents *all, const struct pieces *p)
{
        for (unsigned at = hash_of(p) & (all->nslots - 1); all->table[at];
             at = (at + 1) & (all->nslots - 1)) {
                const struct pieces *q = &all->all[all->table[at] - 1];
                if (q->n == p->n && !memcmp(q->ids, p->ids, p->n * sizeof *p->ids))
                        return (int)all->table[at] - 1;
        }
        if (all->n == all->room)
                grow(all);
        all->all[all->n] = *p;
        table_put(all, all->n);
        return (int)all->n++;
}

struct contents *contents_new(void)
{
        struct contents *all = need(calloc(1, sizeof *all));

        grow(all);
        all->all[NONE] = all->all[A_DIR] = (struct pieces){0};
        all->n = A_DIR + 1;
        return all;
}

void contents_free(struct contents *all)
{
        if (!all)
                return;
        free(all->all);
        free(all->table);
        free(all);
}

int contents_of_text(struct contents *all, const char *text)
{
        struct pieces p = {0};

        if (!strcmp(text, "-"))
                return NONE;
        while (*text) {
                char *end;
                unsigned long id = strtoul(text, &end, 10);
                if (end == text || (*end && *end != ',') || p.n == MOST_PIECES)
                        return -1;
                p.ids[p.n++] = (unsigned)id;
                text = *end ? end + 1 : end;
        }
        return intern(all, &p);
}

int contents_whole(struct contents *all, unsigned id, unsigned pieces)
{
        return contents_append(all, NONE, id, pieces);
}

int contents_append(struct contents *all, int base, unsigned id, unsigned pieces)
{
        struct pieces p = all->all[base];

        for (; pieces && p.n < MOST_PIECES; pieces--)
                p.ids[p.n++] = id;
        return intern(all, &p);
}

int contents_change(struct contents *all, int base, unsigned id, unsigned piece)
{
        struct pieces p = all->all[base];

        if (piece >= p.n)
                return -1;
        p.ids[piece] = id;
        return intern(all, &p);
}

bool contents_end_with(const struct contents *all, int what, unsigned id)
{
        const struct pieces *p = &all->all[what];

        return p->n && p->ids[p->n - 1] == id;
}

const char *contents_text(const struct contents *all, int what)
{
        static char text[SEEN_MOST];
        size_t at = 0;

        if (what == NONE || what == A_DIR)
                return what ? "a directory" : "nothing";
        for (unsigned i = 0; i < all->all[what].n && at < sizeof text; i++)
                at += (size_t)snprintf(text + at, sizeof text - at, "%s%u", i ? "," : "",
                                       all->all[what].ids[i]);
        return text;
}
