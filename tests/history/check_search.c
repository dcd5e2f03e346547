/* SPDX-License-Identifier: Apache-2.0 */
/* check_search.c: looks for an order of steps that explains what was read; see checker.h.
 *
 * Time passes over the begins and ends of the steps. A world is one way in which all can have come
 * so far: what the paths hold, and which steps of the ops under way have happened. At each moment
 * all worlds are known that can be; when a step's time ends, those in which it has not happened
 * cannot be. When none is left, the op whose time ended is what nothing explains. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"

#include "base/banned.h"

enum { SLOTS = 64, WORLDS = 200000, VALUES = 256 };

struct world {
        int has[PATHS];
        struct {
                int kept;      /* what the op of the slot remembers */
                unsigned done; /* its steps that have happened */
        } slots[SLOTS];
};

struct worlds {
        struct world *all;
        unsigned n, room;
        unsigned *table, nplaces; /* of a world: its number and one; 0: none */
        unsigned *place;          /* of each world, in the table */
        size_t size;              /* of a world, as far as its slots are in use */
};

struct event {
        int64_t at;
        unsigned op, step;
        bool ends;
};

struct run {
        struct search *s;
        struct worlds now, next;
        struct op *slots[SLOTS];
        unsigned top;                               /* slots in use are below */
        unsigned open[PATHS][VALUES], nopen[PATHS]; /* spans that go on */
};

static void *need(void *p)
{
        if (!p)
                abort();
        return p;
}

void spans_add(struct spans *s, int value, int64_t from, int64_t until)
{
        if (s->n == s->room) {
                s->room = s->room ? s->room * 2 : 16;
                s->all = need(realloc(s->all, s->room * sizeof *s->all));
        }
        s->all[s->n++] = (struct span){value, from, until};
}

/* --- sets of worlds --- */

static unsigned hash_of(const struct world *w, size_t size)
{
        const unsigned char *p = (const unsigned char *)w;
        uint64_t h = 1469598103934665603u, x;

        for (size_t i = 0; i < size; i += sizeof x) {
                memcpy(&x, p + i, sizeof x);
                h = (h ^ x) * 0x9e3779b97f4a7c15ULL;
                h ^= h >> 29;
        }
        return (unsigned)(h >> 7);
}

/* Empties the set, for worlds that have so many slots. */
static void worlds_clear(struct worlds *ws, unsigned slots)
{
        for (unsigned i = 0; i < ws->n; i++)
                ws->table[ws->place[i]] = 0;
        ws->n = 0;
        ws->size = offsetof(struct world, slots) + slots * sizeof ws->all->slots[0];
}

/* Where the world is, or could be. */
static unsigned worlds_place(const struct worlds *ws, const struct world *w)
{
        unsigned at = hash_of(w, ws->size) & (ws->nplaces - 1);

        while (ws->table[at] && memcmp(&ws->all[ws->table[at] - 1], w, ws->size) != 0)
                at = (at + 1) & (ws->nplaces - 1);
        return at;
}

static void worlds_grow(struct worlds *ws)
{
        ws->room = ws->room ? ws->room * 2 : 64;
        ws->all = need(realloc(ws->all, ws->room * sizeof *ws->all));
        ws->place = need(realloc(ws->place, ws->room * sizeof *ws->place));
        free(ws->table);
        ws->nplaces = ws->room * 2;
        ws->table = need(calloc(ws->nplaces, sizeof *ws->table));
        for (unsigned i = 0; i < ws->n; i++) {
                ws->place[i] = worlds_place(ws, &ws->all[i]);
                ws->table[ws->place[i]] = i + 1;
        }
}

static void worlds_add(struct worlds *ws, const struct world *w)
{
        if (ws->n == ws->room)
                worlds_grow(ws);
        unsigned at = worlds_place(ws, w);
        if (ws->table[at])
                return;
        ws->place[ws->n] = at;
        ws->all[ws->n++] = *w;
        ws->table[at] = ws->n;
}

static void worlds_free(struct worlds *ws)
{
        free(ws->all);
        free(ws->table);
        free(ws->place);
}

/* --- steps --- */

static int published(struct run *r, const struct op *op, int base)
{
        const struct call *c = op->call;

        if (c->kind == CALL_CHANGE)
                return contents_change(r->s->contents, base, c->id, c->pieces);
        return contents_append(r->s->contents, base, c->id, c->pieces);
}

static bool take(struct run *r, const struct op *op, const struct world *w, int *kept)
{
        *kept = w->has[op->p];
        return *kept != NONE && (op->value < 0 || op->value == *kept) &&
               (!op->after || contents_end_with(r->s->contents, *kept, op->after));
}

