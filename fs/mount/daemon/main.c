/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the command `ckptfs`: options, checks, the background, the end. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/text/conf.h"
#include "base/log.h"
#include "base/params.h"
#include "mount/control/control.h"
#include "mount/control/control_reply.h"
#include "mount/core/stats_log.h"
#include "mount/core/mount.h"
#include "mount/daemon/advice.h"
#include "mount/daemon/mount_life.h"
#include "mount/daemon/mountpoint.h"
#include "mount/daemon/notify.h"
#include "mount/daemon/privileges.h"
#include "mount/daemon/reload.h"
#include "mount/rename/rename.h"
#include "mount/daemon/session.h"
#include "mount/tree/content_type.h"
#include "mount/write/spill.h"
#include "store.h"
#include "store/core/open_params.h"

#include "base/banned.h"

enum { WHY_MAX = 1536 };

static const char usage[] =
        "usage: ckptfs s3|gs://BUCKET[/PREFIX] MOUNTPOINT [-f] [-o OPTION[=VALUE],...] [-c FILE]\n"
        "  -f             stay in the foreground and log to standard error\n"
        "  -o LIST        options, separated by commas\n"
        "  -c FILE        read options from a YAML file; -o takes precedence\n"
        "  --mount-only   mount, and hand the descriptor to the service manager\n"
        "  -V, --version  print the version\n"
        "  -h, --help     print this help\n"
        "options:\n";

enum { MOUNT_ONLY = 256 }; /* no letter */

static const struct option long_options[] = {
        {"mount-only", no_argument, NULL, MOUNT_ONLY},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
};

struct command {
        struct mount mount;
        int argc;
        char **argv;
        char *cwd; /* where it was started: paths are relative to it */
        bool foreground, mount_only;
        struct served served;
        unsigned set; /* options that a remount has changed, which a reload leaves (reload.h) */
        int report;   /* where the background process tells how it went, or -1 */
};

static int complain(const char *why)
{
        fprintf(stderr, "ckptfs: %s\n", why);
        return EXIT_FAILURE;
}

/* The process in the background leaves the directory it was started in: what is relative to that is
 * made absolute, behind the first `skip` bytes. 0 or -ENOMEM. */
static int anchor(char **path, size_t skip, const char *cwd)
{
        const char *rest = *path + skip;
        char *whole;

        if (!*rest || *rest == '/')
                return 0;
        if (asprintf(&whole, "%.*s%s/%s", (int)skip, *path, cwd, rest) < 0)
                return -ENOMEM;
        free(*path);
        *path = whole;
        return 0;
}

static int anchor_paths(struct params *p, const char *cwd)
{
        const char *log = log_path(p->log);
        char **paths[] = {&p->ca_bundle, &p->credentials, &p->csek_file, &p->sse_c_key_file,
                          &p->spill_dir};
        int err = log ? anchor(&p->log, (size_t)(log - p->log), cwd) : 0;

        if (!err && strcmp(p->control_dir, "none") != 0)
                err = anchor(&p->control_dir, 0, cwd);
        if (!err && !strncmp(p->metrics, "unix:", 5))
                err = anchor(&p->metrics, 5, cwd);
        for (size_t i = 0; !err && i < sizeof paths / sizeof *paths; i++)
                err = anchor(paths[i], 0, cwd);
        return err;
}

static int check_paths(const struct command *c, const struct params *p, char *why)
{
        const struct mount *m = &c->mount;
        bool mounted = m->handed >= 0 || m->mounted_ns;
        dev_t dev = mounted ? mountpoint_device(m->mountpoint, m->handed) : 0;

        return mountpoint_check_options(m->mountpoint, mounted ? &dev : NULL, p, why, WHY_MAX);
}

/* getopt() is still at a word whose letter it does not know when more follow. */
static void bad_flag(int opt, char **argv, char *why)
{
        const char letter[] = {'-', (char)optopt, 0};
        snprintf(why, WHY_MAX, "%s %s: see ckptfs -h", optopt ? letter : argv[optind - 1],
                 opt == ':' ? "lacks its value" : "is not a flag");
}

/* With the libraries that run, which a report of a defect needs. */
static void print_version(void)
{
        char http[128];

        store_http_library(http, sizeof http);
        printf("ckptfs " PACKAGE_VERSION "\nlibcurl %s, libfuse %s\n", http, session_library());
}

