/* SPDX-License-Identifier: Apache-2.0 */
/* gs_reply.c: replies in JSON. */
#include <errno.h>
#include <string.h>

#include "bench/sim/gs/gs.h"
#include "base/banned.h"

static const struct {
        int status;
        const char *reason, *message;
} errors[] = {
        {400, "invalid", "The request is not valid."},
        {401, "required", "Anonymous caller does not have storage.objects.get access."},
        {403, "forbidden", "Access denied."},
        {404, "notFound", "Not Found"},
        {405, "methodNotAllowed", "The method is not allowed for this resource."},
        {409, "conflict", "The request conflicts with what is there."},
        {411, "required", "Content-Length is required."},
        {412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold."},
        {413, "uploadTooLarge", "The upload is too large."},
        {416, "requestedRangeNotSatisfiable", "The requested range cannot be satisfied."},
        {429, "rateLimitExceeded",
         "The object exceeded the rate limit for object mutation operations (create, update, and "
         "delete). Please reduce your request rate."},
        {499, "clientClosedRequest", "The session was cancelled."},
        {501, "notImplemented", "Not implemented."},
        {503, "backendError", "Backend Error"},
        {507, "quotaExceeded", "The disk is full."},
};

void gs_begin_headers(struct request *x)
{
        buf_reset(&x->headers);
        request_header(x, "X-GUploader-UploadID", x->id);
}

void gs_quote(struct buf *b, const char *text)
{
        buf_addc(b, '"');
        for (const char *p = text; *p; p++) {
                if (*p == '"' || *p == '\\') {
                        buf_addc(b, '\\');
                        buf_addc(b, *p);
                } else if ((unsigned char)*p < ' ') {
                        buf_addf(b, "\\u%04x", *p);
                } else {
                        buf_addc(b, *p);
                }
        }
        buf_addc(b, '"');
}

static void field_name(struct buf *b, const char *name)
{
        buf_addc(b, '"');
        buf_adds(b, name);
        buf_adds(b, "\":");
}

void gs_field(struct buf *b, const char *name, const char *text)
{
        field_name(b, name);
        gs_quote(b, text);
        buf_addc(b, ',');
}

void gs_field_number(struct buf *b, const char *name, uint64_t n)
{
        char text[20], *end = text + sizeof text, *p = http_digits(end, n, 1);

        field_name(b, name);
        buf_addc(b, '"');
        buf_add(b, p, (size_t)(end - p));
        buf_adds(b, "\",");
}

void gs_field_time(struct buf *b, const char *name, int64_t ns)
{
        char text[HTTP_TIME_LEN];

        http_time(ns, text);
        gs_field(b, name, text);
}

void gs_refuse(struct request *x, int status, const char *reason, const char *message)
{
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
                if (errors[i].status != status)
                        continue;
                reason = reason ? reason : errors[i].reason;
                message = message ? message : errors[i].message;
        }
        if (!reason)
                reason = status >= 500 ? "backendError" : "badRequest";
        if (!message)
                message = http_reason(status);
        object_unref(x->object);
        x->object = NULL;
        x->status = status;
        gs_begin_headers(x);
        buf_reset(&x->body);
        if (status == 304)
                return;
        request_header(x, "Content-Type", "application/json; charset=UTF-8");
        buf_addf(&x->body, "{\"error\":{\"code\":%d,\"message\":", status);
        gs_quote(&x->body, message);
        buf_adds(&x->body, ",\"errors\":[{\"message\":");
        gs_quote(&x->body, message);
        buf_adds(&x->body, ",\"domain\":\"global\",\"reason\":");
        gs_quote(&x->body, reason);
        buf_adds(&x->body, "}]}}\n");
        x->head_only = x->rq.method && !strcmp(x->rq.method, "HEAD");
}

void gs_fail(struct request *x, int err)
{
        switch (err) {
        case -ENOENT:
        case -ESRCH:
                gs_refuse(x, 404, NULL, *x->key ? "No such object" : NULL);
                break;
        case -ENXIO:
                gs_refuse(x, 404, NULL, "The specified bucket does not exist.");
                break;
        case -ESTALE:
        case -EALREADY:
                gs_refuse(x, 412, NULL, NULL);
                break;
        case -EBUSY:
                gs_refuse(x, 429, NULL, NULL);
                break;
        case -EPERM:
                gs_refuse(x, 403, "retentionPolicyNotMet",
                          "Object is subject to bucket's retention policy or object retention and "
                          "cannot be deleted or overwritten yet.");
                break;
        case -EEXIST:
        case -ENOTEMPTY:
                gs_refuse(x, 409, NULL, strerror(-err));
                break;
        case -EINVAL:
                gs_refuse(x, 400, NULL, NULL);
                break;
        case -ENOSPC:
        case -EDQUOT:
                gs_refuse(x, 507, NULL, NULL);
                break;
        default:
                gs_refuse(x, 500, NULL, strerror(-err));
        }
}

void gs_reply_json(struct request *x)
{
        x->status = 200;
        request_header(x, "Content-Type", "application/json; charset=UTF-8");
}

void gs_reply(struct request *x, int status)
{
        x->status = status;
}

void gs_end_list(struct buf *b)
{
        if (b->len && b->p[b->len - 1] == ',')
                b->p[--b->len] = 0;
}
