/* SPDX-License-Identifier: Apache-2.0 */
/* test_creds.c: who a mount is, while the servers that give credentials fail: never somebody else,
 * no longer than the deadline, and as soon as there are others again, those. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/cred/cred.h"
#include "tests/lib/unit.h"
#include "tests/store/fake.h"

#include "base/banned.h"

/* One server plays all: 200 is what it should say, 0 silence, another status a refusal. */
struct world {
        /* set by the test while the server's thread reads them */
        atomic_int container, imds, gce;
        atomic_uint containers, imdss,
                gces;    /* how often they were asked; imdss: and had new ones */
        atomic_int then; /* the mood of a server of AWS once it has issued keys; 0: the same */
        atomic_int life_s;
        const char *_Atomic accept; /* the access key that the store takes; NULL: any */
        atomic_int status;          /* how it refuses others */
        const char *_Atomic code;
};

static char dir[64];

static void make_dir(void)
{
        clearenv();
        snprintf(dir, sizeof dir, "/tmp/ckptfs-creds-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(dir));
        setenv("HOME", dir, 1);
}

static void write_file(const char *name, const char *text)
{
        CLEANUP(buf_release) struct buf path = BUF_INIT;

        buf_addf(&path, "%s/%s", dir, name);
        CLEANUP(fclosep) FILE *f = fopen(path.p, "w");
        ck_assert_ptr_nonnull(f);
        fputs(text, f);
        setenv(!strcmp(name, "config") ? "AWS_CONFIG_FILE" : "AWS_SHARED_CREDENTIALS_FILE", path.p,
               1);
}

static void remove_dir(void)
{
        static const char *const names[] = {"/config", "/credentials", ""};

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                CLEANUP(buf_release) struct buf path = BUF_INIT;
                buf_addf(&path, "%s%s", dir, names[i]);
                remove(path.p);
        }
}

/* Whether the server is in a mood to answer; if not, it has. */
static bool answers(struct fake_req *rq, int mood)
{
        if (mood == 200)
                return true;
        if (!mood) {
                fake_unlock(rq);
                fake_hang(rq);
        } else {
                fake_reply(rq, mood, "", "no", 2);
        }
        return false;
}

static void reply_text(struct fake_req *rq, const char *headers, const struct buf *text)
{
        fake_reply(rq, 200, headers, text->p, text->len);
}

static void reply_keys(const struct world *w, struct fake_req *rq, const char *name, unsigned n,
                       atomic_int *mood)
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        time_t end = time(NULL) + w->life_s;
        char expires[32];
        struct tm tm;

        gmtime_r(&end, &tm);
        strftime(expires, sizeof expires, "%Y-%m-%dT%H:%M:%SZ", &tm);
        buf_addf(&text,
                 "{\"Code\":\"Success\",\"AccessKeyId\":\"%s%u\",\"SecretAccessKey\":\"s\","
                 "\"Token\":\"t\",\"Expiration\":\"%s\"}",
                 name, n, expires);
        if (w->then)
                *mood = (int)w->then;
        reply_text(rq, "", &text);
}

static void reply_imds(struct world *w, struct fake_req *rq)
{
        const char *leaf = strrchr(rq->target, '/');
        CLEANUP(buf_release) struct buf text = BUF_INIT;

        if (!answers(rq, w->imds))
                return;
        if (!strcmp(leaf, "/node")) {
                w->imdss += w->life_s > 0; /* none are issued while the vendor's servers fail */
                reply_keys(w, rq, "NODE", w->imdss, &w->imds);
                return;
        }
        buf_adds(&text, !strcmp(leaf, "/token") ? "token" : "node");
        reply_text(rq, "", &text);
}

