/* SPDX-License-Identifier: Apache-2.0 */
/* data_i.h: what data.c and blob.c share. */
#ifndef CKPTFS_SIM_DATA_I_H
#define CKPTFS_SIM_DATA_I_H

#include <stdatomic.h>

#include "bench/sim/store/data.h"

struct data {
        int root;                           /* -1: null mode */
        atomic_uint_fast64_t next_id, used; /* used: bytes of the blobs that this run made */
        uint64_t quota;                     /* of these; 0: none */
        atomic_bool leaves_files;           /* the server ends: files outlive their blobs */
};

#endif
