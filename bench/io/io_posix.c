/* SPDX-License-Identifier: Apache-2.0 */
/* io_posix.c: shards as files, through a mount or on a disk: one stream of blocks a rank, or those
 * of several threads. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdio.h"
#include "bench/core/dev.h"
#include "bench/core/gds.h"
#include "bench/core/io.h"
#include "bench/core/progress.h"
#include "bench/core/run.h"
#include "bench/core/signal_cleanup.h"
#include "bench/io/io_posix_int.h"

#include "base/banned.h"

struct posix_io {
        struct io io;
        char dir[PATH_MAX];
        size_t top; /* of its bytes, those of the storage's own directory */
        size_t block;
        bool direct;
        bool gds; /* what is on a device is moved by gds.h */
        size_t threads;
        struct bounce bounce; /* blocks, for data that is not held in memory */
};

struct posix_file {
        struct io_file file;
        char path[PATH_MAX];
        int fd;
        bool fresh; /* created here: abandoned means removed */
};

int io_posix_path(struct io *io, const char *name, char out[PATH_MAX])
{
        const struct posix_io *p = (const struct posix_io *)io;
        if (snprintf(out, PATH_MAX, "%s/%s", p->dir, name) >= PATH_MAX)
                return io_fail(io, -ENAMETOOLONG, name);
        return 0;
}

#define FUSE_MAGIC 0x65735546 /* FUSE_SUPER_MAGIC of linux/magic.h, fs/fuse/inode.c before */

