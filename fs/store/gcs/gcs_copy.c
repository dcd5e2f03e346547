/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_copy.c: copies inside the server, renames of one object, and changes of metadata alone.
 *
 * A rename is moveTo. Its source is looked at before: should the reply be lost and the source be
 * gone then, only what the target is tells whether we moved it, or another host did to another
 * name. If the target is another version, nobody can tell: -EIO. A server may not have moveTo; it
 * then answers as if there were no object, so what counts is whether there is one: if so, here and
 * from now on, an object is rewritten and what it was made of is deleted. An upload that a
 * retention policy keeps by its first name is rewritten, too, and stays there until the policy lets
 * it go. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/banned.h"

/* --- copies --- */

/* The resource of the target, for what is not taken from the source. */
static int write_resource(struct op *op)
{
        CLEANUP(json_freep) struct json *j = json_new_object();

        gcs_add_type(j, op->meta);
        if (gcs_add_meta(j, op->meta, NULL))
                return -ENOMEM;
        CLEANUP(freep) char *text = json_print(j);
        buf_reset(&op->text);
        return text ? buf_adds(&op->text, text) : -ENOMEM;
}

/* What the request to copy any version of any object has; the next one has the token of the reply.
 */
static void rewrite_to(struct gcs_msg *m, const struct store_kind *k, const struct op *op,
                       const struct gcs_way *way)
{
        gcs_object_path(&m->path, k, way->from);
        buf_adds(&m->path, "/rewriteTo/b/");
        uri_encode(&m->path, k->bucket, false);
        buf_adds(&m->path, "/o/");
        uri_encode(&m->path, way->to, false);
        gcs_kms(m, k, "destinationKmsKeyName");
        gcs_csek_source(m, k);
        if (way->generation)
                gcs_query(m, "ifSourceGenerationMatch", way->generation);
        if (op->next)
                gcs_query(m, "rewriteToken", op->next);
}

int gcs_rewrite_piece(struct store_kind *k, struct op *op, const struct gcs_way *way)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        rewrite_to(&m, k, op, way);
        return gcs_send(k, op, &m);
}

static int gcs_rewrite(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        if (k->keys)
                return gcs_xml_copy(k, op, op->src);
        rewrite_to(&m, k, op, &(struct gcs_way){op->src, op->src_match, op->key});
        gcs_cond(&m, op);
        if (op->meta) {
                int err = write_resource(op);
                if (err)
                        return err;
                m.text = &op->text;
                m.type = "application/json";
        }
        return gcs_send(k, op, &m);
}

static int not_a_copy(struct op *op)
{
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message,
                 "a reply that tells of no copy of this object");
        return OP_RETRY;
}

int gcs_rewritten(struct store_kind *k, struct op *op, const char *to)
{
        enum { GONE = 410 };
        CLEANUP(json_freep) struct json *j = NULL;

        if (k->keys)
                return gcs_xml_copied(k, op);
        if (op->rq.status == GONE && op->next) { /* the token is: the copy begins anew */
                gcs_fault(k, op);
                free(TAKE_PTR(op->next));
                return OP_RETRY;
        }
        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int err = gcs_json(op, &j);
        if (err)
                return err;
        if (!json_bool(json_get(j, "done"), false)) {
                const char *token = json_string(json_get(j, "rewriteToken"), "");
                if (!*token)
                        return not_a_copy(op);
                free(op->next);
                op->next = strdup(token);
                retry_progress(&op->retry);
                return op->next ? OP_AGAIN : -ENOMEM;
        }
        const struct json *made = json_get(j, "resource");
        if (!gcs_resource(made, &op->obj) ||
            strcmp(json_string(json_get(made, "name"), ""), to) != 0)
                return not_a_copy(op);
        return 0;
}

/* There are a condition on the source and one on the target, and the 412 does not tell which of
 * them failed: the source does. */
static bool is_unclear(const struct op *op, int err)
{
        return err == -EEXIST && op->src_match;
}

int gcs_copy_build(struct store_kind *k, struct op *op)
{
        switch (op->stage) {
        case GCS_PROBE:
                return gcs_head(k, op, op->src);
        case GCS_VERIFY:
                return gcs_verify_build(k, op);
        default:
                return gcs_rewrite(k, op);
        }
}

