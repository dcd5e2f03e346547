/* SPDX-License-Identifier: Apache-2.0 */
/* sync_wait.c: the blocking forms: the asynchronous call, waited for. */
#include "base/mutex.h"
#include "store/core/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

void wait_begin(struct store_wait *w)
{
        mutex_init(&w->mtx, LOCK_SYNC_WAIT);
        pthread_cond_init(&w->cond, NULL);
        mutex_unshared(&w->mtx);
        w->over = false;
        w->err = 0;
}

void wait_end(struct store_wait *w, int err)
{
        mutex_lock(&w->mtx);
        w->err = err;
        w->over = true;
        pthread_cond_signal(&w->cond);
        mutex_unlock(&w->mtx);
}

int wait_for(struct store_wait *w, int err)
{
        if (!err) {
                mutex_lock(&w->mtx);
                while (!w->over)
                        mutex_wait(&w->cond, &w->mtx);
                err = w->err;
                mutex_unlock(&w->mtx);
        }
        mutex_destroy(&w->mtx);
        pthread_cond_destroy(&w->cond);
        return err;
}

struct object_wait {
        struct store_wait w;
        struct store_object *obj; /* NULL: not wanted */
};

static void object_done(void *arg, int err, const struct store_object *obj)
{
        struct object_wait *ow = arg;
        if (!err && obj && ow->obj)
                *ow->obj = *obj;
        wait_end(&ow->w, err);
}

int store_head_wait(struct store *s, const char *key, struct store_object *obj)
{
        struct object_wait ow = {.obj = obj};
        wait_begin(&ow.w);
        return wait_for(&ow.w, store_head(s, key, object_done, &ow));
}

int store_put_wait(struct store *s, const char *key, const void *p, size_t len,
                   const struct store_meta *meta, const struct store_cond *cond,
                   struct store_object *obj)
{
        struct object_wait ow = {.obj = obj};
        struct store_body body = store_body_mem(p, len);
        wait_begin(&ow.w);
        return wait_for(&ow.w, store_put(s, key, &body, meta, cond, object_done, &ow));
}

int store_delete_if_wait(struct store *s, const char *key, const char *if_match)
{
        struct object_wait ow = {.obj = NULL};
        wait_begin(&ow.w);
        return wait_for(&ow.w, store_delete_if(s, key, if_match, object_done, &ow));
}

int store_delete_wait(struct store *s, const char *key)
{
        return store_delete_if_wait(s, key, NULL);
}

int store_copy_wait(struct store *s, const char *src, const char *dst, struct store_object *obj)
{
        struct object_wait ow = {.obj = obj};
        wait_begin(&ow.w);
        return wait_for(&ow.w, store_copy(s, src, NULL, dst, NULL, NULL, object_done, &ow));
}

struct get_wait {
        struct store_wait w;
        char *dst;
        uint64_t bytes;
};

static int get_wait_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct get_wait *gw = arg;
        memcpy(gw->dst + at, p, n);
        return 0;
}

static void get_wait_done(void *arg, int err, const struct store_got *got)
{
        struct get_wait *gw = arg;
        if (!err)
                gw->bytes = got->bytes;
        wait_end(&gw->w, err);
}

ssize_t store_get_wait(struct store *s, const char *key, uint64_t off, void *dst, size_t len,
                       const char *if_match)
{
        struct get_wait gw = {.dst = dst};
        struct store_get get = {
                .key = key,
                .off = off,
                .len = len,
                .if_match = if_match,
                .data = get_wait_data,
                .done = get_wait_done,
                .arg = &gw,
        };
        wait_begin(&gw.w);
        int err = wait_for(&gw.w, store_get(s, &get));
        return err ? err : (ssize_t)gw.bytes;
}

struct list_wait {
        struct store_wait w;
        void (*each)(void *arg, const struct store_entry *e);
        void *arg;
        char *next;
};

static void list_done(void *arg, int err, const struct store_page *page)
{
        struct list_wait *lw = arg;
        for (size_t i = 0; !err && i < page->n; i++)
                lw->each(lw->arg, &page->v[i]);
        if (!err && page->next && !(lw->next = strdup(page->next)))
                err = -ENOMEM;
        wait_end(&lw->w, err);
}

int store_list_wait(struct store *s, const struct store_list *list,
                    void (*each)(void *arg, const struct store_entry *e), void *arg, char **next)
{
        struct list_wait lw = {.each = each, .arg = arg};
        wait_begin(&lw.w);
        int err = wait_for(&lw.w, store_list(s, list, list_done, &lw));
        *next = lw.next;
        return err;
}

struct upload_wait {
        struct store_wait w;
        struct store_upload *up;
};

static void upload_done(void *arg, int err, struct store_upload *up)
{
        struct upload_wait *uw = arg;
        uw->up = up;
        wait_end(&uw->w, err);
}

int store_upload_create_wait(struct store *s, const char *key, const struct store_meta *meta,
                             struct store_upload **out)
{
        struct upload_wait uw = {.up = NULL};
        wait_begin(&uw.w);
        int err = wait_for(&uw.w, store_upload_create(s, key, meta, upload_done, &uw));
        if (!err)
                *out = uw.up;
        return err;
}

int store_upload_part_wait(struct store_upload *up, unsigned partno, const struct store_body *body)
{
        struct object_wait ow = {.obj = NULL};
        wait_begin(&ow.w);
        return wait_for(&ow.w, store_upload_part(up, partno, body, object_done, &ow));
}

int store_upload_complete_wait(struct store_upload *up, const struct store_cond *cond,
                               struct store_object *obj)
{
        struct object_wait ow = {.obj = obj};
        wait_begin(&ow.w);
        return wait_for(&ow.w, store_upload_complete(up, cond, object_done, &ow));
}

int store_upload_abort_wait(struct store_upload *up)
{
        struct object_wait ow = {.obj = NULL};
        wait_begin(&ow.w);
        return wait_for(&ow.w, store_upload_abort(up, object_done, &ow));
}
