/* SPDX-License-Identifier: Apache-2.0 */
/* suite.c: see suite.h. */
#include "bench/suite.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/conf.h"

#include "base/banned.h"

enum { DEPTH_MAX = 8 };
#define PARAMS "hydra.sweeper.params."

struct reading {
        const char *dir;
        struct sweep *s;
        struct buf *notes;
        char *why;
        size_t nwhy;
        unsigned depth;
};

/* One file of the tree of defaults. */
struct file {
        struct reading *r;
        char path[PATH_MAX];
        char package[256]; /* "" or what its keys stand below, with a dot */
        enum { DEFAULTS, KEYS, SWEEPS } pass;
        bool self; /* _self_ was met: the keys have been read */
};

static int read_file(struct reading *r, const char *name, const char *package);

/* "8*1024*1024" as a number; other texts stay. */
static const char *product(const char *text, char *out, size_t n)
{
        unsigned long long all = 1;
        const char *p = text;

        if (!strchr(text, '*') || strspn(text, "0123456789* ") != strlen(text))
                return text;
        for (;;) {
                char *end;
                unsigned long long v = strtoull(p, &end, 10);
                if (end == p || __builtin_mul_overflow(all, v, &all))
                        return text;
                p = end + strspn(end, " ");
                if (!*p)
                        break;
                p++;
        }
        snprintf(out, n, "%llu", all);
        return out;
}

static bool begins(const char *s, const char *with)
{
        return !strncmp(s, with, strlen(with));
}

static int pass_over(struct file *f, int pass);

/* An entry of `defaults:`: another file, this one, or a setting of hydra's. */
static int on_default(struct file *f, const char *path, const char *value)
{
        struct reading *r = f->r;
        const char *slash = strrchr(value, '/');
        char package[256] = "";

        if (!strcmp(value, "_self_")) {
                f->self = true;
                return pass_over(f, KEYS);
        }
        /* "defaults.0.hydra/callbacks: x" and "override ..." name what is not ours */
        if (strchr(path + strlen("defaults."), '.') || strstr(value, "callback")) {
                buf_addf(r->notes, "%s: '%s' is a part of hydra that is not used here\n", f->path,
                         value);
                return 0;
        }
        if (slash)
                snprintf(package, sizeof package, "%.*s.", (int)(slash - value), value);
        return read_file(r, value, package);
}

static int on_scalar(void *arg, const char *path, const char *value, unsigned line)
{
        struct file *f = arg;
        struct reading *r = f->r;
        char cause[400], number[24];
        int err = 0;

        if (begins(path, "defaults."))
                return f->pass == DEFAULTS ? on_default(f, path, value) : 0;
        if (begins(path, PARAMS)) {
                if (f->pass == SWEEPS)
                        err = sweep_add_values(r->s, path + strlen(PARAMS), value, cause,
                                               sizeof cause);
        } else if (f->pass == KEYS && !begins(path, "hydra.")) {
                CLEANUP(buf_release) struct buf key = BUF_INIT;
                buf_addf(&key, "%s%s", f->package, path);
                err = sweep_add_value(r->s, key.p, product(value, number, sizeof number), cause,
                                      sizeof cause);
        }
        if (err)
                snprintf(r->why, r->nwhy, "%s:%u: %s", f->path, line, cause);
        return err;
}

static int pass_over(struct file *f, int pass)
{
        int was = f->pass;
        f->pass = pass;
        int err = conf_read(f->path, on_scalar, f, f->r->why, f->r->nwhy);
        f->pass = was;
        return err;
}

/* "# @package _global_" on top: the keys stand where they are. */
static bool is_global(const char *path)
{
        char line[256] = "";
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        return f && fgets(line, sizeof line, f) && strstr(line, "@package _global_");
}

static int read_file(struct reading *r, const char *name, const char *package)
{
        struct file f = {.r = r};
        const char *ending = strlen(name) > 5 && strstr(name, ".yaml") ? "" : ".yaml";
        int n = snprintf(f.path, sizeof f.path, "%s/%s%s", r->dir, name, ending);

        if (n >= (int)sizeof f.path || r->depth == DEPTH_MAX) {
                snprintf(r->why, r->nwhy, "%s: the files of defaults name each other: end the ring",
                         name);
                return -ELOOP;
        }
        if (r->depth && access(f.path, R_OK)) {
                buf_addf(r->notes, "%s: not there: the default '%s' is left out\n", f.path, name);
                return 0;
        }
        if (!is_global(f.path))
                snprintf(f.package, sizeof f.package, "%s", package);
        r->depth++;
        int err = pass_over(&f, DEFAULTS);
        if (!err && !f.self)
                err = pass_over(&f, KEYS);
        if (!err)
                err = pass_over(&f, SWEEPS);
        r->depth--;
        return err;
}

int suite_read(const char *dir, const char *name, struct sweep *s, struct buf *notes, char *why,
               size_t nwhy)
{
        struct reading r = {.dir = dir, .s = s, .notes = notes, .why = why, .nwhy = nwhy};
        return read_file(&r, name, "");
}
