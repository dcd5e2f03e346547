/* SPDX-License-Identifier: Apache-2.0 */
/* math_cuda.c: the arithmetic of training in the memory of an NVIDIA GPU: products of matrices are
 * cuBLAS's, the rest kernels (math_kernels.cu). Everything is queued on one stream, whoever asks
 * for it, so that it happens in the order of the calls. What fails is kept, and told by wait(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

#include "base/mutex.h"
#include "bench/core/dev.h"
#include "bench/train/math/cublas.h"
#include "bench/train/math/math_kernels.h"

#include "base/banned.h"

/* Memory of the device that grows with what is asked of it. */
struct scratch {
        void *p;
        size_t n;
};

static struct {
        struct mutex mtx;
        bool open;
        int device;
        cudaStream_t stream;
        uint64_t taken GUARDED_BY(&mtx), peak GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
        struct scratch a GUARDED_BY(&mtx), b GUARDED_BY(&mtx), places GUARDED_BY(&mtx),
                parts GUARDED_BY(&mtx);
} gpu = {.mtx = MUTEX_INITIALIZER(LOCK_BENCH)};

/* What a call returned as a negative errno; anything but no memory is said. */
static int failed(const char *call, cudaError_t e)
{
        if (e == cudaSuccess)
                return 0;
        (void)cudaGetLastError(); /* or the next launch would be said to have failed */
        return e == cudaErrorMemoryAllocation ? -ENOMEM : dev_fail(call, cudaGetErrorString(e));
}

static void keep_locked(int err) REQUIRES(&gpu.mtx)
{
        if (!gpu.err)
                gpu.err = err;
}

/* Every call says which device it means: its thread may be a new one. */
static cudaStream_t queue_locked(void) REQUIRES(&gpu.mtx)
{
        keep_locked(failed("cudaSetDevice", cudaSetDevice(gpu.device)));
        return gpu.stream;
}

/* Behind a launch. */
static void launched_locked(void) REQUIRES(&gpu.mtx)
{
        keep_locked(failed("a kernel", cudaGetLastError()));
}

static int cuda_open(unsigned threads, char *why, size_t nwhy)
{
        (void)threads;
        mutex_lock(&gpu.mtx);
        int err = 0;
        if (!gpu.open) {
                err = failed("cudaGetDevice", cudaGetDevice(&gpu.device));
                if (!err)
                        err = failed("cudaStreamCreate",
                                     cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
        }
        gpu.open = !err;
        if (err)
                snprintf(why, nwhy, "the GPU gives no queue: see above, or give device=host");
        else
                err = cublas_open(gpu.stream, why, nwhy);
        gpu.peak = gpu.taken;
        gpu.err = 0;
        mutex_unlock(&gpu.mtx);
        return err;
}

static uint64_t cuda_peak(void)
{
        mutex_lock(&gpu.mtx);
        const uint64_t peak = gpu.peak;
        mutex_unlock(&gpu.mtx);
        return peak;
}

static int take_locked(size_t n, void **out) REQUIRES(&gpu.mtx)
{
        (void)queue_locked();
        int err = failed("cudaMalloc", cudaMalloc(out, n));
        if (err)
                return err;
        gpu.taken += n;
        gpu.peak = gpu.taken > gpu.peak ? gpu.taken : gpu.peak;
        return 0;
}

/* Room for n bytes, whose old content goes; NULL after keeping the error. */
static void *room_locked(struct scratch *s, size_t n) REQUIRES(&gpu.mtx)
{
        if (n <= s->n)
                return s->p;
        (void)cudaFree(s->p); /* waits for what uses it */
        gpu.taken -= s->n;
        *s = (struct scratch){0};
        int err = take_locked(n, &s->p);
        s->n = err ? 0 : n;
        keep_locked(err);
        return err ? NULL : s->p;
}

/* What alloc() gave, and how much that was. */
struct held {
        struct held *next;
        void *p;
        size_t n;
};
static struct held *all_held GUARDED_BY(&gpu.mtx);

static int cuda_alloc(size_t n, void **out)
{
        struct held *h = malloc(sizeof *h);

        if (!h)
                return -ENOMEM;
        mutex_lock(&gpu.mtx);
        h->n = n ? n : 1;
        int err = take_locked(h->n, &h->p);
        if (!err) {
                keep_locked(
                        failed("cudaMemsetAsync", cudaMemsetAsync(h->p, 0, h->n, queue_locked())));
                h->next = all_held;
                all_held = h;
                *out = h->p;
        }
        mutex_unlock(&gpu.mtx);
        if (err)
                free(h);
        return err;
}

static void cuda_release(void *p)
{
        struct held *h = NULL;

        mutex_lock(&gpu.mtx);
        for (struct held **at = &all_held; p && *at; at = &(*at)->next)
                if ((*at)->p == p) {
                        h = *at;
                        *at = h->next;
                        break;
                }
        if (h) {
                gpu.taken -= h->n;
                keep_locked(failed("cudaFree", cudaFree(h->p)));
        }
        mutex_unlock(&gpu.mtx);
        free(h);
}

static int end_of_queue(void)
{
        return failed("cudaStreamSynchronize", cudaStreamSynchronize(gpu.stream));
}

/* Behind what is queued, and done when it returns; others may queue meanwhile. */
static int move(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
        mutex_lock(&gpu.mtx);
        const cudaStream_t stream = queue_locked();
        int err = failed("cudaMemcpyAsync", cudaMemcpyAsync(to, from, n, kind, stream));
        mutex_unlock(&gpu.mtx);
        return err ? err : end_of_queue();
}

static int cuda_put(void *to, const void *from, size_t n)
{
        return move(to, from, n, cudaMemcpyHostToDevice);
}

static int cuda_get(void *to, const void *from, size_t n)
{
        return move(to, from, n, cudaMemcpyDeviceToHost);
}

static int cuda_wait(void)
{
        mutex_lock(&gpu.mtx);
        (void)queue_locked();
        mutex_unlock(&gpu.mtx);
        int err = end_of_queue();
        mutex_lock(&gpu.mtx);
        keep_locked(err);
        err = gpu.err;
        mutex_unlock(&gpu.mtx);
        return err;
}

static void cuda_zero(float *x, size_t n)
{
        mutex_lock(&gpu.mtx);
        keep_locked(
                failed("cudaMemsetAsync", cudaMemsetAsync(x, 0, n * sizeof *x, queue_locked())));
        mutex_unlock(&gpu.mtx);
}

static void cuda_copy(float *to, const float *from, size_t n)
{
        mutex_lock(&gpu.mtx);
        keep_locked(failed("cudaMemcpyAsync",
                           cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyDeviceToDevice,
                                           queue_locked())));
        mutex_unlock(&gpu.mtx);
}

