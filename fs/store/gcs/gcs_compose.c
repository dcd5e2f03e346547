/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_compose.c: an object put together by the server from smaller ones: up to 32 in a step, in as
 * many steps as it takes, each source pinned to its generation. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "store/gcs/gcs_upload.h"
#include "store/core/store_int.h"
#include "base/banned.h"

enum { SOURCES_MAX = 32 };

/* c-ID/REST */
static int piece_name(struct buf *name, const struct store_kind *k, const char *id,
                      const char *rest)
{
        gcs_tmp_name(name, k, id);
        buf_addc(name, '/');
        return buf_adds(name, rest);
}

static int part_name(struct buf *name, const struct store_kind *k, const char *id, unsigned partno)
{
        char number[16];
        snprintf(number, sizeof number, "%05u", partno);
        return piece_name(name, k, id, number);
}

/* --- create and parts --- */

int gcs_compose_create(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        if (gcs_tmp_name(&name, k, op->marker))
                return -ENOMEM;
        return gcs_insert(k, op, name.p, op->key + strlen(k->prefix));
}

int gcs_compose_created(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        if (gcs_tmp_name(&name, k, op->marker))
                return -ENOMEM;
        return gcs_inserted(k, op, name.p);
}

int gcs_compose_part(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        if (part_name(&name, k, op->id, op->partno))
                return -ENOMEM;
        return gcs_insert(k, op, name.p, op->key + strlen(k->prefix));
}

int gcs_compose_parted(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        const struct upload_part part = {
                .size = op->body.len, .crc32c = op->body.crc32c, .has_crc = true, .body = true};

        if (part_name(&name, k, op->id, op->partno))
                return -ENOMEM;
        int err = gcs_inserted(k, op, name.p);
        return err ? err : upload_note_part(op->up, op->partno, op->obj.etag, &part);
}

/* A part that is another object: its generation, a space and its name stand for its ETag. */
int gcs_part_copy_build(struct store_kind *k, struct op *op)
{
        return gcs_composed(op->id) ? gcs_head(k, op, op->src) : -EINVAL;
}

int gcs_part_copy_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(freep) char *which = NULL;

        int err = gcs_ok(op) ? gcs_read_resource(op, op->src) : gcs_fault(k, op);
        if (err == -ENOENT && op->src_match)
                return -ESTALE;
        if (err)
                return err;
        if (op->src_match && strcmp(op->src_match, op->obj.etag) != 0)
                return -ESTALE;
        if (op->off || op->len != op->obj.size)
                return -EINVAL;
        const struct upload_part part = {
                .size = op->obj.size, .crc32c = op->obj.crc32c, .has_crc = op->obj.has_crc};
        if (asprintf(&which, "%s %s", op->obj.etag, op->src) < 0) {
                which = NULL;
                return -ENOMEM;
        }
        return upload_note_part(op->up, op->partno, which, &part);
}

/* --- complete --- */

/* op->v is the list of sources, `key` and `etag` (its generation); what is made of 32 of them is
 * added behind, until what was added last is few enough to be the object. op->at is where the
 * next step begins, op->page where the present layer ends. */

struct gather {
        struct store_kind *k;
        struct op *op;
};

static int add_source(void *arg, unsigned partno, const struct upload_part *part)
{
        struct gather *g = arg;
        struct op *op = g->op;
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        const char *space = strchr(part->etag, ' ');
        struct op_entry e = {.size = part->size, .partno = partno};
        char generation[32];

        if (space ? buf_adds(&name, space + 1) : part_name(&name, g->k, op->id, partno))
                return -ENOMEM;
        snprintf(generation, sizeof generation, "%.*s", (int)strcspn(part->etag, " "), part->etag);
        op->expect.has_crc = op->expect.has_crc && part->has_crc;
        op->expect.crc32c = crc32c_combine(op->expect.crc32c, part->crc32c, part->size);
        op->expect.size += part->size;
        return op_add_entry(op, &e, name.p, generation, NULL);
}

static int gather(struct store_kind *k, struct op *op)
{
        struct gather g = {k, op};

        op->n = op->at = 0;
        buf_reset(&op->names);
        op->expect = (struct store_object){.has_crc = true};
        int err = upload_each(op->up, add_source, &g);
        op->page = op->n;
        return err;
}

