/* SPDX-License-Identifier: Apache-2.0 */
/* purge.c: deletes what has a copy elsewhere.
 *
 * Two listings in the order of keys are read side by side, a page of each at a time. What was added
 * or replaced after it was copied has no copy, or one of another version, and stays. One request is
 * under way at a time, so nothing here is locked: a batch is a thousand objects. */
#include "move/move_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

enum { BATCH = 1000 };

struct purging;

/* One of the two listings: a page of it, and how far it was read. */
struct side {
        struct purging *p;
        char *prefix, *next;
        struct buf names; /* those of the page and their versions, each with its NUL */
        int64_t *mtime;
        size_t n, i, at; /* entries, the next one, where its name begins */
        bool begun;
};

struct purging {
        struct purge job;
        struct side victims, twins;
        int err; /* the first */
        char *keys[BATCH], *versions[BATCH];
        size_t nkeys;
};

static void side_release(struct side *x)
{
        free(x->prefix);
        free(x->next);
        free(x->mtime);
        buf_release(&x->names);
}

static void forget_batch(struct purging *p)
{
        while (p->nkeys) {
                free(p->keys[--p->nkeys]);
                free(p->versions[p->nkeys]);
        }
}

static void purging_free(struct purging *p)
{
        if (!p)
                return;
        forget_batch(p);
        side_release(&p->victims);
        side_release(&p->twins);
        free(p);
}

static void purging_end(struct purging *p, int err)
{
        p->job.done(p->job.arg, p->err ? p->err : err);
        purging_free(p);
}

static void walk(struct purging *p);

static int take_page(struct side *x, const struct store_page *page)
{
        size_t skip = strlen(x->prefix);

        buf_reset(&x->names);
        free(x->mtime);
        x->mtime = calloc(page->n + 1, sizeof *x->mtime);
        x->n = x->i = x->at = 0;
        for (size_t i = 0; x->mtime && i < page->n; i++) {
                const char *name = page->v[i].key + skip;
                const char *etag = page->v[i].etag ? page->v[i].etag : "";
                if (buf_add(&x->names, name, strlen(name) + 1) ||
                    buf_add(&x->names, etag, strlen(etag) + 1))
                        return -ENOMEM;
                x->mtime[x->n++] = page->v[i].mtime_ns;
        }
        free(x->next);
        x->next = page->next ? strdup(page->next) : NULL;
        return x->mtime && (x->next || !page->next) ? 0 : -ENOMEM;
}

static void page_came(void *arg, int err, const struct store_page *page)
{
        struct side *x = arg;
        if (!err)
                err = take_page(x, page);
        if (err)
                purging_end(x->p, err);
        else
                walk(x->p);
}

/* Whether there is a present entry. False when the next page was asked for, or *ended: a listing
 * that fails ends there. */
static bool look(struct side *x, bool *ended)
{
        *ended = false;
        if (x->i < x->n)
                return true;
        *ended = x->begun && !x->next;
        if (*ended)
                return false;
        struct store_list list = {.prefix = x->prefix, .continuation = x->next};
        x->begun = true;
        int err = store_list(x->p->job.store, &list, page_came, x);
        if (err) {
                x->p->err = err;
                free(TAKE_PTR(x->next));
                *ended = true;
        }
        return false;
}

static const char *name_of(const struct side *x)
{
        return x->names.p + x->at;
}

static const char *etag_of(const struct side *x)
{
        return name_of(x) + strlen(name_of(x)) + 1;
}

static void advance(struct side *x)
{
        x->at += strlen(name_of(x)) + 1 + strlen(etag_of(x)) + 1;
        x->i++;
}

static void batch_deleted(void *arg, int err, const struct store_object *obj)
{
        struct purging *p = arg;
        (void)obj;
        forget_batch(p);
        if (!p->err)
                p->err = err;
        walk(p);
}

static void send_batch(struct purging *p)
{
        int err = store_delete_many(p->job.store, (const char *const *)p->keys,
                                    (const char *const *)p->versions, p->nkeys, batch_deleted, p);
        if (err)
                purging_end(p, err);
}

/* The twin's entry of the victim's name: 1 there is one, 0 none, -1 not known yet. */
static int find_twin(struct purging *p)
{
        const char *name = name_of(&p->victims);
        bool ended;

        while (look(&p->twins, &ended)) {
                int order = strcmp(name_of(&p->twins), name);
                if (order >= 0)
                        return !order;
                advance(&p->twins);
        }
        return ended ? 0 : -1;
}

/* Whether the victim, which has a twin, is to go. */
static bool is_to_go(const struct purging *p)
{
        const struct side *v = &p->victims, *t = &p->twins;
        const struct copied *copied = p->job.copied;

        if (copied && !copied->partial)
                return copied_has(copied, name_of(v), etag_of(v));
        return p->job.are_copies || t->mtime[t->i] >= v->mtime[v->i];
}

/* What is listed goes, and not what another host puts there until then. */
static int add_victim(struct purging *p)
{
        const struct side *v = &p->victims;
        char *key = NULL, *version = strdup(etag_of(v));

        if (!version || asprintf(&key, "%s%s", v->prefix, name_of(v)) < 0) {
                free(version);
                return -ENOMEM;
        }
        p->keys[p->nkeys] = key;
        p->versions[p->nkeys++] = version;
        return 0;
}

/* Goes on until a page has to come or a batch has to go. */
static void walk(struct purging *p)
{
        struct side *v = &p->victims;
        bool ended = false;

        while (p->nkeys < BATCH && look(v, &ended)) {
                int found = find_twin(p);
                if (found < 0)
                        return;
                if (found && is_to_go(p) && add_victim(p)) {
                        purging_end(p, -ENOMEM);
                        return;
                }
                advance(v);
        }
        if (p->nkeys == BATCH || (ended && p->nkeys))
                send_batch(p);
        else if (ended)
                purging_end(p, 0);
}

int purge_start(const struct purge *job)
{
        struct purging *p = calloc(1, sizeof *p);
        if (!p)
                return -ENOMEM;
        p->job = *job;
        p->victims = (struct side){.p = p, .prefix = strdup(job->victims), .names = BUF_INIT};
        p->twins = (struct side){.p = p, .prefix = strdup(job->twins), .names = BUF_INIT};
        if (!p->victims.prefix || !p->twins.prefix) {
                purging_free(p);
                return -ENOMEM;
        }
        struct store_list list = {.prefix = p->victims.prefix};
        p->victims.begun = true;
        int err = store_list(job->store, &list, page_came, &p->victims);
        if (err)
                purging_free(p);
        return err;
}
