/* SPDX-License-Identifier: Apache-2.0 */
/* s3_ways.c: ways of servers that are not the vendor's, each by an option of its own. A request is
 * changed or refused before it is looked at. */
#include <string.h>
#include <strings.h>

#include "bench/sim/s3/s3.h"
#include "base/banned.h"

static bool is_op(const struct request *x, const char *name)
{
        return !strcmp(x->op, name);
}

/* What becomes of a header of what writes an object. */
static enum s3_if way_of(const struct service *s, const struct request *x, const char *name)
{
        if (!is_op(x, "PutObject") && !is_op(x, "CopyObject") &&
            !is_op(x, "CompleteMultipartUpload"))
                return IF_HONORED;
        if (!strcasecmp(name, "if-match"))
                return s->s3->if_match;
        return strcasecmp(name, "if-none-match") ? IF_HONORED : s->s3->if_none_match;
}

/* Headers of the vendor's in the requests of a client, by what they begin with. */
static bool is_foreign(const char *name)
{
        static const char *const known[] = {
                "x-amz-acl",
                "x-amz-bucket-",
                "x-amz-checksum-",
                "x-amz-content-sha256",
                "x-amz-copy-source",
                "x-amz-date",
                "x-amz-expected-bucket-owner",
                "x-amz-meta-",
                "x-amz-object-",
                "x-amz-optional-object-attributes",
                "x-amz-request-payer",
                "x-amz-s3session-token",
                "x-amz-sdk-",
                "x-amz-security-token",
                "x-amz-server-side-encryption",
                "x-amz-source-expected-bucket-owner",
                "x-amz-storage-class",
                "x-amz-tagging",
                "x-amz-website-redirect-location",
                "x-amz-metadata-directive",
        };

        if (strncasecmp(name, "x-amz-", strlen("x-amz-")))
                return false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (!strncasecmp(name, known[i], strlen(known[i])))
                        return false;
        return true;
}

bool s3_refused_by_ways(const struct service *s, struct request *x)
{
        static const char nothing[] = "x-nothing";

        for (unsigned i = 0; i < x->rq.nheaders; i++) {
                struct http_header *h = &x->rq.headers[i];
                enum s3_if way = way_of(s, x, h->name);
                if (way == IF_REFUSED || (s->s3->strict_headers && is_foreign(h->name))) {
                        s3_error(x, "NotImplemented");
                        return true;
                }
                if (way == IF_IGNORED)
                        h->name = nothing;
        }
        return false;
}
