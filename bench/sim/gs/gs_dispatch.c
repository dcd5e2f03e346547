/* SPDX-License-Identifier: Apache-2.0 */
/* gs_dispatch.c: which operation a request of the JSON API is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/json.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

enum { SEGMENTS_MAX = 12 };

/* The first row that fits is the operation. In `path`, what is decoded and taken apart, '*' stands
 * for bucket, key, and the other bucket and key, in this order where there are two of a kind.
 * `query` is a parameter that must be there, "name" or "name=value". */
struct gs_op {
        const char *name, *method, *path, *query;
        enum body_to to;
        gs_fn *begin, *finish;
};

static const struct gs_op ops[] = {
        {"buckets.insert", "POST", "b", NULL, BODY_TEXT, NULL, gs_bucket_insert},
        {"buckets.get", "GET", "b/B", NULL, BODY_DROP, NULL, gs_bucket_get},
        {"buckets.delete", "DELETE", "b/B", NULL, BODY_DROP, NULL, gs_bucket_delete},
        {"buckets.storageLayout", "GET", "b/B/storageLayout", NULL, BODY_DROP, NULL,
         gs_storage_layout},

        {"objects.list", "GET", "b/B/o", NULL, BODY_DROP, NULL, gs_list},
        {"objects.media", "GET", "b/B/o/K", "alt=media", BODY_DROP, NULL, gs_media},
        {"objects.get", "GET", "b/B/o/K", NULL, BODY_DROP, NULL, gs_get},
        {"objects.delete", "DELETE", "b/B/o/K", NULL, BODY_DROP, NULL, gs_delete},
        {"objects.patch", "PATCH", "b/B/o/K", NULL, BODY_TEXT, NULL, gs_patch},
        {"objects.rewrite", "POST", "b/B/o/K/rewriteTo/b/B/o/K", NULL, BODY_TEXT, NULL, gs_rewrite},
        {"objects.copy", "POST", "b/B/o/K/copyTo/b/B/o/K", NULL, BODY_TEXT, NULL, gs_copy},
        {"objects.move", "POST", "b/B/o/K/moveTo/o/K", NULL, BODY_DROP, NULL, gs_move},
        {"objects.compose", "POST", "b/B/o/K/compose", NULL, BODY_TEXT, NULL, gs_compose},

        /* Some clients post the chunks, too. */
        {"objects.chunk", "POST", "upload/b/B/o", "upload_id", BODY_INTAKE, gs_begin_chunk,
         gs_chunk},
        {"objects.resumable", "POST", "upload/b/B/o", "uploadType=resumable", BODY_TEXT, NULL,
         gs_session_create},
        {"objects.insert", "POST", "upload/b/B/o", "uploadType", BODY_INTAKE, gs_begin_insert,
         gs_insert},
        {"objects.chunk", "PUT", "upload/b/B/o", "upload_id", BODY_INTAKE, gs_begin_chunk,
         gs_chunk},
        {"objects.cancel", "DELETE", "upload/b/B/o", "upload_id", BODY_DROP, NULL,
         gs_session_cancel},

        {"folders.insert", "POST", "b/B/folders", NULL, BODY_TEXT, NULL, gs_folder_insert},
        {"folders.list", "GET", "b/B/folders", NULL, BODY_DROP, NULL, gs_folder_list},
        {"folders.get", "GET", "b/B/folders/K", NULL, BODY_DROP, NULL, gs_folder_get},
        {"folders.delete", "DELETE", "b/B/folders/K", NULL, BODY_DROP, NULL, gs_folder_delete},
        {"folders.rename", "POST", "b/B/folders/K/renameTo/folders/K", NULL, BODY_DROP, NULL,
         gs_folder_rename},
        {"operations.get", "GET", "b/B/operations/K", NULL, BODY_DROP, NULL, gs_operation_get},

        {"batch", "POST", "batch", NULL, BODY_TEXT, NULL, gs_batch},
};

/* What a zonal bucket says, whose objects are appendable and are made as such. True when the reply
 * is set. */
