/* SPDX-License-Identifier: Apache-2.0 */
/* test_tree.c: names, versions and lives of nodes. */
#include "mount/tree/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "mount/tree/recent_nodes.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct node_info dir = {.dir = true, .etag = ""};

static struct node_info version(const char *etag, uint64_t size)
{
        return (struct node_info){.size = size, .etag = etag, .complete = true};
}

static struct node *enter(struct tree *t, struct node *in, const char *name, struct node_info info)
{
        tree_lock(t);
        struct node *n = tree_enter_locked(t, in, name, &info);
        tree_unlock(t);
        return n;
}

static void forget(struct tree *t, struct node *n, uint64_t count)
{
        tree_lock(t);
        tree_unref_locked(t, n, count);
        tree_unlock(t);
}

START_TEST(keys_are_made_of_names)
{
        struct tree *t = tree_new(1000000000);
        struct node *a = enter(t, tree_root(t), "a", dir);
        struct node *f = enter(t, a, "f", version("1", 3));
        char *key = tree_key(t, f, NULL), *in = tree_key(t, a, "g"), *of = tree_key(t, a, NULL);
        char *root = tree_key(t, tree_root(t), "x");
        ck_assert_str_eq(key, "a/f");
        ck_assert_str_eq(in, "a/g");
        ck_assert_str_eq(of, "a/");
        ck_assert_str_eq(root, "x");
        free(key);
        free(in);
        free(of);
        free(root);
        tree_free(t);
}
END_TEST

START_TEST(a_renamed_node_keeps_its_number_and_what_is_below_it)
{
        struct tree *t = tree_new(1000000000);
        struct node *a = enter(t, tree_root(t), "a", dir);
        struct node *b = enter(t, tree_root(t), "b", dir);
        struct node *f = enter(t, a, "f", version("1", 3));
        uint64_t ino = a->ino;

        tree_lock(t);
        tree_move_locked(t, a, b, "c");
        ck_assert_ptr_null(tree_find_locked(t, tree_root(t), "a"));
        ck_assert_ptr_eq(tree_find_locked(t, b, "c"), a);
        ck_assert_ptr_eq(tree_find_locked(t, a, "f"), f);
        ck_assert(tree_is_below(f, b));
        tree_unlock(t);
        char *key = tree_key(t, f, NULL);
        ck_assert_str_eq(key, "b/c/f");
        ck_assert_uint_eq(a->ino, ino);
        struct node *other = enter(t, tree_root(t), "a", dir);
        ck_assert_uint_ne(other->ino, ino);
        free(key);
        forget(t, other, 1);
        forget(t, a, 1);
        forget(t, f, 1);
        forget(t, b, 1);
        tree_free(t);
}
END_TEST

/* Of f, after a move: it grew when the key changed, and else stayed. */
static uint64_t moved(struct tree *t, struct node *n, struct node *to, const char *name,
                      const struct node *f, bool changes)
{
        uint64_t before = tree_place(t, f);
        tree_lock(t);
        tree_move_locked(t, n, to, name);
        tree_unlock(t);
        uint64_t after = tree_place(t, f);
        ck_assert(changes ? after > before : after == before);
        return after;
}

START_TEST(a_place_changes_with_every_name_above_and_with_no_other)
{
        struct tree *t = tree_new(1000000000);
        struct node *a = enter(t, tree_root(t), "a", dir);
        struct node *b = enter(t, tree_root(t), "b", dir);
        struct node *f = enter(t, a, "f", version("1", 3));
        struct node *g = enter(t, b, "g", version("1", 3));

        ck_assert_uint_eq(tree_place(t, f), 0);
        moved(t, a, tree_root(t), "c", f, true);
        moved(t, g, b, "h", f, false);
        moved(t, b, tree_root(t), "d", f, false);
        uint64_t there = moved(t, a, b, "c", f, true);
        ck_assert_uint_gt(moved(t, a, tree_root(t), "a", f, true), there); /* back */
        moved(t, f, b, "f", f, true);
        moved(t, a, tree_root(t), "e", f, false);
        moved(t, f, a, "f", f, true);
        moved(t, a, tree_root(t), "a", f, true);
        forget(t, f, 1);
        forget(t, g, 1);
        forget(t, a, 1);
        forget(t, b, 1);
        tree_free(t);
}
END_TEST

