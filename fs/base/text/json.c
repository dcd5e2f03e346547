/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: see json.h. A struct json is a cJSON under another name. */
#include "base/text/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

enum { FILE_MAX_BYTES = 64 << 20 };

static const cJSON *in(const struct json *j)
{
        return (const cJSON *)(const void *)j;
}

static cJSON *mut(struct json *j)
{
        return (cJSON *)(void *)j;
}

static struct json *out_of(cJSON *c)
{
        return (struct json *)(void *)c;
}

/* Our strings end at a NUL, and a name that has one would become another's name: what stands for
 * one in the text (of escapes, which are pairs) stands for U+FFFD from here on. */
static void mend_escapes(char *text, size_t n)
{
        for (char *p = text; n - (size_t)(p - text) >= 6; p++) {
                if (*p != '\\')
                        continue;
                p++;
                if (!memcmp(p, "u0000", 5))
                        memcpy(p, "ufffd", 5);
        }
}

static int parse(const char *name, const char *text, size_t n, struct json **out, char *why,
                 size_t nwhy)
{
        const char *end = NULL;
        unsigned line = 1;

        /* A NUL that is not escaped would end a string, too. */
        cJSON *c = memchr(text, 0, n) ? NULL : cJSON_ParseWithLengthOpts(text, n, &end, false);
        if (c) { /* only blanks may follow */
                while (end < text + n && *end && strchr(" \t\r\n", *end))
                        end++;
                if (end == text + n) {
                        *out = out_of(c);
                        return 0;
                }
                cJSON_Delete(c);
        }
        for (const char *s = text; end && s < end && s < text + n; s++)
                line += *s == '\n';
        snprintf(why, nwhy, "%s:%u: this is not JSON: mend the text there", name, line);
        return -EINVAL;
}

int json_parse(const char *name, const char *text, size_t n, struct json **out, char *why,
               size_t nwhy)
{
        if (!memmem(text, n, "\\u0000", 6))
                return parse(name, text, n, out, why, nwhy);
        char *copy = malloc(n);
        if (!copy) {
                snprintf(why, nwhy, "%s: no memory: end another program", name);
                return -ENOMEM;
        }
        memcpy(copy, text, n);
        mend_escapes(copy, n);
        int err = parse(name, copy, n, out, why, nwhy);
        explicit_bzero(copy, n); /* of credentials, maybe */
        free(copy);
        return err;
}

static int read_file(const char *file, struct buf *b)
{
        CLEANUP(fclosep) FILE *f = fopen(file, "re");
        if (!f)
                return -errno;
        for (;;) {
                int err = buf_grow(b, 65536);
                if (err)
                        return err;
                size_t n = fread(b->p + b->len, 1, 65536, f);
                b->len += n;
                b->p[b->len] = 0;
                if (ferror(f))
                        return -EIO;
                if (n == 0)
                        return 0;
                if (b->len > FILE_MAX_BYTES)
                        return -EFBIG;
        }
}

int json_read(const char *file, struct json **out, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        int err = read_file(file, &b);
        if (err) {
                snprintf(why, nwhy, "%s: %s: give a JSON file that can be read", file,
                         strerror(-err));
                return err;
        }
        return json_parse(file, b.p, b.len, out, why, nwhy);
}

void json_free(struct json *j)
{
        int err = errno;
        cJSON_Delete(mut(j));
        errno = err;
}

void json_freep(struct json **j)
{
        json_free(*j);
}

/* cJSON bounds the depth of what it reads, and so this. */
static void wipe(cJSON *c)
{
        for (; c; c = c->next) {
                wipe(c->child);
                if (c->valuestring)
                        explicit_bzero(c->valuestring, strlen(c->valuestring));
        }
}

void json_wipe(struct json *j)
{
        wipe(mut(j));
}

void json_remove(struct json *obj, const char *name)
{
        if (!json_is_object(obj))
                return;
        cJSON *c = cJSON_DetachItemFromObjectCaseSensitive(mut(obj), name);
        if (c)
                wipe(c);
        cJSON_Delete(c);
}

bool json_is_object(const struct json *j)
{
        return cJSON_IsObject(in(j));
}

bool json_is_array(const struct json *j)
{
        return cJSON_IsArray(in(j));
}

bool json_is_string(const struct json *j)
{
        return cJSON_IsString(in(j));
}

bool json_is_number(const struct json *j)
{
        return cJSON_IsNumber(in(j));
}

bool json_is_bool(const struct json *j)
{
        return cJSON_IsBool(in(j));
}

const struct json *json_get(const struct json *obj, const char *name)
{
        if (!cJSON_IsObject(in(obj)))
                return NULL;
        return out_of(cJSON_GetObjectItemCaseSensitive(in(obj), name));
}

