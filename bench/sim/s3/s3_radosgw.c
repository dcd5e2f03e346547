/* SPDX-License-Identifier: Apache-2.0 */
/* s3_radosgw.c: the ways of Ceph's gateway where they are not the vendor's, as that of 16.2.15 has
 * them. A request is changed before it is looked at, and a reply once it is made. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text/uri.h"
#include "base/text/xml.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

static bool begins(const char *text, const char *with)
{
        return !strncasecmp(text, with, strlen(with));
}

static bool is_op(const struct request *x, const char *name)
{
        return !strcmp(x->op, name);
}

/* Conditions of a put and of what is read are looked at, and none else. */
static bool is_unknown(const struct request *x, const char *name)
{
        bool other = !is_op(x, "PutObject") && !is_op(x, "GetObject") && !is_op(x, "HeadObject");

        return begins(name, "x-amz-checksum-") || begins(name, "x-amz-copy-source-if-") ||
               !strcasecmp(name, "x-amz-trailer") || (other && begins(name, "if-"));
}

/* A copy's condition on its source has a name of its own, and a part's copy has none. */
static bool is_source_match(const struct request *x, const char *name)
{
        return is_op(x, "CopyObject") && !strcasecmp(name, "x-amz-copy-if-match");
}

/* Names of metadata are those of variables on their way, and have a hyphen for each underscore
 * then. */
static void rename_meta(const char *name)
{
        for (char *p = (char *)(uintptr_t)name; (p = strchr(p, '_'));)
                *p = '-';
}

/* The source of a part is decoded twice. */
static const char *decode_once(struct request *x, const char *source)
{
        free(x->named);
        x->named = strdup(source);
        return x->named && uri_decode(x->named, false) >= 0 ? x->named : "";
}

void s3_radosgw_begin(struct request *x)
{
        static const char nothing[] = "x-nothing";

        for (unsigned i = 0; i < x->rq.nheaders; i++) {
                struct http_header *h = &x->rq.headers[i];
                if (is_unknown(x, h->name))
                        h->name = nothing;
                else if (is_source_match(x, h->name))
                        h->name = "x-amz-copy-source-if-match";
                else if (is_op(x, "PutObject") && !strcasecmp(h->name, "if-match") &&
                         *h->value == '"') /* is compared with an ETag that has no quotes */
                        h->value = "\"\"";
                else if (is_op(x, "UploadPartCopy") && !strcasecmp(h->name, "x-amz-copy-source"))
                        h->value = decode_once(x, h->value);
                else if (begins(h->name, S3_META))
                        rename_meta(h->name);
        }
}

/* --- replies --- */

static void cut(struct buf *b, size_t at, size_t n)
{
        memmove(b->p + at, b->p + at + n, b->len - at - n + 1);
        b->len -= n;
}

/* Cuts what stands between the two, and them, too. */
static void cut_between(struct buf *b, const char *from, const char *to)
{
        char *p = strstr(b->p, from);
        char *end = p ? strstr(p, to) : NULL;

        if (end)
                cut(b, (size_t)(p - b->p), (size_t)(end - p) + strlen(to));
}

/* Only keys are encoded, and nothing says that they are. */
static void plain_marker(struct buf *b)
{
        static const char tag[] = "<NextKeyMarker>";
        CLEANUP(freep) char *rest = NULL;
        CLEANUP(freep) char *key = NULL;
        char *p = strstr(b->p, tag);

        cut_between(b, "<EncodingType>", "</EncodingType>");
        if (!p || !(p = strstr(b->p, tag)))
                return;
        p += sizeof tag - 1;
        size_t n = strcspn(p, "<");
        if (!(key = strndup(p, n)) || !(rest = strdup(p + n)) || uri_decode(key, false) < 0)
                return;
        cut(b, (size_t)(p - b->p), strlen(p));
        xml_escape(b, key);
        buf_adds(b, rest);
}

void s3_radosgw_finish(struct request *x)
{
        static const char sum[] = "x-amz-checksum-";

        while (strstr(x->headers.p, sum))
                cut_between(&x->headers, sum, "\r\n");
        if (x->object)
                s3_header(x, "x-rgw-object-type", "Normal");
        if (is_op(x, "CompleteMultipartUpload")) {
                cut_between(&x->body, "<ChecksumCRC32C>", "</ChecksumCRC32C>");
                cut_between(&x->body, "<ChecksumType>", "</ChecksumType>");
                cut_between(&x->body, "<ETag>", "</ETag>");
        } else if (is_op(x, "ListMultipartUploads")) {
                plain_marker(&x->body);
        }
}
