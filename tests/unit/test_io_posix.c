/* SPDX-License-Identifier: Apache-2.0 */
/* test_io_posix.c: the order in which files are read and handed over: a block is on its way to
 * where it belongs while the next one is read. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/core/io.h"
#include "bench/core/signal_cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { BLOCK = 4096, FILE_SIZE = 5 * BLOCK + 100 };

static char dir[] = "/tmp/ckptfs-posix.XXXXXX";
static struct keys keys;
static struct io *io;

static char byte_at(uint64_t from)
{
        return (char)(from / 7 + from / BLOCK);
}

static void setup(void)
{
        char why[300] = "", path[64];

        memcpy(strstr(dir, "posix.") + 6, "XXXXXX", 6);
        ck_assert_ptr_nonnull(mkdtemp(dir));
        snprintf(path, sizeof path, "%s/f", dir);
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        for (uint64_t i = 0; i < FILE_SIZE; i++)
                fputc(byte_at(i), f);
        ck_assert_int_eq(fclose(f), 0);
        ck_assert_int_eq(param_tab_init(&key_tab, &keys), 0);
        ck_assert_int_eq(param_tab_set(&key_tab, &keys, "path", dir, why, sizeof why), 0);
        ck_assert_int_eq(param_tab_set(&key_tab, &keys, "block", "4K", why, sizeof why), 0);
        ck_assert_msg(!io_posix.start(&keys, "disk", "", 0, &io, why, sizeof why), "%s", why);
}

static void teardown(void)
{
        char path[64];

        io_posix.stop(io, false);
        param_tab_release(&key_tab, &keys);
        snprintf(path, sizeof path, "%s/f", dir);
        unlink(path);
        rmdir(dir);
}

/* Whoever takes blocks as slowly as he may. */
struct taker {
        const struct io_range *ranges;
        char order[300]; /* "+2 " a block of data from 2 * BLOCK was begun, "-2 " its copy ended */
        size_t n;
        uint64_t off;
        const char *p; /* on its way; NULL: none is */
        size_t len;
        unsigned fail_at; /* the blocks begun so far after which one is refused; 0: none */
        unsigned begun;
};

/* Where a byte of the data is in the file. */
static uint64_t place_of(const struct taker *t, uint64_t off)
{
        const struct io_range *r = t->ranges;
        while (r && off >= r->len)
                off -= r++->len;
        return r ? r->from + off : off;
}

static void note(struct taker *t, char what, uint64_t off)
{
        t->n += (size_t)snprintf(t->order + t->n, sizeof t->order - t->n, "%c%llu ", what,
                                 (unsigned long long)(off / BLOCK));
}

static int wait_last(void *arg)
{
        struct taker *t = arg;
        for (size_t i = 0; t->p && i < t->len; i++) /* nobody has touched it meanwhile */
                ck_assert_int_eq(t->p[i], byte_at(place_of(t, t->off + i)));
        if (t->p)
                note(t, '-', t->off);
        t->p = NULL;
        return 0;
}

static int hand(void *arg, uint64_t off, const void *p, size_t len)
{
        struct taker *t = arg;

        if (t->fail_at && t->begun++ == t->fail_at)
                return -EIO;
        note(t, '+', off); /* it was read, and the one before is still on its way */
        wait_last(t);
        t->p = p;
        t->off = off;
        t->len = len;
        return 0;
}

static int load(struct taker *t, struct io_data *d)
{
        struct io_file *f = NULL;

        d->check = hand; /* one who takes blocks has both */
        d->hand = hand;
        d->wait_last = wait_last;
        d->arg = t;
        ck_assert_int_eq(io_posix.open(io, "f", &f), 0);
        int err = io_posix.read(f, d);
        ck_assert_ptr_null(t->p);
        io_posix.abandon(f);
        return err;
}

START_TEST(a_block_is_on_its_way_while_the_next_is_read)
{
        struct taker t = {.n = 0};
        struct io_data d = {.size = FILE_SIZE};
        ck_assert_int_eq(load(&t, &d), 0);
        ck_assert_str_eq(t.order, "+0 +1 -0 +2 -1 +3 -2 +4 -3 +5 -4 -5 ");
}
END_TEST

