/* SPDX-License-Identifier: Apache-2.0 */
/* suite.c: see suite.h. */
#include "bench/cli/suite.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/conf.h"

#include "base/banned.h"

enum { DEPTH_MAX = 8, NAME_MAX_LEN = 256 };
#define DEFAULTS_AT "defaults."
#define PARAMS_AT   "hydra.sweeper.params."

struct reading {
        const char *dir;
        const struct sweep *over; /* NULL: nobody overrides */
        struct sweep *s;          /* what is read goes here */
        struct sweep overrides;   /* choices that an `override` made: the outermost file's */
        struct sweep swept;       /* names in hydra.sweeper.params, with any value */
        struct buf *notes;
        char *why;
        size_t nwhy;
        unsigned depth;
};

/* One file of the tree of defaults. */
struct file {
        struct reading *r;
        char path[PATH_MAX];
        char group[NAME_MAX_LEN]; /* what names in its defaults stand below, with a slash, or "" */
        char package[NAME_MAX_LEN]; /* what its keys stand below, with a dot, or "" */
        enum pass { LOOK_AHEAD, DEFAULTS, KEYS, SWEEPS } pass;
        bool self; /* _self_ was met: the keys have been read */
};

enum need { NEEDED, WANTED /* said when it is not there */, OPTIONAL };

static int read_file(struct reading *r, const char *name, const char *package, enum need need);
static int on_scalar(void *arg, const char *path, const char *value, unsigned line);

static bool begins(const char *s, const char *with)
{
        return !strncmp(s, with, strlen(with));
}

static int pass_over(struct file *f, enum pass pass)
{
        enum pass was = f->pass;
        f->pass = pass;
        int err = conf_read(f->path, on_scalar, f, f->r->why, f->r->nwhy);
        f->pass = was;
        return err;
}

static int ignored(struct file *f, const char *what)
{
        buf_addf(f->r->notes, "%s: '%s' is a part of hydra that is not used here\n", f->path, what);
        return 0;
}

/* --- groups --- */

