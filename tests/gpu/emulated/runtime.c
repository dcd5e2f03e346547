/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.c: memory, streams and events of cuda_runtime.h, and the few functions of cuBLAS that
 * cublas.c loads. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

#include "base/banned.h"

enum { DEVICES = 2, EARLY = 1 };

struct task {
        struct task *next;
        void (*run)(void *arg);
        void *arg;
};

struct emulated_stream {
        int device;
        bool kernels; /* it had one */
        struct task *first, *last;
        uint64_t queued, done;
};

struct emulated_event {
        int device;
        struct emulated_stream *stream; /* NULL: it was not recorded */
        uint64_t until;
};

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int current;
static struct memory {
        struct memory *next;
        char *p;
        size_t n;
        int device;
} * all_memory;
static struct emulated_stream *all_streams[64];
static size_t nstreams;

/* A task may queue others. */
static void make_lock(void)
{
        pthread_mutexattr_t a;

        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&lock, &a);
}

static void hold(void)
{
        pthread_once(&once, make_lock);
        pthread_mutex_lock(&lock);
}

static void let_go(void)
{
        pthread_mutex_unlock(&lock);
}

static void die(const char *why)
{
        fprintf(stderr, "emulated: %s\n", why);
        abort();
}

/* --- memory --- */

/* Nobody may count on zeros. */
cudaError_t cudaMalloc(void **out, size_t n)
{
        struct memory *m = malloc(sizeof *m);

        *out = malloc(n);
        if (!*out || !m) {
                free(*out);
                free(m);
                return cudaErrorMemoryAllocation;
        }
        memset(*out, 0xa5, n);
        hold();
        *m = (struct memory){.next = all_memory, .p = *out, .n = n, .device = current};
        all_memory = m;
        let_go();
        return cudaSuccess;
}

static void run_first(struct emulated_stream *s)
{
        struct task *t = s->first;

        s->first = t->next;
        s->done++;
        t->run(t->arg);
        free(t);
}

static void run_until(struct emulated_stream *s, uint64_t until)
{
        while (s->done < until)
                run_first(s);
}

/* It waits for all devices. */
cudaError_t cudaFree(void *p)
{
        if (!p)
                return cudaSuccess;
        hold();
        for (size_t i = 0; i < nstreams; i++)
                run_until(all_streams[i], all_streams[i]->queued);
        struct memory **at = &all_memory;
        while (*at && (*at)->p != p)
                at = &(*at)->next;
        struct memory *m = *at;
        if (!m)
                die("memory is given back that was not taken");
        *at = m->next;
        free(m);
        free(p);
        let_go();
        return cudaSuccess;
}

int emulated_device_of(const void *p)
{
        const struct memory *m;

        hold();
        for (m = all_memory; m && (uintptr_t)p - (uintptr_t)m->p >= m->n; m = m->next)
                ;
        const int device = m ? m->device : -1;
        let_go();
        return device;
}

void emulated_touch(cudaStream_t stream, const void *p)
{
        const int device = emulated_device_of(p);

        if (p && device != stream->device)
                die(device < 0 ? "memory that is no device's" : "memory of another device");
}

void emulated_at_home(cudaStream_t stream)
{
        if (stream->device != current)
                die("a kernel is queued on another device than its thread's");
        stream->kernels = true;
}

/* --- streams --- */

static void run_event(void *arg)
{
        struct emulated_event *e = arg;

        if (e->stream)
                run_until(e->stream, e->until);
        free(e);
}

static bool is_ready(const struct task *t)
{
        const struct emulated_event *e = t->arg;
        return t->run != run_event || !e->stream || e->stream->done >= e->until;
}

