/* SPDX-License-Identifier: Apache-2.0 */
/* fd_owners.c: see fd_owners.h. */
#include "mount/caller/fd_owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/mutex.h"
#include "mount/caller/exit_signal.h"
#include "mount/caller/proc_fds.h"

#include "base/banned.h"

enum { KNOWN_MAX = PROC_FDS_PIDS, TIDS_MAX = 16 };

struct known {
        pid_t pid;
        bool opened;
        bool wrote;    /* since the file was published last */
        bool heir;     /* wrote since the last kill */
        bool unclosed; /* wrote, and has not closed its last descriptor since */
        bool holds;    /* opened or wrote, and has not closed its last descriptor at all */
};

struct fd_owners {
        atomic_int last; /* thread that wrote last, or 0 */
        int last_pid;    /* newest process when the file was opened, see newest_process() */
        uid_t uid;       /* who opened it first */
        struct mutex mtx;
        unsigned opens GUARDED_BY(&mtx), opened GUARDED_BY(&mtx); /* not over yet; all */
        unsigned unseen GUARDED_BY(&mtx);                         /* of those not over yet */
        bool killed GUARDED_BY(&mtx);
        bool left GUARDED_BY(&mtx); /* a writer's close was answered since the last publication */
        size_t n GUARDED_BY(&mtx), max GUARDED_BY(&mtx);
        struct known *v GUARDED_BY(&mtx);
        size_t ntids GUARDED_BY(&mtx);
        struct {
                pid_t tid, pid;
        } tids[TIDS_MAX] GUARDED_BY(&mtx); /* of writing threads */
};

static struct known *find_locked(struct fd_owners *h, pid_t pid) REQUIRES(&h->mtx)
{
        for (size_t i = 0; i < h->n; i++)
                if (h->v[i].pid == pid)
                        return &h->v[i];
        return NULL;
}

/* A place for one more: that of one who only holds the file, when there are too many. */
static struct known *place_locked(struct fd_owners *h) REQUIRES(&h->mtx)
{
        if (h->n < KNOWN_MAX && !GROW(h->v, h->n, h->max, 8))
                return &h->v[h->n++];
        for (size_t i = 0; i < h->n; i++)
                if (!h->v[i].opened && !h->v[i].wrote && !h->v[i].unclosed)
                        return &h->v[i];
        return NULL;
}

static struct known *know_locked(struct fd_owners *h, pid_t pid) REQUIRES(&h->mtx)
{
        struct known *k = find_locked(h, pid);

        if (!k && (k = place_locked(h)))
                *k = (struct known){.pid = pid};
        return k;
}

struct fd_owners *fd_owners_open(struct fd_owners **slot, pid_t pid, uid_t uid)
{
        struct fd_owners *h = *slot;
        if (!h) {
                h = calloc(1, sizeof *h);
                if (!h)
                        return NULL;
                mutex_init(&h->mtx, LOCK_FD_OWNERS);
                h->last_pid = newest_process();
                h->uid = uid;
                *slot = h;
        }
        mutex_lock(&h->mtx);
        h->opens++;
        h->opened++;
        struct known *k = know_locked(h, pid);
        if (k)
                k->opened = k->holds = true;
        mutex_unlock(&h->mtx);
        return h;
}

void fd_owners_unseen(struct fd_owners *h, bool is)
{
        mutex_lock(&h->mtx);
        h->unseen += is ? 1 : (unsigned)-1;
        mutex_unlock(&h->mtx);
}

void fd_owners_release(struct fd_owners **slot)
{
        struct fd_owners *h = *slot;
        mutex_lock(&h->mtx);
        bool over = !--h->opens;
        mutex_unlock(&h->mtx);
        if (!over)
                return;
        *slot = NULL;
        mutex_unshared(&h->mtx);
        mutex_destroy(&h->mtx);
        free(h->v);
        free(h);
}

static pid_t process_locked(struct fd_owners *h, pid_t tid) REQUIRES(&h->mtx)
{
        for (size_t i = 0; i < h->ntids && i < TIDS_MAX; i++)
                if (h->tids[i].tid == tid)
                        return h->tids[i].pid;
        size_t at = h->ntids++ % TIDS_MAX;
        h->tids[at].tid = tid;
        return h->tids[at].pid = process_of(tid);
}

void fd_owners_wrote(struct fd_owners *h, pid_t tid)
{
        if (atomic_load_explicit(&h->last, memory_order_relaxed) == tid)
                return;
        mutex_lock(&h->mtx);
        struct known *k = know_locked(h, process_locked(h, tid));
        if (k)
                k->wrote = k->heir = k->unclosed = k->holds = true;
        atomic_store_explicit(&h->last, tid, memory_order_relaxed);
        mutex_unlock(&h->mtx);
}

