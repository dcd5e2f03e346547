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

struct object *index_find(const struct index *ix, const char *key)
{
        struct index_node *n = descend(ix, key, 0, NULL);

        return n && !strcmp(n->o->key, key) ? n->o : NULL;
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

        if (!n || strcmp(n->o->key, key))
                return NULL;
        for (int i = 0; i < INDEX_LEVELS && *links[i] == n; i++)
                *links[i] = n->next[i];
        struct object *o = n->o;
        free(n);
        ix->count--;
        return o;
}

const struct index_node *index_seek(const struct index *ix, const char *key, int after)
{
        return descend(ix, key, after, NULL);
}

const struct index_node *index_next(const struct index_node *n)
{
        return n->next[0];
}

struct object *index_object(const struct index_node *n)
{
        return n->o;
}
