/* SPDX-License-Identifier: Apache-2.0 */
/* soak.c: processes work in a mount for as long as they are told, as programs work with
 * checkpoints.
 *
 *      soak [-s SEED] [-i IDLE] SECONDS DIR SAMPLES KEYS COMMAND...
 *
 * mounts with COMMAND at DIR, with options of a random choice beside its own. In the first third of
 * the time the mount is ended, or killed, and begun anew again and again; the mount of then stays
 * to the end. SAMPLES gets a line now and then, while no process works: what the daemon has of
 * memory, descriptors, threads, and so on (the first line names them). At last all files are read
 * in a mount that knows nothing, and KEYS gets what must be in the bucket. 0 when everything was as
 * it should. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "soak.h"
#include "tests/lib/daemon.h"

#include "base/banned.h"

enum { SAMPLES = 240, RESTARTS = 10, LOOK_US = 100000, SETTLE_MS = 20000, ARGS_MOST = 32 };

struct world *world;
static struct daemon mount_daemon;

struct job {
        unsigned seconds;
        const char *keys;
        char **command;
        FILE *samples;
        pid_t pids[WORKERS];
        struct worker choice; /* of options and ends */
};

static double now(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

unsigned chance(struct worker *w, unsigned n)
{
        w->state ^= w->state << 13;
        w->state ^= w->state >> 7;
        w->state ^= w->state << 17;
        return (unsigned)(w->state >> 11) % n;
}

const char *path_of(const struct worker *w, const char *name, char path[PATH_ROOM])
{
        snprintf(path, PATH_ROOM, "%s/w%d%s%s", world->dir, w->n, *name ? "/" : "", name);
        return path;
}

void wrong(const struct worker *w, const char *what, const char *name)
{
        fprintf(stderr, "soak: w%d/%s: %s: %s\n", w->n, name, what, strerror(errno));
        fflush(NULL);
        _exit(1);
}

/* --- the mount --- */

/* The mount that stays has few connections: each keeps the buffers of its requests, a MiB once it
 * has sent and received, and of many the last is used for the first time at any time. */
static bool mount_begins(struct job *job, bool stays)
{
        static const char *const choices[][4] = {
                {"part_size=5M", "part_size=8M", "part_size=16M", "part_size=6M"},
                {"memory=64M", "memory=64M", "memory=96M", "memory=128M"},
                {"attr_ttl=0", "attr_ttl=1s", "attr_ttl=60s", "attr_ttl=1s"},
                {"consistency=strict", "consistency=close-to-open", "consistency=close-to-open",
                 "consistency=close-to-open"},
                {"read_cache=auto", "read_cache=always", "read_cache=never", "read_cache=always"},
                {"threads=1", "threads=2", "threads=2", "threads=4"},
                {"connections=auto", "connections=auto", "connections=4", "connections=16"},
        };
        char options[300] = "", *args[ARGS_MOST];
        int n = 0;

        for (unsigned i = 0; i < sizeof choices / sizeof *choices; i++) {
                size_t len = strlen(options);
                const char *option = choices[i][chance(&job->choice, 4)];
                if (stays && !strncmp(option, "connections=", 12))
                        option = "connections=4";
                snprintf(options + len, sizeof options - len, "%s%s", i ? "," : "", option);
        }
        args[n++] = job->command[0];
        args[n++] = "-o";
        args[n++] = options;
        for (char **arg = job->command + 1; *arg && n < ARGS_MOST - 1; arg++)
                args[n++] = *arg;
        args[n] = NULL;
        fprintf(stderr, "mounts with %s\n", options);
        return daemon_start(&mount_daemon, args, world->dir);
}

/* While no process works: what was closed is there, however the mount ends. */
static bool mount_anew(struct job *job, bool kill, bool stays)
{
        if (!kill)
                return daemon_end(&mount_daemon) && mount_begins(job, stays);
        daemon_kill(&mount_daemon);
        umount2(world->dir, MNT_DETACH);
        return mount_begins(job, stays);
}

/* --- what the daemon has --- */

static const char *const gauges[] = {"nodes",        "pool_used",       "handles",
                                     "dirty_files",  "uploading_files", "failed_files",
                                     "unsent_bytes", "spill_used",      "unlinked_copies"};
enum { GAUGES = sizeof gauges / sizeof *gauges, AT_REST = 2 };

static bool read_gauges(unsigned long long values[GAUGES])
{
        char stats[65536];
        ssize_t n = getxattr(world->dir, "user.ckptfs.stats", stats + 1, sizeof stats - 2);

        if (n < 0)
                return false;
        stats[0] = ' ';
        stats[n + 1] = 0;
        for (unsigned i = 0; i < GAUGES; i++) {
                char key[40];
                int len = snprintf(key, sizeof key, " %s=", gauges[i]);
                const char *at = strstr(stats, key);
                if (!at)
                        return false;
                values[i] = strtoull(at + len, NULL, 10);
        }
        return true;
}

/* Closes end in the daemon a moment after they returned: waits until nothing is under way. False,
 * with a line, when something stays. */
static bool comes_to_rest(unsigned long long values[GAUGES])
{
        unsigned busy = 0;

        for (int ms = 0; ms < SETTLE_MS; ms += 10) {
                if (!read_gauges(values)) {
                        perror("soak: user.ckptfs.stats");
                        return false;
                }
                for (busy = AT_REST; busy < GAUGES && !values[busy]; busy++)
                        ;
                if (busy == GAUGES)
                        return true;
                usleep(10000);
        }
        fprintf(stderr, "soak: %s stays %llu though nothing is open\n", gauges[busy], values[busy]);
        return false;
}

static unsigned long long status_of(const char *field)
{
        char path[40], line[200];
        unsigned long long n = 0;

        snprintf(path, sizeof path, "/proc/%d/status", (int)mount_daemon.pid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
                if (!strncmp(line, field, strlen(field)))
                        n = strtoull(line + strlen(field), NULL, 10);
        return n;
}

/* Anonymous memory less the buffers for the data of files, which stay once they were used and are
 * bounded by memory=: they are what asks for huge pages. */
static unsigned long long heap_kib(void)
{
        char path[40], line[400];
        unsigned long long n = 0, one = 0;

        snprintf(path, sizeof path, "/proc/%d/smaps", (int)mount_daemon.pid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f)) {
                if (!strncmp(line, "Anonymous:", 10))
                        one = strtoull(line + 10, NULL, 10);
                else if (!strncmp(line, "VmFlags:", 8) && !strstr(line, " hg"))
                        n += one;
        }
        return n;
}

static unsigned descriptors(void)
{
        char path[40];
        unsigned n = 0;

        snprintf(path, sizeof path, "/proc/%d/fd", (int)mount_daemon.pid);
        DIR *d = opendir(path);
        while (d && readdir(d))
                n++;
        if (d)
                closedir(d);
        return n;
}

static bool is_one_of(const char *line, const char *const *words)
{
        while (*words && !strstr(line, *words))
                words++;
        return *words;
}

/* Bytes of the log less those of lines about what was done to the mount: writers were killed, and
 * options read anew. */
static unsigned long long log_bytes(void)
{
        static const char *const done[] = {"/killed",
                                           " ended by a signal",
                                           " reload: ",
                                           ": Stale file handle",
                                           " lines like the next",
                                           NULL};
        char path[320], line[4096];
        unsigned long long n = 0;

        snprintf(path, sizeof path, "%s.log", world->dir);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
                if (!is_one_of(line, done))
                        n += strlen(line);
        return n;
}

static bool sample(const struct job *job, double second, bool stays)
{
        unsigned long long values[GAUGES];

        if (!comes_to_rest(values))
                return false;
        unsigned long long memory = status_of("RssAnon:") + status_of("RssShmem:"), names = 1;
        for (int n = 0; n < WORKERS; n++)
                names += world->names[n];
        fprintf(job->samples, "%.1f %d %llu %llu %llu %u %llu %llu %llu %llu %u\n", second, stays,
                memory, heap_kib(), values[1] / 1024, descriptors(), status_of("Threads:"),
                values[0], values[0] > names ? values[0] - names : 0, log_bytes(), world->steps);
        return !fflush(job->samples);
}

/* --- processes --- */

static void work(int n)
{
        static struct worker w;
        char path[PATH_ROOM];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        w.n = n;
        w.state = (world->seed * 100 + (unsigned)n + 1) * 0x9e3779b97f4a7c15u | 1;
        while (!world->enough) {
                pthread_rwlock_rdlock(&world->up);
                double began = now();
                if (!w.number++)
                        step_first(&w);
                else
                        step(&w);
                world->names[n] = files_count(&w);
                world->steps++;
                pthread_rwlock_unlock(&world->up);
                usleep((useconds_t)((now() - began) * 1e6 * world->idle) + 1000);
        }
        while (!world->readable)
                usleep(LOOK_US);
        files_are_listed(&w);
        for (int i = 0; i < FILES_MOST; i++)
                if (w.files[i].name[0])
                        file_read(&w, &w.files[i]);
        snprintf(path, sizeof path, "%s.keys%d", world->dir, n);
        FILE *keys = fopen(path, "we");
        if (!keys)
                wrong(&w, "fopen", path);
        files_print_keys(&w, keys);
        _exit(fclose(keys) ? 1 : 0);
}

/* Whether one of them ended with anything but 0; all that ended are 0 afterwards. */
static bool reap(struct job *job, unsigned *left)
{
        bool good = true;
        int status;

        *left = 0;
        for (int n = 0; n < WORKERS; n++) {
                if (job->pids[n] && waitpid(job->pids[n], &status, WNOHANG) == job->pids[n]) {
                        job->pids[n] = 0;
                        good = good && !status;
                }
                *left += job->pids[n] != 0;
        }
        return good;
}

static bool processes_end(struct job *job)
{
        unsigned left = 1;
        bool good = true;

        while (left && good) {
                good = reap(job, &left);
                usleep(LOOK_US);
        }
        return good;
}

static bool merge_keys(const struct job *job)
{
        CLEANUP(fclosep) FILE *to = fopen(job->keys, "we");
        char path[PATH_ROOM], line[200];

        for (int n = 0; to && n < WORKERS; n++) {
                snprintf(path, sizeof path, "%s.keys%d", world->dir, n);
                CLEANUP(fclosep) FILE *from = fopen(path, "re");
                while (from && fgets(line, sizeof line, from))
                        fputs(line, to);
        }
        return to && !fflush(to);
}

/* Restarts and samples until the time is over. */
static bool watch(struct job *job, double began)
{
        double between = job->seconds / 3.0 / RESTARTS, sampled = 0;
        unsigned restarts = 0, left;
        bool good = true;

        for (double at = 0; good && at < job->seconds; at = now() - began) {
                usleep(LOOK_US);
                good = reap(job, &left) && left == WORKERS;
                bool anew = restarts < RESTARTS && at > between * (restarts + 1);
                if (!good || (!anew && at < sampled + job->seconds / (double)SAMPLES))
                        continue;
                pthread_rwlock_wrlock(&world->up);
                good = sample(job, at, restarts == RESTARTS);
                sampled = at;
                if (good && anew) {
                        bool kill = restarts++ % 3 == 1;
                        good = mount_anew(job, kill, restarts == RESTARTS);
                }
                pthread_rwlock_unlock(&world->up);
        }
        return good;
}

static bool begin_all(struct job *job)
{
        for (int n = 0; n < WORKERS; n++) {
                job->pids[n] = fork();
                if (!job->pids[n])
                        work(n);
                if (job->pids[n] < 0)
                        return false;
        }
        return true;
}

static int soak(struct job *job)
{
        fprintf(job->samples,
                "second stays memory_kib heap_kib pool_kib descriptors threads nodes nameless "
                "log_bytes steps\n");
        bool good = mount_begins(job, false) && begin_all(job) && watch(job, now());

        world->enough = true;
        if (good) {
                pthread_rwlock_wrlock(&world->up);
                good = mount_anew(job, false, true);
                pthread_rwlock_unlock(&world->up);
        }
        if (good) {
                world->readable = true;
                good = processes_end(job);
        }
        fprintf(stderr, "%u steps, %u writers killed\n", world->steps, world->kills);
        if (good)
                return daemon_end(&mount_daemon) && merge_keys(job) ? 0 : 1;
        for (int n = 0; n < WORKERS; n++)
                if (job->pids[n] > 0)
                        kill(job->pids[n], SIGKILL);
        daemon_kill(&mount_daemon);
        return 1;
}

static void world_new(void)
{
        pthread_rwlockattr_t lock;

        world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        if (world == MAP_FAILED) {
                perror("soak: mmap");
                exit(2);
        }
        pthread_rwlockattr_init(&lock);
        pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
        pthread_rwlockattr_setkind_np(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&world->up, &lock);
}

int main(int argc, char **argv)
{
        struct job job = {0};
        int o;

        world_new();
        world->seed = 1;
        while ((o = getopt(argc, argv, "+s:i:")) != -1) {
                if (o == 's')
                        world->seed = strtoull(optarg, NULL, 10);
                else if (o == 'i')
                        world->idle = (unsigned)strtoul(optarg, NULL, 10);
                else
                        argc = 0;
        }
        if (argc - optind < 5) {
                fprintf(stderr,
                        "usage: soak [-s SEED] [-i IDLE] SECONDS DIR SAMPLES KEYS COMMAND...\n");
                return 2;
        }
        job.seconds = (unsigned)strtoul(argv[optind], NULL, 10);
        world->dir = argv[optind + 1];
        job.samples = fopen(argv[optind + 2], "we");
        job.keys = argv[optind + 3];
        job.command = argv + optind + 4;
        job.choice.state = world->seed * 0x9e3779b97f4a7c15u | 1;
        if (!job.samples || (mkdir(world->dir, 0755) && errno != EEXIST)) {
                perror("soak");
                return 2;
        }
        int rc = soak(&job);
        return fclose(job.samples) ? 1 : rc;
}
