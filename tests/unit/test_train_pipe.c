/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_pipe.c: stages and micro-batches change neither what a model learns nor how an error
 * ends a step. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/train/trainer.h"
#include "tests/lib/unit_train.h"

#include "base/banned.h"

enum { SAMPLES = 5 };
static const struct model tiny = SMALL_GPT(4, 2, 12, 18, 6);
static struct coll alone;

/* The host's table, which counts what is allocated, and whose wait() may fail in the threads of
 * the stages behind the first. */
static struct math_ops counted;
static size_t allocated;
static atomic_bool fails;
static pthread_t first;

static int count_alloc(size_t n, void **out)
{
        allocated += n;
        return math_host.alloc(n, out);
}

static int wait_or_fail(void)
{
        return atomic_load(&fails) && !pthread_equal(pthread_self(), first) ? -EIO : 0;
}

static void setup(void)
{
        alone = one_rank();
        open_math();
        counted = math_host;
        counted.alloc = count_alloc;
        counted.wait = wait_or_fail;
        allocated = 0;
        first = pthread_self();
}

static struct train_setup setup_of(unsigned stages, unsigned chunks)
{
        struct train_setup s = setup_of_noise(&counted, &tiny, SAMPLES);

        s.stages = stages;
        s.chunks = chunks;
        return s;
}

START_TEST(stages_end_when_their_share_of_the_elements_is_exceeded)
{
        static const struct model wide = SMALL_GPT(4, 2, 12, 4000, 6); /* two units of 48,000 */
        static const struct {
                const struct model *m;
                unsigned stages, filled;
                size_t end[7];
        } cases[] = {
                {&tiny, 1, 1, {7}},          {&tiny, 2, 2, {3, 7}},       {&tiny, 3, 3, {3, 4, 7}},
                {&tiny, 4, 4, {2, 3, 5, 7}}, {&wide, 2, 2, {3, 7}},       {&wide, 3, 2, {1, 7}},
                {&wide, 4, 3, {1, 3, 7}},    {&wide, 7, 4, {1, 2, 3, 7}},
        };

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                size_t end[7] = {0};
                ck_assert_uint_eq(pipe_cut(cases[i].m, cases[i].stages, end), cases[i].filled);
                for (unsigned s = 0; s < cases[i].filled; s++)
                        ck_assert_msg(end[s] == cases[i].end[s], "case %zu, stage %u: %zu", i, s,
                                      end[s]);
        }
}
END_TEST

START_TEST(micro_batches_are_those_of_torch_chunk)
{
        static const struct {
                size_t batch;
                unsigned asked, chunks;
                size_t last;
        } cases[] = {{5, 1, 1, 5}, {5, 2, 2, 2}, {5, 3, 3, 1}, {6, 4, 3, 2}, {2, 9, 2, 1}};

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                const struct pipe_shape s = {
                        .batch = cases[i].batch, .stages = 1, .chunks = cases[i].asked};
                size_t from, n = pipe_samples(&s, cases[i].chunks - 1, &from);
                ck_assert_uint_eq(pipe_chunks(&s), cases[i].chunks);
                ck_assert_uint_eq(n, cases[i].last);
                ck_assert_uint_eq(from + n, cases[i].batch);
        }
}
END_TEST

/* The same weights after two steps, with dropout, but for rounding. */
static void learns_the_same(unsigned stages, unsigned chunks, bool again, bool entropy)
{
        struct train_setup plain = setup_of(0, 0), piped = setup_of(stages, chunks);
        struct trainer a, b;
        struct train_step x, y;

        piped.stash = again ? NETWORK_STASH_INPUT : NETWORK_STASH_ALL;
        plain.entropy = piped.entropy = entropy;
        plain.lr = piped.lr = entropy ? 0.05 : 1e-4;
        ck_assert_int_eq(trainer_init(&a, &plain, &alone), 0);
        ck_assert_int_eq(trainer_init(&b, &piped, &alone), 0);
        for (int i = 0; i < 2; i++) {
                ck_assert_int_eq(trainer_step(&a, &x), 0);
                ck_assert_int_eq(trainer_step(&b, &y), 0);
                ck_assert_msg(fabs(x.loss - y.loss) < 1e-5 * (1 + fabs(x.loss)),
                              "%u stages, %u micro-batches: loss %g, not %g", stages, chunks,
                              y.loss, x.loss);
        }
        have_the_same_weights(&a, &b, 1e-6F);
        trainer_release(&a);
        trainer_release(&b);
}

START_TEST(stages_and_micro_batches_learn_what_one_pass_learns)
{
        for (unsigned stages = 1; stages <= 4; stages++)
                for (unsigned chunks = 1; chunks <= SAMPLES; chunks += 2)
                        learns_the_same(stages, chunks, stages == chunks, true);
        learns_the_same(3, 2, false, false);
}
END_TEST

