/* SPDX-License-Identifier: Apache-2.0 */
/* fdo.c: makes the system calls that its arguments name, one after the other, and prints a word for
 * each: "ok", a number where that is the result, or the name of the errno.
 *
 *      fdo open wct FILE write 4096 fsync pwrite 1 0 close        prints: ok ok ok EOPNOTSUPP ...
 *
 * `pause` waits until the test lets it go on, see tests/lib/mount.sh. It goes on after an error.
 * There are 24 descriptors; `slot N` chooses the one that is used. Bytes written are those at
 * the same offset of the file that `src` named, else 'x'. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/lib/fdo.h"

#include "base/banned.h"

enum { SLOTS = 24 };

static int fds[SLOTS], slot, source = -1;

#define fd fds[slot]

static int open_flags(const char *letters)
{
        int flags = strchr(letters, '+') ? O_RDWR : strchr(letters, 'w') ? O_WRONLY : O_RDONLY;
        flags |= strchr(letters, 'c') ? O_CREAT : 0;
        flags |= strchr(letters, 't') ? O_TRUNC : 0;
        flags |= strchr(letters, 'x') ? O_EXCL : 0;
        flags |= strchr(letters, 'a') ? O_APPEND : 0;
        flags |= strchr(letters, 'd') ? O_DIRECT : 0;
        flags |= strchr(letters, 'y') ? O_SYNC : 0;
        flags |= strchr(letters, 'p') ? O_PATH : 0; /* for reopen */
        return flags | O_CLOEXEC;
}

static long long do_open(char **a)
{
        return result(fd = open(a[1], open_flags(a[0]), 0644));
}

static long long do_reopen(char **a)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return do_open((char *[]){a[0], path});
}

static long long do_rechmod(char **a)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return result(chmod(path, (mode_t)number(a[0])));
}

static long long put(long long n, long long off)
{
        CLEANUP(freep) char *p = malloc((size_t)n + 1);
        long long pos = off < 0 ? lseek(fd, 0, SEEK_CUR) : off;
        if (!p)
                return -ENOMEM;
        memset(p, 'x', (size_t)n);
        if (source >= 0 && pread(source, p, (size_t)n, pos) != n)
                return -ENODATA;
        ssize_t k = off < 0 ? write(fd, p, (size_t)n) : pwrite(fd, p, (size_t)n, off);
        return k < 0 ? -errno : k == n ? 0 : FDO_NUMBER + k;
}

static long long do_write(char **a)
{
        return put(number(a[0]), -1);
}

static long long do_pwrite(char **a)
{
        return put(number(a[0]), number(a[1]));
}

static long long do_pread(char **a)
{
        size_t n = (size_t)number(a[0]);
        CLEANUP(freep) char *p = malloc(n + 1);
        ssize_t k = p ? pread(fd, p, n, number(a[1])) : -1;
        return k < 0 ? -errno : FDO_NUMBER + k;
}

static long long do_src(char **a)
{
        return result(source = open(a[0], O_RDONLY | O_CLOEXEC));
}

static long long do_slot(char **a)
{
        slot = (int)number(a[0]) % SLOTS;
        return 0;
}

static long long do_close(char **a)
{
        (void)a;
        return result(close(fd));
}

static long long do_fsync(char **a)
{
        (void)a;
        return result(fsync(fd));
}

static long long do_fsize(char **a)
{
        struct stat st;
        (void)a;
        return fstat(fd, &st) ? -errno : FDO_NUMBER + (long long)st.st_size;
}

static long long do_size(char **a)
{
        struct stat st;
        return stat(a[0], &st) ? -errno : FDO_NUMBER + (long long)st.st_size;
}

static long long do_ftruncate(char **a)
{
        return result(ftruncate(fd, number(a[0])));
}

static long long do_truncate(char **a)
{
        return result(truncate(a[1], number(a[0])));
}

static long long do_fallocate(char **a)
{
        return result(fallocate(fd, 0, number(a[0]), number(a[1])));
}

static long long do_punch(char **a)
{
        return result(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, number(a[0]),
                                number(a[1])));
}

static long long do_keepsize(char **a)
{
        return result(fallocate(fd, FALLOC_FL_KEEP_SIZE, number(a[0]), number(a[1])));
}