static size_t sources(const struct op *op)
{
        size_t n = op->page - op->at;
        return n < SOURCES_MAX ? n : SOURCES_MAX;
}

/* This layer is small enough: what is made next is the object itself. */
static bool last_step(const struct op *op)
{
        return op->page == op->n && sources(op) == op->page - op->at;
}

static int write_request(struct op *op, bool last)
{
        CLEANUP(json_freep) struct json *j = json_new_object();
        struct json *from = json_add_array(j, "sourceObjects");
        int err = from ? 0 : -ENOMEM;

        for (size_t i = 0; !err && i < sources(op); i++) {
                const struct op_entry *e = &op->v[op->at + i];
                struct json *source = json_add_object(from, NULL);
                err = json_add_string(source, "name", op_string(op, e->key));
                if (!err)
                        err = json_add_string(source, "generation", op_string(op, e->etag));
        }
        struct json *to = json_add_object(j, "destination");
        if (!err)
                err = gcs_add_type(to, last ? op->meta : NULL);
        if (!err && last)
                err = gcs_add_meta(to, op->meta, NULL);
        CLEANUP(freep) char *text = json_print(j);
        buf_reset(&op->text);
        return err || !text ? -ENOMEM : buf_adds(&op->text, text);
}

/* The name of what the next step makes. */
static int step_name(struct buf *name, struct store_kind *k, const struct op *op)
{
        char rest[32];
        if (last_step(op))
                return buf_adds(name, op->key);
        snprintf(rest, sizeof rest, "t%05zu", op->n);
        return piece_name(name, k, op->id, rest);
}

static int step(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);
        CLEANUP(buf_release) struct buf name = BUF_INIT;

        int err = write_request(op, last_step(op));
        if (err || step_name(&name, k, op))
                return -ENOMEM;
        gcs_object_path(&m.path, k, name.p);
        buf_adds(&m.path, "/compose");
        gcs_query(&m, "fields", gcs_fields);
        gcs_kms(&m, k, "kmsKeyName");
        if (last_step(op))
                gcs_cond(&m, op);
        m.text = &op->text;
        m.type = "application/json";
        return gcs_send(k, op, &m);
}

/* --- sources of another storage class --- */

/* "The source objects must all reside in the same bucket and use the same storage class" (XML API,
 * "PUT Object - Compose"), which is that of the bucket where the request names none. Pieces have
 * it; a file that is appended to may have another, from who wrote it or by a lifecycle rule. It is
 * copied to a piece then, which gives it the bucket's. */

/* The vendor has no reason of its own for this. */
static bool is_of_other_class(const struct op *op, int err)
{
        return err < 0 && op->rq.status == 400 && strstr(op->fault.message, "storage class");
}

/* The first source of the next step that is no piece of ours, or NULL. */
static struct op_entry *other_source(const struct store_kind *k, const struct op *op)
{
        for (size_t i = op->at; i < op->at + sources(op); i++)
                if (!gcs_is_piece(k, op_string(op, op->v[i].key), op->id))
                        return &op->v[i];
        return NULL;
}

static int copy_name(struct buf *name, const struct store_kind *k, const struct op *op,
                     const struct op_entry *source)
{
        char rest[16];

        snprintf(rest, sizeof rest, "s%05u", source->partno);
        return piece_name(name, k, op->id, rest);
}

static int copy_source(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        const struct op_entry *source = other_source(k, op);

        if (copy_name(&name, k, op, source))
                return -ENOMEM;
        const struct gcs_way way = {op_string(op, source->key), op_string(op, source->etag),
                                    name.p};
        return gcs_rewrite_piece(k, op, &way);
}

/* The copy takes the place of its source. */
static int source_copied(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        struct op_entry *source = other_source(k, op);

        if (copy_name(&name, k, op, source))
                return -ENOMEM;
        int err = gcs_rewritten(k, op, name.p);
        if (err == -ENOENT || err == -EEXIST) /* the source has another generation, or is gone */
                return -ESTALE;
        if (err)
                return err;
        free(TAKE_PTR(op->next)); /* the token of this copy */
        err = op_rename_entry(op, source, name.p, op->obj.etag);
        if (err)
                return err;
        retry_progress(&op->retry);
        op->stage = other_source(k, op) ? GCS_REWRITE : GCS_COMPOSE;
        return OP_AGAIN;
}