static const char letters[] = ":fo:c:Vh";

/* Options of the file first, then those of the command line. 0, or -1 with `why`. */
static int load_params(const struct command *c, struct params *p, char *why)
{
        CLEANUP(freep) char *file = NULL;
        int opt;

        optind = 0; /* from the beginning */
        while ((opt = getopt_long(c->argc, c->argv, letters, long_options, NULL)) != -1) {
                if (opt != 'c')
                        continue;
                free(file);
                if (!(file = strdup(optarg)) || anchor(&file, 0, c->cwd))
                        return -1;
        }
        if (file && conf_read_params(file, p, why, WHY_MAX))
                return -1;
        optind = 0;
        while ((opt = getopt_long(c->argc, c->argv, letters, long_options, NULL)) != -1)
                if (opt == 'o' && params_set_list(p, optarg, why, WHY_MAX))
                        return -1;
        return anchor_paths(p, c->cwd) ? -1 : 0;
}

/* 0 or -1 with `why`; exits for -h, -V and -o help. */
static int parse(struct command *c, char *why)
{
        int opt;

        opterr = 0;
        while ((opt = getopt_long(c->argc, c->argv, letters, long_options, NULL)) != -1) {
                switch (opt) {
                case 'f':
                        c->foreground = true;
                        break;
                case 'c':
                        break;
                case MOUNT_ONLY:
                        c->mount_only = true;
                        break;
                case 'o':
                        if (strcmp(optarg, "help"))
                                break; /* after the file */
                        params_help(stdout);
                        exit(fd_flush_output("ckptfs") ? EXIT_FAILURE : EXIT_SUCCESS);
                case 'V':
                        print_version();
                        exit(fd_flush_output("ckptfs") ? EXIT_FAILURE : EXIT_SUCCESS);
                case 'h':
                        fputs(usage, stdout);
                        params_help(stdout);
                        exit(fd_flush_output("ckptfs") ? EXIT_FAILURE : EXIT_SUCCESS);
                default:
                        bad_flag(opt, c->argv, why);
                        return -1;
                }
        }
        if (load_params(c, &c->mount.params, why))
                return -1;
        int left = c->argc - optind;
        const char *url = c->argv[optind], *at = left == 2 ? c->argv[optind + 1] : NULL;
        if (left != 2) {
                snprintf(why, WHY_MAX,
                         "%s: give s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX] and MOUNTPOINT; "
                         "see ckptfs -h",
                         left < 2 ? "an argument is missing" : "there are too many arguments");
                return -1;
        }
        if (strstr(at, "://")) {
                snprintf(why, WHY_MAX,
                         "'%s' is no mountpoint: give the URL first, then the directory", at);
                return -1;
        }
        if (!(c->mount.url = strdup(url)))
                return -1;
        struct mount *m = &c->mount;
        int err = mountpoint_handed(at, &m->mountpoint, &m->handed, why, WHY_MAX);
        if (!err && m->handed < 0)
                err = mountpoint_check(at, &m->mountpoint, why, WHY_MAX);
        return err ? err : check_paths(c, &m->params, why);
}

/* The options as they are to be. Without a list: those of the command line and its file, and what
 * lists have changed since. With one: those that hold now, but for the list. 0, or -1 with `why`.
 */
static int load_again(const struct command *c, const char *list, struct params *p, char *why)
{
        const struct params *now = &c->mount.params;

        if (params_init(p))
                return -1;
        int err = list ? reload_copy(now, p, why, WHY_MAX) : load_params(c, p, why);
        if (!err)
                err = list ? params_set_list(p, list, why, WHY_MAX)
                           : reload_carry_over(now, c->set, p, why, WHY_MAX);
        return err || anchor_paths(p, c->cwd) || check_paths(c, p, why) ? -1 : 0;
}

