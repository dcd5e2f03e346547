/* SPDX-License-Identifier: Apache-2.0 */
/* gs_copy.c: objects made of objects. They share the bytes with their sources. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/json.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

/* The copy of `from` under the other name, with the metadata of the description where there is one.
 * NULL with the reply set. */
static struct object *make_copy(struct service *s, struct request *x, const struct object *from,
                                const struct json *resource, const struct object_store_cond *cond)
{
        CLEANUP(object_unrefp) struct object *o = object_clone(from, x->other_key);
        int err = o ? 0 : -ENOMEM;

        if (!err)
                object_meta_remove(o, GS_CLASS); /* the bucket's, unless the description has one */
        if (!err && json_count(resource)) {
                buf_reset(&o->meta);
                if (gs_bad_metadata(x, o, resource))
                        return NULL;
                err = gs_default_type(o, NULL);
        }
        if (!err)
                err = gs_take_kms_key(x, "destinationKmsKeyName", o);
        if (!err && (gs_bad_note(x, o) || gs_bad_encryption(s, x, o)))
                return NULL;
        if (!err)
                err = object_store_put(s->objects, x->other_bucket, o, cond);
        if (err)
                gs_fail(x, err);
        return err ? NULL : TAKE_PTR(o);
}

/* What rewriteTo and copyTo have in common: the source and the conditions of the target. */
static struct object *find_source(struct service *s, struct request *x, struct json **resource,
                                  struct object_store_cond *cond)
{
        struct object_store_cond source;

        if (gs_bad_json(x, x->text.p, x->text.len, resource) || gs_bad_cond(x, "if", cond) ||
            gs_bad_cond(x, "ifSource", &source))
                return NULL;
        CLEANUP(object_unrefp)
        struct object *from = gs_find(s, x, x->bucket, x->key, gs_number(x, "sourceGeneration", -1),
                                      &source, false);
        return from && !gs_key_is_missing(x, from, true) ? TAKE_PTR(from) : NULL;
}

/* A token is GENERATION.DONE of the source; false when it is of another source. */
static bool read_token(const char *token, const struct object *from, uint64_t *done)
{
        int64_t generation;
        char extra;

        return sscanf(token, "%" SCNd64 ".%" SCNu64 "%c", &generation, done, &extra) == 2 &&
               generation == from->generation && *done < from->size;
}

void gs_rewrite(struct service *s, struct request *x)
{
        CLEANUP(json_freep) struct json *resource = NULL;
        struct object_store_cond cond;
        CLEANUP(object_unrefp) struct object *from = find_source(s, x, &resource, &cond), *o = NULL;
        const char *token = request_query(x, "rewriteToken");
        uint64_t done = 0;

        if (!from)
                return;
        if (token && !read_token(token, from, &done)) {
                gs_refuse(x, 400, "invalid", "The rewriteToken is not valid.");
                return;
        }
        uint64_t chunk = s->gs->rewrite_chunk ? s->gs->rewrite_chunk : from->size;
        done = from->size - done > chunk ? done + chunk : from->size;
        if (done == from->size) {
                o = make_copy(s, x, from, resource, &cond);
                if (!o)
                        return;
        }
        struct buf *b = &x->body;
        buf_adds(b, "{\"kind\":\"storage#rewriteResponse\",");
        gs_field_number(b, "totalBytesRewritten", done);
        gs_field_number(b, "objectSize", from->size);
        buf_addf(b, "\"done\":%s,", o ? "true" : "false");
        if (o) {
                buf_adds(b, "\"resource\":");
                gs_resource(x, x->other_bucket, o, NULL);
        } else {
                buf_addf(b, "\"rewriteToken\":\"%" PRId64 ".%" PRIu64 "\"", from->generation, done);
        }
        buf_adds(b, "}\n");
        gs_reply_json(x);
}

static void reply_other(struct request *x, const struct object *o)
{
        x->bucket = x->other_bucket;
        gs_reply_object(x, o, NULL);
}

void gs_copy(struct service *s, struct request *x)
{
        CLEANUP(json_freep) struct json *resource = NULL;
        struct object_store_cond cond;
        CLEANUP(object_unrefp) struct object *from = find_source(s, x, &resource, &cond), *o = NULL;

        if (from)
                o = make_copy(s, x, from, resource, &cond);
        if (o)
                reply_other(x, o);
}