int gcs_copy_parse(struct store_kind *k, struct op *op)
{
        int err;

        if (op->stage == GCS_VERIFY)
                return gcs_verify_parse(k, op);
        if (op->stage == GCS_PROBE) {
                err = gcs_ok(op) ? gcs_read_resource(op, op->src) : gcs_fault(k, op);
                if (err > 0)
                        return err;
                bool other = !err && op->src_match && strcmp(op->src_match, op->obj.etag) != 0;
                if (!op->maybe_done)
                        return err ? err : other ? -ESTALE : op_refusal(op);
                if (err || other)
                        return op_refusal(op);
                op->expect = op->obj;
                return gcs_verify_begin(op, op->verify_err);
        }
        err = gcs_rewritten(k, op, op->key);
        if (!op_may_be_ours(op, err) && !is_unclear(op, err))
                return err;
        op->stage = GCS_PROBE; /* then the target is as the source, or the source is another */
        op_look_into(op, err);
        return OP_AGAIN;
}

/* --- renames --- */

static int move(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        gcs_object_path(&m.path, k, op->src);
        buf_adds(&m.path, "/moveTo/o/");
        uri_encode(&m.path, op->key, false);
        gcs_query(&m, "fields", gcs_fields);
        gcs_csek(&m, k);
        gcs_cond(&m, op);
        if (op->src_match)
                gcs_query(&m, "ifSourceGenerationMatch", op->src_match);
        return gcs_send(k, op, &m);
}

/* The version that was copied, and no later one. */
static int unlink_source(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);

        if (k->keys)
                return gcs_xml_delete(k, op, op->src, op->src_match);
        gcs_object_path(&m.path, k, op->src);
        gcs_query(&m, "ifGenerationMatch", op->src_match);
        return gcs_send(k, op, &m);
}

int gcs_rename_build(struct store_kind *k, struct op *op)
{
        if (k->keys && op->verb == OP_RENAME)
                return -EOPNOTSUPP; /* callers copy and delete where STORE_CAP_RENAME is not */
        if (op->stage == GCS_BEGIN)
                op->stage = GCS_PROBE;
        switch (op->stage) {
        case GCS_MOVE:
                return move(k, op);
        case GCS_PROBE:
                return gcs_head(k, op, op->src);
        case GCS_UNLINK:
                return unlink_source(k, op);
        case GCS_VERIFY:
        case GCS_COPIED:
                return gcs_verify_build(k, op);
        default:
                return gcs_rewrite(k, op);
        }
}

/* Whether a server that finds nothing to move may have the call all the same: Google's own, one
 * that has moved something, and one that speaks of the object. */
static bool may_move(const struct store_kind *k, const struct op *op)
{
        return !k->emulator || __atomic_load_n(&k->moves, __ATOMIC_RELAXED) ||
               strstr(op->fault.message, "No such object");
}

/* The vendor's testbench makes the target, and then compares its condition with the source, which
 * it does not delete. It does not refuse in Google's words. */
static bool moves_half(const struct store_kind *k, const struct op *op)
{
        return k->emulator && op->rq.status == 412 &&
               strcmp(op->fault.code, "conditionNotMet") != 0;
}

static int moved(struct store_kind *k, struct op *op)
{
        int err = gcs_ok(op) ? gcs_read_resource(op, op->key) : gcs_fault(k, op);
        bool half = moves_half(k, op);
        bool refused = err == -ENOENT || err == -EOPNOTSUPP || (err == OP_RETRY && gcs_ok(op)) ||
                       (k->emulator && op->rq.status == 400) || half;
        if (!err)
                __atomic_store_n(&k->moves, true, __ATOMIC_RELAXED);
        if (err == -EACCES && op->verb == OP_COMPLETE && gcs_is_retained(op)) {
                op->maybe_done = false; /* or there were nothing to move any more */
                op->stage = GCS_REWRITE;
                return OP_AGAIN;
        }
        if (!refused && !op_may_be_ours(op, err) && !is_unclear(op, err))
                return err;
        op->unseen = op->maybe_done;
        op_look_into(op, half                                ? -EXDEV
                         : err == -ENOENT && may_move(k, op) ? -EAGAIN
                         : refused                           ? -ENOENT
                                                             : err);
        op->stage = GCS_PROBE;
        return OP_AGAIN;
}

/* The source is there: it is to be moved; or it was, so there is no moveTo; or it is another
 * version now, maybe since it was moved; or it is refused, indeed. */
static int source_stands(struct store_kind *k, struct op *op)
{
        struct store_object src = op->obj;

        if (op->src_match && strcmp(op->src_match, src.etag) != 0)
                return op->unseen ? gcs_verify_begin(op, -EIO) : -ESTALE;
        if (op_is_refused(op->verify_err))
                return op_refusal(op);
        op->expect = src;
        if (!op->verify_err && !__atomic_load_n(&k->no_move, __ATOMIC_RELAXED)) {
                op->maybe_done = false; /* from here on it is the move that may have been */
                op->stage = GCS_MOVE;
                return OP_AGAIN;
        }
        if (op->verify_err == -EAGAIN) { /* another server may know it already */
                snprintf(op->fault.message, sizeof op->fault.message,
                         "there is nothing to move, though the object is there");
                op->stage = GCS_MOVE;
                return OP_RETRY;
        }
        if (!op->src_match && !(op->src_match = strdup(src.etag)))
                return -ENOMEM;
        op->maybe_done = op->verify_err == -EXDEV; /* from here on it is the copy that may be */
        op->unseen = false;
        if (!__atomic_exchange_n(&k->no_move, true, __ATOMIC_RELAXED))
                log_info("store: %s has no moveTo: objects are copied and deleted to rename them",
                         k->endpoint);
        op->stage = GCS_REWRITE;
        return OP_AGAIN;
}

