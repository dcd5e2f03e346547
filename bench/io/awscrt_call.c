/* SPDX-License-Identifier: Apache-2.0 */
/* awscrt_call.c: the transfers of awscrt.h, one at a time. The library answers on its own threads;
 * who called waits, and sees to it that a signal ends the transfer. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aws/auth/auth.h>
#include <aws/common/error.h>
#include <aws/http/request_response.h>
#include <aws/io/io.h>
#include <aws/io/stream.h>
#include <aws/s3/s3.h>
#include <aws/s3/s3_client.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/text/uri.h"
#include "bench/io/awscrt_i.h"
#include "bench/core/copies.h"
#include "bench/core/progress.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

/* One transfer. */
struct call {
        struct awscrt *c;
        struct aws_s3_meta_request *r;
        const struct io_data *data; /* NULL: none moves */
        struct io_step step;        /* of a load */
        bool placed;                /* the library receives where the data is to be */
        struct aws_input_stream body;
        uint64_t at;     /* of the body: what is read next */
        uint64_t length; /* Content-Length of the reply */
        int status;      /* of HTTP; 0: none came */
        int error;       /* the library's */
        int own;         /* of data->fill() or check() */
        char code[64];   /* the store's word for an error */
        bool always;     /* also after a signal */
        bool finished, gone;
};

/* --- a body --- */

static struct call *call_of(struct aws_input_stream *s)
{
        return s->impl;
}

static int body_seek(struct aws_input_stream *s, int64_t offset, enum aws_stream_seek_basis basis)
{
        struct call *call = call_of(s);
        uint64_t from = basis == AWS_SSB_END ? call->data->size : 0;
        call->at = from + (uint64_t)offset;
        return call->at <= call->data->size ? AWS_OP_SUCCESS
                                            : aws_raise_error(AWS_IO_STREAM_INVALID_SEEK_POSITION);
}

static int stop_call(struct call *call, int err)
{
        mutex_lock(&call->c->mtx);
        if (!call->own)
                call->own = err;
        mutex_unlock(&call->c->mtx);
        return aws_raise_error(AWS_ERROR_S3_CANCELED);
}

static int body_read(struct aws_input_stream *s, struct aws_byte_buf *to)
{
        struct call *call = call_of(s);
        uint64_t left = call->data->size - call->at, room = to->capacity - to->len;
        size_t n = (size_t)(left < room ? left : room);

        int err = signal_came()
                          ? -ECANCELED
                          : call->data->fill(call->data->arg, call->at, to->buffer + to->len, n);
        if (err)
                return stop_call(call, err);
        to->len += n;
        call->at += n;
        return AWS_OP_SUCCESS;
}

static int body_status(struct aws_input_stream *s, struct aws_stream_status *out)
{
        const struct call *call = call_of(s);
        *out = (struct aws_stream_status){.is_valid = true,
                                          .is_end_of_stream = call->at == call->data->size};
        return AWS_OP_SUCCESS;
}

static int body_length(struct aws_input_stream *s, int64_t *out)
{
        *out = (int64_t)call_of(s)->data->size;
        return AWS_OP_SUCCESS;
}

static void body_unused(void *arg)
{
        (void)arg; /* it is a part of struct call, which outlives the transfer */
}

static struct aws_input_stream_vtable body_table = {
        .seek = body_seek,
        .read = body_read,
        .get_status = body_status,
        .get_length = body_length,
};

/* --- a transfer --- */

static int on_headers(struct aws_s3_meta_request *m, const struct aws_http_headers *headers,
                      int status, void *arg)
{
        struct call *call = arg;
        struct aws_byte_cursor v;
        char text[32];

        (void)m;
        (void)status;
        if (!aws_http_headers_get(headers, aws_byte_cursor_from_c_str("Content-Length"), &v)) {
                snprintf(text, sizeof text, "%.*s", (int)v.len, (const char *)v.ptr);
                mutex_lock(&call->c->mtx);
                call->length = strtoull(text, NULL, 10);
                mutex_unlock(&call->c->mtx);
        }
        return AWS_OP_SUCCESS;
}

