/* SPDX-License-Identifier: Apache-2.0 */
/* gcs.c: Google Cloud Storage as a kind of store: its table, and where a bucket is reached. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "store/core/customer_key.h"
#include "base/banned.h"

static void gcs_close(struct store_kind *k)
{
        cred_chain_close(k->creds);
        free(k->bucket);
        free(k->prefix);
        free(k->endpoint);
        free(k->billing_project);
        free(k->kms_key);
        explicit_bzero(&k->csek, sizeof k->csek);
        free(k);
}

static void gcs_closep(struct store_kind **k)
{
        if (*k)
                gcs_close(*k);
}

/* Whether the host, as in a URL, is one of the vendor's: the public endpoint, those of regions, and
 * private ones, of this universe or of the first. */
static bool is_vendor(const char *host, const char *universe)
{
        const char *const domains[] = {universe, "googleapis.com"};
        size_t n = strcspn(host, ":/");

        for (size_t i = 0; i < 2; i++) {
                size_t len = strlen(domains[i]);
                if (n > len && host[n - len - 1] == '.' &&
                    !strncasecmp(host + n - len, domains[i], len))
                        return true;
        }
        return false;
}

/* An emulator may be given as HOST:PORT alone, as the vendor's libraries take it. */
static int set_endpoint(struct store_kind *k, const struct store_config *cfg,
                        struct cred_gcp_facts *facts, char *why, size_t nwhy)
{
        const char *arg = cfg->endpoint;
        const char *given = arg && *arg ? arg : getenv("STORAGE_EMULATOR_HOST");
        CLEANUP(buf_release) struct buf url = BUF_INIT, own = BUF_INIT;
        bool is_given = given && *given;

        if (!is_given && facts->machine && !cfg->anonymous)
                cred_gcp_machine_universe(facts);
        if (buf_addf(&own, "https://storage.%s", facts->universe))
                return -ENOMEM;
        if (!is_given)
                given = own.p;
        if (!strstr(given, "://"))
                buf_adds(&url, "http://");
        buf_adds(&url, given);
        while (url.len && url.p[url.len - 1] == '/')
                url.p[--url.len] = 0;
        const char *host = strstr(url.p, "://"); /* gone with the slashes of "http://" */
        host = host ? host + 3 : "";
        bool web = !strncmp(url.p, "http://", 7) || !strncmp(url.p, "https://", 8);
        if (!web || !*host || host[strcspn(host, "/?#@")]) {
                snprintf(why, nwhy,
                         "endpoint '%s' is no address of a server: give http(s)://HOST[:PORT]",
                         given);
                return -EINVAL;
        }
        k->emulator = !is_vendor(host, facts->universe);
        k->endpoint = buf_take(&url);
        return k->endpoint ? 0 : -ENOMEM;
}

/* A server without TLS is an emulator, and asked without credentials unless some are named. */
static int open_credentials(struct store_kind *k, const struct store_config *cfg,
                            const struct cred_gcp_facts *facts, char *why, size_t nwhy)
{
        static const char *const names[] = {"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG",
                                            "GCE_METADATA_HOST", CRED_GCP_KEY_VARIABLE,
                                            CRED_GCP_SECRET_VARIABLE};
        const char *host = getenv("STORAGE_EMULATOR_HOST");
        bool named = cfg->credentials && *cfg->credentials;
        struct cred_want want = {
                .vendor = &cred_gcp,
                .file = cfg->credentials,
                .ca_bundle = cfg->ca_bundle,
                .anonymous = cfg->anonymous || (host && *host),
        };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                named |= getenv(names[i]) && *getenv(names[i]);
        if (!named && !strncmp(k->endpoint, "http://", 7))
                want.anonymous = true;
        k->keys = !want.anonymous && facts->keys;
        if (k->keys && k->upload > STORE_UPLOAD_MULTIPART) {
                snprintf(why, nwhy,
                         "upload=%s needs an OAuth token, and there are HMAC keys: give "
                         "upload=multipart",
                         k->upload == STORE_UPLOAD_COMPOSE ? "compose" : "resumable");
                return -EINVAL;
        }
        __atomic_store_n(&k->no_move, k->keys, __ATOMIC_RELAXED);
        return cred_chain_open(&want, &k->creds, why, nwhy);
}

