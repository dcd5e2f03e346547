/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_request.c: from what an operation wants to a request. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

void gcs_msg_release(struct gcs_msg *m)
{
        buf_release(&m->path);
}

void gcs_query(struct gcs_msg *m, const char *name, const char *value)
{
        if (m->nquery < sizeof m->query / sizeof *m->query)
                m->query[m->nquery] = (struct uri_pair){name, value};
        m->nquery++;
}

void gcs_header(struct gcs_msg *m, const char *name, const char *value)
{
        if (m->nheader < sizeof m->header / sizeof *m->header)
                m->header[m->nheader] = (struct uri_pair){name, value};
        m->nheader++;
}

int gcs_bucket_path(struct buf *path, const struct store_kind *k, const char *rest)
{
        buf_adds(path, "/storage/v1/b/");
        uri_encode(path, k->bucket, false);
        return buf_adds(path, rest);
}

int gcs_object_path(struct buf *path, const struct store_kind *k, const char *key)
{
        gcs_bucket_path(path, k, "/o/");
        return uri_encode(path, key, false);
}

void gcs_cond(struct gcs_msg *m, const struct op *op)
{
        const char *generation = op->if_absent ? "0" : op->if_match;

        if (generation && m->xml)
                gcs_header(m, "x-goog-if-generation-match", generation);
        else if (generation)
                gcs_query(m, "ifGenerationMatch", generation);
        if (!op->if_match || !op->metageneration)
                return;
        snprintf(m->metageneration, sizeof m->metageneration, "%" PRIu64, op->metageneration);
        if (m->xml)
                gcs_header(m, "x-goog-if-metageneration-match", m->metageneration);
        else
                gcs_query(m, "ifMetagenerationMatch", m->metageneration);
}

bool gcs_metageneration(const struct op *op, char text[GCS_METAGENERATION_LEN])
{
        bool told = op->verb == OP_SET_META && op->meta->metageneration;

        if (told)
                snprintf(text, GCS_METAGENERATION_LEN, "%" PRIu64, op->meta->metageneration);
        return told;
}

void gcs_batch_query(struct buf *path, const struct store_kind *k, const char *generation)
{
        if (generation)
                buf_addf(path, "?ifGenerationMatch=%s", generation);
        if (!k->billing_project)
                return;
        buf_adds(path, generation ? "&userProject=" : "?userProject=");
        uri_encode(path, k->billing_project, false);
}

static void add_csek(struct gcs_msg *m, const struct store_kind *k, const char *const names[3])
{
        if (!*k->csek.key)
                return;
        gcs_header(m, names[0], "AES256");
        gcs_header(m, names[1], k->csek.key);
        gcs_header(m, names[2], k->csek.digest);
}

void gcs_csek(struct gcs_msg *m, const struct store_kind *k)
{
        static const char *const names[] = {"x-goog-encryption-algorithm", "x-goog-encryption-key",
                                            "x-goog-encryption-key-sha256"};
        add_csek(m, k, names);
}

void gcs_csek_source(struct gcs_msg *m, const struct store_kind *k)
{
        static const char *const names[] = {"x-goog-copy-source-encryption-algorithm",
                                            "x-goog-copy-source-encryption-key",
                                            "x-goog-copy-source-encryption-key-sha256"};
        add_csek(m, k, names);
}

void gcs_kms(struct gcs_msg *m, const struct store_kind *k, const char *name)
{
        gcs_csek(m, k);
        if (k->kms_key && m->xml)
                gcs_header(m, name, k->kms_key);
        else if (k->kms_key)
                gcs_query(m, name, k->kms_key);
}

static int read_text(void *arg, uint64_t off, void *dst, size_t len)
{
        memcpy(dst, ((const struct buf *)arg)->p + off, len);
        return 0;
}

/* Says who asks. */
static int authorize(struct store_kind *k, struct op *op, struct gcs_msg *m)
{
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        CLEANUP(buf_release) struct buf bearer = BUF_INIT;
        char why[256] = "";

        int err = cred_chain_get(k->creds, &cred, why, sizeof why);
        if (err)
                return op_no_credentials(op, err, why);
        op->serial = cred.serial;
        if (cred.kind == CRED_ANONYMOUS)
                return 0;
        if (cred.kind == CRED_KEYS && m->xml)
                return gcs_xml_sign(k, op, m, &cred);
        if (cred.kind != CRED_BEARER)
                return op_no_credentials(
                        op, -EOPNOTSUPP,
                        "HMAC keys took the place of other credentials: mount again");
        buf_addf(&bearer, "Bearer %s", cred.token);
        err = http_header(&op->rq, "Authorization", bearer.p);
        explicit_bzero(bearer.p, bearer.len);
        return err;
}

int gcs_send(struct store_kind *k, struct op *op, struct gcs_msg *m)
{
        struct http_req *rq = &op->rq;

        if (m->text) {
                rq->body_read = read_text;
                rq->body_arg = (void *)(uintptr_t)m->text;
                rq->body_len = m->text->len;
        }
        if (k->billing_project && m->xml)
                gcs_header(m, "x-goog-user-project", k->billing_project);
        else if (k->billing_project)
                gcs_query(m, "userProject", k->billing_project);
        if (m->type)
                gcs_header(m, "Content-Type", m->type);
        if (m->path.failed || (m->text && m->text->failed))
                return -ENOMEM;
        if (m->nheader > sizeof m->header / sizeof *m->header ||
            m->nquery > sizeof m->query / sizeof *m->query)
                return -EINVAL;
        rq->method = m->method;
        buf_adds(&rq->url, k->endpoint);
        buf_add(&rq->url, m->path.p, m->path.len);
        if (m->nquery)
                buf_addc(&rq->url, '?');
        int err = uri_encode_query(&rq->url, m->query, m->nquery);
        for (size_t i = 0; !err && i < m->nheader; i++)
                err = http_header(rq, m->header[i].name, m->header[i].value);
        return err ? err : authorize(k, op, m);
}
