/* SPDX-License-Identifier: Apache-2.0 */
/* orphan.c: see orphan.h. */
#include "mount/rename/orphan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/record/recovery_record.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

/* The readers go to the copy. */
static int to_copy_locked(struct leaving *l, const struct store_object *obj) REQUIRES(tree_mutex)
{
        struct node *n = l->n;

        bool read = n->reader && !strcmp(reader_etag(n->reader), l->etag);
        bool will = n->nreaders && !n->reader && !strcmp(n->etag, l->etag);
        if (!read && !will && !n->file)
                return -ESTALE;
        int err = read ? reader_rename(n->reader, l->copy, obj->etag) : 0;
        if (!err && n->file)
                err = wfile_rename(n->file, l->copy, obj->etag);
        if (err)
                return err;
        n->orphan_key = TAKE_PTR(l->copy);
        l->aside = true;
        snprintf(l->copy_etag, sizeof l->copy_etag, "%s", obj->etag);
        return tree_set_etag_locked(n, obj->etag);
}

/* And back, since the object keeps its name. */
static int from_copy_locked(const struct leaving *l) REQUIRES(tree_mutex)
{
        struct node *n = l->n;

        bool read = n->reader && !strcmp(reader_etag(n->reader), l->copy_etag);
        int err = read ? reader_rename(n->reader, l->key, l->etag) : 0;
        if (!err && n->file)
                err = wfile_rename(n->file, l->key, l->etag);
        return err ? err : tree_set_etag_locked(n, l->etag);
}

static void copy_deleted(void *arg, int err, const struct store_object *obj)
{
        (void)arg, (void)obj; /* the log has said it */
        METRIC_SUB(unlinked_copies, !err || err == -ENOENT);
}

static void prepared(struct leaving *l)
{
        l->state = LEAVE_PREPARED;
        mutex_check_none();
        l->ready(l->arg);
}

static void copied(void *arg, int err, const struct store_object *obj)
{
        struct leaving *l = arg;

        METRIC_ADD(unlinked_copies, !err);
        if (!err) {
                tree_lock(l->m->tree);
                err = to_copy_locked(l, obj);
                tree_unlock(l->m->tree);
                if (err && l->copy) /* nobody reads it any more */
                        err = store_delete(l->m->store, l->copy, copy_deleted, NULL);
        }
        if (err && err != -ENOENT && err != -ESTALE)
                log_warn_of(LOG_ABOUT(.operation = "delete", .file = l->n->name,
                                      .remedy = "who has it open may get ESTALE: open it anew"),
                            "%s: could not be kept for those who read it: %s", l->n->name,
                            strerror(-err));
        prepared(l);
}

/* Copies what the node's readers read, if it has any. */
static void copy_aside(struct leaving *l)
{
        struct node *n = l->n;
        char id[RECOVERY_ID_MAX];

        tree_lock(l->m->tree);
        /* Who wrote it may have closed it, and who reads it has not read since: no reader yet. */
        bool read = n->nreaders && (n->reader || !n->file);
        bool needed = (read || (n->file && n->nwriters && wfile_has_base(n->file))) &&
                      n->published && !n->orphan_key;
        if (needed) {
                l->key = tree_key_locked(n);
                snprintf(l->etag, sizeof l->etag, "%s",
                         n->nreaders && n->reader ? reader_etag(n->reader) : n->etag);
        }
        tree_unlock(l->m->tree);
        if (!needed) {
                prepared(l);
                return;
        }
        recovery_record_id(id);
        int err = l->key && asprintf(&l->copy, UNLINKED_PREFIX "%s", id) >= 0 ? 0 : -ENOMEM;
        if (!err)
                err = store_copy(l->m->store, l->key, *l->etag ? l->etag : NULL, l->copy, NULL,
                                 NULL, copied, l);
        if (err)
                copied(l, err, NULL);
}

void leave_prepare(struct leaving *l)
{
        assert(l->state == LEAVE_NONE);
        l->state = LEAVE_PREPARING;
        copy_aside(l);
}

static void leave_end(struct leaving *l)
{
        assert(l->state == LEAVE_PREPARED);
        l->state = LEAVE_NONE;
        free(TAKE_PTR(l->key));
        free(TAKE_PTR(l->copy));
}

void leave_commit(struct leaving *l)
{
        if (l->state == LEAVE_NONE)
                return;
        tree_lock(l->m->tree);
        struct wfile *f = l->n->file ? wfile_ref(l->n->file) : NULL;
        tree_unlock(l->m->tree);
        if (f)
                wfile_forget(f);
        wfile_unref(f);
        leave_end(l);
}

void leave_undo(struct leaving *l)
{
        CLEANUP(freep) char *copy = NULL;

        if (l->state == LEAVE_NONE)
                return;
        tree_lock(l->m->tree);
        if (l->aside) {
                copy = TAKE_PTR(l->n->orphan_key);
                if (from_copy_locked(l))
                        log_warn_of(LOG_ABOUT(.operation = "delete", .file = l->n->name,
                                              .remedy = "end another program"),
                                    "%s: no memory: those who have it open lose it", l->n->name);
        }
        tree_unlock(l->m->tree);
        if (copy)
                (void)store_delete(l->m->store, copy, copy_deleted, NULL); /* a failure is logged */
        leave_end(l);
}

/* --- deleting what nobody reads any more --- */

struct orphans {
        struct store *store;
        struct mutex mtx;
        pthread_cond_t none;
        size_t flying GUARDED_BY(&mtx); /* deletions */
};

static void drop_ended(struct orphans *p)
{
        mutex_lock(&p->mtx);
        if (!--p->flying)
                pthread_cond_broadcast(&p->none);
        mutex_unlock(&p->mtx);
}

static void dropped(void *arg, int err, const struct store_object *obj)
{
        copy_deleted(NULL, err, obj);
        drop_ended(arg);
}

static void drop(void *arg, char *key)
{
        struct orphans *p = arg;

        mutex_lock(&p->mtx);
        p->flying++;
        mutex_unlock(&p->mtx);
        int err = store_delete(p->store, key, dropped, p);
        if (err) {
                log_warn_of(LOG_ABOUT(.operation = "delete", .file = key,
                                      .remedy = "'ckptctl recover --older' removes it"),
                            "%s: not deleted: %s", key, strerror(-err));
                drop_ended(p);
        }
        free(key);
}

int orphan_init(struct mount *m)
{
        m->orphans = calloc(1, sizeof *m->orphans);
        if (!m->orphans || !m->tree)
                return -ENOMEM;
        m->orphans->store = m->store;
        mutex_init(&m->orphans->mtx, LOCK_ORPHANS);
        pthread_cond_init(&m->orphans->none, NULL);
        tree_on_drop(m->tree, drop, m->orphans);
        return 0;
}

void orphan_release(struct mount *m)
{
        struct orphans *p = m->orphans;
        char *key;

        do {
                tree_lock(m->tree);
                key = tree_take_orphan_key_locked(m->tree);
                tree_unlock(m->tree);
                if (key)
                        drop(p, key);
        } while (key);
        mutex_lock(&p->mtx);
        while (p->flying)
                mutex_wait(&p->none, &p->mtx);
        mutex_unlock(&p->mtx);
        tree_on_drop(m->tree, NULL, NULL);
        mutex_destroy(&p->mtx);
        pthread_cond_destroy(&p->none);
        free(TAKE_PTR(m->orphans));
}