/* Where folders are real, the pieces have made one. */
static int delete_folder(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);
        CLEANUP(buf_release) struct buf dir = BUF_INIT;

        if (piece_name(&dir, k, op->id, ""))
                return -ENOMEM;
        gcs_folder_path(&m.path, k, dir.p);
        return gcs_send(k, op, &m);
}

int gcs_compose_build(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;

        switch (op->stage) {
        case GCS_BEGIN: /* its metadata */
                if (gcs_tmp_name(&name, k, op->id))
                        return -ENOMEM;
                return gcs_head(k, op, name.p);
        case GCS_REWRITE:
                return copy_source(k, op);
        case GCS_CLEAN:
                return gcs_delete_many_build(k, op);
        case GCS_UNLINK:
                return delete_folder(k, op);
        case GCS_VERIFY:
                return gcs_verify_build(k, op);
        default:
                return step(k, op);
        }
}

/* Whether there is such an upload, and what metadata the object is to have. */
static int begun(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;

        if (gcs_tmp_name(&name, k, op->id))
                return -ENOMEM;
        int err = gcs_ok(op) ? gcs_read_resource(op, name.p) : gcs_fault(k, op);
        bool gone = err == -ENOENT; /* aborted by somebody else, or completed */
        if (!err)
                err = op_set_meta(op, &op->obj.meta);
        if (!err || gone)
                err = gather(k, op);
        if (err)
                return err;
        if (gone)
                return op->up->known ? gcs_verify_begin(op, upload_gone(op)) : upload_gone(op);
        op->maybe_done = false; /* from here on it is a step that may have been */
        op->stage = GCS_COMPOSE;
        return OP_AGAIN;
}

static int add_left(void *arg, unsigned partno)
{
        struct gather *g = arg;
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        return part_name(&name, g->k, g->op->id, partno) || gcs_add_key(g->op, name.p) ? -ENOMEM
                                                                                       : 0;
}

/* Lists in op->keys what is to be deleted: all pieces of ours, those that were dropped, too, then
 * what says that they are. */
static int begin_cleaning(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        struct gather g = {k, op};

        op->cleanup_only = op->verb == OP_COMPLETE; /* the object is there */
        if (gcs_tmp_name(&name, k, op->id))
                return -ENOMEM;
        for (size_t i = 0; i < op->n; i++) {
                const char *key = op_string(op, op->v[i].key);
                if (gcs_is_piece(k, key, op->id) && gcs_add_key(op, key))
                        return -ENOMEM;
        }
        if (op->verb == OP_COMPLETE && upload_each_left(op->up, add_left, &g))
                return -ENOMEM;
        op->at = 0;
        op->verify_err = 0;
        retry_progress(&op->retry); /* the tries that the composition took are over */
        op->stage = GCS_CLEAN;
        return gcs_add_key(op, name.p) ? -ENOMEM : OP_AGAIN;
}

static int made_it(struct store_kind *k, struct op *op)
{
        if (op->obj.size == op->expect.size &&
            (!op->obj.has_crc || !op->expect.has_crc || op->obj.crc32c == op->expect.crc32c))
                return begin_cleaning(k, op);
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message,
                 "CRC32C of the object is %08x, of its parts %08x", op->obj.crc32c,
                 op->expect.crc32c);
        return -EBADMSG;
}

