/* SPDX-License-Identifier: Apache-2.0 */
/* s3_list_express.c: prefixes that a directory bucket lists though there is nothing.
 *
 * "When you query ListObjectsV2 with a delimiter during in-progress multipart uploads, the
 * CommonPrefixes response parameter contains the prefixes that are associated with the in-progress
 * multipart uploads", in directory buckets (API reference, ListObjectsV2). Nothing of an upload is
 * to show before it is complete. So a page with prefixes is followed by a list of the uploads, and
 * each prefix that has one by a list of its objects; it is left out where there is none. Who may
 * not list uploads is told of all prefixes. */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/uri.h"
#include "base/banned.h"

/* op->stage. */
enum { LIST_PAGE, LIST_UPLOADS, LIST_PROBE };

bool s3_lists_page(const struct op *op)
{
        return op->stage == LIST_PAGE;
}

static struct op_entry *next_unsure(const struct op *op)
{
        for (size_t i = op->told; i < op->n; i++)
                if (op->v[i].unsure)
                        return &op->v[i];
        return NULL;
}

int s3_list_express_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, NULL);
        const struct op_entry *e = next_unsure(op);

        if (op->stage == LIST_UPLOADS) {
                s3_uploads_query(&m, op);
        } else if (e) {
                s3_query(&m, "list-type", "2");
                s3_query(&m, "max-keys", "1");
                s3_query(&m, "prefix", op_string(op, e->key));
        }
        return s3_send(k, op, &m);
}

int s3_list_express_page(struct op *op)
{
        for (size_t i = op->told; i < op->n; i++)
                if (op->v[i].is_prefix)
                        op->stage = LIST_UPLOADS;
        return op->stage == LIST_UPLOADS ? OP_AGAIN : 0;
}

enum { U_KEY, U_NEXT, U_TRUNCATED, U_ENCODING, U_FIELDS };

struct uploads {
        struct op *op;
        struct s3_field *f;
};

/* Keys are gathered in op->text; how they are coded may be said behind them. */
static int upload_end(void *arg, const char *path)
{
        struct uploads *u = arg;
        struct buf *key = &u->f[U_KEY].text;

        if (strcmp(path, "ListMultipartUploadsResult/Upload"))
                return 0;
        int err = buf_add(&u->op->text, key->p, key->len + 1);
        buf_reset(key);
        return err;
}

static void suspect(struct op *op, const char *key)
{
        for (size_t i = op->told; i < op->n; i++) {
                const char *prefix = op_string(op, op->v[i].key);
                if (op->v[i].is_prefix && !strncmp(key, prefix, strlen(prefix)))
                        op->v[i].unsure = true;
        }
}

static int read_uploads(struct op *op)
{
        struct s3_field f[U_FIELDS] = {
                [U_KEY] = {"ListMultipartUploadsResult/Upload/Key", BUF_INIT},
                [U_NEXT] = {"ListMultipartUploadsResult/NextKeyMarker", BUF_INIT},
                [U_TRUNCATED] = {"ListMultipartUploadsResult/IsTruncated", BUF_INIT},
                [U_ENCODING] = {"ListMultipartUploadsResult/EncodingType", BUF_INIT},
        };
        struct uploads u = {.op = op, .f = f};

        buf_reset(&op->text);
        int err = s3_read(op, f, U_FIELDS, upload_end, &u);
        bool coded = !strcmp(f[U_ENCODING].text.p, "url"), more = false;
        size_t n;
        for (size_t at = 0; !err && at < op->text.len; at += n) {
                char *key = op->text.p + at;
                n = strlen(key) + 1;
                if (!coded || !uri_is_encoded(key) || uri_decode(key, true) >= 0)
                        suspect(op, key);
        }
        if (!err && !strcmp(f[U_TRUNCATED].text.p, "true") && f[U_NEXT].text.len) {
                char *next = f[U_NEXT].text.p;
                if (coded && uri_is_encoded(next))
                        (void)uri_decode(next, true);
                more = !op->marker || strcmp(op->marker, next) != 0;
                free(op->marker);
                err = (op->marker = strdup(next)) ? 0 : -ENOMEM;
        }
        s3_fields_release(f, U_FIELDS);
        return err ? s3_unreadable(op, err) : more ? OP_AGAIN : 0;
}

/* A page without objects may have others behind it. */
static int read_probe(struct op *op)
{
        struct s3_field f[] = {{"ListBucketResult/Contents/Key", BUF_INIT},
                               {"ListBucketResult/IsTruncated", BUF_INIT}};
        struct op_entry *e = next_unsure(op);
        int err = s3_read(op, f, 2, NULL, NULL);
        bool empty = !f[0].text.len && strcmp(f[1].text.p, "true") != 0;

        s3_fields_release(f, 2);
        if (err || !e)
                return err ? s3_unreadable(op, err) : 0;
        e->unsure = false;
        if (empty) {
                op->n--;
                memmove(e, e + 1, (op->n - (size_t)(e - op->v)) * sizeof *e);
        }
        return 0;
}

/* Whoever may not list uploads, or has a store that cannot, is told of all prefixes. */
static bool is_refused(const struct op *op, int err)
{
        return op->stage == LIST_UPLOADS && (err == -EACCES || err == -EOPNOTSUPP);
}

int s3_list_express_parse(struct store_kind *k, struct op *op)
{
        int err = 0;

        if (!s3_ok(op) || s3_is_error_body(op))
                err = s3_fault(k, op);
        else if (op->stage == LIST_UPLOADS)
                err = read_uploads(op);
        else
                err = read_probe(op);
        if (err && !is_refused(op, err))
                return err;
        if (!err && next_unsure(op)) {
                op->stage = LIST_PROBE;
                return OP_AGAIN;
        }
        free(TAKE_PTR(op->marker));
        op->stage = LIST_PAGE;
        return 0;
}
