/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_error.c: what GCS means when it says no: whether to wait or to give up, and how to tell the
 * user. Reasons are from the JSON API reference, "HTTP status and error codes". */
#include "store/gcs/gcs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "store/core/error_hint.h"
#include "base/banned.h"

static const struct {
        const char *reason;
        int answer;
} reasons[] = {
        {"rateLimitExceeded", OP_SLOW},
        {"userRateLimitExceeded", OP_SLOW},
        {"SlowDown", OP_SLOW},
        {"backendError", OP_RETRY},
        {"internalError", OP_RETRY},
        {"storageTotalQuotaExceeded", -ENOSPC},
        {"InternalError", OP_RETRY},
        {"ServiceUnavailable", OP_SLOW},
        {"uploadTooLarge", -EFBIG},
        {"EntityTooLarge", -EFBIG},
        {"BadDigest", OP_DAMAGED},
        {"CrcMismatch", OP_DAMAGED},
        {"InvalidDigest", OP_DAMAGED},
        {"resourceIsEncryptedWithCustomerEncryptionKey", -EACCES},
        {"ResourceIsEncryptedWithCustomerEncryptionKey", -EACCES},
        {"resourceNotEncryptedWithCustomerEncryptionKey", -EACCES},
        {"ResourceNotEncryptedWithCustomerEncryptionKey", -EACCES},
        {"customerEncryptionKeyIsIncorrect", -EACCES},
        {"CustomerEncryptionKeyIsIncorrect", -EACCES},
        {"orgPolicyConstraintFailed", -EACCES}, /* a 412 that is about no condition of ours */
        {"notImplemented", -EOPNOTSUPP},
        {"NotImplemented", -EOPNOTSUPP},
};

bool gcs_ok(const struct op *op)
{
        return op->rq.status >= 200 && op->rq.status < 300;
}

static void copy(char *to, size_t n, const char *from)
{
        if (from)
                snprintf(to, n, "%s", from);
}

static void read_json_fault(struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;
        struct op_fault *fault = &op->fault;
        char why[160];

        if (json_parse("reply", op->in.p, op->in.len, &j, why, sizeof why))
                return;
        const struct json *e = json_get(j, "error");
        const struct json *first = json_at(json_get(e, "errors"), 0);
        copy(fault->code, sizeof fault->code, json_string(json_get(first, "reason"), NULL));
        copy(fault->message, sizeof fault->message, json_string(json_get(e, "message"), NULL));
        if (!*fault->code)
                copy(fault->code, sizeof fault->code, json_string(json_get(e, "status"), NULL));
}

static void read_xml_fault(struct op *op)
{
        struct s3_field f[] = {{"Error/Code", BUF_INIT}, {"Error/Message", BUF_INIT}};

        s3_read(op, f, 2, NULL, NULL); /* what is no XML says nothing */
        copy(op->fault.code, sizeof op->fault.code, f[0].text.p);
        copy(op->fault.message, sizeof op->fault.message, f[1].text.p);
        s3_fields_release(f, 2);
}

static void read_fault(struct op *op)
{
        struct op_fault *fault = &op->fault;
        const char *after = http_reply_header(&op->rq, "retry-after");
        size_t blank = strspn(op->in.p, " \t\r\n");

        fault->status = op->rq.status;
        if (op->in.p[blank] == '{')
                read_json_fault(op);
        else if (op->in.p[blank] == '<')
                read_xml_fault(op);
        error_hint_permission(fault, fault->message, "does not have ");
        if (!*fault->code && !*fault->message)
                error_hint_copy_text(op);
        copy(fault->request_id, sizeof fault->request_id,
             http_reply_header(&op->rq, "x-guploader-uploadid"));
        if (after && isdigit((unsigned char)*after)) {
                unsigned long s = strtoul(after, NULL, 10);
                fault->retry_after_ms = s < 60 ? (unsigned)s * 1000 : 60000;
        }
}

int gcs_meaning(int status, const char *reason, bool if_absent)
{
        for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
                if (!strcmp(reasons[i].reason, reason))
                        return reasons[i].answer;
        if (status == 429 || status == 503)
                return OP_SLOW;
        if (retry_status(status))
                return OP_RETRY;
        /* "Failed to commit the change due to a conflicting concurrent change to the same resource.
         * The request can be retried" (JSON API, "HTTP status and error codes"); its condition says
         * then whether what it was made for still stands. */
        if (status == 409)
                return OP_RETRY;
        if (status == 405 || status == 501)
                return -EOPNOTSUPP;
        return status_errno(status, if_absent);
}

/* What was sent is not what its checksum says. */
static bool is_damaged(const struct op *op)
{
        const char *said = op->fault.message;
        return op->rq.status == 400 && strstr(said, "match") &&
               (strstr(said, "CRC32C") || strstr(said, "MD5") || strstr(said, "checksum"));
}

