/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h: how busy the machine is while something runs: a thread that looks every 50 ms, and in
 * between does nothing.
 *
 * Of the machine: processors and memory in percent, bytes a second over the network's interfaces
 * but loopback; of the GPU in use, or the first, where NVIDIA's management library can be loaded:
 * its use and its memory in percent. */
#ifndef CKPTFS_BENCH_SAMPLER_H
#define CKPTFS_BENCH_SAMPLER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mutex.h"
#include "base/text/json.h"

enum sampler_what {
        SAMPLE_CPU,
        SAMPLE_MEMORY,
        SAMPLE_NETWORK,
        SAMPLE_GPU,
        SAMPLE_GPU_MEMORY,
        SAMPLE_KINDS
};
enum {
        SAMPLER_PERIOD_MS = 50,
        SAMPLER_MAX = 1 << 16, /* values kept of each: most of an hour */
        SAMPLER_CURVE = 240    /* points of a curve over time */
};

struct sampler {
        pthread_t thread;
        bool running;
        struct mutex mtx;
        pthread_cond_t cond;
        bool on GUARDED_BY(&mtx), stop GUARDED_BY(&mtx);
        size_t resumed GUARDED_BY(&mtx); /* how often */
        double *v[SAMPLE_KINDS];
        size_t n[SAMPLE_KINDS];
};
#define SAMPLER_INIT                                                                               \
        {                                                                                          \
                .running = false                                                                   \
        }

/* Starts the thread, which looks from sampler_resume() until sampler_pause(), at least once each
 * time. 0 or a negative errno. */
int sampler_start(struct sampler *s);
/* Of one that does not run they do nothing. */
void sampler_resume(struct sampler *s);
void sampler_pause(struct sampler *s);
void sampler_stop(struct sampler *s);
/* Adds {n, mean, min, p50, p75, p90, max} of each that was seen. 0 or -ENOMEM. */
int sampler_json(const struct sampler *s, struct json *to);
/* Adds {period_s, cpu_util: [...], ...}: the same over time, in at most SAMPLER_CURVE points that
 * are the means of as many values each. Of a sampler that was stopped, as sampler_json(). */
void sampler_curve_json(const struct sampler *s, struct json *to);
void sampler_release(struct sampler *s);

#endif
