/* SPDX-License-Identifier: Apache-2.0 */
/* upload_rename.c: an upload whose file was renamed since it began. The store knows it by its first
 * name: the commit completes it there, where nothing may be, and moves the object to the name of
 * the file. When another has taken the first name, what is still here is sent anew. See
 * wfile_int.h.
 *
 *      COMPLETE at the first name -> MOVE -> published
 *                                         -> (a store that only copies) REMOVE -> published
 *                                 (fails) -> REMOVE -> sent anew, or failed */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mutex.h"

#include "base/banned.h"

/* Whether such an upload is worth less than a new one: nothing was sent yet, or what has its name
 * by then would not be safe from it. */
static bool is_better_anew_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        bool safe = store_caps(f->env->store) & STORE_CAP_IF_ABSENT;
        return upload_parts_are_here_locked(f) &&
               (f->locked.upload.state == UPLOAD_CREATING || !safe);
}

void upload_rename_locked(struct wfile *f, char **old) REQUIRES(&f->mtx)
{
        if (f->locked.upload.key && !strcmp(f->locked.key, f->locked.upload.key)) {
                free(TAKE_PTR(f->locked.upload.key)); /* it has its first name again */
                return;
        }
        if ((f->locked.upload.state != UPLOAD_CREATING && f->locked.upload.state != UPLOAD_OPEN) ||
            f->locked.upload.key)
                return;
        if (is_better_anew_locked(f))
                f->locked.upload.state = UPLOAD_STALE;
        else
                f->locked.upload.key = TAKE_PTR(*old);
}

const char *upload_rename_key_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.commit.sending.plan.put || wfile_is_clone_locked(f) ? NULL
                                                                             : f->locked.upload.key;
}

void upload_rename_prepare_locked(struct wfile *f, struct upload_request *t, const char *base)
        REQUIRES(&f->mtx)
{
        /* What had the first name went from there with the rename. */
        t->cond.if_absent = store_caps(f->env->store) & STORE_CAP_IF_ABSENT;
        t->src = strdup(f->locked.upload.key);
        t->base = base ? strdup(base) : NULL;
        if (!t->src || (base && !t->base))
                t->err = -ENOMEM;
}

/* --- what is asked of the store
 * ------------------------------------------------------------------------------------------------
 */

/* What has the file's name is what was changed. */
static void target_headed(void *arg, int err, const struct store_object *obj)
{
        struct upload_request *t = arg;
        if (err == -ENOENT || (!err && strcmp(obj->etag, t->base)))
                err = -ESTALE;
        if (!err)
                err = store_upload_complete(t->upload, &t->cond, upload_request_done, t);
        if (err)
                upload_request_done(t, err, NULL);
}

static int move(struct upload_request *t)
{
        struct store *s = t->file->env->store;
        return (store_caps(s) & STORE_CAP_RENAME)
                       ? store_rename(s, t->src, t->match, t->key, &t->cond, upload_request_done, t)
                       : store_copy(s, t->src, t->match, t->key, NULL, &t->cond,
                                    upload_request_done, t);
}

int upload_rename_start(struct upload_request *t)
{
        struct store *s = t->file->env->store;

        if (t->kind == REQUEST_MOVE)
                return move(t);
        if (t->kind == REQUEST_REMOVE)
                return t->match ? store_delete_if(s, t->src, t->match, upload_request_done, t)
                                : -ENOMEM;
        return t->base ? store_head(s, t->key, target_headed, t)
                       : store_upload_complete(t->upload, &t->cond, upload_request_done, t);
}

int upload_rename_error(struct upload_request *t, int err)
{
        if (t->kind != REQUEST_COMPLETE || !t->src || err != -EEXIST)
                return err;
        mutex_lock(&t->file->mtx);
        bool anew = upload_parts_are_here_locked(t->file);
        mutex_unlock(&t->file->mtx);
        if (anew)
                return err;
        free(TAKE_PTR(t->base)); /* which is not what it is recorded for */
        return -ESTALE;          /* another has the first name, and cannot be got round */
}

/* --- what follows
 * ------------------------------------------------------------------------------------------------
 */

/* The object is there under the first name: it goes where the file is. */
static void move_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                        const struct store_object *obj) REQUIRES(&f->mtx)
{
        struct upload_request *next = commit_enter_locked(f, COMMIT_MOVING)
                                              ? upload_request_new_locked(f, out, REQUEST_MOVE)
                                              : NULL;
        if (!next)
                return; /* the error is set */
        next->src = TAKE_PTR(f->locked.upload.key);
        next->match = strdup(obj->etag);
        next->base = TAKE_PTR(t->base);
        next->obj = *obj;
        if (!next->match)
                next->err = -ENOMEM;
        if (store_caps(f->env->store) & (STORE_CAP_RENAME | STORE_CAP_COPY_IF))
                next->cond.if_match = next->base;
}

/* What was completed goes from the first name, where it does not belong. Then the commit ends with
 * `failed`. */
static void remove_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                          int failed) REQUIRES(&f->mtx)
{
        struct upload_request *next = commit_enter_locked(f, COMMIT_REMOVING)
                                              ? upload_request_new_locked(f, out, REQUEST_REMOVE)
                                              : NULL;
        if (!next)
                return; /* the error is set */
        next->src = TAKE_PTR(t->src);
        next->match = TAKE_PTR(t->match);
        next->obj = t->obj;
        next->failed = failed;
}

static void moved_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                         const struct store_object *obj) REQUIRES(&f->mtx)
{
        snprintf(t->obj.etag, sizeof t->obj.etag, "%s", obj->etag);
        if (store_caps(f->env->store) & STORE_CAP_RENAME)
                commit_published_locked(f, out, &t->obj, false);
        else
                remove_locked(f, out, t, 0);
}

/* Another file has the name that the upload was to go through: what is here is sent anew. After
 * another error the commit fails. */
static void begin_anew_locked(struct wfile *f, int err) REQUIRES(&f->mtx)
{
        bool taken = err == -EEXIST || err == -ESTALE || err == -ENOENT;

        if (!taken || !upload_parts_are_here_locked(f))
                wfile_set_error_locked(f, err);
        else if (commit_enter_locked(f, COMMIT_PLANNING))
                f->locked.upload.state = UPLOAD_STALE;
}

static void removed_locked(struct wfile *f, struct outcome *out, const struct upload_request *t,
                           int err) REQUIRES(&f->mtx)
{
        if (err && err != -ESTALE && err != -ENOENT) /* another's object stays there */
                log_warn("%s: holds what was written as %s, and cannot be deleted: %s", t->src,
                         t->key, strerror(-err));
        if (t->failed)
                begin_anew_locked(f, t->failed);
        else
                commit_published_locked(f, out, &t->obj, false);
}

bool upload_rename_ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                                int err, const struct store_object *obj) REQUIRES(&f->mtx)
{
        bool through = t->kind == REQUEST_COMPLETE && t->src;

        if (t->kind == REQUEST_REMOVE)
                removed_locked(f, out, t, err);
        else if (t->kind == REQUEST_MOVE && err)
                remove_locked(f, out, t, err);
        else if (t->kind == REQUEST_MOVE)
                moved_locked(f, out, t, obj);
        else if (through && !err)
                move_locked(f, out, t, obj);
        else if (through && !f->locked.commit.conflict && !t->recorded)
                begin_anew_locked(f, err);
        else
                return false;
        return true;
}