void emulated_queue(cudaStream_t s, void (*run)(void *arg), void *arg)
{
        struct task *t = malloc(sizeof *t);

        if (!t)
                die("no memory");
        *t = (struct task){.run = run, .arg = arg};
        hold();
        if (s->queued++ == s->done)
                s->first = t;
        else
                s->last->next = t;
        s->last = t;
        while (s->device == EARLY && !s->kernels && s->done < s->queued && is_ready(s->first))
                run_first(s);
        let_go();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
        struct emulated_stream *s = calloc(1, sizeof *s);

        (void)flags;
        if (!s)
                return cudaErrorMemoryAllocation;
        s->device = current;
        hold();
        if (nstreams == sizeof all_streams / sizeof all_streams[0])
                die("more streams than are thought of");
        all_streams[nstreams++] = s;
        let_go();
        *out = s;
        return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
        hold();
        run_until(s, s->queued);
        for (size_t i = 0; i < nstreams; i++)
                if (all_streams[i] == s)
                        all_streams[i] = all_streams[--nstreams];
        free(s);
        let_go();
        return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
        hold();
        run_until(s, s->queued);
        let_go();
        return cudaSuccess;
}

/* Who asks again and again comes to the end. */
cudaError_t cudaStreamQuery(cudaStream_t s)
{
        hold();
        const bool idle = s->done == s->queued;
        if (!idle)
                run_until(s, s->done + 1);
        let_go();
        return idle ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
        (void)flags;
        *out = calloc(1, sizeof **out);
        if (!*out)
                return cudaErrorMemoryAllocation;
        (*out)->device = current;
        return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
        free(e);
        return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
        if (e->device != s->device)
                die("an event of another device is recorded");
        hold();
        e->stream = s;
        e->until = s->queued;
        let_go();
        return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
        hold();
        if (e->stream)
                run_until(e->stream, e->until);
        let_go();
        return cudaSuccess;
}

/* What the event stands for now. */
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
        struct emulated_event *now = malloc(sizeof *now);

        (void)flags;
        if (!now)
                return cudaErrorMemoryAllocation;
        hold();
        *now = *e;
        emulated_queue(s, run_event, now);
        let_go();
        return cudaSuccess;
}

struct copy {
        void *to;
        const void *from;
        int byte;
        size_t n;
};

static void queue_copy(cudaStream_t s, void (*run)(void *arg), struct copy c)
{
        struct copy *p = malloc(sizeof *p);

        if (!p)
                die("no memory");
        *p = c;
        emulated_queue(s, run, p);
}

static void run_memset(void *arg)
{
        struct copy *c = arg;
        memset(c->to, c->byte, c->n);
        free(c);
}

static void run_memcpy(void *arg)
{
        struct copy *c = arg;
        memcpy(c->to, c->from, c->n);
        free(c);
}

cudaError_t cudaMemsetAsync(void *p, int byte, size_t n, cudaStream_t stream)
{
        emulated_touch(stream, p);
        queue_copy(stream, run_memset, (struct copy){.to = p, .byte = byte, .n = n});
        return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
        (void)kind;
        queue_copy(stream, run_memcpy, (struct copy){.to = to, .from = from, .n = n});
        return cudaSuccess;
}

/* --- devices --- */

cudaError_t cudaInitDevice(int device, unsigned flags, unsigned valid)
{
        (void)flags;
        (void)valid;
        return device < DEVICES ? cudaSuccess : cudaErrorInvalidDevice;
}

/* Its own memory a device has anyway. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
        if (device >= DEVICES || peer >= DEVICES || device == peer)
                die("a device asks for access to itself, or to none");
        *can = 1;
        return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
        (void)flags;
        if (peer >= DEVICES || peer == current)
                die("a device asks for access to itself, or to none");
        return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *out)
{
        *out = DEVICES;
        return cudaSuccess;
}

cudaError_t cudaGetDevice(int *out)
{
        *out = current;
        return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
        if (device < 0 || device >= DEVICES)
                return cudaErrorInvalidDevice;
        current = device;
        return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
        return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t e)
{
        return e == cudaErrorMemoryAllocation ? "out of memory" : e ? "no such device" : "no error";
}

/* Halves are IEEE 754's binary16, a type that not every compiler has: a sign, five bits of the
 * exponent, of which 25 stands for units of 1 in the last place, and ten bits behind the first. */
enum { HALF_SIGN = 0x8000, HALF_INFINITE = 0x7c00, HALF_NAN = 0x7e00, HALF_FIRST = 1 << 10 };

