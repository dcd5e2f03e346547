/* SPDX-License-Identifier: Apache-2.0 */
/* data.c: the directory: its lock, records and walks. See data.h. */
#include "bench/sim/store/data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/sim/store/data_i.h"
#include "base/banned.h"

static int say(char *why, size_t nwhy, const char *dir, const char *what, int err,
               const char *remedy)
{
        snprintf(why, nwhy, "%s: %s: %s: %s", dir, what, strerror(-err), remedy);
        return err;
}

static void data_closep(struct data **d)
{
        data_close(*d);
}

int data_open(const char *dir, struct data **out, char *why, size_t nwhy)
{
        CLEANUP(data_closep) struct data *d = calloc(1, sizeof *d);
        struct timespec now;

        if (!d)
                return -ENOMEM;
        d->root = -1;
        clock_gettime(CLOCK_REALTIME, &now);
        atomic_init(&d->next_id, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
        atomic_init(&d->used, 0);
        atomic_init(&d->leaves_files, false);
        if (dir) {
                if (mkdir(dir, 0777) && errno != EEXIST)
                        return say(why, nwhy, dir, "cannot be made", -errno,
                                   "give --data a directory that can be written");
                d->root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (d->root < 0)
                        return say(why, nwhy, dir, "cannot be opened", -errno,
                                   "give --data a directory");
                if (flock(d->root, LOCK_EX | LOCK_NB))
                        return say(why, nwhy, dir, "is in use", -EBUSY,
                                   "end the other storesim, or give --data another directory");
                data_remove(d, ".tmp");
                int err = data_mkdir(d, ".tmp");
                if (!err)
                        err = data_mkdir(d, ".uploads");
                if (err)
                        return say(why, nwhy, dir, "cannot be written", err,
                                   "give --data a directory that can be written");
        }
        *out = TAKE_PTR(d);
        return 0;
}

void data_set_quota(struct data *d, uint64_t quota)
{
        d->quota = quota;
}

void data_leave_files(struct data *d)
{
        atomic_store(&d->leaves_files, true);
}

void data_close(struct data *d)
{
        if (!d)
                return;
        if (d->root >= 0)
                close(d->root);
        free(d);
}

bool data_is_null(const struct data *d)
{
        return d->root < 0;
}

uint64_t data_next_ids(struct data *d, uint64_t n)
{
        return atomic_fetch_add_explicit(&d->next_id, n, memory_order_relaxed);
}

uint64_t data_next_id(struct data *d)
{
        return data_next_ids(d, 1);
}

int data_mkdir(struct data *d, const char *path)
{
        if (d->root < 0)
                return 0;
        return mkdirat(d->root, path, 0777) && errno != EEXIST ? -errno : 0;
}

int data_add_bucket(struct data *d, const char *bucket)
{
        char path[DATA_PATH_MAX];
        int err = data_mkdir(d, bucket);

        for (int k = 0; !err && k < 2; k++) {
                const char *kind = k ? "index" : "data";
                snprintf(path, sizeof path, "%s/%s", bucket, kind);
                err = data_mkdir(d, path);
                for (unsigned i = 0; !err && i < 256; i++) {
                        snprintf(path, sizeof path, "%s/%s/%02x", bucket, kind, i);
                        err = data_mkdir(d, path);
                }
        }
        return err;
}

int data_remove_bucket(struct data *d, const char *bucket)
{
        char path[DATA_PATH_MAX];

        for (int k = 0; k < 2; k++) {
                const char *kind = k ? "index" : "data";
                for (unsigned i = 0; i < 256; i++) {
                        snprintf(path, sizeof path, "%s/%s/%02x", bucket, kind, i);
                        data_remove(d, path);
                }
                snprintf(path, sizeof path, "%s/%s", bucket, kind);
                data_remove(d, path);
        }
        data_remove(d, bucket);
        return 0;
}

static int write_all(int fd, const char *p, size_t n)
{
        while (n) {
                ssize_t k = write(fd, p, n);
                if (k < 0 && errno != EINTR)
                        return -errno;
                if (k > 0) {
                        p += k;
                        n -= (size_t)k;
                }
        }
        return 0;
}

int data_stage(struct data *d, const struct buf *text, char tmp[DATA_TMP_MAX])
{
        tmp[0] = 0;
        if (d->root < 0)
                return 0;
        if (text->failed)
                return -ENOMEM;
        snprintf(tmp, DATA_TMP_MAX, ".tmp/%016" PRIx64, data_next_id(d));
        CLEANUP(closep)
        int fd = openat(d->root, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0)
                return -errno;
        int err = write_all(fd, text->p, text->len);
        if (err)
                data_discard(d, tmp);
        return err;
}

int data_publish(struct data *d, const char *tmp, const char *path)
{
        if (d->root < 0)
                return 0;
        return renameat(d->root, tmp, d->root, path) ? -errno : 0;
}

void data_discard(struct data *d, const char *tmp)
{
        if (d->root >= 0 && tmp[0])
                unlinkat(d->root, tmp, 0);
}

static int remove_one(void *arg, const char *path, const char *name, struct buf *text)
{
        struct data *d = arg;

        (void)name;
        (void)text;
        unlinkat(d->root, path, 0);
        return 0;
}

void data_remove(struct data *d, const char *path)
{
        if (d->root < 0 || !unlinkat(d->root, path, 0) || errno == ENOENT)
                return;
        data_walk(d, path, false, remove_one, d);
        unlinkat(d->root, path, AT_REMOVEDIR);
}

void data_index_path(const char *bucket, const char *key, char path[DATA_PATH_MAX])
{
        uint8_t sum[SHA256_LEN];
        char hex[2 * SHA256_LEN + 1];

        sha256(key, strlen(key), sum);
        hex_encode(sum, sizeof sum, hex);
        snprintf(path, DATA_PATH_MAX, "%s/index/%s/%s", bucket, hex + sizeof hex - 3, hex);
}

static int read_file(int dir, const char *name, struct buf *text)
{
        CLEANUP(closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        buf_reset(text);
        for (;;) {
                int err = buf_grow(text, 4096);
                if (err)
                        return err;
                ssize_t k = read(fd, text->p + text->len, 4096);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0)
                        return k ? -errno : 0;
                text->len += (size_t)k;
                text->p[text->len] = 0;
        }
}

static void closedirp(DIR **dir)
{
        if (*dir)
                closedir(*dir);
}

static int walk(struct data *d, const char *path, bool dirs, bool read, data_walk_fn *fn, void *arg)
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        char full[DATA_PATH_MAX + NAME_MAX + 2];
        struct dirent *e;
        int err = 0;

        if (d->root < 0)
                return 0;
        int fd = openat(d->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                err = -errno;
                closep(&fd);
                return err;
        }
        while (!err && (e = readdir(dir))) {
                if (e->d_name[0] == '.' || (e->d_type == DT_DIR) != dirs)
                        continue;
                snprintf(full, sizeof full, "%s/%s", path, e->d_name);
                if (read)
                        err = read_file(fd, e->d_name, &text);
                if (!err)
                        err = fn(arg, full, e->d_name, &text);
        }
        return err;
}

int data_walk(struct data *d, const char *path, bool read, data_walk_fn *fn, void *arg)
{
        return walk(d, path, false, read, fn, arg);
}

int data_walk_dirs(struct data *d, const char *path, data_walk_fn *fn, void *arg)
{
        return walk(d, path, true, false, fn, arg);
}