void *awscrt_target(void *arg, const struct aws_s3_meta_request *r, size_t size)
{
        struct awscrt *c = arg;
        void *to = NULL;

        mutex_lock(&c->mtx);
        for (size_t i = 0; i < c->ncalls && !to; i++) {
                struct call *call = &c->calls[i];
                if (call->r != r || !call->data->mem || call->placed || size > call->step.len)
                        continue;
                call->placed = true;
                to = call->data->mem + call->step.off;
        }
        mutex_unlock(&c->mtx);
        return to;
}

static int take_body(const struct call *call, uint64_t at, const struct aws_byte_cursor *body)
{
        const struct io_data *d = call->data;
        uint64_t off = call->step.off + at - call->step.from;

        if (signal_came())
                return -ECANCELED;
        if (off + body->len > d->size)
                return -EMSGSIZE;
        progress_add(body->len);
        if (!d->mem)
                return d->check ? d->check(d->arg, off, body->ptr, body->len) : 0;
        if (body->ptr != (const uint8_t *)d->mem + off)
                copies_host(d->mem + off, body->ptr, body->len);
        return 0;
}

static int on_body(struct aws_s3_meta_request *m, const struct aws_byte_cursor *body, uint64_t at,
                   void *arg)
{
        struct call *call = arg;
        (void)m;
        int err = call->data ? take_body(call, at, body) : signal_came() ? -ECANCELED : 0;
        return err ? stop_call(call, err) : AWS_OP_SUCCESS;
}

static void on_progress(struct aws_s3_meta_request *m,
                        const struct aws_s3_meta_request_progress *progress, void *arg)
{
        (void)m;
        (void)arg;
        progress_add(progress->bytes_transferred);
}

/* The text between <Code> and </Code>. */
static void read_code(struct call *call, const struct aws_byte_buf *xml)
{
        static const char begin[] = "<Code>";
        const char *at = memmem(xml->buffer, xml->len, begin, sizeof begin - 1);
        if (!at)
                return;
        at += sizeof begin - 1;
        const char *end = (const char *)xml->buffer + xml->len, *stop = memchr(at, '<', end - at);
        snprintf(call->code, sizeof call->code, "%.*s", (int)((stop ? stop : end) - at), at);
}

static void on_finish(struct aws_s3_meta_request *m,
                      const struct aws_s3_meta_request_result *result, void *arg)
{
        struct call *call = arg;
        (void)m;
        mutex_lock(&call->c->mtx);
        call->status = result->response_status;
        call->error = result->error_code;
        if (result->error_response_body)
                read_code(call, result->error_response_body);
        call->finished = true;
        pthread_cond_broadcast(&call->c->cond);
        mutex_unlock(&call->c->mtx);
}

static void on_shutdown(void *arg)
{
        struct call *call = arg;
        struct awscrt *c = call->c;
        mutex_lock(&c->mtx);
        call->gone = true;
        pthread_cond_broadcast(&c->cond);
        mutex_unlock(&c->mtx);
}

/* There are none, or none that are valid: an error of the library that looks for them and signs. */
static bool is_of_credentials(int error)
{
        return error >= (int)AWS_ERROR_ENUM_BEGIN_RANGE(AWS_C_AUTH_PACKAGE_ID) &&
               error <= (int)AWS_ERROR_ENUM_END_RANGE(AWS_C_AUTH_PACKAGE_ID);
}

