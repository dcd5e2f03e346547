/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: see profile.h. The files are read with read() into memory that is wiped, since stdio
 * would leave secrets in its buffers. */
#include "store/cred/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"

#include "base/banned.h"

enum { FILE_MAX_BYTES = 1 << 20, SETTINGS_MAX = 256 };

/* Where the reading of a file is. */
struct place {
        const char *kind, *name;
        bool is_config;
        bool ours;         /* in the section that is wanted */
        const char *outer; /* the setting whose nested ones may follow, in the text; NULL */
};

void profile_release(struct profile *p)
{
        for (size_t i = 0; i < p->n; i++) {
                secret_freep(&p->v[i].name);
                secret_freep(&p->v[i].value);
        }
        free(p->v);
        free(p->credentials_file);
        free(p->config_file);
        *p = (struct profile){0};
}

const char *profile_get(const struct profile *p, const char *name)
{
        for (size_t i = 0; i < p->n; i++)
                if (!strcmp(p->v[i].name, name))
                        return p->v[i].value;
        return NULL;
}

static const char *home_dir(char *buf, size_t n)
{
        const char *home = getenv("HOME");
        struct passwd pw, *found = NULL;

        if (home && *home)
                return home;
        if (getpwuid_r(getuid(), &pw, buf, n, &found) || !found)
                return "/";
        return pw.pw_dir;
}

char *home_path(const char *below_home)
{
        char buf[4096], *path = NULL;
        if (asprintf(&path, "%s/%s", home_dir(buf, sizeof buf), below_home) < 0)
                return NULL;
        return path;
}

/* The path of a shared file: from the variable (where "~/" is the home), or below the home. */
static char *shared_path(const char *variable, const char *below_home)
{
        const char *set = getenv(variable);

        if (set && *set && strncmp(set, "~/", 2) != 0)
                return strdup(set);
        return home_path(set && *set ? set + 2 : below_home);
}

/* The text of a file, malloc'ed; *out stays NULL when there is no such file. */
static int read_text(const char *file, char **out)
{
        CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
        struct stat st;

        if (fd < 0)
                return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
        if (fstat(fd, &st))
                return -errno;
        if (st.st_size > FILE_MAX_BYTES)
                return -EFBIG;
        CLEANUP(secret_freep) char *text = calloc(1, (size_t)st.st_size + 1);
        if (!text)
                return -ENOMEM;
        for (size_t len = 0; len < (size_t)st.st_size;) {
                ssize_t n = read(fd, text + len, (size_t)st.st_size - len);
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                len += (size_t)n;
        }
        *out = TAKE_PTR(text);
        return 0;
}

/* Without the blanks at both ends, in place. */
static char *trim(char *s)
{
        s += strspn(s, " \t");
        size_t n = strlen(s);
        while (n && strchr(" \t\r", s[n - 1]))
                s[--n] = 0;
        return s;
}

/* Cuts a comment that a blank precedes: "us-east-1 # near" is "us-east-1". */
static void cut_comment(char *s)
{
        for (char *at = s; *at; at++)
                if ((*at == '#' || *at == ';') && at > s && strchr(" \t", at[-1])) {
                        *at = 0;
                        return;
                }
}

/* Whether "[...]" is the section that is wanted. In the config file it is "KIND NAME", except for
 * the profile "default"; the credentials file has profiles alone, by their names. */
static bool is_section(char *line, const struct place *at)
{
        char *end = strchr(line, ']');
        size_t nkind = strlen(at->kind);
        if (end)
                *end = 0;
        char *title = trim(line + 1);
        bool profile = !strcmp(at->kind, "profile");
        if (profile && (!at->is_config || !strcmp(title, "default")))
                return !strcmp(title, at->name);
        if (strncmp(title, at->kind, nkind) != 0 || !title[nkind] || !strchr(" \t", title[nkind]))
                return false;
        return !strcmp(trim(title + nkind), at->name);
}

/* Keeps a value; the first one of a name wins. */
static int take_setting(struct profile *p, const char *outer, const char *name, const char *value)
{
        char *full = NULL, *copy = NULL;

        if (!*value || p->n >= SETTINGS_MAX)
                return 0;
        if (asprintf(&full, "%s%s%s", outer ? outer : "", outer ? "." : "", name) < 0)
                return -ENOMEM;
        if (profile_get(p, full)) {
                free(full);
                return 0;
        }
        copy = strdup(value);
        if (!copy || GROW(p->v, p->n, p->max, 8)) {
                secret_freep(&copy);
                free(full);
                return -ENOMEM;
        }
        p->v[p->n++] = (struct profile_setting){full, copy};
        return 0;
}

/* One line, in place. */
static int take_line(struct profile *p, char *line, struct place *at)
{
        bool nested = *line == ' ' || *line == '\t';
        line = trim(line);
        if (!*line || *line == '#' || *line == ';')
                return 0;
        if (*line == '[' && !nested) {
                if (!strchr(line, ']'))
                        return -EINVAL;
                at->ours = is_section(line, at);
                at->outer = NULL;
                p->found |= at->ours;
                return 0;
        }
        char *value = strchr(line, '=');
        if (!value)
                return nested ? 0 : -EINVAL;
        *value++ = 0;
        cut_comment(value);
        value = trim(value);
        char *name = trim(line);
        if (!nested)
                at->outer = *value ? NULL : name;
        if (!at->ours || (nested && !at->outer))
                return 0;
        return take_setting(p, nested ? at->outer : NULL, name, value);
}

static int load_file(struct profile *p, const char *file, struct place *at, char *why, size_t nwhy)
{
        static const char secret[] = "aws_secret_access_key";
        CLEANUP(secret_freep) char *text = NULL;
        unsigned line_no = 0;

        int err = file ? read_text(file, &text) : -ENOMEM;
        if (err) {
                snprintf(why, nwhy, "%s: %s: make it readable, or name another in %s",
                         file ? file : "shared file", strerror(-err),
                         at->is_config ? "AWS_CONFIG_FILE" : "AWS_SHARED_CREDENTIALS_FILE");
                return err;
        }
        size_t size = text ? strlen(text) : 0;
        bool known = profile_get(p, secret);
        for (size_t off = 0; off < size && !err;) {
                size_t n = strcspn(text + off, "\n");
                text[off + n] = 0;
                line_no++;
                err = take_line(p, text + off, at);
                if (err)
                        snprintf(why, nwhy, "%s:%u: %s: write [SECTION] or NAME = VALUE", file,
                                 line_no, strerror(-err));
                off += n + 1;
        }
        if (!known && profile_get(p, secret))
                p->secret_file = file;
        if (text)
                explicit_bzero(text, size);
        return err;
}

int profile_load(const char *kind, const char *name, struct profile *out, char *why, size_t nwhy)
{
        struct place at = {.kind = kind, .name = name};
        int err = 0;

        *out = (struct profile){0};
        out->credentials_file = shared_path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        out->config_file = shared_path("AWS_CONFIG_FILE", ".aws/config");
        if (!strcmp(kind, "profile"))
                err = load_file(out, out->credentials_file, &at, why, nwhy);
        at = (struct place){.kind = kind, .name = name, .is_config = true};
        return err ? err : load_file(out, out->config_file, &at, why, nwhy);
}
