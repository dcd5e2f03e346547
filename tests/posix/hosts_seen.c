/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_seen.c: see hosts.h: what is read, and whether it may be. */
#include "hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

enum { MAGIC = 0x686f7374, MOST = 64 << 20 };

/* All bytes are such cells; the last may be cut. */
struct cell {
        uint32_t magic, id;
        uint64_t len, off, mix;
};

struct world *world;

int64_t now_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void wrong(unsigned file, const char *fmt, ...)
{
        char line[400];
        va_list ap;
        va_start(ap, fmt);
        int n = vsnprintf(line, sizeof line - 1, fmt, ap);
        va_end(ap);
        if (world->wrong++ < 20)
                printf("%s: %.*s\n", world->files[file].name, n, line);
        fflush(stdout);
}

/* --- bytes --- */

static struct cell cell_at(unsigned id, uint64_t len, uint64_t off)
{
        return (struct cell){.magic = MAGIC,
                             .id = id,
                             .len = len,
                             .off = off,
                             .mix = (id * 0x9e3779b97f4a7c15ULL) ^ (off * 0xff51afd7ed558ccdULL)};
}

static size_t cut(uint64_t left)
{
        return left < sizeof(struct cell) ? (size_t)left : sizeof(struct cell);
}

int put_bytes(int fd, unsigned id, uint64_t len)
{
        enum { STEP = 1 << 20 };
        unsigned char *p = malloc(STEP);
        int err = p ? 0 : ENOMEM;

        for (uint64_t at = 0; !err && at < len;) {
                size_t n = 0;
                while (n < STEP && at + n < len) {
                        struct cell c = cell_at(id, len, at + n);
                        size_t k = cut(len - at - n);
                        memcpy(p + n, &c, k);
                        n += k;
                }
                ssize_t put = write(fd, p, n);
                err = put < 0 ? errno : put != (ssize_t)n ? EIO : 0;
                at += n;
        }
        free(p);
        return err;
}

/* What lies at p, for a line. */
static const char *name_bytes(const unsigned char *p, uint64_t n)
{
        static char text[80];
        struct cell c;

        if (n < sizeof c)
                return "the end";
        memcpy(&c, p, sizeof c);
        if (c.magic == MAGIC && c.mix == cell_at(c.id, c.len, c.off).mix)
                snprintf(text, sizeof text, "change %u of host %d, byte %llu of %llu", c.id,
                         c.id < CHANGES ? world->changes[c.id].host : -1, (unsigned long long)c.off,
                         (unsigned long long)c.len);
        else
                snprintf(text, sizeof text, "%s",
                         c.magic || c.id || c.len ? "bytes of nobody" : "zeros");
        return text;
}

/* The changes that the n bytes consist of: the last, or 0 when they are no whole version. */
static unsigned read_changes(int host, unsigned file, const unsigned char *p, uint64_t n)
{
        unsigned last = 0;

        for (uint64_t at = 0; at < n;) {
                struct cell first = {0};
                memcpy(&first, p + at, cut(n - at));
                bool known = first.magic == MAGIC && !first.off && first.id &&
                             first.id <= world->nchanges && first.len >= sizeof first &&
                             world->changes[first.id].file == file;
                if (!known || first.len > n - at) {
                        wrong(file, "host %d: after change %u, at %llu of %llu: %s", host, last,
                              (unsigned long long)at, (unsigned long long)n,
                              name_bytes(p + at, n - at));
                        return 0;
                }
                for (uint64_t off = 0; off < first.len; off += sizeof first) {
                        struct cell c = cell_at(first.id, first.len, off);
                        if (!memcmp(p + at + off, &c, cut(first.len - off)))
                                continue;
                        wrong(file, "host %d: in change %u, at %llu of %llu: %s", host, first.id,
                              (unsigned long long)off, (unsigned long long)first.len,
                              name_bytes(p + at + off, n - at - off));
                        return 0;
                }
                struct change *c = &world->changes[first.id];
                unsigned base = 0;
                if ((c->kind == KIND_APPEND) != (last != 0))
                        wrong(file, "host %d: change %u stands behind %u", host, first.id, last);
                else if (!atomic_compare_exchange_strong(&c->base, &base, last) && base != last)
                        wrong(file, "host %d: change %u stands behind %u and behind %u", host,
                              first.id, base, last);
                last = first.id;
                at += first.len;
        }
        return last;
}

/* --- whether it may be --- */

/* Whether a change that gives the file other bytes, or none, had returned before `opened`, and
 * began after the one that is seen (NULL: at the start there was no file) had returned. */
