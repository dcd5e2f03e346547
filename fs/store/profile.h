/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: one profile of the vendor's shared credentials and config files. */
#ifndef CKPTFS_STORE_PROFILE_H
#define CKPTFS_STORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Fields that no file gives are NULL; the credentials file goes before the config file. */
struct profile {
        char *access, *secret, *token;
        char *region, *endpoint, *ca_bundle;
        char *elsewhere;        /* the setting that names another source of credentials */
        bool found;             /* a section of that name exists */
        char *credentials_file; /* the paths that were looked at, for messages */
        char *config_file;
};

/* Reads both files (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, else ~/.aws/credentials and
 * ~/.aws/config). A file that is missing is an empty one. 0, or a negative errno with one line in
 * `why` (-EINVAL: a broken line); release with profile_release() in either case. Blocks on local
 * files. */
int profile_load(const char *name, struct profile *out, char *why, size_t nwhy);

/* Wipes and frees. */
void profile_release(struct profile *p);

/* Wipes and frees one string; NULL is fine. */
void secret_freep(char **s);

#endif
