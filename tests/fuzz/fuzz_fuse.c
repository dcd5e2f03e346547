/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fuse.c: any order of requests of the kernel, on a whole mount with a small store behind it.
 *
 * The target plays the kernel: it keeps to what a kernel guarantees (it names nodes and handles
 * that it was given, forgets and releases each), and the input chooses everything else. Each byte
 * is an operation and the bytes behind it its arguments. A request without a reply is a hang. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mount/core/mount.h"
#include "mount/daemon/mount_life.h"
#include "mount/daemon/session.h"
#include "tests/fuzz/fake_s3.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

enum { NODES = 12, HANDLES = 6, OPS_MAX = 64, DATA = 1 << 16, PATIENCE_MS = 15000 };

struct known_node {
        uint64_t id, lookups; /* id 0: none */
        bool dir;
};
struct known_handle {
        uint64_t fh, node;
        bool open, dir;
};

static struct kernel {
        int fd;
        uint64_t unique;
        struct known_node nodes[NODES]; /* the first is the root */
        struct known_handle handles[HANDLES];
        const uint8_t *p; /* what is left of the input */
        size_t n;
        char reply[DATA + 4096];
        size_t len; /* of the reply's body, behind its header */
} k;

static unsigned byte(void)
{
        if (!k.n)
                return 0;
        k.n--;
        return *k.p++;
}

static const char *name(void)
{
        static const char *const names[] = {"a",   "b",        "dir",     "e",
                                            "a b", "\xc3\xbc", ".ckptfs", "x.tmp"};
        return names[byte() % (sizeof names / sizeof *names)];
}

static struct known_node *node(bool dir)
{
        unsigned from = byte();

        for (unsigned i = 0; i < NODES; i++) {
                struct known_node *n = &k.nodes[(from + i) % NODES];
                if (n->id && n->dir == dir)
                        return n;
        }
        return dir ? &k.nodes[0] : NULL;
}

static struct known_handle *handle(bool dir)
{
        unsigned from = byte();

        for (unsigned i = 0; i < HANDLES; i++) {
                struct known_handle *h = &k.handles[(from + i) % HANDLES];
                if (h->open && h->dir == dir)
                        return h;
        }
        return NULL;
}

static struct known_handle *free_handle(void)
{
        for (unsigned i = 0; i < HANDLES; i++)
                if (!k.handles[i].open)
                        return &k.handles[i];
        return NULL;
}

/* Sends a request of up to three pieces. */
static uint64_t ask(uint32_t opcode, uint64_t id, const void *in, size_t nin, const void *a,
                    size_t na, const void *b, size_t nb)
{
        struct fuse_in_header h = {
                .len = (uint32_t)(sizeof h + nin + na + nb),
                .opcode = opcode,
                .unique = k.unique += 2,
                .nodeid = id,
                .pid = (uint32_t)getpid(),
        };
        struct iovec v[] = {{&h, sizeof h}, {(void *)in, nin}, {(void *)a, na}, {(void *)b, nb}};

        if (writev(k.fd, v, 4) != (ssize_t)h.len)
                abort();
        return h.unique;
}

/* Waits for the reply to that request; what the mount tells the kernel by itself is passed over. 0
 * or a negative errno. */
static int reply(uint64_t unique)
{
        struct pollfd p = {.fd = k.fd, .events = POLLIN};
        struct fuse_out_header h;

        do {
                struct iovec v[] = {{&h, sizeof h}, {k.reply, sizeof k.reply}};
                int ready;
                while ((ready = poll(&p, 1, PATIENCE_MS)) < 0 && errno == EINTR)
                        ; /* libFuzzer has a timer */
                if (ready != 1)
                        abort(); /* no reply */
                ssize_t n = readv(k.fd, v, 2);
                if (n < (ssize_t)sizeof h || (uint32_t)n != h.len)
                        abort();
                k.len = (size_t)n - sizeof h;
        } while (!h.unique);
        if (h.unique != unique || h.error > 0 || h.error < -4095)
                abort();
        return h.error;
}

static int call(uint32_t opcode, uint64_t id, const void *in, size_t nin, const void *a, size_t na)
{
        return reply(ask(opcode, id, in, nin, a, na, NULL, 0));
}

