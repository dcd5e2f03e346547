/* SPDX-License-Identifier: Apache-2.0 */
/* s3_dispatch.c: which operation a request is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text/utf8.h"
#include "bench/sim/gs/gs.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

enum level { SERVICE, BUCKET, OBJECT };

/* The first row that fits is the operation. `query` is a parameter, `header` a header that must be
 * there. begin() runs before the body comes and may refuse; NULL for none. */
struct s3_op {
        const char *name;
        const char *method;
        enum level level;
        const char *query, *header;
        enum body_to to;
        s3_fn *begin, *finish;
};

static const struct s3_op ops[] = {
        {"ListBuckets", "GET", SERVICE, NULL, NULL, BODY_DROP, NULL, s3_list_buckets},

        {"HeadBucket", "HEAD", BUCKET, NULL, NULL, BODY_DROP, NULL, s3_head_bucket},
        {"GetBucketLocation", "GET", BUCKET, "location", NULL, BODY_DROP, NULL, s3_get_location},
        {"GetBucketVersioning", "GET", BUCKET, "versioning", NULL, BODY_DROP, NULL,
         s3_get_versioning},
        {"CreateSession", "GET", BUCKET, "session", NULL, BODY_DROP, NULL, s3_create_session},
        {"ListMultipartUploads", "GET", BUCKET, "uploads", NULL, BODY_DROP, NULL, s3_list_uploads},
        {"ListObjectsV2", "GET", BUCKET, "list-type", NULL, BODY_DROP, NULL, s3_list_v2},
        {"ListObjects", "GET", BUCKET, NULL, NULL, BODY_DROP, NULL, s3_list_v1},
        {"DeleteObjects", "POST", BUCKET, "delete", NULL, BODY_TEXT, NULL, s3_delete_many},
        {"CreateBucket", "PUT", BUCKET, NULL, NULL, BODY_DROP, NULL, s3_create_bucket},
        {"DeleteBucket", "DELETE", BUCKET, NULL, NULL, BODY_DROP, NULL, s3_delete_bucket},

        {"HeadObject", "HEAD", OBJECT, "partNumber", NULL, BODY_DROP, NULL, s3_get},
        {"HeadObject", "HEAD", OBJECT, NULL, NULL, BODY_DROP, NULL, s3_get},
        {"ListParts", "GET", OBJECT, "uploadId", NULL, BODY_DROP, NULL, s3_list_parts},
        {"GetObjectTagging", "GET", OBJECT, "tagging", NULL, BODY_DROP, NULL, s3_get_tagging},
        {"GetObject", "GET", OBJECT, "partNumber", NULL, BODY_DROP, NULL, s3_get},
        {"GetObject", "GET", OBJECT, NULL, NULL, BODY_DROP, NULL, s3_get},
        {"UploadPartCopy", "PUT", OBJECT, "partNumber", "x-amz-copy-source", BODY_DROP, NULL,
         s3_part_copy},
        {"RenameObject", "PUT", OBJECT, "renameObject", NULL, BODY_DROP, NULL, s3_rename},
        {"UploadPart", "PUT", OBJECT, "partNumber", NULL, BODY_INTAKE, s3_begin_part, s3_part},
        {"CopyObject", "PUT", OBJECT, NULL, "x-amz-copy-source", BODY_DROP, NULL, s3_copy},
        {"PutObject", "PUT", OBJECT, NULL, NULL, BODY_INTAKE, s3_begin_put, s3_put},
        {"CreateMultipartUpload", "POST", OBJECT, "uploads", NULL, BODY_DROP, NULL,
         s3_upload_create},
        {"RestoreObject", "POST", OBJECT, "restore", NULL, BODY_TEXT, NULL, s3_restore},
        {"CompleteMultipartUpload", "POST", OBJECT, "uploadId", NULL, BODY_TEXT, NULL,
         s3_upload_complete},
        {"AbortMultipartUpload", "DELETE", OBJECT, "uploadId", NULL, BODY_DROP, NULL,
         s3_upload_abort},
        {"DeleteObject", "DELETE", OBJECT, NULL, NULL, BODY_DROP, NULL, s3_delete},
};

