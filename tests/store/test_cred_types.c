/* SPDX-License-Identifier: Apache-2.0 */
/* test_cred_types.c: files and replies with credentials in which one value is of another type. Each
 * is an error, or does without that value; the sanitizers see to the rest. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/cred/cred.h"
#include "tests/lib/unit.h"
#include "tests/store/fake.h"

#include "base/banned.h"

/* What takes the place of a value. */
static const char *const others[] = {
        "null", "true", "0",       "-1", "1e300",    "\"\"", "\"http://127.0.0.1:1/x\"",
        "[]",   "[[]]", "[\"x\"]", "{}", "{\"\":{}}"};

enum { NOTHERS = sizeof others / sizeof *others };

/* Texts of JSON: each value that is exchanged stands in angle brackets, "@" is the server's address
 * and "~" the folder. */

/* A vendor's credentials: the file that is read and the replies that follow, by path. */
struct source {
        const char *name;
        const char *file;     /* its text; NULL: there is none */
        const char *variable; /* names it; or else it stands at: */
        const char *at;       /* below the folder */
        struct reply {
                const char *path; /* what it begins with, or the file that a program prints */
                const char *text;
        } replies[4];
        const char *env[4];
};

#define LIFE   "\"expires_in\":<3600>"
#define TOKEN  "<{\"access_token\":<\"t\">," LIFE "}>"
#define GOOGLE "GOOGLE_APPLICATION_CREDENTIALS"
#define POOL                                                                                       \
        "\"type\":<\"external_account\">,\"audience\":<\"a\">,\"subject_token_type\":<\"s\">,"     \
        "\"token_url\":<\"@/sts\">"
#define KEYS(token)                                                                                \
        "<{\"Version\":<1>,\"Code\":<\"Success\">,\"AccessKeyId\":<\"a\">,"                        \
        "\"SecretAccessKey\":<\"s\">,\"" token "\":<\"t\">,"                                       \
        "\"Expiration\":<\"2099-01-01T00:00:00Z\">}>"

