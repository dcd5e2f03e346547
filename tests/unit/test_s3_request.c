/* SPDX-License-Identifier: Apache-2.0 */
/* test_s3_request.c: where a request goes and what it says. */
#include "store/s3.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static struct store_kind *open_kind(const char *bucket, const char *endpoint, const char *region)
{
        struct store_config cfg = {.endpoint = endpoint, .region = region};
        struct store_place place = {.bucket = bucket, .prefix = ""};
        struct store_kind *k = NULL;
        struct cred cred;
        char why[256];

        setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
        setenv("AWS_CONFIG_FILE", "/dev/null", 1);
        setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
        unsetenv("AWS_ENDPOINT_URL");
        unsetenv("AWS_ENDPOINT_URL_S3");
        unsetenv("AWS_PROFILE");
        ck_assert_int_eq(store_s3.open(&cfg, &place, &k, why, sizeof why), 0);
        ck_assert_int_eq(cred_chain_wait(k->creds, &cred, why, sizeof why), 0);
        cred_release(&cred);
        return k;
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
} places[] = {
        {"bucket", NULL, "eu-west-1", "a b/c",
         "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/c?x=1%2F2",
         "Host: bucket.s3.eu-west-1.amazonaws.com"},
        {"dotted.bucket", NULL, "eu-west-1", "k",
         "https://s3.eu-west-1.amazonaws.com/dotted.bucket/k?x=1%2F2",
         "Host: s3.eu-west-1.amazonaws.com"},
        {"Upper_case", NULL, "us-east-1", "k",
         "https://s3.us-east-1.amazonaws.com/Upper_case/k?x=1%2F2",
         "Host: s3.us-east-1.amazonaws.com"},
        {"bucket", NULL, "cn-north-1", "k",
         "https://bucket.s3.cn-north-1.amazonaws.com.cn/k?x=1%2F2",
         "Host: bucket.s3.cn-north-1.amazonaws.com.cn"},
        {"bucket", NULL, "us-east-1", NULL, "https://bucket.s3.us-east-1.amazonaws.com/?x=1%2F2",
         "Host: bucket.s3.us-east-1.amazonaws.com"},
        {"bucket", "http://127.0.0.1:9000", "us-east-1", "k//../%",
         "http://127.0.0.1:9000/bucket/k//../%25?x=1%2F2", "Host: 127.0.0.1:9000"},
        {"bucket", "https://s3.example.net:443/", "us-east-1", NULL,
         "https://s3.example.net:443/bucket?x=1%2F2", "Host: s3.example.net"},
        {"bucket", "http://[::1]:80", "us-east-1", "k", "http://[::1]:80/bucket/k?x=1%2F2",
         "Host: [::1]"},
};

START_TEST(a_bucket_is_in_the_host_or_in_the_path)
{
        struct store_kind *k = open_kind(places[_i].bucket, places[_i].endpoint, places[_i].region);
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

        for (int i = 0; i < 60; i++) {
                snprintf(name, sizeof name, "n%d", i);
                ck_assert_int_eq(store_meta_add(meta, name, "v"), 0);
        }
        ck_assert_int_eq(s3_put_headers(&m, &op), -EINVAL);
        store_s3.close(k);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("s3_request");
        TCase *t = tcase_create("s3_request");
        tcase_add_loop_test(t, a_bucket_is_in_the_host_or_in_the_path, 0,
                            sizeof places / sizeof *places);
        tcase_add_test(t, more_headers_than_fit_are_refused);
        suite_add_tcase(s, t);
        return unit_main(s);
}