static bool paste(const struct op *op, struct world *w, int kept)
{
        if (op->only_new && w->has[op->q] != NONE)
                return false;
        w->has[op->q] = kept;
        return true;
}

static bool copy(const struct op *op, struct world *w, int *kept)
{
        *kept = w->has[op->p];
        return *kept == NONE ? op->if_there : paste(op, w, *kept);
}

/* Whether the step can happen in this world; if so, it has. */
static bool act(struct run *r, const struct op *op, enum act what, struct world *w, int *kept)
{
        int *p = &w->has[op->p], *q = &w->has[op->q];

        switch (what) {
        case ACT_SET:
                *p = op->value;
                return true;
        case ACT_NEW:
                if (*p != NONE)
                        return false;
                *p = op->value;
                return true;
        case ACT_CLEAR:
                *p = NONE;
                return true;
        case ACT_TAKE:
                return take(r, op, w, kept);
        case ACT_PUBLISH:
                if (*p != *kept)
                        return false;
                *p = published(r, op, *kept);
                return *p >= 0;
        case ACT_COPY:
                return copy(op, w, kept);
        case ACT_PASTE:
                return paste(op, w, *kept);
        case ACT_AGAIN:
                if (*kept == NONE || *p != *kept)
                        return false;
                *q = *kept;
                return true;
        case ACT_MOVE:
                if (!copy(op, w, kept))
                        return false;
                if (op->p != op->q)
                        *p = NONE;
                return true;
        case ACT_DROP:
                if (*kept != NONE && *p == *kept && op->p != op->q)
                        *p = NONE;
                return true;
        case ACT_UNCOPY:
                if (*kept != NONE && *q == *kept)
                        *q = NONE;
                return true;
        case ACT_BACK:
                if (*kept == NONE || *q != *kept || *p != NONE)
                        return true;
                *p = *kept;
                *q = NONE;
                return true;
        case ACT_SEE:
                return *p == op->value;
        }
        return false;
}

static bool is_look(const struct op *op)
{
        return op->steps[0].act == ACT_SEE;
}

/* A read changes nothing, so that the first moment at which it can be is as good as any later. */
static void see(const struct run *r, struct world *w)
{
        for (unsigned i = 0; i < r->top; i++) {
                const struct op *op = r->slots[i];
                if (op && is_look(op) && !w->slots[i].done && w->has[op->p] == op->value)
                        w->slots[i].done = 1;
        }
}

/* The step happens in a copy of the world, and what is optional before it has not. One that may
 * happen and changes nothing may as well happen later, or not. */
static void step_in(struct run *r, struct world w, unsigned slot, unsigned step)
{
        const struct op *op = r->slots[slot];
        const struct world before = w;

        if (!act(r, op, op->steps[step].act, &w, &w.slots[slot].kept))
                return;
        if (op->steps[step].optional && !memcmp(w.has, before.has, sizeof w.has))
                return;
        w.slots[slot].done = step + 1;
        if (w.slots[slot].done == op->nsteps)
                w.slots[slot].kept = 0;
        see(r, &w);
        worlds_add(&r->now, &w);
}

/* All worlds that can come of those in r->now without time passing. */
static void spread(struct run *r)
{
        for (unsigned i = 0; i < r->now.n && r->now.n < WORLDS; i++) {
                for (unsigned k = 0; k < r->top; k++) {
                        const struct op *op = r->slots[k];
                        unsigned step = r->now.all[i].slots[k].done;
                        if (!op || is_look(op))
                                continue;
                        for (bool on = true; on && step < op->begun; step++) {
                                step_in(r, r->now.all[i], k, step);
                                on = op->steps[step].optional;
                        }
                }
        }
}

/* --- time --- */

static bool is_open(const struct run *r, unsigned p, int value)
{
        for (unsigned i = 0; i < r->nopen[p]; i++)
                if (r->s->could[p].all[r->open[p][i]].value == value)
                        return true;
        return false;
}

static bool is_possible(const struct run *r, unsigned p, int value)
{
        for (unsigned w = 0; w < r->now.n; w++)
                if (r->now.all[w].has[p] == value)
                        return true;
        return false;
}

