/* SPDX-License-Identifier: Apache-2.0 */
/* op.h: what the kernel asks for. Each handler replies exactly once on every path, then or later,
 * and never blocks on the network: requests to the store end in callbacks that reply. */
#ifndef CKPTFS_MOUNT_OP_H
#define CKPTFS_MOUNT_OP_H

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "base/container_of.h"
#include "base/mutex.h"
#include "mount/rename/attr_sync.h"
#include "mount/core/mount.h"
#include "mount/rename/name_lock.h"
#include "mount/ops/op_interrupt.h"

/* op_lookup.c: names */
void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);

/* op_getattr.c: what the kernel knows, and attributes */
void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n);
void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *v);
void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_statfs(fuse_req_t req, fuse_ino_t ino);

/* op_setattr.c: changes of attributes */
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which,
                struct fuse_file_info *fi);

/* op_xattr.c: user attributes */
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
                 int flags);
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

/* op_link.c: symbolic links and special files */
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname);
void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name);
void op_readlink(fuse_req_t req, fuse_ino_t ino);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);

/* Whether the caller's own lookup has just told that there is no such name: the mount may remember
 * that from an older one. */
bool op_absent_told_locked(struct mount *m, pid_t tid, const struct node *dir, const char *name)
        REQUIRES(tree_mutex);

/* op_name.c: changes of names */
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
               const char *newname, unsigned flags);
/* op_dir.c: listing */
void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* Ends the directories that the kernel will not release any more: no request is taken. */
void op_release_dirs(struct mount *m);
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/* op_open.c: open files */
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               struct fuse_file_info *fi);
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* op_data.c: their bytes */
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
                  struct fuse_file_info *fi);
/* The requests of this thread come in this buffer of the pool, which the caller keeps for as long;
 * who needs it longer takes a reference. */
void op_received_in(struct pool_buf *buf);

/* op_flush.c: when they are published */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/* op_copy_range.c */
void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
                        struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
                        struct fuse_file_info *fi_out, size_t len, int flags);

/* --- between the op files --- */

/* The kernel's FMODE_EXEC, which it hands on among the flags of an open. Such a handle is open for
 * as long as the program runs. */
enum { OPENED_TO_EXECUTE = 0x20 };

enum read_way { READS_NOT, READS_CACHED, READS_PAST };

/* An open file, in the list of its mount, which the tree's lock guards. */
struct handle {
        atomic_uint refs;      /* one while it is open, and of each request that waits */
        struct list_item item; /* of those that are open */
        struct node *node;     /* pinned, until the last reference */
        struct node *shown;    /* pinned: the kernel's, when that has given way to `node` */
        bool reads;
        bool runs;         /* a program: counted in the node that the kernel knows */
        bool direct;       /* past the page cache: the kernel leaves each write of O_SYNC to us */
        bool unseen;       /* only reads, but has made or emptied the file; see fd_owners.h */
        pid_t opener;      /* the process, when it may write, else 0 */
        atomic_bool got;   /* some process got a descriptor: it has asked something by it */
        enum read_way way; /* what it reads by; see op_read_cache.c, as for */
        char program[16];  /* what opened it, "" unknown or of no interest, and */
        atomic_uint watched, small; /* reads that were looked at, and those of small blocks */
        unsigned turn;      /* of the node, when the kernel drops the pages it had before; or 0 */
        struct wfile *file; /* one reference, when it was opened for writing; else NULL */
        struct wfile_user user;
        struct fd_owners *fd_owners; /* the node's, when writable, else NULL */
};

/* It is whole: from here on the end of the mount may end it. The tree is locked. */
void handle_list_locked(struct mount *m, struct handle *h) REQUIRES(tree_mutex);
/* Takes it out of the list, whose reference is the caller's then. False when the end of the mount
 * has closed it before. */
bool handle_unlist(struct mount *m, struct handle *h);
struct handle *handle_ref(struct handle *h);
/* With the last, its node is let go of, too. The tree is not locked. */
void handle_unref(struct mount *m, struct handle *h);
/* The file that it writes, with a reference: NULL when the kernel has closed it since, as it does
 * where whoever waited was killed. */
struct wfile *handle_file(struct mount *m, const struct handle *h);
/* Thread `tid` has written by the handle, which the end of the mount may have closed meanwhile. */
void handle_wrote(struct mount *m, struct handle *h, pid_t tid);

static inline struct mount *op_mount(fuse_req_t req)
{
        return fuse_req_userdata(req);
}

/* The handle of a request by a descriptor. */
static inline struct handle *op_handle(const struct fuse_file_info *fi)
{
        struct handle *h = (struct handle *)(uintptr_t)fi->fh;

        if (!atomic_load_explicit(&h->got, memory_order_relaxed))
                atomic_store_explicit(&h->got, true, memory_order_relaxed);
        return h;
}

/* op_flush.c: replies when all that the file has is published, to a write of so many bytes, or to
 * an fsync if that is 0. */
void op_sync_file(fuse_req_t req, struct handle *h, struct wfile *f, size_t written);

/* Ends the files that the kernel will not release any more, since the mount ends. */
void op_release_all(struct mount *m);

