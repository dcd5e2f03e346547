/* SPDX-License-Identifier: Apache-2.0 */
/* op_read_cache.c: which handles read past the kernel's page cache (option read_cache).
 *
 * The kernel is told at the open, and cannot be told otherwise later. A block read past the cache
 * is a request, which for small blocks costs more than what it saves. So with read_cache=auto a
 * large file is read past the cache by programs that were seen to read in large blocks, until it
 * turns out that the cache serves better: it has pages of the file, or another handle fills it,
 * somebody maps the file, or reads it again and again. What is read past the cache stays in the
 * mount's memory for the next reader (version_cache.h). A file that does not fit there leaves
 * nothing unless several read it at once, so the second who reads it fills the cache, and its
 * program is not trusted with such files for a while. Handles for reading and writing are made so
 * for what they write. */
#include "mount/ops/op.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum {
        /* Smaller files take the page cache little room, and are read again more often. */
        LARGE = 16 << 20,
        /* Blocks below this are read faster through the page cache. */
        SMALL_BLOCK = 64 << 10,
        WATCHED = 64, /* reads of a handle past the cache, until it is known how it reads */
        GLANCE = 16,  /* who closes the file after fewer has not read it */
        /* What the kernel asks for first is four times what the program does: 128 KiB. */
        LARGE_AHEAD = 512 << 10,
        /* The page cache has what is read oftener: it needs no requests at all. */
        ROUNDS_MOST = 2,
        OPENS_MOST = 16,
        NEEDED_MOST = 256
};

void read_cache_opener(const struct mount *m, struct handle *h, pid_t tid)
{
        char path[40];

        if (m->params.read_cache != READ_CACHE_AUTO || !m->maps_direct || !h->reads || tid <= 0)
                return;
        snprintf(path, sizeof path, "/proc/%d/comm", (int)tid);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, h->program, sizeof h->program - 1);
        h->program[n > 0 ? n : 0] = 0;
}

static uint64_t size_locked(const struct node *n) REQUIRES(tree_mutex)
{
        return n->file ? wfile_size(n->file) : n->size;
}

/* --- what is known of programs --- */

/* One is trusted to read in large blocks when it did so often enough in a row: once, and twice as
 * often each time that trust was wrong. With what memory does not hold it is trusted at first. */

static bool is_earned(const struct mount_trust *t)
{
        return t->row >= t->needed;
}

static void earn(struct mount_trust *t)
{
        if (t->row < NEEDED_MOST)
                t->row++;
}

static void lose(struct mount_trust *t, bool was_wrong)
{
        t->row = 0;
        if (was_wrong && t->needed < NEEDED_MOST)
                t->needed = t->needed ? 2 * t->needed : 1;
}

static struct mount_program *find_program_locked(struct mount *m, const char *name)
        REQUIRES(tree_mutex)
{
        struct mount_program *p = m->programs.v, *end = p + MOUNT_PROGRAMS;

        while (p < end && strcmp(p->name, name) != 0)
                p++;
        return p < end && *name ? p : NULL;
}

static bool is_trusted_locked(struct mount *m, const struct handle *h) REQUIRES(tree_mutex)
{
        const struct mount_program *p = find_program_locked(m, h->program);
        return p && is_earned(&p->blocks);
}

/* The program has read the handle's file in large blocks, or not. Who reads large files in small
 * blocks is not trusted with what memory does not hold: each block read again is fetched again. */
static void learn_blocks_locked(struct mount *m, const struct handle *h, bool large)
        REQUIRES(tree_mutex)
{
        struct mount_program *p = find_program_locked(m, h->program);
        bool slow = !large && size_locked(h->node) >= LARGE;

        if (!h->program[0] || (!p && !large && !slow))
                return;
        if (!p) { /* the oldest makes room */
                p = &m->programs.v[m->programs.next++ % MOUNT_PROGRAMS];
                *p = (struct mount_program){.blocks.needed = 1};
                snprintf(p->name, sizeof p->name, "%s", h->program);
        }
        if (large)
                earn(&p->blocks);
        else
                lose(&p->blocks, h->way == READS_PAST);
        if (slow)
                lose(&p->once, true);
}

/* --- handles --- */

/* Whether memory does not hold all of it. */
static bool is_huge_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        return size_locked(n) > m->cache_most;
}

/* Whether who reads now finds the bytes in memory, or fetches them for all who will: as far as is
 * known, nobody will read a huge file again. */
static bool is_shared_locked(struct mount *m, const struct node *n, const struct handle *h)
        REQUIRES(tree_mutex)
{
        const struct mount_program *p = find_program_locked(m, h->program);
        uint64_t size = size_locked(n);

        if (n->reads.opens >= OPENS_MOST)
                return false;
        if (is_huge_locked(m, n))
                return p && is_earned(&p->once) && !n->reads.far;
        if (n->reads.past || !n->reads.opens)
                return true;
        return n->reads.rounds < ROUNDS_MOST && n->reader &&
               reader_cached(n->reader) >= size - size / 8;
}

