/* SPDX-License-Identifier: Apache-2.0 */
/* s3_pages.c: replies that tell of many: listings, unfinished uploads, the parts of one, and what
 * was deleted. */
#include "store/core/xml_reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/digits.h"
#include "base/text/uri.h"
#include "base/text/utf8.h"
#include "base/text/xml.h"
#include "base/banned.h"

struct reader {
        struct op *op;
        struct s3_field *f;
};

/* Decodes the keys of the entries from op->page on, if the server says that they are encoded. A
 * key that cannot be decoded stays as it is. */
static void s3_decode_page(struct op *op, const char *encoding)
{
        for (; op->page < op->n; op->page++) {
                char *key = op->names.p + op->v[op->page].key;
                /* What cannot be decoded is kept as it is: a directory with it is not empty. */
                if (!strcmp(encoding, "url") && uri_is_encoded(key))
                        (void)uri_decode(key, true);
        }
}

/* --- objects --- */

enum { L_KEY, L_SIZE, L_TIME, L_VERSION, L_PREFIX, L_NEXT, L_TRUNCATED, L_ENCODING, L_FIELDS };

/* More is announced, and not where. */
static int no_token(struct op *op)
{
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message,
                 "a listing that goes on, but does not say where");
        return -EIO;
}

static bool is_entry(const struct op *op, size_t from, const char *name)
{
        for (size_t i = from; i < op->n; i++)
                if (!strcmp(op->names.p + op->v[i].key, name))
                        return true;
        return false;
}

/* What the next page is asked for with, whose text is the server's own business. S3Proxy (3.0)
 * tells the last name of the page, encodes it with the others, and takes it for a name when it
 * comes back: then the listing would begin anew, or end. */
static char *read_token(const struct op *op, size_t from, const char *encoding, const char *text)
{
        CLEANUP(freep) char *name = strdup(text);

        if (name && !strcmp(encoding, "url") && !is_entry(op, from, text) && uri_is_encoded(name) &&
            uri_decode(name, true) >= 0 && is_entry(op, from, name))
                return TAKE_PTR(name);
        return strdup(text);
}

/* Quotes are an ETag's. */
static void list_version(const struct s3_field *f, char out[STORE_ETAG_MAX])
{
        const char *name = strrchr(f->path, '/');

        if (!strcmp(name, "/ETag"))
                s3_etag(f->text.p, out);
        else
                snprintf(out, STORE_ETAG_MAX, "%s", f->text.p);
}

static int list_entry(void *arg, const char *path)
{
        struct reader *r = arg;
        struct s3_field *f = r->f;
        struct op_entry e = {.is_prefix = false};
        int err = 0;

        if (!strcmp(path, "ListBucketResult/Contents")) {
                e.size = f[L_SIZE].text.len ? digits_size(f[L_SIZE].text.p) : 0;
                e.time_ns = s3_time_iso(f[L_TIME].text.p);
                char version[STORE_ETAG_MAX];
                list_version(&f[L_VERSION], version);
                err = op_add_entry(r->op, &e, f[L_KEY].text.p, version, NULL);
                for (int i = L_KEY; i <= L_VERSION; i++)
                        buf_reset(&f[i].text);
        } else if (!strcmp(path, "ListBucketResult/CommonPrefixes")) {
                e.is_prefix = true;
                err = op_add_entry(r->op, &e, f[L_PREFIX].text.p, NULL, NULL);
                buf_reset(&f[L_PREFIX].text);
        }
        return err;
}

