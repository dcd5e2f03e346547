/* SPDX-License-Identifier: Apache-2.0 */
/* soak_steps.c: what programs do with checkpoints; see soak.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "soak.h"

#include "base/banned.h"

enum { KEPT = 3, SHARDS = 3, LARGEST = 14 << 20 };

static int open_one(struct worker *w, const char *name, int flags)
{
        char path[PATH_ROOM];
        int fd = open(path_of(w, name, path), flags | O_CLOEXEC, 0644);

        if (fd < 0)
                wrong(w, "open", name);
        return fd;
}

static void close_one(struct worker *w, int fd, const char *name)
{
        if (close(fd))
                wrong(w, "close", name);
}

static void rename_one(struct worker *w, const char *from, const char *to)
{
        char old[PATH_ROOM], new[PATH_ROOM];

        if (rename(path_of(w, from, old), path_of(w, to, new)))
                wrong(w, "rename", from);
}

static void remove_file(struct worker *w, struct file *f)
{
        char path[PATH_ROOM];

        if (unlink(path_of(w, f->name, path)))
                wrong(w, "unlink", f->name);
        f->name[0] = 0;
}

/* Of one part, of several, of none. */
static uint64_t random_size(struct worker *w)
{
        static const unsigned sizes[] = {0, 100, 5000, 70000, 600000, 3 << 20, 6 << 20, LARGEST};
        unsigned most = sizes[chance(w, 8)];

        return most ? 1 + chance(w, most) : 0;
}

/* Anew, or over the one that is there. */
static struct file *make_file(struct worker *w, const char *name)
{
        struct file *f = file_find(w, name);
        int fd = open_one(w, name, O_WRONLY | O_CREAT | O_TRUNC);

        if (!f)
                f = file_add(w, name);
        f->n = 0;
        f->size = 0;
        file_write(w, f, fd, 0, random_size(w));
        if (!chance(w, 4) && fsync(fd))
                wrong(w, "fsync", name);
        close_one(w, fd, name);
        return f;
}

/* The file has another name now; what had that name is gone. */
static void note_rename(struct worker *w, struct file *f, const char *to)
{
        struct file *there = file_find(w, to);

        if (there && there != f)
                there->name[0] = 0;
        snprintf(f->name, sizeof f->name, "%s", to);
}

static void make_dir(struct worker *w, const char *name)
{
        char path[PATH_ROOM];
        int i = 0;

        while (i < DIRS_MOST && w->dirs[i][0])
                i++;
        if (i == DIRS_MOST || mkdir(path_of(w, name, path), 0755))
                wrong(w, "mkdir", name);
        snprintf(w->dirs[i], sizeof w->dirs[i], "%s", name);
}

/* --- a checkpoint: a directory of shards --- */

static void remove_dir(struct worker *w, const char *name)
{
        char below[NAME_ROOM + 1], path[PATH_ROOM];
        struct file *f;

        snprintf(below, sizeof below, "%s/", name);
        while ((f = file_any(w, below)))
                remove_file(w, f);
        if (rmdir(path_of(w, name, path)))
                wrong(w, "rmdir", name);
        for (int i = 0; i < DIRS_MOST; i++)
                if (!strcmp(w->dirs[i], name))
                        w->dirs[i][0] = 0;
}

static void rename_dir(struct worker *w, const char *from, const char *to)
{
        size_t n = strlen(from);

        rename_one(w, from, to);
        for (int i = 0; i < FILES_MOST; i++) {
                char rest[NAME_ROOM], *name = w->files[i].name;
                if (strncmp(name, from, n) || name[n] != '/')
                        continue;
                snprintf(rest, sizeof rest, "%s", name + n);
                snprintf(name, NAME_ROOM, "%.20s%.19s", to, rest);
        }
        for (int i = 0; i < DIRS_MOST; i++)
                if (!strcmp(w->dirs[i], from))
                        snprintf(w->dirs[i], sizeof w->dirs[i], "%s", to);
}

static void step_save(struct worker *w)
{
        char dir[20], final[20], name[NAME_ROOM];
        unsigned shards = 1 + chance(w, SHARDS);
        bool aside = chance(w, 2);

        snprintf(final, sizeof final, "step%u", ++w->saves);
        snprintf(dir, sizeof dir, aside ? "tmp%u" : "step%u", w->saves);
        make_dir(w, dir);
        for (unsigned i = 0; i < shards; i++) {
                snprintf(name, sizeof name, "%s/shard%u", dir, i);
                struct file *f = make_file(w, name);
                if (chance(w, 3))
                        continue;
                snprintf(name, sizeof name, "%s/renamed%u", dir, i);
                rename_one(w, f->name, name);
                note_rename(w, f, name);
        }
        if (aside)
                rename_dir(w, dir, final);
        struct file *f = make_file(w, "latest.tmp");
        rename_one(w, f->name, "latest");
        note_rename(w, f, "latest");
        if (w->saves > KEPT) {
                snprintf(final, sizeof final, "step%u", w->saves - KEPT);
                remove_dir(w, final);
        }
}

