/* SPDX-License-Identifier: Apache-2.0 */
/* s3_minds.c: whether the server honors a header that not every S3 server knows.
 *
 * The vendor's servers do. What another one does is found out by the first request that needs
 * the header, and remembered: it may honor it, refuse the header, or ignore it and do the work. */
#include "store/s3/s3.h"

#include <errno.h>

#include "base/log.h"
#include "store/core/store_int.h"
#include "base/banned.h"

static const char *const instead[S3_CONDITIONS] = {
        [S3_DELETE_IF] = "If-Match in a delete: objects are looked at before they are deleted",
        [S3_DELETE_MANY_IF] = "the ETags of objects that are deleted together: any version goes",
        [S3_COPY_IF] = "If-Match in a copy: names are looked at before they are copied to",
        [S3_COMPLETE_IF] = "If-Match in the completion of an upload: names are looked at before it",
        [S3_PART_IF] = "conditions of the copy of a part: its source is looked at after it",
        [S3_PUT_IF] = "If-Match in a put: names are looked at before it",
        [S3_PUT_ABSENT] = "If-None-Match in a put: names are looked at before it",
        [S3_PUT_QUOTED] = "ETags in quotes in If-Match: they are sent without",
        [S3_CHECKSUMS] = "checksums of what is written: bytes that change on the way are not found",
        [S3_APPEND] = "x-amz-write-offset-bytes: what is appended to is copied in parts",
        [S3_RENAME] = "RenameObject: objects are copied and deleted to rename them",
};

enum s3_minds s3_minds(const struct store_kind *k, enum s3_condition what)
{
        enum s3_minds found = __atomic_load_n(&k->minds[what], __ATOMIC_RELAXED);
        bool of_upload = what == S3_COMPLETE_IF || what == S3_PART_IF;
        bool vendors = !k->endpoint || (k->session && of_upload); /* nobody else has sessions */
        return found == S3_UNKNOWN && vendors ? S3_HONORS : found;
}

void s3_learn(struct store_kind *k, enum s3_condition what, enum s3_minds minds)
{
        if (__atomic_exchange_n(&k->minds[what], minds, __ATOMIC_RELAXED) != minds &&
            minds == S3_IGNORES)
                log_info("store: the server does not honor %s", instead[what]);
}

bool s3_may_refuse_header(const struct op *op, int err)
{
        return err == -EOPNOTSUPP || (err == -EIO && op->rq.status == 400);
}
