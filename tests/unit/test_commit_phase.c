/* SPDX-License-Identifier: Apache-2.0 */
/* test_commit_phase.c: each step that a commit may take, and that it may take no other. */
#include "mount/write/commit_phase.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

/* As commit_phase.h draws them, by their names; besides, each but "idle" may fail. */
static const char *const steps[][2] = {
        {"idle", "planning"},      {"planning", "sending"},     {"planning", "idle"},
        {"sending", "publishing"}, {"sending", "locking"},      {"sending", "planning"},
        {"sending", "looking"},    {"sending", "recording"},    {"sending", "idle"},
        {"locking", "sending"},    {"locking", "planning"},     {"locking", "idle"},
        {"publishing", "idle"},    {"publishing", "moving"},    {"publishing", "planning"},
        {"publishing", "looking"}, {"publishing", "recording"}, {"moving", "idle"},
        {"moving", "removing"},    {"removing", "idle"},        {"removing", "planning"},
        {"looking", "planning"},   {"looking", "idle"},         {"recording", "planning"},
        {"recording", "looking"},  {"failing", "idle"},
};

static bool is_drawn(const char *from, const char *to)
{
        if (!strcmp(to, "failing"))
                return strcmp(from, "idle") && strcmp(from, "failing");
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
                if (!strcmp(steps[i][0], from) && !strcmp(steps[i][1], to))
                        return true;
        return false;
}

START_TEST(every_pair_is_as_it_is_drawn)
{
        unsigned n = 0, drawn = sizeof steps / sizeof steps[0] + COMMIT_PHASES - 2;
        for (unsigned from = 0; from < COMMIT_PHASES; from++)
                for (unsigned to = 0; to < COMMIT_PHASES; to++) {
                        const char *a = commit_phase_name(from), *b = commit_phase_name(to);
                        bool may = commit_phase_leads_to(from, to);
                        ck_assert_msg(may == is_drawn(a, b), "%s -> %s: %d", a, b, may);
                        n += may;
                }
        ck_assert_uint_eq(n, drawn); /* no name of the list is unknown */
}
END_TEST

START_TEST(each_phase_leads_back_to_idle)
{
        bool back[COMMIT_PHASES] = {[COMMIT_IDLE] = true};
        for (unsigned round = 0; round < COMMIT_PHASES; round++)
                for (unsigned from = 0; from < COMMIT_PHASES; from++)
                        for (unsigned to = 0; to < COMMIT_PHASES; to++)
                                if (back[to] && commit_phase_leads_to(from, to))
                                        back[from] = true;
        for (unsigned p = 0; p < COMMIT_PHASES; p++)
                ck_assert_msg(back[p], "%s never ends", commit_phase_name(p));
}
END_TEST

START_TEST(a_phase_that_may_publish_is_final)
{
        ck_assert(commit_phase_is_final(COMMIT_PUBLISHING));
        ck_assert(commit_phase_is_final(COMMIT_MOVING));
        ck_assert(commit_phase_is_final(COMMIT_REMOVING));
        ck_assert(commit_phase_is_final(COMMIT_RECORDING));
        ck_assert(!commit_phase_is_final(COMMIT_IDLE));
        ck_assert(!commit_phase_is_final(COMMIT_PLANNING));
        ck_assert(!commit_phase_is_final(COMMIT_SENDING));
        ck_assert(!commit_phase_is_final(COMMIT_LOCKING));
        ck_assert(!commit_phase_is_final(COMMIT_LOOKING));
        ck_assert(!commit_phase_is_final(COMMIT_FAILING));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("commit_phase");
        TCase *t = tcase_create("commit_phase");
        tcase_add_test(t, every_pair_is_as_it_is_drawn);
        tcase_add_test(t, each_phase_leads_back_to_idle);
        tcase_add_test(t, a_phase_that_may_publish_is_final);
        suite_add_tcase(s, t);
        return unit_main(s);
}
