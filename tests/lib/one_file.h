/* SPDX-License-Identifier: Apache-2.0 */
/* one_file.h: a file whose commits a test follows: its environment, and what programs do with it.
 * It is of one program; the store is that of asked_store.h. */
#ifndef CKPTFS_TEST_ONE_FILE_H
#define CKPTFS_TEST_ONE_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mount/write/left_upload.h"
#include "mount/write/spill.h"
#include "mount/write/wfile_int.h"
#include "tests/lib/asked_store.h"
#include "tests/lib/unit.h"

enum { MI = 1 << 20, FIRST = 5 * MI };

/* --- the file --- */

static struct wfile_tally tally;
static struct left_uploads left;
static struct wfile_env env;
static struct wfile *f;
static struct waiter commit;
static unsigned ended, gone, pauses;
static int result;

/* Whoever else changes the key. */
static struct mount_key {
        bool busy;
        struct waiter *waiting;
        unsigned held;
        char name[8];
        bool alone;
        char passes[STORE_ETAG_MAX]; /* there, on its way to another name */
} mount_key;

static inline int lock(void *owner, const char *name, bool alone, struct waiter *w,
                       struct key_lock **l)
{
        (void)owner;
        snprintf(mount_key.name, sizeof mount_key.name, "%s", name);
        mount_key.alone = alone;
        *l = (struct key_lock *)&mount_key;
        mount_key.held += !mount_key.busy;
        mount_key.waiting = mount_key.busy ? w : NULL;
        return mount_key.busy ? -EAGAIN : 0;
}

static inline void unlock(void *owner, struct key_lock *l)
{
        (void)owner;
        ck_assert_ptr_eq(l, &mount_key);
        ck_assert_uint_eq(mount_key.held--, 1);
}

static inline void passes(void *owner, const char *key, const char *etag)
{
        (void)owner;
        ck_assert_str_eq(mount_key.name, key);
        ck_assert(mount_key.alone && mount_key.held);
        ck_assert(!etag == (*mount_key.passes != 0));
        snprintf(mount_key.passes, sizeof mount_key.passes, "%s", etag ? etag : "");
}

static inline void key_is_free(void)
{
        struct waiter *w = mount_key.waiting;
        ck_assert_ptr_nonnull(w);
        mount_key = (struct mount_key){.held = 1};
        waiter_run(w, 0);
}

static inline int meta(void *owner, void *who, bool early, struct store_meta *m)
{
        (void)owner, (void)who, (void)early;
        *m = (struct store_meta){0};
        return 0;
}

static inline void published(void *owner, void *who, const struct store_object *obj,
                             int64_t asked_ns)
{
        (void)owner, (void)who, (void)obj, (void)asked_ns;
}

static inline void is_gone(void *owner, void *who, int err)
{
        (void)owner, (void)who;
        gone += err == -ESTALE || err == -EEXIST;
}

static inline void done(struct waiter *w)
{
        ended++;
        result = w->err;
}

static inline void setup(void)
{
        nasked = answered = ended = gone = pauses = 0;
        size_now = 0;
        transfers_now = 1;
        caps = STORE_CAP_IF_ABSENT | STORE_CAP_IF_MATCH | STORE_CAP_PART_COPY | STORE_CAP_DELETE_IF;
        wfile_tally_init(&tally);
        left_uploads_init(&left);
        mount_key = (struct mount_key){0};
        env = (struct wfile_env){
                .pool = pool_new(64 * MI),
                .spill = spill_new("/tmp", 0),
                .plan = part_plan(FIRST, 64 * MI),
                .size_max = UINT64_MAX / 2,
                .tally = &tally,
                .left = &left,
                .resident = 32 * MI,
                .lock = lock,
                .unlock = unlock,
                .passes = passes,
                .meta = meta,
                .published = published,
                .gone = is_gone,
        };
        commit = (struct waiter){.ready = done};
}

static inline void teardown(void)
{
        ck_assert_uint_eq(answered, nasked);
        ck_assert(!wfile_tally_busy(&tally));
        wfile_unref(f);
        ck_assert_uint_eq(mount_key.held, 0);
        spill_free(env.spill);
        pool_free(env.pool);
}

/* A file, of a version "v1" of `base` bytes unless that is 0. */
static inline void make(uint64_t base)
{
        struct store_object v1 = {.size = base, .etag = "v1"};
        f = wfile_new(&env, NULL, "a", base ? &v1 : NULL);
}

static inline void put(uint64_t pos, size_t n)
{
        char *p = malloc(n);
        memset(p, 'x', n);
        ck_assert_int_eq(wfile_write(f, NULL, false, pos, p, n, NULL), n);
        free(p);
}

static inline void begin(void)
{
        wfile_commit(f, NULL, &commit);
}

static inline void is(enum commit_phase phase)
{
        ck_assert_str_eq(commit_phase_name(f->locked.commit.phase), commit_phase_name(phase));
}

static inline void ends(int err)
{
        is(COMMIT_IDLE);
        ck_assert_uint_eq(ended, 1);
        ck_assert_int_eq(result, err);
}

static inline void paused(struct waiter *w)
{
        (void)w;
        pauses++;
}

static inline void rename_to(const char *key)
{
        struct waiter w = {.ready = paused};
        wfile_pause(f, &w);
        ck_assert_int_eq(wfile_rename(f, key, f->locked.base.object.etag[0] ? "v1" : ""), 0);
        wfile_resume(f);
}

#endif
