/* SPDX-License-Identifier: Apache-2.0 */
/* awscrt.c: the client of awscrt.h. What the library makes lives on its threads and ends later than
 * it is released: client and threads tell their end, and awscrt_close() waits for them in the order
 * in which they hold one another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <aws/auth/credentials.h>
#include <aws/common/error.h>
#include <aws/io/channel_bootstrap.h>
#include <aws/io/event_loop.h>
#include <aws/io/host_resolver.h>
#include <aws/s3/s3.h>
#include <aws/s3/s3_client.h>

#include "base/mutex.h"
#include "bench/io/awscrt_i.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

/* The client opens a connection for every 0.4 Gbit/s that it aims at: it is to use as many as
 * s3.connections says. */
static const double gbps_of_connection = 0.4;

static struct mutex users_mtx = MUTEX_INITIALIZER(LOCK_BENCH);
static unsigned users GUARDED_BY(&users_mtx); /* clients that are open */

static void library_take(struct aws_allocator *alloc)
{
        mutex_lock(&users_mtx);
        if (!users++)
                aws_s3_library_init(alloc);
        mutex_unlock(&users_mtx);
}

/* The last one waits for the threads that are left. */
static void library_drop(void)
{
        mutex_lock(&users_mtx);
        if (!--users)
                aws_s3_library_clean_up();
        mutex_unlock(&users_mtx);
}

static void one_ended(void *arg)
{
        struct awscrt *c = arg;
        mutex_lock(&c->mtx);
        c->alive--;
        pthread_cond_broadcast(&c->cond);
        mutex_unlock(&c->mtx);
}

static void one_more(struct awscrt *c)
{
        mutex_lock(&c->mtx);
        c->alive++;
        mutex_unlock(&c->mtx);
}

/* Until no more than `left` have not told their end. */
static void wait_ended(struct awscrt *c, unsigned left)
{
        mutex_lock(&c->mtx);
        while (c->alive > left)
                mutex_wait(&c->cond, &c->mtx);
        mutex_unlock(&c->mtx);
}

static int open_loops(struct awscrt *c, uint64_t workers)
{
        const struct aws_shutdown_callback_options end = {
                .shutdown_callback_fn = one_ended,
                .shutdown_callback_user_data = c,
        };
        c->loops = aws_event_loop_group_new_default(c->alloc, (uint16_t)workers, &end);
        if (!c->loops)
                return -ENOMEM;
        one_more(c);
        const struct aws_host_resolver_default_options resolver = {
                .max_entries = 8,
                .el_group = c->loops,
        };
        c->resolver = aws_host_resolver_new_default(c->alloc, &resolver);
        if (!c->resolver)
                return -ENOMEM;
        const struct aws_client_bootstrap_options bootstrap = {
                .event_loop_group = c->loops,
                .host_resolver = c->resolver,
        };
        c->bootstrap = aws_client_bootstrap_new(c->alloc, &bootstrap);
        return c->bootstrap ? 0 : -ENOMEM;
}

/* As for s3, a profile that is named goes before the environment. */
static int open_credentials(struct awscrt *c, const char *profile)
{
        const struct aws_credentials_provider_profile_options named = {
                .bootstrap = c->bootstrap,
                .tls_ctx = c->tls,
                .profile_name_override = aws_byte_cursor_from_c_str(profile),
        };
        const struct aws_credentials_provider_chain_default_options chain = {
                .bootstrap = c->bootstrap,
                .tls_ctx = c->tls,
        };
        c->credentials = *profile ? aws_credentials_provider_new_profile(c->alloc, &named)
                                  : aws_credentials_provider_new_chain_default(c->alloc, &chain);
        return c->credentials ? 0 : -EACCES;
}

static int open_tls(struct awscrt *c, const char *ca_bundle)
{
        struct aws_tls_ctx_options o;
        aws_tls_ctx_options_init_default_client(&o, c->alloc);
        int bad = *ca_bundle ? aws_tls_ctx_options_override_default_trust_store_from_path(&o, NULL,
                                                                                          ca_bundle)
                             : AWS_OP_SUCCESS;
        if (!bad)
                c->tls = aws_tls_client_ctx_new(c->alloc, &o);
        aws_tls_ctx_options_clean_up(&o);
        if (!c->tls)
                return -EINVAL;
        aws_tls_connection_options_init_from_ctx(&c->tls_options, c->tls);
        return 0;
}

