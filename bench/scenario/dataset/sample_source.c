/* SPDX-License-Identifier: Apache-2.0 */
/* sample_source.c: see sample_source.h. */
#include "bench/scenario/dataset/sample_source.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "bench/io/bucket.h"
#include "bench/core/io.h"
#include "bench/core/run.h"
#include "bench/scenario/dataset/sample_source_i.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

const char *sample_source_storage(const struct keys *k, char *why, size_t nwhy)
{
        static const char *const known[] = {"s3", "gcs", "mount", "disk"};
        const bool given[] = {*k->s3_bucket || *k->s3_uri, *k->gcs_uri, *k->mount_path, *k->path};

        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                if (!strcmp(k->storage, "auto") ? given[i] : !strcmp(k->storage, known[i]))
                        return known[i];
        if (strcmp(k->storage, "auto"))
                snprintf(why, nwhy, "storage '%s' holds no datasets: give s3, gcs, mount or disk",
                         k->storage);
        else
                snprintf(why, nwhy,
                         "nothing says where the dataset is: give s3.bucket=, s3.uri=, gcs.uri=, "
                         "mount.path= or path=");
        return NULL;
}

/* Copies `name` without slashes at its ends. */
static int plain_name(const char *name, char *out, size_t n)
{
        name += strspn(name, "/");
        size_t len = strlen(name);
        while (len && name[len - 1] == '/')
                len--;
        if (len >= n)
                return -ENAMETOOLONG;
        memcpy(out, name, len);
        out[len] = 0;
        return 0;
}

static int open_bucket(struct sample_source *p, const struct keys *k, const char *storage,
                       const char *name, char *why, size_t nwhy)
{
        struct keys mine = *k; /* borrows the strings */
        bool gcs = !strcmp(storage, "gcs");
        const char *slash = *name ? "/" : "";
        char bucket[STORE_KEY_MAX], top[STORE_KEY_MAX];

        int err = plain_name(k->s3_bucket, bucket, sizeof bucket);
        if (!err && !gcs && *bucket && strchr(bucket, '/')) {
                snprintf(why, nwhy,
                         "s3.bucket=%s is no bucket's name: give it without s3:// and "
                         "prefix, or give s3.uri=",
                         k->s3_bucket);
                return -EINVAL;
        }
        if (!err && !gcs && *bucket)
                snprintf(p->text, sizeof p->text, "s3://%s%s%s", bucket, slash, name);
        else if (!err && !(err = plain_name(gcs ? k->gcs_uri : k->s3_uri, top, sizeof top)))
                snprintf(p->text, sizeof p->text, "%s%s%s", top, *top ? slash : "", name);
        if (err) {
                snprintf(why, nwhy, "%s: the address of the dataset is too long", name);
                return err;
        }
        if (gcs)
                mine.gcs_uri = p->text;
        else
                mine.s3_uri = p->text;
        p->part_size = k->s3_part_size;
        return bucket_open(&mine, storage, &p->store, why, nwhy);
}

static int open_directory(struct sample_source *p, const struct keys *k, const char *storage,
                          const char *name, bool make, char *why, size_t nwhy)
{
        const char *top;
        struct stat st;
        int err = io_posix_top(k, storage, &top, why, nwhy);

        if (err)
                return err;
        size_t len = strlen(top);
        while (len > 1 && top[len - 1] == '/')
                len--;
        if (snprintf(p->text, sizeof p->text, "%.*s%s%s/", (int)len, top, *name ? "/" : "", name) >=
            (int)sizeof p->text)
                err = -ENAMETOOLONG;
        if (!err && make)
                err = run_make_dirs(p->text);
        p->text[strlen(p->text) - 1] = 0;
        if (!err && stat(p->text, &st))
                err = -errno;
        if (err)
                snprintf(why, nwhy, "%s: %s: %s", p->text, strerror(-err),
                         make ? "give a directory that can be written"
                              : "make a dataset there with ckptbench datagen, or name another");
        return err;
}

int sample_source_open(const struct keys *k, const char *storage, const char *name, bool make,
                       struct sample_source **out, char *why, size_t nwhy)
{
        bool bucket = !strcmp(storage, "s3") || !strcmp(storage, "gcs");
        char plain[STORE_KEY_MAX];
        struct sample_source *p = calloc(1, sizeof *p);

        if (!p) {
                snprintf(why, nwhy, "out of memory: free some");
                return -ENOMEM;
        }
        int err = plain_name(name, plain, sizeof plain);
        if (err)
                snprintf(why, nwhy, "dataset=%.64s... is too long: give a shorter name", name);
        else
                err = bucket ? open_bucket(p, k, storage, plain, why, nwhy)
                             : open_directory(p, k, storage, plain, make, why, nwhy);
        if (err)
                sample_source_close(p);
        else
                *out = p;
        return err;
}

void sample_source_close(struct sample_source *p)
{
        if (!p)
                return;
        bucket_close(p->store);
        free(p);
}