/* What the store was asked before it told of another host's change. */
START_TEST(a_file_that_was_replaced_elsewhere_is_not_what_older_replies_say)
{
        struct tree *t = tree_new(1000000000);
        struct node *root = tree_root(t), *f = enter(t, root, "f", version("1", 3));
        int64_t before = tree_now_ns();

        tree_lock(t);
        ck_assert_int_eq(tree_removed_since_locked(t, root, "f", before), NOT_REMOVED);
        tree_replaced_locked(t, f);
        ck_assert_int_eq(tree_removed_since_locked(t, root, "f", before), CHANGED);
        ck_assert_int_eq(tree_removed_since_locked(t, root, "f", tree_now_ns() + 1), NOT_REMOVED);
        tree_unlock(t);
        struct node *g = enter(t, root, "f", version("2", 3));
        tree_lock(t);
        ck_assert_int_eq(tree_removed_since_locked(t, root, "f", before), NOT_REMOVED);
        tree_unlock(t);
        forget(t, g, 1); /* the node goes, and what it told stays known */
        tree_lock(t);
        ck_assert_int_eq(tree_removed_since_locked(t, root, "f", before), CHANGED);
        tree_unlock(t);
        forget(t, f, 1);
        tree_free(t);
}
END_TEST

/* A rename gives the name of `g` to a node that lost its own: the store has something there. */
START_TEST(a_name_that_a_node_without_one_takes_is_no_removed_one)
{
        struct tree *t = tree_new(1000000000);
        struct node *root = tree_root(t), *f = enter(t, root, "f", version("1", 3));
        struct node *g = enter(t, root, "g", version("2", 3));
        int64_t before = tree_now_ns();

        tree_lock(t);
        tree_remove_locked(t, f);
        tree_move_locked(t, f, root, "g");
        ck_assert_ptr_null(tree_find_locked(t, root, "g"));
        ck_assert_int_eq(tree_removed_since_locked(t, root, "g", before), CHANGED);
        tree_unlock(t);
        forget(t, f, 1);
        forget(t, g, 1);
        tree_free(t);
}
END_TEST

static void count_drop(void *arg, char *key)
{
        ++*(unsigned *)arg;
        free(key);
}

START_TEST(a_node_that_is_kept_stays_until_its_name_goes)
{
        unsigned dropped = 0;
        struct tree *t = tree_new(1000000000);
        struct node *root = tree_root(t), *f = enter(t, root, "f", version("1", 3));

        tree_on_drop(t, count_drop, &dropped);
        tree_lock(t);
        f->orphan_key = strdup("copy");
        for (int i = 0; i < 2; i++) {
                tree_pin_locked(f);
                tree_add_recent_locked(t, f);
        }
        tree_unref_locked(t, f, 1); /* the kernel forgets it */
        ck_assert_ptr_eq(tree_find_locked(t, root, "f"), f);
        tree_drop_name_locked(t, root, "f", NULL);
        tree_unlock(t);
        ck_assert_uint_eq(dropped, 1);
        ck_assert_uint_eq(tree_nodes(t), 0);
        tree_free(t);
}
END_TEST

START_TEST(a_node_that_is_kept_stays_until_many_others_are)
{
        struct tree *t = tree_new(1000000000);
        struct node *root = tree_root(t);
        char name[16];

        tree_lock(t);
        for (int i = 0; i <= RECENT_NODES_MOST; i++) {
                const struct node_info info = version("1", 3);
                snprintf(name, sizeof name, "%d", i);
                tree_add_recent_locked(t, tree_enter_locked(t, root, name, &info));
        }
        ck_assert_ptr_null(tree_find_locked(t, root, "0"));
        ck_assert_ptr_nonnull(tree_find_locked(t, root, "1"));
        tree_unlock(t);
        tree_free(t);
}
END_TEST

START_TEST(many_nodes_that_move_about_are_found)
{
        enum { N = 2000 };
        struct tree *t = tree_new(1000000000);
        struct node *d = enter(t, tree_root(t), "d", dir), *v[N];
        char name[16];

        for (int i = 0; i < N; i++) {
                snprintf(name, sizeof name, "%d", i);
                v[i] = enter(t, tree_root(t), name, version("1", 1));
                if (i % 2) {
                        tree_lock(t);
                        tree_move_locked(t, v[i], d, name);
                        tree_unlock(t);
                }
        }
        for (int i = 0; i < N; i++) {
                snprintf(name, sizeof name, "%d", i);
                tree_lock(t);
                ck_assert_ptr_eq(tree_find_locked(t, i % 2 ? d : tree_root(t), name), v[i]);
                tree_unlock(t);
                forget(t, v[i], 1);
        }
        tree_free(t);
}
END_TEST

