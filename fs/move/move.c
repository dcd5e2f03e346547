/* SPDX-License-Identifier: Apache-2.0 */
/* move.c: see move.h.
 *
 * A move is a row of steps, each begun by the last callback of the one before it: look whether a
 * record is needed, write it, send objects (copies or renames), write that all are there, purge
 * what was copied, delete the record. Only while objects are sent is more than one request under
 * way.
 *
 * Two may be at one move: the mount that began it, and ckptctl, which takes the record over. Who
 * finds that the other has the record waits until that is gone: what the other has sent may arrive
 * at any time until then, and delete what a program makes by the old names once its rename has
 * returned. */
#include "move/move.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/record/rename_journal.h"
#include "base/record/recovery_record.h"
#include "base/log.h"
#include "move/move_int.h"

#include "base/banned.h"

enum {
        LOW = 300, /* objects under way when the next page is asked for; requests wait in the store
                    */
        TRIES = 3, /* for an object that is replaced meanwhile */
        LOOK_MS = 250,
        LOOKS = 480 /* at a record that another has: who needs two minutes more is not there */
};
#define SECOND 1000000000

struct move {
        struct move_job job;
        char *from, *to;
        char *record;                 /* key; NULL: not needed */
        char *text;                   /* of the record, while it is sent */
        char version[STORE_ETAG_MAX]; /* of the record: that which was written last */
        char turn[RECOVERY_ID_MAX];   /* begins that of each record that is written here, */
        unsigned writes;              /* with their number behind it */
        char *host;                   /* that began the rename, and when */
        int64_t begun_ns;
        bool copied;     /* the record says so */
        bool taken;      /* the record is another's, who is at this as well */
        bool left_alone; /* that one has ended, and what is left is sent here */
        bool renames;    /* the store renames objects */
        bool resumes;    /* of a record: what is where the objects go stays */
        bool undoes;     /* what was sent goes back */
        int failure;     /* why it is undone */
        int left;        /* why it, or that, was not finished */
        unsigned looks;  /* at the record of another */
        char *next;      /* page, for whoever lists */
        struct store_walk walk;
        struct mutex mtx;
        struct {
                unsigned flying; /* objects */
                bool listing, listed;
                bool lost; /* nobody knows whether an object that is gone was sent */
                struct copied originals, copies; /* the versions at both ends */
                int err;                         /* the first */
        } locked GUARDED_BY(&mtx);
};

/* An object on its way. */
struct piece {
        struct move *v;
        char *src, *dst;
        const char *name; /* behind the prefix of src */
        char etag[STORE_ETAG_MAX];
        int64_t mtime_ns;
        unsigned tries;
        bool marker; /* of a directory: empty */
        bool unsure; /* nobody knows whether it was renamed */
};

static void move_free(struct move *v)
{
        if (!v)
                return;
        free(v->from);
        free(v->to);
        free(v->record);
        free(v->text);
        free(v->host);
        free(v->next);
        mutex_unshared(&v->mtx);
        copied_release(&v->locked.originals);
        copied_release(&v->locked.copies);
        mutex_destroy(&v->mtx);
        free(v);
}

static void move_end(struct move *v, int err)
{
        mutex_check_none();
        v->job.done(v->job.arg, err);
        move_free(v);
}

/* --- the record --- */

/* By which a record is known again where its ETag tells nothing. */
#define TURN "ckptfs-turn"

/* Writes it over the version that is known here: two that finish one rename, a mount and ckptctl,
 * take it from each other so. done() gets -ESTALE or -ENOENT when the other has it. */
static int write_record(struct move *v, bool undone, store_done_fn *done)
{
        char turn[RECOVERY_ID_MAX + 16];

        snprintf(turn, sizeof turn, "%s-%u", v->turn, ++v->writes);
        const struct rename_journal i = {.from = v->from,
                                         .to = v->to,
                                         .copied = v->copied,
                                         .undone = undone,
                                         .turn = turn,
                                         .host = v->host,
                                         .time_ns = v->begun_ns};
        const struct store_cond cond = {.if_match = *v->version ? v->version : NULL};
        struct store_meta meta = {.len = 0};
        free(v->text);
        v->text = rename_journal_print(&i);
        if (!v->text)
                return -ENOMEM;
        struct store_body body = store_body_mem(v->text, strlen(v->text));
        int err = store_meta_add(&meta, TURN, turn);
        return err ? err : store_put(v->job.store, v->record, &body, &meta, &cond, done, v);
}

