/* SPDX-License-Identifier: Apache-2.0 */
/* test_keys.c: no key of ckptbench takes what is out of its bounds or of another type. */
#include "bench/core/keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

static uint64_t bound(const struct param_desc *d, const char *text)
{
        uint64_t v = 0;
        int err = d->type == PARAM_DURATION ? parse_duration(text, &v) : parse_size(text, &v);
        ck_assert_msg(!err, "%s: bound %s", d->name, text);
        return v;
}

static void refused(struct keys *k, const struct param_desc *d, const char *value, const char *say)
{
        char why[400] = "";
        ck_assert_msg(param_tab_set(&key_tab, k, d->name, value, why, sizeof why) == -EINVAL,
                      "%s=%s is taken", d->name, value);
        ck_assert_msg(!strncmp(why, d->name, strlen(d->name)) && strstr(why, say) &&
                              strstr(why, ": give ") && !strchr(why, '\n'),
                      "%s", why);
}

START_TEST(no_key_takes_what_is_out_of_its_bounds)
{
        struct keys k;
        ck_assert_int_eq(param_tab_init(&key_tab, &k), 0);
        for (size_t i = 0; i < key_tab.count; i++) {
                const struct param_desc *d = &key_tab.table[i];
                const char *unit = d->type == PARAM_DURATION ? "ms" : "";
                char value[40];
                if (!param_has_bounds(d))
                        continue;
                uint64_t lo = bound(d, d->lo), hi = bound(d, d->hi);
                snprintf(value, sizeof value, "%" PRIu64 "%s", hi + 1, unit);
                refused(&k, d, value, "out of bounds");
                snprintf(value, sizeof value, "%" PRIu64 "%s", lo - 1, unit);
                if (lo)
                        refused(&k, d, value, "out of bounds");
                refused(&k, d, "-1", " is not a ");
                refused(&k, d, "1e3", " is not a ");
                refused(&k, d, "", " is not a ");
        }
        param_tab_release(&key_tab, &k);
}
END_TEST

START_TEST(words_that_are_not_of_a_key_are_refused)
{
        struct keys k;
        ck_assert_int_eq(param_tab_init(&key_tab, &k), 0);
        for (size_t i = 0; i < key_tab.count; i++) {
                const struct param_desc *d = &key_tab.table[i];
                if (d->type == PARAM_CHOICE)
                        refused(&k, d, "nonsense", "is not known");
                if (d->type == PARAM_BOOL)
                        refused(&k, d, "2", "is neither on nor off");
        }
        param_tab_release(&key_tab, &k);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("keys");
        TCase *t = tcase_create("keys");
        tcase_add_test(t, no_key_takes_what_is_out_of_its_bounds);
        tcase_add_test(t, words_that_are_not_of_a_key_are_refused);
        suite_add_tcase(s, t);
        return unit_main(s);
}
