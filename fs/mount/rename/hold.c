/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c: see hold.h. */
#include "mount/rename/hold.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"

#include "base/banned.h"

struct held {
        struct held *next;
        struct hold *h;
        struct node *n;     /* pinned */
        struct wfile *file; /* one reference */
        struct waiter wait;
};

/* One wait less; the last goes on. */
static void settle(struct hold *h)
{
        tree_lock(h->m->tree);
        bool last = !--h->waiting;
        tree_unlock(h->m->tree);
        if (last)
                h->ready(h->arg);
}

static void held_idle(struct waiter *w)
{
        settle((CONTAINER_OF(w, struct held, wait))->h);
}

static void nothing(struct waiter *w)
{
        (void)w;
}

/* NULL: it is held already, or there is no memory; or it has lost its name, and what is left of it
 * lies elsewhere (orphan.h). */
static struct held *add_locked(struct hold *h, struct node *n) REQUIRES(tree_mutex)
{
        if (n->unlinked)
                return NULL;
        for (struct held *x = h->list; x; x = x->next)
                if (x->file == n->file)
                        return NULL;
        struct held *x = calloc(1, sizeof *x);
        if (!x) {
                log_error("%s: no memory to rename it while it is written", n->name);
                return NULL;
        }
        *x = (struct held){.next = h->list, .h = h, .n = n, .file = wfile_ref(n->file)};
        tree_pin_locked(n);
        h->list = x;
        return x;
}

/* A file that has just begun: nothing of it is under way. */
static void opened(struct tree_watch *watch, struct node *n)
{
        struct hold *h = watch->arg;
        tree_is_locked(h->m->tree);
        struct held *x = add_locked(h, n);
        if (!x)
                return;
        x->wait.ready = nothing;
        wfile_pause(x->file, &x->wait);
}

void hold_begin(struct hold *h)
{
        struct tree *t = h->m->tree;

        tree_lock(t);
        for (struct node *n = tree_open_list_locked(t); n; n = n->open_next) {
                struct held *x = n->file && tree_is_below(n, h->root) ? add_locked(h, n) : NULL;
                if (!x)
                        continue;
                x->wait.ready = held_idle;
                h->waiting++;
        }
        struct held *first = h->list;
        h->waiting++; /* this function's own */
        h->watch = (struct tree_watch){.root = h->root, .opened = opened, .arg = h};
        tree_watch_locked(t, &h->watch);
        tree_unlock(t);
        for (struct held *x = first, *next; x; x = next) {
                next = x->next; /* those in front of `first` are held as they come */
                wfile_pause(x->file, &x->wait);
        }
        settle(h);
}

void hold_rename_locked(struct hold *h, const char *key) REQUIRES(tree_mutex)
{
        for (struct held *x = h->list; x; x = x->next) {
                CLEANUP(freep) char *own = key ? NULL : tree_key_locked(x->n);
                const char *to = key ? key : own;
                const char *etag = x->n->published ? x->n->etag : "";
                if (!to || wfile_rename(x->file, to, etag))
                        log_error("%s: no memory to rename it while it is written", x->n->name);
        }
}

void hold_end(struct hold *h)
{
        struct tree *t = h->m->tree;

        tree_lock(t);
        tree_unwatch_locked(t, &h->watch);
        struct held *list = TAKE_PTR(h->list);
        tree_unlock(t);
        while (list) {
                struct held *x = list;
                list = x->next;
                wfile_resume(x->file);
                wfile_unref(x->file);
                tree_lock(t);
                tree_unref_locked(t, x->n, 1);
                tree_unlock(t);
                free(x);
        }
}
