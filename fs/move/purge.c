/* SPDX-License-Identifier: Apache-2.0 */
/* purge.c: deletes what has a copy elsewhere.
 *
 * Two listings in the order of keys are read side by side, a page of each at a time. What was added
 * or replaced after it was copied was not copied, or in another version, and stays. One request is
 * under way at a time, so nothing here is locked: a batch is a page at most.
 *
 * An original whose copy is not there any more goes, too: another host took the copy away. It may
 * have moved it back, and on S3 only its time tells then that it is not the original. So it is
 * looked at after its copy was missed: what is moved is by its new name before it leaves the old
 * one. */
#include "move/move_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mutex.h"
#include "move/compare.h"

#include "base/banned.h"

enum { BATCH = 1000 };

struct purging;

/* Of a victim; which one is UNSURE, its bytes tell. */
enum verdict { STAYS, GOES, UNSURE };

struct listed {
        int64_t mtime_ns;
        uint64_t size;
};

/* One of the two listings: a page of it, and how far it was read. */
struct side {
        struct purging *p;
        char *prefix, *next;
        struct store_walk walk;
        char *behind;     /* key that the page comes after, or NULL */
        struct buf names; /* those of the page and their versions, each with its NUL */
        struct listed *v;
        size_t n, i, at; /* entries, the next one, where its name begins */
        size_t last;     /* where that of the one before it does */
        unsigned turn;   /* of the page, among those of both */
        bool begun, cut; /* the rest could not be listed */
};

struct purging {
        struct purge job;
        struct side victims, twins;
        int err; /* the first */
        unsigned turns;
        enum verdict compared; /* of the present victim, by its bytes; else UNSURE */
        char *keys[BATCH], *versions[BATCH];
        size_t nkeys;
};

static void side_release(struct side *x)
{
        free(x->prefix);
        free(x->next);
        free(x->behind);
        free(x->v);
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
        mutex_check_none();
        p->job.done(p->job.arg, p->err ? p->err : err);
        purging_free(p);
}

static void walk(struct purging *p);

/* The page ends before the present entry. */
static int end_page(struct side *x)
{
        char *key = NULL;

        if (x->i && asprintf(&key, "%s%s", x->prefix, x->names.p + x->last) < 0)
                return -ENOMEM;
        if (key) {
                free(x->behind);
                x->behind = key;
        }
        x->n = x->i = 0;
        return 0;
}

static int take_page(struct side *x, const struct store_page *page)
{
        size_t skip = strlen(x->prefix);

        if (end_page(x))
                return -ENOMEM;
        x->turn = ++x->p->turns;
        buf_reset(&x->names);
        free(x->v);
        x->v = calloc(page->n + 1, sizeof *x->v);
        x->n = x->i = x->at = 0;
        for (size_t i = 0; x->v && i < page->n; i++) {
                const char *name = page->v[i].key + skip;
                const char *etag = page->v[i].etag ? page->v[i].etag : "";
                if (buf_add(&x->names, name, strlen(name) + 1) ||
                    buf_add(&x->names, etag, strlen(etag) + 1))
                        return -ENOMEM;
                x->v[x->n].mtime_ns = page->v[i].mtime_ns;
                x->v[x->n++].size = page->v[i].size;
        }
        free(x->next);
        x->next = page->next ? strdup(page->next) : NULL;
        return x->v && (x->next || !page->next) ? 0 : -ENOMEM;
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
        struct store_list list = {.walk = &x->walk,
                                  .prefix = x->prefix,
                                  .continuation = x->next,
                                  .start_after = x->next ? NULL : x->behind};
        x->begun = true;
        int err = store_list(x->p->job.store, &list, page_came, x);
        if (err) {
                x->p->err = err;
                free(TAKE_PTR(x->next));
                *ended = x->cut = true;
        }
        return false;
}