static int call_name(uint32_t opcode, uint64_t id, const void *in, size_t nin)
{
        const char *s = name();
        return call(opcode, id, in, nin, s, strlen(s) + 1);
}

/* A reply that begins with an entry was had: the kernel knows a node more. */
static uint64_t learn(void)
{
        const struct fuse_entry_out *e = (const struct fuse_entry_out *)k.reply;
        struct known_node *room = NULL;

        if (k.len < sizeof *e)
                abort();
        if (!e->nodeid)
                return 0; /* there is none, and the kernel may remember that */
        for (unsigned i = 0; i < NODES; i++) {
                if (k.nodes[i].id == e->nodeid) {
                        k.nodes[i].lookups++;
                        return e->nodeid;
                }
                if (!room && !k.nodes[i].id)
                        room = &k.nodes[i];
        }
        if (!room) { /* forgotten at once */
                const struct fuse_forget_in in = {.nlookup = 1};
                ask(FUSE_FORGET, e->nodeid, &in, sizeof in, NULL, 0, NULL, 0);
                return 0;
        }
        *room = (struct known_node){e->nodeid, 1, S_ISDIR(e->attr.mode)};
        return e->nodeid;
}

static void forget(struct known_node *n)
{
        const struct fuse_forget_in in = {.nlookup = n->lookups};

        for (unsigned i = 0; i < HANDLES; i++)
                if (k.handles[i].open && k.handles[i].node == n->id)
                        return;
        ask(FUSE_FORGET, n->id, &in, sizeof in, NULL, 0, NULL, 0);
        n->id = 0;
}

/* --- operations --- */

static void op_lookup(void)
{
        uint64_t dir = node(true)->id;

        if (!call_name(FUSE_LOOKUP, dir, NULL, 0))
                learn();
}

static const uint32_t open_flags[] = {O_RDONLY,           O_WRONLY,         O_RDWR,
                                      O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC, O_WRONLY | O_APPEND,
                                      O_RDWR | O_APPEND};

static uint32_t flags(void)
{
        return open_flags[byte() % (sizeof open_flags / sizeof *open_flags)];
}

static void op_create(void)
{
        struct known_handle *h = free_handle();
        const struct fuse_create_in in = {.flags = O_CREAT | flags(), .mode = S_IFREG | 0644};
        uint64_t dir = node(true)->id;

        if (!h || call_name(FUSE_CREATE, dir, &in, sizeof in))
                return;
        const struct fuse_entry_out *e = (const struct fuse_entry_out *)k.reply;
        const struct fuse_open_out *o = (const struct fuse_open_out *)(e + 1);
        *h = (struct known_handle){o->fh, e->nodeid, true, false};
        if (!learn()) { /* no room: closed at once */
                const struct fuse_release_in r = {.fh = h->fh};
                h->open = false;
                call(FUSE_RELEASE, h->node, &r, sizeof r, NULL, 0);
        }
}

static void op_open(void)
{
        struct known_handle *h = free_handle();
        struct known_node *n = node(false);
        const struct fuse_open_in in = {.flags = flags()};

        if (h && n && !call(FUSE_OPEN, n->id, &in, sizeof in, NULL, 0))
                *h = (struct known_handle){((struct fuse_open_out *)k.reply)->fh, n->id, true,
                                           false};
}

/* Around the sizes where something begins: pages, small files, parts. */
static uint64_t offset(void)
{
        static const uint64_t v[] = {0, 1, 4095, 4096, 65536, 1 << 20, 5 << 20, 16 << 20, 17 << 20};
        return v[byte() % (sizeof v / sizeof *v)] + byte() % 3;
}

static uint32_t length(void)
{
        static const uint32_t v[] = {1, 100, 4096, 8192, 65536};
        return v[byte() % (sizeof v / sizeof *v)];
}

static void op_read(void)
{
        struct known_handle *h = handle(false);
        struct fuse_read_in in = {.offset = offset(), .size = length()};

        if (!h)
                return;
        in.fh = h->fh;
        if (!call(FUSE_READ, h->node, &in, sizeof in, NULL, 0) && k.len > in.size)
                abort();
}

static void op_write(void)
{
        static const char data[DATA];
        struct known_handle *h = handle(false);
        struct fuse_write_in in = {.offset = offset(), .size = length()};

        if (!h)
                return;
        in.fh = h->fh;
        if (!call(FUSE_WRITE, h->node, &in, sizeof in, data, in.size) &&
            ((struct fuse_write_out *)k.reply)->size > in.size)
                abort();
}

