/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_ranks.c: what ranks tell each other while they compute changes nothing of what they
 * learn, and goes on beside the passes. The other rank is a carrier that has what this one has. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/train/trainer.h"
#include "tests/lib/other_rank.h"
#include "tests/lib/unit_train.h"

#include "base/banned.h"

enum { UNITS = 5 };
/* The head is more than the first bucket, as the embedding is. */
static const struct model wide = SMALL_GPT(2, 2, 64, 4200, 6);
static struct coll_ops carrier;
static struct math_ops device;
static struct coll two;
static pthread_t main_thread;
static atomic_uint met, elsewhere; /* collectives, and those that another thread made */
static sem_t came, goes;           /* of one that a test waits for */

static void count(void)
{
        atomic_fetch_add(&met, 1);
        if (!pthread_equal(pthread_self(), main_thread))
                atomic_fetch_add(&elsewhere, 1);
}

static int count_sum(struct coll *c, float *v, size_t n)
{
        count();
        return sum_both(c, v, n);
}

static int count_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        count();
        return gather_both(c, mine, n, all);
}

static int count_scatter(struct coll *c, float *all, float *mine, size_t n)
{
        count();
        return scatter_both(c, all, mine, n);
}

static void setup(void)
{
        two = other_rank(&carrier);
        carrier.sum = count_sum;
        carrier.gather = count_gather;
        carrier.sum_scatter = count_scatter;
        open_math();
        device = math_host;
        main_thread = pthread_self();
        atomic_store(&met, 0);
        atomic_store(&elsewhere, 0);
        sem_init(&came, 0, 0);
        sem_init(&goes, 0, 0);
}

static struct train_setup setup_of(unsigned stages)
{
        struct train_setup s = setup_of_noise(&device, &wide, 3);

        s.stages = s.chunks = stages;
        return s;
}

static void train(struct trainer *t, const struct train_setup *s, int steps, int last)
{
        struct train_step step;

        ck_assert_int_eq(trainer_init(t, s, &two), 0);
        for (int i = 1; i <= steps; i++)
                ck_assert_int_eq(trainer_step(t, &step), i == steps ? last : 0);
}

START_TEST(buckets_have_each_gradient_once_and_go_when_their_units_are_complete)
{
        for (unsigned stages = 0; stages <= 2; stages++) {
                const struct train_setup s = setup_of(stages);
                struct trainer t;
                size_t i = 0;

                ck_assert_int_eq(trainer_init(&t, &s, &two), 0);
                const struct reducer *r = &t.reducer;
                for (unsigned k = t.pipe.shape.stages; k-- > 0;) {
                        const struct trainer_runs *run = &t.runs[k];
                        size_t end = run->n;
                        for (; end; i++) {
                                const struct reducer_bucket *b = &r->bucket[i];
                                const size_t bytes = b->n * sizeof(float);
                                ck_assert_uint_lt(i, r->n);
                                ck_assert_uint_le(bytes, i ? REDUCER_BUCKET : REDUCER_FIRST);
                                ck_assert_ptr_eq(b->grads + b->n, run->grads + end);
                                end = (size_t)(b->grads - run->grads);
                                struct network_unit u = network_unit(trainer_model(&t), b->unit);
                                size_t from = trainer_model(&t)->tensors[u.first].off - run->off;
                                ck_assert(end >= from && end < from + u.elements);
                        }
                }
                ck_assert_uint_eq(i, r->n);
                ck_assert_uint_eq(r->bucket[0].unit, UNITS - 1);
                trainer_release(&t);
        }
}
END_TEST

START_TEST(gradients_that_are_averaged_beside_the_backward_pass_have_the_same_bits)
{
        for (unsigned stages = 0; stages <= 2; stages++) {
                struct train_setup s = setup_of(stages);
                struct trainer t[2];

                train(&t[0], &s, 2, 0);
                ck_assert_uint_eq(atomic_load(&elsewhere), 2 * t[0].reducer.n);
                s.apart = true;
                train(&t[1], &s, 2, 0);
                ck_assert_uint_eq(atomic_load(&elsewhere), 2 * t[0].reducer.n);
                have_the_same_weights(&t[0], &t[1], 0);
                trainer_release(&t[0]);
                trainer_release(&t[1]);
                atomic_store(&elsewhere, 0);
        }
}
END_TEST

