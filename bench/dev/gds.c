/* SPDX-License-Identifier: Apache-2.0 */
/* gds.c: see gds.h. The types are those of cuFile's ABI, from its public reference. */
#include "bench/core/gds.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "bench/core/dev.h"
#include "bench/core/progress.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

#define LIBRARY "libcufile.so.0"

enum {
        STEP = 64 << 20, /* of a call, which cuFile divides itself; a signal is heard between */
        HANDLE_FD = 1,   /* CU_FILE_HANDLE_TYPE_OPAQUE_FD */
        ALLOW_COMPAT = 1 << 1, /* CU_FILE_ALLOW_COMPAT_MODE */
        OPERATION_FIRST = 5000 /* errors of cuFile itself are above */
};

struct cufile_error {
        int err, cuda;
};

struct cufile_descr {
        int type;
        union {
                int fd;
                void *other;
        } handle;
        const void *ops;
};

struct cufile_props {
        struct {
                unsigned major, minor;
                size_t poll, direct_max;
                unsigned status, control;
        } nvfs;
        unsigned more[64]; /* which grew, and may again */
};

static struct {
        struct cufile_error (*DriverOpen)(void);
        struct cufile_error (*DriverClose)(void);
        struct cufile_error (*DriverGetProperties)(struct cufile_props *);
        struct cufile_error (*HandleRegister)(void **handle, struct cufile_descr *);
        void (*HandleDeregister)(void *handle);
        struct cufile_error (*BufRegister)(const void *mem, size_t n, int flags);
        struct cufile_error (*BufDeregister)(const void *mem);
        ssize_t (*Read)(void *handle, void *mem, size_t n, off_t from, off_t off);
        ssize_t (*Write)(void *handle, const void *mem, size_t n, off_t from, off_t off);
        bool loaded;
} api;
#define CUFILE_CALLS(X)                                                                            \
        X(DriverOpen)                                                                              \
        X(DriverClose)                                                                             \
        X(DriverGetProperties)                                                                     \
        X(HandleRegister)                                                                          \
        X(HandleDeregister)                                                                        \
        X(BufRegister)                                                                             \
        X(BufDeregister)                                                                           \
        X(Read)                                                                                    \
        X(Write)

static struct {
        enum gds_mode mode;
        char says[256];
} gds;

const char *const gds_mode_names[] = {"off", "direct", "compatible", "either"};

