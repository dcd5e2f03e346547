/* SPDX-License-Identifier: Apache-2.0 */
/* wfile_end.c: what others do to a file: giving it up, another name, memory, the end of the mount.
 * See wfile.h. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/write/spill.h"

#include "base/banned.h"

void wfile_abort(struct wfile *f, int err)
{
        struct outcome out;

        wfile_enter(f, &out);
        if (f->locked.dirty)
                wfile_set_error_locked(f, err);
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
}

void wfile_lost(struct wfile *f, struct wfile_user *u, int err)
{
        struct outcome out;

        wfile_enter(f, &out);
        if (!wfile_has_failed_locked(f, u)) {
                u->wrote = f->locked.dirty = f->locked.mapped = true;
                u->epoch = f->locked.epoch;
                u->published = f->locked.published;
                wfile_set_error_locked(f, err);
                wfile_advance_locked(f, &out);
        }
        wfile_leave(f, &out);
}

/* --- names --- */

void wfile_pause(struct wfile *f, struct waiter *w)
{
        struct outcome out;
        wfile_enter(f, &out);
        f->locked.pauses++;
        wfile_note_moving_locked(f);
        waiters_add(&f->locked.pausing, w);
        wfile_leave(f, &out);
}

void wfile_resume(struct wfile *f)
{
        struct outcome out;
        wfile_enter(f, &out);
        if (!--f->locked.pauses)
                out.moved = TAKE_PTR(f->locked.moving);
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
}

/* Whether a part of the upload is the base by its name: the only one that is the whole of it. */
static bool names_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        const struct plan *p = &f->locked.commit.sending.plan;
        bool planned = f->locked.commit.phase == COMMIT_SENDING ||
                       f->locked.commit.phase == COMMIT_LOCKING;
        return planned && f->locked.commit.sending.next && p->n && p->v[0].copy &&
               store_caps(f->env->store) & STORE_CAP_WHOLE_COPY;
}

/* Whether an upload under a name that is not the file's any more is worth less than a new one:
 * nothing was sent yet, or what has that name by then would not be safe from it. */
static bool is_better_anew_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        bool safe = store_caps(f->env->store) & STORE_CAP_IF_ABSENT;
        return upload_parts_are_here(&f->locked.parts) &&
               (f->locked.upload.state == UPLOAD_CREATING || !safe);
}

/* The file has another name than *old, which may be taken: docs/decisions/040. */
static void rename_upload_locked(struct wfile *f, char **old) REQUIRES(&f->mtx)
{
        struct upload *u = &f->locked.upload;

        if (u->key && !strcmp(f->locked.key, u->key)) {
                free(TAKE_PTR(u->key)); /* it has its first name again */
                return;
        }
        if ((u->state != UPLOAD_CREATING && u->state != UPLOAD_OPEN) || u->key)
                return;
        if (is_better_anew_locked(f))
                u->state = UPLOAD_STALE;
        else
                u->key = TAKE_PTR(*old);
}

int wfile_rename(struct wfile *f, const char *key, const char *etag)
{
        char *copy = strdup(key);
        if (!copy)
                return -ENOMEM;
        mutex_lock(&f->mtx);
        bool same = !strcmp(key, f->locked.key);
        char *old = f->locked.key;
        f->locked.key = copy;
        snprintf(f->locked.base.object.etag, sizeof f->locked.base.object.etag, "%s", etag);
        f->locked.commit.sending.recopy = names_base_locked(f);
        if (!same) {
                /* what has the new name is replaced */
                f->locked.if_absent = f->locked.spares = false;
                rename_upload_locked(f, &old);
        }
        if (f->locked.reader && etag[0])
                (void)reader_rename(f->locked.reader, key, etag); /* else reads get ESTALE */
        mutex_unlock(&f->mtx);
        free(old);
        return 0;
}

