/* SPDX-License-Identifier: Apache-2.0 */
/* test_loss_scale.c: gradients that no half holds change no weight, in whichever rank or device
 * they are, and training that goes on from a save has the scale that it would have had. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/train/replicas.h"
#include "bench/train/train_state.h"
#include "tests/lib/other_rank.h"
#include "tests/lib/unit_train.h"

#include "base/banned.h"

enum { STEPS = 8 };
static const struct model tiny = SMALL_GPT(2, 2, 16, 20, 6);
static struct coll alone;
static struct coll_ops carrier;

static void setup(void)
{
        alone = one_rank();
        open_math();
}

/* --- the factor --- */

START_TEST(the_scale_halves_at_an_overflow_and_doubles_after_2000_steps_without)
{
        struct loss_scale s = loss_scale_begin(0);

        ck_assert_float_eq(s.factor, 65536);
        loss_scale_note(&s, true);
        ck_assert_float_eq(s.factor, 32768);
        for (unsigned i = 0; i < 1999; i++)
                loss_scale_note(&s, false);
        ck_assert_float_eq(s.factor, 32768);
        loss_scale_note(&s, true); /* the count begins anew */
        for (unsigned i = 0; i < 1999; i++)
                loss_scale_note(&s, false);
        ck_assert_float_eq(s.factor, 16384);
        loss_scale_note(&s, false);
        ck_assert_float_eq(s.factor, 32768);
        ck_assert_uint_eq(s.good, 0);
        ck_assert_uint_eq(s.skipped, 2);
}
END_TEST

START_TEST(a_scale_that_was_given_stays_and_any_scale_stays_a_normal_number)
{
        struct loss_scale s = loss_scale_begin(1024);

        for (unsigned i = 0; i < 5000; i++)
                loss_scale_note(&s, i % 5000 == 7);
        ck_assert_float_eq(s.factor, 1024);
        ck_assert_uint_eq(s.skipped, 1);
        s = loss_scale_begin(0);
        for (unsigned i = 0; i < 400; i++)
                loss_scale_note(&s, true);
        ck_assert(loss_scale_may_be((double)s.factor));
        for (unsigned i = 0; i < 400 * LOSS_SCALE_EVERY; i++)
                loss_scale_note(&s, false);
        ck_assert(loss_scale_may_be((double)s.factor));
        ck_assert(!loss_scale_may_be(3) && !loss_scale_may_be(0) && !loss_scale_may_be(-2));
        ck_assert(!loss_scale_may_be(INFINITY) && !loss_scale_may_be(NAN));
}
END_TEST

/* --- steps --- */

/* The sum of the logits: its gradient, 1, times 65536 is no half. */
static struct train_setup setup_of_sum(void)
{
        struct train_setup s = setup_of_noise(&math_host, &tiny, 4);

        s.entropy = false;
        s.half = true;
        s.lr = 1e-4;
        return s;
}

static const struct {
        bool sharded, adamw;
        unsigned stages, devices;
        enum fsdp_prefetch prefetch;
} kinds[] = {
        {.adamw = true},
        {.devices = 2},
        {.sharded = true},
        {.sharded = true, .devices = 2, .adamw = true, .prefetch = FSDP_POSTHOOK},
        {.stages = 3},
        {.stages = 2, .devices = 2, .adamw = true},
};

static struct train_setup setup_of_kind(int i)
{
        struct train_setup s = setup_of_sum();

        s.sharded = kinds[i].sharded;
        s.adamw = kinds[i].adamw;
        s.stages = kinds[i].stages;
        s.chunks = kinds[i].stages ? 2 : 0;
        s.devices = kinds[i].devices;
        s.prefetch = kinds[i].prefetch;
        return s;
}

static void step(struct replicas *r, struct train_step *out)
{
        ck_assert_int_eq(replicas_step(r, out), 0);
        for (unsigned i = 1; i < r->n; i++) { /* all do the same */
                ck_assert_int_eq(r->replica[i].step.skipped, out->skipped);
                ck_assert_float_eq(r->v[i].scale.factor, r->v[0].scale.factor);
        }
}

/* What training does without the steps that were skipped, it does with that factor from the
 * beginning: to the bit, as the factor is a power of two. */
