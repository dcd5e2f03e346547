/* SPDX-License-Identifier: Apache-2.0 */
/* test_train_save.c: a save that was made of two states does not pass for one. The storage is a
 * stand-in that lets the state change while it is written. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/clock.h"
#include "bench/core/keys.h"
#include "bench/format/format.h"
#include "bench/scenario/train/train_save.h"
#include "bench/train/train_state.h"
#include "tests/lib/unit_train.h"

#include "base/banned.h"

enum { FILES = 4 };
static const struct train_data noise;
static struct coll alone;
static bool abandoned; /* a signal came, and no other rank is waited for */
static struct keys keys;

/* --- a storage in memory, whose writes stop in the middle of a file --- */

static struct stand_in {
        struct io io;
        struct io_file file;
        struct saved {
                char name[64];
                char *p;
                uint64_t size;
        } saved[FILES], *open;
        bool stops;
        sem_t half, go_on;
} memory;

static struct saved *find(const char *name)
{
        size_t i = 0;
        while (i < FILES && *memory.saved[i].name && strcmp(memory.saved[i].name, name))
                i++;
        ck_assert_uint_lt(i, FILES);
        return &memory.saved[i];
}

static int memory_create(struct io *io, const char *name, uint64_t size, struct io_file **out)
{
        (void)io;
        memory.open = find(name);
        snprintf(memory.open->name, sizeof memory.open->name, "%s", name);
        memory.open->p = malloc(size);
        memory.open->size = size;
        *out = &memory.file;
        return memory.open->p ? 0 : -ENOMEM;
}

static int put(const struct io_data *d, uint64_t from, uint64_t until)
{
        char *to = memory.open->p + from;
        if (!d->mem)
                return d->fill(d->arg, from, to, until - from);
        memcpy(to, d->mem + from, until - from);
        return 0;
}

static int memory_write(struct io_file *f, const struct io_data *d)
{
        (void)f;
        int err = put(d, 0, d->size / 2);
        if (memory.stops) {
                sem_post(&memory.half);
                sem_wait(&memory.go_on);
        }
        return err ? err : put(d, d->size / 2, d->size);
}

static int memory_done(struct io_file *f)
{
        (void)f;
        return 0;
}

static void memory_abandon(struct io_file *f)
{
        (void)f;
}

static int memory_open(struct io *io, const char *name, struct io_file **out)
{
        (void)io;
        memory.open = find(name);
        *out = &memory.file;
        return memory.open->p ? 0 : -ENOENT;
}

static int memory_read(struct io_file *f, const struct io_data *d)
{
        (void)f;
        if (memory.open->size < d->size)
                return -EIO;
        if (!d->mem)
                return d->check(d->arg, 0, memory.open->p, d->size);
        memcpy(d->mem, memory.open->p, d->size);
        return 0;
}

static int memory_size(struct io *io, const char *name, uint64_t *out)
{
        (void)io;
        *out = find(name)->size;
        return 0;
}

static int memory_remove(struct io *io, const char *name)
{
        (void)io;
        struct saved *s = find(name);
        free(s->p);
        s->p = NULL;
        return 0;
}

static void memory_stop(struct io *io, bool clean)
{
        (void)io;
        (void)clean;
}

static const struct io_ops memory_ops = {.name = "memory",
                                         .stop = memory_stop,
                                         .create = memory_create,
                                         .write = memory_write,
                                         .sync = memory_done,
                                         .open = memory_open,
                                         .read = memory_read,
                                         .close = memory_done,
                                         .abandon = memory_abandon,
                                         .remove = memory_remove,
                                         .size = memory_size,
                                         .keep = io_keep_none,
                                         .keep_not = io_keep_not_none};
static const struct io_storage memory_storage = {.name = "memory", .ops = &memory_ops};

static int max_or_abandoned(struct coll *c, double *v, size_t n)
{
        return abandoned ? -ECANCELED : coll_none.max(c, v, n);
}

/* --- a model that is trained and saved --- */

static void set(const char *name, const char *value)
{
        char why[300];
        ck_assert_msg(!param_tab_set(&key_tab, &keys, name, value, why, sizeof why), "%s", why);
}

