/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_devices.c: a rank with several devices learns what as many ranks learn. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/train/replicas.h"
#include "bench/train/train_state.h"
#include "tests/lib/other_rank.h"
#include "tests/lib/unit_train.h"

#include "base/banned.h"

enum { SAMPLES = 6, DEVICES_MAX = 3 };
static const struct model tiny = SMALL_GPT(4, 2, 12, 18, 6);
static struct coll alone;

/* The host's table, which knows what memory is of which device, and fails a call for another. */
static struct math_ops several;
static _Thread_local unsigned in_use;
static struct {
        pthread_mutex_t mtx;
        struct {
                const char *p;
                size_t n;
                unsigned device;
        } v[256];
        size_t n;
} taken = {.mtx = PTHREAD_MUTEX_INITIALIZER};
static atomic_uint foreign; /* calls with memory of another device */
static atomic_uint there;   /* other ranks' collectives in memory of a device */
static atomic_uint failing; /* the device whose wait() fails, from 1; 0: none */

static void use(unsigned device)
{
        in_use = device;
}

static int take(size_t n, void **out)
{
        int err = math_host.alloc(n, out);

        pthread_mutex_lock(&taken.mtx);
        ck_assert_uint_lt(taken.n, sizeof taken.v / sizeof taken.v[0]);
        taken.v[taken.n].p = *out;
        taken.v[taken.n].device = in_use;
        taken.v[taken.n++].n = n;
        pthread_mutex_unlock(&taken.mtx);
        return err;
}

static void look(const void *p)
{
        bool own = false;

        pthread_mutex_lock(&taken.mtx);
        for (size_t i = 0; i < taken.n; i++)
                own |= (uintptr_t)p - (uintptr_t)taken.v[i].p < taken.v[i].n &&
                       taken.v[i].device == in_use;
        pthread_mutex_unlock(&taken.mtx);
        if (!own)
                atomic_fetch_add(&foreign, 1);
}

static int wait_or_fail(void)
{
        return atomic_load(&failing) == in_use + 1 ? -EIO : 0;
}

static void zero(float *x, size_t n)
{
        look(x);
        math_host.zero(x, n);
}
static void product(const struct product *p, const float *a, const float *b, float *c)
{
        look(a);
        look(b);
        look(c);
        math_host.product(p, a, b, c);
}
static void embed(float *y, const float *table, const float *position, const int32_t *token,
                  size_t rows, size_t block, size_t n)
{
        look(token);
        math_host.embed(y, table, position, token, rows, block, n);
}
static void loss_entropy(float *x, const int32_t *target, size_t rows, size_t n, float scale,
                         float *loss)
{
        look(target);
        look(loss);
        math_host.loss_entropy(x, target, rows, n, scale, loss);
}
static void draw(float *x, size_t n, uint64_t key, uint64_t first, float deviation)
{
        look(x);
        math_host.draw(x, n, key, first, deviation);
}
static void sgd(float *w, const float *g, size_t n, float lr)
{
        look(w);
        look(g);
        math_host.sgd(w, g, n, lr);
}
static void adamw(float *w, const float *g, float *m, float *v, size_t n, const struct adam *a)
{
        look(w);
        look(m);
        look(v);
        math_host.adamw(w, g, m, v, n, a);
}

static void setup(void)
{
        alone = one_rank();
        open_math();
        several = math_host;
        several.use = use;
        several.alloc = take;
        several.wait = wait_or_fail;
        several.zero = zero;
        several.product = product;
        several.embed = embed;
        several.loss_entropy = loss_entropy;
        several.draw = draw;
        several.sgd = sgd;
        several.adamw = adamw;
        taken.n = 0;
        atomic_store(&foreign, 0);
        atomic_store(&failing, 0);
        atomic_store(&there, 0);
}

static struct train_setup setup_of(unsigned devices)
{
        struct train_setup s = setup_of_noise(&several, &tiny, SAMPLES);

        s.devices = devices;
        return s;
}

static void learn(struct replicas *r, const struct train_setup *s, struct coll *c, double *loss)
{
        struct train_step step;

        ck_assert_int_eq(replicas_init(r, s, c), 0);
        for (int i = 0; i < 3; i++) {
                ck_assert_int_eq(replicas_step(r, &step), 0);
                loss[i] = step.loss;
        }
        ck_assert_int_eq(replicas_compare(r), 0);
}

/* --- another rank, which has what this one has, as NCCL speaks to it --- */

static int sum_there(struct coll *c, float *mem, size_t n, void *behind, int *own)
{
        (void)own;
        look(mem);
        ck_assert_ptr_null(behind); /* it was waited for */
        atomic_fetch_add(&there, 1);
        return sum_both(c, mem, n);
}

/* It is in place. */
static int scatter_there(struct coll *c, float *all, float *mine, size_t n, void *behind, int *own)
{
        (void)own;
        look(all);
        look(mine);
        ck_assert_ptr_null(behind);
        ck_assert_ptr_eq(mine, all + c->rank * n);
        atomic_fetch_add(&there, 1);
        return scatter_both(c, all, mine, n);
}

