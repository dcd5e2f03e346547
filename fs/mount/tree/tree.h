/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h: the names that the kernel knows, and what is known of the objects behind them.
 *
 * A node is what one name was as long as nobody else changed it: one version, and those that were
 * made of it here. When another host has replaced the object, the name gets a new node, and what
 * is open keeps the old one. So neither a size nor a page that the kernel has of an inode is ever
 * of another version. Nodes live as long as the kernel, a child or an open file refers to them. One
 * lock guards the whole tree; it is held for moments, never across a request. Functions ending in
 * _locked want it held. */
#ifndef CKPTFS_MOUNT_TREE_H
#define CKPTFS_MOUNT_TREE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mutex.h"
#include "mount/tree/attr.h"
#include "mount/tree/tombstone.h"
#include "store.h"

struct attr_sync;
struct reader;
struct readdir_history;
struct wfile;

/* What the store said of a name. */
struct fd_owners;

struct node_info {
        bool dir;
        uint64_t size;
        int64_t mtime_ns;
        const char *etag; /* "" unknown; copied */
        bool has_crc;
        uint32_t crc32c;
        bool complete;           /* from a head, which tells the checksum, not from a listing */
        bool marker;             /* a directory that has one */
        const struct attr *attr; /* copied; NULL: not told */
        int64_t asked_ns; /* when the store was asked (tree_now_ns()); 0: now, or done here */
        int64_t done_ns;  /* of what was done here: when the store was asked to, from when on it
                             is believed; 0: now */
};

/* Locks of names on a node, asked for or held; name_lock.c's. */
struct node_locks {
        unsigned below;     /* on it and on what is below it */
        unsigned exclusive; /* on it; */
        unsigned rests;     /* held, or about to be */
        unsigned renames;   /* of a directory: of names in it, or to it */
};

/* How a file is read; op_read_cache.c's. */
struct node_reads {
        unsigned cached;    /* open handles that read through the page cache, */
        unsigned past;      /* and past it */
        unsigned turn;      /* of the node: the rest is about that */
        unsigned opens;     /* to be read past the cache; */
        unsigned rounds;    /* those when nobody else did */
        bool before;        /* it was opened to be read through the page cache */
        bool mapped, small; /* by who was to read past the cache; and in small blocks */
        bool far;           /* somebody has read much of it past the cache */
        atomic_bool stays;  /* what is read past the cache does, for who reads it next */
};

struct node {
        struct node *hash_next, *ino_next;
        struct node *parent; /* NULL: the root */
        char *name;
        uint64_t hash;  /* of directory and name: where it is found */
        uint64_t ino;   /* the same for all of its life, whatever its name becomes */
        uint64_t born;  /* counts nodes: tells it from one that had its address before */
        uint64_t refs;  /* kernel lookups + children + pins */
        uint64_t moved; /* the last move of names that changed this one's; 0: none */
        bool hashed;    /* may be found by name */
        bool astray;    /* not hashed, and renamed since: what the kernel calls it is not known */
        bool dir;       /* constant */
        bool marker;    /* of a directory: it has one */
        bool complete;  /* see node_info */
        bool has_crc;
        uint32_t crc32c;
        uint64_t size;
        int64_t mtime_ns; /* when the store made this version; what is shown is in attr */
        int64_t known_ns; /* when this was so: what was asked before does not count */
        int64_t stood_ns; /* the store was asked then, and has told of this version, or of one that
                             it was made of here; 0: never */
        int64_t fresh_until; /* monotonic ns: believe the above until then */
        struct attr attr;
        bool attr_known;     /* else attr is empty, and a head would tell */
        unsigned attr_now;   /* counts changes made here: */
        unsigned attr_sent;  /* those that a commit or copy under way carries, */
        unsigned attr_saved; /* and those that the object carries */
        int64_t entries_ns;  /* of a directory: when its entries changed here, or 0 */
        unsigned absent;     /* of a directory: names looked for in vain, since one was found */
        struct dir_tombstones tombstones; /* of a directory: where it has no names */
        struct readdir_history
                *history;       /* of a directory: its names as they were listed, or NULL */
        bool ahead;             /* asked for ahead and not looked at yet, see stat_prefetch.h */
        bool attr_early;        /* the commit's were taken before its last byte */
        struct attr *attr_base; /* of a file that is written: what the version that it began with
                                   carries; or NULL */
        struct attr_sync
                *attr_sync; /* a change of attributes on its way, or NULL; see attr_sync.h */
        char *etag;         /* "" unknown or not published */
        unsigned turn;      /* counts the versions and the files that it has had, from 1 */
        unsigned paged;     /* the turn of all pages that the kernel may have, or 0 */
        struct node_reads reads;
        unsigned nreaders; /* open files that read `reader` */
        unsigned nrunning; /* open files that the kernel executes by this node */
        struct reader *reader;
        struct wfile *file;          /* while it is open for writing, one reference; else NULL */
        unsigned nwriters;           /* open files that share `file`, and changes under way */
        char *orphan_key;            /* key of what is read though the name is gone, see orphan.h */
        struct fd_owners *fd_owners; /* of its handles for writing, or NULL */
        bool published;              /* a version exists at the store */
        char *replaced_etag;         /* it is not published, and at the store its name still has
                                        this version of the file that it replaced; or NULL */
        bool unlinked;               /* here: what is written from now on is forgotten */
        bool removed;                /* so, and nothing had its name then */
        bool ousted;                 /* so, by a rename that failed: the kernel does not know it */
        struct node_locks locks;
        struct node *heir;      /* pinned: what is opened in its place, see heir.h; or NULL */
        unsigned nheirs;        /* open files that were */
        struct node *open_next; /* list of nodes with a reader or a file, */
        struct node **open_at;  /* and what points to this one there; NULL: it is not in it */
};