static int load(char *why, size_t nwhy)
{
        void *lib = api.loaded ? NULL : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* stays */
        bool all = api.loaded || lib;

#define CUFILE_FIND(name)                                                                          \
        if (lib)                                                                                   \
                all &= (*(void **)&api.name = dlsym(lib, "cuFile" #name)) != NULL;
        CUFILE_CALLS(CUFILE_FIND)
        api.loaded = all;
        if (!all)
                snprintf(why, nwhy,
                         "%s: install GPUDirect Storage, name its directory in LD_LIBRARY_PATH, or "
                         "leave disk.gds out",
                         lib ? LIBRARY " lacks a function" : LIBRARY " is not found");
        return all ? 0 : -EOPNOTSUPP;
}

/* Whether a job can have it at all. */
static int check_keys(const struct keys *k, bool must, char *why, size_t nwhy)
{
        if (strcmp(k->storage, "disk") != 0)
                snprintf(why, nwhy, "for files of storage=disk, and not of %s: leave it out",
                         k->storage);
        else if (must && k->device != DEVICE_CUDA && k->device != DEVICE_EMULATED)
                snprintf(why, nwhy, "needs shards on a device: give device=cuda");
        else if (k->disk_threads > 1)
                snprintf(why, nwhy, "cuFile moves a file in one thread: leave disk.threads out");
        else if (!dev_get())
                snprintf(why, nwhy, "no shards live on a device");
        else
                return 0;
        return -EINVAL;
}

static int open_driver(bool must, char *why, size_t nwhy)
{
        struct cufile_props props = {0};

        /* what has no direct way then fails, instead of being measured in its place */
        if (must && setenv("CUFILE_ALLOW_COMPAT_MODE", "false", 1))
                return -errno;
        struct cufile_error e = api.DriverOpen();
        if (e.err) {
                snprintf(why, nwhy, "cuFile does not open its driver (error %d): see gdscheck -p%s",
                         e.err, must ? ", or give disk.gds=auto for compatibility mode" : "");
                return -EOPNOTSUPP;
        }
        e = api.DriverGetProperties(&props);
        bool compat = props.nvfs.control & ALLOW_COMPAT;
        if (e.err || (must && compat)) {
                api.DriverClose();
                snprintf(why, nwhy,
                         "cuFile may take its compatibility mode, through the host's memory: set "
                         "allow_compat_mode to false in cufile.json, or give disk.gds=auto");
                return -EOPNOTSUPP;
        }
        gds.mode = !compat ? GDS_DIRECT : props.nvfs.status ? GDS_EITHER : GDS_COMPATIBLE;
        snprintf(gds.says, sizeof gds.says, "cuFile, nvidia-fs %u.%u%s", props.nvfs.major,
                 props.nvfs.minor,
                 gds.mode == GDS_EITHER ? ": the file system decides, and cuFile does not tell"
                                        : "");
        return 0;
}

int gds_use(const struct keys *k, char *why, size_t nwhy)
{
        const bool must = k->disk_gds == DISK_GDS_ON;

        gds.mode = GDS_OFF;
        gds.says[0] = 0;
        if (k->disk_gds == DISK_GDS_OFF)
                return 0;
        int err = check_keys(k, must, gds.says, sizeof gds.says);
        if (!err)
                err = load(gds.says, sizeof gds.says);
        if (!err)
                err = open_driver(must, gds.says, sizeof gds.says);
        if (!err || !must)
                return 0;
        snprintf(why, nwhy, "disk.gds=on: %s", gds.says);
        return err;
}

void gds_drop(void)
{
        if (gds.mode != GDS_OFF)
                api.DriverClose();
        gds.mode = GDS_OFF;
}

enum gds_mode gds_mode(const char **says)
{
        *says = gds.says;
        return gds.mode;
}

bool gds_pin(const void *mem, size_t n)
{
        return gds.mode != GDS_OFF && !api.BufRegister(mem, n, 0).err;
}

void gds_unpin(const void *mem)
{
        api.BufDeregister(mem);
}

/* All of one step, which cuFile may do in several. */
static int move_step(void *handle, const struct io_data *d, const struct io_step *s, bool load,
                     char *why, size_t nwhy)
{
        for (uint64_t done = 0; done < s->len;) {
                const size_t n = (size_t)(s->len - done);
                const off_t from = (off_t)(s->from + done), off = (off_t)(s->off + done);
                ssize_t got = load ? api.Read(handle, d->device, n, from, off)
                                   : api.Write(handle, d->device, n, from, off);
                if (got == -1 && errno == EINTR)
                        continue;
                if (got == -1)
                        return -errno;
                if (got < -OPERATION_FIRST)
                        snprintf(why, nwhy, "cuFile error %zd", -got);
                if (got <= 0)
                        return got ? -EIO : load ? -ENODATA : -EIO;
                done += (uint64_t)got;
        }
        progress_add(s->len);
        return 0;
}

int gds_move(int fd, const struct io_data *d, bool load, char *why, size_t nwhy)
{
        struct cufile_descr descr = {.type = HANDLE_FD, .handle.fd = fd};
        struct io_step s = {0};
        void *handle = NULL;
        int flags = fcntl(fd, F_GETFL);

        *why = 0;
        /* a file system that does not know O_DIRECT has no direct way either */
        if (flags < 0 || (fcntl(fd, F_SETFL, flags | O_DIRECT) && gds.mode == GDS_DIRECT)) {
                snprintf(why, nwhy,
                         "no O_DIRECT: give a file system that has it, or disk.gds=auto");
                return -EIO;
        }
        int err = dev_get()->wait(); /* of what is queued; and this thread now has the device */
        if (err)
                return err;
        struct cufile_error e = api.HandleRegister(&handle, &descr);
        if (e.err) {
                snprintf(why, nwhy,
                         "cuFile does not take the file (error %d): give a file system that "
                         "GPUDirect "
                         "Storage supports, or disk.gds=off",
                         e.err);
                return -EIO;
        }
        while (!err && io_next(d, STEP, &s))
                err = signal_came() ? -ECANCELED : move_step(handle, d, &s, load, why, nwhy);
        api.HandleDeregister(handle);
        return err;
}