static int gather_there(struct coll *c, const float *mine, size_t n, float *all, int *own)
{
        (void)own;
        look(mine);
        look(all);
        ck_assert_ptr_eq(mine, all + c->rank * n);
        atomic_fetch_add(&there, 1);
        memcpy(all + n, mine, n * sizeof *all);
        return 0;
}

/* --- as many ranks of one device, which are threads here --- */

struct rank {
        struct coll_team *team;
        unsigned number;
        struct train_setup setup;
        struct replicas replicas;
        double loss[3];
        pthread_t thread;
};

static void *rank_thread(void *arg)
{
        struct rank *r = arg;

        learn(&r->replicas, &r->setup, &r->team->member[r->number].coll, r->loss);
        return NULL;
}

static void learn_as_ranks_do(const struct train_setup *s)
{
        const unsigned n = s->devices;
        struct replicas devices;
        struct rank rank[DEVICES_MAX];
        struct coll_team team;
        double loss[3];

        learn(&devices, s, &alone, loss);
        ck_assert_uint_eq(atomic_load(&foreign), 0);
        ck_assert_int_eq(coll_team_init(&team, n, &alone, NULL), 0);
        for (unsigned i = 0; i < n; i++) {
                rank[i] = (struct rank){.team = &team, .number = i, .setup = *s};
                rank[i].setup.ops = &math_host;
                rank[i].setup.batch = SAMPLES / n;
                rank[i].setup.devices = 1;
                ck_assert_int_eq(pthread_create(&rank[i].thread, NULL, rank_thread, &rank[i]), 0);
        }
        for (unsigned i = 0; i < n; i++)
                pthread_join(rank[i].thread, NULL);
        for (unsigned i = 0; i < n; i++) {
                ck_assert_mem_eq(loss, rank[i].loss, sizeof loss);
                have_the_same_weights(&devices.v[i], rank[i].replicas.v, 0);
                replicas_release(&rank[i].replicas);
        }
        coll_team_release(&team);
        replicas_release(&devices);
}

START_TEST(devices_of_a_rank_learn_to_the_bit_what_ranks_of_one_device_learn)
{
        for (unsigned n = 2; n <= DEVICES_MAX; n++) {
                struct train_setup s = setup_of(n);

                s.adamw = n == 3;
                s.apart = n == 3;
                learn_as_ranks_do(&s);
        }
}
END_TEST

START_TEST(devices_that_divide_the_model_learn_to_the_bit_what_ranks_of_one_device_learn)
{
        static const enum fsdp_prefetch prefetch[] = {FSDP_NOOP, FSDP_PREHOOK, FSDP_POSTHOOK};

        for (unsigned n = 2; n <= DEVICES_MAX; n++)
                for (unsigned i = 0; i < 3; i++) {
                        struct train_setup s = setup_of(n);

                        s.sharded = true;
                        s.prefetch = prefetch[i];
                        s.adamw = n == 3;
                        learn_as_ranks_do(&s);
                        taken.n = 0;
                }
}
END_TEST

START_TEST(devices_beside_another_rank_have_the_same_bits_through_the_host_and_past_it)
{
        for (unsigned i = 0; i < 4; i++) {
                struct train_setup s = setup_of(2 + i / 2);
                double want[3], got[3];
                struct coll_ops carrier;
                struct coll two = other_rank(&carrier);
                struct replicas a, b;

                s.sharded = i % 2;
                s.prefetch = i == 1 ? FSDP_PREHOOK : FSDP_NOOP;
                learn(&a, &s, &two, want);
                ck_assert_uint_eq(atomic_load(&there), 0);
                carrier.sum_device = sum_there;
                carrier.scatter_device = scatter_there;
                carrier.gather_device = gather_there;
                learn(&b, &s, &two, got);
                ck_assert_uint_gt(atomic_load(&there), 0);
                ck_assert_uint_eq(atomic_load(&foreign), 0);
                ck_assert_mem_eq(want, got, sizeof want);
                for (unsigned d = 0; d < s.devices; d++)
                        have_the_same_weights(&a.v[d], &b.v[d], 0);
                replicas_release(&a);
                replicas_release(&b);
                taken.n = 0;
                atomic_store(&there, 0);
        }
}
END_TEST

/* A device that cannot have what another one has. */
static int join_or_fail(float *to, const float *const *from, unsigned n, size_t elements)
{
        return in_use == 1 ? -EIO : math_host.join_beside(to, from, n, elements);
}

START_TEST(a_device_that_cannot_be_joined_ends_the_step_of_all_and_none_hangs)
{
        for (unsigned i = 0; i < 2; i++) {
                struct train_setup s = setup_of(2);
                struct train_step step;
                struct replicas r;

                s.sharded = i;
                several.join_beside = join_or_fail;
                ck_assert_int_eq(replicas_init(&r, &s, &alone), 0);
                ck_assert_int_eq(replicas_step(&r, &step), -EIO);
                ck_assert_int_eq(r.replica[1].err, -EIO);
                ck_assert_uint_eq(r.v[0].step + r.v[1].step, 0);
                replicas_release(&r);
        }
}
END_TEST