static void reply_store(const struct world *w, struct fake_req *rq)
{
        CLEANUP(buf_release) struct buf want = BUF_INIT;

        if (w->accept) {
                buf_addf(&want, "Credential=%s/", w->accept);
                if (!strstr(rq->head.p, want.p)) {
                        if (!strcmp(rq->method, "HEAD"))
                                fake_reply(rq, w->status, "", "", 0);
                        else
                                fake_error(rq, w->status, w->code);
                        return;
                }
        }
        fake_body(rq);
        fake_reply(rq, 200, "ETag: \"e1\"\r\n", "", 0);
}

static void answer(void *arg, struct fake_req *rq)
{
        struct world *w = arg;

        if (!strcmp(rq->target, "/container")) {
                w->containers++;
                if (answers(rq, w->container))
                        reply_keys(w, rq, "TASK", w->containers, &w->container);
        } else if (!strncmp(rq->target, "/latest/", 8)) {
                reply_imds(w, rq);
        } else if (!strncmp(rq->target, "/computeMetadata/", 17)) {
                CLEANUP(buf_release) struct buf text = BUF_INIT;
                w->gces++;
                buf_addf(&text, "{\"access_token\":\"g%u\",\"expires_in\":%d}", w->gces, w->life_s);
                if (answers(rq, w->gce))
                        reply_text(rq, "Metadata-Flavor: Google\r\n", &text);
        } else if (!strcmp(rq->target, "/")) {
                fake_error(rq, 403, "AccessDenied"); /* STS */
        } else {
                reply_store(w, rq);
        }
}

static void set_url(const char *variable, const struct fake *f, const char *path)
{
        CLEANUP(buf_release) struct buf url = BUF_INIT;

        buf_addf(&url, "%s%s", fake_url(f), path);
        setenv(variable, url.p, 1);
}

/* Sets the addresses of all servers; those of AWS are asked in the order container, instance. */
static struct fake *start(struct world *w)
{
        struct fake *f = fake_start(answer, w);

        set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", f, "/container");
        set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", f, "");
        set_url("AWS_ENDPOINT_URL_STS", f, "");
        setenv("GCE_METADATA_HOST", strstr(fake_url(f), "://") + 3, 1);
        return f;
}

static struct cred_chain *open_chain(const struct cred_vendor *vendor)
{
        const struct cred_want want = {.vendor = vendor};
        struct cred_chain *c = NULL;
        char why[512];

        ck_assert_msg(!cred_chain_open(&want, &c, why, sizeof why), "%s", why);
        return c;
}

/* Those that a chain has, once its first fetch is over. */
static int first(struct cred_chain *c, struct cred *out)
{
        char why[1024];
        return cred_chain_wait(c, out, why, sizeof why);
}

/* What the chain says now; the access key, or the token, goes to `who`. */
static int now(struct cred_chain *c, char who[32])
{
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        char why[1024];

        int err = cred_chain_get(c, &cred, why, sizeof why);
        snprintf(who, 32, "%s", err ? "" : cred.access ? cred.access : cred.token);
        return err;
}

static struct store *open_store(const struct fake *f, unsigned deadline_ms)
{
        const struct store_config cfg = {.url = "s3://bucket",
                                         .endpoint = fake_url(f),
                                         .region = "r",
                                         .deadline_ms = deadline_ms};
        struct store *s = NULL;
        char why[512];

        ck_assert_msg(!store_open(&cfg, &s, why, sizeof why), "%s", why);
        return s;
}

static int put(struct store *s)
{
        struct store_object obj;
        return store_put_wait(s, "k", "x", 1, NULL, NULL, &obj);
}

static const int failures[] = {500, 503, 429, 0};

START_TEST(a_source_that_fails_gives_way_to_no_other)
{
        struct world w = {.container = failures[_i], .imds = 200, .life_s = 3600};
        struct fake *f = start(&w);
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        struct cred_chain *c = open_chain(&cred_aws);

        ck_assert_int_eq(first(c, &cred), -ETIMEDOUT);
        ck_assert_uint_eq(w.imdss, 0);
        cred_chain_close(c);
        fake_stop(f);
}
END_TEST