struct node *op_node(struct mount *m, fuse_ino_t ino);
fuse_ino_t op_ino(struct mount *m, const struct node *n);

/* Whether the node may be shown without asking the store. The tree is locked. */
bool op_known_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex);

/* Fills an entry for a node whose reference it takes over. The tree is locked. */
void op_entry_locked(struct mount *m, struct node *n, struct fuse_entry_param *e)
        REQUIRES(tree_mutex);
/* Enters what was made by that name, for the reply. 0 or -ENOMEM. */
int op_enter_made(struct mount *m, struct node *dir, const char *name, const struct node_info *info,
                  struct fuse_entry_param *e);
/* What was to be made by that name failed, and may be there all the same: the store is asked. */
void op_note_unmade(struct mount *m, struct node *dir, const char *name);
/* Replies it; the reference goes back when nobody takes it. */
void op_reply_entry(fuse_req_t req, struct mount *m, const struct fuse_entry_param *e);

/* Where the handle reads: its node's file, or else its reader, with a reference. 0, -ENOMEM, -EINTR
 * after its end (who reads was killed), or -EAGAIN: not before who has an exclusive lock on the
 * node drops it. */
int op_source(struct mount *m, const struct handle *h, struct wfile **f, struct reader **r);

/* op_read_cache.c: which handles read past the kernel's page cache (option read_cache).
 * The program that opens, as the handle will know it: looks at /proc, before the tree is locked. */
void read_cache_opener(const struct mount *m, struct handle *h, pid_t tid);

/* Decides for a handle that reads, flags being those of its open; `anew`: the open makes the file,
 * or empties it. Call once, when the handle is sure to be. */
bool read_cache_bypass_locked(struct mount *m, struct node *n, struct handle *h, int flags,
                              bool anew) REQUIRES(tree_mutex);
/* The handle, if it was decided about, is open no more. */
void read_cache_end_locked(const struct mount *m, struct node *n, const struct handle *h)
        REQUIRES(tree_mutex);

/* Whether what is read by the handle, and not for the page cache, stays for who reads it next. */
bool read_cache_stays(const struct handle *h);

/* The kernel reads [off, off+size) by the handle: for its page cache, or else because a program
 * does. */
void read_cache_note(struct mount *m, struct handle *h, uint64_t off, size_t size, bool paged);

/* op_truncate.c: makes the file `size` bytes long, by the handle in `fi` or by name when that is
 * NULL; replies with the attributes. */
void op_set_size(fuse_req_t req, struct request *request, struct mount *m, struct node *n,
                 uint64_t size, struct fuse_file_info *fi);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
                  struct fuse_file_info *fi);

/* What a store's object says, as the tree takes it. */
static inline struct node_info op_info(const struct store_object *obj)
{
        return mount_info(obj);
}

/* Replies the attributes of a node as they are now. */
void op_reply_attr(fuse_req_t req, struct mount *m, struct node *n);

/* Asks the store for the node's attributes (and, of a file, its version): done() runs once, with
 * the errno and the node up to date. `ask` is filled by the caller up to the line and stays until
 * then. */
struct op_ask {
        struct mount *m;
        struct node *n;
        void (*done)(struct op_ask *a, int err);
        bool waits;         /* the caller has no lock: for the end of a rename, if need be */
        bool looks;         /* the caller is content with another version: for who stats */
        struct waiter idle; /* the rest is op_ask()'s */
        struct name_lock lock;
        struct waiter passed;
        uint64_t place; /* of the node, when the store was asked */
        bool version, again;
        unsigned asked; /* how often, for a version */
        int64_t begun;
};
/* Changes of attributes in a row that are waited for: by who opens, and by who only looks, and is
 * told what the mount knows if there are more. */
enum { OP_ASK_MOST = 100, OP_LOOK_MOST = 3 };
void op_ask(struct op_ask *a);

/* The same for who is to see what others have published, once no change of attributes is on its way
 * from here: -ESTALE when the version is not the node's, so that the kernel looks the name up anew
 * and opens again. */
void op_ask_version(struct op_ask *a);
/* Whether an open need not ask. The tree is locked. */
bool op_open_known_locked(const struct mount *m, const struct node *n, int flags)
        REQUIRES(tree_mutex);

/* Whether another host or a failed rename has replaced the node, so that a change of what has the
 * name must not go to it: -ESTALE has the kernel look the name up anew. What is written, or
 * was deleted here, is changed all the same. The tree is locked. */
bool op_is_replaced_locked(const struct node *n) REQUIRES(tree_mutex);

/* A change of attributes, from request to reply. */
struct op_edit {
        struct waiter wait;
        struct op_ask ask;
        fuse_req_t req;
        struct request *request;
        struct mount *m;
        struct node *n;
        /* Changes *a, with the tree locked: 0, 1 when an object need not hear of it, or -errno.
         * Runs again when the object turned out to be another. */
        int (*apply)(struct op_edit *e, struct attr *a);
        void (*reply)(struct op_edit *e, int err); /* the last thing done with it: frees it */
        struct name_lock lock;                     /* the rest is op_edit()'s */
        struct attr before;
        unsigned tries;
};
void op_edit(struct op_edit *e);

#endif