/* Rounds to the nearest, of two to the even one. */
uint16_t emulated_to_half(float x)
{
        const unsigned sign = signbit(x) ? HALF_SIGN : 0;
        const float size = fabsf(x);
        int unit;

        if (isnan(x))
                return (uint16_t)(sign | HALF_NAN);
        if (size >= 65520) /* what would be rounded to 2^16 */
                return (uint16_t)(sign | HALF_INFINITE);
        (void)frexpf(size, &unit);
        unit = size > 0 && unit - 11 > -24 ? unit - 11 : -24; /* the smallest half */
        const int units = (int)nearbyintf(ldexpf(size, -unit));
        return (uint16_t)(sign | (unsigned)((unit + 25) * HALF_FIRST + units - HALF_FIRST));
}

float emulated_from_half(uint16_t bits)
{
        const int exponent = bits >> 10 & 31, rest = bits & (HALF_FIRST - 1);
        float size = exponent ? ldexpf((float)(HALF_FIRST + rest), exponent - 25)
                              : ldexpf((float)rest, -24);

        if (exponent == 31)
                size = rest ? NAN : INFINITY;
        return bits & HALF_SIGN ? -size : size;
}

/* --- cuBLAS --- */

typedef struct {
        cudaStream_t stream;
} * handle;
enum { R_32F = 0, R_16F = 2, COMPUTE_32F = 68 };

bool emulated_no_cublas;

static int create(handle *out)
{
        *out = emulated_no_cublas ? NULL : calloc(1, sizeof **out);
        return *out ? 0 : 3; /* CUBLAS_STATUS_ALLOC_FAILED */
}

static int destroy(handle h)
{
        if (h->stream && h->stream->device != current)
                die("cuBLAS ends on another device than it began on");
        free(h);
        return 0;
}

static int get_version(handle h, int *out)
{
        (void)h;
        *out = 130000;
        return 0;
}

static int set_stream(handle h, void *stream)
{
        h->stream = stream;
        return 0;
}

static float element(const void *m, int type, size_t at)
{
        return type == R_16F ? emulated_from_half(((const uint16_t *)m)[at])
                             : ((const float *)m)[at];
}

/* One product, or several. */
struct gemm {
        int turn_a, turn_b, m, n, k, type, lda, ldb, ldc, count;
        float alpha, beta;
        const void *const *a, *const *b; /* on the device; NULL: one, as follows */
        void *const *c;
        const void *one_a, *one_b;
        void *one_c;
        size_t a_apart, b_apart, c_apart; /* elements, of `count` of them */
};

/* Column by column; what beta is 0 for is not read. */
static void multiply(const struct gemm *g, const void *a, const void *b, float *out)
{
        const size_t lda = (size_t)g->lda, ldb = (size_t)g->ldb;

        for (size_t j = 0; j < (size_t)g->n; j++)
                for (size_t i = 0; i < (size_t)g->m; i++) {
                        float sum = 0;
                        for (size_t x = 0; x < (size_t)g->k; x++)
                                sum += element(a, g->type, g->turn_a ? i * lda + x : x * lda + i) *
                                       element(b, g->type, g->turn_b ? x * ldb + j : j * ldb + x);
                        float *to = &out[j * (size_t)g->ldc + i];
                        *to = g->alpha * sum + (g->beta != 0 ? g->beta * *to : 0);
                }
}

/* Of halves whose places only the device knows, as NVIDIA's manual of cublasGemmBatchedEx wants
 * them. */
static void look_at_halves(const struct gemm *g, int i)
{
        const uintptr_t places = (uintptr_t)g->a[i] | (uintptr_t)g->b[i] | (uintptr_t)g->c[i];
        const unsigned wants = g->k % 8 == 0 ? 16 : g->k % 2 == 0 ? 4 : 2;

        if (g->type == R_16F && places % wants)
                die("a matrix of halves in a batch does not lie as its kernels want it");
}

static void run_gemm(void *arg)
{
        struct gemm *g = arg;

        const size_t size = g->type == R_16F ? sizeof(uint16_t) : sizeof(float);

        for (size_t i = 0; !g->a && i < (size_t)g->count; i++)
                multiply(g, (const char *)g->one_a + i * g->a_apart * size,
                         (const char *)g->one_b + i * g->b_apart * size,
                         (float *)g->one_c + i * g->c_apart);
        for (int i = 0; g->a && i < g->count; i++) {
                look_at_halves(g, i);
                multiply(g, g->a[i], g->b[i], g->c[i]);
        }
        free(g);
}

