/* SPDX-License-Identifier: Apache-2.0 */
/* listing.c: see listing.h. */
#include "mount/tree/listing.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text/utf8.h"
#include "mount/tree/tree.h"

#include "base/banned.h"

enum { NAME_BYTES_MAX = 255, PAGES = 6, PAGE_ENTRIES = 1000 };

struct item {
        size_t name, etag, meta; /* offsets in text */
        size_t nmeta;
        bool dir, told, partial;
        uint64_t metageneration;
        uint64_t size;
        int64_t mtime_ns;
};

struct page {
        uint64_t first; /* index of v[0] */
        int64_t asked_ns;
        size_t n;
        struct item *v;
        struct buf text;
};

struct listing {
        atomic_uint refs;
        struct store *store;
        struct tree *tree;
        struct node *dir; /* pinned */
        const char *hidden;
        bool tells;       /* metadata, too */
        struct mutex mtx; /* before the tree's lock */
        struct {
                char *prefix;   /* of the page that was asked for last */
                uint64_t place; /* of the directory then */
                char *last;     /* the last of its keys, less the prefix; or NULL */
                struct page pages[PAGES];
                unsigned npages;
                uint64_t next_index; /* of the first entry of the page to come */
                uint64_t at;         /* the entry wanted last */
                char *continuation;
                struct store_walk walk;
                bool ended, flying;
                int64_t asked_ns; /* for the page on its way */
                bool restart;     /* the page on its way belongs to a listing that was given up */
                uint64_t skipped;
                struct buf
                        above; /* files listed whose names begin the next ones, each with its NUL */
                struct waiters waits;
        } locked GUARDED_BY(&mtx);
};

struct listing *listing_new(struct store *store, struct tree *tree, struct node *dir,
                            const char *hidden)
{
        struct listing *l = calloc(1, sizeof *l);

        if (!l)
                return NULL;
        mutex_unshared(&l->mtx);
        l->locked.place = tree_place(tree, dir); /* before the key: rather asked again */
        l->locked.prefix = tree_key(tree, dir, NULL);
        if (!l->locked.prefix) {
                free(l);
                return NULL;
        }
        atomic_init(&l->refs, 1);
        l->store = store;
        l->tree = tree;
        l->dir = dir;
        tree_lock(tree);
        tree_pin_locked(dir);
        tree_unlock(tree);
        l->hidden = hidden;
        l->tells = store_caps(store) & STORE_CAP_LIST_META;
        l->locked.above = (struct buf)BUF_INIT;
        mutex_init(&l->mtx, LOCK_LISTING);
        return l;
}

static void page_release(struct page *p)
{
        free(p->v);
        buf_release(&p->text);
        *p = (struct page){.text = BUF_INIT};
}

static void forget_locked(struct listing *l) REQUIRES(&l->mtx)
{
        while (l->locked.npages)
                page_release(&l->locked.pages[--l->locked.npages]);
        free(TAKE_PTR(l->locked.continuation));
        free(TAKE_PTR(l->locked.last));
        buf_reset(&l->locked.above);
        l->locked.ended = false;
        l->locked.next_index = l->locked.at = 0;
        l->locked.skipped = 0;
        l->locked.restart = l->locked.flying;
}

void listing_unref(struct listing *l)
{
        if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) > 1)
                return;
        mutex_unshared(&l->mtx);
        forget_locked(l);
        buf_release(&l->locked.above);
        mutex_destroy(&l->mtx);
        free(l->locked.prefix);
        tree_lock(l->tree);
        tree_unref_locked(l->tree, l->dir, 1);
        tree_unlock(l->tree);
        free(l);
}

/* --- what can be a file --- */

static bool can_be_name(const char *name, size_t n)
{
        if (!n || n > NAME_BYTES_MAX || (n == 1 && name[0] == '.') ||
            (n == 2 && name[0] == '.' && name[1] == '.'))
                return false;
        return !memchr(name, '/', n);
}

/* Whether a file of that name came before: an object and a prefix of one name show as the file.
 * Keys come in the order of their bytes, so only files whose names begin the present one need to be
 * remembered. */
static bool shadowed_locked(struct listing *l, const char *name) REQUIRES(&l->mtx)
{
        struct buf *above = &l->locked.above;
        bool same = false;
        size_t shared = 0;

        while (shared < above->len) {
                const char *file = above->p + shared;
                if (strncmp(name, file, strlen(file)))
                        break;
                same = !strcmp(name, file);
                shared += strlen(file) + 1;
        }
        above->len = shared;
        return same;
}

