/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c: see copies.h. */
#include "bench/core/copies.h"

#include <stdatomic.h>
#include <string.h>

#include "base/banned.h"

static _Atomic uint64_t counts[COPIES_KINDS];

void copies_add(enum copies_kind kind, size_t n)
{
        atomic_fetch_add_explicit(&counts[kind], n, memory_order_relaxed);
}

void copies_host(void *to, const void *from, size_t n)
{
        memcpy(to, from, n);
        copies_add(COPIES_HOST, n);
}

struct copies copies_now(void)
{
        struct copies now;
        for (size_t i = 0; i < COPIES_KINDS; i++)
                now.n[i] = atomic_load_explicit(&counts[i], memory_order_relaxed);
        return now;
}

struct copies copies_since(struct copies from)
{
        struct copies now = copies_now();
        for (size_t i = 0; i < COPIES_KINDS; i++)
                now.n[i] -= from.n[i];
        return now;
}
