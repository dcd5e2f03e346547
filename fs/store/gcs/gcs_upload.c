/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_upload.c: one object of many parts, in one of three ways.
 *
 * Multipart uploads (gcs_multipart.c) are those of the XML API. Their completion minds no
 * condition, so they are made under a name of ours and moved, which does. Composed ones
 * (gcs_compose.c) are small objects that the server puts together; only they can take whole other
 * objects as parts. A resumable session (gcs_resumable.c) takes one stream. All names of ours are
 * in `.ckptfs/tmp/` below the store's prefix:
 *
 *      m-ID-KEY        what a multipart upload is to become; KEY with its '/' encoded, or
 *      m-ID            where that is too long
 *      c-ID            says that there is a composed upload, for what key, with what metadata
 *      c-ID/00017      its part 17
 *
 * The id of an upload is "m-ID.ID OF THE SERVER", "c-ID", or "r-ID.SESSION", which is named as the
 * first is. */
#include "store/gcs/gcs_upload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "store/core/store_int.h"
#include "base/banned.h"

enum { ID_LEN = 18 }; /* "m-" and 16 digits */

bool gcs_composed(const char *id)
{
        return id && !strncmp(id, "c-", 2);
}

static bool gcs_streamed(const char *id)
{
        return id && !strncmp(id, "r-", 2);
}

static bool is_printable(const char *text)
{
        while (*text > ' ' && *text < 0x7f)
                text++;
        return !*text;
}

/* What is behind "X-ID" of an id or name of ours, NULL for what is neither. */
static const char *behind_id(const char *id)
{
        size_t digits = strlen(id) > 2 ? strspn(id + 2, "0123456789abcdef") : 0;
        bool ours = !strncmp(id, "m-", 2) || gcs_composed(id) || gcs_streamed(id);
        return ours && digits ? id + 2 + digits : NULL;
}

/* An id may come from a record or a name in the bucket, which anybody may have written. What a
 * session adds to it becomes the path of requests that carry our token: it stays one of our
 * server. */
static bool is_id(const char *id)
{
        const char *rest = id ? behind_id(id) : NULL;

        if (!rest)
                return false;
        if (gcs_composed(id))
                return !*rest;
        if (*rest != '.')
                return false;
        return !gcs_streamed(id) || !rest[1] || (rest[1] == '/' && is_printable(rest + 1));
}

int gcs_tmp_name(struct buf *name, const struct store_kind *k, const char *rest)
{
        buf_adds(name, k->prefix);
        buf_adds(name, GCS_TMP);
        return buf_adds(name, rest);
}

/* The name without all that is before ours, NULL for what is not below GCS_TMP. */
static const char *behind_tmp(const struct store_kind *k, const char *name)
{
        size_t n = strlen(k->prefix), tmp = strlen(GCS_TMP);
        bool below = !strncmp(name, k->prefix, n) && !strncmp(name + n, GCS_TMP, tmp);
        return below ? name + n + tmp : NULL;
}

/* Whether an object may have the name, which has the key as its last component. */
static bool name_fits(const char *name, bool folders)
{
        const char *base = strrchr(name, '/') + 1;

        return strlen(name) <= STORE_KEY_MAX && (!folders || strlen(base) <= GCS_FOLDER_NAME_MAX);
}

/* The name with the key, `n` bytes of the id being ours. */
static int add_full_name(struct buf *name, const struct store_kind *k, const char *id, size_t n,
                         const char *key)
{
        gcs_tmp_name(name, k, "");
        buf_add(name, id, n);
        buf_addc(name, '-');
        return uri_encode(name, key + strlen(k->prefix), false);
}

int gcs_upload_name(struct buf *name, const struct store_kind *k, const char *id, const char *key)
{
        CLEANUP(buf_release) struct buf full = BUF_INIT;
        size_t n = strcspn(id, ".");

        if (behind_tmp(k, key)) /* found there: nothing tells for what */
                return buf_adds(name, key);
        if (add_full_name(&full, k, id, n, key))
                return -ENOMEM;
        /* Whether the bucket has folders is not asked: it may be known later. */
        if (!gcs_composed(id) && name_fits(full.p, gcs_streamed(id)))
                return buf_adds(name, full.p);
        gcs_tmp_name(name, k, "");
        return buf_add(name, id, n);
}

