/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_lock.c: who has a name for himself, who shares it, who waits, and in which order. */
#include "mount/rename/name_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container_of.h"
#include "mount/write/spill.h"
#include "mount/write/wfile_int.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MI = 1 << 20, MANY = 1000 };

static struct mount m;
static struct wfile_tally tally;
static struct wfile_env env;
/* a/b/f, a/g, c/h */
static struct node *a, *b, *c, *f, *g, *h;

static struct node *make(struct node *dir, const char *name, bool is_dir)
{
        const struct node_info info = {.dir = is_dir, .etag = "e"};
        tree_lock(m.tree);
        struct node *n = tree_enter_locked(m.tree, dir, name, &info);
        tree_unlock(m.tree);
        ck_assert_ptr_nonnull(n);
        return n;
}

static void setup(void)
{
        m = (struct mount){.tree = tree_new(1000000000)};
        wfile_tally_init(&tally);
        env = (struct wfile_env){.pool = pool_new(16 * MI),
                                 .spill = spill_new("/tmp", 0),
                                 .plan = part_plan(5 * MI, 64 * MI),
                                 .tally = &tally};
        a = make(tree_root(m.tree), "a", true);
        b = make(a, "b", true);
        f = make(b, "f", false);
        g = make(a, "g", false);
        c = make(tree_root(m.tree), "c", true);
        h = make(c, "h", false);
}

static void teardown(void)
{
        const struct node *all[] = {tree_root(m.tree), a, b, c, f, g, h};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
                const struct node_locks *x = &all[i]->locks;
                ck_assert_uint_eq(x->below + x->exclusive + x->rests + x->renames, 0);
        }
        ck_assert_uint_eq(m.names.exclusive, 0);
        ck_assert(!waiters_any(&m.names.waiting));
        ck_assert(!m.names.alone.first && !m.names.beside.first);
        tree_free(m.tree);
        spill_free(env.spill);
        pool_free(env.pool);
}

/* --- who asks --- */

struct who {
        struct name_lock lock;
        bool held, leaves; /* `leaves`: as soon as it is told */
        unsigned nth;      /* of all that were told, from 1 */
};

static unsigned told;

static void granted(struct waiter *w)
{
        struct who *x = CONTAINER_OF(w, struct who, lock.waiter);
        x->held = true;
        x->nth = ++told;
        if (x->leaves)
                name_lock_drop(&x->lock);
}

static void drop(struct who *x)
{
        ck_assert(x->held);
        x->held = false;
        name_lock_drop(&x->lock);
}

static void share(struct who *x, struct node *n)
{
        *x = (struct who){.lock = {.shared = {n}, .waiter.ready = granted}, .leaves = x->leaves};
        name_lock_take(&m, &x->lock);
}

/* What has the name in the directory. */
static void exclude(struct who *x, struct node *dir, const char *name)
{
        *x = (struct who){.lock = {.shared = {dir}, .names = {name}, .waiter.ready = granted},
                          .leaves = x->leaves};
        name_lock_take(&m, &x->lock);
}

static void exclude_two(struct who *x, struct node *from, const char *n, struct node *to,
                        const char *name)
{
        *x = (struct who){
                .lock = {.shared = {from, to}, .names = {n, name}, .waiter.ready = granted}};
        name_lock_take(&m, &x->lock);
}

/* --- who waits for whom --- */

static struct who one, two, three, four;

/* Modes and places, in any order: S shares, X excludes. */
static void ask(struct who *x, const char *mode)
{
        struct node *root = tree_root(m.tree);
        const char place = mode[1];

        if (mode[0] == 'S')
                share(x, place == 'a' ? a : place == 'b' ? b : place == 'f' ? f : c);
        else if (place == 'a' || place == 'c')
                exclude(x, root, place == 'a' ? "a" : "c");
        else
                exclude(x, place == 'b' || place == 'g' ? a : b,
                        place == 'b'   ? "b"
                        : place == 'g' ? "g"
                                       : "f");
}

