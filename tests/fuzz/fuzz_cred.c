/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cred.c: credential files of both vendors that anybody wrote, and identity servers that
 * answer anything. The first line names the source, the lines up to "%%" are its file, the rest is
 * a script of replies. The file of "login" is what the vendor's tool has cached of a login. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/cred/cred_aws.h"
#include "store/cred/cred_gcp.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/script_http.h"
#include "base/banned.h"

int __wrap_json_write_file(const struct json *j, const char *file);
char *__wrap_home_path(const char *below);

static const char login_config[] = "a file of its own";
static const char login[] = "[default]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\n"
                            "[sso-session s]\nsso_region = us-east-1\nsso_start_url = https://x\n";

/* The file of the input, where the vendor's tool would have it below a home directory. */
static char cached[FUZZ_PATH_MAX];

char *__wrap_home_path(const char *below)
{
        return strdup(strstr(below, "/sso/cache/") ? cached : "/dev/null");
}

/* A login that was renewed is kept: what is written can be read again. */
int __wrap_json_write_file(const struct json *j, const char *file)
{
        CLEANUP(freep) char *text = json_print(j);
        CLEANUP(json_freep) struct json *again = NULL;
        char why[128];

        if (strcmp(file, cached) != 0 || !text ||
            json_parse("cache", text, strlen(text), &again, why, sizeof why) ||
            !json_string(json_get(again, "accessToken"), NULL))
                abort();
        return 0;
}

/* Sources with what leads to them. */
static const struct {
        const char *name;
        cred_source_fn *fetch;
        const char *variable, *value; /* of the environment; NULL: the file */
} sources[] = {
        {"profile", cred_aws_profile, "AWS_CONFIG_FILE", NULL},
        {"credentials", cred_aws_profile, "AWS_SHARED_CREDENTIALS_FILE", NULL},
        {"web", cred_aws_web, "AWS_WEB_IDENTITY_TOKEN_FILE", NULL},
        {"container", cred_aws_container, "AWS_CONTAINER_CREDENTIALS_FULL_URI",
         "http://127.0.0.1/x"},
        {"imds", cred_aws_imds, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1"},
        {"google", cred_gcp_variable, "GOOGLE_APPLICATION_CREDENTIALS", NULL},
        {"login", cred_aws_profile, "AWS_CONFIG_FILE", login_config},
        {"metadata", cred_gcp_metadata, "GCE_METADATA_HOST", "127.0.0.1:1"},
};

/* The part of the input before a line "%%", which is taken off. */
static size_t file_part(const uint8_t **p, size_t *n)
{
        const uint8_t *end = *n >= 4 ? memmem(*p, *n, "\n%%\n", 4) : NULL;
        size_t len = end ? (size_t)(end - *p) + 1 : *n;

        *p += end ? len + 3 : *n;
        *n -= end ? len + 3 : *n;
        return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        CLEANUP(freep) char *name = fuzz_line(&p, &n);
        char path[FUZZ_PATH_MAX];
        size_t i = 0, most = sizeof sources / sizeof *sources;

        while (i < most && strcmp(sources[i].name, name) != 0)
                i++;
        if (i == most)
                return 0;
        const uint8_t *file = p;
        size_t len = file_part(&p, &n);
        bool is_login = sources[i].value == login_config;
        int fd = fuzz_file(file, len, is_login ? cached : path);
        int config = is_login ? fuzz_file((const uint8_t *)login, sizeof login - 1, path) : -1;
        script_begin(p, n);
        setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/r", 1);
        setenv(sources[i].variable, sources[i].value && !is_login ? sources[i].value : path, 1);
        struct cred_ask a = {.profile = strdup("default"), .region = strdup("us-east-1")};
        struct cred c = CRED_INIT;
        int err = a.profile && a.region ? sources[i].fetch(&a, &c) : -1;
        if (err > 0 || (!err && c.kind == CRED_NONE) || (err && !*a.why) || strchr(a.why, '\n'))
                abort();
        cred_release(&c);
        free(a.profile);
        free(a.region);
        unsetenv(sources[i].variable);
        close(fd);
        closep(&config);
        return 0;
}
