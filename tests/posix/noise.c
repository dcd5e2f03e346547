/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c: processes that open, read, map, stat, list and sync the files of a model (model.c) and
 * change nothing: what the model compares must not depend on them.
 *
 *      noise WORKERS DIRECTORY...
 *
 * The workers are in each directory by turns. Every moment one is killed, and another takes its
 * place. SIGTERM ends them all. An error that nobody may meet is a line on standard output. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { WORKERS_MAX = 16, BUFFER = 9 << 20 };

static const char *const paths[] = {
        ".",     "a",       "b",         "c",     "dir",     "dir/a",
        "dir/b", "dir/sub", "dir/sub/a", "other", "other/a", "other/dir",
};
enum { PATHS = sizeof paths / sizeof *paths };

static char buf[BUFFER];
static unsigned state;

static unsigned chance(unsigned below)
{
        return (unsigned)rand_r(&state) % below;
}

static void rest(unsigned most_ms)
{
        unsigned ms = chance(most_ms);

        nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void complain(const char *what, const char *path)
{
        printf("%s of %s: %s\n", what, path, strerror(errno));
}

/* The model may have removed the file, made it another kind of file, or had its bytes sent and not
 * kept. */
static void read_all(int fd, const char *path)
{
        unsigned most = chance(2) ? BUFFER : 1 + chance(100000), ms = 1 + chance(5);
        off_t at = 0;
        ssize_t n;

        while ((n = pread(fd, buf, most, at)) > 0) {
                at += n;
                rest(ms);
        }
        if (n < 0 && errno != EISDIR && errno != EBUSY && errno != ESTALE)
                complain("read", path);
}

/* No page of it is touched: there may be none any more. */
static void map(int fd)
{
        struct stat st;

        if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == 0)
                return;
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ,
                           chance(2) ? MAP_SHARED : MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
                return;
        madvise(bytes, (size_t)st.st_size, MADV_WILLNEED);
        rest(20);
        munmap(bytes, (size_t)st.st_size);
}

static void list(const char *path)
{
        DIR *d = opendir(path);
        const struct dirent *e;
        struct stat st;

        if (!d)
                return;
        for (int n = 0; (e = readdir(d)); n++) {
                if (n == 2)
                        seekdir(d, telldir(d));
                fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW);
        }
        closedir(d);
}

static void use(int fd, const char *path)
{
        switch (chance(8)) {
        case 0:
        case 1:
                read_all(fd, path);
                break;
        case 2:
                map(fd);
                break;
        case 3:
                posix_fadvise(fd, 0, 0, chance(2) ? POSIX_FADV_DONTNEED : POSIX_FADV_WILLNEED);
                rest(50);
                break;
        case 4:
                flistxattr(fd, buf, 1000);
                fgetxattr(fd, "user.one", buf, 1000);
                break;
        case 5:
                rest(300);
                read_all(fd, path);
                break;
        default:
                if (fsync(fd))
                        complain("fsync", path);
        }
}

static bool may_be_gone(void)
{
        return errno == ENOENT || errno == ENOTDIR || errno == EISDIR || errno == ELOOP ||
               errno == EINVAL || errno == ESTALE;
}

static void work(const char *directory)
{
        setvbuf(stdout, NULL, _IOLBF, 0);
        state = (unsigned)getpid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chdir(directory))
                complain("chdir", directory);
        for (;;) {
                const char *path = paths[chance(PATHS)];

                if (chance(8) == 0)
                        list(path);
                int flags =
                        O_CLOEXEC | (chance(4) ? O_RDONLY : O_RDWR) | (chance(4) ? 0 : O_DIRECT);
                int fd = open(path, flags);
                if (fd >= 0) {
                        use(fd, path);
                        if (close(fd))
                                complain("close", path);
                } else if (!may_be_gone()) {
                        complain("open", path);
                }
        }
}

static pid_t begun(const char *directory)
{
        pid_t pid = fork();

        if (pid == 0)
                work(directory);
        return pid;
}

int main(int argc, char **argv)
{
        int workers = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
        pid_t pids[WORKERS_MAX];
        sigset_t term;

        if (workers < 1 || workers > WORKERS_MAX)
                return 2;
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        sigprocmask(SIG_BLOCK, &term, NULL);
        for (int i = 0; i < workers; i++)
                pids[i] = begun(argv[2 + i % (argc - 2)]);
        for (;;) {
                struct timespec moment = {.tv_nsec = 1000000 * (long)(1 + chance(400))};
                bool ends = sigtimedwait(&term, NULL, &moment) == SIGTERM;
                int one = (int)chance((unsigned)workers);

                for (int i = 0; i < workers; i++) {
                        if (pids[i] < 0 || (!ends && i != one))
                                continue;
                        kill(pids[i], SIGKILL);
                        waitpid(pids[i], NULL, 0);
                }
                if (ends)
                        return 0;
                pids[one] = begun(argv[2 + one % (argc - 2)]);
        }
}
