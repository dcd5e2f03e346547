/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_query.c: proc_queries that block are given up, and the others go on. */
#include "mount/caller/proc_query.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MOST = 64 };

static struct proc_queries *proc_queries;
static int gate[2]; /* what blocks reads it */
static pthread_mutex_t mtx = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int begun, ended, dropped, wholes[MOST], order[MOST];

struct one {
        struct proc_query look; /* stays the first field */
        int no;
        bool blocks, runs;
};

static atomic_bool go; /* what runs waits for it, and does not sleep */

static void count(int *what)
{
        pthread_mutex_lock(&mtx);
        ++*what;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mtx);
}

static void wait_until(const int *what, int n)
{
        pthread_mutex_lock(&mtx);
        while (*what < n)
                pthread_cond_wait(&changed, &mtx);
        pthread_mutex_unlock(&mtx);
}

static void begin(struct proc_query *l)
{
        (void)l;
        count(&begun);
}

static void see(struct proc_query *l, struct proc_view *view)
{
        char b;
        ck_assert_ptr_nonnull(view->list);
        if (((struct one *)l)->blocks)
                ck_assert_int_eq(read(gate[0], &b, 1), 1);
        while (((struct one *)l)->runs && !atomic_load(&go))
                ;
}

static void end(struct proc_query *l, bool whole)
{
        const struct one *o = (struct one *)l;
        wholes[o->no] = whole;
        order[ended] = o->no;
        count(&ended);
}

static void drop(struct proc_query *l)
{
        free(l);
        count(&dropped);
}

static void add_one(struct one one)
{
        struct one *o = calloc(1, sizeof *o);
        ck_assert_ptr_nonnull(o);
        *o = one;
        o->look.begin = begin;
        o->look.see = see;
        o->look.end = end;
        o->look.drop = drop;
        ck_assert(proc_queries_add(proc_queries, &o->look));
}

static void add(int no, bool blocks)
{
        add_one((struct one){.no = no, .blocks = blocks});
}

static void open_gate(int n)
{
        while (n--)
                ck_assert_int_eq(write(gate[1], "", 1), 1);
}

static void setup(void)
{
        begun = ended = dropped = 0;
        atomic_store(&go, false);
        ck_assert_int_eq(pipe(gate), 0);
        proc_queries = proc_queries_start(7);
        ck_assert_ptr_nonnull(proc_queries);
}

static void teardown(void)
{
        proc_queries_free(proc_queries);
        close(gate[0]);
        close(gate[1]);
}

START_TEST(looks_at_processes_end_in_their_order)
{
        for (int i = 0; i < MOST; i++)
                add(i, false);
        wait_until(&dropped, MOST);
        for (int i = 0; i < MOST; i++) {
                ck_assert(wholes[i]);
                ck_assert_int_eq(order[i], i);
        }
}
END_TEST

/* One user's first look takes long, and many come behind it before the looks of two others. */
START_TEST(users_take_turns)
{
        enum { N = 10, USERS = 3 };
        static const int first[] = {0, N, 2 * N, 1, N + 1, 2 * N + 1};

        for (int u = 0; u < USERS; u++)
                for (int i = 0; i < N; i++) {
                        add_one((struct one){
                                .look.uid = 1000 + (uid_t)u, .no = u * N + i, .runs = !u && !i});
                        wait_until(&begun, 1);
                }
        atomic_store(&go, true);
        wait_until(&dropped, USERS * N);
        for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
                ck_assert_int_eq(order[i], first[i]);
}
END_TEST

START_TEST(a_query_that_blocks_is_given_up_and_dropped_later)
{
        add(0, true);
        add(1, false);
        wait_until(&ended, 2);
        ck_assert(!wholes[0] && wholes[1]);
        ck_assert_int_eq(order[0], 0);
        wait_until(&dropped, 1);
        open_gate(1);
        wait_until(&dropped, 2);
}
END_TEST

START_TEST(however_many_block_each_ends)
{
        enum { N = 8 };
        for (int i = 0; i < N; i++)
                add(i, true);
        wait_until(&ended, N);
        for (int i = 0; i < N; i++)
                ck_assert(!wholes[i]);
        open_gate(3); /* the rest was not looked at */
        wait_until(&dropped, N);
        add(N, false);
        wait_until(&dropped, N + 1);
        ck_assert(wholes[N]);
}
END_TEST

START_TEST(the_end_waits_for_all_that_can_end)
{
        add(0, true);
        for (int i = 1; i < MOST; i++)
                add(i, false);
        proc_queries_stop(proc_queries);
        ck_assert_int_eq(ended, MOST);
        struct one late = {.no = MOST};
        ck_assert(!proc_queries_add(proc_queries, &late.look));
        open_gate(1);
        wait_until(&dropped, MOST);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("look");
        TCase *t = tcase_create("look");
        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, looks_at_processes_end_in_their_order);
        tcase_add_test(t, users_take_turns);
        tcase_add_test(t, a_query_that_blocks_is_given_up_and_dropped_later);
        tcase_add_test(t, however_many_block_each_ends);
        tcase_add_test(t, the_end_waits_for_all_that_can_end);
        suite_add_tcase(s, t);
        return unit_main(s);
}
