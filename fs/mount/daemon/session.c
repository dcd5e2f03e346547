/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: see session.h.
 *
 * A thread reads each request into a buffer of the pool, placed so that the payload of a write
 * begins on a page. If somebody kept the buffer, the thread takes a fresh one: the bytes of a large
 * write are never copied here. */
#include "mount/daemon/session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "mount/core/stats_log.h"
#include "mount/caller/open_intent.h"
#include "mount/caller/proc_query.h"
#include "mount/daemon/fuse_init_ext.h"
#include "mount/daemon/mountpoint.h"
#include "mount/daemon/notify.h"
#include "mount/daemon/uring.h"
#include "mount/ops/op.h"
#include "mount/ops/op_interrupt.h"

#include "base/banned.h"

enum {
        PAGE = 4096,
        WRITE_HEADER = 80, /* struct fuse_in_header and fuse_write_in, linux/fuse.h */
        MAX_BACKGROUND = 64,
        READ_AHEAD_KB = 4096,
        QUEUE_EMPTY = 3,  /* looks in a row at what the kernel has queued, */
        QUEUE_LOOKS = 200 /* and of all, since programs may go on */
};

struct session {
        struct mount *m;
        struct fuse_session *fuse;
        bool mounted;
        char *at; /* where; NULL: by somebody else, or no memory */
        unsigned nthreads;
        pthread_t *threads;
        struct uring *uring;
        int wake[2]; /* a byte here ends session_wait() */
};

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
        struct mount *m = userdata;
        /* The first is one that libfuse knows and does not pass on (before 3.16.2). */
        uint64_t more = init_ext_want(FUSE_PARALLEL_DIROPS | INIT_EXT_DIRECT_IO_MMAP);
        m->rings = m->rings && init_ext_want(INIT_EXT_IO_URING);
        m->maps_direct = more & INIT_EXT_DIRECT_IO_MMAP;
        if (!m->maps_direct && m->params.read_cache != READ_CACHE_ALWAYS)
                log_info("read_cache=always: reads go through the page cache, since this kernel "
                         "has no "
                         "shared mappings of files that bypass it: Linux 6.6 has");
        /* Splice is slower than copies here; direct writes must come in order. */
        conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
                                  FUSE_CAP_SPLICE_MOVE | FUSE_CAP_ASYNC_DIO |
                                  FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_AUTO_INVAL_DATA |
                                  FUSE_CAP_HANDLE_KILLPRIV /* chown, truncate: the kernel does */);
        conn->want |= conn->capable &
                      (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                       FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS);
        if (m->params.listed_attrs == LISTED_ASSUME ||
            store_caps(m->store) & STORE_CAP_LIST_META) /* they cost nothing */
                conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
        conn->max_write = POOL_BUF_SIZE;
        conn->max_readahead = READ_AHEAD_KB << 10;
        conn->max_background = MAX_BACKGROUND;
        conn->congestion_threshold = MAX_BACKGROUND * 3 / 4;
}

static const struct fuse_lowlevel_ops ops = {
        .init = op_init,
        .lookup = op_lookup,
        .forget = op_forget,
        .forget_multi = op_forget_multi,
        .getattr = op_getattr,
        .setattr = op_setattr,
        .statfs = op_statfs,
        .mkdir = op_mkdir,
        .rmdir = op_rmdir,
        .unlink = op_unlink,
        .rename = op_rename,
        .link = op_link,
        .symlink = op_symlink,
        .readlink = op_readlink,
        .setxattr = op_setxattr,
        .getxattr = op_getxattr,
        .listxattr = op_listxattr,
        .removexattr = op_removexattr,
        .mknod = op_mknod,
        .opendir = op_opendir,
        .readdir = op_readdir,
        .readdirplus = op_readdirplus,
        .releasedir = op_releasedir,
        .fsyncdir = op_fsyncdir,
        .create = op_create,
        .open = op_open,
        .release = op_release,
        .read = op_read,
        .write_buf = op_write_buf,
        .flush = op_flush,
        .fsync = op_fsync,
        .copy_file_range = op_copy_file_range,
        .fallocate = op_fallocate,
};

/* --- mounting --- */