/* Whether nothing speaks for the page cache. */
static bool suits_locked(struct mount *m, struct node *n, const struct handle *h, bool anew)
        REQUIRES(tree_mutex)
{
        if (n->reads.turn != n->turn) { /* what is known is of another version */
                n->reads.turn = n->turn;
                n->reads.before = n->reads.small = n->reads.mapped = n->reads.far = false;
                n->reads.opens = n->reads.rounds = 0;
        }
        if (n->reads.cached || n->reads.mapped || n->reads.small)
                return false;
        if (anew)
                return true;
        return size_locked(n) >= LARGE && !n->reads.before && is_trusted_locked(m, h) &&
               is_shared_locked(m, n, h);
}

/* A huge file is opened to be read: what that tells of the program. */
static void learn_once_locked(struct mount *m, const struct node *n, const struct handle *h)
        REQUIRES(tree_mutex)
{
        struct mount_program *p = find_program_locked(m, h->program);

        if (!p || m->params.read_cache != READ_CACHE_AUTO || !is_huge_locked(m, n))
                return;
        if (n->reads.before || n->reads.far)
                lose(&p->once, n->reads.far && !n->reads.before);
        else if (!n->reads.opens)
                earn(&p->once);
}

/* What is read of a huge file past the cache stays while it is not far, or others read it so: they
 * are near. */
static void note_stays_locked(const struct mount *m, struct node *n) REQUIRES(tree_mutex)
{
        bool stays = !is_huge_locked(m, n) || !n->reads.far || n->reads.past > 1;
        atomic_store_explicit(&n->reads.stays, stays, memory_order_relaxed);
}

static void note_far_locked(const struct mount *m, struct node *n) REQUIRES(tree_mutex)
{
        if (n->reads.turn == n->turn)
                n->reads.far = true;
        note_stays_locked(m, n);
}

bool read_cache_bypass_locked(struct mount *m, struct node *n, struct handle *h, int flags,
                              bool anew) REQUIRES(tree_mutex)
{
        int choice = m->params.read_cache;
        /* Behind the page cache a write of O_SYNC is published once, not in pieces. */
        bool can = m->maps_direct && (!(flags & O_DSYNC) || flags & O_DIRECT);
        bool past = can && choice != READ_CACHE_ALWAYS &&
                    (choice == READ_CACHE_NEVER || flags & O_DIRECT || suits_locked(m, n, h, anew));

        h->way = past ? READS_PAST : READS_CACHED;
        if (!anew)
                learn_once_locked(m, n, h);
        if (past) {
                n->reads.rounds += !n->reads.past++;
                n->reads.opens++;
                note_stays_locked(m, n);
        } else {
                n->reads.before |= !anew;
                n->reads.cached++;
        }
        return past;
}

void read_cache_end_locked(const struct mount *m, struct node *n, const struct handle *h)
        REQUIRES(tree_mutex)
{
        n->reads.cached -= h->way == READS_CACHED;
        if (h->way != READS_PAST)
                return;
        n->reads.past--;
        if (atomic_load_explicit(&h->watched, memory_order_relaxed) >= GLANCE)
                note_far_locked(m, n);
}

bool read_cache_stays(const struct handle *h)
{
        return atomic_load_explicit(&h->node->reads.stays, memory_order_relaxed);
}

static void note_mapped(struct mount *m, struct handle *h)
{
        atomic_store_explicit(&h->watched, WATCHED, memory_order_relaxed);
        tree_lock(m->tree);
        if (h->node->reads.turn == h->node->turn)
                h->node->reads.mapped = true;
        tree_unlock(m->tree);
}

/* By now it is known how the program reads. */
static void judge(struct mount *m, struct handle *h, bool large)
{
        tree_lock(m->tree);
        if (!large && h->way == READS_PAST && h->node->reads.turn == h->node->turn)
                h->node->reads.small = true;
        if (h->way == READS_PAST)
                note_far_locked(m, h->node);
        learn_blocks_locked(m, h, large);
        tree_unlock(m->tree);
}

/* The first request tells, unless the end of the file has cut it. */
static void note_cached(struct mount *m, struct handle *h, uint64_t off, size_t size)
{
        tree_lock(m->tree);
        bool cut = off + size >= size_locked(h->node);
        tree_unlock(m->tree);
        if (cut && size < LARGE_AHEAD)
                return;
        atomic_store_explicit(&h->watched, WATCHED, memory_order_relaxed);
        judge(m, h, size >= LARGE_AHEAD);
}

static void note_past(struct mount *m, struct handle *h, size_t size)
{
        unsigned n = atomic_fetch_add_explicit(&h->watched, 1, memory_order_relaxed);
        unsigned small =
                atomic_fetch_add_explicit(&h->small, size < SMALL_BLOCK, memory_order_relaxed);
        if (n == WATCHED - 1)
                judge(m, h, small < WATCHED / 2);
}

void read_cache_note(struct mount *m, struct handle *h, uint64_t off, size_t size, bool paged)
{
        if (m->params.read_cache != READ_CACHE_AUTO || !m->maps_direct ||
            atomic_load_explicit(&h->watched, memory_order_relaxed) >= WATCHED)
                return;
        if (h->way == READS_CACHED)
                note_cached(m, h, off, size);
        else if (paged)
                note_mapped(m, h);
        else
                note_past(m, h, size);
}
