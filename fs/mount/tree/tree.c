/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: see tree.h. Two chained hash tables that double as they fill: by (parent, name), and of
 * all nodes by inode number, since a file that was renamed or deleted while it is known keeps its
 * number and another of its former name must not get it. */
#include "mount/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "mount/tree/recent_nodes.h"
#include "mount/tree/readdir_history.h"

#include "base/banned.h"

#define SECOND 1000000000LL

struct tree {
        struct mutex mtx;
        pthread_cond_t cond;
        int64_t ttl_ns; /* atomic */
        void (*drop)(void *arg, char *orphan_key);
        void *drop_arg;
        bool (*unpublished)(struct wfile *f);
        struct node root;
        size_t nbuckets GUARDED_BY(tree_mutex), nnodes GUARDED_BY(tree_mutex);
        struct node **buckets GUARDED_BY(tree_mutex);         /* a power of two of them, */
        struct node **inodes GUARDED_BY(tree_mutex);          /* and as many of these */
        struct tombstones *tombstones GUARDED_BY(tree_mutex); /* of names, by their hash */
        uint64_t moves GUARDED_BY(tree_mutex);             /* counts nodes that got another name, */
        uint64_t made GUARDED_BY(tree_mutex);              /* and those that were made */
        struct node *open GUARDED_BY(tree_mutex);          /* see tree_note_open_locked() */
        struct recent_nodes recent GUARDED_BY(tree_mutex); /* with a reference each */
        /* not hashed, still referred to; linked by hash_next */
        struct node *loose GUARDED_BY(tree_mutex);
};

static void tree_is_unshared(const struct tree *t) ASSERTS(tree_mutex)
{
        (void)t;
}

static int64_t clock_ns(clockid_t id)
{
        struct timespec ts;
        clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * SECOND + ts.tv_nsec;
}

int64_t tree_now_ns(void)
{
        return clock_ns(CLOCK_MONOTONIC);
}

int64_t tree_wall_ns(void)
{
        return clock_ns(CLOCK_REALTIME);
}

uint64_t tree_name_hash(const struct node *dir, const char *name)
{
        return fnv1a(dir->ino ^ FNV1A_BASIS, name, strlen(name));
}

struct tree *tree_new(int64_t ttl_ns)
{
        struct tree *t = calloc(1, sizeof *t);
        if (!t)
                return NULL;
        tree_is_unshared(t);
        t->nbuckets = 256;
        t->buckets = calloc(t->nbuckets, sizeof *t->buckets);
        t->inodes = calloc(t->nbuckets, sizeof *t->inodes);
        t->tombstones = tombstones_new();
        if (!t->buckets || !t->inodes || !t->tombstones) {
                free(t->buckets);
                free(t->inodes);
                tombstones_free(t->tombstones);
                free(t);
                return NULL;
        }
        t->ttl_ns = ttl_ns;
        t->root = (struct node){.ino = 1, .refs = 1, .dir = true, .published = true};
        mutex_init(&t->mtx, LOCK_TREE);
        pthread_cond_init(&t->cond, NULL);
        return t;
}

void tree_on_drop(struct tree *t, void (*drop)(void *arg, char *orphan_key), void *arg)
{
        t->drop = drop;
        t->drop_arg = arg;
}

void tree_on_file(struct tree *t, bool (*unpublished)(struct wfile *f))
{
        t->unpublished = unpublished;
}

bool tree_writes_locked(const struct tree *t, const struct node *n) REQUIRES(tree_mutex)
{
        return n->file && t->unpublished && t->unpublished(n->file);
}

bool tree_changes_locked(const struct tree *t, const struct node *n) REQUIRES(tree_mutex)
{
        return n->attr_sync || tree_writes_locked(t, n);
}

bool tree_ahead_locked(const struct tree *t, const struct node *n, int64_t asked_ns)
        REQUIRES(tree_mutex)
{
        return tree_changes_locked(t, n) || (asked_ns && asked_ns < n->known_ns);
}

char *tree_take_orphan_key_locked(struct tree *t) REQUIRES(tree_mutex)
{
        for (size_t i = 0; i < t->nbuckets; i++)
                for (struct node *n = t->inodes[i]; n; n = n->ino_next)
                        if (n->orphan_key)
                                return TAKE_PTR(n->orphan_key);
        return NULL;
}

static void node_free(struct node *n)
{
        free(n->orphan_key);
        free(n->replaced_etag);
        attr_release(&n->attr);
        tree_drop_attr_base(n);
        dir_tombstones_release(&n->tombstones);
        history_free(n->history);
        free(n->name);
        free(n->etag);
        free(n);
}

static void free_list(struct node *n)
{
        while (n) {
                struct node *next = n->hash_next;
                node_free(n);
                n = next;
        }
}