START_TEST(neighbours_in_ranges_have_buffers_of_their_own)
{
        static const struct io_range ranges[] = {
                {BLOCK, BLOCK + BLOCK / 2}, {0, BLOCK / 2}, {3 * BLOCK + 5, 2 * BLOCK}};
        struct taker t = {.ranges = ranges};
        struct io_data d = {.size = 4 * BLOCK, .ranges = ranges, .nranges = 3};
        ck_assert_int_eq(load(&t, &d), 0);
        ck_assert_str_eq(t.order, "+0 +1 -0 +1 -1 +2 -1 +3 -2 -3 ");
}
END_TEST

START_TEST(whatever_fails_nothing_is_on_its_way_at_the_end)
{
        struct taker refusing = {.fail_at = 2}, shortened = {.n = 0};
        struct io_data d = {.size = FILE_SIZE};
        ck_assert_int_eq(load(&refusing, &d), -EIO);
        ck_assert_str_eq(refusing.order, "+0 +1 -0 -1 ");
        d = (struct io_data){.size = FILE_SIZE + BLOCK};
        ck_assert_int_eq(load(&shortened, &d), -ENODATA);
        ck_assert_str_eq(shortened.order, "+0 +1 -0 +2 -1 +3 -2 +4 -3 -4 ");
}
END_TEST

/* Who gives blocks as slowly as he may: the copy to `dst` happens when it is asked for. */
struct giver {
        uint64_t off;
        void *dst;        /* on its way; NULL: none is */
        uint64_t stop_at; /* a signal comes when this block is begun */
};

static int give(void *arg, uint64_t off, void *dst, size_t len)
{
        struct giver *g = arg;
        if (g->dst == dst && g->off == off)
                g->dst = NULL;
        memset(dst, (int)(off / BLOCK), len);
        return 0;
}

static int begin(void *arg, uint64_t off, void *dst, size_t len)
{
        struct giver *g = arg;
        (void)len;
        g->off = off;
        g->dst = dst;
        if (off == g->stop_at)
                kill(getpid(), SIGTERM);
        while (off == g->stop_at && !signal_came())
                usleep(1000);
        return 0;
}

START_TEST(a_signal_leaves_no_copy_on_its_way_to_a_buffer)
{
        struct giver g = {.stop_at = 2 * BLOCK};
        struct io_data d = {.size = FILE_SIZE, .fill = give, .ahead = begin, .arg = &g};
        struct io_file *f = NULL;

        ck_assert_int_eq(signal_cleanup_init(), 0);
        ck_assert_int_eq(io_posix.create(io, "f", FILE_SIZE, &f), 0);
        ck_assert_int_eq(io_posix.write(f, &d), -ECANCELED);
        ck_assert_ptr_null(g.dst);
        io_posix.abandon(f);
}
END_TEST

START_TEST(a_move_that_fails_leaves_the_file_of_the_new_name)
{
        char other[] = "/tmp/ckptfs-posix2.XXXXXX", at[80], why[300] = "";
        struct keys there;
        struct io *from;

        ck_assert_ptr_nonnull(mkdtemp(other));
        ck_assert_int_eq(param_tab_init(&key_tab, &there), 0);
        ck_assert_int_eq(param_tab_set(&key_tab, &there, "path", other, why, sizeof why), 0);
        ck_assert_msg(!io_posix.start(&there, "disk", "", 0, &from, why, sizeof why), "%s", why);
        ck_assert_int_lt(io_posix_move(from, io, "f", false), 0); /* there is none to be moved */
        snprintf(at, sizeof at, "%s/f", dir);
        ck_assert_int_eq(access(at, F_OK), 0);
        io_posix.stop(from, false);
        param_tab_release(&key_tab, &there);
        rmdir(other);
}
END_TEST

int main(void)
{
        TCase *tc = tcase_create("io_posix");
        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_test(tc, a_block_is_on_its_way_while_the_next_is_read);
        tcase_add_test(tc, neighbours_in_ranges_have_buffers_of_their_own);
        tcase_add_test(tc, a_signal_leaves_no_copy_on_its_way_to_a_buffer);
        tcase_add_test(tc, a_move_that_fails_leaves_the_file_of_the_new_name);
        tcase_add_test(tc, whatever_fails_nothing_is_on_its_way_at_the_end);
        Suite *s = suite_create("io_posix");
        suite_add_tcase(s, tc);
        return unit_main(s);
}
