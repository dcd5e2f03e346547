/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_folder.c: buckets with a hierarchical namespace. What is an empty object named "a/" in others
 * is a folder there, and is made, asked for and deleted as such; a folder is renamed, with all that
 * is in it, by an operation of the server's that is asked about until it is done. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/gcs/gcs.h"
#include "base/banned.h"

enum { POLL_FIRST_MS = 20, POLL_MOST_MS = 1000 };

bool gcs_is_folder(const struct store_kind *k, const char *key)
{
        size_t n = strlen(key);
        return __atomic_load_n(&k->folders, __ATOMIC_RELAXED) && n && key[n - 1] == '/';
}

/* "Maximum folder depth: [...] 50" (Cloud Storage, "About folders"). */
static bool folder_fits(const char *key)
{
        unsigned depth = 0;

        for (const char *p = key; (p = strchr(p, '/')); p++)
                depth++;
        return strlen(key) <= GCS_FOLDER_NAME_MAX && depth <= GCS_FOLDERS_MAX;
}

/* --- which buckets have them --- */

int gcs_layout_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        gcs_bucket_path(&m.path, k, "/storageLayout");
        return gcs_send(k, op, &m);
}

/* Who may not know, or a server that does not, gets a flat one. */
int gcs_layout_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;

        if (!gcs_ok(op)) {
                int err = gcs_fault(k, op);
                return err > 0 ? err : 0;
        }
        if (gcs_json(op, &j))
                return 0;
        const struct json *h = json_get(j, "hierarchicalNamespace");
        bool has = json_bool(json_get(h, "enabled"), false);
        __atomic_store_n(&k->folders, has, __ATOMIC_RELAXED);
        if (has)
                log_info("store: bucket %s has a hierarchical namespace: directories are folders",
                         k->bucket);
        bool zonal = !strcmp(json_string(json_get(j, "locationType"), ""), "zone");
        __atomic_store_n(&k->zonal, zonal, __ATOMIC_RELAXED);
        return 0;
}

/* --- one folder --- */

int gcs_folder_path(struct buf *path, const struct store_kind *k, const char *key)
{
        gcs_bucket_path(path, k, "/folders/");
        return uri_encode(path, key, false);
}

int gcs_folder_create(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);
        CLEANUP(json_freep) struct json *j = json_new_object();

        if (!folder_fits(op->key))
                return -ENAMETOOLONG;
        int err = json_add_string(j, "name", op->key);
        CLEANUP(freep) char *text = json_print(j);
        buf_reset(&op->text);
        if (err || !text || buf_adds(&op->text, text))
                return -ENOMEM;
        gcs_bucket_path(&m.path, k, "/folders");
        gcs_query(&m, "recursive", "true");
        m.text = &op->text;
        m.type = "application/json";
        return gcs_send(k, op, &m);
}

static int read_folder(struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;

        int err = gcs_json(op, &j);
        if (!err)
                op->obj = (struct store_object){
                        .mtime_ns = s3_time_iso(json_string(json_get(j, "createTime"), ""))};
        return err;
}

/* One that exists is a success, unless it must not. */
int gcs_folder_created(struct store_kind *k, struct op *op)
{
        if (gcs_ok(op))
                return read_folder(op);
        bool exists = op->rq.status == 409;
        int err = gcs_fault(k, op);
        if (!exists)
                return err;
        return op->if_absent && !op->maybe_done ? -EEXIST : 0;
}

int gcs_folder_get(struct store_kind *k, struct op *op, const char *key)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        gcs_folder_path(&m.path, k, key);
        return gcs_send(k, op, &m);
}

int gcs_folder_head(struct store_kind *k, struct op *op)
{
        return gcs_folder_get(k, op, op->key);
}

int gcs_folder_headed(struct store_kind *k, struct op *op)
{
        return gcs_ok(op) ? read_folder(op) : gcs_fault(k, op);
}

bool gcs_list_may_be_folder(const struct store_kind *k, const struct op *op)
{
        return !op->n && !op->next && !op->continuation && !op->start_after &&
               gcs_is_folder(k, op->prefix) && folder_fits(op->prefix);
}

int gcs_list_folder_parse(struct store_kind *k, struct op *op)
{
        int err = gcs_folder_headed(k, op);
        struct op_entry e = {.time_ns = op->obj.mtime_ns};

        if (err == -ENOENT)
                return 0;
        return err ? err : op_add_entry(op, &e, op->prefix, NULL, NULL);
}

int gcs_folder_delete(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);
        gcs_folder_path(&m.path, k, op->key);
        return gcs_send(k, op, &m);
}

