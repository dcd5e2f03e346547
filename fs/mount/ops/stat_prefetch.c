/* SPDX-License-Identifier: Apache-2.0 */
/* stat_prefetch.c: see stat_prefetch.h. */
#include "mount/ops/stat_prefetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mount/ops/lookup_int.h"
#include "mount/tree/readdir_history.h"

#include "base/banned.h"

/* Requests at once, as many as the store takes together: no other request waits for long. */
enum { FLYING_LEAST = 8, FLYING_AUTO = 16, FLYING_MOST = HISTORY_MOST };

enum { PREFETCH_ROLLS = 16 << 20 };

struct stat_prefetch {
        struct readdir_histories histories;
        struct lookup *flying;
        unsigned nflying, most;
        int64_t took_ns; /* what a request takes */
};

struct stat_prefetch *prefetch_new(const struct params *p)
{
        struct stat_prefetch *a = calloc(1, sizeof *a);
        uint64_t most = p->connections ? p->connections : FLYING_AUTO;

        if (!a)
                return NULL;
        a->histories.most = PREFETCH_ROLLS;
        a->most = most < FLYING_LEAST  ? FLYING_LEAST
                  : most > FLYING_MOST ? FLYING_MOST
                                       : (unsigned)most;
        return a;
}

void prefetch_free(struct stat_prefetch *a)
{
        free(a);
}

void prefetch_list_locked(struct mount *m, struct node *dir, const void *lister)
        REQUIRES(tree_mutex)
{
        if (m->params.consistency != STRICT && tree_ttl_ns(m->tree))
                history_begin(&m->prefetch->histories, &dir->history, lister);
}

void prefetch_tell_locked(struct node *dir, const void *lister, uint64_t off, const char *name,
                          uint64_t ino, bool is_dir) REQUIRES(tree_mutex)
{
        history_add(dir->history, lister, off, name, ino, is_dir);
}

static struct lookup *flying_locked(const struct mount *m, const struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        struct lookup *l = m->prefetch->flying;
        while (l && (l->parent != dir || strcmp(l->name, name)))
                l = l->flying_next;
        return l;
}

/* Whether the node tells of a name what may not be asked for past those who use it. */
static bool in_use_locked(const struct node *n) REQUIRES(tree_mutex)
{
        return n->file || n->attr_sync || n->nreaders || n->orphan_key;
}

static struct lookup *begin_locked(struct mount *m, struct node *dir, const char *name, bool is_dir)
        REQUIRES(tree_mutex)
{
        const struct node *n = tree_find_locked(m->tree, dir, name);

        if ((n && (in_use_locked(n) || op_known_locked(m, n))) || flying_locked(m, dir, name))
                return NULL;
        struct lookup *l = lookup_new(m, dir, name);
        if (!l)
                return NULL;
        l->was_dir = l->marker = is_dir;
        tree_pin_locked(dir);
        l->flying_next = m->prefetch->flying;
        m->prefetch->flying = l;
        m->prefetch->nflying++;
        history_asked(dir->history);
        return l;
}

struct lookup *prefetch_look_locked(struct mount *m, struct node *dir, const char *name,
                                    struct node *n, bool known, bool *was_dir) REQUIRES(tree_mutex)
{
        struct lookup *list = NULL, **last = &list;
        int64_t spare = tree_ttl_ns(m->tree) / 2 - m->prefetch->took_ns;
        bool is_dir;

        if (!dir->history)
                return NULL;
        bool hit = known ? n->ahead : flying_locked(m, dir, name) != NULL;
        if (n)
                n->ahead = false;
        struct walk *w = history_look(dir->history, tree_ino_locked(m->tree, dir, name),
                                      tree_now_ns(), hit, was_dir);
        while (w && spare > 0 && m->prefetch->nflying < m->prefetch->most) {
                const char *next = history_next(dir->history, w, spare, &is_dir);
                if (!next)
                        break;
                if ((*last = begin_locked(m, dir, next, is_dir)))
                        last = &(*last)->next;
        }
        return list;
}

void prefetch_ask(struct lookup *list)
{
        while (list) {
                struct lookup *l = list;
                list = TAKE_PTR(l->next);
                int err = lookup_make_key(l);
                if (err)
                        prefetch_end(l, err, NULL);
                else
                        lookup_ask(l);
        }
}

bool prefetch_join_locked(struct lookup *l) REQUIRES(tree_mutex)
{
        struct lookup *same = flying_locked(l->m, l->parent, l->name);
        if (!same)
                return false;
        l->next = same->waits;
        same->waits = l;
        return true;
}

/* Whether the answer is of what has the name still, and nobody changes that. */
static bool holds_locked(const struct lookup *l, const struct node *n) REQUIRES(tree_mutex)
{
        if (tree_place_locked(l->parent) != l->place)
                return false; /* the directory has got another name */
        return !(n && in_use_locked(n)) && !name_lock_changes_locked(l->m, l->parent, n) &&
               !tree_removed_since_locked(l->m->tree, l->parent, l->name, l->begun);
}

static void take_locked(const struct lookup *l, struct node_info *info) REQUIRES(tree_mutex)
{
        struct mount *m = l->m;
        struct node *n = tree_find_locked(m->tree, l->parent, l->name);

        if (!holds_locked(l, n))
                return;
        info->asked_ns = l->begun;
        n = tree_enter_locked(m->tree, l->parent, l->name, info);
        if (!n)
                return;
        if (n->known_ns == l->begun) /* else it tells of the past */
                n->ahead = !l->waits;
        tree_add_recent_locked(m->tree, n); /* for who comes to look at it */
}

void prefetch_end(struct lookup *l, int err, struct node_info *info)
{
        struct mount *m = l->m;
        struct lookup **pp = &m->prefetch->flying;

        tree_lock(m->tree);
        while (*pp != l)
                pp = &(*pp)->flying_next;
        *pp = l->flying_next;
        m->prefetch->nflying--;
        if (info) {
                m->prefetch->took_ns = (m->prefetch->took_ns * 3 + tree_now_ns() - l->begun) / 4;
                take_locked(l, info);
        }
        struct lookup *waits = TAKE_PTR(l->waits);
        tree_unref_locked(m->tree, l->parent, 1);
        tree_unlock(m->tree);
        lookup_free(l);
        while (waits) {
                struct lookup *w = waits;
                waits = TAKE_PTR(w->next);
                /* /proc is not asked on a thread of the store's: it may wait for an exec() that
                 * waits for what this thread sends. */
                w->may_create = false;
                if (err && err != -ENOENT)
                        lookup_fail(w, err);
                else
                        lookup_begin(w);
        }
}
