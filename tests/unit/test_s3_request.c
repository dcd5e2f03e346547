/* SPDX-License-Identifier: Apache-2.0 */
/* test_s3_request.c: where a request goes and what it says. */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static struct store_kind *open_with(const char *bucket, const struct store_config *cfg)
{
        struct store_place place = {.bucket = bucket, .prefix = ""};
        struct store_kind *k = NULL;
        struct cred cred;
        char why[256];

        setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
        setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
        setenv("AWS_CONFIG_FILE", "/dev/null", 1);
        setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
        unsetenv("AWS_ENDPOINT_URL");
        unsetenv("AWS_ENDPOINT_URL_S3");
        unsetenv("AWS_PROFILE");
        ck_assert_int_eq(store_s3.open(cfg, &place, &k, why, sizeof why), 0);
        ck_assert_int_eq(cred_chain_wait(k->creds, &cred, why, sizeof why), 0);
        cred_release(&cred);
        return k;
}

static struct store_kind *open_kind(const char *bucket, const char *endpoint, const char *region)
{
        const struct store_config cfg = {.endpoint = endpoint, .region = region};
        return open_with(bucket, &cfg);
}

static bool says(const struct http_req *rq, const char *header)
{
        for (size_t at = 0; at < rq->headers.len; at += strlen(rq->headers.p + at) + 1)
                if (!strncmp(rq->headers.p + at, header, strlen(header)))
                        return true;
        return false;
}

static const struct {
        const char *bucket, *endpoint, *region, *key, *url, *host;
        enum store_addressing addressing;
} places[] = {
        {"bucket", NULL, "eu-west-1", "a b/c",
         "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/c?x=1%2F2",
         "Host: bucket.s3.eu-west-1.amazonaws.com", STORE_ADDRESSING_AUTO},
        {"dotted.bucket", NULL, "eu-west-1", "k",
         "https://s3.eu-west-1.amazonaws.com/dotted.bucket/k?x=1%2F2",
         "Host: s3.eu-west-1.amazonaws.com", STORE_ADDRESSING_AUTO},
        {"Upper_case", NULL, "us-east-1", "k",
         "https://s3.us-east-1.amazonaws.com/Upper_case/k?x=1%2F2",
         "Host: s3.us-east-1.amazonaws.com", STORE_ADDRESSING_AUTO},
        {"bucket", NULL, "cn-north-1", "k",
         "https://bucket.s3.cn-north-1.amazonaws.com.cn/k?x=1%2F2",
         "Host: bucket.s3.cn-north-1.amazonaws.com.cn", STORE_ADDRESSING_AUTO},
        {"bucket", NULL, "us-east-1", NULL, "https://bucket.s3.us-east-1.amazonaws.com/?x=1%2F2",
         "Host: bucket.s3.us-east-1.amazonaws.com", STORE_ADDRESSING_AUTO},
        {"bucket", "http://127.0.0.1:9000", "us-east-1", "k//../%",
         "http://127.0.0.1:9000/bucket/k//../%25?x=1%2F2", "Host: 127.0.0.1:9000",
         STORE_ADDRESSING_AUTO},
        {"bucket", "https://s3.example.net:443/", "us-east-1", NULL,
         "https://s3.example.net:443/bucket?x=1%2F2", "Host: s3.example.net",
         STORE_ADDRESSING_AUTO},
        {"bucket", "http://[::1]:80", "us-east-1", "k", "http://[::1]:80/bucket/k?x=1%2F2",
         "Host: [::1]", STORE_ADDRESSING_AUTO},
        {"bucket", "https://gw.example.net/s3/a%20b/", "us-east-1", "k",
         "https://gw.example.net/s3/a%20b/bucket/k?x=1%2F2", "Host: gw.example.net",
         STORE_ADDRESSING_AUTO},
        {"bucket", "https://gw.example.net//", "us-east-1", NULL,
         "https://gw.example.net/bucket?x=1%2F2", "Host: gw.example.net", STORE_ADDRESSING_AUTO},
        {"bucket", "https://cw.example.net:8443", "us-east-1", "k",
         "https://bucket.cw.example.net:8443/k?x=1%2F2", "Host: bucket.cw.example.net:8443",
         STORE_ADDRESSING_VIRTUAL},
        {"bucket", "https://cw.example.net/s3", "us-east-1", NULL,
         "https://bucket.cw.example.net/s3/?x=1%2F2", "Host: bucket.cw.example.net",
         STORE_ADDRESSING_VIRTUAL},
        {"a.b", NULL, "eu-west-1", "k", "https://a.b.s3.eu-west-1.amazonaws.com/k?x=1%2F2",
         "Host: a.b.s3.eu-west-1.amazonaws.com", STORE_ADDRESSING_VIRTUAL},
        {"bucket", NULL, "eu-west-1", "k", "https://s3.eu-west-1.amazonaws.com/bucket/k?x=1%2F2",
         "Host: s3.eu-west-1.amazonaws.com", STORE_ADDRESSING_PATH},
};

