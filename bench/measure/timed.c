/* SPDX-License-Identifier: Apache-2.0 */
/* timed.c: see timed.h. */
#include "bench/measure/timed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/io/bucket.h"
#include "bench/core/clock.h"
#include "bench/core/copies.h"
#include "bench/core/cpu.h"
#include "bench/core/job_log.h"

#include "base/banned.h"

enum { TIMED_WHAT_MAX = 300 };

struct others {
        double mount, server, kernel;
};

pid_t timed_mount(const struct keys *k)
{
        return k->mount_pid ? (pid_t)k->mount_pid : cpu_find_mount(k->mount_path);
}

void timed_init(struct timed *t, struct coll *c, const struct keys *k, const char *storage)
{
        *t = (struct timed){
                .coll = c,
                .server = (pid_t)k->server_pid,
                .sync = k->fsync || k->sync_files,
        };
        if (!strcmp(storage, "mount") && c->host_rank == 0)
                t->mount = timed_mount(k);
}

/* CPU time of the processes that serve this machine's ranks, and of its kernel; only one rank of it
 * counts them. */
static struct others other_cpu(const struct timed *t)
{
        if (t->coll->host_rank)
                return (struct others){0};
        return (struct others){cpu_process_s(t->mount), cpu_process_s(t->server), cpu_kernel_s()};
}

/* What the storage has counted so far; only one rank of a machine has what is the machine's. */
static bool counted(const struct timed *t, struct io_count *out)
{
        bool host = false;

        *out = (struct io_count){0};
        if (!t->io)
                return bucket_count(&out->sent, &out->received);
        if (t->io->ops->count(t->io, out, &host))
                return false;
        if (host && t->coll->host_rank)
                *out = (struct io_count){0};
        return true;
}

static struct io_count count_since(struct io_count from, struct io_count to)
{
        return (struct io_count){
                .sent = to.sent - from.sent,
                .received = to.received - from.received,
                .written = to.written - from.written,
                .read = to.read - from.read,
        };
}

/* Fills the CPU figures and counters behind the barrier that ends a phase; err is this rank's. */
static int end_phase(const struct timed *t, struct others before, struct io_count from, int err,
                     struct sample *out)
{
        struct io_count to;

        err = coll_agree(t->coll, err);
        struct others after = other_cpu(t);
        out->counted = out->counted && counted(t, &to);
        if (out->counted)
                out->count = count_since(from, to);
        out->cpu_mount = after.mount - before.mount;
        out->cpu_server = after.server - before.server;
        out->cpu_kernel = after.kernel - before.kernel;
        return err;
}

/* The end of a file, of which err says how it went. */
static int end_file(const struct io_ops *ops, struct io_file *f, int err, uint64_t begin,
                    uint64_t mark, struct sample *out)
{
        if (err)
                ops->abandon(f);
        else
                err = ops->close(f);
        out->close = clock_lap(&mark);
        out->total = clock_s(mark - begin);
        return err;
}

int timed_save_file(struct io *io, const char *name, const struct io_data *d, bool sync,
                    struct sample *out)
{
        const struct io_ops *ops = io->ops;
        struct io_file *f = NULL;
        uint64_t mark = clock_ns(), begin = mark;

        int err = ops->create(io, name, d->size, &f);
        out->open = clock_lap(&mark);
        if (!err)
                err = ops->write(f, d);
        out->transfer = clock_lap(&mark);
        if (!err && sync)
                err = ops->sync(f);
        out->sync = clock_lap(&mark);
        return end_file(ops, f, err, begin, mark, out);
}

int timed_load_file(struct io *io, const char *name, const struct io_data *d, struct sample *out)
{
        const struct io_ops *ops = io->ops;
        struct io_file *f = NULL;
        uint64_t mark = clock_ns(), begin = mark;

        int err = ops->open(io, name, &f);
        out->open = clock_lap(&mark);
        if (!err)
                err = ops->read(f, d);
        out->transfer = clock_lap(&mark);
        return end_file(ops, f, err, begin, mark, out);
}

/* What a phase was in this rank, which failed with `own`, or with another rank's `err`; what it was
 * in all stands in the results. */
static void log_phase(const char *what, int own, int err, const struct sample *s)
{
        if (err)
                job_log(JOB_LOG_ERROR, own ? "%s failed: %s" : "%s: another rank failed: %s", what,
                        strerror(-err));
        else
                job_log(JOB_LOG_INFO, "%s: %.4f s, %llu bytes", what, s->total,
                        (unsigned long long)s->bytes);
}

int timed_work(const struct timed *t, const char *what, timed_work_fn *work, void *arg,
               struct sample *out)
{
        struct io_count from;

        *out = (struct sample){.counted = counted(t, &from)};
        struct others before = other_cpu(t);
        int err = t->coll->ops->barrier(t->coll);
        if (err)
                return err;
        struct copies copied = copies_now();
        double cpu = cpu_self_s();
        int own = work(arg, out);
        out->cpu_self = cpu_self_s() - cpu;
        out->copied = copies_since(copied);
        err = end_phase(t, before, from, own, out);
        log_phase(what, own, err, out);
        return err;
}

