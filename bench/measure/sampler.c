/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c: see sampler.h. */
#include "bench/measure/sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "bench/core/clock.h"
#include "bench/core/dev.h"
#include "bench/measure/measure.h"
#include "bench/measure/stats.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

static const char *const names[SAMPLE_KINDS] = {
        [SAMPLE_CPU] = "cpu_util",
        [SAMPLE_MEMORY] = "cpu_mem",
        [SAMPLE_NETWORK] = "network_bytes_per_s",
        [SAMPLE_GPU] = "gpu_util",
        [SAMPLE_GPU_MEMORY] = "gpu_mem",
};

/* What of NVML is used; its interface is stable (nvml.h, version 1 and 2 names). */
struct gpu {
        void *lib, *device;
        int (*shutdown)(void);
        int (*utilization)(void *device, unsigned v[2]);
        int (*memory)(void *device, unsigned long long v[3]);
};

static void gpu_close(struct gpu *g)
{
        if (g->lib) {
                g->shutdown();
                dlclose(g->lib);
        }
        *g = (struct gpu){0};
}

static void gpu_open(struct gpu *g)
{
        int (*init)(void), (*by_index)(unsigned, void **), (*by_place)(const char *, void **);
        char place[DEV_ID_MAX];

        g->lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!g->lib)
                return;
        *(void **)&init = dlsym(g->lib, "nvmlInit_v2");
        *(void **)&g->shutdown = dlsym(g->lib, "nvmlShutdown");
        *(void **)&by_index = dlsym(g->lib, "nvmlDeviceGetHandleByIndex_v2");
        *(void **)&by_place = dlsym(g->lib, "nvmlDeviceGetHandleByPciBusId_v2");
        *(void **)&g->utilization = dlsym(g->lib, "nvmlDeviceGetUtilizationRates");
        *(void **)&g->memory = dlsym(g->lib, "nvmlDeviceGetMemoryInfo");
        if (!init || !g->shutdown || !by_index || !by_place || !g->utilization || !g->memory ||
            init()) {
                dlclose(g->lib);
                *g = (struct gpu){0};
                return;
        }
        /* CUDA numbers GPUs in another order than the machine does */
        if (dev_get())
                dev_get()->id(place);
        if ((!dev_get() || by_place(place, &g->device)) && by_index(0, &g->device))
                gpu_close(g);
}

struct counts {
        uint64_t at_ns;
        double busy, all; /* of the processors, in ticks */
        double bytes;     /* received and sent */
};

static void read_cpu(struct counts *c)
{
        double v[8] = {0};
        CLEANUP(fclosep) FILE *f = fopen("/proc/stat", "re");
        if (!f || fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", v, v + 1, v + 2, v + 3, v + 4,
                         v + 5, v + 6, v + 7) != 8)
                return;
        for (int i = 0; i < 8; i++)
                c->all += v[i];
        c->busy = c->all - v[3] - v[4]; /* idle and waiting for a disk */
}

static void read_network(struct counts *c)
{
        char line[512], name[64];
        double in, out;
        CLEANUP(fclosep) FILE *f = fopen("/proc/net/dev", "re");
        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, " %63[^:]: %lf %*f %*f %*f %*f %*f %*f %*f %lf", name, &in,
                           &out) == 3 &&
                    strcmp(name, "lo"))
                        c->bytes += in + out;
}

static double memory_percent(void)
{
        char line[128];
        double total = 0, available = 0;
        CLEANUP(fclosep) FILE *f = fopen("/proc/meminfo", "re");
        while (f && fgets(line, sizeof line, f)) {
                sscanf(line, "MemTotal: %lf", &total);
                if (sscanf(line, "MemAvailable: %lf", &available) == 1)
                        break;
        }
        return 100 * stats_ratio(total - available, total);
}

static void keep(struct sampler *s, enum sampler_what what, double v)
{
        if (s->n[what] < SAMPLER_MAX)
                s->v[what][s->n[what]++] = v;
}

static void look(struct sampler *s, const struct gpu *g, struct counts *last)
{
        struct counts now = {.at_ns = clock_ns()};
        unsigned use[2];
        unsigned long long memory[3]; /* total, free, used */

        read_cpu(&now);
        read_network(&now);
        if (now.all > last->all) { /* less than a tick says nothing */
                keep(s, SAMPLE_CPU, 100 * stats_ratio(now.busy - last->busy, now.all - last->all));
                keep(s, SAMPLE_NETWORK,
                     stats_ratio(now.bytes - last->bytes, clock_s(now.at_ns - last->at_ns)));
        }
        keep(s, SAMPLE_MEMORY, memory_percent());
        if (g->lib && !g->utilization(g->device, use))
                keep(s, SAMPLE_GPU, use[0]);
        if (g->lib && !g->memory(g->device, memory))
                keep(s, SAMPLE_GPU_MEMORY, 100 * stats_ratio((double)memory[2], (double)memory[0]));
        *last = now;
}