/* Written here: nobody else has it, but the reply to that came in no try. */
static bool is_own(const struct move *v, const struct store_object *obj)
{
        const char *turn = store_meta_get(&obj->meta, TURN);
        size_t n = strlen(v->turn);

        return turn && !strncmp(turn, v->turn, n) && turn[n] == '-';
}

/* Of the reply to that. */
static bool is_taken(int err)
{
        return err == -ESTALE || err == -ENOENT;
}

static void note_version(struct move *v, const struct store_object *obj)
{
        snprintf(v->version, sizeof v->version, "%s", obj->etag);
}

/* Something is left that somebody has to finish. */
static void say_left(struct move *v)
{
        const char *why = strerror(v->left ? -v->left : ETIMEDOUT);

        if (v->record)
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = v->from,
                                      .remedy = "ckptctl recover finishes it"),
                            "rename %s to %s: not finished (%s): its record is %s", v->from, v->to,
                            why, v->record);
        else
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = v->from,
                                      .remedy = "delete one of them"),
                            "rename %s to %s: both are there: %s", v->from, v->to, why);
        move_end(v, v->failure ? v->failure : v->left);
}

static void forget_record(struct move *v);
static void go_with_other(struct move *v);
static void wait_for_other(struct move *v);

static void record_looked_at(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;

        if (!err && is_own(v, obj) && (v->copied || v->undoes)) {
                note_version(v, obj);
                v->taken = false;
                forget_record(v);
        } else if (!err) {
                wait_for_other(v);
        } else if (err != -ENOENT) { /* after all tries of a request: four of them are enough */
                v->left = v->left ? v->left : err;
                v->looks += LOOKS / 4;
                wait_for_other(v);
        } else if (v->copied || v->undoes || v->left_alone) {
                move_end(v, v->failure);
        } else { /* who has brought what could not be brought here */
                v->left_alone = true;
                go_with_other(v);
        }
}

/* Until who has the record has deleted it. */
static void wait_for_other(struct move *v)
{
        v->taken = true;
        if (v->looks++ >= LOOKS ||
            store_head_later(v->job.store, LOOK_MS, v->record, record_looked_at, v))
                say_left(v);
}

static void record_deleted(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;
        (void)obj;

        if (err == -ESTALE)
                wait_for_other(v);
        else /* one that is left says what is true; the store said why */
                move_end(v, v->failure);
}

/* All is tidy, as far as it is done here. */
static void forget_record(struct move *v)
{
        if (v->taken)
                wait_for_other(v);
        else if (!v->record ||
                 store_delete_if(v->job.store, v->record, v->version, record_deleted, v))
                move_end(v, v->failure);
}

static void left_said(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;
        (void)obj;

        if (is_taken(err))
                wait_for_other(v);
        else
                say_left(v); /* ckptctl waits then */
}

static void leave_record(struct move *v, int err)
{
        bool says = v->undoes && !v->resumes && v->record;

        v->left = err;
        if (v->taken)
                wait_for_other(v);
        else if (!says || write_record(v, false, left_said))
                say_left(v);
}

/* --- the end: what was copied goes --- */

static void purged(void *arg, int err)
{
        struct move *v = arg;
        if (err)
                leave_record(v, err);
        else
                forget_record(v);
}

/* What was sent has gone back, but for what nobody knows to be ours: that stays. */
static void undone(void *arg, int err)
{
        const struct move *v = arg;

        mutex_unshared(&v->mtx); /* nothing is on its way any more */
        int left = v->locked.copies.partial ? -ENOMEM : v->locked.lost ? -EIO : 0;

        purged(arg, err ? err : left);
}

