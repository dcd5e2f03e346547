/* SPDX-License-Identifier: Apache-2.0 */
/* test_places.c: how many requests run at once, and whose turn it is. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "tests/store/event.h"
#include "tests/store/fake.h"

#include "base/banned.h"

/* Stands in for the C library's (ld --wrap), so that this machine has eight cores. */
long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
        return name == _SC_NPROCESSORS_ONLN ? 8 : __real_sysconf(name);
}

struct plan {
        unsigned refused; /* so many first */
        unsigned running, most;
};

static void refuse_some(void *arg, struct fake_req *rq)
{
        struct plan *p = arg;

        if (p->refused) {
                p->refused--;
                fake_error(rq, 503, "SlowDown");
                return;
        }
        unsigned running = __atomic_add_fetch(&p->running, 1, __ATOMIC_SEQ_CST);
        if (running > p->most)
                p->most = running;
        fake_unlock(rq);
        usleep(30000);
        __atomic_sub_fetch(&p->running, 1, __ATOMIC_SEQ_CST);
        fake_reply(rq, 204, "", "", 0);
}

START_TEST(a_store_that_says_slow_down_gets_fewer_questions_at_once)
{
        enum { CONNECTIONS = 32, DELETES = 128 };
        struct plan p = {.refused = 1};
        struct fake *f = fake_start(refuse_some, &p);
        struct store *s =
                fake_store(f, &(struct store_config){.connections = CONNECTIONS, .workers = 1});
        struct event e = EVENT;

        ck_assert_int_eq(store_delete_wait(s, "k"), 0); /* the one that is refused */
        p.most = 0;
        for (int i = 0; i < DELETES; i++)
                ck_assert_int_eq(store_delete(s, "k", event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, DELETES), 0);
        ck_assert_uint_lt(p.most, CONNECTIONS - 4);
        store_close(s);
        fake_stop(f);
}
END_TEST

struct order {
        char first[64]; /* letters of the keys in the order in which they came */
        unsigned n;
        bool queued; /* atomic: all have been asked for, and the first is answered */
};

static void note_order(void *arg, struct fake_req *rq)
{
        struct order *o = arg;

        if (o->n < sizeof o->first)
                o->first[o->n++] = rq->target[strlen(rq->target) - 1];
        while (!__atomic_load_n(&o->queued, __ATOMIC_SEQ_CST))
                usleep(1000);
        fake_reply(rq, 200, "ETag: \"e\"\r\n", "", 0);
}

START_TEST(files_take_turns_at_the_connections)
{
        enum { MANY = 40, FEW = 4 };
        struct order o = {.n = 0};
        struct fake *f = fake_start(note_order, &o);
        struct store *s = fake_store(f, &(struct store_config){.workers = 1, .connections = 1});
        struct store_body body = store_body_mem("x", 1);
        struct event e = EVENT;
        unsigned last = 0;

        for (int i = 0; i < MANY; i++)
                ck_assert_int_eq(store_put(s, "dir/a", &body, NULL, NULL, event_done, &e), 0);
        for (int i = 0; i < FEW; i++)
                ck_assert_int_eq(store_put(s, "dir/b", &body, NULL, NULL, event_done, &e), 0);
        __atomic_store_n(&o.queued, true, __ATOMIC_SEQ_CST);
        ck_assert_int_eq(event_wait(&e, MANY + FEW), 0);
        ck_assert_uint_eq(o.n, MANY + FEW);
        for (unsigned i = 0; i < o.n; i++)
                last = o.first[i] == 'b' ? i : last;
        ck_assert_uint_lt(last, MANY / 2);
        store_close(s);
        fake_stop(f);
}
END_TEST

static struct store_body one_byte;

static void count_answers(void *arg, struct fake_req *rq)
{
        struct plan *p = arg;

        fake_body(rq);
        unsigned running = __atomic_add_fetch(&p->running, 1, __ATOMIC_SEQ_CST);
        if (running > __atomic_load_n(&p->most, __ATOMIC_SEQ_CST))
                __atomic_store_n(&p->most, running, __ATOMIC_SEQ_CST);
        fake_unlock(rq);
        usleep(30000);
        __atomic_sub_fetch(&p->running, 1, __ATOMIC_SEQ_CST);
        fake_reply(rq, 200, "ETag: \"e\"\r\n", "", 0);
}

