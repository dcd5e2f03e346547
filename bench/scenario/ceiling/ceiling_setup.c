/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling_setup.c: what the measurements of ceiling.h stand on: a null FUSE mount, a null store, a
 * directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/scenario/ceiling/ceiling.h"
#include "bench/scenario/ceiling/ceiling_fuse.h"
#include "bench/core/pattern.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum { READ_AHEAD_KB = 2048 };

struct kind {
        const char *name;
        int (*start)(struct ceiling *c);
        void (*end)(struct ceiling *c);
};
static const struct kind kinds[CEILING_KINDS];

const char *ceiling_kind_name(enum ceiling_kind kind)
{
        return kinds[kind].name;
}

int ceiling_start(struct ceiling *c, enum ceiling_kind kind)
{
        if (!c->buf) {
                c->buf = aligned_alloc(IO_ALIGN, CEILING_BUF);
                if (!c->buf) {
                        snprintf(c->why, sizeof c->why, "out of memory: free some");
                        return -ENOMEM;
                }
                pattern_fill(&(struct pattern){.seed = 1}, 0, c->buf, CEILING_BUF);
        }
        *c->why = 0;
        return kinds[kind].start(c);
}

void ceiling_end(struct ceiling *c, enum ceiling_kind kind)
{
        kinds[kind].end(c);
}

void ceiling_release(struct ceiling *c)
{
        freep(&c->buf);
        c->buf = NULL;
}

static int start_nothing(struct ceiling *c)
{
        (void)c;
        return 0;
}

static void end_nothing(struct ceiling *c)
{
        (void)c;
}

/* A directory or prefix of our own. */
static void own_name(char *out, size_t n)
{
        snprintf(out, n, "ceiling-%d", (int)getpid());
}

static int start_disk(struct ceiling *c)
{
        char dir[64];
        own_name(dir, sizeof dir);
        return io_posix.start(c->keys, "disk", dir, 0, &c->io, c->why, sizeof c->why);
}

static void end_io(struct ceiling *c)
{
        if (c->io) {
                c->io->ops->remove(c->io, CEILING_OBJECT);
                c->io->ops->stop(c->io, true);
        }
        c->io = NULL;
}

/* The kernel reads ahead 128 KiB unless told otherwise; only root may tell. */
static double raise_read_ahead(const char *mnt)
{
        struct stat st;
        char path[96], text[16];

        if (stat(mnt, &st))
                return 0;
        snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(st.st_dev),
                 minor(st.st_dev));
        CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
        int n = snprintf(text, sizeof text, "%d", READ_AHEAD_KB);
        return fd >= 0 && write(fd, text, (size_t)n) == n ? READ_AHEAD_KB : 0;
}

static void end_fuse(struct ceiling *c)
{
        child_stop(&c->child);
        if (!rmdir(c->mnt))
                cleanup_drop_path(c->mnt);
        *c->mnt = 0;
}

static int start_fuse(struct ceiling *c)
{
        char self[PATH_MAX], line[64];
        const char *const argv[] = {self, "null-fuse", c->mnt, NULL};
        const char *tmp = getenv("TMPDIR");

        if (access("/dev/fuse", R_OK | W_OK)) {
                snprintf(c->why, sizeof c->why, "/dev/fuse: %s: load the fuse module, run as root",
                         strerror(errno));
                return -ENODEV;
        }
        snprintf(c->mnt, sizeof c->mnt, "%s/ckptbench-ceiling.XXXXXX", tmp ? tmp : "/tmp");
        int err = child_self(self, sizeof self);
        if (!err && !mkdtemp(c->mnt))
                err = -errno;
        if (err) {
                snprintf(c->why, sizeof c->why, "%.300s: %s: set TMPDIR to a directory with room",
                         c->mnt, strerror(-err));
                return err;
        }
        err = cleanup_add_path(c->mnt);
        if (!err)
                err = child_start(&c->child, argv, line, sizeof line, c->why, sizeof c->why);
        if (err) {
                rmdir(c->mnt);
                cleanup_drop_path(c->mnt);
                return err;
        }
        c->read_ahead_kb = raise_read_ahead(c->mnt);
        return 0;
}

/* storesim as it lies in a build, beside this program, or, a bare name, on PATH. */
static void find_storesim(char out[PATH_MAX])
{
        static const char *const places[] = {"storesim", "bench/sim/storesim"};
        char self[PATH_MAX];

        for (size_t i = 0; i < 2 && !child_self(self, sizeof self); i++) {
                char *slash = strrchr(self, '/');
                if (!slash)
                        break;
                *slash = 0;
                if (snprintf(out, PATH_MAX, "%s/%s", self, places[i]) < PATH_MAX &&
                    !access(out, X_OK))
                        return;
        }
        snprintf(out, PATH_MAX, "storesim");
}

/* Starts a null store of our own, and makes *k point there. The names are no secrets: it verifies
 * no signature. */
static int start_storesim(struct ceiling *c, struct keys *k, char *line, size_t nline)
{
        static char bucket[] = "s3://ceiling", region[] = "us-east-1", none[] = "";
        char sim[PATH_MAX];
        const char *const argv[] = {sim,        "--listen", "127.0.0.1:0", "--null",
                                    "--bucket", "ceiling",  NULL};
        find_storesim(sim);
        int err = child_start(&c->child, argv, line, nline, c->why, sizeof c->why);
        if (err)
                return err;
        char *url = strstr(line, "http");
        if (!url) {
                snprintf(c->why, sizeof c->why, "%.300s printed no address but '%.100s'", sim,
                         line);
                child_stop(&c->child);
                return -EPROTO;
        }
        setenv("AWS_ACCESS_KEY_ID", "ceiling", 0);
        setenv("AWS_SECRET_ACCESS_KEY", "ceiling", 0);
        k->s3_endpoint = url;
        k->s3_uri = bucket;
        k->s3_region = region;
        k->s3_profile = none;
        return 0;
}

static int start_http(struct ceiling *c)
{
        struct keys k = *c->keys; /* its strings stay the caller's */
        char dir[64], line[256];
        int err = *k.s3_endpoint || *k.s3_uri ? 0 : start_storesim(c, &k, line, sizeof line);

        own_name(dir, sizeof dir);
        if (!err)
                err = io_s3.start(&k, "s3", dir, 0, &c->io, c->why, sizeof c->why);
        if (err)
                child_stop(&c->child);
        return err;
}

static void end_http(struct ceiling *c)
{
        end_io(c);
        child_stop(&c->child);
}

static const struct kind kinds[CEILING_KINDS] = {
        [CEILING_ALONE] = {"memory", start_nothing, end_nothing},
        [CEILING_DISK] = {"disk", start_disk, end_io},
        [CEILING_FUSE] = {"fuse", start_fuse, end_fuse},
        [CEILING_HTTP] = {"http", start_http, end_http},
};