static void purge_from(struct move *v)
{
        copied_sort(&v->locked.originals);
        const struct purge job = {.store = v->job.store,
                                  .victims = v->from,
                                  .twins = v->to,
                                  .copied = v->resumes ? NULL : &v->locked.originals,
                                  .done = purged,
                                  .arg = v};
        int err = purge_start(&job);
        if (err)
                leave_record(v, err);
}

static void undo(struct move *v, int err);

static void all_said(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;

        if (is_taken(err)) /* by whom all is at `to` for as well */
                v->taken = true;
        else if (err) {
                v->copied = false;
                undo(v, err);
                return;
        } else if (obj)
                note_version(v, obj);
        if (v->job.all_copied)
                v->job.all_copied(v->job.arg);
        if (v->renames)
                forget_record(v);
        else
                purge_from(v);
}

/* Every object is at `to`. */
static void all_sent(struct move *v)
{
        bool says = v->record && !v->renames && !v->taken;

        v->copied = true;
        int err = says ? write_record(v, false, all_said) : 0;
        if (err || !says)
                all_said(v, err, NULL);
}

/* --- objects --- */

static void list_on(struct move *v);

static void piece_free(struct piece *p)
{
        if (!p)
                return;
        free(p->src);
        free(p->dst);
        free(p);
}

/* After something changed: the next page, or, with nothing under way, the next step. */
static void go_on(struct move *v)
{
        mutex_lock(&v->mtx);
        bool over = v->locked.listed || v->locked.err;
        bool lists = !over && !v->locked.listing && v->locked.flying < LOW;
        bool ends = over && !v->locked.listing && !v->locked.flying;
        if (lists)
                v->locked.listing = true;
        if (ends)
                v->locked.listing = true; /* nobody else goes on */
        int err = v->locked.err;
        mutex_unlock(&v->mtx);
        if (lists)
                list_on(v);
        else if (ends && v->undoes)
                undone(v, err);
        else if (ends)
                err ? undo(v, err) : all_sent(v);
}

static void piece_end(struct piece *p, int err)
{
        struct move *v = p->v;

        piece_free(p);
        mutex_lock(&v->mtx);
        v->locked.flying--;
        if (!v->locked.err)
                v->locked.err = err;
        mutex_unlock(&v->mtx);
        go_on(v);
}

static int send_piece(struct piece *p);

static void take_version(struct piece *p, const struct store_object *obj)
{
        snprintf(p->etag, sizeof p->etag, "%s", obj->etag);
        p->mtime_ns = obj->mtime_ns;
}

static void note_lost(struct move *v)
{
        mutex_lock(&v->mtx);
        v->locked.lost = true;
        mutex_unlock(&v->mtx);
}

/* Which version is there now. */
static void piece_headed(void *arg, int err, const struct store_object *obj)
{
        struct piece *p = arg;
        /* It was renamed, or replaced: what another host put by the old name stays there. */
        bool others = !err && p->unsure && strcmp(obj->etag, p->etag) != 0;

        if (!err && !others) {
                take_version(p, obj);
                err = send_piece(p);
        }
        if (!err && !others)
                return;
        if (p->unsure && (others || err == -ENOENT))
                note_lost(p->v);
        piece_end(p, err == -ENOENT ? 0 : err); /* deleted since it was listed */
}

/* By the store's clock, whose times may be cut to seconds, and another second apart where several
 * servers have one each. */
static bool is_older(const struct piece *p, const struct store_object *copy)
{
        return p->mtime_ns > 0 && copy->mtime_ns / SECOND - p->mtime_ns / SECOND >= 2;
}

static void note_copied(struct piece *p, const struct store_object *obj)
{
        struct move *v = p->v;

        mutex_lock(&v->mtx);
        if (!v->renames)
                copied_add(&v->locked.originals, p->name, p->etag, p->mtime_ns, is_older(p, obj));
        copied_add(&v->locked.copies, p->name, obj->etag, 0, false);
        mutex_unlock(&v->mtx);
        if (v->job.copied)
                v->job.copied(v->job.arg, p->name, p->etag, obj->etag);
}

