/* SPDX-License-Identifier: Apache-2.0 */
/* util.c: what the commands need of the store, waited for, and how they print. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mutex.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "base/grow.h"
#include "base/log.h"
#include "ctl/ctl.h"

#include "base/banned.h"

bool ctl_last_words(char out[LOG_TEXT_MAX])
{
        static int64_t told_ns;
        struct log_entry recent[LOG_RECENT];
        size_t n = log_last(recent);

        *out = 0;
        if (!n || recent[n - 1].time_ns <= told_ns)
                return false;
        told_ns = recent[n - 1].time_ns;
        snprintf(out, LOG_TEXT_MAX, "%s", recent[n - 1].text);
        return true;
}

int ctl_fail(const char *what, int err)
{
        CLEANUP(freep) char *name = ctl_printable(what);
        char said[LOG_TEXT_MAX];

        ctl_last_words(said);
        fprintf(stderr, "ckptctl: %s: %s%s%s\n", name ? name : "no memory", strerror(-err),
                *said ? ": " : "", said);
        return CTL_FAILED;
}

int ctl_complain(const char *why)
{
        CLEANUP(freep) char *line = ctl_printable(why);

        fprintf(stderr, "ckptctl: %s\n", line ? line : "no memory");
        return CTL_FAILED;
}

int ctl_worse(int a, int b)
{
        return a == CTL_FAILED || b == CTL_FAILED ? CTL_FAILED : a > b ? a : b;
}

static int64_t age_s(int64_t time_ns)
{
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        int64_t age = ts.tv_sec - time_ns / 1000000000;
        return age < 0 ? 0 : age; /* the clocks differ */
}

bool ctl_is_older(const struct ctl *c, int64_t time_ns)
{
        return age_s(time_ns) * 1000 >= (int64_t)c->older_ms;
}

const char *ctl_span(int64_t age, char out[CTL_AGE_MAX])
{
        static const struct {
                int64_t s;
                char name;
        } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
        size_t u = 0;

        while (u < 3 && age < units[u].s)
                u++;
        if (u == 3)
                snprintf(out, CTL_AGE_MAX, "%" PRId64 "s", age);
        else
                snprintf(out, CTL_AGE_MAX, "%" PRId64 "%c%" PRId64 "%c", age / units[u].s,
                         units[u].name, age % units[u].s / units[u + 1].s, units[u + 1].name);
        return out;
}

const char *ctl_age(int64_t time_ns, char out[CTL_AGE_MAX])
{
        return ctl_span(age_s(time_ns), out);
}

char *ctl_printable(const char *key)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        control_add_printable(&b, key);
        return buf_take(&b);
}

/* --- uploads --- */

struct uploads_wait {
        struct mutex mtx;
        pthread_cond_t cond;
        bool over GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
        struct ctl_uploads *out;
};

static int copy_uploads(struct ctl_uploads *out, size_t n, const struct store_upload_entry *v)
{
        out->v = calloc(n ? n : 1, sizeof *out->v);
        if (!out->v)
                return -ENOMEM;
        for (; out->n < n; out->n++) {
                struct ctl_upload *u = &out->v[out->n];
                u->key = strdup(v[out->n].key);
                u->id = strdup(v[out->n].id);
                u->begun_ns = v[out->n].begun_ns;
                if (u->key && u->id)
                        continue;
                free(u->key);
                free(u->id);
                return -ENOMEM;
        }
        out->more = n >= STORE_UPLOADS_MAX;
        return 0;
}

static void uploads_listed(void *arg, int err, size_t n, const struct store_upload_entry *v)
{
        struct uploads_wait *w = arg;

        if (!err)
                err = copy_uploads(w->out, n, v);
        mutex_lock(&w->mtx);
        w->err = err;
        w->over = true;
        pthread_cond_signal(&w->cond);
        mutex_unlock(&w->mtx);
}

int ctl_uploads_get(struct store *s, struct ctl_uploads *out)
{
        struct uploads_wait w = {.mtx = MUTEX_INITIALIZER(LOCK_SYNC_WAIT),
                                 .cond = PTHREAD_COND_INITIALIZER,
                                 .out = out};

        memset(out, 0, sizeof *out);
        int err = store_list_uploads(s, "", uploads_listed, &w);
        if (err)
                return err;
        mutex_lock(&w.mtx);
        while (!w.over)
                mutex_wait(&w.cond, &w.mtx);
        err = w.err;
        mutex_unlock(&w.mtx);
        return err;
}

void ctl_uploads_release(struct ctl_uploads *u)
{
        for (size_t i = 0; i < u->n; i++) {
                free(u->v[i].key);
                free(u->v[i].id);
        }
        free(u->v);
        memset(u, 0, sizeof *u);
}

/* --- objects --- */

int ctl_read(struct store *s, const char *key, size_t max, char **text, struct store_object *obj)
{
        int err = store_head_wait(s, key, obj);

        if (err)
                return err;
        if (obj->size > max)
                return -EFBIG;
        CLEANUP(freep) char *p = calloc(1, (size_t)obj->size + 1);
        if (!p)
                return -ENOMEM;
        ssize_t got = obj->size ? store_get_wait(s, key, 0, p, (size_t)obj->size, obj->etag) : 0;
        if (got < 0)
                return (int)got;
        obj->size = (uint64_t)got;
        *text = TAKE_PTR(p);
        return 0;
}

/* Names and pointers to them: of 160,000 records, more than anybody has. */
enum { NAMES_MAX = 4 << 20 };

struct names_walk {
        struct ctl_names *out;
        size_t skip, room, bytes;
        bool failed;
};

static void add_name(void *arg, const struct store_entry *e)
{
        struct names_walk *w = arg;
        struct ctl_names *out = w->out;

        if (!e->key[w->skip]) /* the folder that they are in */
                return;
        if (GROW(out->v, out->n, w->room, 16)) {
                w->failed = true;
                return;
        }
        out->v[out->n] = strdup(e->key + w->skip);
        w->bytes += sizeof *out->v + strlen(e->key + w->skip) + 1;
        if (out->v[out->n])
                out->n++;
        else
                w->failed = true;
}

int ctl_names_get(struct store *s, const char *prefix, struct ctl_names *out)
{
        struct names_walk w = {.out = out, .skip = strlen(prefix)};
        struct store_walk walk;
        CLEANUP(freep) char *from = NULL;
        int err;

        memset(out, 0, sizeof *out);
        do {
                struct store_list list = {.walk = &walk, .prefix = prefix, .continuation = from};
                char *next = NULL;
                err = store_list_wait(s, &list, add_name, &w, &next);
                free(from);
                from = next;
        } while (!err && from && !w.failed && w.bytes < NAMES_MAX);
        out->more = from != NULL;
        return err ? err : w.failed ? -ENOMEM : 0;
}

int ctl_names_rest(const struct ctl_names *names, const char *prefix, int rc)
{
        if (names->more)
                fprintf(stderr,
                        "ckptctl: %s has more than %zu names: run this again for the rest\n",
                        prefix, names->n);
        return names->more ? ctl_worse(rc, CTL_LEFT) : rc;
}

void ctl_names_release(struct ctl_names *names)
{
        for (size_t i = 0; i < names->n; i++)
                free(names->v[i]);
        free(names->v);
        memset(names, 0, sizeof *names);
}