/* Parameters that make a request something else than the table has. */
static const char *const foreign[] = {
        "accelerate",
        "acl",
        "analytics",
        "attributes",
        "cors",
        "encryption",
        "inventory",
        "legal-hold",
        "lifecycle",
        "logging",
        "metrics",
        "notification",
        "object-lock",
        "partNumber",
        "policy",
        "policyStatus",
        "publicAccessBlock",
        "renameObject",
        "replication",
        "requestPayment",
        "restore",
        "retention",
        "select",
        "session",
        "tagging",
        "torrent",
        "versions",
        "website",
        "append",
};

static const struct s3_op not_implemented = {"NotImplemented", "",   SERVICE,           NULL, NULL,
                                             BODY_DROP,        NULL, s3_not_implemented};

const char *s3_in(const struct request *x, const char *header)
{
        return request_in(x, header);
}

static bool fits(const struct s3_op *op, const struct request *x, enum level level)
{
        return op->level == level && !strcmp(op->method, x->rq.method) &&
               (!op->query || request_query(x, op->query)) && (!op->header || s3_in(x, op->header));
}

static const struct s3_op *find_op(const struct request *x)
{
        enum level level = *x->key ? OBJECT : *x->bucket ? BUCKET : SERVICE;

        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
                if (!fits(&ops[i], x, level))
                        continue;
                for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++)
                        if (request_query(x, foreign[k]) &&
                            (!ops[i].query || strcmp(ops[i].query, foreign[k])))
                                return &not_implemented;
                return &ops[i];
        }
        return NULL;
}

const char *s3_access_point(const struct service *s, const char *name, size_t n)
{
        for (unsigned i = 0; i < s->s3->naccess_points; i++) {
                const struct s3_access_point *p = &s->s3->access_points[i];
                if (strlen(p->name) == n && !strncmp(p->name, name, n))
                        return p->bucket;
        }
        return NULL;
}

/* The bucket whose host the request went to, malloc'ed: BUCKET.DOMAIN, or that of an access point,
 * NAME-ACCOUNT.DOMAIN. *out NULL: the path says the bucket. */
static int bucket_of_host(const struct service *s, const struct request *x, char **out)
{
        static const char account[] = "-" S3_OWNER;
        const char *host = http_header(&x->rq, "host");
        const char *domain = s->s3->domain ? s->s3->domain : "localhost";

        *out = NULL;
        if (!host || x->google)
                return 0;
        size_t n = strcspn(host, ":"), ndomain = strlen(domain), naccount = sizeof account - 1;
        if (n <= ndomain + 1 || host[n - ndomain - 1] != '.' ||
            strncasecmp(host + n - ndomain, domain, ndomain))
                return 0;
        n -= ndomain + 1;
        const char *point = n > naccount && !strncmp(host + n - naccount, account, naccount)
                                    ? s3_access_point(s, host, n - naccount)
                                    : NULL;
        *out = point ? strdup(point) : strndup(host, n);
        return *out ? 0 : -ENOMEM;
}

/* Sets x->path to "/bucket/key", still escaped. -EINVAL: it is not below the base. */
static int find_path(const struct service *s, struct request *x)
{
        CLEANUP(freep) char *bucket = NULL;
        CLEANUP(buf_release) struct buf path = BUF_INIT;
        const char *base = s->s3->base_path && !x->google ? s->s3->base_path : "";
        const char *rest = x->rq.path + strlen(base);

        if (strncmp(x->rq.path, base, strlen(base)) || (*rest && *rest != '/'))
                return -EINVAL;
        int err = bucket_of_host(s, x, &bucket);
        x->by_host = bucket;
        if (bucket)
                buf_addf(&path, "/%s", bucket);
        if (!err)
                err = buf_adds(&path, *rest ? rest : "/");
        x->path = err ? NULL : buf_take(&path);
        return err || x->path ? err : -ENOMEM;
}

/* "/bucket/key?query" taken apart; the copies live as long as the exchange. */
/* Whether what the address says is UTF-8, as every key is ("The name for a key is a sequence of
 * Unicode characters whose UTF-8 encoding is at most 1,024 bytes long", user guide, "Naming Amazon
 * S3 objects"). */
