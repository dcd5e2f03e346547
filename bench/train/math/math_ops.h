/* SPDX-License-Identifier: Apache-2.0 */
/* math_ops.h: the arithmetic of training, one table for each kind of device.
 *
 * All pointers are to memory of the device, but those of put() and get(). Matrices are stored row
 * by row. Calls are queued in their order and are done when wait() has returned, which also tells
 * of what failed in them.
 *
 * A rank may have several devices. A thread calls for one of them at a time, the first unless it
 * says otherwise, and all pointers are to memory of that one, but those of put(), get() and
 * copy(). Each device has a queue of its own. */
#ifndef CKPTFS_BENCH_TRAIN_MATH_OPS_H
#define CKPTFS_BENCH_TRAIN_MATH_OPS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C = alpha op(A) op(B) + beta C, where op() of an A of m x k and a B of k x n may transpose; for
 * each of outer.n times inner.n matrices that lie so many elements apart. */
struct product {
        bool a_turned, b_turned;
        size_t m, n, k;
        float alpha, beta;
        size_t lda, ldb, ldc; /* elements from row to row */
        struct {
                size_t n, a, b, c;
        } outer, inner; /* n is 0 for one matrix */
        /* With `half` both matrices become numbers of 16 bits on the way, those of A or B times a
         * power of two where they are gradients, which would else be too small (0: 1); what is
         * added up has 32. */
        bool half;
        float a_grows, b_grows;
};
static inline float product_grows(float by)
{
        return by > 0 ? by : 1;
}
/* What the product of halves is multiplied by. */
static inline float product_alpha(const struct product *p)
{
        return p->half ? p->alpha / (product_grows(p->a_grows) * product_grows(p->b_grows))
                       : p->alpha;
}

/* Which elements are dropped: a function of the key and of the element's index, of which the first
 * in memory has `first`. */
struct dropout {
        uint64_t key, first;
        float p; /* 0: none */
};
static inline uint64_t dropout_keep(const struct dropout *d)
{
        return (uint64_t)((1 - (double)d->p) * 4294967296.0);
}
static inline float dropout_scale(const struct dropout *d)
{
        return 1 / (1 - d->p);
}

struct norm { /* LayerNorm of rows of n elements */
        size_t rows, n;
        const float *weight, *bias;
        float *mean, *rstd; /* of each row: made by the forward, read by the backward */
        float epsilon;
};

struct adam {
        double lr, beta1, beta2, epsilon, decay;
        uint64_t step; /* from 1 */
};
/* The factors of one step: Loshchilov, Hutter: "Decoupled Weight Decay Regularization", 2019, as
 * torch.optim.AdamW. */
struct adam_step {
        float lr, unbias, old1, new1, old2, new2, left, epsilon;
};
static inline struct adam_step adam_step(const struct adam *a)
{
        struct adam_step s;

        s.lr = (float)(a->lr / (1 - pow(a->beta1, (double)a->step)));
        s.unbias = (float)(1 / sqrt(1 - pow(a->beta2, (double)a->step)));
        s.old1 = (float)a->beta1;
        s.new1 = (float)(1 - a->beta1);
        s.old2 = (float)a->beta2;
        s.new2 = (float)(1 - a->beta2);
        s.left = (float)(1 - a->lr * a->decay);
        s.epsilon = (float)a->epsilon;
        return s;
}

enum { MATH_DEVICES_MAX = 64 };

struct math_ops { /* no slot is NULL */
        const char *name;
        /* Takes so many devices from the job's (dev.h) on, counted in a circle where the machine
         * has fewer; the host is any number of them, with so many threads for each product. 0, or
         * a negative errno with one line in `why`. Blocks. */
        int (*open)(unsigned devices, unsigned threads, char *why, size_t nwhy);
        void (*use)(unsigned device); /* by this thread, from here on */
        const char *(*version)(void); /* of what multiplies matrices, in words; once it is open */
        /* The most bytes of one device's memory that were taken since open(); 0: it is the host's.
         */
        uint64_t (*peak)(void);
        /* Bytes that are taken now: of the device that has most, or of this process. */
        uint64_t (*taken)(void);
        /* n bytes, zeros, on 64 bytes. 0 or -ENOMEM. release(NULL) is fine. */
        int (*alloc)(size_t n, void **out);
        void (*release)(void *p);
        /* n bytes from the host's memory, and to it; they wait. 0 or a negative errno. */
        int (*put)(void *to, const void *from, size_t n);
        int (*get)(void *to, const void *from, size_t n);
        int (*wait)(void); /* for this thread's device */

