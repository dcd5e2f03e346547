/* SPDX-License-Identifier: Apache-2.0 */
/* attr.c: see attr.h; mode, owner and times as metadata. */
#include "mount/tree/attr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#include "base/banned.h"

#define SECOND 1000000000LL

enum { META_BYTES = 2048 }; /* of all names and values; S3's bound */

void attr_release(struct attr *a)
{
        attr_more_unref(a->more);
        *a = (struct attr){0};
}

struct attr attr_copy(const struct attr *a)
{
        struct attr copy = *a;
        copy.more = attr_more_ref(a->more);
        return copy;
}

void attr_move(struct attr *to, struct attr *from)
{
        attr_more_unref(to->more);
        *to = *from;
        *from = (struct attr){0};
}

/* --- reading --- */

/* "1262304000" and "1262304000.25": false for anything else, and for what no int64_t holds. */
static bool read_time(const char *text, int64_t *ns)
{
        char *end;
        errno = 0;
        int64_t t = strtoll(text, &end, 10);
        if (end == text || errno || t > INT64_MAX / SECOND - 1 || t < INT64_MIN / SECOND + 1)
                return false;
        t *= SECOND;
        if (*end == '.') {
                int64_t unit = SECOND / 10;
                for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
                        t += (*end - '0') * unit;
        }
        *ns = t;
        return !*end;
}

static bool read_number(const char *text, uint64_t most, uint64_t *out)
{
        char *end;
        errno = 0;
        *out = strtoull(text, &end, 0);
        return end != text && !*end && !errno && *text != '-' && *out <= most;
}

enum { MODE_MOST = 0177777 };

/* rclone writes six octal digits, "100644": as a decimal number they are that of no mode. */
static bool read_octal_mode(const char *text, uint64_t *out)
{
        size_t n = strspn(text, "01234567");
        *out = strtoull(text, NULL, 8);
        return n == 6 && !text[n] && *out <= MODE_MOST;
}

static void read_mode(struct attr *a, const char *text, bool dir)
{
        uint64_t n;
        if (!read_number(text, MODE_MOST, &n) && !read_octal_mode(text, &n))
                return;
        mode_t type = n & S_IFMT;
        if (dir)
                type = S_IFDIR;
        else if (type != S_IFLNK && type != S_IFIFO && type != S_IFSOCK && type != S_IFCHR &&
                 type != S_IFBLK)
                type = S_IFREG;
        a->mode = type | (n & 07777);
        a->set |= ATTR_MODE;
}

static void read_stamp(struct attr *a, const char *text, unsigned bit, int64_t *ns)
{
        if (read_time(text, ns))
                a->set |= bit;
}

static int read_pair(struct attr *a, const char *name, const char *value, bool dir)
{
        uint64_t n;

        if (!strcmp(name, "mode")) {
                read_mode(a, value, dir);
        } else if (!strcmp(name, "uid")) {
                if (read_number(value, UINT32_MAX - 1, &n))
                        a->uid = (uid_t)n, a->set |= ATTR_UID;
        } else if (!strcmp(name, "gid")) {
                if (read_number(value, UINT32_MAX - 1, &n))
                        a->gid = (gid_t)n, a->set |= ATTR_GID;
        } else if (!strcmp(name, "mtime")) {
                read_stamp(a, value, ATTR_MTIME, &a->mtime_ns);
        } else if (!strcmp(name, "atime")) {
                read_stamp(a, value, ATTR_ATIME, &a->atime_ns);
        } else if (!strcmp(name, "ctime")) {
                read_stamp(a, value, ATTR_CTIME, &a->ctime_ns);
        } else if (!strcmp(name, "ckptfs-rdev")) {
                if (read_number(value, UINT64_MAX, &n))
                        a->rdev = n;
        } else if (!strcmp(name, "xattr")) {
                return attr_user_decode(a, value);
        } else {
                return attr_more_put(a, name, value, strlen(value), true);
        }
        return 0;
}

int attr_from_object(const struct store_object *obj, bool dir, struct attr *a)
{
        *a = (struct attr){.partial = obj->meta.missing,
                           .tagged = obj->tagged,
                           .metageneration = obj->meta.metageneration};
        const char *value;
        for (const char *name = NULL; (name = store_meta_next(&obj->meta, name, &value));) {
                int err = read_pair(a, name, value, dir);
                if (err) {
                        attr_release(a);
                        return err;
                }
        }
        return 0;
}

/* --- writing --- */

static int add_number(struct store_meta *m, const char *name, uint64_t value)
{
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, value);
        return store_meta_add(m, name, text);
}

static int add_time(struct store_meta *m, const char *name, int64_t ns)
{
        int64_t frac = ns % SECOND, sec = ns / SECOND;
        char text[40];

        if (frac < 0)
                frac += SECOND, sec--;
        if (frac)
                snprintf(text, sizeof text, "%" PRId64 ".%09" PRId64, sec, frac);
        else
                snprintf(text, sizeof text, "%" PRId64, sec);
        return store_meta_add(m, name, text);
}

/* Whether it tells of other bytes or of another time than the file has: rclone refuses to read what
 * is not of the first, s3cmd has both in the second, gsutil and rclone take a file for unchanged by
 * the third. */
static bool is_outdated(const struct attr *a, const char *name)
{
        return !strcmp(name, "md5chksum") || !strcmp(name, "s3cmd-attrs") ? a->new_bytes
               : !strcmp(name, "goog-reserved-file-mtime") ? (a->set & ATTR_MTIME) != 0
                                                           : false;
}

static int add_foreign(const struct attr *a, struct store_meta *m)
{
        int err = 0;
        for (size_t i = 0; !err && a->more && i < a->more->n; i++) {
                const struct attr_pair *p = &a->more->v[i];
                if (p->foreign && !is_outdated(a, p->name))
                        err = store_meta_as_sent(m, p->name, p->value);
        }
        return err;
}