int gcs_folder_deleted(struct store_kind *k, struct op *op)
{
        if (gcs_ok(op) || op->rq.status == 404)
                return 0;
        bool used = op->rq.status == 409 || op->rq.status == 412;
        int err = gcs_fault(k, op);
        return used ? -ENOTEMPTY : err;
}

/* --- renaming --- */

/* op->next is the operation, once there is one. */
int gcs_folder_rename_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(op->next ? HTTP_GET : HTTP_POST);

        if (!folder_fits(op->key))
                return -ENAMETOOLONG;
        if (op->stage != GCS_BEGIN)
                return gcs_folder_get(k, op, op->stage == GCS_PROBE ? op->src : op->key);
        if (op->next) {
                gcs_bucket_path(&m.path, k, "/operations/");
                uri_encode(&m.path, op->next, false);
        } else {
                gcs_folder_path(&m.path, k, op->src);
                buf_adds(&m.path, "/renameTo/folders/");
                uri_encode(&m.path, op->key, false);
        }
        return gcs_send(k, op, &m);
}

/* Why an operation that is done came to nothing: code of google.rpc.Code. */
static int operation_error(struct op *op, const struct json *error)
{
        enum { NOT_FOUND = 5, ALREADY_EXISTS = 6, PERMISSION_DENIED = 7, PRECONDITION = 9 };

        snprintf(op->fault.message, sizeof op->fault.message, "%s",
                 json_string(json_get(error, "message"), "the folder could not be renamed"));
        op->fault.status = op->rq.status;
        double code = json_number(json_get(error, "code"), 0);
        return code == NOT_FOUND                                ? -ENOENT
               : code == ALREADY_EXISTS || code == PRECONDITION ? -EEXIST
               : code == PERMISSION_DENIED                      ? -EACCES
                                                                : -EIO;
}

/* The name of an operation is "projects/_/buckets/B/operations/ID", or its ID. */
static int poll(struct op *op, const char *name)
{
        const char *id = strrchr(name, '/');

        id = id ? id + 1 : name;
        if (!*id) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "an operation without a name");
                return -EIO;
        }
        char *next = strdup(id);
        free(op->next);
        op->next = next;
        op->again_ms = op->again_ms ? op->again_ms * 2 : POLL_FIRST_MS;
        if (op->again_ms > POLL_MOST_MS)
                op->again_ms = POLL_MOST_MS;
        retry_progress(&op->retry);
        return op->next ? OP_AGAIN : -ENOMEM;
}

/* A try whose reply was lost may have begun the operation, and servers forget those that are over:
 * then the folders tell. */
static int failed(struct store_kind *k, struct op *op)
{
        bool exists = !op->next && (op->rq.status == 409 || op->rq.status == 412);
        int err = gcs_fault(k, op);

        if (exists)
                err = -EEXIST;
        if ((err != -EEXIST && err != -ENOENT) || !(op->maybe_done || op->next))
                return err;
        op->verify_err = op->next ? -EIO : err;
        op->stage = GCS_PROBE;
        return OP_AGAIN;
}

/* What has become of the source: it is on its way, is where it was, or is gone. */
static int source_found(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;

        int err = gcs_ok(op) ? gcs_json(op, &j) : gcs_fault(k, op);
        if (err == -ENOENT) {
                op->stage = GCS_VERIFY;
                return OP_AGAIN;
        }
        if (err)
                return err;
        const struct json *pending = json_get(j, "pendingRenameInfo");
        const char *id = json_string(json_get(pending, "operationId"), "");
        if (!*id || op->next) /* a second time it would be another's */
                return op->verify_err;
        op->stage = GCS_BEGIN;
        return poll(op, id);
}

static int target_found(struct store_kind *k, struct op *op)
{
        if (gcs_ok(op))
                return 0;
        int err = gcs_fault(k, op);
        return err == -ENOENT ? op->verify_err : err;
}

int gcs_folder_rename_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;

        if (op->stage != GCS_BEGIN)
                return op->stage == GCS_PROBE ? source_found(k, op) : target_found(k, op);
        if (!gcs_ok(op))
                return failed(k, op);
        int err = gcs_json(op, &j);
        if (err)
                return err;
        if (!json_bool(json_get(j, "done"), false))
                return poll(op, json_string(json_get(j, "name"), ""));
        const struct json *error = json_get(j, "error");
        if (error || !op->verify_err)
                return error ? operation_error(op, error) : 0;
        op->stage = GCS_VERIFY; /* it was found, and may have been to another name */
        return OP_AGAIN;
}