/* --- products --- */

static size_t at_least_one(size_t n)
{
        return n ? n : 1;
}

/* From the first element of the first matrix to the last one of the last. */
static size_t extent(const struct product *p, size_t rows, size_t cols, size_t ld, size_t outer,
                     size_t inner)
{
        return (at_least_one(p->outer.n) - 1) * outer + (at_least_one(p->inner.n) - 1) * inner +
               (rows - 1) * ld + cols;
}

/* A matrix, or several, as what is multiplied; NULL: no memory, which is kept. */
static const void *operand_locked(const struct product *p, const float *x, size_t n, float grows,
                                  struct scratch *s) REQUIRES(&gpu.mtx)
{
        if (!p->half)
                return x;
        void *half = room_locked(s, 2 * n);
        if (half)
                kernels_to_half(gpu.stream, x, half, n, grows > 0 ? grows : 1);
        return half;
}

static void product_locked(const struct product *p, const float *a, const float *b, float *c)
        REQUIRES(&gpu.mtx)
{
        const size_t outer = at_least_one(p->outer.n), inner = at_least_one(p->inner.n);
        const size_t n = outer * inner, bytes = p->half ? 2 : sizeof(float);
        const size_t na = extent(p, p->a_turned ? p->k : p->m, p->a_turned ? p->m : p->k, p->lda,
                                 p->outer.a, p->inner.a);
        const size_t nb = extent(p, p->b_turned ? p->n : p->k, p->b_turned ? p->k : p->n, p->ldb,
                                 p->outer.b, p->inner.b);
        const void *from_a = operand_locked(p, a, na, p->a_grows, &gpu.a);
        const void *from_b = from_a ? operand_locked(p, b, nb, p->b_grows, &gpu.b) : NULL;

        if (!from_a || !from_b)
                return;
        if (n == 1) {
                keep_locked(cublas_product(p, from_a, from_b, c));
                return;
        }
        const struct kernels_run run[3] = {{from_a, p->outer.a, p->inner.a, bytes},
                                           {from_b, p->outer.b, p->inner.b, bytes},
                                           {c, p->outer.c, p->inner.c, sizeof *c}};
        const void **places = room_locked(&gpu.places, 3 * n * sizeof *places);
        if (!places)
                return;
        kernels_places(gpu.stream, run, outer, inner, places);
        keep_locked(cublas_products(p, n, places, places + n, (float *const *)(places + 2 * n)));
}

static void cuda_product(const struct product *p, const float *a, const float *b, float *c)
{
        mutex_lock(&gpu.mtx);
        (void)queue_locked();
        product_locked(p, a, b, c);
        launched_locked();
        mutex_unlock(&gpu.mtx);
}

