/* SPDX-License-Identifier: Apache-2.0 */
/* awscrt_i.h: what awscrt.c (the client) and awscrt_call.c (its transfers) share. */
#ifndef CKPTFS_BENCH_AWSCRT_I_H
#define CKPTFS_BENCH_AWSCRT_I_H

#include <pthread.h>

#include <aws/auth/signing_config.h>
#include <aws/io/tls_channel_handler.h>
#include <aws/io/uri.h>

#include "base/mutex.h"
#include "bench/io/awscrt.h"
#include "bench/io/awscrt_pool.h"

struct awscrt {
        struct aws_allocator *alloc;
        struct place place;
        struct aws_uri uri;
        struct aws_event_loop_group *loops;
        struct aws_host_resolver *resolver;
        struct aws_client_bootstrap *bootstrap;
        struct aws_credentials_provider *credentials;
        struct aws_tls_ctx *tls;
        struct aws_tls_connection_options tls_options;
        struct aws_signing_config_aws signing;
        struct awscrt_pool *pool;
        struct aws_s3_client *client;
        size_t window; /* calls at once */
        pthread_cond_t cond;
        struct mutex mtx;                    /* guards struct call's results, too */
        unsigned alive GUARDED_BY(&mtx);     /* things whose end is still to be told */
        struct call *calls GUARDED_BY(&mtx); /* the loads under way */
        size_t ncalls GUARDED_BY(&mtx);
};

/* Where the library is to receive a load's only part (awscrt_pool.h). */
awscrt_target_fn awscrt_target;

/* Asks whether the bucket is there: 0 or a negative errno with one line in `why`. */
int awscrt_head_bucket(struct awscrt *c, char *why, size_t nwhy);

#endif
