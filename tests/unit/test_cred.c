/* SPDX-License-Identifier: Apache-2.0 */
/* test_cred.c: which source wins, and what is said when none does. Each case has a home of its
 * own and a clean environment; libcheck runs it in a process of its own. */
#include "store/cred/cred.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static char home[64];

static int open_chain(const char *profile, struct cred_chain **c, char *why, size_t nwhy)
{
        const struct cred_want want = {.vendor = &cred_aws, .profile = profile};
        return cred_chain_open(&want, c, why, nwhy);
}

static void write_file(const char *name, const char *text)
{
        CLEANUP(buf_release) struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", home, name);
        CLEANUP(fclosep) FILE *f = fopen(path.p, "w");
        ck_assert_ptr_nonnull(f);
        fputs(text, f);
}

static void make_home(void)
{
        CLEANUP(buf_release) struct buf dir = BUF_INIT;
        clearenv();
        setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
        snprintf(home, sizeof home, "/tmp/ckptfs-cred-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(home));
        setenv("HOME", home, 1);
        buf_addf(&dir, "%s/.aws", home);
        ck_assert_int_eq(mkdir(dir.p, 0700), 0);
        write_file(
                ".aws/credentials",
                "# keys\n[default]\naws_access_key_id = DEFKEY\n"
                "aws_secret_access_key=defsecret/+=\r\n\n[work]\n"
                "aws_access_key_id\t=\tWORKKEY  # a comment\naws_secret_access_key = worksecret\n"
                "aws_session_token = worktoken\n[half]\naws_access_key_id = HALF\n");
        write_file(".aws/config",
                   "[default]\nregion = eu-west-1\n[profile work]\nregion = ap-south-1 ; far\n"
                   "endpoint_url = http://127.0.0.1:9000\nca_bundle = /etc/w.pem\ns3 =\n"
                   "  max_concurrent_requests = 20\n  junk without sign\n"
                   "[profile sso]\nsso_session = corp\n[work]\nregion = wrong\n"
                   "[profile configkeys]\naws_access_key_id = CFG\naws_secret_access_key = s");
}

static void remove_home(void)
{
        static const char *const names[] = {"/.aws/credentials", "/.aws/config", "/other", "/.aws",
                                            ""};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                CLEANUP(buf_release) struct buf path = BUF_INIT;
                buf_addf(&path, "%s%s", home, names[i]);
                remove(path.p);
        }
}

