/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_list.c: listings, and the check. */
#include "store/gcs/gcs.h"

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
        gcs_query(&m, "fields", "items(name),nextPageToken");
        gcs_query(&m, "prefix", op->prefix);
        return gcs_send(k, op, &m);
}

/* POST with an uploadId wants storage.multipartUploads.create and storage.objects.create ("IAM
 * permissions for XML methods"). Whether a bucket has the latter of itself, which
 * buckets.testIamPermissions tells, says nothing where a condition or a managed folder allows it
 * for the prefix alone. */
int gcs_check_write_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        gcs_query(&m, "uploadId", op->id);
        m.text = &op->text;
        m.type = "application/xml";
        return gcs_xml_path(&m, k, op->key) ? -ENOMEM : gcs_send(k, op, &m);
}

int gcs_check_write_parse(struct store_kind *k, struct op *op)
{
        return gcs_ok(op) ? 0 : gcs_fault(k, op);
}

int gcs_check_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;
        if (op->stage == GCS_LAYOUT)
                return gcs_layout_parse(k, op);
        if (k->keys) {
                int rc = gcs_xml_listed(k, op);
                op->empty = !rc && !op->n && !op->next;
                return rc;
        }
        int err = gcs_ok(op) ? gcs_json(op, &j) : gcs_fault(k, op);
        if (err)
                return err;
        op->empty = !json_get(j, "items") && !json_get(j, "nextPageToken");
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
        gcs_query(&m, "fields", gcs_page_fields);
        if (delim)
                gcs_query(&m, "delimiter", delim);
        bool folders = __atomic_load_n(&k->folders, __ATOMIC_RELAXED);
        if (delim && !strcmp(delim, "/"))
                gcs_query(&m, folders ? "includeFoldersAsPrefixes" : "includeTrailingDelimiter",
                          "true");
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
        return gcs_list(k, op, op->prefix, op->delim, op->page_token);
}

/* What comes behind the delimiter in an object's name, or NULL: it has none. */
static const char *behind_delim(const struct op *op, const char *name)
{
        size_t skip = strlen(op->prefix);
        const char *at = op->delim && !strncmp(name, op->prefix, skip)
                                 ? strstr(name + skip, op->delim)
                                 : NULL;
        return at ? at + strlen(op->delim) : NULL;
}

/* An object that has a prefix's name tells of it, and takes its place. */
static int add_item(struct store_kind *k, struct op *op, const struct json *item)
{
        struct store_object obj;
        const char *name = json_string(json_get(item, "name"), "");
        const char *behind = behind_delim(op, name);

        if (!gcs_resource(item, &obj))
                return -EBADMSG;
        if (op->start_after && !strcmp(name, op->start_after))
                return 0; /* the offset is where to begin, not what to begin behind */
        if (behind && *behind)
                return 0; /* the prefix stands for it */
        if (behind)
                __atomic_store_n(&k->shows_markers, true, __ATOMIC_RELAXED);
        struct op_entry e = {.size = obj.size, .time_ns = obj.mtime_ns};
        e.is_prefix = e.told = behind != NULL;
        int err = op_copy_meta(op, &e, &obj.meta);
        return err ? err : op_add_entry(op, &e, name, obj.etag, NULL);
}

/* `at` is the first entry that may be of that name or a later one. */
static int add_prefix(struct store_kind *k, struct op *op, const char *name, size_t *at, size_t end)
{
        struct op_entry e = {.is_prefix = true};

        if (!name)
                return -EBADMSG;
        while (*at < end && strcmp(op_string(op, op->v[*at].key), name) < 0)
                ++*at;
        if (*at < end && !strcmp(op_string(op, op->v[*at].key), name))
                return 0; /* there already, by its object */
        e.told = __atomic_load_n(&k->shows_markers, __ATOMIC_RELAXED);
        return op_add_entry(op, &e, name, NULL, NULL);
}

int gcs_next_page(struct op *op, const struct json *page)
{
        const char *next = json_string(json_get(page, "nextPageToken"), "");

        free(TAKE_PTR(op->next));
        if (!*next)
                return 0;
        op->next = strdup(next);
        return op->next ? OP_AGAIN : -ENOMEM;
}

static int read_page(struct store_kind *k, struct op *op, const struct json *j)
{
        const struct json *items = json_get(j, "items"), *prefixes = json_get(j, "prefixes");
        int err = 0;

        for (size_t i = 0; !err && i < json_count(items); i++)
                err = add_item(k, op, json_at(items, i));
        size_t at = op->page, end = op->n;
        for (size_t i = 0; !err && i < json_count(prefixes); i++)
                err = add_prefix(k, op, json_string(json_at(prefixes, i), NULL), &at, end);
        int rc = err ? err : gcs_next_page(op, j);
        return rc == OP_AGAIN ? 0 : rc; /* who asked goes on */
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
        op_begin_page(op);
        int err = gcs_json(op, &j);
        if (!err)
                err = read_page(k, op, j);
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
