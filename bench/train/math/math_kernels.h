/* SPDX-License-Identifier: Apache-2.0 */
/* math_kernels.h: the arithmetic of math_ops.h but products, as kernels that are queued on a
 * stream. All pointers are to memory of the device. Whether a launch failed cudaGetLastError()
 * tells.
 *
 * The file is the common part of C and CUDA's C++, so that a test runs the very kernels on a
 * processor (tests/gpu/emulated). Sums are made in a fixed order: the same input gives the same
 * bits. */
#ifndef CKPTFS_BENCH_TRAIN_MATH_KERNELS_H
#define CKPTFS_BENCH_TRAIN_MATH_KERNELS_H

#include "bench/train/math/math_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

void kernels_add(void *stream, float *to, const float *from, size_t n);
void kernels_draw(void *stream, float *x, size_t n, uint64_t key, uint64_t first, float deviation);
void kernels_drop(void *stream, float *x, size_t n, const struct dropout *d);
void kernels_add_rows(void *stream, float *x, const float *bias, size_t rows, size_t n);
void kernels_sum_rows(void *stream, const float *x, float *bias, size_t rows, size_t n);
void kernels_embed(void *stream, float *y, const float *table, const float *position,
                   const int32_t *token, size_t rows, size_t block, size_t n);
void kernels_embed_back(void *stream, const float *dy, float *dtable, float *dposition,
                        const int32_t *token, size_t rows, size_t block, size_t n);
void kernels_place(void *stream, float *y, const float *first, const float *bias,
                   const float *position, size_t rows, size_t block, size_t n);
void kernels_place_back(void *stream, const float *dy, float *dfirst, float *dbias,
                        float *dposition, size_t rows, size_t block, size_t n);
void kernels_norm(void *stream, const struct norm *s, const float *x, float *y);
void kernels_norm_back(void *stream, const struct norm *s, const float *x, const float *dy,
                       float *dx, float *dweight, float *dbias);
void kernels_gelu(void *stream, const float *x, float *y, size_t n);
void kernels_gelu_back(void *stream, const float *x, float *dy, size_t n);
void kernels_softmax(void *stream, float *x, size_t n, size_t block, bool causal, float scale);
void kernels_softmax_back(void *stream, const float *y, float *dy, size_t n, size_t block,
                          bool causal, float scale);
void kernels_find_overflow(void *stream, const float *x, size_t n, float *any);
void kernels_sgd(void *stream, float *w, const float *g, size_t n, float lr);
void kernels_adamw(void *stream, float *w, const float *g, float *m, float *v, size_t n,
                   const struct adam *a);

/* `parts` has room for KERNELS_PARTS numbers, and for the entropy for one of each row. */
enum { KERNELS_PARTS = 256 };
void kernels_loss_sum(void *stream, float *x, size_t n, float scale, float *loss, double *parts);
void kernels_loss_entropy(void *stream, float *x, const int32_t *target, size_t rows, size_t n,
                          float scale, float *loss, double *parts);

/* n numbers times `scale`, a power of two, as halves of 2 bytes each. */
void kernels_to_half(void *stream, const float *x, void *y, size_t n, float scale);

/* Where matrices of a product lie that has several: to[i] for matrix i, each `bytes` an element. */
struct kernels_run {
        const void *from;
        size_t outer, inner; /* elements from one to the next */
        size_t bytes;
};
void kernels_places(void *stream, const struct kernels_run run[3], size_t outer, size_t inner,
                    const void **to);

#ifdef __cplusplus
}
#endif

#endif
