/* SPDX-License-Identifier: Apache-2.0 */
/* s3_express.c: directory buckets (names that end in --x-s3, and those of their access points in
 * --xa-s3): sessions, and the rename and the append that only they have. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/text/digits.h"
#include "bench/sim/identity/identity_i.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

/* "You can use the access point name instead of a bucket name for all data operations" (user guide,
 * "Referencing access points for directory buckets"): here it is a bucket of its own. */
bool s3_is_express(const struct request *x)
{
        static const char *const ends[] = {"--x-s3", "--xa-s3"};
        size_t n = strlen(x->bucket);

        for (size_t i = 0; !x->google && i < sizeof ends / sizeof *ends; i++) {
                size_t nend = strlen(ends[i]);
                if (n > nend && !strcmp(x->bucket + n - nend, ends[i]))
                        return true;
        }
        return false;
}

/* "You must make requests for this API operation to the Zonal endpoint. These endpoints support
 * virtual-hosted-style requests [...] Path-style requests are not supported" (API reference, of
 * each operation on objects); of CreateBucket and DeleteBucket: "These endpoints support path-style
 * requests". */
bool s3_bad_address(struct request *x)
{
        bool regional = !strcmp(x->op, "CreateBucket") || !strcmp(x->op, "DeleteBucket");

        if (!s3_is_express(x) || x->by_host || regional)
                return false;
        s3_refuse(x, 400, "InvalidRequest", "Path-style requests are not supported.");
        return true;
}

bool s3_needs_session(const struct request *x)
{
        static const char *const without[] = {"CreateSession", "CopyObject",   "UploadPartCopy",
                                              "HeadBucket",    "CreateBucket", "DeleteBucket"};

        for (size_t i = 0; i < sizeof without / sizeof *without; i++)
                if (!strcmp(without[i], x->op))
                        return false;
        return s3_is_express(x);
}

/* "A ReadOnly session is constrained to execute the following Zonal endpoint API operations" (API
 * reference, CreateSession). */
static bool may_read_only(const char *op)
{
        static const char *const reads[] = {"GetObject", "HeadObject", "ListObjectsV2", "ListParts",
                                            "ListMultipartUploads"};

        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
                if (!strcmp(reads[i], op))
                        return true;
        return false;
}

bool s3_bad_session(struct service *s, struct request *x)
{
        const char *token = s3_in(x, "x-amz-s3session-token");
        int err = token ? issues_session(s->sessions, token, &x->session) : -ENOENT;

        if (err == -ETIME)
                s3_error(x, "ExpiredToken");
        else if (err)
                s3_refuse(x, 403, "AccessDenied", "A session of this bucket is needed.");
        else if (x->session.read_only && !may_read_only(x->op))
                s3_refuse(x, 403, "AccessDenied", "The session is ReadOnly.");
        return x->status != 0;
}

/* "If the session mode is not specified in the CreateSession API request, the CreateSession action
 * will attempt to create the session with the maximum allowable privilege, attempting ReadWrite
 * first and then falling back to ReadOnly only if ReadWrite is not allowed by the policies" (user
 * guide). True when the reply is set to an error. */
static bool bad_mode(const struct service *s, struct request *x, struct session_terms *terms)
{
        const char *mode = s3_in(x, "x-amz-create-session-mode");

        terms->read_only = s->s3->read_only || (mode && !strcmp(mode, "ReadOnly"));
        if (mode && strcmp(mode, "ReadOnly") && strcmp(mode, "ReadWrite"))
                s3_error(x, "InvalidArgument");
        else if (s->s3->read_only && mode && !strcmp(mode, "ReadWrite"))
                s3_refuse(x, 403, "AccessDenied", "Only ReadOnly sessions are allowed.");
        return x->status != 0;
}

void s3_create_session(struct service *s, struct request *x)
{
        struct buf *b = &x->body;
        struct session_terms terms = {.read_only = false};
        struct issued is;
        char expires[32];

        if (!s3_is_express(x)) {
                s3_error(x, "MethodNotAllowed");
                return;
        }
        if (bad_mode(s, x, &terms) || s3_bad_session_encryption(x, &terms))
                return;
        issues_issue(s->sessions, s->s3->session_s, &terms, &is);
        issue_time(is.expires + s->clock_skew_s, expires);
        buf_adds(b, S3_XML_HEAD "<CreateSessionResult" S3_XMLNS "><Credentials>");
        s3_element(b, "SessionToken", is.session);
        s3_element(b, "SecretAccessKey", is.secret);
        s3_element(b, "AccessKeyId", is.access);
        s3_element(b, "Expiration", expires);
        buf_adds(b, "</Credentials></CreateSessionResult>");
        s3_reply_xml(x);
}