static const struct {
        const char *first, *second;
        bool waits;
} pairs[] = {
        {"Sf", "Sf", false}, {"Sa", "Sf", false}, {"Sf", "Xf", true},  {"Xf", "Sf", true},
        {"Sf", "Xb", true},  {"Sf", "Xa", true},  {"Xa", "Sf", true},  {"Xb", "Sf", true},
        {"Sa", "Xf", false}, {"Xf", "Sa", false}, {"Sb", "Xf", false}, {"Xf", "Sb", false},
        {"Sb", "Xb", true},  {"Sc", "Xa", false}, {"Xa", "Sc", false}, {"Xf", "Xf", true},
        {"Xf", "Xa", true},  {"Xa", "Xf", true},  {"Xf", "Xg", false}, {"Xb", "Xg", false},
        {"Xa", "Xc", false}, {"Xb", "Xa", true},
};

START_TEST(only_what_has_to_wait_waits)
{
        ask(&one, pairs[_i].first);
        ck_assert(one.held);
        ask(&two, pairs[_i].second);
        ck_assert(two.held == !pairs[_i].waits);
        drop(&one);
        drop(&two);
}
END_TEST

START_TEST(nobody_waits_for_one_that_came_later)
{
        share(&one, f);
        exclude(&two, tree_root(m.tree), "a");
        share(&three, f); /* beside the first, but behind the second */
        share(&four, c);
        ck_assert(one.held && !two.held && !three.held && four.held);
        drop(&four);
        ck_assert(!two.held);
        drop(&one);
        ck_assert(two.held && !three.held);
        drop(&two);
        drop(&three);
}
END_TEST

START_TEST(a_rename_has_both_names_and_both_directories)
{
        exclude_two(&one, a, "g", c, "h");
        ck_assert_ptr_eq(one.lock.exclusive[0], g);
        ck_assert_ptr_eq(one.lock.exclusive[1], h);
        share(&two, g);
        exclude(&three, c, "h");
        exclude(&four, tree_root(m.tree), "a"); /* the directory keeps its name */
        ck_assert(!two.held && !three.held && !four.held);
        drop(&one);
        drop(&two);
        drop(&three);
        drop(&four);
}
END_TEST

START_TEST(two_that_name_the_same_in_another_order_follow_one_another)
{
        exclude_two(&one, a, "g", c, "h");
        exclude_two(&two, c, "h", a, "g");
        ck_assert(one.held && !two.held);
        drop(&one);
        drop(&two);
}
END_TEST

START_TEST(what_the_tree_is_asked_about_a_lock_is_so)
{
        tree_lock(m.tree);
        ck_assert(!name_lock_bars_locked(&m, f) && !name_lock_rests_locked(&m, f));
        tree_unlock(m.tree);
        share(&one, f);
        exclude(&two, a, "b");
        tree_lock(m.tree);
        ck_assert(name_lock_bars_locked(&m, f) && !name_lock_rests_locked(&m, f));
        ck_assert(name_lock_changes_locked(&m, b, NULL));
        ck_assert(!name_lock_changes_locked(&m, a, g));
        tree_unlock(m.tree);
        drop(&one);
        tree_lock(m.tree); /* what is removed may be found not to be empty, and stay */
        ck_assert(!name_lock_rests_locked(&m, f));
        tree_unlock(m.tree);
        drop(&two);
        exclude_two(&one, a, "b", c, "new");
        tree_lock(m.tree);
        ck_assert(name_lock_rests_locked(&m, f) && !name_lock_rests_locked(&m, g));
        tree_unlock(m.tree);
        drop(&one);
        exclude_two(&one, a, "g", c, "new");
        tree_lock(m.tree);
        ck_assert(name_lock_changes_locked(&m, c, NULL) && name_lock_changes_locked(&m, a, NULL));
        tree_unlock(m.tree);
        drop(&one);
}
END_TEST

/* --- names that change --- */

START_TEST(what_has_a_name_is_found_when_the_lock_is_granted)
{
        exclude(&one, a, "g");
        exclude(&two, a, "g");
        ck_assert_ptr_eq(two.lock.exclusive[0], g);
        tree_lock(m.tree);
        tree_remove_locked(m.tree, g);
        tree_unlock(m.tree);
        struct node *newer = make(a, "g", false);
        drop(&one);
        ck_assert(two.held);
        ck_assert_ptr_eq(two.lock.exclusive[0], newer);
        share(&three, newer);
        ck_assert(!three.held);
        drop(&two);
        drop(&three);
}
END_TEST