/* --- kernels --- */

/* A function of the table that queues the kernel of its name. */
#define QUEUES(name, types, ...)                                                                   \
        static void cuda_##name types                                                              \
        {                                                                                          \
                mutex_lock(&gpu.mtx);                                                              \
                kernels_##name(queue_locked(), __VA_ARGS__);                                       \
                launched_locked();                                                                 \
                mutex_unlock(&gpu.mtx);                                                            \
        }

QUEUES(add, (float *to, const float *from, size_t n), to, from, n)
QUEUES(draw, (float *x, size_t n, uint64_t key, uint64_t first, float deviation), x, n, key, first,
       deviation)
QUEUES(drop, (float *x, size_t n, const struct dropout *d), x, n, d)
QUEUES(add_rows, (float *x, const float *bias, size_t rows, size_t n), x, bias, rows, n)
QUEUES(sum_rows, (const float *x, float *bias, size_t rows, size_t n), x, bias, rows, n)
QUEUES(embed,
       (float *y, const float *table, const float *position, const int32_t *token, size_t rows,
        size_t block, size_t n),
       y, table, position, token, rows, block, n)
QUEUES(embed_back,
       (const float *dy, float *dtable, float *dposition, const int32_t *token, size_t rows,
        size_t block, size_t n),
       dy, dtable, dposition, token, rows, block, n)
QUEUES(place,
       (float *y, const float *first, const float *bias, const float *position, size_t rows,
        size_t block, size_t n),
       y, first, bias, position, rows, block, n)
QUEUES(place_back,
       (const float *dy, float *dfirst, float *dbias, float *dposition, size_t rows, size_t block,
        size_t n),
       dy, dfirst, dbias, dposition, rows, block, n)
QUEUES(norm, (const struct norm *s, const float *x, float *y), s, x, y)
QUEUES(norm_back,
       (const struct norm *s, const float *x, const float *dy, float *dx, float *dweight,
        float *dbias),
       s, x, dy, dx, dweight, dbias)
QUEUES(gelu, (const float *x, float *y, size_t n), x, y, n)
QUEUES(gelu_back, (const float *x, float *dy, size_t n), x, dy, n)
QUEUES(softmax, (float *x, size_t n, size_t block, bool causal, float scale), x, n, block, causal,
       scale)
QUEUES(softmax_back, (const float *y, float *dy, size_t n, size_t block, bool causal, float scale),
       y, dy, n, block, causal, scale)
QUEUES(sgd, (float *w, const float *g, size_t n, float lr), w, g, n, lr)
QUEUES(adamw, (float *w, const float *g, float *m, float *v, size_t n, const struct adam *a), w, g,
       m, v, n, a)

static void cuda_loss_sum(float *x, size_t n, float scale, float *loss)
{
        mutex_lock(&gpu.mtx);
        double *parts = room_locked(&gpu.parts, KERNELS_PARTS * sizeof *parts);
        if (parts)
                kernels_loss_sum(queue_locked(), x, n, scale, loss, parts);
        launched_locked();
        mutex_unlock(&gpu.mtx);
}

static void cuda_loss_entropy(float *x, const int32_t *target, size_t rows, size_t n, float scale,
                              float *loss)
{
        mutex_lock(&gpu.mtx);
        double *parts = room_locked(&gpu.parts, rows * sizeof *parts);
        if (parts)
                kernels_loss_entropy(queue_locked(), x, target, rows, n, scale, loss, parts);
        launched_locked();
        mutex_unlock(&gpu.mtx);
}

const struct math_ops math_cuda = {
        .name = "cuda",
        .halves = true,
        .open = cuda_open,
        .version = cublas_version,
        .peak = cuda_peak,
        .alloc = cuda_alloc,
        .release = cuda_release,
        .put = cuda_put,
        .get = cuda_get,
        .wait = cuda_wait,
        .zero = cuda_zero,
        .copy = cuda_copy,
        .add = cuda_add,
        .draw = cuda_draw,
        .product = cuda_product,
        .drop = cuda_drop,
        .add_rows = cuda_add_rows,
        .sum_rows = cuda_sum_rows,
        .embed = cuda_embed,
        .embed_back = cuda_embed_back,
        .place = cuda_place,
        .place_back = cuda_place_back,
        .norm = cuda_norm,
        .norm_back = cuda_norm_back,
        .gelu = cuda_gelu,
        .gelu_back = cuda_gelu_back,
        .softmax = cuda_softmax,
        .softmax_back = cuda_softmax_back,
        .loss_sum = cuda_loss_sum,
        .loss_entropy = cuda_loss_entropy,
        .sgd = cuda_sgd,
        .adamw = cuda_adamw,
};
