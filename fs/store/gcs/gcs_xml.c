/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_xml.c: the requests of the other files in the XML API, which is all that HMAC keys sign for:
 * S3's in shape, with Google's headers and generations. It has no moveTo, no metadata alone, no
 * metadata in listings and no folders. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/sign/sign_v4.h"
#include "base/text/digits.h"
#include "base/text/xml.h"
#include "base/banned.h"

int gcs_xml_path(struct gcs_msg *m, const struct store_kind *k, const char *key)
{
        m->xml = true;
        buf_addc(&m->path, '/');
        uri_encode(&m->path, k->bucket, false);
        if (!key)
                return m->path.failed ? -ENOMEM : 0;
        buf_addc(&m->path, '/');
        return uri_encode(&m->path, key, true);
}

int gcs_xml_sign(const struct store_kind *k, struct op *op, struct gcs_msg *m,
                 const struct cred *cred)
{
        static const char *const methods[] = {
                [HTTP_GET] = "GET",   [HTTP_HEAD] = "HEAD",   [HTTP_PUT] = "PUT",
                [HTTP_POST] = "POST", [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        };
        CLEANUP(buf_release) struct buf auth = BUF_INIT;
        const struct sign_key key = {.access = cred->access,
                                     .secret = cred->secret,
                                     .region = "auto",
                                     .service = "storage"};
        char date[SIGN_DATE_LEN];
        size_t given = m->nheader;

        gcs_header(m, "Host", strstr(k->endpoint, "://") + 3);
        gcs_header(m, "x-goog-content-sha256", SIGN_UNSIGNED_PAYLOAD);
        if (m->nheader > sizeof m->header / sizeof *m->header)
                return -EINVAL;
        const struct sign_request req = {.method = methods[m->method],
                                         .path = m->path.p,
                                         .query = m->query,
                                         .nquery = m->nquery,
                                         .headers = m->header,
                                         .nheaders = m->nheader,
                                         .payload_hash = SIGN_UNSIGNED_PAYLOAD,
                                         .scheme = &sign_goog4};
        time_t now = time(NULL) + __atomic_load_n(&k->skew_s, __ATOMIC_RELAXED);
        int err = sign_v4(&req, &key, now, date, &auth);
        for (size_t i = given; !err && i < m->nheader; i++)
                err = http_header(&op->rq, m->header[i].name, m->header[i].value);
        if (!err)
                err = http_header(&op->rq, "x-goog-date", date);
        return err ? err : http_header(&op->rq, "Authorization", auth.p);
}

bool gcs_is_header_text(const char *value)
{
        size_t n = strlen(value);

        for (const char *p = value; *p; p++)
                if (*p < ' ' || *p > '~')
                        return false;
        return !n || (*value != ' ' && value[n - 1] != ' ');
}

bool gcs_meta_fits_headers(const struct store_meta *meta)
{
        const char *value;
        size_t n = 0;

        for (const char *name = NULL; (name = store_meta_next(meta, name, &value));)
                if (++n > OP_META_HEADERS_MAX || !gcs_is_header_text(value) ||
                    (*name != ':' && name[strspn(name, META_TOKEN)]))
                        return false;
        return true;
}

int gcs_xml_meta(struct gcs_msg *m, const struct store_meta *meta, struct buf *names)
{
        const char *value, *name = NULL;

        if (meta && !gcs_meta_fits_headers(meta))
                return -EINVAL;
        if (buf_grow(names, STORE_META_MAX * sizeof "x-goog-meta-"))
                return -ENOMEM;
        while (meta && (name = store_meta_next(meta, name, &value))) {
                size_t at = names->len;
                if (!strncmp(name, ":x-amz-", 7))
                        continue;   /* S3's are not Google's */
                if (*name == ':') { /* a header of the object itself */
                        gcs_header(m, name + 1, value);
                        if (!strcmp(name, ":content-type"))
                                m->type = NULL;
                        continue;
                }
                buf_adds(names, "x-goog-meta-");
                buf_add(names, name, strlen(name) + 1);
                gcs_header(m, names->p + at, value);
        }
        return 0;
}

void gcs_xml_hash(struct gcs_msg *m, uint32_t crc32c, char text[GCS_HASH_LEN])
{
        char crc[9];

        crc32c_base64(crc32c, crc);
        snprintf(text, GCS_HASH_LEN, "crc32c=%s", crc);
        gcs_header(m, "x-goog-hash", text);
}

/* --- one object --- */

int gcs_xml_head(struct store_kind *k, struct op *op, const char *key)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_HEAD);
        gcs_csek(&m, k);
        gcs_header(&m, "Accept-Encoding", "gzip"); /* the length of what is stored */
        return gcs_xml_path(&m, k, key) ? -ENOMEM : gcs_send(k, op, &m);
}

int gcs_xml_resource(struct op *op)
{
        const char *stored = http_reply_header(&op->rq, "x-goog-stored-content-length");

        gcs_object(NULL, &op->rq, &op->obj);
        if (stored)
                op->obj.size = digits_size(stored);
        const char *name, *value;
        for (size_t at = 0;
             op->rq.method == HTTP_HEAD && http_reply_next(&op->rq, &at, &name, &value);)
                if (strcmp(name, "expires")) /* of the reply: objects have none there */
                        s3_keep_header(&op->obj.meta, name, value);
        if (op->rq.method == HTTP_HEAD && !stored && !http_reply_header(&op->rq, "content-length"))
                return op_no_length(op);
        if (*op->obj.etag)
                return 0;
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message, "a reply without a generation");
        return OP_RETRY;
}

