/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_resumable.c: an object that comes as one stream, through a resumable session of the JSON API:
 * for servers that have neither multipart uploads nor composition.
 *
 * Parts are the pieces of the stream, so each waits for the one before it, and none can be sent
 * again. The server takes multiples of 256 KiB; what is left of a part goes before the next one. It
 * may keep less of a request than was sent and says how much; after a lost reply it is asked. A
 * session that is gone is begun anew as long as only the first part was sent. The object is made
 * under a name of ours and moved, as a multipart upload is. The id is "r-ID.PATH OF THE SESSION".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/digits.h"
#include "store/gcs/gcs_upload.h"
#include "store/core/store_int.h"
#include "base/banned.h"

enum { GRAIN = 256 << 10, STATUS_GOES_ON = 308, STATUS_GONE = 410 };

/* Where the stream is; guarded by the upload's mutex, but for what only the part whose turn it is
 * touches: that is one at a time. */
struct store_stream {
        unsigned next;    /* number of the part whose turn it is */
        unsigned sends;   /* atomic: how often bytes were sent */
        uint64_t kept;    /* what the server has */
        char path[8192];  /* of the session, when it was begun anew: it may tell our name */
        size_t nrest;     /* bytes at the end that were not sent, */
        char rest[GRAIN]; /* these */
        char next_rest[GRAIN];
};

static struct store_stream *stream_of(struct store_upload *up)
{
        mutex_lock(&up->mtx);
        if (!up->stream && (up->stream = calloc(1, sizeof *up->stream)))
                up->stream->next = 1;
        struct store_stream *s = up->stream;
        mutex_unlock(&up->mtx);
        return s;
}

/* --- sessions --- */

static int begin(struct store_kind *k, struct op *op, const char *id, const struct store_meta *meta)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);
        CLEANUP(json_freep) struct json *j = json_new_object();
        CLEANUP(buf_release) struct buf name = BUF_INIT;

        int err = gcs_own_name(&name, k, id, op);
        if (!err)
                err = json_add_string(j, "name", name.p);
        if (!err)
                err = gcs_add_type(j, meta);
        if (!err)
                err = gcs_add_meta(j, meta, NULL);
        CLEANUP(freep) char *text = err ? NULL : json_print(j);
        buf_reset(&op->text);
        if (!text || buf_adds(&op->text, text))
                return -ENOMEM;
        buf_adds(&m.path, "/upload");
        gcs_bucket_path(&m.path, k, "/o");
        gcs_query(&m, "uploadType", "resumable");
        gcs_query(&m, "name", name.p);
        gcs_kms(&m, k, "kmsKeyName");
        m.text = &op->text;
        m.type = "application/json";
        return gcs_send(k, op, &m);
}

/* The path and query of the session's address, at whatever name of the server: ours is used. */
static const char *session_path(struct op *op)
{
        const char *location = http_reply_header(&op->rq, "location");
        const char *host = location ? strstr(location, "://") : NULL;
        const char *path = host                           ? strchr(host + 3, '/')
                           : location && *location == '/' ? location
                                                          : NULL;

        if (path && path[1])
                return path;
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message, "a session without an address");
        return NULL;
}

int gcs_resumable_create(struct store_kind *k, struct op *op)
{
        return begin(k, op, op->marker, op->meta);
}

int gcs_resumable_created(struct store_kind *k, struct op *op)
{
        if (!gcs_ok(op))
                return gcs_fault(k, op);
        const char *path = session_path(op);
        if (!path)
                return OP_RETRY;
        if (asprintf(&op->upload_id, "%s.%s", op->marker, path) < 0) {
                op->upload_id = NULL;
                return -ENOMEM;
        }
        /* "A resumable upload must be completed within a week of being initiated" (guide,
         * "Resumable uploads"). */
        upload_say_twin(op, "another session, without bytes, may be there for a week");
        return 0;
}

/* A request to the session, without a body so far. */
static int to_session(struct store_kind *k, struct op *op, struct gcs_msg *m)
{
        const struct store_stream *s = op->up->stream;
        const char *path = s && *s->path ? s->path : strchr(op->id, '.') + 1;

        m->xml = true; /* there is a query, so who pays is said by a header */
        gcs_csek(m, k);
        return buf_adds(&m->path, path) ? -ENOMEM : gcs_send(k, op, m);
}

/* Asks how much the server has; with a total it may be all of it. */
static int ask(struct store_kind *k, struct op *op, uint64_t total)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_PUT);
        char range[48] = "bytes */*";

        if (total)
                snprintf(range, sizeof range, "bytes */%" PRIu64, total);
        gcs_header(&m, "Content-Range", range);
        return to_session(k, op, &m);
}

/* How many bytes a 308 says the server has. */
static uint64_t kept(const struct op *op)
{
        const char *range = http_reply_header(&op->rq, "range"), *last;
        uint64_t at;

        if (!range || strncmp(range, "bytes", 5) != 0 || !(last = strchr(range, '-')))
                return 0;
        return digits_parse(last + 1, &at) ? 0 : at + 1;
}

