/* SPDX-License-Identifier: Apache-2.0 */
/* gs_list.c: lists of objects and of folders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

/* One page being written: items go to the reply, prefixes are kept until its end. */
struct page {
        struct request *x;
        struct buf prefixes, last; /* last: the last entry */
        bool folders;
        bool markers; /* an object that has a prefix's name is an item, too */
};

static void page_release(struct page *p)
{
        buf_release(&p->prefixes);
        buf_release(&p->last);
}

void gs_folder_resource(struct buf *b, const char *bucket, const struct object *o)
{
        buf_adds(b, "{\"kind\":\"storage#folder\",");
        gs_field(b, "name", o->key);
        gs_field(b, "bucket", bucket);
        gs_field_number(b, "metageneration", o->metageneration);
        gs_field_time(b, "createTime", o->created_ns);
        gs_field_time(b, "updateTime", o->mtime_ns);
        gs_end_list(b);
        buf_addc(b, '}');
}

static int add_entry(void *arg, const struct object *o, const char *common, size_t ncommon)
{
        struct page *p = arg;

        buf_reset(&p->last);
        if (common && !(p->folders && !common[ncommon])) {
                buf_add(&p->last, common, ncommon);
                gs_quote(&p->prefixes, p->last.p);
                buf_addc(&p->prefixes, ',');
                if (!p->markers || o->is_folder || common[ncommon])
                        return 0;
        } else {
                buf_adds(&p->last, o->key);
        }
        if (p->folders)
                gs_folder_resource(&p->x->body, p->x->bucket, o);
        else
                gs_resource(p->x, p->x->bucket, o, NULL);
        buf_addc(&p->x->body, ',');
        return 0;
}

static const char *query_or(const struct request *x, const char *name, const char *other)
{
        const char *value = request_query(x, name);

        return value ? value : other;
}

static bool is_true(const struct request *x, const char *name)
{
        return !strcasecmp(query_or(x, name, ""), "true");
}

static void list(struct service *s, struct request *x, bool folders)
{
        CLEANUP(page_release)
        struct page p = {.x = x,
                         .prefixes = BUF_INIT,
                         .last = BUF_INIT,
                         .folders = folders,
                         .markers = is_true(x, "includeTrailingDelimiter")};
        const char *token = request_query(x, "pageToken");
        CLEANUP(freep) char *after = token ? request_read_token(token) : NULL;
        int64_t max = gs_number(x, folders ? "pageSize" : "maxResults", GS_PAGE_MAX);
        const char *until = request_query(x, "endOffset"); /* empty: none */
        struct object_store_list l = {.prefix = query_or(x, "prefix", ""),
                                      .delim = query_or(x, "delimiter", ""),
                                      .after = after ? after : "",
                                      .from = request_query(x, "startOffset"),
                                      .until = until && *until ? until : NULL,
                                      .folders = is_true(x, "includeFoldersAsPrefixes"),
                                      .max = request_page_max(x, max > 0 && max < GS_PAGE_MAX
                                                                         ? (unsigned)max
                                                                         : GS_PAGE_MAX),
                                      .fn = add_entry,
                                      .arg = &p};

        if (x->status)
                return;
        if (token && !after) {
                gs_refuse(x, 400, "invalid", "The pageToken is not valid.");
                return;
        }
        if (l.folders && strcmp(l.delim, "/")) {
                gs_refuse(x, 400, "invalid", "includeFoldersAsPrefixes needs the delimiter '/'.");
                return;
        }
        buf_addf(&x->body, "{\"kind\":\"storage#%s\",\"items\":[", folders ? "folders" : "objects");
        int err = folders ? object_store_folders(s->objects, x->bucket, &l)
                          : object_store_list(s->objects, x->bucket, &l);
        if (err) {
                gs_fail(x, err);
                return;
        }
        gs_end_list(&x->body);
        buf_adds(&x->body, "],");
        if (l.more) {
                buf_adds(&x->body, "\"nextPageToken\":\"");
                const char *last = l.max ? p.last.p : l.after;
                request_add_token(&x->body, last, strlen(last));
                buf_adds(&x->body, "\",");
        }
        gs_end_list(&p.prefixes);
        if (p.prefixes.len)
                buf_addf(&x->body, "\"prefixes\":[%s],", p.prefixes.p);
        gs_end_list(&x->body);
        buf_adds(&x->body, "}\n");
        x->body.failed |= p.prefixes.failed || p.last.failed;
        gs_reply_json(x);
}

void gs_list(struct service *s, struct request *x)
{
        list(s, x, false);
}

void gs_folder_list(struct service *s, struct request *x)
{
        list(s, x, true);
}