        /* The same without waiting: the host's memory is let alone until reach() says so. */
        int (*put_queued)(void *to, const void *from, size_t n);
        int (*get_queued)(void *to, const void *from, size_t n);
        /* Sets a mark behind all that is queued; made where *mark is NULL. reach() waits until the
         * device is there, from any thread. NULL is fine for both that take one. */
        int (*mark)(void **mark);
        int (*reach)(void *mark);
        void (*unmark)(void *mark);
        /* As get() and put(), beside the queue: behind the mark (NULL: nothing), and at once. */
        int (*get_behind)(void *to, const void *from, size_t n, void *mark);
        int (*put_beside)(void *to, const void *from, size_t n);
        /* Beside the queue as well, and done when it returns: elements of `to` become the sum of
         * the n runs in their order, of each of which the memory may be any device's. */
        int (*join_beside)(float *to, const float *const *from, unsigned n, size_t elements);

        /* A second queue, of copies between the device and the host's memory that go on beside the
         * first: this one behind a mark of that (NULL: nothing), with *mark behind itself, made
         * where that is NULL. follow(): what is queued from here on is behind the mark of a copy.
         */
        int (*copy_apart)(void *to, const void *from, size_t n, void *behind, void **mark);
        int (*follow)(void *mark);

        void (*zero)(float *x, size_t n);
        void (*copy)(float *to, const float *from, size_t n);
        void (*add)(float *to, const float *from, size_t n);
        /* Numbers [first, first + n) of the normal distribution with this deviation. */
        void (*draw)(float *x, size_t n, uint64_t key, uint64_t first, float deviation);
        void (*product)(const struct product *p, const float *a, const float *b, float *c);
        /* Dropped elements become 0, others grow by 1 / (1 - p). The backward is the same. */
        void (*drop)(float *x, size_t n, const struct dropout *d);
        /* Adds a vector to each row of x; and, its backward, the sum of the rows to the vector. */
        void (*add_rows)(float *x, const float *bias, size_t rows, size_t n);
        void (*sum_rows)(const float *x, float *bias, size_t rows, size_t n);
        /* Row r of y is row token[r] of the table plus row r mod block of `position`. The backward
         * adds to both. */
        void (*embed)(float *y, const float *table, const float *position, const int32_t *token,
                      size_t rows, size_t block, size_t n);
        void (*embed_back)(const float *dy, float *dtable, float *dposition, const int32_t *token,
                           size_t rows, size_t block, size_t n);
        /* Of rows that are the projected patches of images, `block` a sample, the first of which is
         * its class: that becomes `first`, the others get `bias` added, and all their `position`.
         * The backward adds to the three. */
        void (*place)(float *y, const float *first, const float *bias, const float *position,
                      size_t rows, size_t block, size_t n);
        void (*place_back)(const float *dy, float *dfirst, float *dbias, float *dposition,
                           size_t rows, size_t block, size_t n);
        void (*norm)(const struct norm *s, const float *x, float *y);
        /* Adds to dx, dweight and dbias. */
        void (*norm_back)(const struct norm *s, const float *x, const float *dy, float *dx,
                          float *dweight, float *dbias);
        /* The exact GELU; dy becomes dx. */
        void (*gelu)(const float *x, float *y, size_t n);
        void (*gelu_back)(const float *x, float *dy, size_t n);
        /* In n matrices of block x block, each row becomes the softmax of its elements times
         * `scale`; with `causal` row i that of its first i + 1, and zeros behind them. The backward
         * turns dy into dx. */
        void (*softmax)(float *x, size_t n, size_t block, bool causal, float scale);
        void (*softmax_back)(const float *y, float *dy, size_t n, size_t block, bool causal,
                             float scale);
        /* Puts the loss of the logits x into *loss, and its gradient times `scale` in their place:
         * the sum of n elements, or the mean cross entropy of rows of n with their targets. */
        void (*loss_sum)(float *x, size_t n, float scale, float *loss);
        void (*loss_entropy)(float *x, const int32_t *target, size_t rows, size_t n, float scale,
                             float *loss);
        /* *any becomes 1 if one of the elements is infinite or no number, and else stays. */
        void (*find_overflow)(const float *x, size_t n, float *any);
        void (*sgd)(float *w, const float *g, size_t n, float lr);
        void (*adamw)(float *w, const float *g, float *m, float *v, size_t n, const struct adam *a);
};

extern const struct math_ops math_host;
#ifdef HAVE_CUDA
extern const struct math_ops math_cuda;
#endif

/* Opens the table for the device of the job (dev_get()), or, where that is none, the host's with so
 * many threads. 0, or a negative errno with one line in `why`. */
int math_choose(unsigned devices, unsigned threads, const struct math_ops **out, char *why,
                size_t nwhy);

#endif
