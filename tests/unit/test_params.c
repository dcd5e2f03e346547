/* SPDX-License-Identifier: Apache-2.0 */
/* test_params.c: defaults, every type's values and bounds, and the exact words of each refusal. */
#include "base/params.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

#define KiB 1024ULL
#define MiB (1024 * KiB)
#define GiB (1024 * MiB)

START_TEST(defaults_are_those_of_the_table)
{
        CLEANUP(params_release) struct params p;
        char word[16];
        ck_assert_int_eq(params_init(&p), 0);
        ck_assert_str_eq(p.endpoint, "");
        ck_assert_uint_eq(p.part_size, 16 * MiB);
        ck_assert_uint_eq(p.memory, 2048 * MiB);
        ck_assert_uint_eq(p.attr_ttl, 1000);
        ck_assert_uint_eq(p.file_mode, 0644);
        ck_assert_uint_eq(p.uid, 4294967295U);
        ck_assert(!p.ro);
        ck_assert_str_eq(param_choice("on_kill", p.on_kill, word, sizeof word), "abort");
        ck_assert_str_eq(param_choice("on_kill", 7, word, sizeof word), "?");
}
END_TEST

static const struct {
        const char *name, *value, *why; /* why: NULL when it is taken */
} sets[] = {
        {"part_size", "5M", NULL},
        {"part_size", "512M", NULL},
        {"part_size", "1M", "part_size=1M is out of bounds: give 5M to 512M"},
        {"part_size", "513M", "part_size=513M is out of bounds: give 5M to 512M"},
        {"part_size", "99999999999999999999",
         "part_size=99999999999999999999 is out of bounds: give 5M to 512M"},
        {"part_size", "99999999T", "part_size=99999999T is out of bounds: give 5M to 512M"},
        {"part_size", "99999999999999999999x",
         "part_size=99999999999999999999x is not a size: give bytes, or a number with K, M, G or "
         "T"},
        {"part_size", "lots",
         "part_size=lots is not a size: give bytes, or a number with K, M, G or T"},
        {"part_size", "", "part_size= is not a size: give bytes, or a number with K, M, G or T"},
        {"part_size", "-8M",
         "part_size=-8M is not a size: give bytes, or a number with K, M, G or T"},
        {"part_size", NULL, "part_size has no value: give 5M to 512M"},
        {"region", NULL, "region has no value: give a text"},
        {"region", "", NULL},
        {"connections", "auto", NULL},
        {"connections", "1", NULL},
        {"connections", "0", "connections=0 is out of bounds: give auto, or 1 to 1024"},
        {"connections", "1.5", "connections=1.5 is not a count: give auto or a whole number"},
        {"connections", "many", "connections=many is not a count: give auto or a whole number"},
        {"threads", "auto", "threads=auto is not a count: give a whole number"},
        {"threads", "16K", "threads=16K is not a count: give a whole number"},
        {"uid", "4294967295", NULL},
        {"deadline", "0.5s", "deadline=0.5s is out of bounds: give 1s to 3600s"},
        {"deadline", "1h", NULL},
        {"deadline", "1y",
         "deadline=1y is not a time: give seconds, or a number with ms, s, m, h or d"},
        {"file_mode", "0888", "file_mode=0888 is not a mode: give octal permission bits, as 0644"},
        {"file_mode", "17777", "file_mode=17777 is out of bounds: give 0 to 07777"},
        {"on_kill", "publish", NULL},
        {"on_kill", "pub", "on_kill=pub is not known: give abort or publish"},
        {"on_kill", NULL, "on_kill has no value: give abort or publish"},
        {"log_level", "", "log_level= is not known: give error, warning, info or debug"},
        {"ro", NULL, NULL},
        {"ro", "YES", NULL},
        {"ro", "maybe", "ro=maybe is neither on nor off: give on or off"},
        {"part_sise", "16M", "unknown option 'part_sise': did you mean 'part_size'?"},
        {"part-size", "16M", "unknown option 'part-size': did you mean 'part_size'?"},
        {"mem", "1G", "unknown option 'mem': ckptfs -o help lists every option"},
        {"", "x", "unknown option '': ckptfs -o help lists every option"},
        {"two\nlines", "x", "unknown option 'two?lines': ckptfs -o help lists every option"},
};

START_TEST(a_refusal_says_cause_and_remedy)
{
        CLEANUP(params_release) struct params p;
        char why[200] = "";
        ck_assert_int_eq(params_init(&p), 0);
        int err = params_set(&p, sets[_i].name, sets[_i].value, why, sizeof why);
        ck_assert_int_eq(err, sets[_i].why ? -EINVAL : 0);
        ck_assert_str_eq(why, sets[_i].why ? sets[_i].why : "");
}
END_TEST

