/* SPDX-License-Identifier: Apache-2.0 */
/* left_upload.c: see left_upload.h. */
#include "mount/write/left_upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

#include "base/banned.h"

enum { LEFT_MOST = 64, TRIES_MOST = 4 };

struct left_upload {
        struct list_item item;
        struct left_uploads *l;
        struct store_upload *up;
        char *key;
        unsigned tries;
};

void left_uploads_init(struct left_uploads *l)
{
        mutex_init(&l->mtx, LOCK_LEFT_UPLOADS);
        pthread_cond_init(&l->ended, NULL);
}

static void left_upload_free(struct left_upload *x)
{
        store_upload_free(x->up);
        free(x->key);
        free(x);
}

static void say_it_stays(const struct store_upload *up, const char *key)
{
        log_warn_of(LOG_ABOUT(.operation = "publish", .file = key,
                              .remedy = "'ckptctl uploads' lists and aborts it"),
                    "%s: its unfinished upload could not be aborted and stays at the store: %s",
                    key, store_upload_id(up));
}

void left_uploads_add(struct left_uploads *l, struct store_upload *up, const char *key, int err)
{
        bool stops = err == -ESHUTDOWN || err == -ECANCELED; /* nothing is sent any more */
        struct left_upload *x = stops ? NULL : calloc(1, sizeof *x);
        bool listed = false;

        if (x && (x->key = strdup(key))) {
                x->l = l;
                x->up = up;
                x->tries = 1;
                mutex_lock(&l->mtx);
                listed = l->locked.n < LEFT_MOST;
                l->locked.n += listed;
                if (listed)
                        list_add(&l->locked.list, &x->item);
                mutex_unlock(&l->mtx);
        }
        if (listed) {
                log_warn_of(LOG_ABOUT(.operation = "publish", .file = key,
                                      .remedy = "'ckptctl uploads' lists it, should it stay"),
                            "%s: its unfinished upload could not be aborted: tried again once a "
                            "file is published, and at the end of the mount",
                            key);
                return;
        }
        say_it_stays(up, key);
        store_upload_free(up);
        free(x ? x->key : NULL);
        free(x);
}

static void tried(void *arg, int err, const struct store_object *obj)
{
        struct left_upload *x = arg;
        struct left_uploads *l = x->l;
        bool again = err && ++x->tries < TRIES_MOST;
        (void)obj;

        if (!err)
                log_info("%s: its unfinished upload is aborted", x->key);
        else if (!again)
                say_it_stays(x->up, x->key);
        if (!again)
                left_upload_free(x);
        mutex_lock(&l->mtx);
        if (again)
                list_add(&l->locked.list, &x->item);
        l->locked.n -= !again;
        l->locked.trying = false;
        pthread_cond_broadcast(&l->ended);
        mutex_unlock(&l->mtx);
        if (!err)
                left_uploads_try(l);
}

/* False: one is tried already, or there is none. */
static bool try_first(struct left_uploads *l, bool last)
{
        struct left_upload *x = NULL;

        mutex_lock(&l->mtx);
        if (!l->locked.trying)
                x = LIST_TAKE(&l->locked.list, struct left_upload, item);
        l->locked.trying |= x != NULL;
        mutex_unlock(&l->mtx);
        if (!x)
                return false;
        if (last)
                x->tries = TRIES_MOST;
        int err = store_upload_abort(x->up, tried, x);
        if (err)
                tried(x, err, NULL);
        return true;
}

void left_uploads_try(struct left_uploads *l)
{
        (void)try_first(l, false);
}

void left_uploads_finish(struct left_uploads *l)
{
        bool more = true;

        while (more) {
                (void)try_first(l, true);
                mutex_lock(&l->mtx);
                while (l->locked.trying)
                        mutex_wait(&l->ended, &l->mtx);
                more = l->locked.n;
                mutex_unlock(&l->mtx);
        }
}
