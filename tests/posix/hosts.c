/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c: real processes do random things to the files of one bucket, in the mounts of three
 * hosts. See hosts.h.
 *
 *      hosts random SEED ROUNDS DIR DIR DIR    rounds of processes, several a mount
 *      hosts rules                             faults for the store, for
 *      hosts cases GO DIR DIR DIR              each request of each call late or its reply lost,
 *                                              while another host changes the same file; the file
 *                                              GO comes when the store has the rules
 *
 * Prints a line for each promise that was not kept. */
#include "hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum {
        EACH = 4,     /* processes of a mount */
        SHARED = 3,   /* files that all change */
        ALONE = 4,    /* things that each process does in a round by itself */
        EXCLUSIVE = 5 /* each so many rounds somebody creates with O_EXCL */
};

static unsigned long long state;

void chance_seed(unsigned seed)
{
        state = seed * 0x9e3779b97f4a7c15ULL + 1;
}

unsigned chance(unsigned n)
{
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (unsigned)(state >> 11) % n;
}

/* Small ones, some of a few requests, and few of several parts. */
uint64_t random_length(void)
{
        unsigned kind = chance(100);
        if (kind < 70)
                return 32 + chance(20000);
        return kind < 96 ? 32 + chance(600000) : (5U << 20) + chance(8U << 20);
}

const char *path_of(int host, unsigned file)
{
        static char paths[4][500];
        static unsigned turn;
        char *p = paths[turn++ % 4];
        snprintf(p, sizeof paths[0], "%s/%s", world->dirs[host], world->files[file].name);
        return p;
}

void enter(int host, unsigned file, bool writes)
{
        pthread_rwlock_t *lock = &world->files[file].here[host];
        if (writes)
                pthread_rwlock_wrlock(lock);
        else
                pthread_rwlock_rdlock(lock);
}

void leave(int host, unsigned file)
{
        pthread_rwlock_unlock(&world->files[file].here[host]);
}

static void world_new(char **dirs)
{
        pthread_rwlockattr_t lock;
        pthread_barrierattr_t barrier;

        world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
        if (world == MAP_FAILED) {
                perror("mmap");
                exit(2);
        }
        pthread_rwlockattr_init(&lock);
        pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
        pthread_rwlockattr_setkind_np(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        const char *ttl = getenv("CKPTFS_HOSTS_TTL");
        world->names_ns = ttl ? strtoll(ttl, NULL, 10) * 1000000000 : 0;
        const char *lossy = getenv("CKPTFS_HOSTS_LOSSY");
        world->lossy = lossy && !strcmp(lossy, "yes");
        for (int i = 0; i < MOUNTS; i++)
                world->dirs[i] = dirs[i];
        for (unsigned f = 0; f < FILES; f++)
                for (int i = 0; i < MOUNTS; i++)
                        pthread_rwlock_init(&world->files[f].here[i], &lock);
        pthread_barrierattr_init(&barrier);
        pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&world->barrier, &barrier, MOUNTS * EACH);
}

/* --- random rounds --- */

/* What was opened to be written, and is not: the mount has a file as long as somebody might write.
 */
struct idle {
        int fd;
        unsigned file;
};

static void idle_change(struct idle *i, int host, unsigned file)
{
        if (i->fd >= 0) {
                enter(host, i->file, true);
                if (close(i->fd))
                        wrong(i->file, "host %d: the close of what was not written gives %s", host,
                              strerror(errno));
                leave(host, i->file);
                i->fd = -1;
                return;
        }
        enter(host, file, true);
        i->fd = open(path_of(host, file), O_WRONLY | O_CLOEXEC);
        i->file = file;
        leave(host, file);
}

static void change(int host, unsigned file)
{
        unsigned what = chance(12);

        enter(host, file, true);
        if (what < 4)
                do_write(host, file, random_length());
        else if (what < 8)
                do_append(host, file, 32 + random_length() / 4, chance(2));
        else if (what < 10)
                do_mode(host, file);
        else if (what < 11)
                do_rename(host, file, random_length());
        else
                do_remove(host, file);
        leave(host, file);
}

static void look_locked(int host, unsigned file)
{
        enter(host, file, false);
        look(host, file);
        leave(host, file);
}

static void exclusive(int host, unsigned round)
{
        unsigned file = SHARED + round / EXCLUSIVE, id = 0;
        struct file_of_all *f = &world->files[file];

        pthread_barrier_wait(&world->barrier);
        if (do_exclusive(host, file, 32 + chance(100000), &id))
                __atomic_add_fetch(&f->winners, 1, __ATOMIC_SEQ_CST);
        pthread_barrier_wait(&world->barrier);
        if (f->winners != 1)
                wrong(file, "host %d: O_EXCL had %u winners", host, f->winners);
        look(host, file);
}

static int process(int host, unsigned seed, unsigned rounds, bool first)
{
        struct idle idle = {.fd = -1};

        chance_seed(seed);
        for (unsigned round = 0; round < rounds; round++) {
                unsigned file = round % SHARED;
                if (first && round % MOUNTS == (unsigned)host)
                        change(host, file);
                pthread_barrier_wait(&world->barrier);
                look_locked(host, file); /* all at once */
                pthread_barrier_wait(&world->barrier);
                for (int i = 0; i < ALONE; i++) {
                        file = chance(SHARED);
                        unsigned what = chance(10);
                        if (what < 6)
                                look_locked(host, file);
                        else if (what < 9)
                                change(host, file);
                        else
                                idle_change(&idle, host, file);
                }
                if (round % EXCLUSIVE == 0)
                        exclusive(host, round);
        }
        if (idle.fd >= 0)
                idle_change(&idle, host, 0);
        pthread_barrier_wait(&world->barrier);
        for (unsigned file = 0; file < SHARED; file++)
                look(host, file);
        return 0;
}

static int random_rounds(unsigned seed, unsigned rounds)
{
        int failed = 0, status;

        if (rounds / EXCLUSIVE >= FILES - SHARED)
                return 2;
        for (unsigned f = 0; f < FILES; f++)
                snprintf(world->files[f].name, NAME_MOST, "%s%u-%u", f < SHARED ? "f" : "x", seed,
                         f);
        fflush(stdout);
        for (int i = 0; i < MOUNTS * EACH; i++) {
                pid_t pid = fork();
                if (!pid)
                        _exit(process(i % MOUNTS, seed * 1000 + (unsigned)i + 1, rounds,
                                      i < MOUNTS));
                failed |= pid < 0;
        }
        while (wait(&status) > 0)
                failed |= status != 0;
        return failed;
}

int main(int argc, char **argv)
{
        int rc = 2;

        if (argc == 2 && !strcmp(argv[1], "rules"))
                return cases_rules();
        if (argc == 4 + MOUNTS && !strcmp(argv[1], "random")) {
                world_new(argv + 4);
                rc = random_rounds((unsigned)strtoul(argv[2], NULL, 10),
                                   (unsigned)strtoul(argv[3], NULL, 10));
        } else if (argc == 3 + MOUNTS && !strcmp(argv[1], "cases")) {
                world_new(argv + 3);
                rc = cases_run(argv[2]);
        } else {
                fprintf(stderr, "usage: hosts random SEED ROUNDS DIR DIR DIR | rules | "
                                "cases GO DIR DIR DIR\n");
        }
        if (world)
                fprintf(stderr, "%u changes, %u reads, %u of them ESTALE, %u wrong\n",
                        world->nchanges, world->reads, world->stale, world->wrong);
        return rc ? rc : world && world->wrong;
}
