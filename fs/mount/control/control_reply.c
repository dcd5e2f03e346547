/* SPDX-License-Identifier: Apache-2.0 */
/* control_reply.c: see control_reply.h. Each kind of request has a function that adds lines, whose
 * fields ckptctl knows (fs/ctl/live.c). */
#include "mount/control/control_reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/core/mount.h"
#include "mount/core/stats_log.h"
#include "mount/write/spill.h"

#include "base/banned.h"

enum { FILES_MOST = 1000, WHY_MAX = 1024 };

/* --- open files --- */

/* What is said of one, taken under the tree's lock. */
struct open_file {
        char *key;
        struct wfile *file; /* a reference, or NULL: it is only read */
        uint64_t size;      /* of one that is only read */
        bool published, gone;
};

struct open_files {
        struct open_file v[FILES_MOST];
        size_t n;
        size_t more; /* not in v */
        /* Of all, also those not in v: how many are in each state, have a file, are open for
         * writing; the bytes that the store does not have. */
        size_t states[WFILE_FAILED + 1], written, writers;
        uint64_t unsent;
};

static void open_files_free(struct open_files *o)
{
        for (size_t i = 0; o && i < o->n; i++) {
                free(o->v[i].key);
                if (o->v[i].file)
                        wfile_unref(o->v[i].file);
        }
        free(o);
}

static void open_files_freep(struct open_files **o)
{
        open_files_free(*o);
}

static int add_file_locked(struct open_files *o, struct node *n) REQUIRES(tree_mutex)
{
        if (o->n == FILES_MOST) {
                o->more++;
                return 0;
        }
        char *key = tree_key_locked(n);
        if (!key)
                return -ENOMEM;
        o->v[o->n++] = (struct open_file){
                .key = key,
                .file = n->file ? wfile_ref(n->file) : NULL,
                .size = n->size,
                .published = n->published,
                .gone = n->unlinked,
        };
        return 0;
}

static void count_file_locked(struct open_files *o, const struct node *n) REQUIRES(tree_mutex)
{
        struct wfile_status s = {.state = WFILE_CLEAN};

        if (n->file)
                wfile_status(n->file, &s);
        o->states[s.state]++;
        o->written += n->file != NULL;
        o->writers += n->nwriters > 0;
        if (s.state != WFILE_CLEAN && !n->unlinked)
                o->unsent += s.size - s.sent;
}

/* Files that are written come first, since of very many not all are told. NULL: no memory. */
static struct open_files *list_files(struct mount *m)
{
        CLEANUP(open_files_freep) struct open_files *o = calloc(1, sizeof *o);
        int err = o ? 0 : -ENOMEM;

        tree_lock(m->tree);
        for (int written = 1; written >= 0; written--)
                for (struct node *n = tree_open_list_locked(m->tree); n && !err; n = n->open_next)
                        if (written == (n->file != NULL)) {
                                count_file_locked(o, n);
                                err = add_file_locked(o, n);
                        }
        tree_unlock(m->tree);
        return err ? NULL : TAKE_PTR(o);
}