START_TEST(a_bucket_is_in_the_host_or_in_the_path)
{
        const struct store_config cfg = {.endpoint = places[_i].endpoint,
                                         .addressing = places[_i].addressing,
                                         .region = places[_i].region};
        struct store_kind *k = open_with(places[_i].bucket, &cfg);
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, places[_i].key);
        struct op op = {.verb = OP_GET};

        http_req_init(&op.rq);
        s3_query(&m, "x", "1/2");
        ck_assert_int_eq(s3_send(k, &op, &m), 0);
        ck_assert_str_eq(op.rq.url.p, places[_i].url);
        ck_assert_msg(says(&op.rq, places[_i].host), "%s", places[_i].host);
        ck_assert(says(&op.rq, "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
        ck_assert(says(&op.rq, "x-amz-date: 2"));
        ck_assert(says(&op.rq, "x-amz-content-sha256: e3b0c442"));
        ck_assert_str_eq(op.region, places[_i].region);
        http_req_release(&op.rq);
        store_s3.close(k);
}
END_TEST

START_TEST(more_headers_than_fit_are_refused)
{
        struct store_kind *k = open_kind("bucket", NULL, "us-east-1");
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, "k");
        CLEANUP(freep) struct store_meta *meta = calloc(1, sizeof *meta);
        struct op op = {.verb = OP_PUT, .meta = meta};
        char name[8];

        for (int i = 0; i <= OP_META_HEADERS_MAX; i++) {
                snprintf(name, sizeof name, "%c%c", 'a' + i / 26, 'a' + i % 26);
                ck_assert_int_eq(store_meta_add(meta, name, ""), 0);
        }
        ck_assert_int_eq(s3_put_headers(k, &m, &op, op.if_match), -EINVAL);
        store_s3.close(k);
}
END_TEST

static const struct {
        const char *variable, *url;
} variants[] = {
        {"AWS_USE_FIPS_ENDPOINT", "https://bucket.s3-fips.us-east-1.amazonaws.com/k"},
        {"AWS_USE_DUALSTACK_ENDPOINT", "https://bucket.s3.dualstack.us-east-1.amazonaws.com/k"},
};

START_TEST(the_vendors_names_have_variants)
{
        setenv(variants[_i].variable, "true", 1);
        struct store_kind *k = open_kind("bucket", NULL, "us-east-1");
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, "k");
        struct op op = {.verb = OP_GET};

        http_req_init(&op.rq);
        ck_assert_int_eq(s3_send(k, &op, &m), 0);
        ck_assert_str_eq(op.rq.url.p, variants[_i].url);
        http_req_release(&op.rq);
        store_s3.close(k);
}
END_TEST

static const struct {
        const char *bucket, *host; /* NULL: no directory bucket */
} directories[] = {
        {"ckpt--usw2-az1--x-s3", "ckpt--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com"},
        {"a--b--use1-az4--x-s3", "a--b--use1-az4--x-s3.s3express-use1-az4.us-west-2.amazonaws.com"},
        {"ap--usw2-az1--xa-s3", "ap--usw2-az1--xa-s3.s3express-usw2-az1.us-west-2.amazonaws.com"},
        {"ckpt", NULL},
        {"--x-s3", NULL},
        {"ap--xa-s3", NULL},
        {"ckpt--x-s3", NULL},
        {"ckpt--use1-az4--x-s3b", NULL},
};

