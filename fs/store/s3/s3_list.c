/* SPDX-License-Identifier: Apache-2.0 */
/* s3_list.c: requests on the bucket: listings, deleting many. */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

/* --- objects --- */

int s3_list_build(struct store_kind *k, struct op *op)
{
        if (!s3_lists_page(op))
                return s3_list_express_build(k, op);
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, NULL);
        char max[16];

        snprintf(max, sizeof max, "%u", op->max);
        s3_query(&m, "list-type", "2");
        s3_query(&m, "encoding-type", "url"); /* XML cannot hold every byte of a key */
        s3_query(&m, "max-keys", max);
        s3_query(&m, "prefix", op->prefix);
        if (op->delim)
                s3_query(&m, "delimiter", op->delim);
        if (op->page_token)
                s3_query(&m, "continuation-token", op->page_token);
        else if (op->start_after)
                s3_query(&m, "start-after", op->start_after);
        return s3_send(k, op, &m);
}

int s3_list_parse(struct store_kind *k, struct op *op)
{
        if (!s3_lists_page(op))
                return s3_list_express_parse(k, op);
        if (!s3_ok(op) || s3_is_error_body(op))
                return s3_fault(k, op);
        int err = s3_read_list(op, "ListBucketResult/Contents/ETag");
        return err || !k->session || !op->delim ? err : s3_list_express_page(op);
}

/* --- unfinished uploads --- */

void s3_uploads_query(struct s3_msg *m, const struct op *op)
{
        s3_query(m, "uploads", "");
        if (!op->plain)
                s3_query(m, "encoding-type", "url");
        s3_query(m, "prefix", op->prefix);
        if (op->marker)
                s3_query(m, "key-marker", op->marker);
}

int s3_uploads_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, NULL);

        s3_uploads_query(&m, op);
        if (op->marker && *op->next) /* directory buckets have none */
                s3_query(&m, "upload-id-marker", op->next);
        return s3_send(k, op, &m);
}

int s3_uploads_parse(struct store_kind *k, struct op *op)
{
        return s3_ok(op) && !s3_is_error_body(op) ? s3_read_uploads(op) : s3_fault(k, op);
}

/* --- deleting many --- */

/* op->stage; op->at is the next of the keys that XML cannot hold. */
enum {
        MANY_BEGIN,
        MANY_TOGETHER, /* with their ETags, if the server is not known to ignore these */
        MANY_AGAIN,    /* the same after a 500 */
        MANY_ANY,      /* without them, after two */
        MANY_ALONE
};

static int delete_together(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_POST, NULL);
        bool compares = op->stage != MANY_ANY && s3_minds(k, S3_DELETE_MANY_IF) != S3_IGNORES;

        if (s3_write_delete(op, op->at, compares ? "ETag" : NULL))
                return -ENOMEM;
        s3_query(&m, "delete", "");
        s3_header(&m, "Content-Type", "application/xml");
        m.xml = &op->text;
        m.md5 = true;
        return s3_send(k, op, &m);
}

static int delete_alone(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_DELETE, op->keys[op->at]);
        const char *version = op->versions ? op->versions[op->at] : NULL;

        if (version && s3_minds(k, S3_DELETE_MANY_IF) != S3_IGNORES)
                s3_header(&m, "If-Match", version);
        return s3_send(k, op, &m);
}

int s3_delete_many_build(struct store_kind *k, struct op *op)
{
        if (op->stage == MANY_BEGIN) {
                op->at = s3_sort_keys(op);
                op->stage = op->at ? MANY_TOGETHER : MANY_ALONE;
        }
        return op->stage == MANY_ALONE ? delete_alone(k, op) : delete_together(k, op);
}

static int meaning(const char *code)
{
        return s3_code(code, -EIO);
}

static int answered(struct store_kind *k, struct op *op)
{
        if (op->stage == MANY_ALONE) {
                int err = s3_gone(k, op);
                return op->versions && err == -ESTALE ? 0 : err;
        }
        return s3_ok(op) && !s3_is_error_body(op) ? s3_read_deleted(op, meaning) : s3_fault(k, op);
}

/* S3Proxy (3.0) replies 500 to a batch with ETags. */
static void give_up_versions(struct store_kind *k, struct op *op, int err)
{
        if (!err && op->stage == MANY_ANY)
                s3_learn(k, S3_DELETE_MANY_IF, S3_IGNORES);
        if (op->rq.status == 500 && (op->stage == MANY_TOGETHER || op->stage == MANY_AGAIN))
                op->stage++;
}

int s3_delete_many_parse(struct store_kind *k, struct op *op)
{
        int err = answered(k, op);
        bool knows = s3_minds(k, S3_DELETE_MANY_IF) != S3_UNKNOWN;
        bool refused = !s3_ok(op) && (err == -EOPNOTSUPP || (err == -EIO && op->rq.status == 400));

        if (op->versions && !knows && refused) {
                s3_learn(k, S3_DELETE_MANY_IF, S3_IGNORES);
                return OP_AGAIN; /* a server that takes no ETag there */
        }
        if (op->versions && !knows)
                give_up_versions(k, op, err);
        if (err)
                return err;
        op->at += op->stage == MANY_ALONE;
        op->stage = MANY_ALONE;
        retry_progress(&op->retry);
        return op->at < op->nkeys ? OP_AGAIN : 0;
}