/* Whether the directory that this path is to be made in is there. 0 or a negative errno. */
static int look_above(const char *path)
{
        char dir[PATH_MAX];
        struct stat st;

        if (snprintf(dir, sizeof dir, "%s", path) >= (int)sizeof dir)
                return -ENAMETOOLONG;
        for (size_t n = strlen(dir); n && dir[n - 1] == '/'; n--)
                dir[n - 1] = 0;
        char *slash = strrchr(dir, '/');
        if (!slash)
                return 0;
        slash[slash == dir] = 0; /* "/" stays */
        return stat(dir, &st) ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int io_posix_top(const struct keys *k, const char *storage, const char **out, char *why,
                 size_t nwhy)
{
        bool mount = !strcmp(storage, "mount");
        const char *key = mount ? "mount.path" : "path", *top = mount ? k->mount_path : k->path;
        struct stat st;
        struct statfs fs;

        if (!*top) {
                snprintf(why, nwhy, "storage=%s needs a directory: give %s=DIR%s", storage, key,
                         !mount && *k->mount_path ? ", or storage=mount for mount.path" : "");
                return -EINVAL;
        }
        int err = stat(top, &st) || statfs(top, &fs) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
        if (err == ENOENT && !mount && !look_above(top))
                err = 0; /* it is made there */
        if (err) {
                snprintf(why, nwhy, "%s=%s: %s: give a directory%s", key, top, strerror(err),
                         mount           ? " in a mount that answers"
                         : err == ENOENT ? ", or one to be made in a directory that is there"
                                         : "");
                return -err;
        }
        if (mount && fs.f_type != FUSE_MAGIC) {
                snprintf(why, nwhy,
                         "%s=%s is no mounted file system: mount the bucket there, or give "
                         "storage=disk",
                         key, top);
                return -EINVAL;
        }
        if (k->direct && k->block % IO_ALIGN) {
                snprintf(why, nwhy,
                         "block=%llu: O_DIRECT moves multiples of %d bytes: give one, or "
                         "direct=off",
                         (unsigned long long)k->block, IO_ALIGN);
                return -EINVAL;
        }
        *out = top;
        return 0;
}

/* A name that was mistyped is a directory on another disk. */
static void say_made(const char *top)
{
        char text[PATH_MAX + 64];
        struct stat st;

        if (!stat(top, &st) || errno != ENOENT)
                return;
        snprintf(text, sizeof text, "path=%s is not there: it is made", top);
        progress_line(text);
}

static int posix_start(const struct keys *k, const char *storage, const char *dir, unsigned rank,
                       struct io **out, char *why, size_t nwhy)
{
        const char *top, *gds_says;
        int err = io_posix_top(k, storage, &top, why, nwhy);

        if (err)
                return err;
        struct posix_io *p = io_new(&io_posix, sizeof *p, rank, why, nwhy);
        if (!p)
                return -ENOMEM;
        p->block = k->block;
        p->direct = k->direct;
        bool disk = !strcmp(storage, "disk");
        p->gds = disk && gds_mode(&gds_says) != GDS_OFF;
        p->threads = disk ? (size_t)k->disk_threads : 1;
        for (p->top = strlen(top); p->top > 1 && top[p->top - 1] == '/';)
                p->top--;
        int n = snprintf(p->dir, sizeof p->dir, "%.*s%s%s", (int)p->top, top, *dir ? "/" : "", dir);
        err = n >= (int)sizeof p->dir ? -ENAMETOOLONG : *dir ? cleanup_add_path(p->dir) : 0;
        if (err == -ECANCELED && !access(p->dir, F_OK))
                err = 0; /* what is there can be removed, also after a signal */
        if (!err && !rank)
                say_made(top);
        if (!err)
                err = run_make_dirs(p->dir);
        if (!err && mkdir(p->dir, 0777) && errno != EEXIST)
                err = -errno;
        if (err)
                snprintf(why, nwhy,
                         "%s: cannot make %s in it: %s: give a directory that can be "
                         "written",
                         top, dir, strerror(-err));
        else if ((err = bounce_init(&p->bounce, p->threads, p->block)))
                snprintf(why, nwhy, "out of memory for blocks: give a smaller block=");
        if (err) {
                cleanup_drop_path(p->dir);
                bounce_release(&p->bounce);
                free(p);
                return err;
        }
        *out = &p->io;
        return 0;
}

static void posix_stop(struct io *io, bool clean)
{
        struct posix_io *p = (struct posix_io *)io;
        if (!p)
                return;
        cleanup_drop_path(p->dir);
        while (clean && strlen(p->dir) > p->top && !rmdir(p->dir)) /* the last rank's succeeds */
                *strrchr(p->dir, '/') = 0;
        bounce_release(&p->bounce);
        free(p);
}

/* Whether the name of the file at the path has a directory before it, and which. */
static bool has_dir(const struct posix_io *p, const char *path, char dir[PATH_MAX])
{
        if (!strchr(path + strlen(p->dir) + 1, '/'))
                return false;
        snprintf(dir, PATH_MAX, "%s", path);
        *strrchr(dir, '/') = 0;
        return true;
}

/* What is about to be created goes at a signal, with its directory, which is made. */
static int note_created(const struct posix_io *p, const char *path)
{
        char dir[PATH_MAX];
        int err = 0;

        if (has_dir(p, path, dir)) {
                err = cleanup_add_path(dir);
                if (!err)
                        err = run_make_dirs(path);
        }
        return err ? err : cleanup_add_path(path);
}

/* The file is gone, and so is its directory if that is empty now. */
static void forget_created(const struct posix_io *p, const char *path)
{
        char dir[PATH_MAX];

        cleanup_drop_path(path);
        if (!has_dir(p, path, dir))
                return;
        rmdir(dir);
        cleanup_drop_path(dir);
}

static int open_file(struct io *io, const char *name, int flags, struct io_file **out)
{
        struct posix_io *p = (struct posix_io *)io;
        CLEANUP(freep) struct posix_file *f = calloc(1, sizeof *f);

        if (!f)
                return io_fail(io, -ENOMEM, name);
        int err = io_posix_path(io, name, f->path);
        if (err)
                return err;
        f->file.io = io;
        f->fresh = flags & O_CREAT;
        if (f->fresh)
                err = note_created(p, f->path);
        if (!err)
                f->fd = open(f->path, flags | O_CLOEXEC | (p->direct ? O_DIRECT : 0), 0666);
        if (!err && f->fd < 0)
                err = -errno;
        if (err && f->fresh)
                forget_created(p, f->path);
        if (err)
                return io_fail(io, err, f->path);
        *out = &TAKE_PTR(f)->file;
        return 0;
}

static int posix_create(struct io *io, const char *name, uint64_t size, struct io_file **out)
{
        (void)size;
        return open_file(io, name, O_WRONLY | O_CREAT | O_TRUNC, out);
}

static int posix_open(struct io *io, const char *name, struct io_file **out)
{
        return open_file(io, name, O_RDONLY, out);
}

/* Where the n-th block, which is from `off`, is or goes: the shard's memory, or a bounce buffer,
 * that of the next block being another. NULL: no memory. */
static char *block_at(struct posix_io *p, const struct io_data *d, uint64_t off, uint64_t n)
{
        return d->mem ? d->mem + off : bounce_block(&p->bounce, n % 2);
}

static size_t block_len(const struct posix_io *p, const struct io_data *d, uint64_t off)
{
        return d->size - off < p->block ? (size_t)(d->size - off) : p->block;
}

/* Begins to fetch the block from `off`, if there is one that takes its time. */
static int look_ahead(struct posix_io *p, const struct io_data *d, uint64_t off)
{
        if (d->mem || !d->ahead || off >= d->size)
                return 0;
        char *block = block_at(p, d, off, off / p->block);
        return block ? d->ahead(d->arg, off, block, block_len(p, d, off)) : -ENOMEM;
}

/* A block that was begun is nobody's before it has come. */
static void forget_ahead(struct posix_io *p, const struct io_data *d, uint64_t off)
{
        bool any = !d->mem && d->ahead && off < d->size;
        char *block = any ? p->bounce.block[off / p->block % 2] : NULL;
        if (block)
                (void)d->fill(d->arg, off, block, block_len(p, d, off));
}

/* The tail of a file is no multiple of what O_DIRECT asks for. */
static int drop_direct(int fd)
{
        int flags = fcntl(fd, F_GETFL);
        return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_DIRECT) ? -errno : 0;
}

