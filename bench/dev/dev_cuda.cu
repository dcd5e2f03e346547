/* SPDX-License-Identifier: Apache-2.0 */
/* dev_cuda.cu: memory of an NVIDIA GPU, the one file that knows CUDA; see dev.h.
 *
 * Each thread queues on a stream of its own (cudaStreamPerThread), so that its copies run beside
 * those of others and beside kernels. Waiting blocks instead of spinning: a core that spins would
 * be missing to the ranks and to the mount that are measured. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include <cuda_runtime.h>

#include "bench/core/dev.h"
#include "bench/core/pattern_word.h"

namespace
{

constexpr unsigned THREADS = 256, BLOCKS_MAX = 4096, TILE = 32, SIDE = 1024;

struct {
        int device;
        bool open;
        cudaStream_t stream;
        cudaEvent_t queued;        /* what `stream` waits for */
        unsigned long long *first; /* on the device: the least that a check found */
        float *matrix;             /* three of SIDE * SIDE, made by the first work() */
} cuda;

const cudaStream_t mine = cudaStreamPerThread;

/* What a call returned as a negative errno; anything but no memory is said. */
int failed(const char *call, cudaError_t e)
{
        char what[160];

        (void)cudaGetLastError(); /* or the next launch would be said to have failed */
        if (e == cudaErrorMemoryAllocation)
                return -ENOMEM;
        snprintf(what, sizeof what, "CUDA: %s", call);
        return dev_fail(what, cudaGetErrorString(e));
}

