/* SPDX-License-Identifier: Apache-2.0 */
/* store_ops.c: operations on a store that the input chooses, and replies that it makes up. */
#include "tests/fuzz/store_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/script_http.h"
#include "base/banned.h"

enum { BODY = 4096, LONG_BODY = 64 << 10 };
static char bytes[LONG_BODY];
static const char version[] = "\"0123456789abcdef0123456789abcdef\"";

/* One operation: how often its callback ran, and the upload that others go on with. */
struct doing {
        unsigned called;
        uint64_t from, got, asked;
        struct store_upload *up;
};

static void once(struct doing *d, int err)
{
        if (d->called++ || err > 0)
                abort();
}

static bool ends(const char *s, size_t room)
{
        return memchr(s, 0, room);
}

static void on_object(void *arg, int err, const struct store_object *obj)
{
        once(arg, err);
        if ((err && obj) ||
            (obj && (!ends(obj->etag, sizeof obj->etag) || obj->meta.len > sizeof obj->meta.buf)))
                abort();
        const char *value = "";
        for (const char *name = NULL;
             obj && (name = store_meta_next(&obj->meta, name, &value)) != NULL;)
                if (!*name || !value)
                        abort();
}

static int on_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct doing *d = arg;

        /* In order, each byte once, none that was not asked for. */
        if (at != d->got || !p || n > d->asked - d->got)
                abort();
        d->got += n;
        return 0;
}

static void on_got(void *arg, int err, const struct store_got *got)
{
        struct doing *d = arg;

        once(d, err);
        if (!err != (got != NULL) || (got && got->bytes != d->got))
                abort();
        /* All that there is of what was asked for. */
        uint64_t there = got && got->obj.size > d->from ? got->obj.size - d->from : 0;
        if (got && d->got != (there < d->asked ? there : d->asked))
                abort();
}

static void on_page(void *arg, int err, const struct store_page *page)
{
        once(arg, err);
        for (size_t i = 0; !err && i < page->n; i++) {
                struct store_meta m;
                if (!page->v[i].key || !page->v[i].etag)
                        abort();
                store_entry_meta(&page->v[i], &m);
        }
}

static void on_upload(void *arg, int err, struct store_upload *up)
{
        struct doing *d = arg;

        once(d, err);
        if (!err != (up != NULL))
                abort();
        d->up = up;
}

static void on_parts(void *arg, int err, size_t n, const struct store_part *parts)
{
        once(arg, err);
        for (size_t i = 0; !err && i < n; i++)
                if (parts[i].partno < 1 || parts[i].partno > STORE_PART_MAX || !parts[i].etag)
                        abort();
}

static void on_uploads(void *arg, int err, size_t n, const struct store_upload_entry *v)
{
        once(arg, err);
        for (size_t i = 0; !err && i < n; i++)
                if (!v[i].key || !v[i].id)
                        abort();
}

static int get(struct store *s, struct doing *d, uint64_t off, uint64_t len, const char *match)
{
        const struct store_get g = {.key = "dir/key",
                                    .off = off,
                                    .len = len,
                                    .if_match = match,
                                    .data = on_data,
                                    .done = on_got,
                                    .arg = d};
        d->got = 0;
        d->from = off;
        d->asked = len;
        return store_get(s, &g);
}

static int list(struct store *s, struct doing *d, const char *delim)
{
        const struct store_list l = {.prefix = "dir/", .delim = delim, .max = 10};
        return store_list(s, &l, on_page, d);
}

static int delete_many(struct store *s, struct doing *d)
{
        static const char *const keys[] = {"dir/a", "dir/b"}, *const versions[] = {version, NULL};
        return store_delete_many(s, keys, versions, 2, on_object, d);
}

static int put(struct store *s, struct doing *d, size_t n, const struct store_cond *cond)
{
        const struct store_body b = store_body_mem(bytes, n);
        struct store_meta m = {.missing = false};

        store_meta_add(&m, "mode", "33188");
        return store_put(s, "dir/key", &b, &m, cond, on_object, d);
}

