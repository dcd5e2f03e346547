/* SPDX-License-Identifier: Apache-2.0 */
/* s3.c: S3 as a kind of store: its table, and where a bucket is reached. */
#include "store/s3/s3.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/aws_host.h"
#include "base/mutex.h"
#include "base/cleanup.h"
#include "base/banned.h"

static void s3_close(struct store_kind *k)
{
        cred_chain_close(k->session); /* it asks the other */
        cred_chain_close(k->creds);
        s3_options_close(k);
        free(k->bucket);
        free(k->point);
        free(k->endpoint);
        free(k->base);
        mutex_destroy(&k->mtx);
        sign_cache_release(&k->sign_cache);
        free(k);
}

static void s3_closep(struct store_kind **k)
{
        if (*k)
                s3_close(*k);
}

/* A bucket whose name is not one DNS label does not match the vendor's wildcard certificate. */
static bool is_label(const char *bucket)
{
        for (const char *p = bucket; *p; p++)
                if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '-')
                        return false;
        return strlen(bucket) <= 63;
}

/* Whether the host of an endpoint, where a port and a path may follow, is a number. */
static bool is_address(const char *host)
{
        size_t n = strspn(host, "0123456789.");
        return *host == '[' || !host[n] || strchr(":/", host[n]);
}

/* Directory buckets have no path-style addresses: "Path-style requests are not supported" (API
 * reference). */
static bool is_virtual(const struct store_kind *k, enum store_addressing addressing,
                       const char *endpoint)
{
        bool vendors = !endpoint, directory = s3_is_express(k->bucket);
        const char *host = vendors ? NULL : strstr(endpoint, "://");

        if (k->point)
                return true;
        switch (addressing) {
        case STORE_ADDRESSING_PATH:
                return directory && vendors; /* whose hosts are the buckets' */
        case STORE_ADDRESSING_VIRTUAL:
                return true;
        default:
                return vendors ? is_label(k->bucket) || directory
                               : directory && host && !is_address(host + 3);
        }
}

static int set_endpoint(struct store_kind *k, const char *endpoint,
                        enum store_addressing addressing, char *why, size_t nwhy)
{
        k->path_style = !is_virtual(k, addressing, endpoint);
        if (!endpoint)
                return 0;
        const char *host = strstr(endpoint, "://");
        bool web = !strncmp(endpoint, "http://", 7) || !strncmp(endpoint, "https://", 8);
        host = host ? host + 3 : "";
        size_t nhost = strcspn(host, "/?#@"), nbase = strlen(host + nhost);
        const char *base = host + nhost;
        while (nbase && base[nbase - 1] == '/')
                nbase--;
        if (!web || !nhost || (*base && *base != '/') || base[strcspn(base, "?#@ ")]) {
                snprintf(why, nwhy,
                         "endpoint '%s' is no address of a server: give "
                         "http(s)://HOST[:PORT][/PATH]",
                         endpoint);
                return -EINVAL;
        }
        k->endpoint = strndup(endpoint, (size_t)(host - endpoint) + nhost);
        k->base = nbase ? strndup(base, nbase) : NULL;
        return k->endpoint && (k->base || !nbase) ? 0 : -ENOMEM;
}

static int s3_open(const struct store_config *cfg, const struct store_place *place,
                   struct store_kind **out, char *why, size_t nwhy)
{
        CLEANUP(s3_closep) struct store_kind *k = calloc(1, sizeof *k);
        if (!k)
                return -ENOMEM;
        mutex_init(&k->mtx, LOCK_S3_REGION);
        sign_cache_init(&k->sign_cache);
        if (!(k->bucket = strdup(place->bucket)))
                return -ENOMEM;
        char of_arn[S3_REGION_MAX] = "";
        int err = s3_arn_open(k, of_arn, why, nwhy);
        if (err)
                return err;
        const struct cred_want want = {.vendor = &cred_aws,
                                       .profile = cfg->profile,
                                       .ca_bundle = cfg->ca_bundle,
                                       .anonymous = cfg->anonymous};
        err = cred_chain_open(&want, &k->creds, why, nwhy);
        if (err)
                return err;
        const char *endpoint = cred_chain_endpoint(k->creds, cfg->endpoint);
        const char *region = *of_arn ? of_arn : cred_chain_region(k->creds, cfg->region);
        CLEANUP(freep)
        char *machine = region || endpoint ? NULL : cred_aws_machine_region(k->creds);
        region = region ? region : machine ? machine : "us-east-1";
        if (strlen(region) >= sizeof k->locked.region || region[strcspn(region, "/ \t\r\n?#")]) {
                snprintf(why, nwhy, "region '%s' cannot be one: give a name such as eu-west-1",
                         region);
                return -EINVAL;
        }
        if (!endpoint && cred_chain_fips(k->creds) && !aws_has_s3_fips(region)) {
                snprintf(why, nwhy,
                         "S3 in %s has no servers for FIPS: set AWS_USE_FIPS_ENDPOINT=false, or "
                         "give "
                         "another region",
                         region);
                return -EINVAL;
        }
        memcpy(k->locked.region, region, strlen(region) + 1);
        err = set_endpoint(k, endpoint, cfg->addressing, why, nwhy);
        if (!err)
                err = s3_options_open(k, cfg, why, nwhy);
        if (!err && s3_is_express(k->bucket))
                err = s3_express_open(k, cfg->ca_bundle, region, why, nwhy);
        if (err)
                return err;
        *out = TAKE_PTR(k);
        return 0;
}

