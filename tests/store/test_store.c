/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c: the whole of store.h against one server; each case is a promise of that header. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"
#include "tests/store/server.h"

#include "base/banned.h"

static const char *prefix(void)
{
        if (server_is("localstack-s3"))
                return "plain";
        return server_is("radosgw") ? "pre fix+/\xc3\xbc" : "pre fix+%/\xc3\xbc";
}

struct store *server_store(void)
{
        static unsigned turn;
        struct timespec now;
        struct store *s;
        char url[256], why[512];

        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(url, sizeof url, "%s://%s/%s%d-%ld-%u", getenv("CKPTFS_TEST_SCHEME"),
                 getenv("CKPTFS_TEST_BUCKET"), prefix(), (int)getpid(), now.tv_nsec, turn++);
        struct store_config cfg = {
                .url = url, .endpoint = getenv("CKPTFS_TEST_ENDPOINT"), .deadline_ms = 20000};
        int err = store_open(&cfg, &s, why, sizeof why);
        ck_assert_msg(!err, "%s", why);
        return s;
}

void server_lacks(const char *what)
{
        printf("# %s: not tested: %s\n", getenv("CKPTFS_TEST_KIND"), what);
        fflush(stdout);
}

bool server_is(const char *kind)
{
        return !strcmp(getenv("CKPTFS_TEST_KIND"), kind);
}

const char *server_other_version(void)
{
        /* a generation is a number, an ETag is quoted */
        return !strcmp(getenv("CKPTFS_TEST_SCHEME"), "gs") ? "123"
                                                           : "\"00112233445566778899aabbccddeeff\"";
}

static char pattern_byte(uint64_t at)
{
        return (char)((at * 0x9e3779b97f4a7c15ULL) >> 56);
}

char *pattern(uint64_t off, size_t n)
{
        char *p = malloc(n + 1);
        ck_assert_ptr_nonnull(p);
        for (size_t i = 0; i < n; i++)
                p[i] = pattern_byte(off + i);
        p[n] = 0;
        return p;
}

bool is_pattern(const char *p, uint64_t off, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (p[i] != pattern_byte(off + i))
                        return false;
        return true;
}

/* --- who may, and where --- */

static int check_with(const char *bucket, const char *access, const char *secret,
                      const char *region, char *why, size_t nwhy)
{
        char url[256];
        struct store *s;

        setenv("AWS_ACCESS_KEY_ID", access, 1);
        setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
        snprintf(url, sizeof url, "s3://%s", bucket);
        struct store_config cfg = {
                .url = url, .endpoint = getenv("CKPTFS_TEST_ENDPOINT"), .region = region};
        int err = store_open(&cfg, &s, why, nwhy);
        if (err)
                return err;
        err = store_check(s, why, nwhy);
        store_close(s);
        return err;
}

START_TEST(a_check_passes_with_good_credentials)
{
        char why[512];
        int err = check_with(getenv("CKPTFS_TEST_BUCKET"), getenv("AWS_ACCESS_KEY_ID"),
                             getenv("AWS_SECRET_ACCESS_KEY"), "us-east-1", why, sizeof why);
        ck_assert_msg(!err, "%s", why);
        ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(a_missing_bucket_is_named)
{
        char why[512];
        int err = check_with("no-such-bucket-here", getenv("AWS_ACCESS_KEY_ID"),
                             getenv("AWS_SECRET_ACCESS_KEY"), "us-east-1", why, sizeof why);
        ck_assert_int_eq(err, -ENOENT);
        ck_assert_msg(strstr(why, "no-such-bucket-here does not exist") != NULL, "%s", why);
}
END_TEST

START_TEST(a_wrong_access_key_is_told)
{
        char why[512];
        int err = check_with(getenv("CKPTFS_TEST_BUCKET"), "nobody-knows-this",
                             getenv("AWS_SECRET_ACCESS_KEY"), "us-east-1", why, sizeof why);
        if (server_is("localstack-s3")) {
                server_lacks("signatures are not checked");
                return;
        }
        ck_assert_int_eq(err, -EACCES);
        ck_assert_msg(strstr(why, "AWS_ACCESS_KEY_ID") != NULL, "%s", why);
}
END_TEST

START_TEST(a_wrong_secret_is_told)
{
        char why[512];
        int err = check_with(getenv("CKPTFS_TEST_BUCKET"), getenv("AWS_ACCESS_KEY_ID"),
                             "not the secret", "us-east-1", why, sizeof why);
        if (server_is("localstack-s3")) {
                server_lacks("signatures are not checked");
                return;
        }
        ck_assert_int_eq(err, -EACCES);
        ck_assert_msg(strstr(why, "AWS_SECRET_ACCESS_KEY") != NULL, "%s", why);
}
END_TEST

START_TEST(a_wrong_region_is_corrected_by_what_the_store_names)
{
        char why[512];
        int err = check_with(getenv("CKPTFS_TEST_BUCKET"), getenv("AWS_ACCESS_KEY_ID"),
                             getenv("AWS_SECRET_ACCESS_KEY"), "eu-west-7", why, sizeof why);
        if (err && strstr(why, "set region"))
                server_lacks("it does not name the region");
        else
                ck_assert_msg(!err, "%s", why);
}
END_TEST

START_TEST(a_server_is_trusted_by_ca_bundle_alone)
{
        const char *endpoint = getenv("CKPTFS_TEST_TLS_ENDPOINT");
        struct store_config cfg = {.url = "s3://test-bucket", .endpoint = endpoint};
        struct store *s;
        char why[512];

        if (!endpoint) {
                server_lacks("no server with TLS");
                return;
        }
        ck_assert_int_eq(store_open(&cfg, &s, why, sizeof why), 0);
        ck_assert_int_eq(store_check(s, why, sizeof why), -EIO);
        ck_assert_msg(strstr(why, "set ca_bundle") != NULL, "%s", why);
        store_close(s);
        cfg.ca_bundle = getenv("CKPTFS_TEST_CA");
        ck_assert_int_eq(store_open(&cfg, &s, why, sizeof why), 0);
        ck_assert_msg(!store_check(s, why, sizeof why), "%s", why);
        ck_assert_int_eq(store_put_wait(s, "tls", "x", 1, NULL, NULL, NULL), 0);
        store_close(s);
}
END_TEST

static TCase *access_cases(void)
{
        TCase *t = tcase_create("access");
        tcase_add_test(t, a_check_passes_with_good_credentials);
        tcase_add_test(t, a_missing_bucket_is_named);
        tcase_add_test(t, a_wrong_access_key_is_told);
        tcase_add_test(t, a_wrong_secret_is_told);
        tcase_add_test(t, a_wrong_region_is_corrected_by_what_the_store_names);
        tcase_add_test(t, a_server_is_trusted_by_ca_bundle_alone);
        return t;
}

int main(void)
{
        if (!getenv("CKPTFS_TEST_ENDPOINT") || !getenv("CKPTFS_TEST_BUCKET")) {
                printf("1..0 # SKIP no server: set CKPTFS_TEST_ENDPOINT and CKPTFS_TEST_BUCKET\n");
                return 0;
        }
        Suite *suite = suite_create("store");
        if (!strcmp(getenv("CKPTFS_TEST_SCHEME"), "s3"))
                suite_add_tcase(suite, access_cases());
        suite_add_tcase(suite, object_cases());
        suite_add_tcase(suite, list_cases());
        suite_add_tcase(suite, upload_cases());
        return unit_main(suite);
}