size_t json_count(const struct json *j)
{
        if (!json_is_array(j) && !json_is_object(j))
                return 0;
        return (size_t)cJSON_GetArraySize(in(j));
}

const struct json *json_at(const struct json *j, size_t i)
{
        return i < json_count(j) ? out_of(cJSON_GetArrayItem(in(j), (int)i)) : NULL;
}

const struct json *json_first(const struct json *j)
{
        return json_count(j) ? out_of(in(j)->child) : NULL;
}

const struct json *json_next(const struct json *j)
{
        return j ? out_of(in(j)->next) : NULL;
}

const char *json_name(const struct json *j)
{
        return j ? in(j)->string : NULL;
}

const char *json_string(const struct json *j, const char *other)
{
        return cJSON_IsString(in(j)) ? in(j)->valuestring : other;
}

double json_number(const struct json *j, double other)
{
        return cJSON_IsNumber(in(j)) ? in(j)->valuedouble : other;
}

bool json_bool(const struct json *j, bool other)
{
        return cJSON_IsBool(in(j)) ? cJSON_IsTrue(in(j)) : other;
}

struct json *json_new_object(void)
{
        return out_of(cJSON_CreateObject());
}

/* Hands `item` to `to`; frees it and returns NULL when that cannot be. */
static cJSON *attach(struct json *to, const char *name, cJSON *item)
{
        bool done = false;
        if (item && json_is_object(to) && name)
                done = cJSON_AddItemToObject(mut(to), name, item);
        else if (item && json_is_array(to) && !name)
                done = cJSON_AddItemToArray(mut(to), item);
        if (done)
                return item;
        cJSON_Delete(item);
        return NULL;
}

struct json *json_add_object(struct json *to, const char *name)
{
        return out_of(attach(to, name, cJSON_CreateObject()));
}

struct json *json_open_object(struct json *to, const char *name)
{
        cJSON *have = cJSON_GetObjectItemCaseSensitive(in(to), name);
        return have ? out_of(have) : json_add_object(to, name);
}

struct json *json_add_array(struct json *to, const char *name)
{
        return out_of(attach(to, name, cJSON_CreateArray()));
}

int json_add_string(struct json *to, const char *name, const char *value)
{
        return attach(to, name, cJSON_CreateString(value)) ? 0 : -ENOMEM;
}

int json_add_number(struct json *to, const char *name, double value)
{
        return attach(to, name, cJSON_CreateNumber(value)) ? 0 : -ENOMEM;
}

int json_add_bool(struct json *to, const char *name, bool value)
{
        return attach(to, name, cJSON_CreateBool(value)) ? 0 : -ENOMEM;
}

int json_add_null(struct json *to, const char *name)
{
        return attach(to, name, cJSON_CreateNull()) ? 0 : -ENOMEM;
}

char *json_print(const struct json *j)
{
        return j ? cJSON_Print(in(j)) : NULL;
}

int json_write(const struct json *j, FILE *to)
{
        CLEANUP(freep) char *text = json_print(j);
        int err = 0;

        if (!text)
                return -ENOMEM;
        if (fputs(text, to) < 0 || fputc('\n', to) < 0 || fflush(to))
                err = errno ? -errno : -EIO;
        explicit_bzero(text, strlen(text));
        return err;
}

/* A file beside `file` of the mode that this has, for nobody else to read, or would get. */
static int open_part(struct buf *part, const char *file)
{
        struct stat was;
        bool anew = stat(file, &was) != 0;
        uint64_t id = 0;

        if (getrandom(&id, sizeof id, 0) != sizeof id)
                return -EIO;
        int err = buf_addf(part, "%s.%016llx.part", file, (unsigned long long)id);
        if (err)
                return err;
        int fd = open(part->p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, anew ? 0666 : 0600);
        if (fd < 0)
                return -errno;
        if (anew || !fchmod(fd, was.st_mode & 0777))
                return fd;
        err = -errno;
        close(fd);
        unlink(part->p);
        return err;
}

int json_write_file(const struct json *j, const char *file)
{
        CLEANUP(buf_release) struct buf part = BUF_INIT;
        int fd = open_part(&part, file);
        if (fd < 0)
                return fd;
        FILE *f = fdopen(fd, "w");
        int err = f ? 0 : -errno;
        if (f) {
                (void)setvbuf(f, NULL, _IONBF, 0); /* no copy that would have to be wiped */
                err = json_write(j, f);
        }
        if ((f ? fclose(f) : close(fd)) && !err)
                err = -errno;
        if (!err && rename(part.p, file))
                err = -errno;
        if (err)
                unlink(part.p);
        return err;
}