static void op_flush(void)
{
        struct known_handle *h = handle(false);
        const struct fuse_flush_in in = {.fh = h ? h->fh : 0};

        if (h)
                call(FUSE_FLUSH, h->node, &in, sizeof in, NULL, 0);
}

static void op_fsync(void)
{
        struct known_handle *h = handle(false);
        const struct fuse_fsync_in in = {.fh = h ? h->fh : 0};

        if (h)
                call(FUSE_FSYNC, h->node, &in, sizeof in, NULL, 0);
}

static void release(struct known_handle *h)
{
        const struct fuse_release_in in = {.fh = h->fh};

        h->open = false;
        call(h->dir ? FUSE_RELEASEDIR : FUSE_RELEASE, h->node, &in, sizeof in, NULL, 0);
}

static void op_close(void)
{
        struct known_handle *h = handle(false);
        const struct fuse_flush_in in = {.fh = h ? h->fh : 0};

        if (!h)
                return;
        call(FUSE_FLUSH, h->node, &in, sizeof in, NULL, 0);
        release(h);
}

static void op_unlink(void)
{
        uint64_t dir = node(true)->id;
        call_name(FUSE_UNLINK, dir, NULL, 0);
}

static void op_rmdir(void)
{
        uint64_t dir = node(true)->id;
        call_name(FUSE_RMDIR, dir, NULL, 0);
}

static void op_mkdir(void)
{
        const struct fuse_mkdir_in in = {.mode = 0755};
        uint64_t dir = node(true)->id;

        if (!call_name(FUSE_MKDIR, dir, &in, sizeof in))
                learn();
}

static void op_rename(void)
{
        uint64_t dir = node(true)->id;
        const struct fuse_rename2_in in = {.newdir = node(true)->id, .flags = byte() % 3};
        const char *from = name(), *to = name();

        reply(ask(FUSE_RENAME2, dir, &in, sizeof in, from, strlen(from) + 1, to, strlen(to) + 1));
}

static void op_symlink(void)
{
        uint64_t dir = node(true)->id;
        const char *link = name(), *to = name();

        if (!reply(ask(FUSE_SYMLINK, dir, NULL, 0, link, strlen(link) + 1, to, strlen(to) + 1)))
                learn();
}

static void op_setattr(void)
{
        struct known_node *n = node(byte() % 4 == 0);
        unsigned what = byte();
        const struct fuse_setattr_in in = {
                .valid = (what & 1 ? FATTR_SIZE : 0) | (what & 2 ? FATTR_MODE : 0) |
                         (what & 4 ? FATTR_MTIME : 0) | (what & 8 ? FATTR_UID : 0),
                .size = offset(),
                .mode = 0600,
                .mtime = 1700000000,
        };

        if (n && !(n->dir && what & 1))
                call(FUSE_SETATTR, n->id, &in, sizeof in, NULL, 0);
}

static void op_getattr(void)
{
        struct known_node *n = node(byte() & 1);
        const struct fuse_getattr_in in = {.fh = 0};

        if (n)
                call(FUSE_GETATTR, n->id, &in, sizeof in, NULL, 0);
}

static void op_list(void)
{
        struct known_handle *h = free_handle();
        struct known_node *n = node(true);
        const struct fuse_open_in in = {.flags = O_RDONLY | O_DIRECTORY};
        struct fuse_read_in r = {.size = 4096};

        if (!h || call(FUSE_OPENDIR, n->id, &in, sizeof in, NULL, 0))
                return;
        r.fh = ((struct fuse_open_out *)k.reply)->fh;
        *h = (struct known_handle){r.fh, n->id, true, true};
        call(FUSE_READDIR, n->id, &r, sizeof r, NULL, 0);
        release(h);
}

static void op_setxattr(void)
{
        static const char pair[] = "user.x\0value";
        struct known_node *n = node(false);
        const char in[8] = {5}; /* struct fuse_setxattr_in as it is without FUSE_SETXATTR_EXT */

        if (n)
                call(FUSE_SETXATTR, n->id, in, sizeof in, pair, sizeof pair - 1);
}