static int move_directly(struct posix_file *f, const struct io_data *d, bool load)
{
        char why[300];
        int err = gds_move(f->fd, d, load, why, sizeof why);

        if (err && *why)
                snprintf(f->file.io->why, sizeof f->file.io->why, "%.200s: %s", f->path, why);
        else if (err)
                io_fail(f->file.io, err, f->path);
        return err;
}

/* By several threads. */
static int move_by_threads(struct posix_file *f, const struct io_data *d, bool load)
{
        struct posix_io *p = (struct posix_io *)f->file.io;
        const struct posix_work how = {f->fd, f->path, p->block, p->threads, p->direct, &p->bounce};
        int err = io_posix_threads(&how, d, load);

        /* of a wrong byte the checker keeps where and what */
        return err && err != -EBADMSG ? io_fail(f->file.io, err, f->path) : err;
}

static int posix_write(struct io_file *file, const struct io_data *d)
{
        struct posix_file *f = (struct posix_file *)file;
        struct posix_io *p = (struct posix_io *)file->io;
        int err = 0;

        if (p->gds && d->device)
                return move_directly(f, d, false);
        if (p->threads > 1)
                return move_by_threads(f, d, false);
        for (uint64_t off = 0; off < d->size && !err; off += p->block) {
                size_t n = block_len(p, d, off);
                char *block = block_at(p, d, off, off / p->block);
                if (!block)
                        err = -ENOMEM;
                else if (!d->mem) /* first of all: it ends what was begun for this block */
                        err = d->fill(d->arg, off, block, n);
                if (!err && signal_came())
                        err = -ECANCELED;
                if (!err && p->direct && n % IO_ALIGN)
                        err = drop_direct(f->fd);
                if (!err)
                        err = look_ahead(p, d, off + p->block);
                if (!err)
                        err = fd_write(f->fd, block, n);
                if (err)
                        forget_ahead(p, d, off + p->block);
                progress_add(n);
        }
        return err ? io_fail(file->io, err, f->path) : 0;
}