START_TEST(a_carrier_of_the_main_thread_is_called_by_no_other)
{
        for (unsigned i = 0; i < 4; i++) {
                struct train_setup s = setup_of(i == 3 ? 2 : 0);
                struct trainer t;

                two.any_thread = false;
                s.sharded = i == 1 || i == 2;
                s.prefetch = i == 1 ? FSDP_PREHOOK : i == 2 ? FSDP_POSTHOOK : FSDP_NOOP;
                train(&t, &s, 2, 0);
                ck_assert_uint_eq(atomic_load(&elsewhere), 0);
                trainer_release(&t);
        }
}
END_TEST

/* The backward pass of the embedding is the last; here it ends when a bucket was summed. */
static int sum_and_tell(struct coll *c, float *v, size_t n)
{
        sem_post(&came);
        return count_sum(c, v, n);
}
static void embed_back_when_it_came(const float *dy, float *dtable, float *dposition,
                                    const int32_t *token, size_t rows, size_t block, size_t n)
{
        sem_wait(&came);
        math_host.embed_back(dy, dtable, dposition, token, rows, block, n);
}

START_TEST(a_bucket_goes_while_the_backward_pass_goes_on)
{
        const struct train_setup s = setup_of(0);
        struct trainer t;

        carrier.sum = sum_and_tell;
        device.embed_back = embed_back_when_it_came;
        train(&t, &s, 1, 0);
        ck_assert_uint_eq(t.step, 1);
        trainer_release(&t);
}
END_TEST

/* A device that fails in the passes, and one whose gradients cannot be had. */
static int fail_to_wait(void)
{
        return -EIO;
}
static int fail_to_get(void *to, const void *from, size_t n, void *mark)
{
        (void)to;
        (void)from;
        (void)n;
        (void)mark;
        return -EIO;
}

START_TEST(a_rank_whose_device_fails_sums_all_buckets_with_the_others)
{
        for (unsigned i = 0; i < 3; i++) {
                struct train_setup s = setup_of(i == 2 ? 2 : 0);
                struct trainer t;

                device = math_host;
                train(&t, &s, 1, 0);
                struct train_step step;
                if (i == 1)
                        device.get_behind = fail_to_get;
                else
                        device.wait = fail_to_wait;
                atomic_store(&met, 0);
                ck_assert_int_eq(trainer_step(&t, &step), -EIO);
                ck_assert_uint_eq(atomic_load(&met), t.reducer.n);
                ck_assert_uint_eq(t.step, 1);
                trainer_release(&t);
        }
}
END_TEST

/* A device that fails in the optimizer, here and in the other rank. */
static double told; /* the worst that ranks have agreed on */
static bool there;  /* it is the other's */
static void sgd_and_fail(float *w, const float *g, size_t n, float lr)
{
        math_host.sgd(w, g, n, lr);
        if (!there)
                device.wait = fail_to_wait;
}
static int max_and_note(struct coll *c, double *v, size_t n)
{
        static unsigned calls;

        (void)c;
        (void)n;
        if (there && ++calls == 2)
                *v = EIO;
        told = *v > told ? *v : told;
        return 0;
}

START_TEST(ranks_agree_on_what_fails_behind_the_average)
{
        for (unsigned i = 0; i < 4; i++) {
                struct train_setup s = setup_of(0);
                struct trainer t;

                there = i / 2;
                told = 0;
                s.sharded = i % 2;
                device = math_host;
                device.sgd = sgd_and_fail;
                carrier.max = i < 3 ? max_and_note : coll_none.max;
                train(&t, &s, 1, i < 3 ? -EIO : 0);
                ck_assert_int_eq((int)told, i < 3 ? EIO : 0);
                trainer_release(&t);
        }
}
END_TEST

static int sum_nothing(struct coll *c, float *v, size_t n)
{
        (void)c;
        (void)v;
        (void)n;
        count();
        return -ECANCELED;
}

START_TEST(behind_a_collective_that_failed_there_is_no_other)
{
        const struct train_setup s = setup_of(0);
        struct trainer t;

        carrier.sum = sum_nothing;
        train(&t, &s, 1, -ECANCELED);
        ck_assert_uint_eq(atomic_load(&met), 1);
        trainer_release(&t);
}
END_TEST