static const char *s3_ca_bundle(const struct store_kind *k, const char *arg)
{
        return cred_chain_ca_bundle(k->creds, arg);
}

static unsigned s3_more_caps(const struct store_kind *k)
{
        bool appends = k->session && s3_minds(k, S3_APPEND) != S3_IGNORES;

        return (k->session ? STORE_CAP_RENAME | STORE_CAP_UNSORTED : 0) |
               (appends ? STORE_CAP_APPEND : 0) |
               (s3_minds(k, S3_DELETE_IF) == S3_HONORS ? STORE_CAP_DELETE_IF : 0) |
               (s3_minds(k, S3_COPY_IF) == S3_HONORS ? STORE_CAP_COPY_IF : 0);
}

static const char *s3_permission(const struct store_kind *k, enum op_verb verb)
{
        static const char *const names[OP_VERBS] = {
                [OP_CHECK] = "s3:ListBucket",
                [OP_CHECK_WRITE] = "s3:PutObject",
                [OP_HEAD] = "s3:GetObject and s3:ListBucket",
                [OP_GET] = "s3:GetObject",
                [OP_PUT] = "s3:PutObject",
                [OP_DELETE] = "s3:DeleteObject",
                [OP_DELETE_MANY] = "s3:DeleteObject",
                [OP_COPY] = "s3:GetObject and s3:PutObject",
                [OP_SET_META] = "s3:GetObject and s3:PutObject",
                [OP_LIST] = "s3:ListBucket",
                [OP_UPLOAD_CREATE] = "s3:PutObject",
                [OP_PART] = "s3:PutObject",
                [OP_PART_COPY] = "s3:GetObject and s3:PutObject",
                [OP_COMPLETE] = "s3:PutObject",
                [OP_ABORT] = "s3:AbortMultipartUpload",
                [OP_PARTS] = "s3:ListMultipartUploadParts",
                [OP_UPLOADS] = "s3:ListBucketMultipartUploads",
        };
        bool tags = k->tags && (verb == OP_PUT || verb == OP_UPLOAD_CREATE);

        if (k->session)
                return "s3express:CreateSession with ReadWrite";
        if (tags)
                return "s3:PutObject and s3:PutObjectTagging";
        return names[verb] ? names[verb] : "";
}

static void s3_server(struct store_kind *k, struct buf *url)
{
        char region[S3_REGION_MAX];
        size_t host;

        mutex_lock(&k->mtx);
        snprintf(region, sizeof region, "%s", k->locked.region);
        mutex_unlock(&k->mtx);
        s3_add_host(k, region, url, &host);
}

static void s3_renew(struct store_kind *k)
{
        cred_chain_renew(k->creds);
}

static void s3_credentials(struct store_kind *k, struct store_credentials *out)
{
        cred_chain_about(k->creds, out);
}

static void s3_secret_file(struct store_kind *k, char *out, size_t n)
{
        cred_chain_file(k->creds, out, n);
}

const struct store_ops store_s3 = {
        .scheme = "s3",
        .caps = STORE_CAP_IF_ABSENT | STORE_CAP_IF_MATCH | STORE_CAP_PART_COPY,
        .object_max = STORE_PART_MAX * STORE_PART_SIZE_MAX,
        .open = s3_open,
        .bucket_len = s3_bucket_len,
        .close = s3_close,
        .ca_bundle = s3_ca_bundle,
        .server = s3_server,
        .permission = s3_permission,
        .renew = s3_renew,
        .credentials = s3_credentials,
        .secret_file = s3_secret_file,
        .no_writes = store_no_reason,
        .more_caps = s3_more_caps,
        .misreads = s3_misreads,
        .ramps = store_no_ramp, /* 503 says when it is too much */
        .asks_first = s3_asks_first,
        .object = s3_object,
        .explain = s3_explain,
        .verb =
                {
                        [OP_CHECK] = {s3_check_build, s3_check_parse},
                        [OP_CHECK_WRITE] = {s3_check_write_build, s3_check_write_parse},
                        [OP_HEAD] = {s3_head_build, s3_head_parse},
                        [OP_GET] = {s3_get_build, s3_get_parse},
                        [OP_PUT] = {s3_put_build, s3_put_parse},
                        [OP_APPEND] = {s3_append_build, s3_append_parse},
                        [OP_DELETE] = {s3_delete_build, s3_delete_parse},
                        [OP_DELETE_MANY] = {s3_delete_many_build, s3_delete_many_parse},
                        [OP_COPY] = {s3_copy_build, s3_copy_parse},
                        [OP_RENAME] = {s3_rename_build, s3_rename_parse},
                        [OP_SET_META] = {s3_set_meta_build, s3_set_meta_parse},
                        [OP_FOLDER_RENAME] = {store_no_build, store_no_parse},
                        [OP_LIST] = {s3_list_build, s3_list_parse},
                        [OP_UPLOAD_CREATE] = {s3_create_build, s3_create_parse},
                        [OP_PART] = {s3_part_build, s3_part_parse},
                        [OP_PART_COPY] = {s3_part_copy_build, s3_part_copy_parse},
                        [OP_COMPLETE] = {s3_complete_build, s3_complete_parse},
                        [OP_ABORT] = {s3_abort_build, s3_abort_parse},
                        [OP_PARTS] = {s3_parts_build, s3_parts_parse},
                        [OP_UPLOADS] = {s3_uploads_build, s3_uploads_parse},
                },
};
