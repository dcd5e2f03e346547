/* SPDX-License-Identifier: Apache-2.0 */
/* s3_pages.c: replies that come in pages: unfinished uploads, and the parts of one. */
#include "store/s3_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/uri.h"
#include "base/banned.h"

enum { UPLOADS_MAX = 10000 };

struct reader {
        struct op *op;
        struct s3_field *f;
};

void s3_decode_page(struct op *op, const char *encoding)
{
        size_t to = op->page;
        for (size_t i = op->page; i < op->n; i++) {
                char *key = op->names.p + op->v[i].key;
                if (!strcmp(encoding, "url") && uri_decode(key, true) < 0)
                        continue;
                op->v[to++] = op->v[i];
        }
        op->n = op->page = to;
}

/* --- unfinished uploads -------------------------------------------------------------------------
 */

enum { U_KEY, U_ID, U_TIME, U_NEXT_KEY, U_NEXT_ID, U_TRUNCATED, U_ENCODING, U_FIELDS };

static int upload_entry(void *arg, const char *path)
{
        struct reader *r = arg;
        struct op_entry e = {.time_ns = s3_time_iso(r->f[U_TIME].text.p)};

        if (strcmp(path, "ListMultipartUploadsResult/Upload") || r->op->n >= UPLOADS_MAX)
                return 0;
        int err = op_add_entry(r->op, &e, r->f[U_KEY].text.p, NULL, r->f[U_ID].text.p);
        for (int i = U_KEY; i <= U_TIME; i++)
                buf_reset(&r->f[i].text);
        return err;
}

/* Where the next page begins: OP_AGAIN, or 0 after the last. */
static int uploads_next(struct op *op, struct s3_field *f)
{
        if (strcmp(f[U_TRUNCATED].text.p, "true") || op->n >= UPLOADS_MAX ||
            !f[U_NEXT_KEY].text.len)
                return 0;
        if (!strcmp(f[U_ENCODING].text.p, "url") && uri_decode(f[U_NEXT_KEY].text.p, true) < 0)
                return -EIO;
        free(op->marker);
        free(op->next);
        op->marker = strdup(f[U_NEXT_KEY].text.p);
        op->next = strdup(f[U_NEXT_ID].text.p);
        return op->marker && op->next ? OP_AGAIN : -ENOMEM;
}

int s3_read_uploads(struct op *op)
{
        struct s3_field f[U_FIELDS] = {
                [U_KEY] = {"ListMultipartUploadsResult/Upload/Key", BUF_INIT},
                [U_ID] = {"ListMultipartUploadsResult/Upload/UploadId", BUF_INIT},
                [U_TIME] = {"ListMultipartUploadsResult/Upload/Initiated", BUF_INIT},
                [U_NEXT_KEY] = {"ListMultipartUploadsResult/NextKeyMarker", BUF_INIT},
                [U_NEXT_ID] = {"ListMultipartUploadsResult/NextUploadIdMarker", BUF_INIT},
                [U_TRUNCATED] = {"ListMultipartUploadsResult/IsTruncated", BUF_INIT},
                [U_ENCODING] = {"ListMultipartUploadsResult/EncodingType", BUF_INIT},
        };
        struct reader r = {.op = op, .f = f};

        op->n = op->page;
        int err = s3_read(op, f, U_FIELDS, upload_entry, &r);
        if (!err) {
                s3_decode_page(op, f[U_ENCODING].text.p);
                err = uploads_next(op, f);
        }
        s3_fields_release(f, U_FIELDS);
        return err < 0 ? s3_unreadable(op, err) : err;
}

/* --- the parts the server holds --------------------------------------------------------------- */

enum { P_NUMBER, P_SIZE, P_ETAG, P_NEXT, P_TRUNCATED, P_FIELDS };

static int part_entry(void *arg, const char *path)
{
        struct reader *r = arg;
        struct op_entry e = {.partno = (unsigned)strtoul(r->f[P_NUMBER].text.p, NULL, 10),
                             .size = strtoull(r->f[P_SIZE].text.p, NULL, 10)};
        char etag[STORE_ETAG_MAX];

        if (strcmp(path, "ListPartsResult/Part"))
                return 0;
        if (r->op->n >= STORE_PART_MAX)
                return -EBADMSG;
        s3_etag(r->f[P_ETAG].text.p, etag);
        return op_add_entry(r->op, &e, NULL, etag, NULL);
}

/* Where the next page begins: OP_AGAIN, or 0 after the last. */
static int parts_next(struct op *op, struct s3_field *f)
{
        op->page = op->n;
        if (strcmp(f[P_TRUNCATED].text.p, "true") || !f[P_NEXT].text.len)
                return 0;
        free(op->marker);
        op->marker = strdup(f[P_NEXT].text.p);
        return op->marker ? OP_AGAIN : -ENOMEM;
}

int s3_read_parts(struct op *op)
{
        struct s3_field f[P_FIELDS] = {
                [P_NUMBER] = {"ListPartsResult/Part/PartNumber", BUF_INIT},
                [P_SIZE] = {"ListPartsResult/Part/Size", BUF_INIT},
                [P_ETAG] = {"ListPartsResult/Part/ETag", BUF_INIT},
                [P_NEXT] = {"ListPartsResult/NextPartNumberMarker", BUF_INIT},
                [P_TRUNCATED] = {"ListPartsResult/IsTruncated", BUF_INIT},
        };
        struct reader r = {.op = op, .f = f};

        op->n = op->page;
        int err = s3_read(op, f, P_FIELDS, part_entry, &r);
        if (!err)
                err = parts_next(op, f);
        s3_fields_release(f, P_FIELDS);
        return err < 0 ? s3_unreadable(op, err) : err;
}