static void piece_landed(void *arg, int err, const struct store_object *obj)
{
        struct piece *p = arg;
        struct move *v = p->v;

        /* Replaced since it was listed, which on the way back is another's; or nobody knows whether
         * it was renamed: if it was, there is nothing by the old name. */
        p->unsure = err == -EIO && v->renames;
        bool asks = (err == -ESTALE && !v->undoes) || p->unsure;
        if (asks && ++p->tries < TRIES) {
                if (!store_head(v->job.store, p->src, piece_headed, p))
                        return;
        }
        if (!err && !v->undoes)
                note_copied(p, obj);
        /* Deleted since it was listed; or, on the way back, or before another finishes the rename,
         * somebody made another. */
        if (err == -ENOENT || (err == -ESTALE && v->undoes) ||
            (err == -EEXIST && (v->undoes || v->resumes)))
                err = 0;
        piece_end(p, err == -EEXIST ? -ENOTEMPTY : err);
}

static int copy_piece(struct piece *p, const struct store_cond *cond)
{
        return store_copy(p->v->job.store, p->src, *p->etag ? p->etag : NULL, p->dst, NULL, cond,
                          piece_landed, p);
}

/* What the marker says of its directory. */
static void marker_headed(void *arg, int err, const struct store_object *obj)
{
        struct piece *p = arg;
        const struct store_body empty = store_body_mem(NULL, 0);
        const struct store_cond cond = {.if_absent = p->v->undoes};

        if (!err)
                take_version(p, obj);
        if (!err && (obj->tagged || obj->meta.missing))
                err = copy_piece(p, &cond);
        else if (!err)
                err = store_put(p->v->job.store, p->dst, &empty, &obj->meta, &cond, piece_landed,
                                p);
        if (err)
                piece_landed(p, err, NULL);
}

/* A marker is made anew, since some stores copy none, unless it has what only a copy hands on. */
static int send_piece(struct piece *p)
{
        struct move *v = p->v;
        /* There was nothing at `to`, when that was looked at. A directory may be there, though. */
        const struct store_cond cond = {.if_absent = v->undoes || !p->marker};
        const char *match = *p->etag ? p->etag : NULL;

        if (p->marker && !v->renames)
                return store_head(v->job.store, p->src, marker_headed, p);
        return v->renames
                       ? store_rename(v->job.store, p->src, match, p->dst, &cond, piece_landed, p)
                       : copy_piece(p, &cond);
}

/* What is at `to` was copied before the crash, or written after it. */
static void twin_headed(void *arg, int err, const struct store_object *obj)
{
        struct piece *p = arg;
        (void)obj;
        if (err == -ENOENT)
                err = send_piece(p);
        else if (!err) {
                piece_end(p, 0);
                return;
        }
        if (err)
                piece_end(p, err);
}

static int send_entry(struct move *v, const struct store_entry *e)
{
        const char *prefix = v->undoes ? v->to : v->from, *other = v->undoes ? v->from : v->to;
        const char *name = e->key + strlen(prefix);
        struct piece *p = calloc(1, sizeof *p);

        if (!p)
                return -ENOMEM;
        p->v = v;
        p->src = strdup(e->key);
        if (!p->src || asprintf(&p->dst, "%s%s", other, name) < 0) {
                piece_free(p);
                return -ENOMEM;
        }
        p->name = p->src + strlen(prefix);
        p->marker = !e->size && p->src[strlen(p->src) - 1] == '/';
        snprintf(p->etag, sizeof p->etag, "%s", e->etag ? e->etag : "");
        p->mtime_ns = e->mtime_ns;
        mutex_lock(&v->mtx);
        v->locked.flying++;
        mutex_unlock(&v->mtx);
        int err = v->resumes ? store_head(v->job.store, p->dst, twin_headed, p) : send_piece(p);
        if (!err)
                return 0;
        piece_free(p);
        mutex_lock(&v->mtx);
        v->locked.flying--;
        mutex_unlock(&v->mtx);
        return err;
}

/* What another host has put there stays. */
static bool was_sent(const struct move *v, const struct store_entry *e)
{
        const char *etag = e->etag ? e->etag : "";
        return copied_find(&v->locked.copies, e->key + strlen(v->to), etag, 0) != COPIED_NOT;
}

