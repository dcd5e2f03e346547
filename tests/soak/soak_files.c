/* SPDX-License-Identifier: Apache-2.0 */
/* soak_files.c: what a worker knows of its files, and whether the mount has the same; see soak.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "soak.h"

#include "base/banned.h"

enum { BLOCK = 1 << 20 };
static unsigned char block[BLOCK], want[BLOCK];

struct file *file_find(struct worker *w, const char *name)
{
        for (int i = 0; i < FILES_MOST; i++)
                if (w->files[i].name[0] && !strcmp(w->files[i].name, name))
                        return &w->files[i];
        return NULL;
}

struct file *file_add(struct worker *w, const char *name)
{
        for (int i = 0; i < FILES_MOST; i++) {
                if (w->files[i].name[0])
                        continue;
                w->files[i] = (struct file){0};
                snprintf(w->files[i].name, sizeof w->files[i].name, "%s", name);
                return &w->files[i];
        }
        errno = ENOSPC;
        wrong(w, "this program has too many files", name);
}

struct file *file_any(struct worker *w, const char *prefix)
{
        struct file *found = NULL;
        unsigned n = 0;

        for (int i = 0; i < FILES_MOST; i++)
                if (w->files[i].name[0] && !strncmp(w->files[i].name, prefix, strlen(prefix)) &&
                    !chance(w, ++n))
                        found = &w->files[i];
        return found;
}

/* --- bytes --- */

void file_note(struct file *f, uint64_t off, uint64_t len, unsigned number)
{
        if (off > f->size)
                file_note(f, f->size, off - f->size, 0);
        if (!off)
                f->n = len >= f->size ? 0 : f->n;
        f->pieces[f->n++] = (struct piece){off, off + len, number};
        if (f->size < off + len)
                f->size = off + len;
}

static uint64_t word_of(unsigned number, uint64_t at)
{
        uint64_t x = at * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u;

        return (x ^ x >> 29) * 0x94d049bb133111ebu;
}

/* p has the bytes from `off` on. */
static void lay(const struct piece *piece, uint64_t off, size_t n, unsigned char *p)
{
        uint64_t from = piece->off > off ? piece->off : off;
        uint64_t to = piece->end < off + n ? piece->end : off + n;

        while (from < to) {
                uint64_t word = piece->number ? word_of(piece->number, from / 8) : 0;
                size_t skip = from % 8, len = 8 - skip;
                if (len > to - from)
                        len = to - from;
                memcpy(p + (from - off), (unsigned char *)&word + skip, len);
                from += len;
        }
}

void file_fill(const struct file *f, uint64_t off, size_t n, unsigned char *p)
{
        memset(p, 0, n);
        for (unsigned i = 0; i < f->n; i++)
                lay(&f->pieces[i], off, n, p);
}

void file_write(struct worker *w, struct file *f, int fd, uint64_t off, uint64_t len)
{
        static const size_t steps[] = {BLOCK, 65536, 4000, 300001};
        size_t most = len < 1 << 18 ? steps[chance(w, 4)] : steps[chance(w, 2)];

        file_note(f, off, len, ++w->number);
        for (uint64_t done = 0; done < len;) {
                size_t n = len - done < most ? len - done : most;
                file_fill(f, off + done, n, block);
                if (pwrite(fd, block, n, (off_t)(off + done)) != (ssize_t)n)
                        wrong(w, "write", f->name);
                done += n;
        }
}

static void read_block(struct worker *w, const struct file *f, int fd, uint64_t off, size_t n)
{
        ssize_t got = pread(fd, block, n, (off_t)off);

        if (got != (ssize_t)n) {
                fprintf(stderr, "%s: %zd of %zu bytes at %llu\n", f->name, got, n,
                        (unsigned long long)off);
                wrong(w, "read", f->name);
        }
        file_fill(f, off, n, want);
        for (size_t i = 0; i < n; i++) {
                if (block[i] == want[i])
                        continue;
                fprintf(stderr, "%s: byte %llu is %02x, not %02x\n", f->name,
                        (unsigned long long)off + i, block[i], want[i]);
                errno = 0;
                wrong(w, "other bytes", f->name);
        }
}