void tree_free(struct tree *t)
{
        if (!t)
                return;
        tree_is_unshared(t);
        for (size_t i = 0; i < t->nbuckets; i++)
                free_list(t->buckets[i]);
        free_list(t->loose);
        free(t->buckets);
        free(t->inodes);
        attr_release(&t->root.attr);
        dir_tombstones_release(&t->root.tombstones);
        history_free(t->root.history);
        tombstones_free(t->tombstones);
        pthread_cond_destroy(&t->cond);
        mutex_destroy(&t->mtx);
        free(t);
}

size_t tree_nodes(struct tree *t)
{
        tree_lock(t);
        size_t n = t->nnodes;
        tree_unlock(t);
        return n;
}

int64_t tree_ttl_ns(const struct tree *t)
{
        return __atomic_load_n(&t->ttl_ns, __ATOMIC_RELAXED);
}

void tree_set_ttl(struct tree *t, int64_t ttl_ns)
{
        __atomic_store_n(&t->ttl_ns, ttl_ns, __ATOMIC_RELAXED);
}

/* The lock itself is t->mtx, which callers do not see: for the analysis it is tree_mutex. */
void tree_lock(struct tree *t) UNCHECKED_LOCKING
{
        mutex_lock(&t->mtx);
}

void tree_unlock(struct tree *t) UNCHECKED_LOCKING
{
        mutex_unlock(&t->mtx);
}

void tree_is_locked(const struct tree *t) UNCHECKED_LOCKING
{
        mutex_is_locked(&t->mtx);
}

void tree_sleep_locked(struct tree *t) UNCHECKED_LOCKING
{
        mutex_wait(&t->cond, &t->mtx);
}

void tree_wake_if_locked(struct tree *t, bool over) REQUIRES(tree_mutex)
{
        if (over)
                pthread_cond_broadcast(&t->cond);
}

struct node *tree_root(struct tree *t)
{
        return &t->root;
}

static size_t slot_of_locked(const struct tree *t, uint64_t number) REQUIRES(tree_mutex)
{
        return (number ^ number >> 32) & (t->nbuckets - 1);
}

static struct node **bucket_locked(struct tree *t, uint64_t hash) REQUIRES(tree_mutex)
{
        return &t->buckets[slot_of_locked(t, hash)];
}

struct node *tree_find_locked(struct tree *t, struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        uint64_t hash = tree_name_hash(dir, name);
        for (struct node *n = *bucket_locked(t, hash); n; n = n->hash_next)
                if (n->hash == hash && n->parent == dir && !strcmp(n->name, name))
                        return n;
        return NULL;
}

struct node *tree_find_path_locked(struct tree *t, struct node *dir, const char *path)
        REQUIRES(tree_mutex)
{
        char name[STORE_KEY_MAX + 1];

        while (dir && *path) {
                size_t n = strcspn(path, "/");
                if (n >= sizeof name)
                        return NULL;
                memcpy(name, path, n);
                name[n] = 0;
                dir = tree_find_locked(t, dir, name);
                path += n + (path[n] == '/');
        }
        return dir;
}

static void put_in(struct node **list, struct node *n)
{
        n->hash_next = *list;
        *list = n;
}

static void take_out(struct node **list, struct node *n)
{
        while (*list != n)
                list = &(*list)->hash_next;
        *list = n->hash_next;
        n->hash_next = NULL;
}

static void put_in_inodes_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex)
{
        struct node **list = &t->inodes[slot_of_locked(t, n->ino)];
        n->ino_next = *list;
        *list = n;
}

static void take_out_of_inodes_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex)
{
        struct node **list = &t->inodes[slot_of_locked(t, n->ino)];
        while (*list != n)
                list = &(*list)->ino_next;
        *list = n->ino_next;
}

/* `want`, or a number near by that no node has. */
static uint64_t free_ino_locked(struct tree *t, uint64_t want) REQUIRES(tree_mutex)
{
        const struct node *n = NULL;
        do {
                want += n != NULL;
                if (want <= t->root.ino) /* zero is none */
                        want = t->root.ino + 1;
                for (n = t->inodes[slot_of_locked(t, want)]; n && n->ino != want;)
                        n = n->ino_next;
        } while (n);
        return want;
}

uint64_t tree_ino_locked(struct tree *t, const struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        const struct node *n = tree_find_locked(t, (struct node *)(uintptr_t)dir, name);
        return n ? n->ino : free_ino_locked(t, tree_name_hash(dir, name));
}

