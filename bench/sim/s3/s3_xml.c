/* SPDX-License-Identifier: Apache-2.0 */
/* s3_xml.c: replies: errors, headers and XML. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/digest.h"
#include "base/text/utf8.h"
#include "base/text/xml.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

static const struct {
        const char *code;
        int status;
        const char *message;
} errors[] = {
        {"AccessDenied", 403, "Access Denied"},
        {"AuthorizationHeaderMalformed", 400, "The authorization header is malformed."},
        {"BadDigest", 400, "The digest you specified did not match what was received."},
        {"BadRequest", 400, "The request is not understood."},
        {"BucketAlreadyOwnedByYou", 409, "The bucket exists already."},
        {"BucketNotEmpty", 409, "The bucket you tried to delete is not empty."},
        {"EntityTooLarge", 400, "Your proposed upload exceeds the maximum allowed size."},
        {"EntityTooSmall", 400,
         "Your proposed upload is smaller than the minimum allowed size of a part."},
        {"ExpiredToken", 400, "The provided token has expired."},
        {"IncompleteBody", 400, "The body is shorter or longer than its headers say."},
        {"InternalError", 500, "We encountered an internal error. Please try again."},
        {"InvalidAccessKeyId", 403, "The access key ID you provided does not exist."},
        {"InvalidArgument", 400, "A parameter has a value that is not allowed."},
        {"InvalidBucketName", 400, "The specified bucket is not valid."},
        {"InvalidDigest", 400, "The digest you specified is not valid."},
        {"InvalidPart", 400,
         "One or more of the specified parts could not be found, or its ETag did not match."},
        {"InvalidPartNumber", 416, "The requested partnumber is not satisfiable"},
        {"InvalidPartOrder", 400, "The list of parts was not in ascending order."},
        {"InvalidRange", 416, "The requested range cannot be satisfied."},
        {"InvalidRequest", 400, "The request is not valid."},
        {"InvalidWriteOffset", 400,
         "The write offset value that you specified does not match the current object size."},
        {"InvalidToken", 400, "The provided token is malformed or otherwise not valid."},
        {"InsufficientStorage", 507, "There is no more room."},
        {"InvalidURI", 400, "Couldn't parse the specified URI."},
        {"KeyTooLong", 400, "Your key is too long."},
        {"KeyTooLongError", 400, "Your key is too long."},
        {"MalformedXML", 400, "The XML you provided was not well-formed."},
        {"MetadataTooLarge", 400, "Your metadata headers exceed the maximum allowed size."},
        {"MethodNotAllowed", 405, "The method is not allowed against this resource."},
        {"MissingContentLength", 411, "You must provide the Content-Length header."},
        {"NoSuchBucket", 404, "The specified bucket does not exist."},
        {"NoSuchKey", 404, "The specified key does not exist."},
        {"NoSuchUpload", 404, "The specified upload does not exist."},
        {"NotImplemented", 501, "A header or operation is not implemented."},
        {"NotModified", 304, ""},
        {"PreconditionFailed", 412, "A precondition you specified did not hold."},
        {"RequestHeaderSectionTooLarge", 431, "Your request header is too large."},
        {"RequestTimeTooSkewed", 403,
         "The difference between the request time and the server's time is too large."},
        {"RequestTimeout", 400, "Your socket connection was not read from in time."},
        {"ServiceUnavailable", 503, "Please try again."},
        {"SignatureDoesNotMatch", 403, "The request signature we calculated does not match."},
        {"SlowDown", 503, "Please reduce your request rate."},
        {"TooManyParts", 400, "The object has as many parts as it may have."},
        {"XAmzContentSHA256Mismatch", 400,
         "The provided x-amz-content-sha256 header does not match what was computed."},
};

enum { NERRORS = sizeof errors / sizeof *errors };

static size_t find_error(const char *code, int status)
{
        for (size_t i = 0; i < NERRORS; i++)
                if (code ? !strcmp(errors[i].code, code) : errors[i].status == status)
                        return i;
        return NERRORS;
}

void s3_begin_headers(struct request *x)
{
        buf_reset(&x->headers);
        buf_addf(&x->headers, "%s: %s\r\n", x->google ? "X-GUploader-UploadID" : "x-amz-request-id",
                 x->id);
}

void s3_header(struct request *x, const char *name, const char *value)
{
        if (x->google && !strncmp(name, "x-amz-", 6))
                buf_addf(&x->headers, "x-goog-%s: %s\r\n", name + 6, value);
        else
                request_header(x, name, value);
}

/* Lists hold thousands of elements; printf() would take most of their time. */
static void tag(struct buf *b, const char *name, bool end)
{
        buf_adds(b, end ? "</" : "<");
        buf_adds(b, name);
        buf_addc(b, '>');
}