/* The embedding is the first of a forward pass; here it ends when a second unit was gathered. */
static int gather_and_tell(struct coll *c, const void *mine, size_t n, void *all)
{
        sem_post(&came);
        return count_gather(c, mine, n, all);
}
static void embed_when_two_came(float *y, const float *table, const float *position,
                                const int32_t *token, size_t rows, size_t block, size_t n)
{
        sem_wait(&came);
        sem_wait(&came);
        math_host.embed(y, table, position, token, rows, block, n);
}

START_TEST(a_unit_is_gathered_while_the_one_in_front_of_it_is_computed)
{
        struct train_setup s = setup_of(0);
        struct trainer t;

        s.sharded = true;
        s.prefetch = FSDP_PREHOOK;
        carrier.gather = gather_and_tell;
        device.embed = embed_when_two_came;
        train(&t, &s, 1, 0);
        ck_assert_uint_eq(atomic_load(&met), 3 * UNITS + 1); /* and the loss */
        trainer_release(&t);
}
END_TEST

/* The gradients of the unit behind the embedding; they wait for the embedding's. */
static int scatter_when_it_goes(struct coll *c, float *all, float *mine, size_t n)
{
        static unsigned made;

        if (++made % UNITS == UNITS - 1)
                sem_wait(&goes);
        return count_scatter(c, all, mine, n);
}
static void embed_back_and_go(const float *dy, float *dtable, float *dposition,
                              const int32_t *token, size_t rows, size_t block, size_t n)
{
        sem_post(&goes);
        math_host.embed_back(dy, dtable, dposition, token, rows, block, n);
}

START_TEST(gradients_are_divided_while_the_next_unit_is_computed)
{
        for (int i = 0; i < 2; i++) {
                struct train_setup s = setup_of(0);
                struct trainer t;

                s.sharded = true;
                s.prefetch = i ? FSDP_POSTHOOK : FSDP_PREHOOK;
                carrier.sum_scatter = scatter_when_it_goes;
                device.embed_back = embed_back_and_go;
                train(&t, &s, 2, 0);
                trainer_release(&t);
        }
}
END_TEST

START_TEST(units_that_are_gathered_early_have_the_same_bits)
{
        static const enum fsdp_prefetch prefetch[] = {FSDP_NOOP, FSDP_PREHOOK, FSDP_POSTHOOK};
        struct train_setup s = setup_of(0);
        struct trainer t[3];

        s.sharded = true;
        for (int i = 0; i < 3; i++) {
                s.prefetch = prefetch[i];
                train(&t[i], &s, 2, 0);
                have_the_same_weights(&t[0], &t[i], 0);
        }
        for (int i = 0; i < 3; i++)
                trainer_release(&t[i]);
}
END_TEST

int main(void)
{
        if (skips_without_openblas())
                return EXIT_SUCCESS;
        Suite *s = suite_create("train_ranks");
        TCase *tc = tcase_create("train_ranks");
        tcase_set_timeout(tc, 120); /* a step that hangs fails; how long one takes says nothing */
        tcase_add_checked_fixture(tc, setup, NULL);
        tcase_add_test(tc, buckets_have_each_gradient_once_and_go_when_their_units_are_complete);
        tcase_add_test(tc, gradients_that_are_averaged_beside_the_backward_pass_have_the_same_bits);
        tcase_add_test(tc, a_carrier_of_the_main_thread_is_called_by_no_other);
        tcase_add_test(tc, a_bucket_goes_while_the_backward_pass_goes_on);
        tcase_add_test(tc, a_rank_whose_device_fails_sums_all_buckets_with_the_others);
        tcase_add_test(tc, ranks_agree_on_what_fails_behind_the_average);
        tcase_add_test(tc, behind_a_collective_that_failed_there_is_no_other);
        tcase_add_test(tc, a_unit_is_gathered_while_the_one_in_front_of_it_is_computed);
        tcase_add_test(tc, gradients_are_divided_while_the_next_unit_is_computed);
        tcase_add_test(tc, units_that_are_gathered_early_have_the_same_bits);
        suite_add_tcase(s, tc);
        return unit_main(s);
}
