/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_list.h: what stands behind "key=" where jobs are swept, in the words of Hydra's command
 * line: "a, b", 'a, b' in quotes as one value, choice(a,b) and range(start,stop,step). */
#ifndef CKPTFS_BENCH_SWEEP_LIST_H
#define CKPTFS_BENCH_SWEEP_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { SWEEP_VALUES_MAX = 10000 };

/* A value of the list; text is borrowed. `literal`: it was quoted. 0 or a negative errno, which
 * ends the list. */
typedef int sweep_value_fn(void *arg, const char *text, bool literal);

/* Hands the values of `list` over in order, at least one and at most SWEEP_VALUES_MAX. What is open
 * (a quote, a bracket), empty between commas, or another of Hydra's functions is refused.
 * 0, what `fn` returned, -ENOMEM, or -EINVAL with one line in `why` that begins with `key`. */
int sweep_list(const char *key, const char *list, sweep_value_fn *fn, void *arg, char *why,
               size_t nwhy);

#endif
