/* SPDX-License-Identifier: Apache-2.0 */
/* op_copy_range.c: copies of files inside the mount, made by the store. What cannot be, the kernel
 * copies by reading and writing (EOPNOTSUPP). */
#include "mount/ops/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/metrics.h"
#include "mount/rename/attr_sync.h"
#include "mount/caller/fd_owners.h"

#include "base/banned.h"

/* A reply counts bytes in 32 bits. */
#define COPY_MOST (1ULL << 30)

/* The published version that the node's bytes are. False when some exist only here. */
static bool source_locked(const struct node *n, struct store_object *src) REQUIRES(tree_mutex)
{
        if (n->dir || !n->published || !n->etag[0] || (n->file && wfile_dirty(n->file)) ||
            (n->reader && strcmp(reader_etag(n->reader), n->etag)))
                return false;
        *src = (struct store_object){.size = n->size, .has_crc = n->has_crc, .crc32c = n->crc32c};
        snprintf(src->etag, sizeof src->etag, "%s", n->etag);
        return true;
}

void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
                        struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
                        struct fuse_file_info *fi_out, size_t len, int flags)
{
        struct mount *m = op_mount(req);
        struct node *from = op_handle(fi_in)->node;
        struct handle *to = op_handle(fi_out);
        CLEANUP(freep) char *key = tree_key(m->tree, from, NULL);
        uint64_t off = (uint64_t)off_in, n = len < COPY_MOST ? len : COPY_MOST;
        struct store_object src;
        (void)ino_in;
        (void)ino_out;
        (void)flags;

        tree_lock(m->tree);
        bool clean = from != to->node && !from->orphan_key && source_locked(from, &src);
        tree_unlock(m->tree);
        if (!clean || !key || !to->file || off_in != off_out) {
                fuse_reply_err(req, key ? EOPNOTSUPP : ENOMEM);
                return;
        }
        if (off >= src.size) {
                fuse_reply_write(req, 0);
                return;
        }
        if (n > src.size - off)
                n = src.size - off;
        int err = wfile_clone(to->file, &to->user, key, &src, off, n);
        if (err) {
                fuse_reply_err(req, err == -EAGAIN ? EOPNOTSUPP : -err);
                return;
        }
        fd_owners_wrote(to->fd_owners, fuse_req_ctx(req)->pid);
        attr_sync_touch(m, to->node, fuse_req_ctx(req)->uid);
        METRIC_ADD(copied_bytes, n);
        fuse_reply_write(req, n);
}
