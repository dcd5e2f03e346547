/* SPDX-License-Identifier: Apache-2.0 */
/* live_find.c: which mount a command means. The path that it is given is compared with what daemons
 * say, and never looked at where that could go through a mount. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/control/control_proto.h"
#include "ctl/ctl.h"
#include "ctl/live.h"

#include "base/banned.h"

/* The next word of a line, without what the kernel writes for blanks in it; NULL: there is none. */
static char *next_word(char **line)
{
        char *word = strsep(line, " \n");

        if (word)
                control_read_printable(word);
        return word;
}

/* That of "rw,user_id=0,group_id=0"; "" where there is none. */
static const char *take_user(char *options)
{
        const char *word;

        while ((word = options ? strsep(&options, ",") : NULL))
                if (!strncmp(word, "user_id=", 8))
                        return word + 8;
        return "";
}

/* "ID PARENT MAJ:MIN ROOT MOUNTPOINT OPTIONS [MORE ...] - TYPE SOURCE OPTIONS",
 * proc_pid_mountinfo(5). */
static bool is_mount_of_ckptfs(char *line, struct live_kernel_mount *out)
{
        char *fields[5];
        const char *word;

        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                if (!(fields[i] = next_word(&line)))
                        return false;
        while ((word = next_word(&line)) && strcmp(word, "-") != 0)
                ;
        word = next_word(&line);
        *out = (struct live_kernel_mount){
                .device = fields[2], .mountpoint = fields[4], .url = next_word(&line)};
        out->user = take_user(next_word(&line));
        return word && !strcmp(word, "fuse.ckptfs") && out->url;
}

void live_each_kernel_mount(void (*each)(void *arg, const struct live_kernel_mount *k), void *arg)
{
        CLEANUP(fclosep) FILE *f = fopen("/proc/self/mountinfo", "re");
        CLEANUP(freep) char *line = NULL;
        struct live_kernel_mount k;
        size_t room = 0;

        while (f && getline(&line, &room, f) > 0)
                if (is_mount_of_ckptfs(line, &k))
                        each(arg, &k);
}

bool live_serves(const struct live_reply *about, const struct live_kernel_mount *k)
{
        const char *device = live_field(about, "device");

        return *device ? !strcmp(device, k->device)
                       : !strcmp(live_field(about, "mountpoint"), k->mountpoint);
}

/* The path from the root on, without dots and doubled slashes; NULL: no memory. The working
 * directory is the kernel's to tell, which asks no file system. */
static char *absolute(const char *path)
{
        CLEANUP(freep) char *cwd = *path == '/' ? strdup("") : getcwd(NULL, 0);
        CLEANUP(freep) char *whole = NULL;

        if (!cwd || asprintf(&whole, "%s/%s", cwd, path) < 0)
                return NULL;
        char *out = calloc(1, strlen(whole) + 2);
        size_t n = 0;
        for (const char *p = whole + strspn(whole, "/"); out && *p; p += strspn(p, "/")) {
                size_t len = strcspn(p, "/");
                if (len == 2 && !strncmp(p, "..", 2)) {
                        while (n && out[--n] != '/')
                                ;
                } else if (len != 1 || *p != '.') {
                        out[n++] = '/';
                        memcpy(out + n, p, len);
                        n += len;
                }
                out[n] = 0;
                p += len;
        }
        if (out && !n)
                out[0] = '/';
        return out;
}