START_TEST(a_directory_that_moves_takes_its_locks_along)
{
        exclude_two(&one, a, "b", c, "b");
        share(&two, f);
        exclude(&three, tree_root(m.tree), "c");
        tree_lock(m.tree);
        tree_move_locked(m.tree, b, c, "b");
        tree_unlock(m.tree);
        ck_assert(!two.held && !three.held);
        drop(&one);
        ck_assert(two.held && !three.held); /* which is above it by now */
        drop(&two);
        drop(&three);
}
END_TEST

/* --- files --- */

static struct wfile *write_to(struct node *n)
{
        tree_lock(m.tree);
        n->file = wfile_new(&env, n, n->name, NULL);
        tree_note_open_locked(m.tree, n);
        tree_unlock(m.tree);
        return n->file;
}

static void end_writing(struct node *n)
{
        tree_lock(m.tree);
        struct wfile *w = n->file;
        n->file = NULL;
        tree_note_open_locked(m.tree, n);
        tree_unlock(m.tree);
        mutex_lock(&w->mtx);
        ck_assert_uint_eq(w->locked.pauses, 0);
        mutex_unlock(&w->mtx);
        wfile_unref(w);
}

/* As a commit, without a store. */
static void publish(struct wfile *w, bool begins)
{
        struct outcome out;
        wfile_enter(w, &out);
        w->locked.commit.phase = begins ? COMMIT_PUBLISHING : COMMIT_IDLE;
        wfile_leave(w, &out);
}

static unsigned pauses(struct wfile *w)
{
        mutex_lock(&w->mtx);
        unsigned n = w->locked.pauses;
        mutex_unlock(&w->mtx);
        return n;
}

START_TEST(an_exclusive_lock_waits_for_what_publishes)
{
        struct wfile *w = write_to(f);

        publish(w, true);
        share(&one, f);
        ck_assert(one.held); /* beside it */
        drop(&one);
        exclude(&two, a, "b");
        ck_assert(!two.held);
        ck_assert_uint_eq(pauses(w), 1); /* no other request begins */
        publish(w, false);
        ck_assert(two.held);
        drop(&two);
        end_writing(f);
}
END_TEST

START_TEST(a_lock_that_waits_pauses_nothing)
{
        struct wfile *w = write_to(f);

        share(&one, f); /* who may wait for a commit */
        exclude(&two, b, "f");
        ck_assert_uint_eq(pauses(w), 0);
        drop(&one);
        ck_assert(two.held);
        ck_assert_uint_eq(pauses(w), 1);
        drop(&two);
        end_writing(f);
}
END_TEST

START_TEST(files_below_are_paused_and_others_are_not)
{
        struct wfile *below = write_to(f), *beside = write_to(g), *target = write_to(h);

        exclude_two(&one, a, "b", c, "h");
        ck_assert(one.held);
        ck_assert_uint_eq(pauses(below), 1);
        ck_assert_uint_eq(pauses(beside), 0);
        ck_assert_uint_eq(pauses(target), 1);
        name_lock_resume(&one.lock);
        ck_assert_uint_eq(pauses(below) + pauses(target), 0);
        drop(&one);
        end_writing(f);
        end_writing(g);
        end_writing(h);
}
END_TEST

START_TEST(a_name_that_becomes_anothers_while_its_file_publishes_is_found_again)
{
        struct wfile *w = write_to(f);

        publish(w, true);
        exclude(&one, b, "f");
        tree_lock(m.tree);
        tree_remove_locked(m.tree, f); /* as after a commit that found another version */
        tree_unlock(m.tree);
        struct node *newer = make(b, "f", false);
        publish(w, false);
        ck_assert(one.held);
        ck_assert_ptr_eq(one.lock.exclusive[0], newer);
        ck_assert_uint_eq(pauses(w), 0);
        drop(&one);
        end_writing(f);
}
END_TEST

/* --- keys --- */

/* Who publishes. */
struct key {
        struct waiter waiter;
        struct key_lock *lock;
        bool held, leaves;
        unsigned nth;
};

static void drop_key(struct key *k)
{
        ck_assert(k->held);
        k->held = false;
        name_lock_published(&m, k->lock);
}

static void key_is_locked(struct waiter *w)
{
        struct key *k = CONTAINER_OF(w, struct key, waiter);
        ck_assert(!k->held); /* told once */
        k->held = true;
        k->nth = ++told;
        if (k->leaves)
                drop_key(k);
}