/* One file of this rank as the work of a phase. */
struct one_file {
        struct io *io;
        const char *name, *what;
        const struct io_data *d;
        timed_fail_fn *fail;
        void *arg;
        bool load, sync;
};

static int work_on_file(void *arg, struct sample *out)
{
        const struct one_file *f = arg;
        out->bytes = f->d->size;
        int err = f->load ? timed_load_file(f->io, f->name, f->d, out)
                          : timed_save_file(f->io, f->name, f->d, f->sync, out);
        if (err)
                f->fail(f->arg, f->what, err);
        return err;
}

int timed_save(const struct timed *t, const char *name, const struct io_data *d, struct sample *out,
               timed_fail_fn *fail, void *arg)
{
        struct one_file f = {t->io, name, "save", d, fail, arg, false, t->sync};
        char what[TIMED_WHAT_MAX];
        snprintf(what, sizeof what, "save of %s", name);
        int err = timed_work(t, what, work_on_file, &f, out);
        if (err)
                t->io->ops->remove(t->io, name);
        return err;
}

int timed_load(const struct timed *t, const char *name, const struct io_data *d, struct sample *out,
               timed_fail_fn *fail, void *arg)
{
        struct one_file f = {t->io, name, "load", d, fail, arg, true, false};
        char what[TIMED_WHAT_MAX];
        snprintf(what, sizeof what, "load of %s", name);
        return timed_work(t, what, work_on_file, &f, out);
}

int timed_check_size(struct io *io, const char *name, uint64_t size)
{
        uint64_t there = 0;
        int err = io->ops->size(io, name, &there);

        if (err || there == size)
                return err;
        snprintf(io->why, sizeof io->why, "%s has %llu bytes where %llu were saved", name,
                 (unsigned long long)there, (unsigned long long)size);
        return -EFBIG;
}

int timed_gather(struct coll *c, const struct sample *mine, size_t epochs, struct sample **out)
{
        CLEANUP(freep) struct sample *all = calloc(epochs * c->ranks, sizeof *all);
        int err = coll_agree(c, all ? 0 : -ENOMEM);

        for (size_t e = 0; e < epochs && !err; e++)
                err = c->ops->gather(c, &mine[e], sizeof *all, &all[e * c->ranks]);
        if (!err)
                *out = TAKE_PTR(all);
        return err;
}

/* Drops the clean pages of the whole machine (Documentation/admin-guide/sysctl/vm.rst). */
int timed_drop_machine(void)
{
        CLEANUP(closep) int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        sync();
        return write(fd, "1", 1) == 1 ? 0 : -errno;
}

/* Collective: file by file. The caches of a store on the same machine stay warm, as they are for
 * storages that are not files. */
static int drop_files(const struct timed *t, const char *name, bool must, timed_fail_fn *fail,
                      void *arg)
{
        int err = t->io->ops->forget(t->io, name);
        if (err && must)
                fail(arg, "drop=file", err);
        return coll_agree(t->coll, err);
}

/* In this rank: the whole of the machine. */
static int drop_machines(const struct timed *t, bool must)
{
        int err = t->coll->host_rank ? 0 : timed_drop_machine();
        if (err && must)
                snprintf(t->io->why, sizeof t->io->why, "/proc/sys/vm/drop_caches: %s: %s",
                         strerror(-err),
                         geteuid() ? "be root, or give drop=file"
                                   : "root may not in this container: give drop=file");
        return err;
}

int timed_drop(const struct timed *t, const char *name, unsigned drop, const char **done,
               timed_fail_fn *fail, void *arg)
{
        int err = 0;

        *done = "none";
        if (drop == DROP_NONE || !(t->io->ops->flags & IO_CACHED))
                return coll_agree(t->coll, 0);
        if (drop != DROP_CACHES) {
                err = drop_files(t, name, drop == DROP_FILE, fail, arg);
                if (!err)
                        *done = "file";
                if (!err || drop == DROP_FILE || err == -ECANCELED)
                        return err;
                job_log(JOB_LOG_WARNING, "the page cache keeps %s: %s", name, strerror(-err));
        }
        err = drop_machines(t, drop == DROP_CACHES);
        if (err && drop == DROP_CACHES)
                fail(arg, "drop=caches", err);
        err = coll_agree(t->coll, err);
        if (err && drop == DROP_CACHES)
                return err;
        if (!err) /* what lies in memory alone, or is mapped, stays */
                err = drop_files(t, name, false, fail, arg);
        if (!err)
                *done = "caches";
        else
                job_log(JOB_LOG_WARNING,
                        "caches are not dropped (%s): what is loaded may come from memory",
                        strerror(-err));
        return err == -ECANCELED ? err : 0;
}