int io_posix_read_block(int fd, char *p, size_t n, uint64_t from, bool direct)
{
        size_t have = 0;
        while (have < n) {
                size_t ask = n - have;
                if (direct)
                        ask = (ask + IO_ALIGN - 1) & ~(size_t)(IO_ALIGN - 1);
                ssize_t got = pread(fd, p + have, ask, (off_t)(from + have));
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return got ? -errno : -ENODATA;
                have += (size_t)got;
        }
        return 0;
}

bool io_posix_aligned(const struct io_step *s, const char *block)
{
        return s->from % IO_ALIGN == 0 && (uintptr_t)block % IO_ALIGN == 0;
}

bool io_posix_fits_direct(const struct io_data *d, const struct io_step *s, const char *block)
{
        bool last = s->off + s->len == d->size;
        return io_posix_aligned(s, block) && (last || !d->mem || s->len % IO_ALIGN == 0);
}

/* Gives a block to whom it is for; a device copies it while the next one is read. */
static int hand_over(const struct io_data *d, const struct io_step *s, const char *block)
{
        if (!d->check)
                return 0;
        return (d->hand ? d->hand : d->check)(d->arg, s->off, block, (size_t)s->len);
}

static int posix_read(struct io_file *file, const struct io_data *d)
{
        struct posix_file *f = (struct posix_file *)file;
        struct posix_io *p = (struct posix_io *)file->io;
        struct io_step s = {0};
        bool direct = p->direct;
        int err = 0;

        if (p->gds && d->device)
                return move_directly(f, d, true);
        if (p->threads > 1)
                return move_by_threads(f, d, true);
        for (uint64_t i = 0; !err && io_next(d, p->block, &s); i++) {
                char *block = block_at(p, d, s.off, i);
                if (signal_came())
                        err = -ECANCELED;
                else if (!block)
                        err = -ENOMEM;
                else if (direct && !io_posix_fits_direct(d, &s, block)) {
                        direct = false;
                        err = drop_direct(f->fd);
                }
                if (!err)
                        err = io_posix_read_block(f->fd, block, (size_t)s.len, s.from, direct);
                progress_add(s.len);
                if (!err && !d->mem)
                        err = hand_over(d, &s, block);
        }
        if (!d->mem && d->wait_last) {
                int last = d->wait_last(d->arg);
                err = err ? err : last;
        }
        /* of a wrong byte the checker keeps where and what */
        return err && err != -EBADMSG ? io_fail(file->io, err, f->path) : err;
}

static int posix_sync(struct io_file *file)
{
        struct posix_file *f = (struct posix_file *)file;
        return fsync(f->fd) ? io_fail(file->io, -errno, f->path) : 0;
}

static int posix_close(struct io_file *file)
{
        struct posix_file *f = (struct posix_file *)file;
        int err = close(f->fd) ? io_fail(file->io, -errno, f->path) : 0;

        if (err && f->fresh) {
                unlink(f->path);
                forget_created((const struct posix_io *)file->io, f->path);
        }
        free(f);
        return err;
}

static void posix_abandon(struct io_file *file)
{
        struct posix_file *f = (struct posix_file *)file;
        if (!f)
                return;
        if (f->fresh) {
                unlink(f->path);
                forget_created((const struct posix_io *)file->io, f->path);
        }
        close(f->fd);
        free(f);
}

/* How many of the file's pages the page cache holds; 0 where they cannot be mapped. */
static size_t pages_cached(int fd, size_t size)
{
        long page = sysconf(_SC_PAGESIZE);
        size_t n = (size + (size_t)page - 1) / (size_t)page, held = 0;
        CLEANUP(freep) unsigned char *vec = malloc(n ? n : 1);
        void *p = n ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

        if (p == MAP_FAILED)
                return 0;
        if (vec && !mincore(p, size, vec))
                for (size_t i = 0; i < n; i++)
                        held += vec[i] & 1;
        munmap(p, size);
        return held;
}

