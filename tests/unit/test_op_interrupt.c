/* SPDX-License-Identifier: Apache-2.0 */
/* test_op_interrupt.c: who waits for a request that came by a way of its own can be killed, also
 * when the kernel told of that too early, or not at all. */
#include "mount/ops/op_interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mount/core/mount.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { PATIENCE = 200000, STEP = 10 }; /* ms */

struct way {
        struct reply_way way;
        atomic_int error; /* that was replied, or 1 */
};

static ssize_t keep(struct reply_way *way, const struct iovec *iov, int n)
{
        const struct fuse_out_header *out = iov[0].iov_base;

        ck_assert_int_eq(n, 1);
        atomic_store(&((struct way *)way)->error, out->error);
        return (ssize_t)out->len;
}

static struct way way_new(void)
{
        return (struct way){.way = {.reply = keep}, .error = 1};
}

static struct mount mount;
static struct requests *requests;
static pid_t dying;

static struct node *no_node(struct mount *m, uint64_t ino)
{
        (void)m;
        (void)ino;
        return NULL;
}

/* A process with a signal that ends it as soon as it goes on. */
static void setup(void)
{
        signal(SIGTERM, SIG_DFL); /* Check catches it */
        dying = fork();
        if (!dying)
                for (;;)
                        pause();
        ck_assert_int_gt(dying, 0);
        kill(dying, SIGSTOP);
        ck_assert_int_eq(waitpid(dying, NULL, WUNTRACED), dying);
        kill(dying, SIGTERM);
        mount = (struct mount){.tree = tree_new(1000000000)};
        requests = requests_new(&mount, open("/dev/null", O_WRONLY | O_CLOEXEC), no_node);
        ck_assert_ptr_nonnull(requests);
}

static void teardown(void)
{
        requests_free(requests);
        tree_free(mount.tree);
        kill(dying, SIGKILL);
        waitpid(dying, NULL, 0);
}

static void begin(uint32_t opcode, uint64_t unique, uint32_t write_flags, struct way *way)
{
        const struct {
                struct fuse_in_header in;
                struct fuse_write_in write;
        } r = {.write.write_flags = write_flags,
               .in = {.len = sizeof r, .opcode = opcode, .unique = unique, .pid = (uint32_t)dying}};

        ck_assert(requests_begin(requests, &r, sizeof r, &way->way));
        requests_handled(requests);
}

static void interrupt(uint64_t unique)
{
        const struct {
                struct fuse_in_header in;
                struct fuse_interrupt_in interrupt;
        } r = {.in = {.len = sizeof r, .opcode = FUSE_INTERRUPT, .unique = unique | 1},
               .interrupt = {.unique = unique}};

        ck_assert(!requests_begin(requests, &r, sizeof r, NULL));
}

static void wait_for(const struct way *way)
{
        for (int ms = 0; atomic_load(&way->error) == 1; ms += STEP) {
                ck_assert_int_lt(ms, PATIENCE);
                nanosleep(&(struct timespec){.tv_nsec = STEP * 1000000}, NULL);
        }
        ck_assert_int_eq(atomic_load(&way->error), -EINTR);
}

START_TEST(an_interrupt_that_comes_before_its_request_is_found)
{
        struct way way = way_new();

        interrupt(4);
        begin(FUSE_READ, 4, 0, &way);
        wait_for(&way);
}
END_TEST

START_TEST(what_waits_for_an_interrupt_that_never_comes_is_found)
{
        struct way waits = way_new(), later = way_new(), writes = way_new();

        begin(FUSE_GETATTR, 4, 0, &waits);
        wait_for(&waits);
        begin(FUSE_READ, 6, 0, &later);
        begin(FUSE_WRITE, 8, 0, &writes);
        wait_for(&later);
        wait_for(&writes);
}
END_TEST

START_TEST(an_interrupt_passes_by_what_the_kernel_asks_for_itself)
{
        struct way releases = way_new(), writes = way_new(), next = way_new(), last = way_new();

        begin(FUSE_RELEASE, 2, 0, &releases);
        begin(FUSE_WRITE, 4, FUSE_WRITE_CACHE, &writes);
        begin(FUSE_GETATTR, 6, 0, &next);
        wait_for(&next);
        begin(FUSE_GETATTR, 8, 0, &last);
        wait_for(&last); /* by a later look than would have been theirs */
        ck_assert_int_eq(atomic_load(&releases.error), 1);
        ck_assert_int_eq(atomic_load(&writes.error), 1);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("op_interrupt");
        TCase *t = tcase_create("op_interrupt");
        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, an_interrupt_that_comes_before_its_request_is_found);
        tcase_add_test(t, what_waits_for_an_interrupt_that_never_comes_is_found);
        tcase_add_test(t, an_interrupt_passes_by_what_the_kernel_asks_for_itself);
        suite_add_tcase(s, t);
        return unit_main(s);
}