static bool is_text(const struct request *x)
{
        for (size_t i = 0; i < x->nquery; i++)
                if (!utf8_valid(x->query[i].name) || !utf8_valid(x->query[i].value))
                        return false;
        return utf8_valid(x->path);
}

static int take_apart(const struct service *s, struct request *x)
{
        int err = find_path(s, x);
        if (err)
                return err;
        x->query_text = strdup(x->rq.query);
        if (!x->query_text)
                return -ENOMEM;
        if (uri_decode(x->path, false) < 0)
                return -EINVAL;
        int n = uri_split_query(x->query_text, x->query, EXCHANGE_QUERY_MAX);
        if (n < 0)
                return -EINVAL;
        x->nquery = (size_t)n;
        if (!is_text(x))
                return -EILSEQ;
        char *bucket = x->path + 1, *slash = strchr(bucket, '/');
        if (slash) {
                *slash = 0;
                x->key = slash + 1;
        }
        x->bucket = bucket;
        const char *id = request_query(x, "uploadId");
        if (id)
                x->upload = id;
        long part = s3_query_number(x, "partNumber", 0, VAULT_PARTS_MAX);
        x->part = part > 0 ? (unsigned)part : 0;
        return 0;
}

long s3_query_number(const struct request *x, const char *name, long other, long max)
{
        const char *text = request_query(x, name);
        char *end;

        if (!text)
                return other;
        errno = 0;
        long n = strtol(text, &end, 10);
        return *text < '0' || *text > '9' || *end || errno || n > max ? -1 : n;
}

void s3_cond(const struct request *x, struct object_store_cond *cond)
{
        static const struct {
                const char *header;
                unsigned bit;
                size_t at;
        } numbers[] = {
                {"x-goog-if-generation-match", VAULT_GEN, offsetof(struct object_store_cond, gen)},
                {"x-goog-if-metageneration-match", VAULT_META,
                 offsetof(struct object_store_cond, meta)},
        };

        *cond = (struct object_store_cond){.if_match = s3_in(x, "if-match"),
                                           .if_none_match = s3_in(x, "if-none-match")};
        for (size_t i = 0; x->google && i < sizeof numbers / sizeof *numbers; i++) {
                const char *text = s3_in(x, numbers[i].header);
                if (!text)
                        continue;
                cond->has |= numbers[i].bit;
                *(int64_t *)(void *)((char *)cond + numbers[i].at) = strtoll(text, NULL, 10);
        }
}

struct object_store_upload s3_upload(const struct request *x)
{
        return (struct object_store_upload){x->bucket, x->key, x->upload};
}

/* Whether the body comes in chunks with a frame. */
static bool is_chunked(const struct request *x)
{
        const char *hash = s3_in(x, "x-amz-content-sha256");
        const char *coding = s3_in(x, "content-encoding");

        return (hash && !strncmp(hash, "STREAMING-", 10)) ||
               (coding && strcasestr(coding, "aws-chunked"));
}

/* Whether the requester says that it pays, which is said back. */
static bool pays(struct request *x)
{
        const char *payer = s3_in(x, "x-amz-request-payer");

        if (!payer || strcmp(payer, "requester"))
                return false;
        s3_header(x, "x-amz-request-charged", "requester");
        return true;
}

/* All buckets are of one account: "If the account ID that you provide does not match the actual
 * owner of the bucket, the request fails with the HTTP status code 403 Forbidden" (API reference).
 */
static bool is_anothers(const struct request *x)
{
        static const char *const headers[] = {"x-amz-expected-bucket-owner",
                                              "x-amz-source-expected-bucket-owner"};
        for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
                const char *owner = s3_in(x, headers[i]);
                if (owner && strcmp(owner, S3_OWNER))
                        return true;
        }
        return false;
}

/* "Expects the '*' (asterisk) character" (API reference, PutObject and CompleteMultipartUpload;
 * those of copies are in s3_copy.c). */
static bool excludes_a_version(const struct request *x)
{
        const char *none = s3_in(x, "if-none-match");
        bool writes = !strcmp(x->op, "PutObject") || !strcmp(x->op, "CompleteMultipartUpload");

        return writes && !x->google && none && strcmp(none, "*");
}