static void lock_key(struct key *k, const char *key, bool alone)
{
        const char *const keys[] = {key, NULL};

        *k = (struct key){.waiter.ready = key_is_locked, .leaves = k->leaves};
        int err = name_lock_publish(&m, keys, alone, &k->waiter, &k->lock);
        ck_assert(!err || err == -EAGAIN);
        if (!err)
                key_is_locked(&k->waiter);
}

static struct key k1, k2, k3, k4;

START_TEST(keys_that_nobody_has_alone_are_shared)
{
        lock_key(&k1, "k", false);
        lock_key(&k2, "k", false);
        lock_key(&k3, "other", true);
        ck_assert(k1.held && k2.held && k3.held);
        drop_key(&k1);
        drop_key(&k2);
        drop_key(&k3);
}
END_TEST

START_TEST(a_key_that_is_locked_alone_is_waited_for)
{
        lock_key(&k1, "k", true);
        lock_key(&k2, "k", false);
        lock_key(&k3, "k", false);
        lock_key(&k4, "k", true);
        ck_assert(k1.held && !k2.held && !k3.held && !k4.held);
        drop_key(&k1);
        ck_assert(k2.held && k3.held && !k4.held);
        drop_key(&k3);
        ck_assert(!k4.held);
        drop_key(&k2);
        ck_assert(k4.held);
        drop_key(&k4);
}
END_TEST

START_TEST(nobody_overtakes_one_that_waits_to_have_a_key_alone)
{
        lock_key(&k1, "k", false);
        lock_key(&k2, "k", true);
        lock_key(&k3, "k", false);
        ck_assert(k1.held && !k2.held && !k3.held);
        drop_key(&k1);
        ck_assert(k2.held && !k3.held);
        drop_key(&k2);
        ck_assert(k3.held);
        drop_key(&k3);
}
END_TEST

START_TEST(names_wait_for_a_commit_that_goes_by_way_of_them)
{
        lock_key(&k1, "a/g", true);
        lock_key(&k2, "c/new", true);
        exclude_two(&one, a, "g", c, "new");
        ck_assert(!one.held);
        drop_key(&k1);
        ck_assert(!one.held);
        drop_key(&k2);
        ck_assert(one.held);
        lock_key(&k1, "a/g", true);
        ck_assert(!k1.held);
        drop(&one);
        ck_assert(k1.held);
        drop_key(&k1);
}
END_TEST

/* One key at a time, in another order, would let each wait for the next. */
START_TEST(renames_that_swap_names_and_commits_by_way_of_them_all_end)
{
        lock_key(&k1, "a/g", true);
        exclude_two(&one, a, "g", c, "new");
        exclude_two(&two, c, "x", a, "y");
        lock_key(&k2, "c/new", true);
        lock_key(&k3, "c/x", true);
        lock_key(&k4, "a/g", true);
        ck_assert(!one.held && two.held && !k2.held && !k3.held && !k4.held);
        drop_key(&k1);
        ck_assert(one.held && !k2.held && !k4.held);
        drop(&two);
        ck_assert(k3.held);
        drop(&one);
        ck_assert(k2.held && k4.held);
        drop_key(&k2);
        drop_key(&k3);
        drop_key(&k4);
}
END_TEST

START_TEST(a_directory_waits_for_a_commit_that_goes_by_way_of_what_is_in_it)
{
        lock_key(&k1, "a/b/gone", true);
        lock_key(&k2, "a/bc", true);
        exclude(&one, a, "b");
        exclude(&two, tree_root(m.tree), "c");
        ck_assert(!one.held && two.held);
        lock_key(&k3, "c/x/y", true);
        lock_key(&k4, "a/x", false);
        ck_assert(!k3.held && k4.held);
        drop_key(&k1);
        ck_assert(one.held);
        drop(&two);
        ck_assert(k3.held);
        drop(&one);
        drop_key(&k2);
        drop_key(&k3);
        drop_key(&k4);
}
END_TEST

static enum passing passing(const char *key, const char *etag, struct waiter *w)
{
        return name_lock_passing(&m, key, etag, w);
}

