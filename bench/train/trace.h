/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: when each part of each step of each rank began and ended, as a file that browsers show:
 * the JSON array of Chrome's "Trace Event Format". A rank is a process of it; its steps, its saves,
 * its collectives, each stage of its pipeline, and the steps and collectives of each device behind
 * the first are threads of it.
 *
 * Any thread adds. What comes behind the TRACE_EVENTS_MAX-th event of a rank is left out. */
#ifndef CKPTFS_BENCH_TRAIN_TRACE_H
#define CKPTFS_BENCH_TRAIN_TRACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/core/coll.h"

enum { TRACE_EVENTS_MAX = 1 << 16 };

enum trace_what {
        TRACE_STEP,
        TRACE_FORWARD,
        TRACE_BACKWARD,
        TRACE_REDUCE,
        TRACE_BUCKET,
        TRACE_OPTIMIZER,
        TRACE_ZERO_GRAD,
        TRACE_GATHER,
        TRACE_SCATTER,
        TRACE_CHUNK_FORWARD,
        TRACE_CHUNK_AGAIN,
        TRACE_CHUNK_BACKWARD,
        TRACE_SAVE_BLOCKED,
        TRACE_SAVE_COPY,
        TRACE_SAVE_WRITE,
        TRACE_SAVE_METADATA
};

/* Stages follow: TRACE_STAGE is the first one's; and devices, of which each has two. */
enum {
        TRACE_STEPS,
        TRACE_SAVES,
        TRACE_COLLECTIVES,
        TRACE_STAGE,
        TRACE_DEVICE = TRACE_STAGE + 1024, /* of device 1, its steps */
        TRACE_TRACKS = TRACE_DEVICE + 2 * 64
};
static inline uint32_t trace_steps(unsigned device)
{
        return device ? TRACE_DEVICE + 2 * (device - 1) : TRACE_STEPS;
}
static inline uint32_t trace_collectives(unsigned device)
{
        return device ? trace_steps(device) + 1 : TRACE_COLLECTIVES;
}

struct trace_event {
        uint64_t begin_ns, end_ns;
        uint32_t what, track, number; /* of the step, bucket, unit or micro-batch */
        uint32_t reserved;            /* 0: ranks send each other no bytes that were not set */
};

struct trace {
        struct trace_event *v;
        atomic_size_t n;   /* added, those that are left out too */
        uint64_t begin_ns; /* the times that the file has begin here; 0: nothing is kept yet */
};

/* 0 or -ENOMEM. */
int trace_init(struct trace *t);
void trace_release(struct trace *t);
/* From here on events are kept: right after a barrier, so that the ranks' times agree. */
void trace_begin(struct trace *t);
/* NULL is fine. */
void trace_add(struct trace *t, enum trace_what what, uint32_t track, uint64_t begin_ns,
               uint64_t end_ns, uint64_t number);
/* Collective, while nobody adds: rank 0 writes the events of all ranks to the file, and puts into
 * *lost how many were left out. 0, or the same negative errno in all ranks. */
int trace_write(struct trace *t, struct coll *c, const char *path, size_t *lost);

#endif