/* For functions that hold nothing they would have to give back. */
#define TRY(call)                                                                                  \
        do {                                                                                       \
                cudaError_t try_e = (call);                                                        \
                if (try_e != cudaSuccess)                                                          \
                        return failed(#call, try_e);                                               \
        } while (0)

/* --- kernels --- */

__global__ void fill_cells(void *mem, uint64_t n, uint64_t base, uint64_t at, uint64_t cells)
{
        uint64_t step = (uint64_t)gridDim.x * blockDim.x;
        for (uint64_t c = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; c < cells; c += step)
                pattern_cell_fill(base, at, mem, n, c);
}

__global__ void check_cells(const void *mem, uint64_t n, uint64_t base, uint64_t at, uint64_t cells,
                            uint64_t tag, unsigned long long *first)
{
        uint64_t step = (uint64_t)gridDim.x * blockDim.x;
        for (uint64_t c = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; c < cells; c += step) {
                uint64_t wrong = pattern_cell_check(base, at, mem, n, c);
                if (wrong != PATTERN_RIGHT) {
                        atomicMin(first, (unsigned long long)(tag + wrong));
                        return; /* this thread's other cells lie behind */
                }
        }
}

/* c = a * b, a tile of it a block, of so many threads that none may have too many registers. */
__global__ void __launch_bounds__(TILE *TILE) multiply(const float *a, const float *b, float *c)
{
        __shared__ float ta[TILE][TILE], tb[TILE][TILE];
        unsigned x = threadIdx.x, y = threadIdx.y;
        unsigned row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
        float sum = 0;

        for (unsigned t = 0; t < SIDE; t += TILE) {
                ta[y][x] = a[row * SIDE + t + x];
                tb[y][x] = b[(t + y) * SIDE + col];
                __syncthreads();
                for (unsigned k = 0; k < TILE; k++)
                        sum += ta[y][k] * tb[k][x];
                __syncthreads();
        }
        c[row * SIDE + col] = sum;
}

unsigned blocks_for(uint64_t cells)
{
        uint64_t n = (cells + THREADS - 1) / THREADS;
        return (unsigned)(n < BLOCKS_MAX ? n : BLOCKS_MAX);
}

/* --- the device --- */

/* Every thread says which device it means. */
int use_device()
{
        TRY(cudaSetDevice(cuda.device));
        return 0;
}

int cuda_begin(unsigned local)
{
        int n = 0;

        TRY(cudaGetDeviceCount(&n));
        cuda.device = (int)(local % (unsigned)(n > 0 ? n : 1));
        TRY(cudaInitDevice(cuda.device, cudaDeviceScheduleBlockingSync,
                           cudaInitDeviceFlagsAreValid));
        TRY(cudaSetDevice(cuda.device));
        TRY(cudaMalloc(&cuda.first, sizeof *cuda.first));
        TRY(cudaMemset(cuda.first, 0xff, sizeof *cuda.first));
        TRY(cudaStreamCreateWithFlags(&cuda.stream, cudaStreamNonBlocking));
        TRY(cudaEventCreateWithFlags(&cuda.queued, cudaEventDisableTiming));
        /* Whether there is code for this GPU: a kernel shows it, a copy does not. */
        check_cells<<<1, THREADS, 0, mine>>>(NULL, 0, 0, 0, 0, 0, cuda.first);
        TRY(cudaGetLastError());
        TRY(cudaStreamSynchronize(mine));
        return 0;
}

void cuda_close()
{
        if (!cuda.open || use_device())
                return;
        /* What cannot be freed goes with the process, whose work is done. */
        (void)cudaStreamDestroy(cuda.stream);
        (void)cudaEventDestroy(cuda.queued);
        (void)cudaFree(cuda.first);
        (void)cudaFree(cuda.matrix);
        cuda.stream = NULL;
        cuda.queued = NULL;
        cuda.first = NULL;
        cuda.matrix = NULL;
        cuda.open = false;
}

int cuda_open(unsigned local, char *why, size_t nwhy)
{
        int n = 0;
        cudaError_t e = cudaGetDeviceCount(&n);

        if (e != cudaSuccess || n == 0) {
                snprintf(why, nwhy,
                         "device=cuda: %s: install NVIDIA's driver and a GPU, or give device=host",
                         e != cudaSuccess ? cudaGetErrorString(e) : "no GPU is there");
                return -ENODEV;
        }
        cuda.open = true;
        if (cuda_begin(local)) {
                snprintf(why, nwhy,
                         "device=cuda: the GPU cannot be used: see above, or give device=host");
                cuda_close();
                return -ENODEV;
        }
        return 0;
}

void cuda_describe(char *out, size_t n)
{
        cudaDeviceProp p;
        int runtime = 0, driver = 0;

        if (cudaGetDeviceProperties(&p, cuda.device) != cudaSuccess ||
            cudaRuntimeGetVersion(&runtime) != cudaSuccess ||
            cudaDriverGetVersion(&driver) != cudaSuccess)
                snprintf(out, n, "cuda");
        else
                snprintf(out, n, "%s, CUDA %d.%d, driver's %d.%d", p.name, runtime / 1000,
                         runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
}

void cuda_id(char out[DEV_ID_MAX])
{
        if (cudaDeviceGetPCIBusId(out, DEV_ID_MAX, cuda.device) != cudaSuccess)
                snprintf(out, DEV_ID_MAX, "cuda %d", cuda.device);
}

uint64_t cuda_room()
{
        size_t free = 0, all = 0;
        return !use_device() && cudaMemGetInfo(&free, &all) == cudaSuccess ? free : 0;
}

int cuda_alloc(size_t n, void **out)
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaMalloc(out, n ? n : 1));
        return 0;
}

void cuda_release(void *mem)
{
        cudaError_t e = cudaFree(mem);
        if (e != cudaSuccess)
                (void)failed("cudaFree", e);
}

int cuda_pin(void *host, size_t n)
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaHostRegister(host, n, cudaHostRegisterPortable));
        return 0;
}

void cuda_unpin(void *host)
{
        cudaError_t e = cudaHostUnregister(host);
        if (e != cudaSuccess)
                (void)failed("cudaHostUnregister", e);
}

int cuda_fill(void *mem, uint64_t base, uint64_t at, uint64_t n)
{
        uint64_t cells = pattern_cells(mem, n);
        int err = use_device();
        if (err || !cells)
                return err;
        fill_cells<<<blocks_for(cells), THREADS, 0, mine>>>(mem, n, base, at, cells);
        TRY(cudaGetLastError());
        return 0;
}

