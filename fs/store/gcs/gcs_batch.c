/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_batch.c: deletes many objects, a hundred in an exchange: a request of requests. A server that
 * takes none is asked for one after the other. */
#include "store/gcs/gcs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/banned.h"

enum { BATCH_MAX = 100 };
#define BOUNDARY "ckptfs-batch-of-requests"

/* How many of op->keys, from op->at on, go into this exchange. */
static size_t batch_size(const struct op *op)
{
        size_t left = op->nkeys - op->at;
        return left < BATCH_MAX ? left : BATCH_MAX;
}

static void add_path(struct buf *path, const struct store_kind *k, const char *key)
{
        if (gcs_is_folder(k, key))
                gcs_folder_path(path, k, key);
        else
                gcs_object_path(path, k, key);
}

static int delete_next(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);

        add_path(&m.path, k, op->keys[op->at]);
        return gcs_send(k, op, &m);
}

int gcs_delete_many_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        if (k->keys)
                return gcs_xml_delete_many(k, op);
        if (__atomic_load_n(&k->no_batch, __ATOMIC_RELAXED))
                return delete_next(k, op);
        buf_reset(&op->text);
        for (size_t i = 0; i < batch_size(op); i++) {
                buf_addf(&op->text,
                         "--" BOUNDARY "\r\nContent-Type: application/http\r\n"
                         "Content-ID: <%zu>\r\n\r\nDELETE ",
                         i);
                add_path(&op->text, k, op->keys[op->at + i]);
                gcs_batch_query(&op->text, k);
                buf_adds(&op->text, " HTTP/1.1\r\n\r\n\r\n");
        }
        buf_adds(&op->text, "--" BOUNDARY "--\r\n");
        buf_adds(&m.path, "/batch/storage/v1");
        m.text = &op->text;
        m.type = "multipart/mixed; boundary=" BOUNDARY;
        return gcs_send(k, op, &m);
}

/* Worse answers win: what is final over what may pass. */
static int worse(int a, int b)
{
        if (a < 0 || b < 0)
                return a < 0 ? a : b;
        return a > b ? a : b;
}

static int inner_answer(struct op *op, int status, const char *body, size_t n)
{
        if ((status >= 200 && status < 300) || status == 404)
                return 0;
        const char *reason = "";
        static const char *const known[] = {"rateLimitExceeded", "userRateLimitExceeded"};
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                if (memmem(body, n, known[i], strlen(known[i])))
                        reason = known[i];
        op->fault.status = status;
        snprintf(op->fault.code, sizeof op->fault.code, "%s", reason);
        snprintf(op->fault.message, sizeof op->fault.message, "one of a batch was refused");
        return gcs_meaning(status, reason, false);
}

/* Each inner reply begins with a status line. */
static int read_replies(struct op *op, size_t *n)
{
        const char *p = op->in.p;
        int answer = 0;

        for (*n = 0; (p = strstr(p, "HTTP/1.1 ")); ++*n) {
                if (p != op->in.p && p[-1] != '\n') {
                        p++;
                        --*n;
                        continue;
                }
                const char *end = strstr(p + 9, "\nHTTP/1.1 ");
                size_t len = end ? (size_t)(end - p) : strlen(p);
                answer = worse(answer, inner_answer(op, (int)strtol(p + 9, NULL, 10), p, len));
                p += 9;
        }
        return answer;
}

static int went_on(struct op *op, size_t n)
{
        op->at += n;
        retry_progress(&op->retry);
        return op->at < op->nkeys ? OP_AGAIN : op->verify_err;
}

/* What is refused for good keeps no others from being deleted. */
static int deleted_one(struct store_kind *k, struct op *op)
{
        int err = gcs_ok(op) ? 0 : gcs_fault(k, op);

        if (err > 0)
                return err;
        if (err && err != -ENOENT && !op->verify_err)
                op->verify_err = err;
        return went_on(op, 1);
}

/* An emulator that has no batches says so in as many ways as there are. */
static bool has_no_batch(const struct store_kind *k, const struct op *op, int err)
{
        int status = op->rq.status;
        return err == -EOPNOTSUPP || (k->emulator && (status == 400 || status == 404));
}

static int refused(struct store_kind *k, struct op *op)
{
        int err = gcs_fault(k, op);

        if (!has_no_batch(k, op, err))
                return err;
        if (!__atomic_exchange_n(&k->no_batch, true, __ATOMIC_RELAXED))
                log_info("store: %s takes no batches: objects are deleted one by one", k->endpoint);
        return OP_AGAIN;
}

int gcs_delete_many_parse(struct store_kind *k, struct op *op)
{
        size_t n, sent = batch_size(op);

        if (k->keys)
                return gcs_xml_deleted(k, op);
        if (op->rq.method == HTTP_DELETE)
                return deleted_one(k, op);
        if (!gcs_ok(op))
                return refused(k, op);
        int answer = read_replies(op, &n);
        if (n != sent) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "%zu answers to a batch of %zu", n, sent);
                return OP_RETRY;
        }
        if (answer)
                return answer; /* all of it again, if at all: what is gone stays gone */
        return went_on(op, sent);
}