static void page_came(void *arg, int err, const struct store_page *page)
{
        struct move *v = arg;
        char *next = NULL;

        for (size_t i = 0; !err && i < page->n; i++)
                if (!v->undoes || v->resumes || was_sent(v, &page->v[i]))
                        err = send_entry(v, &page->v[i]);
        if (!err && page->next && !(next = strdup(page->next)))
                err = -ENOMEM;
        free(v->next);
        v->next = next;
        mutex_lock(&v->mtx);
        v->locked.listed = !next;
        v->locked.listing = false;
        if (!v->locked.err)
                v->locked.err = err;
        mutex_unlock(&v->mtx);
        go_on(v);
}

static void list_on(struct move *v)
{
        struct store_list list = {
                .walk = &v->walk, .prefix = v->undoes ? v->to : v->from, .continuation = v->next};
        int err = store_list(v->job.store, &list, page_came, v);
        if (err)
                page_came(v, err, NULL);
}

static void send_all(struct move *v)
{
        mutex_lock(&v->mtx);
        v->locked.listing = true;
        mutex_unlock(&v->mtx);
        list_on(v);
}

/* Every object anew. */
static void send_again(struct move *v)
{
        free(TAKE_PTR(v->next));
        mutex_lock(&v->mtx);
        v->locked.err = 0;
        v->locked.listed = false;
        mutex_unlock(&v->mtx);
        send_all(v);
}

static void take_back(struct move *v)
{
        copied_sort(&v->locked.copies);
        v->undoes = true;
        if (v->renames) {
                send_again(v);
                return;
        }
        const struct purge job = {.store = v->job.store,
                                  .victims = v->to,
                                  .twins = v->from,
                                  .are_copies = true,
                                  .copied = v->resumes ? NULL : &v->locked.copies,
                                  .done = undone,
                                  .arg = v};
        int err = purge_start(&job);
        if (err)
                leave_record(v, err);
}

/* It may be at `to` what stood in the way, and deletes at `from`. */
static void go_with_other(struct move *v)
{
        v->taken = v->resumes = true;
        v->failure = 0;
        send_again(v);
}

static void record_dropped(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;
        (void)obj;

        if (err == -ENOENT) {
                go_with_other(v);
        } else if (err) { /* it is another's, or says after all that this is undone */
                leave_record(v, v->failure);
        } else {
                free(TAKE_PTR(v->record));
                take_back(v);
        }
}

/* Nothing goes back under a record that says otherwise: ckptctl would bring it again, and delete
 * the originals of what is deleted here. Where no record can be written, as in a bucket that is
 * full, none stays. */
static void undo_said(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;

        if (is_taken(err)) {
                go_with_other(v);
        } else if (!err) {
                note_version(v, obj);
                take_back(v);
        } else if (store_delete_if(v->job.store, v->record, v->version, record_dropped, v)) {
                leave_record(v, v->failure);
        }
}

static bool nothing_sent(struct move *v)
{
        mutex_unshared(&v->mtx); /* nothing is on its way any more */
        return !v->locked.copies.n && !v->locked.copies.partial && !v->locked.lost;
}

/* Not all could be sent: those that were go back, unless ckptctl has begun to finish the rename. */
static void undo(struct move *v, int err)
{
        v->failure = err;
        if (v->taken)
                wait_for_other(v);
        else if (v->resumes) /* as it was found */
                move_end(v, err);
        else if (nothing_sent(v))
                forget_record(v);
        else if (!v->record)
                take_back(v);
        else if ((err = write_record(v, true, undo_said)))
                undo_said(v, err, NULL);
}

/* --- the beginning --- */

static void begin_said(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;

        if (err) {
                move_end(v, err);
                return;
        }
        note_version(v, obj);
        send_all(v);
}

static int begin_record(struct move *v)
{
        char id[RECOVERY_ID_MAX], host[256] = "";
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        gethostname(host, sizeof host - 1);
        v->begun_ns = (int64_t)now.tv_sec * SECOND;
        v->host = strdup(host);
        recovery_record_id(id);
        if (!v->host || asprintf(&v->record, RENAME_JOURNAL_PREFIX "%s", id) < 0)
                return -ENOMEM;
        return write_record(v, false, begin_said);
}

