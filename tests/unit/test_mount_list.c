/* SPDX-License-Identifier: Apache-2.0 */
/* test_mount_list.c: of which device a mount is, also while mounts come and go. */
#include "mount/caller/mount_list.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

enum { NOBODY_HAS = 0x7ffffff0 };

/* The mount and the device of a directory. */
static unsigned long mount_of(const char *dir, dev_t *dev)
{
        char path[64], text[512];
        struct stat st;
        CLEANUP(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fstat(fd, &st), 0);
        *dev = st.st_dev;
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        CLEANUP(closep) int info = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = read(info, text, sizeof text - 1);
        ck_assert_int_gt(n, 0);
        text[n] = 0;
        const char *id = strstr(text, "mnt_id:");
        ck_assert_ptr_nonnull(id);
        return strtoul(id + 7, NULL, 10);
}

START_TEST(a_mount_is_of_its_device_and_of_no_other)
{
        dev_t dev;
        unsigned long id = mount_of("/proc", &dev);
        struct mount_list *right = mount_list_new(dev), *wrong = mount_list_new(makedev(0xfff, 1));

        ck_assert(mount_list_has(right, getpid(), id) && mount_list_has(right, getpid(), id));
        ck_assert(!mount_list_has(wrong, getpid(), id));
        mount_list_free(right);
        mount_list_free(wrong);
}
END_TEST

START_TEST(a_mount_that_no_list_has_may_be_of_the_device)
{
        struct mount_list *l = mount_list_new(makedev(0xfff, 1));
        ck_assert(mount_list_has(l, getpid(), NOBODY_HAS));
        ck_assert(mount_list_has(l, NOBODY_HAS, NOBODY_HAS));
        mount_list_free(l);
}
END_TEST

/* Whether process 1, whose namespace is the machine's, has a mount of that number. */
static bool machine_has(unsigned long id)
{
        CLEANUP(fclosep) FILE *f = fopen("/proc/1/mountinfo", "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;

        while (f && getline(&line, &room, f) > 0)
                if (strtoul(line, NULL, 10) == id)
                        return true;
        return false;
}

START_TEST(a_daemon_with_a_namespace_of_its_own_knows_the_mounts_of_the_machine)
{
        dev_t dev;
        unsigned long id = mount_of("/proc", &dev);

        if (!machine_has(id) || unshare(CLONE_NEWNS))
                return;
        struct mount_list *right = mount_list_new(dev), *wrong = mount_list_new(makedev(0xfff, 1));
        ck_assert(mount_list_has(right, getpid(), id));
        ck_assert(!mount_list_has(wrong, getpid(), id)); /* one that no list has may be */
        mount_list_free(right);
        mount_list_free(wrong);
}
END_TEST

/* The number of a mount that went is given to the next one that comes. */
START_TEST(mounts_that_come_and_go_are_noticed)
{
        char dir[] = "/tmp/ckptfs-mount-list.XXXXXX", other[] = "/tmp/ckptfs-mount-list.XXXXXX";
        dev_t dev, its;

        if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
                ck_assert(errno == EPERM || errno == EACCES); /* only root may */
                return;
        }
        ck_assert(mkdtemp(dir) && mkdtemp(other));
        ck_assert_int_eq(mount("none", dir, "tmpfs", 0, NULL), 0);
        mount_of(dir, &dev);
        struct mount_list *l = mount_list_new(dev);
        ck_assert(mount_list_has(l, getpid(), mount_of(dir, &its)));

        ck_assert_int_eq(mount(dir, other, NULL, MS_BIND, NULL), 0);
        ck_assert(mount_list_has(l, getpid(), mount_of(other, &its)));
        ck_assert_uint_eq(its, dev);
        ck_assert_int_eq(umount(other), 0);
        ck_assert_int_eq(mount("none", other, "tmpfs", 0, NULL), 0);
        ck_assert(!mount_list_has(l, getpid(), mount_of(other, &its)));
        ck_assert_uint_ne(its, dev);

        ck_assert_int_eq(umount(other) | umount(dir) | rmdir(other) | rmdir(dir), 0);
        mount_list_free(l);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("mount_list");
        TCase *t = tcase_create("mount_list");
        tcase_add_test(t, a_mount_is_of_its_device_and_of_no_other);
        tcase_add_test(t, a_mount_that_no_list_has_may_be_of_the_device);
        tcase_add_test(t, a_daemon_with_a_namespace_of_its_own_knows_the_mounts_of_the_machine);
        tcase_add_test(t, mounts_that_come_and_go_are_noticed);
        suite_add_tcase(s, t);
        return unit_main(s);
}