static unsigned newer(unsigned file, const struct change *seen, int64_t opened)
{
        int64_t since = seen ? (seen->err ? INT64_MAX : seen->ended) : 0;

        for (unsigned i = 1; i <= world->nchanges; i++) {
                const struct change *c = &world->changes[i];
                if (c->file == file && c->kind != KIND_MODE && c->ended && c->ended < opened &&
                    !c->err && since && c->begun > since && c != seen)
                        return i;
        }
        return 0;
}

static void judge_seen(int host, unsigned file, unsigned id, int64_t opened, int64_t until)
{
        const struct change *c = &world->changes[id];
        unsigned later;

        if (!c->begun || c->begun > until)
                wrong(file, "host %d: change %u is seen before it is closed", host, id);
        else if (c->ended && (c->err == ESTALE || c->err == EEXIST))
                wrong(file, "host %d: change %u was refused, and is seen", host, id);
        else if (c->ended && (later = newer(file, c, opened)))
                wrong(file, "host %d: change %u of host %d is seen after change %u of host %d",
                      host, id, c->host, later, world->changes[later].host);
}

/* That a name is not there may be as old as names may be. */
static bool is_absent_well(unsigned file, int64_t opened, int64_t until)
{
        bool changed = false;

        opened -= world->names_ns;
        for (unsigned i = 1; i <= world->nchanges; i++) {
                const struct change *c = &world->changes[i];
                if (c->file != file)
                        continue;
                changed = changed || (c->ended && !c->err && c->ended < opened &&
                                      c->kind != KIND_REMOVE && c->kind != KIND_MODE);
                if (c->kind != KIND_REMOVE || !c->begun || c->begun > until)
                        continue;
                const struct change returned = {.ended = c->ended};
                if (!c->ended || !newer(file, &returned, opened))
                        return true;
        }
        return !changed;
}

/* Whether another host changed the file between the two. */
static bool is_changed(int host, unsigned file, int64_t from, int64_t until)
{
        for (unsigned i = 1; i <= world->nchanges; i++) {
                const struct change *c = &world->changes[i];
                if (c->file == file && c->host != host && c->begun && c->begun <= until &&
                    (!c->ended || c->ended >= from))
                        return true;
        }
        return false;
}

static void judge_error(int host, unsigned file, const char *what, int err, int64_t opened)
{
        int64_t until = now_ns();

        if (err == ESTALE)
                world->stale++;
        bool good = err == ENOENT   ? is_absent_well(file, opened, until)
                    : err == ESTALE ? is_changed(host, file, opened, until)
                                    : false;
        if (!good)
                wrong(file, "host %d: %s gives %s", host, what, strerror(err));
}

static ssize_t read_all(int fd, unsigned char **bytes, uint64_t guess)
{
        uint64_t n = 0, room = guess + 4096;
        size_t step = (size_t)4096 << chance(9);

        for (*bytes = malloc(room); *bytes;) {
                if (n == room) {
                        unsigned char *more = room < MOST ? realloc(*bytes, room *= 2) : NULL;
                        if (!more)
                                break;
                        *bytes = more;
                }
                ssize_t k = read(fd, *bytes + n, room - n < step ? (size_t)(room - n) : step);
                if (k <= 0)
                        return k < 0 ? -errno : (ssize_t)n;
                n += (uint64_t)k;
                if (!chance(40))
                        usleep(chance(20000));
        }
        return -ENOMEM;
}

unsigned look(int host, unsigned file)
{
        unsigned char *bytes = NULL;
        int64_t opened = now_ns();
        unsigned id = 0;
        struct stat st;
        int fd = open(path_of(host, file), O_RDONLY | O_CLOEXEC);

        world->reads++;
        if (fd < 0) {
                judge_error(host, file, "an open to read", errno, opened);
                return 0;
        }
        int err = fstat(fd, &st) ? errno : 0;
        off_t end = lseek(fd, 0, SEEK_END);
        if (err || end < 0 || lseek(fd, 0, SEEK_SET))
                wrong(file, "host %d: no size: %s", host, strerror(errno));
        ssize_t n = read_all(fd, &bytes, err ? 0 : (uint64_t)st.st_size);
        int64_t until = now_ns();
        if (end != st.st_size || (n >= 0 && n != end))
                wrong(file, "host %d: fstat tells %lld bytes, SEEK_END %lld, read %zd", host,
                      (long long)st.st_size, (long long)end, n);
        else if (n < 0)
                judge_error(host, file, "a read", (int)-n, opened);
        else if (!n)
                wrong(file, "host %d: it has no bytes", host);
        else if ((id = read_changes(host, file, bytes, (uint64_t)n)))
                judge_seen(host, file, id, opened, until);
        free(bytes);
        if (close(fd))
                wrong(file, "host %d: the close after reading gives %s", host, strerror(errno));
        return id;
}

/* --- changes --- */

