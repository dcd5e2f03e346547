/* SPDX-License-Identifier: Apache-2.0 */
/* s3_list.c: lists of objects, uploads and parts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

/* One page being written. Objects and common prefixes come mixed and leave apart. */
struct page {
        struct request *x;
        struct buf commons, later; /* later: what an unsorted page has at its end */
        const char *prefix, *delim;
        bool encode, unsorted;
        unsigned count, max;
        struct buf last; /* the last entry of the page */
        struct buf last_id;
        bool more;
};

static void page_release(struct page *p)
{
        buf_release(&p->commons);
        buf_release(&p->later);
        buf_release(&p->last);
        buf_release(&p->last_id);
}

/* A key, percent-encoded where encoding-type=url asks for it. */
static void element_key(const struct page *p, struct buf *b, const char *name, const char *key)
{
        if (!p->encode) {
                s3_element(b, name, key);
                return;
        }
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        uri_encode(&text, key, true);
        s3_element(b, name, text.p);
}

/* The parameters that all lists share. True when the reply is set to an error. */
static bool bad_page(struct page *p, struct request *x, const char *max_name)
{
        const char *encoding = request_query(x, "encoding-type");
        const char *prefix = request_query(x, "prefix");
        const char *delim = request_query(x, "delimiter");
        long max = s3_query_number(x, max_name, S3_PAGE_MAX, INT32_MAX);

        *p = (struct page){.x = x,
                           .commons = BUF_INIT,
                           .later = BUF_INIT,
                           .last = BUF_INIT,
                           .last_id = BUF_INIT};
        if (max < 0 || (encoding && strcasecmp(encoding, "url"))) {
                s3_error(x, "InvalidArgument");
                return true;
        }
        p->encode = encoding;
        p->unsorted = s3_is_express(x);
        if (p->unsorted && (request_query(x, "start-after") || (delim && strcmp(delim, "/")) ||
                            (prefix && *prefix && prefix[strlen(prefix) - 1] != '/'))) {
                s3_refuse(x, 400, "InvalidRequest",
                          "A directory bucket lists folders by their prefix only.");
                return true;
        }
        p->prefix = prefix ? prefix : "";
        p->delim = delim ? delim : "";
        p->max = max < S3_PAGE_MAX ? (unsigned)max : S3_PAGE_MAX;
        return false;
}

static void add_common(struct page *p, const char *common)
{
        buf_adds(&p->commons, "<CommonPrefixes>");
        element_key(p, &p->commons, "Prefix", common);
        buf_adds(&p->commons, "</CommonPrefixes>");
}

static int add_entry(void *arg, const struct object *o, const char *common, size_t ncommon)
{
        struct page *p = arg;
        struct buf *b = &p->x->body;

        if (p->unsorted && p->count % 2 == 0)
                b = &p->later;
        p->count++;
        buf_reset(&p->last);
        if (common) {
                buf_add(&p->last, common, ncommon);
                add_common(p, p->last.p);
                return 0;
        }
        buf_adds(&p->last, o->key);
        buf_adds(b, "<Contents>");
        element_key(p, b, "Key", o->key);
        s3_element_time(p->x, b, "LastModified", o->mtime_ns);
        s3_element_etag(b, o);
        if (p->x->google)
                s3_element_u64(b, "Generation", (uint64_t)o->generation);
        s3_element_u64(b, "Size", o->size);
        const char *class = object_meta(o, S3_CLASS);
        s3_element(b, "StorageClass", class ? class : "STANDARD");
        buf_adds(b, "</Contents>");
        return 0;
}

static void page_head(struct page *p, const char *name)
{
        struct buf *b = &p->x->body;

        buf_addf(b, S3_XML_HEAD "<%s" S3_XMLNS ">", name);
        s3_element(b, "Name", p->x->bucket);
        element_key(p, b, "Prefix", p->prefix);
        if (*p->delim)
                element_key(p, b, "Delimiter", p->delim);
        if (p->encode)
                s3_element(b, "EncodingType", "url");
        s3_element_u64(b, "MaxKeys", p->max);
}

struct upload_prefixes {
        const struct page *p;
        struct buf names; /* each once, with its NUL */
        size_t last;      /* where the last one begins */
};

static int add_upload_prefix(void *arg, const struct object_store_upload *up, int64_t begun_ns)
{
        struct upload_prefixes *u = arg;
        const char *rest = up->key + strlen(u->p->prefix), *slash = strchr(rest, '/');
        size_t n = slash ? (size_t)(slash + 1 - up->key) : 0;
        const char *last = u->names.p + u->last;

        (void)begun_ns;
        if (!n || (u->names.len && strlen(last) == n && !strncmp(last, up->key, n)))
                return 0;
        u->last = u->names.len;
        buf_add(&u->names, up->key, n);
        return buf_addc(&u->names, 0);
}

