/* SPDX-License-Identifier: Apache-2.0 */
/* get.c: a read that survives a broken reply: it goes on from the byte after the last one that was
 * delivered, in the same version of the object. */
#include "store/core/store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/text/digits.h"
#include "base/banned.h"

enum {
        /* A try that brought so much was worth it; the next failure counts from anew. */
        PROGRESS_BYTES = 16 << 10,
        /* Of a whole object that came instead of a range: so much before it is passed over, else it
         * is asked for again. */
        SKIP_MAX = 8 << 20
};

static int not_what_was_asked(struct op *op, const char *what)
{
        snprintf(op->fault.message, sizeof op->fault.message, "the server %s", what);
        op->fault.status = op->rq.status;
        return -EIO;
}

int op_no_length(struct op *op)
{
        return not_what_was_asked(op, "described an object without its length");
}

/* Where in the object this reply's bytes start and end, and the object's size. */
static int place_of_reply(struct op *op, uint64_t *first, uint64_t *end, uint64_t *size)
{
        const char *range = http_reply_header(&op->rq, "content-range");
        const char *length = http_reply_header(&op->rq, "content-length");

        if (op->rq.status == 206) {
                uint64_t last;
                if (!range || content_range_parse(range, first, &last, size) || *first > last ||
                    *size == UINT64_MAX)
                        return not_what_was_asked(op, "sent a range without saying which");
                *end = last + 1;
                return 0;
        }
        if (!length || digits_parse(length, end))
                return not_what_was_asked(op, "sent a body without its length");
        *first = 0;
        *size = *end;
        return 0;
}

bool op_get_range(const struct op *op, char text[OP_RANGE_MAX])
{
        uint64_t from = op->off + op->got, end = op->off + op->len;

        if (end < INT64_MAX)
                snprintf(text, OP_RANGE_MAX, "bytes=%" PRIu64 "-%" PRIu64, from, end - 1);
        else
                snprintf(text, OP_RANGE_MAX, "bytes=%" PRIu64 "-", from);
        return from || end < INT64_MAX;
}

/* "A server MAY ignore the Range header field" (RFC 9110, section 14.2): the bytes that were asked
 * for are taken out of the whole object. */
static int take_out(struct op *op, uint64_t *first, uint64_t *end)
{
        uint64_t from = op->off + op->got, to = op->off + op->len;

        if (from > SKIP_MAX) {
                op->ignored = true;
                return not_what_was_asked(op, "sent the whole object instead of a range");
        }
        /* Before `from` an object may end; whatever comes then is none of the bytes asked for. */
        op->skip = from;
        *first = from;
        *end = *end < from ? from : *end > to ? to : *end;
        return 0;
}

/* Looks at the head of a reply before its first byte is handed on. */
static int begin(struct op *op)
{
        struct store_object obj = {0};
        uint64_t first = 0, end = 0, size = 0;

        op->begun = true;
        int err = place_of_reply(op, &first, &end, &size);
        if (!err && op->rq.status == 200)
                err = take_out(op, &first, &end);
        if (err)
                return err;
        if (first != op->off + op->got || end > op->off + op->len)
                return not_what_was_asked(op, "sent other bytes than were asked for");
        op->try_end = end;
        op->s->ops->object(op->s->kind, &op->rq, &obj);
        obj.size = size;
        if (op->seen && (obj.size != op->obj.size || strcmp(obj.etag, op->obj.etag)))
                return -ESTALE;
        if (!op->seen)
                op->obj = obj;
        op->seen = true;
        return 0;
}

int get_data(struct http_req *rq, const void *p, size_t n)
{
        struct op *op = (struct op *)rq;

        if (rq->status != 200 && rq->status != 206)
                return op_collect(rq, p, n);
        int err = op->begun ? 0 : begin(op);
        if (err)
                return err;
        if (op->skip) {
                size_t passed = n < op->skip ? n : op->skip;
                op->skip -= passed;
                p = (const char *)p + passed;
                n -= passed;
        }
        uint64_t room = op->try_end - op->off - op->got;
        if (n && n > room && rq->status == 206)
                return not_what_was_asked(op, "sent more bytes than it said");
        if (n > room) { /* the rest of a whole object */
                n = room;
                op->enough = true;
        }
        if (!n)
                return op->enough ? -ECANCELED : 0;
        op->crc = crc32c(op->crc, p, n);
        err = op->get.data(op->get.arg, op->got, p, n);
        op->got += n;
        if (op->got - op->progress >= PROGRESS_BYTES) {
                op->progress = op->got;
                retry_progress(&op->retry);
        }
        op->enough &= !err;
        return op->enough ? -ECANCELED : err;
}

int get_complete(struct op *op)
{
        if (op->rq.status == 416) { /* nothing at or behind `off`, which no try before may deny */
                if (op->seen && op->off < op->obj.size)
                        return not_what_was_asked(op, "lost the end of the object");
                return 0;
        }
        int err = op->begun ? 0 : begin(op); /* no bytes: an empty object */
        if (err)
                return err;
        uint64_t want = op->off < op->obj.size ? op->obj.size - op->off : 0;
        if (want > op->len)
                want = op->len;
        if (op->got < want) {
                snprintf(op->fault.message, sizeof op->fault.message, "short body");
                return OP_RETRY;
        }
        if (op->obj.has_crc && !op->off && op->got == op->obj.size && op->obj.crc32c != op->crc) {
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC32C of what came is %08x, of the object %08x", op->crc,
                         op->obj.crc32c);
                return -EBADMSG;
        }
        return 0;
}

bool get_has_all(const struct op *op)
{
        return op->seen && (op->got == op->len || op->off + op->got >= op->obj.size);
}

static void finish(struct op *op, int err)
{
        struct store_got got = {.bytes = op->got, .crc32c = op->crc, .obj = op->obj};
        op->get.done(op->get.arg, err, err ? NULL : &got);
}

int store_get(struct store *s, const struct store_get *get)
{
        int err = store_check_key(s, get->key);
        if (err || get->off > INT64_MAX || !get->len)
                return err ? err : -EINVAL;
        CLEANUP(op_freep) struct op *op = op_new(s, OP_GET, get->key, get->arg);
        if (!op)
                return -ENOMEM;
        op->get = *get;
        op->off = get->off;
        op->len = get->len < INT64_MAX - get->off ? get->len : INT64_MAX - get->off;
        op->finish = finish;
        if (get->if_match && !(op->if_match = strdup(get->if_match)))
                return -ENOMEM;
        return op_submit(TAKE_PTR(op));
}