/* The source is gone: by a try of ours whose reply was lost, if the target is what it was. If that
 * is not, another host has changed it since, or has taken the source away. */
static int source_is_gone(struct op *op)
{
        if (op->unseen)
                return gcs_verify_begin(op, -EIO);
        return op->verb == OP_COMPLETE ? -EIO : -ENOENT; /* somebody aborted the upload */
}

static int probed(struct store_kind *k, struct op *op)
{
        int err = gcs_ok(op) ? gcs_read_resource(op, op->src) : gcs_fault(k, op);
        if (err == -ENOENT)
                return source_is_gone(op);
        return err ? err : source_stands(k, op);
}

/* Whether what was copied is not there any more to be deleted: where the rename has a condition on
 * its target, too, a 412 is -EEXIST whatever it is about. */
static bool is_other_or_gone(int err)
{
        return err == -ENOENT || err == -ESTALE || err == -EEXIST;
}

int gcs_rename_parse(struct store_kind *k, struct op *op)
{
        int err;

        switch (op->stage) {
        case GCS_MOVE:
                return moved(k, op);
        case GCS_PROBE:
                return probed(k, op);
        case GCS_VERIFY:
                return gcs_verify_parse(k, op);
        case GCS_UNLINK:
                err = gcs_ok(op) ? 0 : gcs_fault(k, op);
                return is_other_or_gone(err) ? 0 : err;
        case GCS_COPIED:
                err = gcs_verify_parse(k, op);
                break;
        default:
                err = gcs_rewritten(k, op, op->key);
                if (op_may_be_ours(op, err)) {
                        gcs_verify_begin(op, err);
                        op->stage = GCS_COPIED;
                        return OP_AGAIN;
                }
                if (is_unclear(op, err)) {
                        op->stage = GCS_PROBE;
                        op_look_into(op, err);
                        return OP_AGAIN;
                }
        }
        if (err)
                return err;
        op->cleanup_only = op->verb == OP_COMPLETE; /* the source is an object of our own */
        retry_progress(&op->retry);
        op->stage = GCS_UNLINK;
        return OP_AGAIN;
}

/* --- metadata --- */

/* A host that changes some of them sends all that it knows: those that another host has changed
 * since are told by the number of such changes, and must not be replaced. */
int gcs_set_meta_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_PATCH);
        CLEANUP(json_freep) struct json *j = json_new_object();
        struct json *meta = NULL;
        char metageneration[GCS_METAGENERATION_LEN];

        if (op->stage == GCS_VERIFY)
                return gcs_head(k, op, op->key);
        if (k->keys)
                return gcs_xml_copy(k, op, op->key);
        int err = gcs_add_meta(j, op->meta, &meta);
        for (size_t i = 0; !err && i < GCS_OUR_META; i++)
                if (!store_meta_get(op->meta, gcs_our_meta[i]))
                        err = json_add_null(meta, gcs_our_meta[i]);
        CLEANUP(freep) char *text = json_print(j);
        buf_reset(&op->text);
        if (err || !text || buf_adds(&op->text, text))
                return -ENOMEM;
        gcs_object_path(&m.path, k, op->key);
        gcs_query(&m, "fields", gcs_fields);
        gcs_cond(&m, op);
        if (gcs_metageneration(op, metageneration))
                gcs_query(&m, "ifMetagenerationMatch", metageneration);
        m.text = &op->text;
        m.type = "application/json";
        return gcs_send(k, op, &m);
}

/* A condition that does not hold may be due to a try of ours, after which there is another
 * metageneration, or by the XML API another version. */
int gcs_set_meta_parse(struct store_kind *k, struct op *op)
{
        int err;

        if (op->stage == GCS_VERIFY) {
                err = gcs_ok(op) ? gcs_read_resource(op, op->key) : gcs_fault(k, op);
                return err || meta_has_all(&op->obj.meta, op->meta) ? err : op->verify_err;
        }
        err = k->keys      ? gcs_xml_copied(k, op)
              : gcs_ok(op) ? gcs_read_resource(op, op->key)
                           : gcs_fault(k, op);
        return err == -ESTALE && op->maybe_done ? gcs_verify_begin(op, err) : err;
}