static int note_found(void *arg, const struct object *o, const char *common, size_t ncommon)
{
        (void)o;
        (void)common;
        (void)ncommon;
        *(bool *)arg = true;
        return 0;
}

/* "When you query ListObjectsV2 with a delimiter during in-progress multipart uploads, the
 * CommonPrefixes response parameter contains the prefixes that are associated with the in-progress
 * multipart uploads", in directory buckets (API reference, ListObjectsV2). They come at the end of
 * the list, where no object has the same. */
static int add_upload_prefixes(struct page *p, struct service *s)
{
        struct upload_prefixes u = {.p = p, .names = BUF_INIT};
        int err = object_store_uploads(s->objects, p->x->bucket, p->prefix, "", "",
                                       add_upload_prefix, &u);

        for (size_t at = 0; !err && at < u.names.len; at += strlen(u.names.p + at) + 1) {
                bool found = false;
                struct object_store_list l = {.prefix = u.names.p + at,
                                              .delim = "",
                                              .after = "",
                                              .max = 1,
                                              .fn = note_found,
                                              .arg = &found};
                err = object_store_list(s->objects, p->x->bucket, &l);
                if (!err && !found && p->count < p->max) {
                        add_common(p, l.prefix);
                        p->count++;
                }
        }
        buf_release(&u.names);
        return err;
}

/* Fills the page with what comes behind `after`. True when the reply is set to an error. */
static bool fill_page(struct page *p, struct service *s, const char *after, unsigned max)
{
        struct object_store_list l = {.prefix = p->prefix,
                                      .delim = p->delim,
                                      .after = after ? after : "",
                                      .max = max,
                                      .fn = add_entry,
                                      .arg = p};
        int err = object_store_list(s->objects, p->x->bucket, &l);

        p->more = l.more && p->max;
        if (!err && p->unsorted && *p->delim && !p->more)
                err = add_upload_prefixes(p, s);
        if (err) {
                s3_fail(p->x, err);
                return true;
        }
        buf_add(&p->x->body, p->later.p, p->later.len);
        buf_add(&p->x->body, p->commons.p, p->commons.len);
        s3_element(&p->x->body, "IsTruncated", p->more ? "true" : "false");
        p->x->body.failed |= p->commons.failed || p->later.failed || p->last.failed;
        return false;
}

static void add_token(struct buf *b, const char *last)
{
        buf_adds(b, "<NextContinuationToken>");
        request_add_token(b, last, strlen(last));
        buf_adds(b, "</NextContinuationToken>");
}

void s3_list_v2(struct service *s, struct request *x)
{
        CLEANUP(page_release) struct page p;
        const char *token = request_query(x, "continuation-token");
        const char *start = request_query(x, "start-after");
        bool by_key = s->s3->key_tokens;
        CLEANUP(freep)
        char *after = !token ? NULL : by_key ? strdup(token) : request_read_token(token);

        if (bad_page(&p, x, "max-keys"))
                return;
        if (token && !after) {
                s3_error(x, "InvalidArgument");
                return;
        }
        page_head(&p, "ListBucketResult");
        if (start)
                element_key(&p, &x->body, "StartAfter", start);
        if (token)
                s3_element(&x->body, "ContinuationToken", token);
        const char *from = after ? after : start ? start : "";
        if (fill_page(&p, s, from, request_page_max(x, p.max)))
                return;
        s3_element_u64(&x->body, "KeyCount", p.count);
        if (p.more) {
                const char *last = p.count ? p.last.p : from;
                if (by_key)
                        element_key(&p, &x->body, "NextContinuationToken", last);
                else
                        add_token(&x->body, last);
        }
        buf_adds(&x->body, "</ListBucketResult>");
        s3_reply_xml(x);
}

void s3_list_v1(struct service *s, struct request *x)
{
        CLEANUP(page_release) struct page p;
        const char *marker = request_query(x, "marker");

        if (bad_page(&p, x, "max-keys"))
                return;
        page_head(&p, "ListBucketResult");
        element_key(&p, &x->body, "Marker", marker ? marker : "");
        if (fill_page(&p, s, marker, p.max))
                return;
        if (p.more && *p.delim)
                element_key(&p, &x->body, "NextMarker", p.last.p);
        buf_adds(&x->body, "</ListBucketResult>");
        s3_reply_xml(x);
}

static int add_upload(void *arg, const struct object_store_upload *up, int64_t begun_ns)
{
        struct page *p = arg;
        struct buf *b = &p->x->body;

        if (p->count == p->max) {
                p->more = true;
                return 1;
        }
        p->count++;
        buf_reset(&p->last);
        buf_reset(&p->last_id);
        buf_adds(&p->last, up->key);
        buf_adds(&p->last_id, up->id);
        buf_adds(b, "<Upload>");
        element_key(p, b, "Key", up->key);
        s3_element(b, "UploadId", up->id);
        buf_adds(b, "<StorageClass>STANDARD</StorageClass>");
        s3_element_time(p->x, b, "Initiated", begun_ns);
        buf_adds(b, "</Upload>");
        return 0;
}