static bool zonal_lacks(const struct service *s, struct request *x)
{
        static const struct {
                const char *op, *said;
        } none[] = {
                {"objects.insert", "This bucket requires appendable objects."},
                {"objects.resumable", "Zonal buckets do not support resumable upload."},
                {"objects.compose", "Zonal buckets do not support compose."},
                {"objects.rewrite", "Zonal buckets do not support rewrite."},
                {"objects.copy", "Zonal buckets do not support copy."},
                {"PutObject", "This bucket requires appendable objects."},
                {"CreateMultipartUpload", "Zonal buckets do not support multipart uploads."},
        };

        for (size_t i = 0; s->gs->zonal && i < sizeof none / sizeof *none; i++)
                if (!strcmp(x->op, none[i].op))
                        protocol_gs.refuse(x, 400, "invalid", none[i].said);
        return x->status != 0;
}

/* Of these the testbench knows nothing. */
static bool testbench_lacks(const struct request *x)
{
        return !strcmp(x->op, "batch") || !strcmp(x->op, "buckets.storageLayout") ||
               !strncmp(x->op, "folders.", 8);
}

/* The roots of the API, and what a path below one begins with in the table. */
static const struct {
        const char *root, *as;
} roots[] = {
        {"/storage/v1/", ""},
        {"/upload/storage/v1/", "upload/"},
        {"/resumable/upload/storage/v1/", "upload/"},
        {"/download/storage/v1/", ""},
        {"/batch/storage/v1", "batch"},
};

/* The path as the table has it, or NULL: it is of the XML API. */
static int table_path(const char *path, struct buf *out)
{
        for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
                size_t n = strlen(roots[i].root);
                if (strncmp(path, roots[i].root, n))
                        continue;
                buf_adds(out, roots[i].as);
                return buf_adds(out, path + n) ? -ENOMEM : 1;
        }
        return 0;
}

static bool query_fits(const struct request *x, const char *want)
{
        if (!want)
                return true;
        size_t n = strcspn(want, "=");
        for (size_t i = 0; i < x->nquery; i++)
                if (strlen(x->query[i].name) == n && !strncmp(x->query[i].name, want, n))
                        return !want[n] || !strcmp(x->query[i].value, want + n + 1);
        return false;
}

/* Whether the segments are those of the pattern; takes the names that it marks. */
static bool path_fits(struct request *x, const char *pattern, char *const *seg, size_t nseg)
{
        const char *names[4] = {"", "", "", ""}; /* bucket, key, other bucket, other key */
        const char *p = pattern;

        for (size_t i = 0; i < nseg; i++) {
                size_t n = strcspn(p, "/");
                if (!n)
                        return false;
                if (n == 1 && (*p == 'B' || *p == 'K')) {
                        size_t at = *p == 'K';
                        names[*names[at] ? at + 2 : at] = seg[i];
                        if (!*seg[i])
                                return false;
                } else if (strlen(seg[i]) != n || strncmp(seg[i], p, n)) {
                        return false;
                }
                p += n + (p[n] == '/');
        }
        if (*p)
                return false;
        x->bucket = names[0];
        x->key = names[1];
        x->other_bucket = *names[2] ? names[2] : names[0];
        x->other_key = names[3];
        return true;
}

static const struct gs_op *find_op(struct request *x)
{
        char *seg[SEGMENTS_MAX], *p = x->path;
        size_t n = 0;

        for (char *next; p && n < SEGMENTS_MAX; p = next) {
                next = strchr(p, '/');
                if (next)
                        *next++ = 0;
                if (uri_decode(p, false) < 0)
                        return NULL;
                seg[n++] = p;
        }
        if (p)
                return NULL;
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
                if (!strcmp(ops[i].method, x->rq.method) && query_fits(x, ops[i].query) &&
                    path_fits(x, ops[i].path, seg, n))
                        return &ops[i];
        return NULL;
}

/* What the query says of the object that a path does not name. */
static void take_query(struct request *x)
{
        const char *name = request_query(x, "name"), *id = request_query(x, "upload_id");

        if (!*x->key && !strncmp(x->op, "objects.", 8) && name)
                x->key = name;
        if (id)
                x->upload = id;
}