static void step_load(struct worker *w)
{
        unsigned first = w->saves > KEPT ? w->saves - KEPT + 1 : 1;
        char dir[20];

        if (!w->saves)
                return;
        snprintf(dir, sizeof dir, "step%u/", first + chance(w, w->saves - first + 1));
        for (int i = 0; i < FILES_MOST; i++)
                if (!strncmp(w->files[i].name, dir, strlen(dir)))
                        file_read(w, &w->files[i]);
        if (file_find(w, "latest"))
                file_read(w, file_find(w, "latest"));
}

/* --- single files --- */

static void step_log(struct worker *w)
{
        struct file *f = file_find(w, "log");
        unsigned lines = 1 + chance(w, 3);

        if (f && f->n + lines >= PIECES_MOST) {
                rename_one(w, "log", "log.1");
                note_rename(w, f, "log.1");
                f = NULL;
        }
        int fd = open_one(w, "log", O_WRONLY | O_CREAT | O_APPEND);
        f = f ? f : file_add(w, "log");
        for (; lines > 0; lines--) {
                file_write(w, f, fd, f->size, 1 + chance(w, 2000));
                if (fsync(fd))
                        wrong(w, "fsync", "log");
        }
        close_one(w, fd, "log");
}

/* A scratch file that can take two more pieces, or NULL. */
static struct file *some_file(struct worker *w)
{
        struct file *f = file_any(w, chance(w, 2) ? "s" : "step");

        return f && f->n + 2 <= PIECES_MOST && f->size ? f : NULL;
}

static void step_change(struct worker *w)
{
        struct file *f = some_file(w);

        if (!f)
                return;
        int fd = open_one(w, f->name, O_RDWR);
        uint64_t off = chance(w, (unsigned)f->size + 1000), len = 1 + chance(w, 300000);
        file_write(w, f, fd, off, len);
        if (chance(w, 2))
                file_read_fd(w, f, fd, off);
        close_one(w, fd, f->name);
}

static void step_map(struct worker *w)
{
        struct file *f = some_file(w);

        if (!f)
                return;
        int fd = open_one(w, f->name, O_RDWR);
        unsigned char *p = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
                wrong(w, "mmap", f->name);
        uint64_t off = chance(w, (unsigned)f->size), len = f->size - off;
        len = len < 20000 ? len : 20000;
        file_note(f, off, len, ++w->number);
        file_fill(f, off, len, p + off);
        if (msync(p, f->size, MS_SYNC) || munmap(p, f->size))
                wrong(w, "msync", f->name);
        close_one(w, fd, f->name);
}

static void step_truncate(struct worker *w)
{
        struct file *f = some_file(w);
        char path[PATH_ROOM];

        if (!f)
                return;
        uint64_t size = chance(w, 2) ? chance(w, (unsigned)f->size) : f->size + chance(w, 100000);
        if (truncate(path_of(w, f->name, path), (off_t)size))
                wrong(w, "truncate", f->name);
        if (size > f->size) {
                file_note(f, f->size, size - f->size, 0);
        } else {
                for (unsigned i = 0; i < f->n; i++) {
                        f->pieces[i].end = f->pieces[i].end < size ? f->pieces[i].end : size;
                        f->pieces[i].off = f->pieces[i].off < size ? f->pieces[i].off : size;
                }
                f->size = size;
        }
}

static void step_scratch(struct worker *w)
{
        char name[NAME_ROOM];

        snprintf(name, sizeof name, "s%u", chance(w, 6));
        make_file(w, name);
}

static void step_rename(struct worker *w)
{
        struct file *f = file_any(w, "s");
        char name[NAME_ROOM];

        snprintf(name, sizeof name, "s%u", chance(w, 6));
        if (!f || !strcmp(f->name, name))
                return;
        rename_one(w, f->name, name);
        note_rename(w, f, name);
}

static void step_remove(struct worker *w)
{
        struct file *f = file_any(w, "s");

        if (f)
                remove_file(w, f);
}

/* What is removed while it is open is read to its end. */
static void step_unlinked(struct worker *w)
{
        struct file *f = file_any(w, "s"), was;

        if (!f)
                return;
        int fd = open_one(w, f->name, O_RDONLY);
        was = *f;
        remove_file(w, f);
        file_read_fd(w, &was, fd, was.size / 2);
        close_one(w, fd, was.name);
}