int gcs_own_name(struct buf *name, const struct store_kind *k, const char *id, const struct op *op)
{
        return gcs_upload_name(name, k, id, op->up ? op->up->key : op->key);
}

bool gcs_is_piece(const struct store_kind *k, const char *name, const char *id)
{
        size_t n = strlen(id);
        name = behind_tmp(k, name);
        return name && !strncmp(name, id, n) && name[n] == '/';
}

int gcs_unparsed_name(const struct store_kind *k, const char *name, struct buf *id, struct buf *key)
{
        buf_reset(id);
        buf_reset(key);
        name = behind_tmp(k, name);
        const char *encoded = name && !gcs_composed(name) ? behind_id(name) : NULL;
        bool told = encoded && *encoded == '-' && encoded[1];
        bool alone = encoded && !*encoded && encoded - name == ID_LEN;
        if (!told && !alone)
                return -EINVAL;
        buf_add(id, name, (size_t)(encoded - name));
        buf_adds(id, ".");
        buf_adds(key, k->prefix);
        if (alone) {
                buf_adds(key, GCS_TMP);
                return buf_adds(key, name) || id->failed ? -ENOMEM : 0;
        }
        size_t at = key->len;
        if (buf_adds(key, encoded + 1) || id->failed)
                return -ENOMEM;
        int n = uri_decode(key->p + at, false);
        return n < 0 ? n : 0;
}

int gcs_add_key(struct op *op, const char *name)
{
        if (GROW(op->keys, op->nkeys, op->maxkeys, 8))
                return -ENOMEM;
        op->keys[op->nkeys] = strdup(name);
        return op->keys[op->nkeys] ? (op->nkeys++, 0) : -ENOMEM;
}

/* --- beginning --- */

/* Leaves the beginning of the id in op->marker. */
static int choose(struct store_kind *k, struct op *op)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        bool folders = __atomic_load_n(&k->folders, __ATOMIC_RELAXED);
        uint64_t chance = 0;
        char id[32];

        if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
                return -EIO;
        snprintf(id, sizeof id, "m-%0*" PRIx64, ID_LEN - 2, chance);
        if (add_full_name(&name, k, id, strlen(id), op->key))
                return -ENOMEM;
        if (op->copying || k->upload == STORE_UPLOAD_COMPOSE ||
            (!k->keys && !name_fits(name.p, folders)) ||
            (op->meta && !gcs_meta_fits_headers(op->meta)) ||
            __atomic_load_n(&k->no_multipart, __ATOMIC_RELAXED))
                *id = 'c';
        if (k->upload == STORE_UPLOAD_RESUMABLE)
                *id = op->copying ? 0 : 'r';
        if (!*id)
                return -EOPNOTSUPP;
        if (*id == 'c' && k->keys) /* what is composed tells in its metadata what it is for */
                return -EOPNOTSUPP;
        op->marker = strdup(id);
        return op->marker ? 0 : -ENOMEM;
}

int gcs_create_build(struct store_kind *k, struct op *op)
{
        int err = op->marker ? 0 : choose(k, op);
        if (err)
                return err;
        return gcs_composed(op->marker)   ? gcs_compose_create(k, op)
               : gcs_streamed(op->marker) ? gcs_resumable_create(k, op)
                                          : gcs_multipart_create(k, op);
}

/* An emulator may know the JSON API alone, and says so in as many ways as there are emulators. */
static bool has_no_multipart(const struct store_kind *k, const struct op *op, int err)
{
        if (k->upload == STORE_UPLOAD_MULTIPART || !err)
                return false;
        int status = op->rq.status;
        return err == -EOPNOTSUPP ||
               (k->emulator && (status == 400 || status == 404 || (gcs_ok(op) && err == OP_RETRY)));
}

int gcs_create_parse(struct store_kind *k, struct op *op)
{
        if (gcs_composed(op->marker)) {
                int err = gcs_compose_created(k, op);
                if (!err && !(op->upload_id = strdup(op->marker)))
                        err = -ENOMEM;
                return err;
        }
        if (gcs_streamed(op->marker))
                return gcs_resumable_created(k, op);
        int err = gcs_multipart_created(k, op);
        if (!has_no_multipart(k, op, err))
                return err;
        if (!__atomic_exchange_n(&k->no_multipart, true, __ATOMIC_RELAXED))
                log_info("store: %s has no multipart uploads: large objects are composed",
                         k->endpoint);
        free(TAKE_PTR(op->marker));
        return OP_AGAIN;
}