/* "For directory buckets, key-marker is obfuscated and isn't a real object key. The
 * upload-id-marker parameter isn't supported by directory buckets" (API reference,
 * ListMultipartUploads). */
static void add_next_upload(struct page *p)
{
        struct buf *b = &p->x->body;

        if (!p->unsorted) {
                element_key(p, b, "NextKeyMarker", p->last.p);
                s3_element(b, "NextUploadIdMarker", p->last_id.p);
                return;
        }
        CLEANUP(buf_release) struct buf token = BUF_INIT;
        buf_addf(&p->last_id, "/%s", p->last.p);
        request_add_token(&token, p->last_id.p, p->last_id.len);
        element_key(p, b, "NextKeyMarker", token.p);
}

void s3_list_uploads(struct service *s, struct request *x)
{
        CLEANUP(page_release) struct page p;
        const char *key = request_query(x, "key-marker");
        const char *id = request_query(x, "upload-id-marker");
        CLEANUP(freep) char *token = NULL;
        struct buf *b = &x->body;

        if (bad_page(&p, x, "max-uploads"))
                return;
        if (p.unsorted && (id || (key && *key && !(token = request_read_token(key))))) {
                s3_error(x, id ? "NotImplemented" : "InvalidArgument");
                return;
        }
        if (*p.delim) {
                s3_error(x, "NotImplemented");
                return;
        }
        buf_adds(b, S3_XML_HEAD "<ListMultipartUploadsResult" S3_XMLNS ">");
        s3_element(b, "Bucket", x->bucket);
        element_key(&p, b, "KeyMarker", key ? key : "");
        s3_element(b, "UploadIdMarker", id ? id : "");
        element_key(&p, b, "Prefix", p.prefix);
        s3_element_u64(b, "MaxUploads", p.max);
        if (p.encode)
                s3_element(b, "EncodingType", "url");
        if (token) {
                key = strchr(token, '/') ? strchr(token, '/') + 1 : "";
                id = token;
                token[strcspn(token, "/")] = 0;
        }
        p.max = request_page_max(x, p.max);
        int err = object_store_uploads(s->objects, x->bucket, p.prefix, key ? key : "",
                                       id ? id : "", add_upload, &p);
        if (err < 0) {
                s3_fail(x, err);
                return;
        }
        if (p.more && p.count)
                add_next_upload(&p);
        s3_element(b, "IsTruncated", p.more && p.count ? "true" : "false");
        buf_adds(b, "</ListMultipartUploadsResult>");
        s3_reply_xml(x);
}

struct parts {
        const struct request *x;
        struct buf *b;
        unsigned count, max, last;
        bool more;
};

static int add_part(void *arg, unsigned number, const struct object *part)
{
        struct parts *p = arg;

        if (p->count == p->max) {
                p->more = true;
                return 1;
        }
        p->count++;
        p->last = number;
        buf_adds(p->b, "<Part>");
        s3_element_u64(p->b, "PartNumber", number);
        s3_element_time(p->x, p->b, "LastModified", part->mtime_ns);
        s3_element_etag(p->b, part);
        s3_element_u64(p->b, "Size", part->size);
        buf_adds(p->b, "</Part>");
        return 0;
}

void s3_list_parts(struct service *s, struct request *x)
{
        struct object_store_upload up = s3_upload(x);
        long max = s3_query_number(x, "max-parts", S3_PAGE_MAX, INT32_MAX);
        long after = s3_query_number(x, "part-number-marker", 0, INT32_MAX);
        struct buf *b = &x->body;
        struct parts p = {.x = x, .b = b, .max = max < S3_PAGE_MAX ? (unsigned)max : S3_PAGE_MAX};

        if (max < 0 || after < 0) {
                s3_error(x, "InvalidArgument");
                return;
        }
        if (s3_key_of_upload_is_missing(s, x))
                return;
        buf_adds(b, S3_XML_HEAD "<ListPartsResult" S3_XMLNS ">");
        s3_element(b, "Bucket", x->bucket);
        s3_element(b, "Key", x->key);
        s3_element(b, "UploadId", x->upload);
        s3_element(b, "StorageClass", "STANDARD");
        s3_element_u64(b, "PartNumberMarker", (uint64_t)after);
        s3_element_u64(b, "MaxParts", p.max);
        int err = object_store_upload_parts(s->objects, &up, (unsigned)after, add_part, &p);
        if (err < 0) {
                s3_fail(x, err);
                return;
        }
        if (p.more && p.count)
                s3_element_u64(b, "NextPartNumberMarker", p.last);
        s3_element(b, "IsTruncated", p.more && p.count ? "true" : "false");
        buf_adds(b, "</ListPartsResult>");
        s3_reply_xml(x);
}
