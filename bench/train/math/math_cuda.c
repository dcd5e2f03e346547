/* SPDX-License-Identifier: Apache-2.0 */
/* math_cuda.c: the arithmetic of training in the memory of NVIDIA GPUs: products of matrices are
 * cuBLAS's, the rest kernels (math_kernels.cu). Everything that is asked of a device is queued on
 * one stream, whoever asks for it, so that it happens in the order of the calls. What fails is
 * kept, and told by wait(). */
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

/* What alloc() gave, and how much that was. */
struct held {
        struct held *next;
        void *p;
        size_t n;
};

/* A device of the rank. Where the machine has fewer, two of them are one GPU, with a stream each.
 */
struct gpu {
        struct mutex mtx;
        int device;
        cudaStream_t stream;
        cudaStream_t beside; /* of copies that need not wait for it */
        cudaStream_t apart;  /* of those that nobody waits for */
        void *cublas;
        uint64_t taken GUARDED_BY(&mtx), peak GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
        struct held *held GUARDED_BY(&mtx);
        struct scratch a GUARDED_BY(&mtx), b GUARDED_BY(&mtx), places GUARDED_BY(&mtx),
                parts GUARDED_BY(&mtx), joined GUARDED_BY(&mtx);
};
static struct gpu gpus[MATH_DEVICES_MAX];
static unsigned ngpus;                /* open; the main thread's, while no other computes */
static _Thread_local unsigned in_use; /* by this thread */

static struct gpu *this_gpu(void)
{
        return &gpus[in_use];
}

static void cuda_use(unsigned device)
{
        in_use = device;
}

/* What a call returned as a negative errno; anything but no memory is said. */
static int failed(const char *call, cudaError_t e)
{
        if (e == cudaSuccess)
                return 0;
        (void)cudaGetLastError(); /* or the next launch would be said to have failed */
        return e == cudaErrorMemoryAllocation ? -ENOMEM : dev_fail(call, cudaGetErrorString(e));
}

static void note_error_locked(struct gpu *g, int err) REQUIRES(&g->mtx)
{
        if (!g->err)
                g->err = err;
}

/* Every call says which device it means: its thread may be a new one. */
static cudaStream_t queue_locked(struct gpu *g) REQUIRES(&g->mtx)
{
        note_error_locked(g, failed("cudaSetDevice", cudaSetDevice(g->device)));
        return g->stream;
}

/* Behind a launch. */
static void launched_locked(struct gpu *g) REQUIRES(&g->mtx)
{
        note_error_locked(g, failed("a kernel", cudaGetLastError()));
}

/* Threads that wait for one behind the rank's first sleep, as they do for that one. */
static int begin_gpu(struct gpu *g, int device, bool first)
{
        cudaError_t e = first ? cudaSuccess
                              : cudaInitDevice(device, cudaDeviceScheduleBlockingSync,
                                               cudaInitDeviceFlagsAreValid);

        mutex_init(&g->mtx, LOCK_BENCH);
        g->device = device;
        int err = failed("cudaInitDevice", e);
        if (!err)
                err = failed("cudaSetDevice", cudaSetDevice(device));
        cudaStream_t *const streams[] = {&g->stream, &g->beside, &g->apart};
        for (size_t i = 0; i < 3 && !err; i++)
                err = failed("cudaStreamCreate",
                             cudaStreamCreateWithFlags(streams[i], cudaStreamNonBlocking));
        return err;
}

/* Copies between two devices go from one to the other where the machine can; else the driver takes
 * them through the host's memory. */
static void join_peers(const struct gpu *a, const struct gpu *b)
{
        int can = 0;

        if (a->device == b->device || cudaSetDevice(a->device) != cudaSuccess ||
            cudaDeviceCanAccessPeer(&can, a->device, b->device) != cudaSuccess || !can ||
            cudaDeviceEnablePeerAccess(b->device, 0) != cudaSuccess)
                (void)cudaGetLastError(); /* or the next launch would be said to have failed */
}

/* All that alloc() gave was released. cuBLAS has to end on the device that it began on. */
static void end_gpu(struct gpu *g)
{
        cudaStream_t const streams[] = {g->stream, g->beside, g->apart};

        mutex_lock(&g->mtx);
        if (cudaSetDevice(g->device) != cudaSuccess)
                (void)cudaGetLastError(); /* or the next launch would be said to have failed */
        struct scratch *const all[] = {&g->a, &g->b, &g->places, &g->parts, &g->joined};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
                (void)cudaFree(all[i]->p);
        cublas_close(g->cublas);
        for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
                if (streams[i])
                        (void)cudaStreamDestroy(streams[i]);
        mutex_unlock(&g->mtx);
        *g = (struct gpu){.device = 0};
}

