/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c: what a test asks of the store past the mount.
 *
 *      objects cat KEY | put KEY <FILE | rm KEY | size KEY
 *      objects send KEY <FILE      by an upload that begins before the first byte is read
 *      objects meta KEY            its metadata, a NAME=VALUE a line
 *      objects etag KEY | crc KEY
 *      objects mark KEY NAME=VALUE...      an empty object with metadata
 *      objects ls [PREFIX]         a key a line, newlines shown as \n
 *      objects uploads             the key of each unfinished upload
 *      objects abort               ends them all
 *      objects begin KEY <FILE     an upload with one part that nobody ends
 *      objects keep KEY <FILE      the same, recorded as a change that lost
 *      objects fill PREFIX N       N objects PREFIX00000 on, each holding its number
 *
 * The store is that of tests/lib/store.sh. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/record/recovery_record.h"
#include "store.h"

#include "base/banned.h"

enum { CHUNK = 8 << 20, FLYING = 32 };

static int fail(const char *what, int err)
{
        fprintf(stderr, "objects: %s: %s\n", what, strerror(-err));
        return EXIT_FAILURE;
}

static int cat(struct store *s, const char *key)
{
        CLEANUP(freep) char *p = malloc(CHUNK);
        struct store_object obj;
        int err = store_head_wait(s, key, &obj);

        if (!p || err)
                return fail(key, err ? err : -ENOMEM);
        for (uint64_t off = 0; off < obj.size;) {
                ssize_t n = store_get_wait(s, key, off, p, CHUNK, obj.etag);
                if (n <= 0)
                        return fail(key, n < 0 ? (int)n : -EIO);
                fwrite(p, 1, (size_t)n, stdout);
                off += (uint64_t)n;
        }
        return EXIT_SUCCESS;
}

static int read_all(struct buf *b)
{
        char p[65536];
        size_t n;
        while ((n = fread(p, 1, sizeof p, stdin)))
                if (buf_add(b, p, n))
                        return -ENOMEM;
        return 0;
}

static int put(struct store *s, const char *key)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        int err = read_all(&b);
        if (!err)
                err = store_put_wait(s, key, b.p, b.len, NULL, NULL, NULL);
        return err ? fail(key, err) : EXIT_SUCCESS;
}

/* An empty object with the given metadata, each NAME=VALUE. */
static int mark(struct store *s, const char *key, char **pairs, int n)
{
        struct store_meta m = {.len = 0};
        int err = 0;
        for (int i = 0; !err && i < n; i++) {
                char *value = strchr(pairs[i], '=');
                if (!value)
                        return fail(pairs[i], -EINVAL);
                *value++ = 0;
                err = store_meta_add(&m, pairs[i], value);
        }
        if (!err)
                err = store_put_wait(s, key, "", 0, &m, NULL, NULL);
        return err ? fail(key, err) : EXIT_SUCCESS;
}

static int meta(struct store *s, const char *key)
{
        struct store_object obj;
        const char *value;
        int err = store_head_wait(s, key, &obj);

        if (err)
                return fail(key, err);
        for (const char *name = NULL; (name = store_meta_next(&obj.meta, name, &value));)
                printf("%s=%s\n", name, value);
        return EXIT_SUCCESS;
}

static int version(struct store *s, const char *key, bool crc)
{
        struct store_object obj;
        int err = store_head_wait(s, key, &obj);
        if (err)
                return fail(key, err);
        if (!crc)
                puts(obj.etag);
        else if (obj.has_crc)
                printf("%08x\n", (unsigned)obj.crc32c);
        return EXIT_SUCCESS;
}

static int size(struct store *s, const char *key)
{
        struct store_object obj;
        int err = store_head_wait(s, key, &obj);

        if (err)
                return fail(key, err);
        printf("%llu\n", (unsigned long long)obj.size);
        return EXIT_SUCCESS;
}

static void print_key(const char *key)
{
        for (; *key; key++) {
                if (*key == '\n')
                        fputs("\\n", stdout);
                else
                        putchar(*key);
        }
        putchar('\n');
}

