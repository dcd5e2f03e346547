/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_insert.c: a whole object in one request: its metadata and checksum, then its bytes, as
 * multipart/related. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/banned.h"

/* Bytes are not looked at for it: the length of the body is known, and the part before it is ours.
 */
#define BOUNDARY "ckptfs-bytes-follow-whose-length-is-known"
static const char tail[] = "\r\n--" BOUNDARY "--\r\n";

/* op->text, the body, `tail`. */
static int read_related(void *arg, uint64_t off, void *dst, size_t len)
{
        const struct op *op = arg;
        uint64_t head = op->text.len, body = op->body.len;
        char *to = dst;

        while (len) {
                size_t n = len;
                if (off < head) {
                        if (n > head - off)
                                n = (size_t)(head - off);
                        memcpy(to, op->text.p + off, n);
                } else if (off < head + body) {
                        if (n > head + body - off)
                                n = (size_t)(head + body - off);
                        int err = op->body.read(op->body.arg, off - head, to, n);
                        if (err)
                                return err;
                } else {
                        memcpy(to, tail + (off - head - body), n);
                }
                to += n;
                off += n;
                len -= n;
        }
        return 0;
}

/* Fills op->text with all that goes before the bytes. */
static int write_head(struct op *op, const char *key, const char *upload_for)
{
        CLEANUP(json_freep) struct json *j = json_new_object();
        struct json *meta = NULL;
        char crc[9];

        crc32c_base64(op->body.crc32c, crc);
        json_add_string(j, "name", key);
        json_add_string(j, "crc32c", crc);
        gcs_add_type(j, op->meta);
        if (op->meta || upload_for)
                if (gcs_add_meta(j, op->meta, &meta))
                        return -ENOMEM;
        if (upload_for && json_add_string(meta, GCS_META_FOR, upload_for))
                return -ENOMEM;
        CLEANUP(freep) char *text = json_print(j);
        if (!text)
                return -ENOMEM;
        buf_reset(&op->text);
        return buf_addf(&op->text,
                        "--" BOUNDARY "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
                        "%s\r\n--" BOUNDARY "\r\nContent-Type: %s\r\n\r\n",
                        text, json_string(json_get(j, "contentType"), GCS_TYPE));
}

int gcs_insert(struct store_kind *k, struct op *op, const char *key, const char *upload_for)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        if (k->keys)
                return gcs_xml_put(k, op, key);
        int err = write_head(op, key, upload_for);
        if (err)
                return err;
        op->rq.body_read = read_related;
        op->rq.body_arg = op;
        op->rq.body_len = op->text.len + op->body.len + sizeof tail - 1;
        buf_adds(&m.path, "/upload");
        gcs_bucket_path(&m.path, k, "/o");
        gcs_query(&m, "uploadType", "multipart");
        gcs_query(&m, "name", key);
        gcs_query(&m, "fields", gcs_fields);
        gcs_cond(&m, op);
        gcs_kms(&m, k, "kmsKeyName");
        m.type = "multipart/related; boundary=" BOUNDARY;
        return gcs_send(k, op, &m);
}

int gcs_inserted(struct store_kind *k, struct op *op, const char *key)
{
        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int err = gcs_read_resource(op, key);
        if (err)
                return err;
        if (k->keys)
                op->obj.size = op->body.len; /* a reply to a PUT need not tell */
        if (op->obj.size == op->body.len && (!op->obj.has_crc || op->obj.crc32c == op->body.crc32c))
                return 0;
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message,
                 "CRC32C of what was stored is %08x, of what was sent %08x", op->obj.crc32c,
                 op->body.crc32c);
        return -EBADMSG;
}

int gcs_put_build(struct store_kind *k, struct op *op)
{
        if (gcs_is_folder(k, op->key) && !op->body.len)
                return gcs_folder_create(k, op);
        return op->stage == GCS_VERIFY ? gcs_verify_build(k, op) : gcs_insert(k, op, op->key, NULL);
}

int gcs_put_parse(struct store_kind *k, struct op *op)
{
        if (gcs_is_folder(k, op->key) && !op->body.len)
                return gcs_folder_created(k, op);
        if (op->stage == GCS_VERIFY)
                return gcs_verify_parse(k, op);
        int err = gcs_inserted(k, op, op->key);
        if (op_may_be_ours(op, err)) {
                op->expect = (struct store_object){
                        .size = op->body.len, .has_crc = true, .crc32c = op->body.crc32c};
                return gcs_verify_begin(op, err);
        }
        return err;
}