static void forget_last_locked(struct fd_owners *h) REQUIRES(&h->mtx)
{
        atomic_store_explicit(&h->last, 0, memory_order_relaxed);
}

void fd_owners_published(struct fd_owners *h)
{
        mutex_lock(&h->mtx);
        for (size_t i = 0; i < h->n; i++)
                h->v[i].wrote = h->v[i].unclosed = false;
        h->killed = h->left = false;
        forget_last_locked(h);
        mutex_unlock(&h->mtx);
}

bool fd_owners_killed(struct fd_owners *h)
{
        mutex_lock(&h->mtx);
        bool is = h->killed;
        mutex_unlock(&h->mtx);
        return is;
}

bool fd_owners_closed(struct fd_owners *h)
{
        mutex_lock(&h->mtx);
        bool closed = h->left && !h->killed;
        for (size_t i = 0; i < h->n; i++)
                closed &= !h->v[i].holds;
        mutex_unlock(&h->mtx);
        return closed;
}

/* --- a look --- */

uid_t fd_owners_uid(const struct fd_owners *h)
{
        return h->uid;
}

void fd_owners_look_begin(struct fd_owners_look *l, struct fd_owners *h, pid_t tid, ino_t ino)
{
        *l = (struct fd_owners_look){.tid = tid, .ino = ino};
        mutex_lock(&h->mtx);
        l->opens = h->opens - h->unseen;
        l->opened = h->opened;
        l->last_pid = h->last_pid;
        l->known = calloc(h->n + 1, sizeof *l->known);
        for (; l->known && l->n < h->n; l->n++)
                l->known[l->n] = h->v[l->n].pid;
        mutex_unlock(&h->mtx);
}

static void list_found(struct fd_owners_look *l, const struct proc_fds *fds)
{
        l->found = calloc(fds->n + 1, sizeof *l->found);
        for (size_t i = 0; l->found && i < fds->n; i++)
                if (!l->nfound || l->found[l->nfound - 1] != fds->v[i].pid)
                        l->found[l->nfound++] = fds->v[i].pid;
}

static void list_gone(struct fd_owners_look *l, pid_t pid)
{
        l->gone = calloc(l->n + 1, sizeof *l->gone);
        for (size_t i = 0; l->gone && i < l->n; i++)
                if (l->known[i] != pid && is_gone(l->known[i]))
                        l->gone[l->ngone++] = l->known[i];
}

void fd_owners_look_see(struct fd_owners_look *l, struct proc_view *view)
{
        struct proc_fds fds;
        int newest = newest_process();
        bool forked = newest < 0 || newest != l->last_pid;
        pid_t pid = process_of(l->tid);

        atomic_store(&l->killed, killed(l->tid));
        atomic_store(&l->pid, pid);
        fds.ino = l->ino;
        fds.n = fds.npids = 0;
        proc_fds_add(&fds, view, pid, forked);
        for (size_t i = 0; i < l->n; i++)
                proc_fds_add(&fds, view, l->known[i], forked);
        list_found(l, &fds);
        list_gone(l, pid);
        l->held = proc_fds_hold(&fds, l->opens, pid);
}

static void note_seen_locked(struct fd_owners *h, const struct fd_owners_look *l) REQUIRES(&h->mtx)
{
        for (size_t i = 0; i < l->ngone; i++) {
                struct known *k = find_locked(h, l->gone[i]);
                if (k)
                        *k = h->v[--h->n];
        }
        for (size_t i = 0; i < l->nfound; i++)
                know_locked(h, l->found[i]);
}

static void note_kill_locked(struct fd_owners *h) REQUIRES(&h->mtx)
{
        h->killed = true;
        forget_last_locked(h);
        for (size_t i = 0; i < h->n; i++)
                h->v[i].heir = false;
}

void fd_owners_gone(struct fd_owners *h)
{
        mutex_lock(&h->mtx);
        note_kill_locked(h);
        mutex_unlock(&h->mtx);
}

/* The next process from *at on that opened or wrote the file; 0: no more matter. */
static pid_t next_writer(struct fd_owners *h, size_t *at)
{
        pid_t pid = 0;

        mutex_lock(&h->mtx);
        for (; !pid && *at < h->n && !h->left; ++*at)
                if (h->v[*at].opened || h->v[*at].wrote)
                        pid = h->v[*at].pid;
        mutex_unlock(&h->mtx);
        return pid;
}

