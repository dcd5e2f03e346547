/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.c: the checks of mutex.h at run time. They write without the log, which has a mutex. */
#include "base/mutex.h"

#ifdef LOCK_CHECKS
#include <stdio.h>
#include <stdlib.h>

enum { HELD_MAX = 16 };

static _Thread_local const struct mutex *held[HELD_MAX];
static _Thread_local unsigned nheld;

static void fail(const char *what, const struct mutex *m, const struct mutex *other)
{
        fprintf(stderr, "mutex of rank %d: %s (rank %d): see lock_order.h\n", (int)m->rank, what,
                other ? (int)other->rank : -1);
        abort();
}

void mutex_note_taken(const struct mutex *m)
{
        for (unsigned i = 0; i < nheld; i++)
                if (held[i]->rank >= m->rank)
                        fail("taken while another is held that comes after it", m, held[i]);
        if (nheld == HELD_MAX)
                fail("too many are held", m, NULL);
        held[nheld++] = m;
}

void mutex_note_given_back(const struct mutex *m)
{
        unsigned i = nheld;

        while (i && held[i - 1] != m)
                i--;
        if (!i)
                fail("given back by a thread that does not hold it", m, NULL);
        for (; i < nheld; i++)
                held[i - 1] = held[i];
        nheld--;
}

void mutex_check_held(const struct mutex *m)
{
        for (unsigned i = 0; i < nheld; i++)
                if (held[i] == m)
                        return;
        fail("not held where it must be", m, NULL);
}

void mutex_check_none(void)
{
        if (nheld)
                fail("held while a callback runs", held[0], NULL);
}
#endif

#include "base/banned.h"