/* Waits until something is to be looked at, and then is not over yet or was too short to be met.
 * False: the end. */
static bool await_on(struct sampler *s, size_t *seen)
{
        mutex_lock(&s->mtx);
        while (*seen == s->resumed && !s->stop)
                mutex_wait(&s->cond, &s->mtx);
        bool any = *seen != s->resumed;
        *seen = s->resumed;
        mutex_unlock(&s->mtx);
        return any;
}

/* Waits for a period. False: a pause or the end came first. */
static bool nap(struct sampler *s)
{
        const uint64_t end = clock_ns() + SAMPLER_PERIOD_MS * 1000000ULL;

        mutex_lock(&s->mtx);
        while (s->on && !s->stop && clock_ns() < end)
                signal_nap_locked(&s->cond, &s->mtx);
        bool on = s->on && !s->stop;
        mutex_unlock(&s->mtx);
        return on;
}

static void *run(void *arg)
{
        struct sampler *s = arg;
        struct gpu g = {0};
        size_t seen = 0;

        gpu_open(&g);
        while (await_on(s, &seen)) {
                struct counts last = {.at_ns = clock_ns()};
                read_cpu(&last);
                read_network(&last);
                while (nap(s))
                        look(s, &g, &last);
                look(s, &g, &last); /* what is left of the last period */
        }
        gpu_close(&g);
        return NULL;
}

int sampler_start(struct sampler *s)
{
        mutex_init(&s->mtx, LOCK_BENCH);
        mutex_cond_init(&s->cond);
        for (int i = 0; i < SAMPLE_KINDS; i++) {
                s->v[i] = malloc(SAMPLER_MAX * sizeof **s->v);
                if (!s->v[i])
                        return -ENOMEM;
        }
        int err = -pthread_create(&s->thread, NULL, run, s);
        s->running = !err;
        return err;
}

static void set_on(struct sampler *s, bool on)
{
        if (!s->running)
                return;
        mutex_lock(&s->mtx);
        s->resumed += on && !s->on;
        s->on = on;
        pthread_cond_signal(&s->cond);
        mutex_unlock(&s->mtx);
}

void sampler_resume(struct sampler *s)
{
        set_on(s, true);
}

void sampler_pause(struct sampler *s)
{
        set_on(s, false);
}

void sampler_stop(struct sampler *s)
{
        if (!s->running)
                return;
        mutex_lock(&s->mtx);
        s->stop = true;
        pthread_cond_signal(&s->cond);
        mutex_unlock(&s->mtx);
        pthread_join(s->thread, NULL);
        pthread_cond_destroy(&s->cond);
        mutex_destroy(&s->mtx);
        s->running = false;
}

int sampler_json(const struct sampler *s, struct json *to)
{
        for (int i = 0; i < SAMPLE_KINDS; i++) {
                struct stats st;
                if (!s->n[i])
                        continue;
                if (stats_of(s->v[i], s->n[i], &st))
                        return -ENOMEM;
                struct json *o = json_add_object(to, names[i]);
                json_add_number(o, "n", (double)st.n);
                json_add_number(o, "mean", st.mean);
                json_add_number(o, "min", st.min);
                json_add_number(o, "p50", st.median);
                json_add_number(o, "p75", st.p75);
                json_add_number(o, "p90", st.p90);
                json_add_number(o, "max", st.max);
        }
        return 0;
}

void sampler_curve_json(const struct sampler *s, struct json *to)
{
        size_t n = s->n[SAMPLE_CPU], each = (n + SAMPLER_CURVE - 1) / SAMPLER_CURVE;

        if (!n)
                return;
        json_add_number(to, "period_s", SAMPLER_PERIOD_MS / 1e3 * (double)each);
        for (int i = 0; i < SAMPLE_KINDS; i++) {
                if (!s->n[i])
                        continue;
                struct json *list = json_add_array(to, names[i]);
                for (size_t at = 0; at < s->n[i]; at += each) {
                        size_t end = at + each < s->n[i] ? at + each : s->n[i];
                        double sum = 0;
                        for (size_t v = at; v < end; v++)
                                sum += s->v[i][v];
                        /* a tenth of a percent, a whole byte: more would only be longer */
                        double mean = sum / (double)(end - at);
                        double grain = i == SAMPLE_NETWORK ? 1 : 10;
                        json_add_number(list, NULL, round(mean * grain) / grain);
                }
        }
}

void sampler_release(struct sampler *s)
{
        sampler_stop(s);
        for (int i = 0; i < SAMPLE_KINDS; i++)
                free(s->v[i]);
}