void s3_element(struct buf *b, const char *name, const char *value)
{
        tag(b, name, false);
        xml_escape(b, value);
        tag(b, name, true);
}

void s3_element_u64(struct buf *b, const char *name, uint64_t value)
{
        char text[20], *end = text + sizeof text, *p = http_digits(end, value, 1);

        tag(b, name, false);
        buf_add(b, p, (size_t)(end - p));
        tag(b, name, true);
}

void s3_element_time(const struct request *x, struct buf *b, const char *name, int64_t ns)
{
        char text[HTTP_TIME_LEN];

        http_time(x->google ? ns : ns - ns % 1000000000, text);
        s3_element(b, name, text);
}

void s3_element_etag(struct buf *b, const struct object *o)
{
        buf_adds(b, "<ETag>&quot;");
        buf_adds(b, o->etag);
        buf_adds(b, "&quot;</ETag>");
}

void s3_element_checksum(struct buf *b, const struct object *o)
{
        char crc[9];

        crc32c_base64(o->crc, crc);
        if (s3_crc64(o))
                s3_element(b, "ChecksumCRC64NVME", s3_crc64(o));
        else if (o->has_crc)
                s3_element(b, "ChecksumCRC32C", crc);
}

static void error_body(struct request *x, const char *code, const char *message)
{
        buf_reset(&x->body);
        buf_adds(&x->body, x->status == 200 ? S3_XML_SLOW "<Error>" : S3_XML_HEAD "<Error>");
        s3_element(&x->body, "Code", code);
        s3_element(&x->body, "Message", message);
        s3_element(&x->body, "Resource", x->rq.path && utf8_valid(x->rq.path) ? x->rq.path : "");
        if (!x->google)
                s3_element(&x->body, "RequestId", x->id);
        buf_adds(&x->body, "</Error>");
}

void s3_refuse(struct request *x, int status, const char *code, const char *message)
{
        size_t i = find_error(code, status);

        if (i < NERRORS) {
                code = code ? code : errors[i].code;
                message = message ? message : errors[i].message;
                status = status ? status : errors[i].status;
        }
        if (!code)
                code = status >= 500 ? "InternalError" : "BadRequest";
        if (!message)
                message = http_reason(status);
        object_unref(x->object);
        x->object = NULL;
        x->status = status;
        s3_begin_headers(x);
        buf_reset(&x->body);
        if (status == 304)
                return;
        s3_header(x, "Content-Type", "application/xml");
        error_body(x, code, message);
        x->head_only = x->rq.method && !strcmp(x->rq.method, "HEAD");
}

void s3_error(struct request *x, const char *code)
{
        s3_refuse(x, 0, code, NULL);
}

void s3_error_with(struct request *x, const char *code, const char *name, const char *value)
{
        s3_error(x, code);
        s3_error_add(x, name, value);
}

void s3_error_add(struct request *x, const char *name, const char *value)
{
        static const char end[] = "</Error>";

        x->body.len -= sizeof end - 1;
        s3_element(&x->body, name, value);
        buf_adds(&x->body, end);
}

void s3_error_region(struct request *x, const char *region)
{
        s3_error_with(x, "AuthorizationHeaderMalformed", "Region", region);
        s3_header(x, "x-amz-bucket-region", region);
}

void s3_error_in_200(struct request *x, const char *code, const char *message)
{
        s3_refuse(x, 200, code, message);
}

