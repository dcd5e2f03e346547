/* SPDX-License-Identifier: Apache-2.0 */
/* gs_session.c: resumable sessions. A session is an upload of the object store, and what a request
 * has brought of its data is the next part; so it outlives the server as an upload does. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

/* What the session keeps for its end, beside the object's metadata. */
static const char *const conditions[] = {"ifGenerationMatch", "ifGenerationNotMatch",
                                         "ifMetagenerationMatch", "ifMetagenerationNotMatch"};

static int record_conditions(struct request *x, struct object *o, const struct json *resource)
{
        const char *crc = json_string(json_get(resource, "crc32c"), NULL);
        char name[64];
        int err = crc ? object_meta_add(o, ":crc32c", crc) : 0;

        for (size_t i = 0; !err && i < sizeof conditions / sizeof *conditions; i++) {
                const char *value = request_query(x, conditions[i]);
                snprintf(name, sizeof name, ":%s", conditions[i]);
                if (value)
                        err = object_meta_add(o, name, value);
        }
        return err;
}

void gs_session_create(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        CLEANUP(json_freep) struct json *resource = NULL;
        const char *type = http_header(&x->rq, "x-upload-content-type");
        struct object_store_cond cond;
        char id[UPLOAD_ID_MAX];

        if (gs_bad_json(x, x->text.p, x->text.len, &resource) || gs_bad_name(s, x, resource) ||
            gs_bad_cond(x, "if", &cond))
                return;
        o = object_new(x->key);
        if (o && gs_bad_metadata(x, o, resource))
                return;
        int err = o ? gs_default_type(o, type) : -ENOMEM;
        if (!err)
                err = gs_take_kms_key(x, "kmsKeyName", o);
        if (!err && gs_bad_encryption(s, x, o))
                return;
        if (!err)
                err = record_conditions(x, o, resource);
        if (!err)
                err = object_store_upload_create(s->objects, x->bucket, o, id);
        if (err) {
                gs_fail(x, err);
                return;
        }
        const char *host = http_header(&x->rq, "host");
        buf_addf(&x->headers,
                 "Location: %s://%s/upload/storage/v1/b/%s/o?uploadType=resumable&name=", s->scheme,
                 host, x->bucket);
        uri_encode(&x->headers, x->key, false);
        buf_addf(&x->headers, "&upload_id=%s\r\n", id);
        gs_reply(x, 200);
}

/* "bytes A-B/TOTAL", "bytes *" "/TOTAL"; TOTAL may be '*'. */
struct content_range {
        bool asks; /* brings nothing */
        uint64_t first, last;
        bool has_total;
        uint64_t total;
};

/* `whole`: the body is there, or its length was said. */
static int parse_range(const char *text, bool whole, uint64_t body_len, struct content_range *r)
{
        char total[24], extra;

        *r = (struct content_range){.last = body_len - 1, .has_total = true, .total = body_len};
        if (!text)
                return 0;
        if (sscanf(text, "bytes */%23s", total) == 1)
                r->asks = true;
        else if (sscanf(text, "bytes %" SCNu64 "-%" SCNu64 "/%23s", &r->first, &r->last, total) !=
                 3)
                return -EINVAL;
        r->has_total = strcmp(total, "*");
        if (r->has_total && sscanf(total, "%" SCNu64 "%c", &r->total, &extra) != 1)
                return -EINVAL;
        if (!whole)
                return 0;
        if (r->asks)
                return body_len ? -EINVAL : 0;
        return r->last + 1 - r->first != body_len || (r->has_total && r->last >= r->total) ? -EINVAL
                                                                                           : 0;
}

/* True when the reply is set to an error. */
static bool bad_range(struct request *x, bool whole, struct content_range *r)
{
        if (!parse_range(http_header(&x->rq, "content-range"), whole, x->rq.body_len, r))
                return false;
        gs_refuse(x, 400, "invalid", "The Content-Range does not fit the body.");
        return true;
}

struct so_far {
        uint64_t size;
        unsigned parts;
        struct object *o; /* NULL: only count */
};

static int add_part(void *arg, unsigned number, const struct object *part)
{
        struct so_far *f = arg;

        f->parts = number;
        f->size += part->size;
        return f->o ? object_append(f->o, part, 0, part->size) : 0;
}

void gs_begin_chunk(struct service *s, struct request *x)
{
        struct object_store_upload up = {x->bucket, x->key, x->upload};
        struct content_range r;

        if (bad_range(x, !x->rq.chunked, &r))
                return;
        if (r.asks)
                x->op = "objects.status";
        int err = object_store_upload_check(s->objects, &up);
        if (!err)
                err = intake_begin(object_store_data(s->objects), x->bucket, &x->intake);
        if (err)
                gs_fail(x, err);
}

