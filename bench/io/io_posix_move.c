/* SPDX-License-Identifier: Apache-2.0 */
/* io_posix_move.c: a file is made in one directory and moved to another, as fsspec's transactions
 * do it for those who save through a temporary file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/core/io.h"
#include "bench/core/signal_cleanup.h"
#include "bench/io/io_posix_int.h"

#include "base/banned.h"

enum { COPY_LEAST = 8 << 20 /* one step of shutil's copy asks for the whole file, or this */ };

static int copy_bytes(int in, int out, uint64_t size)
{
        size_t ask = size > COPY_LEAST ? (size_t)size : COPY_LEAST;
        ssize_t n = 1;

        while (n > 0 && !signal_came()) {
                n = sendfile(out, in, NULL, ask);
                if (n < 0 && errno == EINTR)
                        n = 1;
        }
        return signal_came() ? -ECANCELED : n < 0 ? -errno : 0;
}

/* Times go along; the mode is set by the caller. */
static int copy_file(const char *from, const char *to)
{
        struct stat st;
        CLEANUP(closep) int in = open(from, O_RDONLY | O_CLOEXEC);

        if (in < 0 || fstat(in, &st))
                return -errno;
        CLEANUP(closep) int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (out < 0)
                return -errno;
        int err = copy_bytes(in, out, (uint64_t)st.st_size);
        if (err)
                return err;
        if (close(TAKE_FD(out)))
                return -errno;
        const struct timespec times[2] = {st.st_atim, st.st_mtim};
        return utimensat(AT_FDCWD, to, times, 0) ? -errno : 0;
}

static int sync_file(const char *path)
{
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 || fsync(fd) ? -errno : 0;
}

/* *ours: what has the new name now is of this move. */
static int move_file(const char *from, const char *to, bool sync, bool *ours)
{
        mode_t mask = umask(0);
        umask(mask);
        int err = rename(from, to) ? -errno : 0;
        bool copies = err == -EXDEV;

        *ours = !err || copies;
        if (copies)
                err = copy_file(from, to);
        if (!err && copies && unlink(from))
                err = -errno;
        if (!err && chmod(to, 0666 & ~mask))
                err = -errno;
        return !err && sync ? sync_file(to) : err;
}

int io_posix_move(struct io *from, struct io *to, const char *name, bool sync)
{
        char old[PATH_MAX], new[PATH_MAX];
        bool ours = false;
        int err = io_posix_path(from, name, old);

        if (err)
                return io_fail(to, err, name);
        err = io_posix_path(to, name, new);
        if (err)
                return err;
        err = cleanup_add_path(new);
        if (!err)
                err = move_file(old, new, sync, &ours);
        if (err) {
                unlink(old);
                if (ours)
                        unlink(new);
                cleanup_drop_path(new);
        }
        cleanup_drop_path(old);
        return err ? io_fail(to, err, new) : 0;
}
