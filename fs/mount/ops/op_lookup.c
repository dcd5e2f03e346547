/* SPDX-License-Identifier: Apache-2.0 */
/* op_lookup.c: names.
 *
 * A name is asked for as an object (head) and, when there is none, as a directory (a listing of one
 * entry); a name last seen as a directory the other way round, so that walking a path costs one
 * request a step. Where names were looked for in vain, as programs do that make many files, one
 * listing of what begins with the name answers for both. */
#include "mount/ops/lookup_int.h"
#include "mount/ops/stat_prefetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/metrics.h"
#include "mount/caller/open_intent.h"
#include "mount/ops/heir.h"

#include "base/banned.h"

enum {
        DOUBT = 2, /* names in vain before the next is doubted */
        NEAR = 8,  /* names that may begin with another's and come before what is below that */
        WIDE = 64, /* names around one that is to be made */
        TRIES = 3  /* for who was sent back, while names and attributes change here */
};

/* What an open did not find it makes at once, if it may. */
#define MADE_NS 100000000LL

struct lookup *lookup_new(struct mount *m, struct node *parent, const char *name)
{
        struct lookup *l = calloc(1, sizeof *l);
        if (!l || !(l->name = strdup(name))) {
                free(l);
                return NULL;
        }
        l->m = m;
        l->parent = parent;
        l->begun = tree_now_ns();
        return l;
}

int lookup_make_key(struct lookup *l)
{
        uint64_t place = tree_place(l->m->tree, l->parent); /* before the key: rather asked again */
        char *key = NULL;
        int err = mount_key(l->m, l->parent, l->name, &key);

        if (err)
                return err;
        free(l->key);
        l->key = key;
        l->place = place;
        return 0;
}

void lookup_free(struct lookup *l)
{
        if (!l)
                return;
        free(l->name);
        free(l->key);
        free(l);
}

void lookup_fail(struct lookup *l, int err)
{
        if (!l->req) {
                prefetch_end(l, err, NULL);
                return;
        }
        fuse_reply_err(l->req, -err);
        lookup_free(l);
}

static void lookup_anew(struct lookup *l)
{
        l->asked_head = l->asked_list = l->asked_marker = l->marker = l->listed = false;
        l->doubted = false;
        l->begun = tree_now_ns();
        lookup_ask(l);
}

/* The directory may have got another name while the store was asked: once more. */
static bool lookup_restart_if_moved(struct lookup *l)
{
        if (tree_place(l->m->tree, l->parent) == l->place || lookup_make_key(l))
                return false;
        lookup_anew(l);
        return true;
}

/* The name may have been deleted here while the store was asked: once more. */
static bool lookup_restart_if_removed(struct lookup *l)
{
        tree_lock(l->m->tree);
        bool past =
                !l->again && tree_removed_since_locked(l->m->tree, l->parent, l->name, l->begun);
        tree_unlock(l->m->tree);
        if (past) {
                l->again = true;
                lookup_anew(l);
        }
        return past;
}

static void lookup_granted(struct waiter *w)
{
        struct lookup *l = CONTAINER_OF(w, struct lookup, lock.waiter);

        name_lock_drop(&l->lock);
        if (!lookup_restart_if_moved(l))
                lookup_anew(l);
}

/* Where the store renames objects one by one, what is in a directory that is being renamed may have
 * its new name there and the old one here: once more when that has ended. */
static bool lookup_wait_if_barred(struct lookup *l)
{
        struct mount *m = l->m;

        tree_lock(m->tree);
        bool barred =
                store_caps(m->store) & STORE_CAP_RENAME && name_lock_bars_locked(m, l->parent);
        tree_unlock(m->tree);
        if (!barred)
                return false;
        l->lock = (struct name_lock){.shared = {l->parent}, .waiter.ready = lookup_granted};
        name_lock_take(m, &l->lock);
        return true;
}

/* --- what changes here while the store is asked --- */

static void lookup_idle(struct waiter *w)
{
        struct lookup *l = CONTAINER_OF(w, struct lookup, idle);

        tree_lock(l->m->tree);
        tree_unref_locked(l->m->tree, TAKE_PTR(l->node), 1);
        tree_unlock(l->m->tree);
        if (!lookup_restart_if_moved(l))
                lookup_anew(l);
}

