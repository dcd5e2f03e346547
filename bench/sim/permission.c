/* SPDX-License-Identifier: Apache-2.0 */
/* permission.c: what the vendors want a caller to be permitted for an operation, which --deny
 * refuses. The tables are the vendors': "API operations defined by Amazon S3" (AWS Service
 * Authorization Reference), "IAM permissions for JSON methods" and "IAM permissions for XML
 * methods" (Cloud Storage documentation). A permission comes before everything that the store would
 * say of the object or the upload. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/sim/http/request.h"
#include "bench/sim/store/object.h"
#include "bench/sim/store/object_store.h"
#include "base/banned.h"

/* Operations by the names that the log has. The permissions are separated by blanks; one that ends
 * in '?' is needed where the object is there already, and is replaced. */
static const struct needs {
        const char *op, *s3, *google;
} needs[] = {
        {"ListObjectsV2", "s3:ListBucket", "storage.objects.list"},
        {"ListObjects", "s3:ListBucket", "storage.objects.list"},
        {"ListMultipartUploads", "s3:ListBucketMultipartUploads", "storage.multipartUploads.list"},
        {"HeadObject", "s3:GetObject", "storage.objects.get"},
        {"GetObject", "s3:GetObject", "storage.objects.get"},
        {"GetObjectTagging", "s3:GetObjectTagging", ""},
        {"ListParts", "s3:ListMultipartUploadParts", "storage.multipartUploads.listParts"},
        {"PutObject", "s3:PutObject", "storage.objects.create storage.objects.delete?"},
        {"CopyObject", "s3:GetObject s3:PutObject",
         "storage.objects.get storage.objects.create storage.objects.delete?"},
        {"CreateMultipartUpload", "s3:PutObject",
         "storage.multipartUploads.create storage.objects.create"},
        {"UploadPart", "s3:PutObject", "storage.multipartUploads.create storage.objects.create"},
        {"UploadPartCopy", "s3:GetObject s3:PutObject", ""},
        {"CompleteMultipartUpload", "s3:PutObject",
         "storage.multipartUploads.create storage.objects.create storage.objects.delete?"},
        {"AbortMultipartUpload", "s3:AbortMultipartUpload", "storage.multipartUploads.abort"},
        {"RestoreObject", "s3:RestoreObject", ""},
        {"DeleteObject", "s3:DeleteObject", "storage.objects.delete"},
        {"CreateSession", "s3express:CreateSession", ""},

        {"objects.list", "", "storage.objects.list"},
        {"objects.media", "", "storage.objects.get"},
        {"objects.get", "", "storage.objects.get"},
        {"objects.delete", "", "storage.objects.delete"},
        {"objects.patch", "", "storage.objects.update"},
        {"objects.rewrite", "",
         "storage.objects.get storage.objects.create storage.objects.delete?"},
        {"objects.copy", "", "storage.objects.get storage.objects.create storage.objects.delete?"},
        {"objects.move", "", "storage.objects.move storage.objects.create storage.objects.delete?"},
        {"objects.compose", "",
         "storage.objects.get storage.objects.create storage.objects.delete?"},
        {"objects.resumable", "", "storage.objects.create storage.objects.delete?"},
        {"objects.insert", "", "storage.objects.create storage.objects.delete?"},
        {"folders.insert", "", "storage.folders.create"},
        {"folders.list", "", "storage.folders.list"},
        {"folders.get", "", "storage.folders.get"},
        {"folders.delete", "", "storage.folders.delete"},
        {"folders.rename", "", "storage.folders.rename"},
};

bool permission_denied(const struct service *s, const char *name)
{
        size_t n = strlen(name);

        for (const char *p = s->denied; p && *p; p += strspn(p, ",")) {
                size_t len = strcspn(p, ",");
                if (len == n && !strncmp(p, name, n))
                        return true;
                p += len;
        }
        return false;
}

/* Whether the object that is to be made is there. */
static bool replaces(const struct service *s, const struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        const char *key = *x->other_key ? x->other_key : x->key;
        const char *bucket = *x->other_key ? x->other_bucket : x->bucket;

        return !object_store_get(s->objects, bucket, key, &o);
}

/* "Conditional deletes with a specific ETag value require both s3:DeleteObject and s3:GetObject
 * permissions" (user guide, "Enforce conditional deletes on Amazon S3 buckets"), and so do
 * conditional writes, beside s3:PutObject. */
static bool compares(const struct request *x)
{
        const char *match = x->google ? NULL : request_in(x, "if-match");
        bool changes = !strcmp(x->op, "PutObject") || !strcmp(x->op, "DeleteObject") ||
                       !strcmp(x->op, "CompleteMultipartUpload");

        return changes && match && strcmp(match, "*");
}

/* "s3:PutObjectTagging: required if you want to put object tagging" with an object (user guide,
 * "Required permissions for Amazon S3 API operations"). */
static bool tags(const struct request *x)
{
        return !x->google && request_in(x, "x-amz-tagging");
}

bool permission_lacks(const struct service *s, const struct request *x, char out[PERMISSION_MAX])
{
        const char *p = "";

        for (size_t i = 0; s->denied && i < sizeof needs / sizeof *needs; i++)
                if (!strcmp(needs[i].op, x->op))
                        p = x->google ? needs[i].google : needs[i].s3;
        for (size_t n; *p; p += n, p += strspn(p, " ")) {
                n = strcspn(p, " ");
                bool replacing = p[n - 1] == '?';
                snprintf(out, PERMISSION_MAX, "%.*s", (int)n - replacing, p);
                if (permission_denied(s, out) && (!replacing || replaces(s, x)))
                        return true;
        }
        snprintf(out, PERMISSION_MAX, "s3:PutObjectTagging");
        if (tags(x) && permission_denied(s, out))
                return true;
        snprintf(out, PERMISSION_MAX, "s3:GetObject");
        return compares(x) && permission_denied(s, out);
}