START_TEST(devices_of_a_rank_learn_what_one_device_learns_of_all_samples)
{
        const struct train_setup one = setup_of(1), three = setup_of(3);
        double want[3], got[3];
        struct replicas a, b;

        learn(&a, &one, &alone, want);
        learn(&b, &three, &alone, got);
        for (int i = 0; i < 3; i++)
                ck_assert_double_le(fabs(got[i] - want[i]), 1e-5 * want[i]);
        have_the_same_weights(a.v, b.v, 1e-6F);
        ck_assert_uint_eq(b.v[0].samples, SAMPLES / 3);
        replicas_release(&a);
        replicas_release(&b);
}
END_TEST

START_TEST(devices_that_divide_the_model_learn_what_one_device_learns_of_all_samples)
{
        struct train_setup one = setup_of(1), three = setup_of(3);
        double want[3], got[3];
        struct replicas a, b;

        three.sharded = true;
        learn(&a, &one, &alone, want);
        learn(&b, &three, &alone, got);
        for (int i = 0; i < 3; i++)
                ck_assert_double_le(fabs(got[i] - want[i]), 1e-5 * want[i]);
        for (size_t i = 0; i < trainer_model(a.v)->ntensors; i++) {
                const struct trainer_part whole = trainer_part(a.v, i);
                size_t at = 0;
                for (unsigned d = 0; d < 3; d++) {
                        const struct trainer_part p = trainer_part(&b.v[d], i);
                        ck_assert(!p.n || p.first == at);
                        for (size_t e = 0; e < p.n; e++, at++)
                                ck_assert_float_le(fabsf(p.weight[e] - whole.weight[at]), 1e-6F);
                }
                ck_assert_uint_eq(at, whole.n);
        }
        replicas_release(&a);
        replicas_release(&b);
}
END_TEST

START_TEST(stages_are_dealt_to_devices_and_learn_the_same_bits)
{
        for (unsigned stages = 2; stages <= 4; stages++) {
                struct train_setup one = setup_of(1), two = setup_of(2);
                double want[3], got[3];
                struct replicas a, b;

                one.stages = two.stages = stages;
                one.chunks = two.chunks = 2;
                one.adamw = two.adamw = stages == 3;
                learn(&a, &one, &alone, want);
                learn(&b, &two, &alone, got);
                ck_assert_uint_eq(atomic_load(&foreign), 0);
                ck_assert_mem_eq(want, got, sizeof want);
                have_the_same_weights(a.v, b.v, 0);
                for (unsigned i = 0; i < stages; i++)
                        ck_assert_uint_eq(b.v->pipe.stage[i].device, 2 * i / stages);
                replicas_release(&a);
                replicas_release(&b);
        }
}
END_TEST

START_TEST(a_device_that_fails_ends_the_step_of_all_and_none_hangs)
{
        for (unsigned i = 0; i < 4; i++) {
                const unsigned bad = 1 + i % 2;
                struct train_setup s = setup_of(2);
                struct train_step step;
                struct replicas r;

                s.sharded = i >= 2;

                ck_assert_int_eq(replicas_init(&r, &s, &alone), 0);
                atomic_store(&failing, bad);
                ck_assert_int_eq(replicas_step(&r, &step), -EIO);
                atomic_store(&failing, 0);
                ck_assert_uint_eq(r.v[0].step + r.v[1].step, 0);
                replicas_release(&r);
        }
}
END_TEST

int main(void)
{
        if (skips_without_openblas())
                return EXIT_SUCCESS;
        Suite *s = suite_create("train_devices");
        TCase *tc = tcase_create("train_devices");
        tcase_set_timeout(tc, 120); /* a step that hangs fails; how long one takes says nothing */
        tcase_add_checked_fixture(tc, setup, NULL);
        tcase_add_test(tc, devices_of_a_rank_learn_to_the_bit_what_ranks_of_one_device_learn);
        tcase_add_test(
                tc, devices_that_divide_the_model_learn_to_the_bit_what_ranks_of_one_device_learn);
        tcase_add_test(tc,
                       devices_that_divide_the_model_learn_what_one_device_learns_of_all_samples);
        tcase_add_test(tc,
                       devices_beside_another_rank_have_the_same_bits_through_the_host_and_past_it);
        tcase_add_test(tc, a_device_that_cannot_be_joined_ends_the_step_of_all_and_none_hangs);
        tcase_add_test(tc, devices_of_a_rank_learn_what_one_device_learns_of_all_samples);
        tcase_add_test(tc, stages_are_dealt_to_devices_and_learn_the_same_bits);
        tcase_add_test(tc, a_device_that_fails_ends_the_step_of_all_and_none_hangs);
        suite_add_tcase(s, tc);
        return unit_main(s);
}