static int64_t now_ns(clockid_t clock)
{
        struct timespec ts;
        clock_gettime(clock, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t age_ms(int64_t since_ns)
{
        int64_t age = since_ns ? now_ns(CLOCK_MONOTONIC) - since_ns : 0;
        return age > 0 ? age / 1000000 : 0;
}

static struct wfile_status status_of(const struct open_file *f)
{
        struct wfile_status s = {.state = WFILE_CLEAN, .size = f->size};
        if (f->file)
                wfile_status(f->file, &s);
        return s;
}

/* "file", its state, size, bytes sent, milliseconds since it was changed and since it is sent,
 * bytes a second of late, the error of the version that failed last, its key. */
static void add_file(struct buf *out, const struct open_file *f, const struct wfile_status *s)
{
        buf_addf(out,
                 "file\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t%" PRIu64 "\t%s\t",
                 f->gone ? "deleted" : mount_state_word(s->state, f->published), s->size,
                 s->state == WFILE_CLEAN ? 0 : s->sent, age_ms(s->changed_ns),
                 age_ms(s->sending_ns), s->state == WFILE_CLEAN ? 0 : s->rate,
                 s->err ? strerror(-s->err) : "");
        control_add_printable(out, f->key);
        buf_addc(out, '\n');
}

static int add_files(struct mount *m, struct buf *out)
{
        CLEANUP(open_files_freep) struct open_files *o = list_files(m);

        if (!o)
                return -ENOMEM;
        for (size_t i = 0; i < o->n; i++) {
                struct wfile_status s = status_of(&o->v[i]);
                add_file(out, &o->v[i], &s);
        }
        if (o->more)
                buf_addf(out, "more\t%zu\n", o->more);
        return 0;
}

/* --- the mount --- */

static void add_text(struct buf *out, const char *name, const char *text)
{
        buf_addf(out, "%s\t", name);
        control_add_printable(out, text);
        buf_addc(out, '\n');
}

static void add_number(struct buf *out, const char *name, uint64_t value)
{
        buf_addf(out, "%s\t%" PRIu64 "\n", name, value);
}

static const char *state_of(const struct mount *m, bool ends)
{
        return ends                   ? "ending"
               : mount_is_detached(m) ? "detached"
               : mount_drains(m)      ? "draining"
                                      : "serving";
}

static void add_device(const struct mount *m, struct buf *out)
{
        if (m->dev)
                buf_addf(out, "device\t%u:%u\n", major(m->dev), minor(m->dev));
}

static void add_mount(const struct mount *m, bool ends, struct buf *out)
{
        add_text(out, "mountpoint", m->mountpoint);
        add_text(out, "url", m->url);
        add_number(out, "pid", (uint64_t)getpid());
        add_text(out, "state", state_of(m, ends));
        add_device(m, out);
        int64_t age = now_ns(CLOCK_REALTIME) - m->mounted_ns;
        add_number(out, "mounted_ms", age > 0 ? (uint64_t)age / 1000000 : 0);
}

static void add_last_lines(struct buf *out)
{
        CLEANUP(freep) struct log_entry *recent = calloc(LOG_RECENT, sizeof *recent);
        size_t n = recent ? log_last(recent) : 0;

        for (size_t i = 0; i < n; i++) {
                int64_t age = (now_ns(CLOCK_REALTIME) - recent[i].time_ns) / 1000000;
                buf_addf(out, "log\t%" PRId64 "\t%s\t", age > 0 ? age : 0,
                         recent[i].level == LOG_LEVEL_ERROR ? "error" : "warning");
                control_add_printable(out, recent[i].text);
                buf_addc(out, '\n');
        }
}

/* Whether something is at the store's hands that no open file shows. */
static bool is_busy(struct mount *m)
{
        tree_lock(m->tree);
        bool busy = m->attr_syncs != 0;
        tree_unlock(m->tree);
        return busy || wfile_tally_busy(&m->tally);
}

static int add_status(struct mount *m, bool ends, struct buf *out)
{
        CLEANUP(open_files_freep) struct open_files *o = list_files(m);
        char level[16];

        if (!o)
                return -ENOMEM;
        stats_update(m);
        add_mount(m, ends, out);
        add_text(out, "version", PACKAGE_VERSION);
        add_text(out, "log_level", param_choice("log_level", log_level(), level, sizeof level));
        add_number(out, "memory", atomic_load(&m->memory));
        add_number(out, "pool_used", METRIC_GET(pool_used));
        add_number(out, "spilled", METRIC_GET(spilled_bytes));
        add_number(out, "requests", METRIC_GET(requests));
        add_number(out, "retries", METRIC_GET(retries));
        add_number(out, "request_errors", METRIC_GET(request_errors));
        add_number(out, "sent", METRIC_GET(sent_bytes));
        add_number(out, "received", METRIC_GET(received_bytes));
        for (size_t i = 0; i < o->n; i++) {
                struct wfile_status s = status_of(&o->v[i]);
                if (s.state != WFILE_CLEAN && !o->v[i].gone)
                        add_file(out, &o->v[i], &s);
        }
        add_number(out, "open", o->n + o->more);
        add_number(out, "written", o->written);
        add_number(out, "dirty", o->states[WFILE_DIRTY]);
        add_number(out, "uploading", o->states[WFILE_UPLOADING]);
        add_number(out, "failed", o->states[WFILE_FAILED]);
        add_number(out, "writers", o->writers);
        add_number(out, "unsent", o->unsent);
        add_number(out, "busy", is_busy(m));
        add_number(out, "drains", mount_drains(m));
        add_last_lines(out);
        return 0;
}

static void add_stats(struct mount *m, struct buf *out)
{
        stats_update(m);
        for (int i = 0; i < METRIC_COUNT; i++) {
                const struct metric_desc *d = &metric_table[i];
                buf_addf(out, "%s\t%s\t%" PRIu64 "\t%s\n", d->name,
                         d->kind == METRIC_COUNTER ? "counter" : "gauge",
                         atomic_load_explicit(&metric_cells[i].value, memory_order_relaxed),
                         d->unit);
        }
}

static void add_credentials(const struct mount *m, struct buf *out)
{
        struct store_credentials c;

        store_credentials(m->store, &c);
        add_text(out, "source", c.source ? c.source : "");
        add_text(out, "kind", c.kind);
        add_text(out, "usable", c.usable ? "yes" : "no");
        buf_addf(out, "expiry\t%" PRId64 "\n", c.expiry_s);
        add_text(out, "why", c.why);
}

/* What differs from the defaults, by which the store can be reached in the same way. */
static void add_options(struct mount *m, struct buf *out)
{
        CLEANUP(params_release) struct params usual = {.log = NULL};
        bool known = !params_init(&usual);

        mutex_lock(&m->options);
        add_text(out, "url", m->url);
        add_text(out, "mountpoint", m->mountpoint);
        add_device(m, out);
        add_number(out, "pid", (uint64_t)getpid());
        add_number(out, "spill_used", spill_used(m->spill));
        for (size_t i = 0; known && i < param_count; i++) {
                CLEANUP(buf_release) struct buf value = BUF_INIT;
                if (params_same(&m->params, &usual, i))
                        continue;
                params_value(&m->params, i, &value);
                buf_addf(out, "option\t%s\t", param_table[i].name);
                control_add_printable(out, value.p);
                buf_addc(out, '\n');
        }
        mutex_unlock(&m->options);
}

static void set_level(unsigned level)
{
        char word[16];

        log_set_level((enum log_level)level);
        log_info("ckptctl has set log_level=%s",
                 param_choice("log_level", level, word, sizeof word));
}

static int add_answer(struct mount *m, bool ends, const struct control_request *rq, struct buf *out)
{
        switch (rq->word) {
        case CONTROL_STATUS:
                return add_status(m, ends, out);
        case CONTROL_STATS:
                add_stats(m, out);
                return 0;
        case CONTROL_FILES:
                return add_files(m, out);
        case CONTROL_CREDENTIALS:
                add_credentials(m, out);
                return 0;
        case CONTROL_OPTIONS:
                add_options(m, out);
                return 0;
        case CONTROL_LOGLEVEL:
                set_level(rq->level);
                return 0;
        case CONTROL_DRAIN:
                atomic_store(&m->drains, rq->level != 0);
                log_info(rq->level ? "ckptctl drain: nothing is opened for writing any more"
                                   : "ckptctl drain --undo: files are opened for writing again");
                return 0;
        case CONTROL_RELOAD:
        case CONTROL_SET:
        case CONTROL_MOUNT:
        case CONTROL_WORDS:
                break;
        }
        add_mount(m, ends, out);
        return 0;
}

int control_reply(struct mount *m, const struct control_hooks *hooks, bool ends, const char *text,
                  size_t n, struct buf *out)
{
        struct control_request rq;
        char why[WHY_MAX];

        if (control_request_parse(text, n, &rq, why, sizeof why)) {
                buf_addf(out, "error\t%s\nend\n", why);
                return out->failed ? -ENOMEM : 0;
        }
        if (rq.word == CONTROL_RELOAD || rq.word == CONTROL_SET) {
                int failed = hooks->reload(hooks->arg, rq.word == CONTROL_SET ? rq.options : NULL,
                                           why, sizeof why);
                add_text(out, failed ? "error" : "ok\nreloaded", why);
                buf_adds(out, "end\n");
                return out->failed ? -ENOMEM : 0;
        }
        if (rq.word == CONTROL_DRAIN && ends && !rq.level) {
                buf_adds(out, "error\tthe mount ends, and nothing is opened for writing any more: "
                              "mount again\nend\n");
                return out->failed ? -ENOMEM : 0;
        }
        buf_adds(out, "ok\n");
        int err = add_answer(m, ends, &rq, out);
        buf_adds(out, "end\n");
        return out->failed ? -ENOMEM : err;
}