/* One lives: if it has not closed the file it goes on writing, as by a close of its own. Whether no
 * kill is left to ask about. */
static bool note_alive(struct fd_owners *h, pid_t pid)
{
        mutex_lock(&h->mtx);
        const struct known *k = find_locked(h, pid);
        if (k && k->holds)
                h->killed = false;
        bool well = !h->killed;
        mutex_unlock(&h->mtx);
        return well;
}

/* Mostly the first lives. */
void fd_owners_mapped(struct fd_owners *h)
{
        bool dies = false, lives = false;
        pid_t pid;

        for (size_t at = 0; (pid = next_writer(h, &at));) {
                bool kill = killed(pid), alive = !kill && !is_gone(pid);
                if (alive && note_alive(h, pid))
                        return;
                lives |= alive;
                dies |= kill;
        }
        if (dies && !lives)
                fd_owners_gone(h);
}

static bool is_found(const struct fd_owners_look *l, pid_t pid)
{
        for (size_t i = 0; i < l->nfound; i++)
                if (l->found[i] == pid)
                        return true;
        return false;
}

/* Whether a writer is still to close, though it was not seen with the file. One that was seen lives
 * and has another open, which it may keep for as long as it likes. */
static bool is_unclosed_locked(const struct fd_owners *h, const struct fd_owners_look *l)
        REQUIRES(&h->mtx)
{
        for (size_t i = 0; i < h->n; i++)
                if (h->v[i].unclosed && !is_found(l, h->v[i].pid))
                        return true;
        return false;
}

/* Whether another process that opened or wrote the file has not closed it. */
static bool is_of_others_locked(const struct fd_owners *h, const struct known *k) REQUIRES(&h->mtx)
{
        for (size_t i = 0; i < h->n; i++)
                if (&h->v[i] != k && h->v[i].holds)
                        return true;
        return false;
}

/* The kill of one that has nothing to do with what was written is a close like any other. One that
 * opened the file may have written by a mapping; where others may have, they publish it. */
static enum closing decide_locked(struct fd_owners *h, const struct fd_owners_look *l, pid_t pid,
                                  bool whole) REQUIRES(&h->mtx)
{
        bool kill = atomic_load(&l->killed);
        const struct known *k = find_locked(h, pid);
        bool writer = k && (k->opened || k->wrote), heir = k && (k->opened || k->heir);

        if (kill && writer && !k->wrote && is_of_others_locked(h, k))
                return CLOSE_LEAVES;
        if (kill && writer) {
                note_kill_locked(h);
                return CLOSE_KILLED;
        }
        if (h->killed && heir)
                h->killed = false;
        bool held = whole && l->held;
        if (held && (h->opened == l->opened || h->killed))
                return CLOSE_LEAVES;
        if (h->killed)
                return CLOSE_BYSTANDER;
        if (held) /* what was seen may be an open that was not counted */
                return CLOSE_UNSURE;
        /* A writer that dies lets go of all its descriptors before it closes them one by one: it
         * holds nothing any more, and is still to say how it ended. */
        return whole && !writer && is_unclosed_locked(h, l) ? CLOSE_LEAVES : CLOSE_LAST;
}

/* Whether a copy of a descriptor that only reads was closed while whoever opened it has the file,
 * and publishes it. Such descriptors are not seen. */
static bool is_copy_locked(struct fd_owners *h, const struct fd_owners_look *l, pid_t pid)
        REQUIRES(&h->mtx)
{
        const struct known *k = pid != l->opener ? find_locked(h, l->opener) : NULL;
        return k && k->holds;
}

enum closing fd_owners_look_end(struct fd_owners_look *l, struct fd_owners *h, bool whole)
{
        pid_t pid = atomic_load(&l->pid);

        mutex_lock(&h->mtx);
        if (whole)
                note_seen_locked(h, l);
        struct known *k = find_locked(h, pid);
        if (k && whole && !is_found(l, pid)) /* it was no copy */
                k->unclosed = k->holds = false;
        if (l->opener)
                l->held = whole && is_copy_locked(h, l, pid);
        forget_last_locked(h); /* its next write is one after this close */
        enum closing is = decide_locked(h, l, pid, whole);
        if (is == CLOSE_LEAVES && k && (k->opened || k->wrote) && !atomic_load(&l->killed))
                h->left = true;
        mutex_unlock(&h->mtx);
        return is;
}

void fd_owners_look_release(struct fd_owners_look *l)
{
        free(l->known);
        free(l->gone);
        free(l->found);
}