/* Of a job whose rank had others. */
static void end_gpus(void)
{
        while (ngpus)
                end_gpu(&gpus[--ngpus]);
}

/* The devices behind those that are open, from the machine's number `first` on. */
static int begin_gpus(unsigned devices, int first, char *why, size_t nwhy)
{
        int count = 1, err = failed("cudaGetDeviceCount", cudaGetDeviceCount(&count));

        *why = 0;
        while (ngpus < devices && !err) {
                struct gpu *g = &gpus[ngpus];
                const int device = (first + (int)ngpus) % count;
                err = begin_gpu(g, device, device == first);
                if (!err)
                        err = cublas_open(g->stream, &g->cublas, why, nwhy);
                if (err) {
                        end_gpu(g);
                        break;
                }
                for (unsigned i = 0; i < ngpus; i++) {
                        join_peers(g, &gpus[i]);
                        join_peers(&gpus[i], g);
                }
                ngpus++;
        }
        if (err && !*why)
                snprintf(why, nwhy, "the GPU gives no queue: see above, or give device=host");
        return err;
}

/* The first is that of the calling thread, which has opened the job's (dev.h). */
static int cuda_open(unsigned devices, unsigned threads, char *why, size_t nwhy)
{
        int first = 0, err = failed("cudaGetDevice", cudaGetDevice(&first));

        (void)threads;
        if (err) {
                snprintf(why, nwhy, "the GPU cannot be used: see above, or give device=host");
                return err;
        }
        if (ngpus && gpus[0].device != first)
                end_gpus();
        err = begin_gpus(devices, first, why, nwhy);
        const int back = failed("cudaSetDevice", cudaSetDevice(first)); /* what it began with */
        if (!err && back)
                snprintf(why, nwhy, "the GPU cannot be used: see above, or give device=host");
        err = err ? err : back;
        for (unsigned i = 0; i < ngpus; i++) {
                struct gpu *g = &gpus[i];
                mutex_lock(&g->mtx);
                g->peak = g->taken;
                g->err = 0;
                mutex_unlock(&g->mtx);
        }
        return err;
}

/* Of the GPU that has most, and that had. */
static void most_taken(uint64_t *now, uint64_t *peak)
{
        *now = *peak = 0;
        for (unsigned i = 0; i < ngpus; i++) {
                struct gpu *g = &gpus[i];
                mutex_lock(&g->mtx);
                *now = g->taken > *now ? g->taken : *now;
                *peak = g->peak > *peak ? g->peak : *peak;
                mutex_unlock(&g->mtx);
        }
}

static uint64_t cuda_peak(void)
{
        uint64_t now, peak;

        most_taken(&now, &peak);
        return peak;
}

static uint64_t cuda_taken(void)
{
        uint64_t now, peak;

        most_taken(&now, &peak);
        return now;
}

static int take_locked(struct gpu *g, size_t n, void **out) REQUIRES(&g->mtx)
{
        (void)queue_locked(g);
        int err = failed("cudaMalloc", cudaMalloc(out, n));
        if (err)
                return err;
        g->taken += n;
        g->peak = g->taken > g->peak ? g->taken : g->peak;
        return 0;
}

/* Room for n bytes, whose old content goes; NULL after keeping the error. */
static void *room_locked(struct gpu *g, struct scratch *s, size_t n) REQUIRES(&g->mtx)
{
        if (n <= s->n)
                return s->p;
        (void)cudaFree(s->p); /* waits for what uses it */
        g->taken -= s->n;
        *s = (struct scratch){0};
        int err = take_locked(g, n, &s->p);
        s->n = err ? 0 : n;
        note_error_locked(g, err);
        return err ? NULL : s->p;
}

static int cuda_alloc(size_t n, void **out)
{
        struct gpu *g = this_gpu();
        struct held *h = malloc(sizeof *h);

        if (!h)
                return -ENOMEM;
        mutex_lock(&g->mtx);
        h->n = n ? n : 1;
        int err = take_locked(g, h->n, &h->p);
        if (!err) {
                note_error_locked(g, failed("cudaMemsetAsync",
                                            cudaMemsetAsync(h->p, 0, h->n, queue_locked(g))));
                h->next = g->held;
                g->held = h;
                *out = h->p;
        }
        mutex_unlock(&g->mtx);
        if (err)
                free(h);
        return err;
}

