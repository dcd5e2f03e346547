/* SPDX-License-Identifier: Apache-2.0 */
/* gs_upload.c: objects that come in one request. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

void gs_begin_insert(struct service *s, struct request *x)
{
        const char *kind = request_query(x, "uploadType");

        x->in_parts = !strcmp(kind, "multipart");
        if (!x->in_parts && strcmp(kind, "media"))
                gs_refuse(x, 400, "invalid", "The uploadType is not known.");
        else if (!x->in_parts && !*x->key)
                gs_refuse(x, 400, "required", "Required parameter: name");
        else if (x->in_parts && related_begin(&x->related, http_header(&x->rq, "content-type"),
                                              x->rq.chunked ? RELATED_OPEN : x->rq.body_len))
                gs_refuse(x, 400, "invalid", "The Content-Type names no boundary.");
        if (x->status)
                return;
        int err = intake_begin(object_store_data(s->objects), x->bucket, &x->intake);
        if (err)
                gs_fail(x, err);
}

bool gs_bad_key(const struct service *s, struct request *x, const char *key)
{
        const char *why = request_google_name(key, object_store_has_folders(s->objects));

        if (why)
                gs_refuse(x, 400, "invalid", why);
        return why;
}

bool gs_bad_name(const struct service *s, struct request *x, const struct json *resource)
{
        const char *name = json_string(json_get(resource, "name"), "");

        if (!*x->key && *name) {
                x->named = strdup(name);
                x->key = x->named ? x->named : "";
        }
        if (!*x->key)
                gs_refuse(x, 400, "required", "Required parameter: name");
        return x->status != 0 || gs_bad_key(s, x, x->key);
}

#define NOTE     GS_META "x_emulator_"
#define OLD_NOTE GS_META "x_testbench_" /* replies have the same by their name of before */

/* What the testbench notes in the metadata of an object that came in one request. */
static int gs_note(struct object *o, const char *crc)
{
        int err = object_meta_add(o, NOTE "upload", "multipart");
        if (!err)
                err = object_meta_add(o, OLD_NOTE "upload", "multipart");
        object_meta_remove(o, NOTE "crc32c");
        return err || !crc ? err : object_meta_add(o, NOTE "crc32c", crc);
}

bool gs_bad_note(struct request *x, const struct object *o)
{
        const char *crc = object_meta(o, NOTE "crc32c");
        char is[9];

        crc32c_base64(o->crc, is);
        if (crc && o->has_crc && strcmp(crc, is))
                gs_refuse(x, 412, "", "crc32c validation failed.");
        return x->status != 0;
}

int gs_take_kms_key(const struct request *x, const char *param, struct object *o)
{
        const char *key = request_query(x, param);

        if (!key)
                return 0;
        object_meta_remove(o, GS_KMS_KEY);
        return object_meta_add(o, GS_KMS_KEY, key);
}

void gs_put(struct service *s, struct request *x, struct object *o,
            const struct object_store_cond *cond, const char *crc)
{
        int err = gs_take_kms_key(x, "kmsKeyName", o);

        if (gs_bad_note(x, o) || gs_bad_encryption(s, x, o))
                return;
        if (!err)
                err = object_store_put(s->objects, x->bucket, o, cond);
        if (err)
                gs_fail(x, err);
        else
                gs_reply_object(x, o, crc);
}

int gs_default_type(struct object *o, const char *type)
{
        if (object_meta(o, "content-type"))
                return 0;
        return object_meta_add(o, "content-type",
                               type && *type ? type : "application/octet-stream");
}

/* Compares what was said of the body, and takes the CRC that was said. True with the reply set. */
static bool gs_bad_digest(struct request *x, const struct json *resource, const char **crc)
{
        struct said said = {.crc32c = NULL};
        char text[80];
        int err;

        said_by_hash(&said, http_header(&x->rq, "x-goog-hash"), text);
        said.crc32c = json_string(json_get(resource, "crc32c"), said.crc32c);
        said.md5 = json_string(json_get(resource, "md5Hash"), said.md5);
        const char *code = request_differs(x, &said, &err);
        if (err)
                gs_fail(x, err);
        else if (code)
                gs_refuse(x, 400, "invalid",
                          "The checksum that was provided does not match what was computed.");
        *crc = json_string(json_get(resource, "crc32c"), NULL);
        return x->status != 0;
}

/* The description before the data, and the data's type; true when the reply is set to an error. */
static bool bad_parts(struct request *x, struct json **resource, char **type)
{
        const struct related *r = &x->related;

        *resource = NULL;
        *type = NULL;
        if (!x->in_parts)
                return false;
        if (!related_is_whole(r)) {
                gs_refuse(x, 400, "invalid", "The body is not of two parts.");
                return true;
        }
        if (r->type_len)
                *type = strndup(r->head.p + r->type_at, r->type_len);
        return gs_bad_json(x, r->head.p + r->text_at, r->text_len, resource);
}

void gs_insert(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        CLEANUP(json_freep) struct json *resource = NULL;
        CLEANUP(freep) char *type = NULL;
        struct object_store_cond cond;
        const char *crc;

        if (bad_parts(x, &resource, &type) || gs_bad_name(s, x, resource) ||
            gs_bad_cond(x, "if", &cond) || gs_bad_digest(x, resource, &crc))
                return;
        const char *said = json_string(json_get(resource, "contentType"), NULL);
        if (s->gs->testbench && said && type && strcmp(said, type)) {
                gs_refuse(x, 412, "", "Content-Type validation failed.");
                return;
        }
        int err = intake_finish(&x->intake, &o);
        if (!err)
                err = object_set_key(o, x->key);
        if (!err && gs_bad_metadata(x, o, resource))
                return;
        if (!err && s->gs->testbench)
                err = gs_note(o, crc);
        if (!err)
                err = gs_default_type(o, x->in_parts ? type : http_header(&x->rq, "content-type"));
        if (err)
                gs_fail(x, err);
        else
                gs_put(s, x, o, &cond, data_is_null(object_store_data(s->objects)) ? crc : NULL);
}