/* --- the rest, by kind --- */

static int no_upload(struct op *op)
{
        snprintf(op->fault.message, sizeof op->fault.message, "'%.64s' is no id of an upload",
                 op->id);
        return -EINVAL;
}

/* Each way has the same functions. */
#define BY_WAY(what, k, op)                                                                        \
        (!is_id((op)->id)         ? no_upload(op)                                                  \
         : gcs_composed((op)->id) ? gcs_compose_##what(k, op)                                      \
         : gcs_streamed((op)->id) ? gcs_resumable_##what(k, op)                                    \
                                  : gcs_multipart_##what(k, op))

int gcs_part_build(struct store_kind *k, struct op *op)
{
        return BY_WAY(part, k, op);
}

int gcs_part_parse(struct store_kind *k, struct op *op)
{
        return BY_WAY(parted, k, op);
}

int gcs_complete_build(struct store_kind *k, struct op *op)
{
        return BY_WAY(build, k, op);
}

int gcs_complete_parse(struct store_kind *k, struct op *op)
{
        return BY_WAY(parse, k, op);
}

int gcs_abort_build(struct store_kind *k, struct op *op)
{
        return BY_WAY(abort, k, op);
}

int gcs_abort_parse(struct store_kind *k, struct op *op)
{
        return BY_WAY(aborted, k, op);
}

int gcs_parts_build(struct store_kind *k, struct op *op)
{
        return BY_WAY(parts, k, op);
}

int gcs_parts_parse(struct store_kind *k, struct op *op)
{
        return BY_WAY(listed, k, op);
}

/* --- unfinished ones --- */

/* What stands in `.ckptfs/tmp/`, then pieces without their marker, then the uploads that the XML
 * API knows. op->keys are the folders of such pieces, op->at of them were asked for; op->src is the
 * last object of the pages before. */
int gcs_uploads_build(struct store_kind *k, struct op *op)
{
        if (op->stage == GCS_PROBE) {
                op->max = 1;
                return gcs_list(k, op, op->keys[op->at], NULL, op->next);
        }
        if (op->stage != GCS_BEGIN)
                return gcs_multipart_uploads(k, op);
        CLEANUP(buf_release) struct buf dir = BUF_INIT;
        if (gcs_tmp_name(&dir, k, ""))
                return -ENOMEM;
        return gcs_list(k, op, dir.p, "/", op->next);
}

/* One of the objects there. */
static int add_object(struct store_kind *k, struct op *op, const struct json *item)
{
        CLEANUP(buf_release) struct buf id = BUF_INIT, key = BUF_INIT;
        struct store_object obj;
        const char *name = json_string(json_get(item, "name"), "");
        const char *wanted = json_string(json_get(json_get(item, "metadata"), GCS_META_FOR), "");
        const char *ours = behind_tmp(k, name);

        if (!gcs_resource(item, &obj))
                return 0;
        if (gcs_composed(ours) && is_id(ours) && *wanted) {
                buf_adds(&id, ours);
                buf_adds(&key, k->prefix);
                buf_adds(&key, wanted);
        } else if (gcs_unparsed_name(k, name, &id, &key) == -EINVAL) {
                return 0;
        }
        if (id.failed || key.failed)
                return -ENOMEM;
        return gcs_add_upload(op, key.p, id.p, obj.mtime_ns);
}

int gcs_add_upload(struct op *op, const char *key, const char *id, int64_t time_ns)
{
        struct op_entry e = {.time_ns = time_ns};
        if (strncmp(key, op->prefix, strlen(op->prefix)) != 0 || op->n >= STORE_UPLOADS_MAX)
                return 0;
        return op_add_entry(op, &e, key, NULL, id);
}

/* Whether "DIR/" is that of a composed upload: a copy of what is between. NULL: it is not, or there
 * is no memory. */
static char *id_of_folder(const struct store_kind *k, const char *dir)
{
        const char *ours = behind_tmp(k, dir);
        size_t n = ours ? strlen(ours) : 0;
        CLEANUP(freep) char *id = n && ours[n - 1] == '/' ? strndup(ours, n - 1) : NULL;

        return id && gcs_composed(id) && is_id(id) ? TAKE_PTR(id) : NULL;
}

/* A request to put a piece there may have been under way when the upload was completed or aborted.
 * A marker is in the page of its pieces' folder, or was the last before that page: names are in
 * order. */
static int find_orphans(struct store_kind *k, struct op *op, const struct json *page)
{
        const struct json *item = json_first(json_get(page, "items"));
        const struct json *prefix = json_first(json_get(page, "prefixes"));
        const char *last = NULL;

        for (; prefix && op->nkeys < STORE_UPLOADS_MAX; prefix = json_next(prefix)) {
                const char *dir = json_string(prefix, ""), *name = NULL;
                size_t n = strlen(dir);
                for (; item; item = json_next(item)) {
                        name = json_string(json_get(item, "name"), "");
                        if (strncmp(name, dir, n - (n > 0)) >= 0)
                                break;
                }
                CLEANUP(freep) char *id = id_of_folder(k, dir);
                bool here = item && name && strlen(name) == n - 1 && !strncmp(name, dir, n - 1);
                bool before = op->src && strlen(op->src) == n - 1 && !strncmp(op->src, dir, n - 1);
                if (id && !here && !before && gcs_add_key(op, dir))
                        return -ENOMEM;
        }
        for (item = json_first(json_get(page, "items")); item; item = json_next(item))
                last = json_string(json_get(item, "name"), "");
        if (!last)
                return 0;
        free(op->src);
        op->src = strdup(last);
        return op->src ? 0 : -ENOMEM;
}

/* The first piece of a folder tells when it came, and for what key; none: it is just a folder. */
static int add_orphan(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;
        CLEANUP(freep) char *id = id_of_folder(k, op->keys[op->at]);
        CLEANUP(buf_release) struct buf key = BUF_INIT;
        struct store_object obj;

        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int err = id ? gcs_json(op, &j) : -ENOMEM;
        if (err)
                return err;
        const struct json *item = json_at(json_get(j, "items"), 0);
        int rc = gcs_next_page(op, j);
        if (rc && !item)
                return rc; /* a page may be empty, and not the last */
        free(TAKE_PTR(op->next));
        op->at++;
        const char *name = json_string(json_get(item, "name"), "");
        if (!gcs_is_piece(k, name, id) || !gcs_resource(item, &obj))
                return 0;
        const char *wanted = json_string(json_get(json_get(item, "metadata"), GCS_META_FOR), "");
        buf_adds(&key, k->prefix);
        if (buf_adds(&key, *wanted ? wanted : name + strlen(k->prefix)))
                return -ENOMEM;
        return gcs_add_upload(op, key.p, id, obj.mtime_ns);
}

/* What is asked next, when all that stands there is known. */
static int next_stage(struct store_kind *k, struct op *op)
{
        if (op->at < op->nkeys && op->n < STORE_UPLOADS_MAX) {
                op->stage = GCS_PROBE;
                return OP_AGAIN;
        }
        if (op->n >= STORE_UPLOADS_MAX || __atomic_load_n(&k->no_multipart, __ATOMIC_RELAXED))
                return 0;
        op->stage = GCS_XML;
        op->page = op->n;
        return OP_AGAIN;
}

/* What was completed and not moved, of the first page: the rest is there the next time. */
static int left_overs(struct store_kind *k, struct op *op)
{
        int err = gcs_xml_listed(k, op);
        if (!err)
                err = gcs_multipart_translate(k, op, 0);
        free(TAKE_PTR(op->next));
        op->stage = GCS_XML;
        return err ? err : OP_AGAIN;
}

int gcs_uploads_parse(struct store_kind *k, struct op *op)
{
        CLEANUP(json_freep) struct json *j = NULL;

        if (op->stage == GCS_PROBE) {
                int rc = add_orphan(k, op);
                return rc ? rc : next_stage(k, op);
        }
        if (op->stage != GCS_BEGIN)
                return gcs_multipart_uploads_parse(k, op);
        if (k->keys)
                return left_overs(k, op);
        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int err = gcs_json(op, &j);
        const struct json *items = json_get(j, "items");
        for (size_t i = 0; !err && i < json_count(items); i++)
                err = add_object(k, op, json_at(items, i));
        if (!err)
                err = find_orphans(k, op, j);
        if (err || op->n >= STORE_UPLOADS_MAX)
                return err;
        int rc = gcs_next_page(op, j);
        return rc ? rc : next_stage(k, op);
}
