/* SPDX-License-Identifier: Apache-2.0 */
/* test_hosts.c: the hosts that are asked, and which of them without a proxy. */
#include "base/text/aws_host.h"

#include "base/cleanup.h"
#include "store/http/http.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *url;
        bool here, direct;
} hosts[] = {
        {"http://127.0.0.1:9000/b", true, true},
        {"http://127.255.0.1", true, true},
        {"https://localhost", true, true},
        {"http://LOCALHOST:1?x", true, true},
        {"http://[::1]:9000/", true, true},
        {"http://user:word@127.0.0.1/", true, true},
        {"http://127.example.com/", false, false},
        {"http://127.0.0.1.example.com/", false, false},
        {"http://127.0.0.1@example.com/", false, false},
        {"http://localhost.example.com/", false, false},
        {"http://[::2]/", false, false},
        {"http://128.0.0.1/", false, false},
        {"http://169.254.169.254/metadata/identity/oauth2/token", false, true},
        {"http://169.254.170.2/", false, true},
        {"http://169.253.169.254/", false, false},
        {"http://[fd00:ec2::254]/latest", false, true},
        {"http://[fd00:ec3::254]/latest", false, false},
        {"http://[fe80::a9fe:a9fe]/", false, true},
        {"http://metadata.google.internal/computeMetadata/v1/", false, true},
        {"http://metadata.google.internal.example.com/", false, false},
        {"https://bkt.s3.eu-west-1.amazonaws.com/", false, false},
        {"http://", false, false},
        {"http://[::1", false, false},
};

START_TEST(a_host_is_known_by_all_of_its_name)
{
        ck_assert_int_eq(http_on_this_machine(hosts[_i].url), hosts[_i].here);
        ck_assert_int_eq(http_goes_direct(hosts[_i].url), hosts[_i].direct);
        setenv("all_proxy", "http://127.0.0.1:1", 1);
        ck_assert_pstr_eq(http_proxy_variable(hosts[_i].url),
                          hosts[_i].direct ? NULL : "all_proxy");
}
END_TEST

static const struct {
        const char *service, *region;
        bool fips, dualstack;
        const char *url;
} services[] = {
        {"sts", "eu-west-1", false, false, "https://sts.eu-west-1.amazonaws.com"},
        {"sts", "eu-west-1", true, false, "https://sts-fips.eu-west-1.amazonaws.com"},
        {"sts", "eu-west-1", false, true, "https://sts.eu-west-1.api.aws"},
        {"sts", "eu-west-1", true, true, "https://sts-fips.eu-west-1.api.aws"},
        {"sts", "us-gov-west-1", true, false, "https://sts.us-gov-west-1.amazonaws.com"},
        {"sts", "us-gov-west-1", true, true, "https://sts-fips.us-gov-west-1.api.aws"},
        {"portal.sso", "us-east-2", true, false, "https://portal.sso-fips.us-east-2.amazonaws.com"},
        {"oidc", "cn-north-1", false, false, "https://oidc.cn-north-1.amazonaws.com.cn"},
        {"oidc", "cn-north-1", false, true, "https://oidc.cn-north-1.api.amazonwebservices.com.cn"},
        {"sts", "eusc-de-east-1", false, false, "https://sts.eusc-de-east-1.amazonaws.eu"},
        {"sts", "us-iso-east-1", false, false, "https://sts.us-iso-east-1.c2s.ic.gov"},
        {"sts", "us-isob-east-1", false, false, "https://sts.us-isob-east-1.sc2s.sgov.gov"},
        {"sts", "eu-isoe-west-1", false, false, "https://sts.eu-isoe-west-1.cloud.adc-e.uk"},
        {"sts", "us-isof-south-1", false, true, "https://sts.us-isof-south-1.api.aws.hci.ic.gov"},
};

START_TEST(a_service_is_in_the_domain_of_its_partition)
{
        CLEANUP(buf_release) struct buf url = BUF_INIT;

        aws_service_url(&url, services[_i].service, services[_i].region, services[_i].fips,
                        services[_i].dualstack);
        ck_assert_str_eq(url.p, services[_i].url);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("hosts");
        TCase *t = tcase_create("hosts");
        tcase_add_loop_test(t, a_host_is_known_by_all_of_its_name, 0, sizeof hosts / sizeof *hosts);
        tcase_add_loop_test(t, a_service_is_in_the_domain_of_its_partition, 0,
                            sizeof services / sizeof *services);
        suite_add_tcase(s, t);
        return unit_main(s);
}
