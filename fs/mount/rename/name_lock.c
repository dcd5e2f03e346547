/* SPDX-License-Identifier: Apache-2.0 */
/* name_lock.c: see name_lock.h.
 *
 * Each node counts the locks on it and below it, and those on it that are exclusive, held or not:
 * whether a lock has to wait takes a walk up to the root, however many there are. Those that wait
 * are in one list, in their order. Keys, held or waited for, are in two lists: those that one lock
 * alone is to have, which are few, and all others, of which none is in another's way. */
#include "mount/rename/name_lock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

enum { NODES = 2 };

/* A file below what is locked exclusively. */
struct paused_file {
        struct paused_file *next;
        struct name_lock *lock;
        struct wfile *file; /* one reference */
        struct waiter waiter;
};

static struct name_lock *lock_of(struct waiter *w)
{
        return CONTAINER_OF(w, struct name_lock, waiter);
}

static bool is_exclusive(const struct name_lock *l)
{
        return l->exclusive[0] || l->exclusive[1];
}

/* Even where nothing has the names. */
static bool has_names(const struct name_lock *l)
{
        return l->names[0] || l->names[1];
}

static bool is_rename(const struct name_lock *l)
{
        return is_exclusive(l) && l->shared[1];
}

/* --- counts --- */

static void count_below_locked(struct node *n, bool more) REQUIRES(tree_mutex)
{
        for (; n; n = n->parent)
                n->locks.below += more ? 1U : -1U;
}

/* The lock is asked for from now on, or not any more. */
static void count_locked(struct mount *m, struct name_lock *l, bool more) REQUIRES(tree_mutex)
{
        unsigned by = more ? 1U : -1U;

        m->names.exclusive += is_exclusive(l) ? by : 0;
        for (int i = 0; i < NODES; i++) {
                count_below_locked(l->shared[i], more);
                count_below_locked(l->exclusive[i], more);
                if (l->exclusive[i])
                        l->exclusive[i]->locks.exclusive += by;
                if (is_rename(l))
                        l->shared[i]->locks.renames += by;
        }
}

static bool is_within_exclusive_locked(const struct mount *m, const struct node *n)
        REQUIRES(tree_mutex)
{
        for (; m->names.exclusive && n; n = n->parent)
                if (n->locks.exclusive)
                        return true;
        return false;
}

/* Whether one of those that are counted stands in the way. */
static bool conflicts_locked(const struct mount *m, const struct name_lock *l) REQUIRES(tree_mutex)
{
        for (int i = 0; i < NODES; i++) {
                const struct node *n = l->exclusive[i];
                if (is_within_exclusive_locked(m, l->shared[i]) ||
                    is_within_exclusive_locked(m, n) || (n && n->locks.below))
                        return true;
        }
        return false;
}

bool name_lock_bars_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        return is_within_exclusive_locked(m, n);
}

bool name_lock_rests_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        for (; m->names.exclusive && n; n = n->parent)
                if (n->locks.rests)
                        return true;
        return false;
}

bool name_lock_changes_locked(const struct mount *m, const struct node *dir, const struct node *n)
        REQUIRES(tree_mutex)
{
        return is_within_exclusive_locked(m, dir) || dir->locks.renames ||
               (n && n->locks.exclusive);
}

/* --- names --- */

static struct node *named_locked(const struct name_lock *l, int i) REQUIRES(tree_mutex)
{
        return l->names[i] ? tree_find_locked(l->m->tree, l->shared[i], l->names[i]) : NULL;
}

/* Of a lock that is not counted. */
static void find_locked(struct name_lock *l) REQUIRES(tree_mutex)
{
        for (int i = 0; i < NODES; i++) {
                struct node *n = named_locked(l, i), *was = l->exclusive[i];
                if (n)
                        tree_pin_locked(n);
                l->exclusive[i] = n;
                if (was)
                        tree_unref_locked(l->m->tree, was, 1);
        }
}

/* Whether another node has one of the names by now: what was found was another version. */
static bool finds_others_locked(const struct name_lock *l) REQUIRES(tree_mutex)
{
        return named_locked(l, 0) != l->exclusive[0] || named_locked(l, 1) != l->exclusive[1];
}

/* --- keys --- */

