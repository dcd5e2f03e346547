/* SPDX-License-Identifier: Apache-2.0 */
/* mount.c: see mount.h. */
#include "mount/core/mount.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text/utf8.h"

#include "base/banned.h"

enum { BLOCK_SIZE = 1 << 20 }; /* st_blksize: buffered writers then write whole requests */

struct node_info mount_info(const struct store_object *obj)
{
        return (struct node_info){
                .size = obj->size,
                .mtime_ns = obj->mtime_ns ? obj->mtime_ns : mount_now_ns(), /* of a put: now */
                .etag = obj->etag,
                .has_crc = obj->has_crc,
                .crc32c = obj->crc32c,
                .complete = true,
        };
}

int64_t mount_now_ns(void)
{
        return tree_wall_ns() / 1000000000 * 1000000000;
}

mode_t mount_mode_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        if (n->attr.set & ATTR_MODE)
                return n->attr.mode;
        return n->dir ? S_IFDIR | m->params.dir_mode : S_IFREG | m->params.file_mode;
}

static struct timespec timespec_of(int64_t ns)
{
        int64_t rest = ns % 1000000000;
        return (struct timespec){.tv_sec = ns / 1000000000 - (rest < 0),
                                 .tv_nsec = rest < 0 ? rest + 1000000000 : rest};
}

/* What the object does not carry is the time of its version; what it never had, of the mount. */
static void set_times_locked(const struct mount *m, struct node *n, struct stat *st)
        REQUIRES(tree_mutex)
{
        const struct attr *a = &n->attr;
        int64_t made = n->mtime_ns ? n->mtime_ns : m->mounted_ns;
        if (n->file && wfile_dirty(n->file))
                made = mount_now_ns(); /* that of its publication, which is to come */
        int64_t mtime = a->set & ATTR_MTIME ? a->mtime_ns : made;
        int64_t ctime = a->set & ATTR_CTIME ? a->ctime_ns : made;

        if (n->entries_ns > ctime)
                mtime = ctime = n->entries_ns;
        st->st_mtim = timespec_of(mtime);
        st->st_ctim = timespec_of(ctime);
        st->st_atim = timespec_of(a->set & ATTR_ATIME ? a->atime_ns : mtime);
}

void mount_stat_locked(const struct mount *m, struct node *n, struct stat *st) REQUIRES(tree_mutex)
{
        memset(st, 0, sizeof *st);
        st->st_ino = n->ino;
        st->st_uid = n->attr.set & ATTR_UID ? n->attr.uid : m->uid;
        st->st_gid = n->attr.set & ATTR_GID ? n->attr.gid : m->gid;
        st->st_blksize = BLOCK_SIZE;
        st->st_nlink = n->unlinked ? 0 : n->dir ? 2 : 1;
        st->st_mode = mount_mode_locked(m, n);
        st->st_rdev = n->attr.rdev;
        if (!n->dir)
                st->st_size = (off_t)(n->file ? wfile_size(n->file) : n->size);
        st->st_blocks = (st->st_size + 511) / 512;
        set_times_locked(m, n, st);
}

const char *mount_state_word(enum wfile_state state, bool published)
{
        static const char *const words[] = {
                [WFILE_CLEAN] = "durable",
                [WFILE_DIRTY] = "dirty",
                [WFILE_UPLOADING] = "uploading",
                [WFILE_FAILED] = "failed",
        };
        return words[state == WFILE_CLEAN && !published ? WFILE_DIRTY : state];
}

static double seconds_left(int64_t until)
{
        int64_t left = until - tree_now_ns();
        return left > 0 ? (double)left / 1e9 : 0;
}

double mount_absent_ttl(const struct mount *m, int64_t asked_ns)
{
        return m->params.consistency == STRICT ? 0 : seconds_left(asked_ns + tree_ttl_ns(m->tree));
}

double mount_ttl_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        if (m->params.consistency == STRICT)
                return 0;
        if (n == tree_root(m->tree))
                return (double)tree_ttl_ns(m->tree) / 1e9;
        if (n->file)
                return 0; /* what becomes of it is decided at close */
        return seconds_left(n->fresh_until);
}

static bool lists(const char *path, dev_t dev)
{
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;
        unsigned maj, min;

        while (f && getline(&line, &room, f) > 0)
                if (sscanf(line, "%*u %*u %u:%u ", &maj, &min) == 2 && makedev(maj, min) == dev)
                        return true;
        return false;
}

bool mount_is_listed(const struct mount *m)
{
        return lists("/proc/self/mountinfo", m->dev) || lists("/proc/1/mountinfo", m->dev);
}

bool mount_is_detached(const struct mount *m)
{
        return m->listed && !mount_is_listed(m);
}

int mount_key(struct mount *m, const struct node *dir, const char *name, char **key)
{
        if (strlen(name) > 255)
                return -ENAMETOOLONG;
        bool one_line = store_caps(m->store) & STORE_CAP_ONE_LINE;
        if (!utf8_valid(name) || (one_line && strpbrk(name, "\r\n")))
                return -EILSEQ;
        if (dir == tree_root(m->tree) && !strcmp(name, CKPTFS_DIR))
                return -EPERM;
        char *k = tree_key(m->tree, dir, name);
        if (!k)
                return -ENOMEM;
        if (strlen(k) >= store_key_max(m->store)) {
                free(k);
                return -ENAMETOOLONG;
        }
        *key = k;
        return 0;
}