int s3_read_list(struct op *op, const char *version)
{
        struct s3_field f[L_FIELDS] = {
                [L_KEY] = {"ListBucketResult/Contents/Key", BUF_INIT},
                [L_SIZE] = {"ListBucketResult/Contents/Size", BUF_INIT},
                [L_TIME] = {"ListBucketResult/Contents/LastModified", BUF_INIT},
                [L_VERSION] = {version, BUF_INIT},
                [L_PREFIX] = {"ListBucketResult/CommonPrefixes/Prefix", BUF_INIT},
                [L_NEXT] = {"ListBucketResult/NextContinuationToken", BUF_INIT},
                [L_TRUNCATED] = {"ListBucketResult/IsTruncated", BUF_INIT},
                [L_ENCODING] = {"ListBucketResult/EncodingType", BUF_INIT},
        };
        struct reader r = {.op = op, .f = f};

        op_begin_page(op);
        size_t from = op->page;
        int err = s3_read(op, f, L_FIELDS, list_entry, &r);
        if (!err) {
                s3_decode_page(op, f[L_ENCODING].text.p);
                bool more = !strcmp(f[L_TRUNCATED].text.p, "true");
                if (more && !f[L_NEXT].text.len)
                        err = no_token(op);
                else if (more &&
                         !(op->next = read_token(op, from, f[L_ENCODING].text.p, f[L_NEXT].text.p)))
                        err = -ENOMEM;
        }
        s3_fields_release(f, L_FIELDS);
        return err ? s3_unreadable(op, err) : 0;
}

/* --- unfinished uploads --- */

enum { U_KEY, U_ID, U_TIME, U_NEXT_KEY, U_NEXT_ID, U_TRUNCATED, U_ENCODING, U_FIELDS };

static int upload_entry(void *arg, const char *path)
{
        struct reader *r = arg;
        struct op_entry e = {.time_ns = s3_time_iso(r->f[U_TIME].text.p)};

        if (strcmp(path, "ListMultipartUploadsResult/Upload") || r->op->n >= STORE_UPLOADS_MAX)
                return 0;
        int err = op_add_entry(r->op, &e, r->f[U_KEY].text.p, NULL, r->f[U_ID].text.p);
        for (int i = U_KEY; i <= U_TIME; i++)
                buf_reset(&r->f[i].text);
        return err;
}

/* Whether a '%' may be a key's own: encoded keys were asked for, and nothing says that they are.
 * Those of Ceph's gateway (16.2) are. */
static bool is_unclear(const struct op *op, const char *encoding)
{
        for (size_t i = op->page; i < op->n && !*encoding && !op->plain; i++)
                if (strchr(op->names.p + op->v[i].key, '%'))
                        return true;
        return false;
}

/* The page is asked for again, with keys as they are. */
static int ask_plain(struct op *op)
{
        op->n = op->page;
        op->plain = true;
        return OP_AGAIN;
}

/* Where the next page begins: OP_AGAIN, or 0 after the last. */
static int uploads_next(struct op *op, struct s3_field *f)
{
        if (strcmp(f[U_TRUNCATED].text.p, "true") || op->n >= STORE_UPLOADS_MAX)
                return 0;
        if (!f[U_NEXT_KEY].text.len)
                return no_token(op);
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
        if (!err && is_unclear(op, f[U_ENCODING].text.p)) {
                err = ask_plain(op);
        } else if (!err) {
                s3_decode_page(op, f[U_ENCODING].text.p);
                err = uploads_next(op, f);
        }
        s3_fields_release(f, U_FIELDS);
        return err < 0 ? s3_unreadable(op, err) : err;
}

/* --- the parts the server holds --- */

enum { P_NUMBER, P_SIZE, P_ETAG, P_NEXT, P_TRUNCATED, P_FIELDS };

static int part_entry(void *arg, const char *path)
{
        struct reader *r = arg;
        struct op_entry e = {.is_prefix = false};
        char etag[STORE_ETAG_MAX];
        uint64_t number;

        if (strcmp(path, "ListPartsResult/Part"))
                return 0;
        if (digits_parse(r->f[P_NUMBER].text.p, &number) || number < 1 || number > STORE_PART_MAX ||
            digits_parse(r->f[P_SIZE].text.p, &e.size))
                return -EBADMSG;
        e.partno = (unsigned)number;
        if (r->op->n >= STORE_PART_MAX)
                return -EBADMSG;
        s3_etag(r->f[P_ETAG].text.p, etag);
        return op_add_entry(r->op, &e, NULL, etag, NULL);
}

