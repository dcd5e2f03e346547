/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c: the command that tries what a mount needs, before there is one or beside it. */
#include "ctl/doctor.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "ctl/ctl.h"
#include "ctl/live.h"

#include "base/banned.h"

void doctor_say(struct doctor *d, enum doctor_verdict verdict, const char *what, const char *fmt,
                ...)
{
        static const char *const words[] = {"ok", "slow", "broken"};
        CLEANUP(freep) char *text = NULL;
        va_list ap;

        va_start(ap, fmt);
        int n = vasprintf(&text, fmt, ap);
        va_end(ap);
        CLEANUP(freep) char *line = n < 0 ? NULL : ctl_printable(text);
        printf("%s\t%s\t%s\n", words[verdict], what, line ? line : "no memory");
        fflush(stdout); /* the next thing may take a while */
        d->broken = d->broken || verdict == DOCTOR_BROKEN;
}

/* The options of a mount that runs take the place of those given. 0, or -1 after a line on standard
 * error. */
static int take_options(struct params *p, const struct live_reply *r)
{
        char why[CTL_WHY_MAX];

        for (size_t i = 0; i < r->n; i++) {
                struct live_line *l = &r->lines[i];
                if (strcmp(l->v[0], "option") != 0)
                        continue;
                control_read_printable(l->v[2]);
                if (params_set(p, l->v[1], l->v[2], why, sizeof why)) {
                        fprintf(stderr, "ckptctl: %s\n", why);
                        return -1;
                }
        }
        return 0;
}

/* Another user's options would send the credentials of who asks to whatever endpoint they name. */
static int ask_options(const struct ctl *c, struct live_reply *out)
{
        CLEANUP(live_target_release) struct live_target t = {.socket = NULL};

        if (live_target_find(c, &t))
                return -1;
        if (!t.user)
                return live_target_ask(&t, control_word_name(CONTROL_OPTIONS), out);
        fprintf(stderr,
                "ckptctl: the mount at %s is of user %s, whose options are not taken here: run "
                "this as that user, or give the URL and -o\n",
                t.mountpoint, t.user);
        return -1;
}

/* --- the end by a signal --- */

static volatile sig_atomic_t ended_by;

bool doctor_ends(void)
{
        return ended_by != 0;
}

/* The next signal of its kind has its usual effect. */
static void note_end(int sig)
{
        static const char text[] = "ckptctl: removing what was made: the same signal again leaves "
                                   "it below .ckptfs/doctor/\n";
        int saved = errno;
        ssize_t put = write(STDERR_FILENO, text, sizeof text - 1);

        (void)put;
        errno = saved;
        ended_by = sig;
}

/* A signal that whoever started this process had it ignore stays ignored, as by nohup(1). A reader
 * of the lines that has gone is no reason to leave objects behind. */
static void catch_signals(void)
{
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
        const struct sigaction act = {.sa_handler = note_end,
                                      .sa_flags = SA_RESTART | SA_RESETHAND};

        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
                struct sigaction was;
                if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
                        sigaction(signals[i], &act, NULL);
        }
        signal(SIGPIPE, SIG_IGN);
}

/* So that who waits for this process learns of it. */
static void die_of_signal(void)
{
        if (!ended_by)
                return;
        signal(ended_by, SIG_DFL);
        raise(ended_by);
}

int ctl_doctor(const struct ctl *c)
{
        CLEANUP(live_reply_release) struct live_reply r = {.n = 0};
        struct doctor d = {.p = c->params, .speed = !c->no_speed};
        const char *url = c->mount;

        if (c->mount && !strstr(c->mount, "://")) {
                if (ask_options(c, &r) || take_options(c->params, &r))
                        return CTL_FAILED;
                d.device = live_field(&r, "device");
                d.pid = live_field(&r, "pid");
                d.spilled = live_number(&r, "spill_used");
                url = live_field(&r, "url");
        }
        doctor_machine(&d);
        if (url) {
                catch_signals();
                doctor_store(&d, url);
                die_of_signal();
        }
        return d.broken ? CTL_FAILED : CTL_OK;
}
