/* SPDX-License-Identifier: Apache-2.0 */
/* fuse_init_ext.c: see fuse_init_ext.h. */
#include "mount/daemon/fuse_init_ext.h"

#include <linux/fuse.h>
#include <string.h>

#include "base/banned.h"

static _Thread_local uint64_t offered, wanted;

void init_ext_hear(const void *request, size_t n)
{
        struct fuse_in_header head;
        struct fuse_init_in in = {0};

        if (n < sizeof head)
                return;
        memcpy(&head, request, sizeof head);
        if (head.opcode != FUSE_INIT)
                return;
        n -= sizeof head; /* an old kernel sends less */
        memcpy(&in, (const char *)request + sizeof head, n < sizeof in ? n : sizeof in);
        offered = in.flags;
        if (in.flags & FUSE_INIT_EXT)
                offered |= (uint64_t)in.flags2 << 32;
        wanted = 0;
}

uint64_t init_ext_want(uint64_t flags)
{
        wanted |= flags & offered;
        return flags & offered;
}

void init_ext_answer(const struct iovec *iov, int n)
{
        uint64_t flags = wanted;

        wanted = 0;
        if (!flags || n < 2 || iov[1].iov_len < sizeof(struct fuse_init_out))
                return; /* the greeting was refused, or is answered in the words of an old kernel */
        struct fuse_init_out *out = iov[1].iov_base;
        out->flags |= (uint32_t)flags;
        if (flags >> 32) {
                out->flags |= FUSE_INIT_EXT;
                out->flags2 |= (uint32_t)(flags >> 32);
        }
}
