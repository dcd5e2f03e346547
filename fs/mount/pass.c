/* SPDX-License-Identifier: Apache-2.0 */
/* pass.c: see pass.h. The lists are the mount's and guarded by the tree's lock. */
#include "mount/pass.h"

#include <stddef.h>

#include "base/banned.h"

static bool touches(const struct pass *p, const struct node *root)
{
        return tree_is_below(p->in[0], root) || tree_is_below(p->in[1], root) ||
               tree_is_below(p->root, root);
}

static bool barred_locked(const struct mount *m, const struct pass *p)
{
        for (const struct pass *x = m->passes; x && m->pass_roots; x = x->next)
                if (x->root && touches(p, x->root))
                        return true;
        return false;
}

bool pass_barred_locked(const struct mount *m, struct node *n)
{
        const struct pass p = {.in = {n}};
        return barred_locked(m, &p);
}

/* Whether somebody is at work below the pass's root, who came before it. */
static bool busy_locked(const struct mount *m, const struct pass *p)
{
        for (const struct pass *x = m->passes; x; x = x->next)
                if (x != p && touches(x, p->root))
                        return true;
        return false;
}

bool pass_changes_locked(const struct mount *m, const struct node *dir, const struct node *n)
{
        for (const struct pass *x = m->passes; x && m->pass_roots; x = x->next) {
                bool renames = x->in[1] && (x->in[0] == dir || x->in[1] == dir);
                if (x->root && (x->root == n || renames || tree_is_below(dir, x->root)))
                        return true;
        }
        return false;
}

static void put_in(struct pass **list, struct pass *p)
{
        p->next = *list;
        p->link = list;
        if (p->next)
                p->next->link = &p->next;
        *list = p;
}

static void take_out(struct pass *p)
{
        *p->link = p->next;
        if (p->next)
                p->next->link = p->link;
}

/* Whether it may go at once. */
static bool admit_locked(struct mount *m, struct pass *p)
{
        put_in(&m->passes, p);
        m->pass_roots += p->root != NULL;
        p->drains = p->root && busy_locked(m, p);
        return !p->drains;
}

void pass_enter(struct mount *m, struct pass *p)
{
        tree_lock(m->tree);
        bool barred = barred_locked(m, p);
        bool goes = !barred && admit_locked(m, p);
        if (barred) {
                struct pass **last = &m->pass_waits; /* who came first goes first */
                while (*last)
                        last = &(*last)->next;
                put_in(last, p);
        }
        tree_unlock(m->tree);
        if (goes)
                p->go(p);
}

/* Who can go on now that something has changed. */
static struct pass *take_ready_locked(struct mount *m)
{
        struct pass *ready = NULL, *next;

        for (struct pass *p = m->pass_waits; p; p = next) {
                next = p->next;
                if (barred_locked(m, p))
                        continue;
                take_out(p);
                if (!admit_locked(m, p))
                        continue;
                p->next_ready = ready;
                ready = p;
        }
        for (struct pass *p = m->passes; p && m->pass_roots; p = p->next) {
                if (!p->drains || busy_locked(m, p))
                        continue;
                p->drains = false;
                p->next_ready = ready;
                ready = p;
        }
        return ready;
}

static void go(struct pass *ready)
{
        while (ready) {
                struct pass *p = ready;
                ready = p->next_ready;
                p->go(p);
        }
}

void pass_leave(struct mount *m, struct pass *p)
{
        tree_lock(m->tree);
        m->pass_roots -= p->root != NULL;
        take_out(p);
        struct pass *ready = take_ready_locked(m);
        tree_unlock(m->tree);
        go(ready);
}
