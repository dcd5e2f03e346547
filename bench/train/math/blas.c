/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c: see blas.h. The one file that knows OpenBLAS.
 *
 * The library is loaded when it is asked for: it starts its threads as it is loaded, and who does
 * not train is to be measured without them. */
#include "bench/train/math/blas.h"

#include <errno.h>
#include <stdio.h>
#ifdef HAVE_OPENBLAS
#include <dlfcn.h>

#include <cblas.h>
#endif

#include "base/banned.h"

bool blas_built(void)
{
#ifdef HAVE_OPENBLAS
        return true;
#else
        return false;
#endif
}

#ifdef HAVE_OPENBLAS
#define BLAS_CALLS(CALL)                                                                           \
        CALL(cblas_sgemm)                                                                          \
        CALL(openblas_set_num_threads)                                                             \
        CALL(openblas_get_config)

#define BLAS_POINTER(name) __typeof__(name) *name;
static struct {
        bool loaded;
        BLAS_CALLS(BLAS_POINTER)
} api;

int blas_open(unsigned threads, char *why, size_t nwhy)
{
        void *lib = api.loaded ? NULL : dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        bool all = api.loaded || lib;
#define BLAS_FIND(name)                                                                            \
        if (lib)                                                                                   \
                all &= (*(void **)&api.name = dlsym(lib, #name)) != NULL;
        BLAS_CALLS(BLAS_FIND)
        api.loaded = all;
        if (!all) {
                snprintf(why, nwhy, "libopenblas.so.0 %s: install OpenBLAS (libopenblas0-pthread)",
                         lib ? "lacks a function" : "is not found");
                return -EOPNOTSUPP;
        }
        api.openblas_set_num_threads((int)threads);
        return 0;
}

void blas_product(const struct product *p, const float *a, const float *b, float *c)
{
        api.cblas_sgemm(CblasRowMajor, p->a_turned ? CblasTrans : CblasNoTrans,
                        p->b_turned ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n,
                        (blasint)p->k, p->alpha, a, (blasint)p->lda, b, (blasint)p->ldb, p->beta, c,
                        (blasint)p->ldc);
}

const char *blas_version(void)
{
        return api.openblas_get_config();
}
#else
int blas_open(unsigned threads, char *why, size_t nwhy)
{
        (void)threads;
        snprintf(why, nwhy,
                 "built without OpenBLAS: install libopenblas-dev, then configure and make again");
        return -EOPNOTSUPP;
}

void blas_product(const struct product *p, const float *a, const float *b, float *c)
{
        (void)p;
        (void)a;
        (void)b;
        (void)c;
}

const char *blas_version(void)
{
        return "none";
}
#endif
