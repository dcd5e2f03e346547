/* SPDX-License-Identifier: Apache-2.0 */
/* test_cred_parts.c: what sources of credentials are made of: times, commands, sections of the
 * shared files, and signatures of claims. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "store/cred/cred_int.h"
#include "base/sign/sign_rs256.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *text;
        time_t time;
} times[] = {
        {"1970-01-01T00:00:01Z", 1},
        {"2026-11-22T01:02:03Z", 1795309323},
        {"2026-11-22T01:02:03.123456Z", 1795309323},
        {"2026-11-22T01:02:03UTC", 1795309323},
        {"2026-11-22T03:02:03+02:00", 1795309323},
        {"2026-11-21T20:02:03-0500", 1795309323},
        {"2026-11-22T01:02:03", 0},
        {"2026-11-22", 0},
        {"2026-11-22T01:02:03+2", 0},
        {"2026-11-22T01:02:03+02:xx", 0},
        {"tomorrow", 0},
        {"", 0},
        {NULL, 0},
};

START_TEST(a_time_is_read_in_all_its_forms)
{
        ck_assert_int_eq(cred_time(times[_i].text), times[_i].time);
}
END_TEST

static const struct {
        const char *command;
        const char *argv[5]; /* none: refused */
} commands[] = {
        {"a b  c", {"a", "b", "c"}},
        {" '/a b/c' \"d e\" f'g'h ", {"/a b/c", "d e", "fgh"}},
        {"a \\  \"\\\"\\n\" '\\'", {"a", " ", "\"\\n", "\\"}},
        {"a '' $(b) ;c", {"a", "", "$(b)", ";c"}},
        {"a 'b", {0}},
        {"a \"b\\\"", {0}},
        {"  ", {0}},
        {"", {0}},
};

START_TEST(a_command_is_split_and_nothing_in_it_expands)
{
        CLEANUP(freep) char **argv = cred_split(commands[_i].command);
        size_t n = 0;

        if (!commands[_i].argv[0]) {
                ck_assert_ptr_null(argv);
                return;
        }
        ck_assert_ptr_nonnull(argv);
        for (; commands[_i].argv[n]; n++)
                ck_assert_str_eq(argv[n], commands[_i].argv[n]);
        ck_assert_ptr_null(argv[n]);
}
END_TEST

static const char config[] = "[profile a]\nregion = x\ns3 =\n  endpoint_url = nested\n  odd\n"
                             "endpoint_url = own\nservices = svc\n[services svc]\ns3 =\n"
                             "\tendpoint_url=http://s3\nsts =\n endpoint_url = http://sts # c\n"
                             "region = y\n[sso-session a]\nsso_region = z\n[services]\nq = 1\n";

static const struct {
        const char *kind, *name, *setting, *value;
} settings[] = {
        {"profile", "a", "region", "x"},
        {"profile", "a", "s3.endpoint_url", "nested"},
        {"profile", "a", "endpoint_url", "own"},
        {"profile", "a", "sso_region", NULL},
        {"services", "svc", "s3.endpoint_url", "http://s3"},
        {"services", "svc", "sts.endpoint_url", "http://sts"},
        {"services", "svc", "endpoint_url", NULL},
        {"services", "svc", "region", "y"},
        {"sso-session", "a", "sso_region", "z"},
        {"sso-session", "b", "sso_region", NULL},
};

START_TEST(a_section_has_its_own_settings)
{
        char file[] = "/tmp/ckptfs-config-XXXXXX", why[200] = "";
        CLEANUP(closep) int fd = mkstemp(file);
        CLEANUP(profile_release) struct profile p = {0};

        ck_assert_int_eq(write(fd, config, sizeof config - 1), sizeof config - 1);
        setenv("AWS_CONFIG_FILE", file, 1);
        setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
        int err = profile_load(settings[_i].kind, settings[_i].name, &p, why, sizeof why);
        unlink(file);
        ck_assert_msg(!err, "%s", why);
        ck_assert_pstr_eq(profile_get(&p, settings[_i].setting), settings[_i].value);
}
END_TEST