/* One object may be changed once a second: that is no reason for others to go slower. */
static int too_often(struct op *op)
{
        enum { ONE_NAME_MS = 1000 };
        if (op->fault.retry_after_ms < ONE_NAME_MS)
                op->fault.retry_after_ms = ONE_NAME_MS;
        return OP_RETRY;
}

/* A token that ran out earlier than it said, or keys that a file has no more. The reply to a head
 * of the XML API has no code; to read a file again costs little. */
static bool refuses_credentials(const struct store_kind *k, const struct op *op)
{
        static const char *const said[] = {"", "InvalidSecurity", "InvalidAccessKeyId",
                                           "SignatureDoesNotMatch"};

        if (op->rq.status == 401)
                return true;
        for (size_t i = 0; k->keys && op->rq.status == 403 && i < sizeof said / sizeof *said; i++)
                if (!strcmp(op->fault.code, said[i]))
                        return true;
        return false;
}

/* Something to correct: credentials, or a clock that is wrong; each once for each op. */
static bool correct(struct store_kind *k, struct op *op)
{
        enum { MOVED_CREDENTIALS = 1 };
        if (k->keys && s3_follow_clock(op, &k->skew_s))
                return true;
        if (!refuses_credentials(k, op) || op->moves & MOVED_CREDENTIALS)
                return false;
        op->moves |= MOVED_CREDENTIALS;
        return cred_chain_forget(k->creds, op->serial) || op->rq.status == 401;
}

/* "Bucket is a requester pays bucket but no user project provided": 400, with the reason "required"
 * or, of the XML API, UserProjectMissing. */
static bool is_unpaid(const struct op *op)
{
        return op->rq.status == 400 && strcasestr(op->fault.message, "requester pays");
}

/* "Requested encryption type for object is not compliant with the bucket's encryption enforcement
 * configuration": a 412 with the reason of a condition that does not hold. */
static bool is_encrypted_otherwise(const struct op *op)
{
        return op->rq.status == 412 && strstr(op->fault.message, "encryption enforcement");
}

bool gcs_is_retained(const struct op *op)
{
        return !strcasecmp(op->fault.code, "retentionPolicyNotMet");
}

/* What keeps an object is no matter of credentials ("HTTP status and error codes"). */
static const char *remedy_of(const struct op *op)
{
        if (is_unpaid(op))
                return "set billing_project to a project that pays";
        if (is_encrypted_otherwise(op))
                return "set kms_key or csek_file, or neither, as the bucket's encryption wants";
        if (gcs_is_retained(op))
                return "wait until its retention ends, or use a bucket without a retention policy";
        return strcasecmp(op->fault.code, "objectUnderActiveHold")
                       ? NULL
                       : "have the hold on the object released";
}

int gcs_fault(struct store_kind *k, struct op *op)
{
        read_fault(op);
        op->fault.remedy = remedy_of(op);
        if (correct(k, op))
                return OP_AGAIN;
        if (op->rq.status == 429 && strstr(op->fault.message, "object mutation"))
                return too_often(op);
        if (is_damaged(op))
                return OP_DAMAGED;
        if (is_encrypted_otherwise(op))
                return -EACCES;
        return gcs_meaning(op->rq.status, op->fault.code, op->if_absent);
}

/* --- for people --- */

void gcs_explain(struct store_kind *k, const struct op *op, int err, char *why, size_t nwhy)
{
        const struct op_fault *f = &op->fault;

        if (!strcmp(f->code, "NoCredentials"))
                cred_chain_why(k->creds, why, nwhy);
        else if (!f->status)
                error_hint_transport(k->endpoint, "endpoint", op, err, why, nwhy);
        else if (err == -ENOENT)
                snprintf(why, nwhy, "bucket %s does not exist at %s: create it or correct the URL",
                         k->bucket, k->endpoint);
        else if (f->status == 401)
                snprintf(why, nwhy,
                         "%s does not know these credentials (%s): renew or correct them",
                         k->endpoint, f->message);
        else if (err == -EACCES)
                snprintf(why, nwhy,
                         "access to bucket %s denied by %s (%d %s): allow these credentials to "
                         "list and read it (storage.objects.list and storage.objects.get, both of "
                         "roles/storage.objectUser), or use others",
                         k->bucket, k->endpoint, f->status, f->message);
        else if (is_unpaid(op))
                snprintf(why, nwhy,
                         "bucket %s at %s has its requesters pay: set billing_project to a project "
                         "that does",
                         k->bucket, k->endpoint);
        else if (!*f->code && !*f->request_id)
                error_hint_stranger(k->endpoint, "Google Cloud Storage", op, why, nwhy);
        else
                snprintf(why, nwhy, "bucket %s at %s: %d %s %s (request %s): see the server's log",
                         k->bucket, k->endpoint, f->status, f->code, f->message, f->request_id);
}
