/* SPDX-License-Identifier: Apache-2.0 */
/* s3_bucket.c: operations on buckets. */
#include <errno.h>
#include <string.h>

#include "bench/sim/s3/s3.h"
#include "base/banned.h"

static const char *region_of(const struct service *s)
{
        return s->region ? s->region : "us-east-1";
}

static int add_bucket(void *arg, const char *bucket)
{
        struct buf *b = arg;

        buf_adds(b, "<Bucket>");
        s3_element(b, "Name", bucket);
        buf_adds(b, "<CreationDate>1970-01-01T00:00:00.000Z</CreationDate></Bucket>");
        return 0;
}

void s3_list_buckets(struct service *s, struct request *x)
{
        buf_adds(&x->body, S3_XML_HEAD "<ListAllMyBucketsResult" S3_XMLNS "><Owner><ID>storesim"
                                       "</ID></Owner><Buckets>");
        object_store_buckets(s->objects, add_bucket, &x->body);
        buf_adds(&x->body, "</Buckets></ListAllMyBucketsResult>");
        s3_reply_xml(x);
}

void s3_head_bucket(struct service *s, struct request *x)
{
        s3_header(x, "x-amz-bucket-region", region_of(s));
        s3_reply(x, 200);
}

/* us-east-1 is written as nothing (GetBucketLocation in the API reference). */
void s3_get_location(struct service *s, struct request *x)
{
        const char *region = region_of(s);

        buf_adds(&x->body, S3_XML_HEAD "<LocationConstraint" S3_XMLNS ">");
        if (strcmp(region, "us-east-1"))
                buf_adds(&x->body, region);
        buf_adds(&x->body, "</LocationConstraint>");
        s3_reply_xml(x);
}

void s3_get_versioning(struct service *s, struct request *x)
{
        buf_adds(&x->body, S3_XML_HEAD "<VersioningConfiguration" S3_XMLNS ">");
        if (s3_keeps_versions(s, x))
                s3_element(&x->body, "Status", "Enabled");
        buf_adds(&x->body, "</VersioningConfiguration>");
        s3_reply_xml(x);
}

void s3_create_bucket(struct service *s, struct request *x)
{
        int err = object_store_add_bucket(s->objects, x->bucket);

        if (err == -EEXIST) {
                s3_error(x, "BucketAlreadyOwnedByYou");
        } else if (err == -EINVAL) {
                s3_error(x, "InvalidBucketName");
        } else if (err) {
                s3_fail(x, err);
        } else {
                buf_addf(&x->headers, "Location: /%s\r\n", x->bucket);
                s3_reply(x, 200);
        }
}

void s3_delete_bucket(struct service *s, struct request *x)
{
        int err = object_store_remove_bucket(s->objects, x->bucket);

        if (err == -ENOTEMPTY)
                s3_error(x, "BucketNotEmpty");
        else if (err)
                s3_fail(x, err);
        else
                s3_reply(x, 204);
}