/* The base of a role is another identity than the role. */
START_TEST(a_role_whose_base_is_slow_is_not_left)
{
        struct world w = {.imds = 0, .container = 200, .life_s = 3600};
        struct fake *f = start(&w);
        CLEANUP(cred_release) struct cred cred = CRED_INIT;

        write_file("config", "[default]\nrole_arn = arn:aws:iam::1:role/r\n"
                             "credential_source = Ec2InstanceMetadata\n");
        struct cred_chain *c = open_chain(&cred_aws);
        ck_assert_int_eq(first(c, &cred), -ETIMEDOUT);
        ck_assert_uint_eq(w.containers, 0);
        cred_chain_close(c);
        fake_stop(f);
}
END_TEST

START_TEST(a_refresh_asks_the_source_that_served)
{
        struct world w = {.container = 200, .imds = 200, .then = 500, .life_s = 8};
        struct fake *f = start(&w);
        struct cred_chain *c = open_chain(&cred_aws);
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        char who[32];

        ck_assert_int_eq(first(c, &cred), 0);
        ck_assert_str_eq(cred.access, "TASK1");
        write_file("credentials",
                   "[default]\naws_access_key_id = OTHER\naws_secret_access_key = s\n");
        while (!now(c, who)) {
                ck_assert_str_eq(who, "TASK1");
                usleep(10000);
        }
        while (w.containers < 2)
                usleep(10000);
        ck_assert_int_eq(now(c, who), -EINPROGRESS); /* not given up yet */
        w.life_s = 3600;
        w.then = 0;
        w.container = 200;
        while (now(c, who))
                usleep(10000);
        ck_assert_int_eq(strncmp(who, "TASK", 4), 0);
        ck_assert_uint_eq(w.imdss, 0);
        cred_chain_close(c);
        fake_stop(f);
}
END_TEST

START_TEST(a_metadata_server_that_is_gone_is_waited_for_after_the_end)
{
        struct world w = {.gce = 200, .life_s = 6};
        struct fake *f = start(&w);
        struct cred_chain *c = open_chain(&cred_gcp);
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        char who[32];

        ck_assert_int_eq(first(c, &cred), 0);
        w.gce = 0; /* silent */
        setenv("GCE_METADATA_HOST", "127.0.0.1:1", 1);
        int err;
        while (!(err = now(c, who)))
                usleep(10000);
        ck_assert_int_eq(err, -EINPROGRESS);
        sleep(3); /* fetches have failed meanwhile */
        ck_assert_int_eq(now(c, who), -EINPROGRESS);
        cred_chain_close(c);
        fake_stop(f);
}
END_TEST

/* "SDKs must use the expired credentials": the vendor takes them while its own servers fail. */
START_TEST(credentials_of_an_instance_outlast_their_end)
{
        struct world w = {.imds = 200, .then = 500, .life_s = 6};
        struct fake *f = start(&w);
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        char who[32];

        unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        struct cred_chain *c = open_chain(&cred_aws);
        ck_assert_int_eq(first(c, &cred), 0);
        while (cred.expiry + 1 > time(NULL))
                usleep(10000);
        ck_assert_int_eq(now(c, who), 0);
        ck_assert_str_eq(who, "NODE1");
        cred_chain_close(c);

        w.then = 0;
        w.imds = 200;
        w.life_s = -60;
        c = open_chain(&cred_aws);
        cred_release(&cred);
        ck_assert_int_eq(first(c, &cred), 0);
        ck_assert_str_eq(cred.access, "NODE1");
        cred_chain_forget(c, cred.serial); /* the store does not take them */
        cred_release(&cred);
        ck_assert_int_eq(first(c, &cred), -EINPROGRESS);
        w.life_s = 3600;
        while (now(c, who))
                usleep(10000);
        ck_assert_int_eq(strncmp(who, "NODE", 4), 0);
        cred_chain_close(c);
        fake_stop(f);
}
END_TEST

