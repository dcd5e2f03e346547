/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c: see tls.h. */
#include "bench/sim/http/tls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/cleanup.h"
#include "base/banned.h"

struct tls_server {
        SSL_CTX *ctx;
};

struct tls {
        SSL *ssl;
};

static void tls_server_closep(struct tls_server **s)
{
        tls_server_close(*s);
}

static int say(char *why, size_t nwhy, const char *file, const char *remedy)
{
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());

        snprintf(why, nwhy, "%s: %s: %s", file, reason ? reason : "cannot be used", remedy);
        ERR_clear_error();
        return -EINVAL;
}

int tls_server_open(const char *cert, const char *key, struct tls_server **out, char *why,
                    size_t nwhy)
{
        CLEANUP(tls_server_closep) struct tls_server *s = calloc(1, sizeof *s);

        if (s)
                s->ctx = SSL_CTX_new(TLS_server_method());
        if (!s || !s->ctx) {
                snprintf(why, nwhy, "no memory for TLS");
                return -ENOMEM;
        }
        SSL_CTX_set_min_proto_version(s->ctx, TLS1_2_VERSION);
        SSL_CTX_set_mode(s->ctx,
                         SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_options(s->ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
        SSL_CTX_set_read_ahead(s->ctx, 1);
        SSL_CTX_set_default_read_buffer_len(s->ctx, 64 << 10);
        if (SSL_CTX_use_certificate_chain_file(s->ctx, cert) != 1)
                return say(why, nwhy, cert, "give --tls-cert a certificate chain in PEM");
        if (SSL_CTX_use_PrivateKey_file(s->ctx, key, SSL_FILETYPE_PEM) != 1 ||
            SSL_CTX_check_private_key(s->ctx) != 1)
                return say(why, nwhy, key, "give --tls-key the certificate's private key in PEM");
        *out = TAKE_PTR(s);
        return 0;
}

void tls_server_close(struct tls_server *s)
{
        if (!s)
                return;
        SSL_CTX_free(s->ctx);
        free(s);
}

struct tls *tls_new(struct tls_server *s, int fd)
{
        struct tls *t = calloc(1, sizeof *t);

        if (!t)
                return NULL;
        t->ssl = SSL_new(s->ctx);
        if (!t->ssl || SSL_set_fd(t->ssl, fd) != 1) {
                tls_free(t);
                return NULL;
        }
        SSL_set_accept_state(t->ssl);
        return t;
}

void tls_free(struct tls *t)
{
        if (!t)
                return;
        if (t->ssl) {
                ERR_clear_error();
                if (SSL_is_init_finished(t->ssl))
                        SSL_shutdown(t->ssl);
                SSL_free(t->ssl);
        }
        free(t);
}

static ssize_t outcome(struct tls *t, int ret, int *want_out)
{
        switch (SSL_get_error(t->ssl, ret)) {
        case SSL_ERROR_WANT_READ:
                *want_out = 0;
                return -EAGAIN;
        case SSL_ERROR_WANT_WRITE:
                *want_out = 1;
                return -EAGAIN;
        case SSL_ERROR_ZERO_RETURN:
                return 0;
        default:
                SSL_set_quiet_shutdown(t->ssl, 1);
                return -EIO;
        }
}

ssize_t tls_read(struct tls *t, void *p, size_t n, int *want_out)
{
        size_t got;

        ERR_clear_error();
        int ret = SSL_read_ex(t->ssl, p, n, &got);
        return ret == 1 ? (ssize_t)got : outcome(t, ret, want_out);
}

ssize_t tls_write(struct tls *t, const void *p, size_t n, int *want_out)
{
        size_t put;

        ERR_clear_error();
        int ret = SSL_write_ex(t->ssl, p, n, &put);
        return ret == 1 ? (ssize_t)put : outcome(t, ret, want_out);
}