static bool is_dir(const char *dir, const char *group)
{
        char path[PATH_MAX];
        struct stat st;
        return snprintf(path, sizeof path, "%s/%s", dir, group) < (int)sizeof path &&
               !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* "a, b": the files of a group. */
static void list_group(const char *dir, const char *group, struct buf *out)
{
        char path[PATH_MAX];
        struct dirent **v = NULL;
        snprintf(path, sizeof path, "%s/%s", dir, group);
        int n = scandir(path, &v, NULL, alphasort);
        for (int i = 0; i < n; i++) {
                const char *end = strstr(v[i]->d_name, ".yaml");
                if (end && !end[5])
                        buf_addf(out, "%s%.*s", out->len ? ", " : "", (int)(end - v[i]->d_name),
                                 v[i]->d_name);
                free(v[i]);
        }
        free(v);
}

static bool has_choice(const struct reading *r, const char *group, const char *value)
{
        char path[PATH_MAX];
        return snprintf(path, sizeof path, "%s/%s/%s.yaml", r->dir, group, value) <
                       (int)sizeof path &&
               !access(path, R_OK);
}

/* A name of FILE, or of the keys, is more than there is room for. */
static int too_long(const struct reading *r, const char *file, const char *name)
{
        snprintf(r->why, r->nwhy, "%s: the name '%.40s...' is too long: shorten it", file, name);
        return -ENAMETOOLONG;
}

/* Reads the file of a choice. */
static int choose(struct reading *r, const char *group, const char *package, const char *value,
                  enum need need)
{
        char name[2 * NAME_MAX_LEN];

        if (need != OPTIONAL && is_dir(r->dir, group) && !has_choice(r, group, value)) {
                CLEANUP(buf_release) struct buf names = BUF_INIT;
                list_group(r->dir, group, &names);
                snprintf(r->why, r->nwhy, "%s=%s: %s/%s/%s.yaml is not there: %s%s", group, value,
                         r->dir, group, value, names.len ? "give one of " : "add it, or another",
                         names.len ? names.p : "");
                return -ENOENT;
        }
        if (snprintf(name, sizeof name, "%s/%s", group, value) >= (int)sizeof name)
                return too_long(r, group, value);
        return read_file(r, name, package, need);
}

/* What a name of a group, or of a file below one, puts before its keys: "a/b" is "a.b.". */
static void package_of(const char *group, char out[NAME_MAX_LEN])
{
        snprintf(out, NAME_MAX_LEN, "%s%s", group, *group ? "." : "");
        for (char *p = out; *p; p++)
                *p = *p == '/' ? '.' : *p;
}

/* --- entries of defaults --- */

struct entry {
        char group[NAME_MAX_LEN];   /* "" for a file */
        char package[NAME_MAX_LEN]; /* with a dot, or "" */
        bool is_override, is_optional;
};

/* Takes "override /group@package" or "optional group" apart. */
static int parse_group(const struct file *f, const char *text, size_t n, struct entry *e)
{
        char name[NAME_MAX_LEN];
        const char *p = name;

        *e = (struct entry){.is_override = false};
        if (snprintf(name, sizeof name, "%.*s", (int)n, text) >= (int)sizeof name)
                return -ENAMETOOLONG;
        for (;;) {
                if (begins(p, "override "))
                        e->is_override = true;
                else if (begins(p, "optional "))
                        e->is_optional = true;
                else
                        break;
                p += strlen("override "); /* and of "optional " */
        }
        size_t len = strcspn(p, "@");
        const char *package = p[len] ? p + len + 1 : "";
        bool root = *p == '/';
        if (snprintf(e->group, sizeof e->group, "%s%.*s", root ? "" : f->group, (int)len - root,
                     p + root) >= (int)sizeof e->group - 1) /* its dot */
                return -ENAMETOOLONG;
        package_of(*package ? package : e->group, e->package);
        if (!strcmp(package, "_global_"))
                *e->package = 0;
        return 0;
}

static int on_choice(struct file *f, const struct entry *e, const char *value)
{
        struct reading *r = f->r;
        const struct sweep_key *other = sweep_find(&r->overrides, e->group);

        if (begins(e->group, "hydra"))
                return ignored(f, *value ? value : e->group);
        if (e->is_override || (r->over && sweep_find(r->over, e->group)) ||
            sweep_find(&r->swept, e->group))
                return 0; /* somebody else chooses */
        if (other)
                value = other->v[0];
        if (!strcmp(value, "null"))
                return 0;
        if (!strcmp(value, "???")) {
                snprintf(r->why, r->nwhy, "%s has no value yet: give %s=", e->group, e->group);
                return -EINVAL;
        }
        return choose(r, e->group, e->package, value, e->is_optional ? OPTIONAL : WANTED);
}

/* "group: value", where the group's name is the first n bytes at `at`. */
static int on_group(struct file *f, const char *at, size_t n, const char *value)
{
        struct reading *r = f->r;
        struct entry e;

        if (parse_group(f, at, n, &e))
                return too_long(r, f->path, at);
        if (f->pass != LOOK_AHEAD)
                return on_choice(f, &e, value);
        if (!e.is_override || sweep_find(&r->overrides, e.group))
                return 0;
        return sweep_add_value(&r->overrides, SWEEP_FILE, e.group, value, r->why, r->nwhy);
}

/* A name of a file: this one, one of hydra's, or another. */
static int on_name(struct file *f, const char *value)
{
        char name[2 * NAME_MAX_LEN], group[NAME_MAX_LEN], package[NAME_MAX_LEN];

        if (!strcmp(value, "_self_")) {
                f->self = true;
                return pass_over(f, KEYS);
        }
        if (begins(value, "hydra/") || begins(value, "/hydra/"))
                return ignored(f, value);
        bool root = *value == '/';
        int len = snprintf(name, sizeof name, "%s%s", root ? "" : f->group, value + root);
        const char *slash = strrchr(name, '/');
        if (len >= (int)sizeof name ||
            snprintf(group, sizeof group, "%.*s", slash ? (int)(slash - name) : 0, name) >=
                    (int)sizeof group - 1) /* its dot */
                return too_long(f->r, f->path, value);
        package_of(group, package);
        return read_file(f->r, name, package, WANTED);
}

/* An entry of `defaults:`, at "defaults.0", "defaults.0.group" or, one of several, at
 * "defaults.0.group.1". */
static int on_default(struct file *f, const char *path, const char *value)
{
        const char *at = path + strlen(DEFAULTS_AT);

        at += strspn(at, "0123456789");
        if (!*at)
                return f->pass == LOOK_AHEAD ? 0 : on_name(f, value);
        size_t n = strlen(++at), digits = 0;
        while (digits < n && strchr("0123456789", at[n - digits - 1]))
                digits++;
        if (digits && digits < n && at[n - digits - 1] == '.')
                n -= digits + 1;
        return on_group(f, at, n, value);
}

/* --- files --- */

static int on_key(struct file *f, const char *path, const char *value, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf key = BUF_INIT;

        buf_addf(&key, "%s%s", f->package, path);
        return sweep_add_value(f->r->s, SWEEP_FILE, key.p, value, why, nwhy);
}

static int on_scalar(void *arg, const char *path, const char *value, unsigned line)
{
        struct file *f = arg;
        struct reading *r = f->r;
        char cause[400] = "";
        int err = 0;

        if (begins(path, DEFAULTS_AT))
                return f->pass == DEFAULTS || f->pass == LOOK_AHEAD ? on_default(f, path, value)
                                                                    : 0;
        if (begins(path, PARAMS_AT)) {
                const char *name = path + strlen(PARAMS_AT);
                if (f->pass == LOOK_AHEAD)
                        err = sweep_add_value(&r->swept, SWEEP_FILE, name + strspn(name, "+"), "-",
                                              cause, sizeof cause);
                else if (f->pass == SWEEPS)
                        err = sweep_add_values(r->s, SWEEP_PARAMS, name, value, cause,
                                               sizeof cause);
        } else if (f->pass == KEYS && !strcmp(path, "hydra.sweep.dir")) {
                err = sweep_add_value(r->s, SWEEP_FILE, path, value, cause, sizeof cause);
        } else if (f->pass == KEYS && !begins(path, "hydra.")) {
                err = on_key(f, path, value, cause, sizeof cause);
        }
        if (err)
                snprintf(r->why, r->nwhy, "%s:%u: %s", f->path, line, cause);
        return err;
}

/* "# @package X" on top: the keys stand below X, or where they are for _global_. */
static void read_package(struct file *f)
{
        char line[NAME_MAX_LEN] = "";
        CLEANUP(fclosep) FILE *in = fopen(f->path, "re");
        const char *at = in && fgets(line, sizeof line, in) ? strstr(line, "@package ") : NULL;

        if (!at)
                return;
        at += strlen("@package ");
        line[strcspn(line, "\r\n")] = 0;
        if (!strcmp(at, "_global_"))
                *f->package = 0;
        else if (strcmp(at, "_group_") != 0)
                package_of(at, f->package);
}

static int read_file(struct reading *r, const char *name, const char *package, enum need need)
{
        struct file f = {.r = r};
        const char *ending = strlen(name) > 5 && strstr(name, ".yaml") ? "" : ".yaml";
        const char *slash = strrchr(name, '/');
        int n = snprintf(f.path, sizeof f.path, "%s/%s%s", r->dir, name, ending);

        if (n >= (int)sizeof f.path || (slash && (size_t)(slash - name) >= sizeof f.group - 1))
                return too_long(r, r->dir, name);
        if (r->depth == DEPTH_MAX) {
                snprintf(r->why, r->nwhy, "%s: the files of defaults name each other: end the ring",
                         name);
                return -ELOOP;
        }
        if (need != NEEDED && access(f.path, R_OK)) {
                if (need == WANTED)
                        buf_addf(r->notes, "%s: not there: the default '%s' is left out\n", f.path,
                                 name);
                return 0;
        }
        snprintf(f.group, sizeof f.group, "%.*s", slash ? (int)(slash - name) + 1 : 0, name);
        snprintf(f.package, sizeof f.package, "%s", package);
        read_package(&f);
        r->depth++;
        int err = pass_over(&f, LOOK_AHEAD);
        if (!err)
                err = pass_over(&f, DEFAULTS);
        if (!err && !f.self)
                err = pass_over(&f, KEYS);
        if (!err)
                err = pass_over(&f, SWEEPS);
        r->depth--;
        return err;
}

bool suite_has_group(const char *dir, const char *name)
{
        return *name && is_dir(dir, name);
}

static void end_reading(struct reading *r)
{
        sweep_release(&r->overrides);
        sweep_release(&r->swept);
}

int suite_read(const char *dir, const char *name, const struct sweep *over, struct sweep *s,
               struct buf *notes, char *why, size_t nwhy)
{
        CLEANUP(end_reading)
        struct reading r = {
                .dir = dir, .over = over, .s = s, .notes = notes, .why = why, .nwhy = nwhy};
        return read_file(&r, name, "", NEEDED);
}

/* The files of one key's values. */
static int choose_all(struct reading *r, struct sweep_key *k)
{
        char package[NAME_MAX_LEN];

        k->groups = calloc(k->n, sizeof *k->groups);
        if (!k->groups) {
                snprintf(r->why, r->nwhy, "out of memory: free some");
                return -ENOMEM;
        }
        package_of(k->name, package);
        int err = 0;
        for (size_t i = 0; i < k->n && !err; i++) {
                r->s = &k->groups[i];
                if (strcmp(k->v[i], "null") != 0 && strcmp(k->v[i], "???") != 0)
                        err = choose(r, k->name, package, k->v[i], NEEDED);
        }
        return err;
}

int suite_choose(const char *dir, struct sweep *s, struct buf *notes, char *why, size_t nwhy)
{
        CLEANUP(end_reading)
        struct reading r = {.dir = dir, .notes = notes, .why = why, .nwhy = nwhy};
        int err = 0;
        for (size_t i = 0; i < s->n && !err; i++)
                if (!s->keys[i].groups && s->keys[i].level >= SWEEP_GROUP &&
                    is_dir(dir, s->keys[i].name))
                        err = choose_all(&r, &s->keys[i]);
        return err;
}