static int errno_of(const struct call *call)
{
        switch (call->status) {
        case 401:
        case 403:
                return -EACCES;
        case 404:
                return -ENOENT;
        case 507:
                return -ENOSPC;
        default:
                break;
        }
        switch (call->error) {
        case AWS_ERROR_S3_RESPONSE_CHECKSUM_MISMATCH:
                return -EBADMSG;
        case AWS_IO_SOCKET_CONNECTION_REFUSED:
                return -ECONNREFUSED;
        case AWS_IO_SOCKET_TIMEOUT:
                return -ETIMEDOUT;
        case AWS_IO_SOCKET_NO_ROUTE_TO_HOST:
        case AWS_IO_DNS_QUERY_FAILED:
                return -EHOSTUNREACH;
        case AWS_ERROR_OOM:
                return -ENOMEM;
        default:
                return is_of_credentials(call->error) ? -EACCES : -EIO;
        }
}

/* What the transfer came to, with a line in `why`. */
static int verdict(const struct call *call, const char *what, char *why, size_t nwhy)
{
        char status[24] = "";

        if (!call->error)
                return 0; /* though a signal may have come: it was too late */
        int err = call->own ? call->own : errno_of(call);
        if (call->status)
                snprintf(status, sizeof status, "%d ", call->status);
        if (call->own)
                snprintf(why, nwhy, "%s: %s", what, strerror(-err));
        else
                snprintf(why, nwhy, "%s: %s (aws-c-s3: %s%s)", what, strerror(-err), status,
                         *call->code ? call->code : aws_error_name(call->error));
        return err;
}

static void add_header(struct aws_http_message *m, const char *name, const char *value)
{
        const struct aws_http_header h = {.name = aws_byte_cursor_from_c_str(name),
                                          .value = aws_byte_cursor_from_c_str(value)};
        aws_http_message_add_header(m, h);
}

/* A request for `key` ("": the bucket), or NULL without memory. */
static struct aws_http_message *new_message(struct awscrt *c, const char *method, const char *key)
{
        CLEANUP(buf_release) struct buf path = BUF_INIT;
        int err = buf_addf(&path, "/%s", c->place.bucket);
        if (!err && *key)
                err = buf_addf(&path, "/");
        if (!err)
                err = uri_encode(&path, key, true);
        struct aws_http_message *m = err ? NULL : aws_http_message_new_request(c->alloc);
        if (!m)
                return NULL;
        aws_http_message_set_request_method(m, aws_byte_cursor_from_c_str(method));
        aws_http_message_set_request_path(m, aws_byte_cursor_from_c_str(path.p));
        add_header(m, "Host", c->place.host);
        return m;
}

/* Begins the transfer; takes `m`. -EIO with a line in `why`: then it never began. */
static int begin_call(struct call *call, struct aws_s3_meta_request_options *o,
                      struct aws_http_message *m, const char *what, char *why, size_t nwhy)
{
        o->message = m;
        o->endpoint = &call->c->uri;
        o->user_data = call;
        o->headers_callback = on_headers;
        o->body_callback = on_body;
        o->finish_callback = on_finish;
        o->shutdown_callback = on_shutdown;
        mutex_lock(&call->c->mtx); /* awscrt_target() looks for it, from the first part on */
        call->r = m ? aws_s3_client_make_meta_request(call->c->client, o) : NULL;
        mutex_unlock(&call->c->mtx);
        aws_http_message_release(m);
        if (call->r)
                return 0;
        snprintf(why, nwhy, "%s: aws-c-s3: %s", what, aws_error_str(aws_last_error()));
        return -EIO;
}

/* Waits for the end of a transfer that began, which a signal brings about sooner. */
static int end_call(struct call *call, const char *what, char *why, size_t nwhy)
{
        struct awscrt *c = call->c;
        bool cancelled = call->always;

        mutex_lock(&c->mtx);
        while (!call->finished) {
                if (cancelled || !signal_came()) {
                        signal_nap_locked(&c->cond, &c->mtx);
                        continue;
                }
                cancelled = true;
                call->own = call->own ? call->own : -ECANCELED;
                mutex_unlock(&c->mtx);
                aws_s3_meta_request_cancel(call->r);
                mutex_lock(&c->mtx);
        }
        mutex_unlock(&c->mtx);
        aws_s3_meta_request_release(call->r);
        mutex_lock(&c->mtx);
        while (!call->gone)
                mutex_wait(&c->cond, &c->mtx);
        call->r = NULL;
        mutex_unlock(&c->mtx);
        return verdict(call, what, why, nwhy);
}