START_TEST(blocks_that_are_computed_anew_or_come_from_copies_have_the_same_bits)
{
        static const enum network_stash stash[] = {NETWORK_STASH_ALL, NETWORK_STASH_INPUT,
                                                   NETWORK_STASH_COPY};

        for (unsigned stages = 0; stages <= 3; stages += 3) {
                struct train_setup s = setup_of(stages, stages);
                struct trainer t[3];
                struct train_step step;

                for (int i = 0; i < 3; i++) {
                        s.stash = stash[i];
                        ck_assert_int_eq(trainer_init(&t[i], &s, &alone), 0);
                        for (int k = 0; k < 2; k++)
                                ck_assert_int_eq(trainer_step(&t[i], &step), 0);
                        have_the_same_weights(&t[0], &t[i], 0);
                }
                ck_assert_uint_lt(trainer_bytes(&t[1].setup, 1), trainer_bytes(&t[0].setup, 1));
                for (int i = 0; i < 3; i++)
                        trainer_release(&t[i]);
        }
}
END_TEST

/* It makes the copies, and brings them back. */
static int fail_to_bring_back(void *to, const void *from, size_t n, void *behind, void **mark)
{
        return atomic_load(&fails) ? -EIO : math_host.copy_apart(to, from, n, behind, mark);
}

START_TEST(a_copy_that_does_not_come_back_ends_the_step)
{
        struct train_setup s = setup_of(0, 0);
        struct trainer t;
        struct train_step step;

        s.stash = NETWORK_STASH_COPY;
        ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
        counted.copy_apart = fail_to_bring_back;
        atomic_store(&fails, true);
        ck_assert_int_eq(trainer_step(&t, &step), -EIO);
        atomic_store(&fails, false);
        ck_assert_int_eq(trainer_step(&t, &step), 0);
        trainer_release(&t);
}
END_TEST

START_TEST(a_stage_whose_device_fails_ends_the_step_and_no_other_stage_hangs)
{
        const struct train_setup s = setup_of(3, 2);
        struct trainer t;
        struct train_step step;

        ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
        ck_assert_int_eq(trainer_step(&t, &step), 0);
        atomic_store(&fails, true);
        ck_assert_int_eq(trainer_step(&t, &step), -EIO);
        ck_assert_uint_eq(t.step, 1);
        atomic_store(&fails, false);
        ck_assert_int_eq(trainer_step(&t, &step), 0);
        trainer_release(&t);
}
END_TEST

/* Of what its blocks keep, in the host's memory. */
static size_t copied_bytes(const struct network *g)
{
        size_t blocks = 0;

        for (size_t u = g->from; u < g->end; u++)
                blocks += u >= 1 && u <= g->model.layers;
        return g->copies ? blocks * g->place * sizeof(float) : 0;
}

START_TEST(a_pipeline_takes_no_more_memory_than_is_planned)
{
        for (unsigned stages = 1; stages <= 4; stages++) {
                struct train_setup s = setup_of(stages, 2);
                struct trainer t;

                s.adamw = stages > 2;
                s.stash = stages % 2 ? NETWORK_STASH_INPUT : NETWORK_STASH_COPY;
                allocated = 0;
                ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
                const size_t tokens = 2 * sizeof(int32_t) * SAMPLES * tiny.block;
                size_t copies = 0;
                for (unsigned i = 0; i < stages; i++)
                        copies += copied_bytes(&t.pipe.stage[i].net);
                ck_assert_uint_eq(copies, trainer_host_bytes(&s, 1));
                ck_assert_uint_eq(allocated + copies,
                                  trainer_bytes(&s, 1) + tokens + s.chunks * sizeof(float));
                trainer_release(&t);
        }
}
END_TEST

START_TEST(more_stages_than_the_model_fills_are_refused)
{
        const struct train_setup s = setup_of(7, 2);
        struct trainer t;

        ck_assert_int_eq(trainer_init(&t, &s, &alone), -EINVAL);
        trainer_release(&t);
}
END_TEST

int main(void)
{
        if (skips_without_openblas())
                return EXIT_SUCCESS;
        Suite *s = suite_create("train_pipe");
        TCase *tc = tcase_create("train_pipe");
        tcase_set_timeout(tc, 120); /* a step that hangs fails; how long one takes says nothing */
        tcase_add_checked_fixture(tc, setup, NULL);
        tcase_add_test(tc, stages_end_when_their_share_of_the_elements_is_exceeded);
        tcase_add_test(tc, micro_batches_are_those_of_torch_chunk);
        tcase_add_test(tc, stages_and_micro_batches_learn_what_one_pass_learns);
        tcase_add_test(tc, blocks_that_are_computed_anew_or_come_from_copies_have_the_same_bits);
        tcase_add_test(tc, a_copy_that_does_not_come_back_ends_the_step);
        tcase_add_test(tc, a_stage_whose_device_fails_ends_the_step_and_no_other_stage_hangs);
        tcase_add_test(tc, a_pipeline_takes_no_more_memory_than_is_planned);
        tcase_add_test(tc, more_stages_than_the_model_fills_are_refused);
        suite_add_tcase(s, tc);
        return unit_main(s);
}
