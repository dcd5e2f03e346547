/* SPDX-License-Identifier: Apache-2.0 */
/* dev_host.c: host memory behind the interface of a device. It takes the same way as a GPU's,
 * through the same functions of pattern_word.h, so that all but the kernels' launch is tested
 * without one.
 *
 * Copies that are queued happen as late as they may: in wait(), or before what is queued behind
 * them. Who forgets to wait, or touches the host's memory before, finds other bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/dev.h"
#include "bench/core/pattern_word.h"

#include "base/banned.h"

enum { QUEUE = 8, ALIGN = 256, ROUND = 4096 };

static struct {
        uint64_t first; /* that a check found */
} host = {.first = DEV_NOTHING};

static _Thread_local struct {
        struct {
                void *to;
                const void *from;
                size_t n;
        } v[QUEUE];
        size_t n;
} queue;

static int host_open(unsigned local, char *why, size_t nwhy)
{
        (void)local;
        (void)why;
        (void)nwhy;
        host.first = DEV_NOTHING;
        return 0;
}

static void host_close(void)
{
}

static void host_describe(char *out, size_t n)
{
        snprintf(out, n, "emulated in host memory");
}

static void host_id(char out[DEV_ID_MAX])
{
        snprintf(out, DEV_ID_MAX, "emulated");
}

static uint64_t host_room(void)
{
        return UINT64_MAX;
}

static int host_alloc(size_t n, void **out)
{
        *out = aligned_alloc(ALIGN, (n + ALIGN - 1) / ALIGN * ALIGN);
        return *out ? 0 : -ENOMEM;
}

static void host_release(void *mem)
{
        free(mem);
}

static int host_pin(void *p, size_t n)
{
        (void)p;
        (void)n;
        return 0;
}

static void host_unpin(void *p)
{
        (void)p;
}

/* The copies that are queued. */
static int host_wait(void)
{
        for (size_t i = 0; i < queue.n; i++)
                memcpy(queue.v[i].to, queue.v[i].from, queue.v[i].n);
        queue.n = 0;
        return 0;
}

static int host_fill(void *mem, uint64_t base, uint64_t at, uint64_t n)
{
        host_wait();
        for (uint64_t cell = pattern_cells(mem, n); cell-- > 0;)
                pattern_cell_fill(base, at, mem, n, cell);
        return 0;
}

static int host_check(const void *mem, uint64_t base, uint64_t at, uint64_t n, uint64_t tag)
{
        host_wait();
        for (uint64_t cell = pattern_cells(mem, n); cell-- > 0;) {
                uint64_t wrong = pattern_cell_check(base, at, mem, n, cell);
                if (wrong != PATTERN_RIGHT && tag + wrong < host.first)
                        host.first = tag + wrong;
        }
        return 0;
}

static int host_found(uint64_t *first)
{
        *first = host.first;
        host.first = DEV_NOTHING;
        return 0;
}

static int host_wipe(void *mem, int byte, size_t n)
{
        host_wait();
        memset(mem, byte, n);
        return 0;
}

static int host_copy(void *to, const void *from, size_t n)
{
        if (queue.n == QUEUE)
                host_wait();
        queue.v[queue.n].to = to;
        queue.v[queue.n].from = from;
        queue.v[queue.n++].n = n;
        return 0;
}

static int host_work(uint64_t n)
{
        static uint64_t sink[ROUND];
        for (uint64_t i = 0; i < n; i++)
                host_fill(sink, i, 0, sizeof sink);
        return 0;
}

static void *host_stream(void)
{
        return NULL;
}

static int host_stream_after(void)
{
        return 0;
}

static int host_stream_behind(void *event)
{
        (void)event;
        return 0;
}

static int host_stream_idle(void)
{
        return 0;
}

const struct dev_ops dev_emulated = {
        .name = "emulated",
        .open = host_open,
        .close = host_close,
        .describe = host_describe,
        .id = host_id,
        .room = host_room,
        .alloc = host_alloc,
        .release = host_release,
        .pin = host_pin,
        .unpin = host_unpin,
        .fill = host_fill,
        .check = host_check,
        .found = host_found,
        .wipe = host_wipe,
        .get = host_copy,
        .put = host_copy,
        .wait = host_wait,
        .work = host_work,
        .stream = host_stream,
        .stream_after = host_stream_after,
        .stream_behind = host_stream_behind,
        .stream_idle = host_stream_idle,
};