static int add_options(const struct mount *m, struct fuse_args *args)
{
        CLEANUP(buf_release) struct buf o = BUF_INIT;

        buf_adds(&o, "-osubtype=ckptfs,fsname=");
        for (const char *p = m->url; *p; p++) {
                if (*p == ',' || *p == '\\')
                        buf_addc(&o, '\\');
                buf_addc(&o, *p);
        }
        buf_adds(&o, ",default_permissions");
        if (m->params.allow_other)
                buf_adds(&o, ",allow_other");
        if (m->params.ro)
                buf_adds(&o, ",ro");
        if (m->params.noexec)
                buf_adds(&o, ",noexec");
        if (o.failed || fuse_opt_add_arg(args, "ckptfs") || fuse_opt_add_arg(args, o.p))
                return -ENOMEM;
        return 0;
}

/* What libfuse says goes to the log; while mounting it explains a failure. */
static char last_words[200] = "no reason given";

static void save_message(enum fuse_log_level level, const char *fmt, va_list ap)
{
        char text[sizeof last_words];
        vsnprintf(text, sizeof text, fmt, ap);
        text[strcspn(text, "\n")] = 0;
        memcpy(last_words, text, sizeof text);
        if (level <= FUSE_LOG_ERR)
                log_info("libfuse: %s", text);
}

/* The last line of what was written to the file, without the name of who wrote it. */
static void read_last_words(int fd)
{
        char text[sizeof last_words] = "";
        off_t size = lseek(fd, 0, SEEK_END), room = (off_t)sizeof text - 1;
        ssize_t n = pread(fd, text, (size_t)room, size > room ? size - room : 0);

        while (n > 0 && text[n - 1] == '\n')
                text[--n] = 0;
        const char *line = strrchr(text, '\n');
        line = line ? line + 1 : text;
        if (!strncmp(line, "fusermount3: ", 13))
                line += 13;
        if (*line)
                snprintf(last_words, sizeof last_words, "%s", line);
}

/* fusermount3, which mounts for who is not root, tells standard error what is wrong: that is kept
 * for our own line. 0 or -1. */
static int mount_listening(struct session *s)
{
        char handed[32];
        snprintf(handed, sizeof handed, "/dev/fd/%d", s->m->handed);
        const char *mountpoint = s->m->handed < 0 ? s->m->mountpoint : handed;
        CLEANUP(closep) int heard = memfd_create("fusermount3", MFD_CLOEXEC);
        CLEANUP(closep) int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        bool listens = heard >= 0 && before >= 0 && dup2(heard, STDERR_FILENO) >= 0;

        int err = fuse_session_mount(s->fuse, mountpoint);
        if (listens) {
                dup2(before, STDERR_FILENO);
                if (err)
                        read_last_words(heard);
        }
        return err;
}

static const char *mount_remedy(void)
{
        if (strstr(last_words, "exec fusermount3"))
                return "install fuse3, or mount as root";
        return geteuid() ? "mend that, or mount as root"
                         : "a container needs the capability SYS_ADMIN for it";
}

static void args_release(struct fuse_args *args)
{
        fuse_opt_free_args(args);
}

static ssize_t read_request(int fd, void *buf, size_t n, void *userdata)
{
        (void)userdata;
        return read(fd, buf, n);
}

static ssize_t write_reply(int fd, struct iovec *iov, int n, void *userdata)
{
        const struct mount *m = userdata;
        init_ext_answer(iov, n);
        return requests_reply(m->requests, fd, iov, n);
}

/* Each reply comes by here, to see whether it is wanted still. */
static int watch_replies(struct session *s)
{
        const struct fuse_custom_io io = {.read = read_request, .writev = write_reply};
        int fd = fuse_session_fd(s->fuse);

        s->m->requests = requests_new(s->m, fd, op_node);
        return s->m->requests ? fuse_session_custom_io(s->fuse, &io, fd) : -ENOMEM;
}

const char *session_library(void)
{
        return fuse_pkgversion();
}