START_TEST(a_step_with_an_overflow_is_skipped_and_the_others_are_as_if_it_had_not_been)
{
        const struct train_setup s = setup_of_kind(_i);
        struct replicas r, like;
        struct train_step one, two;
        unsigned skipped = 0;

        ck_assert_int_eq(replicas_init(&r, &s, &alone), 0);
        ck_assert_int_eq(replicas_init(&like, &s, &alone), 0);
        do {
                for (unsigned i = 0; i < r.n; i++)
                        have_the_same_weights(&r.v[i], &like.v[i], 0);
                step(&r, &one);
                skipped += one.skipped;
        } while (one.skipped && skipped < STEPS);
        ck_assert_uint_gt(skipped, 0);
        ck_assert_uint_lt(skipped, STEPS);
        ck_assert_float_eq(r.v->scale.factor, ldexpf(65536, -(int)skipped));
        ck_assert_uint_eq(r.v->step, skipped + 1);
        for (unsigned i = 0; i < like.n; i++) {
                like.v[i].scale = (struct loss_scale){
                        .factor = r.v->scale.factor, .fixed = true, .skipped = skipped};
                like.v[i].step = skipped;
        }
        step(&like, &two);
        ck_assert_double_eq(one.loss, two.loss);
        step(&r, &one);
        step(&like, &two);
        ck_assert(!one.skipped && !two.skipped);
        ck_assert_double_eq(one.loss, two.loss);
        for (unsigned i = 0; i < r.n; i++)
                have_the_same_weights(&r.v[i], &like.v[i], 0);
        replicas_release(&r);
        replicas_release(&like);
}
END_TEST

/* The other rank has met one: of the two numbers that ranks add up, the second says so. */
static int sum_with_overflow(struct coll *c, float *v, size_t n)
{
        (void)c;
        for (size_t i = 0; i < n; i++)
                v[i] += v[i];
        if (n == 2)
                v[1] += 1;
        return 0;
}

START_TEST(an_overflow_of_another_rank_skips_the_step_of_all)
{
        struct train_setup s = setup_of_kind(_i);
        struct coll two = other_rank(&carrier);
        struct replicas r, before;
        struct train_step out;

        s.entropy = true; /* whose gradients are small enough */
        ck_assert_int_eq(replicas_init(&r, &s, &two), 0);
        ck_assert_int_eq(replicas_init(&before, &s, &two), 0);
        carrier.sum = sum_with_overflow;
        step(&r, &out);
        ck_assert(out.skipped);
        for (unsigned i = 0; i < r.n; i++)
                have_the_same_weights(&r.v[i], &before.v[i], 0);
        carrier.sum = sum_both;
        step(&r, &out);
        ck_assert(!out.skipped);
        ck_assert_float_eq(r.v->scale.factor, 32768);
        replicas_release(&r);
        replicas_release(&before);
}
END_TEST

/* --- saves --- */

static struct train_state saved_of(const struct trainer *t)
{
        struct train_state s;

        ck_assert_int_eq(train_state_init(&s, t), 0);
        for (size_t i = 0; i < s.trained.n; i++) {
                const struct shard_piece *p = &s.trained.v[i];
                char *to = (char *)s.host + p->off;
                const float number = p->held ? 0 : train_state_number(t, p->name);
                if (p->held)
                        memcpy(to, p->held, p->len);
                else
                        memcpy(to, &number, sizeof number);
        }
        return s;
}

static float *number_of(const struct train_state *s, const char *name)
{
        for (size_t i = 0; i < s->trained.n; i++)
                if (!strcmp(s->trained.v[i].name, name))
                        return &s->host[s->trained.v[i].off / sizeof(float)];
        ck_abort_msg("no %s", name);
        return NULL;
}