int io_posix_forget(const char *path, uint64_t *left)
{
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st))
                return -errno;
        for (int i = 0; i < 2; i++) {
                /* dirty pages stay: those of a save without fsync */
                if (i && fdatasync(fd))
                        return -errno;
                int err = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
                if (err)
                        return -err;
                *left = pages_cached(fd, (size_t)st.st_size) * (uint64_t)sysconf(_SC_PAGESIZE);
                if (*left <= (uint64_t)st.st_size / 100)
                        return 0;
        }
        return -EBUSY;
}

static int posix_forget(struct io *io, const char *name)
{
        char path[PATH_MAX];
        uint64_t left = 0;
        int err = io_posix_path(io, name, path);

        if (err)
                return err;
        err = io_posix_forget(path, &left);
        if (err != -EBUSY)
                return err ? io_fail(io, err, path) : 0;
        snprintf(io->why, sizeof io->why, "%.300s: the page cache keeps %llu of its bytes", path,
                 (unsigned long long)left);
        return err;
}

static int posix_remove(struct io *io, const char *name)
{
        char path[PATH_MAX];
        int err = io_posix_path(io, name, path);
        if (err)
                return err;
        if (unlink(path) && errno != ENOENT)
                return io_fail(io, -errno, path);
        forget_created((const struct posix_io *)io, path);
        return 0;
}

static void posix_keep(struct io *io, const char *name)
{
        char path[PATH_MAX], dir[PATH_MAX];

        if (io_posix_path(io, name, path))
                return;
        cleanup_drop_path(path);
        if (has_dir((const struct posix_io *)io, path, dir))
                cleanup_drop_path(dir);
}

static int posix_keep_not(struct io *io, const char *name)
{
        char path[PATH_MAX];
        int err = io_posix_path(io, name, path);
        return err ? err : cleanup_add_path(path);
}

static int posix_size(struct io *io, const char *name, uint64_t *out)
{
        char path[PATH_MAX];
        struct stat st;
        int err = io_posix_path(io, name, path);
        if (err)
                return err;
        if (stat(path, &st))
                return io_fail(io, -errno, path);
        *out = (uint64_t)st.st_size;
        return 0;
}

/* A figure of the line that a mount of ckptfs tells of itself; 0 where it is not in it. */
static uint64_t figure_of(const char *line, const char *name)
{
        unsigned long long v = 0;
        size_t n = strlen(name);
        for (const char *p = line; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
                if (!strncmp(p, name, n) && p[n] == '=')
                        sscanf(p + n + 1, "%llu", &v);
        return v;
}

static int posix_count(struct io *io, struct io_count *out, bool *host)
{
        char line[8192];
        ssize_t n =
                getxattr(((struct posix_io *)io)->dir, "user.ckptfs.stats", line, sizeof line - 1);

        if (n < 0)
                return io_count_none(io, out, host);
        line[n] = 0;
        *out = (struct io_count){
                .sent = figure_of(line, "sent_bytes"),
                .received = figure_of(line, "received_bytes"),
                .written = figure_of(line, "written_bytes"),
                .read = figure_of(line, "read_bytes"),
        };
        *host = true;
        return 0;
}

const struct io_ops io_posix = {
        .name = "posix",
        .flags = IO_CACHED,
        .start = posix_start,
        .stop = posix_stop,
        .create = posix_create,
        .write = posix_write,
        .sync = posix_sync,
        .open = posix_open,
        .read = posix_read,
        .close = posix_close,
        .abandon = posix_abandon,
        .forget = posix_forget,
        .remove = posix_remove,
        .keep = posix_keep,
        .keep_not = posix_keep_not,
        .size = posix_size,
        .count = posix_count,
};