void wfile_forget(struct wfile *f)
{
        struct outcome out;
        wfile_enter(f, &out);
        f->locked.unlinked = true;
        if (f->locked.upload.state != UPLOAD_NONE && upload_parts_are_here(&f->locked.parts))
                f->locked.upload.state = UPLOAD_STALE;
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
}

/* --- memory --- */

struct reader *wfile_reader(struct wfile *f)
{
        mutex_lock(&f->mtx);
        struct reader *r = f->locked.reader ? reader_ref(f->locked.reader) : NULL;
        mutex_unlock(&f->mtx);
        return r;
}

size_t wfile_idle_bytes(struct wfile *f)
{
        mutex_lock(&f->mtx);
        size_t n = commit_is_under_way_locked(f) ? 0 : extent_map_in_memory(&f->locked.data);
        mutex_unlock(&f->mtx);
        return n;
}

/* Gives back what can be without the disk, or begins to spill. */
static ssize_t relieve_locked(struct wfile *f, struct outcome *out, struct spilling **s)
        REQUIRES(&f->mtx)
{
        if (commit_is_under_way_locked(f) || f->locked.err)
                return 0;
        size_t idle = extent_map_in_memory(&f->locked.data);
        if (!f->locked.dirty) {
                wfile_clear_locked(f);
                return (ssize_t)idle;
        }
        int err = upload_parts_spill_locked(f, s);
        size_t n = err ? upload_parts_drop_locked(f) : 0;
        if (n || *s)
                return (ssize_t)n;
        if (!f->locked.read_too && upload_parts_send_last_locked(f, out))
                return (ssize_t)idle;
        return extent_map_spill_begin(&f->locked.data, 0, UINT64_MAX, s);
}

ssize_t wfile_reclaim(struct wfile *f)
{
        struct outcome out;
        struct spilling *s = NULL;

        (void)spill_open(f->env->spill); /* else no slot is to be had */
        wfile_enter(f, &out);
        ssize_t n = relieve_locked(f, &out, &s);
        wfile_leave(f, &out);
        if (!s)
                return n;
        int err = spilling_write(s);
        wfile_enter(f, &out);
        n = extent_map_spill_end(&f->locked.data, s, err);
        size_t dropped = n < 0 && !commit_is_under_way_locked(f) ? upload_parts_drop_locked(f) : 0;
        wfile_leave(f, &out);
        if (n > 0)
                METRIC_ADD(spilled_bytes, (uint64_t)n);
        return dropped ? (ssize_t)dropped : n;
}

/* --- state --- */

uint64_t wfile_size(struct wfile *f)
{
        mutex_lock(&f->mtx);
        uint64_t size = f->locked.size;
        mutex_unlock(&f->mtx);
        return size;
}

bool wfile_has_base(struct wfile *f)
{
        mutex_lock(&f->mtx);
        bool has = wfile_base_locked(f)->len > 0;
        mutex_unlock(&f->mtx);
        return has;
}

bool wfile_dirty(struct wfile *f)
{
        mutex_lock(&f->mtx);
        bool dirty = f->locked.dirty && !f->locked.unlinked && !f->locked.err;
        mutex_unlock(&f->mtx);
        return dirty;
}

static enum wfile_state state_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        if (f->locked.err)
                return WFILE_FAILED;
        if (f->locked.telling)
                return WFILE_UPLOADING;
        if (f->locked.dirty && !f->locked.unlinked)
                return commit_is_under_way_locked(f) ? WFILE_UPLOADING : WFILE_DIRTY;
        return f->locked.failed ? WFILE_FAILED : WFILE_CLEAN;
}

enum wfile_state wfile_state(struct wfile *f)
{
        mutex_lock(&f->mtx);
        enum wfile_state state = state_locked(f);
        mutex_unlock(&f->mtx);
        return state;
}

#define SECOND_NS INT64_C(1000000000)

void recent_add(struct recent *r, uint64_t n)
{
        int64_t second = wfile_now_ns() / SECOND_NS;
        int i = (int)(second % RECENT_S);

        if (r->second[i] != second)
                r->bytes[i] = 0;
        r->second[i] = second;
        r->bytes[i] += n;
}

