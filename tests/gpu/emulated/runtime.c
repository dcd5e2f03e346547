/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.c: memory of cuda_runtime.h, and the few functions of cuBLAS that cublas.c loads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

#include "base/banned.h"

/* Nobody may count on zeros. */
cudaError_t cudaMalloc(void **out, size_t n)
{
        *out = malloc(n);
        if (!*out)
                return cudaErrorMemoryAllocation;
        memset(*out, 0xa5, n);
        return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
        free(p);
        return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int byte, size_t n, cudaStream_t stream)
{
        (void)stream;
        memset(p, byte, n);
        return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
        (void)kind;
        (void)stream;
        memcpy(to, from, n);
        return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
        (void)flags;
        *out = NULL;
        return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
        (void)stream;
        return cudaSuccess;
}

cudaError_t cudaGetDevice(int *out)
{
        *out = 0;
        return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
        (void)device;
        return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
        return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t e)
{
        return e ? "out of memory" : "no error";
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

typedef void *handle;
enum { R_32F = 0, R_16F = 2, COMPUTE_32F = 68 };

static int create(handle *out)
{
        static int one;
        *out = &one;
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
        (void)h;
        (void)stream;
        return 0;
}

static float element(const void *m, int type, size_t at)
{
        return type == R_16F ? emulated_from_half(((const uint16_t *)m)[at])
                             : ((const float *)m)[at];
}

/* Column by column; what beta is 0 for is not read. */
static int gemm(handle h, int turn_a, int turn_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algo)
{
        const float al = *(const float *)alpha, be = *(const float *)beta;
        float *out = c;

        (void)h;
        (void)algo;
        if (c_type != R_32F || compute != COMPUTE_32F || a_type != b_type || ldc < m ||
            lda < (turn_a ? k : m) || ldb < (turn_b ? n : k))
                return 7; /* CUBLAS_STATUS_INVALID_VALUE */
        for (size_t j = 0; j < (size_t)n; j++)
                for (size_t i = 0; i < (size_t)m; i++) {
                        float sum = 0;
                        for (size_t x = 0; x < (size_t)k; x++)
                                sum += element(a, a_type,
                                               turn_a ? i * (size_t)lda + x : x * (size_t)lda + i) *
                                       element(b, b_type,
                                               turn_b ? x * (size_t)ldb + j : j * (size_t)ldb + x);
                        float *to = &out[j * (size_t)ldc + i];
                        *to = al * sum + (be != 0 ? be * *to : 0);
                }
        return 0;
}

static int gemms(handle h, int turn_a, int turn_b, int m, int n, int k, const void *alpha,
                 const void *const *a, int a_type, int lda, const void *const *b, int b_type,
                 int ldb, const void *beta, void *const *c, int c_type, int ldc, int count,
                 int compute, int algo)
{
        int rc = 0;

        for (int i = 0; i < count && !rc; i++)
                rc = gemm(h, turn_a, turn_b, m, n, k, alpha, a[i], a_type, lda, b[i], b_type, ldb,
                          beta, c[i], c_type, ldc, compute, algo);
        return rc;
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
                {"cublasGetVersion_v2", FUNCTION(get_version)},
                {"cublasSetStream_v2", FUNCTION(set_stream)},
                {"cublasGemmEx", FUNCTION(gemm)},
                {"cublasGemmBatchedEx", FUNCTION(gemms)},
        };

        (void)lib;
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
                if (!strcmp(calls[i].name, name))
                        return calls[i].is;
        return NULL;
}