/* A child that ends by itself, after closing its copy of every descriptor. */
static long long do_forkclose(char **a)
{
        (void)a;
        pid_t pid = fork();
        if (!pid)
                _exit(close(fd) ? 1 : 0);
        int status;
        return pid < 0 || waitpid(pid, &status, 0) < 0 ? -errno : FDO_NUMBER + WEXITSTATUS(status);
}

/* A child that closes its copy cleanly when its parent has died. */
static long long do_forkorphan(char **a)
{
        (void)a;
        pid_t parent = getpid(), pid = fork();
        if (pid)
                return pid < 0 ? -errno : 0;
        for (int i = 0; i < 60000 && getppid() == parent; i++)
                nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        close(fd);
        _exit(0);
}

static int held_by, hold = -1;

/* A child that holds its copies of all descriptors until `forkend`, then closes them cleanly. */
static long long do_forkhold(char **a)
{
        int go[2];
        char b;
        (void)a;

        if (pipe2(go, O_CLOEXEC))
                return -errno;
        held_by = fork();
        if (!held_by) {
                close(go[1]);
                _exit(read(go[0], &b, 1) ? 1 : 0);
        }
        close(go[0]);
        hold = go[1];
        return held_by < 0 ? -errno : 0;
}

static long long do_forkend(char **a)
{
        int status;
        (void)a;
        close(TAKE_FD(hold));
        return waitpid(held_by, &status, 0) < 0 ? -errno : FDO_NUMBER + WEXITSTATUS(status);
}

static void *thread_sleep(void *arg)
{
        (void)arg;
        pause();
        return NULL;
}

/* Threads that do nothing. */
static long long do_threads(char **a)
{
        int err = 0;
        for (long long n = number(a[0]); n && !err; n--) {
                pthread_t thread;
                err = pthread_create(&thread, NULL, thread_sleep, NULL);
        }
        return -err;
}

/* Uses that much memory. */
static long long do_eat(char **a)
{
        size_t n = (size_t)number(a[0]);
        char *p = malloc(n);
        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < n; i += 4096)
                *(volatile char *)(p + i) = 1;
        free(p);
        return 0;
}

/* A write by a thread of its own, which has begun when this returns, and may end whenever. */
struct late {
        _Atomic pid_t tid;
        int at;
        size_t n;
};

static void *thread_write(void *arg)
{
        struct late *l = arg;
        CLEANUP(freep) char *p = malloc(l->n);
        int at = l->at;
        size_t n = l->n;

        if (p)
                memset(p, 'x', n);
        l->tid = gettid();
        ssize_t k = p ? write(at, p, n) : -1;
        (void)k;
        return NULL;
}

static bool is_writing(pid_t tid)
{
        char path[64];
        int call = -1;
        snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        return f && fscanf(f, "%d", &call) == 1 && call == SYS_write;
}

static long long do_latewrite(char **a)
{
        static struct late l;
        pthread_t thread;

        l = (struct late){.at = fd, .n = (size_t)number(a[0])};
        int err = pthread_create(&thread, NULL, thread_write, &l);
        for (int i = 0; !err && i < 30000 && !(l.tid && is_writing(l.tid)); i++)
                nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        return err || is_writing(l.tid) ? -err : -ETIME;
}

/* As do_open(), by a thread that has ended when the file is used. */
struct opener {
        char **a;
        long long rc;
};

static void *thread_open(void *arg)
{
        struct opener *o = arg;
        o->rc = do_open(o->a);
        return NULL;
}

static long long do_threadopen(char **a)
{
        struct opener o = {.a = a};
        pthread_t thread;
        int err = pthread_create(&thread, NULL, thread_open, &o);
        if (!err)
                pthread_join(thread, NULL);
        return err ? -err : o.rc;
}

/* A message that nobody reads keeps a copy of the descriptor, which no process shows. */
static long long do_inmessage(char **a)
{
        int pair[2];
        char byte = 0, space[CMSG_SPACE(sizeof(int))] = {0};
        struct iovec iov = {&byte, 1};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = space,
                             .msg_controllen = sizeof space};
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        (void)a;

        *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS,
                              .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
                return -errno;
        return result(sendmsg(pair[0], &msg, 0));
}