/* What is known of the object at a key that somebody has alone. */
enum passage {
        PASSAGE_UNKNOWN, /* it may be made */
        PASSAGE_THERE,   /* it is there, on its way to another name */
        PASSAGE_OVER
};

struct key_lock {
        struct list_item item; /* of those that are alone, or of the others; in their order */
        uint64_t turn;         /* grows from one to the next */
        struct waiter *waiter; /* told when it is held; the caller's */
        bool alone, held;
        char *keys[NODES]; /* NULL: there is none */
        enum passage passage;
        char etag[STORE_ETAG_MAX];
        struct waiters curious; /* who waits until more is known of the passage */
};

static bool is_within(const char *key, const char *top)
{
        size_t n = strlen(top);
        return !strncmp(key, top, n) && (!key[n] || key[n] == '/');
}

/* Whether a key that is had alone is one of the lock's, or below a directory of that name. */
static bool touches(const struct key_lock *alone, const struct key_lock *l)
{
        for (int i = 0; i < NODES && alone->keys[i]; i++)
                for (int k = 0; k < NODES && l->keys[k]; k++)
                        if (is_within(alone->keys[i], l->keys[k]))
                                return true;
        return false;
}

/* Whether none that was asked for before stands in the way. Where none is alone, none does. */
static bool has_turn_locked(const struct mount *m, const struct key_lock *l) REQUIRES(tree_mutex)
{
        LIST_EACH (x, &m->names.alone, struct key_lock, item)
                if (x->turn < l->turn && touches(x, l))
                        return false;
        if (!l->alone)
                return true;
        LIST_EACH (x, &m->names.beside, struct key_lock, item)
                if (x->turn < l->turn && touches(l, x))
                        return false;
        return true;
}

static void key_lock_free(struct key_lock *l)
{
        for (int i = 0; i < NODES; i++)
                free(l->keys[i]);
        free(l);
}

static struct key_lock *key_lock_new(const char *const keys[NODES], bool alone, struct waiter *w)
{
        struct key_lock *l = calloc(1, sizeof *l);

        if (!l)
                return NULL;
        *l = (struct key_lock){.waiter = w, .alone = alone};
        for (int i = 0; i < NODES && keys[i]; i++)
                if (!(l->keys[i] = strdup(keys[i]))) {
                        key_lock_free(l);
                        return NULL;
                }
        return l;
}

static struct list *list_of(struct mount *m, const struct key_lock *l)
{
        return l->alone ? &m->names.alone : &m->names.beside;
}

int name_lock_publish(struct mount *m, const char *const keys[NODES], bool alone, struct waiter *w,
                      struct key_lock **l)
{
        struct key_lock *x = *l = key_lock_new(keys, alone, w);

        if (!x)
                return -ENOMEM;
        tree_lock(m->tree);
        x->turn = ++m->names.turns;
        list_add(list_of(m, x), &x->item);
        bool held = x->held = has_turn_locked(m, x);
        tree_unlock(m->tree);
        METRIC_ADD(lock_waits, !held);
        return held ? 0 : -EAGAIN;
}

static void grant_locked(const struct mount *m, const struct list *list, struct waiters *told)
        REQUIRES(tree_mutex)
{
        LIST_EACH (x, list, struct key_lock, item)
                if (!x->held && has_turn_locked(m, x)) {
                        x->held = true;
                        waiters_add(told, x->waiter);
                }
}

void name_lock_published(struct mount *m, struct key_lock *l)
{
        struct waiters told = {0};

        if (!l)
                return;
        tree_lock(m->tree);
        assert(l->held);
        list_remove(list_of(m, l), &l->item);
        grant_locked(m, &m->names.alone, &told);
        if (l->alone)
                grant_locked(m, &m->names.beside, &told);
        waiters_move(&told, &l->curious);
        tree_unlock(m->tree);
        key_lock_free(l);
        waiters_run(&told, 0);
}

/* The lock of who has the key alone, or NULL. */
static struct key_lock *passage_locked(const struct mount *m, const char *key) REQUIRES(tree_mutex)
{
        LIST_EACH (x, &m->names.alone, struct key_lock, item)
                if (x->held && !strcmp(x->keys[0], key))
                        return x;
        return NULL;
}

