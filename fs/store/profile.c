/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: see profile.h. The files are read with read() into memory that is wiped, since stdio
 * would leave secrets in its buffers. */
#include "store/profile.h"

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

#include "base/banned.h"

enum { FILE_MAX_BYTES = 1 << 20 };

static const struct {
        const char *key;
        size_t offset;
} fields[] = {
        {"aws_access_key_id", offsetof(struct profile, access)},
        {"aws_secret_access_key", offsetof(struct profile, secret)},
        {"aws_session_token", offsetof(struct profile, token)},
        {"region", offsetof(struct profile, region)},
        {"endpoint_url", offsetof(struct profile, endpoint)},
        {"ca_bundle", offsetof(struct profile, ca_bundle)},
};

/* Settings that hand the question for credentials on. */
static const char *const hand_ons[] = {"credential_process", "role_arn", "sso_session",
                                       "sso_start_url", "web_identity_token_file"};

void secret_freep(char **s)
{
        int err = errno;
        if (*s)
                explicit_bzero(*s, strlen(*s));
        free(*s);
        *s = NULL;
        errno = err;
}

void profile_release(struct profile *p)
{
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                secret_freep((char **)(void *)((char *)p + fields[i].offset));
        secret_freep(&p->elsewhere);
        secret_freep(&p->credentials_file);
        secret_freep(&p->config_file);
        *p = (struct profile){0};
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

/* The path of a shared file: from the variable (where "~/" is the home), or below the home. */
static char *shared_path(const char *variable, const char *below_home)
{
        char buf[4096], *path = NULL;
        const char *set = getenv(variable);

        if (set && *set && strncmp(set, "~/", 2) != 0)
                return strdup(set);
        if (set && *set)
                below_home = set + 2;
        if (asprintf(&path, "%s/%s", home_dir(buf, sizeof buf), below_home) < 0)
                return NULL;
        return path;
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

/* Whether "[...]" is the section of the profile. In the config file it is "profile NAME", except
 * for "default". */
static bool is_section_of(char *line, const char *name, bool is_config)
{
        char *end = strchr(line, ']');
        if (end)
                *end = 0;
        char *title = trim(line + 1);
        if (!is_config || !strcmp(title, "default"))
                return !strcmp(title, name);
        if (strncmp(title, "profile", 7) != 0 || !title[7] || !strchr(" \t", title[7]))
                return false;
        return !strcmp(trim(title + 7), name);
}

/* Keeps the value of a known field; the first file that gives one wins. */
static int take_field(struct profile *p, const char *key, const char *value)
{
        char **to = NULL;
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                if (!strcmp(key, fields[i].key))
                        to = (char **)(void *)((char *)p + fields[i].offset);
        for (size_t i = 0; i < sizeof hand_ons / sizeof *hand_ons; i++)
                if (!strcmp(key, hand_ons[i])) {
                        to = &p->elsewhere;
                        value = key;
                }
        if (!to || *to || !*value)
                return 0;
        *to = strdup(value);
        return *to ? 0 : -ENOMEM;
}

/* One line, in place; *ours says whether it stands in the profile's section. */
static int take_line(struct profile *p, char *line, const char *name, bool is_config, bool *ours)
{
        if (strchr("#;", *line) || !*trim(line)) /* empty or a comment */
                return 0;
        if (strchr(" \t", *line)) /* goes on with a nested setting, none of which is known */
                return 0;
        if (*line == '[') {
                if (!strchr(line, ']'))
                        return -EINVAL;
                *ours = is_section_of(line, name, is_config);
                p->found |= *ours;
                return 0;
        }
        char *value = strchr(line, '=');
        if (!value)
                return -EINVAL;
        *value++ = 0;
        cut_comment(value);
        return *ours ? take_field(p, trim(line), trim(value)) : 0;
}

static int load_file(struct profile *p, const char *file, const char *name, bool is_config,
                     char *why, size_t nwhy)
{
        CLEANUP(secret_freep) char *text = NULL;
        bool ours = false;
        unsigned line_no = 0;

        int err = file ? read_text(file, &text) : -ENOMEM;
        if (err) {
                snprintf(why, nwhy, "%s: %s: make it readable, or name another in %s",
                         file ? file : "shared file", strerror(-err),
                         is_config ? "AWS_CONFIG_FILE" : "AWS_SHARED_CREDENTIALS_FILE");
                return err;
        }
        size_t left = text ? strlen(text) : 0;
        for (char *line = text; left > 0;) {
                size_t n = strcspn(line, "\n");
                bool last = n == left;
                line[n] = 0;
                line_no++;
                err = take_line(p, line, name, is_config, &ours);
                explicit_bzero(line, n);
                if (err) {
                        snprintf(why, nwhy, "%s:%u: %s: write [SECTION] or NAME = VALUE", file,
                                 line_no, strerror(-err));
                        return err;
                }
                left -= last ? n : n + 1;
                line += n + 1;
        }
        return 0;
}

int profile_load(const char *name, struct profile *out, char *why, size_t nwhy)
{
        *out = (struct profile){0};
        out->credentials_file = shared_path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        out->config_file = shared_path("AWS_CONFIG_FILE", ".aws/config");
        int err = load_file(out, out->credentials_file, name, false, why, nwhy);
        if (!err)
                err = load_file(out, out->config_file, name, true, why, nwhy);
        return err;
}
