/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_list.c: listings, and the check. */
#include "store/gcs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

int gcs_check_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        if (op->stage == GCS_LAYOUT)
                return gcs_layout_build(k, op);
        if (k->keys) {
                op->max = 1;
                return gcs_xml_list(k, op, op->prefix, NULL, NULL);
        }
        gcs_bucket_path(&m.path, k, "/o");
        gcs_query(&m, "maxResults", "1");
        gcs_query(&m, "fields", "items(name)");
        gcs_query(&m, "prefix", op->prefix);
        return gcs_send(k, op, &m);
}

int gcs_check_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;
        if (op->stage == GCS_LAYOUT)
                return gcs_layout_parse(k, op);
        if (k->keys)
                return gcs_xml_listed(k, op);
        int err = gcs_ok(op) ? gcs_json(op, &j) : gcs_fault(k, op);
        if (err)
                return err;
        op->stage = GCS_LAYOUT;
        return OP_AGAIN;
}

int gcs_list(struct store_kind *k, struct op *op, const char *prefix, const char *delim,
             const char *continuation)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_GET);
        char max[16];

        if (k->keys)
                return gcs_xml_list(k, op, prefix, delim, continuation);
        snprintf(max, sizeof max, "%u", op->max ? op->max : 1000);
        gcs_bucket_path(&m.path, k, "/o");
        gcs_query(&m, "maxResults", max);
        gcs_query(&m, "prefix", prefix);
        gcs_query(&m, "fields",
                  "nextPageToken,prefixes,items(name,size,generation,timeCreated,metadata)");
        if (delim)
                gcs_query(&m, "delimiter", delim);
        if (delim && !strcmp(delim, "/") && __atomic_load_n(&k->folders, __ATOMIC_RELAXED))
                gcs_query(&m, "includeFoldersAsPrefixes", "true");
        if (op->start_after)
                gcs_query(&m, "startOffset", op->start_after);
        if (continuation)
                gcs_query(&m, "pageToken", continuation);
        return gcs_send(k, op, &m);
}

int gcs_list_build(struct store_kind *k, struct op *op)
{
        if (op->stage == GCS_FOLDER)
                return gcs_folder_get(k, op, op->prefix);
        return gcs_list(k, op, op->prefix, op->delim, op->continuation);
}

static int add_item(struct op *op, const struct json *item)
{
        struct store_object obj;
        const char *name = json_string(json_get(item, "name"), "");

        if (!gcs_resource(item, &obj))
                return -EBADMSG;
        if (op->start_after && !strcmp(name, op->start_after))
                return 0; /* the offset is where to begin, not what to begin behind */
        struct op_entry e = {.size = obj.size, .time_ns = obj.mtime_ns};
        int err = op_keep_meta(op, &e, &obj.meta);
        return err ? err : op_add_entry(op, &e, name, obj.etag, NULL);
}

static int read_page(struct op *op, const struct json *j)
{
        const struct json *items = json_get(j, "items"), *prefixes = json_get(j, "prefixes");
        const char *next = json_string(json_get(j, "nextPageToken"), "");
        int err = 0;

        for (size_t i = 0; !err && i < json_count(items); i++)
                err = add_item(op, json_at(items, i));
        for (size_t i = 0; !err && i < json_count(prefixes); i++) {
                struct op_entry e = {.is_prefix = true};
                const char *name = json_string(json_at(prefixes, i), NULL);
                err = name ? op_add_entry(op, &e, name, NULL, NULL) : -EBADMSG;
        }
        if (!err && *next && !(op->next = strdup(next)))
                err = -ENOMEM;
        return err;
}

int gcs_list_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;

        if (op->stage == GCS_FOLDER)
                return gcs_list_folder_parse(k, op);
        if (k->keys)
                return gcs_xml_listed(k, op);
        if (!gcs_ok(op))
                return gcs_fault(k, op);
        op->n = 0; /* a retry after a body that could not be read */
        buf_reset(&op->names);
        int err = gcs_json(op, &j);
        if (!err)
                err = read_page(op, j);
        if (err == -EBADMSG) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "a listing with entries that are none");
                return OP_RETRY;
        }
        if (err || !gcs_list_may_be_folder(k, op))
                return err;
        op->stage = GCS_FOLDER;
        return OP_AGAIN;
}