START_TEST(what_passes_a_key_is_told_from_what_others_put_there)
{
        struct key looks = {.waiter.ready = key_is_locked}, again = looks, end = looks;

        ck_assert_int_eq(passing("a/old", "e1", NULL), PASSES_NOT);
        lock_key(&k1, "a/old", true);
        lock_key(&k2, "a/old", true); /* waits, and has nothing there */
        ck_assert_int_eq(passing("a/old", "e1", &looks.waiter), PASSES_MAYBE);
        ck_assert_int_eq(passing("a/other", "e1", NULL), PASSES_NOT);
        name_lock_passes(&m, "a/old", "e1");
        ck_assert(looks.held);
        ck_assert_int_eq(passing("a/old", "e1", NULL), PASSES);
        ck_assert_int_eq(passing("a/old", "e2", NULL), PASSES_NOT);
        name_lock_passes(&m, "a/old", NULL);
        ck_assert_int_eq(passing("a/old", "e1", NULL), PASSES_NOT);
        drop_key(&k1);
        ck_assert_int_eq(passing("a/old", "e1", &again.waiter), PASSES_MAYBE);
        ck_assert_int_eq(passing("a/old", "e1", &end.waiter), PASSES_MAYBE);
        drop_key(&k2); /* it failed */
        ck_assert(again.held && end.held);
        ck_assert_int_eq(passing("a/old", "e1", NULL), PASSES_NOT);
}
END_TEST

/* What the store was asked before an object left its first name says nothing of now, and a node
 * that another host's object had there before is out of date. */
START_TEST(replies_from_before_an_object_has_passed_are_old)
{
        int64_t before = tree_now_ns();

        lock_key(&k1, "a/g", true);
        ck_assert(g->hashed);
        name_lock_passes(&m, "a/g", "e1");
        ck_assert(!g->hashed && !g->unlinked);
        name_lock_passes(&m, "a/g", NULL);
        drop_key(&k1);
        tree_lock(m.tree);
        ck_assert_int_eq(tree_removed_since_locked(m.tree, a, "g", before), REMOVED);
        ck_assert_int_eq(tree_removed_since_locked(m.tree, a, "g", tree_now_ns()), NOT_REMOVED);
        tree_unlock(m.tree);
}
END_TEST

START_TEST(a_thousand_that_wait_for_a_key_are_told_in_their_order)
{
        struct key *v = calloc(MANY, sizeof *v);

        told = 0;
        lock_key(&k1, "k", true);
        for (unsigned i = 0; i < MANY; i++) {
                v[i].leaves = true;
                lock_key(&v[i], "k", i % 3);
        }
        ck_assert_uint_eq(told, 1);
        drop_key(&k1);
        for (unsigned i = 0; i < MANY; i++)
                ck_assert_uint_eq(v[i].nth, i + 2);
        free(v);
}
END_TEST

/* --- many --- */

START_TEST(a_thousand_that_wait_are_told_in_their_order)
{
        struct who *v = calloc(MANY, sizeof *v);

        told = 0;
        exclude(&one, a, "b");
        for (unsigned i = 0; i < MANY; i++) {
                v[i].leaves = true;
                if (i % 3)
                        share(&v[i], f);
                else
                        exclude(&v[i], i % 2 ? b : a, i % 2 ? "f" : "b");
        }
        ck_assert_uint_eq(told, 1);
        drop(&one);
        for (unsigned i = 0; i < MANY; i++)
                ck_assert_uint_eq(v[i].nth, i + 2);
        free(v);
}
END_TEST

START_TEST(a_thousand_that_share_do_not_starve_one_that_excludes)
{
        struct who *v = calloc(MANY, sizeof *v);

        told = 0;
        for (unsigned i = 0; i < MANY / 2; i++)
                share(&v[i], f);
        exclude(&one, tree_root(m.tree), "a");
        for (unsigned i = MANY / 2; i < MANY; i++)
                share(&v[i], f);
        for (unsigned i = 0; i < MANY / 2; i++) {
                ck_assert(!one.held);
                drop(&v[i]);
        }
        ck_assert(one.held);
        ck_assert_uint_eq(told, MANY / 2 + 1);
        drop(&one);
        for (unsigned i = MANY / 2; i < MANY; i++)
                drop(&v[i]);
        free(v);
}
END_TEST

/* Threads that lock at random; each node knows who has it. */
enum { THREADS = 4, TURNS = 3000 };

static atomic_int sharing, excluding, turns;

