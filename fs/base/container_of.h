/* SPDX-License-Identifier: Apache-2.0 */
/* container_of.h: what is reached by a member that is embedded in it: from the member to the
 * structure, and lists of such members. */
#ifndef CKPTFS_BASE_CONTAINER_OF_H
#define CKPTFS_BASE_CONTAINER_OF_H

#include <stdbool.h>
#include <stddef.h>

/* The `type` whose `member` is at `ptr`, which must have that member's type. */
#define CONTAINER_OF(ptr, type, member)                                                            \
        __extension__({                                                                            \
                __typeof__(((type *)NULL)->member) *container_member = (ptr);                      \
                (type *)(void *)((char *)container_member - offsetof(type, member));               \
        })

/* An element embeds an item for each list that it may be in, so that adding cannot fail and
 * removing needs no search. Guarded by what guards the elements. Whoever waits for something is in
 * a list of waiters instead (waiter.h). */
struct list_item {
        struct list_item *next, *prev;
        bool listed;
};

/* First come, first served. All zeros is an empty list. */
struct list {
        struct list_item *first, *last;
};

/* Behind all others. */
static inline void list_add(struct list *l, struct list_item *i)
{
        *i = (struct list_item){.prev = l->last, .listed = true};
        *(l->last ? &l->last->next : &l->first) = i;
        l->last = i;
}

static inline void list_remove(struct list *l, struct list_item *i)
{
        *(i->next ? &i->next->prev : &l->last) = i->prev;
        *(i->prev ? &i->prev->next : &l->first) = i->next;
        *i = (struct list_item){0};
}

/* The first, which the list forgets; or NULL. */
static inline struct list_item *list_take(struct list *l)
{
        struct list_item *i = l->first;
        if (i)
                list_remove(l, i);
        return i;
}

/* The element of a `type` whose `member` is the item; NULL: there is no item. */
#define LIST_OF(item, type, member)                                                                \
        __extension__({                                                                            \
                struct list_item *list_of = (item);                                                \
                list_of ? CONTAINER_OF(list_of, type, member) : NULL;                              \
        })

#define LIST_TAKE(list, type, member)  LIST_OF(list_take(list), type, member)
#define LIST_FIRST(list, type, member) LIST_OF((list)->first, type, member)
#define LIST_NEXT(x, type, member)     LIST_OF((x)->member.next, type, member)

/* Each element, in order. None may be removed meanwhile. */
#define LIST_EACH(x, list, type, member)                                                           \
        for (type *x = LIST_FIRST(list, type, member); x; x = LIST_NEXT(x, type, member))

#endif
