/* SPDX-License-Identifier: Apache-2.0 */
/* s3_endpoint.c: see s3_endpoint.h. */
#include "bench/core/s3_endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/aws_host.h"

#include "base/banned.h"

/* The first that says something, or NULL. */
static const char *first(const char *a, const char *b, const char *c)
{
        return a && *a ? a : b && *b ? b : c && *c ? c : NULL;
}

static int read_uri(const char *uri, const char *dir, struct place *p)
{
        if (strncmp(uri, "s3://", 5))
                return -EINVAL;
        const char *bucket = uri + 5, *slash = strchrnul(bucket, '/');
        const char *prefix = slash, *end = prefix + strlen(prefix);
        while (*prefix == '/')
                prefix++;
        while (end > prefix && end[-1] == '/')
                end--;
        int nbucket = (int)(slash - bucket), nprefix = (int)(end - prefix);
        if (!nbucket || nbucket >= (int)sizeof p->bucket)
                return -EINVAL;
        snprintf(p->bucket, sizeof p->bucket, "%.*s", nbucket, bucket);
        int n = snprintf(p->dir, sizeof p->dir, "%.*s%s%s", nprefix, prefix,
                         nprefix && *dir ? "/" : "", dir);
        return n < (int)sizeof p->dir ? 0 : -EINVAL;
}

static int read_endpoint(const char *url, struct place *p)
{
        const char *host = url && !strncmp(url, "http://", 7)    ? url + 7
                           : url && !strncmp(url, "https://", 8) ? url + 8
                                                                 : NULL;
        if (url && !host)
                return -EINVAL;
        p->tls = !url || !strncmp(url, "https://", 8);
        int n = host ? snprintf(p->host, sizeof p->host, "%.*s", (int)strcspn(host, "/"), host)
                     : snprintf(p->host, sizeof p->host, "s3.%s.%s", p->region,
                                aws_domain(p->region));
        return n > 0 && n < (int)sizeof p->host ? 0 : -EINVAL;
}

int place_read(const struct keys *k, const char *dir, struct place *out, char *why, size_t nwhy)
{
        const char *region =
                first(k->s3_region, getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"));
        const char *url =
                first(k->s3_endpoint, getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"));

        *out = (struct place){.tls = true};
        snprintf(out->region, sizeof out->region, "%s", region ? region : "us-east-1");
        if (read_uri(k->s3_uri, dir, out)) {
                snprintf(why, nwhy, "s3.uri=%.200s names no bucket: give s3.uri=s3://BUCKET/PREFIX",
                         k->s3_uri);
                return -EINVAL;
        }
        if (read_endpoint(url, out)) {
                snprintf(why, nwhy,
                         "'%.200s' is no endpoint: give s3.endpoint=http://HOST:PORT or https://",
                         url ? url : out->region);
                return -EINVAL;
        }
        return 0;
}

void place_key(const struct place *p, const char *name, char out[PLACE_KEY_MAX])
{
        snprintf(out, PLACE_KEY_MAX, "%s%s%s", p->dir, *p->dir ? "/" : "", name);
}

void place_add_remedy(const struct place *p, int err, char *why, size_t nwhy)
{
        size_t n = strlen(why);

        if (err == -ECONNREFUSED || err == -EHOSTUNREACH || err == -ETIMEDOUT)
                snprintf(why + n, nwhy - n, ": start the server at %s, or correct s3.endpoint",
                         p->host);
        else if (err == -ENOENT)
                snprintf(why + n, nwhy - n, ": make the bucket, or correct s3.uri");
        else if (err == -EACCES)
                snprintf(why + n, nwhy - n, ": give a key that may use the bucket");
}
