/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: one section of the vendor's shared credentials and config files. */
#ifndef CKPTFS_STORE_PROFILE_H
#define CKPTFS_STORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

struct profile {
        struct profile_setting {
                char *name, *value;
        } * v;
        size_t n, max;
        bool found;             /* a section of that name exists */
        char *credentials_file; /* the paths that were looked at, for messages */
        char *config_file;
        const char *secret_file; /* the one of them that has aws_secret_access_key; NULL: neither */
};

/* Reads a section of both files (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, else
 * ~/.aws/credentials and ~/.aws/config); `kind` is "profile", "sso-session" or "services", of which
 * the credentials file has only profiles. The credentials file goes before the config file; a file
 * that is missing is an empty one. 0, or a negative errno with one line in `why` (-EINVAL: a broken
 * line); release with profile_release() in either case. Blocks on local files. */
int profile_load(const char *kind, const char *name, struct profile *out, char *why, size_t nwhy);

/* The value, or NULL; that of a nested setting is named "s3.endpoint_url". */
const char *profile_get(const struct profile *p, const char *name);

/* Wipes and frees. */
void profile_release(struct profile *p);

/* The path below the home directory of who runs this, malloc'ed; "~/" of a path means the same. */
char *home_path(const char *below_home);

/* Wipes and frees one string; NULL is fine. */
void secret_freep(char **s);

#endif
