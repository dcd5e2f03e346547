/* SPDX-License-Identifier: Apache-2.0 */
/* tar.c: see tar.h. */
#include "bench/scenario/dataset/tar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

#ifdef HAVE_LIBARCHIVE

enum { BLOCK = 256 << 10 /* what push() gets at once */ };

const char *tar_missing(void)
{
        return NULL;
}

struct tar_out {
        struct archive *a;
        tar_push_fn *push;
        void *arg;
        int err; /* the first of push() */
};

static la_ssize_t on_push(struct archive *a, void *arg, const void *p, size_t n)
{
        struct tar_out *t = arg;

        if (!t->err)
                t->err = t->push(t->arg, p, n);
        if (!t->err)
                return (la_ssize_t)n;
        archive_set_error(a, -t->err, "%s", strerror(-t->err));
        return -1;
}

void tar_forget(struct tar_out *t)
{
        if (!t)
                return;
        if (!t->err)
                t->err = -ECANCELED; /* freeing would write the end */
        archive_write_free(t->a);
        free(t);
}

int tar_begin(tar_push_fn *push, void *arg, struct tar_out **out)
{
        struct tar_out *t = calloc(1, sizeof *t);
        struct archive *a = t ? archive_write_new() : NULL;

        if (!a) {
                free(t);
                return -ENOMEM;
        }
        *t = (struct tar_out){.a = a, .push = push, .arg = arg};
        if (archive_write_set_format_pax_restricted(a) ||
            archive_write_set_bytes_per_block(a, BLOCK) ||
            archive_write_set_bytes_in_last_block(a, 1) ||
            archive_write_open(a, t, NULL, on_push, NULL)) {
                tar_forget(t);
                return -ENOMEM;
        }
        *out = t;
        return 0;
}

int tar_add(struct tar_out *t, const char *name, const void *p, size_t n)
{
        struct archive_entry *e = archive_entry_new();

        if (!e)
                return -ENOMEM;
        archive_entry_set_pathname(e, name);
        archive_entry_set_size(e, (la_int64_t)n);
        archive_entry_set_filetype(e, S_IFREG);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_mtime(e, 0, 0);
        int rc = archive_write_header(t->a, e);
        archive_entry_free(e);
        if (rc == ARCHIVE_OK && archive_write_data(t->a, p, n) == (la_ssize_t)n)
                return 0;
        return t->err ? t->err : -EIO;
}

int tar_end(struct tar_out *t)
{
        if (!t)
                return 0;
        int rc = archive_write_close(t->a), err = t->err;

        archive_write_free(t->a);
        free(t);
        return err ? err : rc == ARCHIVE_OK ? 0 : -EIO;
}

struct tar_in {
        tar_pull_fn *pull;
        void *from;
        int err; /* the first of pull() */
};

static la_ssize_t on_pull(struct archive *a, void *arg, const void **p)
{
        struct tar_in *t = arg;
        size_t n = 0;

        t->err = t->pull(t->from, p, &n);
        if (!t->err)
                return (la_ssize_t)n;
        archive_set_error(a, -t->err, "%s", strerror(-t->err));
        return -1;
}

/* The bytes of the entry that was just found. */
static int read_entry(struct archive *a, const struct tar_in *t, uint64_t size, struct buf *b,
                      char *why, size_t nwhy)
{
        buf_reset(b);
        if (buf_grow(b, size))
                return -ENOMEM;
        la_ssize_t got = archive_read_data(a, b->p, size);
        if (got == (la_ssize_t)size) {
                b->len = size;
                return 0;
        }
        if (t->err)
                return t->err;
        snprintf(why, nwhy, "%s", got < 0 ? archive_error_string(a) : "an entry ends early");
        return -EBADMSG;
}

/* Each entry of an opened tar. */
static int read_entries(struct archive *a, const struct tar_in *t, tar_sample_fn *sample, void *to,
                        size_t most, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct archive_entry *e;
        int rc, err = 0;

        while (!err && (rc = archive_read_next_header(a, &e)) == ARCHIVE_OK) {
                const char *name = archive_entry_pathname(e);
                la_int64_t size = archive_entry_size(e);
                if (archive_entry_filetype(e) != S_IFREG || !name)
                        continue;
                if (size < 0 || (uint64_t)size > most) {
                        snprintf(why, nwhy, "%s has %lld bytes: a sample has at most %zu", name,
                                 (long long)size, most);
                        return -EFBIG;
                }
                err = read_entry(a, t, (uint64_t)size, &b, why, nwhy);
                if (!err)
                        err = sample(to, name, b.p, b.len);
        }
        if (err || rc == ARCHIVE_EOF)
                return err;
        if (t->err)
                return t->err;
        snprintf(why, nwhy, "%s", archive_error_string(a));
        return -EBADMSG;
}

int tar_read(tar_pull_fn *pull, void *from, tar_sample_fn *sample, void *to, size_t most, char *why,
             size_t nwhy)
{
        struct tar_in t = {.pull = pull, .from = from};
        struct archive *a = archive_read_new();
        int err;

        if (!a)
                return -ENOMEM;
        if (archive_read_support_format_tar(a)) {
                err = -ENOMEM;
        } else if (archive_read_open(a, &t, NULL, on_pull, NULL)) {
                snprintf(why, nwhy, "%s", archive_error_string(a));
                err = t.err ? t.err : -EBADMSG;
        } else {
                err = read_entries(a, &t, sample, to, most, why, nwhy);
        }
        archive_read_free(a);
        return err;
}

#else

const char *tar_missing(void)
{
        return "this ckptbench was built without libarchive: install libarchive-dev and configure "
               "it again";
}

int tar_begin(tar_push_fn *push, void *arg, struct tar_out **out)
{
        (void)push;
        (void)arg;
        *out = NULL;
        return -EOPNOTSUPP;
}

int tar_add(struct tar_out *t, const char *name, const void *p, size_t n)
{
        (void)t;
        (void)name;
        (void)p;
        (void)n;
        return -EOPNOTSUPP;
}

int tar_end(struct tar_out *t)
{
        (void)t;
        return -EOPNOTSUPP;
}

void tar_forget(struct tar_out *t)
{
        (void)t;
}

int tar_read(tar_pull_fn *pull, void *from, tar_sample_fn *sample, void *to, size_t most, char *why,
             size_t nwhy)
{
        (void)pull;
        (void)from;
        (void)sample;
        (void)to;
        (void)most;
        snprintf(why, nwhy, "%s", tar_missing());
        return -EOPNOTSUPP;
}

#endif
