/* SPDX-License-Identifier: Apache-2.0 */
/* dir_marker.c: see dir_marker.h. */
#include "mount/rename/dir_marker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mutex.h"

#include "base/banned.h"

struct ensuring {
        struct mount *m;
        struct node *dir; /* pinned */
        void (*done)(void *arg);
        void *arg;
};

static void ensured(void *arg, int err, const struct store_object *obj)
{
        CLEANUP(freep) struct ensuring *e = arg;
        (void)obj;

        tree_lock(e->m->tree);
        if (!err || err == -EEXIST)
                e->dir->marker = true;
        tree_unref_locked(e->m->tree, e->dir, 1);
        tree_unlock(e->m->tree);
        mutex_check_none();
        e->done(e->arg);
}

void dir_marker_ensure(struct mount *m, struct node *dir, void (*done)(void *arg), void *arg)
{
        const struct store_cond absent = {.if_absent = true};
        const struct store_body empty = store_body_mem(NULL, 0);
        CLEANUP(freep) char *key = NULL;

        tree_lock(m->tree);
        bool stays = dir == tree_root(m->tree) || dir->marker || dir->unlinked;
        tree_unlock(m->tree);
        /* Without the condition, the attributes that a marker has would be lost. */
        stays |= !(store_caps(m->store) & STORE_CAP_IF_ABSENT);
        struct ensuring *e = stays ? NULL : malloc(sizeof *e);
        if (!e || !(key = tree_key(m->tree, dir, NULL))) {
                if (!stays)
                        log_warn_of(LOG_ABOUT(.operation = "delete", .file = dir->name,
                                              .remedy = "end another program"),
                                    "%s: no memory to keep the directory when it is empty",
                                    dir->name);
                free(e);
                done(arg);
                return;
        }
        *e = (struct ensuring){.m = m, .dir = dir, .done = done, .arg = arg};
        tree_lock(m->tree);
        tree_pin_locked(dir);
        tree_unlock(m->tree);
        int err = store_put(m->store, key, &empty, NULL, &absent, ensured, e);
        if (err)
                ensured(e, err, NULL);
}

struct restoring {
        char *key;
        void (*done)(void *arg);
        void *arg;
};

static void restoring_end(struct restoring *r, const char *key, int err)
{
        if (err && err != -EEXIST)
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = key,
                                      .remedy = "make the directory again"),
                            "%s: the empty directory gave way to one that should get its name, "
                            "which failed, and cannot be made again: %s",
                            key, strerror(-err));
        if (r)
                free(r->key);
        free(r);
}

static void restored(void *arg, int err, const struct store_object *obj)
{
        struct restoring *r = arg, copy = *r;
        (void)obj;

        restoring_end(r, r->key, err);
        mutex_check_none();
        copy.done(copy.arg);
}

void dir_marker_restore(struct mount *m, const char *key, const struct store_meta *meta,
                        void (*done)(void *arg), void *arg)
{
        const struct store_cond absent = {.if_absent = store_caps(m->store) & STORE_CAP_IF_ABSENT};
        const struct store_body empty = store_body_mem(NULL, 0);
        struct restoring *r = calloc(1, sizeof *r);
        int err = -ENOMEM;

        if (r && (r->key = strdup(key))) {
                r->done = done;
                r->arg = arg;
                err = store_put(m->store, key, &empty, meta, &absent, restored, r);
        }
        if (!err)
                return;
        restoring_end(r, key, err);
        mutex_check_none();
        done(arg);
}