unsigned change_new(enum kind kind, int host, unsigned file)
{
        unsigned id = ++world->nchanges;
        if (id >= CHANGES) {
                printf("too many changes\n");
                exit(1);
        }
        struct change *c = &world->changes[id];
        c->kind = kind;
        c->host = host;
        c->file = file;
        return id;
}

void change_seen_from_now_on(unsigned id)
{
        world->changes[id].begun = now_ns();
}

void change_end(unsigned id, int err)
{
        world->changes[id].err = err;
        world->changes[id].ended = now_ns();
}

/* The open of what is to be changed failed. */
static void judge_open(int host, unsigned file, int64_t opened, bool creates)
{
        if (errno == ENOENT && creates)
                wrong(file, "host %d: an open with O_CREAT gives ENOENT", host);
        else
                judge_error(host, file, "an open to write", errno, opened);
}

/* What was changed was replaced meanwhile, or, where replies are lost, what was published was, and
 * by then nobody can tell that it had been. A file that is written anew goes by the last close. */
static void judge_close(int host, unsigned file, int err, int64_t opened, const char *what,
                        bool anew)
{
        bool may = (err == ESTALE && !anew) || (err == EIO && world->lossy);
        if (err && !(may && is_changed(host, file, opened, now_ns())))
                wrong(file, "host %d: %s gives %s", host, what, strerror(err));
}

void do_write(int host, unsigned file, uint64_t len)
{
        int64_t opened = now_ns();
        int fd = open(path_of(host, file), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd < 0) {
                judge_open(host, file, opened, true);
                return;
        }
        unsigned id = change_new(KIND_WRITE, host, file);
        int err = put_bytes(fd, id, len);
        change_seen_from_now_on(id);
        if (close(fd) && !err)
                err = errno;
        change_end(id, err);
        judge_close(host, file, err, opened, "writing anew", true);
}

void do_append(int host, unsigned file, uint64_t len, bool in_two)
{
        int64_t opened = now_ns();
        int fd = open(path_of(host, file), O_WRONLY | O_APPEND | O_CLOEXEC);
        int err = 0;

        if (fd < 0) {
                judge_open(host, file, opened, false);
                return;
        }
        if (in_two) {
                unsigned first = change_new(KIND_APPEND, host, file);
                err = put_bytes(fd, first, len);
                change_seen_from_now_on(first);
                if (!err && fsync(fd))
                        err = errno;
                change_end(first, err);
                judge_close(host, file, err, opened, "an fsync after appending", false);
        }
        if (!err) {
                unsigned id = change_new(KIND_APPEND, host, file);
                err = put_bytes(fd, id, len);
                change_seen_from_now_on(id);
                if (close(fd) && !err)
                        err = errno;
                change_end(id, err);
                judge_close(host, file, err, opened, "a close after appending", false);
        } else {
                close(fd);
        }
}

void do_rename(int host, unsigned file, uint64_t len)
{
        char from[600];
        unsigned id = change_new(KIND_WRITE, host, file);

        snprintf(from, sizeof from, "%s.new%u", path_of(host, file), id);
        int fd = open(from, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        int err = fd < 0 ? errno : put_bytes(fd, id, len);
        if (fd >= 0 && close(fd) && !err)
                err = errno;
        change_seen_from_now_on(id);
        if (!err && rename(from, path_of(host, file)))
                err = errno;
        change_end(id, err);
        if (err)
                wrong(file, "host %d: a rename over it gives %s", host, strerror(err));
}

void do_remove(int host, unsigned file)
{
        int64_t opened = now_ns();
        unsigned id = change_new(KIND_REMOVE, host, file);

        change_seen_from_now_on(id);
        int err = unlink(path_of(host, file)) ? errno : 0;
        change_end(id, err);
        if (err)
                judge_error(host, file, "unlink", err, opened);
}

void do_mode(int host, unsigned file)
{
        int64_t opened = now_ns();
        unsigned id = change_new(KIND_MODE, host, file);

        change_seen_from_now_on(id);
        int err = chmod(path_of(host, file), 0600 + chance(64)) ? errno : 0;
        change_end(id, err);
        if (err)
                judge_error(host, file, "chmod", err, opened);
}

bool do_exclusive(int host, unsigned file, uint64_t len, unsigned *id)
{
        int fd = open(path_of(host, file), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        int err = fd < 0 ? errno : 0;

        if (!err) {
                *id = change_new(KIND_WRITE, host, file);
                err = put_bytes(fd, *id, len);
                change_seen_from_now_on(*id);
                if (close(fd) && !err)
                        err = errno;
                change_end(*id, err);
        }
        if (err && err != EEXIST)
                wrong(file, "host %d: O_EXCL gives %s", host, strerror(err));
        return !err;
}