static const struct source sources[] = {
        {"user",
         "<{\"type\":<\"authorized_user\">,\"client_id\":<\"i\">,\"client_secret\":<\"s\">,"
         "\"refresh_token\":<\"r\">,\"token_uri\":<\"@/sts\">,\"universe_domain\":<\"u\">}>",
         GOOGLE,
         NULL,
         {{"/sts", TOKEN}},
         {NULL}},
        {"pool user",
         "<{\"type\":<\"external_account_authorized_user\">,\"client_id\":<\"i\">,"
         "\"client_secret\":<\"s\">,\"refresh_token\":<\"r\">,\"token_url\":<\"@/sts\">}>",
         GOOGLE,
         NULL,
         {{"/sts", TOKEN}},
         {NULL}},
        {"url",
         "<{" POOL ",\"credential_source\":<{\"url\":<\"@/subject\">,\"headers\":<{\"X\":<\"y\">}>,"
         "\"format\":<{\"type\":<\"json\">,\"subject_token_field_name\":<\"f\">}>}>,"
         "\"workforce_pool_user_project\":<\"p\">}>",
         GOOGLE,
         NULL,
         {{"/sts", TOKEN}, {"/subject", "<{\"f\":<\"t\">}>"}},
         {NULL}},
        {"impersonation",
         "<{" POOL ",\"credential_source\":<{\"file\":<\"~/file\">}>,\"client_id\":<\"i\">,"
         "\"client_secret\":<\"s\">,\"service_account_impersonation_url\":<\"@/as\">,"
         "\"service_account_impersonation\":<{\"token_lifetime_seconds\":<900>}>}>",
         GOOGLE,
         NULL,
         {{"/sts", TOKEN},
          {"/as", "<{\"accessToken\":<\"t\">,\"expireTime\":<\"2099-01-01T00:00:00Z\">}>"}},
         {NULL}},
        {"program",
         "<{" POOL ",\"credential_source\":<{\"executable\":<{\"command\":<\"cat ~/printed\">,"
         "\"timeout_millis\":<5000>,\"output_file\":<\"~/none\">}>}>}>",
         GOOGLE,
         NULL,
         {{"/sts", TOKEN},
          {"printed", "<{\"version\":<1>,\"success\":<true>,\"token_type\":<\"id_token\">,"
                      "\"expiration_time\":<4000000000>,\"id_token\":<\"t\">}>"}},
         {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"}},
        {"an AWS identity",
         "<{" POOL ",\"credential_source\":<{\"environment_id\":<\"aws1\">,"
         "\"regional_cred_verification_url\":<\"https://sts.{region}.x?Action=A\">}>}>",
         GOOGLE,
         NULL,
         {{"/sts", TOKEN}},
         {"AWS_REGION=r", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=s"}},
        {"another's account",
         "<{\"type\":<\"impersonated_service_account\">,\"delegates\":<[<\"d\">]>,"
         "\"service_account_impersonation_url\":<\"@/as\">,\"source_credentials\":"
         "<{\"type\":<\"authorized_user\">,\"client_id\":<\"i\">,\"client_secret\":<\"s\">,"
         "\"refresh_token\":<\"r\">,\"token_uri\":<\"@/sts\">}>}>",
         GOOGLE,
         NULL,
         {{"/sts", TOKEN},
          {"/as", "<{\"accessToken\":<\"t\">,\"expireTime\":<\"2099-01-01T00:00:00Z\">}>"}},
         {NULL}},
        {"HMAC keys",
         "<{\"kind\":<\"storage#hmacKey\">,\"secret\":<\"s\">,\"metadata\":<{\"accessId\":<\"a\">}>"
         "}>",
         GOOGLE,
         NULL,
         {{NULL, NULL}},
         {NULL}},
        {"metadata server", NULL, NULL, NULL, {{"/computeMetadata/v1/", TOKEN}}, {"GCE=@"}},
        {"container", NULL, NULL, NULL, {{"/container", KEYS("Token")}}, {"CONTAINER=@"}},
        {"instance",
         NULL,
         NULL,
         NULL,
         {{"/latest/api/token", "token"},
          {"/latest/meta-data/iam/security-credentials/role", KEYS("Token")},
          {"/latest/", "role"}},
         {"IMDS=@"}},
        {"credential_process",
         "[default]\ncredential_process = cat ~/printed\n",
         "AWS_CONFIG_FILE",
         NULL,
         {{"printed", KEYS("SessionToken")}},
         {NULL}},
        {"single sign-on",
         "<{\"accessToken\":<\"t\">,\"expiresAt\":<\"2020-01-01T00:00:00Z\">,\"clientId\":<\"c\">,"
         "\"clientSecret\":<\"s\">,\"refreshToken\":<\"r\">,"
         "\"registrationExpiresAt\":<\"2099-01-01T00:00:00Z\">}>",
         NULL,
         ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json",
         {{"/token", "<{\"accessToken\":<\"n\">,\"expiresIn\":<60>,\"refreshToken\":<\"r\">}>"},
          {"/federation/",
           "<{\"roleCredentials\":<{\"accessKeyId\":<\"a\">,\"secretAccessKey\":<\"s\">,"
           "\"sessionToken\":<\"t\">,\"expiration\":<4000000000000>}>}>"}},
         {"SSO=@"}},
};

enum { NREPLIES = 4, FILE_TEXT = NREPLIES };

/* What is being tried: text `which` of a source with `by` at a place. */
struct trial {
        const struct source *source;
        int which, place;
        const char *by;
        const char *url;
};

static char dir[64];

/* Appends the text; `place` -1 leaves it as it is. Returns how many places it has. */
static int expand(struct buf *to, const char *marked, int place, const char *by, const char *url)
{
        int n = 0;

        for (const char *p = marked; *p; p++) {
                if (*p == '<' && n++ == place) {
                        int depth = 1;
                        buf_adds(to, by);
                        while (depth)
                                depth += *++p == '<' ? 1 : *p == '>' ? -1 : 0;
                } else if (*p == '@') {
                        buf_adds(to, url);
                } else if (*p == '~') {
                        buf_adds(to, dir);
                } else if (*p != '<' && *p != '>') {
                        buf_addc(to, *p);
                }
        }
        return n;
}

static void make_text(const struct trial *t, int which, const char *marked, struct buf *to)
{
        expand(to, marked, which == t->which ? t->place : -1, t->by, t->url);
}

static void answer(void *arg, struct fake_req *rq)
{
        const struct trial *t = arg;

        for (int i = 0; i < NREPLIES && t->source->replies[i].path; i++) {
                const struct reply *r = &t->source->replies[i];
                CLEANUP(buf_release) struct buf text = BUF_INIT;
                if (strncmp(rq->target, r->path, strlen(r->path)) != 0)
                        continue;
                make_text(t, i, r->text, &text);
                fake_reply(rq, 200, "Metadata-Flavor: Google\r\n", text.p, text.len);
                return;
        }
        fake_error(rq, 404, "NotFound");
}

static void write_file(const char *name, const struct buf *text, const char *variable)
{
        CLEANUP(buf_release) struct buf path = BUF_INIT;

        buf_addf(&path, "%s/%s", dir, name);
        CLEANUP(fclosep) FILE *f = fopen(path.p, "w");
        ck_assert_ptr_nonnull(f);
        fwrite(text->p, 1, text->len, f);
        if (variable)
                setenv(variable, path.p, 1);
}

static void write_files(const struct trial *t)
{
        const struct source *s = t->source;

        for (int i = 0; i < NREPLIES && s->replies[i].path; i++) {
                CLEANUP(buf_release) struct buf text = BUF_INIT;
                make_text(t, i, s->replies[i].text, &text);
                if (*s->replies[i].path != '/')
                        write_file(s->replies[i].path, &text, NULL);
        }
        if (s->file) {
                CLEANUP(buf_release) struct buf text = BUF_INIT;
                make_text(t, FILE_TEXT, s->file, &text);
                write_file(s->at ? s->at : "file", &text, s->variable);
        }
}

/* What the chain comes to; *sound is whether credentials have what their kind needs. */
static int fetch(struct trial *t, bool *sound)
{
        const struct cred_vendor *vendor = &cred_aws;
        CLEANUP(cred_chain_closep) struct cred_chain *c = NULL;
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        char why[1024];

        if (getenv("GCE_METADATA_HOST") || getenv(GOOGLE) ||
            (t->source->variable && !strcmp(t->source->variable, GOOGLE)))
                vendor = &cred_gcp;
        write_files(t);
        if (vendor == &cred_gcp) {
                struct cred_gcp_facts facts;
                cred_gcp_facts(NULL, &facts);
        }
        const struct cred_want want = {.vendor = vendor};
        int err = cred_chain_open(&want, &c, why, sizeof why);
        if (!err)
                err = cred_chain_wait(c, &cred, why, sizeof why);
        *sound = err ? *why : cred.kind == CRED_KEYS ? cred.access && cred.secret : !!cred.token;
        return err;
}

static void set_server(const char *variable, const char *url, const char *path)
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;

        buf_addf(&text, "%s%s", url, path);
        setenv(variable, text.p, 1);
}

static void set_environment(const struct source *s, const char *url)
{
        for (int i = 0; i < 4 && s->env[i]; i++) {
                if (!strcmp(s->env[i], "GCE=@"))
                        set_server("GCE_METADATA_HOST", strstr(url, "://") + 3, "");
                else if (!strcmp(s->env[i], "IMDS=@"))
                        set_server("AWS_EC2_METADATA_SERVICE_ENDPOINT", url, "");
                else if (!strcmp(s->env[i], "CONTAINER=@"))
                        set_server("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, "/container");
                else if (!strcmp(s->env[i], "SSO=@")) {
                        unsetenv("AWS_CONFIG_FILE");
                        set_server("AWS_ENDPOINT_URL_SSO", url, "");
                        set_server("AWS_ENDPOINT_URL_SSO_OIDC", url, "");
                } else
                        putenv((char *)(uintptr_t)s->env[i]);
        }
}

static void make_dir(void)
{
        static const char *const folders[] = {".aws", ".aws/sso", ".aws/sso/cache"};
        static const char config[] =
                "[default]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = r\n"
                "[sso-session corp]\nsso_region = r\nsso_start_url = x\n";
        const char *path = getenv("PATH");
        CLEANUP(freep) char *kept = strdup(path ? path : "/bin");

        clearenv();
        setenv("PATH", kept, 1);
        setenv("NO_GCE_CHECK", "1", 1);
        setenv("AWS_CONFIG_FILE", "/dev/null", 1);
        setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
        setenv("all_proxy", "http://127.0.0.1:1", 1); /* nothing leaves this machine */
        snprintf(dir, sizeof dir, "/tmp/ckptfs-types-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(dir));
        setenv("HOME", dir, 1);
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
                CLEANUP(buf_release) struct buf folder = BUF_INIT;
                buf_addf(&folder, "%s/%s", dir, folders[i]);
                ck_assert_int_eq(mkdir(folder.p, 0700), 0);
        }
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        buf_adds(&text, config);
        write_file(".aws/config", &text, NULL);
}

static void remove_dir(void)
{
        static const char *const names[] = {
                "/.aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json",
                "/.aws/sso/cache",
                "/.aws/sso",
                "/.aws/config",
                "/.aws",
                "/file",
                "/printed",
                ""};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                CLEANUP(buf_release) struct buf path = BUF_INIT;
                buf_addf(&path, "%s%s", dir, names[i]);
                remove(path.p);
        }
}

START_TEST(a_value_of_another_type_is_an_error_and_no_more)
{
        const struct source *s = &sources[_i];
        struct trial t = {.source = s, .which = -1, .place = -1, .by = ""};
        struct fake *f = fake_start(answer, &t);
        unsigned errors = 0;
        bool sound;

        t.url = fake_url(f);
        set_environment(s, t.url);
        if (getenv("GCE_METADATA_HOST"))
                unsetenv("NO_GCE_CHECK");
        if (getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"))
                unsetenv("AWS_EC2_METADATA_DISABLED");
        ck_assert_msg(!fetch(&t, &sound) && sound, "%s does not work as it is", s->name);
        for (t.which = 0; t.which <= FILE_TEXT; t.which++) {
                const char *marked = t.which == FILE_TEXT ? s->file : s->replies[t.which].text;
                CLEANUP(buf_release) struct buf text = BUF_INIT;
                int places = marked ? expand(&text, marked, -1, "", t.url) : 0;
                for (t.place = 0; t.place < places; t.place++)
                        for (int i = 0; i < NOTHERS; i++) {
                                t.by = others[i];
                                errors += fetch(&t, &sound) != 0;
                                ck_assert_msg(sound, "%s: text %d, place %d, %s", s->name, t.which,
                                              t.place, t.by);
                        }
        }
        ck_assert_uint_gt(errors, 0);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("cred_types");
        TCase *t = tcase_create("cred_types");

        tcase_add_checked_fixture(t, make_dir, remove_dir);
        tcase_add_loop_test(t, a_value_of_another_type_is_an_error_and_no_more, 0,
                            sizeof sources / sizeof *sources);
        suite_add_tcase(s, t);
        return unit_main(s);
}
