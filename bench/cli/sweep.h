/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h: key=v1,v2 … becomes a series of jobs, the cartesian product in the order given. A value
 * may hold ${key} of others (interpolate.h), which each job has its own of. */
#ifndef CKPTFS_BENCH_SWEEP_H
#define CKPTFS_BENCH_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/core/keys.h"

/* Who says it, weakest first: a weaker word about a key that is set counts for nothing. What a
 * chosen group holds (see below) stands between files and lists of values. */
enum sweep_level {
        SWEEP_DEFAULT, /* the scenario's own */
        SWEEP_ENVIRONMENT,
        SWEEP_FILE,
        SWEEP_GROUP,
        SWEEP_PARAMS, /* a file's hydra.sweeper.params */
        SWEEP_COMMAND
};

struct sweep;
struct sweep_key {
        char *name, *said; /* ours, and what it was called where it was set */
        char **v;
        size_t n;
        enum sweep_level level;
        struct sweep
                *groups; /* n of them: the keys that choosing a value sets; NULL: plain values */
};
struct sweep {
        struct sweep_key *keys;
        size_t n;
        const char *config_name; /* ${hydra.job.config_name}; borrowed */
};

enum { SWEEP_JOBS_MAX = 100000 };

/* Takes "key=v1,v2" or "+key=v1, v2", a list as sweep_list.h says; a key given again at the same
 * level or above replaces its values. A value "8*1024" is that product. 0, or -EINVAL, -ENOMEM with
 * one line in `why`. Whether the key takes the values is not looked at yet. */
int sweep_add(struct sweep *s, enum sweep_level level, const char *arg, char *why, size_t nwhy);

/* The same with the name apart ("+" before it is dropped): a list of values, or one whatever it
 * holds. */
int sweep_add_values(struct sweep *s, enum sweep_level level, const char *name, const char *list,
                     char *why, size_t nwhy);
int sweep_add_value(struct sweep *s, enum sweep_level level, const char *name, const char *value,
                    char *why, size_t nwhy);

/* Takes "~key" or "~key=value": what was said of the key is not said, so that it has the default of
 * keys.def. 0, -ENOENT (nobody said anything, or another value) or -ENOMEM with one line in `why`.
 */
int sweep_remove(struct sweep *s, const char *arg, char *why, size_t nwhy);

/* The key of that name, or of the name of ours that it stands for; NULL: not set. */
const struct sweep_key *sweep_find(const struct sweep *s, const char *name);

/* How many jobs. At least 1; SWEEP_JOBS_MAX + 1 for more than that, which nobody runs. */
size_t sweep_count(const struct sweep *s);

/* What tells job `i` from the others: "key=value" of each key that has several; "" when none has.
 */
void sweep_label(const struct sweep *s, size_t i, char *out, size_t n);

/* The keys of job `i`, initialised here; release with param_tab_release(). The last key varies
 * fastest. 0 or a negative errno with one line in `why` (-EINVAL: also of a value that is still
 * ???, which says that somebody has to give it; -ELOOP: of ${} in a ring). */
int sweep_job(const struct sweep *s, size_t i, struct keys *k, char *why, size_t nwhy);

/* A checksum of all that was said, for ranks that have to do the same. */
uint32_t sweep_digest(const struct sweep *s);

void sweep_release(struct sweep *s);

#endif
