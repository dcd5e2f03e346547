/* SPDX-License-Identifier: Apache-2.0 */
/* s3_error.c: what S3 means when it says no: whether to correct something, to wait, or to give up,
 * and how to tell the user. Codes are from the S3 API reference, "Error responses". */
#include "store/s3/s3.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mutex.h"
#include "base/log.h"
#include "store/core/error_hint.h"
#include "base/banned.h"

enum { MOVED_REGION = 1, MOVED_CREDENTIALS = 4, MOVED_HEAD = 8 };

static const struct {
        const char *code;
        int answer;
} codes[] = {
        {"ServiceUnavailable", OP_SLOW},
        {"ServerBusy", OP_SLOW},
        {"InternalError", OP_RETRY},
        {"RequestTimeout", OP_RETRY},
        {"RequestTimeoutException", OP_RETRY},
        {"OperationAborted", OP_RETRY},
        {"ConditionalRequestConflict", OP_RETRY}, /* the condition is still to be decided */
        {"AccessDenied", -EACCES},
        {"InvalidAccessKeyId", -EACCES},
        {"XAdminUserNotFound", -EACCES}, /* versitygw's InvalidAccessKeyId */
        {"SignatureDoesNotMatch", -EACCES},
        {"ExpiredToken", -EACCES},
        {"InvalidToken", -EACCES},
        {"InvalidObjectState", -EACCES},
        {"ObjectNotInActiveTierError", -EACCES}, /* the same, of a copy's source */
        {"NoSuchKey", -ENOENT},
        {"NoSuchBucket", -ENOENT},
        {"NoSuchUpload", -ENOENT},
        {"KeyTooLongError", -ENAMETOOLONG},
        {"KeyTooLong", -ENAMETOOLONG}, /* the same, of RenameObject */
        {"EntityTooLarge", -EFBIG},
        {"BadDigest", OP_DAMAGED},
        {"IncompleteBody", OP_DAMAGED},
        {"InvalidDigest", OP_DAMAGED},
        {"XAmzContentChecksumMismatch", OP_DAMAGED},
        {"XAmzContentSHA256Mismatch", OP_DAMAGED},
        {"QuotaExceeded", -ENOSPC},
        {"XMinioStorageFull", -ENOSPC},
        {"XMinioAdminBucketQuotaExceeded", -ENOSPC},
        {"NotImplemented", -EOPNOTSUPP},
};

bool s3_ok(const struct op *op)
{
        return op->rq.status >= 200 && op->rq.status < 300;
}

bool s3_is_error_body(const struct op *op)
{
        const char *p = op->in.p;
        while (isspace((unsigned char)*p))
                p++;
        if (!strncmp(p, "<?", 2)) {
                const char *end = strstr(p, "?>");
                p = end ? end + 2 : p;
        }
        while (isspace((unsigned char)*p))
                p++;
        return !strncmp(p, "<Error>", 7) || !strncmp(p, "<Error ", 7);
}

static void copy(char *to, size_t n, const char *from)
{
        if (from)
                snprintf(to, n, "%s", from);
}

/* Fills op->fault; `region` gets the one the server named, or "". */
static void read_fault(struct op *op, char *region, size_t nregion)
{
        struct s3_field f[] = {{"Error/Code", BUF_INIT},
                               {"Error/Message", BUF_INIT},
                               {"Error/RequestId", BUF_INIT},
                               {"Error/Region", BUF_INIT},
                               {"Error/Condition", BUF_INIT}};
        struct op_fault *fault = &op->fault;
        const char *after = http_reply_header(&op->rq, "retry-after");

        fault->status = op->rq.status;
        if (op->in.len) /* what is no XML says nothing */
                s3_read(op, f, 5, NULL, NULL);
        copy(fault->code, sizeof fault->code, f[0].text.p);
        copy(fault->message, sizeof fault->message, f[1].text.p);
        error_hint_permission(fault, f[1].text.p, "not authorized to perform: ");
        copy(fault->request_id, sizeof fault->request_id, f[2].text.p);
        copy(fault->request_id, sizeof fault->request_id,
             http_reply_header(&op->rq, "x-amz-request-id"));
        if (!*fault->code)
                error_hint_copy_text(op);
        copy(region, nregion, f[3].text.p);
        op->of_source = !strncasecmp(f[4].text.p, "x-amz-copy-source-", 18);
        copy(region, nregion, http_reply_header(&op->rq, "x-amz-bucket-region"));
        if (after && isdigit((unsigned char)*after)) {
                unsigned long s = strtoul(after, NULL, 10);
                fault->retry_after_ms = s < 60 ? (unsigned)s * 1000 : 60000;
        }
        s3_fields_release(f, 5);
}