/* Whether it was of that device. */
static bool release_from(struct gpu *g, const void *p)
{
        struct held *h = NULL;

        mutex_lock(&g->mtx);
        for (struct held **at = &g->held; *at; at = &(*at)->next)
                if ((*at)->p == p) {
                        h = *at;
                        *at = h->next;
                        break;
                }
        if (h) {
                g->taken -= h->n;
                note_error_locked(g, failed("cudaFree", cudaFree(h->p)));
        }
        mutex_unlock(&g->mtx);
        free(h);
        return h;
}

static void cuda_release(void *p)
{
        for (unsigned i = 0; p && i < ngpus && !release_from(&gpus[i], p); i++)
                ;
}

static int end_of_queue(const struct gpu *g)
{
        return failed("cudaStreamSynchronize", cudaStreamSynchronize(g->stream));
}

static int queue_copy(struct gpu *g, void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
        mutex_lock(&g->mtx);
        const cudaStream_t stream = queue_locked(g);
        int err = failed("cudaMemcpyAsync", cudaMemcpyAsync(to, from, n, kind, stream));
        mutex_unlock(&g->mtx);
        return err;
}

/* Behind what is queued, and done when it returns; others may queue meanwhile. */
static int move(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
        struct gpu *g = this_gpu();
        int err = queue_copy(g, to, from, n, kind);

        return err ? err : end_of_queue(g);
}

static int cuda_put(void *to, const void *from, size_t n)
{
        return move(to, from, n, cudaMemcpyHostToDevice);
}

static int cuda_get(void *to, const void *from, size_t n)
{
        return move(to, from, n, cudaMemcpyDeviceToHost);
}

static int cuda_put_queued(void *to, const void *from, size_t n)
{
        return queue_copy(this_gpu(), to, from, n, cudaMemcpyHostToDevice);
}

static int cuda_get_queued(void *to, const void *from, size_t n)
{
        return queue_copy(this_gpu(), to, from, n, cudaMemcpyDeviceToHost);
}

/* --- marks --- */

/* Behind what is queued on a stream of the device. Who waits for one sleeps. */
static int mark_locked(struct gpu *g, cudaStream_t stream, void **mark) REQUIRES(&g->mtx)
{
        cudaEvent_t event = *mark;

        (void)queue_locked(g);
        int err = event ? 0
                        : failed("cudaEventCreate",
                                 cudaEventCreateWithFlags(&event, cudaEventDisableTiming |
                                                                          cudaEventBlockingSync));
        *mark = event;
        return err ? err : failed("cudaEventRecord", cudaEventRecord(event, stream));
}

static int cuda_mark(void **mark)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        int err = mark_locked(g, g->stream, mark);
        mutex_unlock(&g->mtx);
        return err;
}

static int cuda_reach(void *mark)
{
        return mark ? failed("cudaEventSynchronize", cudaEventSynchronize(mark)) : 0;
}

static void cuda_unmark(void *mark)
{
        if (mark)
                (void)failed("cudaEventDestroy", cudaEventDestroy(mark));
}

static int follow_locked(struct gpu *g, cudaStream_t stream, void *mark) REQUIRES(&g->mtx)
{
        (void)queue_locked(g);
        return mark ? failed("cudaStreamWaitEvent", cudaStreamWaitEvent(stream, mark, 0)) : 0;
}

static int cuda_follow(void *mark)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        int err = follow_locked(g, g->stream, mark);
        mutex_unlock(&g->mtx);
        return err;
}

static int cuda_copy_apart(void *to, const void *from, size_t n, void *behind, void **mark)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        int err = follow_locked(g, g->apart, behind);
        if (!err)
                err = failed("cudaMemcpyAsync",
                             cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, g->apart));
        if (!err)
                err = mark_locked(g, g->apart, mark);
        mutex_unlock(&g->mtx);
        return err;
}

static int move_beside(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, void *mark)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        int err = follow_locked(g, g->beside, mark);
        if (!err)
                err = failed("cudaMemcpyAsync", cudaMemcpyAsync(to, from, n, kind, g->beside));
        mutex_unlock(&g->mtx);
        return err ? err : failed("cudaStreamSynchronize", cudaStreamSynchronize(g->beside));
}