static int wrong_size(struct op *op, uint64_t has)
{
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message,
                 "the session has %" PRIu64 " bytes, which is not what was sent", has);
        return -EIO;
}

/* --- parts --- */

/* The stream from its kept end on: what is left of the parts before, then the body. op->at is how
 * much of both the server has. */
static int read_stream(void *arg, uint64_t off, void *dst, size_t len)
{
        const struct op *op = arg;
        struct store_stream *s = op->up->stream;
        char *to = dst;

        __atomic_add_fetch(&s->sends, 1, __ATOMIC_RELAXED);
        off += op->at;
        if (off < s->nrest) {
                size_t n = s->nrest - off < len ? (size_t)(s->nrest - off) : len;
                memcpy(to, s->rest + off, n);
                to += n;
                off += n;
                len -= n;
        }
        return len ? op->body.read(op->body.arg, off - s->nrest, to, len) : 0;
}

/* What of the stream is sent with this part: all but the last bytes, one at least, so that the
 * request that ends it brings some. */
static uint64_t whole_grains(const struct op *op)
{
        uint64_t all = op->up->stream->nrest + op->body.len;
        return all ? (all - 1) / GRAIN * GRAIN : 0;
}

static int send_grains(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_PUT);
        const struct store_stream *s = op->up->stream;
        char range[80];

        op->rq.body_read = read_stream;
        op->rq.body_arg = op;
        op->rq.body_len = whole_grains(op) - op->at;
        snprintf(range, sizeof range, "bytes %" PRIu64 "-%" PRIu64 "/*", s->kept + op->at,
                 s->kept + op->at + op->rq.body_len - 1);
        gcs_header(&m, "Content-Range", range);
        return to_session(k, op, &m);
}

/* Whose turn it is: 0, -EAGAIN for a part that has to wait, or why it is in vain. It waits as long
 * as the parts before it move, and not while the process is stopped. */
static int turn(struct op *op)
{
        struct store_stream *s = stream_of(op->up);
        bool over = __atomic_load_n(&op->up->over, __ATOMIC_RELAXED) ||
                    __atomic_load_n(&op->up->failed, __ATOMIC_RELAXED);
        int64_t now = http_running_ms(&op->rq);

        if (!s)
                return -ENOMEM;
        mutex_lock(&op->up->mtx);
        int err = over                   ? -EIO
                  : op->partno < s->next ? -EOPNOTSUPP
                  : op->partno > s->next ? -EAGAIN
                                         : 0;
        mutex_unlock(&op->up->mtx);
        unsigned sends = __atomic_load_n(&s->sends, __ATOMIC_RELAXED);
        if (!op->since_ms || op->sends != sends)
                op->since_ms = now;
        op->sends = sends;
        if (err == -EAGAIN && now - op->since_ms > (int64_t)op->retry.deadline_ms)
                err = -EOPNOTSUPP;
        if (err == -EOPNOTSUPP)
                snprintf(op->fault.message, sizeof op->fault.message,
                         "upload=resumable sends a file from its beginning to its end, once");
        return err;
}

int gcs_resumable_part(struct store_kind *k, struct op *op)
{
        int err = turn(op);

        if (err)
                return err;
        if (op->maybe_done && op->stage == GCS_BEGIN)
                op->stage = GCS_PROBE; /* what of it came is found out first */
        op->maybe_done = false;
        switch (op->stage) {
        case GCS_PROBE:
                return ask(k, op, 0);
        case GCS_LAYOUT: /* the session is gone */
                return begin(k, op, op->id, op->up->meta);
        default:
                /* Less than a grain is kept for the next part. */
                return whole_grains(op) ? send_grains(k, op) : ask(k, op, 0);
        }
}

/* The server has `at` bytes of what is being sent. That it kept nothing of a request is a failure
 * of that. */
static int go_on(struct op *op, uint64_t at)
{
        bool moved = at > op->at;

        op->at = (size_t)at;
        if (moved)
                retry_progress(&op->retry);
        else if (op->rq.body_len)
                snprintf(op->fault.message, sizeof op->fault.message,
                         "the session keeps nothing of what is sent");
        return moved || !op->rq.body_len ? OP_AGAIN : OP_RETRY;
}

/* All whole grains are there: what is left waits for the next part. */
static int part_done(struct op *op)
{
        struct store_stream *s = op->up->stream;
        const struct upload_part part = {
                .size = op->body.len, .crc32c = op->body.crc32c, .has_crc = true};
        uint64_t sent = whole_grains(op), all = s->nrest + op->body.len;
        size_t rest = (size_t)(all - sent);

        op->at = (size_t)sent;
        int err = rest ? read_stream(op, 0, s->next_rest, rest) : 0;
        if (!err)
                err = upload_note_part(op->up, op->partno, "stream", &part);
        if (err)
                return err;
        mutex_lock(&op->up->mtx);
        memcpy(s->rest, s->next_rest, rest);
        s->nrest = rest;
        s->kept += sent;
        s->next++;
        mutex_unlock(&op->up->mtx);
        return 0;
}