static void setup(void)
{
        static struct coll_ops ops;

        ops = coll_none;
        ops.max = max_or_abandoned;
        abandoned = false;
        alone = (struct coll){.ops = &ops, .ranks = 1, .host_ranks = 1};
        open_math();
        ck_assert_int_eq(param_tab_init(&key_tab, &keys), 0);
        set("storage", "null");
        set("save", "async");
        set("steps", "2");
        memory = (struct stand_in){.io.ops = &memory_ops, .file.io = &memory.io};
        sem_init(&memory.half, 0, 0);
        sem_init(&memory.go_on, 0, 0);
}

static void teardown(void)
{
        param_tab_release(&key_tab, &keys);
        sem_destroy(&memory.half);
        sem_destroy(&memory.go_on);
}

/* Saves to the stand-in from here on, as many as are planned. */
static void begin(struct train_saves *s, const struct run *r, struct trainer *t, size_t planned)
{
        const struct train_how how = {.stage.cached = true};
        struct train_source from = {.get = train_state_get, .arg = t};

        ck_assert_int_eq(train_state_list(&from.shard, t, 1, &alone, TRAIN_SHARE_ALL), 0);
        ck_assert_int_eq(train_saves_begin(s, r, &keys, &how, planned, &from), 0);
        s->storage->ops->stop(s->io, true);
        s->storage = &memory_storage;
        s->io = s->writer.io = &memory.io;
}

static const struct train_setup setup_of_all = {.ops = &math_host,
                                                .model = SMALL_GPT(1, 2, 12, 17, 5),
                                                .batch = 2,
                                                .seed = 3,
                                                .entropy = true,
                                                .lr = 0.1,
                                                .data = &noise};

/* How a save comes to be of two states: the next step's weights come to where the writer reads, as
 * they would without a copy, in the middle of the file, or before the format is put around them; or
 * the file is that of the step before. */
enum torn { WHOLE, TORN_IN_FILE, TORN_BEFORE_FORMAT, TORN_BETWEEN_STEPS, TORN };

static struct {
        struct train_saves *saves; /* whose format waits for a step, once; NULL: none */
        int (*wrap)(struct shard *s);
        sem_t step;
} late;

static void take_next_weights(struct train_saves *s)
{
        const struct shard *from = &s->copy.from.shard;

        for (size_t i = 0; i < from->n; i++)
                if (from->v[i].held)
                        memcpy(s->copy.stage.p + s->copy.at[i], from->v[i].held, from->v[i].len);
}

static int wrap_late(struct shard *shard)
{
        if (late.saves) {
                sem_wait(&late.step);
                take_next_weights(late.saves);
        }
        late.saves = NULL;
        return late.wrap(shard);
}

/* A save, and a step before its second half is written. */
static void add_beside_step(struct train_saves *s, struct trainer *t, enum torn torn)
{
        struct train_step step;

        memory.stops = torn != TORN_BEFORE_FORMAT;
        late.saves = memory.stops ? NULL : s;
        ck_assert_int_eq(train_saves_add(s, t->step), 0);
        if (memory.stops)
                sem_wait(&memory.half);
        memory.stops = false;
        ck_assert_int_eq(trainer_step(t, &step), 0);
        const size_t whole = s->n;
        ck_assert_int_eq(train_saves_advance(s, false), 0);
        ck_assert_uint_eq(s->n, whole);
        if (torn == TORN_IN_FILE)
                take_next_weights(s);
        sem_post(torn == TORN_BEFORE_FORMAT ? &late.step : &memory.go_on);
        ck_assert_int_eq(train_saves_advance(s, true), 0);
        ck_assert_uint_eq(s->n, whole + 1);
}

/* The second save's file becomes that of the first. */
static void mix_steps(const struct train_saves *s)
{
        struct saved *second = find(s->k->format == FORMAT_DCP     ? "step-00000002/__0_0.distcp"
                                    : s->k->format == FORMAT_TORCH ? "step-00000002.ckpt"
                                                                   : "step-00000002.safetensors");
        ck_assert_ptr_nonnull(memory.saved[0].p);
        ck_assert_uint_eq(second->size, memory.saved[0].size);
        memcpy(second->p, memory.saved[0].p, second->size);
}

