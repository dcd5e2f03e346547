/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: see tree.h. A chained hash table by (parent, name) that doubles as it fills. */
#include "mount/tree.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

#define SECOND 1000000000LL

struct tree {
        pthread_mutex_t mtx;
        int64_t ttl_ns;
        struct node root;
        size_t nbuckets, nhashed; /* nbuckets is a power of two */
        struct node **buckets;
        struct node *open;  /* see tree_note_open_locked() */
        struct node *loose; /* not hashed, still referred to; linked by hash_next */
};

static int64_t now_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * SECOND + ts.tv_nsec;
}

/* FNV-1a with the 64-bit offset basis and prime of its authors. */
static uint64_t hash_bytes(uint64_t h, const char *s)
{
        for (; *s; s++)
                h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
        return h;
}

static uint64_t name_hash(const struct node *dir, const char *name)
{
        return hash_bytes(dir->ino ^ 0xcbf29ce484222325ULL, name);
}

uint64_t tree_ino(const struct node *dir, const char *name)
{
        return name_hash(dir, name);
}

struct tree *tree_new(int64_t ttl_ns)
{
        struct tree *t = calloc(1, sizeof *t);
        if (!t)
                return NULL;
        t->nbuckets = 256;
        t->buckets = calloc(t->nbuckets, sizeof *t->buckets);
        if (!t->buckets) {
                free(t);
                return NULL;
        }
        t->ttl_ns = ttl_ns;
        t->root = (struct node){.ino = 1, .refs = 1, .dir = true, .published = true};
        pthread_mutex_init(&t->mtx, NULL);
        return t;
}

static void node_free(struct node *n)
{
        free(n->name);
        free(n->etag);
        free(n->cached_etag);
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
        for (size_t i = 0; i < t->nbuckets; i++)
                free_list(t->buckets[i]);
        free_list(t->loose);
        free(t->buckets);
        pthread_mutex_destroy(&t->mtx);
        free(t);
}

void tree_lock(struct tree *t)
{
        pthread_mutex_lock(&t->mtx);
}

void tree_unlock(struct tree *t)
{
        pthread_mutex_unlock(&t->mtx);
}

struct node *tree_root(struct tree *t)
{
        return &t->root;
}

static struct node **bucket(struct tree *t, uint64_t ino)
{
        return &t->buckets[(ino ^ ino >> 32) & (t->nbuckets - 1)];
}

struct node *tree_find_locked(struct tree *t, struct node *dir, const char *name)
{
        uint64_t ino = name_hash(dir, name);
        for (struct node *n = *bucket(t, ino); n; n = n->hash_next)
                if (n->ino == ino && n->parent == dir && !strcmp(n->name, name))
                        return n;
        return NULL;
}

static void grow_locked(struct tree *t)
{
        size_t nbuckets = t->nbuckets * 2;
        struct node **fresh = calloc(nbuckets, sizeof *fresh);
        if (!fresh)
                return; /* longer chains work too */
        struct node **old = t->buckets;
        size_t nold = t->nbuckets;
        t->buckets = fresh;
        t->nbuckets = nbuckets;
        for (size_t i = 0; i < nold; i++) {
                for (struct node *n = old[i], *next; n; n = next) {
                        next = n->hash_next;
                        struct node **b = bucket(t, n->ino);
                        n->hash_next = *b;
                        *b = n;
                }
        }
        free(old);
}

static void take_out(struct node **list, struct node *n)
{
        while (*list != n)
                list = &(*list)->hash_next;
        *list = n->hash_next;
        n->hash_next = NULL;
}

void tree_remove_locked(struct tree *t, struct node *n)
{
        if (!n->hashed)
                return;
        take_out(bucket(t, n->ino), n);
        n->hashed = false;
        t->nhashed--;
        n->hash_next = t->loose;
        t->loose = n;
}

void tree_pin_locked(struct node *n)
{
        n->refs++;
}

