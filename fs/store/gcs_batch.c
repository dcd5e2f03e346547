/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_batch.c: deletes many objects, a hundred in an exchange: a request of requests. */
#include "store/gcs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

enum { BATCH_MAX = 100 };
#define BOUNDARY "ckptfs-batch-of-requests"

/* How many of op->keys, from op->at on, go into this exchange. */
static size_t batch_size(const struct op *op)
{
        size_t left = op->nkeys - op->at;
        return left < BATCH_MAX ? left : BATCH_MAX;
}

int gcs_delete_many_build(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_POST);

        if (k->keys)
                return gcs_xml_delete_many(k, op);
        buf_reset(&op->text);
        for (size_t i = 0; i < batch_size(op); i++) {
                buf_addf(&op->text,
                         "--" BOUNDARY "\r\nContent-Type: application/http\r\n"
                         "Content-ID: <%zu>\r\n\r\nDELETE ",
                         i);
                if (gcs_is_folder(k, op->keys[op->at + i]))
                        gcs_folder_path(&op->text, k, op->keys[op->at + i]);
                else
                        gcs_object_path(&op->text, k, op->keys[op->at + i]);
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

int gcs_delete_many_parse(struct store_kind *k, struct op *op)
{
        size_t n, sent = batch_size(op);

        if (k->keys)
                return gcs_xml_deleted(k, op);
        if (!gcs_ok(op))
                return gcs_fault(k, op);
        int answer = read_replies(op, &n);
        if (n != sent) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "%zu answers to a batch of %zu", n, sent);
                return OP_RETRY;
        }
        if (answer)
                return answer; /* all of it again, if at all: what is gone stays gone */
        op->at += sent;
        retry_progress(&op->retry);
        return op->at < op->nkeys ? OP_AGAIN : 0;
}
