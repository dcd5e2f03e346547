/* SPDX-License-Identifier: Apache-2.0 */
/* s3_arn.c: buckets that are given as the ARN of an access point,
 * arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME. The region is that of the ARN, and the host
 * NAME-ACCOUNT.s3-accesspoint.REGION.amazonaws.com (user guide, "Referencing access points with
 * ARNs, access point aliases, or virtual-hosted-style URIs"). */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

/* arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE */
enum { ARN, PARTITION, SERVICE, REGION, ACCOUNT, RESOURCE, FIELDS };

static bool is_arn(const char *text)
{
        return !strncmp(text, "arn:", 4);
}

size_t s3_bucket_len(const char *text)
{
        const char *p = text;

        for (int i = ARN; is_arn(text) && i < RESOURCE; i++)
                if (!(p = strchr(p, ':')))
                        return strcspn(text, "/");
                else
                        p++;
        /* Of a resource the type and, behind '/' or ':', the name. */
        size_t n = strcspn(p, is_arn(text) ? "/:" : "/");
        if (is_arn(text) && p[n])
                n += 1 + strcspn(p + n + 1, "/");
        return (size_t)(p - text) + n;
}

static int refuse(const char *arn, const char *cause, const char *remedy, char *why, size_t nwhy)
{
        snprintf(why, nwhy, "'%s': %s: %s", arn, cause, remedy);
        return -EINVAL;
}

static bool is_name(const char *text)
{
        enum { NAME_MAX_LEN = 50 };
        return *text && strlen(text) <= NAME_MAX_LEN &&
               !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

/* Whether the fields are those of an access point that can be asked. */
static int check(const char *arn, char *const f[FIELDS], const char *name, char *why, size_t nwhy)
{
        static const char give[] = "give the ARN of an access point, "
                                   "arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME, or the bucket";

        if (!strcmp(f[SERVICE], "s3express"))
                return refuse(arn, "that is the ARN of a directory bucket or of its access point",
                              "give s3:// and its name", why, nwhy);
        if (strcmp(f[SERVICE], "s3"))
                return refuse(arn, "buckets of that service are not served", give, why, nwhy);
        if (!*f[REGION] && !*f[ACCOUNT])
                return refuse(arn, "that is the ARN of a bucket", "give s3:// and its name", why,
                              nwhy);
        if (!*f[REGION] && name)
                return refuse(arn,
                              "an access point of several regions wants SigV4A, a signature that "
                              "ckptfs does not make",
                              "give an access point of one region, or the bucket", why, nwhy);
        if (!name || strcmp(f[RESOURCE], "accesspoint") || !is_name(name) || !is_name(f[REGION]) ||
            !s3_is_account(f[ACCOUNT]))
                return refuse(arn, "that is no access point", give, why, nwhy);
        return 0;
}

int s3_arn_open(struct store_kind *k, char region[S3_REGION_MAX], char *why, size_t nwhy)
{
        CLEANUP(freep) char *text = strdup(k->bucket);
        CLEANUP(buf_release) struct buf point = BUF_INIT, arn = BUF_INIT;
        char *f[FIELDS] = {text};

        if (!is_arn(k->bucket))
                return 0;
        if (!text)
                return -ENOMEM;
        for (int i = PARTITION; i < FIELDS; i++) {
                if (!(f[i] = strchr(f[i - 1], ':')))
                        return refuse(k->bucket, "that is no ARN", "give s3:// and the bucket", why,
                                      nwhy);
                *f[i]++ = 0;
        }
        size_t type = strcspn(f[RESOURCE], "/:");
        char *name = f[RESOURCE][type] ? f[RESOURCE] + type + 1 : NULL;
        f[RESOURCE][type] = 0;
        int err = check(k->bucket, f, name, why, nwhy);
        if (err)
                return err;
        snprintf(region, S3_REGION_MAX, "%s", f[REGION]);
        buf_addf(&point, "%s-%s", name, f[ACCOUNT]);
        buf_addf(&arn, "arn:%s:s3:%s:%s:accesspoint/%s", f[PARTITION], f[REGION], f[ACCOUNT], name);
        if (point.failed || arn.failed)
                return -ENOMEM;
        free(k->bucket);
        k->bucket = buf_take(&arn);
        k->point = buf_take(&point);
        return k->bucket && k->point ? 0 : -ENOMEM;
}