static int open_client(struct awscrt *c, const struct keys *k)
{
        double gbps = (double)k->s3_connections * gbps_of_connection;
        aws_s3_init_default_signing_config(&c->signing, aws_byte_cursor_from_c_str(c->place.region),
                                           c->credentials);
        const struct aws_s3_client_config cfg = {
                .max_active_connections_override = (uint32_t)k->s3_connections,
                .region = aws_byte_cursor_from_c_str(c->place.region),
                .client_bootstrap = c->bootstrap,
                .tls_mode = c->place.tls ? AWS_MR_TLS_ENABLED : AWS_MR_TLS_DISABLED,
                .tls_connection_options = c->place.tls ? &c->tls_options : NULL,
                .signing_config = &c->signing,
                .throughput_target_gbps = gbps > 10 ? gbps : 10, /* its default */
                .buffer_pool_factory_fn = awscrt_pool_factory,
                .buffer_pool_user_data = c->pool,
                .shutdown_callback = one_ended,
                .shutdown_callback_user_data = c,
        };
        c->window = 2 * (size_t)k->s3_connections; /* as many as there are buffers */
        c->client = aws_s3_client_new(c->alloc, &cfg);
        if (c->client)
                one_more(c);
        return c->client ? 0 : -EINVAL;
}

/* For each connection a part that it moves, and one that is made ready or handed out. */
static int open_pool(struct awscrt *c, const struct keys *k)
{
        uint64_t part = k->s3_part_size, read = k->s3_read_size;
        const struct awscrt_pool_config config = {
                .buffers = 2 * (size_t)k->s3_connections,
                .room = part > read ? part : read,
                .target = awscrt_target,
                .arg = c,
        };
        c->pool = awscrt_pool_new(c->alloc, &config);
        if (!c->pool)
                aws_raise_error(AWS_ERROR_OOM);
        return c->pool ? 0 : -ENOMEM;
}

static struct awscrt *new_client(const struct place *p)
{
        struct awscrt *c = calloc(1, sizeof *c);
        if (!c)
                return NULL;
        c->alloc = aws_default_allocator();
        c->place = *p;
        mutex_init(&c->mtx, LOCK_BENCH);
        mutex_cond_init(&c->cond);
        library_take(c->alloc);
        return c;
}

int awscrt_open(const struct keys *k, const struct place *p, struct awscrt **out, char *why,
                size_t nwhy)
{
        char url[sizeof p->host + 16];
        struct awscrt *c = new_client(p);
        if (!c) {
                snprintf(why, nwhy, "out of memory: free some");
                return -ENOMEM;
        }
        snprintf(url, sizeof url, "%s://%s", p->tls ? "https" : "http", p->host);
        const struct aws_byte_cursor text = aws_byte_cursor_from_c_str(url);
        int err = aws_uri_init_parse(&c->uri, c->alloc, &text) ? -EINVAL : 0;
        if (!err)
                err = open_tls(c, k->s3_ca_bundle);
        if (!err)
                err = open_loops(c, k->s3_workers);
        if (!err)
                err = open_credentials(c, k->s3_profile);
        if (!err)
                err = open_pool(c, k);
        if (!err)
                err = open_client(c, k);
        if (err)
                snprintf(why, nwhy, "aws-c-s3 does not start: %s", aws_error_str(aws_last_error()));
        else
                err = awscrt_head_bucket(c, why, nwhy);
        if (err) {
                awscrt_close(c);
                return err;
        }
        *out = c;
        return 0;
}

void awscrt_close(struct awscrt *c)
{
        if (!c)
                return;
        aws_s3_client_release(c->client);
        wait_ended(c, c->loops ? 1 : 0);
        aws_credentials_provider_release(c->credentials);
        aws_client_bootstrap_release(c->bootstrap);
        aws_host_resolver_release(c->resolver);
        aws_event_loop_group_release(c->loops);
        wait_ended(c, 0);
        awscrt_pool_free(c->pool);
        aws_tls_connection_options_clean_up(&c->tls_options);
        aws_tls_ctx_release(c->tls);
        aws_uri_clean_up(&c->uri);
        library_drop();
        pthread_cond_destroy(&c->cond);
        mutex_destroy(&c->mtx);
        free(c);
}