/* The last renames that were made, by the tokens of their clients. */
enum { RENAMES = 256 };
static struct renames {
        struct mutex mtx;
        unsigned next;
        struct rename {
                char token[65];
                uint8_t what[SHA256_LEN]; /* bucket and names */
        } v[RENAMES] GUARDED_BY(&mtx);
} renames = {.mtx = MUTEX_INITIALIZER(LOCK_SIM)};

static void sum_rename(const struct request *x, const char *from, uint8_t sum[SHA256_LEN])
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;

        buf_addf(&b, "%s\n%s\n%s", x->bucket, from, x->key);
        sha256(b.p, b.len, sum);
}

/* "If you retry a request that completed successfully using the same client token and the same
 * parameters, the retry succeeds without performing any further actions. If you retry a successful
 * request using the same client token, but one or more of the parameters are different, the retry
 * fails and an IdempotentParameterMismatch error is returned" (API reference, RenameObject). True
 * when the reply is set. */
static bool was_made(struct request *x, const char *from)
{
        const char *token = s3_in(x, "x-amz-client-token");
        uint8_t what[SHA256_LEN];

        if (!token)
                return false;
        if (!*token || strlen(token) > 64) {
                s3_error(x, "InvalidArgument");
                return true;
        }
        sum_rename(x, from, what);
        mutex_lock(&renames.mtx);
        for (unsigned i = 0; i < RENAMES && !x->status; i++) {
                if (strcmp(renames.v[i].token, token))
                        continue;
                if (memcmp(renames.v[i].what, what, sizeof what))
                        s3_refuse(x, 400, "IdempotentParameterMismatch",
                                  "The token was used for another rename.");
                else
                        s3_reply(x, 200);
        }
        mutex_unlock(&renames.mtx);
        return x->status != 0;
}

static void record_rename(const struct request *x, const char *from)
{
        const char *token = s3_in(x, "x-amz-client-token");

        if (!token)
                return;
        mutex_lock(&renames.mtx);
        struct rename *r = &renames.v[renames.next++ % RENAMES];
        snprintf(r->token, sizeof r->token, "%s", token);
        sum_rename(x, from, r->what);
        mutex_unlock(&renames.mtx);
}

/* "RenameObject is only supported for objects stored in the S3 Express One Zone storage class" and
 * x-amz-write-offset-bytes "only [...] for objects in the Amazon S3 Express One Zone storage class
 * in directory buckets" (API reference, RenameObject and PutObject), which those of a Local Zone
 * are not: there it is S3 One Zone-Infrequent Access. */
static bool is_express_one_zone(const struct service *s, const struct request *x)
{
        return s3_is_express(x) && !s->s3->local_zone;
}

/* "The RenameObject API operation will not succeed on objects that end with the slash (/) delimiter
 * character" (user guide, "Renaming objects in directory buckets"). */
static bool is_marker(const char *key)
{
        return *key && key[strlen(key) - 1] == '/';
}

void s3_rename(struct service *s, struct request *x)
{
        const char *header = s3_in(x, "x-amz-rename-source");
        CLEANUP(freep) char *from = strdup(header ? header : "");
        CLEANUP(object_unrefp) struct object *o = NULL;
        struct object_store_cond cond,
                source = {.if_match = s3_in(x, "x-amz-rename-source-if-match"),
                          .if_none_match = s3_in(x, "x-amz-rename-source-if-none-match")};

        if (!is_express_one_zone(s, x)) {
                s3_error(x, "NotImplemented");
                return;
        }
        if (!from || !*from || uri_decode(from, false) < 0) {
                s3_error(x, "InvalidArgument");
                return;
        }
        if (is_marker(from) || is_marker(x->key)) {
                s3_refuse(x, 400, "InvalidRequest", "Names that end with a slash are not renamed.");
                return;
        }
        if (was_made(x, from))
                return;
        s3_cond(x, &cond);
        const struct object_store_move m = {from, x->key, &source, &cond, true};
        int err = object_store_move(s->objects, x->bucket, &m, &o);
        if (err) {
                s3_fail(x, err);
                return;
        }
        record_rename(x, from);
        s3_reply(x, 200);
}

