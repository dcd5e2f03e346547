/* SPDX-License-Identifier: Apache-2.0 */
/* drive.c: records a history, or judges one.
 *
 *      history drive [option...] FILE DIR COMMAND...   mounts with COMMAND at DIR/0, DIR/1, ...,
 *                                                      works there, and writes FILE
 *              -s SEED   -n CALLS   -r RESTARTS of daemons that are killed
 *              -t ATTR_TTL in ms (0: strict)   -m: the store renames in one step   -f: it has
 * faults history check FILE...                           0 when all keep the promises
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drive.h"
#include "tests/lib/daemon.h"

#include "base/banned.h"

/* The kernel keeps what it was told for a tick or two longer: it counts in ticks, of which there
 * may be 100 a second. */
enum { PROCS = HOSTS * EACH, LOOKS_US = 20000, VAIN_S = 120, TICKS_MS = 20 };

struct world *world;
static struct daemon daemons[HOSTS];

struct job {
        unsigned calls, restarts;
        const char *file;
        char **command;
        pid_t pids[PROCS];
};

int64_t now_ns(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

unsigned chance(struct who *w, unsigned n)
{
        w->state ^= w->state << 13;
        w->state ^= w->state >> 7;
        w->state ^= w->state << 17;
        return (unsigned)(w->state >> 11) % n;
}

static void mount_of(int host, char *path, size_t size)
{
        snprintf(path, size, "%s/%d", world->dir, host);
}

static void world_new(void)
{
        pthread_rwlockattr_t lock;

        world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        if (world == MAP_FAILED) {
                perror("history: mmap");
                exit(2);
        }
        pthread_rwlockattr_init(&lock);
        pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
        pthread_rwlockattr_setkind_np(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        for (int host = 0; host < HOSTS; host++) {
                pthread_rwlock_init(&world->up[host], &lock);
                for (int i = 0; i < LOCKS; i++)
                        pthread_rwlock_init(&world->files[host][i], &lock);
        }
}

static bool host_begins(int host, char **command)
{
        char dir[300];

        mount_of(host, dir, sizeof dir);
        if (mkdir(dir, 0755) && errno != EEXIST) {
                perror(dir);
                return false;
        }
        return daemon_start(&daemons[host], command, dir);
}

/* The directories that stay, and in the first two a file that stays. */
static bool make_dirs(void)
{
        static const char *const dirs[] = {"d0", "d1", "t0x", "t1x", "t2x"};
        char path[330];

        for (unsigned i = 0; i < sizeof dirs / sizeof *dirs; i++) {
                snprintf(path, sizeof path, "%s/0/%s", world->dir, dirs[i]);
                if (mkdir(path, 0755)) {
                        perror(path);
                        return false;
                }
                snprintf(path, sizeof path, "%s/0/%s/keep", world->dir, dirs[i]);
                FILE *keep = dirs[i][0] == 'd' ? fopen(path, "w") : NULL;
                if (dirs[i][0] == 'd' && (!keep || fclose(keep))) {
                        perror(path);
                        return false;
                }
        }
        return true;
}

/* --- processes --- */

static void part_of(const struct job *job, int n, char *path, size_t size)
{
        snprintf(path, size, "%s.%d", job->file, n);
}

static struct who who_new(const struct job *job, int n)
{
        struct who w = {.host = n % HOSTS, .proc = n};
        char path[400];

        w.state = (world->setting.seed * 1000ULL + (unsigned)n + 1) * 0x9e3779b97f4a7c15ULL;
        part_of(job, n, path, sizeof path);
        w.out = fopen(path, "a");
        if (!w.out) {
                perror(path);
                exit(2);
        }
        setvbuf(w.out, NULL, _IOLBF, 1 << 12);
        return w;
}

static bool begin_all(struct job *job)
{
        for (int n = 0; n < PROCS; n++) {
                job->pids[n] = fork();
                if (job->pids[n] < 0)
                        return false;
                if (job->pids[n])
                        continue;
                struct who w = who_new(job, n);
                while (world->made < job->calls)
                        drive_one(&w);
                _exit(fclose(w.out) ? 2 : 0);
        }
        return true;
}

static void restart(struct job *job, int host)
{
        struct call c = {.host = host, .proc = PROCS, .kind = CALL_RESTART};
        char dir[300];

        snprintf(c.name, sizeof c.name, "-");
        snprintf(c.to, sizeof c.to, "-");
        snprintf(c.seen, sizeof c.seen, "-");
        mount_of(host, dir, sizeof dir);
        c.t[0] = c.t[1] = now_ns();
        world->ups[host]++;
        daemon_kill(&daemons[host]);
        pthread_rwlock_wrlock(&world->up[host]);
        umount2(dir, MNT_DETACH);
        bool good = host_begins(host, job->command);
        c.t[2] = c.t[3] = now_ns();
        if (good)
                world->ups[host]++;
        else
                world->made = UINT32_MAX / 2;
        pthread_rwlock_unlock(&world->up[host]);
        struct who w = who_new(job, PROCS);
        history_call_write(w.out, &c);
        fclose(w.out);
}

static void say_what_hangs(void)
{
        for (int n = 0; n < PROCS; n++) {
                fprintf(stderr,
                        "since %lld ms: ", (long long)(now_ns() - world->now[n].t[0]) / 1000000);
                history_call_write(stderr, &world->now[n]);
        }
}

/* Waits for all processes, and kills a daemon now and then. */
static bool wait_for_all(struct job *job)
{
        int left = PROCS, status;
        unsigned seen = 0, restarts = 0;
        int64_t moved = now_ns();
        bool good = true;

        while (left) {
                for (int n = 0; n < PROCS; n++) {
                        if (!job->pids[n] ||
                            waitpid(job->pids[n], &status, WNOHANG) != job->pids[n])
                                continue;
                        good = good && !status;
                        job->pids[n] = 0;
                        left--;
                }
                if (world->made != seen) {
                        seen = world->made;
                        moved = now_ns();
                }
                if (now_ns() - moved > VAIN_S * 1000000000LL) {
                        fprintf(stderr, "no call returns\n");
                        say_what_hangs();
                        for (int n = 0; n < PROCS; n++)
                                if (job->pids[n])
                                        kill(job->pids[n], SIGKILL);
                        return false;
                }
                if (restarts < job->restarts &&
                    seen > (restarts + 1) * (job->calls / (job->restarts + 1)) && seen < job->calls)
                        restart(job, (int)((world->setting.seed + restarts++) % HOSTS));
                usleep(LOOKS_US);
        }
        return good;
}

/* What the processes wrote, in order, in one file. */
static bool merge(const struct job *job)
{
        struct history h = {.setting = world->setting};
        bool good = true;
        unsigned line;
        char path[400];

        for (int n = 0; n <= PROCS && good; n++) {
                part_of(job, n, path, sizeof path);
                FILE *f = fopen(path, "r");
                if (!f)
                        continue;
                if (!history_read(&h, f, &line)) {
                        fprintf(stderr, "%s:%u: no call\n", path, line);
                        good = false;
                }
                fclose(f);
                unlink(path);
        }
        FILE *f = fopen(job->file, "w");
        if (f) {
                history_setting_write(f, &h.setting);
                for (unsigned i = 0; i < h.n; i++)
                        history_call_write(f, &h.calls[i]);
        }
        good = good && f && !fclose(f);
        history_free(&h);
        return good;
}

static int drive(struct job *job)
{
        bool good = host_begins(0, job->command) && make_dirs(), failed = false;

        for (int host = 1; good && host < HOSTS; host++)
                good = host_begins(host, job->command);
        good = good && begin_all(job);
        good = good && wait_for_all(job);
        for (int host = 0; good && host < HOSTS; host++) {
                struct who w = who_new(job, host);
                drive_last(&w);
                good = !fclose(w.out);
        }
        for (int host = 0; host < HOSTS; host++) {
                if (!good)
                        daemon_kill(&daemons[host]);
                else if (!daemon_end(&daemons[host]))
                        failed = true;
        }
        return merge(job) && good && !failed ? 0 : 1;
}

static int check(char **files)
{
        int rc = 0;

        for (; *files; files++) {
                struct history h = {0};
                unsigned line;
                FILE *f = fopen(*files, "r");
                if (!f || !history_read(&h, f, &line)) {
                        fprintf(stderr, "%s:%u: no history\n", *files, f ? line : 0);
                        return 2;
                }
                fclose(f);
                enum verdict v = history_check(&h, stdout);
                printf("%s: %u calls: %s\n", *files, h.n,
                       v == VERDICT_KEPT     ? "kept"
                       : v == VERDICT_BROKEN ? "BROKEN"
                                             : "TOO LARGE");
                rc = v == VERDICT_KEPT ? rc : 1;
                history_free(&h);
        }
        return rc;
}

static bool options(int argc, char **argv, struct job *job)
{
        int o;

        while ((o = getopt(argc, argv, "+s:n:r:t:mfa")) != -1) {
                unsigned n = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 0;
                switch (o) {
                case 's':
                        world->setting.seed = n;
                        break;
                case 'n':
                        job->calls = n;
                        break;
                case 'r':
                        job->restarts = n;
                        break;
                case 't':
                        world->setting.ttl_ns = n ? (n + TICKS_MS) * 1000000LL : 0;
                        break;
                case 'm':
                        world->setting.moves_whole = true;
                        break;
                case 'f':
                        world->setting.faulty = true;
                        break;
                case 'a':
                        world->attributes = true;
                        break;
                default:
                        return false;
                }
        }
        if (argc - optind < 3)
                return false;
        job->file = argv[optind];
        world->dir = argv[optind + 1];
        job->command = argv + optind + 2;
        return true;
}

int main(int argc, char **argv)
{
        struct job job = {.calls = 1000};

        if (argc > 2 && !strcmp(argv[1], "check"))
                return check(argv + 2);
        world_new();
        if (argc > 2 && !strcmp(argv[1], "drive") && options(argc - 1, argv + 1, &job))
                return drive(&job);
        fprintf(stderr,
                "usage: history drive [-s SEED] [-n CALLS] [-r RESTARTS] [-t MS] [-m] [-f] [-a] "
                "FILE DIR COMMAND...\n       history check FILE...\n");
        return 2;
}
