/* SPDX-License-Identifier: Apache-2.0 */
/* io_awscrt.c: shards as objects, through the vendor's C client. It decides how many parts are
 * under way within s3.connections. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/io/awscrt.h"
#include "bench/core/io.h"
#include "bench/core/s3_endpoint.h"

#include "base/banned.h"

struct crt_io {
        struct io io;
        struct awscrt *client;
        struct place place;
        uint64_t part_size, read_size;
};

struct crt_file {
        struct io_file file;
        char key[PLACE_KEY_MAX];
        uint64_t size;  /* of a load */
        bool published; /* by this file */
};

static struct crt_io *crt_of(struct io_file *f)
{
        return (struct crt_io *)f->io;
}

static void crt_stop(struct io *io, bool clean)
{
        (void)clean; /* prefixes are not made and need not be removed */
        struct crt_io *c = (struct crt_io *)io;
        if (!c)
                return;
        awscrt_close(c->client);
        free(c);
}

static int crt_start(const struct keys *k, const char *storage, const char *dir, unsigned rank,
                     struct io **out, char *why, size_t nwhy)
{
        (void)storage;
        CLEANUP(freep) struct crt_io *c = io_new(&io_awscrt, sizeof *c, rank, why, nwhy);
        if (!c)
                return -ENOMEM;
        c->part_size = k->s3_part_size;
        c->read_size = k->s3_read_size;
        int err = place_read(k, dir, &c->place, why, nwhy);
        if (!err)
                err = awscrt_open(k, &c->place, &c->client, why, nwhy);
        if (err)
                place_add_remedy(&c->place, err, why, nwhy);
        else
                *out = &TAKE_PTR(c)->io;
        return err;
}

static struct crt_file *new_file(struct io *io, const char *name)
{
        struct crt_file *f = calloc(1, sizeof *f);
        if (f) {
                f->file.io = io;
                place_key(&((struct crt_io *)io)->place, name, f->key);
        }
        return f;
}

/* The client begins an upload with its first part: nothing is to be done before. */
static int crt_create(struct io *io, const char *name, uint64_t size, struct io_file **out)
{
        (void)size;
        struct crt_file *f = new_file(io, name);
        if (!f)
                return io_fail(io, -ENOMEM, name);
        *out = &f->file;
        return 0;
}

/* One call of the client sends the parts and completes: so this is durable before sync(). */
static int crt_write(struct io_file *file, const struct io_data *d)
{
        struct crt_io *c = crt_of(file);
        struct crt_file *f = (struct crt_file *)file;
        int err = awscrt_put(c->client, f->key, d, c->part_size, c->io.why, sizeof c->io.why);
        f->published = !err;
        return err;
}

static int crt_sync(struct io_file *file)
{
        (void)file;
        return 0;
}

static int crt_close(struct io_file *file)
{
        free(file);
        return 0;
}

static void crt_abandon(struct io_file *file)
{
        struct crt_file *f = (struct crt_file *)file;
        char ignored[64];
        if (f && f->published)
                awscrt_delete(crt_of(file)->client, f->key, ignored, sizeof ignored);
        free(f);
}

static int crt_open(struct io *io, const char *name, struct io_file **out)
{
        CLEANUP(freep) struct crt_file *f = new_file(io, name);
        if (!f)
                return io_fail(io, -ENOMEM, name);
        int err = awscrt_size(((struct crt_io *)io)->client, f->key, &f->size, io->why,
                              sizeof io->why);
        if (!err)
                *out = &TAKE_PTR(f)->file;
        return err;
}

static int crt_read(struct io_file *file, const struct io_data *d)
{
        struct crt_io *c = crt_of(file);
        struct crt_file *f = (struct crt_file *)file;

        if (f->size < io_reach(d))
                return io_fail(file->io, -ENODATA, f->key);
        return awscrt_get(c->client, f->key, f->size, d, c->read_size, c->io.why, sizeof c->io.why);
}

static int crt_forget(struct io *io, const char *name)
{
        (void)io;
        (void)name;
        return 0;
}

static int crt_remove(struct io *io, const char *name)
{
        struct crt_io *c = (struct crt_io *)io;
        char key[PLACE_KEY_MAX];
        place_key(&c->place, name, key);
        return awscrt_delete(c->client, key, io->why, sizeof io->why);
}

static int crt_size(struct io *io, const char *name, uint64_t *out)
{
        struct crt_io *c = (struct crt_io *)io;
        char key[PLACE_KEY_MAX];
        place_key(&c->place, name, key);
        *out = 0;
        return awscrt_size(c->client, key, out, io->why, sizeof io->why);
}

const struct io_ops io_awscrt = {
        .name = "awscrt",
        .start = crt_start,
        .stop = crt_stop,
        .create = crt_create,
        .write = crt_write,
        .sync = crt_sync,
        .open = crt_open,
        .read = crt_read,
        .close = crt_close,
        .abandon = crt_abandon,
        .forget = crt_forget,
        .remove = crt_remove,
        .keep = io_keep_none,
        .keep_not = io_keep_not_none,
        .size = crt_size,
        .count = io_count_none,
};