/* On the main thread, or that of ckptctl's socket; `list`: options that are to change, or NULL. */
static int reload(struct command *c, const char *who, const char *list, char *text, size_t n)
{
        struct mount *m = &c->mount;
        struct params fresh = {.log = NULL};
        char why[WHY_MAX] = "no memory: end another program";
        int err = -EINVAL;

        mutex_lock(&m->options);
        notify_reloading();
        if (load_again(c, list, &fresh, why)) {
                snprintf(text, n, "nothing is changed: %s", why);
        } else {
                err = reload_params(m, &c->served, &fresh, c->foreground, text, n);
                c->set |= err || !list ? 0 : reload_named(list);
        }
        params_release(&fresh);
        notify_ready(m->url, m->mountpoint);
        mutex_unlock(&m->options);
        if (err)
                log_warn_of(LOG_ABOUT(.operation = "reload",
                                      .remedy = list ? "correct it, and set it again"
                                                     : "correct it, and reload again"),
                            "%s: %s", who, text);
        else
                log_info("%s: %s", who, text);
        return err;
}

static void reload_by_signal(void *arg)
{
        char text[WHY_MAX];
        (void)reload(arg, "SIGHUP", NULL, text, sizeof text);
}

static int reload_by_client(void *arg, const char *options, char *text, size_t n)
{
        return reload(arg, options ? "ckptctl set" : "ckptctl reload", options, text, n);
}

/* In the background: tells the waiting command that the mount answers, and lets go of its terminal,
 * not sooner: an automount knows who mounts for it by the process group, which is the manager's. */
static void detach(struct command *c)
{
        if (c->report < 0)
                return;
        setsid();
        CLEANUP(closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; null >= 0 && fd < 3; fd++)
                dup2(null, fd);
        if (!strcmp(c->mount.params.log, "stderr"))
                (void)log_open("ckptfs", "stderr", log_level()); /* which is another now */
        ssize_t put = write(c->report, "", 1);
        (void)put;
        close(TAKE_FD(c->report));
}

/* By default a mount does without a socket that cannot be made; one that was asked for is needed.
 */
static int open_control(struct command *c, struct control **control, char *why)
{
        const struct control_hooks hooks = {.arg = c, .reload = reload_by_client};
        const struct mount *m = &c->mount;
        int err = control_start(&c->mount, &hooks, control, why, WHY_MAX);
        if (!err || *m->params.control_dir)
                return err;
        log_info("%s", why);
        return 0;
}

/* Once the mount stands, and all threads are there. */
static void filter_calls(const struct mount *m)
{
        int err = privileges_filter(m->rings);
        if (err)
                log_info("this kernel takes no filter of system calls (%s): the mount does without",
                         strerror(-err));
}

/* --- until the mount stands --- */

/* A thread that takes the signals which else end the mount. */
struct early_end {
        pthread_t thread;
        bool runs;
        atomic_bool over;
};

static sigset_t ending_signals(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        return set;
}

static void *end_early(void *arg)
{
        const struct early_end *e = arg;
        const sigset_t set = ending_signals();
        siginfo_t info;

        while (sigwaitinfo(&set, &info) < 0)
                ;
        if (info.si_pid == getpid() && atomic_load(&e->over))
                return NULL;
        _exit(complain("a signal came before the mount stood: nothing is mounted"));
}

/* The store may take long to answer, and nothing is lost yet: a signal ends the process at once.
 * Without a thread it waits until the mount stands. */
static void early_end_start(struct early_end *e)
{
        atomic_init(&e->over, false);
        e->runs = !pthread_create(&e->thread, NULL, end_early, e);
}

/* From here on signals wait for session_wait(). */
static void early_end_stop(struct early_end *e)
{
        if (!e->runs)
                return;
        atomic_store(&e->over, true);
        pthread_kill(e->thread, SIGINT);
        pthread_join(e->thread, NULL);
}

/* --- the mount --- */

