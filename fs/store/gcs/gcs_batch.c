/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_batch.c: deletes many objects, a hundred in an exchange: a request of requests. A server that
 * takes none is asked for one after the other. */
#include "store/gcs/gcs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* The generation that is to go; NULL: any, as of a folder. */
static const char *version_of(const struct store_kind *k, const struct op *op, size_t i)
{
        return op->versions && !gcs_is_folder(k, op->keys[i]) ? op->versions[i] : NULL;
}

static int delete_next(struct store_kind *k, struct op *op)
{
        CLEANUP(gcs_msg_release) struct gcs_msg m = GCS_MSG(HTTP_DELETE);

        add_path(&m.path, k, op->keys[op->at]);
        if (version_of(k, op, op->at))
                gcs_query(&m, "ifGenerationMatch", version_of(k, op, op->at));
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
                gcs_batch_query(&op->text, k, version_of(k, op, op->at + i));
                buf_adds(&op->text, " HTTP/1.1\r\n\r\n\r\n");
        }
        buf_adds(&op->text, "--" BOUNDARY "--\r\n");
        buf_adds(&m.path, "/batch/storage/v1");
        m.text = &op->text;
        m.type = "multipart/mixed; boundary=" BOUNDARY;
        return gcs_send(k, op, &m);
}

/* "For each 401 request the credentials should be refreshed and then sent again in a separate
 * batch" (the vendor's client for Python, BatchHttpRequest.execute): once. */
static bool renew_once(struct store_kind *k, struct op *op)
{
        if (op->renewed)
                return false;
        cred_chain_forget(k->creds, op->serial);
        return op->renewed = true;
}

static int inner_answer(struct op *op, int status, const char *body, size_t n)
{
        /* What another host has put there stays. */
        bool stays = op->versions && status == 412;

        if ((status >= 200 && status < 300) || status == 404 || stays)
                return 0;
        if (status == 401)
                return OP_AGAIN;
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

/* What became of each request of a batch; of one that has no answer, OP_RETRY. */
struct answers {
        int v[BATCH_MAX];
        size_t n;         /* that came */
        size_t n_refused; /* for their credentials */
};

/* The number of the request that an answer is for, told between `from` and its status line: "If you
 * provide a Content-ID header in your request, the corresponding response has it with `response-`
 * before it" (Cloud Storage, "Sending batch requests"). Without one answers are in order. */
static size_t number_of(const char *from, const char *line, size_t other)
{
        static const char said[] = "Content-ID: <response-";

        for (const char *p = from; p + sizeof said <= line; p++)
                if (!strncasecmp(p, said, sizeof said - 1)) {
                        char *end;
                        unsigned long n = strtoul(p + sizeof said - 1, &end, 10);
                        return *end == '>' ? n : other;
                }
        return other;
}

/* Each inner reply begins with a status line. */
static void read_replies(struct op *op, struct answers *a)
{
        const char *from = op->in.p, *p = from;

        a->n = a->n_refused = 0;
        for (size_t i = 0; i < BATCH_MAX; i++)
                a->v[i] = OP_RETRY;
        for (; (p = strstr(p, "HTTP/1.1 ")); p += 9) {
                if (p != op->in.p && p[-1] != '\n')
                        continue;
                const char *end = strstr(p + 9, "\nHTTP/1.1 ");
                size_t len = end ? (size_t)(end - p) : strlen(p);
                size_t i = number_of(from, p, a->n++);
                int status = (int)strtol(p + 9, NULL, 10);
                a->n_refused += status == 401;
                if (i < BATCH_MAX)
                        a->v[i] = inner_answer(op, status, p, len);
                from = p;
        }
}

static void refuse(struct answers *a)
{
        for (size_t i = 0; i < BATCH_MAX; i++)
                if (a->v[i] == OP_AGAIN)
                        a->v[i] = -EACCES;
}

static void swap(char **v, size_t i, size_t k)
{
        char *was = v[i];
        v[i] = v[k];
        v[k] = was;
}

/* Keeps what is to be sent again, which gets to the front of what is left; what is refused for good
 * keeps no others from being deleted. How many are done. */
static size_t sort_out(struct op *op, const struct answers *a, size_t sent, int *answer)
{
        size_t done = 0;

        *answer = 0;
        for (size_t i = 0; i < sent; i++) {
                if (a->v[i] > 0) {
                        *answer = a->v[i] > *answer ? a->v[i] : *answer;
                        continue;
                }
                if (a->v[i] && !op->verify_err)
                        op->verify_err = a->v[i];
                swap(op->keys, op->at + done, op->at + i);
                if (op->versions)
                        swap(op->versions, op->at + done, op->at + i);
                done++;
        }
        return done;
}

static int count_done(struct op *op, size_t n)
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
        bool stays = op->versions && err == -ESTALE; /* what another host has put there */
        if (err && err != -ENOENT && !stays && !op->verify_err)
                op->verify_err = err;
        return count_done(op, 1);
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
        size_t sent = batch_size(op);
        struct answers answers;
        int answer;

        if (k->keys)
                return gcs_xml_deleted(k, op);
        if (op->rq.method == HTTP_DELETE)
                return deleted_one(k, op);
        if (!gcs_ok(op))
                return refused(k, op);
        read_replies(op, &answers);
        if (answers.n != sent) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "%zu answers to a batch of %zu", answers.n, sent);
                return OP_RETRY;
        }
        if (answers.n_refused && !renew_once(k, op))
                refuse(&answers);
        size_t done = sort_out(op, &answers, sent, &answer);
        int err = done ? count_done(op, done) : OP_AGAIN;
        return answer ? answer : err;
}
