/* SPDX-License-Identifier: Apache-2.0 */
/* aws_call.c: what is asked of the cloud beside a store: one signed call of a service that speaks
 * JSON, and what the machine tells of itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/aws_host.h"
#include "base/cleanup.h"
#include "store.h"
#include "store/cred/cred_aws.h"

#include "base/banned.h"

/* Who asks, and with what: released by settings_release(). */
struct settings {
        struct cred_ask ask;
        struct cred_settings set;
        struct profile profile;
        char *endpoint;
};

static void settings_release(struct settings *s)
{
        char **strings[] = {&s->ask.profile,  &s->ask.ca_bundle, &s->set.region,
                            &s->set.endpoint, &s->set.ca_bundle, &s->endpoint};
        for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
                secret_freep(strings[i]);
        profile_release(&s->profile);
}

static const char *either(const char *given, const char *other)
{
        return given && *given ? given : other;
}

/* Reads the settings of a service ("DYNAMODB" as in its variables). */
static int read_service_settings(struct settings *s, const struct cred_want *want,
                                 const char *service)
{
        struct cred_ask *a = &s->ask;
        int err = cred_aws.read_settings(a, want, &s->set);

        if (!err)
                err = cred_set(&a->ca_bundle, either(want->ca_bundle, s->set.ca_bundle));
        if (!err)
                err = profile_load("profile", a->profile, &s->profile, a->why, sizeof a->why);
        return err ? err : cred_aws_endpoint(a, &s->profile, service, &s->endpoint);
}

static int send_call(struct settings *s, const struct store_aws_call *w, const struct cred *keys,
                     const char *region)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL(w->what, "POST");
        const char *endpoint = either(w->endpoint, s->endpoint);
        struct cred_ask *a = &s->ask;

        if (endpoint)
                buf_adds(&c.url, endpoint);
        else
                aws_service_url(&c.url, w->service, region, s->set.fips, s->set.dualstack);
        while (c.url.len && c.url.p[c.url.len - 1] == '/')
                c.url.p[--c.url.len] = 0;
        cred_call_header(&c, "Content-Type", "application/x-amz-json-1.0");
        cred_call_header(&c, "X-Amz-Target", w->target);
        buf_adds(&c.body, w->body);
        buf_addc(&c.url, '/');
        const struct cred_aws_sign by = {keys, region, w->service, .path = "/"};
        int err = cred_aws_call(a, &c, &by);
        return err ? err : cred_call_ok(a, &c);
}

int store_aws_call(const struct store_aws_call *w, char *why, size_t nwhy)
{
        const struct cred_want want = {
                .vendor = &cred_aws, .profile = w->profile, .ca_bundle = w->ca_bundle};
        CLEANUP(cred_chain_closep) struct cred_chain *chain = NULL;
        CLEANUP(settings_release) struct settings s = {0};
        CLEANUP(cred_release) struct cred keys = CRED_INIT;
        char name[32];

        snprintf(name, sizeof name, "%s", w->service);
        for (char *p = name; *p; p++)
                *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
        int err = cred_chain_open(&want, &chain, why, nwhy);
        if (!err)
                err = cred_chain_wait(chain, &keys, why, nwhy);
        if (err)
                return err;
        s.ask.skew_s = cred_chain_skew(chain);
        CLEANUP(freep) char *machine = NULL;
        err = read_service_settings(&s, &want, name);
        const char *region = either(w->region, s.set.region);
        if (!err && !region)
                region = machine = cred_aws_machine_region(chain);
        if (!err && !region)
                err = cred_no(&s.ask, -EINVAL, "%s: no region is set: give one, or set AWS_REGION",
                              w->what);
        if (!err)
                err = send_call(&s, w, &keys, region);
        if (err)
                snprintf(why, nwhy, "%s", *s.ask.why ? s.ask.why : strerror(-err));
        return err;
}

static void copy_member(const struct json *j, const char *name, char *out, size_t n)
{
        const char *text = json_string(json_get(j, name), "");
        size_t len = strcspn(text, "\r\n\t");
        snprintf(out, n, "%.*s", (int)(len < n ? len : n - 1), text);
}

int store_ec2_machine(struct store_ec2 *out, char *why, size_t nwhy)
{
        const struct cred_want want = {.vendor = &cred_aws};
        CLEANUP(settings_release) struct settings s = {0};
        CLEANUP(json_freep) struct json *j = NULL;

        *out = (struct store_ec2){0};
        int err = read_service_settings(&s, &want, "EC2");
        if (!err)
                err = cred_imds_document(&s.ask, &j);
        if (err) {
                snprintf(why, nwhy, "%s", *s.ask.why ? s.ask.why : strerror(-err));
                return err;
        }
        copy_member(j, "architecture", out->architecture, sizeof out->architecture);
        copy_member(j, "imageId", out->image_id, sizeof out->image_id);
        copy_member(j, "instanceType", out->instance_type, sizeof out->instance_type);
        copy_member(j, "region", out->region, sizeof out->region);
        return 0;
}
