/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h: an epoch of a dataset as workers and batches, the way PyTorch's DataLoader runs them:
 * each worker reads its share of the samples one at a time and makes batches of them, at most a few
 * ahead of who takes them; batches are taken from the workers in turn.
 *
 * Workers are threads. What a worker has in memory is the blocks of one stream and one sample. */
#ifndef CKPTFS_BENCH_LOADER_H
#define CKPTFS_BENCH_LOADER_H

#include "bench/scenario/dataset/sample.h"
#include "bench/scenario/dataset/sample_source.h"

enum { LOADER_WHY_MAX = 1024, LOADER_NAME_MAX = 256 };

/* How a rank reads. */
struct loader_how {
        struct sample_source *place;
        const struct sample_list *list; /* the same in all ranks */
        bool lists; /* every worker lists for itself, in each epoch, as iterable loaders do */
        struct stream_how stream;
        /* batches of an index are dealt out, or with tars whole ones; else every worker has a share
         * of objects */
        bool map;
        bool tars; /* objects are tars of samples */
        bool shuffle, verify, decode;
        unsigned labels; /* of samples that a network learns from; 0: none does */
        uint64_t seed;
        size_t workers; /* 0: a batch is made when it is asked for */
        size_t batch, prefetch;
        unsigned rank, ranks;
};

/* What was seen of the samples, to find out whether each came once. */
struct loader_seen {
        uint64_t samples, bytes;
        uint64_t good;       /* verified by datagen's line */
        uint64_t sum;        /* of a hash of their numbers */
        struct sample_id id; /* of one of the good ones, which this is: */
        char name[LOADER_NAME_MAX];
        char stray[LOADER_NAME_MAX]; /* one of another dataset than that; "" none */
        char plain[LOADER_NAME_MAX]; /* a sample without a line; "" none */
        double list_s;               /* the longest listing of a worker; 0: none listed */
};
void loader_seen_add(struct loader_seen *to, const struct loader_seen *more);
/* 0, or -EBADMSG with one line in `why`: what datagen made was not read whole, each sample once.
 * Other datasets are taken as they are. */
int loader_seen_check(const struct loader_seen *all, char *why, size_t nwhy);

struct loader;
struct batch {
        size_t samples;
        uint64_t bytes;
        /* with labels: CROP_BYTES of each sample (image_crop.h), and which of the labels it has */
        unsigned char *rgb;
        int32_t *label;
};
void batch_release(struct batch *b); /* a zeroed one is fine */
/* Starts the workers of an epoch. 0 or a negative errno. */
int loader_start(const struct loader_how *how, size_t epoch, struct loader **out);
/* The next batch, which is to be released: 1, 0 when the epoch is over, or a negative errno with
 * one line in loader_why(). Blocks. */
int loader_next(struct loader *l, struct batch *out);
const char *loader_why(const struct loader *l);
/* Ends the workers and adds up what they saw. Frees l; NULL is fine. */
void loader_end(struct loader *l, struct loader_seen *seen);

#endif
