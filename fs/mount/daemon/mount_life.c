/* SPDX-License-Identifier: Apache-2.0 */
/* mount_life.c: see mount_life.h. */
#include "mount/daemon/mount_life.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "mount/caller/fd_owners.h"
#include "mount/core/mount.h"
#include "mount/daemon/mem_reclaim.h"
#include "mount/daemon/shutdown_timer.h"
#include "mount/ops/node_writer.h"
#include "mount/ops/stat_prefetch.h"
#include "mount/read/version_cache.h"
#include "mount/rename/attr_sync.h"
#include "mount/rename/orphan.h"
#include "mount/write/spill.h"
#include "store/core/open_params.h"

#include "base/banned.h"

/* Of each file, what was sent first stays in memory: most files are smaller, and in those that are
 * not, a header may be written last. */
enum { RESIDENT_MOST = 32 << 20 };

/* A buffer of each thread is no file's. */
static size_t pool_cap(const struct params *p)
{
        return p->memory + p->threads * (POOL_BUF_SIZE + POOL_BUF_TAIL);
}

static bool is_unpublished(struct wfile *f)
{
        return wfile_state(f) != WFILE_CLEAN;
}

int mount_init(struct mount *m, struct store *store)
{
        const struct params *p = &m->params;

        m->store = store;
        wfile_tally_init(&m->tally);
        left_uploads_init(&m->left_uploads);
        m->mounted_ns = tree_wall_ns();
        m->uid = p->uid == UINT32_MAX ? geteuid() : (uid_t)p->uid;
        m->gid = p->gid == UINT32_MAX ? getegid() : (gid_t)p->gid;
        m->pool = pool_new(pool_cap(p));
        m->memory_least = p->memory;
        atomic_store(&m->memory, p->memory);
        mutex_init(&m->options, LOCK_OPTIONS);
        m->tree = tree_new((int64_t)p->attr_ttl * 1000000);
        m->spill = spill_new(p->spill_dir, p->spill);
        m->prefetch = prefetch_new(p);
        if (!m->pool || !m->tree || !m->spill || !m->prefetch || orphan_init(m))
                return -ENOMEM;
        /* Where every read has the page cache nothing is cached twice; where none has, memory that
         * is touched for the first time would cost what the page cache costs. */
        m->cache_most = p->read_cache == READ_CACHE_AUTO ? p->memory / 2 : 0;
        if (m->cache_most && !(m->cache = reader_cache_new(m->cache_most)))
                return -ENOMEM;
        tree_on_file(m->tree, is_unpublished);
        m->wfile_env = (struct wfile_env){
                .store = store,
                .pool = m->pool,
                .spill = m->spill,
                .plan = part_plan(p->part_size, p->memory),
                .size_max = store_object_max(store),
                .reader = &m->reader_env,
                .tally = &m->tally,
                .left = &m->left_uploads,
                .resident = p->memory / 16 < RESIDENT_MOST ? p->memory / 16 : RESIDENT_MOST,
                .owner = m,
                .lock = node_writer_lock,
                .unlock = node_writer_unlock,
                .passes = node_writer_passes,
                .meta = node_writer_meta,
                .merge = node_writer_merge,
                .published = node_writer_published,
                .gone = node_writer_gone,
        };
        m->reader_env = (struct reader_env){
                .store = store,
                .pool = m->pool,
                .read_size = p->read_size,
                .max_window = p->memory / 2,
                .cache = m->cache,
        };
        m->mem_reclaim = mem_reclaim_start(m->pool, m->tree, &m->tally, m->cache, p->memory);
        return m->mem_reclaim ? 0 : -ENOMEM;
}

void mount_apply(struct mount *m)
{
        const struct params *p = &m->params;

        tree_set_ttl(m->tree, (int64_t)p->attr_ttl * 1000000);
        atomic_store(&m->memory, p->memory);
        pool_set_cap(m->pool, pool_cap(p));
        mem_reclaim_set_cap(m->mem_reclaim, p->memory);
        __atomic_store_n(&m->reader_env.max_window, p->memory / 2, __ATOMIC_RELAXED);
        store_set_connections(m->store, (unsigned)p->connections, store_transfers_most(p));
        store_renew(m->store);
}

/* What was closed, and left to a process that only inherited it, is published at the end. */
struct left {
        struct waiter commit;
        struct mount *m;
        struct node *n; /* pinned */
};

static void left_done(struct waiter *w)
{
        struct left *l = CONTAINER_OF(w, struct left, commit); /* the log has told of an error */

        tree_lock(l->m->tree);
        tree_unref_locked(l->m->tree, l->n, 1);
        tree_unlock(l->m->tree);
        free(l);
}

/* NULL: somebody is still to close it; or there is no memory, and the log will say that it is lost.
 */
static struct left *left_locked(struct mount *m, struct node *n) REQUIRES(tree_mutex)
{
        bool closed = n->fd_owners && fd_owners_closed(n->fd_owners) && wfile_dirty(n->file);
        struct left *l = closed ? malloc(sizeof *l) : NULL;

        if (!l)
                return NULL;
        *l = (struct left){.commit.ready = left_done, .m = m, .n = n};
        tree_pin_locked(n);
        return l;
}

/* The file of some node that has not ended, with a reference: NULL when there is none. The node
 * keeps it: a rename or removal under way has yet to find it. */
static struct wfile *next_file(struct mount *m, struct left **left)
{
        struct wfile *f = NULL;

        tree_lock(m->tree);
        for (struct node *n = tree_open_list_locked(m->tree); n && !f; n = n->open_next) {
                if (!n->file || wfile_is_over(n->file))
                        continue;
                *left = left_locked(m, n);
                f = wfile_ref(n->file);
        }
        tree_unlock(m->tree);
        return f;
}

/* Takes the file out of some node: NULL when there is none. */
static struct wfile *take_file(struct mount *m)
{
        struct wfile *f = NULL;

        tree_lock(m->tree);
        for (struct node *n = tree_open_list_locked(m->tree); n; n = n->open_next) {
                if (!n->file)
                        continue;
                f = TAKE_PTR(n->file);
                tree_note_open_locked(m->tree, n);
                break;
        }
        tree_unlock(m->tree);
        return f;
}

void mount_finish(struct mount *m)
{
        struct wfile *f;
        struct left *left;
        if (!m->shutdown_timer)
                m->shutdown_timer = shutdown_timer_start(m->store, (unsigned)m->params.deadline);
        atomic_store(&m->ends, true); /* else programs may begin files for as long as they like */
        while ((f = next_file(m, &left))) {
                if (left)
                        wfile_commit(f, NULL, &left->commit);
                wfile_shutdown(f);
                wfile_unref(f);
        }
}

void mount_release(struct mount *m)
{
        struct wfile *f;

        if (m->tree) {
                mount_finish(m);
                attr_sync_finish(m); /* not sooner, while programs may change more */
        }
        while (m->tree && (f = take_file(m)))
                wfile_unref(f);
        mem_reclaim_stop(m->mem_reclaim);
        if (m->tree)
                wfile_tally_wait(&m->tally);
        if (m->tree)
                left_uploads_finish(&m->left_uploads);
        if (m->tree)
                attr_sync_finish(m);
        if (m->orphans)
                orphan_release(m);
        shutdown_timer_end(m->shutdown_timer);
        store_close(m->store);
        mem_reclaim_free(m->mem_reclaim);
        tree_free(m->tree);
        version_cache_free(m->cache);
        prefetch_free(m->prefetch);
        spill_free(m->spill);
        pool_free(m->pool);
        free(m->url);
        free(m->mountpoint);
        params_release(&m->params);
}
