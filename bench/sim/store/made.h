/* SPDX-License-Identifier: Apache-2.0 */
/* made.h: objects that an index has without memory for each: their keys are a prefix and a number
 * of eight digits, and they are made when somebody looks. One bit a number says which of them are
 * gone. */
#ifndef CKPTFS_SIM_MADE_H
#define CKPTFS_SIM_MADE_H

#include <stdbool.h>

struct made;
struct object;

/* A new object like the first one, or NULL: no memory. */
typedef struct object *made_fn(void *arg, const struct object *first, const char *key,
                               unsigned long number);
/* Numbers below `count`, which is at most 100 million. Takes over `first`. NULL: no memory. */
struct made *made_new(const char *prefix, unsigned long count, struct object *first, made_fn *make,
                      void *arg);
void made_free(struct made *m);
unsigned long made_count(const struct made *m);

/* The first that is there and whose key is not below `key`, or with `after` above it; the count
 * when there is none. */
unsigned long made_from(const struct made *m, const char *key, bool after);
/* The one of this very key, or the count. */
unsigned long made_find(const struct made *m, const char *key);
/* From now on it is not there. */
void made_take(struct made *m, unsigned long number);
/* NULL: no memory. */
struct object *made_object(const struct made *m, unsigned long number);

#endif
