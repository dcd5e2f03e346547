/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_runtime.h: what bench/train/math needs of CUDA, on a processor. Memory is the host's, and a
 * launch runs the threads of one block after the other, each on a stack of its own. A thread that
 * waits for others gives way to them; threads that wait in vain end the program.
 *
 * There are two devices. What is queued on a stream happens as late as it may: when somebody waits
 * for the stream, or for an event behind it. On the second device a stream without kernels does
 * what it has as early as it may. Who forgets to wait finds other numbers. What a stream touches of
 * another device's memory, but by a copy, ends the program.
 *
 * Kernels are compiled as C++, the rest as C. */
#ifndef CKPTFS_TESTS_GPU_EMULATED_CUDA_RUNTIME_H
#define CKPTFS_TESTS_GPU_EMULATED_CUDA_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Else a build with CUDA would have two of each. */
#define cudaDeviceCanAccessPeer    emulated_can_access
#define cudaDeviceEnablePeerAccess emulated_enable_access
#define cudaEventCreateWithFlags   emulated_event_create
#define cudaEventDestroy           emulated_event_destroy
#define cudaEventRecord            emulated_event_record
#define cudaEventSynchronize       emulated_event_wait
#define cudaFree                   emulated_free
#define cudaGetDevice              emulated_get_device
#define cudaGetDeviceCount         emulated_count_devices
#define cudaGetErrorString         emulated_error_string
#define cudaGetLastError           emulated_last_error
#define cudaInitDevice             emulated_init_device
#define cudaMalloc                 emulated_malloc
#define cudaMemcpyAsync            emulated_memcpy
#define cudaMemsetAsync            emulated_memset
#define cudaSetDevice              emulated_set_device
#define cudaStreamCreateWithFlags  emulated_stream_create
#define cudaStreamDestroy          emulated_stream_destroy
#define cudaStreamQuery            emulated_stream_query
#define cudaStreamSynchronize      emulated_stream_wait
#define cudaStreamWaitEvent        emulated_stream_wait_event

typedef enum {
        cudaSuccess,
        cudaErrorMemoryAllocation = 2,
        cudaErrorInvalidDevice = 101,
        cudaErrorNotReady = 600
} cudaError_t;
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
enum cudaMemcpyKind {
        cudaMemcpyHostToDevice = 1,
        cudaMemcpyDeviceToHost,
        cudaMemcpyDeviceToDevice,
        cudaMemcpyDefault
};
enum { cudaStreamNonBlocking = 1, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaDeviceScheduleBlockingSync = 4, cudaInitDeviceFlagsAreValid = 1 };

cudaError_t cudaMalloc(void **out, size_t n);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemsetAsync(void *p, int byte, size_t n, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaInitDevice(int device, unsigned flags, unsigned valid);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaGetDeviceCount(int *out);
cudaError_t cudaGetDevice(int *out);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t e);

/* cuBLAS does not begin while this is true. */
extern bool emulated_no_cublas;

/* Queues run(arg), which is called with all else of the emulation held up. */
void emulated_queue(cudaStream_t stream, void (*run)(void *arg), void *arg);
/* Whose memory it is; -1: no device's. */
int emulated_device_of(const void *p);
/* End the program unless the memory is of the stream's device, and unless that is the device of
 * the calling thread. */
void emulated_touch(cudaStream_t stream, const void *p);
void emulated_at_home(cudaStream_t stream);

uint16_t emulated_to_half(float x);
float emulated_from_half(uint16_t bits);

#ifdef __cplusplus
}

#include <functional>

#define __global__
#define __device__
#define __shared__ static /* blocks run one after the other */
#define __launch_bounds__(threads)

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

template <class T> void emulated_look(cudaStream_t, const T &)
{
}
template <class T> void emulated_look(cudaStream_t stream, T *p)
{
        emulated_touch(stream, p);
}
/* Arguments are what they are at the launch. */
template <class Kernel, class... Args>
void emulated_begin(unsigned blocks, unsigned threads, void *queue, Kernel kernel, Args... args)
{
        const auto stream = static_cast<cudaStream_t>(queue);

        emulated_at_home(stream);
        (emulated_look(stream, args), ...);
        emulated_queue(
                stream,
                [](void *arg) {
                        auto *todo = static_cast<std::function<void()> *>(arg);
                        (*todo)();
                        delete todo;
                },
                new std::function<void()>(
                        [=] { emulated_launch(blocks, threads, [=] { kernel(args...); }); }));
}
#define LAUNCH(kernel, blocks, threads, stream, ...)                                               \
        emulated_begin(                                                                            \
                blocks, threads, stream, [](auto... args) { kernel(args...); }, __VA_ARGS__)
#endif

#endif
