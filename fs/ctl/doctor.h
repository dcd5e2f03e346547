/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: what the parts of `ckptctl doctor` share: each tries some things and says one line of
 * each, "ok", "slow" or "broken", what it is, and what was found, with a remedy. */
#ifndef CKPTFS_CTL_DOCTOR_H
#define CKPTFS_CTL_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/params.h"
#include "store.h"

enum doctor_verdict { DOCTOR_OK, DOCTOR_SLOW, DOCTOR_BROKEN };

struct doctor {
        struct params *p; /* of the mount that is asked about */
        /* Of a mount that runs. */
        const char *device; /* "MAJOR:MINOR"; NULL: there is none */
        const char *pid;
        uint64_t spilled; /* bytes of the disk that it holds */
        bool speed;       /* bytes may be moved to find out how fast that is */
        bool broken;      /* something is */
};

void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *what, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));

/* The machine: FUSE, kernel, limits, memory, read-ahead, disk. Forks, so no thread may run. */
void doctor_machine(struct doctor *d);
/* Whether a signal asked for the end: what was made is removed then, and nothing else is tried. */
bool doctor_ends(void);

/* The way to the store, credentials and permissions, with objects that are removed again. */
void doctor_store(struct doctor *d, const char *url);
/* Latency and bandwidth, with objects whose keys begin with `prefix` and are removed again; `key`
 * is an object that is there. */
void doctor_speed(struct doctor *d, struct store *s, const char *prefix, const char *key);

#endif
