/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.h: products of matrices in the memory of an NVIDIA GPU, by cuBLAS. The library is loaded
 * when it is asked for, so that ckptbench starts where there is none. One thread opens, and one at
 * a time uses a handle. */
#ifndef CKPTFS_BENCH_TRAIN_MATH_CUBLAS_H
#define CKPTFS_BENCH_TRAIN_MATH_CUBLAS_H

#include "bench/train/math/math_ops.h"

/* A handle for the device of this thread; its products are queued on that stream. 0, or
 * -EOPNOTSUPP with one line in `why`. close(NULL) is fine. */
int cublas_open(void *stream, void **out, char *why, size_t nwhy);
void cublas_close(void *handle);
const char *cublas_version(void);

/* Queues one product, of halves if p->half; its counts of batches are not looked at. 0 or -EIO
 * after one line on standard error. */
int cublas_product(void *handle, const struct product *p, const void *a, const void *b, float *c);
/* The same for those of p->inner. */
int cublas_product_run(void *handle, const struct product *p, const void *a, const void *b,
                       float *c);
/* The same for n matrices each, whose places stand in memory of the device. Halves are to lie as
 * cublas_lies_well() says of all of them. */
int cublas_products(void *handle, const struct product *p, size_t n, const void *const *a,
                    const void *const *b, float *const *c);
/* Whether the matrices of a product of halves begin where kernels may read and write several
 * elements at once, which cuBLAS cannot see in places that the device has. */
bool cublas_lies_well(const struct product *p, const void *a, const void *b, const float *c);

#endif