static bool is(const struct op *op, const char *code)
{
        return !strcmp(op->fault.code, code);
}

/* "Starting April 2026, Amazon S3 automatically disables server-side encryption with
 * customer-provided keys (SSE-C) for all new general purpose buckets [...] requests to upload
 * objects using SSE-C are rejected with an HTTP 403 AccessDenied error" (user guide, "Blocking or
 * unblocking SSE-C for a general purpose bucket"). */
static bool may_block_key(const struct store_kind *k, const struct op *op)
{
        bool writes = op->rq.method == HTTP_PUT || op->rq.method == HTTP_POST;
        bool begins = op->verb == OP_PUT || op->verb == OP_UPLOAD_CREATE || op->verb == OP_COPY ||
                      op->verb == OP_SET_META;

        return *k->sse_c.key && writes && begins && is(op, "AccessDenied");
}

/* "Object is archived and inaccessible until restored" (API reference, InvalidObjectState). */
static const char *remedy_of(const struct store_kind *k, const struct op *op)
{
        bool archived = is(op, "InvalidObjectState") || is(op, "ObjectNotInActiveTierError");

        if (may_block_key(k, op))
                return "the bucket has to allow SSE-C, which new ones do not (PutBucketEncryption, "
                       "BlockedEncryptionTypes NONE), and the credentials need s3:PutObject";
        return archived ? "the object is in an archive: restore it first, as with 'aws s3api "
                          "restore-object'"
                        : NULL;
}

