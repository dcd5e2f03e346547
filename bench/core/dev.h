/* SPDX-License-Identifier: Apache-2.0 */
/* dev.h: memory where shards live when that is not the host's.
 *
 * A device is one table. What is *queued* happens in the order in which its thread asked for it,
 * and is done when wait() of the same thread returned; other threads see it after that. Everything
 * is thread-safe but open, close, check and found, which are the main thread's.
 *
 * Errors are negative errnos: -ENOMEM, and -EIO after one line on standard error (dev_fail()). */
#ifndef CKPTFS_BENCH_DEV_H
#define CKPTFS_BENCH_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DEV_ID_MAX = 64 };
#define DEV_NOTHING UINT64_MAX /* found(): no byte was wrong */

struct dev_ops { /* no slot is NULL */
        const char *name;
        /* Takes one of this machine's devices: rank `local` of the machine takes the one of that
         * number, counted in a circle. 0, or -ENODEV with one line in `why`. Blocks. */
        int (*open)(unsigned local, char *why, size_t nwhy);
        void (*close)(void);
        void (*describe)(char *out, size_t n); /* device and driver, in words */
        void (*id)(char out[DEV_ID_MAX]);      /* the same for ranks of one machine that share it */
        uint64_t (*room)(void);                /* free bytes */
        /* Memory of the device, on 256 bytes. release(NULL) is fine. */
        int (*alloc)(size_t n, void **out);
        void (*release)(void *mem);
        /* Makes host memory such that copies to and from it run beside others; undone before the
         * memory is unmapped or freed. */
        int (*pin)(void *host, size_t n);
        void (*unpin)(void *host);
        /* Queued: bytes [at, at + n) of the pattern with this base (pattern_word.h). */
        int (*fill)(void *mem, uint64_t base, uint64_t at, uint64_t n);
        /* Queued: compares with them; the first that differs counts as tag + its place in mem. */
        int (*check)(const void *mem, uint64_t base, uint64_t at, uint64_t n, uint64_t tag);
        /* Waits. The least of what all checks since the last call found, or DEV_NOTHING. */
        int (*found)(uint64_t *first);
        int (*wipe)(void *mem, int byte, size_t n);        /* queued */
        int (*get)(void *host, const void *mem, size_t n); /* queued; from the device */
        int (*put)(void *mem, const void *host, size_t n); /* queued; to the device */
        int (*wait)(void);                                 /* blocks, without spinning */
        /* n rounds of work as training does it (matrices are multiplied); waits. */
        int (*work)(uint64_t n);
        /* A queue for a library that wants one (a cudaStream_t); what makes it wait for all that
         * this thread has queued until now, or for an event (a cudaEvent_t) of another; and whether
         * it is empty: 0, -EAGAIN while it is not, or another error. */
        void *(*stream)(void);
        int (*stream_after)(void);
        int (*stream_behind)(void *event);
        int (*stream_idle)(void);
};

extern const struct dev_ops dev_emulated; /* host memory behind this interface, for tests */
#ifdef HAVE_CUDA
extern const struct dev_ops dev_cuda;
#endif

/* One line on standard error, the first of a process only: "ckptbench: what: text". -EIO. */
int dev_fail(const char *what, const char *text);

struct keys;
/* Opens what the device key of a job asks for, in this rank; `local` is its number among those of
 * its machine, each of which has train.devices of them. 0, also when auto was given and there is
 * none: then `why` says what stood in the way, or is "". Else -EOPNOTSUPP, -ENODEV or -EINVAL with
 * one line in `why`. End with dev_drop(). Blocks. */
int dev_use(const struct keys *k, unsigned local, char *why, size_t nwhy);
void dev_drop(void);
/* The device of this job; NULL: shards live in the host's memory. */
const struct dev_ops *dev_get(void);
/* Whether the shards of such a job live on a device: on the one in use, or, before dev_use(), on
 * one that the job asks for or takes if it is there. */
bool dev_may_hold(const struct keys *k);
/* From here on NULL, if nobody insisted on a device: it has no room. Whether that is so. */
bool dev_leave(void);

/* Locks host memory: for the device's copies, or by mlock() where there is none. 0 or a negative
 * errno. Undo before it is unmapped. */
int dev_pin(void *host, size_t n);
void dev_unpin(void *host, size_t n);

/* n bytes of host memory on IO_ALIGN, through which bytes pass between a shard and a storage:
 * pinned while a device is in use, unless device.staging=pageable. NULL: no memory. Give back with
 * the same n while the same device is in use. */
char *dev_buffer(size_t n);
void dev_buffer_free(char *p, size_t n);
/* Whether p lies in memory that dev_buffer() or dev_pin() made such for the device. Thread-safe. */
bool dev_pinned(const void *p);

#ifdef __cplusplus
}
#endif

#endif