static int run_call(struct call *call, struct aws_s3_meta_request_options *o,
                    struct aws_http_message *m, const char *what, char *why, size_t nwhy)
{
        int err = begin_call(call, o, m, what, why, nwhy);
        return err ? err : end_call(call, what, why, nwhy);
}

/* CRC32C with each part and of what comes back, as libstore does. */
static const struct aws_s3_checksum_config checksums = {
        .location = AWS_SCL_HEADER,
        .checksum_algorithm = AWS_SCA_CRC32C,
        .validate_response_checksum = true,
};

static struct aws_http_message *new_put(struct awscrt *c, const char *key, uint64_t size)
{
        struct aws_http_message *m = new_message(c, "PUT", key);
        char length[24];

        snprintf(length, sizeof length, "%llu", (unsigned long long)size);
        if (m)
                add_header(m, "Content-Length", length);
        return m;
}

/* In one request, of memory that the library sends as it is: the shard's, or a buffer of the pool.
 */
static int put_whole(struct call *call, const char *key, char *why, size_t nwhy)
{
        const struct io_data *d = call->data;
        void *made = d->mem ? NULL : awscrt_pool_take(call->c->pool, d->size);
        int err = d->mem || made ? 0 : -ENOMEM;

        if (!err && made)
                err = d->fill(d->arg, 0, made, d->size);
        if (err) {
                snprintf(why, nwhy, "%s: %s", key, strerror(-err));
        } else {
                struct aws_s3_meta_request_options o = {
                        .type = AWS_S3_META_REQUEST_TYPE_DEFAULT,
                        .operation_name = aws_byte_cursor_from_c_str("PutObject"),
                        .request_body = aws_byte_cursor_from_array(made ? made : d->mem, d->size),
                        .checksum_config = &checksums,
                };
                err = run_call(call, &o, new_put(call->c, key, d->size), key, why, nwhy);
        }
        if (!err)
                progress_add(d->size);
        awscrt_pool_give(call->c->pool, made);
        return err;
}

/* The library copies parts of memory that is there through a stream of its own; what is made, or is
 * on a device, goes straight to its parts. */
static struct aws_input_stream *new_body(struct call *call)
{
        const struct io_data *d = call->data;

        if (d->mem) {
                const struct aws_byte_cursor all = aws_byte_cursor_from_array(d->mem, d->size);
                return aws_input_stream_new_from_cursor(call->c->alloc, &all);
        }
        call->body.impl = call;
        call->body.vtable = &body_table;
        aws_ref_count_init(&call->body.ref_count, call, body_unused);
        return &call->body;
}

int awscrt_put(struct awscrt *c, const char *key, const struct io_data *d, uint64_t part, char *why,
               size_t nwhy)
{
        struct call call = {.c = c, .data = d};
        struct aws_s3_meta_request_options o = {
                .type = AWS_S3_META_REQUEST_TYPE_PUT_OBJECT,
                .part_size = part,
                .multipart_upload_threshold = part,
                .checksum_config = &checksums,
                .progress_callback = on_progress,
        };

        if (d->size && d->size <= part)
                return put_whole(&call, key, why, nwhy);
        struct aws_http_message *m = new_put(c, key, d->size);
        if (m) {
                struct aws_input_stream *body = new_body(&call);
                aws_http_message_set_body_stream(m, body);
                aws_input_stream_release(body);
        }
        return run_call(&call, &o, m, key, why, nwhy);
}