static int cuda_get_behind(void *to, const void *from, size_t n, void *mark)
{
        return move_beside(to, from, n, cudaMemcpyDeviceToHost, mark);
}

static int cuda_put_beside(void *to, const void *from, size_t n)
{
        return move_beside(to, from, n, cudaMemcpyHostToDevice, NULL);
}

enum { JOIN_ROOM = 1 << 20 /* elements of a piece */ };

/* One piece: the sum is made in this device's memory, into which the others are copied. */
static cudaError_t join_locked(struct gpu *g, float *to, const float *const *from, unsigned n,
                               size_t at, size_t elements) REQUIRES(&g->mtx)
{
        float *sum = g->joined.p, *next = sum + JOIN_ROOM;
        const size_t bytes = elements * sizeof *to;
        cudaError_t e = cudaMemcpyAsync(sum, from[0] + at, bytes, cudaMemcpyDefault, g->beside);

        for (unsigned i = 1; i < n && e == cudaSuccess; i++) {
                e = cudaMemcpyAsync(next, from[i] + at, bytes, cudaMemcpyDefault, g->beside);
                kernels_add(g->beside, sum, next, elements);
        }
        return e != cudaSuccess
                       ? e
                       : cudaMemcpyAsync(to + at, sum, bytes, cudaMemcpyDefault, g->beside);
}

static int cuda_join_beside(float *to, const float *const *from, unsigned n, size_t elements)
{
        struct gpu *g = this_gpu();
        cudaError_t e = cudaSuccess;

        if (!elements)
                return 0;
        mutex_lock(&g->mtx);
        (void)queue_locked(g);
        int err = n > 1 && !room_locked(g, &g->joined, 2 * JOIN_ROOM * sizeof *to) ? -ENOMEM : 0;
        if (!err && n == 1)
                e = cudaMemcpyAsync(to, from[0], elements * sizeof *to, cudaMemcpyDefault,
                                    g->beside);
        for (size_t at = 0; n > 1 && at < elements && !err && e == cudaSuccess; at += JOIN_ROOM)
                e = join_locked(g, to, from, n, at,
                                elements - at < JOIN_ROOM ? elements - at : JOIN_ROOM);
        if (!err)
                err = failed("cudaMemcpyAsync", e);
        launched_locked(g);
        mutex_unlock(&g->mtx);
        const int waited = failed("cudaStreamSynchronize", cudaStreamSynchronize(g->beside));
        return err ? err : waited;
}

static int cuda_wait(void)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        (void)queue_locked(g);
        mutex_unlock(&g->mtx);
        int err = end_of_queue(g);
        mutex_lock(&g->mtx);
        note_error_locked(g, err);
        err = g->err;
        mutex_unlock(&g->mtx);
        return err;
}

static void cuda_zero(float *x, size_t n)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        note_error_locked(g, failed("cudaMemsetAsync",
                                    cudaMemsetAsync(x, 0, n * sizeof *x, queue_locked(g))));
        mutex_unlock(&g->mtx);
}

/* The memory may be that of two devices. */
static void cuda_copy(float *to, const float *from, size_t n)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        note_error_locked(
                g, failed("cudaMemcpyAsync", cudaMemcpyAsync(to, from, n * sizeof *to,
                                                             cudaMemcpyDefault, queue_locked(g))));
        mutex_unlock(&g->mtx);
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
static const void *operand_locked(struct gpu *g, const struct product *p, const float *x, size_t n,
                                  float grows, struct scratch *s) REQUIRES(&g->mtx)
{
        if (!p->half)
                return x;
        void *half = room_locked(g, s, 2 * n);
        if (half)
                kernels_to_half(g->stream, x, half, n, product_grows(grows));
        return half;
}

/* For halves that lie where kernels may not read several at once: a call for each outer one, in
 * which cuBLAS sees that. */
static int products_in_runs(const struct gpu *g, const struct product *p, const uint16_t *a,
                            const uint16_t *b, float *c)
{
        struct product run = *p;
        int err = 0;

        run.inner.n = at_least_one(p->inner.n);
        for (size_t i = 0; i < at_least_one(p->outer.n) && !err; i++)
                err = cublas_product_run(g->cublas, &run, a + i * p->outer.a, b + i * p->outer.b,
                                         c + i * p->outer.c);
        return err;
}