static int stepped(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        bool last = last_step(op);

        if (step_name(&name, k, op))
                return -ENOMEM;
        int err = gcs_ok(op) ? gcs_read_resource(op, name.p) : gcs_fault(k, op);
        if (err == -ENOENT) /* a source of that generation is gone: an append replaces its own */
                err = -ESTALE;
        if ((last && op_may_be_ours(op, err)) || (err == -ESTALE && op->up->known))
                return gcs_verify_begin(op, err);
        if (is_of_other_class(op, err) && other_source(k, op)) {
                op->stage = GCS_REWRITE;
                op->maybe_done = false;
                return OP_AGAIN;
        }
        if (err)
                return err;
        if (last)
                return made_it(k, op);
        struct op_entry e = {.size = op->obj.size};
        size_t done = sources(op);
        err = op_add_entry(op, &e, name.p, op->obj.etag, NULL);
        op->at += done;
        if (op->at == op->page)
                op->page = op->n;
        op->maybe_done = false;
        retry_progress(&op->retry);
        return err ? err : OP_AGAIN;
}

static int begin_unlinking(struct store_kind *k, struct op *op)
{
        if (!__atomic_load_n(&k->folders, __ATOMIC_RELAXED))
                return 0;
        op->stage = GCS_UNLINK;
        return OP_AGAIN;
}

/* An empty folder that stays is in nobody's way, and one that is not empty has a piece that came
 * late, which is found with the unfinished uploads. */
static int unlinked(struct store_kind *k, struct op *op)
{
        int err = gcs_ok(op) ? 0 : gcs_fault(k, op);
        return err > 0 && op->rq.status != 409 && op->retry.tries < 3 ? err : 0;
}

static int cleaned(struct store_kind *k, struct op *op)
{
        int err = gcs_delete_many_parse(k, op);
        return err ? err : begin_unlinking(k, op);
}

int gcs_compose_parse(struct store_kind *k, struct op *op)
{
        int err;

        switch (op->stage) {
        case GCS_BEGIN:
                return begun(k, op);
        case GCS_REWRITE:
                return source_copied(k, op);
        case GCS_CLEAN:
                return cleaned(k, op);
        case GCS_UNLINK:
                return unlinked(k, op);
        case GCS_VERIFY:
                err = gcs_verify_parse(k, op);
                return err ? err : begin_cleaning(k, op);
        default:
                return stepped(k, op);
        }
}

/* --- what there is of it --- */

int gcs_compose_parts(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf dir = BUF_INIT;
        if (piece_name(&dir, k, op->id, ""))
                return -ENOMEM;
        return gcs_list(k, op, dir.p, NULL, op->next);
}

/* More than there are: parts, copies of what they are made of, and what is made of 32 of them. */
enum { PIECES_MAX = 3 * STORE_PART_MAX };

/* A page of pieces: OP_AGAIN when there is another. */
static int read_pieces(struct store_kind *k, struct op *op, bool all)
{
        CLEANUP(json_freep) struct json *j = NULL;

        int err = gcs_json(op, &j);
        const struct json *items = json_get(j, "items");
        for (size_t i = 0; !err && i < json_count(items); i++) {
                const char *name = json_string(json_get(json_at(items, i), "name"), "");
                struct store_object obj;
                if (!gcs_is_piece(k, name, op->id) || !gcs_resource(json_at(items, i), &obj))
                        continue;
                unsigned long number = strtoul(strrchr(name, '/') + 1, NULL, 10);
                struct op_entry e = {.size = obj.size, .partno = (unsigned)number};
                if (op->n >= PIECES_MAX)
                        err = -EBADMSG;
                else if (all || (number && number <= STORE_PART_MAX))
                        err = op_add_entry(op, &e, name, obj.etag, NULL);
        }
        return err ? err : gcs_next_page(op, j);
}

int gcs_compose_listed(struct store_kind *k, struct op *op)
{
        return gcs_ok(op) ? read_pieces(k, op, false) : gcs_fault(k, op);
}

/* --- abort --- */

int gcs_compose_abort(struct store_kind *k, struct op *op)
{
        return op->stage == GCS_CLEAN    ? gcs_delete_many_build(k, op)
               : op->stage == GCS_UNLINK ? delete_folder(k, op)
                                         : gcs_compose_parts(k, op);
}

int gcs_compose_aborted(struct store_kind *k, struct op *op)
{
        if (op->stage == GCS_UNLINK)
                return unlinked(k, op);
        if (op->stage == GCS_CLEAN)
                return cleaned(k, op);
        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int err = read_pieces(k, op, true);
        return err ? err : begin_cleaning(k, op);
}