static int add_item_locked(struct listing *l, struct page *p, const struct store_entry *e)
        REQUIRES(&l->mtx)
{
        size_t above = strlen(l->locked.prefix);
        if (strncmp(e->key, l->locked.prefix, above)) {
                l->locked.skipped++; /* not what was asked for */
                return 0;
        }
        const char *name = e->key + above;
        size_t n = strlen(name);

        if (!n && !e->size)
                return 0; /* the directory's own marker */
        if (e->is_prefix && n)
                n--;
        CLEANUP(freep) char *copy = strndup(name, n);
        if (!copy)
                return -ENOMEM;
        if (!above && !strcmp(copy, l->hidden))
                return 0;
        if (!can_be_name(copy, n) || !utf8_valid(copy)) {
                l->locked.skipped++;
                return 0;
        }
        if (shadowed_locked(l, copy) && e->is_prefix)
                return 0;
        if (!e->is_prefix && buf_add(&l->locked.above, copy, n + 1))
                return -ENOMEM;
        struct item *it = &p->v[p->n++];
        *it = (struct item){.name = p->text.len,
                            .dir = e->is_prefix,
                            .told = l->tells && e->meta,
                            .size = e->size};
        it->mtime_ns = e->mtime_ns;
        buf_add(&p->text, copy, n + 1);
        it->etag = p->text.len;
        const char *etag = e->etag ? e->etag : "";
        buf_add(&p->text, etag, strlen(etag) + 1);
        it->meta = p->text.len;
        it->nmeta = e->nmeta;
        it->partial = e->partial;
        it->metageneration = e->metageneration;
        return buf_add(&p->text, e->meta ? e->meta : "", e->nmeta);
}

static int take_page_locked(struct listing *l, const struct store_page *page) REQUIRES(&l->mtx)
{
        if (l->locked.npages == PAGES) {
                page_release(&l->locked.pages[0]);
                memmove(l->locked.pages, l->locked.pages + 1, (PAGES - 1) * sizeof(struct page));
                l->locked.npages--;
        }
        struct page *p = &l->locked.pages[l->locked.npages];
        *p = (struct page){
                .first = l->locked.next_index, .asked_ns = l->locked.asked_ns, .text = BUF_INIT};
        p->v = calloc(page->n + 1, sizeof *p->v);
        if (!p->v)
                return -ENOMEM;
        l->locked.npages++;
        size_t above = strlen(l->locked.prefix);
        for (size_t i = 0; i < page->n; i++) {
                const struct store_entry *e = &page->v[i];
                bool again = !i && e->is_prefix && l->locked.last &&
                             !strncmp(e->key, l->locked.prefix, above) &&
                             !strcmp(e->key + above, l->locked.last);
                int err = again ? 0 : add_item_locked(l, p, e); /* by its object, before */
                if (err)
                        return err;
        }
        l->locked.next_index += p->n;
        const char *last = page->n ? page->v[page->n - 1].key : NULL;
        if (last && !strncmp(last, l->locked.prefix, above)) {
                free(l->locked.last);
                if (!(l->locked.last = strdup(last + above)))
                        return -ENOMEM;
        }
        free(l->locked.continuation);
        l->locked.continuation = page->next ? strdup(page->next) : NULL;
        if (page->next && !l->locked.continuation)
                return -ENOMEM;
        l->locked.ended = !page->next;
        if (l->locked.ended && l->locked.skipped) {
                METRIC_ADD(names_skipped, l->locked.skipped);
                log_warn_of(LOG_ABOUT(.operation = "list", .file = l->locked.prefix,
                                      .remedy = "give them other names with the store's own tools"),
                            "%s: %llu objects have names that no file can have and are not shown",
                            l->locked.prefix[0] ? l->locked.prefix : "/",
                            (unsigned long long)l->locked.skipped);
        }
        return 0;
}

/* --- fetching --- */

static int fetch_locked(struct listing *l) REQUIRES(&l->mtx);

static bool at_hand_locked(const struct listing *l, uint64_t index) REQUIRES(&l->mtx)
{
        return l->locked.ended ? index >= l->locked.next_index ||
                                         (l->locked.npages && index >= l->locked.pages[0].first)
                               : l->locked.npages && index >= l->locked.pages[0].first &&
                                         index < l->locked.next_index;
}

/* Moves those who can go on. */
static void take_ready_locked(struct listing *l, struct waiters *ready) REQUIRES(&l->mtx)
{
        struct waiters all = {0};
        struct waiter *w;

        waiters_move(&all, &l->locked.waits);
        while ((w = waiters_take(&all))) {
                uint64_t index = (CONTAINER_OF(w, struct list_wait, waiter))->index;
                waiters_add(at_hand_locked(l, index) ? ready : &l->locked.waits, w);
        }
}

/* Whether a page more should be on its way: one ahead of a reader who begins, more for one who goes
 * on, so that the store's next answer is never waited for. */
static bool wants_more_locked(const struct listing *l) REQUIRES(&l->mtx)
{
        uint64_t depth = 1 + l->locked.at / PAGE_ENTRIES, ahead = 0;

        for (unsigned i = 0; i < l->locked.npages; i++)
                ahead += l->locked.pages[i].first > l->locked.at;
        return waiters_any(&l->locked.waits) || ahead < (depth < PAGES - 2 ? depth : PAGES - 2);
}