/* Puts go on until the server saw more than 16 at once. */
START_TEST(where_more_connections_are_faster_there_are_more)
{
        enum { PUTS = 100, FIRST = 16 };
        struct plan plan = {0};
        struct fake *f = fake_start(count_answers, &plan);
        struct store *s = fake_store(f, &(struct store_config){.workers = 1});
        struct event e = EVENT;
        struct store_stats stats;
        unsigned n = 0;

        one_byte = store_body_mem("x", 1);
        for (int i = 0; i < 600 && __atomic_load_n(&plan.most, __ATOMIC_SEQ_CST) <= FIRST; i++) {
                for (int k = 0; k < PUTS; k++)
                        ck_assert_int_eq(store_put(s, "k", &one_byte, NULL, NULL, event_done, &e),
                                         0);
                n += PUTS;
                usleep(100000);
        }
        store_stats(s, &stats);
        ck_assert_uint_gt(__atomic_load_n(&plan.most, __ATOMIC_SEQ_CST), FIRST);
        ck_assert_uint_gt(stats.transfers_most, FIRST);
        ck_assert_int_eq(event_wait(&e, n), 0);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(connections_that_nobody_uses_are_closed)
{
        struct plan plan = {0};
        struct fake *f = fake_start(count_answers, &plan);
        struct store *s = fake_store(f, &(struct store_config){.workers = 1, .rest_ms = 200});
        struct event e = EVENT;

        one_byte = store_body_mem("x", 1);
        for (int round = 0; round < 2; round++) {
                for (int k = 0; k < 8; k++)
                        ck_assert_int_eq(store_put(s, "k", &one_byte, NULL, NULL, event_done, &e),
                                         0);
                ck_assert_int_eq(event_wait(&e, 8), 0);
                for (int i = 0; i < 600 && fake_open(f); i++)
                        usleep(100000);
                ck_assert_uint_eq(fake_open(f), 0);
        }
        store_close(s);
        fake_stop(f);
}
END_TEST

enum { PLACES = 8, COPIES = 2 * PLACES };

struct meeting {
        unsigned asked, running;
        bool met; /* more ran at once than have a place in one lane */
};

/* All but the first questions wait for each other. */
static void meet(void *arg, struct fake_req *rq)
{
        struct meeting *m = arg;
        const char *copied = "<CopyObjectResult><ETag>\"2\"</ETag></CopyObjectResult>";
        bool asks = !strcmp(rq->method, "HEAD");

        fake_unlock(rq);
        if (!asks || __atomic_add_fetch(&m->asked, 1, __ATOMIC_SEQ_CST) > PLACES) {
                if (__atomic_add_fetch(&m->running, 1, __ATOMIC_SEQ_CST) > PLACES)
                        __atomic_store_n(&m->met, true, __ATOMIC_SEQ_CST);
                for (int i = 0; i < 600 && !__atomic_load_n(&m->met, __ATOMIC_SEQ_CST); i++)
                        usleep(100000);
                __atomic_sub_fetch(&m->running, 1, __ATOMIC_SEQ_CST);
        }
        if (asks)
                fake_reply(rq, 200, "ETag: \"1\"\r\n", "", 0);
        else
                fake_reply(rq, 200, "", copied, strlen(copied));
}

START_TEST(a_copy_that_asks_first_takes_no_place_of_those_that_copy)
{
        struct meeting m = {0};
        struct fake *f = fake_start(meet, &m);
        struct store *s = fake_store(f, &(struct store_config){.connections = PLACES,
                                                               .workers = 1,
                                                               .stall_timeout_ms = 600000});
        struct event e = EVENT;

        for (int i = 0; i < COPIES; i++)
                ck_assert_int_eq(store_copy(s, "from", NULL, "to", NULL, NULL, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, COPIES), 0);
        ck_assert(m.met);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(a_light_load_stays_with_one_worker)
{
        struct plan plan = {0};
        struct store_stats stats;
        struct fake *f = fake_start(count_answers, &plan);
        struct store *s = fake_store(f, &(struct store_config){0});

        for (int i = 0; i < 16; i++)
                ck_assert_int_eq(store_delete_wait(s, "k"), 0);
        store_stats(s, &stats);
        ck_assert_uint_eq(stats.connections_opened, 1);
        ck_assert_uint_eq(stats.transfers_most, 16);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(workers_that_are_asked_for_all_take_requests)
{
        struct plan plan = {0};
        struct store_stats stats;
        struct fake *f = fake_start(count_answers, &plan);
        struct store *s = fake_store(f, &(struct store_config){.workers = 4});

        for (int i = 0; i < 16; i++)
                ck_assert_int_eq(store_delete_wait(s, "k"), 0);
        store_stats(s, &stats);
        ck_assert_uint_eq(stats.connections_opened, 4);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(many_connections_get_their_descriptors)
{
        struct plan plan = {0};
        struct rlimit r;

        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
        r.rlim_cur = 256;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
        struct fake *f = fake_start(count_answers, &plan);
        struct store *s = fake_store(f, &(struct store_config){.connections = 512});
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
        ck_assert_uint_gt(r.rlim_cur, 512);
        store_close(s);
        fake_stop(f);
}
END_TEST

START_TEST(connections_stay_within_the_descriptors_that_are_allowed)
{
        enum { ALLOWED = 700 };
        struct plan plan = {0};
        struct rlimit r = {ALLOWED, ALLOWED};
        struct store_stats stats;

        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
        struct fake *f = fake_start(count_answers, &plan);
        struct store *s = fake_store(
                f, &(struct store_config){.connections_most = ALLOWED, .workers = ALLOWED / 50});
        struct event e = EVENT;

        one_byte = store_body_mem("x", 1);
        ck_assert_int_eq(store_put(s, "k", &one_byte, NULL, NULL, event_done, &e), 0);
        ck_assert_int_eq(event_wait(&e, 1), 0);
        store_stats(s, &stats);
        ck_assert_uint_le(stats.transfers_most, ALLOWED / 10);
        store_close(s);
        fake_stop(f);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("places");
        TCase *t = tcase_create("places");
        tcase_add_test(t, a_store_that_says_slow_down_gets_fewer_questions_at_once);
        tcase_add_test(t, files_take_turns_at_the_connections);
        tcase_add_test(t, where_more_connections_are_faster_there_are_more);
        tcase_add_test(t, connections_that_nobody_uses_are_closed);
        tcase_add_test(t, a_copy_that_asks_first_takes_no_place_of_those_that_copy);
        tcase_add_test(t, a_light_load_stays_with_one_worker);
        tcase_add_test(t, workers_that_are_asked_for_all_take_requests);
        tcase_add_test(t, many_connections_get_their_descriptors);
        tcase_add_test(t, connections_stay_within_the_descriptors_that_are_allowed);
        suite_add_tcase(s, t);
        return unit_main(s);
}
