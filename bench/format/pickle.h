/* SPDX-License-Identifier: Apache-2.0 */
/* pickle.h: writes Python's pickle, protocol 2, as far as checkpoints need it.
 *
 * A pickle is a program for a stack machine (pickletools of Python's library lists its operations):
 * each function adds the bytes that push a value or combine what was pushed. Nothing is memoised:
 * what is met twice is written twice. Failures are the buf's (`failed`). */
#ifndef CKPTFS_BENCH_FORMAT_PICKLE_H
#define CKPTFS_BENCH_FORMAT_PICKLE_H

#include <stdint.h>

#include "base/buf.h"

void pickle_begin(struct buf *b);
void pickle_end(struct buf *b);

void pickle_none(struct buf *b);
void pickle_bool(struct buf *b, bool v);
void pickle_int(struct buf *b, uint64_t v);
void pickle_float(struct buf *b, double v);
void pickle_string(struct buf *b, const char *s);
/* A class or a function, by module and name. */
void pickle_global(struct buf *b, const char *module, const char *name);

/* Values pushed between the mark and its end become one. */
void pickle_mark(struct buf *b);
void pickle_tuple(struct buf *b);                /* of what was pushed since the mark */
void pickle_tuple_of(struct buf *b, unsigned n); /* of the last n values, 0 to 3; no mark */
void pickle_empty_dict(struct buf *b);
void pickle_empty_list(struct buf *b);
void pickle_set_items(struct buf *b);  /* keys and values since the mark, into the dict below it */
void pickle_append_all(struct buf *b); /* values since the mark, onto the list below it */

/* callable, tuple -> callable(*tuple) */
void pickle_call(struct buf *b);
/* class -> an instance made without arguments; state -> its __setstate__ or __dict__ */
void pickle_new(struct buf *b);
void pickle_state(struct buf *b);
/* The value becomes what the reader makes of that persistent id. */
void pickle_persistent(struct buf *b);

#endif
