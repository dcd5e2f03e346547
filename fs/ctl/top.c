/* SPDX-License-Identifier: Apache-2.0 */
/* top.c: one screen of a mount that runs, drawn anew each second with the escape codes that every
 * terminal has (ECMA-48). */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "ctl/ctl.h"
#include "ctl/live.h"

#include "base/banned.h"

enum { LOOK_MS = 1000, LOOK_LEAST_MS = 100, COLUMNS = 80, ROWS = 24 };

/* One look at the mount. */
struct look {
        struct live_reply status, stats, files;
        double at; /* seconds */
};

/* A row of the list of files. */
struct row {
        const struct live_line *l;
        double rate;
};

enum order { BY_RATE, BY_SIZE, BY_NAME, ORDERS };

struct screen {
        struct buf text;
        unsigned width, height, used;
};

static volatile sig_atomic_t ends;
static struct termios before;

static void on_signal(int sig)
{
        if (sig != SIGWINCH) /* which ends the wait for a key: the screen is drawn anew */
                ends = 1;
}

static double seconds(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* --- looks --- */

static void look_release(struct look *l)
{
        live_reply_release(&l->status);
        live_reply_release(&l->stats);
        live_reply_release(&l->files);
}

static int look(const struct live_target *t, struct look *out)
{
        *out = (struct look){.at = seconds()};
        if (live_target_ask(t, control_word_name(CONTROL_STATUS), &out->status) ||
            live_target_ask(t, control_word_name(CONTROL_STATS), &out->stats) ||
            live_target_ask(t, control_word_name(CONTROL_FILES), &out->files)) {
                look_release(out);
                return -1;
        }
        return 0;
}

/* The fields of a line of the statistics: name, kind, value, unit. */
static double metric(const struct look *l, const char *name)
{
        for (size_t i = 0; i < l->stats.n; i++)
                if (!strcmp(l->stats.lines[i].v[0], name))
                        return strtod(l->stats.lines[i].v[2], NULL);
        return 0;
}

static double rate(const struct look *now, const struct look *then, const char *name)
{
        double s = now->at - then->at;
        return then->stats.n && s > 0 ? (metric(now, name) - metric(then, name)) / s : 0;
}

static int by_rate(const void *a, const void *b)
{
        const struct row *x = a, *y = b;
        return (x->rate < y->rate) - (x->rate > y->rate);
}

static int by_size(const void *a, const void *b)
{
        const struct row *x = a, *y = b;
        double m = strtod(x->l->v[FILE_SIZE], NULL), n = strtod(y->l->v[FILE_SIZE], NULL);
        return (m < n) - (m > n);
}

static int by_name(const void *a, const void *b)
{
        const struct row *x = a, *y = b;
        return strcmp(x->l->v[FILE_KEY], y->l->v[FILE_KEY]);
}

/* --- drawing --- */

/* A line between two escape codes, cut at the right edge; the last row of the terminal stays free
 * of a newline. */
static void put_line(struct screen *s, const char *on, const char *text, const char *off)
{
        if (s->used < s->height)
                buf_addf(&s->text, "%s%s%.*s%s\033[K", s->used++ ? "\r\n" : "", on, (int)s->width,
                         text, off);
}

static void line(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(struct screen *s, const char *fmt, ...)
{
        CLEANUP(freep) char *text = NULL;
        va_list ap;

        va_start(ap, fmt);
        int n = vasprintf(&text, fmt, ap);
        va_end(ap);
        if (n >= 0)
                put_line(s, "", text, "");
}

static void measure(struct screen *s)
{
        struct winsize w = {0};

        ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
        s->width = w.ws_col ? w.ws_col : COLUMNS;
        s->height = w.ws_row ? w.ws_row : ROWS;
}

static void draw_head(struct screen *s, const struct look *now, const struct look *then)
{
        const struct live_reply *r = &now->status;
        char age[CTL_AGE_MAX], a[LIVE_BYTES_MAX], b[LIVE_BYTES_MAX];

        line(s, "%s on %s, %s for %s", live_field(r, "url"), live_field(r, "mountpoint"),
             live_field(r, "state"), ctl_span((int64_t)live_number(r, "mounted_ms") / 1000, age));
        line(s, "written  %10s/s   sent      %10s/s",
             live_bytes(rate(now, then, "written_bytes"), a),
             live_bytes(rate(now, then, "sent_bytes"), b));
        line(s, "read     %10s/s   received  %10s/s", live_bytes(rate(now, then, "read_bytes"), a),
             live_bytes(rate(now, then, "received_bytes"), b));
        line(s, "requests %10.0f/s   again %.0f/s, failed %.0f/s, transfers %.0f of %.0f",
             rate(now, then, "requests"), rate(now, then, "retries"),
             rate(now, then, "request_errors"), metric(now, "transfers"),
             metric(now, "transfers_most"));
        line(s, "memory   %10s of %s, unsent %s",
             live_bytes((double)live_number(r, "pool_used"), a),
             live_bytes((double)live_number(r, "memory"), b),
             live_bytes((double)live_number(r, "unsent"), age));
        line(s, "files    %s open, %s for writing: %s dirty, %s uploading, %s failed",
             live_field(r, "open"), live_field(r, "written"), live_field(r, "dirty"),
             live_field(r, "uploading"), live_field(r, "failed"));
}

static void draw_files(struct screen *s, const struct look *now, enum order order)
{
        static int (*const orders[ORDERS])(const void *a, const void *b) = {by_rate, by_size,
                                                                            by_name};
        CLEANUP(freep) struct row *v = calloc(now->files.n + 1, sizeof *v);
        CLEANUP(freep) char *head = NULL;
        char size[LIVE_BYTES_MAX], fast[LIVE_BYTES_MAX];
        size_t n = 0;

        for (size_t i = 0; v && i < now->files.n; i++)
                if (!strcmp(now->files.lines[i].v[0], "file")) {
                        v[n].l = &now->files.lines[i];
                        v[n].rate = strtod(v[n].l->v[FILE_RATE], NULL);
                        n++;
                }
        if (n)
                qsort(v, n, sizeof *v, orders[order]);
        if (asprintf(&head, "%-9s %10s %5s %12s  %-*s", "state", "size", "sent", "rate",
                     s->width > 51 ? (int)s->width - 41 : 10, "file") < 0)
                return;
        put_line(s, "\033[7m", head, "\033[0m");
        for (size_t i = 0; i < n && s->used + 1 < s->height; i++) {
                const char *state = v[i].l->v[FILE_STATE], *key = v[i].l->v[FILE_KEY];
                double all = strtod(v[i].l->v[FILE_SIZE], NULL);
                double sent = strtod(v[i].l->v[FILE_SENT], NULL);
                if (!strcmp(state, "durable") || !strcmp(state, "deleted")) /* sends nothing */
                        line(s, "%-9s %10s %5s %12s  %s", state, live_bytes(all, size), "-", "-",
                             key);
                else
                        line(s, "%-9s %10s %4.0f%% %10s/s  %s", state, live_bytes(all, size),
                             all > 0 ? 100 * sent / all : 0, live_bytes(v[i].rate, fast), key);
        }
}

static void draw(const struct look *now, const struct look *then, enum order order, unsigned ms)
{
        static const char *const names[ORDERS] = {"rate", "size", "name"};
        struct screen s = {.text = BUF_INIT};

        measure(&s);
        buf_adds(&s.text, "\033[H");
        draw_head(&s, now, then);
        draw_files(&s, now, order);
        while (s.used + 1 < s.height)
                line(&s, "%s", "");
        line(&s, "q quit   s order: %s   + - each %g s   space look now", names[order],
             (double)ms / 1000);
        if (!s.text.failed)
                fwrite(s.text.p, 1, s.text.len, stdout);
        fflush(stdout);
        buf_release(&s.text);
}

/* --- the terminal --- */

static void restore(void)
{
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
        fputs("\033[?25h\033[?1049l", stdout);
        fflush(stdout);
}

/* Keys come one by one, and the screen of before comes back at the end. */
static int take_terminal(void)
{
        const struct sigaction act = {.sa_handler = on_signal};
        struct termios raw;

        if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before))
                return -1;
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        sigaction(SIGINT, &act, NULL);
        sigaction(SIGTERM, &act, NULL);
        sigaction(SIGHUP, &act, NULL);
        sigaction(SIGWINCH, &act, NULL);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
        fputs("\033[?1049h\033[?25l\033[2J", stdout);
        return 0;
}