START_TEST(an_open_file_keeps_its_version_when_the_name_gets_another)
{
        struct tree *t = tree_new(1000000000);
        struct node *old = enter(t, tree_root(t), "f", version("1", 3));
        ck_assert_ptr_eq(enter(t, tree_root(t), "f", version("1", 3)), old);
        old->nreaders = 1;
        struct node *new = enter(t, tree_root(t), "f", version("2", 5));
        ck_assert_ptr_ne(old, new);
        ck_assert_uint_eq(old->size, 3);
        ck_assert_uint_eq(new->size, 5);
        ck_assert_uint_ne(old->ino, new->ino);
        forget(t, old, 2);
        forget(t, new, 1);
        tree_lock(t);
        ck_assert_ptr_null(tree_find_locked(t, tree_root(t), "f"));
        tree_unlock(t);
        tree_free(t);
}
END_TEST

START_TEST(an_open_file_stays_what_it_is_when_no_version_is_told)
{
        struct tree *t = tree_new(1000000000);
        struct node *n = enter(t, tree_root(t), "f", version("1", 3));
        n->nreaders = 1;
        ck_assert_ptr_eq(enter(t, tree_root(t), "f", version("", 5)), n);
        ck_assert_uint_eq(n->size, 3);
        ck_assert_str_eq(n->etag, "1");
        tree_free(t);
}
END_TEST

START_TEST(a_version_has_one_time)
{
        struct tree *t = tree_new(1000000000);
        struct node_info head = version("1", 3), listed = version("1", 3);
        head.mtime_ns = 7000000000;
        listed.mtime_ns = 7345000000;
        struct node *n = enter(t, tree_root(t), "f", listed);
        ck_assert_int_eq(n->mtime_ns, head.mtime_ns);
        enter(t, tree_root(t), "f", head);
        ck_assert_int_eq(n->mtime_ns, head.mtime_ns);
        tree_free(t);
}
END_TEST

START_TEST(a_closed_file_keeps_its_version_too)
{
        struct tree *t = tree_new(1000000000);
        struct node *old = enter(t, tree_root(t), "f", version("1", 3));
        struct node *new = enter(t, tree_root(t), "f", version("2", 5));
        ck_assert_ptr_ne(old, new);
        ck_assert_uint_eq(old->size, 3);
        ck_assert_uint_eq(new->size, 5);
        ck_assert(!old->hashed);
        tree_free(t);
}
END_TEST

START_TEST(what_was_asked_before_a_change_replaces_nothing)
{
        struct tree *t = tree_new(1000000000);
        struct node_info late = version("1", 3);
        late.asked_ns = tree_now_ns();
        struct node *n = enter(t, tree_root(t), "f", version("2", 5));
        ck_assert_ptr_eq(enter(t, tree_root(t), "f", late), n);
        ck_assert_str_eq(n->etag, "2");
        tree_free(t);
}
END_TEST

START_TEST(an_unknown_version_becomes_known_in_place)
{
        struct tree *t = tree_new(1000000000);
        struct node *n = enter(t, tree_root(t), "f", version("", 3));
        ck_assert_ptr_eq(enter(t, tree_root(t), "f", version("2", 5)), n);
        ck_assert_uint_eq(n->size, 5);
        tree_free(t);
}
END_TEST

START_TEST(a_listing_does_not_take_away_what_a_head_told)
{
        struct tree *t = tree_new(1000000000);
        struct node_info head = version("1", 3), listed = version("1", 3);
        head.has_crc = true;
        listed.complete = false;
        struct node *n = enter(t, tree_root(t), "f", head);
        enter(t, tree_root(t), "f", listed);
        ck_assert(n->complete && n->has_crc);
        tree_free(t);
}
END_TEST

START_TEST(ten_thousand_names_are_found_and_forgotten)
{
        struct tree *t = tree_new(1000000000);
        char name[32];
        for (int i = 0; i < 10000; i++) {
                snprintf(name, sizeof name, "f%d", i);
                enter(t, tree_root(t), name, version("1", (uint64_t)i));
        }
        for (int i = 0; i < 10000; i++) {
                snprintf(name, sizeof name, "f%d", i);
                tree_lock(t);
                struct node *n = tree_find_locked(t, tree_root(t), name);
                tree_unlock(t);
                ck_assert_ptr_nonnull(n);
                ck_assert_uint_eq(n->size, (uint64_t)i);
                forget(t, n, 1);
        }
        tree_free(t);
}
END_TEST

