/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.h: products of matrices in the memory of an NVIDIA GPU, by cuBLAS. The library is loaded
 * when it is asked for, so that ckptbench starts where there is none. One thread at a time. */
#ifndef CKPTFS_BENCH_TRAIN_MATH_CUBLAS_H
#define CKPTFS_BENCH_TRAIN_MATH_CUBLAS_H

#include "bench/train/math/math_ops.h"

/* For the device of this thread; products are queued on that stream. 0, also when it is open, or
 * -EOPNOTSUPP with one line in `why`. */
int cublas_open(void *stream, char *why, size_t nwhy);
const char *cublas_version(void);

/* Queues one product, of halves if p->half; its counts of batches are not looked at. 0 or -EIO
 * after one line on standard error. */
int cublas_product(const struct product *p, const void *a, const void *b, float *c);
/* The same for n matrices each, whose places stand in memory of the device. */
int cublas_products(const struct product *p, size_t n, const void *const *a, const void *const *b,
                    float *const *c);

#endif
