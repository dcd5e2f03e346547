/* SPDX-License-Identifier: Apache-2.0 */
/* live.h: mounts that run, asked by their sockets (base/control/control_proto.h). */
#ifndef CKPTFS_CTL_LIVE_H
#define CKPTFS_CTL_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reply, cut into fields; freed by live_reply_release(). */
struct live_line {
        char *v[9]; /* "" behind the last */
        size_t n;
};
struct live_reply {
        char *text;
        struct live_line *lines;
        size_t n;
};
void live_reply_release(struct live_reply *r);
/* The second field of the first line that begins with `name`; "" when there is none. */
const char *live_field(const struct live_reply *r, const char *name);
uint64_t live_number(const struct live_reply *r, const char *name);

/* Asks the daemon behind the socket. 0, or a negative errno with one line in `why`: -ECONNREFUSED
 * nobody listens, -EACCES it is another user's, -ETIMEDOUT. Blocks for some seconds at most. */
int live_ask(const char *socket, const char *request, struct live_reply *out, char *why,
             size_t nwhy);

/* The mounts of this host that this user may ask; of root, of every user. */
struct live_mount {
        char *socket;
        char *user;              /* of another user's: their number; else NULL */
        struct live_reply about; /* its reply to "mount" */
};
struct live_mounts {
        struct live_mount *v;
        size_t n, room;
};
/* `dir`: only those with a socket there, unless that is empty. 0 or -ENOMEM. */
int live_mounts_get(const char *dir, struct live_mounts *out);
/* Whether another user's process says that it serves what the kernel knows as somebody else's. */
bool live_is_refuted(const struct live_mount *m);
void live_mounts_release(struct live_mounts *m);

/* The mount that the command names by a path at or below its mountpoint, or by its URL; without a
 * name, the only one. What another user's process says is believed only of mounts that the kernel
 * knows as that user's. NULL after a line on standard error. */
struct ctl;
const struct live_mount *live_find(const struct ctl *c, const struct live_mounts *m);
/* The same, to be asked again and again. 0, or -1 after a line on standard error. */
struct live_target {
        char *socket, *mountpoint;
        char *user; /* of struct live_mount */
};
int live_target_find(const struct ctl *c, struct live_target *out);
void live_target_release(struct live_target *t);
int live_target_ask(const struct live_target *t, const char *request, struct live_reply *out);
/* Asks the mount that the command means. 0, or -1 after a line on standard error. */
int live_ask_mount(const struct ctl *c, const char *request, struct live_reply *out);
/* The fields of a line "file", see fs/mount/control/control_reply.c. */
enum {
        FILE_STATE = 1,
        FILE_SIZE,
        FILE_SENT,
        FILE_CHANGED,
        FILE_SENDING,
        FILE_RATE,
        FILE_ERROR,
        FILE_KEY
};
enum { LIVE_BYTES_MAX = 32 };
/* "1.5 GiB" */
const char *live_bytes(double n, char out[LIVE_BYTES_MAX]);

/* Of a clock that nobody sets. */
int64_t live_now_ms(void);

/* A mount of ckptfs that the kernel knows. */
struct live_kernel_mount {
        const char *url, *mountpoint, *device;
        const char *user; /* who mounted, as a number */
};
/* Calls each() for every one of them. */
void live_each_kernel_mount(void (*each)(void *arg, const struct live_kernel_mount *k), void *arg);
/* Whether the daemon that is described serves it. One that was detached has left its mountpoint to
 * others. */
bool live_serves(const struct live_reply *about, const struct live_kernel_mount *k);

#endif
