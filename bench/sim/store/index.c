/* SPDX-License-Identifier: Apache-2.0 */
/* index.c: see index.h. */
#include "bench/sim/store/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim/store/object.h"
#include "base/banned.h"

struct index_node {
        struct object *o;
        struct index_node *next[];
};

void index_init(struct index *ix)
{
        memset(ix, 0, sizeof *ix);
        ix->rnd = 0x9e3779b97f4a7c15ULL;
}

void index_release(struct index *ix)
{
        struct index_node *n = ix->head[0];

        while (n) {
                struct index_node *next = n->next[0];
                object_unref(n->o);
                free(n);
                n = next;
        }
        if (ix->seen)
                object_unref(ix->seen->o);
        free(ix->seen);
        made_free(ix->made);
        index_init(ix);
}

/* xorshift64 (Marsaglia 2003) is random enough for heights. */
static unsigned random_height(struct index *ix)
{
        unsigned h = 1;

        ix->rnd ^= ix->rnd << 13;
        ix->rnd ^= ix->rnd >> 7;
        ix->rnd ^= ix->rnd << 17;
        for (uint64_t r = ix->rnd; h < INDEX_LEVELS && !(r & 3); r >>= 2)
                h++;
        return h;
}

/* The links that lead over the place of `key`: behind equal keys with `after`. Returns the entry
 * there. */
static struct index_node *descend(const struct index *ix, const char *key, int after,
                                  struct index_node ***links)
{
        struct index_node *const *level = ix->head;

        for (int h = INDEX_LEVELS - 1; h >= 0; h--) {
                struct index_node *n;
                while ((n = level[h])) {
                        int c = strcmp(n->o->key, key);
                        if (c > 0 || (c == 0 && !after))
                                break;
                        level = n->next;
                }
                if (links)
                        links[h] = (struct index_node **)&level[h];
        }
        return level[0];
}

/* Makes an object of a number that is there, and leaves it to the caller. NULL: no memory. */
static struct object *take_made(struct index *ix, unsigned long number)
{
        struct object *o = made_object(ix->made, number);

        if (o) {
                made_take(ix->made, number);
                ix->count--;
        }
        return o;
}

int index_fill(struct index *ix, struct made *made)
{
        ix->seen = calloc(1, sizeof *ix->seen);
        if (!ix->seen)
                return -ENOMEM;
        ix->made = made;
        ix->count += made_count(made);
        for (const struct index_node *n = ix->head[0]; n; n = n->next[0]) {
                unsigned long number = made_find(made, n->o->key);
                if (number == made_count(made))
                        continue;
                made_take(made, number);
                ix->count--;
        }
        return 0;
}

struct object *index_find(struct index *ix, const char *key)
{
        struct index_node *n = descend(ix, key, 0, NULL);
        struct object *old = NULL;

        if (n && !strcmp(n->o->key, key))
                return n->o;
        unsigned long number = ix->made ? made_find(ix->made, key) : 0;
        if (!ix->made || number == made_count(ix->made))
                return NULL;
        struct object *o = take_made(ix, number);
        if (o && !index_put(ix, o, &old))
                return o;
        object_unref(o);
        return NULL;
}

int index_put(struct index *ix, struct object *o, struct object **old)
{
        struct index_node **links[INDEX_LEVELS];
        struct index_node *n = descend(ix, o->key, 0, links);

        *old = NULL;
        if (n && !strcmp(n->o->key, o->key)) {
                *old = n->o;
                n->o = o;
                return 0;
        }
        unsigned long number = ix->made ? made_find(ix->made, o->key) : 0;
        if (ix->made && number != made_count(ix->made) && !(*old = take_made(ix, number)))
                return -ENOMEM;
        unsigned h = random_height(ix);
        n = malloc(sizeof *n + h * sizeof n->next[0]);
        if (!n)
                return -ENOMEM;
        n->o = o;
        for (unsigned i = 0; i < h; i++) {
                n->next[i] = *links[i];
                *links[i] = n;
        }
        ix->count++;
        return 0;
}

struct object *index_remove(struct index *ix, const char *key)
{
        struct index_node **links[INDEX_LEVELS];
        struct index_node *n = descend(ix, key, 0, links);

        if (!n || strcmp(n->o->key, key)) {
                unsigned long number = ix->made ? made_find(ix->made, key) : 0;
                return ix->made && number != made_count(ix->made) ? take_made(ix, number) : NULL;
        }
        for (int i = 0; i < INDEX_LEVELS && *links[i] == n; i++)
                *links[i] = n->next[i];
        struct object *o = n->o;
        free(n);
        ix->count--;
        return o;
}

/* The first of an entry and of what is made from the number on. */
static const struct index_node *first_of(const struct index *ix, const struct index_node *n,
                                         unsigned long number)
{
        if (number == made_count(ix->made))
                return n;
        struct object *o = made_object(ix->made, number);
        if (!o || (n && strcmp(n->o->key, o->key) < 0)) {
                object_unref(o);
                return n;
        }
        object_unref(ix->seen->o);
        ix->seen->o = o;
        return ix->seen;
}

const struct index_node *index_seek(const struct index *ix, const char *key, int after)
{
        const struct index_node *n = descend(ix, key, after, NULL);

        return ix->made ? first_of(ix, n, made_from(ix->made, key, after)) : n;
}

const struct index_node *index_next(const struct index *ix, const struct index_node *n)
{
        return ix->made ? index_seek(ix, n->o->key, 1) : n->next[0];
}

struct object *index_object(const struct index_node *n)
{
        return n->o;
}