int session_new(struct mount *m, struct session **out, char *why, size_t nwhy)
{
        CLEANUP(args_release) struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
        struct session *s = calloc(1, sizeof *s);

        if (!s || add_options(m, &args)) {
                free(s);
                snprintf(why, nwhy, "no memory: end another program");
                return -ENOMEM;
        }
        s->m = m;
        s->wake[0] = s->wake[1] = -1;
        s->fuse = fuse_session_new(&args, &ops, sizeof ops, m);
        fuse_set_log_func(save_message);
        if (!s->fuse || mount_listening(s)) {
                snprintf(why, nwhy, "%s cannot be mounted: %s: %s", m->mountpoint, last_words,
                         mount_remedy());
                session_free(s);
                return -EIO;
        }
        s->mounted = true;
        s->at = m->handed < 0 ? strdup(m->mountpoint) : NULL;
        if (watch_replies(s)) {
                session_free(s);
                snprintf(why, nwhy, "no memory: end another program");
                return -ENOMEM;
        }
        m->session = s->fuse;
        *out = s;
        return 0;
}

/* libfuse keeps the path of a mount until it unmounts: m->session has both while `m` is there. */
int session_hand_over(struct mount *m, char *why, size_t nwhy)
{
        struct session *s;
        int err = session_new(m, &s, why, nwhy);

        if (err)
                return err;
        err = notify_hand_over(fuse_session_fd(s->fuse));
        if (!err) {
                s->mounted = false;
                s->fuse = NULL;
        } else {
                snprintf(why, nwhy,
                         "no service manager takes the descriptor of %s: %s: this is for a unit of "
                         "systemd with FileDescriptorStoreMax=1 and NotifyAccess=exec",
                         m->mountpoint, strerror(-err));
        }
        session_free(s);
        return err;
}

/* More read-ahead in the kernel than its 128 KiB, so that a reader asks for whole requests. */
static void raise_read_ahead(const struct mount *m)
{
        char path[96], text[16];

        snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(m->dev),
                 minor(m->dev));
        int n = snprintf(text, sizeof text, "%d\n", READ_AHEAD_KB);
        CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, text, (size_t)n) != n)
                log_info("%s could not be raised to %d (%s): reading may be slower", path,
                         READ_AHEAD_KB, strerror(errno));
}

/* --- threads --- */

static struct pool_buf *get_buffer(struct pool *pool)
{
        struct pool_buf *b;
        while (!(b = pool_get(pool, POOL_OVER))) {
                log_error_of(LOG_ABOUT(.remedy = "end another program"),
                             "no memory for a request: trying again");
                nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        }
        return b;
}

/* Handles the request of n bytes that lies in *buf. */
static void handle(struct session *s, struct pool_buf **buf, size_t n, struct reply_way *way)
{
        struct fuse_buf fb = {.mem = (*buf)->data + PAGE - WRITE_HEADER, .size = n};

        op_received_in(*buf);
        if (requests_begin(s->m->requests, fb.mem, n, way)) {
                fuse_session_process_buf(s->fuse, &fb);
                requests_handled(s->m->requests);
        }
        if (atomic_load_explicit(&(*buf)->refs, memory_order_acquire) > 1) {
                pool_unref(*buf);
                *buf = get_buffer(s->m->pool);
        }
}

/* Receives a request into *buf and handles it: false at the end of the session. */
static bool take_request(struct session *s, struct pool_buf **buf)
{
        struct fuse_buf fb = {.mem = (*buf)->data + PAGE - WRITE_HEADER};
        int n;

        do
                n = fuse_session_receive_buf(s->fuse, &fb);
        while (n == -EINTR && !fuse_session_exited(s->fuse));
        if (n <= 0)
                return false;
        init_ext_hear(fb.mem, (size_t)n);
        handle(s, buf, (size_t)n, NULL);
        return true;
}

static void *take_requests(void *arg)
{
        struct session *s = arg;
        struct pool_buf *buf = get_buffer(s->m->pool);

        while (!fuse_session_exited(s->fuse) && take_request(s, &buf))
                ;
        pool_unref(buf);
        fuse_session_exit(s->fuse);
        ssize_t put = write(s->wake[1], "", 1);
        (void)put; /* a full pipe has woken the waiter already */
        return NULL;
}

/* --- by io_uring --- */

static struct pool_buf *ring_buffer(void *arg)
{
        return get_buffer(((struct session *)arg)->m->pool);
}

static void ring_handle(void *arg, const struct iovec *parts, struct reply_way *way,
                        struct pool_buf **buf)
{
        unsigned char *at = (*buf)->data + PAGE - WRITE_HEADER;
        size_t n = 0;

