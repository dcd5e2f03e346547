/* SPDX-License-Identifier: Apache-2.0 */
/* name_lock.c: see name_lock.h. The list of all locks, in the order in which they were asked for,
 * is the mount's and guarded by the tree's lock. */
#include "mount/rename/name_lock.h"

#include <assert.h>
#include <stddef.h>

#include "base/banned.h"

enum { NODES = 2 };

static bool is_exclusive(const struct name_lock *l)
{
        return l->exclusive[0] || l->exclusive[1];
}

/* Whether `b` has something to do with what `a` has for itself. */
static bool touches(const struct name_lock *a, const struct name_lock *b)
{
        for (int i = 0; i < NODES; i++) {
                const struct node *root = a->exclusive[i];
                for (int k = 0; root && k < NODES; k++)
                        if (tree_is_below(b->shared[k], root) ||
                            tree_is_below(b->exclusive[k], root))
                                return true;
        }
        return false;
}

/* Whether one that came before it stands in the way. */
static bool must_wait_locked(const struct mount *m, const struct name_lock *l) REQUIRES(tree_mutex)
{
        if (!m->names.exclusive)
                return false;
        for (const struct name_lock *x = m->names.first; x && x != l; x = x->next)
                if (touches(x, l) || touches(l, x))
                        return true;
        return false;
}

bool name_lock_bars_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        const struct name_lock l = {.shared = {(struct node *)n}};
        return must_wait_locked(m, &l);
}

bool name_lock_rests_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        if (!m->names.exclusive)
                return false;
        for (const struct name_lock *x = m->names.first; x; x = x->next)
                for (int i = 0; i < NODES && !x->waits; i++)
                        if (x->exclusive[i] && tree_is_below(n, x->exclusive[i]))
                                return true;
        return false;
}

bool name_lock_changes_locked(const struct mount *m, const struct node *dir, const struct node *n)
        REQUIRES(tree_mutex)
{
        if (!m->names.exclusive)
                return false;
        for (const struct name_lock *x = m->names.first; x; x = x->next) {
                bool renames = x->shared[1] && (x->shared[0] == dir || x->shared[1] == dir);
                for (int i = 0; i < NODES; i++) {
                        const struct node *root = x->exclusive[i];
                        if (root && (root == n || renames || tree_is_below(dir, root)))
                                return true;
                }
        }
        return false;
}

void name_lock_take(struct mount *m, struct name_lock *l)
{
        tree_lock(m->tree);
        m->names.exclusive += is_exclusive(l);
        l->next = NULL;
        l->prev = m->names.last;
        *(l->prev ? &l->prev->next : &m->names.first) = l;
        m->names.last = l;
        l->waits = must_wait_locked(m, l);
        m->names.waiting += l->waits;
        bool granted = !l->waits;
        tree_unlock(m->tree);
        if (granted)
                l->granted(l);
}

/* Those that wait for nobody any more. */
static struct name_lock *take_granted_locked(struct mount *m) REQUIRES(tree_mutex)
{
        struct name_lock *granted = NULL, **last = &granted;

        for (struct name_lock *l = m->names.first; l && m->names.waiting; l = l->next) {
                if (!l->waits || must_wait_locked(m, l))
                        continue;
                l->waits = false;
                m->names.waiting--;
                l->next_granted = NULL;
                *last = l;
                last = &l->next_granted;
        }
        return granted;
}

void name_lock_drop(struct mount *m, struct name_lock *l)
{
        tree_lock(m->tree);
        assert(!l->waits);
        m->names.exclusive -= is_exclusive(l);
        *(l->prev ? &l->prev->next : &m->names.first) = l->next;
        *(l->next ? &l->next->prev : &m->names.last) = l->prev;
        struct name_lock *granted = take_granted_locked(m);
        tree_unlock(m->tree);
        while (granted) {
                struct name_lock *x = granted;
                granted = x->next_granted;
                x->granted(x);
        }
}