static void lookup_rests(struct waiter *w)
{
        struct lookup *l = CONTAINER_OF(w, struct lookup, lock.waiter);

        name_lock_drop(&l->lock);
        l->idle.ready = lookup_idle;
        attr_sync_wait(l->m, l->node, l->sent_back, &l->idle);
}

/* Whether what is known of the file, and stands against what the store told, may be older than the
 * lookup: its attributes were changed here meanwhile. Who was sent back (heir.h) is to have what
 * was asked for since the open. */
static bool lookup_doubts_locked(struct lookup *l, struct node *n) REQUIRES(tree_mutex)
{
        bool changes = n->file && tree_changes_locked(l->m->tree, n);
        bool changed = n->attr_sync || n->known_ns > l->begun;
        bool past = l->sent_back ? n->stood_ns < l->since : changed && n->stood_ns < l->begun;

        if (n->dir || changes || !past || l->tries++ == TRIES)
                return false;
        tree_pin_locked(n);
        l->node = n;
        return true;
}

/* Then the store is asked once more, when nothing changes any more. */
static void lookup_later(struct lookup *l)
{
        l->lock = (struct name_lock){.shared = {l->node}, .waiter.ready = lookup_rests};
        name_lock_take(l->m, &l->lock);
}

/* Who was sent back opens this. Somebody else, later, asks first. */
static void lookup_tell_locked(struct lookup *l, const struct node *n, struct fuse_entry_param *e)
        REQUIRES(tree_mutex)
{
        if (!l->sent_back || n->dir || n->stood_ns < l->since)
                return;
        heir_tell_locked(l->m, fuse_req_ctx(l->req)->pid, n);
        e->entry_timeout = 0;
}

bool op_absent_told_locked(struct mount *m, pid_t tid, const struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        uint64_t hash = tree_name_hash(dir, name);

        for (unsigned i = 0; tid && i < MOUNT_ABSENT; i++) {
                if (m->absent.v[i].tid != tid || m->absent.v[i].name != hash)
                        continue;
                m->absent.v[i].tid = 0;
                return tree_now_ns() - m->absent.v[i].told_ns < MADE_NS;
        }
        return false;
}

static void tell_absent_locked(struct lookup *l) REQUIRES(tree_mutex)
{
        unsigned oldest = l->m->absent.next++ % MOUNT_ABSENT;

        l->m->absent.v[oldest].tid = fuse_req_ctx(l->req)->pid;
        l->m->absent.v[oldest].name = tree_name_hash(l->parent, l->name);
        l->m->absent.v[oldest].told_ns = tree_now_ns();
}

/* Neither an object nor a directory at the store. The kernel is not to remember that, since it
 * would tell whoever opens the name, who is to see what another host has made since; here it is
 * remembered for all others. A directory stays while a file in it is not published yet. */
static void lookup_absent(struct lookup *l)
{
        struct fuse_entry_param e = {.ino = 0};

        if (lookup_wait_if_barred(l) || lookup_restart_if_moved(l))
                return;
        tree_lock(l->m->tree);
        struct node *n = tree_find_locked(l->m->tree, l->parent, l->name);
        l->parent->absent += l->parent->absent < DOUBT;
        bool here = n && (n->known_ns > l->begun || name_lock_rests_locked(l->m, n) ||
                          tree_has_unpublished_locked(l->m->tree, n));
        if (here && lookup_doubts_locked(l, n)) {
                tree_unlock(l->m->tree);
                lookup_later(l);
                return;
        }
        if (here) {
                tree_pin_locked(n);
                op_entry_locked(l->m, n, &e);
        } else if (n && !tree_changes_locked(l->m->tree, n))
                tree_replaced_locked(l->m->tree, n);
        if (!e.ino)
                heir_over_locked(l->m, fuse_req_ctx(l->req)->pid);
        if (!e.ino)
                tombstone_add_missing(&l->parent->tombstones, l->name, l->begun);
        if (!e.ino && l->may_create)
                tell_absent_locked(l);
        tree_unlock(l->m->tree);
        op_reply_entry(l->req, l->m, &e);
        lookup_free(l);
}