/* Waits for a key or the next look. Whether to look; *order and *ms are what keys made them. */
static bool wait_for_key(enum order *order, unsigned *ms)
{
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        int n = poll(&p, 1, (int)*ms);
        char key = 0;

        if (n <= 0)
                return !n; /* a signal: the size, or the end */
        if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q')
                ends = 1;
        if (key == 's')
                *order = (*order + 1) % ORDERS;
        if (key == '+' && *ms < 60000)
                *ms *= 2;
        if (key == '-' && *ms / 2 >= LOOK_LEAST_MS)
                *ms /= 2;
        return key == ' ';
}

static int watch(const struct ctl *c, const struct live_target *t, struct look *now,
                 struct look *then)
{
        unsigned ms =
                c->interval_ms && c->interval_ms < 3600000 ? (unsigned)c->interval_ms : LOOK_MS;
        enum order order = BY_RATE;

        while (!ends) {
                draw(now, then, order, ms);
                if (!wait_for_key(&order, &ms) || ends)
                        continue;
                struct look next;
                if (look(t, &next))
                        return CTL_FAILED;
                look_release(then);
                *then = *now;
                *now = next;
        }
        return CTL_OK;
}

int ctl_top(const struct ctl *c)
{
        CLEANUP(live_target_release) struct live_target t = {.socket = NULL};
        CLEANUP(look_release) struct look now, then = {.at = 0};

        if (live_target_find(c, &t) || look(&t, &now)) {
                now = then;
                return CTL_FAILED;
        }
        if (take_terminal()) {
                fprintf(stderr, "ckptctl: top needs a terminal: without one see ckptctl stats "
                                "--interval\n");
                return CTL_FAILED;
        }
        int rc = watch(c, &t, &now, &then);
        restore();
        if (rc != CTL_OK)
                fprintf(stderr, "ckptctl: the mount does not answer any more\n");
        return rc;
}
