/* SPDX-License-Identifier: Apache-2.0 */
/* spill.c: see spill.h. Slots of one buffer each; a freed slot is the next to be used. */
#include "mount/write/spill.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/machine/machine.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/pool.h"

#include "base/banned.h"

struct spill {
        struct mutex mtx;
        char *dir;
        uint32_t slots;   /* most there may be */
        atomic_bool full; /* each write looks at it */
        struct {
                int fd;
                uint32_t made;  /* slots ever used: the file's length */
                uint32_t nfree; /* of those, free now */
                uint32_t *free, *refs, room;
                int fails; /* what the disk said, if not "full"; 0: nothing */
        } locked GUARDED_BY(&mtx);
};

int spill_check(const char *dir, char *why, size_t nwhy)
{
        CLEANUP(closep) int fd = machine_unnamed_file(dir);
        if (fd < 0 && machine_is_confined(fd))
                snprintf(why, nwhy,
                         "spill_dir=%s: %s: let the unit write there by ReadWritePaths=%s, or name "
                         "another directory of a local disk",
                         dir, strerror(-fd), dir);
        else if (fd < 0)
                snprintf(why, nwhy,
                         "spill_dir=%s: %s: name a directory of a local disk that can be written",
                         dir, strerror(-fd));
        return fd < 0 ? fd : 0;
}

struct spill *spill_new(const char *dir, uint64_t cap)
{
        struct spill *s = calloc(1, sizeof *s);
        if (!s || !(s->dir = strdup(dir))) {
                free(s);
                return NULL;
        }
        uint64_t slots = cap / POOL_BUF_SIZE;
        s->slots = slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
        mutex_unshared(&s->mtx);
        s->locked.fd = -1;
        mutex_init(&s->mtx, LOCK_SPILL);
        return s;
}

void spill_free(struct spill *s)
{
        if (!s)
                return;
        mutex_unshared(&s->mtx);
        if (s->locked.fd >= 0)
                close(s->locked.fd);
        mutex_destroy(&s->mtx);
        free(s->locked.free);
        free(s->locked.refs);
        free(s->dir);
        free(s);
}

static int file_of(struct spill *s)
{
        mutex_lock(&s->mtx);
        int fd = s->locked.fd;
        mutex_unlock(&s->mtx);
        return fd;
}

/* That the disk is full is told by the caller, and anything else once, until it works again. */
static void note_disk(struct spill *s, int err)
{
        err = err == -ENOSPC ? 0 : err;
        mutex_lock(&s->mtx);
        int was = s->locked.fails;
        s->locked.fails = err;
        mutex_unlock(&s->mtx);
        if (err && err != was)
                log_error_of(LOG_ABOUT(.operation = "write", .file = s->dir,
                                       .remedy = "make the directory writable again"),
                             "spill_dir=%s: %s: unsent data has to stay in memory, and writes get "
                             "ENOSPC when that is full",
                             s->dir, strerror(-err));
        else if (!err && was)
                log_info("spill_dir=%s takes unsent data again", s->dir);
}

/* The file of a disk that failed may stay bad for good (a file system that an error made read-only,
 * and that was mounted anew): another one takes its place once nothing is in it. */
static void give_up_bad_locked(struct spill *s) REQUIRES(&s->mtx)
{
        if (s->locked.fd < 0 || !s->locked.fails || s->locked.made != s->locked.nfree)
                return;
        close(TAKE_FD(s->locked.fd));
        s->locked.made = s->locked.nfree = 0;
}

int spill_open(struct spill *s)
{
        mutex_lock(&s->mtx);
        give_up_bad_locked(s);
        bool is_open = s->locked.fd >= 0;
        mutex_unlock(&s->mtx);
        if (is_open)
                return 0;
        CLEANUP(closep) int fd = machine_unnamed_file(s->dir);
        int err = fd < 0 ? fd : 0;
        mutex_lock(&s->mtx);
        bool ours = !err && s->locked.fd < 0;
        if (ours)
                s->locked.fd = TAKE_FD(fd);
        if (s->locked.fd < 0)
                s->full = true;
        bool again = s->locked.fails;
        mutex_unlock(&s->mtx);
        if (ours && !again)
                log_info("memory is full of unfinished parts: unsent data goes to %s", s->dir);
        else if (err)
                note_disk(s, err);
        return err;
}