void name_lock_passes(struct mount *m, const char *key, const char *etag)
{
        struct waiters told = {0};

        tree_lock(m->tree);
        struct key_lock *l = passage_locked(m, key);
        assert(l);
        l->passage = etag ? PASSAGE_THERE : PASSAGE_OVER;
        snprintf(l->etag, sizeof l->etag, "%s", etag ? etag : "");
        tree_note_passed_locked(m->tree, key, !etag);
        waiters_move(&told, &l->curious);
        tree_unlock(m->tree);
        waiters_run(&told, 0);
}

enum passing name_lock_passing_locked(const struct mount *m, const char *key, const char *etag,
                                      struct waiter *w) REQUIRES(tree_mutex)
{
        struct key_lock *l = passage_locked(m, key);

        if (!l || l->passage == PASSAGE_OVER)
                return PASSES_NOT;
        if (l->passage == PASSAGE_THERE)
                return strcmp(l->etag, etag) ? PASSES_NOT : PASSES;
        if (w)
                waiters_add(&l->curious, w);
        return PASSES_MAYBE;
}

enum passing name_lock_passing(struct mount *m, const char *key, const char *etag, struct waiter *w)
{
        tree_lock(m->tree);
        enum passing passing = name_lock_passing_locked(m, key, etag, w);
        tree_unlock(m->tree);
        return passing;
}

static void keys_granted(struct waiter *w)
{
        struct name_lock *l = CONTAINER_OF(w, struct name_lock, for_keys);
        waiter_run(&l->waiter, l->err);
}

/* No commit goes by way of one of the names to that of its file meanwhile. Then the lock is held.
 */
static void lock_keys(struct name_lock *l)
{
        char *keys[NODES] = {NULL};
        unsigned n = 0;

        for (int i = 0; i < NODES && !l->err; i++) {
                if (!l->names[i])
                        continue;
                keys[n] = tree_key(l->m->tree, l->shared[i], l->names[i]);
                if (!keys[n++])
                        l->err = -ENOMEM;
        }
        l->for_keys.ready = keys_granted;
        int err = l->err ? l->err
                         : name_lock_publish(l->m, (const char *const *)keys, false, &l->for_keys,
                                             &l->keys);
        for (int i = 0; i < NODES; i++)
                free(keys[i]);
        if (err == -EAGAIN)
                return; /* keys_granted() goes on, maybe already */
        l->err = err;
        waiter_run(&l->waiter, err);
}

/* --- files --- */

/* One file less publishes; with the last, the lock is held. */
static void end_pause(struct name_lock *l)
{
        tree_lock(l->m->tree);
        bool last = !--l->pausing, others = last && finds_others_locked(l);
        tree_unlock(l->m->tree);
        if (others) {
                name_lock_drop(l);
                name_lock_take(l->m, l);
        } else if (last) {
                lock_keys(l);
        }
}

static void file_is_paused(struct waiter *w)
{
        end_pause((CONTAINER_OF(w, struct paused_file, waiter))->lock);
}

/* What has lost its name is published nowhere. */
static void add_file_locked(struct name_lock *l, const struct node *n) REQUIRES(tree_mutex)
{
        if (!n->file || n->unlinked)
                return;
        struct paused_file *p = malloc(sizeof *p);
        if (!p) {
                log_error_of(LOG_ABOUT(.operation = "rename", .file = n->name,
                                       .remedy = "end another program"),
                             "%s: no memory to change its name while it is written", n->name);
                l->err = -ENOMEM;
                return;
        }
        *p = (struct paused_file){.next = l->files,
                                  .lock = l,
                                  .file = wfile_ref(n->file),
                                  .waiter.ready = file_is_paused};
        l->files = p;
        l->pausing++;
}

static void add_files_locked(struct name_lock *l) REQUIRES(tree_mutex)
{
        const struct node *a = l->exclusive[0], *b = l->exclusive[1];

        if (a && !a->dir)
                add_file_locked(l, a);
        if (b && !b->dir && b != a)
                add_file_locked(l, b);
        if (!(a && a->dir) && !(b && b->dir))
                return;
        for (struct node *n = tree_open_list_locked(l->m->tree); n; n = n->open_next)
                if ((a && a->dir && tree_is_below(n, a)) || (b && b->dir && tree_is_below(n, b)))
                        add_file_locked(l, n);
}

