/* SPDX-License-Identifier: Apache-2.0 */
/* test_conf.c: which scalars a file holds, and the line and words of what is wrong with it. */
#include "base/text/conf.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/params.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static char file[] = "/tmp/ckptfs-conf-XXXXXX";

static void write_text(const char *text)
{
        memcpy(file + sizeof file - 7, "XXXXXX", 6);
        int fd = mkstemp(file);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        close(fd);
}

static int add(void *arg, const char *path, const char *value, unsigned line)
{
        return buf_addf(arg, "%u:%s=%s;", line, path, value);
}

static const struct {
        const char *text, *told;
} files[] = {
        {"", ""},
        {"# only a comment\n", ""},
        {"---\na: 1\nb: two words\n", "2:a=1;3:b=two words;"},
        {"a:\nb: ''\nc: \"x: y\"\n", "1:a=;2:b=;3:c=x: y;"},
        {"s3:\n  uri: s3://b/p\n  deep: {k: v}\nz: 1\n", "2:s3.uri=s3://b/p;3:s3.deep.k=v;4:z=1;"},
        {"tags: [a, b]\nlist:\n- x: 1\n  y: 2\n- z\nend: 1\n",
         "1:tags.0=a;1:tags.1=b;3:list.0.x=1;4:list.0.y=2;5:list.1=z;6:end=1;"},
};

START_TEST(scalars_come_with_path_and_line)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char why[300];
        write_text(files[_i].text);
        int err = conf_read(file, add, &b, why, sizeof why);
        unlink(file);
        ck_assert_int_eq(err, 0);
        ck_assert_str_eq(b.p, files[_i].told);
}
END_TEST

static const struct {
        const char *text, *why; /* behind the file's name */
} broken[] = {
        {"a: [1\n", ":2: this is not YAML: mend the line"},
        {"a: 1\n\tb: 2\n", ":2: this is not YAML: mend the line"},
        {"just text\n", ":1: the file is not lines of name: value: write it so"},
        {"- a\n", ":1: the file is a list: write lines of name: value"},
        {"a: &x 1\nb: *x\n", ":2: aliases are not read: write the value out"},
        {"a: 1\nb: 2\na: 1\n", ":3: this name was given before: take one of them away"},
        {"s3: {uri: x, uri: y}\n", ":1: this name was given before: take one of them away"},
        {"'': 1\n'': 2\n", ":2: this name was given before: take one of them away"},
        {"a: 1\n---\nb: 2\n", ":2: a second document begins: give one"},
        {"? [a]\n: b\n", ":1: a name must be plain text: write name: value"},
        {"a: \"x\\0y\"\n", ":1: a value holds a NUL: take it out"},
        {"a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: 1\n",
         ":1: this is nested too deeply: take levels away"},
        {"region: r\npart_size: 1M\n", ":2: part_size=1M is out of bounds: give 5M to 512M"},
        {"\npart_sise: 16M\n", ":2: unknown option 'part_sise': did you mean 'part_size'?"},
        {"region:\n- a\n", ":2: unknown option 'region.0': did you mean 'region'?"},
};

START_TEST(an_error_names_file_line_cause_and_remedy)
{
        CLEANUP(params_release) struct params p;
        CLEANUP(buf_release) struct buf want = BUF_INIT;
        char why[300] = "";
        ck_assert_int_eq(params_init(&p), 0);
        /* A name that is no option must not hide what is wrong with the YAML. */
        CLEANUP(buf_release) struct buf told = BUF_INIT;
        write_text(broken[_i].text);
        int err = conf_read(file, add, &told, why, sizeof why);
        if (!err)
                err = conf_read_params(file, &p, why, sizeof why);
        unlink(file);
        buf_addf(&want, "%s%s", file, broken[_i].why);
        ck_assert_int_eq(err, -EINVAL);
        ck_assert_str_eq(why, want.p);
}
END_TEST

START_TEST(a_file_sets_options)
{
        CLEANUP(params_release) struct params p;
        char why[300];
        ck_assert_int_eq(params_init(&p), 0);
        write_text("region: eu-west-1\nro: on\nmemory: 1G\nendpoint: \"\"\n");
        int err = conf_read_params(file, &p, why, sizeof why);
        unlink(file);
        ck_assert_int_eq(err, 0);
        ck_assert_str_eq(p.region, "eu-west-1");
        ck_assert(p.ro);
        ck_assert_uint_eq(p.memory, 1ULL << 30);
        ck_assert_int_eq(conf_read_params("/nonexistent", &p, why, sizeof why), -ENOENT);
        ck_assert_str_eq(why,
                         "/nonexistent: No such file or directory: give a file that can be read");
}
END_TEST

/* The sample has every option behind a '#'; without it the file must be good and change nothing. */
START_TEST(the_sample_holds_the_defaults)
{
        CLEANUP(params_release) struct params p, defaults;
        CLEANUP(buf_release) struct buf path = BUF_INIT, text = BUF_INIT;
        char line[512], why[300] = "";
        const char *srcdir = getenv("srcdir");
        unsigned options = 0;

        buf_addf(&path, "%s/conf/ckptfs.yaml", srcdir ? srcdir : ".");
        CLEANUP(fclosep) FILE *f = fopen(path.p, "r");
        ck_assert_ptr_nonnull(f);
        while (fgets(line, sizeof line, f)) {
                bool option = line[0] == '#' && line[1] != ' ';
                options += option;
                buf_adds(&text, option ? line + 1 : line);
        }
        ck_assert_uint_eq(options, param_count);
        ck_assert_int_eq(params_init(&p), 0);
        ck_assert_int_eq(params_init(&defaults), 0);
        write_text(text.p);
        int err = conf_read_params(file, &p, why, sizeof why);
        unlink(file);
        ck_assert_str_eq(why, "");
        ck_assert_int_eq(err, 0);
        ck_assert_uint_eq(p.part_size, defaults.part_size);
        ck_assert_uint_eq(p.deadline, defaults.deadline);
        ck_assert_uint_eq(p.uid, defaults.uid);
        ck_assert_uint_eq(p.dir_mode, defaults.dir_mode);
        ck_assert_str_eq(p.endpoint, defaults.endpoint);
        ck_assert_str_eq(p.spill_dir, defaults.spill_dir);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("conf");
        TCase *t = tcase_create("conf");
        tcase_add_loop_test(t, scalars_come_with_path_and_line, 0, sizeof files / sizeof *files);
        tcase_add_loop_test(t, an_error_names_file_line_cause_and_remedy, 0,
                            sizeof broken / sizeof *broken);
        tcase_add_test(t, a_file_sets_options);
        tcase_add_test(t, the_sample_holds_the_defaults);
        suite_add_tcase(s, t);
        return unit_main(s);
}