/* The session is not there: begun anew where all of its bytes are at hand. */
static int lost(struct op *op, int err)
{
        if (op->up->stream->kept) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "the session is gone with %" PRIu64 " bytes: write the file again",
                         op->up->stream->kept);
                return err == -ENOENT ? -EIO : err;
        }
        op->at = 0;
        op->stage = GCS_LAYOUT;
        return OP_AGAIN;
}

static int begun_anew(struct store_kind *k, struct op *op)
{
        struct store_stream *s = op->up->stream;

        if (!gcs_ok(op))
                return gcs_fault(k, op);
        const char *path = session_path(op);
        if (!path || strlen(path) >= sizeof s->path)
                return OP_RETRY;
        memcpy(s->path, path, strlen(path) + 1);
        op->stage = GCS_BEGIN;
        return OP_AGAIN;
}

int gcs_resumable_parted(struct store_kind *k, struct op *op)
{
        struct store_stream *s = op->up->stream;

        if (op->stage == GCS_LAYOUT)
                return begun_anew(k, op);
        if (op->rq.status != STATUS_GOES_ON) {
                int err = gcs_ok(op) ? -EIO : gcs_fault(k, op);
                if (err == -ENOENT || op->rq.status == STATUS_GONE)
                        return lost(op, err);
                op->maybe_done |= err > 0; /* some of it may have come: it is asked */
                return err;
        }
        uint64_t has = kept(op), sent = whole_grains(op);
        if (has < s->kept || has > s->kept + sent)
                return wrong_size(op, has);
        int again = go_on(op, has - s->kept);
        op->stage = GCS_BEGIN;
        return op->at < sent ? again : part_done(op);
}

/* --- the end --- */

static int add_size(void *arg, unsigned partno, const struct upload_part *part)
{
        struct op *op = arg;
        (void)partno;
        op->expect.crc32c = crc32c_combine(op->expect.crc32c, part->crc32c, part->size);
        op->expect.size += part->size;
        return 0;
}

static int read_rest(void *arg, uint64_t off, void *dst, size_t len)
{
        const struct op *op = arg;
        memcpy(dst, op->up->stream->rest + op->at + off, len);
        return 0;
}

static int send_end(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_PUT);
        const struct store_stream *s = stream_of(op->up);
        char range[80];

        if (!s)
                return -ENOMEM;
        op->expect = (struct store_object){.has_crc = true};
        int err = upload_each(op->up, add_size, op);
        if (err)
                return err;
        if (op->at >= s->nrest || op->maybe_done)
                return ask(k, op, op->expect.size);
        op->rq.body_read = read_rest;
        op->rq.body_arg = op;
        op->rq.body_len = s->nrest - op->at;
        snprintf(range, sizeof range, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, s->kept + op->at,
                 op->expect.size - 1, op->expect.size);
        gcs_header(&m, "Content-Range", range);
        return to_session(k, op, &m);
}

int gcs_resumable_build(struct store_kind *k, struct op *op)
{
        return op->stage == GCS_BEGIN ? send_end(k, op) : gcs_multipart_build(k, op);
}

int gcs_resumable_parse(struct store_kind *k, struct op *op)
{
        if (op->stage != GCS_BEGIN)
                return gcs_multipart_parse(k, op);
        if (op->rq.status == STATUS_GOES_ON) {
                uint64_t has = kept(op), end = op->up->stream->kept;
                if (has < end || has > op->expect.size)
                        return wrong_size(op, has);
                op->maybe_done = false;
                int again = go_on(op, has - end);
                if (has == op->expect.size)
                        return OP_RETRY; /* it should have ended */
                /* Of a stream that somebody else began, the last bytes went with them. */
                return op->at < op->up->stream->nrest ? again : wrong_size(op, has);
        }
        int err = gcs_ok(op) ? 0 : gcs_fault(k, op);
        bool gone = err == -ENOENT || op->rq.status == STATUS_GONE; /* perhaps it ended already */
        op->maybe_done |= err > 0;
        if (err && !gone)
                return err;
        return gcs_multipart_look(k, op);
}

int gcs_resumable_abort(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);

        if (op->stage == GCS_BEGIN && strchr(op->id, '.')[1])
                return to_session(k, op, &m);
        op->stage = GCS_UNLINK;
        return gcs_multipart_abort(k, op);
}

int gcs_resumable_aborted(struct store_kind *k, struct op *op)
{
        enum { CANCELLED = 499 };

        if (op->stage == GCS_UNLINK)
                return gcs_multipart_aborted(k, op);
        bool over = op->rq.status == CANCELLED || op->rq.status == STATUS_GONE;
        int err = over ? 0 : gcs_delete_parse(k, op);
        if (err)
                return err;
        op->stage = GCS_UNLINK;
        return OP_AGAIN;
}

/* One part, of all that the server has. */
int gcs_resumable_parts(struct store_kind *k, struct op *op)
{
        return ask(k, op, 0);
}

int gcs_resumable_listed(struct store_kind *k, struct op *op)
{
        if (op->rq.status != STATUS_GOES_ON)
                return gcs_ok(op) ? 0 : gcs_fault(k, op);
        struct op_entry e = {.partno = 1, .size = kept(op)};
        return e.size ? op_add_entry(op, &e, NULL, "stream", NULL) : 0;
}