/* What each path can have from now on, and what it cannot have any more. */
static void note_spans(struct run *r, int64_t at)
{
        for (unsigned p = 0; p < r->s->npaths; p++) {
                struct spans *could = &r->s->could[p];
                for (unsigned i = 0; i < r->nopen[p];) {
                        struct span *span = &could->all[r->open[p][i]];
                        if (is_possible(r, p, span->value)) {
                                i++;
                                continue;
                        }
                        span->until = at;
                        r->open[p][i] = r->open[p][--r->nopen[p]];
                }
                for (unsigned w = 0; w < r->now.n && r->nopen[p] < VALUES; w++) {
                        int value = r->now.all[w].has[p];
                        if (is_open(r, p, value))
                                continue;
                        r->open[p][r->nopen[p]++] = could->n;
                        spans_add(could, value, at, INT64_MAX);
                }
                if (r->nopen[p] == VALUES)
                        r->s->too_large = "too many contents were possible at once";
        }
}

static bool step_begins(struct run *r, struct op *op, unsigned step)
{
        if (!step) {
                unsigned k = 0;
                while (k < r->top && r->slots[k])
                        k++;
                if (k == SLOTS)
                        return false;
                if (k == r->top)
                        r->top++;
                r->slots[k] = op;
                op->slot = k;
        }
        op->begun = step + 1;
        struct worlds *ws = &r->next;
        worlds_clear(ws, r->top);
        for (unsigned i = 0; i < r->now.n; i++) {
                struct world w = r->now.all[i];
                see(r, &w);
                worlds_add(ws, &w);
        }
        struct worlds t = r->now;
        r->now = r->next;
        r->next = t;
        spread(r);
        return r->now.n < WORLDS;
}

static void step_ends(struct run *r, struct op *op, unsigned step)
{
        struct worlds *ws = &r->next;
        bool last = step + 1 == op->nsteps;

        worlds_clear(ws, r->top);
        for (unsigned i = 0; i < r->now.n; i++) {
                struct world w = r->now.all[i];
                bool happened = w.slots[op->slot].done > step;
                if (!happened && !op->maybe && !op->steps[step].optional)
                        continue;
                if (!happened && !op->maybe)
                        w.slots[op->slot].done = step + 1;
                if (last) {
                        w.slots[op->slot].done = 0;
                        w.slots[op->slot].kept = 0;
                }
                worlds_add(ws, &w);
        }
        if (last) {
                r->slots[op->slot] = NULL;
                while (r->top && !r->slots[r->top - 1])
                        r->top--;
        }
        if (!ws->n) {
                r->s->broken = op;
                for (unsigned i = 0; i < r->nopen[op->p]; i++)
                        spans_add(&r->s->were, r->s->could[op->p].all[r->open[op->p][i]].value, 0,
                                  0);
                return;
        }
        struct worlds t = r->now;
        r->now = r->next;
        r->next = t;
}

static int compare(const void *a, const void *b)
{
        const struct event *x = a, *y = b;

        if (x->at != y->at)
                return x->at < y->at ? -1 : 1;
        if (x->ends != y->ends)
                return x->ends - y->ends;
        if (x->op != y->op)
                return x->op < y->op ? -1 : 1;
        return (int)x->step - (int)y->step;
}

static struct event *events_of(const struct search *s, unsigned *n)
{
        struct event *all = need(calloc((size_t)s->nops * STEPS * 2 + 1, sizeof *all));

        *n = 0;
        for (unsigned i = 0; i < s->nops; i++) {
                for (unsigned k = 0; k < s->ops[i].nsteps; k++) {
                        const struct step *step = &s->ops[i].steps[k];
                        all[(*n)++] = (struct event){step->from, i, k, false};
                        all[(*n)++] = (struct event){step->until, i, k, true};
                }
        }
        qsort(all, *n, sizeof *all, compare);
        return all;
}

void search_run(struct search *s)
{
        struct run r = {.s = s};
        unsigned n;
        struct event *events = events_of(s, &n);
        const struct world first = {0};

        worlds_clear(&r.now, 0);
        worlds_add(&r.now, &first);
        note_spans(&r, 0);
        for (unsigned i = 0; i < n && !s->broken && !s->too_large; i++) {
                struct op *op = &s->ops[events[i].op];
                s->reached = events[i].at;
                if (events[i].ends)
                        step_ends(&r, op, events[i].step);
                else if (!step_begins(&r, op, events[i].step))
                        s->too_large = r.now.n < WORLDS ? "too many calls were under way at once"
                                                        : "there are too many orders";
                if (!s->broken)
                        note_spans(&r, events[i].at);
        }
        if (!s->broken && !s->too_large)
                s->reached = INT64_MAX;
        free(events);
        worlds_free(&r.now);
        worlds_free(&r.next);
}

void search_end(struct search *s)
{
        for (unsigned p = 0; p < PATHS; p++)
                free(s->could[p].all);
        free(s->were.all);
        free(s->ops);
}