static void list_one(void *arg, const struct store_entry *e)
{
        (void)arg;
        print_key(e->key);
}

static int ls(struct store *s, const char *prefix)
{
        char *from = NULL, *next = NULL;
        int err;

        do {
                struct store_list list = {.prefix = prefix, .continuation = from};
                err = store_list_wait(s, &list, list_one, NULL, &next);
                free(from);
                from = TAKE_PTR(next);
        } while (!err && from);
        return err ? fail("ls", err) : EXIT_SUCCESS;
}

struct batch {
        sem_t room;
        atomic_int err;
};

struct upload_list {
        struct batch batch;
        size_t n;
        struct {
                char *key, *id;
        } v[64];
};

static void uploads_listed(void *arg, int err, size_t n, const struct store_upload_entry *v)
{
        struct upload_list *l = arg;
        for (; l->n < n && l->n < sizeof l->v / sizeof *l->v; l->n++) {
                l->v[l->n].key = strdup(v[l->n].key);
                l->v[l->n].id = strdup(v[l->n].id);
        }
        atomic_store(&l->batch.err, err);
        sem_post(&l->batch.room);
}

static int abort_one(struct store *s, const char *key, const char *id)
{
        struct store_upload *up = store_upload_open(s, key, id);
        int err = up ? store_upload_abort_wait(up) : -ENOMEM;
        store_upload_free(up);
        return err;
}

static int uploads(struct store *s, bool abort)
{
        struct upload_list l = {.n = 0};

        sem_init(&l.batch.room, 0, 0);
        int err = store_list_uploads(s, "", uploads_listed, &l);
        if (!err) {
                sem_wait(&l.batch.room);
                err = atomic_load(&l.batch.err);
        }
        for (size_t i = 0; i < l.n; i++) {
                if (!abort)
                        print_key(l.v[i].key);
                else if (!err)
                        err = abort_one(s, l.v[i].key, l.v[i].id);
                free(l.v[i].key);
                free(l.v[i].id);
        }
        return err ? fail("uploads", err) : EXIT_SUCCESS;
}

static int record_part(void *arg, const struct store_part *part)
{
        struct recovery_record *k = arg;
        const struct recovery_part p = {part->partno, part->size, (char *)part->etag, part->has_crc,
                                        part->crc32c};
        k->size += part->size;
        return recovery_record_add_part(k, &p);
}

static int record(struct store *s, const char *key, struct store_upload *up)
{
        CLEANUP(recovery_record_release)
        struct recovery_record k = {
                .key = strdup(key), .host = strdup("host"), .upload = strdup(store_upload_id(up))};
        char at[sizeof RECOVERY_PREFIX + RECOVERY_ID_MAX] = RECOVERY_PREFIX;

        recovery_record_id(at + strlen(at));
        int err = store_upload_sent(up, record_part, &k);
        CLEANUP(freep) char *text = recovery_record_print(&k);
        if (err || !text)
                return err ? err : -ENOMEM;
        return store_put_wait(s, at, text, strlen(text), NULL, NULL, NULL);
}

static int send_late(struct store *s, const char *key)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct store_upload *up = NULL;
        int err = store_upload_create_wait(s, key, NULL, &up);

        if (!err)
                err = read_all(&b);
        if (!err) {
                struct store_body body = store_body_mem(b.p, b.len);
                err = store_upload_part_wait(up, 1, &body);
        }
        if (!err)
                err = store_upload_complete_wait(up, NULL, NULL);
        store_upload_free(up);
        return err ? fail(key, err) : EXIT_SUCCESS;
}

static int begin(struct store *s, const char *key, bool keep)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct store_upload *up = NULL;
        int err = read_all(&b);

        if (!err)
                err = store_upload_create_wait(s, key, NULL, &up);
        if (!err) {
                struct store_body body = store_body_mem(b.p, b.len);
                err = store_upload_part_wait(up, 1, &body);
        }
        if (!err && keep)
                err = record(s, key, up);
        store_upload_free(up);
        return err ? fail(key, err) : EXIT_SUCCESS;
}