static void step_copy(struct worker *w)
{
        struct file *f = file_any(w, "step"), *to = file_find(w, "s.copy");
        char name[NAME_ROOM];

        if (!f || !f->size)
                return;
        int in = open_one(w, f->name, O_RDONLY);
        int out = open_one(w, "s.copy", O_WRONLY | O_CREAT | O_TRUNC);
        for (uint64_t done = 0; done < f->size;) {
                ssize_t n = copy_file_range(in, NULL, out, NULL, f->size - done, 0);
                if (n <= 0)
                        wrong(w, "copy_file_range", f->name);
                done += (uint64_t)n;
        }
        close_one(w, in, f->name);
        close_one(w, out, "s.copy");
        to = to ? to : file_add(w, "s.copy");
        snprintf(name, sizeof name, "%s", to->name);
        *to = *f;
        snprintf(to->name, sizeof to->name, "%s", name);
}

static void step_attributes(struct worker *w)
{
        struct file *f = file_any(w, chance(w, 2) ? "s" : "l");
        char path[PATH_ROOM], value[16];

        if (!f)
                return;
        path_of(w, f->name, path);
        snprintf(value, sizeof value, "%u", chance(w, 1000000));
        if (chmod(path, chance(w, 2) ? 0644 : 0600) ||
            setxattr(path, "user.soak", value, strlen(value), 0))
                wrong(w, "chmod and setxattr", f->name);
}

static void step_link(struct worker *w)
{
        char path[PATH_ROOM], target[20], got[20] = {0};

        path_of(w, "link", path);
        if (w->link && unlink(path))
                wrong(w, "unlink", "link");
        snprintf(target, sizeof target, "step%u", w->saves);
        if (symlink(target, path))
                wrong(w, "symlink", "link");
        w->link = true;
        if (readlink(path, got, sizeof got - 1) < 0 || strcmp(got, target))
                wrong(w, "readlink", "link");
}

/* --- what comes to nothing --- */

/* A writer that is killed leaves no file, and what it sent is taken back. */
static void step_killed(struct worker *w)
{
        char path[PATH_ROOM], name[20];
        int status;

        snprintf(name, sizeof name, "killed%u", ++w->number);
        uint64_t size = random_size(w);
        path_of(w, name, path);
        pid_t pid = fork();
        if (!pid) {
                struct file f = {.size = 0};
                snprintf(f.name, sizeof f.name, "%s", name);
                int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
                file_write(w, &f, fd, 0, size);
                kill(getpid(), SIGKILL);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
                wrong(w, "the writer that was to be killed", name);
        world->kills++;
        for (int i = 0; !access(path, F_OK); i++) {
                if (i == 3000)
                        wrong(w, "a killed writer's file stays", name);
                usleep(10000);
        }
}

static void expect_errno(struct worker *w, int rc, int want, const char *name)
{
        if (rc != -1 || errno != want) {
                fprintf(stderr, "%s: %d and errno %d, not %d\n", name, rc, errno, want);
                wrong(w, "another errno", name);
        }
}

static void step_refused(struct worker *w)
{
        char path[PATH_ROOM], name[NAME_ROOM];
        struct file *f = file_any(w, "step");

        snprintf(name, sizeof name, "nothing%u", ++w->number);
        path_of(w, name, path);
        expect_errno(w, open(path, O_RDONLY | O_CLOEXEC), ENOENT, name);
        expect_errno(w, unlink(path), ENOENT, name);
        expect_errno(w, rename(path, path), ENOENT, name);
        path_of(w, "", path);
        expect_errno(w, mkdir(path, 0755), EEXIST, "mkdir");
        if (!f)
                return;
        path_of(w, f->name, path);
        expect_errno(w, open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), EEXIST, f->name);
        *strrchr(path, '/') = 0;
        expect_errno(w, rmdir(path), ENOTEMPTY, "rmdir");
}

/* --- */

void step(struct worker *w)
{
        static void (*const steps[])(struct worker *) = {
                step_save,    step_save,       step_load,   step_load,   step_log,
                step_log,     step_change,     step_change, step_map,    step_truncate,
                step_scratch, step_scratch,    step_rename, step_remove, step_unlinked,
                step_copy,    step_attributes, step_link,   step_killed, files_are_listed,
                step_refused,
        };

        steps[chance(w, sizeof steps / sizeof *steps)](w);
}

void step_first(struct worker *w)
{
        char path[PATH_ROOM];

        if (mkdir(path_of(w, "", path), 0755))
                wrong(w, "mkdir", path);
}
