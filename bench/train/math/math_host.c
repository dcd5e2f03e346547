/* SPDX-License-Identifier: Apache-2.0 */
/* math_host.c: the arithmetic of training in the host's memory. Products of matrices are
 * OpenBLAS's; the rest is one pass over its rows each. Sums along a row, and losses, are made in
 * double precision, gradients in fp32; all in the order of the rows, so that results do not depend
 * on threads. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/train/math/blas.h"
#include "bench/train/math/math_ops.h"
#include "bench/train/math/random.h"

#include "base/banned.h"

static atomic_bool no_memory; /* for a product of halves */

/* All devices are the same memory and the same cores. */
static int host_open(unsigned devices, unsigned threads, char *why, size_t nwhy)
{
        (void)devices;
        atomic_store(&no_memory, false);
        return blas_open(threads, why, nwhy);
}

static void host_use(unsigned device)
{
        (void)device;
}

static int host_alloc(size_t n, void **out)
{
        void *p;

        if (posix_memalign(&p, 64, n ? n : 1))
                return -ENOMEM;
        memset(p, 0, n);
        *out = p;
        return 0;
}

static int host_move(void *to, const void *from, size_t n)
{
        memcpy(to, from, n);
        return 0;
}

static int host_wait(void)
{
        return atomic_load(&no_memory) ? -ENOMEM : 0;
}

/* All is done when a call returns, so that there is nothing to be behind. */
static int host_mark(void **mark)
{
        *mark = NULL;
        return 0;
}

static int host_reach(void *mark)
{
        (void)mark;
        return 0;
}

static void host_unmark(void *mark)
{
        (void)mark;
}

static int host_get_behind(void *to, const void *from, size_t n, void *mark)
{
        (void)mark;
        return host_move(to, from, n);
}

static int host_join(float *to, const float *const *from, unsigned n, size_t elements)
{
        for (size_t i = 0; i < elements; i++) {
                float sum = from[0][i];
                for (unsigned k = 1; k < n; k++)
                        sum += from[k][i];
                to[i] = sum;
        }
        return 0;
}

static int host_copy_apart(void *to, const void *from, size_t n, void *behind, void **mark)
{
        (void)behind;
        *mark = NULL;
        return host_move(to, from, n);
}

static uint64_t host_peak(void)
{
        return 0;
}