static int serve(struct command *c)
{
        char why[WHY_MAX] = "";
        struct store *store = NULL;
        struct session *session = NULL;
        struct control *control = NULL;
        struct mount *m = &c->mount;
        const char *lacks = NULL;
        struct early_end early;
        /* Until the mount stands, `why` says what failed, and the log nothing less than an error.
         */
        log_open("ckptfs", "stderr", LOG_LEVEL_ERROR);
        if (m->params.privileges == PRIVILEGES_DROP)
                privileges_drop(m->handed < 0);
        early_end_start(&early);
        int err = content_type_check(m->params.content_type, why, sizeof why);

        if (!err && !m->params.ro)
                err = spill_check(m->params.spill_dir, why, sizeof why);
        if (!err)
                err = store_open_params(&m->params, m->url, &store, why, sizeof why);
        if (!err && !m->params.ro)
                lacks = store_check_write(store);
        if (!err && (err = reload_log(&m->params, c->foreground, why, sizeof why)))
                store_close(store);
        if (!err && (err = mount_init(m, store)))
                snprintf(why, sizeof why, "no memory: give a smaller memory=");
        if (!err && m->handed < 0) /* another may have been quicker while the store was asked */
                err = mountpoint_is_taken(m->mountpoint, why, sizeof why);
        early_end_stop(&early);
        if (!err)
                err = session_new(m, &session, why, sizeof why);
        if (!err)
                err = session_start(session, why, sizeof why);
        if (!err)
                err = served_start(m, &c->served, why, sizeof why);
        if (!err)
                err = open_control(c, &control, why);
        if (!err) {
                filter_calls(m);
                detach(c);
                log_info("%s is mounted on %s (ckptfs " PACKAGE_VERSION ")", m->url, m->mountpoint);
                if (m->params.stall_timeout > m->params.deadline)
                        log_info("stall_timeout= is longer than deadline=, which ends a request "
                                 "that stands still");
                advise(&m->params, m->store, m->url, lacks);
                rename_find_left(m);
                notify_ready(m->url, m->mountpoint);
                session_wait(session, reload_by_signal, c);
                notify_stopping();
                control_note_end(control);
                mount_finish(m);
                stats_log(m);
        }
        session_stop(session);
        control_stop(control);
        served_stop(&c->served);
        mount_release(m);
        session_free(session);
        return err ? complain(why) : EXIT_SUCCESS;
}

/* What the process that does not serve was given. */
static void command_release(struct command *c)
{
        params_release(&c->mount.params);
        free(c->mount.url);
        free(c->mount.mountpoint);
}

/* For a process that may not mount, which the manager starts next. */
static int hand_over(struct command *c)
{
        char why[WHY_MAX] = "";

        log_open("ckptfs", "stderr", LOG_LEVEL_ERROR);
        if (!session_hand_over(&c->mount, why, sizeof why))
                exit(EXIT_SUCCESS); /* from here, where `c` is there */
        command_release(c);
        return complain(why);
}

static volatile sig_atomic_t child;

static void tell_child(int sig)
{
        kill(child, sig);
}

/* The parent has nothing to end but the child. */
static void pass_signals(pid_t pid)
{
        const struct sigaction pass = {.sa_handler = tell_child};
        const sigset_t set = ending_signals();

        child = pid;
        sigaction(SIGINT, &pass, NULL);
        sigaction(SIGTERM, &pass, NULL);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Goes on as a child; the parent returns its exit status once the mount answers or has failed. */
static int serve_in_background(struct command *c)
{
        CLEANUP(closep) int from = -1;
        int fds[2];
        char ok;

        if (pipe2(fds, O_CLOEXEC))
                return complain(strerror(errno));
        pid_t pid = fork();
        if (pid < 0)
                return complain(strerror(errno));
        if (!pid) {
                close(fds[0]);
                c->report = fds[1];
                if (chdir("/"))
                        return complain(strerror(errno));
                return serve(c);
        }
        pass_signals(pid);
        close(fds[1]);
        from = fds[0];
        ssize_t n;
        while ((n = read(from, &ok, 1)) < 0 && errno == EINTR)
                ;
        command_release(c);
        return n == 1 ? EXIT_SUCCESS : EXIT_FAILURE; /* the child has said why */
}

/* The session waits for them by signalfd, in whatever thread they would have arrived. */
static void block_signals(void)
{
        sigset_t set;
        session_signals(&set);
        sigprocmask(SIG_BLOCK, &set, NULL);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN); /* a limit of the size of files is an error of the spill file */
}

int main(int argc, char **argv)
{
        struct command c = {.mount.handed = -1, .report = -1, .argc = argc, .argv = argv};
        char why[WHY_MAX] = "no memory: end another program";

        fd_take_standard();
        c.cwd = getcwd(NULL, 0);
        if (params_init(&c.mount.params) || (!c.cwd && !(c.cwd = strdup(""))) || parse(&c, why)) {
                command_release(&c);
                free(c.cwd);
                return complain(why);
        }
        if (!c.mount.params.core_dumps)
                privileges_hide();
        if (!c.mount_only)
                block_signals();
        int rc = c.mount_only ? hand_over(&c) : c.foreground ? serve(&c) : serve_in_background(&c);
        free(c.cwd);
        return rc;
}