/* Whether the reply is set to that of a policy which does not allow the request. */
static bool lacks_permission(const struct service *s, struct request *x)
{
        char name[PERMISSION_MAX], message[PERMISSION_MAX + 128];

        if (!permission_lacks(s, x, name))
                return false;
        snprintf(message, sizeof message,
                 "The caller does not have %s access to the Google Cloud Storage object.", name);
        gs_refuse(x, 403, "forbidden", message);
        return true;
}

/* "Requesters who include a billing project in their request" have access (Cloud Storage,
 * "Requester Pays"): userProject in the JSON API, x-goog-user-project in either. A session has the
 * project that it began with. */
bool gs_is_unpaid(const struct service *s, const struct request *x)
{
        const char *project = request_query(x, "userProject");

        if (!project)
                project = http_header(&x->rq, "x-goog-user-project");
        return s->s3->requester_pays && *x->bucket && !request_query(x, "upload_id") &&
               (!project || !*project);
}

static void begin_json(struct service *s, struct request *x, struct buf *path)
{
        x->op = "Unknown";
        x->bucket = x->key = x->upload = x->other_bucket = x->other_key = "";
        gs_begin_headers(x);
        x->path = buf_take(path);
        x->query_text = strdup(x->rq.query);
        if (!x->path || !x->query_text) {
                gs_fail(x, -ENOMEM);
                return;
        }
        int n = uri_split_query(x->query_text, x->query, EXCHANGE_QUERY_MAX);
        x->nquery = n > 0 ? (size_t)n : 0;
        const struct gs_op *op = n < 0 ? NULL : find_op(x);
        if (!op) {
                gs_refuse(x, n < 0 ? 400 : 404, NULL, NULL);
                return;
        }
        x->op = op->name;
        x->priv = op;
        x->to = op->to;
        take_query(x);
        if (s->gs->testbench && testbench_lacks(x)) {
                gs_refuse(x, *x->bucket ? 404 : 501, "", NULL);
                return;
        }
        if (strcmp(op->name, "batch") && bearer_denied(s, x))
                return;
        if (*x->bucket && !object_store_has_bucket(s->objects, x->bucket))
                gs_fail(x, -ENXIO);
        else if (gs_is_unpaid(s, x))
                gs_refuse(x, 400, "required", GS_UNPAID);
        else if (zonal_lacks(s, x) || lacks_permission(s, x) || gs_bad_key(s, x, x->key) ||
                 gs_bad_key(s, x, x->other_key))
                return;
        else if (op->to == BODY_TEXT && x->rq.body_len > EXCHANGE_TEXT_MAX)
                gs_refuse(x, 413, NULL, NULL);
        else if (op->begin)
                op->begin(s, x);
}

static void begin(struct service *s, struct request *x)
{
        CLEANUP(buf_release) struct buf path = BUF_INIT;
        int json = table_path(x->rq.path, &path);

        x->google = true;
        if (json)
                begin_json(s, x, &path);
        else
                protocol_s3.begin(s, x);
        if (!json && !x->status)
                zonal_lacks(s, x);
        if (!json && !x->status && s->gs->testbench && *x->upload == 0 &&
            request_query(x, "uploads"))
                protocol_s3.refuse(x, 501, "NotImplemented", NULL);
}

/* Whether the request is of the JSON API; what is no request is, too. */
static bool is_json(const struct request *x)
{
        CLEANUP(buf_release) struct buf path = BUF_INIT;

        return !x->rq.path || table_path(x->rq.path, &path);
}

static void finish(struct service *s, struct request *x)
{
        const struct gs_op *op = x->priv;

        if (!is_json(x)) {
                protocol_s3.finish(s, x);
                return;
        }
        op->finish(s, x);
        if (x->headers.failed || x->body.failed)
                gs_fail(x, -ENOMEM);
}

static void refuse(struct request *x, int status, const char *code, const char *message)
{
        if (is_json(x))
                gs_refuse(x, status, code, message);
        else
                protocol_s3.refuse(x, status, code, message);
}

static void error_in_200(struct request *x, const char *code, const char *message)
{
        refuse(x, 200, code, message);
}

const struct protocol protocol_gs = {
        .name = "gs",
        .begin = begin,
        .finish = finish,
        .refuse = refuse,
        .error_in_200 = error_in_200,
};