static void lookup_found(struct lookup *l, struct node_info *info)
{
        struct fuse_entry_param e;

        if (!l->req) {
                prefetch_end(l, 0, info);
                return;
        }
        if (lookup_restart_if_moved(l) || lookup_restart_if_removed(l))
                return;
        info->asked_ns = l->begun;
        tree_lock(l->m->tree);
        l->parent->absent = 0;
        struct node *n = tree_find_locked(l->m->tree, l->parent, l->name);
        if (n && name_lock_rests_locked(l->m, n))
                tree_pin_locked(n);
        else
                n = tree_enter_locked(l->m->tree, l->parent, l->name, info);
        if (n && lookup_doubts_locked(l, n)) {
                tree_unref_locked(l->m->tree, n, 1);
                tree_unlock(l->m->tree);
                lookup_later(l);
                return;
        }
        if (n) {
                op_entry_locked(l->m, n, &e);
                lookup_tell_locked(l, n, &e);
        }
        tree_unlock(l->m->tree);
        if (!n)
                fuse_reply_err(l->req, ENOMEM);
        else
                op_reply_entry(l->req, l->m, &e);
        lookup_free(l);
}

/* With the attributes that the object or marker carries. */
static void lookup_told(struct lookup *l, const struct store_object *obj, bool dir)
{
        struct node_info info = op_info(obj);
        struct attr attr;

        if (attr_from_object(obj, dir, &attr)) {
                lookup_fail(l, -ENOMEM);
                return;
        }
        info.attr = &attr;
        info.dir = info.marker = dir;
        lookup_found(l, &info);
        attr_release(&attr);
}

static void lookup_passed(struct waiter *w)
{
        lookup_anew(CONTAINER_OF(w, struct lookup, passed));
}

static void lookup_headed(void *arg, int err, const struct store_object *obj)
{
        struct lookup *l = arg;

        l->passed.ready = lookup_passed;
        switch (err ? PASSES_NOT : name_lock_passing(l->m, l->key, obj->etag, &l->passed)) {
        case PASSES_MAYBE:
                return;
        case PASSES:
                err = -ENOENT;
                break;
        case PASSES_NOT:
                break;
        }
        l->asked_head = true;
        if (err == -ENOENT)
                lookup_ask(l);
        else if (err)
                lookup_fail(l, err);
        else
                lookup_told(l, obj, false);
}

static void lookup_marker(void *arg, int err, const struct store_object *obj)
{
        struct lookup *l = arg;
        l->asked_marker = true;
        l->marker = false;
        if (err == -ENOENT)
                lookup_ask(l);
        else if (err)
                lookup_fail(l, err);
        else
                lookup_told(l, obj, true);
}

/* A directory without a marker, which carries nothing. */
static void lookup_implicit(struct lookup *l)
{
        static const struct attr none;
        struct node_info info = {.dir = true, .etag = "", .attr = &none};
        lookup_found(l, &info);
}

static void lookup_listed(void *arg, int err, const struct store_page *page)
{
        struct lookup *l = arg;
        size_t n = strlen(l->key);

        l->asked_list = true;
        if (err) {
                lookup_fail(l, err);
                return;
        }
        l->listed = page->n;
        l->marker = page->n && !l->asked_marker && !strncmp(page->v[0].key, l->key, n) &&
                    !strcmp(page->v[0].key + n, "/"); /* in the order of keys it is the first */
        lookup_ask(l);
}

/* The name less its last character: a little before it in the order of names. */
static char *begin_of(const char *name)
{
        size_t n = strlen(name);
        while (n && (name[--n] & 0xc0) == 0x80)
                continue;
        return strndup(name, n);
}

/* What begins with the name: the name itself comes first, then names as "a.b" beside "a", then what
 * is below it. */
static void lookup_near(void *arg, int err, const struct store_page *page)
{
        struct lookup *l = arg;
        bool all = !err && !page->next, file = false, dir = false;
        size_t n = strlen(l->key);

        l->doubted = false;
        if (err) {
                lookup_fail(l, err);
                return;
        }
        for (size_t i = 0; i < page->n; i++) {
                const char *key = page->v[i].key;
                if (strncmp(key, l->key, n)) {
                        all = all || strcmp(key, l->key) > 0;
                        continue;
                }
                const char *rest = key + n;
                file = file || !*rest;
                dir = dir || !strcmp(rest, "/");
                all = all || strcmp(rest, "/") > 0;
        }
        if (!file && (dir || all))
                l->asked_head = l->asked_list = true;
        if (!file && dir)
                l->marker = l->listed = true; /* there may be one */
        lookup_ask(l);
}

