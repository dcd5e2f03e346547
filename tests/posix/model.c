/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: random operations on a mount and on a local directory at the same time; both must agree.
 *
 * `model run MOUNT LOCAL SEED STEPS SCRIPT [EVERY]` makes them up, and writes them to SCRIPT as it
 * goes; `model replay MOUNT LOCAL SCRIPT [EVERY]` does what the script says; `model compare MOUNT
 * LOCAL` only compares the two trees.
 *
 * A line of a script is an operation, see op_names[], and five numbers: two paths (of paths[]), a
 * descriptor, an offset or argument, a length. After each operation results, errnos and bytes
 * read are compared, then the paths it named: type, mode, owner, size, contents, attributes,
 * entries, and a modification time that was set. With EVERY the files are compared after each so
 * many operations only: a file that nobody reads meanwhile is sent and not kept, and then what the
 * mount refuses with EBUSY, or does in part, is no difference. The exit status is 1 when they
 * differ; then the last lines say in what. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/posix/model.h"

#include "base/banned.h"

enum { LARGEST = 24 << 20, PART = 5 << 20 };

static const struct {
        const char *name;
        unsigned weight;
} op_names[KINDS] = {
        [OPEN] = {"open", 30},          [CLOSE] = {"close", 22},
        [WRITE] = {"write", 40},        [APPENDED] = {"append", 12},
        [READ] = {"read", 15},          [MAPPED] = {"mapped", 8},
        [FTRUNCATE] = {"ftruncate", 8}, [FALLOCATE] = {"fallocate", 4},
        [FSYNC] = {"fsync", 8},         [TRUNCATE] = {"truncate", 6},
        [RENAME] = {"rename", 14},      [RENAME_NEW] = {"rename_new", 4},
        [UNLINK] = {"unlink", 10},      [MKDIR] = {"mkdir", 8},
        [RMDIR] = {"rmdir", 6},         [SYMLINK] = {"symlink", 3},
        [CHMOD] = {"chmod", 4},         [FCHMOD] = {"fchmod", 3},
        [CHOWN] = {"chown", 3},         [UTIMES] = {"utimes", 4},
        [SETXATTR] = {"setxattr", 4},   [REMOVEXATTR] = {"removexattr", 2},
        [COPY] = {"copy", 4},           [DUP] = {"dup", 3},
        [REOPEN] = {"reopen", 6},       [AT_END] = {"at_end", 5},
        [SENDFILE] = {"sendfile", 5},   [MAP] = {"map", 6},
        [MAP_WRITE] = {"map_write", 8}, [UNMAP] = {"unmap", 4},
        [CHILD] = {"child", 4},
};

static const char *const paths[] = {
        "a",       "b",         "c",     "dir",     "dir/a",     "dir/b",
        "dir/sub", "dir/sub/a", "other", "other/a", "other/dir",
};
enum { PATHS = sizeof paths / sizeof *paths };

static const int open_flags[] = {
        O_RDONLY,
        O_RDWR,
        O_WRONLY,
        O_RDWR | O_CREAT,
        O_WRONLY | O_CREAT | O_TRUNC,
        O_RDWR | O_CREAT | O_TRUNC,
        O_WRONLY | O_CREAT | O_EXCL,
        O_WRONLY | O_CREAT | O_APPEND,
        O_RDWR | O_APPEND,
        O_RDONLY | O_DIRECTORY,
        O_WRONLY | O_CREAT | O_DSYNC,
        O_RDWR | O_CREAT | O_DIRECT,
};
enum { OPEN_FLAGS = sizeof open_flags / sizeof *open_flags };

unsigned char *pattern;

static void quit(const char *what)
{
        fprintf(stderr, "model: %s: %s\n", what, strerror(errno));
        exit(2);
}

/* --- operations --- */

/* xorshift64*: the sequence is the same on every machine. */
static uint64_t state;

static uint64_t chance(uint64_t below)
{
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return (state * 2685821657736338717u >> 16) % below;
}

static void fill_pattern(void)
{
        uint64_t x = (uint64_t)step * 0x9e3779b97f4a7c15u | 1;

        for (size_t i = 0; i < BUFFER; i += sizeof x) {
                x = x * 6364136223846793005u + 1442695040888963407u;
                memcpy(pattern + i, &x, sizeof x);
        }
}

/* From the start of the first path's file to another descriptor. */
static long long do_copy(struct world *w, const struct op *op)
{
        int from = openat(w->dir, paths[op->path], O_RDONLY | O_CLOEXEC);
        off_t in = 0, out = op->at;

        if (from < 0)
                return -1;
        ssize_t n = copy_file_range(from, &in, w->fds[op->slot], &out, (size_t)op->len, 0);
        /* A local disk may refuse what it could share, and then programs read and write. */
        int err = errno;
        close(from);
        errno = err;
        return n;
}