void s3_fail(struct request *x, int err)
{
        switch (err) {
        case -ENOENT:
                s3_error(x, *x->upload ? "NoSuchUpload" : "NoSuchKey");
                break;
        case -ENXIO:
                s3_error(x, "NoSuchBucket");
                break;
        case -ESTALE:
        case -EALREADY:
                s3_error(x, "PreconditionFailed");
                break;
        case -EBUSY:
                s3_refuse(x, 429, "SlowDown",
                          "The object exceeded the rate limit for object mutation operations.");
                break;
        case -EPERM:
                s3_refuse(x, 403, "RetentionPolicyNotMet",
                          "Object is subject to bucket's retention policy or object retention and "
                          "cannot be deleted or overwritten yet.");
                break;
        case -ENOSPC:
        case -EDQUOT:
                s3_error(x, "InsufficientStorage");
                break;
        default:
                s3_refuse(x, 500, "InternalError", strerror(-err));
        }
}

void s3_reply_xml(struct request *x)
{
        x->status = 200;
        s3_header(x, "Content-Type", "application/xml");
}

void s3_reply(struct request *x, int status)
{
        x->status = status;
}

void s3_checksum_headers(struct request *x, const struct object *o)
{
        char text[9];

        if (!o->has_crc)
                return;
        crc32c_base64(o->crc, text);
        if (x->google) {
                buf_addf(&x->headers, "x-goog-hash: crc32c=%s\r\n", text);
                return;
        }
        s3_header(x, "x-amz-checksum-type", "FULL_OBJECT");
        if (s3_crc64(o)) /* the algorithm that it was sent with */
                s3_header(x, S3_CRC64NVME, s3_crc64(o));
        else
                s3_header(x, "x-amz-checksum-crc32c", text);
}

/* The second vendor's, of a version. */
static void generation_headers(struct request *x, const struct object *o)
{
        buf_addf(&x->headers,
                 "x-goog-generation: %" PRId64 "\r\nx-goog-metageneration: %u\r\n"
                 "x-goog-stored-content-length: %" PRIu64 "\r\n",
                 o->generation, o->metageneration, o->size);
        if (o->components)
                buf_addf(&x->headers, "x-goog-component-count: %u\r\n", o->components);
}

/* Tags are counted, not told. */
static void tagging_count(struct request *x, const char *tags)
{
        char count[16];
        unsigned n = 1;

        while ((tags = strchr(tags, '&'))) {
                tags++;
                n++;
        }
        snprintf(count, sizeof count, "%u", n);
        s3_header(x, S3_TAGGING "-count", count);
}

/* Other characters than those of US-ASCII come as RFC 2047 has it. "If some metadata contains
 * unprintable characters, it is not returned" (developer guide, "Metadata"). */
static bool is_unprintable(const char *value)
{
        static const char coded[] = "=?UTF-8?B?";
        unsigned char text[S3_META_MAX];
        char word[S3_META_MAX];
        size_t head = sizeof coded - 1;

        if (strncasecmp(value, coded, head))
                return false;
        size_t n = strcspn(value + head, "?");
        if (n >= sizeof word)
                return false;
        memcpy(word, value + head, n);
        word[n] = 0;
        int len = base64_decode(word, text, sizeof text);
        for (int i = 0; i < len; i++)
                if (text[i] < ' ' || text[i] == 0x7f)
                        return true;
        return false;
}

/* "Instead, the x-amz-missing-meta header is returned with a value of the number of the unprintable
 * metadata entries" (the same). */
static void metadata_headers(struct request *x, const struct object *o)
{
        char count[16];
        unsigned missing = 0;

        for (const char *n = NULL; (n = object_meta_next(o, n));) {
                const char *value = n + strlen(n) + 1;
                if (!strcmp(n, S3_TAGGING))
                        tagging_count(x, value);
                else if (!x->google && is_unprintable(value))
                        missing++;
                else if (*n != ':')
                        s3_header(x, n, value);
        }
        snprintf(count, sizeof count, "%u", missing);
        if (missing)
                s3_header(x, "x-amz-missing-meta", count);
}

void s3_object_headers(struct request *x, const struct object *o, bool with_meta)
{
        char date[32];

        buf_addf(&x->headers, "ETag: \"%s\"\r\n", o->etag);
        if (x->google)
                generation_headers(x, o);
        if (!with_meta)
                return;
        http_date(o->mtime_ns / 1000000000, date);
        s3_header(x, "Last-Modified", date);
        s3_header(x, "Accept-Ranges", "bytes");
        if (!object_meta(o, "content-type"))
                s3_header(x, "Content-Type", "binary/octet-stream");
        metadata_headers(x, o);
}