static void grow_locked(struct tree *t) REQUIRES(tree_mutex)
{
        size_t nold = t->nbuckets, nbuckets = nold * 2;
        struct node **names = calloc(nbuckets, sizeof *names);
        struct node **inodes = calloc(nbuckets, sizeof *inodes);
        if (!names || !inodes) {
                free(names);
                free(inodes);
                return; /* longer chains work too */
        }
        struct node **old_names = t->buckets, **old_inodes = t->inodes;
        t->buckets = names;
        t->inodes = inodes;
        t->nbuckets = nbuckets;
        for (size_t i = 0; i < nold; i++) {
                for (struct node *n = old_names[i], *next; n; n = next) {
                        next = n->hash_next;
                        put_in(bucket_locked(t, n->hash), n);
                }
                for (struct node *n = old_inodes[i], *next; n; n = next) {
                        next = n->ino_next;
                        put_in_inodes_locked(t, n);
                }
        }
        free(old_names);
        free(old_inodes);
}

void tree_remove_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex)
{
        if (!n->hashed)
                return;
        take_out(bucket_locked(t, n->hash), n);
        n->hashed = false;
        tree_note_unknown_locked(n->parent, n->name);
        put_in(&t->loose, n);
}

void tree_replaced_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex)
{
        if (n->hashed)
                tombstone_add_name(t->tombstones, n->hash, CHANGED, tree_now_ns());
        tree_remove_locked(t, n);
}

enum removed tree_removed_since_locked(struct tree *t, struct node *dir, const char *name,
                                       int64_t since_ns) REQUIRES(tree_mutex)
{
        if (tree_find_locked(t, dir, name))
                return NOT_REMOVED;
        return tombstone_find_name(t->tombstones, tree_name_hash(dir, name), since_ns);
}

void tree_note_unknown_locked(struct node *dir, const char *name) REQUIRES(tree_mutex)
{
        tombstone_end_range(&dir->tombstones, name, tree_now_ns());
}

/* The locks on the node and below it are below other directories now. */
static void carry_locks_locked(const struct node *n, struct node *from, struct node *to)
        REQUIRES(tree_mutex)
{
        for (; from; from = from->parent)
                from->locks.below -= n->locks.below;
        for (; to; to = to->parent)
                to->locks.below += n->locks.below;
}

static void note_removed_locked(struct tree *t, const struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        tombstone_add_name(t->tombstones, tree_name_hash(dir, name), REMOVED, tree_now_ns());
}

void tree_note_passed_locked(struct tree *t, const char *key, bool gone) REQUIRES(tree_mutex)
{
        const char *slash = strrchr(key, '/'), *name = slash ? slash + 1 : key;
        CLEANUP(freep) char *path = strndup(key, (size_t)(name - key));
        struct node *dir = path ? tree_find_path_locked(t, &t->root, path) : NULL;
        struct node *n = dir ? tree_find_locked(t, dir, name) : NULL;

        if (n && n->published && !n->dir && !tree_changes_locked(t, n))
                tree_replaced_locked(t, n); /* another host had removed it */
        if (dir && gone)
                note_removed_locked(t, dir, name);
}

void tree_entries_changed_locked(struct node *dir) REQUIRES(tree_mutex)
{
        dir->entries_ns = tree_wall_ns();
}

void tree_drop_name_locked(struct tree *t, struct node *dir, const char *name,
                           const struct node *but) REQUIRES(tree_mutex)
{
        struct node *n = tree_find_locked(t, dir, name);

        tree_entries_changed_locked(dir);
        note_removed_locked(t, dir, name);
        if (n && n != but) {
                n->unlinked = true;
                tree_remove_locked(t, n);
                tree_unref_locked(t, n, recent_nodes_remove(&t->recent, n));
        }
}

/* What lost this name before may be what the kernel gives another one now. */
static void lead_astray_locked(struct tree *t, const struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        for (struct node *n = t->loose; n; n = n->hash_next)
                n->astray = n->astray || (n->parent == dir && !strcmp(n->name, name));
}

void tree_move_locked(struct tree *t, struct node *n, struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        struct node *from = n->parent;
        char *copy = strdup(name);

        tree_drop_name_locked(t, dir, name, n);
        tree_entries_changed_locked(from);
        if (!copy)
                tree_remove_locked(t, n); /* found again by asking */
        lead_astray_locked(t, from, n->name);
        if (!n->hashed) { /* what it was has that name at the store */
                tombstone_end_name(t->tombstones, tree_name_hash(dir, name));
                free(copy);
                return;
        }
        note_removed_locked(t, from, n->name);
        tree_note_unknown_locked(from, n->name);
        n->known_ns = tree_now_ns();
        take_out(bucket_locked(t, n->hash), n);
        free(n->name);
        n->name = copy;
        n->parent = dir;
        n->moved = ++t->moves;
        carry_locks_locked(n, from, dir);
        n->hash = tree_name_hash(dir, name);
        tombstone_end_name(t->tombstones, n->hash);
        put_in(bucket_locked(t, n->hash), n);
        dir->refs++;
        tree_unref_locked(t, from, 1);
}