void file_read_fd(struct worker *w, const struct file *f, int fd, uint64_t off)
{
        while (off < f->size) {
                size_t n = f->size - off < BLOCK ? f->size - off : BLOCK;
                read_block(w, f, fd, off, n);
                off += n;
        }
        if (pread(fd, block, 1, (off_t)f->size))
                wrong(w, "there is more than its end", f->name);
}

void file_read(struct worker *w, const struct file *f)
{
        char path[PATH_ROOM];
        struct stat st;
        CLEANUP(closep) int fd = open(path_of(w, f->name, path), O_RDONLY | O_CLOEXEC);

        if (fd < 0 || fstat(fd, &st))
                wrong(w, "open", f->name);
        if ((uint64_t)st.st_size != f->size) {
                fprintf(stderr, "%s has %llu bytes, not %llu\n", f->name,
                        (unsigned long long)st.st_size, (unsigned long long)f->size);
                wrong(w, "other size", f->name);
        }
        for (unsigned i = chance(w, 4); f->size > 5000 && i > 0; i--)
                read_block(w, f, fd, chance(w, (unsigned)f->size - 5000), 5000);
        file_read_fd(w, f, fd, 0);
}

/* --- names --- */

static bool is_below(const char *name, const char *dir, const char *entry)
{
        size_t n = strlen(dir);

        return !n ? !strcmp(name, entry)
                  : !strncmp(name, dir, n) && name[n] == '/' && !strcmp(name + n + 1, entry);
}

static bool is_known(const struct worker *w, const char *dir, const char *entry)
{
        for (int i = 0; i < FILES_MOST; i++)
                if (is_below(w->files[i].name, dir, entry))
                        return true;
        for (int i = 0; i < DIRS_MOST; i++)
                if (is_below(w->dirs[i], dir, entry))
                        return true;
        return !*dir && w->link && !strcmp(entry, "link");
}

static unsigned known_in(const struct worker *w, const char *dir)
{
        unsigned n = !*dir && w->link;

        for (int i = 0; i < FILES_MOST; i++) {
                const char *name = w->files[i].name, *slash = strchr(name, '/');
                n += *dir ? slash && (size_t)(slash - name) == strlen(dir) &&
                                     !strncmp(name, dir, strlen(dir))
                          : *name && !slash;
        }
        for (int i = 0; !*dir && i < DIRS_MOST; i++)
                n += w->dirs[i][0] != 0;
        return n;
}

static void list_one(struct worker *w, const char *dir)
{
        char path[PATH_ROOM];
        unsigned n = 0;
        DIR *d = opendir(path_of(w, dir, path));

        if (!d)
                wrong(w, "opendir", dir);
        errno = 0;
        for (struct dirent *e; (e = readdir(d));) {
                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                if (!is_known(w, dir, e->d_name))
                        wrong(w, "a name that nobody made", e->d_name);
                n++;
        }
        if (errno)
                wrong(w, "readdir", dir);
        closedir(d);
        if (n != known_in(w, dir)) {
                fprintf(stderr, "%s lists %u names, not %u\n", path, n, known_in(w, dir));
                wrong(w, "names are missing", dir);
        }
}

void files_are_listed(struct worker *w)
{
        list_one(w, "");
        for (int i = 0; i < DIRS_MOST; i++)
                if (w->dirs[i][0])
                        list_one(w, w->dirs[i]);
}

unsigned files_count(const struct worker *w)
{
        unsigned n = 1 + w->link;

        for (int i = 0; i < FILES_MOST; i++)
                n += w->files[i].name[0] != 0;
        for (int i = 0; i < DIRS_MOST; i++)
                n += w->dirs[i][0] != 0;
        return n;
}

void files_print_keys(const struct worker *w, FILE *to)
{
        fprintf(to, "w%d/\n", w->n);
        for (int i = 0; i < FILES_MOST; i++)
                if (w->files[i].name[0])
                        fprintf(to, "w%d/%s\n", w->n, w->files[i].name);
        for (int i = 0; i < DIRS_MOST; i++)
                if (w->dirs[i][0])
                        fprintf(to, "w%d/%s/\n", w->n, w->dirs[i]);
        if (w->link)
                fprintf(to, "w%d/link\n", w->n);
}
