/* SPDX-License-Identifier: Apache-2.0 */
/* io.h: where shards go, one table a back end.
 *
 * A back end takes a whole shard in one call and orders its blocks itself, so that one which keeps
 * many requests in flight is not measured through a loop that waits. Bytes that moved are told to
 * progress_add(). Called from one thread.
 * Errors are negative errnos with one line in io->why: which file, what failed. -ECANCELED: a
 * signal came (signal_cleanup.h); nothing of the file stays. */
#ifndef CKPTFS_BENCH_IO_H
#define CKPTFS_BENCH_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/core/keys.h"

enum { IO_ALIGN = 4096 };

/* A piece of a file. */
struct io_range {
        uint64_t from, len;
};

/* A shard: what is saved, or what is loaded. */
struct io_data {
        uint64_t size;
        /* Of a load: the pieces of the file that it is, one behind the other, `size` bytes in all.
         * None: the first `size` bytes. Back ends walk them with io_next(). */
        const struct io_range *ranges;
        size_t nranges;
        /* The whole of it, IO_ALIGN-ed with room for the size rounded up to that, or NULL: it is
         * made and checked on the way, block by block, from any thread. */
        char *mem;
        /* The whole of it where it lives on a device, for who can move it from there (gds.h). */
        void *device;
        /* Makes a block, or copies it from a device. 0 or a negative errno. */
        int (*fill)(void *arg, uint64_t off, void *dst, size_t len);
        /* Or NULL: begins that, for the one block that this thread fills next, which fill() of the
         * same block then completes; dst is touched by nobody until then. */
        int (*ahead)(void *arg, uint64_t off, void *dst, size_t len);
        /* Takes what was loaded: checks it, or copies it to a device. NULL: nobody wants it. */
        int (*check)(void *arg, uint64_t off, const void *p, size_t len);
        /* Or NULL, both: begins that when what this thread began before has ended, and returns
         * while it goes on; wait_last() waits for the last. Until then `p` is touched by nobody. */
        int (*hand)(void *arg, uint64_t off, const void *p, size_t len);
        int (*wait_last)(void *arg);
        /* check() wants large blocks out of dev_buffer(): what comes in small ones is collected. */
        bool large;
        void *arg;
};

/* Heads of each back end's own structs. */
struct io {
        const struct io_ops *ops;
        unsigned rank;
        char why[512];
};
struct io_file {
        struct io *io;
};

/* Bytes that somebody else than the ranks counted since he began: the client of the store, the
 * bodies of its requests and replies; a mount, also those of files. */
struct io_count {
        uint64_t sent, received;
        uint64_t written, read; /* by the programs that use the mount; 0: no mount */
};

enum {
        IO_CACHED = 1 << 0, /* the machine's page cache holds what was written */
        IO_EMPTY = 1 << 1   /* keeps nothing: a load has no bytes to verify */
};

struct io_ops {
        const char *name;
        unsigned flags;
        /* Makes ready for shards below directory or prefix `dir`, a fresh name or "", what the
         * keys name itself. `storage` is the word of the storage key. `why` when it fails. May
         * block. */
        int (*start)(const struct keys *k, const char *storage, const char *dir, unsigned rank,
                     struct io **out, char *why, size_t nwhy);
        /* Ends; with `clean` removes `dir`, which is empty by then. NULL is fine. */
        void (*stop)(struct io *io, bool clean);
        /* Save: create, write, sync, close. A file that is to be discarded is abandoned instead.
         * A name may begin with a directory, which is made and goes with the last of its files. */
        int (*create)(struct io *io, const char *name, uint64_t size, struct io_file **out);
        int (*write)(struct io_file *f, const struct io_data *d);
        int (*sync)(struct io_file *f);
        /* Load: open, read, close. */
        int (*open)(struct io *io, const char *name, struct io_file **out);
        int (*read)(struct io_file *f, const struct io_data *d);
        /* Publishes what was written, synced or not; frees f whatever it returns. */
        int (*close)(struct io_file *f);
        /* Ends a file whose work failed; nothing that was written stays. NULL is fine. */
        void (*abandon)(struct io_file *f);
        /* Lets the page cache forget a file (IO_CACHED). -EBUSY: more than 1 % of it stayed. */
        int (*forget)(struct io *io, const char *name);
        int (*remove)(struct io *io, const char *name);
        /* A file that was created is to stay, even when a signal comes. */
        void (*keep)(struct io *io, const char *name);
        /* A file that another rank may create is to go at a signal, before what was created here.
         * 0 or a negative errno. */
        int (*keep_not)(struct io *io, const char *name);
        /* How many bytes a file has. */
        int (*size)(struct io *io, const char *name, uint64_t *out);
        /* What was counted: for all of this process, or, as *host says, for all ranks of this
         * machine. -EOPNOTSUPP: nobody counts (io_count_none). */
        int (*count)(struct io *io, struct io_count *out, bool *host);
};
int io_count_none(struct io *io, struct io_count *out, bool *host);
/* Of a storage that a signal does not clean up by itself. */
void io_keep_none(struct io *io, const char *name);
int io_keep_not_none(struct io *io, const char *name);

/* One read of a load: bytes [off, off+len) of the data, which are [from, from+len) of the file. */
struct io_step {
        uint64_t off, from, len;
        size_t range; /* where the walk is */
        uint64_t in_range;
};
/* Goes to the next step of at most `most` bytes, in one range; begin with a step of zeros. False
 * behind the last. */
bool io_next(const struct io_data *d, uint64_t most, struct io_step *s);
/* How many bytes a file must have to hold the data. */
uint64_t io_reach(const struct io_data *d);

/* A word of the storage key. */
struct io_storage {
        const char *name;
        const struct io_ops *ops; /* NULL: not in this build, for the reason that `missing` says */
        const char *text;
        const char *missing; /* cause, then remedy */
};
extern const struct io_storage io_storages[];
extern const size_t io_nstorages;
/* NULL with one line in `why` when there is none of that name, or it is not built. */
const struct io_storage *io_find(const char *name, char *why, size_t nwhy);

extern const struct io_ops io_posix, io_s3, io_null;
extern const struct io_ops io_awscrt, io_libs3; /* where they are built */

/* The directory of files that `storage` names by its key. That of a mount has to be there and in a
 * mounted file system; that of a disk is made when the first file is. 0, or a negative errno with
 * one line in `why`. */
int io_posix_top(const struct keys *k, const char *storage, const char **out, char *why,
                 size_t nwhy);

/* Lets the page cache forget a file. 0, -EBUSY when it keeps more than 1 % of it, then *left bytes,
 * or another negative errno. Blocks until what was written to the file is on its disk. */
int io_posix_forget(const char *path, uint64_t *left);

/* Moves a file from one directory of files to another as Python's shutil.move() does: by rename or,
 * between file systems, by a copy with its times, after which the first goes; the mode becomes that
 * of a new file. `sync`: waits until it is durable. 0, or a negative errno with to->why; then the
 * file is in neither. Blocks. */
int io_posix_move(struct io *from, struct io *to, const char *name, bool sync);

/* The zeroed `size` bytes of a back end's own struct, whose head is filled; free() it. NULL, with
 * one line in `why`: no memory. */
void *io_new(const struct io_ops *ops, size_t size, unsigned rank, char *why, size_t nwhy);

/* Writes "subject: text of err" to io->why and returns err. */
int io_fail(struct io *io, int err, const char *subject);

#endif