struct worker {
        struct name_lock lock;
        unsigned seed;
        bool excludes;
        pthread_mutex_t mtx;
        pthread_cond_t cond;
        bool held;
};

static void worker_granted(struct waiter *w)
{
        struct worker *x = CONTAINER_OF(w, struct worker, lock.waiter);
        pthread_mutex_lock(&x->mtx);
        x->held = true;
        pthread_cond_signal(&x->cond);
        pthread_mutex_unlock(&x->mtx);
}

static void turn(struct worker *x)
{
        x->seed = x->seed * 1103515245U + 12345U;
        unsigned kind = x->seed >> 16 & 7U;
        x->excludes = kind < 2;
        x->held = false;
        if (x->excludes)
                x->lock = (struct name_lock){.shared = {kind ? b : a}, .names = {kind ? "f" : "b"}};
        else
                x->lock = (struct name_lock){.shared = {f}};
        x->lock.waiter.ready = worker_granted;
        name_lock_take(&m, &x->lock);
        pthread_mutex_lock(&x->mtx);
        while (!x->held)
                pthread_cond_wait(&x->cond, &x->mtx);
        pthread_mutex_unlock(&x->mtx);
        atomic_fetch_add(x->excludes ? &excluding : &sharing, 1);
        ck_assert(x->excludes ? atomic_load(&excluding) == 1 && !atomic_load(&sharing)
                              : !atomic_load(&excluding));
        atomic_fetch_sub(x->excludes ? &excluding : &sharing, 1);
        name_lock_drop(&x->lock);
        atomic_fetch_add(&turns, 1);
}

static void *work(void *arg)
{
        for (int i = 0; i < TURNS; i++)
                turn(arg);
        return NULL;
}

START_TEST(threads_that_lock_at_random_all_get_their_turns)
{
        struct worker v[THREADS];
        pthread_t threads[THREADS];

        for (unsigned i = 0; i < THREADS; i++) {
                v[i] = (struct worker){.seed = i + 1};
                pthread_mutex_init(&v[i].mtx, NULL);
                pthread_cond_init(&v[i].cond, NULL);
                ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &v[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        ck_assert_int_eq(atomic_load(&turns), THREADS * TURNS);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("name_lock");
        TCase *t = tcase_create("name_lock");
        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_loop_test(t, only_what_has_to_wait_waits, 0,
                            (int)(sizeof pairs / sizeof pairs[0]));
        tcase_add_test(t, nobody_waits_for_one_that_came_later);
        tcase_add_test(t, a_rename_has_both_names_and_both_directories);
        tcase_add_test(t, two_that_name_the_same_in_another_order_follow_one_another);
        tcase_add_test(t, what_the_tree_is_asked_about_a_lock_is_so);
        tcase_add_test(t, what_has_a_name_is_found_when_the_lock_is_granted);
        tcase_add_test(t, a_directory_that_moves_takes_its_locks_along);
        tcase_add_test(t, an_exclusive_lock_waits_for_what_publishes);
        tcase_add_test(t, a_lock_that_waits_pauses_nothing);
        tcase_add_test(t, files_below_are_paused_and_others_are_not);
        tcase_add_test(t, a_name_that_becomes_anothers_while_its_file_publishes_is_found_again);
        tcase_add_test(t, keys_that_nobody_has_alone_are_shared);
        tcase_add_test(t, a_key_that_is_locked_alone_is_waited_for);
        tcase_add_test(t, nobody_overtakes_one_that_waits_to_have_a_key_alone);
        tcase_add_test(t, names_wait_for_a_commit_that_goes_by_way_of_them);
        tcase_add_test(t, renames_that_swap_names_and_commits_by_way_of_them_all_end);
        tcase_add_test(t, a_directory_waits_for_a_commit_that_goes_by_way_of_what_is_in_it);
        tcase_add_test(t, what_passes_a_key_is_told_from_what_others_put_there);
        tcase_add_test(t, replies_from_before_an_object_has_passed_are_old);
        tcase_add_test(t, a_thousand_that_wait_for_a_key_are_told_in_their_order);
        tcase_add_test(t, a_thousand_that_wait_are_told_in_their_order);
        tcase_add_test(t, a_thousand_that_share_do_not_starve_one_that_excludes);
        tcase_add_test(t, threads_that_lock_at_random_all_get_their_turns);
        suite_add_tcase(s, t);
        return unit_main(s);
}
