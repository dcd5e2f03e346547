/* SPDX-License-Identifier: Apache-2.0 */
/* needs.c: see needs.h. */
#include "bench/needs.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "bench/io.h"
#include "bench/run.h"

#include "base/banned.h"

/* The number in a file, or `other` where there is none ("max"). */
static uint64_t number_in(const char *path, uint64_t other)
{
        unsigned long long v;
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        return f && fscanf(f, "%llu", &v) == 1 ? v : other;
}

uint64_t needs_memory_free(void)
{
        char line[128];
        unsigned long long kb = 0;
        uint64_t most = number_in("/sys/fs/cgroup/memory.max", UINT64_MAX);
        CLEANUP(fclosep) FILE *f = fopen("/proc/meminfo", "re");

        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
                        break;
        return kb * 1024 < most ? kb * 1024 : most;
}

/* Of what all ranks together have, the part of this machine's. */
static uint64_t on_this_machine(const struct run *r, uint64_t bytes)
{
        double part = (double)r->coll->host_ranks / (double)r->coll->ranks;
        return (uint64_t)((double)bytes * part);
}

static double gb(uint64_t bytes)
{
        return (double)bytes / 1e9;
}

static int check_memory(const struct run *r, const struct needs *n, FILE *dry, char *why,
                        size_t nwhy)
{
        uint64_t want = n->memory * r->coll->host_ranks, have = needs_memory_free();

        if (dry)
                fprintf(dry, "  memory held: %.3f GB of %.3f GB free\n", gb(want), gb(have));
        if (want <= have)
                return 0;
        snprintf(why, nwhy,
                 "%u ranks here hold %.3f GB in memory and %.3f GB are free: give a smaller size=, "
                 "hold=off where the scenario minds it, or more machines",
                 r->coll->host_ranks, gb(want), gb(have));
        return -ENOMEM;
}

static int check_disk(const struct run *r, const char *path, const struct needs *n, FILE *dry,
                      char *why, size_t nwhy)
{
        uint64_t want = on_this_machine(r, n->stored);
        struct statvfs fs;

        if (statvfs(path, &fs)) {
                snprintf(why, nwhy, "%s: %s: give a directory that exists", path, strerror(errno));
                return -errno;
        }
        uint64_t have = (uint64_t)fs.f_bavail * fs.f_frsize;
        if (dry)
                fprintf(dry, "  disk: %.3f GB of %.3f GB free at %s\n", gb(want), gb(have), path);
        if (want <= have)
                return 0;
        snprintf(why, nwhy,
                 "%s has %.3f GB free and %.3f GB would lie there: give a smaller size=, fewer "
                 "epochs=, or another path=",
                 path, gb(have), gb(want));
        return -ENOSPC;
}

int needs_check_at(const struct run *r, const struct needs *n, const char *path, FILE *dry,
                   char *why, size_t nwhy)
{
        if (r->needs)
                *r->needs = *n;
        if (dry && n->moved)
                fprintf(dry, "  moved: %.3f GB by %u ranks\n", gb(n->moved), r->coll->ranks);
        else if (dry)
                fprintf(dry, "  moved: not known before the storage is asked\n");
        int err = check_memory(r, n, dry, why, nwhy);
        return err || !path ? err : check_disk(r, path, n, dry, why, nwhy);
}

int needs_check(const struct run *r, const struct keys *k, const struct needs *n, FILE *dry,
                char *why, size_t nwhy)
{
        const struct io_storage *s = io_find(k->storage, why, nwhy);
        const char *path = NULL;
        int err = s ? 0 : -EINVAL;

        if (s && s->ops->flags & IO_CACHED) /* files: a directory has to be there */
                err = io_posix_top(k, s->name, &path, why, nwhy);
        if (err)
                return err;
        /* what a mount has room for, its store knows */
        return needs_check_at(r, n, strcmp(s->name, "disk") ? NULL : path, dry, why, nwhy);
}
