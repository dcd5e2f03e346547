/* SPDX-License-Identifier: Apache-2.0 */
/* test_s3_endpoint.c: where the keys s3.* of ckptbench lead. */
#include "bench/core/s3_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *uri, *endpoint, *region;
        const char *host; /* NULL: refused */
        bool tls;
} places[] = {
        {"s3://bkt/a/b/", "", "eu-west-1", "s3.eu-west-1.amazonaws.com", true},
        {"s3://bkt/a/b", "", "cn-north-1", "s3.cn-north-1.amazonaws.com.cn", true},
        {"s3://bkt/a/b", "", "eusc-de-east-1", "s3.eusc-de-east-1.amazonaws.eu", true},
        {"s3://bkt//a/b", "", "us-iso-east-1", "s3.us-iso-east-1.c2s.ic.gov", true},
        {"s3://bkt/a/b", "http://127.0.0.1:9/x", "us-east-1", "127.0.0.1:9", false},
        {"s3://bkt/a/b", "https://h", "us-east-1", "h", true},
        {"s3://bkt/a/b", "h:9", "us-east-1", NULL, false},
        {"gs://bkt/a/b", "", "us-east-1", NULL, false},
        {"s3:///a/b", "", "us-east-1", NULL, false},
};

START_TEST(keys_lead_to_the_endpoint_or_the_host_of_the_region)
{
        struct keys k = {.s3_uri = (char *)(uintptr_t)places[_i].uri,
                         .s3_endpoint = (char *)(uintptr_t)places[_i].endpoint,
                         .s3_region = (char *)(uintptr_t)places[_i].region};
        struct place p;
        char why[400] = "";

        unsetenv("AWS_ENDPOINT_URL_S3");
        unsetenv("AWS_ENDPOINT_URL");
        int err = place_read(&k, "save", &p, why, sizeof why);
        ck_assert_int_eq(err, places[_i].host ? 0 : -EINVAL);
        if (err) {
                ck_assert_ptr_nonnull(strstr(why, ": give s3."));
                return;
        }
        ck_assert_str_eq(p.host, places[_i].host);
        ck_assert_int_eq(p.tls, places[_i].tls);
        ck_assert_str_eq(p.bucket, "bkt");
        ck_assert_str_eq(p.dir, "a/b/save");
        ck_assert_str_eq(p.region, places[_i].region);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("s3_endpoint");
        TCase *t = tcase_create("s3_endpoint");
        tcase_add_loop_test(t, keys_lead_to_the_endpoint_or_the_host_of_the_region, 0,
                            sizeof places / sizeof *places);
        suite_add_tcase(s, t);
        return unit_main(s);
}
