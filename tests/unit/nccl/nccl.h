/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h: as much of NCCL's interface as coll_nccl.c calls, for test_coll_nccl.c, which plays the
 * library where none is installed. */
#ifndef CKPTFS_TESTS_UNIT_NCCL_H
#define CKPTFS_TESTS_UNIT_NCCL_H

#include <stddef.h>

typedef enum { ncclSuccess, ncclSystemError } ncclResult_t;
typedef enum { ncclChar, ncclFloat } ncclDataType_t;
typedef enum { ncclSum } ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct {
        char bytes[128];
} ncclUniqueId;

ncclResult_t ncclGetVersion(int *out);
const char *ncclGetErrorString(ncclResult_t r);
ncclResult_t ncclGetUniqueId(ncclUniqueId *out);
ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclBroadcast(const void *from, void *to, size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, void *stream);
ncclResult_t ncclAllGather(const void *from, void *to, size_t n, ncclDataType_t type,
                           ncclComm_t comm, void *stream);
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t n, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, void *stream);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, void *stream);

#endif