static int run(char **a);

static void *thread_run(void *rest)
{
        char path[64], line[512];
        const char *state = NULL;

        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
        for (int i = 0; i < 30000 && !(state && state[2] == 'Z'); i++) {
                CLEANUP(fclosep) FILE *f = fopen(path, "re");
                state = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
                nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
        exit(run(rest));
}

/* What follows is done by another thread, when the first has ended. */
static long long do_mainends(char **rest)
{
        pthread_t thread;
        int err = pthread_create(&thread, NULL, thread_run, rest);
        if (!err)
                pthread_exit(NULL);
        return -err;
}

static long long do_dupclose(char **a)
{
        (void)a;
        return result(close(dup(fd)));
}

static long long do_kill(char **a)
{
        signal(SIGSEGV, SIG_DFL);
        return result(kill(getpid(), (int)number(a[0])));
}

static long long do_exit(char **a)
{
        _exit((int)number(a[0]));
}

/* Says so by the file "paused" in $FDO_DIR and goes on when "go" appears; then both are gone. */
static long long do_pause(char **a)
{
        const char *dir = getenv("FDO_DIR");
        char paused[4096], go[4096];
        (void)a;

        snprintf(paused, sizeof paused, "%s/paused", dir ? dir : ".");
        snprintf(go, sizeof go, "%s/go", dir ? dir : ".");
        if (close(open(paused, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)))
                return -errno;
        for (int i = 0; i < 60000 && access(go, F_OK); i++)
                nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        unlink(paused);
        return result(unlink(go));
}

static long long do_mmapw(char **a)
{
        void *p = mmap(NULL, (size_t)number(a[0]), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return p == MAP_FAILED ? -errno : 0;
}

/* Reads a byte of each page of a shared mapping. */
static long long do_mmapr(char **a)
{
        size_t n = (size_t)number(a[0]);
        volatile char *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
                return -errno;
        for (size_t at = 0; at < n; at += 4096)
                (void)p[at];
        return result(munmap((void *)p, n));
}

/* Locks that are not waited for: e(xclusive), s(hared), u(nlock). */
static long long do_flock(char **a)
{
        int how = a[0][0] == 'e' ? LOCK_EX : a[0][0] == 's' ? LOCK_SH : LOCK_UN;
        return result(flock(fd, how | LOCK_NB));
}

static long long do_lock(char **a)
{
        struct flock l = {.l_whence = SEEK_SET, .l_start = number(a[1]), .l_len = number(a[2])};
        l.l_type = a[0][0] == 'e' ? F_WRLCK : a[0][0] == 's' ? F_RDLCK : F_UNLCK;
        return result(fcntl(fd, F_SETLK, &l));
}

static long long seek_to(long long off, int whence)
{
        off_t at = lseek(fd, off, whence);
        return at < 0 ? -errno : FDO_NUMBER + (long long)at;
}

static long long do_seekdata(char **a)
{
        return seek_to(number(a[0]), SEEK_DATA);
}

static long long do_seekhole(char **a)
{
        return seek_to(number(a[0]), SEEK_HOLE);
}

/* From slot a[0], bytes from a[1] on, to a[2], so many: a[3]. */
static long long do_copyrange(char **a)
{
        loff_t from = number(a[1]), to = number(a[2]);
        ssize_t n =
                copy_file_range(fds[number(a[0]) % SLOTS], &from, fd, &to, (size_t)number(a[3]), 0);
        return n < 0 ? -errno : FDO_NUMBER + (long long)n;
}

/* The same bytes as put() would write, by a shared mapping: n of them at `off`; synced, or after
 * the descriptor was closed. */
static long long map(size_t n, size_t off, bool closes)
{
        char *p = mmap(NULL, off + n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED || (closes && close(fd)))
                return -errno;
        memset(p + off, 'x', n);
        if (source >= 0 && pread(source, p + off, n, (off_t)off) != (ssize_t)n)
                return -ENODATA;
        long long rc = closes ? 0 : result(msync(p, off + n, MS_SYNC));
        munmap(p, off + n);
        return rc;
}

static long long do_mapwrite(char **a)
{
        return map((size_t)number(a[0]), (size_t)number(a[1]), false);
}

static long long do_mapclosed(char **a)
{
        return map((size_t)number(a[0]), (size_t)number(a[1]), true);
}

/* The same, and the mapping stays. */
static long long do_mapkept(char **a)
{
        size_t n = (size_t)number(a[0]);
        char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED || close(fd))
                return -errno;
        memset(p, 'x', n);
        return 0;
}

static sigjmp_buf beyond;

static void on_bus(int sig)
{
        (void)sig;
        siglongjmp(beyond, 1);
}

/* So many pieces of 4 MB through a mapping that stays, none of which fills 5 MiB; until the file,
 * which fails, is shorter than that. */
static long long do_mapholes(char **a)
{
        enum { STEP = 5 << 20, FIRST = 1 << 20, PIECE = 4000000 };
        size_t n = (size_t)number(a[0]);
        char *p = mmap(NULL, n * STEP, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        signal(SIGBUS, on_bus);
        for (volatile size_t i = 0; i < n && p != MAP_FAILED && !sigsetjmp(beyond, 1); i++)
                memset(p + i * STEP + FIRST, 'x', PIECE);
        signal(SIGBUS, SIG_DFL);
        return p == MAP_FAILED ? -errno : 0;
}

static const struct fdo_verb verbs[] = {
        {"open", 2, do_open},
        {"reopen", 1, do_reopen},
        {"rechmod", 1, do_rechmod},
        {"write", 1, do_write},
        {"pwrite", 2, do_pwrite},
        {"pread", 2, do_pread},
        {"src", 1, do_src},
        {"slot", 1, do_slot},
        {"close", 0, do_close},
        {"fsync", 0, do_fsync},
        {"fsize", 0, do_fsize},
        {"size", 1, do_size},
        {"ftruncate", 1, do_ftruncate},
        {"truncate", 2, do_truncate},
        {"fallocate", 2, do_fallocate},
        {"punch", 2, do_punch},
        {"keepsize", 2, do_keepsize},
        {"forkclose", 0, do_forkclose},
        {"forkorphan", 0, do_forkorphan},
        {"forkhold", 0, do_forkhold},
        {"forkend", 0, do_forkend},
        {"latewrite", 1, do_latewrite},
        {"threads", 1, do_threads},
        {"eat", 1, do_eat},
        {"threadopen", 2, do_threadopen},
        {"inmessage", 0, do_inmessage},
        {"mainends", 0, do_mainends},
        {"dupclose", 0, do_dupclose},
        {"kill", 1, do_kill},
        {"exit", 1, do_exit},
        {"pause", 0, do_pause},
        {"mmapw", 1, do_mmapw},
        {"mmapr", 1, do_mmapr},
        {"mapwrite", 2, do_mapwrite},
        {"mapholes", 1, do_mapholes},
        {"mapclosed", 2, do_mapclosed},
        {"mapkept", 1, do_mapkept},
        {"flock", 1, do_flock},
        {"lock", 3, do_lock},
        {"seekdata", 1, do_seekdata},
        {"seekhole", 1, do_seekhole},
        {"copyrange", 4, do_copyrange},
        {NULL, 0, NULL},
};

static void say(long long rc)
{
        static bool more;
        if (more)
                putchar(' ');
        more = true;
        if (rc >= FDO_NUMBER)
                printf("%lld", rc - FDO_NUMBER);
        else
                fputs(rc ? strerrorname_np((int)-rc) : "ok", stdout);
        fflush(stdout);
}

static const struct fdo_verb *find(const struct fdo_verb *v, const char *name)
{
        while (v->name && strcmp(v->name, name))
                v++;
        return v->name ? v : NULL;
}

static int run(char **a)
{
        while (*a) {
                const struct fdo_verb *v = find(verbs, *a);
                int n = 0;
                v = v ? v : find(fdo_names, *a);
                while (v && n < v->nargs && a[1 + n])
                        n++;
                if (!v || n < v->nargs) {
                        fprintf(stderr, "fdo: %s is no verb, or lacks arguments\n", *a);
                        return 2;
                }
                say(v->run(a + 1));
                a += 1 + n;
        }
        putchar('\n');
        return 0;
}

int main(int argc, char **argv)
{
        return argc ? run(argv + 1) : 2;
}