/* What is around the name, in order: there is nothing between the last that comes before it and the
 * first behind it. */
static void note_range(struct lookup *l, size_t above, const char *from,
                       const struct store_page *page)
{
        const char *to = NULL;

        for (size_t i = 0; i < page->n && !to; i++) {
                const char *key = page->v[i].key;
                if (strcmp(key, l->key) > 0)
                        to = key + above;
                else if (strcmp(key + above, from) > 0)
                        from = key + above;
        }
        if (!to && page->next)
                return;
        tree_lock(l->m->tree);
        tombstone_add_range(&l->parent->tombstones, from, to, l->begun);
        tree_unlock(l->m->tree);
}

static void lookup_wide(void *arg, int err, const struct store_page *page)
{
        struct lookup *l = arg;
        size_t above = strlen(l->key) - strlen(l->name);
        CLEANUP(freep) char *from = begin_of(l->name);

        if (!err && from)
                note_range(l, above, from, page);
        lookup_near(l, err, page);
}

static int ask_near(struct lookup *l)
{
        struct store_list list = {.prefix = l->key, .delim = "/", .max = NEAR};
        if (!l->creates)
                return store_list(l->m->store, &list, lookup_near, l);
        size_t above = strlen(l->key) - strlen(l->name);
        CLEANUP(freep) char *dir = strndup(l->key, above), *after = begin_of(l->key);
        if (!dir || !after)
                return -ENOMEM;
        list = (struct store_list){.prefix = dir, .delim = "/", .max = WIDE};
        list.start_after = strlen(after) > above ? after : NULL;
        return store_list(l->m->store, &list, lookup_wide, l);
}

/* What lies below the name, or its marker. */
static int ask_below(struct lookup *l, bool marker)
{
        CLEANUP(freep) char *prefix = NULL;
        if (asprintf(&prefix, "%s/", l->key) < 0)
                return -ENOMEM;
        struct store_list list = {.prefix = prefix, .max = 1};
        return marker ? store_head(l->m->store, prefix, lookup_marker, l)
                      : store_list(l->m->store, &list, lookup_listed, l);
}

/* Of a name asked for ahead: it is not there any more, or not what it was. */
static bool lookup_in_vain(const struct lookup *l)
{
        return !l->req && (l->was_dir ? l->asked_list && !l->listed : l->asked_head);
}

void lookup_ask(struct lookup *l)
{
        int err;

        if (lookup_in_vain(l)) {
                lookup_fail(l, -ENOENT);
                return;
        }
        if (l->req && request_ended(l->request)) {
                lookup_fail(l, -EINTR);
                return;
        }
        if (l->doubted) {
                err = ask_near(l);
        } else if (l->marker) {
                err = ask_below(l, true);
        } else if (l->listed) {
                lookup_implicit(l);
                return;
        } else if (!l->asked_list && (l->asked_head || l->asked_marker || l->was_dir)) {
                err = ask_below(l, false);
        } else if (!l->asked_head) {
                err = store_head(l->m->store, l->key, lookup_headed, l);
        } else {
                lookup_absent(l);
                return;
        }
        if (err)
                lookup_fail(l, err);
}

/* What is known of the name without asking the store, which is asked for who was sent back. */
static bool lookup_local_locked(struct mount *m, struct node *n, bool sent_back,
                                struct fuse_entry_param *e) REQUIRES(tree_mutex)
{
        if (!n || !op_known_locked(m, n) ||
            (sent_back && !n->dir && !(n->file && tree_changes_locked(m->tree, n))))
                return false;
        tree_pin_locked(n);
        op_entry_locked(m, n, e);
        return true;
}

/* Whether the call makes the name. While the caller's memory is read, the caller may die: it is
 * answered then, for its memory may be such that it cannot be read before it has died. */