struct filler {
        struct batch *batch;
        char text[16];
};

static void filled(void *arg, int err, const struct store_object *obj)
{
        struct filler *f = arg;
        (void)obj;
        if (err)
                atomic_store(&f->batch->err, err);
        sem_post(&f->batch->room);
        free(f);
}

static int fill(struct store *s, const char *prefix, unsigned n)
{
        struct batch b;
        int err = 0;

        sem_init(&b.room, 0, FLYING);
        atomic_init(&b.err, 0);
        for (unsigned i = 0; i < n && !err; i++) {
                CLEANUP(freep) char *key = NULL;
                struct filler *f = calloc(1, sizeof *f);
                if (!f || asprintf(&key, "%s%05u", prefix, i) < 0)
                        return fail(prefix, -ENOMEM);
                f->batch = &b;
                int len = snprintf(f->text, sizeof f->text, "%u", i);
                struct store_body body = store_body_mem(f->text, (size_t)len);
                sem_wait(&b.room);
                err = store_put(s, key, &body, NULL, NULL, filled, f);
        }
        for (int i = 0; i < FLYING && !err; i++)
                sem_wait(&b.room);
        err = err ? err : atomic_load(&b.err);
        return err ? fail(prefix, err) : EXIT_SUCCESS;
}

static int run(struct store *s, int argc, char **argv)
{
        const char *verb = argc > 1 ? argv[1] : "", *key = argc > 2 ? argv[2] : "";

        if (!strcmp(verb, "cat"))
                return cat(s, key);
        if (!strcmp(verb, "put"))
                return put(s, key);
        if (!strcmp(verb, "size"))
                return size(s, key);
        if (!strcmp(verb, "etag") || !strcmp(verb, "crc"))
                return version(s, key, verb[0] == 'c');
        if (!strcmp(verb, "meta"))
                return meta(s, key);
        if (!strcmp(verb, "mark"))
                return mark(s, key, argv + 3, argc - 3);
        if (!strcmp(verb, "ls"))
                return ls(s, key);
        if (!strcmp(verb, "uploads"))
                return uploads(s, false);
        if (!strcmp(verb, "abort"))
                return uploads(s, true);
        if (!strcmp(verb, "send"))
                return send_late(s, key);
        if (!strcmp(verb, "begin"))
                return begin(s, key, false);
        if (!strcmp(verb, "keep"))
                return begin(s, key, true);
        if (!strcmp(verb, "fill") && argc > 3)
                return fill(s, key, (unsigned)strtoul(argv[3], NULL, 10));
        if (!strcmp(verb, "rm")) {
                int err = store_delete_wait(s, key);
                return err ? fail(key, err) : EXIT_SUCCESS;
        }
        return fail(verb, -EINVAL);
}

int main(int argc, char **argv)
{
        CLEANUP(freep) char *url = NULL;
        char why[256] = "no memory";
        struct store *s = NULL;
        const char *bucket = getenv("CKPTFS_TEST_BUCKET"), *scheme = getenv("CKPTFS_TEST_SCHEME");

        if (asprintf(&url, "%s://%s", scheme ? scheme : "s3", bucket ? bucket : "") < 0)
                return fail(why, -ENOMEM);
        const struct store_config cfg = {
                .url = url,
                .endpoint = getenv("CKPTFS_TEST_ENDPOINT"),
                .ca_bundle = getenv("CKPTFS_TEST_CA"),
                .deadline_ms = 10000,
        };
        int err = store_open(&cfg, &s, why, sizeof why);
        if (err)
                return fail(why, err);
        err = store_check(s, why, sizeof why); /* what is there may depend on the bucket */
        if (err)
                fprintf(stderr, "objects: %s\n", why);
        int rc = run(s, argc, argv);
        store_close(s);
        return fflush(stdout) ? EXIT_FAILURE : rc;
}
