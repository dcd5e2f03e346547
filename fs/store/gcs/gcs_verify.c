/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_verify.c: was it us? When the reply to a guarded change was lost, the next try fails because
 * the first one took effect. Size, checksum and metadata of the object tell. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <stdio.h>

#include "base/banned.h"

int gcs_verify_begin(struct op *op, int err)
{
        op->stage = GCS_VERIFY;
        op_look_into(op, err);
        return OP_AGAIN;
}

int gcs_verify_build(struct store_kind *k, struct op *op)
{
        return gcs_head(k, op, op->key);
}

/* What is there now is another host's, or nothing. */
static int not_ours(struct op *op)
{
        if (op->verify_err != -EIO)
                return op_refusal(op);
        op->fault.status = op->rq.status;
        *op->fault.code = '\0';
        snprintf(op->fault.message, sizeof op->fault.message,
                 "the reply was lost, and another host has changed the object since: look at what "
                 "is there");
        return -EIO;
}

int gcs_verify_parse(struct store_kind *k, struct op *op)
{
        if (!gcs_ok(op)) {
                int err = gcs_fault(k, op);
                return err == -ENOENT ? not_ours(op) : err;
        }
        int err = gcs_read_resource(op, op->key);
        if (err)
                return err;
        /* Another host may have made one of the same bytes, such as an empty one. */
        bool same = op->obj.size == op->expect.size && op->obj.has_crc && op->expect.has_crc &&
                    op->obj.crc32c == op->expect.crc32c &&
                    meta_has_user(&op->obj.meta, op->meta ? op->meta : &op->expect.meta);
        return same ? 0 : not_ours(op);
}
