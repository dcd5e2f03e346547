/* SPDX-License-Identifier: Apache-2.0 */
/* request.c: the life of an operation: sent, looked at, sent again or reported. The one place where
 * anything is retried. */
#include "store/core/store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text/xml.h"
#include "store/core/error_hint.h"
#include "base/banned.h"

/* An op that goes on and on (pages that name themselves as the next) is ended here. */
enum { EXCHANGES_MAX = 20000 };

/* Tries of a body that never arrives as its checksum says: then it is ours that is wrong. */
enum { DAMAGED_MAX = 4 };

/* Tries to remove what a success leaves behind, while its caller waits. */
enum { CLEANUP_TRIES = 3 };

/* How long a mount waits for a server that asks for fewer requests. */
enum { CHECK_SLOW_MS = 30000 };

/* Between two looks for credentials that are being fetched. */
enum { CREDENTIALS_WAIT_MS = 10 };

static const char *const verb_names[OP_VERBS] = {
#define STORE_OPERATION(name, word) [OP_##name] = word,
#include "base/metrics.def"
};

static int64_t clock_ms(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint64_t chance(void)
{
        uint64_t x = 0;
        if (getrandom(&x, sizeof x, GRND_NONBLOCK) != sizeof x)
                x = (uint64_t)clock_ms() * 0x9e3779b97f4a7c15ULL;
        return x >> 1;
}

int store_check_key(const struct store *s, const char *key)
{
        if (!*key || *key == '/')
                return -EINVAL;
        return strlen(key) > store_key_max(s) ? -ENAMETOOLONG : 0;
}

char *store_full_key(const struct store *s, const char *key)
{
        size_t n = strlen(key) + 1;
        char *full = malloc(s->prefix_len + n);
        if (full) {
                memcpy(full, s->prefix, s->prefix_len);
                memcpy(full + s->prefix_len, key, n);
        }
        return full;
}

/* What moves in an op that may be sent twice without harm: reads, and parts, which are what their
 * number says. */
static uint64_t again_bytes(const struct op *op)
{
        if (op->verb == OP_GET)
                return op->len < INT64_MAX - op->off ? op->len - op->got : 0;
        return op->verb == OP_PART ? op->body.len : op->verb == OP_HEAD;
}

static int prepare(struct http_req *rq)
{
        struct op *op = (struct op *)rq;

        buf_reset(&op->in);
        buf_reset(&rq->url);
        buf_reset(&rq->headers);
        rq->body_read = NULL;
        rq->body_len = 0;
        rq->once = false;
        op->begun = op->ignored = op->enough = false;
        op->skip = 0;
        op->fault = (struct op_fault){.retry_after_ms = 0};
        rq->again_bytes = again_bytes(op);
        int err = op->s->ops->verb[op->verb].build(op->s->kind, op);
        op->waits = err == -EAGAIN || err == -EINPROGRESS;
        return err;
}

int op_no_credentials(struct op *op, int err, const char *why)
{
        if (err == -ENOMEM)
                return err;
        snprintf(op->fault.code, sizeof op->fault.code, "NoCredentials");
        snprintf(op->fault.message, sizeof op->fault.message, "%s", why);
        return err == -EAGAIN || err == -EINPROGRESS ? err : -EACCES;
}

int op_collect(struct http_req *rq, const void *p, size_t n)
{
        struct op *op = (struct op *)rq;
        if (op->in.len + n > XML_SIZE_MAX)
                return -EIO;
        return buf_add(&op->in, p, n);
}

/* What everyone should know: not "there is none" or "the condition does not hold", which are
 * answers, and not what the caller wanted. */
static bool worth_a_line(const struct op *op, int err)
{
        if (op->verb == OP_CHECK_WRITE)
                return false; /* whose caller says it */
        if (err == -ENOENT)
                return op->verb != OP_HEAD && op->verb != OP_GET && op->verb != OP_COPY &&
                       op->verb != OP_RENAME && op->verb != OP_SET_META &&
                       !(op->verb == OP_DELETE && op->if_match);
        if (err == -EFBIG && (op->verb == OP_COPY || op->verb == OP_SET_META))
                return false; /* copied in parts */
        if (err == -EOPNOTSUPP && (op->verb == OP_APPEND || op->verb == OP_RENAME))
                return false; /* the caller has another way */
        return err != -ECANCELED && err != -EEXIST && err != -ESTALE &&
               !(op->rq.by_callback && !*op->fault.message);
}

bool op_is_denied(const struct op *op)
{
        const char *code = op->fault.code;
        /* Of many objects each has an error of its own, in a reply that is none. */
        return (op->rq.status == 403 || (op->verb == OP_DELETE_MANY && *code)) &&
               (!*code || !strcmp(code, "AccessDenied") || !strcmp(code, "forbidden"));
}

/* What may help where neither the way nor a permission is the reason. */
static const char *general_remedy(const struct op *op, int err)
{
        if (op->fault.remedy)
                return op->fault.remedy;
        switch (err) {
        case -ETIMEDOUT:
                return "'ckptctl doctor' tries each step of the way to the store";
        case -EACCES:
                return "see 'ckptctl credentials', and correct them or their policy";
        case -ENOSPC:
                return "make room at the store, or raise its quota";
        default:
                return op->rq.status >= 500 ? "ask whoever runs the store, with the request id"
                                            : "'ckptctl doctor' tries each operation";
        }
}

/* What may help. */
static const char *remedy_of(const struct op *op, int err, char *buf, size_t n)
{
        const char *wants = op_is_denied(op) ? op->s->ops->permission(op->s->kind, op->verb) : "";
        const char *named = op->fault.permission;
        bool more = *named && !strstr(wants, named); /* as for what only some objects have */

        if (!op->rq.status && !*op->fault.code && (op->untrusted || op->retry.tries)) {
                error_hint_lost(op, buf, n);
                return buf;
        }
        snprintf(buf, n, "the credentials need %s%s%s", wants, more ? ", and here " : "",
                 more ? named : "");
        return *wants && !op->fault.remedy ? buf : general_remedy(op, err);
}

/* The ranges of a file are read together, and refused together for one reason: the first line
 * stands for those of the next second. */
static bool was_said(const struct op *op)
{
        uint64_t second = (uint64_t)clock_ms() / 1000 & UINT32_MAX;
        uint64_t what = op->rq.flow ^ (uint32_t)op->rq.status, line = what << 32 | second;
        uint64_t before = __atomic_load_n(&op->s->read_said, __ATOMIC_RELAXED);

        if (op->verb != OP_GET)
                return false;
        do {
                if (before >> 32 == what && second - (before & UINT32_MAX) <= 1)
                        return true;
        } while (!__atomic_compare_exchange_n(&op->s->read_said, &before, line, true,
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return false;
}

static void say(const struct op *op, const char *outcome, int err)
{
        const struct op_fault *f = &op->fault;
        const char *what = op->key ? op->key : op->prefix ? op->prefix : "";
        char status[16] = "no reply", remedy[256];
        const struct log_about about = {.operation = verb_names[op->verb],
                                        .file = what,
                                        .request = f->request_id,
                                        .remedy = remedy_of(op, err, remedy, sizeof remedy)};

        if (op->rq.status)
                snprintf(status, sizeof status, "%d", op->rq.status);
        log_warn_of(&about, "store: %s %s/%s: %s %s: %s (request %s, %u %s): %s", about.operation,
                    op->s->bucket, what, status, *f->code ? f->code : "-",
                    *f->message ? f->message : "-", *f->request_id ? f->request_id : "-", op->tries,
                    op->tries == 1 ? "try" : "tries", outcome);
}

/* A condition that does not hold is an answer; the server's words tell which one it was. */
static void mention(const struct op *op, int err)
{
        const struct op_fault *f = &op->fault;

        if ((err == -EEXIST || err == -ESTALE || err == -EOPNOTSUPP) && *f->message &&
            op->verb != OP_CHECK_WRITE)
                log_info("store: %s %s/%s: %d %s: %s: %s", verb_names[op->verb], op->s->bucket,
                         op->key ? op->key : "", f->status, *f->code ? f->code : "-", f->message,
                         strerror(-err));
}

static void end(struct op *op, int err)
{
        if (err && op->cleanup_only) {
                say(op, "it is done, but what it used stays: see 'ckptctl uploads'", 0);
                err = 0;
        }
        if (err && worth_a_line(op, err)) {
                __atomic_add_fetch(&op->s->errors, 1, __ATOMIC_RELAXED);
                if (!was_said(op))
                        say(op, strerror(-err), err);
        } else if (err) {
                mention(op, err);
        }
        mutex_check_none();
        op->finish(op, err);
        op_free(op);
}

/* Sends the op again after delay_ms. */
static void resend(struct op *op, unsigned delay_ms)
{
        op->rq.delay_ms = delay_ms;
        int err = http_submit(op->s->http, &op->rq);
        if (err)
                end(op, err == -ESHUTDOWN ? -ECANCELED : err);
}

/* A try failed in a way that may pass: again later, or `err` when the time is over. */
static void retry(struct op *op, int err)
{
        int64_t now = http_running_ms(&op->rq);
        if (op->cleanup_only && op->retry.tries + 1 >= CLEANUP_TRIES) {
                end(op, err);
                return;
        }
        int64_t delay =
                retry_next(&op->retry, now, op->rq.silent_ms, op->fault.retry_after_ms, chance());
        if (delay < 0) {
                end(op, err);
                return;
        }
        /* What stands still to the end of this try has no other. */
        op->rq.stall_max_ms =
                (unsigned)(op->retry.deadline_ms - (now + delay - op->retry.since_ms));
        __atomic_add_fetch(&op->s->retries, 1, __ATOMIC_RELAXED);
        log_debug("store: %s %s: %d %s %s: again in %" PRId64 " ms", verb_names[op->verb],
                  op->key ? op->key : "", op->fault.status, op->fault.code, op->fault.message,
                  delay);
        resend(op, (unsigned)delay);
}

/* A server that asks for fewer requests is there: of many hosts that mount at once, or ask for one
 * prefix, each gets its turn. */
static void slow_down(struct op *op)
{
        unsigned patience = op->s->deadline_ms < CHECK_SLOW_MS ? op->s->deadline_ms : CHECK_SLOW_MS;

        if (op->verb == OP_CHECK && *op->fault.code) {
                op->retry.most = 0;
                op->retry.deadline_ms = patience;
        }
        retry(op, -ETIMEDOUT);
}

/* What arrived is of no use, which another try may mend: a few. */
static void try_again(struct op *op, int err, const char *what)
{
        if (++op->damaged == DAMAGED_MAX) {
                end(op, err);
                return;
        }
        say(op, what, 0);
        retry(op, err);
}

/* The transport failed. What was sent may have taken effect all the same. */
static void transport_failed(struct op *op, int err)
{
        struct op_fault *f = &op->fault;

        if (op->rq.by_callback || err == -ECANCELED) {
                end(op, err);
                return;
        }
        if (err == -EINTR) {
                __atomic_add_fetch(&op->s->retries, 1, __ATOMIC_RELAXED);
                log_debug("store: %s %s is slow: begun again", verb_names[op->verb],
                          op->key ? op->key : "");
                op->maybe_done = op->rq.fresh = true;
                resend(op, 0);
                return;
        }
        snprintf(f->message, sizeof f->message, "%s", op->rq.error);
        if (err == -ENOMEM || err == -EPROTO) {
                op->untrusted = err == -EPROTO;
                end(op, err == -EPROTO ? -EIO : err);
                return;
        }
        if (err != -ECONNREFUSED && err != -EHOSTUNREACH)
                op->maybe_done = true;
        op->rq.fresh = true;
        /* Who mounts is told what to correct; a program, that the deadline is over. */
        retry(op, op->verb == OP_CHECK && err != -ECONNRESET ? err : -ETIMEDOUT);
}

bool op_is_refused(int err)
{
        return err == -EEXIST || err == -ESTALE || err == -EACCES || err == -ENOSPC;
}

bool op_may_be_ours(const struct op *op, int err)
{
        return op->maybe_done && op_is_refused(err);
}

void op_look_into(struct op *op, int err)
{
        op->verify_err = err;
        if (!op_is_refused(err) || (op->rq.status < 300 && !*op->fault.code))
                return; /* the reply at hand is about something else */
        op->refused = op->fault;
        op->refused.status = op->rq.status;
}

int op_refusal(struct op *op)
{
        if (op->refused.status) {
                op->fault = op->refused;
                op->rq.status = op->refused.status;
        }
        return op->verify_err;
}

/* There are no credentials now. The first ones are waited for as long as their source takes, others
 * no longer than for anything else. */
static void wait_for_credentials(struct op *op, int err)
{
        op->waits = false;
        if (err == -EAGAIN || retry_wait(&op->retry, http_running_ms(&op->rq)))
                resend(op, CREDENTIALS_WAIT_MS);
        else
                end(op, -EACCES);
}

/* An exchange is over. */
static void count(const struct op *op, int err)
{
        const struct http_req *rq = &op->rq;

        if (err == -ECANCELED || !rq->sent)
                return;
        if (err == -EINTR)
                METRIC_ADD(hedged, 1);
        if (rq->status == 503 || rq->status == 429)
                METRIC_ADD(throttled, 1);
        metric_reply(REPLIES_store_replies, op->verb, rq->status);
        metric_time(TIMES_store_request, op->verb, rq->whole_ns);
        if (rq->first_byte_ns)
                metric_time(TIMES_store_first_byte, op->verb, rq->first_byte_ns);
}

static enum http_lane lane_of(enum op_verb verb)
{
        switch (verb) {
        case OP_GET:
        case OP_PUT:
        case OP_APPEND:
        case OP_PART:
                return HTTP_DATA;
        case OP_COPY:
        case OP_RENAME:
        case OP_SET_META:
        case OP_PART_COPY:
        case OP_COMPLETE:
                return HTTP_WORK;
        default:
                return HTTP_META;
        }
}

static void on_done(struct http_req *rq, int err)
{
        struct op *op = (struct op *)rq;
        struct store *s = op->s;

        if (err && op->waits) {
                wait_for_credentials(op, err);
                return;
        }
        count(op, err);
        op->exchanges++;
        op->tries++;
        op->maybe_done |= rq->resent;
        if (err && op->ignored) {
                try_again(op, -EIO, "the server ignored the range; it is asked again");
                return;
        }
        if (err && !op->enough && !(op->verb == OP_GET && !rq->by_callback && get_has_all(op))) {
                transport_failed(op, err);
                return;
        }
        rq->fresh = false;
        if (rq->status >= 200 && rq->status < 300)
                op->moves = 0; /* what goes wrong from here on may be corrected anew */
        err = s->ops->verb[op->verb].parse(s->kind, op);
        if (err == 0 && op->verb == OP_GET)
                err = get_complete(op);
        else if (err == 0 && op->verb == OP_LIST)
                err = list_complete(op);
        if (err != OP_RETRY)
                http_pace(rq, err == OP_SLOW);
        switch (err) {
        case OP_AGAIN:
                rq->lane = lane_of(op->verb); /* it may have begun with a question */
                if (op->exchanges < EXCHANGES_MAX)
                        resend(op, op->again_ms);
                else
                        end(op, -EIO);
                return;
        case OP_RETRY:
        case OP_SLOW:
                /* A conflict and a limit are refusals: what stands then is another's. */
                op->maybe_done |= rq->status != 409 && rq->status != 429;
                if (err == OP_SLOW)
                        slow_down(op);
                else
                        retry(op, -ETIMEDOUT);
                return;
        case OP_DAMAGED:
                try_again(op, -EBADMSG, "what arrived is not what was sent; it is sent again");
                return;
        default:
                end(op, err);
        }
}

struct op *op_new(struct store *s, enum op_verb verb, const char *key, void *arg)
{
        struct op *op = calloc(1, sizeof *op);
        if (!op)
                return NULL;
        http_req_init(&op->rq);
        op->rq.prepare = prepare;
        op->rq.data = verb == OP_GET ? get_data : op_collect;
        op->rq.done = on_done;
        op->rq.lane = lane_of(verb);
        op->rq.stall_min_ms = op->rq.lane == HTTP_WORK ? SERVER_WORKS_MS : 0;
        op->rq.stall_max_ms = s->deadline_ms;
        op->s = s;
        op->verb = verb;
        op->retry.deadline_ms = s->deadline_ms;
        op->text = op->in = op->names = (struct buf)BUF_INIT;
        op->arg = arg;
        if (key && !(op->key = store_full_key(s, key))) {
                op_free(op);
                return NULL;
        }
        return op;
}

void op_free(struct op *op)
{
        if (!op)
                return;
        http_req_release(&op->rq);
        char *strings[] = {op->key,    op->src,  op->src_match, op->if_match,     op->prefix,
                           op->delim,  op->next, op->upload_id, op->continuation, op->start_after,
                           op->marker, op->tags, op->page_token};
        for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
                free(strings[i]);
        for (size_t i = 0; i < op->nkeys; i++)
                free(op->keys[i]);
        for (size_t i = 0; op->versions && i < op->nkeys; i++)
                free(op->versions[i]);
        free(op->keys);
        free(op->versions);
        free(op->meta);
        free(op->v);
        buf_release(&op->text);
        buf_release(&op->in);
        buf_release(&op->names);
        free(op);
}

void op_freep(struct op **op)
{
        op_free(*op);
}

static bool is_read(enum op_verb verb)
{
        switch (verb) {
        case OP_CHECK:
        case OP_HEAD:
        case OP_GET:
        case OP_LIST:
        case OP_PARTS:
        case OP_UPLOADS:
                return true;
        default:
                return false;
        }
}

/* How long an op waits before its first request. */
static unsigned wait_of(const struct op *op)
{
        struct store *s = op->s;

        if (op->wait_ms || !s->ramps)
                return op->wait_ms;
        mutex_lock(&s->ramp_mtx);
        unsigned ms = rate_ramp_wait(is_read(op->verb) ? &s->reads : &s->writes,
                                     op->nkeys ? (unsigned)op->nkeys : 1, clock_ms());
        mutex_unlock(&s->ramp_mtx);
        return ms;
}

/* Files share the connections evenly: each is a flow. */
static uint32_t flow_of(const struct op *op)
{
        uint32_t h = 0;

        for (const char *p = op->key ? op->key : op->prefix; p && *p; p++)
                h = (h ^ (unsigned char)*p) * 16777619U;
        return h ^ h >> 16;
}

int op_submit(struct op *op)
{
        op->rq.flow = flow_of(op);
        op->rq.delay_ms = wait_of(op);
        int err = http_submit(op->s->http, &op->rq);
        if (err)
                op_free(op);
        return err;
}

int op_set_cond(struct op *op, const struct store_cond *cond)
{
        if (!cond)
                return 0;
        op->if_absent = cond->if_absent;
        op->metageneration = cond->metageneration;
        if (cond->if_match && !(op->if_match = strdup(cond->if_match)))
                return -ENOMEM;
        return 0;
}

int op_set_meta(struct op *op, const struct store_meta *meta)
{
        if (!meta)
                return 0;
        bool adds = op->verb == OP_SET_META && store_caps(op->s) & STORE_CAP_PATCH_META;
        if (meta->missing && !adds) {
                log_warn_of(LOG_ABOUT(.operation = verb_names[op->verb], .file = op->key,
                                      .remedy = "write a new object instead"),
                            "store: %s: the object has metadata that cannot be kept here and that "
                            "a write would drop: it is not written",
                            op->key);
                return -EPERM;
        }
        op->meta = malloc(sizeof *op->meta);
        if (!op->meta)
                return -ENOMEM;
        *op->meta = *meta;
        return 0;
}

void op_finish_object(struct op *op, int err)
{
        op->done.object(op->arg, err, err ? NULL : &op->obj);
}

void op_finish_plain(struct op *op, int err)
{
        op->done.object(op->arg, err, NULL);
}

int store_no_build(struct store_kind *k, struct op *op)
{
        (void)k;
        (void)op;
        return -EOPNOTSUPP;
}

int store_no_parse(struct store_kind *k, struct op *op)
{
        return store_no_build(k, op);
}

bool store_no_ramp(const struct store_kind *k)
{
        (void)k;
        return false;
}

bool store_no_question(const struct store_kind *k, const struct op *op)
{
        (void)k;
        (void)op;
        return false;
}

size_t store_plain_bucket(const char *text)
{
        return strcspn(text, "/");
}

const char *store_no_reason(const struct store_kind *k)
{
        (void)k;
        return NULL;
}

const char *op_string(const struct op *op, size_t at)
{
        return op->names.p + at;
}

static size_t copy_string(struct op *op, const char *s)
{
        size_t at = op->names.len;
        buf_add(&op->names, s ? s : "", s ? strlen(s) + 1 : 1);
        return at;
}

void op_begin_page(struct op *op)
{
        op->n = op->page = op->told;
        op->names.len = op->told_names;
        op->names.failed = false;
}

int op_copy_meta(struct op *op, struct op_entry *e, const struct store_meta *meta)
{
        e->meta = op->names.len;
        e->nmeta = meta->len;
        e->partial = meta->missing;
        e->metageneration = meta->metageneration;
        return buf_add(&op->names, meta->buf, meta->len);
}

int op_add_entry(struct op *op, const struct op_entry *e, const char *key, const char *etag,
                 const char *id)
{
        if (GROW(op->v, op->n, op->room, 64))
                return -ENOMEM;
        struct op_entry *to = &op->v[op->n];
        *to = *e;
        to->key = copy_string(op, key);
        to->etag = copy_string(op, etag);
        to->id = copy_string(op, id);
        if (op->names.failed)
                return -ENOMEM;
        op->n++;
        return 0;
}

int op_rename_entry(struct op *op, struct op_entry *e, const char *key, const char *etag)
{
        e->key = copy_string(op, key);
        e->etag = copy_string(op, etag);
        return op->names.failed ? -ENOMEM : 0;
}
