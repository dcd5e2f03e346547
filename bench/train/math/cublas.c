/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c: see cublas.h. The one file that knows cuBLAS, of which it uses what versions 12 and 13
 * have in common. Its header is not in the parts of the toolkit that compile kernels, so the few
 * prototypes stand here. */
#include "bench/train/math/cublas.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "bench/core/dev.h"

#include "base/banned.h"

typedef struct cublasContext *handle_t;
enum { OP_N, OP_T };
enum { R_32F = 0, R_16F = 2 }; /* cudaDataType */
enum { COMPUTE_32F = 68 };     /* TF32 is another one */
enum { GEMM_DEFAULT = -1 };

/* cublasGemmEx and cublasGemmBatchedEx */
typedef int gemm_fn(handle_t, int transa, int transb, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                    const void *beta, void *c, int c_type, int ldc, int compute, int algo);
typedef int gemms_fn(handle_t, int transa, int transb, int m, int n, int k, const void *alpha,
                     const void *const *a, int a_type, int lda, const void *const *b, int b_type,
                     int ldb, const void *beta, void *const *c, int c_type, int ldc, int count,
                     int compute, int algo);

/* cublasGemmStridedBatchedEx */
typedef int run_fn(handle_t, int transa, int transb, int m, int n, int k, const void *alpha,
                   const void *a, int a_type, int lda, long long a_apart, const void *b, int b_type,
                   int ldb, long long b_apart, const void *beta, void *c, int c_type, int ldc,
                   long long c_apart, int count, int compute, int algo);

static struct {
        bool loaded;
        char version[64];
        int (*create)(handle_t *);
        int (*destroy)(handle_t);
        int (*get_version)(handle_t, int *);
        int (*set_stream)(handle_t, void *);
        gemm_fn *gemm;
        gemms_fn *gemms;
        run_fn *run;
} api;

static bool find_calls(void *lib)
{
        const struct {
                const char *name;
                void *to;
        } calls[] = {
                {"cublasCreate_v2", &api.create},
                {"cublasDestroy_v2", &api.destroy},
                {"cublasGetVersion_v2", &api.get_version},
                {"cublasSetStream_v2", &api.set_stream},
                {"cublasGemmEx", &api.gemm},
                {"cublasGemmBatchedEx", &api.gemms},
                {"cublasGemmStridedBatchedEx", &api.run},
        };
        bool all = true;

        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
                all &= (*(void **)calls[i].to = dlsym(lib, calls[i].name)) != NULL;
        return all;
}

static int load(char *why, size_t nwhy)
{
        static const char *const names[] = {
                "libcublas.so.13",
                "libcublas.so.12",
#ifdef CUDA_LIBRARIES
                CUDA_LIBRARIES "/libcublas.so.13",
                CUDA_LIBRARIES "/libcublas.so.12",
#endif
        };
        void *lib = NULL;

        for (size_t i = 0; i < sizeof names / sizeof names[0] && !lib; i++)
                lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* stays until the end */
        api.loaded = lib && find_calls(lib);
        if (!api.loaded)
                snprintf(why, nwhy,
                         "libcublas.so.13 %s: install cuBLAS 12 or 13, name its directory in "
                         "LD_LIBRARY_PATH, or give device=host",
                         lib ? "lacks a function" : "is not found");
        return api.loaded ? 0 : -EOPNOTSUPP;
}

int cublas_open(void *stream, void **out, char *why, size_t nwhy)
{
        handle_t handle = NULL;
        int version = 0;

        if (!api.loaded && load(why, nwhy))
                return -EOPNOTSUPP;
        int rc = api.create(&handle);
        if (!rc)
                rc = api.set_stream(handle, stream);
        if (!rc)
                rc = api.get_version(handle, &version);
        if (rc) {
                cublas_close(handle);
                snprintf(why, nwhy, "cuBLAS does not begin (status %d): give device=host", rc);
                return -EOPNOTSUPP;
        }
        snprintf(api.version, sizeof api.version, "cuBLAS %d.%d.%d", version / 10000,
                 version / 100 % 100, version % 100);
        *out = handle;
        return 0;
}

void cublas_close(void *handle)
{
        if (handle)
                (void)api.destroy(handle);
}

const char *cublas_version(void)
{
        return api.version;
}

/* cuBLAS stores column by column, where our rows are columns: C^T = op(B)^T op(A)^T. */
static int turned(bool is)
{
        return is ? OP_T : OP_N;
}

static int type_of(const struct product *p)
{
        return p->half ? R_16F : R_32F;
}

static int result(const char *call, int rc)
{
        char text[32];

        if (!rc)
                return 0;
        snprintf(text, sizeof text, "status %d", rc);
        return dev_fail(call, text);
}

int cublas_product(void *handle, const struct product *p, const void *a, const void *b, float *c)
{
        const float alpha = product_alpha(p);
        const int type = type_of(p);

        return result("cublasGemmEx", api.gemm(handle, turned(p->b_turned), turned(p->a_turned),
                                               (int)p->n, (int)p->m, (int)p->k, &alpha, b, type,
                                               (int)p->ldb, a, type, (int)p->lda, &p->beta, c,
                                               R_32F, (int)p->ldc, COMPUTE_32F, GEMM_DEFAULT));
}

int cublas_product_run(void *handle, const struct product *p, const void *a, const void *b,
                       float *c)
{
        const float alpha = product_alpha(p);
        const int type = type_of(p);

        return result("cublasGemmStridedBatchedEx",
                      api.run(handle, turned(p->b_turned), turned(p->a_turned), (int)p->n,
                              (int)p->m, (int)p->k, &alpha, b, type, (int)p->ldb,
                              (long long)p->inner.b, a, type, (int)p->lda, (long long)p->inner.a,
                              &p->beta, c, R_32F, (int)p->ldc, (long long)p->inner.c,
                              (int)p->inner.n, COMPUTE_32F, GEMM_DEFAULT));
}

/* NVIDIA's manual of cublasGemmBatchedEx. */
bool cublas_lies_well(const struct product *p, const void *a, const void *b, const float *c)
{
        enum { HALF = 2 };
        const size_t wants = p->k % 8 == 0 ? 16 : p->k % 2 == 0 ? 4 : HALF;
        const size_t apart = (p->outer.a | p->inner.a | p->outer.b | p->inner.b) * HALF |
                             (p->outer.c | p->inner.c) * sizeof *c;

        return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | apart) % wants) == 0;
}

int cublas_products(void *handle, const struct product *p, size_t n, const void *const *a,
                    const void *const *b, float *const *c)
{
        const float alpha = product_alpha(p);
        const int type = type_of(p);

        return result("cublasGemmBatchedEx",
                      api.gemms(handle, turned(p->b_turned), turned(p->a_turned), (int)p->n,
                                (int)p->m, (int)p->k, &alpha, b, type, (int)p->ldb, a, type,
                                (int)p->lda, &p->beta, (void *const *)c, R_32F, (int)p->ldc, (int)n,
                                COMPUTE_32F, GEMM_DEFAULT));
}
