/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: judges a history: finds the names that renames connect, lets check_search.c look for an
 * order of what was done to them, and prints what no order explains. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check_calls.h"

#include "base/banned.h"

enum { AROUND_BEFORE = 14, AROUND_AFTER = 4, PRINTED = 5 };

static unsigned root_of(struct judge *j, unsigned path)
{
        while (j->paths[path].root != path)
                path = j->paths[path].root = j->paths[j->paths[path].root].root;
        return path;
}

void judge_join(struct judge *j, unsigned a, unsigned b)
{
        j->paths[root_of(j, a)].root = root_of(j, b);
}

unsigned judge_path(struct judge *j, const char *name)
{
        for (unsigned i = 0; i < j->npaths; i++)
                if (!strcmp(j->paths[i].name, name))
                        return i;
        if (j->npaths == ALL_PATHS)
                abort();
        snprintf(j->paths[j->npaths].name, NAME_MOST, "%s", name);
        j->paths[j->npaths].root = j->npaths;
        return j->npaths++;
}

/* --- what is printed --- */

static bool is_about(const struct call *c, const char *name)
{
        size_t dir = strcspn(c->name, "/");

        return !strcmp(c->name, name) || !strcmp(c->to, name) || c->kind == CALL_RESTART ||
               (c->kind == CALL_LIST && !strncmp(name, c->name, dir) && name[dir] == '/') ||
               (c->kind == CALL_MOVE_DIR &&
                (!strncmp(name, c->name, strlen(c->name)) || !strncmp(name, c->to, strlen(c->to))));
}

/* The calls about that name around this one, which is marked. */
static void print_around(struct judge *j, const struct call *c, const char *name)
{
        unsigned at = (unsigned)(c - j->h->calls), from = at, after = 0;

        for (unsigned n = 0; from && n < AROUND_BEFORE; from--)
                n += is_about(&j->h->calls[from - 1], name);
        for (unsigned i = from; i < j->h->n && after < AROUND_AFTER; i++) {
                const struct call *k = &j->h->calls[i];
                if (k != c && !is_about(k, name))
                        continue;
                fprintf(j->to, "  %s ", k == c ? ">" : " ");
                history_call_write(j->to, k);
                after += i > at;
        }
}

void judge_wrong(struct judge *j, const struct call *c, const char *what)
{
        j->broken = true;
        if (++j->printed > PRINTED)
                return;
        fprintf(j->to, "BROKEN: host %d, %s: %s\n", c->host, c->name, what);
        print_around(j, c, c->name);
}

static void print_unexplained(struct judge *j, struct search *s)
{
        const struct op *op = s->broken;
        char what[1200];
        int n = snprintf(what, sizeof what,
                         op->steps[0].act == ACT_SEE ? "it read %s; there was"
                                                     : "no order explains this call; %s there was",
                         op->steps[0].act == ACT_SEE ? op->call->seen : "before it");

        for (unsigned i = 0; i < s->were.n && n > 0 && (size_t)n < sizeof what; i++)
                n += snprintf(what + n, sizeof what - (size_t)n, "%s %s", i ? " or" : "",
                              contents_text(s->contents, s->were.all[i].value));
        judge_wrong(j, op->call, what);
}

/* --- looks: what may be older than the call --- */

static bool fits(struct judge *j, const struct look *l, int value)
{
        switch (l->wants) {
        case LOOK_ABSENT:
                return value == NONE;
        case LOOK_PRESENT:
                return value != NONE;
        case LOOK_SIZE:
                return value != NONE && judge_size(j, value) == l->size;
        }
        return false;
}

static void judge_look(struct judge *j, const struct look *l, const struct search *s)
{
        static const char *const said[] = {
                [LOOK_ABSENT] = "it said that this is not there, which it was all the time",
                [LOOK_PRESENT] = "it said that this is there, which it never was in that time",
                [LOOK_SIZE] = "it told a size that no contents of that time have"};
        const struct spans *could = &s->could[j->paths[l->path].local];

        if (l->until >= s->reached)
                return;
        for (unsigned i = 0; i < could->n; i++)
                if (could->all[i].from <= l->until && could->all[i].until >= l->from &&
                    fits(j, l, could->all[i].value))
                        return;
        char what[200];
        snprintf(what, sizeof what, "%s: %s", j->paths[l->path].name, said[l->wants]);
        judge_wrong(j, l->call, what);
}

/* --- components --- */

static void judge_component(struct judge *j, unsigned root)
{
        struct search s = {.contents = j->contents, .ops = calloc(j->nops + 1, sizeof *s.ops)};

        if (!s.ops)
                abort();
        for (unsigned i = 0; i < j->npaths; i++) {
                if (root_of(j, i) != root)
                        continue;
                if (s.npaths == PATHS) {
                        fprintf(j->to, "TOO LARGE: renames connect more than %d names\n", PATHS);
                        j->too_large = true;
                        free(s.ops);
                        return;
                }
                j->paths[i].local = s.npaths++;
        }
        for (unsigned i = 0; i < j->nops; i++) {
                if (root_of(j, j->ops[i].p) != root)
                        continue;
                struct op *op = &s.ops[s.nops++];
                *op = j->ops[i];
                op->p = j->paths[op->p].local;
                op->q = j->paths[op->q].local;
        }
        search_run(&s);
        if (s.broken)
                print_unexplained(j, &s);
        if (s.too_large)
                fprintf(j->to, "TOO LARGE: %s: %s\n", j->paths[root].name, s.too_large);
        j->too_large = j->too_large || s.too_large;
        for (unsigned i = 0; i < j->nlooks; i++)
                if (root_of(j, j->looks[i].path) == root)
                        judge_look(j, &j->looks[i], &s);
        search_end(&s);
}

enum verdict history_check(const struct history *h, FILE *to)
{
        struct judge j = {.h = h, .to = to, .contents = contents_new()};

        judge_calls(&j);
        for (unsigned i = 0; i < j.npaths; i++)
                if (root_of(&j, i) == i)
                        judge_component(&j, i);
        if (j.printed > PRINTED)
                fprintf(to, "and %u more\n", j.printed - PRINTED);
        contents_free(j.contents);
        free(j.ops);
        free(j.looks);
        free(j.lens);
        return j.broken ? VERDICT_BROKEN : j.too_large ? VERDICT_TOO_LARGE : VERDICT_KEPT;
}