/* No new file comes to be below: an open shares the lock. */
static void pause_files(struct name_lock *l)
{
        tree_lock(l->m->tree);
        l->pausing = 1; /* this function's own */
        add_files_locked(l);
        struct paused_file *p = l->files;
        tree_unlock(l->m->tree);
        for (struct paused_file *next; p; p = next) {
                next = p->next;
                wfile_pause(p->file, &p->waiter);
        }
        end_pause(l);
}

void name_lock_resume(struct name_lock *l)
{
        while (l->files) {
                struct paused_file *p = l->files;
                l->files = p->next;
                wfile_resume(p->file);
                wfile_unref(p->file);
                free(p);
        }
}

/* --- taking and dropping --- */

/* Whether the mount knows better than the store what the node, and all below it, is meanwhile. Of a
 * directory that is removed it does not: what is below stays, unless there is nothing. */
static bool rests(const struct name_lock *l, int i)
{
        return l->exclusive[i] && (!l->exclusive[i]->dir || is_rename(l));
}

static void admit_locked(struct name_lock *l) REQUIRES(tree_mutex)
{
        l->admitted = true;
        for (int i = 0; i < NODES; i++)
                if (rests(l, i))
                        l->exclusive[i]->locks.rests++;
}

/* Goes on with those that were admitted. */
static void go_on(struct waiters *admitted)
{
        struct waiters shared = {0};
        struct waiter *w;

        while ((w = waiters_take(admitted))) {
                if (has_names(lock_of(w)))
                        pause_files(lock_of(w));
                else
                        waiters_add(&shared, w);
        }
        waiters_run(&shared, 0);
}

void name_lock_take(struct mount *m, struct name_lock *l)
{
        struct waiters admitted = {0};

        tree_lock(m->tree);
        l->m = m;
        l->admitted = false;
        l->err = 0;
        l->keys = NULL;
        l->exclusive[0] = l->exclusive[1] = NULL;
        for (int i = 0; i < NODES; i++)
                if (l->shared[i])
                        tree_pin_locked(l->shared[i]);
        find_locked(l);
        bool waits = conflicts_locked(m, l);
        count_locked(m, l, true);
        waiters_add(waits ? &m->names.waiting : &admitted, &l->waiter);
        if (!waits)
                admit_locked(l);
        tree_unlock(m->tree);
        METRIC_ADD(lock_waits, waits);
        go_on(&admitted);
}

/* Those that wait for nobody any more. */
static struct waiters take_admitted_locked(struct mount *m) REQUIRES(tree_mutex)
{
        struct waiters all = {0}, admitted = {0};
        struct waiter *w;

        waiters_move(&all, &m->names.waiting);
        for (w = all.first; w; w = w->next)
                count_locked(m, lock_of(w), false);
        while ((w = waiters_take(&all))) { /* in their order, each after those before it */
                struct name_lock *l = lock_of(w);
                find_locked(l);
                bool waits = conflicts_locked(m, l);
                count_locked(m, l, true);
                waiters_add(waits ? &m->names.waiting : &admitted, w);
                if (!waits)
                        admit_locked(l);
        }
        return admitted;
}

void name_lock_drop(struct name_lock *l)
{
        struct mount *m = l->m;
        struct key_lock *keys = TAKE_PTR(l->keys);
        struct waiters admitted = {0};

        name_lock_resume(l);
        tree_lock(m->tree);
        assert(l->admitted);
        count_locked(m, l, false);
        bool waited_for = is_exclusive(l) || is_within_exclusive_locked(m, l->shared[0]) ||
                          is_within_exclusive_locked(m, l->shared[1]);
        for (int i = 0; i < NODES; i++) {
                if (rests(l, i))
                        l->exclusive[i]->locks.rests--;
                tree_unref_locked(m->tree, l->exclusive[i], 1);
                tree_unref_locked(m->tree, l->shared[i], 1);
        }
        if (waited_for && waiters_any(&m->names.waiting))
                admitted = take_admitted_locked(m);
        tree_unlock(m->tree);
        go_on(&admitted);
        name_lock_published(m, keys);
}
