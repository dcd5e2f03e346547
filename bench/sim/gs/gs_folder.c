/* SPDX-License-Identifier: Apache-2.0 */
/* gs_folder.c: folders of hierarchical buckets, and the operations that rename them.
 *
 * A rename is done at once; the operation says so a while later only, as those of the vendor do.
 * Its name holds all there is to know of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/json.h"
#include "bench/sim/http/conn.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

#define TAKES_NS 20000000ULL

/* Folders are only where the buckets have them. The name with its '/' at the end, the caller's;
 * NULL with the reply set. */
static char *folder_name(struct service *s, struct request *x, const char *name)
{
        size_t n = strlen(name);
        char *copy = object_store_has_folders(s->objects) && n ? malloc(n + 2) : NULL;

        if (!copy) {
                gs_refuse(x, n ? 409 : 400, NULL,
                          n ? "The bucket does not have a hierarchical namespace."
                            : "A folder needs a name.");
                return NULL;
        }
        snprintf(copy, n + 2, "%s%s", name, name[n - 1] == '/' ? "" : "/");
        return copy;
}

static void reply_folder(struct service *s, struct request *x, const char *name)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        int err = object_store_folder_get(s->objects, x->bucket, name, &o);

        if (err) {
                gs_fail(x, err);
                return;
        }
        gs_folder_resource(&x->body, x->bucket, o);
        gs_reply_json(x);
}

void gs_folder_insert(struct service *s, struct request *x)
{
        CLEANUP(json_freep) struct json *resource = NULL;
        const char *recursive = request_query(x, "recursive");

        if (gs_bad_json(x, x->text.p, x->text.len, &resource))
                return;
        CLEANUP(freep)
        char *name = folder_name(s, x, json_string(json_get(resource, "name"), ""));
        if (!name)
                return;
        if (gs_bad_key(s, x, name))
                return;
        int err = object_store_folder_create(s->objects, x->bucket, name,
                                             recursive && !strcmp(recursive, "true"));
        if (err)
                gs_fail(x, err);
        else
                reply_folder(s, x, name);
}

void gs_folder_get(struct service *s, struct request *x)
{
        CLEANUP(freep) char *name = folder_name(s, x, x->key);

        if (name)
                reply_folder(s, x, name);
}

void gs_folder_delete(struct service *s, struct request *x)
{
        CLEANUP(freep) char *name = folder_name(s, x, x->key);
        struct object_store_cond cond;

        if (!name || gs_bad_cond(x, "if", &cond))
                return;
        int err = object_store_folder_delete(s->objects, x->bucket, name, &cond);
        if (err)
                gs_fail(x, err);
        else
                gs_reply(x, 204);
}

/* The operation that was begun then. */
static void reply_operation(struct request *x, const char *folder, uint64_t begun_ns)
{
        bool done = clock_ns() - begun_ns >= TAKES_NS;
        struct buf *b = &x->body;

        buf_addf(b,
                 "{\"kind\":\"storage#operation\",\"name\":"
                 "\"projects/_/buckets/%s/operations/%" PRIx64 "-",
                 x->bucket, begun_ns);
        request_add_token(b, folder, strlen(folder));
        buf_addf(b, "\",\"done\":%s", done ? "true" : "false");
        if (done) {
                buf_adds(b, ",\"response\":{\"@type\":\"type.googleapis.com/"
                            "google.storage.control.v2.Folder\",");
                gs_field(b, "name", folder);
                gs_end_list(b);
                buf_addc(b, '}');
        }
        buf_adds(b, "}\n");
        gs_reply_json(x);
}

void gs_folder_rename(struct service *s, struct request *x)
{
        CLEANUP(freep) char *from = folder_name(s, x, x->key);
        CLEANUP(freep) char *to = from ? folder_name(s, x, x->other_key) : NULL;

        if (!to)
                return;
        int err = object_store_folder_rename(s->objects, x->bucket, from, to);
        if (err)
                gs_fail(x, err);
        else
                reply_operation(x, to, clock_ns());
}

void gs_operation_get(struct service *s, struct request *x)
{
        char *end;
        uint64_t begun_ns = strtoull(x->key, &end, 16);
        CLEANUP(freep) char *folder = *end == '-' ? request_read_token(end + 1) : NULL;

        (void)s;
        if (folder)
                reply_operation(x, folder, begun_ns);
        else
                gs_fail(x, -ENOENT);
}