/* Two saves, each beside a step. Returns what verification says. */
static int save_beside_steps(const char *format, enum torn torn)
{
        const struct run r = {.coll = &alone};
        struct trainer t;
        struct train_step step;
        struct train_saves s;

        set("format", format);
        sem_init(&late.step, 0, 0);
        ck_assert_int_eq(trainer_init(&t, &setup_of_all, &alone), 0);
        begin(&s, &r, &t, 2);
        late.wrap = s.copy.wrap;
        s.copy.wrap = wrap_late;
        ck_assert_int_eq(trainer_step(&t, &step), 0);
        add_beside_step(&s, &t, WHOLE);
        add_beside_step(&s, &t, torn);
        if (torn == TORN_BETWEEN_STEPS)
                mix_steps(&s);
        int err = train_saves_verify(&s);
        ck_assert_int_eq(train_saves_end(&s), 0);
        for (size_t i = 0; i < FILES; i++)
                ck_assert_ptr_null(memory.saved[i].p);
        trainer_release(&t);
        sem_destroy(&late.step);
        return err;
}

static const char *const words[] = {"torch", "safetensors", "dcp"};
enum { WORDS = sizeof words / sizeof words[0] };

START_TEST(a_save_beside_a_step_is_of_the_state_before_it)
{
        ck_assert_int_eq(save_beside_steps(words[_i], WHOLE), 0);
}
END_TEST

START_TEST(a_save_of_two_states_fails_verification)
{
        const enum torn torn = TORN_IN_FILE + (unsigned)_i / WORDS;
        ck_assert_int_eq(save_beside_steps(words[_i % WORDS], torn), -EBADMSG);
}
END_TEST

static const struct {
        const char *format;
        unsigned file; /* .metadata is the second */
} grown[] = {{"torch", 0}, {"safetensors", 0}, {"dcp", 0}, {"dcp", 1}};

START_TEST(a_save_that_has_grown_fails_verification)
{
        const struct run r = {.coll = &alone};
        struct trainer t;
        struct train_saves s;

        set("format", grown[_i].format);
        ck_assert_int_eq(trainer_init(&t, &setup_of_all, &alone), 0);
        begin(&s, &r, &t, 1);
        ck_assert_int_eq(train_saves_add(&s, 1), 0);
        ck_assert_int_eq(train_saves_advance(&s, true), 0);
        ck_assert_ptr_nonnull(memory.saved[grown[_i].file].p);
        memory.saved[grown[_i].file].size++;
        ck_assert_int_eq(train_saves_verify(&s), -EFBIG);
        ck_assert_int_eq(train_saves_end(&s), 0);
        trainer_release(&t);
}
END_TEST

START_TEST(the_oldest_save_is_counted_from_its_state_until_the_next_can_be_loaded)
{
        const uint64_t s = 1000000000;
        struct train_saved v[] = {{.wanted_ns = 12 * s, .visible_ns = 15 * s},
                                  {.wanted_ns = 20 * s, .visible_ns = 31 * s}};
        struct train_saves saves = {.v = v};

        ck_assert_double_eq(train_saves_oldest(&saves, 10 * s, 40 * s), 30);
        saves.n = 1;
        ck_assert_double_eq(train_saves_oldest(&saves, 10 * s, 16 * s), 5);
        ck_assert_double_eq(train_saves_oldest(&saves, 10 * s, 40 * s), 28);
        saves.n = 2;
        ck_assert_double_eq(train_saves_oldest(&saves, 10 * s, 40 * s), 20);
        ck_assert_double_eq(train_saves_oldest(&saves, 10 * s, 32 * s), 19);
        /* the last could be loaded behind the steps */
        ck_assert_double_eq(train_saves_oldest(&saves, 10 * s, 25 * s), 13);
}
END_TEST

START_TEST(what_ranks_do_together_at_the_end_of_a_save_blocks_the_step)
{
        const struct run r = {.coll = &alone};
        struct trainer t;
        struct train_saves s;

        set("format", words[_i]);
        ck_assert_int_eq(trainer_init(&t, &setup_of_all, &alone), 0);
        begin(&s, &r, &t, 2);
        ck_assert_int_eq(train_saves_add(&s, t.step), 0);
        while (!s.n)
                ck_assert_int_eq(train_saves_advance(&s, false), 0);
        ck_assert(s.v[0].blocked > s.v[0].waited + s.v[0].copy);
        ck_assert_int_eq(train_saves_end(&s), 0);
        trainer_release(&t);
}
END_TEST