/* Made with openssl genpkey, and openssl dgst -sha256 -sign of "header.claims". */
static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCObriYKH97q/ZC\n"
                          "gwrzq3Ylk9kg4HX/4M/sKCXdDjny7jWXaygpySXlVd+WgkfpEljRvB9Et9s8osuW\n"
                          "iDY6qczE4vpxmxqA13n7GwA0Gza4N8qBKGSpQWoqLj2Q8T1kmEdq7yUdFZs4f0LH\n"
                          "OA2Ph0Oa5sZR5fa5O/HPVXEP9aiCAk4CTK8NoGWI4HV017zInxrO9IkXoa2Zv1BL\n"
                          "n011iQ3fzmdWx/LfOj/CFYzIozhROXvqQECzZEy2HXttRYIMe9vQQGaR1NJWTJDR\n"
                          "cU3KExKQSa2DRDQKgPP2gXM68VVPoYbXyjJla9Ma9Vj9kJQ+7gWNq2dzchiAQOjj\n"
                          "KNa8uE93AgMBAAECggEAKfFa9JvAZsfN3eo++GB+izRNlUvkE7S9Jdrww3bkA7C4\n"
                          "IV3R1vQ/75fpHqZAzNa1RxXx00edDO8Xqr1z0rSb80Kv43J8TIKnjhV2auG0rGzp\n"
                          "ej1N3zW/MKqrQJp5rLzXExtXP4hUTD/Vh1rvS1vWwa/BqO5iSEvpuld70upRc+8P\n"
                          "WSHeRbOH+8d16fAvNUbuhRPtnTu0z5IaprEK8wKhh40ZuZw12QE8fMFE+9kAoD3y\n"
                          "Y9bdC0EDelvavRAQzn6GELsEyAwg4niOMxcT+6Ga3ePslDODZu7cI4Iy2g1cm4cd\n"
                          "NbFpOt8LrrnQW5vt8FxYmhzoYEiF//Tt94UvdOvTUQKBgQC/i0siOcjhuh0Hkg4Y\n"
                          "DvfisrZRKmyE3uyDZVKE2qxU7kHYFb3SbWUQ+Rr8nMX+OS4mw/gWA09A0M2uX98S\n"
                          "mjZXFfrHpjVZUb2P/baindRDewbY2zPS+3aMpQNczZZOFb7sxHZco9zChLf1gWFB\n"
                          "NZuJXmgNrQNGIHVQMBID0FQqPwKBgQC+XKwa9ChonEVqmqo3haqC9tfezB7i/gm6\n"
                          "QHc8dc43ebEnZLkcmFAulhI3z+Kh+04ImbXDYQJYsd2rDi90M3iRWjuSixheyPrd\n"
                          "Y0q5kbN3qRn+t8uDSiVNzhKEeEGrkR57tvE2EaznTzZ2lLwErTTrBTTb4AW06ApX\n"
                          "NGFmUmvcyQKBgHvRExRgvhYMNM+7/hhXNK36UBhPkC6j28dkK99ta5DLIw0HoNjx\n"
                          "li9Ol79LqEEZvVeZvjickxKW5x4dIxnnTdEliCKeskW2rQ7zNqgP1jJ4yIhNykZL\n"
                          "/uoTkQTgcJSxQeXTaZ+g3Qdwu2mb5L4+ZPh7ak/M0xz1xl+7cym79WwJAoGBALnc\n"
                          "2d1nTpz1F4HCiTe0toswYA0U14Nh7jWAA+twSmw30RRZb7PPs1oJBLihrPHi4Ind\n"
                          "Km8dJKFc6MW/D+4w4yNoKoombSD+spG+BJOzArtuzAa7hWUm281fywy0LcpJ4q2A\n"
                          "LXtRPrSJzu9wwTL/uo9NghK8ZFYByTbj2cWB6/ahAoGAO9eACcXiPOgG4sUKw12e\n"
                          "O764Yryx7x6P8fmmlomxsX4JKkKmxb1HvJurYnZ0iJUgLTsk848YiXb0zAwVZJIG\n"
                          "0Bp18Dit8NBLIoHoMeOJeh10ZM5rLaX1sbzmHwzUhzs0Xln0r5v3Bkqm1A93zvJT\n"
                          "qFtT9ABLHjpl/vYWHT3AoS8=\n"
                          "-----END PRIVATE KEY-----\n";
static const char signature[] =
        "Rx0C4kkS2RYxZZ0kT7/p2SfYbEnGxpyksAJDlXkaRUVevuvJ8uJfdmbw+7FKunrFMHggGHi9e4CG"
        "zH+LLLllhVCKGC9Jl09JSAGCWGV0Id2j5h+gkK8I5BbEOesghne6rx6phmcitdawsZ/8pG/Y41tQ"
        "LgBontFYNppNasUSJt6Sd7siXFG3TgmD9tpuLSqnHiPHEAAeDfNKphtvGNtQQnVBZCoraOJhP/fM"
        "m5egzU/n1dagz/FhoLXBHVAbSHsbix0vMfYFMHZSwWI+x85YrQYv1lLQBng43mqewAN7dQ1bxrZO"
        "OWzBzSAHXMGGHC4xIsIWyKu6pojXU/IUKoGoOQ==";

START_TEST(a_claim_is_signed_as_openssl_does)
{
        CLEANUP(buf_release) struct buf s = BUF_INIT;
        char text[400];

        ck_assert_int_eq(sign_rs256(pem, "header.claims", 13, &s), 0);
        ck_assert_uint_eq(s.len, 256);
        base64_encode(s.p, s.len, text);
        ck_assert_str_eq(text, signature);
}
END_TEST

START_TEST(what_is_no_key_signs_nothing)
{
        static const char *const texts[] = {
                "", "key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"};
        CLEANUP(buf_release) struct buf s = BUF_INIT;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
                ck_assert_int_eq(sign_rs256(texts[i], "m", 1, &s), -EINVAL);
        ck_assert_uint_eq(s.len, 0);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("cred_parts");
        TCase *t = tcase_create("cred_parts");
        tcase_add_loop_test(t, a_time_is_read_in_all_its_forms, 0, sizeof times / sizeof *times);
        tcase_add_loop_test(t, a_command_is_split_and_nothing_in_it_expands, 0,
                            sizeof commands / sizeof *commands);
        tcase_add_loop_test(t, a_section_has_its_own_settings, 0,
                            sizeof settings / sizeof *settings);
        tcase_add_test(t, a_claim_is_signed_as_openssl_does);
        tcase_add_test(t, what_is_no_key_signs_nothing);
        suite_add_tcase(s, t);
        return unit_main(s);
}
