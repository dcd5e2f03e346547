/* SPDX-License-Identifier: Apache-2.0 */
/* s3_express.c: directory buckets (S3 Express One Zone, names that end in --x-s3, and those of
 * their access points in --xa-s3): where they are, the sessions that sign requests to them, and the
 * rename that only they have. */
#include "store/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/text/aws_host.h"
#include "base/cleanup.h"
#include "store/cred/cred_aws.h"

#include "base/banned.h"

enum { POLL_US = 20000 };

/* How long the name is before the end that tells of a directory bucket, or of an access point of
 * one: "Access points use the same format as directory bucket endpoints" (user guide, "Referencing
 * access points for directory buckets"). 0: neither. */
static size_t before_suffix(const char *bucket)
{
        static const char *const suffixes[] = {"--x-s3", "--xa-s3"};
        size_t n = strlen(bucket);

        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
                size_t nsuffix = strlen(suffixes[i]);
                if (n > nsuffix && !strcmp(bucket + n - nsuffix, suffixes[i]))
                        return n - nsuffix;
        }
        return 0;
}

/* "usw2-az1" of "name--usw2-az1--x-s3"; its length, 0 for other buckets. */
static size_t zone_of(const char *bucket, const char **zone)
{
        size_t end = before_suffix(bucket);

        for (size_t at = end; at-- > 2;)
                if (bucket[at - 1] == '-' && bucket[at - 2] == '-') {
                        *zone = bucket + at;
                        return end - at;
                }
        return 0;
}

bool s3_is_express(const char *bucket)
{
        const char *zone;
        return zone_of(bucket, &zone) > 0;
}

void s3_express_host(const struct store_kind *k, const char *region, struct buf *url)
{
        const char *zone = "";
        size_t n = zone_of(k->bucket, &zone);
        buf_addf(url, "%s.s3express%s-%.*s.%s%s.%s", k->bucket,
                 cred_chain_fips(k->creds) ? "-fips" : "", (int)n, zone,
                 cred_chain_dualstack(k->creds) ? "dualstack." : "", region, aws_domain(region));
}

/* --- sessions --- */

/* The keys that sign a request for a session, once the chain has fetched them. */
static int wait_for_keys(struct cred_ask *a, struct cred *out)
{
        char why[CRED_WHY_MAX];
        int err;

        while ((err = cred_chain_get(a->base, out, why, sizeof why)) == -EAGAIN ||
               err == -EINPROGRESS) {
                if (__atomic_load_n(a->stop, __ATOMIC_SEQ_CST))
                        return cred_no(a, -ECANCELED, "stopped");
                usleep(POLL_US);
        }
        return err ? cred_no(a, err, "%s", why) : 0;
}

static int create_session(struct cred_ask *a, struct cred *out)
{
        CLEANUP(cred_release) struct cred keys = CRED_INIT;
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("CreateSession", "GET");
        const struct uri_pair query[] = {{"session", ""}};
        const char *host = strstr(a->file, "://") + 3;
        const char *path = strchr(host, '/');

        int err = wait_for_keys(a, &keys);
        if (err == -ENOENT || keys.kind != CRED_KEYS)
                return cred_no(a, err ? -EACCES : -EINVAL, "%.900s",
                               err ? a->why : "a directory bucket needs keys: give some");
        if (err)
                return err;
        /* Without a mode it is "the maximum allowable privilege, attempting ReadWrite first and
         * then ReadOnly" (user guide, "Authorizing Zonal endpoint API operations with
         * CreateSession"). */
        if (a->sse)
                cred_call_header(&c, "x-amz-server-side-encryption", a->sse);
        if (a->sse_kms_key)
                cred_call_header(&c, "x-amz-server-side-encryption-aws-kms-key-id", a->sse_kms_key);
        buf_adds(&c.url, a->file);
        buf_adds(&c.url, "?session=");
        const struct cred_aws_sign by = {&keys, a->region, "s3express", path, query, 1};
        err = cred_aws_call(a, &c, &by);
        if (!err)
                err = cred_call_ok(a, &c);
        if (!err)
                return cred_aws_take_xml(a, &c, out);
        return err == -EACCES ? cred_remedy(a, err, "allow s3express:CreateSession on the bucket")
                              : err;
}

static int read_settings(struct cred_ask *a, const struct cred_want *want,
                         struct cred_settings *set)
{
        a->base = want->base;
        return cred_set(&a->file, want->file) || cred_set(&set->region, want->region) ||
                               cred_set(&a->sse, want->sse) ||
                               cred_set(&a->sse_kms_key, want->sse_kms_key)
                       ? -ENOMEM
                       : 0;
}

static const struct cred_source sources[] = {{"CreateSession", create_session}};

static const struct cred_vendor session_vendor = {
        .read_settings = read_settings,
        .sources = sources,
        .nsources = sizeof sources / sizeof *sources,
        .remedy = "allow s3express:CreateSession",
};

int s3_express_open(struct store_kind *k, const char *ca_bundle, const char *region, char *why,
                    size_t nwhy)
{
        CLEANUP(buf_release) struct buf url = BUF_INIT;

        size_t host;

        s3_add_host(k, region, &url, &host);
        buf_addf(&url, "%s/%s", k->base ? k->base : "", k->path_style ? k->bucket : "");
        const struct cred_want want = {
                .vendor = &session_vendor,
                .file = url.p,
                .region = region,
                .ca_bundle = cred_chain_ca_bundle(k->creds, ca_bundle),
                .base = k->creds,
                .sse = k->sse,
                .sse_kms_key = k->sse_kms_key,
        };
        return url.failed ? -ENOMEM : cred_chain_open(&want, &k->session, why, nwhy);
}