static int set_meta(struct store *s, struct doing *d)
{
        struct store_meta m = {.missing = false};

        store_meta_add(&m, "mode", "33188");
        return store_set_meta(s, "dir/key", version, &m, on_object, d);
}

/* Operations on the upload that was created before them. */
static int on_up(struct doing *d, char c)
{
        const struct store_body b = store_body_mem(bytes, BODY);

        switch (c) {
        case 'p':
                return store_upload_part(d->up, 1, &b, on_object, d);
        case 'q':
                return store_upload_part_copy(d->up, 2, "dir/key", version, 0, 8 << 20, on_object,
                                              d);
        case 'c':
                return store_upload_complete(d->up, NULL, on_object, d);
        case 'a':
                return store_upload_abort(d->up, on_object, d);
        default:
                return store_upload_parts(d->up, on_parts, d);
        }
}

static int start(struct store *s, struct doing *d, char c)
{
        static const struct store_cond absent = {.if_absent = true}, match = {.if_match = version};

        switch (c) {
        case 'h':
                return store_head(s, "dir/key", on_object, d);
        case 'g':
                return get(s, d, 0, 1 << 20, NULL);
        case 'r':
                return get(s, d, 100, 50, version);
        case 'w':
                return put(s, d, BODY, NULL);
        case 'W':
                return put(s, d, LONG_BODY, NULL);
        case 'n':
                return put(s, d, BODY, &absent);
        case 'd':
                return store_delete(s, "dir/key", on_object, d);
        case 'D':
                return store_delete_if(s, "dir/key", version, on_object, d);
        case 'm':
                return delete_many(s, d);
        case 'x':
                return store_copy(s, "dir/key", version, "dir/new", NULL, &match, on_object, d);
        case 'X':
                return store_copy(s, "dir/key", NULL, "dir/new", NULL, &absent, on_object, d);
        case 's':
                return set_meta(s, d);
        case 'l':
                return list(s, d, "/");
        case 'L':
                return list(s, d, NULL);
        case 'U':
                return store_list_uploads(s, "dir/", on_uploads, d);
        case 'u':
        case 'v':
                store_upload_free(TAKE_PTR(d->up));
                return c == 'u' ? store_upload_create(s, "dir/key", NULL, on_upload, d)
                                : store_upload_create_copying(s, "dir/key", NULL, on_upload, d);
        case 'o':
                store_upload_free(d->up);
                d->up = store_upload_open(s, "dir/key", "an-upload");
                return -ECANCELED;
        default:
                return d->up && strchr("pqcat", c) ? on_up(d, c) : -EINVAL;
        }
}

enum store_way store_ops_way(uint8_t letter)
{
        return letter == 'c'   ? STORE_UPLOAD_COMPOSE
               : letter == 'r' ? STORE_UPLOAD_RESUMABLE
               : letter == 'm' ? STORE_UPLOAD_MULTIPART
                               : STORE_UPLOAD_AUTO;
}

/* The next descriptor there will be. */
static int next_descriptor(void)
{
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                abort();
        close(fd);
        return fd;
}

void store_ops_run(const struct store_config *cfg, const uint8_t *p, size_t n)
{
        int before = next_descriptor();
        struct doing d = {.called = 0};
        struct store *s;
        char why[512];

        if (store_open(cfg, &s, why, sizeof why))
                abort();
        CLEANUP(freep) char *ops = fuzz_line(&p, &n);

        script_begin(p, n);
        for (size_t i = 0; ops[i] && i < 8 && (!i || !script_is_over()); i++) {
                d.called = 0;
                int err = start(s, &d, ops[i]);
                script_run();
                if (d.called != !err)
                        abort();
        }
        d.called = 0;
        store_upload_free(d.up);
        store_close(s);
        if (d.called || next_descriptor() != before)
                abort();
}
