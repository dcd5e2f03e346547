/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_live.c: what ckptctl makes of the reply of any process that listens where a daemon would.
 * The first line is a command, the rest the reply. What is printed is text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "ctl/ctl.h"
#include "ctl/live.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

int __wrap_control_connect(const char *path);
int __wrap_live_mounts_get(const char *dir, struct live_mounts *out);

static const uint8_t *reply;
static size_t reply_len;

static const struct {
        const char *name;
        int (*run)(const struct ctl *c);
} commands[] = {{"list", ctl_list},
                {"status", ctl_status},
                {"stats", ctl_stats},
                {"files", ctl_files},
                {"credentials", ctl_credentials},
                {"loglevel", ctl_loglevel},
                {"reload", ctl_reload},
                {"set", ctl_set}};

/* A peer that says the reply and hangs up. One that is larger than a socket holds is cut. */
int __wrap_control_connect(const char *path)
{
        int fds[2], room = 1 << 20;
        (void)path;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds))
                abort();
        setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        ssize_t put = send(fds[1], reply, reply_len, MSG_NOSIGNAL);
        shutdown(fds[1], SHUT_WR);
        if (put < 0 && reply_len)
                abort();
        /* It stays open for reading, so that the request can be sent. */
        static int before = -1;
        closep(&before);
        before = fds[1];
        return fds[0];
}

/* One mount, at a socket that the peer above stands behind. */
int __wrap_live_mounts_get(const char *dir, struct live_mounts *out)
{
        char why[256] = "";
        (void)dir;

        *out = (struct live_mounts){.v = calloc(1, sizeof *out->v), .room = 1};
        if (!out->v)
                abort();
        int err = live_ask("socket", "mount", &out->v->about, why, sizeof why);
        if (err && (!*why || strchr(why, '\n')))
                abort();
        if (err) {
                live_reply_release(&out->v->about);
                return 0;
        }
        out->v->socket = strdup("socket");
        out->n = 1;
        return out->v->socket ? 0 : -1;
}

/* Neither stream has a control character that a terminal would obey. */
static void look_at(FILE *f)
{
        int c, before = 0;

        fflush(f);
        rewind(f);
        for (; (c = getc(f)) != EOF; before = c)
                if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f ||
                    (before == 0xc2 && c >= 0x80 && c < 0xa0))
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        CLEANUP(freep) char *name = fuzz_line(&p, &n);
        struct ctl c = {.dir = "", .level = "debug"};
        FILE *out = stdout, *err = stderr;

        reply = p;
        reply_len = n;
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
                if (strncmp(name, commands[i].name, strlen(commands[i].name)) != 0)
                        continue;
                c.json = strstr(name, "json");
                stdout = stderr = tmpfile();
                if (!stdout)
                        abort();
                commands[i].run(&c);
                FILE *said = stdout;
                stdout = out;
                stderr = err;
                look_at(said);
                fclose(said);
        }
        return 0;
}