/* Whether the directory has another name than what was listed last. */
static bool has_moved_locked(const struct listing *l) REQUIRES(&l->mtx)
{
        return tree_place(l->tree, l->dir) != l->locked.place &&
               !(store_caps(l->store) & STORE_CAP_UNSORTED);
}

/* A page that came when the directory was called otherwise may lack what was deleted by its old
 * name: it is asked for again. */
static int take_unless_moved_locked(struct listing *l, const struct store_page *page)
        REQUIRES(&l->mtx)
{
        return has_moved_locked(l) ? 0 : take_page_locked(l, page);
}

/* Where the listing goes on by the directory's new name: behind all that was told, also behind what
 * is below the last directory. */
static int follow_locked(struct listing *l, char **start_after) REQUIRES(&l->mtx)
{
        if (!has_moved_locked(l))
                return 0;
        uint64_t place = tree_place(l->tree, l->dir);
        CLEANUP(freep) char *key = tree_key(l->tree, l->dir, NULL);
        const char *last = l->locked.last;

        if (!key)
                return -ENOMEM;
        bool dir = last && *last && last[strlen(last) - 1] == '/';
        if (last && asprintf(start_after, "%s%s%s", key, last, dir ? "\364\217\277\277" : "") < 0)
                return -ENOMEM;
        free(TAKE_PTR(l->locked.continuation));
        free(l->locked.prefix);
        l->locked.prefix = TAKE_PTR(key);
        l->locked.place = place;
        return 0;
}

static void page_came(void *arg, int err, const struct store_page *page)
{
        struct listing *l = arg;
        struct waiters ready = {0}, failed = {0};

        mutex_lock(&l->mtx);
        l->locked.flying = false;
        if (l->locked.restart)
                l->locked.restart = false, err = 0;
        else if (!err)
                err = take_unless_moved_locked(l, page);
        if (!err)
                take_ready_locked(l, &ready);
        /* The last reference is this request's own when the directory was closed. */
        if (!err && wants_more_locked(l) && atomic_load(&l->refs) > 1)
                err = fetch_locked(l);
        if (err) {
                waiters_move(&failed, &l->locked.waits);
                forget_locked(l);
        }
        mutex_unlock(&l->mtx);
        waiters_run(&ready, 0);
        waiters_run(&failed, err);
        listing_unref(l);
}

/* Requests the next page unless one is on its way or there is none. */
static int fetch_locked(struct listing *l) REQUIRES(&l->mtx)
{
        CLEANUP(freep) char *start_after = NULL;

        if (l->locked.flying || l->locked.ended)
                return 0;
        int err = follow_locked(l, &start_after);
        if (err)
                return err;
        struct store_list list = {
                .walk = &l->locked.walk,
                .prefix = l->locked.prefix,
                .delim = "/",
                .continuation = l->locked.continuation,
                .start_after = start_after,
                .max = PAGE_ENTRIES,
        };
        l->locked.asked_ns = tree_now_ns();
        err = store_list(l->store, &list, page_came, l);
        if (err)
                return err;
        l->locked.flying = true;
        atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
        return 0;
}

void listing_want(struct listing *l, struct list_wait *w)
{
        struct waiters ready = {0}, failed = {0};
        int err = 0;

        mutex_lock(&l->mtx);
        if (l->locked.npages && w->index < l->locked.pages[0].first)
                forget_locked(l);
        waiters_add(&l->locked.waits, &w->waiter);
        l->locked.at = w->index;
        take_ready_locked(l, &ready);
        if (wants_more_locked(l) && (err = fetch_locked(l)))
                waiters_move(&failed, &l->locked.waits);
        mutex_unlock(&l->mtx);
        waiters_run(&ready, 0);
        waiters_run(&failed, err);
}

void listing_rewind(struct listing *l)
{
        mutex_lock(&l->mtx);
        forget_locked(l);
        mutex_unlock(&l->mtx);
}

uint64_t listing_each(struct listing *l, uint64_t index,
                      bool (*fn)(void *arg, const struct list_entry *e), void *arg, bool *end)
{
        bool more = true;

        mutex_lock(&l->mtx);
        for (unsigned i = 0; more && i < l->locked.npages; i++) {
                const struct page *p = &l->locked.pages[i];
                while (more && index >= p->first && index < p->first + p->n) {
                        const struct item *it = &p->v[index - p->first];
                        const struct list_entry e = {
                                .name = p->text.p + it->name,
                                .dir = it->dir,
                                .size = it->size,
                                .mtime_ns = it->mtime_ns,
                                .asked_ns = p->asked_ns,
                                .etag = p->text.p + it->etag,
                                .meta = it->told ? p->text.p + it->meta : NULL,
                                .nmeta = it->nmeta,
                                .partial = it->partial,
                                .metageneration = it->metageneration,
                        };
                        more = fn(arg, &e);
                        index += more;
                }
        }
        *end = l->locked.ended && index >= l->locked.next_index;
        mutex_unlock(&l->mtx);
        return index;
}