struct tree;
/* The tree's lock, as the thread safety analysis knows it: a process has one tree. Never defined.
 */
extern struct mutex tree_mutex;

/* ttl_ns: how long what the store said is believed. NULL: no memory. */
struct tree *tree_new(int64_t ttl_ns);
/* drop() gets the orphan_key of each node that is freed, with the tree's lock. */
void tree_on_drop(struct tree *t, void (*drop)(void *arg, char *orphan_key), void *arg);
/* How to tell whether a node's file has bytes that are not published; until then, none has. Called
 * with the tree's lock. */
void tree_on_file(struct tree *t, bool (*unpublished)(struct wfile *f));
/* Takes one out of the nodes that have one; NULL: none has. */
char *tree_take_orphan_key_locked(struct tree *t) REQUIRES(tree_mutex);
/* Frees all nodes, also those still referred to. */
void tree_free(struct tree *t);

/* Monotonic ns, and those since 1970. */
int64_t tree_now_ns(void);
int64_t tree_wall_ns(void);
int64_t tree_ttl_ns(const struct tree *t);
void tree_set_ttl(struct tree *t, int64_t ttl_ns); /* for what is asked from now on */
/* How many nodes there are. */
size_t tree_nodes(struct tree *t);

void tree_lock(struct tree *t) ACQUIRE(tree_mutex);
void tree_unlock(struct tree *t) RELEASE(tree_mutex);
/* For callbacks that run with the lock: says so to the analysis, and fails in debug builds when it
 * is not so. */
void tree_is_locked(const struct tree *t) ASSERTS(tree_mutex);
/* For those who wait for something that the lock guards: the tree's condition. */
void tree_sleep_locked(struct tree *t) REQUIRES(tree_mutex);
void tree_wake_if_locked(struct tree *t, bool over) REQUIRES(tree_mutex);
struct node *tree_root(struct tree *t);

/* What a name is known by that may have no node. */
uint64_t tree_name_hash(const struct node *dir, const char *name);

/* The node of `name` in `dir`, or NULL. */
struct node *tree_find_locked(struct tree *t, struct node *dir, const char *name)
        REQUIRES(tree_mutex);

/* The same of a path of names below `dir`; "" is `dir` itself, a '/' at the end counts for nothing.
 */
struct node *tree_find_path_locked(struct tree *t, struct node *dir, const char *path)
        REQUIRES(tree_mutex);

/* The node of `name` in `dir` as `info` describes it, made if there was none, replaced if another
 * version is there; with one more reference. What changes here stays as it is. NULL: no memory. */
struct node *tree_enter_locked(struct tree *t, struct node *dir, const char *name,
                               const struct node_info *info) REQUIRES(tree_mutex);

/* The inode number of `name` in `dir`: the node's, or what a node made now would have, as long as
 * no renamed or deleted file has it. */
uint64_t tree_ino_locked(struct tree *t, const struct node *dir, const char *name)
        REQUIRES(tree_mutex);

/* The name was deleted here, or is another's: what has it has none any more, and is unlinked,
 * unless it is `but`. */
void tree_drop_name_locked(struct tree *t, struct node *dir, const char *name,
                           const struct node *but) REQUIRES(tree_mutex);
/* The node is called `name` in `dir` from now on, with all that is below it; what had that name is
 * dropped. One that lost its name stays without; without memory the node loses it. */
void tree_move_locked(struct tree *t, struct node *n, struct node *dir, const char *name)
        REQUIRES(tree_mutex);