static struct {
        int (*get)(void *arg, void *to, const void *from, size_t n);
        const struct train_saves *saves;
        uint64_t took; /* by the first read of the state */
        size_t whole;  /* saves that were it by then */
} looked;

static int look_and_get(void *arg, void *to, const void *from, size_t n)
{
        const uint64_t begin = clock_ns();
        const int err = looked.get(arg, to, from, n);

        if (!looked.took)
                looked.whole = looked.saves->n;
        looked.took = looked.took ? looked.took : clock_ns() - begin;
        return err;
}

START_TEST(checksums_of_what_will_be_verified_are_told_apart_from_steps_and_saves)
{
        const struct run r = {.coll = &alone};
        struct trainer t;
        struct train_saves s;

        set("format", words[_i]);
        ck_assert_int_eq(trainer_init(&t, &setup_of_all, &alone), 0);
        begin(&s, &r, &t, 2);
        ck_assert_int_eq(train_saves_add(&s, 1), 0);
        ck_assert_double_eq(s.noted, 0);
        looked.get = s.copy.from.get;
        looked.saves = &s;
        looked.took = 0;
        s.copy.from.get = look_and_get;
        const uint64_t before = clock_ns();
        ck_assert_int_eq(train_saves_add(&s, 2), 0);
        ck_assert(looked.took > 0 && s.noted >= clock_s(looked.took));
        ck_assert(s.noted <= clock_s(s.v[1].wanted_ns - before));
        ck_assert_uint_eq(looked.whole, 1); /* it gains no time by that */
        ck_assert_int_eq(train_saves_advance(&s, true), 0);
        ck_assert_int_eq(train_saves_verify(&s), 0);
        ck_assert_int_eq(train_saves_end(&s), 0);
        trainer_release(&t);
}
END_TEST

START_TEST(a_rank_that_no_other_waits_for_removes_its_own_files)
{
        const struct run r = {.coll = &alone};
        struct trainer t;
        struct train_saves s;

        set("format", words[_i]);
        ck_assert_int_eq(trainer_init(&t, &setup_of_all, &alone), 0);
        begin(&s, &r, &t, 2);
        ck_assert_int_eq(train_saves_add(&s, t.step), 0);
        ck_assert_int_eq(train_saves_advance(&s, true), 0);
        ck_assert_ptr_nonnull(memory.saved[0].p);
        abandoned = true;
        ck_assert_int_eq(train_saves_end(&s), -ECANCELED);
        for (size_t i = 0; i < FILES; i++)
                ck_assert_ptr_null(memory.saved[i].p);
        trainer_release(&t);
}
END_TEST

int main(void)
{
        if (skips_without_openblas())
                return EXIT_SUCCESS;
        const int formats_n = WORDS;
        Suite *s = suite_create("train_save");
        TCase *tc = tcase_create("train_save");
        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_loop_test(tc, a_save_beside_a_step_is_of_the_state_before_it, 0, formats_n);
        tcase_add_loop_test(tc, a_save_of_two_states_fails_verification, 0,
                            (TORN - TORN_IN_FILE) * WORDS);
        tcase_add_loop_test(tc, a_save_that_has_grown_fails_verification, 0,
                            sizeof grown / sizeof grown[0]);
        tcase_add_test(tc, the_oldest_save_is_counted_from_its_state_until_the_next_can_be_loaded);
        tcase_add_loop_test(tc, what_ranks_do_together_at_the_end_of_a_save_blocks_the_step, 0,
                            formats_n);
        tcase_add_loop_test(tc,
                            checksums_of_what_will_be_verified_are_told_apart_from_steps_and_saves,
                            0, formats_n);
        tcase_add_loop_test(tc, a_rank_that_no_other_waits_for_removes_its_own_files, 0, formats_n);
        suite_add_tcase(s, tc);
        return unit_main(s);
}
