/* SPDX-License-Identifier: Apache-2.0 */
/* preflight.c: see preflight.h. */
#include "bench/data/preflight.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "bench/core/dev.h"
#include "bench/core/io.h"
#include "bench/core/run.h"

#include "base/banned.h"

/* The number in a file, or `other` where there is none ("max"). */
static uint64_t number_in(const char *path, uint64_t other)
{
        unsigned long long v;
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        return f && fscanf(f, "%llu", &v) == 1 ? v : other;
}

/* The number behind a name in a file of lines "name number". */
static uint64_t number_of(const char *path, const char *name)
{
        char line[128];
        unsigned long long v;
        size_t n = strlen(name);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");

        while (f && fgets(line, sizeof line, f))
                if (!strncmp(line, name, n) && sscanf(line + n, " %llu", &v) == 1)
                        return v;
        return 0;
}

/* What one control group may still have: its limit less what it cannot give back. */
static uint64_t room_of_group(const char *dir)
{
        char path[PATH_MAX + 16];

        snprintf(path, sizeof path, "%s/memory.max", dir);
        uint64_t most = number_in(path, UINT64_MAX);
        if (most == UINT64_MAX)
                return most;
        snprintf(path, sizeof path, "%s/memory.current", dir);
        uint64_t used = number_in(path, 0);
        snprintf(path, sizeof path, "%s/memory.stat", dir);
        uint64_t cached = number_of(path, "inactive_file") + number_of(path, "active_file");
        used -= cached < used ? cached : used;
        return used < most ? most - used : 0;
}

uint64_t preflight_group_room(const char *membership, const char *top)
{
        char line[PATH_MAX / 2], dir[PATH_MAX];
        uint64_t room = UINT64_MAX;
        CLEANUP(fclosep) FILE *f = fopen(membership, "re");

        line[0] = 0;
        while (f && fgets(line, sizeof line, f) && strncmp(line, "0::", 3) != 0)
                line[0] = 0;
        line[strcspn(line, "\n")] = 0;
        snprintf(dir, sizeof dir, "%s%s", top, *line ? line + 3 : "");
        for (size_t n = strlen(top);;) {
                uint64_t here = room_of_group(dir);
                room = here < room ? here : room;
                char *end = strrchr(dir + n, '/');
                if (!end)
                        return room;
                *end = 0;
        }
}

uint64_t preflight_memory_free(void)
{
        uint64_t group = preflight_group_room("/proc/self/cgroup", "/sys/fs/cgroup");
        uint64_t all = number_of("/proc/meminfo", "MemAvailable:") * 1024;
        return all < group ? all : group;
}

bool preflight_holds(unsigned hold, double bytes, double room)
{
        return hold == HOLD_ON || (hold == HOLD_AUTO && bytes <= room * 0.6);
}

/* Of what all ranks together have, the part of this machine's. */
static uint64_t on_this_machine(const struct run *r, uint64_t bytes)
{
        double part = (double)r->coll->host_ranks / (double)r->coll->ranks;
        return (uint64_t)((double)bytes * part);
}

/* Three digits of `n`, and the unit of them: the first is a thousand, each further one as many of
 * the one before. */
static void three_digits(uint64_t n, const char *const *units, size_t nunits, char out[BYTES_TEXT])
{
        double v = (double)n / 1e3;
        size_t i = 0;

        while (v >= 999.5 && i + 1 < nunits) {
                v /= 1e3;
                i++;
        }
        snprintf(out, BYTES_TEXT, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[i]);
}

const char *bytes_text(uint64_t bytes, char out[BYTES_TEXT])
{
        static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};

        if (!bytes)
                return "none";
        three_digits(bytes, units, sizeof units / sizeof *units, out);
        return out;
}

const char *count_text(uint64_t n, char out[BYTES_TEXT])
{
        static const char *const units[] = {"thousand", "million", "billion", "trillion"};

        three_digits(n, units, sizeof units / sizeof *units, out);
        return out;
}