/* A name was made in the directory or went: moves its times, here only. */
void tree_entries_changed_locked(struct node *dir) REQUIRES(tree_mutex);

/* Where the node is: a number that grows whenever its key changes, since it or what is above it got
 * another name. Whoever made a key compares it before the answer of the store is believed. */
uint64_t tree_place_locked(const struct node *n) REQUIRES(tree_mutex);
uint64_t tree_place(struct tree *t, const struct node *n);

/* Takes the name away; the node stays for those who refer to it. */
void tree_remove_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex);

/* The same, since the store said just now that another host has replaced or removed the object. */
void tree_replaced_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex);

/* Whether the name was dropped, or replaced by another host, at `since_ns` or later, so that the
 * store's reply to what was asked then may describe the past. What has a node is known by that. */
enum removed tree_removed_since_locked(struct tree *t, struct node *dir, const char *name,
                                       int64_t since_ns) REQUIRES(tree_mutex);
/* An object of ours came to the key, a path of names below the root, where nothing was, on its way
 * to another name; or it has left, `gone`, so that older replies of the store tell of the past. */
void tree_note_passed_locked(struct tree *t, const char *key, bool gone) REQUIRES(tree_mutex);
/* The name may be at the store, and has no node from now on: it is not known to be absent. */
void tree_note_unknown_locked(struct node *dir, const char *name) REQUIRES(tree_mutex);

void tree_pin_locked(struct node *n) REQUIRES(tree_mutex);
/* Takes over one reference, so that the node stays for who will look at it: until RECENT_NODES_MOST
 * others have come, or the name goes. */
void tree_add_recent_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex);
/* Drops `count` references; frees the node and its parents with the last. */
void tree_unref_locked(struct tree *t, struct node *n, uint64_t count) REQUIRES(tree_mutex);

/* Whether what is known of the node is newer than an answer of the store to a question of
 * `asked_ns`: it changes here, or has changed since. */
bool tree_ahead_locked(const struct tree *t, const struct node *n, int64_t asked_ns)
        REQUIRES(tree_mutex);
/* Whether that is so at any time: bytes or attributes are not published yet. */
bool tree_changes_locked(const struct tree *t, const struct node *n) REQUIRES(tree_mutex);
/* Whether bytes are not. */
bool tree_writes_locked(const struct tree *t, const struct node *n) REQUIRES(tree_mutex);
/* Whether the file that the store tells of is another version than the node's. */
bool tree_other_locked(const struct node *n, const struct node_info *info) REQUIRES(tree_mutex);

/* What the object carries is what is known now, from which a file that is open
 * for writing may differ. */
void tree_note_attr_locked(struct node *n) REQUIRES(tree_mutex);
/* It is not open for writing any more. */
void tree_drop_attr_base(struct node *n);
/* Takes over the attributes alone, where none are known. */
void tree_learn_attr_locked(struct node *n, const struct node_info *info) REQUIRES(tree_mutex);
/* Takes over what the store said of the file's published version. */
int tree_set_info_locked(struct tree *t, struct node *n, const struct node_info *info)
        REQUIRES(tree_mutex);
/* The same version has another etag, since its object moved: pages of the kernel stay good. 0 or
 * -ENOMEM. */
int tree_set_etag_locked(struct node *n, const char *etag) REQUIRES(tree_mutex);
/* A time of the store as nodes have it: listings may tell fractions of a second, heads do not, and
 * a version has one time, whoever told it. */
int64_t tree_time(int64_t ns);
bool tree_fresh_locked(const struct node *n) REQUIRES(tree_mutex);

/* Key of the node, relative to the store's prefix: "a/b", for a directory "a/b/", for the root "".
 * With `name`, the key of that name in the directory. malloc'ed; NULL: no memory. -ENAMETOOLONG
 * shows as longer than STORE_KEY_MAX. */
char *tree_key(struct tree *t, const struct node *n, const char *name);
char *tree_key_locked(const struct node *n) REQUIRES(tree_mutex);

/* Keeps the list of open files: call after `reader` or `file` changed. */
void tree_note_open_locked(struct tree *t, struct node *n) REQUIRES(tree_mutex);

/* Whether the node is the directory or below it. */
bool tree_is_below(const struct node *n, const struct node *dir);

/* Whether a file below the directory exists only here so far. */
bool tree_has_unpublished_locked(struct tree *t, const struct node *dir) REQUIRES(tree_mutex);

/* The open files, linked by open_next. */
struct node *tree_open_list_locked(struct tree *t) REQUIRES(tree_mutex);

#endif