static const struct {
        const char *profile; /* argument */
        const char *env[6];
        const char *access, *secret, *token;
} wins[] = {
        {NULL, {0}, "DEFKEY", "defsecret/+=", NULL},
        {"work", {0}, "WORKKEY", "worksecret", "worktoken"},
        {NULL, {"AWS_PROFILE=work"}, "WORKKEY", "worksecret", "worktoken"},
        {NULL,
         {"AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=es", "AWS_SESSION_TOKEN=et"},
         "ENV",
         "es",
         "et"},
        {NULL,
         {"AWS_PROFILE=work", "AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=es"},
         "ENV",
         "es",
         NULL},
        {"work",
         {"AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=es"},
         "WORKKEY",
         "worksecret",
         "worktoken"},
        {"", {"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}, "DEFKEY", "defsecret/+=", NULL},
        {"configkeys", {0}, "CFG", "s", NULL},
        {NULL, {"AWS_SHARED_CREDENTIALS_FILE=~/other"}, "OTHER", "os", NULL},
};

static void set_env(const char *const *env)
{
        for (; *env; env++)
                ck_assert_int_eq(putenv((char *)(uintptr_t)*env), 0);
}

START_TEST(the_first_source_wins)
{
        CLEANUP(cred_chain_closep) struct cred_chain *c = NULL;
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        char why[1024];

        write_file("other", "[default]\naws_access_key_id=OTHER\naws_secret_access_key=os\n");
        set_env(wins[_i].env);
        ck_assert_int_eq(open_chain(wins[_i].profile, &c, why, sizeof why), 0);
        ck_assert_int_eq(cred_chain_wait(c, &cred, why, sizeof why), 0);
        ck_assert_str_eq(cred.access, wins[_i].access);
        ck_assert_str_eq(cred.secret, wins[_i].secret);
        ck_assert_pstr_eq(cred.token, wins[_i].token);
        ck_assert_int_eq(cred.expiry, 0);
}
END_TEST

static const struct {
        const char *profile;
        const char *env[3];
        int err;
        const char *why; /* %s is the home */
} fails[] = {
        {"none",
         {0},
         -ENOENT,
         "profile 'none' is not in %s/.aws/config or %s/.aws/credentials: name one that is there, "
         "or add it"},
        {NULL,
         {"AWS_PROFILE=gone"},
         -ENOENT,
         "profile 'gone' is not in %s/.aws/config or %s/.aws/credentials: name one that is there, "
         "or add it"},
        {"half",
         {0},
         -EINVAL,
         "profile 'half' has aws_access_key_id but no aws_secret_access_key: add it in "
         "%s/.aws/credentials"},
        {"sso",
         {0},
         -EINVAL,
         "profile 'sso' names sso_session 'corp', which is not in %s/.aws/config: add "
         "[sso-session corp]"},
        {NULL,
         {"AWS_ACCESS_KEY_ID=ENV"},
         -EINVAL,
         "AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not: set both or neither"},
        {NULL,
         {"AWS_SHARED_CREDENTIALS_FILE=/nonexistent"},
         -ENOENT,
         "no credentials (environment: AWS_ACCESS_KEY_ID is not set; "
         "profile: 'default' has no credentials in /nonexistent or %s/.aws/config; web identity: "
         "AWS_WEB_IDENTITY_TOKEN_FILE is not set; container: AWS_CONTAINER_CREDENTIALS_FULL_URI is "
         "not set; instance metadata: AWS_EC2_METADATA_DISABLED is set): set AWS_ACCESS_KEY_ID and "
         "AWS_SECRET_ACCESS_KEY, name a profile that has keys, give this machine a role, or set "
         "anonymous where none are asked for"},
        {NULL,
         {"AWS_CONFIG_FILE=~/other"},
         -EINVAL,
         "%s/other:2: Invalid argument: write [SECTION] or NAME = VALUE"},
};

START_TEST(a_failure_says_cause_and_remedy)
{
        CLEANUP(cred_chain_closep) struct cred_chain *c = NULL;
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        CLEANUP(buf_release) struct buf want = BUF_INIT;
        char why[1024];

        write_file("other", "[default]\nno equals sign\n");
        set_env(fails[_i].env);
        int err = open_chain(fails[_i].profile, &c, why, sizeof why);
        if (!err)
                err = cred_chain_wait(c, &cred, why, sizeof why);
        ck_assert_int_eq(err, fails[_i].err);
        for (const char *s = fails[_i].why; *s; s++) {
                if (s[0] == '%' && s[1] == 's') {
                        buf_adds(&want, home);
                        s++;
                } else {
                        buf_addc(&want, *s);
                }
        }
        ck_assert_str_eq(why, want.p);
}
END_TEST

static const struct {
        const char *profile, *env[4], *region, *endpoint, *ca_bundle;
} settings[] = {
        {NULL, {0}, "eu-west-1", NULL, NULL},
        {"work", {0}, "ap-south-1", "http://127.0.0.1:9000", "/etc/w.pem"},
        {"work",
         {"AWS_DEFAULT_REGION=r2", "AWS_ENDPOINT_URL=http://b"},
         "r2",
         "http://b",
         "/etc/w.pem"},
        {"work",
         {"AWS_DEFAULT_REGION=r2", "AWS_REGION=r1", "AWS_ENDPOINT_URL_S3=http://a",
          "AWS_CA_BUNDLE=/e.pem"},
         "r1",
         "http://a",
         "/e.pem"},
        {"work", {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true"}, "ap-south-1", NULL, "/etc/w.pem"},
        {NULL, {"AWS_CONFIG_FILE=/nonexistent"}, NULL, NULL, NULL},
};

START_TEST(settings_come_in_the_vendors_order)
{
        CLEANUP(cred_chain_closep) struct cred_chain *c = NULL;
        char why[1024];
        for (int i = 0; i < 4 && settings[_i].env[i]; i++)
                ck_assert_int_eq(putenv((char *)(uintptr_t)settings[_i].env[i]), 0);
        ck_assert_int_eq(open_chain(settings[_i].profile, &c, why, sizeof why), 0);
        ck_assert_pstr_eq(cred_chain_region(c, ""), settings[_i].region);
        ck_assert_pstr_eq(cred_chain_endpoint(c, NULL), settings[_i].endpoint);
        ck_assert_pstr_eq(cred_chain_ca_bundle(c, NULL), settings[_i].ca_bundle);
        ck_assert_str_eq(cred_chain_region(c, "arg"), "arg");
        ck_assert_str_eq(cred_chain_endpoint(c, "arg"), "arg");
        ck_assert_str_eq(cred_chain_ca_bundle(c, "arg"), "arg");
}
END_TEST

START_TEST(changed_keys_are_seen_after_forget)
{
        CLEANUP(cred_chain_closep) struct cred_chain *c = NULL;
        struct cred cred;
        char why[1024];
        ck_assert_int_eq(open_chain(NULL, &c, why, sizeof why), 0);
        ck_assert_int_eq(cred_chain_wait(c, &cred, why, sizeof why), 0);
        cred_release(&cred);
        write_file(".aws/credentials",
                   "[default]\naws_access_key_id=NEW\naws_secret_access_key=n\n");
        ck_assert_int_eq(cred_chain_wait(c, &cred, why, sizeof why), 0);
        ck_assert_str_eq(cred.access, "DEFKEY");
        unsigned serial = cred.serial;
        cred_release(&cred);
        cred_chain_forget(c, serial);
        ck_assert_int_eq(cred_chain_wait(c, &cred, why, sizeof why), 0);
        ck_assert_str_eq(cred.access, "NEW");
        cred_release(&cred);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("cred");
        TCase *t = tcase_create("cred");
        tcase_add_checked_fixture(t, make_home, remove_home);
        tcase_add_loop_test(t, the_first_source_wins, 0, sizeof wins / sizeof *wins);
        tcase_add_loop_test(t, a_failure_says_cause_and_remedy, 0, sizeof fails / sizeof *fails);
        tcase_add_loop_test(t, settings_come_in_the_vendors_order, 0,
                            sizeof settings / sizeof *settings);
        tcase_add_test(t, changed_keys_are_seen_after_forget);
        suite_add_tcase(s, t);
        return unit_main(s);
}
