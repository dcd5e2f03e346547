/* SPDX-License-Identifier: Apache-2.0 */
/* s3_verify.c: was it us? When the reply to a conditional put or a complete was lost, the next try
 * fails because the first one took effect. A head of the key tells. */
#include "store/s3/s3.h"

#include <errno.h>

#include "base/banned.h"

int s3_verify_begin(struct op *op, int err)
{
        op->stage = S3_VERIFY;
        op_look_into(op, err);
        return OP_AGAIN;
}

int s3_verify_build(struct store_kind *k, struct op *op)
{
        return s3_head_build(k, op);
}

int s3_verify_parse(struct store_kind *k, struct op *op,
                    int (*same)(struct op *op, const struct store_object *found))
{
        struct store_object found;

        int err = s3_head_reply(k, op, &found);
        if (err)
                return err == -ENOENT ? op_refusal(op) : err;
        if (!same(op, &found))
                return op_refusal(op);
        op->obj = found;
        return 0;
}