static long long do_utimes(struct world *w, const struct op *op)
{
        struct timespec times[2] = {{OLD, 0}, {OLD + op->len % 100000, op->at % 1000000000}};

        return utimensat(w->dir, paths[op->path], times, AT_SYMLINK_NOFOLLOW);
}

static int full_path(const struct world *w, const struct op *op, char out[PATH_MAX])
{
        int n = snprintf(out, PATH_MAX, "/proc/self/fd/%d/%s", w->dir, paths[op->path]);

        return n < PATH_MAX ? 0 : -1;
}

static long long do_xattr(struct world *w, const struct op *op)
{
        char path[PATH_MAX];
        const char *name = op->at % 2 ? "user.one" : "user.two";

        if (full_path(w, op, path))
                return -1;
        if (op->kind == REMOVEXATTR)
                return lremovexattr(path, name);
        return lsetxattr(path, name, pattern, (size_t)op->len % 300, 0);
}

static long long do_truncate(struct world *w, const struct op *op)
{
        char path[PATH_MAX];

        return full_path(w, op, path) ? -1 : truncate(path, op->len);
}

static long long do_open(struct world *w, const struct op *op)
{
        /* A local disk wants its blocks then. */
        int flags = open_flags[op->at] & (w == worlds ? ~0 : ~O_DIRECT);

        return keep_descriptor(w, op->slot,
                               openat(w->dir, paths[op->path], flags | O_CLOEXEC, 0640));
}

static long long act(struct world *w, const struct op *op)
{
        const char *path = paths[op->path], *path2 = paths[op->path2];

        switch (op->kind) {
        case OPEN:
                return do_open(w, op);
        case TRUNCATE:
                return do_truncate(w, op);
        case RENAME:
                return renameat(w->dir, path, w->dir, path2);
        case RENAME_NEW:
                return renameat2(w->dir, path, w->dir, path2, RENAME_NOREPLACE);
        case UNLINK:
                return unlinkat(w->dir, path, 0);
        case MKDIR:
                return mkdirat(w->dir, path, 0750);
        case RMDIR:
                return unlinkat(w->dir, path, AT_REMOVEDIR);
        case SYMLINK:
                return symlinkat(path2, w->dir, path);
        case CHMOD:
                return fchmodat(w->dir, path, (mode_t)op->len % 01000 | 0600, 0);
        case CHOWN:
                return fchownat(w->dir, path, (uid_t)op->len % 5, (gid_t)op->at % 5,
                                AT_SYMLINK_NOFOLLOW);
        case UTIMES:
                return do_utimes(w, op);
        case SETXATTR:
        case REMOVEXATTR:
                return do_xattr(w, op);
        case COPY:
                return do_copy(w, op);
        default:
                return act_on_descriptor(w, op);
        }
}

static bool same_everything(void)
{
        for (int i = 0; i < PATHS; i++)
                if (!same_path(paths[i]))
                        return false;
        return same_path(".");
}

/* What was sent and not kept is not read, overwritten or cut off. */
static bool may_be_busy(enum kind kind)
{
        switch (kind) {
        case WRITE:
        case READ:
        case FTRUNCATE:
        case FALLOCATE:
        case TRUNCATE:
        case COPY:
        case SENDFILE:
        case CHILD:
                return every > 1;
        default:
                return false;
        }
}

static bool performed(const struct op *op)
{
        struct op same = *op;
        long long rc[WORLDS];
        int err[WORLDS];

        fill_pattern();
        for (int i = 0; i < WORLDS; i++) {
                rc[i] = act(&worlds[i], &same);
                err[i] = rc[i] < 0 ? errno : 0;
                if (i == 0 && may_be_busy(op->kind)) {
                        if (err[0] == EBUSY)
                                return true;
                        if (rc[0] > 0 && rc[0] < op->len)
                                same.len = rc[0];
                }
        }
        if (rc[0] != rc[1] || err[0] != err[1]) {
                differ(op_names[op->kind].name, "result", rc[0], rc[1]);
                return same_text(op_names[op->kind].name, "errno", strerror(err[0]),
                                 strerror(err[1])) &&
                       rc[0] == rc[1];
        }
        if (op->kind == READ && rc[0] > 0 &&
            memcmp(worlds[0].bytes, worlds[1].bytes, (size_t)rc[0]))
                return differ("a descriptor", "bytes read are other ones", op->at, op->len);
        if (step % every)
                return true;
        if (!same_path(paths[op->path]) || !same_path(paths[op->path2]) ||
            !same_descriptor(op->slot))
                return false;
        return step / every % 25 || same_everything();
}

