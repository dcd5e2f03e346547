/* SPDX-License-Identifier: Apache-2.0 */
/* tombstone.c: see tombstone.h. */
#include "mount/tree/tombstone.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

#include "base/banned.h"

/* --- names --- */

struct tombstone_name {
        uint64_t hash;
        int64_t removed_ns; /* 0: none */
        enum removed why;
};

struct tombstones {
        int64_t pushed_out_ns; /* the newest that was; 0: none */
        struct tombstone_name v[TOMBSTONE_NAMES];
};

struct tombstones *tombstones_new(void)
{
        return calloc(1, sizeof(struct tombstones));
}

void tombstones_free(struct tombstones *t)
{
        free(t);
}

static size_t place_of(uint64_t hash)
{
        return (hash ^ hash >> 32) & (TOMBSTONE_NAMES - 1);
}

void tombstone_add_name(struct tombstones *t, uint64_t hash, enum removed why, int64_t now_ns)
{
        struct tombstone_name *x = &t->v[place_of(hash)];

        if (x->hash != hash && x->removed_ns > t->pushed_out_ns)
                t->pushed_out_ns = x->removed_ns;
        *x = (struct tombstone_name){.hash = hash, .removed_ns = now_ns, .why = why};
}

void tombstone_end_name(struct tombstones *t, uint64_t hash)
{
        struct tombstone_name *x = &t->v[place_of(hash)];

        if (x->hash == hash)
                x->why = CHANGED;
}

enum removed tombstone_find_name(const struct tombstones *t, uint64_t hash, int64_t since_ns)
{
        const struct tombstone_name *x = &t->v[place_of(hash)];

        if (x->hash == hash && x->removed_ns && x->removed_ns >= since_ns)
                return x->why;
        return since_ns && t->pushed_out_ns >= since_ns ? MAYBE_REMOVED : NOT_REMOVED;
}

/* --- ranges --- */

struct tombstone_range {
        char *from, *to;  /* neither is in it; to NULL: the end */
        int64_t asked_ns; /* 0: none */
};

static void range_release(struct tombstone_range *x)
{
        free(x->from);
        free(x->to);
        *x = (struct tombstone_range){0};
}

void dir_tombstones_release(struct dir_tombstones *d)
{
        for (size_t i = 0; d->ranges && i < TOMBSTONE_RANGES; i++)
                range_release(&d->ranges[i]);
        free(d->ranges);
        free(d->missing);
        *d = (struct dir_tombstones){0};
}

/* Whether `to` comes behind all keys below the directory `name`. */
static bool ends_before(const char *name, const char *to)
{
        size_t n = strlen(name);
        int order = strncmp(name, to, n);

        if (order)
                return order < 0;
        return (unsigned char)to[n] > '/';
}

/* What is behind the name and all that is below it ends the range. */
static bool is_in(const struct tombstone_range *x, const char *name)
{
        return x->asked_ns && strcmp(x->from, name) < 0 && (!x->to || ends_before(name, x->to));
}

/* The one that ends there too, else the oldest; but not `other`. */
static struct tombstone_range *choose(struct dir_tombstones *d, const char *to,
                                      const struct tombstone_range *other)
{
        struct tombstone_range *oldest = NULL;

        for (size_t i = 0; i < TOMBSTONE_RANGES; i++) {
                struct tombstone_range *x = &d->ranges[i];
                if (x == other)
                        continue;
                if (x->asked_ns && (to ? x->to && !strcmp(x->to, to) : !x->to))
                        return x;
                if (!oldest || x->asked_ns < oldest->asked_ns)
                        oldest = x;
        }
        return oldest;
}

void tombstone_add_range(struct dir_tombstones *d, const char *from, const char *to,
                         int64_t asked_ns)
{
        if (asked_ns <= d->ended_ns)
                return; /* what ended ranges since may be in this one */
        if (!d->ranges)
                d->ranges = calloc(TOMBSTONE_RANGES, sizeof *d->ranges);
        struct tombstone_range fresh = {
                .from = strdup(from), .to = to ? strdup(to) : NULL, .asked_ns = asked_ns};
        if (!d->ranges || !fresh.from || (to && !fresh.to)) {
                range_release(&fresh);
                return;
        }
        struct tombstone_range *x = choose(d, to, NULL);
        range_release(x);
        *x = fresh;
}

struct tombstone_missing {
        uint64_t hash;
        int64_t asked_ns; /* 0: none */
};

static uint64_t hash_of(const char *name)
{
        return fnv1a(FNV1A_BASIS, name, strlen(name));
}

/* The place of the name, if it is the name's; else NULL. */
static struct tombstone_missing *missing_of(const struct dir_tombstones *d, const char *name)
{
        uint64_t hash = hash_of(name);
        struct tombstone_missing *x = d->missing ? &d->missing[hash % TOMBSTONE_MISSING] : NULL;

        return x && x->hash == hash ? x : NULL;
}

/* The range becomes two, of what is before the name and of what is behind it. */
static void split(struct dir_tombstones *d, struct tombstone_range *x, const char *name)
{
        struct tombstone_range behind = {
                .from = strdup(name), .to = x->to, .asked_ns = x->asked_ns};

        x->to = strdup(name);
        if (!x->to) /* without memory there is none, rather than one up to the end */
                range_release(x);
        if (!behind.from) {
                range_release(&behind);
                return;
        }
        struct tombstone_range *place = choose(d, behind.to, x);
        range_release(place);
        *place = behind;
}

void tombstone_end_range(struct dir_tombstones *d, const char *name, int64_t now_ns)
{
        struct tombstone_missing *x = missing_of(d, name);

        d->ended_ns = now_ns;
        if (x)
                x->asked_ns = 0;
        for (size_t i = 0; d->ranges && i < TOMBSTONE_RANGES; i++)
                if (is_in(&d->ranges[i], name))
                        split(d, &d->ranges[i], name);
}

bool tombstone_in_range(const struct dir_tombstones *d, const char *name, int64_t since_ns)
{
        for (size_t i = 0; d->ranges && i < TOMBSTONE_RANGES; i++)
                if (d->ranges[i].asked_ns > since_ns && is_in(&d->ranges[i], name))
                        return true;
        return false;
}

/* --- names that are missing --- */

void tombstone_add_missing(struct dir_tombstones *d, const char *name, int64_t asked_ns)
{
        uint64_t hash = hash_of(name);

        if (asked_ns <= d->ended_ns)
                return;
        if (!d->missing && !(d->missing = calloc(TOMBSTONE_MISSING, sizeof *d->missing)))
                return;
        d->missing[hash % TOMBSTONE_MISSING] =
                (struct tombstone_missing){.hash = hash, .asked_ns = asked_ns};
}

bool tombstone_is_missing(const struct dir_tombstones *d, const char *name, int64_t since_ns)
{
        const struct tombstone_missing *x = missing_of(d, name);

        return x && x->asked_ns && x->asked_ns > since_ns;
}
