/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_index.c: the simulator's sorted index, and lists over it. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/sim/store/data.h"
#include "bench/sim/store/index.h"
#include "bench/sim/store/null.h"
#include "bench/sim/store/object.h"
#include "bench/sim/store/object_store.h"
#include "base/banned.h"

enum { MANY = 20000 };

static struct object *named(unsigned n)
{
        char key[16];

        snprintf(key, sizeof key, "%08x", n * 2654435761u);
        struct object *o = object_new(key);
        ck_assert_ptr_nonnull(o);
        return o;
}

START_TEST(entries_stay_in_order_of_their_keys)
{
        struct index ix;
        struct object *old;
        char last[16] = "";
        size_t count = 0;

        index_init(&ix);
        for (unsigned i = 0; i < MANY; i++) {
                ck_assert_int_eq(index_put(&ix, named(i), &old), 0);
                ck_assert_ptr_null(old);
        }
        for (unsigned i = 0; i < MANY; i += 3) {
                CLEANUP(object_unrefp) struct object *o = named(i);
                CLEANUP(object_unrefp) struct object *gone = index_remove(&ix, o->key);
                ck_assert_ptr_nonnull(gone);
                ck_assert_ptr_null(index_find(&ix, o->key));
        }
        for (const struct index_node *n = index_seek(&ix, "", 0); n; n = index_next(&ix, n)) {
                ck_assert_int_lt(strcmp(last, index_object(n)->key), 0);
                snprintf(last, sizeof last, "%s", index_object(n)->key);
                count++;
        }
        ck_assert_uint_eq(count, ix.count);
        ck_assert_uint_eq(count, MANY - (MANY + 2) / 3);
        index_release(&ix);
}
END_TEST

START_TEST(an_entry_is_replaced_and_sought)
{
        struct index ix;
        struct object *old;

        index_init(&ix);
        index_put(&ix, object_new("b"), &old);
        index_put(&ix, object_new("d"), &old);
        struct object *d = object_new("d");
        index_put(&ix, d, &old);
        ck_assert_ptr_nonnull(old);
        object_unref(old);
        ck_assert_ptr_eq(index_find(&ix, "d"), d);
        ck_assert_uint_eq(ix.count, 2);
        ck_assert_str_eq(index_object(index_seek(&ix, "b", 0))->key, "b");
        ck_assert_str_eq(index_object(index_seek(&ix, "b", 1))->key, "d");
        ck_assert_str_eq(index_object(index_seek(&ix, "c", 0))->key, "d");
        ck_assert_ptr_null(index_seek(&ix, "d", 1));
        ck_assert_ptr_null(index_remove(&ix, "c"));
        index_release(&ix);
}
END_TEST

static struct object *make_one(void *arg, const struct object *first, const char *key,
                               unsigned long number)
{
        (void)arg;
        (void)number;
        return object_clone(first, key);
}

/* Ten objects d/f00000000 to d/f00000009 without memory for each, one of which was put before. */
static void fill_ten(struct index *ix)
{
        struct object *old;

        index_init(ix);
        index_put(ix, object_new("d/f00000004"), &old);
        struct made *m = made_new("d/f", 10, object_new(NULL), make_one, NULL);
        ck_assert_ptr_nonnull(m);
        ck_assert_int_eq(index_fill(ix, m), 0);
        ck_assert_uint_eq(ix->count, 10);
}

START_TEST(objects_that_are_made_are_found_replaced_and_removed)
{
        CLEANUP(object_unrefp) struct object *old = NULL;
        struct index ix;

        fill_ten(&ix);
        ck_assert_ptr_null(index_find(&ix, "d/f0000000"));
        ck_assert_ptr_null(index_find(&ix, "d/f000000001"));
        ck_assert_ptr_null(index_find(&ix, "d/f00000010"));
        ck_assert_ptr_null(index_find(&ix, "d/f0000000:"));
        struct object *two = index_find(&ix, "d/f00000002");
        ck_assert_str_eq(two->key, "d/f00000002");
        ck_assert_ptr_eq(index_find(&ix, "d/f00000002"), two);
        ck_assert_uint_eq(ix.count, 10);
        ck_assert_int_eq(index_put(&ix, object_new("d/f00000003"), &old), 0);
        ck_assert_str_eq(old->key, "d/f00000003");
        CLEANUP(object_unrefp) struct object *five = index_remove(&ix, "d/f00000005");
        ck_assert_str_eq(five->key, "d/f00000005");
        ck_assert_ptr_null(index_remove(&ix, "d/f00000005"));
        ck_assert_ptr_null(index_find(&ix, "d/f00000005"));
        CLEANUP(object_unrefp) struct object *gone = index_remove(&ix, "d/f00000002");
        ck_assert_ptr_eq(gone, two);
        ck_assert_ptr_null(index_find(&ix, "d/f00000002"));
        ck_assert_uint_eq(ix.count, 8);
        index_release(&ix);
}
END_TEST