/* --- append --- */

/* User guide, "Appending data to objects in directory buckets", and API reference, PutObject. */

/* Kept with an object that was added to: how many parts it has. */
#define PARTS ":parts"

bool s3_appends(const struct request *x)
{
        return !x->google && s3_in(x, S3_WRITE_OFFSET);
}

/* "With each successful append operation, you create a part of the object [...] If an object is
 * created using S3 multipart upload, each uploaded part is counted towards the total maximum of
 * 10,000 parts." */
static unsigned long count_parts(const struct object *o)
{
        const char *parts = object_meta(o, PARTS), *dash = strchr(o->etag, '-');

        return parts ? strtoul(parts, NULL, 10) : dash ? strtoul(dash + 1, NULL, 10) : 1;
}

static bool has_user_metadata(const struct object *o)
{
        for (const char *name = NULL; (name = object_meta_next(o, name));)
                if (!strncmp(name, S3_META, strlen(S3_META)))
                        return true;
        return false;
}

/* True when the reply is set to an error. */
static bool bad_append(const struct service *s, struct request *x, const struct object *present,
                       const struct object *o)
{
        if (!is_express_one_zone(s, x))
                s3_error(x, "NotImplemented");
        else if (!o->size)
                s3_refuse(x, 400, "InvalidRequest",
                          "Request body cannot be empty when 'write offset' is specified.");
        else if (digits_size(s3_in(x, S3_WRITE_OFFSET)) != (present ? present->size : 0))
                s3_error(x, "InvalidWriteOffset");
        else if (present && has_user_metadata(o))
                s3_refuse(x, 400, "InvalidRequest",
                          "Cannot specify both a write offset value and user-defined object "
                          "metadata for existing objects.");
        else if (present && count_parts(present) >= VAULT_PARTS_MAX)
                s3_error(x, "TooManyParts");
        return x->status || (present && s3_bad_append_checksum(x, present));
}

/* What was there with o behind it; NULL: no memory. */
static struct object *join(const struct object *present, const struct object *o)
{
        CLEANUP(object_unrefp) struct object *whole = object_clone(present, present->key);
        char parts[24];

        if (!whole)
                return NULL;
        snprintf(parts, sizeof parts, "%lu", count_parts(present) + 1);
        whole->upload[0] = 0;
        if (s3_append_sums(whole, present, o) || object_meta_add(whole, PARTS, parts) ||
            object_append(whole, o, 0, o->size))
                return NULL;
        return TAKE_PTR(whole);
}

void s3_append(struct service *s, struct request *x, struct object *o)
{
        CLEANUP(object_unrefp) struct object *present = NULL;
        CLEANUP(object_unrefp) struct object *whole = NULL;
        struct object_store_cond cond;

        int err = object_store_get(s->objects, x->bucket, x->key, &present);
        if (err && err != -ENOENT) {
                s3_fail(x, err);
                return;
        }
        s3_cond(x, &cond);
        err = object_store_check(present, &cond);
        if (err || bad_append(s, x, present, o)) {
                if (err)
                        s3_fail(x, err);
                return;
        }
        err = s3_keep_crc64(x, o);
        if (!err)
                err = s3_keep_algorithm(x, o);
        if (!err)
                err = s3_sum_by_default(o);
        whole = present ? join(present, o) : object_ref(o);
        cond.present = present;
        cond.has |= present ? 0 : VAULT_GEN; /* there is still no object */
        if (!err)
                err = whole ? object_store_put(s->objects, x->bucket, whole, &cond) : -ENOMEM;
        if (err == -ESTALE && !cond.if_match) {
                s3_error(x, "InvalidWriteOffset"); /* another was faster */
                return;
        }
        if (err) {
                s3_fail(x, err);
                return;
        }
        s3_object_headers(x, whole, false);
        s3_encryption_headers(x, whole);
        s3_checksum_headers(x, whole);
        if (present)
                buf_addf(&x->headers, "x-amz-object-size: %" PRIu64 "\r\n", whole->size);
        s3_reply(x, 200);
}
