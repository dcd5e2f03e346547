/* SPDX-License-Identifier: Apache-2.0 */
/* test_error_hint.c: what is said of a server that was not reached: the cause, and what to do. */
#include "store/core/error_hint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/core/ops.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *where, *said;
        int err;
        bool untrusted;
        const char *variable, *want; /* a proxy's; the end of the line */
} cases[] = {
        {"https://s", "SSL certificate problem: certificate has expired", -EIO, true, NULL,
         ": renew its certificate, or correct the clock here"},
        {"https://s", "SSL certificate problem: certificate is not yet valid", -EIO, true, NULL,
         ": correct the clock here, or its certificate"},
        {"https://s", "SSL certificate problem: self-signed certificate", -EIO, true, NULL,
         "the authority that signed for it"},
        {"https://s", "SSL: no alternative certificate subject name matches target host name 's'",
         -EIO, true, NULL, ": give the name that its certificate is for"},
        {"https://s", "error:0A00010B:SSL routines::wrong version number", -ETIMEDOUT, false, NULL,
         ": it speaks no TLS: give http:// in endpoint"},
        {"http://s", "Empty reply from server", -ETIMEDOUT, false, NULL,
         ": where it speaks TLS, give https:// in endpoint"},
        {"http://s", "Could not resolve host: s", -EHOSTUNREACH, false, NULL, ": correct endpoint"},
        {"http://s", "Could not resolve proxy: p", -EHOSTUNREACH, false, "http_proxy",
         ": correct endpoint, or the proxy in http_proxy"},
        {"https://s", "Failed to connect to p port 1", -ECONNREFUSED, false, "HTTPS_PROXY",
         " or correct endpoint, or the proxy in HTTPS_PROXY"},
        {"https://s", "Failed to connect to s port 1", -ECONNREFUSED, false, "http_proxy",
         " or correct endpoint"},
        {"http://127.0.0.1:1", "Failed to connect", -ECONNREFUSED, false, "http_proxy",
         " or correct endpoint"},
        {"https://s", "no byte moved for 15 s", -ETIMEDOUT, false, "all_proxy",
         ", or the proxy in all_proxy"},
};

START_TEST(the_line_ends_with_what_to_do)
{
        struct op op = {.untrusted = cases[_i].untrusted};
        char why[512];
        size_t n = strlen(cases[_i].want);

        http_req_init(&op.rq);
        buf_adds(&op.rq.url, cases[_i].where);
        snprintf(op.fault.message, sizeof op.fault.message, "%s", cases[_i].said);
        if (cases[_i].variable)
                setenv(cases[_i].variable, "http://p:1", 1);
        error_hint_transport(cases[_i].where, "endpoint", &op, cases[_i].err, why, sizeof why);
        ck_assert_msg(strlen(why) > n && !strcmp(why + strlen(why) - n, cases[_i].want), "%s", why);
        ck_assert_msg(strstr(why, cases[_i].said) && strstr(why, cases[_i].where), "%s", why);
        http_req_release(&op.rq);
}
END_TEST

static const struct {
        int status;
        const char *said, *want;
} strangers[] = {
        {500, "", "http://s answers 500 each time: try again later, or see its log"},
        {503, "no backend",
         "http://s answers 503 no backend each time: try again later, or see its log"},
        {404, "", "http://s answers 404, and not as S3 does: correct endpoint"},
};

START_TEST(a_server_that_fails_is_not_called_another)
{
        struct op op = {.fault.status = strangers[_i].status};
        char why[512];

        http_req_init(&op.rq);
        buf_adds(&op.rq.url, "http://s");
        snprintf(op.fault.message, sizeof op.fault.message, "%s", strangers[_i].said);
        error_hint_stranger("http://s", "S3", &op, why, sizeof why);
        ck_assert_str_eq(why, strangers[_i].want);
        http_req_release(&op.rq);
}
END_TEST

static void forget_proxies(void)
{
        static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                            "ALL_PROXY"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                unsetenv(names[i]);
}

int main(void)
{
        Suite *s = suite_create("explain");
        TCase *t = tcase_create("explain");
        tcase_add_checked_fixture(t, forget_proxies, NULL);
        tcase_add_loop_test(t, the_line_ends_with_what_to_do, 0, sizeof cases / sizeof *cases);
        tcase_add_loop_test(t, a_server_that_fails_is_not_called_another, 0,
                            sizeof strangers / sizeof *strangers);
        suite_add_tcase(s, t);
        return unit_main(s);
}
