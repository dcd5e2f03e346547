/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c: see chain.h. */
#include "mount/chain.h"

#include "base/digest.h"

#include "base/banned.h"

static bool advance(struct chain *c)
{
        for (unsigned i = 0; i < c->n; i++) {
                if (c->v[i].off != c->off)
                        continue;
                c->crc = crc32c_combine(c->crc, c->v[i].crc, c->v[i].len);
                c->off += c->v[i].len;
                c->v[i] = c->v[--c->n];
                return true;
        }
        return false;
}

void chain_add(struct chain *c, uint64_t off, uint64_t len, uint32_t crc)
{
        if (c->broken || off + len <= c->off)
                return; /* read again */
        if (off < c->off || c->n == CHAIN_MAX) {
                c->broken = true;
                return;
        }
        c->v[c->n].off = off;
        c->v[c->n].len = len;
        c->v[c->n].crc = crc;
        c->n++;
        while (advance(c))
                ;
}
