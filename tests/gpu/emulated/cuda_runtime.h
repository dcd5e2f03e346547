/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_runtime.h: what bench/train/math needs of CUDA, on a processor: memory is the host's, and a
 * launch runs the threads of one block after the other, each on a stack of its own. A thread that
 * waits for others gives way to them; threads that wait in vain end the program.
 *
 * Kernels are compiled as C++, the rest as C. */
#ifndef CKPTFS_TESTS_GPU_EMULATED_CUDA_RUNTIME_H
#define CKPTFS_TESTS_GPU_EMULATED_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Else a build with CUDA would have two of each. */
#define cudaFree                  emulated_free
#define cudaGetDevice             emulated_get_device
#define cudaGetErrorString        emulated_error_string
#define cudaGetLastError          emulated_last_error
#define cudaMalloc                emulated_malloc
#define cudaMemcpyAsync           emulated_memcpy
#define cudaMemsetAsync           emulated_memset
#define cudaSetDevice             emulated_set_device
#define cudaStreamCreateWithFlags emulated_stream_create
#define cudaStreamSynchronize     emulated_stream_wait

typedef enum { cudaSuccess, cudaErrorMemoryAllocation = 2 } cudaError_t;
typedef void *cudaStream_t;
enum cudaMemcpyKind {
        cudaMemcpyHostToDevice = 1,
        cudaMemcpyDeviceToHost,
        cudaMemcpyDeviceToDevice
};
enum { cudaStreamNonBlocking = 1 };

cudaError_t cudaMalloc(void **out, size_t n);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemsetAsync(void *p, int byte, size_t n, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaGetDevice(int *out);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t e);

uint16_t emulated_to_half(float x);
float emulated_from_half(uint16_t bits);

#ifdef __cplusplus
}

#include <functional>

#define __global__
#define __device__
#define __shared__ static /* blocks run one after the other */

struct emulated_index {
        unsigned x;
};
extern emulated_index threadIdx, blockIdx, blockDim, gridDim;

void __syncthreads();
int __syncthreads_or(int v);
float __shfl_xor_sync(unsigned mask, float v, int other);

struct __half {
        uint16_t bits;
};
static inline __half __float2half_rn(float x)
{
        return {emulated_to_half(x)};
}

void emulated_launch(unsigned blocks, unsigned threads, const std::function<void()> &kernel);
#define LAUNCH(kernel, blocks, threads, stream, ...)                                               \
        ((void)(stream), emulated_launch(blocks, threads, [=] { kernel(__VA_ARGS__); }))
#endif

#endif
