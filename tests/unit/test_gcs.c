/* SPDX-License-Identifier: Apache-2.0 */
/* test_gcs.c: paths, names, resources and refusals of Google Cloud Storage, without a server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/gcs/gcs_upload.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static char bucket[] = "buc_ket", prefix[] = "run 1/";
static struct store_kind kind = {.bucket = bucket, .prefix = prefix};

static const struct {
        const char *key, *path;
} paths[] = {
        {"a", "/storage/v1/b/buc_ket/o/a"},
        {"a/b", "/storage/v1/b/buc_ket/o/a%2Fb"},
        {"x y+%#?", "/storage/v1/b/buc_ket/o/x%20y%2B%25%23%3F"},
        {"\xc3\xbc", "/storage/v1/b/buc_ket/o/%C3%BC"},
};

START_TEST(a_key_is_one_segment_of_the_path)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        ck_assert_int_eq(gcs_object_path(&b, &kind, paths[_i].key), 0);
        ck_assert_str_eq(b.p, paths[_i].path);
}
END_TEST

static const char *const upload_keys[] = {"run 1/a", "run 1/dir/a-b.c", "run 1/%2F \xc3\xbc"};

START_TEST(the_name_of_an_upload_tells_its_key)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT, id = BUF_INIT, key = BUF_INIT;

        ck_assert_int_eq(gcs_upload_name(&name, &kind, "m-0123.their-id", upload_keys[_i]), 0);
        ck_assert_ptr_null(strchr(name.p + strlen("run 1/" GCS_TMP), '/'));
        ck_assert_int_eq(gcs_unparsed_name(&kind, name.p, &id, &key), 0);
        ck_assert_str_eq(id.p, "m-0123.");
        ck_assert_str_eq(key.p, upload_keys[_i]);
}
END_TEST

static const struct {
        const char *id;
        size_t n; /* bytes of the key behind the prefix, each of which is three in the name */
        bool told;
} long_keys[] = {
        {"m-0123456789abcdef", 320, true},
        {"m-0123456789abcdef", 340, false},
        {"r-0123456789abcdef", 160, true},
        {"r-0123456789abcdef", 170, false},
};

START_TEST(a_name_of_an_upload_is_never_too_long)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT, id = BUF_INIT, key = BUF_INIT;
        CLEANUP(buf_release) struct buf long_key = BUF_INIT, back = BUF_INIT;

        buf_adds(&long_key, "run 1/");
        for (size_t i = 0; i < long_keys[_i].n; i++)
                buf_addc(&long_key, '+');
        ck_assert_int_eq(gcs_upload_name(&name, &kind, long_keys[_i].id, long_key.p), 0);
        ck_assert_uint_le(name.len, STORE_KEY_MAX);
        ck_assert_int_eq(gcs_unparsed_name(&kind, name.p, &id, &key), 0);
        ck_assert_str_eq(key.p, long_keys[_i].told ? long_key.p : name.p);
        ck_assert_int_eq(gcs_upload_name(&back, &kind, id.p, key.p), 0);
        ck_assert_str_eq(back.p, name.p);
}
END_TEST

static const char *const no_uploads[] = {
        "",
        "run 1/",
        "run 1/.ckptfs/tmp/",
        "run 1/.ckptfs/tmp/c-0123",
        "run 1/.ckptfs/tmp/m-",
        "run 1/.ckptfs/tmp/m-0123",
        "run 1/.ckptfs/tmp/r-0123",
        "run 1/.ckptfs/tmp/m-0123456789abcdef0",
};

START_TEST(other_names_are_none_of_an_upload)
{
        CLEANUP(buf_release) struct buf id = BUF_INIT, key = BUF_INIT;
        ck_assert_int_eq(gcs_unparsed_name(&kind, no_uploads[_i], &id, &key), -EINVAL);
}
END_TEST

static const struct {
        const char *text;
        bool good;
        uint64_t size;
        const char *etag, *mode;
} resources[] = {
        {"{\"name\":\"a\",\"generation\":\"17\",\"size\":\"5497558138880\","
         "\"crc32c\":\"8C6jfQ==\",\"metadata\":{\"mode\":\"33188\",\"ckptfs-for\":\"x\","
         "\"x_emulator_crc32c\":\"AAAAAA==\",\":x-goog-acl\":\"public-read\","
         "\":content-type\":\"text/html\"}}",
         true, 5497558138880ULL, "17", "33188"},
        {"{\"name\":\"a\",\"generation\":\"17\"}", true, 0, "17", NULL},
        {"{\"name\":\"a\",\"generation\":17}", false, 0, "", NULL},
        {"{\"name\":\"a\",\"generation\":\"0\"}", false, 0, "", NULL},
        {"{\"name\":\"a\",\"generation\":\"17x\"}", false, 0, "", NULL},
        {"{\"name\":\"a\",\"generation\":\"17\",\"size\":1}", false, 0, "", NULL},
        {"{\"name\":\"a\",\"generation\":\"17\",\"size\":\"-1\"}", false, 0, "", NULL},
        {"{\"name\":\"a\",\"generation\":\"17\",\"size\":\"9223372036854775808\"}", false, 0, "",
         NULL},
        {"{\"generation\":\"17\",\"size\":\"1\"}", false, 0, "", NULL},
        {"{\"name\":\"a\",\"generation\":\"17\",\"metadata\":[1,{\"mode\":\"1\"}]}", true, 0, "17",
         NULL},
        {"{\"name\":\"a\",\"generation\":\"17\",\"metadata\":[\"x\"]}", true, 0, "17", NULL},
};

