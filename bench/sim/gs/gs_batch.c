/* SPDX-License-Identifier: Apache-2.0 */
/* gs_batch.c: several requests in one (Content-Type: multipart/mixed), each answered by itself.
 *
 * A part is a request with a path and no host, and a body where its own headers say so. "The HTTP
 * headers for the outer batch request [...] apply to every request in the batch" (Cloud Storage,
 * "Sending batch requests"): so a token is refused by each of them, and not by the batch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

#define REPLY_BOUNDARY "batch_storesim"

static void release_inner(struct request *x)
{
        intake_cancel(&x->intake);
        fault_release(&x->fault);
        object_unref(x->object);
        buf_release(&x->text);
        buf_release(&x->headers);
        buf_release(&x->body);
        free(x->path);
        free(x->named);
        free(x->query_text);
}

/* Does one request; what carries data is refused. */
static void run(struct service *s, struct request *x, const char *body, size_t n)
{
        protocol_gs.begin(s, x);
        if (!x->status &&
            (x->to == BODY_INTAKE || !strcmp(x->op, "objects.media") || !strcmp(x->op, "batch")))
                gs_refuse(x, 400, "invalid", "This is not allowed in a batch.");
        if (!x->status)
                fault_match(s->faults, x->op, x->bucket, x->key, 0, &x->fault);
        if (!x->status && x->fault.what == FAULT_STATUS)
                protocol_gs.refuse(x, x->fault.status, x->fault.code, x->fault.message);
        if (!x->status && x->to == BODY_TEXT && buf_add(&x->text, body, n))
                gs_fail(x, -ENOMEM);
        if (!x->status)
                protocol_gs.finish(s, x);
}

static void add_reply(struct request *outer, const struct request *x, const char *id, size_t nid)
{
        struct buf *b = &outer->body;

        buf_addf(b, "--" REPLY_BOUNDARY "\r\nContent-Type: application/http\r\n");
        if (nid)
                buf_addf(b, "Content-ID: <response-%.*s\r\n", (int)nid, id);
        buf_addf(b, "\r\nHTTP/1.1 %d %s\r\n", x->status, http_reason(x->status));
        buf_add(b, x->headers.p, x->headers.len);
        buf_addf(b, "Content-Length: %zu\r\n\r\n", x->body.len);
        buf_add(b, x->body.p, x->body.len);
        buf_adds(b, "\r\n");
}

/* What is behind the first empty line, whatever ends the lines; NULL for none. */
static const char *behind_headers(const char *p)
{
        while ((p = strchr(p, '\n'))) {
                p += 1 + (p[1] == '\r');
                if (*p == '\n')
                        return p + 1;
        }
        return NULL;
}

/* One part, without its boundaries: headers, an empty line, the request. */
static int run_part(struct service *s, struct request *outer, const char *part, size_t n)
{
        static const char host[] = "Host: batch\r\n";
        const char *auth = http_header(&outer->rq, "authorization");
        CLEANUP(buf_release) struct buf head = BUF_INIT;
        CLEANUP(release_inner) struct request x = {.headers = BUF_INIT, .in_batch = true};
        const char *request = behind_headers(part);
        const char *line = request ? strchr(request, '\n') : NULL;
        const char *id = strcasestr(part, "content-id: <");

        if (!line)
                return -EINVAL;
        line++;
        x.body = x.text = x.related.head = (struct buf)BUF_INIT;
        x.intake.fd = -1;
        memcpy(x.id, outer->id, sizeof x.id);
        buf_add(&head, request, (size_t)(line - request));
        buf_adds(&head, host);
        if (auth)
                buf_addf(&head, "Authorization: %s\r\n", auth);
        if (buf_add(&head, line, n - (size_t)(line - part)) || buf_adds(&head, "\r\n\r\n"))
                return -ENOMEM;
        int nhead = http_parse(head.p, head.len, &x.rq);
        if (nhead <= 0 || x.rq.chunked)
                return -EINVAL;
        size_t nbody = head.len > (size_t)nhead + 4 ? head.len - 4 - (size_t)nhead : 0;
        x.rq.body_len = x.rq.body_len < nbody ? x.rq.body_len : nbody;
        run(s, &x, head.p + nhead, x.rq.body_len);
        if (id && id < request)
                id += strlen("content-id: <");
        add_reply(outer, &x, id, id && id < request ? strcspn(id, "\r\n") : 0);
        return 0;
}

void gs_batch(struct service *s, struct request *x)
{
        struct related bounds = {.head = BUF_INIT};
        unsigned count = 0;
        int err = related_begin(&bounds, http_header(&x->rq, "content-type"), 0);
        size_t n = strlen(bounds.boundary);
        char *p = err ? NULL : strstr(x->text.p, bounds.boundary);

        while (!err && p && strncmp(p + n, "--", 2)) {
                char *next = strstr(p + n, bounds.boundary);
                if (!next)
                        break;
                if (++count > GS_BATCH_MAX) {
                        gs_refuse(x, 400, "batchSizeTooLarge", "The batch has over 100 requests.");
                        return;
                }
                char last = *next;
                *next = 0; /* so that nothing is looked for behind the part */
                err = run_part(s, x, p + n, (size_t)(next - p) - n);
                *next = last;
                p = next;
        }
        if (err || !count) {
                gs_refuse(x, err == -ENOMEM ? 500 : 400, "invalid", "The batch cannot be read.");
                return;
        }
        buf_adds(&x->body, "--" REPLY_BOUNDARY "--\r\n");
        request_header(x, "Content-Type", "multipart/mixed; boundary=" REPLY_BOUNDARY);
        gs_reply(x, 200);
}