static int open_csek(struct store_kind *k, const char *file, char *why, size_t nwhy)
{
        if (!file || !*file)
                return 0;
        if (k->kms_key) {
                snprintf(why, nwhy, "kms_key and csek_file are both given: give one");
                return -EINVAL;
        }
        return customer_key_read("csek_file", file, k->endpoint,
                                 (struct customer_digest){sha256, SHA256_LEN}, &k->csek, why, nwhy);
}

static int dup_setting(char **to, const char *from)
{
        return from && *from && !(*to = strdup(from)) ? -ENOMEM : 0;
}

static int gcs_open(const struct store_config *cfg, const struct store_place *place,
                    struct store_kind **out, char *why, size_t nwhy)
{
        CLEANUP(gcs_closep) struct store_kind *k = calloc(1, sizeof *k);
        if (!k)
                return -ENOMEM;
        k->bucket = strdup(place->bucket);
        k->prefix = strdup(place->prefix);
        if (!k->bucket || !k->prefix || dup_setting(&k->billing_project, cfg->billing_project) ||
            dup_setting(&k->kms_key, cfg->kms_key))
                return -ENOMEM;
        k->upload = cfg->upload;
        struct cred_gcp_facts facts;
        cred_gcp_facts(cfg->credentials, &facts);
        int err = set_endpoint(k, cfg, &facts, why, nwhy);
        if (!err)
                err = open_credentials(k, cfg, &facts, why, nwhy);
        if (!err)
                err = open_csek(k, cfg->csek_file, why, nwhy);
        if (err)
                return err;
        *out = TAKE_PTR(k);
        return 0;
}

/* Only the JSON API has these. */
static unsigned gcs_more_caps(const struct store_kind *k)
{
        enum {
                JSON = STORE_CAP_RENAME | STORE_CAP_PATCH_META | STORE_CAP_LIST_META |
                       STORE_CAP_PART_COPY | STORE_CAP_WHOLE_COPY
        };
        unsigned copies = STORE_CAP_PART_COPY | STORE_CAP_WHOLE_COPY;
        if (k->keys)
                return 0;
        return (k->upload == STORE_UPLOAD_RESUMABLE ? (JSON & ~copies) | STORE_CAP_IN_ORDER
                                                    : JSON) |
               (__atomic_load_n(&k->folders, __ATOMIC_RELAXED) ? STORE_CAP_FOLDERS : 0);
}

/* A server without TLS is an emulator. */
static bool gcs_ramps(const struct store_kind *k)
{
        return !strncmp(k->endpoint, "https://", 8);
}

static const char *gcs_ca_bundle(const struct store_kind *k, const char *arg)
{
        return cred_chain_ca_bundle(k->creds, arg);
}

/* Of an upload in parts: those of the XML API have a permission of their own, and get their names
 * by a move ("IAM permissions for XML methods"). */
static const char *upload_permission(const struct store_kind *k, enum op_verb verb)
{
        bool multipart = k->upload <= STORE_UPLOAD_MULTIPART;

        if (verb != OP_COMPLETE)
                return multipart ? "storage.multipartUploads.create and storage.objects.create"
                                 : "storage.objects.create";
        return multipart ? "storage.multipartUploads.create, storage.objects.create, "
                           "storage.objects.delete, storage.objects.get and storage.objects.move"
                         : "storage.objects.get, storage.objects.create and storage.objects.delete";
}

static const char *gcs_permission(const struct store_kind *k, enum op_verb verb)
{
        static const char *const names[OP_VERBS] = {
                [OP_CHECK] = "storage.objects.list",
                [OP_CHECK_WRITE] = "storage.objects.create",
                [OP_HEAD] = "storage.objects.get",
                [OP_GET] = "storage.objects.get",
                [OP_PUT] = "storage.objects.create and storage.objects.delete",
                [OP_DELETE] = "storage.objects.delete",
                [OP_DELETE_MANY] = "storage.objects.delete",
                [OP_COPY] =
                        "storage.objects.get, storage.objects.create and storage.objects.delete",
                [OP_RENAME] =
                        "storage.objects.move, storage.objects.create and storage.objects.delete",
                [OP_SET_META] = "storage.objects.update",
                [OP_FOLDER_RENAME] = "storage.folders.rename",
                [OP_LIST] = "storage.objects.list",
                [OP_PART_COPY] = "storage.objects.get and storage.objects.create",
                [OP_ABORT] = "storage.multipartUploads.abort and storage.objects.delete",
                [OP_PARTS] = "storage.multipartUploads.listParts",
                [OP_UPLOADS] = "storage.multipartUploads.list",
        };
        if (verb == OP_UPLOAD_CREATE || verb == OP_PART || verb == OP_COMPLETE)
                return upload_permission(k, verb);
        return names[verb] ? names[verb] : "";
}