START_TEST(refused_credentials_are_waited_for_until_the_deadline)
{
        struct world w = {.container = 200,
                          .life_s = 3600,
                          .accept = "TASK1",
                          .status = 400,
                          .code = "ExpiredToken"};
        struct fake *f = start(&w);
        struct store *s = open_store(f, 3000);
        int err = put(s);

        for (int i = 0; i < 20 && err == -ETIMEDOUT; i++)
                err = put(s); /* a slow machine may need more than one deadline */
        ck_assert_int_eq(err, 0);
        w.accept = "NEW";
        w.container = failures[_i];
        ck_assert_int_eq(put(s), -EACCES);
        store_close(s);
        fake_stop(f);
}
END_TEST

static const struct {
        int status;
        const char *code;
} refusals[] = {{400, "ExpiredToken"},
                {403, "InvalidAccessKeyId"},
                {403, "SignatureDoesNotMatch"},
                {400, "InvalidToken"}};

START_TEST(keys_that_are_put_into_a_file_are_read_by_every_request)
{
        struct world w = {
                .accept = "OLD", .status = refusals[_i].status, .code = refusals[_i].code};
        struct fake *f = start(&w);
        struct store_object obj;

        write_file("credentials",
                   "[default]\naws_access_key_id = OLD\naws_secret_access_key = s\n");
        struct store *s = open_store(f, 0);
        ck_assert_int_eq(put(s), 0);
        w.accept = "NEW";
        write_file("credentials",
                   "[default]\naws_access_key_id = NEW\naws_secret_access_key = s\n");
        ck_assert_int_eq(store_head_wait(s, "k", &obj), 0);
        w.accept = "THIRD";
        write_file("credentials",
                   "[default]\naws_access_key_id = THIRD\naws_secret_access_key = s\n");
        ck_assert_int_eq(put(s), 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_key_that_stays_unknown_is_not_asked_for_each_time)
{
        enum { PUTS = 30 };
        struct world w = {.container = 200,
                          .life_s = 3600,
                          .accept = "NOBODY",
                          .status = 403,
                          .code = "InvalidAccessKeyId"};
        struct fake *f = start(&w);
        struct store *s;

        setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
        s = open_store(f, 0);
        for (int i = 0; i < PUTS; i++)
                ck_assert_int_eq(put(s), -EACCES);
        ck_assert_uint_lt(fake_requests(f), PUTS * 3 / 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

/* A head that is refused for another reason, and one where only heads are. */
START_TEST(a_head_that_stays_refused_ends)
{
        struct world w = {.accept = "NOBODY", .status = 403, .code = "AccessDenied"};
        struct fake *f = start(&w);
        struct store_object obj;

        setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
        struct store *s = open_store(f, 0);
        ck_assert_int_eq(store_head_wait(s, "k", &obj), -EACCES);
        ck_assert_uint_eq(fake_requests(f), 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("creds");
        TCase *t = tcase_create("creds");
        size_t nfailures = sizeof failures / sizeof *failures;

        tcase_add_checked_fixture(t, make_dir, remove_dir);
        tcase_add_loop_test(t, a_source_that_fails_gives_way_to_no_other, 0, nfailures);
        tcase_add_test(t, a_role_whose_base_is_slow_is_not_left);
        tcase_add_test(t, a_refresh_asks_the_source_that_served);
        tcase_add_test(t, a_metadata_server_that_is_gone_is_waited_for_after_the_end);
        tcase_add_test(t, credentials_of_an_instance_outlast_their_end);
        tcase_add_loop_test(t, refused_credentials_are_waited_for_until_the_deadline, 0, nfailures);
        tcase_add_loop_test(t, keys_that_are_put_into_a_file_are_read_by_every_request, 0,
                            sizeof refusals / sizeof *refusals);
        tcase_add_test(t, a_key_that_stays_unknown_is_not_asked_for_each_time);
        tcase_add_test(t, a_head_that_stays_refused_ends);
        suite_add_tcase(s, t);
        return unit_main(s);
}
