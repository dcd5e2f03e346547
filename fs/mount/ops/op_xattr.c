/* SPDX-License-Identifier: Apache-2.0 */
/* op_xattr.c: user attributes, those that travel with the object and those that tell of it
 * ("user.ckptfs.*", read-only). The latter are in no list: mv, `rsync -X` and `tar --xattrs` copy
 * what is listed, and no mount would take it. Other namespaces are refused without asking anybody:
 * the kernel asks for security.capability all the time. */
#include "mount/ops/op.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "mount/core/stats_log.h"

#include "base/banned.h"

#define USER  "user."
#define OURS  "user.ckptfs."
#define STATS OURS "stats" /* of the mount: any directory tells them, to who asks by name */

static bool is_user(const char *name)
{
        return !strncmp(name, USER, sizeof USER - 1) && name[sizeof USER - 1];
}

/* "user." alone is no name, and EINVAL as on other file systems; other namespaces are none here. */
static int refusal(const char *name)
{
        return strcmp(name, USER) ? EOPNOTSUPP : EINVAL;
}

static bool is_ours(const char *name)
{
        return !strncmp(name, OURS, sizeof OURS - 1);
}

/* As local file systems have it: links and special files carry none for users. */
static bool may_have_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        mode_t mode = mount_mode_locked(m, n);
        return S_ISREG(mode) || S_ISDIR(mode);
}

/* --- what ckptfs tells of a file --- */

/* The parts of the version, from its ETag: 0 unknown. */
static unsigned parts_of(const char *etag)
{
        const char *dash = strrchr(etag, '-');
        unsigned long n = dash ? strtoul(dash + 1, NULL, 10) : 1;
        return n <= STORE_PART_MAX ? (unsigned)n : 0;
}

static const char *const ours[] = {OURS "state", OURS "etag", OURS "checksum", OURS "parts"};

/* The value, or false where there is none. */
static bool ours_locked(const struct node *n, const char *name, char *out, size_t size)
        REQUIRES(tree_mutex)
{
        bool whole = n->etag && *n->etag && !(n->file && wfile_dirty(n->file));

        *out = 0;
        if (n->dir)
                return false;
        if (!strcmp(name, ours[0]))
                snprintf(out, size, "%s",
                         mount_state_word(n->file ? wfile_state(n->file) : WFILE_CLEAN,
                                          n->published));
        else if (!strcmp(name, ours[1]) && whole)
                snprintf(out, size, "%s", n->etag);
        else if (!strcmp(name, ours[2]) && whole && n->has_crc)
                snprintf(out, size, "crc32c:%08" PRIx32, n->crc32c);
        else if (!strcmp(name, ours[3]) && whole && parts_of(n->etag))
                snprintf(out, size, "%u", parts_of(n->etag));
        return *out;
}

/* --- reading --- */

struct xattr_read {
        struct op_ask ask; /* stays the first field */
        fuse_req_t req;
        size_t size;
        char *name; /* NULL: the list */
};

static ssize_t get_stats(struct mount *m, char *buf, size_t size)
{
        CLEANUP(buf_release) struct buf line = BUF_INIT;
        int err = stats_print(m, &line);
        if (err)
                return err;
        if (size && line.len > size)
                return -ERANGE;
        if (size)
                memcpy(buf, line.p, line.len);
        return (ssize_t)line.len;
}

static ssize_t get_locked(struct mount *m, struct node *n, const char *name, char *buf, size_t size)
        REQUIRES(tree_mutex)
{
        char text[STORE_ETAG_MAX + 16];
        if (!is_ours(name))
                return may_have_locked(m, n) ? attr_user_get(&n->attr, name, buf, size) : -ENODATA;
        if (!ours_locked(n, name, text, sizeof text))
                return -ENODATA;
        size_t len = strlen(text);
        if (size && len > size)
                return -ERANGE;
        if (size)
                memcpy(buf, text, len);
        return (ssize_t)len;
}