/* "The PUT request header is limited to 8 KB in size" (user guide, "Object metadata"), and that of
 * other requests, too. */
static bool has_long_head(const struct request *x)
{
        size_t sum = 0;

        for (unsigned i = 0; i < x->rq.nheaders; i++)
                sum += strlen(x->rq.headers[i].name) + strlen(x->rq.headers[i].value);
        return !x->google && sum > S3_HEADERS_MAX;
}

void s3_deny(struct request *x, const char *name)
{
        char message[PERMISSION_MAX + 128];

        if (x->google)
                snprintf(message, sizeof message, "The caller does not have %s access.", name);
        else
                snprintf(message, sizeof message, "The caller is not authorized to perform: %s",
                         name);
        s3_refuse(x, 403, "AccessDenied", message);
}

/* Whether the reply is set to that of a policy which does not allow the request. */
static bool lacks_permission(const struct service *s, struct request *x)
{
        char name[PERMISSION_MAX];

        if (!permission_lacks(s, x, name))
                return false;
        s3_deny(x, name);
        return true;
}

static void begin(struct service *s, struct request *x)
{
        x->op = "Unknown";
        x->bucket = x->key = x->upload = x->other_bucket = x->other_key = "";
        s3_begin_headers(x);
        int err = take_apart(s, x);
        if (err) {
                s3_error(x, err == -ENOMEM   ? "InternalError"
                            : err == -EILSEQ ? "InvalidURI"
                                             : "InvalidRequest");
                return;
        }
        const struct s3_op *op = find_op(x);
        if (op)
                x->op = op->name;
        if (s3_bad_address(x))
                return;
        if (s3_denied(s, x) || (op && s3_needs_session(x) && s3_bad_session(s, x)))
                return;
        if (!op) {
                s3_error(x, "MethodNotAllowed");
                return;
        }
        bool named = request_query(x, "versionId");
        if (named &&
            (!s3_keeps_versions(s, x) || (op->finish != s3_get && op->finish != s3_delete)))
                op = &not_implemented;
        x->priv = op;
        x->to = op->to;
        x->chunked = is_chunked(x);
        if (x->google && gs_is_unpaid(s, x))
                s3_refuse(x, 400, "UserProjectMissing", GS_UNPAID);
        else if (is_anothers(x) || (!x->google && s->s3->requester_pays && *x->bucket && !pays(x)))
                s3_error(x, "AccessDenied");
        else if (has_long_head(x))
                s3_refuse(x, 400, "RequestHeaderSectionTooLarge", NULL);
        else if (strlen(x->key) > S3_KEY_MAX)
                s3_error(x, strcmp(x->op, "RenameObject") ? "KeyTooLongError" : "KeyTooLong");
        else if (x->google && request_google_name(x->key, object_store_has_folders(s->objects)))
                s3_error(x, "InvalidArgument");
        else if (*x->bucket && op->finish != s3_create_bucket && op != &not_implemented &&
                 !object_store_has_bucket(s->objects, x->bucket))
                s3_error(x, "NoSuchBucket");
        else if (excludes_a_version(x))
                s3_error(x, "NotImplemented");
        else if (lacks_permission(s, x))
                return;
        else if (op->to == BODY_TEXT && x->rq.body_len > EXCHANGE_TEXT_MAX)
                s3_error(x, "EntityTooLarge");
        if (x->status)
                return;
        if (s->s3->radosgw && !x->google)
                s3_radosgw_begin(x);
        if (!x->google && s3_refused_by_ways(s, x))
                return;
        if (!s3_bad_checksums(s, x) && op->begin)
                op->begin(s, x);
}

static void finish(struct service *s, struct request *x)
{
        const struct s3_op *op = x->priv;

        op->finish(s, x);
        if (s->s3->radosgw && !x->google)
                s3_radosgw_finish(x);
        if (x->headers.failed || x->body.failed)
                s3_error(x, "InternalError");
}

void s3_not_implemented(struct service *s, struct request *x)
{
        (void)s;
        s3_error(x, "NotImplemented");
}

const struct protocol protocol_s3 = {
        .name = "s3",
        .begin = begin,
        .finish = finish,
        .refuse = s3_refuse,
        .error_in_200 = s3_error_in_200,
};
