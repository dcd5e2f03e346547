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
#include "store/gcs.h"
#include "base/banned.h"

enum { POLL_FIRST_MS = 20, POLL_MOST_MS = 1000 };

bool gcs_is_folder(const struct store_kind *k, const char *key)
{
        size_t n = strlen(key);
        return __atomic_load_n(&k->folders, __ATOMIC_RELAXED) && n && key[n - 1] == '/';
}

/* --- which buckets have them
 * ---------------------------------------------------------------------- */

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
        return 0;
}

/* --- one folder
 * ----------------------------------------------------------------------------------- */

int gcs_folder_path(struct buf *path, const struct store_kind *k, const char *key)
{
        gcs_bucket_path(path, k, "/folders/");
        return uri_encode(path, key, false);
}

int gcs_folder_create(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);
        CLEANUP(json_freep) struct json *j = json_new_object();

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
               gcs_is_folder(k, op->prefix);
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

/* --- renaming
 * ------------------------------------------------------------------------------------- */

/* op->next is the operation, once there is one. */
int gcs_folder_rename_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(op->next ? HTTP_GET : HTTP_POST);

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

/* The name of an operation is "projects/_/buckets/B/operations/ID". */
static int poll_again(struct op *op, const struct json *j)
{
        const char *name = json_string(json_get(j, "name"), ""), *id = strrchr(name, '/');

        id = id ? id + 1 : name;
        if (!*id) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "an operation without a name");
                return -EIO;
        }
        free(op->next);
        op->next = strdup(id);
        op->again_ms = op->again_ms ? op->again_ms * 2 : POLL_FIRST_MS;
        if (op->again_ms > POLL_MOST_MS)
                op->again_ms = POLL_MOST_MS;
        retry_progress(&op->retry);
        return op->next ? OP_AGAIN : -ENOMEM;
}

static int begin_failed(struct store_kind *k, struct op *op)
{
        bool exists = op->rq.status == 409 || op->rq.status == 412;
        int err = gcs_fault(k, op);

        if (op->maybe_done && err == -ENOENT && !op->next)
                return 0; /* the try whose reply was lost took it away */
        return exists ? -EEXIST : err;
}

int gcs_folder_rename_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;

        if (!gcs_ok(op))
                return begin_failed(k, op);
        int err = gcs_json(op, &j);
        if (err)
                return err;
        if (!json_bool(json_get(j, "done"), false))
                return poll_again(op, j);
        const struct json *error = json_get(j, "error");
        return error ? operation_error(op, error) : 0;
}
