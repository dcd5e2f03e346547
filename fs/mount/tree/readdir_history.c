/* SPDX-License-Identifier: Apache-2.0 */
/* readdir_history.c: see readdir_history.h. */
#include "mount/tree/readdir_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"

#include "base/banned.h"

enum {
        WALKS = 8,      /* of one order at once */
        NAMES_ROOM = 64 /* of a history that begins */
};
/* Names searched for since the last one was added, before the names are sorted by inode number. */
enum { SEARCHES = 16 };

enum order { LISTED, BY_INO, ORDERS };

struct walk {
        bool used;
        enum order order;
        size_t at;  /* the furthest place looked at */
        size_t end; /* behind the last that was asked for */
        size_t grow_at;
        unsigned window, run;
        int64_t seen_ns, pace_ns; /* when it was seen last, and how often it is */
        uint64_t seq;
};

struct numbered {
        uint64_t ino;
        size_t place;
};

struct readdir_history {
        struct readdir_histories *all;
        struct readdir_history *newer, *older, **at;
        const void *lister;
        uint64_t off; /* of the last name added */
        size_t n, room;
        uint64_t *inos;
        uint32_t *names; /* offsets in text, times two; odd: a directory */
        struct buf text;
        struct numbered *by_ino; /* of the first `sorted` names, or NULL */
        size_t sorted, bytes;
        unsigned searches;
        bool full;
        size_t furthest; /* name looked at */
        struct walk walks[ORDERS][WALKS];
        uint64_t seq;
        uint64_t asked, used; /* names asked for, and looked at then */
};

static void unlink_history(struct readdir_history *r)
{
        *(r->newer ? &r->newer->older : &r->all->newest) = r->older;
        *(r->older ? &r->older->newer : &r->all->oldest) = r->newer;
}

void history_free(struct readdir_history *r)
{
        if (!r)
                return;
        unlink_history(r);
        r->all->bytes -= r->bytes;
        *r->at = NULL;
        free(r->inos);
        free(r->names);
        free(r->by_ino);
        buf_release(&r->text);
        free(r);
}

void history_begin(struct readdir_histories *all, struct readdir_history **at, const void *lister)
{
        history_free(*at);
        struct readdir_history *r = calloc(1, sizeof *r);
        if (!r)
                return;
        *r = (struct readdir_history){.all = all,
                                      .older = all->newest,
                                      .at = at,
                                      .lister = lister,
                                      .text = BUF_INIT,
                                      .bytes = sizeof *r};
        *(r->older ? &r->older->newer : &all->oldest) = r;
        all->newest = r;
        all->bytes += r->bytes;
        *at = r;
}

/* --- names --- */

static void forget_sorted(struct readdir_history *r)
{
        free(TAKE_PTR(r->by_ino));
        r->sorted = 0;
        memset(r->walks[BY_INO], 0, sizeof r->walks[BY_INO]);
}

static void count_bytes(struct readdir_history *r)
{
        size_t bytes = sizeof *r + r->room * (sizeof *r->inos + sizeof *r->names) + r->text.cap +
                       r->sorted * sizeof *r->by_ino;
        r->all->bytes += bytes - r->bytes;
        r->bytes = bytes;
        while (r->all->bytes > r->all->most && r->all->oldest != r)
                history_free(r->all->oldest);
}

/* Without its names, but with what it has learnt of those who walk. */
static void empty(struct readdir_history *r)
{
        forget_sorted(r);
        memset(r->walks, 0, sizeof r->walks);
        r->n = r->furthest = 0;
        buf_reset(&r->text);
        r->full = false;
}

static bool make_room(struct readdir_history *r)
{
        size_t inos = r->room, names = r->room;

        if (GROW(r->inos, r->n, inos, NAMES_ROOM) || GROW(r->names, r->n, names, NAMES_ROOM))
                return false;
        r->room = names;
        return true;
}

void history_add(struct readdir_history *r, const void *lister, uint64_t off, const char *name,
                 uint64_t ino, bool dir)
{
        if (!r || r->lister != lister || off <= r->off)
                return;
        if (r->full && r->furthest > r->n - r->n / 4)
                empty(r);
        if (r->full)
                return;
        size_t at = r->text.len;
        if ((r->n == r->room && !make_room(r)) || buf_add(&r->text, name, strlen(name) + 1)) {
                r->full = true;
                return;
        }
        r->inos[r->n] = ino;
        r->names[r->n++] = (uint32_t)(at * 2 + dir);
        r->off = off;
        r->searches = 0;
        count_bytes(r);
        r->full = r->all->bytes > r->all->most;
}

static int cmp_ino(const void *a, const void *b)
{
        uint64_t x = ((const struct numbered *)a)->ino, y = ((const struct numbered *)b)->ino;
        return (x > y) - (x < y);
}

static void sort(struct readdir_history *r)
{
        forget_sorted(r);
        r->by_ino = malloc(r->n * sizeof *r->by_ino);
        if (!r->by_ino)
                return;
        for (size_t i = 0; i < r->n; i++)
                r->by_ino[i] = (struct numbered){.ino = r->inos[i], .place = i};
        qsort(r->by_ino, r->n, sizeof *r->by_ino, cmp_ino);
        r->sorted = r->n;
        count_bytes(r);
}

/* --- walks --- */