void tree_unref_locked(struct tree *t, struct node *n, uint64_t count)
{
        while (n && n != &t->root) {
                n->refs -= count < n->refs ? count : n->refs;
                if (n->refs)
                        return;
                struct node *parent = n->parent;
                if (n->hashed) {
                        take_out(bucket(t, n->ino), n);
                        t->nhashed--;
                } else {
                        take_out(&t->loose, n);
                }
                node_free(n);
                n = parent;
                count = 1;
        }
}

bool tree_fresh_locked(const struct node *n)
{
        return now_ns() < n->fresh_until;
}

int tree_set_info_locked(struct tree *t, struct node *n, const struct node_info *info)
{
        n->fresh_until = now_ns() + t->ttl_ns;
        n->published = true;
        bool same = n->etag && info->etag[0] && !strcmp(n->etag, info->etag);
        /* Listings tell fractions of a second, heads do not: a version has one time. */
        if (!same || n->mtime_ns / SECOND != info->mtime_ns / SECOND)
                n->mtime_ns = info->mtime_ns;
        if (n->dir)
                return 0;
        if (same && n->complete && !info->complete)
                return 0; /* a listing knows less of the same version */
        char *etag = strdup(info->etag);
        if (!etag)
                return -1;
        free(n->etag);
        n->etag = etag;
        n->size = info->size;
        n->complete = info->complete;
        n->has_crc = info->has_crc;
        n->crc32c = info->crc32c;
        return 0;
}

static struct node *make_locked(struct tree *t, struct node *dir, const char *name,
                                const struct node_info *info)
{
        struct node *n = calloc(1, sizeof *n);
        if (!n)
                return NULL;
        n->parent = dir;
        n->dir = info->dir;
        n->ino = tree_ino(dir, name);
        n->name = strdup(name);
        n->etag = strdup("");
        if (!n->name || !n->etag) {
                node_free(n);
                return NULL;
        }
        if (++t->nhashed > t->nbuckets)
                grow_locked(t);
        struct node **b = bucket(t, n->ino);
        n->hash_next = *b;
        *b = n;
        n->hashed = true;
        dir->refs++;
        return n;
}

struct node *tree_enter_locked(struct tree *t, struct node *dir, const char *name,
                               const struct node_info *info)
{
        struct node *n = tree_find_locked(t, dir, name);

        if (n && n->dir != info->dir && !n->writer) {
                tree_remove_locked(t, n);
                n = NULL;
        }
        if (n && n->nreaders && !n->dir && info->etag[0] && strcmp(n->etag, info->etag)) {
                tree_remove_locked(t, n); /* replaced elsewhere while open here */
                n = NULL;
        }
        if (!n && !(n = make_locked(t, dir, name, info)))
                return NULL;
        n->refs++;
        if (n->nreaders && !info->etag[0])
                return n; /* which version this is cannot be told: an open file is what it was */
        if (!n->writer && tree_set_info_locked(t, n, info)) {
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

void tree_note_open_locked(struct tree *t, struct node *n)
{
        bool open = n->writer || n->reader;
        if (open == n->listed)
                return;
        n->listed = open;
        if (open) {
                n->open_next = t->open;
                t->open = n;
                return;
        }
        struct node **pp = &t->open;
        while (*pp != n)
                pp = &(*pp)->open_next;
        *pp = n->open_next;
}

struct node *tree_open_list_locked(struct tree *t)
{
        return t->open;
}

static bool is_below(const struct node *n, const struct node *dir)
{
        while (n && n != dir)
                n = n->parent;
        return n != NULL;
}

bool tree_has_unpublished_locked(struct tree *t, const struct node *dir)
{
        if (!dir->dir)
                return false;
        for (struct node *n = t->open; n; n = n->open_next)
                if (n->hashed && n->writer && !n->published && is_below(n, dir))
                        return true;
        return false;
}