const char *sample_source_text(const struct sample_source *p)
{
        return p->text;
}

bool sample_source_is_cached(const struct sample_source *p)
{
        return !p->store;
}

int sample_source_path(const struct sample_source *p, const char *name, char out[PATH_MAX])
{
        return snprintf(out, PATH_MAX, "%s/%s", p->text, name) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* --- the list --- */

/* Bytes of names: some hundred million samples, more than any dataset has. */
#define NAMES_MAX (UINT64_C(8) << 30)

/* A list that grows. */
struct listing {
        struct sample_list *l;
        size_t room;
        int err;
};

static void add(struct listing *to, const char *name, uint64_t size)
{
        struct sample_list *l = to->l;
        const char *last = strrchr(name, '/');

        if (to->err || *(last ? last + 1 : name) == '.')
                return;
        if (l->names.len > NAMES_MAX || GROW(l->v, l->n, to->room, 1024)) {
                to->err = l->names.len > NAMES_MAX ? -EFBIG : -ENOMEM;
                return;
        }
        l->v[l->n] = (struct sample_item){l->names.len, size};
        if (buf_add(&l->names, name, strlen(name) + 1))
                to->err = -ENOMEM;
        else
                l->n++;
}

static void add_object(void *arg, const struct store_entry *e)
{
        size_t n = strlen(e->key);
        if (!e->is_prefix && n && e->key[n - 1] != '/') /* a folder's marker is no sample */
                add(arg, e->key, e->size);
}

static int list_bucket(struct sample_source *p, struct listing *to)
{
        struct store_walk walk;
        CLEANUP(freep) char *next = NULL;
        int err;

        do {
                const struct store_list list = {.walk = &walk, .prefix = "", .continuation = next};
                char *more = NULL;
                err = signal_came() ? -ECANCELED
                                    : store_list_wait(p->store, &list, add_object, to, &more);
                free(next);
                next = more;
        } while (!err && !to->err && next);
        return err;
}

static int list_directory(struct sample_source *p, struct listing *to)
{
        char *const top[] = {p->text, NULL};
        size_t skip = strlen(p->text);
        int err = 0;
        FTS *f = fts_open(top, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

        if (!f)
                return -errno;
        skip += p->text[skip - 1] != '/'; /* as of the root of all */
        for (FTSENT *e; !err && !to->err && (e = fts_read(f));) {
                if (e->fts_info == FTS_F)
                        add(to, e->fts_path + skip, (uint64_t)e->fts_statp->st_size);
                else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
                        err = -e->fts_errno;
                if (signal_came())
                        err = -ECANCELED;
        }
        fts_close(f);
        return err;
}

static int by_name(const void *a, const void *b, void *names)
{
        const struct sample_item *x = a, *y = b;
        return strcmp((const char *)names + x->name, (const char *)names + y->name);
}

int sample_source_list(struct sample_source *p, struct sample_list *out)
{
        struct listing to = {.l = out};
        int err = p->store ? list_bucket(p, &to) : list_directory(p, &to);

        err = err ? err : to.err;
        if (err)
                sample_source_list_release(out);
        else if (out->n)
                qsort_r(out->v, out->n, sizeof *out->v, by_name, out->names.p);
        return err;
}

void sample_source_list_release(struct sample_list *l)
{
        buf_release(&l->names);
        free(l->v);
        l->v = NULL;
        l->n = 0;
}

int sample_source_forget(struct sample_source *p, const char *name)
{
        char path[PATH_MAX];
        uint64_t left;

        if (p->store)
                return 0;
        int err = sample_source_path(p, name, path);
        if (err)
                return err;
        return io_posix_forget(path, &left);
}

/* --- removing --- */

static int remove_objects(struct sample_source *p, sample_source_name_fn *name, void *arg, size_t n)
{
        CLEANUP(freep) char(*v)[STORE_KEY_MAX] = calloc(BUCKET_DELETE_MAX, sizeof *v);
        const char *keys[BUCKET_DELETE_MAX];

        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < n; i += BUCKET_DELETE_MAX) {
                size_t some = n - i < BUCKET_DELETE_MAX ? n - i : BUCKET_DELETE_MAX;
                for (size_t j = 0; j < some; j++) {
                        name(arg, i + j, v[j], sizeof v[j]);
                        keys[j] = v[j];
                }
                int err = bucket_delete(p->store, keys, some);
                if (err)
                        return err;
        }
        return 0;
}

int sample_source_remove(struct sample_source *p, sample_source_name_fn *name, void *arg, size_t n)
{
        char one[STORE_KEY_MAX], path[PATH_MAX];
        int err = 0;

        if (p->store)
                return remove_objects(p, name, arg, n);
        for (size_t i = 0; i < n && !err; i++) {
                name(arg, i, one, sizeof one);
                err = sample_source_path(p, one, path);
                if (!err && unlink(path) && errno != ENOENT)
                        err = -errno;
        }
        if (!err)
                rmdir(p->text); /* what others left in it stays */
        return err;
}