        for (int i = 0; i < URING_PARTS; i++) {
                memcpy(at + n, parts[i].iov_base, parts[i].iov_len);
                n += parts[i].iov_len;
        }
        handle(arg, buf, n, way);
}

static void say_without_rings(const char *why)
{
        log_info("io_uring=on: requests come by /dev/fuse: %s", why);
}

static void make_rings(struct session *s)
{
        const struct uring_hooks hooks = {.arg = s, .buffer = ring_buffer, .handle = ring_handle};
        char why[200];

        if (!s->m->params.io_uring)
                return;
        s->uring =
                uring_new(fuse_session_fd(s->fuse), s->m->params.memory, &hooks, why, sizeof why);
        s->m->rings = s->uring;
        if (!s->uring)
                say_without_rings(why);
}

/* The kernel's greeting told whether it has them. */
static void start_rings(struct session *s)
{
        int err = s->m->rings ? uring_start(s->uring) : 0;

        if (s->uring && !s->m->rings) {
                say_without_rings(uring_not_offered());
                uring_free(TAKE_PTR(s->uring));
        } else if (err) {
                log_info("io_uring=on: the kernel refuses an entry of the rings: %s: requests may "
                         "come by /dev/fuse: end another program, and mount again",
                         strerror(-err));
        }
}

/* The first request is the kernel's greeting. When it is answered the mount stands, and what the
 * kernel has set by the answer may be changed. To ask the mount itself, by stat(), would leave a
 * process behind that nobody can end, were we killed meanwhile. */
static void answer_greeting(struct session *s)
{
        struct pool_buf *buf = get_buffer(s->m->pool);
        take_request(s, &buf);
        pool_unref(buf);
        raise_read_ahead(s->m);
}

int session_start(struct session *s, char *why, size_t nwhy)
{
        unsigned want = (unsigned)s->m->params.threads;
        int err = 0;

        s->m->dev = mountpoint_device(s->m->mountpoint, fuse_session_fd(s->fuse));
        s->m->listed = mount_is_listed(s->m);
        s->m->proc_queries = proc_queries_start(s->m->dev);
        s->threads = calloc(want, sizeof *s->threads);
        if (!s->m->proc_queries || !s->threads || pipe2(s->wake, O_CLOEXEC | O_NONBLOCK)) {
                snprintf(why, nwhy, "no memory, threads or descriptors: end another program");
                return -ENOMEM;
        }
        make_rings(s);
        answer_greeting(s);
        while (!err && s->nthreads < want) {
                err = -pthread_create(&s->threads[s->nthreads], NULL, take_requests, s);
                s->nthreads += !err;
                atomic_store(&s->m->takers, s->nthreads);
        }
        if (!s->nthreads) {
                snprintf(why, nwhy, "no thread could be started: %s: end another program",
                         strerror(-err));
                return err;
        }
        if (err)
                log_warn_of(LOG_ABOUT(.remedy = "end another program, and mount again"),
                            "%u of %u threads that take requests could be started: %s", s->nthreads,
                            want, strerror(-err));
        start_rings(s);
        return 0;
}

void session_signals(sigset_t *set)
{
        sigemptyset(set);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGINT);
        sigaddset(set, SIGHUP);
        sigaddset(set, SIGUSR1);
}