/* Where the next page begins: OP_AGAIN, or 0 after the last. */
static int parts_next(struct op *op, struct s3_field *f)
{
        op->page = op->n;
        if (strcmp(f[P_TRUNCATED].text.p, "true"))
                return 0;
        if (!f[P_NEXT].text.len)
                return no_token(op);
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

/* --- deleting many --- */

static void swap(char **v, size_t i, size_t k)
{
        char *was = v[i];
        v[i] = v[k];
        v[k] = was;
}

/* "Object keys in DeleteObjects requests cannot contain Unicode control characters, except for
 * newline (\n), tab (\t), and carriage return (\r)", nor be "made up of only whitespace" (user
 * guide, "Differences for directory buckets"). */
static bool can_be_listed(const char *key)
{
        static const char blank[] = " \t\r\n";

        for (const char *p = key; *p; p++)
                if (utf8_control(p) && !strchr(blank, *p))
                        return false;
        return xml_fits(key) && key[strspn(key, blank)];
}

size_t s3_sort_keys(struct op *op)
{
        size_t n = 0;

        for (size_t i = 0; i < op->nkeys; i++) {
                if (!can_be_listed(op->keys[i]))
                        continue;
                swap(op->keys, n, i);
                if (op->versions)
                        swap(op->versions, n, i);
                n++;
        }
        return n;
}

int s3_write_delete(struct op *op, size_t n, const char *version)
{
        buf_reset(&op->text);
        buf_adds(&op->text, "<Delete><Quiet>true</Quiet>");
        for (size_t i = 0; i < n; i++) {
                buf_adds(&op->text, "<Object><Key>");
                xml_escape(&op->text, op->keys[i]);
                buf_adds(&op->text, "</Key>");
                if (version && op->versions && op->versions[i]) {
                        buf_addf(&op->text, "<%s>", version);
                        xml_escape(&op->text, op->versions[i]);
                        buf_addf(&op->text, "</%s>", version);
                }
                buf_adds(&op->text, "</Object>");
        }
        return buf_adds(&op->text, "</Delete>");
}

enum { D_KEY, D_CODE, D_MESSAGE, D_FIELDS };

struct delete_reader {
        struct op *op;
        struct s3_field *f;
        int (*meaning)(const char *code);
        int answer;
};

/* One key that was not deleted: it stands for all, and a code that passes is worth a try. */
static int delete_error(void *arg, const char *path)
{
        struct delete_reader *r = arg;
        struct op_fault *fault = &r->op->fault;
        const char *code = r->f[D_CODE].text.p;

        if (strcmp(path, "DeleteResult/Error") || !strcmp(code, "NoSuchKey") || r->answer < 0)
                return 0;
        bool other = !strcmp(code, "PreconditionFailed") || !strcmp(code, "NoSuchVersion");
        if (r->op->versions && other)
                return 0;
        fault->status = r->op->rq.status;
        snprintf(fault->code, sizeof fault->code, "%s", code);
        snprintf(fault->message, sizeof fault->message, "%s: %s", r->f[D_KEY].text.p,
                 r->f[D_MESSAGE].text.p);
        r->answer = r->meaning(code);
        return 0;
}

int s3_read_deleted(struct op *op, int (*meaning)(const char *code))
{
        struct s3_field f[D_FIELDS] = {
                [D_KEY] = {"DeleteResult/Error/Key", BUF_INIT},
                [D_CODE] = {"DeleteResult/Error/Code", BUF_INIT},
                [D_MESSAGE] = {"DeleteResult/Error/Message", BUF_INIT},
        };
        struct delete_reader r = {.op = op, .f = f, .meaning = meaning};

        int err = s3_read(op, f, D_FIELDS, delete_error, &r);
        s3_fields_release(f, D_FIELDS);
        return err ? s3_unreadable(op, err) : r.answer;
}