static void gcs_server(struct store_kind *k, struct buf *url)
{
        buf_adds(url, k->endpoint);
}

static void gcs_renew(struct store_kind *k)
{
        cred_chain_renew(k->creds);
}

static void gcs_credentials(struct store_kind *k, struct store_credentials *out)
{
        cred_chain_about(k->creds, out);
}

/* "Objects in zonal buckets are always stored in Rapid storage and are appendable" (Cloud Storage,
 * "Rapid Bucket"): no others are taken, and none are composed or rewritten. */
static const char *gcs_no_writes(const struct store_kind *k)
{
        return __atomic_load_n(&k->zonal, __ATOMIC_RELAXED)
                       ? "the bucket is zonal (Rapid Bucket) and takes appendable objects alone, "
                         "which are not made here: files can be read, renamed and removed, and "
                         "none be written"
                       : NULL;
}

static void gcs_secret_file(struct store_kind *k, char *out, size_t n)
{
        cred_chain_file(k->creds, out, n);
}

const struct store_ops store_gcs = {
        .scheme = "gs",
        .caps = STORE_CAP_IF_ABSENT | STORE_CAP_IF_MATCH | STORE_CAP_COPY_LARGE |
                STORE_CAP_COPY_IF | STORE_CAP_DELETE_IF | STORE_CAP_ONE_LINE |
                STORE_CAP_COMPLETE_AS,
        .object_max = 5ULL << 40,
        .bucket_len = store_plain_bucket,
        .open = gcs_open,
        .close = gcs_close,
        .ca_bundle = gcs_ca_bundle,
        .server = gcs_server,
        .permission = gcs_permission,
        .renew = gcs_renew,
        .credentials = gcs_credentials,
        .secret_file = gcs_secret_file,
        .no_writes = gcs_no_writes,
        .more_caps = gcs_more_caps,
        .misreads = store_no_misreading,
        .ramps = gcs_ramps,
        .asks_first = store_no_question,
        .object = gcs_object,
        .explain = gcs_explain,
        .verb =
                {
                        [OP_CHECK] = {gcs_check_build, gcs_check_parse},
                        [OP_CHECK_WRITE] = {gcs_check_write_build, gcs_check_write_parse},
                        [OP_HEAD] = {gcs_head_build, gcs_head_parse},
                        [OP_GET] = {gcs_get_build, gcs_get_parse},
                        [OP_PUT] = {gcs_put_build, gcs_put_parse},
                        [OP_APPEND] = {store_no_build, store_no_parse},
                        [OP_DELETE] = {gcs_delete_build, gcs_delete_parse},
                        [OP_DELETE_MANY] = {gcs_delete_many_build, gcs_delete_many_parse},
                        [OP_COPY] = {gcs_copy_build, gcs_copy_parse},
                        [OP_RENAME] = {gcs_rename_build, gcs_rename_parse},
                        [OP_SET_META] = {gcs_set_meta_build, gcs_set_meta_parse},
                        [OP_FOLDER_RENAME] = {gcs_folder_rename_build, gcs_folder_rename_parse},
                        [OP_LIST] = {gcs_list_build, gcs_list_parse},
                        [OP_UPLOAD_CREATE] = {gcs_create_build, gcs_create_parse},
                        [OP_PART] = {gcs_part_build, gcs_part_parse},
                        [OP_PART_COPY] = {gcs_part_copy_build, gcs_part_copy_parse},
                        [OP_COMPLETE] = {gcs_complete_build, gcs_complete_parse},
                        [OP_ABORT] = {gcs_abort_build, gcs_abort_parse},
                        [OP_PARTS] = {gcs_parts_build, gcs_parts_parse},
                        [OP_UPLOADS] = {gcs_uploads_build, gcs_uploads_parse},
                },
};