/* One object needs no record: it is at the one or the other. */
static void counted(void *arg, int err, const struct store_page *page)
{
        struct move *v = arg;

        if (!err && !page->n && !v->job.may_be_empty)
                err = -ENOENT;
        if (!err && page->n > 1) {
                err = begin_record(v);
                if (!err)
                        return;
        }
        if (err)
                move_end(v, err);
        else
                send_all(v);
}

static struct move *move_new(const struct move_job *job)
{
        struct move *v = calloc(1, sizeof *v);
        if (!v)
                return NULL;
        mutex_init(&v->mtx, LOCK_MOVE);
        v->job = *job;
        v->from = strdup(job->from);
        v->to = strdup(job->to);
        v->renames = store_caps(job->store) & STORE_CAP_RENAME;
        recovery_record_id(v->turn);
        if (!v->from || !v->to) {
                move_free(v);
                return NULL;
        }
        return v;
}

/* Copies are found again by their place in the listing. */
static bool can_move(const struct store *s)
{
        return store_caps(s) & STORE_CAP_RENAME || !(store_caps(s) & STORE_CAP_UNSORTED);
}

int move_start(const struct move_job *job)
{
        struct store_list list = {.prefix = job->from, .max = 2, .least = 2};
        struct move *v = can_move(job->store) ? move_new(job) : NULL;
        int err = v                      ? store_list(job->store, &list, counted, v)
                  : can_move(job->store) ? -ENOMEM
                                         : -EOPNOTSUPP;
        if (err)
                move_free(v);
        return err;
}

/* --- recovery --- */

struct recovery {
        struct mutex mtx;
        pthread_cond_t cond;
        bool over GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
};

static void recovered(void *arg, int err)
{
        struct recovery *r = arg;
        mutex_lock(&r->mtx);
        r->err = err;
        r->over = true;
        pthread_cond_signal(&r->cond);
        mutex_unlock(&r->mtx);
}

static int wait_for_end(struct recovery *r)
{
        mutex_lock(&r->mtx);
        while (!r->over)
                mutex_wait(&r->cond, &r->mtx);
        int err = r->err;
        mutex_unlock(&r->mtx);
        return err;
}

/* The record is ours, and who else is at it sees that. */
static void recovery_said(void *arg, int err, const struct store_object *obj)
{
        struct move *v = arg;

        if (err) {
                move_end(v, is_taken(err) ? -EAGAIN : err);
                return;
        }
        note_version(v, obj);
        if (v->undoes)
                take_back(v);
        else if (v->copied)
                purge_from(v);
        else
                send_all(v);
}

static int recovery_start(const struct move_job *job, const char *id, const char *version,
                          const struct rename_journal *i)
{
        if (!can_move(job->store))
                return -EOPNOTSUPP;
        struct move *v = move_new(job);
        int err = v && asprintf(&v->record, RENAME_JOURNAL_PREFIX "%s", id) >= 0 ? 0 : -ENOMEM;
        if (!err) {
                v->resumes = true;
                v->undoes = i->undone;
                v->copied = i->copied;
                v->host = i->host ? strdup(i->host) : NULL;
                v->begun_ns = i->time_ns;
                snprintf(v->version, sizeof v->version, "%s", version);
                err = write_record(v, v->undoes, recovery_said);
        }
        if (err)
                move_free(v);
        return err;
}

int move_recover(struct store *store, const char *id, const char *version,
                 const struct rename_journal *record)
{
        struct recovery r = {.mtx = MUTEX_INITIALIZER(LOCK_SYNC_WAIT),
                             .cond = PTHREAD_COND_INITIALIZER};
        const struct move_job job = {.store = store,
                                     .from = record->from,
                                     .to = record->to,
                                     .done = recovered,
                                     .arg = &r};
        int err = recovery_start(&job, id, version, record);

        return err ? err : wait_for_end(&r);
}