START_TEST(values_reach_their_fields)
{
        CLEANUP(params_release) struct params p;
        char why[200];
        ck_assert_int_eq(params_init(&p), 0);
        ck_assert_int_eq(params_set_list(&p,
                                         "part_size=1.5M,,ro,region=eu-west-1,deadline=2m,"
                                         "file_mode=600,log=a\\,b=c,attr_ttl=250ms,on_kill=publish",
                                         why, sizeof why),
                         -EINVAL);
        ck_assert_str_eq(why, "part_size=1.5M is out of bounds: give 5M to 512M");
        ck_assert_int_eq(params_set_list(&p,
                                         "part_size=6.5M,,ro,region=eu-west-1,deadline=2m,"
                                         "file_mode=600,log=a\\,b=c,attr_ttl=250ms,on_kill=publish",
                                         why, sizeof why),
                         0);
        ck_assert_uint_eq(p.part_size, 6 * MiB + 512 * KiB);
        ck_assert(p.ro);
        ck_assert_str_eq(p.region, "eu-west-1");
        ck_assert_uint_eq(p.deadline, 120000);
        ck_assert_uint_eq(p.file_mode, 0600);
        ck_assert_str_eq(p.log, "a,b=c");
        ck_assert_uint_eq(p.attr_ttl, 250);
        ck_assert_uint_eq(p.on_kill, 1);
        ck_assert_int_eq(params_set_list(&p,
                                         "rw,dev,suid,_netdev,owner,group,comment=x,silent,x-"
                                         "systemd.automount,region=",
                                         why, sizeof why),
                         0);
        ck_assert(!p.ro);
        ck_assert_int_eq(params_set_list(&p, "sync", why, sizeof why), -EINVAL);
        ck_assert_int_eq(params_set_list(&p, "noexec", why, sizeof why), 0);
        ck_assert(p.noexec);
        ck_assert_int_eq(params_set_list(&p, "exec", why, sizeof why), 0);
        ck_assert(!p.noexec);
        ck_assert_str_eq(p.region, "");
}
END_TEST

static const struct {
        const char *text;
        uint64_t bytes;
        int err;
} sizes[] = {
        {"0", 0, 0},
        {"4096", 4096, 0},
        {"1k", KiB, 0},
        {"8GiB", 8 * GiB, 0},
        {"1.5G", 1536 * MiB, 0},
        {"2T", 2048 * GiB, 0},
        {"18446744073709551615", 0, -ERANGE}, /* nobody needs it, and rounding would pass it */
        {"18446744073709551614", UINT64_MAX - 1, 0},
        {"99999999T", 0, -ERANGE},
        {"1.", 0, -EINVAL},
        {".5G", 0, -EINVAL},
        {"1.5", 0, -EINVAL},
        {"1GB", 0, -EINVAL},
        {"1 G", 0, -EINVAL},
        {"0x10", 0, -EINVAL},
};

START_TEST(sizes_are_powers_of_1024)
{
        uint64_t v = 0;
        ck_assert_int_eq(parse_size(sizes[_i].text, &v), sizes[_i].err);
        ck_assert_uint_eq(v, sizes[_i].bytes);
}
END_TEST

struct other {
        param_SIZE size;
        param_STRING path;
};

START_TEST(another_table_has_its_own_word)
{
        static const struct param_desc table[] = {
                {"size", PARAM_SIZE, offsetof(struct other, size), "1G", "1", "1T", ""},
                {"mount.path", PARAM_STRING, offsetof(struct other, path), "/mnt", "", "", ""}};
        static const struct param_tab tab = {table, 2, "key"};
        struct other o;
        char why[200];
        ck_assert_int_eq(param_tab_init(&tab, &o), 0);
        ck_assert_uint_eq(o.size, GiB);
        ck_assert_int_eq(param_tab_set(&tab, &o, "mount.path", "/x", why, sizeof why), 0);
        ck_assert_str_eq(o.path, "/x");
        ck_assert_int_eq(param_tab_set(&tab, &o, "mount.pth", "/x", why, sizeof why), -EINVAL);
        ck_assert_str_eq(why, "unknown key 'mount.pth': did you mean 'mount.path'?");
        ck_assert_int_eq(param_tab_set(&tab, &o, "nothing", "/x", why, sizeof why), -EINVAL);
        ck_assert_str_eq(why, "unknown key 'nothing': ckptbench help keys lists every key");
        param_tab_release(&tab, &o);
        ck_assert_ptr_null(o.path);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("params");
        TCase *t = tcase_create("params");
        tcase_add_test(t, defaults_are_those_of_the_table);
        tcase_add_loop_test(t, a_refusal_says_cause_and_remedy, 0, sizeof sets / sizeof *sets);
        tcase_add_test(t, values_reach_their_fields);
        tcase_add_loop_test(t, sizes_are_powers_of_1024, 0, sizeof sizes / sizeof *sizes);
        tcase_add_test(t, another_table_has_its_own_word);
        suite_add_tcase(s, t);
        return unit_main(s);
}