static void product_locked(struct gpu *g, const struct product *p, const float *a, const float *b,
                           float *c) REQUIRES(&g->mtx)
{
        const size_t outer = at_least_one(p->outer.n), inner = at_least_one(p->inner.n);
        const size_t n = outer * inner, bytes = p->half ? 2 : sizeof(float);
        const size_t na = extent(p, p->a_turned ? p->k : p->m, p->a_turned ? p->m : p->k, p->lda,
                                 p->outer.a, p->inner.a);
        const size_t nb = extent(p, p->b_turned ? p->n : p->k, p->b_turned ? p->k : p->n, p->ldb,
                                 p->outer.b, p->inner.b);
        const void *from_a = operand_locked(g, p, a, na, p->a_grows, &g->a);
        const void *from_b = from_a ? operand_locked(g, p, b, nb, p->b_grows, &g->b) : NULL;

        if (!from_a || !from_b)
                return;
        if (n == 1) {
                note_error_locked(g, cublas_product(g->cublas, p, from_a, from_b, c));
                return;
        }
        if (p->half && !cublas_lies_well(p, from_a, from_b, c)) {
                note_error_locked(g, products_in_runs(g, p, from_a, from_b, c));
                return;
        }
        const struct kernels_run run[3] = {{from_a, p->outer.a, p->inner.a, bytes},
                                           {from_b, p->outer.b, p->inner.b, bytes},
                                           {c, p->outer.c, p->inner.c, sizeof *c}};
        const void **places = room_locked(g, &g->places, 3 * n * sizeof *places);
        if (!places)
                return;
        kernels_places(g->stream, run, outer, inner, places);
        note_error_locked(g, cublas_products(g->cublas, p, n, places, places + n,
                                             (float *const *)(places + 2 * n)));
}

static void cuda_product(const struct product *p, const float *a, const float *b, float *c)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        (void)queue_locked(g);
        product_locked(g, p, a, b, c);
        launched_locked(g);
        mutex_unlock(&g->mtx);
}

/* --- kernels --- */

/* A function of the table that queues the kernel of its name. */
#define QUEUES(name, types, ...)                                                                   \
        static void cuda_##name types                                                              \
        {                                                                                          \
                struct gpu *this_one = this_gpu();                                                 \
                mutex_lock(&this_one->mtx);                                                        \
                kernels_##name(queue_locked(this_one), __VA_ARGS__);                               \
                launched_locked(this_one);                                                         \
                mutex_unlock(&this_one->mtx);                                                      \
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
QUEUES(find_overflow, (const float *x, size_t n, float *any), x, n, any)
QUEUES(sgd, (float *w, const float *g, size_t n, float lr), w, g, n, lr)
QUEUES(adamw, (float *w, const float *g, float *m, float *v, size_t n, const struct adam *a), w, g,
       m, v, n, a)

static void cuda_loss_sum(float *x, size_t n, float scale, float *loss)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        double *parts = room_locked(g, &g->parts, KERNELS_PARTS * sizeof *parts);
        if (parts)
                kernels_loss_sum(queue_locked(g), x, n, scale, loss, parts);
        launched_locked(g);
        mutex_unlock(&g->mtx);
}

static void cuda_loss_entropy(float *x, const int32_t *target, size_t rows, size_t n, float scale,
                              float *loss)
{
        struct gpu *g = this_gpu();

        mutex_lock(&g->mtx);
        double *parts = room_locked(g, &g->parts, rows * sizeof *parts);
        if (parts)
                kernels_loss_entropy(queue_locked(g), x, target, rows, n, scale, loss, parts);
        launched_locked(g);
        mutex_unlock(&g->mtx);
}

const struct math_ops math_cuda = {
        .name = "cuda",
        .open = cuda_open,
        .use = cuda_use,
        .version = cublas_version,
        .peak = cuda_peak,
        .taken = cuda_taken,
        .alloc = cuda_alloc,
        .release = cuda_release,
        .put = cuda_put,
        .get = cuda_get,
        .wait = cuda_wait,
        .put_queued = cuda_put_queued,
        .get_queued = cuda_get_queued,
        .mark = cuda_mark,
        .reach = cuda_reach,
        .unmark = cuda_unmark,
        .get_behind = cuda_get_behind,
        .put_beside = cuda_put_beside,
        .join_beside = cuda_join_beside,
        .copy_apart = cuda_copy_apart,
        .follow = cuda_follow,
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
        .find_overflow = cuda_find_overflow,
        .sgd = cuda_sgd,
        .adamw = cuda_adamw,
};
