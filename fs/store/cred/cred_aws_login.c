/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws_login.c: the login of single sign-on that the vendor's tool has cached. That of a
 * session comes with what renews it, once: a token that ends within minutes is exchanged for
 * another, which goes into the cache with what renews that. */
#include "store/cred/cred_aws.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/aws_host.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"

#include "base/banned.h"

enum {
        RENEW_BEFORE_S = 300,
        LIFE_MOST_S = 366 * 86400,
        OTHERS_MS = 3000, /* what another program has got, it has put into the cache by then */
        LOOK_MS = 50,
};

static const char *field(const struct json *cache, const char *name)
{
        return json_string(json_get(cache, name), NULL);
}

static int read_cache(struct cred_ask *a, const struct cred_login *l, char **file,
                      struct json **cache)
{
        CLEANUP(secret_buf_release) struct buf text = BUF_INIT;
        CLEANUP(buf_release) struct buf below = BUF_INIT;
        char hex[2 * SHA1_LEN + 1], why[64];
        uint8_t sum[SHA1_LEN];

        sha1(l->cached_as, strlen(l->cached_as), sum);
        hex_encode(sum, sizeof sum, hex);
        buf_addf(&below, ".aws/sso/cache/%s.json", hex);
        *file = home_path(below.p);
        if (!*file || below.failed)
                return cred_no(a, -ENOMEM, "no memory: end another program");
        int err = cred_read_file(a, *file, &text);
        if (err == -ENOENT)
                return cred_no(
                        a, -EACCES,
                        "profile '%s': no login is cached in %s: run aws sso login --profile "
                        "%s",
                        l->profile, *file, l->profile);
        if (err)
                return err;
        if (json_parse(*file, text.p, text.len, cache, why, sizeof why) ||
            !field(*cache, "accessToken"))
                return cred_no(a, -EBADMSG,
                               "profile '%s': %s holds no login: run aws sso login --profile %s",
                               l->profile, *file, l->profile);
        return 0;
}

static time_t end_of(const struct json *cache, const char *name)
{
        const char *text = field(cache, name);
        return text ? cred_time(text) : 0;
}

/* Whether what renews the login is there, and still good. */
static bool can_renew(const struct json *cache)
{
        time_t end = end_of(cache, "registrationExpiresAt");
        return field(cache, "refreshToken") && field(cache, "clientId") &&
               field(cache, "clientSecret") && (!end || end > time(NULL));
}

static int write_request(const struct json *cache, struct buf *body)
{
        CLEANUP(secret_json_freep) struct json *j = json_new_object();

        int err = json_add_string(j, "clientId", field(cache, "clientId"));
        if (!err)
                err = json_add_string(j, "clientSecret", field(cache, "clientSecret"));
        if (!err)
                err = json_add_string(j, "grantType", "refresh_token");
        if (!err)
                err = json_add_string(j, "refreshToken", field(cache, "refreshToken"));
        CLEANUP(secret_freep) char *text = err ? NULL : json_print(j);
        return text ? buf_adds(body, text) : -ENOMEM;
}

static int set_field(struct json *cache, const char *name, const char *value)
{
        json_remove(cache, name);
        return json_add_string(cache, name, value);
}

/* Leaves the cache as the vendor's tool would: its other fields stay. */
static void write_cache(struct json *cache, const struct json *reply, const char *token,
                        const char *file)
{
        const char *refresh = field(reply, "refreshToken");
        double life = json_number(json_get(reply, "expiresIn"), 0);
        time_t end = time(NULL) + (life > 0 && life < LIFE_MOST_S ? (time_t)life : 0);
        struct tm tm;
        char text[32];

        gmtime_r(&end, &tm);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
        int err = set_field(cache, "accessToken", token);
        if (!err)
                err = set_field(cache, "expiresAt", text);
        if (!err && refresh)
                err = set_field(cache, "refreshToken", refresh);
        if (!err)
                err = json_write_file(cache, file);
        if (err)
                log_warn_of(LOG_ABOUT(.operation = "credentials", .file = file,
                                      .remedy = "make it writable, or log in again when it ends"),
                            "%s: the login was renewed, but cannot be kept (%s)", file,
                            strerror(-err));
}

static int renew(struct cred_ask *a, const struct profile *p, const struct cred_login *l,
                 struct json *cache, const char *file, char **token)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("SSO", "POST");
        CLEANUP(secret_json_freep) struct json *reply = NULL;
        CLEANUP(secret_freep) char *endpoint = NULL;

        int err = cred_aws_endpoint(a, p, "SSO_OIDC", &endpoint);
        if (err)
                return err;
        if (endpoint)
                buf_adds(&c.url, endpoint);
        else
                aws_service_url(&c.url, "oidc", l->region, a->fips, a->dualstack);
        buf_adds(&c.url, "/token");
        cred_call_header(&c, "Content-Type", "application/json");
        if (write_request(cache, &c.body))
                return cred_no(a, -ENOMEM, "no memory: end another program");
        err = cred_call_json(a, &c, &reply);
        if (err)
                return err;
        const char *renewed = cred_json_string(a, reply, "accessToken", "SSO's answer");
        if (!renewed)
                return -EBADMSG;
        write_cache(cache, reply, renewed, file);
        return cred_set(token, renewed);
}

/* A renewal that is refused: another program may have been first, whose login is taken from the
 * cache. What ends at `end` is what was there; is it over, the other's is waited for. */
static int take_others(struct cred_ask *a, const struct cred_login *l, time_t end, char **token)
{
        unsigned most = end <= time(NULL) ? OTHERS_MS : 0;

        for (unsigned waited = 0;; waited += LOOK_MS) {
                CLEANUP(secret_json_freep) struct json *cache = NULL;
                CLEANUP(freep) char *file = NULL;
                int err = read_cache(a, l, &file, &cache);
                time_t its = err ? 0 : end_of(cache, "expiresAt");
                if (its > end && its > time(NULL)) {
                        log_debug("%s: another program has renewed the login", file);
                        return cred_set(token, field(cache, "accessToken"));
                }
                if (waited >= most || (a->stop && __atomic_load_n(a->stop, __ATOMIC_SEQ_CST)))
                        return -EACCES;
                usleep(LOOK_MS * 1000U);
        }
}

int cred_aws_login(struct cred_ask *a, const struct profile *p, const struct cred_login *l,
                   char **token)
{
        CLEANUP(secret_json_freep) struct json *cache = NULL;
        CLEANUP(freep) char *file = NULL;

        int err = read_cache(a, l, &file, &cache);
        if (err)
                return err;
        time_t end = end_of(cache, "expiresAt"), now = time(NULL);
        if (l->renewed && end <= now + RENEW_BEFORE_S && can_renew(cache)) {
                err = renew(a, p, l, cache, file, token);
                if (err == -EACCES)
                        err = take_others(a, l, end, token);
                if (!err || (end <= now && err != -EACCES))
                        return err;
        }
        if (end <= now)
                return cred_no(a, -EACCES,
                               "profile '%s': the login has expired: run aws sso login --profile "
                               "%s",
                               l->profile, l->profile);
        return cred_set(token, field(cache, "accessToken"));
}