/* A move counts more than all before it, so the last on the way to the root tells them apart. */
uint64_t tree_place_locked(const struct node *n) REQUIRES(tree_mutex)
{
        uint64_t last = 0;
        for (; n; n = n->parent)
                last = n->moved > last ? n->moved : last;
        return last;
}

uint64_t tree_place(struct tree *t, const struct node *n)
{
        tree_lock(t);
        uint64_t place = tree_place_locked(n);
        tree_unlock(t);
        return place;
}

void tree_pin_locked(struct node *n) REQUIRES(tree_mutex)
{
        n->refs++;
}

void tree_add_recent_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex)
{
        tree_unref_locked(t, recent_nodes_add(&t->recent, n), 1);
}

void tree_unref_locked(struct tree *t, struct node *n, uint64_t count) REQUIRES(tree_mutex)
{
        while (n && n != &t->root) {
                n->refs -= count < n->refs ? count : n->refs;
                if (n->refs)
                        return;
                struct node *parent = n->parent;
                if (n->hashed)
                        tree_note_unknown_locked(parent, n->name);
                take_out(n->hashed ? bucket_locked(t, n->hash) : &t->loose, n);
                take_out_of_inodes_locked(t, n);
                t->nnodes--;
                if (n->orphan_key && t->drop)
                        t->drop(t->drop_arg, TAKE_PTR(n->orphan_key));
                node_free(n);
                n = parent;
                count = 1;
        }
}

static struct node *make_locked(struct tree *t, struct node *dir, const char *name,
                                const struct node_info *info) REQUIRES(tree_mutex)
{
        struct node *n = calloc(1, sizeof *n);
        if (!n)
                return NULL;
        n->parent = dir;
        n->turn = 1;
        n->dir = info->dir;
        n->hash = tree_name_hash(dir, name);
        tombstone_end_name(t->tombstones, n->hash);
        n->ino = free_ino_locked(t, n->hash);
        n->name = strdup(name);
        n->etag = strdup("");
        if (!n->name || !n->etag) {
                node_free(n);
                return NULL;
        }
        n->born = ++t->made;
        if (++t->nnodes > t->nbuckets)
                grow_locked(t);
        put_in(bucket_locked(t, n->hash), n);
        put_in_inodes_locked(t, n);
        n->hashed = true;
        dir->refs++;
        return n;
}

struct node *tree_enter_locked(struct tree *t, struct node *dir, const char *name,
                               const struct node_info *info) REQUIRES(tree_mutex)
{
        struct node *n = tree_find_locked(t, dir, name);

        if (n && tree_ahead_locked(t, n, info->asked_ns)) {
                n->refs++;
                return n; /* another version may be one of ours, of which the reply is under way */
        }
        if (n && (n->dir != info->dir || tree_other_locked(n, info))) {
                tree_remove_locked(t, n);
                n = NULL;
        }
        if (!n && !(n = make_locked(t, dir, name, info)))
                return NULL;
        n->refs++;
        if (n->nreaders && !info->etag[0])
                return n; /* which version this is cannot be told: an open file is what it was */
        if (tree_set_info_locked(t, n, info)) {
                tree_unref_locked(t, n, 1);
                return NULL;
        }
        return n;
}

static int add_path(struct buf *b, const struct node *n)
{
        if (!n->parent)
                return 0;
        int err = add_path(b, n->parent);
        if (!err)
                err = buf_adds(b, n->name);
        return err ? err : n->dir ? buf_addc(b, '/') : 0;
}

char *tree_key_locked(const struct node *n) REQUIRES(tree_mutex)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        add_path(&b, n);
        return buf_take(&b);
}

char *tree_key(struct tree *t, const struct node *n, const char *name)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        tree_lock(t);
        add_path(&b, n);
        tree_unlock(t);
        if (name)
                buf_adds(&b, name);
        return buf_take(&b);
}

void tree_note_open_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex)
{
        if (!n->open_at && (n->file || n->reader)) {
                n->open_at = &t->open;
                n->open_next = t->open;
                t->open = n;
                if (n->open_next)
                        n->open_next->open_at = &n->open_next;
        } else if (n->open_at && !n->file && !n->reader) {
                *n->open_at = n->open_next;
                if (n->open_next)
                        n->open_next->open_at = n->open_at;
                n->open_at = NULL;
        }
}

struct node *tree_open_list_locked(struct tree *t) REQUIRES(tree_mutex)
{
        return t->open;
}

bool tree_is_below(const struct node *n, const struct node *dir)
{
        while (n && n != dir)
                n = n->parent;
        return n != NULL;
}

bool tree_has_unpublished_locked(struct tree *t, const struct node *dir) REQUIRES(tree_mutex)
{
        if (!dir->dir)
                return false;
        for (struct node *n = t->open; n; n = n->open_next)
                if (n->hashed && n->file && !n->published && tree_is_below(n, dir))
                        return true;
        return false;
}
