/* SPDX-License-Identifier: Apache-2.0 */
/* s3_checksum.c: whether a request bears a checksum beside its body.
 *
 * Servers that do not know the headers refuse a request for them, with 501 or, as Backblaze B2,
 * with 400 and the header's name. It is sent again without, and when it succeeds then, so are all
 * that follow. */
#include "store/s3/s3.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/banned.h"

bool s3_bears_checksum(struct store_kind *k, struct op *op)
{
        op->bears = !op->bare && k->checksums != STORE_CHECKSUMS_NONE &&
                    !__atomic_load_n(&k->no_checksums, __ATOMIC_RELAXED);
        return op->bears;
}

static bool are_unknown(const struct op *op, int err)
{
        return err == -EOPNOTSUPP ||
               (op->rq.status == 400 &&
                strstr(op->fault.message, "Unsupported header 'x-amz-checksum-"));
}

int s3_checksum_answer(struct store_kind *k, struct op *op, int err)
{
        if (are_unknown(op, err) && op->bears && k->endpoint &&
            k->checksums == STORE_CHECKSUMS_AUTO) {
                op->bare = true;
                buf_reset(&op->text);
                return OP_AGAIN;
        }
        if (!err && op->bare && !__atomic_exchange_n(&k->no_checksums, true, __ATOMIC_RELAXED))
                log_info("store: %s knows no checksums: requests have none from now on",
                         k->endpoint);
        return err;
}