START_TEST(a_directory_bucket_is_in_its_zone)
{
        CLEANUP(buf_release) struct buf url = BUF_INIT;
        struct store_kind *any = open_kind("bucket", NULL, "us-west-2");
        struct store_kind k = {.creds = any->creds,
                               .bucket = (char *)(uintptr_t)directories[_i].bucket};

        ck_assert_int_eq(s3_is_express(k.bucket), directories[_i].host != NULL);
        if (directories[_i].host) {
                s3_express_host(&k, "us-west-2", &url);
                ck_assert_str_eq(url.p, directories[_i].host);
        }
        store_s3.close(any);
}
END_TEST

static const struct {
        struct store_config cfg;
        enum op_verb verb;
        enum http_method method;
        const char *says[4], *not ;
} options[] = {
        {{.requester_pays = true},
         OP_LIST,
         HTTP_GET,
         {"x-amz-request-payer: requester"},
         "x-amz-server-side"},
        {{.bucket_owner = "123456789012"},
         OP_LIST,
         HTTP_GET,
         {"x-amz-expected-bucket-owner: 123456789012"},
         "x-amz-source-expected"},
        {{.bucket_owner = "123456789012"},
         OP_PART_COPY,
         HTTP_PUT,
         {"x-amz-expected-bucket-owner: 123456789012",
          "x-amz-source-expected-bucket-owner: 123456789012"},
         "x-amz-request-payer"},
        {{.sse = "AES256"},
         OP_PUT,
         HTTP_PUT,
         {"x-amz-server-side-encryption: AES256"},
         "x-amz-request-payer"},
        {{.sse = "default"}, OP_PUT, HTTP_PUT, {0}, "x-amz-server-side"},
        {{.sse = "aws:kms", .sse_kms_key = "arn:x"},
         OP_UPLOAD_CREATE,
         HTTP_POST,
         {"x-amz-server-side-encryption: aws:kms",
          "x-amz-server-side-encryption-aws-kms-key-id: arn:x"},
         "x-amz-request-payer"},
        {{.sse = "aws:kms"}, OP_PART, HTTP_PUT, {0}, "x-amz-server-side"},
        {{.sse = "aws:kms"}, OP_PUT, HTTP_HEAD, {0}, "x-amz-server-side"},
        {{.sse_c_key_file = "key"},
         OP_GET,
         HTTP_GET,
         {"x-amz-server-side-encryption-customer-algorithm: AES256",
          "x-amz-server-side-encryption-customer-key: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
          "x-amz-server-side-encryption-customer-key-MD5: "},
         "x-amz-copy-source"},
        {{.sse_c_key_file = "key"},
         OP_COPY,
         HTTP_PUT,
         {"x-amz-copy-source-server-side-encryption-customer-key: MDEy",
          "x-amz-server-side-encryption-customer-key: MDEy"},
         "x-amz-request-payer"},
        {{.sse_c_key_file = "key"},
         OP_SET_META,
         HTTP_PUT,
         {"x-amz-copy-source-server-side-encryption-customer-key: MDEy",
          "x-amz-server-side-encryption-customer-key: MDEy"},
         "x-amz-request-payer"},
        {{.sse = "aws:kms", .sse_kms_key = "arn:x"},
         OP_SET_META,
         HTTP_PUT,
         {"x-amz-server-side-encryption: aws:kms",
          "x-amz-server-side-encryption-aws-kms-key-id: arn:x"},
         "x-amz-request-payer"},
        {{.sse_c_key_file = "key"},
         OP_COMPLETE,
         HTTP_POST,
         {"x-amz-server-side-encryption-customer-key: MDEy"},
         "x-amz-copy-source"},
        {{.sse_c_key_file = "key"},
         OP_PARTS,
         HTTP_GET,
         {"x-amz-server-side-encryption-customer-key: MDEy"},
         "x-amz-copy-source"},
        {{.sse_c_key_file = "key"}, OP_DELETE, HTTP_DELETE, {0}, "x-amz-server-side"},
        {{.anonymous = true}, OP_GET, HTTP_GET, {"x-amz-content-sha256"}, "Authorization"},
};