START_TEST(objects_that_are_made_are_sought_in_order_among_others)
{
        static const struct {
                const char *from;
                int after;
                const char *want;
        } seeks[] = {
                {"", 0, "a"},
                {"a", 1, "d/f00000000"},
                {"d/f", 0, "d/f00000000"},
                {"d/f00000000", 0, "d/f00000000"},
                {"d/f00000000", 1, "d/f00000000x"},
                {"d/f00000000x", 1, "d/f00000001"},
                {"d/f0000000/", 0, "d/f00000000"},
                {"d/f0000000:", 0, "e"},
                {"d/f1", 0, "e"},
                {"d/f00000004", 0, "d/f00000005"}, /* 4 is removed */
                {"d/f00000009", 1, "e"},
                {"d/e", 0, "d/f00000000"},
                {"d/g", 0, "e"},
                {"d/f000000051", 0, "d/f00000006"},
        };
        struct object *old;
        struct index ix;
        unsigned n = 0;

        fill_ten(&ix);
        object_unref(index_remove(&ix, "d/f00000004"));
        index_put(&ix, object_new("a"), &old);
        index_put(&ix, object_new("d/f00000000x"), &old);
        index_put(&ix, object_new("e"), &old);
        (void)index_find(&ix, "d/f00000007");
        for (size_t i = 0; i < sizeof seeks / sizeof *seeks; i++)
                ck_assert_str_eq(index_object(index_seek(&ix, seeks[i].from, seeks[i].after))->key,
                                 seeks[i].want);
        ck_assert_ptr_null(index_seek(&ix, "e", 1));
        char last[16] = "";
        for (const struct index_node *e = index_seek(&ix, "", 0); e; e = index_next(&ix, e)) {
                ck_assert_int_lt(strcmp(last, index_object(e)->key), 0);
                snprintf(last, sizeof last, "%s", index_object(e)->key);
                n++;
        }
        ck_assert_uint_eq(n, 12);
        ck_assert_uint_eq(ix.count, 12);
        index_release(&ix);
}
END_TEST

struct seen {
        char text[256];
};

static int see(void *arg, const struct object *o, const char *common, size_t ncommon)
{
        struct seen *s = arg;
        size_t n = strlen(s->text);

        if (common)
                snprintf(s->text + n, sizeof s->text - n, "[%.*s]", (int)ncommon, common);
        else
                snprintf(s->text + n, sizeof s->text - n, "<%s>", o->key);
        return 0;
}

static const struct {
        const char *prefix, *delim, *after;
        unsigned max;
        const char *want;
        bool more;
} lists[] = {
        {"", "", "", 99, "<a><a/><a/b/c><a/d><a0><b\xff><b\xff\xff>", false},
        {"", "/", "", 99, "<a>[a/]<a0><b\xff><b\xff\xff>", false},
        {"a/", "/", "", 99, "<a/>[a/b/]<a/d>", false},
        {"a/", "", "", 99, "<a/><a/b/c><a/d>", false},
        {"a/b", "/", "", 99, "[a/b/]", false},
        {"", "/", "", 2, "<a>[a/]", true},
        {"", "/", "a/", 2, "<a0><b\xff>", true},    /* goes on behind a common prefix */
        {"a/", "/", "a/", 9, "[a/b/]<a/d>", false}, /* behind a key that looks like one */
        {"a/", "/", "a/b/", 9, "<a/d>", false},
        {"", "", "a/b", 2, "<a/b/c><a/d>", true},
        {"b", "", "a", 9, "<b\xff><b\xff\xff>", false},
        {"", "\xff", "", 9, "<a><a/><a/b/c><a/d><a0>[b\xff]", false},
        {"", "", "", 0, "", true}, /* what a page without entries leaves */
        {"c", "/", "", 9, "", false},
        {"", "", "z", 9, "", false},
};

START_TEST(a_list_shows_what_it_should)
{
        static const char *const keys[] = {"a", "a/", "a/b/c", "a/d", "a0", "b\xff", "b\xff\xff"};
        struct data *d;
        struct object_store *v;
        struct seen s = {""};
        char why[256];

        ck_assert_int_eq(null_init(), 0);
        ck_assert_int_eq(data_open(NULL, &d, why, sizeof why), 0);
        ck_assert_int_eq(object_store_open(d, &v), 0);
        ck_assert_int_eq(object_store_add_bucket(v, "bkt"), 0);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                CLEANUP(object_unrefp) struct object *o = object_new(keys[i]);
                ck_assert_int_eq(object_store_put(v, "bkt", o, NULL), 0);
        }
        struct object_store_list l = {.prefix = lists[_i].prefix,
                                      .delim = lists[_i].delim,
                                      .after = lists[_i].after,
                                      .max = lists[_i].max,
                                      .fn = see,
                                      .arg = &s};
        ck_assert_int_eq(object_store_list(v, "bkt", &l), 0);
        ck_assert_str_eq(s.text, lists[_i].want);
        ck_assert_int_eq(l.more, lists[_i].more);
        object_store_close(v);
        data_close(d);
        null_exit();
}
END_TEST

int main(void)
{
        Suite *s = suite_create("sim_index");
        TCase *t = tcase_create("index");

        tcase_add_test(t, entries_stay_in_order_of_their_keys);
        tcase_add_test(t, an_entry_is_replaced_and_sought);
        tcase_add_test(t, objects_that_are_made_are_found_replaced_and_removed);
        tcase_add_test(t, objects_that_are_made_are_sought_in_order_among_others);
        tcase_add_loop_test(t, a_list_shows_what_it_should, 0, sizeof lists / sizeof *lists);
        suite_add_tcase(s, t);
        return unit_main(s);
}