START_TEST(a_child_keeps_its_parent)
{
        struct tree *t = tree_new(1000000000);
        struct node *a = enter(t, tree_root(t), "a", dir);
        struct node *f = enter(t, a, "f", version("1", 3));
        forget(t, a, 1);
        char *key = tree_key(t, f, NULL);
        ck_assert_str_eq(key, "a/f");
        free(key);
        forget(t, f, 1);
        tree_free(t);
}
END_TEST

static const struct {
        const char *text;
        bool valid;
} texts[] = {
        {"", true},
        {"plain", true},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", true},
        {"\x80", false},
        {"\xc3", false},
        {"\xc0\xaf", false},         /* not the shortest */
        {"\xe0\x80\xaf", false},     /* not the shortest */
        {"\xed\xa0\x80", false},     /* surrogate */
        {"\xf4\x90\x80\x80", false}, /* beyond U+10FFFF */
        {"\xff", false},
};

/* The names of the open files, of which `n` has a reader, or has none any more. */
static const char *open_names(struct tree *t, struct node *n, bool reads)
{
        static char names[16];

        tree_lock(t);
        n->reader = reads ? (struct reader *)n : NULL; /* not looked at */
        tree_note_open_locked(t, n);
        tree_note_open_locked(t, n);
        size_t len = 0;
        for (n = tree_open_list_locked(t); n; n = n->open_next)
                names[len++] = n->name[0];
        names[len] = 0;
        tree_unlock(t);
        return names;
}

START_TEST(open_files_are_listed_until_their_end_in_whatever_order_that_comes)
{
        struct tree *t = tree_new(1000000000);
        struct node *a = enter(t, tree_root(t), "a", version("1", 3));
        struct node *b = enter(t, tree_root(t), "b", version("1", 3));
        struct node *c = enter(t, tree_root(t), "c", version("1", 3));

        ck_assert_str_eq(open_names(t, a, true), "a");
        ck_assert_str_eq(open_names(t, b, true), "ba");
        ck_assert_str_eq(open_names(t, c, true), "cba");
        ck_assert_str_eq(open_names(t, b, false), "ca");
        ck_assert_str_eq(open_names(t, a, false), "c");
        ck_assert_str_eq(open_names(t, b, true), "bc");
        ck_assert_str_eq(open_names(t, b, false), "c");
        ck_assert_str_eq(open_names(t, c, false), "");
        tree_free(t);
}
END_TEST

START_TEST(names_must_be_utf8)
{
        ck_assert_int_eq(utf8_valid(texts[_i].text), texts[_i].valid);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("tree");
        TCase *t = tcase_create("tree");
        tcase_add_test(t, keys_are_made_of_names);
        tcase_add_test(t, a_renamed_node_keeps_its_number_and_what_is_below_it);
        tcase_add_test(t, a_place_changes_with_every_name_above_and_with_no_other);
        tcase_add_test(t, a_file_that_was_replaced_elsewhere_is_not_what_older_replies_say);
        tcase_add_test(t, a_name_that_a_node_without_one_takes_is_no_removed_one);
        tcase_add_test(t, a_node_that_is_kept_stays_until_its_name_goes);
        tcase_add_test(t, a_node_that_is_kept_stays_until_many_others_are);
        tcase_add_test(t, many_nodes_that_move_about_are_found);
        tcase_add_test(t, an_open_file_keeps_its_version_when_the_name_gets_another);
        tcase_add_test(t, an_open_file_stays_what_it_is_when_no_version_is_told);
        tcase_add_test(t, a_version_has_one_time);
        tcase_add_test(t, a_closed_file_keeps_its_version_too);
        tcase_add_test(t, what_was_asked_before_a_change_replaces_nothing);
        tcase_add_test(t, an_unknown_version_becomes_known_in_place);
        tcase_add_test(t, a_listing_does_not_take_away_what_a_head_told);
        tcase_add_test(t, ten_thousand_names_are_found_and_forgotten);
        tcase_add_test(t, a_child_keeps_its_parent);
        tcase_add_test(t, open_files_are_listed_until_their_end_in_whatever_order_that_comes);
        tcase_add_loop_test(t, names_must_be_utf8, 0, sizeof texts / sizeof texts[0]);
        suite_add_tcase(s, t);
        return unit_main(s);
}