/* --- scripts --- */

static struct op made_up(void)
{
        unsigned total = 0;
        struct op op = {0};

        for (int i = 0; i < KINDS; i++)
                total += op_names[i].weight;
        long long at = (long long)chance(total);
        while (at >= (long long)op_names[op.kind].weight)
                at -= (long long)op_names[op.kind++].weight;
        op.path = (int)chance(PATHS);
        op.path2 = (int)chance(PATHS);
        op.slot = (int)chance(SLOTS);
        uint64_t size = chance(10);
        size = size < 6 ? 10000 : size < 9 ? 300000 : size < 10 && chance(4) ? 2000000 : 7000000;
        op.len = (long long)chance(size);
        op.at = op.kind == OPEN ? (long long)chance(OPEN_FLAGS) : (long long)chance(2 * size);
        if (op.kind == COPY)
                op.at = (long long)chance(200000);
        /* At the edges of parts, too. */
        if ((op.kind == WRITE || op.kind == READ || op.kind == CHILD) && chance(8) == 0)
                op.at = PART * (long long)(1 + chance(3)) - 1 + (long long)chance(3);
        if ((op.kind == FTRUNCATE || op.kind == TRUNCATE) && chance(8) == 0)
                op.len = PART - 1 + (long long)chance(3);
        return op;
}

static void write_script(FILE *f, const struct op *op)
{
        fprintf(f, "%s %d %d %d %lld %lld\n", op_names[op->kind].name, op->path, op->path2,
                op->slot, op->at, op->len);
        fflush(f);
}

/* Whether there is another one. */
static bool read_script(FILE *f, struct op *op)
{
        char name[20], line[200];

        do {
                if (!fgets(line, sizeof line, f))
                        return false;
        } while (line[0] == '#');
        if (sscanf(line, "%19s %d %d %d %lld %lld", name, &op->path, &op->path2, &op->slot, &op->at,
                   &op->len) != 6)
                quit("the script has another format");
        for (op->kind = 0; op->kind < KINDS && strcmp(name, op_names[op->kind].name); op->kind++)
                ;
        if (op->kind == KINDS || (unsigned)op->path >= PATHS || (unsigned)op->path2 >= PATHS ||
            (unsigned)op->slot >= SLOTS || op->len < 0 || op->len > BUFFER || op->at < 0 ||
            op->at > LARGEST || (op->kind == OPEN && op->at >= OPEN_FLAGS))
                quit("the script has a number out of bounds");
        return true;
}

static bool all_performed(FILE *in, FILE *out, int steps)
{
        struct op op;

        for (step = 1; in ? read_script(in, &op) : step <= steps; step++) {
                if (!in)
                        op = made_up();
                if (out)
                        write_script(out, &op);
                if (!performed(&op)) {
                        printf("step %d was: ", step);
                        write_script(stdout, &op);
                        return false;
                }
        }
        for (op = (struct op){.kind = CLOSE}; op.slot < SLOTS; op.slot++)
                if (worlds[0].fds[op.slot] >= 0 && !performed(&op))
                        return false;
        for (int i = 0; i < WORLDS; i++)
                for (op.slot = 0; op.slot < SLOTS; op.slot++)
                        end_map(&worlds[i], op.slot);
        every = 1;
        return same_everything();
}

static FILE *file_named(const char *name, const char *mode)
{
        FILE *f = fopen(name, mode);

        if (!f)
                quit(name);
        return f;
}

int main(int argc, char **argv)
{
        FILE *in = NULL, *out = NULL;
        int steps = 0;

        if (argc < 4)
                return 2;
        umask(022);
        pattern = malloc(BUFFER);
        for (int i = 0; i < WORLDS; i++) {
                worlds[i].dir = open(argv[2 + i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                worlds[i].bytes = malloc(BUFFER);
                if (worlds[i].dir < 0 || !worlds[i].bytes || !pattern)
                        quit(argv[2 + i]);
                for (int k = 0; k < SLOTS; k++)
                        worlds[i].fds[k] = -1;
        }
        if (!strcmp(argv[1], "run") && argc >= 6) {
                state = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
                steps = (int)strtol(argv[5], NULL, 10);
                out = argc > 6 ? file_named(argv[6], "we") : NULL;
                every = argc > 7 ? (int)strtol(argv[7], NULL, 10) : 1;
        } else if (!strcmp(argv[1], "replay") && argc >= 5) {
                in = file_named(argv[4], "re");
                every = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 1;
        }
        return all_performed(in, out, steps) ? 0 : 1;
}