int gcs_xml_put(struct store_kind *k, struct op *op, const char *key)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_PUT);
        CLEANUP(buf_release) struct buf names = BUF_INIT;
        char hash[GCS_HASH_LEN];

        m.type = GCS_TYPE;
        int err = gcs_xml_path(&m, k, key);
        if (!err)
                err = gcs_xml_meta(&m, op->meta, &names);
        if (err)
                return err;
        gcs_xml_hash(&m, op->body.crc32c, hash);
        gcs_cond(&m, op);
        gcs_kms(&m, k, "x-goog-encryption-kms-key-name");
        op->rq.body_read = op->body.read;
        op->rq.body_arg = op->body.arg;
        op->rq.body_len = op->body.len;
        return gcs_send(k, op, &m);
}

int gcs_xml_delete(struct store_kind *k, struct op *op, const char *key, const char *generation)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);
        if (generation)
                gcs_header(&m, "x-goog-if-generation-match", generation);
        return gcs_xml_path(&m, k, key) ? -ENOMEM : gcs_send(k, op, &m);
}

int gcs_xml_copy(struct store_kind *k, struct op *op, const char *from)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_PUT);
        CLEANUP(buf_release) struct buf names = BUF_INIT, source = BUF_INIT;
        char metageneration[GCS_METAGENERATION_LEN];

        m.type = op->meta ? GCS_TYPE : NULL;
        buf_addc(&source, '/');
        uri_encode(&source, k->bucket, false);
        buf_addc(&source, '/');
        if (uri_encode(&source, from, true) || gcs_xml_path(&m, k, op->key))
                return -ENOMEM;
        int err = gcs_xml_meta(&m, op->meta, &names);
        if (err)
                return err;
        gcs_header(&m, "x-goog-copy-source", source.p);
        gcs_header(&m, "x-goog-metadata-directive", op->meta ? "REPLACE" : "COPY");
        if (op->src_match)
                gcs_header(&m, "x-goog-copy-source-if-generation-match", op->src_match);
        if (gcs_metageneration(op, metageneration))
                gcs_header(&m, "x-goog-copy-source-if-metageneration-match", metageneration);
        gcs_cond(&m, op);
        gcs_csek_source(&m, k);
        gcs_kms(&m, k, "x-goog-encryption-kms-key-name");
        return gcs_send(k, op, &m);
}

/* A copy that takes long begins its reply before it knows how it ends. */
int gcs_xml_copied(struct store_kind *k, struct op *op)
{
        struct s3_field f[] = {{"CopyObjectResult/ETag", BUF_INIT}};

        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int err = s3_read(op, f, 1, NULL, NULL);
        bool made = !err && f[0].text.len;
        s3_fields_release(f, 1);
        return made ? gcs_xml_resource(op) : s3_unreadable(op, -EBADMSG);
}

/* --- many --- */

int gcs_xml_list(struct store_kind *k, struct op *op, const char *prefix, const char *delim,
                 const char *continuation)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        char max[16];

        snprintf(max, sizeof max, "%u", op->max ? op->max : 1000);
        gcs_query(&m, "list-type", "2");
        gcs_query(&m, "encoding-type", "url"); /* XML cannot hold every byte of a key */
        gcs_query(&m, "max-keys", max);
        gcs_query(&m, "prefix", prefix);
        if (delim)
                gcs_query(&m, "delimiter", delim);
        if (continuation)
                gcs_query(&m, "continuation-token", continuation);
        else if (op->start_after)
                gcs_query(&m, "start-after", op->start_after);
        return gcs_xml_path(&m, k, NULL) ? -ENOMEM : gcs_send(k, op, &m);
}

int gcs_xml_listed(struct store_kind *k, struct op *op)
{
        return gcs_ok(op) ? s3_read_list(op, "ListBucketResult/Contents/Generation")
                          : gcs_fault(k, op);
}

/* op->at is the next of the keys that XML cannot hold, which are deleted alone (GCS_UNLINK). */
int gcs_xml_delete_many(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);
        uint8_t sum[MD5_LEN];
        char text[4 * ((MD5_LEN + 2) / 3) + 1];

        if (op->stage == GCS_BEGIN && !(op->at = s3_sort_keys(op)))
                op->stage = GCS_UNLINK;
        if (op->stage == GCS_UNLINK)
                return gcs_xml_delete(k, op, op->keys[op->at],
                                      op->versions ? op->versions[op->at] : NULL);
        if (s3_write_delete(op, op->at, "VersionId") || gcs_xml_path(&m, k, NULL))
                return -ENOMEM;
        md5(op->text.p, op->text.len, sum);
        base64_encode(sum, sizeof sum, text);
        gcs_query(&m, "delete", "");
        gcs_header(&m, "Content-MD5", text);
        m.text = &op->text;
        m.type = "application/xml";
        return gcs_send(k, op, &m);
}

static int meaning(const char *code)
{
        return gcs_meaning(!strcmp(code, "AccessDenied") ? 403 : 400, code, false);
}

/* What is gone, or is another version by now, need not be deleted. */
int gcs_xml_deleted(struct store_kind *k, struct op *op)
{
        bool alone = op->stage == GCS_UNLINK;
        int err = !gcs_ok(op) ? gcs_fault(k, op) : alone ? 0 : s3_read_deleted(op, meaning);

        if (alone && (err == -ENOENT || (op->versions && err == -ESTALE)))
                err = 0;
        if (err)
                return err;
        op->at += alone;
        op->stage = GCS_UNLINK;
        retry_progress(&op->retry);
        return op->at < op->nkeys ? OP_AGAIN : 0;
}