static int begin_range(struct call *call, const char *key, uint64_t have, uint64_t part, char *why,
                       size_t nwhy)
{
        struct aws_s3_meta_request_options o = {
                .type = AWS_S3_META_REQUEST_TYPE_GET_OBJECT,
                .part_size = part,
                .checksum_config = &checksums,
                .object_size_hint = &have,
        };
        struct aws_http_message *m = new_message(call->c, "GET", key);
        const struct io_step *step = &call->step;
        char text[64];

        snprintf(text, sizeof text, "bytes=%llu-%llu", (unsigned long long)step->from,
                 (unsigned long long)(step->from + step->len - 1));
        if (m && step->len < have)
                add_header(m, "Range", text);
        return begin_call(call, &o, m, key, why, nwhy);
}

/* Begins the next range in the oldest call, which has ended. False: there is none, or *err. */
static bool next_range(struct call *call, const struct call *like, const char *key, uint64_t have,
                       uint64_t part, struct io_step *step, int *err, char *why, size_t nwhy)
{
        /* the library divides a range itself; where it is to receive in place, a call is a part */
        if (*err || !io_next(like->data, like->data->mem ? part : UINT64_MAX, step))
                return false;
        mutex_lock(&like->c->mtx);
        *call = *like;
        call->step = *step;
        mutex_unlock(&like->c->mtx);
        *err = begin_range(call, key, have, part, why, nwhy);
        return !*err;
}

static void show_calls(struct awscrt *c, struct call *calls, size_t n)
{
        mutex_lock(&c->mtx);
        c->calls = calls;
        c->ncalls = n;
        mutex_unlock(&c->mtx);
}

/* The oldest of a window of calls is waited for before the next begins. After an error none begins,
 * and those under way are ended. */
int awscrt_get(struct awscrt *c, const char *key, uint64_t have, const struct io_data *d,
               uint64_t part, char *why, size_t nwhy)
{
        CLEANUP(freep) struct call *calls = calloc(c->window, sizeof *calls);
        const struct call like = {.c = c, .data = d};
        struct io_step step = {0};
        size_t begun = 0, ended = 0;
        bool more = true;
        char ignored[8];
        int err = calls ? 0 : -ENOMEM;

        if (err)
                snprintf(why, nwhy, "%s: %s", key, strerror(-err));
        show_calls(c, calls, err ? 0 : c->window);
        while (ended < begun || (more && !err)) {
                while (more && begun - ended < c->window) {
                        more = next_range(&calls[begun % c->window], &like, key, have, part, &step,
                                          &err, why, nwhy);
                        begun += more;
                }
                if (ended == begun)
                        continue;
                struct call *call = &calls[ended++ % c->window];
                if (err)
                        aws_s3_meta_request_cancel(call->r);
                int e = end_call(call, key, err ? ignored : why, err ? sizeof ignored : nwhy);
                err = err ? err : e;
                more = more && !err;
        }
        show_calls(c, NULL, 0);
        return err;
}

/* One request as it is. */
static int plain(struct call *call, const char *method, const char *operation, const char *key,
                 char *why, size_t nwhy)
{
        struct aws_s3_meta_request_options o = {
                .type = AWS_S3_META_REQUEST_TYPE_DEFAULT,
                .operation_name = aws_byte_cursor_from_c_str(operation),
        };
        struct aws_http_message *m = new_message(call->c, method, key);
        return run_call(call, &o, m, *key ? key : call->c->place.bucket, why, nwhy);
}

int awscrt_size(struct awscrt *c, const char *key, uint64_t *out, char *why, size_t nwhy)
{
        struct call call = {.c = c};
        int err = plain(&call, "HEAD", "HeadObject", key, why, nwhy);
        *out = err ? 0 : call.length;
        return err;
}

int awscrt_delete(struct awscrt *c, const char *key, char *why, size_t nwhy)
{
        struct call call = {.c = c, .always = true};
        return plain(&call, "DELETE", "DeleteObject", key, why, nwhy);
}

int awscrt_head_bucket(struct awscrt *c, char *why, size_t nwhy)
{
        struct call call = {.c = c};
        return plain(&call, "HEAD", "HeadBucket", "", why, nwhy);
}
