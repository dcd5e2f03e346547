/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_object.c: requests on one object: head, get, delete. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

int gcs_head(struct store_kind *k, struct op *op, const char *key)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        if (k->keys)
                return gcs_xml_head(k, op, key);
        gcs_object_path(&m.path, k, key);
        gcs_query(&m, "fields", gcs_fields);
        gcs_csek(&m, k); /* else no checksum is told */
        return gcs_send(k, op, &m);
}

int gcs_head_build(struct store_kind *k, struct op *op)
{
        return gcs_is_folder(k, op->key) ? gcs_folder_head(k, op) : gcs_head(k, op, op->key);
}

int gcs_head_parse(struct store_kind *k, struct op *op)
{
        if (gcs_is_folder(k, op->key))
                return gcs_folder_headed(k, op);
        return gcs_ok(op) ? gcs_read_resource(op, op->key) : gcs_fault(k, op);
}

int gcs_get_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        const char *version = op->seen && *op->obj.etag ? op->obj.etag : op->if_match;
        char range[OP_RANGE_MAX];

        if (op_get_range(op, range))
                gcs_header(&m, "Range", range);
        if (k->keys) {
                gcs_xml_path(&m, k, op->key);
        } else {
                gcs_object_path(&m.path, k, op->key);
                gcs_query(&m, "alt", "media");
        }
        if (version)
                gcs_query(&m, "generation", version);
        gcs_csek(&m, k);
        gcs_header(&m, "Accept-Encoding", "gzip"); /* as it is stored, never unpacked on the way */
        return gcs_send(k, op, &m);
}

int gcs_get_parse(struct store_kind *k, struct op *op)
{
        if (gcs_ok(op) || op->rq.status == 416)
                return 0;
        int err = gcs_fault(k, op);
        /* The version that was asked for is gone, whether or not there is another. */
        return err == -ENOENT && (op->seen || op->if_match) ? -ESTALE : err;
}

int gcs_delete_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);
        if (gcs_is_folder(k, op->key))
                return gcs_folder_delete(k, op);
        if (op->stage == GCS_PROBE)
                return gcs_head(k, op, op->key);
        if (k->keys)
                return gcs_xml_delete(k, op, op->key, op->if_match);
        gcs_object_path(&m.path, k, op->key);
        gcs_cond(&m, op);
        return gcs_send(k, op, &m);
}

/* A version that is not there fails the condition, whether there is another or none: which of the
 * two it is, a head tells. */
int gcs_delete_parse(struct store_kind *k, struct op *op)
{
        if (gcs_is_folder(k, op->key))
                return gcs_folder_deleted(k, op);
        if (gcs_ok(op))
                return op->stage == GCS_PROBE ? -ESTALE : 0;
        int err = gcs_fault(k, op);
        if (op->stage != GCS_PROBE) /* an earlier try may have deleted it, and its reply was lost */
                op->verify_err = op->if_match && !op->maybe_done ? -ENOENT : 0;
        if (err == -ESTALE && op->stage != GCS_PROBE) {
                op->stage = GCS_PROBE;
                return OP_AGAIN;
        }
        return err == -ENOENT ? op->verify_err : err;
}