/* Room on the free list for every slot ever made, so that a drop cannot fail. */
static int grow_locked(struct spill *s) REQUIRES(&s->mtx)
{
        uint32_t free = s->locked.room, refs = s->locked.room;

        if (GROW(s->locked.free, s->locked.made, free, 64) ||
            GROW(s->locked.refs, s->locked.made, refs, 64))
                return -ENOMEM;
        s->locked.room = refs;
        return 0;
}

static int take_slot_locked(struct spill *s, uint32_t *slot) REQUIRES(&s->mtx)
{
        if (s->locked.nfree) {
                *slot = s->locked.free[--s->locked.nfree];
                return 0;
        }
        if (s->locked.made == s->slots)
                return -ENOSPC;
        int err = grow_locked(s);
        if (!err)
                *slot = s->locked.made++;
        return err;
}

int spill_take(struct spill *s, uint64_t *at)
{
        uint32_t slot;
        mutex_lock(&s->mtx);
        int err = s->locked.fd < 0 ? -EBADF : take_slot_locked(s, &slot);
        if (!err) {
                s->locked.refs[slot] = 1;
                *at = (uint64_t)slot * POOL_BUF_SIZE;
        }
        mutex_unlock(&s->mtx);
        if (err) /* else: a slot is no room on the disk yet */
                s->full = true;
        return err;
}

bool spill_is_full(struct spill *s)
{
        return s->full;
}

void spill_forget_full(struct spill *s)
{
        s->full = false;
}

void spill_note(struct spill *s, int err)
{
        s->full = err != 0;
        note_disk(s, err);
}

uint64_t spill_used(struct spill *s)
{
        mutex_lock(&s->mtx);
        uint64_t slots = s->locked.made - s->locked.nfree;
        mutex_unlock(&s->mtx);
        return slots * POOL_BUF_SIZE;
}

int spill_write(struct spill *s, uint64_t at, uint64_t off, const void *p, size_t n)
{
        int fd = file_of(s);
        for (size_t done = 0; done < n;) {
                ssize_t k = pwrite(fd, (const char *)p + done, n - done, (off_t)(at + off + done));
                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0)
                        return k < 0 ? -errno : -ENOSPC;
                done += (size_t)k;
        }
        return 0;
}

int spill_get(struct spill *s, uint64_t at, uint64_t off, void *dst, size_t n)
{
        int fd = file_of(s);
        for (size_t done = 0; done < n;) {
                ssize_t k = pread(fd, (char *)dst + done, n - done, (off_t)(at + off + done));
                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0) {
                        int err = k < 0 ? -errno : -EIO;
                        log_error_of(LOG_ABOUT(.operation = "publish", .file = s->dir,
                                               .remedy = "name a directory of a sound disk"),
                                     "spill_dir=%s: unsent data cannot be read back: %s: its file "
                                     "is not published",
                                     s->dir, strerror(-err));
                        return err;
                }
                done += (size_t)k;
        }
        return 0;
}

void spill_ref(struct spill *s, uint64_t at)
{
        mutex_lock(&s->mtx);
        s->locked.refs[at / POOL_BUF_SIZE]++;
        mutex_unlock(&s->mtx);
}

bool spill_is_shared(struct spill *s, uint64_t at)
{
        mutex_lock(&s->mtx);
        bool shared = s->locked.refs[at / POOL_BUF_SIZE] > 1;
        mutex_unlock(&s->mtx);
        return shared;
}

void spill_drop(struct spill *s, uint64_t at)
{
        uint32_t slot = (uint32_t)(at / POOL_BUF_SIZE);
        mutex_lock(&s->mtx);
        if (!--s->locked.refs[slot]) {
                s->locked.free[s->locked.nfree++] = slot;
                s->full = false;
        }
        mutex_unlock(&s->mtx);
}