static uint64_t host_taken(void)
{
        unsigned long long all, here = 0;
        FILE *f = fopen("/proc/self/statm", "re");

        if (f && fscanf(f, "%llu %llu", &all, &here) != 2)
                here = 0;
        if (f)
                fclose(f);
        return here * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void host_zero(float *x, size_t n)
{
        memset(x, 0, n * sizeof *x);
}

static void host_copy(float *to, const float *from, size_t n)
{
        memcpy(to, from, n * sizeof *to);
}

static void host_add(float *to, const float *from, size_t n)
{
        for (size_t i = 0; i < n; i++)
                to[i] += from[i];
}

static void host_draw(float *x, size_t n, uint64_t key, uint64_t first, float deviation)
{
        for (size_t i = 0; i < n; i++)
                x[i] = deviation * (float)random_normal(key, first + i);
}

/* The nearest number of 16 bits (IEEE 754's binary16), of two the even one. */
static float to_half(float x)
{
        enum { SIGN_LESS = 0x7fffffff, INFINITE = 0x7f800000 };
        enum { TOO_LARGE = 0x477ff000, TOO_SMALL = 0x38800000 }; /* 65520; 2^-14 */
        uint32_t bits;

        memcpy(&bits, &x, sizeof bits);
        const uint32_t size = bits & SIGN_LESS;
        if (size < TOO_SMALL) /* units of 2^-24, the last place of what is from 0.5 to 1 */
                return copysignf(fabsf(x) + 0.5F - 0.5F, x);
        if (size >= TOO_LARGE)
                return size > INFINITE ? x : copysignf(INFINITY, x);
        bits += 0xfff + (bits >> 13 & 1);
        bits &= ~(uint32_t)0x1fff;
        memcpy(&x, &bits, sizeof x);
        return x;
}

/* A matrix as it is multiplied, rows without gaps; NULL: no memory. */
static float *halves_of(const float *x, size_t rows, size_t cols, size_t apart, float grows)
{
        float *to = malloc((rows * cols + 1) * sizeof *to);

        for (size_t r = 0; to && r < rows; r++)
                for (size_t i = 0; i < cols; i++)
                        to[r * cols + i] = to_half(x[r * apart + i] * product_grows(grows));
        return to;
}

/* Products of two halves are exact in fp32, in which they are added up, as on a GPU. */
static void product_of_halves(const struct product *p, const float *a, const float *b, float *c)
{
        struct product q = *p;

        q.alpha = product_alpha(p);
        q.lda = p->a_turned ? p->m : p->k;
        q.ldb = p->b_turned ? p->k : p->n;
        float *ha = halves_of(a, p->a_turned ? p->k : p->m, q.lda, p->lda, p->a_grows);
        float *hb = halves_of(b, p->b_turned ? p->n : p->k, q.ldb, p->ldb, p->b_grows);
        if (ha && hb)
                blas_product(&q, ha, hb, c);
        else
                atomic_store(&no_memory, true);
        free(ha);
        free(hb);
}

static void host_product(const struct product *p, const float *a, const float *b, float *c)
{
        size_t outer = p->outer.n ? p->outer.n : 1, inner = p->inner.n ? p->inner.n : 1;
        void (*const one)(const struct product *p, const float *a, const float *b, float *c) =
                p->half ? product_of_halves : blas_product;

        for (size_t i = 0; i < outer; i++)
                for (size_t j = 0; j < inner; j++)
                        one(p, a + i * p->outer.a + j * p->inner.a,
                            b + i * p->outer.b + j * p->inner.b,
                            c + i * p->outer.c + j * p->inner.c);
}

static void host_drop(float *x, size_t n, const struct dropout *d)
{
        const uint64_t keep = dropout_keep(d);
        const float scale = dropout_scale(d);

        if (d->p > 0)
                for (size_t i = 0; i < n; i++)
                        x[i] = random_keeps(d->key, d->first + i, keep) ? x[i] * scale : 0;
}

static void host_add_rows(float *x, const float *bias, size_t rows, size_t n)
{
        for (size_t r = 0; r < rows; r++)
                for (size_t i = 0; i < n; i++)
                        x[r * n + i] += bias[i];
}

static void host_sum_rows(const float *x, float *bias, size_t rows, size_t n)
{
        for (size_t r = 0; r < rows; r++)
                for (size_t i = 0; i < n; i++)
                        bias[i] += x[r * n + i];
}

static void host_embed(float *y, const float *table, const float *position, const int32_t *token,
                       size_t rows, size_t block, size_t n)
{
        for (size_t r = 0; r < rows; r++) {
                const float *t = table + (size_t)token[r] * n, *p = position + r % block * n;
                for (size_t i = 0; i < n; i++)
                        y[r * n + i] = t[i] + p[i];
        }
}

static void host_embed_back(const float *dy, float *dtable, float *dposition, const int32_t *token,
                            size_t rows, size_t block, size_t n)
{
        for (size_t r = 0; r < rows; r++) {
                host_add(dtable + (size_t)token[r] * n, dy + r * n, n);
                host_add(dposition + r % block * n, dy + r * n, n);
        }
}

static void host_place(float *y, const float *class, const float *bias, const float *position,
                       size_t rows, size_t block, size_t n)
{
        for (size_t r = 0; r < rows; r++, y += n) {
                if (r % block == 0)
                        memcpy(y, class, n * sizeof *y);
                else
                        host_add(y, bias, n);
                host_add(y, position + r % block * n, n);
        }
}

static void host_place_back(const float *dy, float *dclass, float *dbias, float *dposition,
                            size_t rows, size_t block, size_t n)
{
        for (size_t r = 0; r < rows; r++, dy += n) {
                host_add(r % block ? dbias : dclass, dy, n);
                host_add(dposition + r % block * n, dy, n);
        }
}

static void host_norm(const struct norm *s, const float *x, float *y)
{
        for (size_t r = 0; r < s->rows; r++, x += s->n, y += s->n) {
                double sum = 0, squares = 0;
                for (size_t i = 0; i < s->n; i++)
                        sum += (double)x[i];
                double mean = sum / (double)s->n;
                for (size_t i = 0; i < s->n; i++)
                        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
                s->mean[r] = (float)mean;
                s->rstd[r] = (float)(1 / sqrt(squares / (double)s->n + (double)s->epsilon));
                for (size_t i = 0; i < s->n; i++)
                        y[i] = (x[i] - s->mean[r]) * s->rstd[r] * s->weight[i] + s->bias[i];
        }
}

/* With z = (x - mean) / sd and g = dy * weight: dx = (g - mean(g) - z mean(g z)) / sd. */
static void host_norm_back(const struct norm *s, const float *x, const float *dy, float *dx,
                           float *dweight, float *dbias)
{
        for (size_t r = 0; r < s->rows; r++, x += s->n, dy += s->n, dx += s->n) {
                double sum_g = 0, sum_gz = 0;
                for (size_t i = 0; i < s->n; i++) {
                        float z = (x[i] - s->mean[r]) * s->rstd[r], g = dy[i] * s->weight[i];
                        sum_g += (double)g;
                        sum_gz += (double)(g * z);
                        dweight[i] += dy[i] * z;
                        dbias[i] += dy[i];
                }
                float mean_g = (float)(sum_g / (double)s->n);
                float mean_gz = (float)(sum_gz / (double)s->n);
                for (size_t i = 0; i < s->n; i++) {
                        float z = (x[i] - s->mean[r]) * s->rstd[r], g = dy[i] * s->weight[i];
                        dx[i] += (g - mean_g - z * mean_gz) * s->rstd[r];
                }
        }
}

/* x times the normal distribution's share below x. */
static void host_gelu(const float *x, float *y, size_t n)
{
        for (size_t i = 0; i < n; i++)
                y[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
}

static void host_gelu_back(const float *x, float *dy, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                float below = 0.5F * (1 + erff(x[i] * 0.70710678F));
                float density = 0.39894228F * expf(-0.5F * x[i] * x[i]);
                dy[i] *= below + x[i] * density;
        }
}

static void host_softmax(float *x, size_t n, size_t block, bool causal, float scale)
{
        for (size_t r = 0; r < n * block; r++, x += block) {
                size_t seen = causal ? r % block + 1 : block;
                float most = x[0];
                double sum = 0;
                for (size_t i = 1; i < seen; i++)
                        most = x[i] > most ? x[i] : most;
                for (size_t i = 0; i < seen; i++) {
                        x[i] = expf((x[i] - most) * scale);
                        sum += (double)x[i];
                }
                for (size_t i = 0; i < seen; i++)
                        x[i] = (float)((double)x[i] / sum);
                memset(x + seen, 0, (block - seen) * sizeof *x);
        }
}

static void host_softmax_back(const float *y, float *dy, size_t n, size_t block, bool causal,
                              float scale)
{
        for (size_t r = 0; r < n * block; r++, y += block, dy += block) {
                size_t seen = causal ? r % block + 1 : block;
                double dot = 0;
                for (size_t i = 0; i < seen; i++)
                        dot += (double)(y[i] * dy[i]);
                for (size_t i = 0; i < seen; i++)
                        dy[i] = y[i] * (dy[i] - (float)dot) * scale;
                memset(dy + seen, 0, (block - seen) * sizeof *dy);
        }
}

static void host_loss_sum(float *x, size_t n, float scale, float *loss)
{
        double sum = 0;

        for (size_t i = 0; i < n; i++) {
                sum += (double)x[i];
                x[i] = scale;
        }
        *loss = (float)sum;
}

static void host_loss_entropy(float *x, const int32_t *target, size_t rows, size_t n, float scale,
                              float *loss)
{
        const double share = (double)scale / (double)rows;
        double total = 0;

        for (size_t r = 0; r < rows; r++, x += n) {
                float most = x[0];
                double sum = 0;
                for (size_t i = 1; i < n; i++)
                        most = x[i] > most ? x[i] : most;
                float right = x[target[r]] - most;
                for (size_t i = 0; i < n; i++) {
                        x[i] = expf(x[i] - most);
                        sum += (double)x[i];
                }
                total += log(sum) - (double)right;
                for (size_t i = 0; i < n; i++)
                        x[i] = (float)((double)x[i] / sum * share);
                x[target[r]] -= (float)share;
        }
        *loss = (float)(total / (double)rows);
}

static void host_find_overflow(const float *x, size_t n, float *any)
{
        for (size_t i = 0; i < n; i++)
                if (!isfinite(x[i]))
                        *any = 1;
}

static void host_sgd(float *w, const float *g, size_t n, float lr)
{
        for (size_t i = 0; i < n; i++)
                w[i] -= lr * g[i];
}

static void host_adamw(float *w, const float *g, float *m, float *v, size_t n, const struct adam *a)
{
        const struct adam_step s = adam_step(a);

        for (size_t i = 0; i < n; i++) {
                m[i] = s.old1 * m[i] + s.new1 * g[i];
                v[i] = s.old2 * v[i] + s.new2 * g[i] * g[i];
                w[i] = s.left * w[i] - s.lr * m[i] / (sqrtf(v[i]) * s.unbias + s.epsilon);
        }
}

const struct math_ops math_host = {
        .name = "host",
        .open = host_open,
        .use = host_use,
        .version = blas_version,
        .peak = host_peak,
        .taken = host_taken,
        .alloc = host_alloc,
        .release = free,
        .put = host_move,
        .get = host_move,
        .wait = host_wait,
        .put_queued = host_move,
        .get_queued = host_move,
        .mark = host_mark,
        .reach = host_reach,
        .unmark = host_unmark,
        .get_behind = host_get_behind,
        .put_beside = host_move,
        .join_beside = host_join,
        .copy_apart = host_copy_apart,
        .follow = host_reach,
        .zero = host_zero,
        .copy = host_copy,
        .add = host_add,
        .draw = host_draw,
        .product = host_product,
        .drop = host_drop,
        .add_rows = host_add_rows,
        .sum_rows = host_sum_rows,
        .embed = host_embed,
        .embed_back = host_embed_back,
        .place = host_place,
        .place_back = host_place_back,
        .norm = host_norm,
        .norm_back = host_norm_back,
        .gelu = host_gelu,
        .gelu_back = host_gelu_back,
        .softmax = host_softmax,
        .softmax_back = host_softmax_back,
        .loss_sum = host_loss_sum,
        .loss_entropy = host_loss_entropy,
        .find_overflow = host_find_overflow,
        .sgd = host_sgd,
        .adamw = host_adamw,
};