static bool is_at_or_below(const char *path, const char *dir)
{
        size_t n = strlen(dir);
        return n && !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

struct kernel_look {
        const char *path;
        bool found;
};

static void look(void *arg, const struct live_kernel_mount *k)
{
        struct kernel_look *l = arg;
        l->found = l->found || is_at_or_below(l->path, k->mountpoint) || !strcmp(l->path, k->url);
}

/* How well the mount fits the name, 0 not at all. One that ends, or that is detached, may have a
 * successor at its place. */
static size_t fitness(const struct live_reply *about, const char *name)
{
        const char *dir = live_field(about, "mountpoint");
        size_t fits = !strcmp(name, live_field(about, "url")) ? SIZE_MAX / 2
                      : is_at_or_below(name, dir)             ? 2 * strlen(dir)
                                                              : 0;
        return fits ? fits + !strcmp(live_field(about, "state"), "serving") : 0;
}

/* What the kernel has at the place that a process of another user's says it serves. */
struct claim {
        const struct live_mount *of;
        bool proved, refuted;
};

static void check_claim(void *arg, const struct live_kernel_mount *k)
{
        struct claim *c = arg;
        bool same = !strcmp(k->mountpoint, live_field(&c->of->about, "mountpoint"));
        bool theirs = !strcmp(k->user, c->of->user);

        c->proved = c->proved || (same && theirs);
        c->refuted = c->refuted || ((same || live_serves(&c->of->about, k)) && !theirs);
}

static struct claim claim_of(const struct live_mount *m)
{
        struct claim c = {.of = m, .proved = !m->user};

        if (m->user)
                live_each_kernel_mount(check_claim, &c);
        return c;
}

bool live_is_refuted(const struct live_mount *m)
{
        struct claim c = claim_of(m);

        return c.refuted && !c.proved;
}

static const struct live_mount *find(const struct live_mounts *m, const char *name)
{
        const struct live_mount *best = NULL;
        size_t most = 0;

        for (size_t i = 0; i < m->n; i++) {
                size_t fits = fitness(&m->v[i].about, name);
                if (fits > most && claim_of(&m->v[i]).proved) {
                        most = fits;
                        best = &m->v[i];
                }
        }
        return best;
}

/* Whether a slash was forgotten. */
static bool looks_like_url(const char *name)
{
        return !strncmp(name, "s3:", 3) || !strncmp(name, "gs:", 3);
}

const struct live_mount *live_find(const struct ctl *c, const struct live_mounts *m)
{
        if (!c->mount) {
                if (m->n == 1)
                        return &m->v[0];
                fprintf(stderr, "ckptctl: %s\n",
                        m->n ? "there are several mounts: name one, see ckptctl list"
                             : "no mount answers: see ckptctl list");
                return NULL;
        }
        CLEANUP(freep) char *path = strstr(c->mount, "://") ? strdup(c->mount) : absolute(c->mount);
        if (!path) {
                ctl_fail(c->mount, -ENOMEM);
                return NULL;
        }
        const struct live_mount *found = find(m, path);
        struct kernel_look l = {.path = path};
        bool left = found && !strcmp(live_field(&found->about, "state"), "detached");
        if (!found || left)
                live_each_kernel_mount(look, &l);
        if (left && l.found) /* what stands there now is another */
                found = NULL;
        if (!found)
                fprintf(stderr, "ckptctl: %s %s\n", c->mount,
                        l.found ? "is mounted, but its daemon does not reply: it died, is stopped, "
                                  "or is another user's"
                        : looks_like_url(c->mount)
                                ? "is no mount of ckptfs, and names no bucket: see ckptctl list, "
                                  "or give s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX]"
                                : "is no mount of ckptfs: see ckptctl list");
        return found;
}

void live_target_release(struct live_target *t)
{
        free(t->socket);
        free(t->mountpoint);
        free(t->user);
        *t = (struct live_target){.socket = NULL};
}

int live_target_find(const struct ctl *c, struct live_target *out)
{
        CLEANUP(live_mounts_release) struct live_mounts m = {.n = 0};

        *out = (struct live_target){.socket = NULL};
        int err = live_mounts_get(c->dir, &m);
        if (err) {
                ctl_fail("the mounts cannot be listed", err);
                return -1;
        }
        const struct live_mount *at = live_find(c, &m);
        if (!at)
                return -1;
        *out = (struct live_target){.socket = strdup(at->socket),
                                    .mountpoint = strdup(live_field(&at->about, "mountpoint")),
                                    .user = at->user ? strdup(at->user) : NULL};
        if (out->socket && out->mountpoint && (out->user || !at->user))
                return 0;
        live_target_release(out);
        ctl_fail("the mounts cannot be listed", -ENOMEM);
        return -1;
}

int live_target_ask(const struct live_target *t, const char *request, struct live_reply *out)
{
        char why[256];

        if (!live_ask(t->socket, request, out, why, sizeof why))
                return 0;
        fprintf(stderr, "ckptctl: %s: %s\n", t->mountpoint, why);
        return -1;
}

int live_ask_mount(const struct ctl *c, const char *request, struct live_reply *out)
{
        CLEANUP(live_target_release) struct live_target t = {.socket = NULL};

        return live_target_find(c, &t) ? -1 : live_target_ask(&t, request, out);
}
