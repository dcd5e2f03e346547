/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_multipart.c: multipart uploads of the XML API, made under a name of ours, then moved. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/xml.h"
#include "store/gcs/gcs_upload.h"
#include "store/core/store_int.h"
#include "base/banned.h"

/* "/BUCKET/NAME OF OURS"; also appends the server's id of the upload to the query. */
static int begin(struct store_kind *k, struct op *op, struct gcs_msg *m, const char *id)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        const char *theirs = strchr(id, '.');

        if (gcs_own_name(&name, k, id, op))
                return -ENOMEM;
        if (theirs)
                gcs_query(m, "uploadId", theirs + 1);
        return gcs_xml_path(m, k, name.p);
}

/* --- create --- */

int gcs_multipart_create(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);
        CLEANUP(buf_release) struct buf names = BUF_INIT;

        m.type = GCS_TYPE;
        int err = begin(k, op, &m, op->marker);
        if (!err)
                err = gcs_xml_meta(&m, op->meta, &names);
        if (err)
                return err;
        gcs_query(&m, "uploads", "");
        gcs_kms(&m, k, "x-goog-encryption-kms-key-name");
        return gcs_send(k, op, &m);
}

int gcs_multipart_created(struct store_kind *k, struct op *op)
{
        struct s3_field f[] = {{"InitiateMultipartUploadResult/UploadId", BUF_INIT}};

        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int err = s3_read(op, f, 1, NULL, NULL);
        if (!err && !f[0].text.len)
                err = -EBADMSG;
        if (!err && asprintf(&op->upload_id, "%s.%s", op->marker, f[0].text.p) < 0) {
                op->upload_id = NULL;
                err = -ENOMEM;
        }
        s3_fields_release(f, 1);
        if (!err)
                upload_say_twin(op, UPLOAD_TWIN_LISTED);
        return err ? s3_unreadable(op, err) : 0;
}

/* --- parts --- */

int gcs_multipart_part(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_PUT);
        char number[16], hash[GCS_HASH_LEN];

        int err = begin(k, op, &m, op->id);
        if (err)
                return err;
        snprintf(number, sizeof number, "%u", op->partno);
        gcs_query(&m, "partNumber", number);
        gcs_xml_hash(&m, op->body.crc32c, hash);
        gcs_csek(&m, k);
        op->rq.body_read = op->body.read;
        op->rq.body_arg = op->body.arg;
        op->rq.body_len = op->body.len;
        return gcs_send(k, op, &m);
}

int gcs_multipart_parted(struct store_kind *k, struct op *op)
{
        const struct upload_part part = {
                .size = op->body.len, .crc32c = op->body.crc32c, .has_crc = true};
        const char *etag = http_reply_header(&op->rq, "etag");
        struct store_object got;

        if (!gcs_ok(op))
                return gcs_fault(k, op);
        gcs_object(k, &op->rq, &got);
        op->fault.status = op->rq.status;
        if (!etag || !*etag) {
                snprintf(op->fault.message, sizeof op->fault.message, "a part without an ETag");
                return -EIO;
        }
        if (got.has_crc && got.crc32c != part.crc32c) {
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC32C of what was stored is %08x, of what was sent %08x", got.crc32c,
                         part.crc32c);
                return -EBADMSG;
        }
        return upload_note_part(op->up, op->partno, etag, &part);
}

int gcs_multipart_parts(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        int err = begin(k, op, &m, op->id);
        gcs_query(&m, "max-parts", "1000");
        if (op->marker)
                gcs_query(&m, "part-number-marker", op->marker);
        return err ? err : gcs_send(k, op, &m);
}

int gcs_multipart_listed(struct store_kind *k, struct op *op)
{
        return gcs_ok(op) ? s3_read_parts(op) : gcs_fault(k, op);
}

/* --- complete --- */

static int add_part(void *arg, unsigned partno, const struct upload_part *part)
{
        struct op *op = arg;

        buf_addf(&op->text, "<Part><PartNumber>%u</PartNumber><ETag>", partno);
        xml_escape(&op->text, part->etag);
        buf_adds(&op->text, "</ETag></Part>");
        op->expect.has_crc = op->expect.has_crc && part->has_crc;
        op->expect.crc32c = crc32c_combine(op->expect.crc32c, part->crc32c, part->size);
        op->expect.size += part->size;
        return op->text.failed ? -ENOMEM : 0;
}

static int complete(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        buf_reset(&op->text);
        op->expect = (struct store_object){.has_crc = true};
        buf_adds(&op->text, "<CompleteMultipartUpload>");
        int err = upload_each(op->up, add_part, op);
        if (!err)
                err = buf_adds(&op->text, "</CompleteMultipartUpload>");
        if (!err)
                err = begin(k, op, &m, op->id);
        m.text = &op->text;
        m.type = "application/xml";
        gcs_csek(&m, k);
        return err ? err : gcs_send(k, op, &m);
}

int gcs_multipart_build(struct store_kind *k, struct op *op)
{
        switch (op->stage) {
        case GCS_BEGIN:
                return complete(k, op);
        case GCS_LOOK:
                return gcs_head(k, op, op->src);
        default:
                return gcs_rename_build(k, op);
        }
}