/* The vendor's libraries want no 308, which some of them take for a redirect, and say so. */
static void reply_incomplete(struct request *x, uint64_t size)
{
        const char *no_308 = http_header(&x->rq, "x-guploader-no-308");

        if (size)
                buf_addf(&x->headers, "Range: bytes=0-%" PRIu64 "\r\n", size - 1);
        if (no_308 && !strcasecmp(no_308, "yes")) {
                request_header(x, "X-Http-Status-Code-Override", "308");
                gs_reply(x, 200);
        } else {
                gs_reply(x, 308);
        }
}

/* Adds what the request has brought from the point on where the data ends so far: bytes that are
 * there already are passed over. */
static int add_chunk(struct service *s, struct request *x, const struct object_store_upload *up,
                     const struct content_range *r, struct so_far *f)
{
        CLEANUP(object_unrefp) struct object *o = NULL, *part = object_new(NULL);
        int err = part ? intake_finish(&x->intake, &o) : -ENOMEM;

        if (err || r->asks)
                return err;
        uint64_t skip = f->size - r->first;
        uint64_t accepted = o->size > skip ? o->size - skip : 0;
        bool last = r->has_total && r->last + 1 == r->total;
        if (!last)
                accepted -= (f->size + accepted) % GS_GRAIN < accepted
                                    ? (f->size + accepted) % GS_GRAIN
                                    : accepted;
        if (s->gs->resume_short && accepted > s->gs->resume_short)
                accepted = s->gs->resume_short;
        if (!accepted)
                return 0;
        err = object_append(part, o, skip, accepted);
        if (!err)
                err = object_store_upload_put(s->objects, up, f->parts + 1, part);
        f->size += accepted;
        return err;
}

static void take_conditions(const struct object *head, struct object_store_cond *cond)
{
        int64_t *const to[] = {&cond->gen, &cond->gen_not, &cond->meta, &cond->meta_not};
        char name[64];

        *cond = (struct object_store_cond){.has = 0};
        for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
                snprintf(name, sizeof name, ":%s", conditions[i]);
                const char *value = object_meta(head, name);
                if (!value)
                        continue;
                cond->has |= 1u << i; /* the bits are in this order */
                *to[i] = strtoll(value, NULL, 10);
        }
}

/* All is there: the object appears. */
static void finish_session(struct service *s, struct request *x,
                           const struct object_store_upload *up)
{
        CLEANUP(object_unrefp) struct object *o = object_new(NULL), *head = NULL;
        struct so_far f = {.o = o};
        struct object_store_cond cond;
        char crc[9], text[80];

        int err = o ? object_store_upload_head(s->objects, up, &head) : -ENOMEM;
        if (!err)
                err = object_store_upload_parts(s->objects, up, 0, add_part, &f);
        if (err) {
                gs_fail(x, err);
                return;
        }
        struct said said = {.crc32c = object_meta(head, ":crc32c")};
        said_by_hash(&said, http_header(&x->rq, "x-goog-hash"), text); /* of the whole */
        const char *want = said.crc32c;
        bool null = data_is_null(object_store_data(s->objects));
        crc32c_base64(o->crc, crc);
        if (want && o->has_crc && !null && strcmp(want, crc)) {
                gs_refuse(x, 400, "invalid",
                          "The checksum that was provided does not match what was computed.");
                return;
        }
        take_conditions(head, &cond);
        err = object_store_upload_complete(s->objects, up, o, 0, false, &cond);
        if (err)
                gs_fail(x, err);
        else
                gs_reply_object(x, o, null ? want : NULL);
}

void gs_chunk(struct service *s, struct request *x)
{
        struct object_store_upload up = {x->bucket, x->key, x->upload};
        struct content_range r;
        struct so_far f = {.o = NULL};

        if (bad_range(x, true, &r))
                return;
        int err = object_store_upload_parts(s->objects, &up, 0, add_part, &f);
        if (!err && !r.asks && r.first > f.size) {
                gs_refuse(x, 400, "invalid", "The chunk begins behind what was received.");
                return;
        }
        if (!err)
                err = add_chunk(s, x, &up, &r, &f);
        if (err)
                gs_fail(x, err);
        else if (r.has_total && f.size == r.total)
                finish_session(s, x, &up);
        else
                reply_incomplete(x, f.size);
}

void gs_session_cancel(struct service *s, struct request *x)
{
        struct object_store_upload up = {x->bucket, x->key, x->upload};
        int err = object_store_upload_abort(s->objects, &up);

        if (err)
                gs_fail(x, err);
        else
                gs_refuse(x, 499, NULL, NULL);
}