static void op_getxattr(void)
{
        static const char *const names[] = {"user.x", "user.ckptfs.etag", "security.capability"};
        struct known_node *n = node(false);
        const struct fuse_getxattr_in in = {.size = 4096};
        const char *s = names[byte() % 3];

        if (n)
                call(FUSE_GETXATTR, n->id, &in, sizeof in, s, strlen(s) + 1);
}

static void op_copy_range(void)
{
        struct known_handle *from = handle(false), *to = handle(false);
        struct fuse_copy_file_range_in in = {
                .off_in = offset(), .off_out = offset(), .len = offset()};

        if (!from || !to)
                return;
        in.fh_in = from->fh;
        in.fh_out = to->fh;
        in.nodeid_out = to->node;
        call(FUSE_COPY_FILE_RANGE, from->node, &in, sizeof in, NULL, 0);
}

static void op_fallocate(void)
{
        struct known_handle *h = handle(false);
        struct fuse_fallocate_in in = {.offset = offset(), .length = length(), .mode = byte() % 4};

        if (!h)
                return;
        in.fh = h->fh;
        call(FUSE_FALLOCATE, h->node, &in, sizeof in, NULL, 0);
}

static void op_forget(void)
{
        struct known_node *n = node(byte() & 1);

        if (n && n != &k.nodes[0])
                forget(n);
}

static void op_refuse(void)
{
        static const int status[] = {403, 404, 412, 400, 0, 409};
        unsigned n = 1 + byte() % 2;

        fake_s3_refuse(n, status[byte() % (sizeof status / sizeof *status)]);
}

static void (*const ops[])(void) = {
        op_lookup,     op_create,    op_open,    op_read,   op_write,    op_flush,
        op_fsync,      op_close,     op_unlink,  op_rmdir,  op_mkdir,    op_rename,
        op_symlink,    op_setattr,   op_getattr, op_list,   op_setxattr, op_getxattr,
        op_copy_range, op_fallocate, op_forget,  op_refuse,
};

/* --- a mount for each input --- */

static void greet(void)
{
        const struct fuse_init_in in = {
                .major = FUSE_KERNEL_VERSION,
                .minor = FUSE_KERNEL_MINOR_VERSION,
                .max_readahead = 1 << 20,
                .flags = FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES |
                         FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_PARALLEL_DIROPS |
                         FUSE_MAX_PAGES,
        };
        ask(FUSE_INIT, 0, &in, sizeof in, NULL, 0, NULL, 0);
}

static struct session *begin(struct mount *m)
{
        const struct store_config cfg = {
                .url = "s3://bucket", .endpoint = FAKE_S3_URL, .region = "us-east-1"};
        struct store *store;
        struct session *s;
        char why[512], path[32];
        int ends[2];

        fake_s3_reset();
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
            store_open(&cfg, &store, why, sizeof why))
                abort();
        memset(k.nodes, 0, sizeof k.nodes);
        memset(k.handles, 0, sizeof k.handles);
        k.fd = ends[0];
        k.nodes[0] = (struct known_node){FUSE_ROOT_ID, 1, true};
        snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
        *m = (struct mount){
                .url = strdup("s3://bucket"), .mountpoint = strdup(path), .handed = ends[1]};
        if (params_init(&m->params) ||
            params_set_list(&m->params, "memory=64M,part_size=5M,deadline=1s,spill_dir=/tmp", why,
                            sizeof why) ||
            mount_init(m, store) || session_new(m, &s, why, sizeof why))
                abort();
        greet();
        if (session_start(s, why, sizeof why) || reply(k.unique))
                abort();
        return s;
}

static void end(struct mount *m, struct session *s)
{
        for (unsigned i = 0; i < HANDLES; i++)
                if (k.handles[i].open)
                        release(&k.handles[i]);
        for (unsigned i = 1; i < NODES; i++)
                if (k.nodes[i].id)
                        forget(&k.nodes[i]);
        mount_finish(m);
        session_stop(s);
        mount_release(m);
        session_free(s);
        close(k.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
        struct mount m;
        struct session *s = begin(&m);

        k.p = p;
        k.n = n;
        for (unsigned i = 0; k.n && i < OPS_MAX; i++)
                ops[byte() % (sizeof ops / sizeof *ops)]();
        end(&m, s);
        return 0;
}
