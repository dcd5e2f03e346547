/* SPDX-License-Identifier: Apache-2.0 */
/* s3_list.c: requests on the bucket: listings, the check, deleting many. */
#include "store/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xml.h"
#include "base/banned.h"

/* --- objects ------------------------------------------------------------------------------------
 */

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
        return s3_ok(op) && !s3_is_error_body(op) ? 0 : s3_fault(k, op);
}

int s3_list_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, NULL);
        char max[16];

        snprintf(max, sizeof max, "%u", op->max);
        s3_query(&m, "list-type", "2");
        s3_query(&m, "encoding-type", "url"); /* XML cannot hold every byte of a key */
        s3_query(&m, "max-keys", max);
        s3_query(&m, "prefix", op->prefix);
        if (op->delim)
                s3_query(&m, "delimiter", op->delim);
        if (op->continuation)
                s3_query(&m, "continuation-token", op->continuation);
        else if (op->start_after)
                s3_query(&m, "start-after", op->start_after);
        return s3_send(k, op, &m);
}

enum { L_KEY, L_SIZE, L_TIME, L_ETAG, L_PREFIX, L_NEXT, L_TRUNCATED, L_ENCODING, L_FIELDS };

struct list_reader {
        struct op *op;
        struct s3_field *f;
};

static int list_entry(void *arg, const char *path)
{
        struct list_reader *r = arg;
        struct s3_field *f = r->f;
        struct op_entry e = {.is_prefix = false};
        int err = 0;

        if (!strcmp(path, "ListBucketResult/Contents")) {
                e.size = strtoull(f[L_SIZE].text.p, NULL, 10);
                e.time_ns = s3_time_iso(f[L_TIME].text.p);
                char etag[STORE_ETAG_MAX];
                s3_etag(f[L_ETAG].text.p, etag);
                err = op_add_entry(r->op, &e, f[L_KEY].text.p, etag, NULL);
                for (int i = L_KEY; i <= L_ETAG; i++)
                        buf_reset(&f[i].text);
        } else if (!strcmp(path, "ListBucketResult/CommonPrefixes")) {
                e.is_prefix = true;
                err = op_add_entry(r->op, &e, f[L_PREFIX].text.p, NULL, NULL);
                buf_reset(&f[L_PREFIX].text);
        }
        return err;
}

int s3_list_parse(struct store_kind *k, struct op *op)
{
        struct s3_field f[L_FIELDS] = {
                [L_KEY] = {"ListBucketResult/Contents/Key", BUF_INIT},
                [L_SIZE] = {"ListBucketResult/Contents/Size", BUF_INIT},
                [L_TIME] = {"ListBucketResult/Contents/LastModified", BUF_INIT},
                [L_ETAG] = {"ListBucketResult/Contents/ETag", BUF_INIT},
                [L_PREFIX] = {"ListBucketResult/CommonPrefixes/Prefix", BUF_INIT},
                [L_NEXT] = {"ListBucketResult/NextContinuationToken", BUF_INIT},
                [L_TRUNCATED] = {"ListBucketResult/IsTruncated", BUF_INIT},
                [L_ENCODING] = {"ListBucketResult/EncodingType", BUF_INIT},
        };
        struct list_reader r = {.op = op, .f = f};

        if (!s3_ok(op) || s3_is_error_body(op))
                return s3_fault(k, op);
        op->n = op->page = 0; /* a retry after a body that could not be read */
        buf_reset(&op->names);
        int err = s3_read(op, f, L_FIELDS, list_entry, &r);
        if (!err) {
                s3_decode_page(op, f[L_ENCODING].text.p);
                if (!strcmp(f[L_TRUNCATED].text.p, "true") && f[L_NEXT].text.len &&
                    !(op->next = strdup(f[L_NEXT].text.p)))
                        err = -ENOMEM;
        }
        s3_fields_release(f, L_FIELDS);
        return err ? s3_unreadable(op, err) : 0;
}

/* --- unfinished uploads -------------------------------------------------------------------------
 */

int s3_uploads_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, NULL);
        s3_query(&m, "uploads", "");
        s3_query(&m, "encoding-type", "url");
        s3_query(&m, "max-uploads", "1000");
        s3_query(&m, "prefix", op->prefix);
        if (op->marker) {
                s3_query(&m, "key-marker", op->marker);
                s3_query(&m, "upload-id-marker", op->next);
        }
        return s3_send(k, op, &m);
}

int s3_uploads_parse(struct store_kind *k, struct op *op)
{
        return s3_ok(op) && !s3_is_error_body(op) ? s3_read_uploads(op) : s3_fault(k, op);
}

/* --- deleting many ------------------------------------------------------------------------------
 */

int s3_delete_many_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_POST, NULL);

        buf_reset(&op->text);
        buf_adds(&op->text, "<Delete><Quiet>true</Quiet>");
        for (size_t i = 0; i < op->nkeys; i++) {
                buf_adds(&op->text, "<Object><Key>");
                xml_escape(&op->text, op->keys[i]);
                buf_adds(&op->text, "</Key></Object>");
        }
        if (buf_adds(&op->text, "</Delete>"))
                return -ENOMEM;
        s3_query(&m, "delete", "");
        s3_header(&m, "Content-Type", "application/xml");
        m.xml = &op->text;
        m.md5 = true;
        return s3_send(k, op, &m);
}

enum { D_KEY, D_CODE, D_MESSAGE, D_FIELDS };

struct delete_reader {
        struct op *op;
        struct s3_field *f;
        int answer;
};

/* One key that was not deleted: it stands for all, and a code that passes is worth a try. */
static int delete_error(void *arg, const char *path)
{
        struct delete_reader *r = arg;
        struct op_fault *fault = &r->op->fault;
        const char *code = r->f[D_CODE].text.p;

        if (strcmp(path, "DeleteResult/Error") || !strcmp(code, "NoSuchKey"))
                return 0;
        if (r->answer < 0)
                return 0;
        fault->status = r->op->rq.status;
        snprintf(fault->code, sizeof fault->code, "%s", code);
        snprintf(fault->message, sizeof fault->message, "%s: %s", r->f[D_KEY].text.p,
                 r->f[D_MESSAGE].text.p);
        r->answer = s3_code(code, -EIO);
        return 0;
}

int s3_delete_many_parse(struct store_kind *k, struct op *op)
{
        struct s3_field f[D_FIELDS] = {
                [D_KEY] = {"DeleteResult/Error/Key", BUF_INIT},
                [D_CODE] = {"DeleteResult/Error/Code", BUF_INIT},
                [D_MESSAGE] = {"DeleteResult/Error/Message", BUF_INIT},
        };
        struct delete_reader r = {.op = op, .f = f};

        if (!s3_ok(op) || s3_is_error_body(op))
                return s3_fault(k, op);
        int err = s3_read(op, f, D_FIELDS, delete_error, &r);
        s3_fields_release(f, D_FIELDS);
        return err ? s3_unreadable(op, err) : r.answer;
}
