/* SPDX-License-Identifier: Apache-2.0 */
/* format.c: see format.h; the table, and the two formats that are simple. */
#include "bench/format/format.h"

#include <errno.h>

#include "base/cleanup.h"
#include "bench/format/layout.h"
#include "bench/format/torch.h"

#include "base/banned.h"

const struct format formats[] = {
        [FORMAT_RAW] = {"raw", "", raw_wrap},
        [FORMAT_SAFETENSORS] = {"safetensors", ".safetensors", safetensors_wrap},
        [FORMAT_TORCH] = {"torch", ".ckpt", torch_wrap},
        [FORMAT_DCP] = {"dcp", ".distcp", dcp_wrap},
};

int raw_wrap(struct shard *s)
{
        (void)s;
        return 0;
}

static void safetensors_header(const struct shard *s, struct buf *b)
{
        buf_adds(b, "{\"__metadata__\":{\"format\":\"pt\"}");
        for (size_t i = 0; i < s->n; i++) {
                const struct shard_piece *p = &s->v[i];
                uint64_t shape[PIECE_DIMS_MAX];
                unsigned dims = piece_shape(p, shape);
                buf_addf(b, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%llu", p->name,
                         p->elem == 2 ? "BF16" : "F32", (unsigned long long)shape[0]);
                for (unsigned d = 1; d < dims; d++)
                        buf_addf(b, ",%llu", (unsigned long long)shape[d]);
                buf_addf(b, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)p->off,
                         (unsigned long long)(p->off + p->len));
        }
        buf_addc(b, '}');
        while (b->len % 8)
                buf_addc(b, ' ');
}

int safetensors_wrap(struct shard *s)
{
        CLEANUP(buf_release) struct buf header = BUF_INIT;
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;
        unsigned char length[8];

        safetensors_header(s, &header);
        if (header.failed)
                return -ENOMEM;
        for (unsigned i = 0; i < sizeof length; i++)
                length[i] = (unsigned char)((uint64_t)header.len >> (8 * i));
        layout_text(&l, length, sizeof length);
        layout_text(&l, header.p, header.len);
        for (size_t i = 0; i < s->n; i++)
                layout_piece(&l, &s->v[i]);
        return layout_take(&l, s);
}