static int check_memory(const struct run *r, const struct preflight *n, FILE *dry, char *why,
                        size_t nwhy)
{
        uint64_t want = n->memory * r->coll->host_ranks, have = preflight_memory_free();
        char a[BYTES_TEXT], b[BYTES_TEXT];

        if (dry)
                fprintf(dry, "  memory held: %s of %s free\n", bytes_text(want, a),
                        bytes_text(have, b));
        if (want <= have)
                return 0;
        snprintf(why, nwhy,
                 "%u rank%s here hold%s %s in memory and %s are free: give a smaller "
                 "size= or model=, hold=off where the scenario has that key, or more machines",
                 r->coll->host_ranks, r->coll->host_ranks > 1 ? "s" : "",
                 r->coll->host_ranks > 1 ? "" : "s", bytes_text(want, a), bytes_text(have, b));
        return -ENOMEM;
}

/* Of the path, or of the directory above it that is there: what is missing will be made. */
static int statvfs_above(const char *path, struct statvfs *fs)
{
        char dir[PATH_MAX];
        int rc = statvfs(path, fs);

        snprintf(dir, sizeof dir, "%s", path);
        while (rc && errno == ENOENT && *dir) {
                char *slash = strrchr(dir, '/');
                if (slash)
                        *slash = 0;
                rc = statvfs(!slash ? "." : *dir ? dir : "/", fs);
                if (!slash)
                        break;
        }
        return rc;
}

/* Whether `bytes` of all ranks have room at the path. */
static int check_room(const struct run *r, const char *path, uint64_t bytes, const char *remedy,
                      FILE *dry, char *why, size_t nwhy)
{
        uint64_t want = on_this_machine(r, bytes);
        char a[BYTES_TEXT], b[BYTES_TEXT];
        struct statvfs fs;

        if (statvfs_above(path, &fs)) {
                snprintf(why, nwhy, "%s: %s: give a directory that exists", path, strerror(errno));
                return -errno;
        }
        uint64_t have = (uint64_t)fs.f_bavail * fs.f_frsize;
        if (dry)
                fprintf(dry, "  disk: %s of %s free at %s\n", bytes_text(want, a),
                        bytes_text(have, b), path);
        if (want <= have)
                return 0;
        snprintf(why, nwhy, "%s has %s free and %s would lie there: %s", path, bytes_text(have, b),
                 bytes_text(want, a), remedy);
        return -ENOSPC;
}

static int check_disk(const struct run *r, const char *path, const struct preflight *n, FILE *dry,
                      char *why, size_t nwhy)
{
        return check_room(r, path, n->stored,
                          "give another path=, a smaller size= or model=, or fewer epochs= or "
                          "saves",
                          dry, why, nwhy);
}

int preflight_check_staging(const struct run *r, const char *dir, uint64_t bytes, FILE *dry,
                            char *why, size_t nwhy)
{
        return check_room(r, dir, bytes,
                          "set TMPDIR to a directory with room, or give a smaller size= or model=",
                          dry, why, nwhy);
}

int preflight_check_at(const struct run *r, const struct preflight *n, const char *path, FILE *dry,
                       char *why, size_t nwhy)
{
        char moved[BYTES_TEXT];

        if (r->preflight)
                *r->preflight = *n;
        if (dry && n->moved)
                fprintf(dry, "  moved: %s by %u rank%s\n", bytes_text(n->moved, moved),
                        r->coll->ranks, r->coll->ranks > 1 ? "s" : "");
        else if (dry && !n->still)
                fprintf(dry, "  moved: not known before the storage is asked\n");
        int err = check_memory(r, n, dry, why, nwhy);
        return err || !path ? err : check_disk(r, path, n, dry, why, nwhy);
}

int preflight_check(const struct run *r, const struct keys *k, const struct preflight *n, FILE *dry,
                    char *why, size_t nwhy)
{
        const struct io_storage *s = io_find(k->storage, why, nwhy);
        struct preflight here = *n;
        const char *path = NULL;
        int err = s ? 0 : -EINVAL;

        if (s && s->ops->flags & IO_CACHED) /* files: a directory has to be there */
                err = io_posix_top(k, s->name, &path, why, nwhy);
        if (err)
                return err;
        /* what a mount has room for, its store knows */
        double all = (double)(n->shards + n->held) * r->coll->host_ranks;
        bool holds = preflight_holds((unsigned)k->hold, all, (double)preflight_memory_free());
        if (!dev_may_hold(k))
                here.memory += n->shards + (holds ? n->held : 0);
        return preflight_check_at(r, &here, strcmp(s->name, "disk") ? NULL : path, dry, why, nwhy);
}
