/* SPDX-License-Identifier: Apache-2.0 */
/* unseen.c: makes a file by a path that nobody can read after the kernel has. While the call waits
 * for a step of the path, the page with the path is taken away, and whoever asks for it again waits
 * for as long as this program lives (userfaultfd(2)).
 *
 *   unseen PATH TAKEN ASKED      TAKEN is there when the page is away; the first line of ASKED is
 *                                the thread that asks for it
 *   unseen                       whether that can be done here */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/banned.h"

enum { PAGE = 4096, LINE = 512 };

static char *path;
static atomic_int opener;

static void *open_path(void *arg)
{
        opener = (int)syscall(SYS_gettid);
        int fd = openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (fd >= 0)
                close(fd);
        return arg;
}

/* The line of a file about the thread. */
static void read_line(const char *name, char text[LINE])
{
        char path_of[64];

        *text = 0;
        snprintf(path_of, sizeof path_of, "/proc/self/task/%d/%s", (int)opener, name);
        FILE *f = opener ? fopen(path_of, "re") : NULL;
        if (f && !fgets(text, LINE, f))
                *text = 0;
        if (f)
                fclose(f);
}

/* Whether the thread sleeps in its call: the path has been copied. */
static int sleeps_in_open(void)
{
        char call[LINE], state[LINE];
        long nr = -1;

        read_line("syscall", call);
        read_line("stat", state);
        const char *p = strrchr(state, ')');
        return p && (p[2] == 'S' || p[2] == 'D') && sscanf(call, "%ld", &nr) == 1 &&
               nr == SYS_openat;
}

static void fail(const char *what)
{
        perror(what);
        exit(1);
}

int main(int argc, char **argv)
{
        struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_THREAD_ID};
        pthread_t thread;

        int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
        if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
                return 1;
        if (argc != 4)
                return argc > 1;
        path = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (path == MAP_FAILED)
                fail("mmap");
        snprintf(path, PAGE, "%s", argv[1]);
        if (pthread_create(&thread, NULL, open_path, NULL))
                fail("pthread_create");
        while (!sleeps_in_open())
                usleep(1000);
        struct uffdio_register area = {.range = {(uintptr_t)path, PAGE},
                                       .mode = UFFDIO_REGISTER_MODE_MISSING};
        if (ioctl(faults, UFFDIO_REGISTER, &area) || madvise(path, PAGE, MADV_DONTNEED))
                fail("userfaultfd");
        FILE *taken = fopen(argv[2], "we");
        if (!taken || fclose(taken))
                fail("the page is away");
        struct uffd_msg msg;
        FILE *to = fopen(argv[3], "we");
        if (read(faults, &msg, sizeof msg) != sizeof msg || !to)
                fail("who asks");
        fprintf(to, "%u\n", (unsigned)msg.arg.pagefault.feat.ptid);
        fclose(to);
        for (;;)
                pause();
}