static int queue_gemm(handle h, const struct gemm *like, bool right)
{
        const void *const touched[] = {like->a ? (const void *)like->a : like->one_a,
                                       like->b ? (const void *)like->b : like->one_b,
                                       like->c ? (const void *)like->c : like->one_c};
        struct gemm *g = malloc(sizeof *g);

        if (!g || !right || like->ldc < like->m || like->lda < (like->turn_a ? like->k : like->m) ||
            like->ldb < (like->turn_b ? like->n : like->k)) {
                free(g);
                return 7; /* CUBLAS_STATUS_INVALID_VALUE */
        }
        for (size_t i = 0; i < sizeof touched / sizeof touched[0]; i++)
                emulated_touch(h->stream, touched[i]);
        emulated_at_home(h->stream);
        *g = *like;
        emulated_queue(h->stream, run_gemm, g);
        return 0;
}

static int gemm_run(handle h, int turn_a, int turn_b, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, long long a_apart, const void *b,
                    int b_type, int ldb, long long b_apart, const void *beta, void *c, int c_type,
                    int ldc, long long c_apart, int count, int compute, int algo)
{
        const struct gemm g = {.turn_a = turn_a,
                               .turn_b = turn_b,
                               .m = m,
                               .n = n,
                               .k = k,
                               .type = a_type,
                               .lda = lda,
                               .ldb = ldb,
                               .ldc = ldc,
                               .alpha = *(const float *)alpha,
                               .beta = *(const float *)beta,
                               .one_a = a,
                               .one_b = b,
                               .one_c = c,
                               .count = count,
                               .a_apart = (size_t)a_apart,
                               .b_apart = (size_t)b_apart,
                               .c_apart = (size_t)c_apart};

        (void)algo;
        return queue_gemm(h, &g, c_type == R_32F && compute == COMPUTE_32F && a_type == b_type);
}

static int gemm(handle h, int turn_a, int turn_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algo)
{
        return gemm_run(h, turn_a, turn_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0,
                        beta, c, c_type, ldc, 0, 1, compute, algo);
}

static int gemms(handle h, int turn_a, int turn_b, int m, int n, int k, const void *alpha,
                 const void *const *a, int a_type, int lda, const void *const *b, int b_type,
                 int ldb, const void *beta, void *const *c, int c_type, int ldc, int count,
                 int compute, int algo)
{
        const struct gemm g = {.turn_a = turn_a,
                               .turn_b = turn_b,
                               .m = m,
                               .n = n,
                               .k = k,
                               .type = a_type,
                               .lda = lda,
                               .ldb = ldb,
                               .ldc = ldc,
                               .count = count,
                               .alpha = *(const float *)alpha,
                               .beta = *(const float *)beta,
                               .a = a,
                               .b = b,
                               .c = c};

        (void)algo;
        return queue_gemm(h, &g, c_type == R_32F && compute == COMPUTE_32F && a_type == b_type);
}

/* What cublas.c calls as dlopen() and dlsym(). */
void *emulated_dlopen(const char *name, int flags);
void *emulated_dlsym(void *lib, const char *name);

void *emulated_dlopen(const char *name, int flags)
{
        static int one;
        (void)flags;
        return strcmp(name, "libcublas.so.13") ? NULL : &one;
}

#define FUNCTION(f) __extension__(void *)(f)

void *emulated_dlsym(void *lib, const char *name)
{
        static const struct {
                const char *name;
                void *is;
        } calls[] = {
                {"cublasCreate_v2", FUNCTION(create)},
                {"cublasDestroy_v2", FUNCTION(destroy)},
                {"cublasGetVersion_v2", FUNCTION(get_version)},
                {"cublasSetStream_v2", FUNCTION(set_stream)},
                {"cublasGemmEx", FUNCTION(gemm)},
                {"cublasGemmBatchedEx", FUNCTION(gemms)},
                {"cublasGemmStridedBatchedEx", FUNCTION(gemm_run)},
        };

        (void)lib;
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
                if (!strcmp(calls[i].name, name))
                        return calls[i].is;
        return NULL;
}