/* Another region answers for the bucket: remembered for all that follows. */
static bool follow_region(struct store_kind *k, struct op *op, const char *region)
{
        if (!*region || strlen(region) >= sizeof k->locked.region ||
            region[strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-")] ||
            !strcmp(region, op->region) || op->moves & MOVED_REGION)
                return false;
        op->moves |= MOVED_REGION;
        mutex_lock(&k->mtx);
        bool news = strcmp(k->locked.region, region) != 0;
        memcpy(k->locked.region, region, strlen(region) + 1);
        mutex_unlock(&k->mtx);
        if (news)
                log_info("store: bucket %s is in region %s, not %s: going there", k->bucket, region,
                         op->region);
        return true;
}

/* Other credentials may do better: these ended, or somebody has put others into their place. */
static bool refuses_credentials(const struct op *op)
{
        static const char *const said[] = {"ExpiredToken",         "InvalidAccessKeyId",
                                           "InvalidToken",         "SignatureDoesNotMatch",
                                           "TokenRefreshRequired", "XAdminUserNotFound"};

        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
                if (is(op, said[i]))
                        return true;
        return false;
}

/* The reply to a head has no body: "If the HEAD request generates an error, it returns a generic
 * code" (HeadObject, API reference). A get of the same object says which it was. */
static bool ask_why(struct op *op)
{
        int status = op->rq.status;

        if (op->rq.method != HTTP_HEAD || *op->fault.code || op->moves & MOVED_HEAD ||
            (status != 400 && status != 403))
                return false;
        op->moves |= MOVED_HEAD;
        op->head_status = status;
        return true;
}

/* Something to correct, once for each op, and then to send again. */
static bool correct(struct store_kind *k, struct op *op, const char *region)
{
        int status = op->rq.status;
        if (status == 301 || status == 307 || status == 400 || status == 403)
                if (follow_region(k, op, region))
                        return true;
        if (s3_follow_clock(op, cred_chain_skew(k->creds)))
                return true;
        if (refuses_credentials(op) && !(op->moves & MOVED_CREDENTIALS)) {
                op->moves |= MOVED_CREDENTIALS;
                /* Those that end are worth another try in any case: clocks differ. */
                return cred_chain_forget(op->by_session ? k->session : k->creds, op->serial) ||
                       is(op, "ExpiredToken");
        }
        return ask_why(op);
}

int s3_code(const char *code, int other)
{
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
                if (!strcmp(codes[i].code, code))
                        return codes[i].answer;
        /* Also of other services, as KMS behind an encrypted bucket, whose codes come with its name
         * before them, as "KMS.DisabledException". */
        const char *theirs = strncmp(code, "KMS.", 4) ? code : code + 4;
        return retry_throttled(theirs) ? OP_SLOW : other;
}

int s3_fault(struct store_kind *k, struct op *op)
{
        char region[64] = "";
        int status = op->rq.status;

        read_fault(op, region, sizeof region);
        op->fault.remedy = remedy_of(k, op);
        if (correct(k, op, region))
                return OP_AGAIN;
        if (is(op, "PreconditionFailed")) /* also in the body of a 200 */
                return op->if_absent && !op->of_source ? -EEXIST : -ESTALE;
        /* The version that had to be there was deleted. */
        bool pinned = (op->if_match && (op->verb == OP_PUT || op->verb == OP_COMPLETE)) ||
                      (op->src_match && op->verb == OP_PART_COPY);
        if (is(op, "NoSuchKey") && pinned)
                return -ESTALE;
        if (status == 503 || status == 429)
                return s3_code(op->fault.code, OP_SLOW);
        if (retry_status(status))
                return s3_code(op->fault.code, OP_RETRY);
        return s3_code(op->fault.code, status_errno(status, op->if_absent));
}

/* --- for people --- */

/* The chain's own line, which may be longer than the op has room for. */
static void error_hint_credentials(struct store_kind *k, const struct op *op, char *why,
                                   size_t nwhy)
{
        cred_chain_why(op->by_session ? k->session : k->creds, why, nwhy);
}

void s3_explain(struct store_kind *k, const struct op *op, int err, char *why, size_t nwhy)
{
        const struct op_fault *f = &op->fault;
        char where[300];

        if (k->endpoint)
                snprintf(where, sizeof where, "%s", k->endpoint);
        else
                snprintf(where, sizeof where, "S3 in %s", op->region);
        if (is(op, "NoCredentials"))
                error_hint_credentials(k, op, why, nwhy);
        else if (!f->status)
                error_hint_transport(where, "endpoint or region", op, err, why, nwhy);
        else if (!*f->code && (op->in.len || s3_ok(op) || f->status >= 500))
                error_hint_stranger(where, "S3", op, why, nwhy);
        else if (is(op, "NoSuchBucket") || err == -ENOENT)
                snprintf(why, nwhy, "bucket %s does not exist at %s: create it or correct the URL",
                         k->bucket, where);
        else if (is(op, "InvalidAccessKeyId") || is(op, "XAdminUserNotFound"))
                snprintf(why, nwhy,
                         "%s does not know the access key (%s): correct "
                         "AWS_ACCESS_KEY_ID or the profile",
                         where, f->code);
        else if (is(op, "ExpiredToken"))
                snprintf(why, nwhy,
                         "%s says that the credentials have expired (ExpiredToken): have them "
                         "renewed, or correct this machine's clock",
                         where);
        else if (is(op, "SignatureDoesNotMatch"))
                snprintf(why, nwhy,
                         "%s refuses the signature (SignatureDoesNotMatch): correct "
                         "AWS_SECRET_ACCESS_KEY or the profile's secret key",
                         where);
        else if (f->status == 301 || is(op, "AuthorizationHeaderMalformed"))
                snprintf(why, nwhy,
                         "bucket %s is not in region %s (%s) and %s does not say where: "
                         "set region",
                         k->bucket, op->region, f->message, where);
        else if (err == -EACCES)
                snprintf(why, nwhy,
                         "access to bucket %s denied by %s (%d %s): allow these "
                         "credentials to list and read it (%s), or use others",
                         k->bucket, where, f->status, f->code,
                         k->session ? "s3express:CreateSession" : "s3:ListBucket and s3:GetObject");
        else
                snprintf(why, nwhy, "bucket %s at %s: %d %s %s (request %s): see the server's log",
                         k->bucket, where, f->status, f->code, f->message, f->request_id);
}