/* The present entry and those behind it are to be listed once more. */
static int look_again(struct side *x)
{
        free(TAKE_PTR(x->next));
        x->begun = false;
        return end_page(x);
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
        x->last = x->at;
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

/* Whether the twins' present entry is known, or there is none, without another page. */
static bool is_here(const struct side *x)
{
        return x->i < x->n || (x->begun && !x->next);
}

enum twin { TWIN_NONE, TWIN_THERE, TWIN_ASKED, TWIN_LATER };

/* The twin's entry of the victim's name. TWIN_ASKED: a page was asked for; TWIN_LATER: one would
 * have to be, and a batch is to go before. */
static enum twin find_twin(struct purging *p)
{
        const char *name = name_of(&p->victims);
        bool ended;

        while (is_here(&p->twins) || !p->nkeys) {
                if (!look(&p->twins, &ended))
                        return ended ? TWIN_NONE : TWIN_ASKED;
                int order = strcmp(name_of(&p->twins), name);
                if (order >= 0)
                        return order ? TWIN_NONE : TWIN_THERE;
                advance(&p->twins);
        }
        return TWIN_LATER;
}

/* Whether both are the same. */
static enum verdict judge_by_bytes(const struct side *v, const struct side *t)
{
        if (v->v[v->i].size != t->v[t->i].size)
                return STAYS;
        return *etag_of(v) && !strcmp(etag_of(v), etag_of(t)) ? GOES : UNSURE;
}

/* Whether what has the old name is what was copied, of which no more is known: what is younger than
 * the copy is not. Stores whose times are whole seconds do not tell which of two is, if both are of
 * one: then their bytes do. */
static enum verdict judge_by_times(const struct side *v, const struct side *t)
{
        const struct listed *original = &v->v[v->i], *copy = &t->v[t->i];

        if (copy->mtime_ns != original->mtime_ns)
                return copy->mtime_ns > original->mtime_ns ? GOES : STAYS;
        return judge_by_bytes(v, t);
}

/* Whether the victim is to go. */
static enum verdict judge(const struct purging *p, bool has_twin)
{
        const struct side *v = &p->victims, *t = &p->twins;
        const struct copied *copied = p->job.copied;

        if (copied && (p->job.are_copies || !copied->partial)) {
                int64_t mtime_ns = p->job.are_copies ? 0 : v->v[v->i].mtime_ns;
                enum copied_what was = copied_find(copied, name_of(v), etag_of(v), mtime_ns);
                bool goes = has_twin ? was != COPIED_NOT : was == COPIED_OLDER && !t->cut;
                return goes ? GOES : STAYS;
        }
        if (p->compared != UNSURE)
                return p->compared;
        if (!has_twin)
                return STAYS;
        return p->job.are_copies ? judge_by_bytes(v, t) : judge_by_times(v, t);
}

static void victim_compared(void *arg, int err, bool same)
{
        struct purging *p = arg;

        if (!p->err)
                p->err = err;
        p->compared = same ? GOES : STAYS;
        walk(p);
}

/* Asks whether the present entries are of the same bytes. */
static int compare_victim(struct purging *p)
{
        const struct side *v = &p->victims, *t = &p->twins;
        CLEANUP(freep) char *original = NULL, *copy = NULL;

        if (asprintf(&original, "%s%s", v->prefix, name_of(v)) < 0 ||
            asprintf(&copy, "%s%s", t->prefix, name_of(t)) < 0)
                return -ENOMEM;
        const struct compare job = {.store = p->job.store,
                                    .keys = {original, copy},
                                    .etags = {etag_of(v), etag_of(t)},
                                    .done = victim_compared,
                                    .arg = p};
        return compare_start(&job);
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
        int err = 0;

        /* Deleted as soon as they were looked at: before there is another page of either side. */
        while (!err && p->nkeys < BATCH && (v->i < v->n || !p->nkeys) && look(v, &ended)) {
                enum twin twin = find_twin(p);
                if (twin == TWIN_ASKED)
                        return;
                if (twin == TWIN_LATER)
                        break;
                enum verdict verdict = judge(p, twin == TWIN_THERE);
                if (verdict == UNSURE && !p->nkeys && !(err = compare_victim(p)))
                        return;
                if (verdict == UNSURE)
                        break;
                if (verdict == GOES && twin == TWIN_NONE && v->turn < p->twins.turn) {
                        err = look_again(v);
                        continue;
                }
                err = verdict == GOES ? add_victim(p) : 0;
                p->compared = UNSURE;
                advance(v);
        }
        if (err)
                purging_end(p, err);
        else if (p->nkeys)
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
        p->compared = UNSURE;
        p->victims = (struct side){.p = p, .prefix = strdup(job->victims), .names = BUF_INIT};
        p->twins = (struct side){.p = p, .prefix = strdup(job->twins), .names = BUF_INIT};
        if (!p->victims.prefix || !p->twins.prefix) {
                purging_free(p);
                return -ENOMEM;
        }
        struct store_list list = {.walk = &p->victims.walk, .prefix = p->victims.prefix};
        p->victims.begun = true;
        int err = store_list(job->store, &list, page_came, &p->victims);
        if (err)
                purging_free(p);
        return err;
}
