/* SPDX-License-Identifier: Apache-2.0 */
/* math_kernels.cu: see math_kernels.h.
 *
 * What is done to each element alone is a walk over all of them by all threads. Where a row has a
 * sum of its own, a warp or a block has the row; where rows are added up, a block has some columns
 * of all rows. */
#include <cuda_runtime.h>
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif
#include <float.h>
#include <math.h>

#include "bench/train/math/math_kernels.h"
#include "bench/train/math/random.h"

#ifdef __CUDACC__
#define LAUNCH(kernel, blocks, threads, stream, ...)                                               \
        kernel<<<blocks, threads, 0, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#endif

enum { WARP = 32, THREADS = 256, COLUMNS = 32, LANES = 32 };
static const size_t blocks_max = 65536;

/* This thread's elements out of n. */
#define EACH(i, n)                                                                                 \
        for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                    \
             i += (size_t)gridDim.x * blockDim.x)
/* This block's rows, and this thread's elements of one. */
#define EACH_ROW(r, rows) for (size_t r = blockIdx.x; r < (rows); r += gridDim.x)
#define EACH_OF_ROW(i, n) for (size_t i = threadIdx.x; i < (n); i += blockDim.x)

static unsigned blocks_for(size_t n, size_t each)
{
        size_t blocks = (n + each - 1) / each;
        return (unsigned)(blocks < blocks_max ? blocks + !blocks : blocks_max);
}

/* --- sums in a warp and in a block --- */

__device__ static float warp_sum(float v)
{
        for (int i = WARP / 2; i; i /= 2)
                v += __shfl_xor_sync(0xffffffffU, v, i);
        return v;
}

__device__ static float warp_max(float v)
{
        for (int i = WARP / 2; i; i /= 2)
                v = fmaxf(v, __shfl_xor_sync(0xffffffffU, v, i));
        return v;
}

/* Of THREADS threads; `part` is shared, and free again when it returns. */
__device__ static float block_sum(float v, float *part)
{
        v = warp_sum(v);
        if (threadIdx.x % WARP == 0)
                part[threadIdx.x / WARP] = v;
        __syncthreads();
        v = warp_sum(threadIdx.x % WARP < THREADS / WARP ? part[threadIdx.x % WARP] : 0);
        __syncthreads();
        return v;
}

__device__ static float block_max(float v, float *part)
{
        v = warp_max(v);
        if (threadIdx.x % WARP == 0)
                part[threadIdx.x / WARP] = v;
        __syncthreads();
        v = warp_max(threadIdx.x % WARP < THREADS / WARP ? part[threadIdx.x % WARP] : -INFINITY);
        __syncthreads();
        return v;
}

__device__ static double block_total(double v, double *part)
{
        part[threadIdx.x] = v;
        for (unsigned half = THREADS / 2; half; half /= 2) {
                __syncthreads();
                if (threadIdx.x < half)
                        part[threadIdx.x] += part[threadIdx.x + half];
        }
        __syncthreads();
        return part[0];
}

/* --- each element --- */

__global__ static void add_all(float *to, const float *from, size_t n)
{
        EACH(i, n) to[i] += from[i];
}

void kernels_add(void *stream, float *to, const float *from, size_t n)
{
        LAUNCH(add_all, blocks_for(n, THREADS), THREADS, stream, to, from, n);
}

__global__ static void draw_all(float *x, size_t n, uint64_t key, uint64_t first, float deviation)
{
        EACH(i, n) x[i] = deviation * (float)random_normal(key, first + i);
}

void kernels_draw(void *stream, float *x, size_t n, uint64_t key, uint64_t first, float deviation)
{
        LAUNCH(draw_all, blocks_for(n, THREADS), THREADS, stream, x, n, key, first, deviation);
}

__global__ static void drop_some(float *x, size_t n, uint64_t key, uint64_t first, uint64_t keep,
                                 float scale)
{
        EACH(i, n) x[i] = random_keeps(key, first + i, keep) ? x[i] * scale : 0;
}

void kernels_drop(void *stream, float *x, size_t n, const struct dropout *d)
{
        if (d->p > 0)
                LAUNCH(drop_some, blocks_for(n, THREADS), THREADS, stream, x, n, d->key, d->first,
                       dropout_keep(d), dropout_scale(d));
}