/* Deletes the source only where the target's condition holds for it, too. */
static void move_half(struct service *s, struct request *x, const struct object_store_cond *source,
                      const struct object_store_cond *cond)
{
        CLEANUP(object_unrefp)
        struct object *from = gs_find(s, x, x->bucket, x->key, -1, source, false);
        CLEANUP(object_unrefp) struct object *o = from ? make_copy(s, x, from, NULL, cond) : NULL;

        if (o && object_store_delete(s->objects, x->bucket, x->key, cond))
                gs_refuse(x, 412, "", "ifGenerationMatch validation failed.");
        else if (o)
                reply_other(x, o);
}

void gs_move(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        struct object_store_cond cond, source;

        if (s->gs->no_move) {
                gs_refuse(x, 404, NULL, NULL);
                return;
        }
        if (gs_bad_cond(x, "if", &cond) || gs_bad_cond(x, "ifSource", &source))
                return;
        if (s->gs->testbench && cond.has) {
                move_half(s, x, &source, &cond);
                return;
        }
        CLEANUP(object_unrefp)
        struct object *from = gs_find(s, x, x->bucket, x->key, -1, NULL, false);
        if (!from || gs_key_is_missing(x, from, false))
                return;
        const struct object_store_move m = {x->key, x->other_key, &source, &cond, false};
        int err = object_store_move(s->objects, x->bucket, &m, &o);
        if (err)
                gs_fail(x, err);
        else
                reply_other(x, o);
}

static const char *class_of(const struct object *o)
{
        const char *class = object_meta(o, GS_CLASS);
        return class ? class : GS_DEFAULT_CLASS;
}

/* "The source objects must all reside in the same bucket and use the same storage class" (XML API,
 * "PUT Object - Compose"); the message is the vendor's. */
static bool bad_class(struct request *x, const struct object *o, const struct object *from)
{
        char said[200];

        if (!strcmp(class_of(o), class_of(from)))
                return false;
        snprintf(said, sizeof said,
                 "Cannot compose object with destination storage class %.32s from source "
                 "components that have different storage classes (%.32s)",
                 class_of(o), class_of(from));
        gs_refuse(x, 400, "invalid", said);
        return true;
}

/* Appends one source of a composition. */
static bool bad_source(struct service *s, struct request *x, const struct json *source,
                       struct object *o)
{
        const char *name = json_string(json_get(source, "name"), "");
        const char *gen = json_string(json_get(source, "generation"), NULL);
        const char *match = json_string(
                json_get(json_get(source, "objectPreconditions"), "ifGenerationMatch"), NULL);
        struct object_store_cond cond = {.has = match ? VAULT_GEN : 0};
        CLEANUP(object_unrefp) struct object *from = NULL;

        if (match)
                cond.gen = strtoll(match, NULL, 10);
        from = gs_find(s, x, x->bucket, name, gen ? strtoll(gen, NULL, 10) : -1, &cond, false);
        if (!from || gs_key_is_missing(x, from, false) || bad_class(x, o, from))
                return true;
        if (object_append(o, from, 0, from->size)) {
                gs_fail(x, -ENOMEM);
                return true;
        }
        o->components += from->components ? from->components : 1;
        return false;
}

void gs_compose(struct service *s, struct request *x)
{
        CLEANUP(json_freep) struct json *request = NULL;
        CLEANUP(object_unrefp) struct object *o = object_new(x->key);
        struct object_store_cond cond;

        if (gs_bad_json(x, x->text.p, x->text.len, &request) || gs_bad_cond(x, "if", &cond))
                return;
        const struct json *sources = json_get(request, "sourceObjects");
        size_t n = json_count(sources);
        if (!o || !n || n > GS_COMPOSE_MAX) {
                gs_refuse(x, o ? 400 : 500, NULL,
                          "The number of source components is not 1 to 32.");
                return;
        }
        if (gs_bad_metadata(x, o, json_get(request, "destination")))
                return;
        for (size_t i = 0; i < n; i++)
                if (bad_source(s, x, json_at(sources, i), o))
                        return;
        int err = gs_default_type(o, NULL);
        if (err)
                gs_fail(x, err);
        else
                gs_put(s, x, o, &cond, NULL);
}