int cuda_check(const void *mem, uint64_t base, uint64_t at, uint64_t n, uint64_t tag)
{
        uint64_t cells = pattern_cells(mem, n);
        int err = use_device();
        if (err || !cells)
                return err;
        check_cells<<<blocks_for(cells), THREADS, 0, mine>>>(mem, n, base, at, cells, tag,
                                                             cuda.first);
        TRY(cudaGetLastError());
        return 0;
}

int cuda_found(uint64_t *first)
{
        unsigned long long least = 0;
        int err = use_device();
        if (err)
                return err;
        TRY(cudaMemcpyAsync(&least, cuda.first, sizeof least, cudaMemcpyDeviceToHost, mine));
        TRY(cudaMemsetAsync(cuda.first, 0xff, sizeof *cuda.first, mine));
        TRY(cudaStreamSynchronize(mine));
        *first = least;
        return 0;
}

int cuda_wipe(void *mem, int byte, size_t n)
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaMemsetAsync(mem, byte, n, mine));
        return 0;
}

int cuda_get(void *host, const void *mem, size_t n)
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaMemcpyAsync(host, mem, n, cudaMemcpyDeviceToHost, mine));
        return 0;
}

int cuda_put(void *mem, const void *host, size_t n)
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaMemcpyAsync(mem, host, n, cudaMemcpyHostToDevice, mine));
        return 0;
}

int cuda_wait()
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaStreamSynchronize(mine));
        return 0;
}

int cuda_work(uint64_t n)
{
        const dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, TILE);
        const size_t one = (size_t)SIDE * SIDE;
        int err = use_device();
        if (err)
                return err;
        if (!cuda.matrix) {
                TRY(cudaMalloc(&cuda.matrix, 3 * one * sizeof *cuda.matrix));
                TRY(cudaMemsetAsync(cuda.matrix, 0, 3 * one * sizeof *cuda.matrix, mine));
        }
        for (uint64_t i = 0; i < n; i++) {
                multiply<<<grid, block, 0, mine>>>(cuda.matrix, cuda.matrix + one,
                                                   cuda.matrix + 2 * one);
                TRY(cudaGetLastError());
        }
        TRY(cudaStreamSynchronize(mine));
        return 0;
}

void *cuda_stream()
{
        return cuda.stream;
}

int cuda_stream_after()
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaEventRecord(cuda.queued, mine));
        TRY(cudaStreamWaitEvent(cuda.stream, cuda.queued, 0));
        return 0;
}

int cuda_stream_behind(void *event)
{
        int err = use_device();
        if (err)
                return err;
        TRY(cudaStreamWaitEvent(cuda.stream, static_cast<cudaEvent_t>(event), 0));
        return 0;
}

int cuda_stream_idle()
{
        int err = use_device();
        if (err)
                return err;
        cudaError_t e = cudaStreamQuery(cuda.stream);
        if (e == cudaErrorNotReady) {
                (void)cudaGetLastError(); /* it is kept as one though it is none */
                return -EAGAIN;
        }
        return e == cudaSuccess ? 0 : failed("cudaStreamQuery", e);
}

} // namespace

extern "C" const struct dev_ops dev_cuda = {
        .name = "cuda",
        .open = cuda_open,
        .close = cuda_close,
        .describe = cuda_describe,
        .id = cuda_id,
        .room = cuda_room,
        .alloc = cuda_alloc,
        .release = cuda_release,
        .pin = cuda_pin,
        .unpin = cuda_unpin,
        .fill = cuda_fill,
        .check = cuda_check,
        .found = cuda_found,
        .wipe = cuda_wipe,
        .get = cuda_get,
        .put = cuda_put,
        .wait = cuda_wait,
        .work = cuda_work,
        .stream = cuda_stream,
        .stream_after = cuda_stream_after,
        .stream_behind = cuda_stream_behind,
        .stream_idle = cuda_stream_idle,
};
