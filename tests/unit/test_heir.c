/* SPDX-License-Identifier: Apache-2.0 */
/* test_heir.c: which lookup an open believes that was sent back before (heir.h). */
#include "mount/ops/heir.h"

#include <stdlib.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { TID = 7 };

static struct mount *m;
static struct node *a, *b;

/* A node of which the store was asked just now. */
static struct node *asked(const char *name)
{
        const struct node_info info = {.size = 1, .etag = "1", .complete = true};
        struct node *n = tree_enter_locked(m->tree, tree_root(m->tree), name, &info);

        ck_assert_ptr_nonnull(n);
        n->stood_ns = tree_now_ns();
        return n;
}

static void begin(void)
{
        m = calloc(1, sizeof *m);
        ck_assert_ptr_nonnull(m);
        m->tree = tree_new(1000000000);
        ck_assert_ptr_nonnull(m->tree);
        tree_lock(m->tree);
        a = asked("a");
        b = asked("b");
        ck_assert(!heir_looks_up_locked(m, TID));
        heir_send_back_locked(m, TID, a);
        ck_assert(heir_looks_up_locked(m, TID));
}

static void end(void)
{
        tree_unref_locked(m->tree, a, 1);
        tree_unref_locked(m->tree, b, 1);
        tree_unlock(m->tree);
        tree_free(m->tree);
        free(m);
}

START_TEST(what_the_lookup_of_the_name_brought_is_believed)
{
        begin();
        ck_assert(!heir_is_told_locked(m, TID, a));
        heir_tell_locked(m, TID, a);
        ck_assert(heir_is_told_locked(m, TID, a));
        ck_assert(!heir_is_told_locked(m, TID, b));
        ck_assert(!heir_is_told_locked(m, TID + 1, a));
        heir_over_locked(m, TID);
        ck_assert(!heir_is_told_locked(m, TID, a));
        end();
}
END_TEST

START_TEST(a_lookup_of_another_name_is_not_believed)
{
        begin();
        heir_tell_locked(m, TID, b);
        ck_assert(!heir_is_told_locked(m, TID, b));
        end();
}
END_TEST

START_TEST(an_earlier_lookup_is_not_believed)
{
        begin();
        heir_tell_locked(m, TID, a);
        ck_assert(heir_looks_up_locked(m, TID)); /* of the open; the one before was a stat */
        ck_assert(!heir_is_told_locked(m, TID, a));
        ck_assert(heir_is_due_locked(m, TID));
        end();
}
END_TEST

START_TEST(a_lookup_of_long_ago_is_not_believed)
{
        begin();
        heir_tell_locked(m, TID, a);
        a->stood_ns -= 2000000000LL;
        ck_assert(!heir_is_told_locked(m, TID, a));
        end();
}
END_TEST

int main(void)
{
        Suite *s = suite_create("heir");
        TCase *t = tcase_create("heir");
        tcase_add_test(t, what_the_lookup_of_the_name_brought_is_believed);
        tcase_add_test(t, a_lookup_of_another_name_is_not_believed);
        tcase_add_test(t, an_earlier_lookup_is_not_believed);
        tcase_add_test(t, a_lookup_of_long_ago_is_not_believed);
        suite_add_tcase(s, t);
        return unit_main(s);
}