/* x times the normal distribution's share below x. */
__global__ static void gelu_all(const float *x, float *y, size_t n)
{
        EACH(i, n) y[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
}

void kernels_gelu(void *stream, const float *x, float *y, size_t n)
{
        LAUNCH(gelu_all, blocks_for(n, THREADS), THREADS, stream, x, y, n);
}

__global__ static void gelu_back_all(const float *x, float *dy, size_t n)
{
        EACH(i, n)
        {
                float below = 0.5F * (1 + erff(x[i] * 0.70710678F));
                float density = 0.39894228F * expf(-0.5F * x[i] * x[i]);
                dy[i] *= below + x[i] * density;
        }
}

void kernels_gelu_back(void *stream, const float *x, float *dy, size_t n)
{
        LAUNCH(gelu_back_all, blocks_for(n, THREADS), THREADS, stream, x, dy, n);
}

/* Whoever finds one writes the same. */
__global__ static void find_overflows(const float *x, size_t n, float *any)
{
        EACH(i, n)
        if (!(fabsf(x[i]) <= FLT_MAX))
                *any = 1;
}

void kernels_find_overflow(void *stream, const float *x, size_t n, float *any)
{
        LAUNCH(find_overflows, blocks_for(n, THREADS), THREADS, stream, x, n, any);
}

__global__ static void sgd_all(float *w, const float *g, size_t n, float lr)
{
        EACH(i, n) w[i] -= lr * g[i];
}

void kernels_sgd(void *stream, float *w, const float *g, size_t n, float lr)
{
        LAUNCH(sgd_all, blocks_for(n, THREADS), THREADS, stream, w, g, n, lr);
}

__global__ static void adamw_all(float *w, const float *g, float *m, float *v, size_t n,
                                 struct adam_step s)
{
        EACH(i, n)
        {
                m[i] = s.old1 * m[i] + s.new1 * g[i];
                v[i] = s.old2 * v[i] + s.new2 * g[i] * g[i];
                w[i] = s.left * w[i] - s.lr * m[i] / (sqrtf(v[i]) * s.unbias + s.epsilon);
        }
}

void kernels_adamw(void *stream, float *w, const float *g, float *m, float *v, size_t n,
                   const struct adam *a)
{
        LAUNCH(adamw_all, blocks_for(n, THREADS), THREADS, stream, w, g, m, v, n, adam_step(a));
}

__global__ static void to_half_all(const float *x, __half *y, size_t n, float scale)
{
        EACH(i, n) y[i] = __float2half_rn(x[i] * scale);
}

void kernels_to_half(void *stream, const float *x, void *y, size_t n, float scale)
{
        LAUNCH(to_half_all, blocks_for(n, THREADS), THREADS, stream, x, (__half *)y, n, scale);
}

__global__ static void places_of(struct kernels_run run, size_t outer, size_t inner,
                                 const void **to)
{
        EACH(i, outer * inner)
        to[i] = (const char *)run.from +
                (i / inner * run.outer + i % inner * run.inner) * run.bytes;
}

void kernels_places(void *stream, const struct kernels_run run[3], size_t outer, size_t inner,
                    const void **to)
{
        for (size_t i = 0; i < 3; i++)
                LAUNCH(places_of, blocks_for(outer * inner, THREADS), THREADS, stream, run[i],
                       outer, inner, to + i * outer * inner);
}

/* --- each row --- */

__global__ static void add_to_rows(float *x, const float *bias, size_t rows, size_t n)
{
        EACH_ROW(r, rows)
        EACH_OF_ROW(i, n) x[r * n + i] += bias[i];
}

void kernels_add_rows(void *stream, float *x, const float *bias, size_t rows, size_t n)
{
        LAUNCH(add_to_rows, blocks_for(rows, 1), THREADS, stream, x, bias, rows, n);
}

__global__ static void embed_rows(float *y, const float *table, const float *position,
                                  const int32_t *token, size_t rows, size_t block, size_t n)
{
        EACH_ROW(r, rows)
        EACH_OF_ROW(i, n)
        y[r * n + i] = table[(size_t)token[r] * n + i] + position[r % block * n + i];
}

void kernels_embed(void *stream, float *y, const float *table, const float *position,
                   const int32_t *token, size_t rows, size_t block, size_t n)
{
        LAUNCH(embed_rows, blocks_for(rows, 1), THREADS, stream, y, table, position, token, rows,
               block, n);
}

/* The block of a token's first row adds up all of its rows, in their order. */
__global__ static void fold_tokens(const float *dy, float *dtable, const int32_t *token,
                                   size_t rows, size_t n)
{
        EACH_ROW(r, rows)
        {
                int before = 0;
                EACH_OF_ROW(i, r) before |= token[i] == token[r];
                if (__syncthreads_or(before))
                        continue;
                for (size_t k = r; k < rows; k++)
                        if (token[k] == token[r])
                                EACH_OF_ROW(i, n)
                dtable[(size_t)token[r] * n + i] += dy[k * n + i];
        }
}

/* Rows that are `block` apart are of one position. */
__global__ static void fold_positions(const float *dy, float *dposition, size_t positions,
                                      size_t rows, size_t block, size_t n)
{
        EACH_ROW(p, positions)
        EACH_OF_ROW(i, n)
        {
                float sum = dposition[p * n + i];
                for (size_t r = p; r < rows; r += block)
                        sum += dy[r * n + i];
                dposition[p * n + i] = sum;
        }
}

void kernels_embed_back(void *stream, const float *dy, float *dtable, float *dposition,
                        const int32_t *token, size_t rows, size_t block, size_t n)
{
        LAUNCH(fold_tokens, blocks_for(rows, 1), THREADS, stream, dy, dtable, token, rows, n);
        LAUNCH(fold_positions, blocks_for(block, 1), THREADS, stream, dy, dposition, block, rows,
               block, n);
}

__global__ static void place_rows(float *y, const float *first, const float *bias,
                                  const float *position, size_t rows, size_t block, size_t n)
{
        EACH_ROW(r, rows)
        EACH_OF_ROW(i, n)
        {
                float own = r % block ? y[r * n + i] + bias[i] : first[i];
                y[r * n + i] = own + position[r % block * n + i];
        }
}

void kernels_place(void *stream, float *y, const float *first, const float *bias,
                   const float *position, size_t rows, size_t block, size_t n)
{
        LAUNCH(place_rows, blocks_for(rows, 1), THREADS, stream, y, first, bias, position, rows,
               block, n);
}

__global__ static void norm_rows(struct norm s, const float *x, float *y)
{
        __shared__ float part[WARP];

        EACH_ROW(r, s.rows)
        {
                const float *from = x + r * s.n;
                float sum = 0, squares = 0;
                EACH_OF_ROW(i, s.n) sum += from[i];
                float mean = block_sum(sum, part) / (float)s.n;
                EACH_OF_ROW(i, s.n) squares += (from[i] - mean) * (from[i] - mean);
                float rstd = 1 / sqrtf(block_sum(squares, part) / (float)s.n + s.epsilon);
                EACH_OF_ROW(i, s.n)
                y[r * s.n + i] = (from[i] - mean) * rstd * s.weight[i] + s.bias[i];
                if (threadIdx.x == 0) {
                        s.mean[r] = mean;
                        s.rstd[r] = rstd;
                }
        }
}

void kernels_norm(void *stream, const struct norm *s, const float *x, float *y)
{
        LAUNCH(norm_rows, blocks_for(s->rows, 1), THREADS, stream, *s, x, y);
}

/* With z = (x - mean) / sd and g = dy * weight: dx = (g - mean(g) - z mean(g z)) / sd. */
__global__ static void norm_back_rows(struct norm s, const float *x, const float *dy, float *dx)
{
        __shared__ float part[WARP];

        EACH_ROW(r, s.rows)
        {
                const float mean = s.mean[r], rstd = s.rstd[r];
                float sum_g = 0, sum_gz = 0;
                EACH_OF_ROW(i, s.n)
                {
                        float g = dy[r * s.n + i] * s.weight[i];
                        sum_g += g;
                        sum_gz += g * (x[r * s.n + i] - mean) * rstd;
                }
                float mean_g = block_sum(sum_g, part) / (float)s.n;
                float mean_gz = block_sum(sum_gz, part) / (float)s.n;
                EACH_OF_ROW(i, s.n)
                {
                        float z = (x[r * s.n + i] - mean) * rstd;
                        float g = dy[r * s.n + i] * s.weight[i];
                        dx[r * s.n + i] += (g - mean_g - z * mean_gz) * rstd;
                }
        }
}

/* A warp has a row. */
#define EACH_WARP_ROW(r, rows)                                                                     \
        for (size_t r = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP; r < (rows);        \
             r += (size_t)gridDim.x * blockDim.x / WARP)
#define EACH_OF_WARP_ROW(i, n) for (size_t i = threadIdx.x % WARP; i < (n); i += WARP)

__global__ static void softmax_rows(float *x, size_t rows, size_t block, int causal, float scale)
{
        EACH_WARP_ROW(r, rows)
        {
                float *row = x + r * block, most = -INFINITY, sum = 0;
                const size_t seen = causal ? r % block + 1 : block;
                EACH_OF_WARP_ROW(i, seen) most = fmaxf(most, row[i]);
                most = warp_max(most);
                EACH_OF_WARP_ROW(i, seen)
                {
                        row[i] = expf((row[i] - most) * scale);
                        sum += row[i];
                }
                sum = warp_sum(sum);
                EACH_OF_WARP_ROW(i, block) row[i] = i < seen ? row[i] / sum : 0;
        }
}

void kernels_softmax(void *stream, float *x, size_t n, size_t block, bool causal, float scale)
{
        LAUNCH(softmax_rows, blocks_for(n * block, THREADS / WARP), THREADS, stream, x, n * block,
               block, causal, scale);
}

__global__ static void softmax_back_rows(const float *y, float *dy, size_t rows, size_t block,
                                         int causal, float scale)
{
        EACH_WARP_ROW(r, rows)
        {
                const float *out = y + r * block;
                float *row = dy + r * block, dot = 0;
                const size_t seen = causal ? r % block + 1 : block;
                EACH_OF_WARP_ROW(i, seen) dot += out[i] * row[i];
                dot = warp_sum(dot);
                EACH_OF_WARP_ROW(i, block) row[i] = i < seen ? out[i] * (row[i] - dot) * scale : 0;
        }
}

void kernels_softmax_back(void *stream, const float *y, float *dy, size_t n, size_t block,
                          bool causal, float scale)
{
        LAUNCH(softmax_back_rows, blocks_for(n * block, THREADS / WARP), THREADS, stream, y, dy,
               n * block, block, causal, scale);
}

/* --- sums over rows: a block has COLUMNS columns, and LANES rows at a time --- */

/* What the lanes have of a column; `part` is shared, and free again when it returns. */
__device__ static float column_sum(float v, float (*part)[COLUMNS])
{
        const unsigned column = threadIdx.x % COLUMNS, lane = threadIdx.x / COLUMNS;
        float sum = 0;

        part[lane][column] = v;
        __syncthreads();
        if (lane == 0)
                for (unsigned i = 0; i < LANES; i++)
                        sum += part[i][column];
        __syncthreads();
        return sum;
}

/* Rows that are multiples of `but` are left out; 0: none. */
__global__ static void __launch_bounds__(COLUMNS *LANES) /* else it may have too many registers */
        sum_columns(const float *x, float *to, size_t rows, size_t n, size_t but)
{
        __shared__ float part[LANES][COLUMNS];
        const size_t i = (size_t)blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
        float sum = 0;

        if (i < n)
                for (size_t r = threadIdx.x / COLUMNS; r < rows; r += LANES)
                        sum += but && r % but == 0 ? 0 : x[r * n + i];
        sum = column_sum(sum, part);
        if (threadIdx.x < COLUMNS && i < n)
                to[i] += sum;
}

static unsigned column_blocks(size_t n)
{
        return (unsigned)((n + COLUMNS - 1) / COLUMNS);
}

void kernels_sum_rows(void *stream, const float *x, float *bias, size_t rows, size_t n)
{
        LAUNCH(sum_columns, column_blocks(n), COLUMNS * LANES, stream, x, bias, rows, n, (size_t)0);
}

void kernels_place_back(void *stream, const float *dy, float *dfirst, float *dbias,
                        float *dposition, size_t rows, size_t block, size_t n)
{
        LAUNCH(fold_positions, 1, THREADS, stream, dy, dfirst, (size_t)1, rows, block, n);
        LAUNCH(fold_positions, blocks_for(block, 1), THREADS, stream, dy, dposition, block, rows,
               block, n);
        LAUNCH(sum_columns, column_blocks(n), COLUMNS * LANES, stream, dy, dbias, rows, n, block);
}

__global__ static void __launch_bounds__(COLUMNS *LANES)
        norm_back_columns(struct norm s, const float *x, const float *dy, float *dweight,
                          float *dbias)
{
        __shared__ float part[LANES][COLUMNS];
        const size_t i = (size_t)blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
        float weight = 0, bias = 0;

        if (i < s.n)
                for (size_t r = threadIdx.x / COLUMNS; r < s.rows; r += LANES) {
                        weight += dy[r * s.n + i] * ((x[r * s.n + i] - s.mean[r]) * s.rstd[r]);
                        bias += dy[r * s.n + i];
                }
        weight = column_sum(weight, part);
        bias = column_sum(bias, part);
        if (threadIdx.x < COLUMNS && i < s.n) {
                dweight[i] += weight;
                dbias[i] += bias;
        }
}

void kernels_norm_back(void *stream, const struct norm *s, const float *x, const float *dy,
                       float *dx, float *dweight, float *dbias)
{
        LAUNCH(norm_back_columns, column_blocks(s->n), COLUMNS * LANES, stream, *s, x, dy, dweight,
               dbias);
        LAUNCH(norm_back_rows, blocks_for(s->rows, 1), THREADS, stream, *s, x, dy, dx);
}

/* --- losses --- */

__global__ static void sum_parts(const double *parts, size_t n, double share, float *loss)
{
        __shared__ double all[THREADS];
        double sum = 0;

        EACH_OF_ROW(i, n) sum += parts[i];
        sum = block_total(sum, all);
        if (threadIdx.x == 0)
                *loss = (float)(sum * share);
}

__global__ static void sum_and_set(float *x, size_t n, float scale, double *parts)
{
        __shared__ double all[THREADS];
        double sum = 0;

        EACH(i, n)
        {
                sum += (double)x[i];
                x[i] = scale;
        }
        sum = block_total(sum, all);
        if (threadIdx.x == 0)
                parts[blockIdx.x] = sum;
}

void kernels_loss_sum(void *stream, float *x, size_t n, float scale, float *loss, double *parts)
{
        LAUNCH(sum_and_set, KERNELS_PARTS, THREADS, stream, x, n, scale, parts);
        LAUNCH(sum_parts, 1, THREADS, stream, parts, (size_t)KERNELS_PARTS, 1.0, loss);
}

__global__ static void entropy_rows(float *x, const int32_t *target, size_t rows, size_t n,
                                    float share, double *parts)
{
        __shared__ float part[WARP];

        EACH_ROW(r, rows)
        {
                float *row = x + r * n, most = -INFINITY, sum = 0;
                EACH_OF_ROW(i, n) most = fmaxf(most, row[i]);
                most = block_max(most, part);
                const float right = row[target[r]] - most;
                __syncthreads(); /* before its place is written */
                EACH_OF_ROW(i, n)
                {
                        row[i] = expf(row[i] - most);
                        sum += row[i];
                }
                sum = block_sum(sum, part);
                EACH_OF_ROW(i, n)
                row[i] = row[i] / sum * share - (i == (size_t)target[r] ? share : 0);
                if (threadIdx.x == 0)
                        parts[r] = log((double)sum) - (double)right;
        }
}

void kernels_loss_entropy(void *stream, float *x, const int32_t *target, size_t rows, size_t n,
                          float scale, float *loss, double *parts)
{
        LAUNCH(entropy_rows, blocks_for(rows, 1), THREADS, stream, x, target, rows, n,
               scale / (float)rows, parts);
        LAUNCH(sum_parts, 1, THREADS, stream, parts, rows, 1.0 / (double)rows, loss);
}