int gcs_multipart_look(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;

        if (gcs_own_name(&name, k, op->id, op) || !(op->src = buf_take(&name)))
                return -ENOMEM;
        op->stage = GCS_LOOK;
        return OP_AGAIN;
}

/* Completed: what is there under our name is looked at before it gets the name that all read. */
static int completed(struct store_kind *k, struct op *op)
{
        struct s3_field f[] = {{"CompleteMultipartUploadResult/ETag", BUF_INIT}};
        int err = 0;

        if (!gcs_ok(op)) {
                err = gcs_fault(k, op);
                if (err != -ENOENT) /* else perhaps it was completed already */
                        return err;
        } else {
                err = s3_read(op, f, 1, NULL, NULL);
                bool made = !err && f[0].text.len;
                s3_fields_release(f, 1);
                if (!made)
                        return s3_unreadable(op, -EBADMSG);
        }
        return gcs_multipart_look(k, op);
}

static int looked(struct store_kind *k, struct op *op)
{
        int err = gcs_ok(op) ? gcs_read_resource(op, op->src) : gcs_fault(k, op);
        if (err == -ENOENT) /* neither upload nor object: moved by a try before, or aborted */
                return op->maybe_done ? gcs_verify_begin(op, upload_gone(op)) : upload_gone(op);
        if (err)
                return err;
        if (op->obj.size != op->expect.size ||
            (op->obj.has_crc && op->expect.has_crc && op->obj.crc32c != op->expect.crc32c)) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC32C of the object is %08x, of its parts %08x", op->obj.crc32c,
                         op->expect.crc32c);
                return -EBADMSG;
        }
        if (!(op->src_match = strdup(op->obj.etag)))
                return -ENOMEM;
        op->expect = op->obj;   /* parts need not have a checksum */
        op->maybe_done = false; /* from here on it is the move that may have been */
        op->stage = __atomic_load_n(&k->no_move, __ATOMIC_RELAXED) ? GCS_REWRITE : GCS_MOVE;
        return OP_AGAIN;
}

int gcs_multipart_parse(struct store_kind *k, struct op *op)
{
        switch (op->stage) {
        case GCS_BEGIN:
                return completed(k, op);
        case GCS_LOOK:
                return looked(k, op);
        default:
                return gcs_rename_parse(k, op);
        }
}

/* --- abort --- */

/* The upload, then the object that it may have become. */
int gcs_multipart_abort(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);
        CLEANUP(buf_release) struct buf name = BUF_INIT;

        if (op->stage == GCS_BEGIN && !strchr(op->id, '.')[1])
                op->stage = GCS_UNLINK; /* what was found was the object */
        if (op->stage == GCS_BEGIN) {
                int err = begin(k, op, &m, op->id);
                return err ? err : gcs_send(k, op, &m);
        }
        if (gcs_own_name(&name, k, op->id, op))
                return -ENOMEM;
        if (k->keys)
                return gcs_xml_delete(k, op, name.p, NULL);
        gcs_object_path(&m.path, k, name.p);
        return gcs_send(k, op, &m);
}

int gcs_multipart_aborted(struct store_kind *k, struct op *op)
{
        int err = gcs_delete_parse(k, op); /* one that is gone is a success, too */
        if (err || op->stage == GCS_UNLINK)
                return err;
        op->stage = GCS_UNLINK;
        return OP_AGAIN;
}

/* --- unfinished ones --- */

int gcs_multipart_uploads(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        CLEANUP(buf_release) struct buf dir = BUF_INIT;

        if (gcs_xml_path(&m, k, NULL) || gcs_tmp_name(&dir, k, "m-"))
                return -ENOMEM;
        gcs_query(&m, "uploads", "");
        gcs_query(&m, "encoding-type", "url");
        gcs_query(&m, "prefix", dir.p);
        if (op->marker) {
                gcs_query(&m, "key-marker", op->marker);
                gcs_query(&m, "upload-id-marker", op->next);
        }
        return gcs_send(k, op, &m);
}

int gcs_multipart_translate(struct store_kind *k, struct op *op, size_t from)
{
        CLEANUP(buf_release) struct buf id = BUF_INIT, key = BUF_INIT;
        size_t n = op->n;
        int err = 0;

        op->n = from;
        for (size_t i = from; !err && i < n; i++) {
                const struct op_entry e = op->v[i];
                err = gcs_unparsed_name(k, op_string(op, e.key), &id, &key);
                if (!err)
                        err = buf_adds(&id, op_string(op, e.id));
                if (!err)
                        err = gcs_add_upload(op, key.p, id.p, e.time_ns);
                if (err == -EINVAL)
                        err = 0;
        }
        op->page = op->n;
        return err;
}

int gcs_multipart_uploads_parse(struct store_kind *k, struct op *op)
{
        size_t from = op->page;

        if (!gcs_ok(op)) {
                int err = gcs_fault(k, op);
                bool none = err == -EOPNOTSUPP || err == -ENOENT || op->rq.status == 400;
                return none && k->emulator ? 0 : err;
        }
        int rc = s3_read_uploads(op);
        int err = rc < 0 ? 0 : gcs_multipart_translate(k, op, from);
        return err ? err : rc;
}
