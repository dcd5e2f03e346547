/* SPDX-License-Identifier: Apache-2.0 */
/* live_find.c: which mount a command means. The path that it is given is compared with what daemons
 * say, and never looked at where that could go through a mount. */
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/ctl.h"
#include "ctl/live.h"

#include "base/banned.h"

static void endmntentp(FILE **f)
{
        if (*f)
                endmntent(*f);
}

void live_each_kernel_mount(void (*each)(void *arg, const char *url, const char *mountpoint),
                            void *arg)
{
        CLEANUP(endmntentp) FILE *f = setmntent("/proc/self/mounts", "re");
        char text[4096 + 512];
        struct mntent entry;

        while (f && getmntent_r(f, &entry, text, sizeof text))
                if (!strcmp(entry.mnt_type, "fuse.ckptfs"))
                        each(arg, entry.mnt_fsname, entry.mnt_dir);
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

static void look(void *arg, const char *url, const char *mountpoint)
{
        struct kernel_look *l = arg;
        l->found = l->found || is_at_or_below(l->path, mountpoint) || !strcmp(l->path, url);
}

/* How well the mount fits the name, 0 not at all. One that ends may have a successor at its place.
 */
static size_t fitness(const struct live_reply *about, const char *name)
{
        const char *dir = live_field(about, "mountpoint");
        size_t fits = !strcmp(name, live_field(about, "url")) ? SIZE_MAX / 2
                      : is_at_or_below(name, dir)             ? 2 * strlen(dir)
                                                              : 0;
        return fits ? fits + !strcmp(live_field(about, "state"), "serving") : 0;
}

static const struct live_mount *find(const struct live_mounts *m, const char *name)
{
        const struct live_mount *best = NULL;
        size_t most = 0;

        for (size_t i = 0; i < m->n; i++) {
                size_t fits = fitness(&m->v[i].about, name);
                if (fits > most) {
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
        if (!found)
                live_each_kernel_mount(look, &l);
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

int live_ask_mount(const struct ctl *c, const char *request, struct live_reply *out)
{
        CLEANUP(live_mounts_release) struct live_mounts m = {.n = 0};
        char why[256];

        int err = live_mounts_get(c->dir, &m);
        if (err) {
                ctl_fail("the mounts cannot be listed", err);
                return -1;
        }
        const struct live_mount *at = live_find(c, &m);
        if (!at)
                return -1;
        if (!live_ask(at->socket, request, out, why, sizeof why))
                return 0;
        fprintf(stderr, "ckptctl: %s: %s\n", live_field(&at->about, "mountpoint"), why);
        return -1;
}
