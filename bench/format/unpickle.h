/* SPDX-License-Identifier: Apache-2.0 */
/* unpickle.h: reads Python's pickle as far as checkpoints use it, and runs nothing.
 *
 * A pickle is a program for a stack machine. This one knows the operations that push and combine
 * values (protocols 2 to 5); where Python would import or call something, the value says what that
 * would be. Names of other modules than those that checkpoints use are refused, so is everything
 * else. Bounded: UNPICKLE_MAX bytes, UNPICKLE_VALUES values; time is linear in the bytes. */
#ifndef CKPTFS_BENCH_FORMAT_UNPICKLE_H
#define CKPTFS_BENCH_FORMAT_UNPICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A .metadata of ours has some 54 values, and 500 bytes, for each piece that a rank saved. */
enum { UNPICKLE_MAX = 256 << 20, UNPICKLE_VALUES = 16 << 20 };

enum value_kind {
        VALUE_NONE,
        VALUE_INT, /* also what is true or false */
        VALUE_FLOAT,
        VALUE_TEXT,   /* strings and bytes */
        VALUE_GLOBAL, /* a class or function: v[0] is its module, v[1] its name */
        VALUE_TUPLE,  /* v[0..n) */
        VALUE_LIST,
        VALUE_DICT,   /* v[0..n): key, value, key, ... */
        VALUE_CALL,   /* v[0] called with v[1], a tuple; then v[2], its state, when there is one */
        VALUE_STORED, /* what the reader keeps under the id v[0] */
};

/* A value may stand in several places, and in itself: walk with a bound. */
struct value {
        enum value_kind kind;
        size_t n, room; /* entries; bytes of text */
        union {
                int64_t i;
                const char *text; /* in the pickle's bytes, not terminated */
                struct value **v;
        };
};

struct unpickled; /* all values of one pickle */

/* Reads p[0..n), which must stay while the values are used. 0 with *root, -ENOMEM, or -EBADMSG with
 * one line in `why` without a file's name. */
int unpickle(const char *p, size_t n, struct unpickled **out, const struct value **root, char *why,
             size_t nwhy);
void unpickled_free(struct unpickled *u);
void unpickled_freep(struct unpickled **u);

/* All take NULL, and answer NULL for what is not there. */
/* The value of a dict's, or an object's state's, text key; of one with more than VALUE_FIELDS keys
 * none, for what is looked through again and again must be short. */
enum { VALUE_FIELDS = 64 };
const struct value *value_get(const struct value *v, const char *key);
/* An entry of a tuple or list. */
const struct value *value_at(const struct value *v, size_t i);
bool value_is_text(const struct value *v, const char *text);
bool value_is_global(const struct value *v, const char *module, const char *name);
/* Whether it is what that function or class returns. */
bool value_is_call(const struct value *v, const char *module, const char *name);
/* 0, or -EBADMSG when it is no integer of 0 or more. */
int value_uint(const struct value *v, uint64_t *out);

#endif
