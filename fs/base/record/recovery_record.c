/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_record.c: see recovery_record.h. */
#include "base/grow.h"
#include "base/record/recovery_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/text/json.h"

#include "base/banned.h"

enum { PARTS_MAX = 10000 };

void recovery_record_release(struct recovery_record *k)
{
        for (size_t i = 0; i < k->nparts; i++)
                free(k->parts[i].etag);
        free(k->parts);
        free(k->key);
        free(k->base);
        free(k->host);
        free(k->upload);
        memset(k, 0, sizeof *k);
}

void recovery_record_id(char id[RECOVERY_ID_MAX])
{
        uint64_t r = 0;
        while (getrandom(&r, sizeof r, 0) != sizeof r)
                ;
        snprintf(id, RECOVERY_ID_MAX, "%016" PRIx64, r);
}

int recovery_record_add_part(struct recovery_record *k, const struct recovery_part *part)
{
        if (GROW(k->parts, k->nparts, k->maxparts, 8))
                return -ENOMEM;
        char *etag = strdup(part->etag);
        if (!etag)
                return -ENOMEM;
        k->parts[k->nparts] = *part;
        k->parts[k->nparts++].etag = etag;
        return 0;
}

static void add_parts(struct json *to, const struct recovery_record *k)
{
        char crc[16];
        for (size_t i = 0; i < k->nparts; i++) {
                const struct recovery_part *p = &k->parts[i];
                struct json *o = json_add_object(to, NULL);
                json_add_number(o, "number", p->partno);
                json_add_number(o, "size", (double)p->size);
                json_add_string(o, "etag", p->etag);
                if (!p->has_crc)
                        continue;
                snprintf(crc, sizeof crc, "%08" PRIx32, p->crc32c);
                json_add_string(o, "crc32c", crc);
        }
}

char *recovery_record_print(const struct recovery_record *k)
{
        CLEANUP(json_freep) struct json *j = json_new_object();

        json_add_string(j, "key", k->key);
        if (k->base)
                json_add_string(j, "base", k->base);
        if (k->host)
                json_add_string(j, "host", k->host);
        json_add_number(j, "size", (double)k->size);
        json_add_number(j, "time", (double)(k->time_ns / 1000000000));
        if (k->upload) {
                json_add_string(j, "upload", k->upload);
                add_parts(json_add_array(j, "parts"), k);
        }
        return j ? json_print(j) : NULL;
}

static bool take(const struct json *j, const char *name, char **out)
{
        const char *s = json_string(json_get(j, name), NULL);
        return !s || (*out = strdup(s));
}

/* A whole number in [lo, hi]; false when it is none. */
static bool whole(const struct json *j, const char *name, double lo, double hi, uint64_t *out)
{
        double v = json_number(json_get(j, name), -1);
        *out = v >= lo && v <= hi ? (uint64_t)v : 0;
        return v >= lo && v <= hi && (double)*out == v;
}

static bool is_crc(const char *text)
{
        return strlen(text) == 8 && strspn(text, "0123456789abcdef") == 8;
}

static int parse_parts(const struct json *list, struct recovery_record *k)
{
        if ((list && !json_is_array(list)) || json_count(list) > PARTS_MAX)
                return -EINVAL;
        for (const struct json *o = json_first(list); o; o = json_next(o)) {
                const char *etag = json_string(json_get(o, "etag"), NULL);
                const char *crc = json_string(json_get(o, "crc32c"), NULL);
                struct recovery_part p = {.has_crc = crc != NULL};
                uint64_t no;

                if (!etag || !*etag || !whole(o, "number", 1, PARTS_MAX, &no) ||
                    !whole(o, "size", 0, 1e15, &p.size) || (crc && !is_crc(crc)))
                        return -EINVAL;
                p.partno = (unsigned)no;
                p.etag = (char *)etag; /* copied */
                p.crc32c = crc ? (uint32_t)strtoul(crc, NULL, 16) : 0;
                if (recovery_record_add_part(k, &p))
                        return -ENOMEM;
        }
        return 0;
}

int recovery_record_parse(const char *name, const char *text, size_t n, struct recovery_record *out,
                          char *why, size_t nwhy)
{
        CLEANUP(recovery_record_release) struct recovery_record k = {.key = NULL};
        CLEANUP(json_freep) struct json *j = NULL;
        uint64_t time = 0;

        int err = json_parse(name, text, n, &j, why, nwhy);
        if (err)
                return err;
        if (json_get(j, "upload") && !json_is_string(json_get(j, "upload")))
                err = -EINVAL; /* its bytes would be looked for elsewhere */
        else if (!take(j, "key", &k.key) || !take(j, "base", &k.base) ||
                 !take(j, "host", &k.host) || !take(j, "upload", &k.upload))
                err = -ENOMEM;
        if (!err && (!k.key || !*k.key || !whole(j, "size", 0, 1e15, &k.size) ||
                     !whole(j, "time", 0, 9e9, &time)))
                err = -EINVAL;
        k.time_ns = (int64_t)time * 1000000000;
        if (!err)
                err = parse_parts(json_get(j, "parts"), &k);
        if (err) {
                snprintf(why, nwhy, "%s: %s", name,
                         err == -EINVAL ? "is not the record of a kept change: delete the object"
                                        : "no memory");
                return err;
        }
        *out = k;
        memset(&k, 0, sizeof k);
        return 0;
}