/* --- rename --- */

static void make_token(char token[OP_TOKEN_MAX])
{
        uint64_t r[2];
        while (getrandom(r, sizeof r, 0) != sizeof r)
                ;
        snprintf(token, OP_TOKEN_MAX, "%016" PRIx64 "%016" PRIx64, r[0], r[1]);
}

/* The head of the target tells which of two conditions failed: the reply to the rename does not. */
enum { RENAME_LOOK = S3_VERIFY + 1, MARKER_COPY, MARKER_DELETE };

/* "The RenameObject API operation will not succeed on objects that end with the slash (/) delimiter
 * character" (user guide, "Renaming objects in directory buckets"): the marker of a directory,
 * which is empty, is copied and deleted. */
static bool is_marker(const char *key)
{
        return *key && key[strlen(key) - 1] == '/';
}

static int copy_marker(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        CLEANUP(buf_release) struct buf source = BUF_INIT;

        op->stage = MARKER_COPY;
        int err = s3_copy_source(k, &m, op, op->src_match, &source);
        if (!err)
                err = s3_put_headers(k, &m, op, op->if_match);
        return err ? err : s3_send(k, op, &m);
}

static int delete_marker(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_DELETE, op->src);

        if (op->src_match)
                s3_header(&m, "If-Match", op->src_match);
        return s3_send(k, op, &m);
}

static int marker_copied(struct store_kind *k, struct op *op)
{
        struct s3_field f[] = {{"CopyObjectResult/ETag", BUF_INIT}};
        bool ok = s3_ok(op) && !s3_is_error_body(op);
        int err = ok ? s3_read(op, f, 1, NULL, NULL) : s3_fault(k, op);

        s3_etag(f[0].text.p, op->obj.etag);
        s3_fields_release(f, 1);
        if (ok && err)
                return s3_unreadable(op, err);
        if (err && !(err == -EEXIST && op->maybe_done)) /* by a try whose reply was lost */
                return err;
        op->stage = MARKER_DELETE;
        op->maybe_done = false;
        return OP_AGAIN;
}

/* Another one that came to the old name stays there. */
static int marker_deleted(struct store_kind *k, struct op *op)
{
        int err = s3_gone(k, op);

        return err == -ESTALE ? 0 : err;
}

int s3_rename_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        CLEANUP(buf_release) struct buf source = BUF_INIT;

        if (op->stage == MARKER_DELETE)
                return delete_marker(k, op);
        if (is_marker(op->src) || is_marker(op->key))
                return copy_marker(k, op);
        if (op->stage)
                return s3_verify_build(k, op);
        if (s3_minds(k, S3_RENAME) == S3_IGNORES)
                return -EOPNOTSUPP;
        int err = s3_put_headers(k, &m, op, op->if_match);
        if (err || uri_encode(&source, op->src, true))
                return err ? err : -ENOMEM;
        s3_query(&m, "renameObject", "");
        s3_header(&m, "x-amz-rename-source", source.p);
        if (op->src_match)
                s3_header(&m, "x-amz-rename-source-if-match", op->src_match);
        /* "If you retry a request that completed successfully using the same client token and the
         * same parameters, the retry succeeds without performing any further actions" (API
         * reference, RenameObject). */
        if (!*op->token)
                make_token(op->token);
        s3_header(&m, "x-amz-client-token", op->token);
        return s3_send(k, op, &m);
}

/* After a lost reply: the source's version is at the new name. */
static int same_version(struct op *op, const struct store_object *found)
{
        return op->src_match && !strcmp(op->src_match, found->etag);
}

static int target_looked_at(struct store_kind *k, struct op *op)
{
        struct store_object found;

        int err = s3_head_reply(k, op, &found);
        return err == -ENOENT ? -ESTALE : err ? err : -EEXIST;
}

int s3_rename_parse(struct store_kind *k, struct op *op)
{
        if (op->stage == MARKER_COPY)
                return marker_copied(k, op);
        if (op->stage == MARKER_DELETE)
                return marker_deleted(k, op);
        if (op->stage == RENAME_LOOK)
                return target_looked_at(k, op);
        if (op->stage == S3_VERIFY)
                return s3_verify_parse(k, op, same_version);
        if (s3_ok(op) && !s3_is_error_body(op)) {
                if (op->src_match)
                        snprintf(op->obj.etag, sizeof op->obj.etag, "%s", op->src_match);
                return 0;
        }
        int err = s3_fault(k, op);
        /* "RenameObject is only supported for objects stored in the S3 Express One Zone storage
         * class" (API reference): not in the directory buckets of Local Zones. */
        if (err == -EOPNOTSUPP)
                s3_learn(k, S3_RENAME, S3_IGNORES);
        bool lost = op->maybe_done && (err == -ENOENT || err == -EEXIST || err == -ESTALE);
        if (lost)
                return s3_verify_begin(op, err);
        if (err == -EEXIST && op->src_match && op->if_absent) {
                op->stage = RENAME_LOOK;
                return OP_AGAIN;
        }
        return err == -EEXIST && op->src_match ? -ESTALE : err;
}
