/* SPDX-License-Identifier: Apache-2.0 */
/* mount.h: what one mount is made of. */
#ifndef CKPTFS_MOUNT_MOUNT_H
#define CKPTFS_MOUNT_MOUNT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/container_of.h"
#include "base/mutex.h"
#include "base/params.h"
#include "base/pool.h"
#include "mount/write/left_upload.h"
#include "mount/write/wfile.h"
#include "mount/read/reader.h"
#include "mount/tree/tree.h"
#include "store.h"

struct stat_prefetch;
struct shutdown_timer;
struct fuse_session;
struct proc_queries;
struct orphans;
struct mem_reclaim;
struct requests;
struct stat;

/* Words of the option on_kill, in the order of params.def. */
enum { ON_KILL_ABORT, ON_KILL_PUBLISH };
/* Of read_cache, listed_attrs, privileges, consistency and hard_links. */
enum { READ_CACHE_AUTO, READ_CACHE_ALWAYS, READ_CACHE_NEVER };
enum { LISTED_ASK, LISTED_ASSUME };
enum { PRIVILEGES_DROP, PRIVILEGES_ALL };
enum { CLOSE_TO_OPEN, STRICT };
enum { HARD_LINKS_REFUSE, HARD_LINKS_COPY };

enum { MOUNT_SENT_BACK = 64, MOUNT_ABSENT = 64, MOUNT_PROGRAMS = 32 };

/* How a program reads; op_read_cache.c's. */
struct mount_trust {
        unsigned row;    /* files in a row that it read in such a way, */
        unsigned needed; /* and how many are needed until it is trusted to do so */
};

struct mount_program {
        char name[16];             /* as /proc has it; "": none */
        struct mount_trust blocks; /* reads in large blocks */
        struct mount_trust once;   /* reads what memory does not hold once, and no other does */
};

struct mount {
        struct mutex options; /* held while a reload changes `params`, or they are told */
        struct params params;
        uint64_t memory_least;        /* what parts were planned for */
        atomic_uint_least64_t memory; /* as `params` has it, for who does without `options` */
        atomic_bool drains; /* nothing is opened for writing any more, by ckptctl's word */
        atomic_bool ends;   /* the same, and for good */
        char *url, *mountpoint;
        int handed; /* the descriptor of /dev/fuse, where somebody else has mounted, or -1 */
        struct store *store;
        struct pool *pool;
        struct spill *spill;
        struct tree *tree;
        struct mem_reclaim *mem_reclaim;
        struct orphans *orphans;
        struct shutdown_timer *shutdown_timer; /* NULL until the mount ends */
        struct fuse_session *session;          /* NULL until it stands */
        struct requests *requests;             /* not answered yet; the session's */
        struct {
                struct waiters waiting;    /* in the order in which they asked */
                unsigned exclusive;        /* locks that are, held or not */
                struct list alone, beside; /* locks of keys, held or waited for */
                uint64_t turns;            /* counts them */
        } names;                           /* see name_lock.h; tree's lock */
        struct {
                struct {
                        pid_t tid;               /* 0: none */
                        uint64_t name;           /* that had gone: its hash */
                        const struct node *told; /* when it looked the name up; only compared */
                } v[MOUNT_SENT_BACK];
                unsigned n, next;
        } sent_back; /* threads, to look a name up anew, see heir.h; tree's lock */
        struct {
                struct {
                        pid_t tid;
                        uint64_t name; /* its hash */
                        int64_t told_ns;
                } v[MOUNT_ABSENT];
                unsigned next;
        } absent; /* names that the store was asked for in vain, and by whom; tree's lock */
        struct {
                struct mount_program v[MOUNT_PROGRAMS];
                unsigned next;
        } programs;                     /* see op_read_cache.c; tree's lock */
        struct stat_prefetch *prefetch; /* names asked for ahead */
        unsigned attr_syncs; /* changes of attributes that are on their way, or wait; tree's lock */
        struct list handles; /* open files, see op.h; tree's lock, as is */
        unsigned nhandles;   /* how many */
        struct list dirs;    /* open directories, see op_dir.c; tree's lock */
        struct proc_queries *proc_queries; /* at closes; from the session's start to its end */
        struct wfile_env wfile_env;
        struct wfile_tally tally;
        struct left_uploads left_uploads;
        struct reader_env reader_env;
        struct version_cache *cache; /* of what was read past the page cache, or NULL, */
        size_t cache_most;           /* and its bytes */
        bool maps_direct;            /* the kernel maps files whose reads bypass the page cache */
        bool rings;                  /* the kernel may send requests by io_uring */
        atomic_uint takers;          /* threads that take requests from /dev/fuse */
        uid_t uid;
        gid_t gid;
        dev_t dev;          /* of the mount, 0 until it stands */
        bool listed;        /* mount_is_listed() when it began */
        int64_t mounted_ns; /* shown as the times of directories */
};

/* Whether the kernel lists the mount in this process's namespace, or in the machine's. One that was
 * and is not any more is detached: it has left its mountpoint, maybe to another, and stays for as
 * long as programs have files open. */
bool mount_is_listed(const struct mount *m);
bool mount_is_detached(const struct mount *m);

static inline bool mount_ends(const struct mount *m)
{
        return atomic_load_explicit(&m->ends, memory_order_relaxed);
}

/* Whether nothing is opened for writing any more. Who asks under the tree's lock, before the file
 * counts as open there, is refused or seen by whoever waits until nobody writes. */
static inline bool mount_drains(const struct mount *m)
{
        return atomic_load_explicit(&m->drains, memory_order_relaxed) || mount_ends(m);
}

/* The time now in whole seconds: as what a store says in its heads, so that times do not go back
 * when it is asked. */
int64_t mount_now_ns(void);

/* What a store says of an object, for the tree; without its attributes. */
struct node_info mount_info(const struct store_object *obj);

/* The mode with its type, as it is shown. The tree is locked. */
mode_t mount_mode_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex);

/* The attributes of a node as they are now. The tree is locked. */
void mount_stat_locked(const struct mount *m, struct node *n, struct stat *st) REQUIRES(tree_mutex);

/* A file's state in a word; `published`: a version of it exists at the store. */
const char *mount_state_word(enum wfile_state state, bool published);

/* How long the kernel may believe the name and attributes of a node, in seconds. The tree is
 * locked. */
double mount_ttl_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex);
/* The same for a name that was not there when the store was asked, and for the attributes of what
 * is made now. */
double mount_absent_ttl(const struct mount *m, int64_t asked_ns);

/* In the root, where the mount keeps what is not a file; no name leads there. */
#define CKPTFS_DIR ".ckptfs"

/* Whether the store can hold a key of that name: 0, -ENAMETOOLONG, -EILSEQ (not UTF-8, or of
 * several lines where keys have one), -EPERM (the mount's own) or -ENOMEM. */
int mount_key(struct mount *m, const struct node *dir, const char *name, char **key);

#endif