/* The first place that may be the walk's. */
static size_t low_of(const struct walk *w)
{
        size_t back = w->run < HISTORY_BEGIN ? 0 : HISTORY_SLACK;
        return w->at > back ? w->at - back : 0;
}

/* One behind the last place that may be the walk's. */
static size_t high_of(const struct walk *w)
{
        return (w->end > w->at ? w->end : w->at) + HISTORY_SLACK + 1;
}

static bool find_near(const struct readdir_history *r, uint64_t ino, size_t *place)
{
        for (const struct walk *w = r->walks[LISTED]; w < r->walks[LISTED] + WALKS; w++) {
                size_t high = w->used ? high_of(w) : 0;
                for (size_t i = low_of(w); i < high && i < r->n; i++)
                        if (r->inos[i] == ino) {
                                *place = i;
                                return true;
                        }
        }
        return false;
}

/* The place among the sorted, or where it would be. */
static size_t rank_of(const struct readdir_history *r, uint64_t ino)
{
        size_t low = 0, high = r->sorted;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                if (r->by_ino[mid].ino < ino)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

static bool find(struct readdir_history *r, uint64_t ino, size_t *place)
{
        if (find_near(r, ino, place))
                return true;
        if (r->sorted != r->n && ++r->searches > SEARCHES)
                sort(r);
        size_t rank = rank_of(r, ino);
        if (rank < r->sorted && r->by_ino[rank].ino == ino) {
                *place = r->by_ino[rank].place;
                return true;
        }
        for (size_t i = r->sorted; i < r->n; i++)
                if (r->inos[i] == ino) {
                        *place = i;
                        return true;
                }
        return false;
}

static size_t distance(size_t a, size_t b)
{
        return a > b ? a - b : b - a;
}

static struct walk *walk_at(struct readdir_history *r, enum order order, size_t place)
{
        struct walk *best = NULL;
        for (struct walk *w = r->walks[order]; w < r->walks[order] + WALKS; w++)
                if (w->used && place >= low_of(w) && place < high_of(w) &&
                    (!best || distance(w->at, place) < distance(best->at, place)))
                        best = w;
        return best;
}

static struct walk *begin_walk(struct readdir_history *r, enum order order, size_t place,
                               int64_t now_ns)
{
        struct walk *w = r->walks[order];
        for (struct walk *x = w; x < r->walks[order] + WALKS; x++)
                if (!x->used || (w->used && x->seq < w->seq))
                        w = x;
        *w = (struct walk){.used = true,
                           .order = order,
                           .at = place,
                           .end = place + 1,
                           .run = 1,
                           .seen_ns = now_ns};
        return w;
}

static void go_on(struct walk *w, size_t place, int64_t now_ns)
{
        int64_t pause = now_ns - w->seen_ns;

        if (place == w->at) /* the same name again */
                return;
        w->pace_ns = w->run > 1 ? (w->pace_ns * 3 + pause) / 4 : pause;
        w->seen_ns = now_ns;
        w->run += w->run < HISTORY_BEGIN;
        if (place < w->at)
                return;
        w->at = place;
        if (w->end <= place)
                w->end = place + 1;
        if (w->run < HISTORY_BEGIN || place < w->grow_at)
                return;
        w->window = !w->window                 ? HISTORY_FIRST
                    : w->window < HISTORY_MOST ? w->window * 2
                                               : HISTORY_MOST;
        w->grow_at = place + w->window / 2;
}

/* A place that is no walk's begins one, unless the name is another order's walk's. */
static struct walk *walk_on(struct readdir_history *r, enum order order, size_t place,
                            int64_t now_ns, bool begins)
{
        struct walk *w = walk_at(r, order, place);
        if (w)
                go_on(w, place, now_ns);
        else if (begins)
                w = begin_walk(r, order, place, now_ns);
        if (w)
                w->seq = ++r->seq;
        return w;
}

struct walk *history_look(struct readdir_history *r, uint64_t ino, int64_t now_ns, bool hit,
                          bool *dir)
{
        size_t place;

        r->used += hit && r->used < r->asked;
        if (!find(r, ino, &place))
                return NULL;
        *dir = r->names[place] & 1;
        r->furthest = place > r->furthest ? place : r->furthest;
        struct walk *other = NULL;
        if (r->sorted == r->n) {
                size_t rank = rank_of(r, ino);
                const struct walk *listed = walk_at(r, LISTED, place);
                other = walk_on(r, BY_INO, rank, now_ns, !listed || listed->run < HISTORY_BEGIN);
        }
        bool walks = other && other->run >= HISTORY_BEGIN;
        struct walk *w = walk_on(r, LISTED, place, now_ns, !walks);
        return walks && (!w || w->run < HISTORY_BEGIN) ? other : w;
}

const char *history_next(struct readdir_history *r, struct walk *w, int64_t spare_ns, bool *dir)
{
        int64_t most = w->pace_ns > 0 ? spare_ns / w->pace_ns : HISTORY_MOST;
        size_t ahead = w->end - w->at - 1, n = w->order == BY_INO ? r->sorted : r->n;

        if (ahead >= w->window || (int64_t)ahead >= most || w->end >= n ||
            r->asked - r->used >= HISTORY_WASTE + r->used / 8)
                return NULL;
        size_t place = w->order == BY_INO ? r->by_ino[w->end].place : w->end;
        w->end++;
        *dir = r->names[place] & 1;
        return r->text.p + r->names[place] / 2;
}

void history_asked(struct readdir_history *r)
{
        r->asked++;
}
