/* SPDX-License-Identifier: Apache-2.0 */
/* readahead.c: see readahead.h. */
#include "mount/read/readahead.h"

#include <stddef.h>

#include "base/banned.h"

static bool belongs(const struct stream *s, uint64_t off)
{
        /* Behind the front by at most the window: what the kernel asks for out of order. */
        uint64_t back = s->window > READAHEAD_SLACK ? s->window : READAHEAD_SLACK;
        uint64_t low = s->next > back ? s->next - back : 0;
        if (low < s->start)
                low = s->start;
        uint64_t front = s->ahead > s->next ? s->ahead : s->next;
        return s->used && off >= low && off <= front + READAHEAD_SLACK;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
        return a > b ? a - b : b - a;
}

static struct stream *find(struct readahead *w, uint64_t off)
{
        struct stream *best = NULL;
        for (int i = 0; i < READAHEAD_STREAMS; i++) {
                struct stream *s = &w->v[i];
                if (belongs(s, off) &&
                    (!best || distance(s->next, off) < distance(best->next, off)))
                        best = s;
        }
        return best;
}

static struct stream *oldest(struct readahead *w)
{
        struct stream *old = &w->v[0];
        for (int i = 0; i < READAHEAD_STREAMS; i++) {
                if (!w->v[i].used)
                        return &w->v[i];
                if (w->v[i].seq < old->seq)
                        old = &w->v[i];
        }
        return old;
}

static uint64_t active(const struct readahead *w)
{
        uint64_t n = 0;
        for (int i = 0; i < READAHEAD_STREAMS; i++)
                n += w->v[i].used && w->v[i].window;
        return n ? n : 1;
}

/* How far ahead of a stream is fetched while its window is small. A file that is read without gaps
 * from its start is likely to be read on. What begins within, or leaves gaps, may be the pages that
 * the kernel had dropped: that is fetched ahead as far as a few times what was read, or not at all
 * when most would be gaps. */
static uint64_t shown(const struct stream *s)
{
        uint64_t span = s->next - s->start, n = READAHEAD_TRUST * s->asked;

        if (!s->start && s->asked >= span / 2)
                return READAHEAD_SECOND;
        if (s->asked < span / READAHEAD_GAPS)
                return 0;
        return n < READAHEAD_SECOND ? n : READAHEAD_SECOND;
}

static void grow(struct readahead *w, struct stream *s, bool waited)
{
        uint64_t most = w->max / active(w);
        if (s->window < READAHEAD_SECOND) {
                s->window = shown(s);
                s->grow_at = s->next;
        } else if (waited && s->next >= s->grow_at) {
                s->window *= 2;
                s->grow_at = s->next + s->window / 8;
        }
        if (s->window > most)
                s->window = most;
}

struct stream *readahead_hit(struct readahead *w, uint64_t off, uint64_t len, bool waited,
                             struct stream *evicted)
{
        struct stream *s = find(w, off);

        evicted->used = false;
        if (!s) {
                s = oldest(w);
                *evicted = *s;
                *s = (struct stream){.used = true, .start = off, .next = off, .ahead = off};
                if (off == 0)
                        s->window = READAHEAD_FIRST;
        }
        if (off + len > s->next) {
                s->next = off + len;
                s->asked += len;
                if (s->asked > len) /* it goes on */
                        grow(w, s, waited);
        }
        s->seq = ++w->seq;
        return s;
}

uint64_t readahead_next(const struct readahead *w, const struct stream *s, uint64_t size)
{
        uint64_t front = s->ahead > s->next ? s->ahead : s->next;
        uint64_t end = s->next + s->window < size ? s->next + s->window : size;
        uint64_t want = s->window / 4;

        if (want < READAHEAD_REQUEST)
                want = READAHEAD_REQUEST;
        if (want > w->read_size)
                want = w->read_size;
        if (front >= end)
                return 0;
        if (end - front < want && end != size)
                return 0; /* whole requests only, until the end of the file */
        return end - front < want ? end - front : want;
}