/* Bytes a second in that time, or since the first request. */
static uint64_t recent_rate_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        const struct recent *r = &f->locked.recent;
        int64_t now = wfile_now_ns(), from = (now / SECOND_NS - RECENT_S + 1) * SECOND_NS;
        uint64_t bytes = 0;

        for (int i = 0; i < RECENT_S; i++)
                bytes += r->second[i] * SECOND_NS >= from ? r->bytes[i] : 0;
        if (from < f->locked.sending_ns)
                from = f->locked.sending_ns;
        double seconds = (double)(now - from) / (double)SECOND_NS;
        return f->locked.sending_ns && seconds > 0 ? (uint64_t)((double)bytes / seconds) : 0;
}

void wfile_status(struct wfile *f, struct wfile_status *out)
{
        mutex_lock(&f->mtx);
        uint64_t size = f->locked.size, sent = f->locked.sent;
        *out = (struct wfile_status){
                .state = state_locked(f),
                .size = size,
                .sent = sent < size ? sent : size, /* what was sent twice counts twice */
                .changed_ns = f->locked.dirty ? f->locked.changed_ns : 0,
                .sending_ns = f->locked.sending_ns,
                .rate = recent_rate_locked(f),
                .commit_ns = commit_is_under_way_locked(f) ? f->locked.commit.begun_ns : 0,
                .err = f->locked.last_err,
        };
        mutex_unlock(&f->mtx);
}

bool wfile_owes(struct wfile *f, const struct wfile_user *u)
{
        mutex_lock(&f->mtx);
        bool owes = (f->locked.dirty && !f->locked.unlinked) || wfile_has_failed_locked(f, u);
        mutex_unlock(&f->mtx);
        return owes;
}

int wfile_unsynced(struct wfile *f)
{
        mutex_lock(&f->mtx);
        int err = f->locked.failed && !f->locked.dirty && !f->locked.unlinked ? f->locked.last_err
                                                                              : 0;
        mutex_unlock(&f->mtx);
        return err;
}

bool wfile_owes_close(struct wfile *f, const struct wfile_user *u)
{
        mutex_lock(&f->mtx);
        bool its = f->locked.anyones || (u->wrote && u->published == f->locked.published);
        bool owes =
                (f->locked.dirty && !f->locked.unlinked && its) || wfile_has_failed_locked(f, u);
        mutex_unlock(&f->mtx);
        return owes;
}

bool wfile_owes_end(struct wfile *f, const struct wfile_user *u)
{
        mutex_lock(&f->mtx);
        bool its = u->wrote && u->epoch == f->locked.epoch && u->published == f->locked.published;
        bool owes = its && f->locked.dirty && !f->locked.unlinked && !f->locked.err;
        mutex_unlock(&f->mtx);
        return owes;
}

void wfile_note_mapped(struct wfile *f)
{
        mutex_lock(&f->mtx);
        f->locked.anyones = f->locked.mapped = true;
        mutex_unlock(&f->mtx);
}

void wfile_shutdown(struct wfile *f)
{
        struct outcome out;

        mutex_lock(&f->mtx);
        while (commit_is_under_way_locked(f))
                mutex_wait(&f->idle, &f->mtx);
        mutex_unlock(&f->mtx);
        wfile_enter(f, &out);
        f->locked.over = true;
        if (f->locked.dirty)
                wfile_set_error_locked(f, -EROFS);
        wfile_advance_locked(f, &out);
        wfile_leave(f, &out);
        mutex_lock(&f->mtx);
        while (f->locked.inflight || f->locked.leaving)
                mutex_wait(&f->idle, &f->mtx);
        mutex_unlock(&f->mtx);
}

bool wfile_is_over(struct wfile *f)
{
        mutex_lock(&f->mtx);
        bool over = f->locked.over;
        mutex_unlock(&f->mtx);
        return over;
}
