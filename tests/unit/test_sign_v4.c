/* SPDX-License-Identifier: Apache-2.0 */
/* test_sign_v4.c: the vendor's published vectors, from both ends.
 *
 * s3: S3 API reference, "Authenticating Requests: Using the Authorization Header", its four
 * examples. suite: aws-sig-v4-test-suite; of it what S3 signs in the same way (S3 does not
 * normalise paths). */
#include "base/sign/sign_v4.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

#define AMZ_SHA(v)                                                                                 \
        {                                                                                          \
                "x-amz-content-sha256", v                                                          \
        }
#define HELLO "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
#define S3_HOST                                                                                    \
        {                                                                                          \
                "Host", "examplebucket.s3.amazonaws.com"                                           \
        }
#define SUITE_HOST                                                                                 \
        {                                                                                          \
                "Host", "example.amazonaws.com"                                                    \
        }

static const struct sign_key s3_key = {.access = "AKIAIOSFODNN7EXAMPLE",
                                       .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                       .region = "us-east-1",
                                       .service = "s3"};
static const struct sign_key suite_key = {.access = "AKIDEXAMPLE",
                                          .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                          .region = "us-east-1",
                                          .service = "service"};
static const struct sign_key token_key = {
        .access = "AKIDEXAMPLE",
        .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        .region = "us-east-1",
        .service = "service",
        .token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"};

static const struct {
        const char *name;
        const struct sign_key *key;
        const char *date, *method, *path, *payload;
        struct uri_pair query[3], headers[5];
        const char *signed_headers, *signature;
} vectors[] = {
        {"s3 get object",
         &s3_key,
         "20130524T000000Z",
         "GET",
         "/test.txt",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {S3_HOST, {"Range", "bytes=0-9"}, AMZ_SHA(SIGN_EMPTY_PAYLOAD)},
         "host;range;x-amz-content-sha256;x-amz-date",
         "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
        {"s3 put object",
         &s3_key,
         "20130524T000000Z",
         "PUT",
         "/test%24file.text",
         HELLO,
         {{0}},
         {S3_HOST,
          {"Date", "Fri, 24 May 2013 00:00:00 GMT"},
          AMZ_SHA(HELLO),
          {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
         "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
         "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
        {"s3 get bucket lifecycle",
         &s3_key,
         "20130524T000000Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{"lifecycle", ""}},
         {S3_HOST, AMZ_SHA(SIGN_EMPTY_PAYLOAD)},
         "host;x-amz-content-sha256;x-amz-date",
         "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
        {"s3 list objects",
         &s3_key,
         "20130524T000000Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{"prefix", "J"}, {"max-keys", "2"}},
         {S3_HOST, AMZ_SHA(SIGN_EMPTY_PAYLOAD)},
         "host;x-amz-content-sha256;x-amz-date",
         "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
        {"get-vanilla",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST},
         "host;x-amz-date",
         "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        {"get-unreserved",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST},
         "host;x-amz-date",
         "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
        {"get-utf8",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/%E1%88%B4",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST},
         "host;x-amz-date",
         "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
        {"get-space",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/example%20space/",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST},
         "host;x-amz-date",
         "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
        {"get-vanilla-query-order-key-case",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{"Param2", "value2"}, {"Param1", "value1"}},
         {SUITE_HOST},
         "host;x-amz-date",
         "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
        {"get-vanilla-query-order-value",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{"Param1", "value2"}, {"Param1", "value1"}},
         {SUITE_HOST},
         "host;x-amz-date",
         "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
        {"get-vanilla-utf8-query",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{"\xe1\x88\xb4", "bar"}},
         {SUITE_HOST},
         "host;x-amz-date",
         "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
        {"get-header-value-order",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST,
          {"My-Header1", "value4"},
          {"My-Header1", "value1"},
          {"My-Header1", "value3"},
          {"My-Header1", "value2"}},
         "host;my-header1;x-amz-date",
         "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
        {"get-header-key-duplicate",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST, {"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
         "host;my-header1;x-amz-date",
         "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
        {"get-header-value-trim",
         &suite_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST, {"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
         "host;my-header1;my-header2;x-amz-date",
         "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
        {"post-x-www-form-urlencoded",
         &suite_key,
         "20150830T123600Z",
         "POST",
         "/",
         "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
         {{0}},
         {SUITE_HOST, {"Content-Type", "application/x-www-form-urlencoded"}},
         "content-type;host;x-amz-date",
         "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
        {"post-sts-header-before",
         &token_key,
         "20150830T123600Z",
         "GET",
         "/",
         SIGN_EMPTY_PAYLOAD,
         {{0}},
         {SUITE_HOST},
         "host;x-amz-date;x-amz-security-token",
         "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
};

static struct sign_request request_of(int i)
{
        struct sign_request req = {.method = vectors[i].method,
                                   .path = vectors[i].path,
                                   .query = vectors[i].query,
                                   .headers = vectors[i].headers,
                                   .payload_hash = vectors[i].payload};
        while (req.nquery < 3 && vectors[i].query[req.nquery].name)
                req.nquery++;
        while (req.nheaders < 5 && vectors[i].headers[req.nheaders].name)
                req.nheaders++;
        return req;
}

START_TEST(signs_as_the_vendor_published)
{
        CLEANUP(buf_release) struct buf auth = BUF_INIT, want = BUF_INIT;
        struct sign_request req = request_of(_i);
        const struct sign_key *k = vectors[_i].key;
        char date[SIGN_DATE_LEN];
        time_t when;

        ck_assert_int_eq(sign_v4_parse_date(vectors[_i].date, &when), 0);
        ck_assert_int_eq(sign_v4(&req, k, when, date, &auth), 0);
        ck_assert_str_eq(date, vectors[_i].date);
        buf_addf(&want,
                 "AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request, SignedHeaders=%s, "
                 "Signature=%s",
                 k->access, date, k->region, k->service, vectors[_i].signed_headers,
                 vectors[_i].signature);
        ck_assert_msg(!strcmp(auth.p, want.p), "%s:\n got %s\nwant %s", vectors[_i].name, auth.p,
                      want.p);
}
END_TEST

/* The signature of a request whose key differs in one thing from the one before. */
static void expect_same(const struct sign_request *req, struct sign_key key, time_t when,
                        struct sign_cache *cache)
{
        CLEANUP(buf_release) struct buf kept = BUF_INIT, anew = BUF_INIT;
        char date[SIGN_DATE_LEN];

        key.cache = NULL;
        ck_assert_int_eq(sign_v4(req, &key, when, date, &anew), 0);
        key.cache = cache;
        for (int i = 0; i < 2; i++) {
                ck_assert_int_eq(sign_v4(req, &key, when, date, &kept), 0);
                ck_assert_str_eq(kept.p, anew.p);
                kept.len = 0;
        }
}

START_TEST(a_key_that_is_kept_signs_for_its_own_scope_alone)
{
        struct sign_request req = request_of(0);
        struct sign_key key = s3_key;
        struct sign_cache cache;
        const time_t day = 86400;

        sign_cache_init(&cache);
        expect_same(&req, key, 0, &cache);
        expect_same(&req, key, day - 1, &cache);
        expect_same(&req, key, day, &cache);
        key.secret = "another";
        expect_same(&req, key, day, &cache);
        key.region = "eu-west-1";
        expect_same(&req, key, day, &cache);
        key.service = "s3express";
        expect_same(&req, key, day, &cache);
        expect_same(&req, s3_key, 0, &cache);
        sign_cache_release(&cache);
}
END_TEST

/* The request of vector i as a server receives it: with date, token and a header of a proxy. */
static struct sign_request received_of(int i, struct uri_pair headers[8])
{
        struct sign_request req = request_of(i);
        memcpy(headers, req.headers, req.nheaders * sizeof *headers);
        headers[req.nheaders++] = (struct uri_pair){"X-Amz-Date", vectors[i].date};
        headers[req.nheaders++] = (struct uri_pair){"Via", "1.1 proxy"};
        if (vectors[i].key->token)
                headers[req.nheaders++] =
                        (struct uri_pair){"X-Amz-Security-Token", vectors[i].key->token};
        req.headers = headers;
        return req;
}

static int verify(const struct sign_request *req, const char *auth, const char *secret)
{
        CLEANUP(sign_claim_release) struct sign_claim claim = {0};
        int err = sign_claim_parse(auth, &claim);
        return err ? err : sign_v4_verify(req, &claim, secret);
}

START_TEST(verifies_what_was_signed_and_nothing_else)
{
        CLEANUP(buf_release) struct buf auth = BUF_INIT;
        struct sign_request req = request_of(_i);
        const struct sign_key *k = vectors[_i].key;
        struct uri_pair headers[8], other_query = {"acl", ""};
        char date[SIGN_DATE_LEN];
        time_t when;

        ck_assert_int_eq(sign_v4_parse_date(vectors[_i].date, &when), 0);
        ck_assert_int_eq(sign_v4(&req, k, when, date, &auth), 0);
        req = received_of(_i, headers);
        ck_assert_int_eq(verify(&req, auth.p, k->secret), 0);
        ck_assert_int_eq(verify(&req, auth.p, "another secret"), -EACCES);

        struct sign_request bad = req;
        bad.path = "/other";
        ck_assert_int_eq(verify(&bad, auth.p, k->secret), -EACCES);
        bad = req;
        bad.method = "DELETE";
        ck_assert_int_eq(verify(&bad, auth.p, k->secret), -EACCES);
        bad = req;
        bad.query = &other_query;
        bad.nquery = 1;
        ck_assert_int_eq(verify(&bad, auth.p, k->secret), -EACCES);
        bad = req;
        bad.payload_hash = SIGN_UNSIGNED_PAYLOAD;
        ck_assert_int_eq(verify(&bad, auth.p, k->secret), -EACCES);
        headers[0].value = "elsewhere";
        ck_assert_int_eq(verify(&req, auth.p, k->secret), -EACCES);
        req.headers++; /* a signed header went missing */
        req.nheaders--;
        ck_assert_int_eq(verify(&req, auth.p, k->secret), -EACCES);
}
END_TEST

START_TEST(a_broken_authorization_is_refused)
{
        static const char *const broken[] = {
                "",
                "Basic Zm9v",
                "AWS4-HMAC-SHA256 ",
                "AWS4-HMAC-SHA256 Credential=A/20130524/r/s3/aws4_request, SignedHeaders=host",
                "AWS4-HMAC-SHA256 Credential=A/aws4_request, SignedHeaders=host, Signature=0",
                "AWS4-HMAC-SHA256 Credential=A/20130524/r/s3/aws5, SignedHeaders=host, Signature=0",
                "AWS4-HMAC-SHA256 Credential, SignedHeaders=host, Signature=0",
        };
        for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
                struct sign_claim claim;
                ck_assert_int_eq(sign_claim_parse(broken[i], &claim), -EINVAL);
        }
}
END_TEST

START_TEST(a_claim_names_its_parts)
{
        CLEANUP(sign_claim_release) struct sign_claim c = {0};
        ck_assert_int_eq(sign_claim_parse("AWS4-HMAC-SHA256 Credential=a/b/20130524/eu/s3/"
                                          "aws4_request,SignedHeaders=host;x-amz-date,Signature=f",
                                          &c),
                         0);
        ck_assert_str_eq(c.access, "a/b");
        ck_assert_str_eq(c.day, "20130524");
        ck_assert_str_eq(c.region, "eu");
        ck_assert_str_eq(c.service, "s3");
        ck_assert_str_eq(c.signed_headers, "host;x-amz-date");
        ck_assert_str_eq(c.signature, "f");
}
END_TEST

START_TEST(parameters_sort_by_encoded_name_before_value)
{
        CLEANUP(buf_release) struct buf a = BUF_INIT, b = BUF_INIT;
        const struct uri_pair host = {"host", "h"};
        const struct uri_pair one[] = {{"a", "z"}, {"a-b", "1"}, {"a", "1"}};
        const struct uri_pair two[] = {{"a-b", "1"}, {"a", "1"}, {"a", "z"}};
        struct sign_request req = {"GET", "/", one, 3, &host, 1, SIGN_EMPTY_PAYLOAD, NULL};
        char date[SIGN_DATE_LEN];

        ck_assert_int_eq(sign_v4(&req, &s3_key, 0, date, &a), 0);
        req.query = two;
        ck_assert_int_eq(sign_v4(&req, &s3_key, 0, date, &b), 0);
        ck_assert_str_eq(a.p, b.p);
        req.nheaders = 0;
        ck_assert_int_eq(sign_v4(&req, &s3_key, 0, date, &b), -EINVAL);
}
END_TEST

START_TEST(googles_scheme_has_names_of_its_own)
{
        CLEANUP(buf_release) struct buf auth = BUF_INIT;
        static const struct sign_key key = {
                .access = "GOOG1E", .secret = "secret", .region = "auto", .service = "storage"};
        struct uri_pair headers[] = {{"host", "h"}, {"x-goog-date", NULL}};
        struct sign_request req = {.method = "GET",
                                   .path = "/b/o",
                                   .headers = headers,
                                   .nheaders = 1,
                                   .payload_hash = SIGN_UNSIGNED_PAYLOAD,
                                   .scheme = &sign_goog4};
        char date[SIGN_DATE_LEN];

        ck_assert_int_eq(sign_v4(&req, &key, 0, date, &auth), 0);
        ck_assert_ptr_nonnull(strstr(auth.p, "GOOG4-HMAC-SHA256 Credential=GOOG1E/19700101/auto/"
                                             "storage/goog4_request, "
                                             "SignedHeaders=host;x-goog-date, Signature="));
        headers[1].value = date;
        req.nheaders = 2;
        req.scheme = NULL; /* whoever verifies goes by the claim */
        ck_assert_int_eq(verify(&req, auth.p, "secret"), 0);
        ck_assert_int_eq(verify(&req, auth.p, "another"), -EACCES);
        headers[1].name = "x-amz-date";
        ck_assert_int_eq(verify(&req, auth.p, "secret"), -EACCES);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sign_v4");
        TCase *t = tcase_create("sign_v4");
        const int n = sizeof vectors / sizeof *vectors;
        tcase_add_loop_test(t, signs_as_the_vendor_published, 0, n);
        tcase_add_loop_test(t, verifies_what_was_signed_and_nothing_else, 0, n);
        tcase_add_test(t, a_key_that_is_kept_signs_for_its_own_scope_alone);
        tcase_add_test(t, a_broken_authorization_is_refused);
        tcase_add_test(t, a_claim_names_its_parts);
        tcase_add_test(t, parameters_sort_by_encoded_name_before_value);
        tcase_add_test(t, googles_scheme_has_names_of_its_own);
        suite_add_tcase(s, t);
        return unit_main(s);
}
