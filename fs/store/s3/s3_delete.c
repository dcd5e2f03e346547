/* SPDX-License-Identifier: Apache-2.0 */
/* s3_delete.c: deletes of one object, of any version or of one.
 *
 * The vendor's buckets delete one version by If-Match. Another server may refuse that, or ignore it
 * and delete whatever is there. Which it is shows once: an object that a head found to be the right
 * version is deleted on the condition that it is a version that never was. A server that minds
 * conditions refuses; another one has deleted what was to be deleted. From then on the first kind
 * is sent the condition, and for the second kind a head comes before each delete, also before one
 * that is sent again: another host may have written a version since. */
#include "store/s3/s3.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

/* op->stage of a delete of one version. */
enum {
        DELETE_BEGIN,
        DELETE_IF,    /* with the condition */
        DELETE_LOOK,  /* a head */
        DELETE_AGAIN, /* a head, when what the server may not have minded was sent */
        DELETE_PROBE, /* with a condition that never holds, of an object that is the right one */
        DELETE_PLAIN
};

int s3_delete_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_DELETE, op->key);

        if (op->if_match && op->stage == DELETE_BEGIN)
                op->stage = s3_minds(k, S3_DELETE_IF) == S3_HONORS ? DELETE_IF : DELETE_LOOK;
        if (op->maybe_done && (op->stage == DELETE_PROBE || op->stage == DELETE_PLAIN))
                op->stage = DELETE_AGAIN;
        if (op->stage == DELETE_LOOK || op->stage == DELETE_AGAIN)
                return s3_head_build(k, op);
        op->rq.once = op->stage == DELETE_PROBE || op->stage == DELETE_PLAIN;
        if (op->stage == DELETE_IF || op->stage == DELETE_PROBE)
                s3_header(&m, "If-Match", op->stage == DELETE_IF ? op->if_match : S3_NO_VERSION);
        return s3_send(k, op, &m);
}

int s3_gone(struct store_kind *k, struct op *op)
{
        if (s3_ok(op))
                return 0;
        int err = s3_fault(k, op);
        return err == -ENOENT && strcmp(op->fault.code, "NoSuchBucket") ? 0 : err;
}

static int go_on(struct op *op, int stage)
{
        op->stage = stage;
        op->maybe_done = false; /* nothing was deleted so far */
        return OP_AGAIN;
}

static int looked(struct store_kind *k, struct op *op)
{
        struct store_object found;

        int err = s3_head_reply(k, op, &found);
        if (err == -ENOENT && op->stage == DELETE_AGAIN)
                return 0;
        if (err)
                return err;
        if (strcmp(found.etag, op->if_match))
                return -ESTALE;
        return go_on(op, s3_minds(k, S3_DELETE_IF) == S3_IGNORES ? DELETE_PLAIN : DELETE_PROBE);
}

static int probed(struct store_kind *k, struct op *op, int err)
{
        if (s3_ok(op))
                s3_learn(k, S3_DELETE_IF, S3_IGNORES);
        if (err == -EOPNOTSUPP) {
                s3_learn(k, S3_DELETE_IF, S3_IGNORES);
                return go_on(op, DELETE_PLAIN);
        }
        if (err == -ESTALE) {
                s3_learn(k, S3_DELETE_IF, S3_HONORS);
                return go_on(op, DELETE_IF);
        }
        return err;
}

int s3_delete_parse(struct store_kind *k, struct op *op)
{
        if (!op->if_match)
                return s3_gone(k, op);
        if (op->stage == DELETE_LOOK || op->stage == DELETE_AGAIN)
                return looked(k, op);
        int err = s3_ok(op) ? 0 : s3_fault(k, op);
        /* An earlier try deleted it and its reply was lost. */
        if (err == -ENOENT && op->maybe_done && strcmp(op->fault.code, "NoSuchBucket"))
                err = 0;
        if (op->stage == DELETE_PROBE)
                return probed(k, op, err);
        if (op->stage == DELETE_IF && err == -EOPNOTSUPP && k->endpoint) {
                s3_learn(k, S3_DELETE_IF, S3_IGNORES);
                return go_on(op, DELETE_LOOK);
        }
        return err;
}
