/* SPDX-License-Identifier: Apache-2.0 */
/* test_s3_arn.c: buckets that are given as the ARN of an access point. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/s3/s3.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *text, *bucket;
} lengths[] = {
        {"bucket", "bucket"},
        {"bucket/a/b", "bucket"},
        {"arn:aws:s3:r:1:accesspoint/ap", "arn:aws:s3:r:1:accesspoint/ap"},
        {"arn:aws:s3:r:1:accesspoint/ap/a/b", "arn:aws:s3:r:1:accesspoint/ap"},
        {"arn:aws:s3:r:1:accesspoint:ap/a:b", "arn:aws:s3:r:1:accesspoint:ap"},
        {"arn:aws:s3:::bucket/a", "arn:aws:s3:::bucket/a"},
        {"arn:aws:s3/a", "arn:aws:s3"},
        {"arn:", "arn:"},
};

START_TEST(the_bucket_of_a_url_ends_before_the_prefix)
{
        ck_assert_uint_eq(s3_bucket_len(lengths[_i].text), strlen(lengths[_i].bucket));
}
END_TEST

#define POINT "arn:aws:s3:us-west-2:123456789012:accesspoint"

static const struct {
        const char *bucket, *endpoint, *variable, *url;
} hosts[] = {
        {POINT "/ap", NULL, NULL,
         "https://ap-123456789012.s3-accesspoint.us-west-2.amazonaws.com/k"},
        {POINT ":ap", NULL, NULL,
         "https://ap-123456789012.s3-accesspoint.us-west-2.amazonaws.com/k"},
        {POINT "/ap", NULL, "AWS_USE_DUALSTACK_ENDPOINT",
         "https://ap-123456789012.s3-accesspoint.dualstack.us-west-2.amazonaws.com/k"},
        {POINT "/ap", NULL, "AWS_USE_FIPS_ENDPOINT",
         "https://ap-123456789012.s3-accesspoint-fips.us-west-2.amazonaws.com/k"},
        {POINT "/ap", "https://gw.example.net:8443/s3", NULL,
         "https://ap-123456789012.gw.example.net:8443/s3/k"},
        {"arn:aws-cn:s3:cn-north-1:123456789012:accesspoint/ap", NULL, NULL,
         "https://ap-123456789012.s3-accesspoint.cn-north-1.amazonaws.com.cn/k"},
};

static int open_at(const char *bucket, const char *endpoint, struct store_kind **out, char *why,
                   size_t nwhy)
{
        const struct store_config cfg = {.endpoint = endpoint, .region = "eu-central-1"};
        const struct store_place place = {.bucket = bucket, .prefix = ""};

        setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
        return store_s3.open(&cfg, &place, out, why, nwhy);
}

START_TEST(an_access_point_has_a_host_and_a_region_of_its_own)
{
        struct store_kind *k;
        struct op op = {.verb = OP_GET};
        struct cred cred;
        char why[512] = "";

        if (hosts[_i].variable)
                setenv(hosts[_i].variable, "true", 1);
        ck_assert_msg(!open_at(hosts[_i].bucket, hosts[_i].endpoint, &k, why, sizeof why), "%s",
                      why);
        ck_assert_int_eq(cred_chain_wait(k->creds, &cred, why, sizeof why), 0);
        cred_release(&cred);
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, "k");
        http_req_init(&op.rq);
        ck_assert_int_eq(s3_send(k, &op, &m), 0);
        ck_assert_str_eq(op.rq.url.p, hosts[_i].url);
        ck_assert_ptr_nonnull(strstr(hosts[_i].bucket, op.region)); /* it is signed for that */
        http_req_release(&op.rq);
        store_s3.close(k);
}
END_TEST

START_TEST(a_copy_from_an_access_point_names_the_object_by_its_arn)
{
        struct store_kind *k;
        struct op op = {.verb = OP_COPY, .src = "a b/c"};
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, "k");
        char why[512] = "";

        ck_assert_int_eq(open_at(POINT ":ap", NULL, &k, why, sizeof why), 0);
        ck_assert_int_eq(s3_copy_source(k, &m, &op, NULL, &text), 0);
        ck_assert_str_eq(text.p, "arn%3Aaws%3As3%3Aus-west-2%3A123456789012%3Aaccesspoint/ap/"
                                 "object/a%20b/c");
        store_s3.close(k);
}
END_TEST

static const struct {
        const char *bucket, *says;
} refused[] = {
        {"arn:aws:s3::123456789012:accesspoint/x.mrap", "several regions wants SigV4A"},
        {"arn:aws:s3-outposts:us-west-2:123456789012:outpost/op-1/accesspoint/x",
         "give the ARN of an access point"},
        {"arn:aws:s3-object-lambda:us-west-2:123456789012:accesspoint/x",
         "give the ARN of an access point"},
        {"arn:aws:s3express:us-west-2:123456789012:accesspoint/x--usw2-az1--xa-s3",
         "give s3:// and its name"},
        {"arn:aws:s3:::bucket", "give s3:// and its name"},
        {"arn:aws:s3:us-west-2:123456789012:bucket/x", "give the ARN of an access point"},
        {"arn:aws:s3:us-west-2:123456789012:accesspoint", "give the ARN of an access point"},
        {"arn:aws:s3:us-west-2:123456789012:accesspoint/", "give the ARN of an access point"},
        {"arn:aws:s3:us-west-2:123456789012:accesspoint/X", "give the ARN of an access point"},
        {"arn:aws:s3:us-west-2:12345678901:accesspoint/x", "give the ARN of an access point"},
        {"arn:aws:s3:us.west:123456789012:accesspoint/x", "give the ARN of an access point"},
        {"arn:aws:s3", "give s3:// and the bucket"},
};

START_TEST(an_arn_of_another_kind_is_refused_with_the_reason)
{
        struct store_kind *k;
        char why[512] = "";

        ck_assert_int_eq(open_at(refused[_i].bucket, NULL, &k, why, sizeof why), -EINVAL);
        ck_assert_msg(strstr(why, refused[_i].says) && !strchr(why, '\n'), "%s", why);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("s3_arn");
        TCase *t = tcase_create("s3_arn");
        tcase_add_loop_test(t, the_bucket_of_a_url_ends_before_the_prefix, 0,
                            sizeof lengths / sizeof *lengths);
        tcase_add_loop_test(t, an_access_point_has_a_host_and_a_region_of_its_own, 0,
                            sizeof hosts / sizeof *hosts);
        tcase_add_test(t, a_copy_from_an_access_point_names_the_object_by_its_arn);
        tcase_add_loop_test(t, an_arn_of_another_kind_is_refused_with_the_reason, 0,
                            sizeof refused / sizeof *refused);
        suite_add_tcase(s, t);
        return unit_main(s);
}
