/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_find.c: what ranks ask about the items of a directory; see dcp.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/format/dcp.h"
#include "bench/format/layout.h"
#include "bench/format/torch.h"

#include "base/banned.h"

int dcp_gather_items(struct coll *c, const struct dcp_item *mine, size_t n, struct dcp_item **out,
                     size_t *nout)
{
        double most = (double)n;
        int err = c->ops->max(c, &most, 1);
        if (err)
                return err;
        size_t room = (size_t)most; /* the same in all ranks: names that are empty fill up */
        CLEANUP(freep) struct dcp_item *v = calloc(room + 1, sizeof *v);
        CLEANUP(freep) struct dcp_item *all = calloc(room * c->ranks + 1, sizeof *all);
        err = coll_agree(c, v && all ? 0 : -ENOMEM);
        if (err)
                return err;
        for (size_t i = 0; i < n; i++)
                v[i] = mine[i];
        err = c->ops->gather(c, v, room * sizeof *v, all);
        *nout = 0;
        for (size_t i = 0; i < room * c->ranks; i++)
                if (*all[i].name)
                        all[(*nout)++] = all[i];
        *out = TAKE_PTR(all);
        return err;
}

int dcp_find_data(const struct dcp_item *it, source_read_fn *read, void *arg, uint64_t *from,
                  char *why, size_t nwhy)
{
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;
        CLEANUP(found_release) struct found found = {0};
        const uint64_t row = it->cols * it->elem;
        const struct shard_piece piece = {.rows = it->rows,
                                          .cols = it->cols,
                                          .elem = it->elem,
                                          .lead = it->lead,
                                          .tensor_off = it->first * row,
                                          .len = it->count * row};

        torch_save_tensor(&l, NULL, &piece);
        if (l.failed)
                return -ENOMEM;
        if (l.size == it->len) {
                *from = it->off + l.v[1].off;
                return 0;
        }
        struct source s = {it->off, it->len, read, arg};
        int err = torch_read(&s, &found, why, nwhy);
        if (err)
                return err;
        if (found.shard.n != 1 || found.shard.size != piece.len)
                return refuse(why, nwhy, "it is not one tensor of %llu bytes",
                              (unsigned long long)piece.len);
        *from = it->off + found.at[0].from;
        return 0;
}