static int signals_fd(void)
{
        sigset_t set;
        session_signals(&set);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Whether the signal that came, if any, asks for the end. */
static bool is_ended_by_signal(struct session *s, int sig, void (*reload)(void *arg), void *arg)
{
        struct signalfd_siginfo info;
        if (sig < 0 || read(sig, &info, sizeof info) != sizeof info)
                return false;
        if (info.ssi_signo == SIGUSR1) {
                stats_log(s->m);
                return false;
        }
        if (info.ssi_signo == SIGHUP) {
                reload(arg);
                return false;
        }
        log_info("signal %u: unmounting %s", info.ssi_signo, s->m->mountpoint);
        return true;
}

/* To the watchdog: not when a thread keeps the lock that every request takes. */
static void say_alive(struct session *s)
{
        tree_lock(s->m->tree);
        tree_unlock(s->m->tree);
        notify_alive();
}

/* Whether requests wait to be taken, or an open is just ending. */
static bool has_queued(struct session *s)
{
        struct pollfd p = {.fd = fuse_session_fd(s->fuse), .events = POLLIN};
        return (poll(&p, 1, 0) > 0 && p.revents == POLLIN) || requests_have_release(s->m->requests);
}

/* A mapping that ended before the signal came publishes what was written through it, though nobody
 * waits for that request. A thread may have taken one that is not seen yet: looks come in a row. */
static void take_queued(struct session *s)
{
        for (int looks = 0, none = 0; looks < QUEUE_LOOKS && none < QUEUE_EMPTY; looks++) {
                none = has_queued(s) ? 0 : none + 1;
                nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        }
}

void session_wait(struct session *s, void (*reload)(void *arg), void *arg)
{
        CLEANUP(closep) int sig = signals_fd();
        struct pollfd fds[] = {{.fd = s->wake[0], .events = POLLIN}, {.fd = sig, .events = POLLIN}};
        int n, interval_ms = notify_interval_ms();
        bool over = false;

        while (!over) {
                if ((n = poll(fds, 2, interval_ms)) < 0)
                        continue;
                bool gone = n && fds[0].revents;
                over = gone || (n && is_ended_by_signal(s, sig, reload, arg));
                if (over && !gone)
                        take_queued(s);
                if (!over) /* signals, too, may come more often than the watchdog waits */
                        say_alive(s);
        }
}

static void interrupted(int signo)
{
        (void)signo; /* only ends the read that waits for a request */
}

/* One that a caller holds up stays behind, and the end of the process ends it. */
static void end_thread(pthread_t thread)
{
        struct timespec until;

        do { /* again, for a signal that came just before the read */
                pthread_kill(thread, SIGUSR2);
                until = mutex_deadline(CLOCK_REALTIME, 20);
        } while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT && !caller_leave(thread));
}

/* The descriptor is closed only when no thread reads it: its number may be another file's soon. */
void session_stop(struct session *s)
{
        const struct sigaction act = {.sa_handler = interrupted};

        if (!s || !s->nthreads)
                return; /* never started, or stopped before: the tree may be gone */
        fuse_session_exit(s->fuse);
        sigaction(SIGUSR2, &act, NULL);
        for (unsigned i = 0; i < s->nthreads; i++)
                end_thread(s->threads[i]);
        s->nthreads = 0;
        uring_drain(s->uring);
        requests_wait(s->m->requests); /* what was begun is done whole, in several steps maybe */
        requests_stop(s->m->requests);
        proc_queries_stop(s->m->proc_queries);
        op_release_all(s->m);
        op_release_dirs(s->m);
}

/* libfuse unmounts what stands at the path, unless its descriptor says that its own mount is gone:
 * as /dev/fuse does then, a pipe that nobody reads has POLLERR. False without descriptors. */
static bool say_that_it_is_gone(struct session *s)
{
        int ends[2];

        if (pipe2(ends, O_CLOEXEC))
                return false;
        bool said = dup3(ends[1], fuse_session_fd(s->fuse), O_CLOEXEC) >= 0;
        closep(&ends[0]);
        closep(&ends[1]);
        return said;
}

/* Whether what stands at the mountpoint is another mount, on top of this one. */
static bool is_covered(const struct session *s)
{
        dev_t its = s->m->dev, there = s->at && its ? mountpoint_device(s->at, -1) : 0;

        if (!there || there == its)
                return false;
        log_warn_of(
                LOG_ABOUT(.operation = "unmount", .remedy = "umount it when that one has ended"),
                "%s: another mount covers this one, which stays there and is not served any "
                "more",
                s->at);
        return true;
}

void session_free(struct session *s)
{
        if (!s)
                return;
        session_stop(s);
        uring_free(TAKE_PTR(s->uring));
        bool away = s->mounted && (mount_is_detached(s->m) || is_covered(s));
        if (s->mounted && (!away || say_that_it_is_gone(s)))
                fuse_session_unmount(s->fuse);
        if (s->fuse)
                fuse_session_destroy(s->fuse);
        requests_free(TAKE_PTR(s->m->requests));
        proc_queries_free(TAKE_PTR(s->m->proc_queries));
        free(s->threads);
        free(s->at);
        closep(&s->wake[0]);
        closep(&s->wake[1]);
        free(s);
}
