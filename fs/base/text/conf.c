/* SPDX-License-Identifier: Apache-2.0 */
/* conf.c: see conf.h. */
#include "base/text/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/params.h"

#include "base/banned.h"

enum { DEPTH_MAX = 16 };

/* A mapping or a sequence that is open. */
struct level {
        bool is_list, has_key;
        unsigned index;
        size_t path_len; /* of the path to it */
};

struct reading {
        conf_scalar_fn *fn;
        void *arg;
        struct buf path;
        struct level levels[DEPTH_MAX];
        unsigned depth, line, documents;
        struct buf names;  /* paths that were given, each with its NUL */
        const char *cause; /* set together with an error of ours */
};

static int fail(struct reading *r, const char *cause)
{
        r->cause = cause;
        return -EINVAL;
}

/* Puts the name of the next value of a sequence, or a key, behind the path. */
static int push_name(struct reading *r, const char *name)
{
        return buf_addf(&r->path, "%s%s", r->path.len ? "." : "", name);
}

/* The name is on the path: nobody can mean both values of one that is given twice. */
static int note_name(struct reading *r)
{
        for (size_t at = 0; at < r->names.len; at += strlen(r->names.p + at) + 1)
                if (!strcmp(r->names.p + at, r->path.p))
                        return fail(r, "this name was given before: take one of them away");
        return buf_add(&r->names, r->path.p, r->path.len + 1);
}

/* A value (a scalar, or a whole mapping or sequence) ended: its name leaves the path. */
static void value_done(struct reading *r)
{
        if (r->depth == 0)
                return;
        struct level *l = &r->levels[r->depth - 1];
        r->path.len = l->path_len;
        r->path.p[r->path.len] = 0;
        l->has_key = false;
}

/* Before a value begins inside a sequence, its index is its name. */
static int name_value(struct reading *r)
{
        char index[16];
        if (r->depth == 0)
                return 0;
        struct level *l = &r->levels[r->depth - 1];
        if (!l->is_list)
                return 0;
        snprintf(index, sizeof index, "%u", l->index++);
        return push_name(r, index);
}

static int open_level(struct reading *r, bool is_list)
{
        if (r->depth == DEPTH_MAX)
                return fail(r, "this is nested too deeply: take levels away");
        if (r->depth && !r->levels[r->depth - 1].is_list && !r->levels[r->depth - 1].has_key)
                return fail(r, "a name must be plain text: write name: value");
        if (r->depth == 0 && is_list)
                return fail(r, "the file is a list: write lines of name: value");
        int err = name_value(r);
        r->levels[r->depth++] = (struct level){.is_list = is_list, .path_len = r->path.len};
        return err;
}

static int on_scalar(struct reading *r, const char *text)
{
        if (r->depth == 0)
                return fail(r, "the file is not lines of name: value: write it so");
        struct level *l = &r->levels[r->depth - 1];
        if (!l->is_list && !l->has_key) {
                l->has_key = true;
                int err = push_name(r, text);
                return err ? err : note_name(r);
        }
        int err = name_value(r);
        if (!err)
                err = r->fn(r->arg, r->path.p, text, r->line);
        value_done(r);
        return err;
}

static int on_event(struct reading *r, const yaml_event_t *e)
{
        r->line = (unsigned)e->start_mark.line + 1;
        switch (e->type) {
        case YAML_DOCUMENT_START_EVENT:
                return r->documents++ ? fail(r, "a second document begins: give one") : 0;
        case YAML_MAPPING_START_EVENT:
                return open_level(r, false);
        case YAML_SEQUENCE_START_EVENT:
                return open_level(r, true);
        case YAML_MAPPING_END_EVENT:
        case YAML_SEQUENCE_END_EVENT:
                r->depth--;
                value_done(r);
                return 0;
        case YAML_SCALAR_EVENT:
                if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
                        return fail(r, "a value holds a NUL: take it out");
                return on_scalar(r, (const char *)e->data.scalar.value);
        case YAML_ALIAS_EVENT:
                return fail(r, "aliases are not read: write the value out");
        default:
                return 0;
        }
}

static int read_events(struct reading *r, yaml_parser_t *parser)
{
        for (bool more = true; more;) {
                yaml_event_t e;
                if (!yaml_parser_parse(parser, &e)) {
                        r->line = (unsigned)parser->problem_mark.line + 1;
                        if (parser->error == YAML_MEMORY_ERROR)
                                return -ENOMEM;
                        return fail(r, "this is not YAML: mend the line");
                }
                int err = on_event(r, &e);
                more = e.type != YAML_STREAM_END_EVENT;
                yaml_event_delete(&e);
                if (err)
                        return err;
        }
        return 0;
}

/* Not a FIFO or a device, which may never end: whoever reads a file anew must go on. */
static int open_regular(const char *file, FILE **f, char *why, size_t nwhy)
{
        CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd >= 0 && !fstat(fd, &st) && !S_ISREG(st.st_mode)) {
                snprintf(why, nwhy, "%s: this is not a regular file: give one", file);
                return -EINVAL;
        }
        if (fd < 0 || !(*f = fdopen(fd, "r"))) {
                int err = -errno;
                snprintf(why, nwhy, "%s: %s: give a file that can be read", file, strerror(-err));
                return err;
        }
        fd = -1; /* it is the stream's */
        return 0;
}

int conf_read(const char *file, conf_scalar_fn *fn, void *arg, char *why, size_t nwhy)
{
        CLEANUP(fclosep) FILE *f = NULL;
        struct reading r = {.fn = fn, .arg = arg, .path = BUF_INIT, .names = BUF_INIT};
        yaml_parser_t parser;
        int err = open_regular(file, &f, why, nwhy);

        if (err)
                return err;
        if (!yaml_parser_initialize(&parser)) {
                snprintf(why, nwhy, "%s: no memory: end another program", file);
                return -ENOMEM;
        }
        yaml_parser_set_input_file(&parser, f);
        err = read_events(&r, &parser);
        if (r.cause)
                snprintf(why, nwhy, "%s:%u: %s", file, r.line, r.cause);
        else if (err == -ENOMEM)
                snprintf(why, nwhy, "%s: no memory: end another program", file);
        yaml_parser_delete(&parser);
        buf_release(&r.path);
        buf_release(&r.names);
        return err;
}

struct params_target {
        const char *file;
        struct params *p;
        char *why;
        size_t nwhy;
};

static int set_param(void *arg, const char *path, const char *value, unsigned line)
{
        const struct params_target *t = arg;
        char cause[400];
        int err = params_set(t->p, path, value, cause, sizeof cause);
        if (err)
                snprintf(t->why, t->nwhy, "%s:%u: %s", t->file, line, cause);
        return err;
}

int conf_read_params(const char *file, struct params *p, char *why, size_t nwhy)
{
        struct params_target t = {file, p, why, nwhy};
        return conf_read(file, set_param, &t, why, nwhy);
}
