/* SPDX-License-Identifier: Apache-2.0 */
/* s3_check.c: what a mount asks when it begins: whether the bucket is there, whether it may be
 * written to, and whether a put's conditions are honored. */
#include "store/s3/s3.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

int s3_check_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, NULL);
        s3_query(&m, "list-type", "2");
        s3_query(&m, "max-keys", "1");
        s3_query(&m, "prefix", op->prefix);
        return s3_send(k, op, &m);
}

int s3_check_parse(struct store_kind *k, struct op *op)
{
        if (!s3_ok(op) || s3_is_error_body(op))
                return s3_fault(k, op);
        if (strstr(op->in.p, "<ListBucketResult")) {
                op->empty =
                        !strstr(op->in.p, "<Contents>") && !strstr(op->in.p, "<IsTruncated>true");
                return 0;
        }
        op->fault.status = op->rq.status; /* any web server says 200 to something */
        return -EIO;
}

/* --- writing --- */

/* A put whose condition is ignored looks like one whose condition held: another host's object would
 * be replaced, and nobody told. So a server that is not the vendor's is asked, where it may be
 * written to, by a put of a key of the mount's own whose If-Match never holds. One that honors
 * conditions makes nothing. Of another one the object is there now, and If-None-Match is tried on
 * it before it is deleted. */

/* op->stage. op->verify_err is what came of the first. */
enum {
        CHECK_WRITE,  /* completes an upload that nobody has begun */
        CHECK_MATCH,  /* a put with If-Match */
        CHECK_ABSENT, /* one with If-None-Match */
        CHECK_CLEAN   /* deletes what was put */
};

/* "You must be allowed to perform the s3:PutObject action on an object to complete a multipart
 * upload" (user guide, "Multipart upload API and permissions"). */
static int complete_none(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_POST, op->key);

        s3_query(&m, "uploadId", op->id);
        s3_header(&m, "Content-Type", "application/xml");
        m.xml = &op->text;
        return s3_send(k, op, &m);
}

int s3_check_write_build(struct store_kind *k, struct op *op)
{
        if (op->stage == CHECK_WRITE)
                return complete_none(k, op);
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);

        if (op->stage == CHECK_MATCH)
                s3_header(&m, "If-Match", S3_NO_VERSION);
        else if (op->stage == CHECK_ABSENT)
                s3_header(&m, "If-None-Match", "*");
        else
                m.method = HTTP_DELETE;
        return s3_send(k, op, &m);
}

static int go_on(struct op *op, int stage)
{
        op->stage = stage;
        return OP_AGAIN;
}

/* The reply to the first: nothing more is asked of the vendor, or where it is no use. */
static int checked(struct store_kind *k, struct op *op, int err)
{
        op->verify_err = err;
        bool knows = k->session || s3_minds(k, S3_PUT_IF) != S3_UNKNOWN;
        return err > 0 || err == -EACCES || knows ? err : go_on(op, CHECK_MATCH);
}

int s3_check_write_parse(struct store_kind *k, struct op *op)
{
        bool ok = s3_ok(op) && !s3_is_error_body(op);
        int err = ok ? 0 : s3_fault(k, op);

        switch (op->stage) {
        case CHECK_WRITE:
                return checked(k, op, err);
        case CHECK_MATCH:
                if (ok)
                        s3_learn(k, S3_PUT_IF, S3_UNTOLD);
                return ok ? go_on(op, CHECK_ABSENT) : op->verify_err;
        case CHECK_ABSENT:
                if (ok)
                        s3_learn(k, S3_PUT_ABSENT, S3_UNTOLD);
                return go_on(op, CHECK_CLEAN);
        default:
                return op->verify_err;
        }
}