START_TEST(a_resource_is_read_or_refused)
{
        CLEANUP(json_freep) struct json *j = NULL;
        struct store_object obj;
        char why[160];

        ck_assert_int_eq(json_parse("text", resources[_i].text, strlen(resources[_i].text), &j, why,
                                    sizeof why),
                         0);
        ck_assert(gcs_resource(j, &obj) == resources[_i].good);
        if (!resources[_i].good)
                return;
        ck_assert_uint_eq(obj.size, resources[_i].size);
        ck_assert_str_eq(obj.etag, resources[_i].etag);
        const char *mode = store_meta_get(&obj.meta, "mode");
        ck_assert_str_eq(mode ? mode : "-", resources[_i].mode ? resources[_i].mode : "-");
        const char *value, *name = NULL;
        while ((name = store_meta_next(&obj.meta, name, &value)))
                ck_assert_str_eq(name, "mode"); /* all others are of somebody else's making */
}
END_TEST

/* Headers are told as metadata, and given back as what they were. */
START_TEST(headers_of_an_object_go_with_it)
{
        static const char text[] =
                "{\"name\":\"a\",\"generation\":\"17\",\"contentType\":\"text/x\","
                "\"contentEncoding\":\"gzip\",\"cacheControl\":\"no-store\","
                "\"contentLanguage\":\"en\",\"acl\":\"x\"}";
        CLEANUP(json_freep) struct json *j = NULL, *back = json_new_object();
        struct store_object obj;
        char why[160];

        ck_assert_int_eq(json_parse("text", text, sizeof text - 1, &j, why, sizeof why), 0);
        ck_assert(gcs_resource(j, &obj));
        ck_assert_str_eq(store_meta_get(&obj.meta, ":content-type"), "text/x");
        ck_assert_int_eq(store_meta_add(&obj.meta, ":x-goog-acl", "public-read"), -EINVAL);
        ck_assert_int_eq(gcs_add_meta(back, &obj.meta, NULL), 0);
        ck_assert_int_eq(gcs_add_type(back, &obj.meta), 0);
        ck_assert_str_eq(json_string(json_get(back, "contentType"), ""), "text/x");
        ck_assert_str_eq(json_string(json_get(back, "contentEncoding"), ""), "gzip");
        ck_assert_str_eq(json_string(json_get(back, "cacheControl"), ""), "no-store");
        ck_assert_str_eq(json_string(json_get(back, "contentLanguage"), ""), "en");
        ck_assert_uint_eq(json_count(json_get(back, "metadata")), 0);
        ck_assert_uint_eq(json_count(back), 5);
}
END_TEST

static const struct {
        int status;
        const char *reason;
        bool if_absent;
        int meaning;
} meanings[] = {
        {429, "rateLimitExceeded", false, OP_SLOW},
        {403, "userRateLimitExceeded", false, OP_SLOW},
        {503, "", false, OP_SLOW},
        {500, "backendError", false, OP_RETRY},
        {408, "", false, OP_RETRY},
        {409, "conflict", false, OP_RETRY},
        {400, "BadDigest", false, OP_DAMAGED},
        {400, "CrcMismatch", false, OP_DAMAGED},
        {401, "authError", false, -EACCES},
        {403, "forbidden", false, -EACCES},
        {404, "notFound", false, -ENOENT},
        {412, "conditionNotMet", true, -EEXIST},
        {412, "conditionNotMet", false, -ESTALE},
        {501, "", false, -EOPNOTSUPP},
};

START_TEST(a_refusal_means_an_errno_or_another_try)
{
        ck_assert_int_eq(
                gcs_meaning(meanings[_i].status, meanings[_i].reason, meanings[_i].if_absent),
                meanings[_i].meaning);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

int main(void)
{
        Suite *suite = suite_create("gcs");
        TCase *t = tcase_create("gcs");
        tcase_add_loop_test(t, a_key_is_one_segment_of_the_path, 0, COUNT(paths));
        tcase_add_loop_test(t, the_name_of_an_upload_tells_its_key, 0, COUNT(upload_keys));
        tcase_add_loop_test(t, a_name_of_an_upload_is_never_too_long, 0, COUNT(long_keys));
        tcase_add_loop_test(t, other_names_are_none_of_an_upload, 0, COUNT(no_uploads));
        tcase_add_loop_test(t, a_resource_is_read_or_refused, 0, COUNT(resources));
        tcase_add_test(t, headers_of_an_object_go_with_it);
        tcase_add_loop_test(t, a_refusal_means_an_errno_or_another_try, 0, COUNT(meanings));
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
