/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: see progress.h. The bar is drawn over itself; lines go to standard output, for they
 * are no errors. */
#include "bench/core/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mutex.h"
#include "bench/core/clock.h"

#include "base/banned.h"

enum { REDRAW_MS = 100, WIDTH = 24 };

static struct {
        pthread_t thread;
        bool running;
        atomic_uint_fast64_t done, expected;
        struct progress_job job; /* set before the thread starts */
        char label[160];
        bool terminal;
        uint64_t begin;
        struct mutex mtx;
        pthread_cond_t cond;
        bool stop GUARDED_BY(&mtx);
} shown = {.mtx = MUTEX_INITIALIZER(LOCK_BENCH_PROGRESS), .cond = PTHREAD_COND_INITIALIZER};

void progress_add(uint64_t bytes)
{
        atomic_fetch_add_explicit(&shown.done, bytes, memory_order_relaxed);
}

uint64_t progress_done(void)
{
        return atomic_load_explicit(&shown.done, memory_order_relaxed);
}

void progress_line(const char *text)
{
        if (shown.running && shown.terminal)
                fputs("\r\033[K", stderr); /* the bar comes back below */
        printf("%s\n", text);
        fflush(stdout);
}

void progress_expect(uint64_t bytes)
{
        atomic_store_explicit(&shown.expected, bytes, memory_order_relaxed);
}

/* "1:05" or "2:03:04" */
static void duration(double seconds, char *out, size_t n)
{
        unsigned long s = seconds < 360000 ? (unsigned long)seconds : 359999;
        if (s >= 3600)
                snprintf(out, n, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
        else
                snprintf(out, n, "%lu:%02lu", s / 60, s % 60);
}

/* How far, how fast and how long still, in words. Data may be moved again by what was not foreseen
 * (a request that was repeated), so that nothing is ever past its end. */
static void describe(char *out, size_t n, double *part)
{
        double bytes = (double)atomic_load_explicit(&shown.done, memory_order_relaxed);
        double seconds = clock_s(clock_ns() - shown.begin);
        double all = (double)atomic_load_explicit(&shown.expected, memory_order_relaxed);
        double rate = seconds > 0 ? bytes * shown.job.ranks / seconds / 1e9 : 0;
        char time[32];

        *part = all > 0 ? bytes / all < 1 ? bytes / all : 1 : 0;
        if (*part > 0) {
                duration(seconds / *part - seconds, time, sizeof time);
                snprintf(out, n, "%3.0f %%, %.2f GB/s, %s left", 100 * *part, rate, time);
        } else {
                char moved[64] = ""; /* by who saves and loads */
                duration(seconds, time, sizeof time);
                if (bytes > 0)
                        snprintf(moved, sizeof moved, "%.2f GB, %.2f GB/s, ",
                                 bytes * shown.job.ranks / 1e9, rate);
                snprintf(out, n, "%s%s so far", moved, time);
        }
}

static void draw(void)
{
        char bar[WIDTH + 1], text[128];
        double part;

        describe(text, sizeof text, &part);
        size_t full = (size_t)(part * WIDTH);
        memset(bar, '-', WIDTH);
        memset(bar, '#', full);
        bar[WIDTH] = 0;
        /* back to the first column, and what was longer before goes */
        fprintf(stderr, "\r\033[K%zu/%zu %.60s [%s] %s", shown.job.number, shown.job.jobs,
                shown.label, bar, text);
        fflush(stderr);
}

static void say(void)
{
        char text[128];
        double part;

        describe(text, sizeof text, &part);
        printf("job %zu of %zu, %s: %s\n", shown.job.number, shown.job.jobs, shown.label, text);
        fflush(stdout);
}

/* Waits; true when it is to end. */
static bool wait_ms(uint64_t ms)
{
        const struct timespec t = mutex_deadline(CLOCK_REALTIME, ms);

        mutex_lock(&shown.mtx);
        int err = 0;
        while (!shown.stop && !err)
                err = mutex_timedwait(&shown.cond, &shown.mtx, &t);
        bool stop = shown.stop;
        mutex_unlock(&shown.mtx);
        return stop;
}

static void *run(void *arg)
{
        (void)arg;
        while (!wait_ms(shown.terminal ? REDRAW_MS : shown.job.every_ms)) {
                if (shown.terminal)
                        draw();
                else
                        say();
        }
        if (shown.terminal)
                fputs("\r\033[K", stderr);
        return NULL;
}

void progress_begin(const struct progress_job *job)
{
        progress_end();
        shown.job = *job;
        snprintf(shown.label, sizeof shown.label, "%s", job->label);
        atomic_store(&shown.expected, job->bytes);
        shown.terminal = isatty(STDERR_FILENO) == 1;
        if (!shown.terminal && !job->every_ms)
                return;
        shown.begin = clock_ns();
        mutex_unshared(&shown.mtx); /* the thread of the last job has ended */
        shown.stop = false;
        atomic_store(&shown.done, 0);
        shown.running = !pthread_create(&shown.thread, NULL, run, NULL);
}

void progress_end(void)
{
        if (!shown.running)
                return;
        mutex_lock(&shown.mtx);
        shown.stop = true;
        pthread_cond_signal(&shown.cond);
        mutex_unlock(&shown.mtx);
        pthread_join(shown.thread, NULL);
        shown.running = false;
}