/* Names and values without their NULs, which is what a store counts; headers are none of them. */
static size_t meta_bytes(const struct store_meta *m)
{
        size_t bytes = 0;
        const char *value;
        for (const char *name = NULL; (name = store_meta_next(m, name, &value));)
                bytes += *name == ':' ? 0 : strlen(name) + strlen(value);
        return bytes;
}

int attr_to_meta(const struct attr *a, struct store_meta *m)
{
        int err = 0;

        m->len = 0;
        m->missing = a->partial;
        m->metageneration = a->metageneration;
        if (a->set & ATTR_MODE)
                err = add_number(m, "mode", a->mode);
        if (!err && a->set & ATTR_UID)
                err = add_number(m, "uid", a->uid);
        if (!err && a->set & ATTR_GID)
                err = add_number(m, "gid", a->gid);
        if (!err && a->set & ATTR_MTIME)
                err = add_time(m, "mtime", a->mtime_ns);
        if (!err && a->set & ATTR_ATIME)
                err = add_time(m, "atime", a->atime_ns);
        if (!err && a->set & ATTR_CTIME)
                err = add_time(m, "ctime", a->ctime_ns);
        if (!err && a->rdev)
                err = add_number(m, "ckptfs-rdev", a->rdev);
        if (!err)
                err = attr_user_encode(a, m);
        if (!err)
                err = add_foreign(a, m);
        return err ? err : meta_bytes(m) > META_BYTES ? -ENOSPC : 0;
}

int attr_to_meta_early(const struct attr *a, struct store_meta *m)
{
        struct attr early = *a; /* borrows a->more */
        early.set &= ~(unsigned)ATTR_CTIME;
        if (a->written)
                early.set &= ~(unsigned)ATTR_MTIME;
        return attr_to_meta(&early, m);
}

bool attr_fits_written(const struct attr *a)
{
        struct store_meta m;
        struct attr changed = *a; /* borrows a->more */

        if (!a->more) /* else there is room for all that is ours */
                return true;
        changed.set |= ATTR_MTIME | ATTR_CTIME;
        changed.mtime_ns = changed.ctime_ns = INT64_MAX;
        changed.new_bytes = true;
        return attr_to_meta(&changed, &m) != -ENOSPC;
}

/* --- changes of two hosts --- */

/* ATTR_* in which the two differ. */
static unsigned differences(const struct attr *a, const struct attr *b)
{
        unsigned bits = a->set ^ b->set;

        bits |= a->mode != b->mode ? ATTR_MODE : 0;
        bits |= a->uid != b->uid ? ATTR_UID : 0;
        bits |= a->gid != b->gid ? ATTR_GID : 0;
        bits |= a->mtime_ns != b->mtime_ns ? ATTR_MTIME : 0;
        bits |= a->atime_ns != b->atime_ns ? ATTR_ATIME : 0;
        bits |= a->ctime_ns != b->ctime_ns ? ATTR_CTIME : 0;
        return bits;
}

int attr_merge(struct attr *a, const struct attr *base, const struct attr *theirs)
{
        unsigned ours = differences(a, base);
        int err = attr_more_merge(a, base, theirs);

        if (err)
                return err;
        a->set = (a->set & ours) | (theirs->set & ~ours);
        a->mode = ours & ATTR_MODE ? a->mode : theirs->mode;
        a->uid = ours & ATTR_UID ? a->uid : theirs->uid;
        a->gid = ours & ATTR_GID ? a->gid : theirs->gid;
        a->mtime_ns = ours & ATTR_MTIME ? a->mtime_ns : theirs->mtime_ns;
        a->atime_ns = ours & ATTR_ATIME ? a->atime_ns : theirs->atime_ns;
        a->ctime_ns = ours & ATTR_CTIME ? a->ctime_ns : theirs->ctime_ns;
        a->partial = theirs->partial;
        a->tagged = theirs->tagged;
        a->metageneration = theirs->metageneration;
        return 0;
}

enum { TIMES = ATTR_MTIME | ATTR_CTIME };

void attr_touch(struct attr *a, int64_t now_ns, uid_t uid)
{
        if (!a->before.set)
                a->before.new_bytes = a->new_bytes;
        if (!a->before.set || !a->written) {
                a->before.set = true;
                a->before.written = a->written;
                a->before.times = a->set & TIMES;
                a->before.mtime_ns = a->mtime_ns;
                a->before.ctime_ns = a->ctime_ns;
        }
        a->mtime_ns = a->ctime_ns = now_ns;
        a->set |= TIMES;
        a->written = a->new_bytes = true;
        if (!uid || !(a->set & ATTR_MODE) || !S_ISREG(a->mode))
                return;
        a->mode &= ~(mode_t)S_ISUID;
        if (a->mode & S_IXGRP) /* without it the bit means mandatory locks */
                a->mode &= ~(mode_t)S_ISGID;
}

void attr_touch_published(struct attr *a)
{
        a->before.set = false;
}

void attr_touch_failed(struct attr *a)
{
        bool changed = a->ctime_ns != a->mtime_ns; /* since it was written */

        if (a->before.set)
                a->new_bytes = a->before.new_bytes;
        if (a->before.set && a->written) {
                a->set = (a->set & ~(unsigned)ATTR_MTIME) | (a->before.times & ATTR_MTIME);
                a->mtime_ns = a->before.mtime_ns;
                a->written = a->before.written;
                if (!changed) {
                        a->set = (a->set & ~(unsigned)ATTR_CTIME) | (a->before.times & ATTR_CTIME);
                        a->ctime_ns = a->before.ctime_ns;
                }
        }
        a->before.set = false;
}