static bool lookup_is_made(struct lookup *l)
{
        if (!l->may_create || !(l->doubted || l->missing))
                return false;
        request_let(l->m, l->request);
        bool makes = caller_creates(fuse_req_ctx(l->req)->pid, &l->call, l->name);
        request_keep(l->m, l->request);
        return makes;
}

/* Whether the name is to be made and was not there a moment ago. Whoever only looks is told what
 * others have made since. */
static bool lookup_makes(struct lookup *l)
{
        struct mount *m = l->m;
        struct node *dir = l->parent;
        int64_t since = tree_now_ns() - tree_ttl_ns(m->tree);

        l->creates = lookup_is_made(l);
        if (!l->creates)
                return false;
        tree_lock(m->tree);
        bool makes = !tree_find_locked(m->tree, dir, l->name) &&
                     (tombstone_in_range(&dir->tombstones, l->name, since) ||
                      tombstone_is_missing(&dir->tombstones, l->name, since));
        tree_unlock(m->tree);
        return makes;
}

void lookup_begin(struct lookup *l)
{
        struct mount *m = l->m;
        struct fuse_entry_param e;

        tree_lock(m->tree);
        struct node *n = tree_find_locked(m->tree, l->parent, l->name);
        bool known = lookup_local_locked(m, n, l->sent_back, &e);
        bool joins = !known && !l->sent_back && prefetch_join_locked(l);
        if (!known && !joins) {
                l->begun = tree_now_ns();
                l->was_dir = n ? n->dir : l->was_dir;
                l->marker = l->was_dir && (!n || n->marker || !n->attr_known);
                l->doubted = !n && !l->was_dir && l->parent->absent == DOUBT &&
                             !(store_caps(m->store) & STORE_CAP_UNSORTED);
        }
        tree_unlock(m->tree);
        if (joins)
                return;
        if (known) {
                op_reply_entry(l->req, l->m, &e);
                lookup_free(l);
        } else if (!l->sent_back && lookup_makes(l)) {
                lookup_fail(l, -ENOENT);
        } else {
                lookup_ask(l);
        }
}

/* Whether other threads take requests while this one reads what a program says, which may lie in a
 * page that is to be read from this mount. A ring's are taken by its core's thread alone. */
static bool others_serve(const struct mount *m)
{
        return atomic_load_explicit(&m->takers, memory_order_relaxed) > 1 && !m->rings;
}

static bool is_missing_locked(struct mount *m, const struct node *dir, const char *name)
        REQUIRES(tree_mutex)
{
        int64_t since = tree_now_ns() - tree_ttl_ns(m->tree);

        return m->params.consistency != STRICT &&
               tombstone_is_missing(&dir->tombstones, name, since);
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
        struct mount *m = op_mount(req);
        struct node *dir = op_node(m, parent);
        struct fuse_entry_param e;
        bool was_dir = false;

        tree_lock(m->tree);
        struct node *n = tree_find_locked(m->tree, dir, name);
        bool back = heir_looks_up_locked(m, fuse_req_ctx(req)->pid);
        bool known = lookup_local_locked(m, n, back, &e);
        struct lookup *ahead = prefetch_look_locked(m, dir, name, n, known, &was_dir);
        bool missing = !n && !back && is_missing_locked(m, dir, name);
        tree_unlock(m->tree);
        bool gone = missing && caller_only_looks(fuse_req_ctx(req)->pid);
        METRIC_ADD(lookups_known, known || gone);
        METRIC_ADD(lookups_asked, !known && !gone);
        struct lookup *l = known || gone ? NULL : lookup_new(m, dir, name);
        int err = l ? lookup_make_key(l) : -ENOMEM;
        if (known) {
                op_reply_entry(req, m, &e);
        } else if (gone) {
                fuse_reply_err(req, ENOENT);
        } else if (err) {
                fuse_reply_err(req, err == -EILSEQ || err == -EPERM ? ENOENT : -err);
                lookup_free(l);
        } else {
                l->req = req;
                l->request = request_now();
                l->was_dir = was_dir;
                l->missing = missing;
                l->sent_back = back;
                l->since = l->begun;
                l->may_create = m->params.consistency != STRICT && others_serve(m) &&
                                caller_may_create(fuse_req_ctx(req)->pid, &l->call);
                lookup_begin(l);
        }
        prefetch_ask(ahead);
}