START_TEST(training_goes_on_from_a_save_with_the_scale_and_the_steps_that_it_had)
{
        struct train_setup s = setup_of_sum();
        struct trainer t, on;
        struct train_step one, two;

        s.adamw = true; /* its factors count the steps that were not skipped */
        ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
        ck_assert_int_eq(trainer_init(&on, &s, &alone), 0);
        for (unsigned i = 0; i < STEPS; i++)
                ck_assert_int_eq(trainer_step(&t, &one), 0);
        ck_assert_uint_gt(t.scale.skipped, 0);
        ck_assert_uint_gt(t.scale.good, 0);
        struct train_state saved = saved_of(&t), loaded;
        ck_assert_int_eq(train_state_init(&loaded, &on), 0);
        ck_assert_uint_eq(loaded.bytes, saved.bytes);
        memcpy(loaded.host, saved.host, saved.bytes);
        ck_assert_int_eq(train_state_put(&loaded, &on), 0);
        ck_assert_mem_eq(&on.scale.factor, &t.scale.factor, sizeof t.scale.factor);
        ck_assert_uint_eq(on.scale.good, t.scale.good);
        ck_assert_uint_eq(on.scale.skipped, t.scale.skipped);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(trainer_step(&t, &one), 0);
                ck_assert_int_eq(trainer_step(&on, &two), 0);
                ck_assert_double_eq(one.loss, two.loss);
        }
        have_the_same_weights(&t, &on, 0);
        train_state_release(&saved);
        train_state_release(&loaded);
        trainer_release(&t);
        trainer_release(&on);
}
END_TEST

static const struct {
        const char *name;
        float value;
} wrong[] = {
        {"step", -1},
        {"step", 1.5F},
        {"step", NAN},
        {"scaler.scale", 3},
        {"scaler.scale", -65536},
        {"scaler.scale", INFINITY},
        {"scaler._growth_tracker", 2000},
        {"scaler._growth_tracker", 0.5F},
        {"scaler.skipped", 2}, /* after one step */
        {"scaler.skipped", NAN},
};

START_TEST(numbers_that_no_training_has_are_refused_and_nothing_changes)
{
        const struct train_setup s = setup_of_sum();
        struct trainer t;
        struct train_step out;

        ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
        ck_assert_int_eq(trainer_step(&t, &out), 0);
        struct train_state saved = saved_of(&t);
        *number_of(&saved, wrong[_i].name) = wrong[_i].value;
        ck_assert_int_eq(train_state_put(&saved, &t), -EBADMSG);
        ck_assert_uint_eq(t.step, 1);
        ck_assert_float_eq(t.scale.factor, 32768);
        train_state_release(&saved);
        trainer_release(&t);
}
END_TEST

START_TEST(a_save_without_a_scale_begins_with_the_first_and_one_in_fp32_has_none)
{
        struct train_setup s = setup_of_sum();
        struct shard all = {0};
        struct trainer t;

        ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
        struct train_state saved = saved_of(&t);
        *number_of(&saved, "scaler.scale") = 0; /* as what was not there is left */
        ck_assert_int_eq(train_state_put(&saved, &t), 0);
        ck_assert_float_eq(t.scale.factor, 65536);
        train_state_release(&saved);
        trainer_release(&t);
        s.half = false;
        ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
        ck_assert_int_eq(train_state_list(&all, &t, 1, &alone, TRAIN_SHARE_ALL), 0);
        for (size_t i = 0; i < all.n; i++)
                ck_assert(!train_state_optional(all.v[i].name));
        ck_assert_str_eq(all.v[all.n - 1].name, "step");
        shard_release(&all);
        trainer_release(&t);
}
END_TEST

int main(void)
{
        const int n = (int)(sizeof kinds / sizeof kinds[0]);
        Suite *s = suite_create("loss_scale");
        TCase *t = tcase_create("all");

        if (skips_without_openblas())
                return 0;
        tcase_add_checked_fixture(t, setup, NULL);
        tcase_add_test(t, the_scale_halves_at_an_overflow_and_doubles_after_2000_steps_without);
        tcase_add_test(t, a_scale_that_was_given_stays_and_any_scale_stays_a_normal_number);
        tcase_add_loop_test(
                t, a_step_with_an_overflow_is_skipped_and_the_others_are_as_if_it_had_not_been, 0,
                n);
        tcase_add_loop_test(t, an_overflow_of_another_rank_skips_the_step_of_all, 0, n);
        tcase_add_test(t, training_goes_on_from_a_save_with_the_scale_and_the_steps_that_it_had);
        tcase_add_loop_test(t, numbers_that_no_training_has_are_refused_and_nothing_changes, 0,
                            (int)(sizeof wrong / sizeof wrong[0]));
        tcase_add_test(t, a_save_without_a_scale_begins_with_the_first_and_one_in_fp32_has_none);
        suite_add_tcase(s, t);
        return unit_main(s);
}
