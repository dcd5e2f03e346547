/* SPDX-License-Identifier: Apache-2.0 */
/* park.c: see park.h. */
#include "mount/park.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/kept.h"
#include "base/log.h"
#include "mount/amend.h"

#include "base/banned.h"

struct parking {
        struct mount *m;
        struct node *n;
        struct file *file; /* one reference, or NULL */
        struct file_wait wait;
        struct amend_wait idle;
        char *key;
        char etag[STORE_ETAG_MAX]; /* of the version that is copied */
        void (*done)(void *arg);
        void *arg;
};

static void parking_end(struct parking *p)
{
        p->done(p->arg);
        file_unref(p->file);
        free(p->key);
        free(p);
}

/* The readers go to the copy. */
static int send_readers_locked(struct parking *p, const struct store_object *obj)
{
        struct node *n = p->n;

        bool read = n->reader && !strcmp(reader_etag(n->reader), p->etag);
        if (!read && !n->file)
                return -ESTALE;
        int err = read ? reader_rename(n->reader, p->key, obj->etag) : 0;
        if (!err && n->file)
                err = file_rename(n->file, p->key, obj->etag);
        if (err)
                return err;
        n->parked = TAKE_PTR(p->key);
        return tree_set_etag_locked(n, obj->etag);
}

static void nothing(void *arg, int err, const struct store_object *obj)
{
        (void)arg, (void)err, (void)obj; /* the log has said it */
}

static void copied(void *arg, int err, const struct store_object *obj)
{
        struct parking *p = arg;

        if (!err) {
                tree_lock(p->m->tree);
                err = send_readers_locked(p, obj);
                tree_unlock(p->m->tree);
                if (err && p->key) /* nobody reads it any more */
                        err = store_delete(p->m->store, p->key, nothing, NULL);
        }
        if (err && err != -ENOENT && err != -ESTALE)
                log_warn("%s: could not be kept for those who read it: %s", p->n->name,
                         strerror(-err));
        parking_end(p);
}

/* Copies what the node's readers read, if it has any. */
static void copy_aside(struct parking *p)
{
        CLEANUP(freep) char *src = tree_key(p->m->tree, p->n, NULL);
        struct node *n = p->n;
        char id[KEPT_ID_MAX];

        tree_lock(p->m->tree);
        bool read = n->nreaders && n->reader;
        bool needed = (read || (n->file && n->nwriters && file_has_base(n->file))) &&
                      n->published && !n->parked;
        if (needed)
                snprintf(p->etag, sizeof p->etag, "%s", read ? reader_etag(n->reader) : n->etag);
        tree_unlock(p->m->tree);
        if (!needed) {
                parking_end(p);
                return;
        }
        kept_id(id);
        int err = src && asprintf(&p->key, UNLINKED_PREFIX "%s", id) >= 0 ? 0 : -ENOMEM;
        if (!err)
                err = store_copy(p->m->store, src, *p->etag ? p->etag : NULL, p->key, NULL, NULL,
                                 copied, p);
        if (err)
                copied(p, err, NULL);
}

/* The commit that may have been under way has ended: nothing can bring the object back. */
static void file_left(struct file_wait *w)
{
        copy_aside((struct parking *)(void *)((char *)w - offsetof(struct parking, wait)));
}

/* No change of attributes is under way that could bring the object back. */
static void amended(struct amend_wait *w, int err)
{
        struct parking *p = (struct parking *)(void *)((char *)w - offsetof(struct parking, idle));
        (void)err;
        if (!p->file) {
                copy_aside(p);
                return;
        }
        p->wait.done = file_left;
        file_forget(p->file, &p->wait);
}

void park_leave(struct mount *m, struct node *n, void (*done)(void *arg), void *arg)
{
        struct parking *p = calloc(1, sizeof *p);

        if (!p) {
                log_warn("%s: no memory to keep it for those who read it", n->name);
                done(arg);
                return;
        }
        *p = (struct parking){.m = m, .n = n, .done = done, .arg = arg};
        tree_lock(m->tree);
        if (n->file)
                p->file = file_ref(n->file);
        tree_unlock(m->tree);
        p->idle.done = amended;
        amend_wait(m, n, &p->idle);
}

void park_gone(struct mount *m, struct node *dir, const char *name, const struct node *but)
{
        tree_lock(m->tree);
        amend_entries_changed_locked(dir);
        struct node *n = tree_find_locked(m->tree, dir, name);
        tree_note_gone_locked(m->tree, dir, name);
        if (n && n != but) {
                n->unlinked = true;
                tree_remove_locked(m->tree, n);
        }
        tree_unlock(m->tree);
}

/* --- deleting what nobody reads any more --- */

struct park {
        struct store *store;
        pthread_mutex_t mtx;
        pthread_cond_t none;
        size_t flying; /* deletions */
};

static void drop_ended(struct park *p)
{
        pthread_mutex_lock(&p->mtx);
        if (!--p->flying)
                pthread_cond_broadcast(&p->none);
        pthread_mutex_unlock(&p->mtx);
}

static void dropped(void *arg, int err, const struct store_object *obj)
{
        (void)err, (void)obj; /* the log has said it */
        drop_ended(arg);
}

static void drop(void *arg, char *key)
{
        struct park *p = arg;

        pthread_mutex_lock(&p->mtx);
        p->flying++;
        pthread_mutex_unlock(&p->mtx);
        int err = store_delete(p->store, key, dropped, p);
        if (err) {
                log_warn("%s: not deleted: %s", key, strerror(-err));
                drop_ended(p);
        }
        free(key);
}

int park_init(struct mount *m)
{
        m->park = calloc(1, sizeof *m->park);
        if (!m->park || !m->tree)
                return -ENOMEM;
        m->park->store = m->store;
        pthread_mutex_init(&m->park->mtx, NULL);
        pthread_cond_init(&m->park->none, NULL);
        tree_on_drop(m->tree, drop, m->park);
        return 0;
}

void park_release(struct mount *m)
{
        struct park *p = m->park;
        char *key;

        do {
                tree_lock(m->tree);
                key = tree_take_parked_locked(m->tree);
                tree_unlock(m->tree);
                if (key)
                        drop(p, key);
        } while (key);
        pthread_mutex_lock(&p->mtx);
        while (p->flying)
                pthread_cond_wait(&p->none, &p->mtx);
        pthread_mutex_unlock(&p->mtx);
        tree_on_drop(m->tree, NULL, NULL);
        pthread_mutex_destroy(&p->mtx);
        pthread_cond_destroy(&p->none);
        free(TAKE_PTR(m->park));
}
