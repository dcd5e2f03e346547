/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h: what several hosts of one bucket did to its files, and whether what was read fits.
 *
 * Every change is noted in memory that all processes share: when it could be seen first and when it
 * had returned. The bytes that a change writes name it, its length and their place in it, so that
 * whoever reads can tell which version it is, or of which two it is a mixture. A version that is
 * read was published whole, is not newer than the end of the read, and not older than the last
 * change that had returned before the open began. */
#ifndef CKPTFS_TESTS_HOSTS_H
#define CKPTFS_TESTS_HOSTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOUNTS = 3, FILES = 512, CHANGES = 1 << 15, NAME_MOST = 40 };

enum kind {
        KIND_WRITE,  /* written anew, or renamed over it */
        KIND_APPEND, /* of what was there */
        KIND_REMOVE,
        KIND_MODE /* the same bytes, maybe as another version */
};

struct change {
        enum kind kind;
        unsigned file;
        int host;
        uint64_t len; /* of the bytes that it adds */
        _Atomic int64_t begun, ended;
        _Atomic int err;
        _Atomic unsigned base; /* of an append: the change before it, as it was seen first */
};

struct file_of_all {
        char name[NAME_MOST];
        pthread_rwlock_t here[MOUNTS]; /* in one mount whoever writes is alone, as in any program
                                          that wants whole files */
        unsigned winners;
};

struct world {
        char *dirs[MOUNTS];
        int64_t names_ns;          /* attr_ttl: CKPTFS_HOSTS_TTL, in seconds */
        bool lossy;                /* replies of the store may get lost: CKPTFS_HOSTS_LOSSY=yes */
        _Atomic unsigned nchanges; /* numbers begin with 1 */
        _Atomic unsigned wrong, reads, stale;
        pthread_barrier_t barrier;
        struct file_of_all files[FILES];
        struct change changes[CHANGES];
};
extern struct world *world;

int64_t now_ns(void);
/* What a process does not find as it was promised: one line, and the program will fail. */
__attribute__((format(printf, 2, 3))) void wrong(unsigned file, const char *fmt, ...);

/* Seeded by the process; less than n. */
unsigned chance(unsigned n);
void chance_seed(unsigned seed);
uint64_t random_length(void);

/* The path of the file in that host's mount, in a buffer that is used again by the fourth call. */
const char *path_of(int host, unsigned file);

/* --- changes: each is noted, made in the host's mount, and its errno judged. --- */

unsigned change_new(enum kind kind, int host, unsigned file);
void change_seen_from_now_on(unsigned id);
void change_end(unsigned id, int err);
/* Writes the bytes of the change. 0 or an errno. */
int put_bytes(int fd, unsigned id, uint64_t len);

void do_write(int host, unsigned file, uint64_t len);
void do_append(int host, unsigned file, uint64_t len, bool in_two);
void do_rename(int host, unsigned file, uint64_t len);
void do_remove(int host, unsigned file);
void do_mode(int host, unsigned file);
/* Creates with O_EXCL: whether this one won. */
bool do_exclusive(int host, unsigned file, uint64_t len, unsigned *id);

/* --- what is there --- */

/* Opens, looks at the size in two ways and reads all. Returns the change that was seen last, 0 when
 * there is no file or it was replaced meanwhile. */
unsigned look(int host, unsigned file);
/* The locks of a host's mount; `writes` alone. */
void enter(int host, unsigned file, bool writes);
void leave(int host, unsigned file);

/* hosts_cases.c */
int cases_rules(void);
/* `go` comes into being when the rules hold; go.made says that they may. */
int cases_run(const char *go);

#endif