START_TEST(an_option_adds_its_headers_where_they_belong)
{
        char file[] = "/tmp/ckptfs-key-XXXXXX";
        CLEANUP(closep) int fd = mkstemp(file);
        struct store_config cfg = options[_i].cfg;
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(options[_i].method, "k");
        struct op op = {.verb = options[_i].verb};

        ck_assert_int_eq(write(fd, "01234567890123456789012345678901", 32), 32);
        if (cfg.sse_c_key_file)
                cfg.sse_c_key_file = file;
        struct store_kind *k = open_with("bucket", &cfg);
        unlink(file);
        http_req_init(&op.rq);
        if (op.verb == OP_COPY || op.verb == OP_SET_META)
                s3_header(&m, S3_COPY_SOURCE, "/bucket/k");
        ck_assert_int_eq(s3_send(k, &op, &m), 0);
        for (size_t i = 0; options[_i].says[i]; i++)
                ck_assert_msg(says(&op.rq, options[_i].says[i]), "%s", options[_i].says[i]);
        ck_assert_msg(!says(&op.rq, options[_i].not ), "%s", options[_i].not );
        http_req_release(&op.rq);
        store_s3.close(k);
}
END_TEST

static const struct {
        struct store_config cfg;
        const char *why;
} wrong[] = {
        {{.bucket_owner = "12345678901x"},
         "bucket_owner 12345678901x is no account: give its 12 digits"},
        {{.sse_kms_key = "x"}, "sse_kms_key is given but sse is default: add sse=aws:kms"},
        {{.sse = "AES256", .sse_kms_key = "x"},
         "sse_kms_key is given but sse is AES256: add sse=aws:kms"},
        {{.sse = "aws:kms", .sse_c_key_file = "/dev/null"},
         "sse_c_key_file and sse are both given: give one"},
        {{.sse_c_key_file = "/dev/null"},
         "sse_c_key_file /dev/null: no such key: name a file of 32 bytes, or of their base64"},
        {{.sse_c_key_file = "/dev/null", .endpoint = "http://s3.example.net"},
         "sse_c_key_file: the key would travel in clear text to http://s3.example.net: give an "
         "https endpoint"},
};

START_TEST(options_that_exclude_each_other_are_refused)
{
        const struct store_place place = {.bucket = "bucket", .prefix = ""};
        struct store_config cfg = wrong[_i].cfg;
        struct store_kind *k = NULL;
        char why[256];

        cfg.region = "us-east-1";
        setenv("AWS_CONFIG_FILE", "/dev/null", 1);
        setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
        setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
        ck_assert_int_eq(store_s3.open(&cfg, &place, &k, why, sizeof why), -EINVAL);
        ck_assert_str_eq(why, wrong[_i].why);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("s3_request");
        TCase *t = tcase_create("s3_request");
        tcase_add_loop_test(t, a_bucket_is_in_the_host_or_in_the_path, 0,
                            sizeof places / sizeof *places);
        tcase_add_test(t, more_headers_than_fit_are_refused);
        tcase_add_loop_test(t, the_vendors_names_have_variants, 0,
                            sizeof variants / sizeof *variants);
        tcase_add_loop_test(t, a_directory_bucket_is_in_its_zone, 0,
                            sizeof directories / sizeof *directories);
        tcase_add_loop_test(t, an_option_adds_its_headers_where_they_belong, 0,
                            sizeof options / sizeof *options);
        tcase_add_loop_test(t, options_that_exclude_each_other_are_refused, 0,
                            sizeof wrong / sizeof *wrong);
        suite_add_tcase(s, t);
        return unit_main(s);
}