static void read_now(struct op_ask *ask, int err)
{
        struct xattr_read *x = (struct xattr_read *)ask;
        struct mount *m = ask->m;
        CLEANUP(freep) char *buf = x->size ? malloc(x->size) : NULL;
        ssize_t n = err;

        if (!n && x->size && !buf)
                n = -ENOMEM;
        if (!n) {
                tree_lock(m->tree);
                bool stats = x->name && ask->n->dir && !strcmp(x->name, STATS);
                if (x->name && !stats)
                        n = get_locked(m, ask->n, x->name, buf, x->size);
                else if (!stats)
                        n = attr_user_list(&ask->n->attr, buf, x->size);
                tree_unlock(m->tree);
                if (stats)
                        n = get_stats(m, buf, x->size);
        }
        if (n < 0)
                fuse_reply_err(x->req, (int)-n);
        else if (x->size)
                fuse_reply_buf(x->req, buf, (size_t)n);
        else
                fuse_reply_xattr(x->req, (size_t)n);
        free(x->name);
        free(x);
}

/* `head`: the version and its checksum are asked for too. */
static void read_xattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
        struct mount *m = op_mount(req);
        struct xattr_read *x = calloc(1, sizeof *x);

        if (!x || (name && !(x->name = strdup(name)))) {
                free(x);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        x->req = req;
        x->size = size < XATTR_SIZE_MAX ? size : XATTR_SIZE_MAX;
        x->ask = (struct op_ask){.m = m, .n = op_node(m, ino), .done = read_now, .waits = true};
        tree_lock(m->tree);
        struct node *n = x->ask.n;
        bool fresh = n->attr_known && (tree_fresh_locked(n) || n->dir || n->file);
        if (fresh && name && is_ours(name) && !n->complete && !n->file && !n->dir)
                fresh = false;
        tree_unlock(m->tree);
        if (fresh)
                read_now(&x->ask, 0);
        else
                op_ask(&x->ask);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
        if (!is_user(name))
                fuse_reply_err(req, refusal(name));
        else
                read_xattr(req, ino, name, size);
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
        read_xattr(req, ino, NULL, size);
}

/* --- changing --- */

struct xattr_edit {
        struct op_edit edit; /* stays the first field */
        char *name;
        void *value; /* NULL: it goes */
        size_t size;
        int flags;
};

static int apply_xattr(struct op_edit *e, struct attr *a)
{
        const struct xattr_edit *x = (const struct xattr_edit *)e;

        tree_is_locked(e->m->tree);
        if (!may_have_locked(e->m, e->n))
                return -EPERM;
        return x->value ? attr_user_set(a, x->name, x->value, x->size, x->flags)
                        : attr_user_remove(a, x->name);
}

static void xattr_reply(struct op_edit *e, int err)
{
        struct xattr_edit *x = (struct xattr_edit *)e;
        fuse_reply_err(e->req, -err);
        free(x->name);
        free(x->value);
        free(x);
}

static void edit_xattr(fuse_req_t req, fuse_ino_t ino, const char *name, const void *value,
                       size_t size, int flags)
{
        struct mount *m = op_mount(req);

        if (!is_user(name) || is_ours(name)) {
                fuse_reply_err(req, is_user(name) ? EPERM : refusal(name));
                return;
        }
        struct xattr_edit *x = calloc(1, sizeof *x);
        if (x) {
                x->name = strdup(name);
                x->value = value ? malloc(size + 1) : NULL;
        }
        if (!x || !x->name || (value && !x->value)) {
                if (x) {
                        free(x->name);
                        free(x->value);
                }
                free(x);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        if (value)
                memcpy(x->value, value, size);
        x->size = size;
        x->flags = flags;
        x->edit = (struct op_edit){.req = req,
                                   .m = m,
                                   .n = op_node(m, ino),
                                   .apply = apply_xattr,
                                   .reply = xattr_reply};
        op_edit(&x->edit);
}

void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
                 int flags)
{
        edit_xattr(req, ino, name, size ? value : "", size, flags);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
        edit_xattr(req, ino, name, NULL, 0, 0);
}
