/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c: brings a mount to where it can be ended without loss: nothing is opened for writing, and
 * what was written is published. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "ctl/ctl.h"
#include "ctl/live.h"

#include "base/banned.h"

enum { LOOK_MS = 250, SHOWN = 10 };

static int switch_drain(const struct ctl *c, const struct live_target *t)
{
        CLEANUP(live_reply_release) struct live_reply r = {.n = 0};
        char request[CONTROL_REQUEST_MAX];

        snprintf(request, sizeof request, "%s %s", control_word_name(CONTROL_DRAIN),
                 c->undo ? "off" : "on");
        return live_target_ask(t, request, &r);
}

static bool is_drained(const struct live_reply *r)
{
        return !live_number(r, "writers") && !live_number(r, "dirty") &&
               !live_number(r, "uploading") && !live_number(r, "busy");
}

/* What it waits for, if that is not what was said last. */
static void say_wait(const struct live_reply *r, char **last)
{
        char unsent[LIVE_BYTES_MAX];
        char *text = NULL;
        size_t shown = 0;

        if (asprintf(&text, "%s open for writing, %s dirty, %s uploading", live_field(r, "writers"),
                     live_field(r, "dirty"), live_field(r, "uploading")) < 0)
                return;
        bool same = *last && !strcmp(text, *last);
        free(*last);
        *last = text;
        if (same)
                return;
        printf("waiting\t%s, %s unsent\n", text,
               live_bytes((double)live_number(r, "unsent"), unsent));
        for (size_t i = 0; i < r->n && shown < SHOWN; i++)
                if (!strcmp(r->lines[i].v[0], "file") && ++shown)
                        printf("file\t%s: %s\n", r->lines[i].v[FILE_STATE],
                               r->lines[i].v[FILE_KEY]);
        fflush(stdout);
}

int ctl_drain(const struct ctl *c)
{
        CLEANUP(live_target_release) struct live_target t = {.socket = NULL};
        CLEANUP(freep) char *last = NULL;
        const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};

        if (live_target_find(c, &t) || switch_drain(c, &t))
                return CTL_FAILED;
        int64_t begun = live_now_ms();
        while (!c->undo) {
                CLEANUP(live_reply_release) struct live_reply r = {.n = 0};
                if (live_target_ask(&t, control_word_name(CONTROL_STATUS), &r))
                        return CTL_FAILED;
                if (!strcmp(live_field(&r, "drains"), "0")) {
                        fputs("ckptctl: the drain was undone meanwhile: files are opened for "
                              "writing again: drain again before the mount is ended\n",
                              stderr);
                        return CTL_FAILED;
                }
                if (is_drained(&r)) {
                        puts("drained");
                        return CTL_OK;
                }
                say_wait(&r, &last);
                if (c->timeout_ms && (uint64_t)(live_now_ms() - begun) >= c->timeout_ms) {
                        fprintf(stderr,
                                "ckptctl: the mount is not drained yet (%s): wait for the "
                                "programs, or end them\n",
                                last ? last : "");
                        return CTL_LEFT;
                }
                nanosleep(&pause, NULL);
        }
        return CTL_OK;
}
