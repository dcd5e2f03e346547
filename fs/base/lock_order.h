/* SPDX-License-Identifier: Apache-2.0 */
/* lock_order.h: the order in which locks are taken: a thread that holds one takes none that stands
 * above it, nor a second one of the same kind. Builds with sanitizers assert it (mutex.h).
 *
 * A callback runs without any: whoever calls one asserts it (mutex_check_none()). These are called
 * with a lock, and take none but such as come after it: the function that sees each entry of a
 * listing, the questions to a node's file and to a cached version, the tree's drop(), which hands
 * the key of a node that goes on to a request, and the pool's pressure(), which wakes a thread. */
#ifndef CKPTFS_BASE_LOCK_ORDER_H
#define CKPTFS_BASE_LOCK_ORDER_H

enum lock_rank {
        /* the benchmark and the simulator */
        LOCK_BENCH,
        LOCK_BENCH_PROGRESS,
        LOCK_BENCH_CLEANUP,
        LOCK_SIM,
        /* the mount */
        LOCK_OPTIONS,
        LOCK_SHUTDOWN_TIMER,
        LOCK_LISTING,
        LOCK_DIR_HANDLE, /* entries are handed on with the listing's lock */
        LOCK_REQUESTS,
        LOCK_TREE,
        LOCK_PROC_QUERIES,
        LOCK_FD_OWNERS,
        LOCK_ORPHANS,
        LOCK_WFILE,
        LOCK_LEFT_UPLOADS,
        LOCK_TALLY,
        LOCK_READER,
        LOCK_VERSION_CACHE,
        LOCK_SPILL,
        LOCK_MEM_RECLAIM, /* who waits for memory wakes it */
        /* copies and renames */
        LOCK_MOVE,
        /* the store's client */
        LOCK_COPY_PARTS,
        LOCK_STORE_UPLOAD,
        LOCK_SYNC_WAIT,
        LOCK_RATE,
        LOCK_S3_REGION,
        LOCK_CREDENTIALS,
        LOCK_SIGN_CACHE,
        /* what any of them uses */
        LOCK_POOL,
        LOCK_LOG
};

#endif
