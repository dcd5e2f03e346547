/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h: products of matrices in the host's memory, by OpenBLAS. */
#ifndef CKPTFS_BENCH_TRAIN_MATH_BLAS_H
#define CKPTFS_BENCH_TRAIN_MATH_BLAS_H

#include "bench/train/math/math_ops.h"

/* Whether this build knows it. */
bool blas_built(void);

/* Loads the library, which stays until the end, and has it use so many threads. 0, or -EOPNOTSUPP
 * with one line in `why`. The threads begin with the caller's signal mask. */
int blas_open(unsigned threads, char *why, size_t nwhy);

/* One product, after that; the counts of batches are not looked at. */
void blas_product(const struct product *p, const float *a, const float *b, float *c);

/* The library and its version, in words; after blas_open(). */
const char *blas_version(void);

#endif
